/* SPDX-License-Identifier: MIT
 * gemini_request.c - translates a request to generateContent of Gemini. Blocks are parts of turns of the user and the model.
 * A result names the tool of its call. Results come first in a turn, then their images, then everything else.
 *
 * A seal is the signature of the part that it belongs to. */
#include "core/wire/wire.h"

enum gemini_state { TURN_NONE, TURN_USER, TURN_MODEL /* its list of parts is open */ };

/* Pieces that are compared by address */
static const char image_open[] = "{\"inlineData\":{\"mimeType\":\"";
static const char image_close[] = "\"}}";
static const char document_open[] = "{\"inlineData\":{\"mimeType\":\"";
static const char document_close[] = "\"}}";
static const char id_open[] = "\"id\":\"";
static const char id_close[] = "\",";
/* Google accepts this where the signature is lost, or the call is one of another model. */
static const char no_signature[] = "\"thoughtSignature\":\"skip_thought_signature_validator\",";

static void close_turn(struct wire_writer *w)
{
	if (w->state != TURN_NONE)
		wire_put(w, "]}");
}

static void open_part(struct wire_writer *w, int turn)
{
	if (w->state == turn) {
		wire_put(w, ",");
		return;
	}
	close_turn(w);
	if (w->state != TURN_NONE)
		wire_put(w, ",");
	wire_put(w, turn == TURN_USER ? "{\"role\":\"user\",\"parts\":[" : "{\"role\":\"model\",\"parts\":[");
	w->state = turn;
}

static bool is_inline(const struct json *block)
{
	const struct json *type = json_get(block, "type"), *source = json_get(block, "source");

	return (json_str_is(type, "image") || json_str_is(type, "document")) &&
	       json_str_is(json_get(source, "type"), "base64") && json_get(source, "data");
}

static void put_inline(struct translation *out, const struct json *block)
{
	const struct json *source = json_get(block, "source");
	bool image = json_str_is(json_get(block, "type"), "image");

	translation_add(out, str_from(image ? image_open : document_open));
	translation_add(out, wire_raw(json_get(source, "media_type")));
	translation_add(out, STR("\",\"data\":\""));
	translation_add(out, wire_raw(json_get(source, "data")));
	translation_add(out, str_from(image ? image_close : document_close));
}

static void put_id(struct wire_writer *w, struct str id)
{
	translation_add_optional(w->out, str_from(id_open));
	translation_add_optional(w->out, id);
	translation_add_optional(w->out, str_from(id_close));
}

static void put_user(struct wire_writer *w, const struct block *b, bool parts)
{
	const struct json *block;

	if (json_parse(&w->reader, b->json.p, b->json.n, &block, NULL) < 0)
		return;
	open_part(w, TURN_USER);
	if (is_inline(block)) {
		put_inline(w->out, block);
		return;
	}
	wire_put_text(w, "{\"text\":\"",
		      b->kind == SEGMENT_TEXT ? wire_raw(json_get(block, "text")) : wire_description(w, block), "\"}");
}

struct answered_call {
	struct str id, name;
};

/* The calls of the answer before block `from`, oldest first. */
static struct answered_call *calls_before(struct wire_writer *w, uint32_t from, size_t *ret_count)
{
	AUTO_JSON struct json_reader reader = { 0 };
	uint32_t end = from, first;
	size_t count = 0;

	while (end && transcript_role(w->t, end - 1) == ROLE_USER)
		end--;
	for (first = end; first && transcript_role(w->t, first - 1) == ROLE_ASSISTANT; first--)
		;
	struct answered_call *calls = arena_alloc(&w->out->arena, (end - first + 1) * sizeof *calls);
	for (uint32_t i = first; i < end; i++) {
		struct block b = transcript_block(w->t, i);
		const struct json *block;
		if (b.kind == SEGMENT_TOOL_USE && json_parse(&reader, b.json.p, b.json.n, &block, NULL) == 0)
			calls[count++] = (struct answered_call){ wire_raw(json_get(block, "id")),
								 wire_raw(json_get(block, "name")) };
	}
	*ret_count = count;
	return calls;
}

static void put_users(struct wire_writer *w, uint32_t from, uint32_t to)
{
	struct answered_call *calls = NULL;
	size_t count = 0, number = 0;

	for (uint32_t i = from; i < to; i++) {
		struct block b = transcript_block(w->t, i);
		const struct json *block;
		struct str name = STR("unknown");
		if (b.kind != SEGMENT_TOOL_RESULT || json_parse(&w->reader, b.json.p, b.json.n, &block, NULL) < 0)
			continue;
		if (!calls)
			calls = calls_before(w, from, &count);
		struct str id = wire_raw(json_get(block, "tool_use_id"));
		for (size_t k = 0; k < count; k++) /* results are in the order of their calls */
			if (str_eq(calls[(number + k) % count].id, id)) {
				number = number + k;
				name = calls[number++ % count].name;
				break;
			}
		bool failed = json_bool(json_get(block, "is_error"));
		open_part(w, TURN_USER);
		wire_put(w, "{\"functionResponse\":{");
		put_id(w, id);
		wire_put_text(w, "\"name\":\"", wire_name(&w->out->arena, name),
			      failed ? "\",\"response\":{\"error\":\"" : "\",\"response\":{\"output\":\"");
		wire_put_result(w, json_get(block, "content"), "[It is behind the results.]");
		wire_put(w, "\"}}}");
	}
	if (w->images) {
		open_part(w, TURN_USER);
		wire_put_images(w);
	}
	for (uint32_t i = from; i < to; i++) {
		struct block b = transcript_block(w->t, i);
		if (b.kind != SEGMENT_TOOL_RESULT)
			put_user(w, &b, false);
	}
}

static void put_answer(struct wire_writer *w, uint32_t from, uint32_t to)
{
	bool first = w->state != TURN_MODEL; /* call of this answer */
	const struct json *block;

	for (uint32_t i = from; i < to; i++) {
		struct block b = transcript_block(w->t, i);
		struct wire_seal last = { 0 };
		size_t at = 0;
		if ((b.kind != SEGMENT_TEXT && b.kind != SEGMENT_TOOL_USE) ||
		    json_parse(&w->reader, b.json.p, b.json.n, &block, NULL) < 0)
			continue;
		open_part(w, TURN_MODEL);
		wire_put(w, "{");
		while (wire_next_seal(w, b.thought, &at, &last))
			;
		if (last.rest.n)
			wire_put_sealed(w, last.origin, "\"thoughtSignature\":\"", last.rest, "\",");
		if (b.kind == SEGMENT_TEXT) {
			wire_put_text(w, "\"text\":\"", wire_raw(json_get(block, "text")), "\"}");
			continue;
		}
		if (first)
			translation_add_optional(w->out, str_from(no_signature));
		first = false;
		wire_put(w, "\"functionCall\":{");
		put_id(w, wire_raw(json_get(block, "id")));
		wire_put_text(w, "\"name\":\"", wire_name(&w->out->arena, wire_raw(json_get(block, "name"))), "");
		wire_put_text(w, "\",\"args\":", json_raw(json_get(block, "input")), "}}");
	}
}

static void gemini_run(struct wire_writer *w, uint32_t from, uint32_t to, enum role role)
{
	if (role == ROLE_USER)
		put_users(w, from, to);
	else
		put_answer(w, from, to);
}

static void gemini_write_head(struct wire_writer *w, struct wire_head *facts, const struct json *root)
{
	static const struct wire_tool_form tools = { "\"tools\":[{\"functionDeclarations\":[",
						     "{\"name\":\"",
						     "\",\"description\":",
						     "\",\"description\":\"\"",
						     ",\"parametersJsonSchema\":",
						     "}" };

	if (!wire_put_system(w, root, "{\"systemInstruction\":{\"parts\":[{\"text\":\"", "\"},{\"text\":\"", "\"}]},"))
		wire_put(w, "{");
	wire_put_tools(w, facts, root, &tools);
	wire_put(w, facts->has_tools ? "]}],\"contents\":[" : "\"contents\":[");
	w->state = TURN_NONE;
}

static void gemini_ending(struct buf *out, const struct wire_head *head, const struct wire_model *model)
{
	static const struct {
		const char *level;
		int64_t budget;
	} efforts[] = { { "low", 1024 }, { "medium", 8192 }, { "high", 24576 } };
	struct str effort = wire_effort(&form_gemini, head, model->quirks);
	int64_t limit = model->limit ? MIN(model->limit, head->max_tokens) : head->max_tokens;
	struct json_out w = { .buf = out, .objects = 1, .depth = 1, .comma = true }; /* inside the request's object */

	buf_addstr(out, "]");
	json_kopen(&w, "generationConfig", '{');
	if (!(model->quirks & CHAT_NO_LIMIT))
		json_ki64(&w, "maxOutputTokens", limit);
	if (!(model->quirks & WIRE_NO_REASONING)) {
		json_kopen(&w, "thinkingConfig", '{');
		json_kbool(&w, "includeThoughts", true);
		for (size_t i = 0; i < COUNT_OF(efforts) && !(model->quirks & CHAT_NO_EFFORT); i++) {
			if (!str_is(effort, efforts[i].level))
				continue;
			if (model->quirks & GEMINI_BUDGET)
				json_ki64(&w, "thinkingBudget", efforts[i].budget);
			else
				json_kcstr(&w, "thinkingLevel", efforts[i].level);
		}
		json_close(&w);
	}
	json_close(&w);
	json_close(&w);
}

static struct str gemini_piece(struct wire_body *b, const struct translation *part, size_t at, size_t *ret_count)
{
	struct str piece = part->pieces[at];
	bool is_signed = b->quirks & GEMINI_SIGNED;

	if (piece.p == no_signature && (!is_signed || wire_seal_is_sent(b, part, at - 1)))
		return STR("");
	if (piece.p == id_open && !is_signed) {
		*ret_count = 3;
		return STR("");
	}
	return piece;
}

const struct wire_form form_gemini = {
	.name = "gemini",
	.slot = TRANSLATION_GEMINI,
	.highest_effort = "high",
	.head = gemini_write_head,
	.run = gemini_run,
	.user = put_user,
	.close = close_turn,
	.is_media = is_inline,
	.put_media = put_inline,
	.ending = gemini_ending,
	.piece = gemini_piece,
	.image_open = image_open,
	.image_close = image_close,
	.image_instead = "{\"text\":\"[An image was left out: this server takes none.]\"}",
	.document_open = document_open,
	.document_close = document_close,
	.document_instead = "{\"text\":\"[A document was left out: this model takes none.]\"}",
	.take = gemini_take,
};
