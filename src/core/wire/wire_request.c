/* SPDX-License-Identifier: MIT
 * wire_request.c - what requests of all APIs share: translations in their slots, reading them as one body, and what servers
 * accept of names, ids and schemas. JSON strings are passed on raw, with their escapes. */
#include "core/wire/wire.h"

/* Pieces that are compared by address, and never sent */
static const char seal_mark[] = "\1", seal_end[] = "\2";

const char wire_part_comma[] = ",";

void wire_put(struct wire_writer *w, const char *constant)
{
	translation_add(w->out, str_from(constant));
}

void wire_put_text(struct wire_writer *w, const char *before, struct str text, const char *behind)
{
	wire_put(w, before);
	translation_add(w->out, text);
	wire_put(w, behind);
}

struct str wire_raw(const struct json *v)
{
	return json_is(v, JSON_STRING) ? (struct str){ v->text, v->len } : STR("");
}

struct str wire_origin(struct arena *a, const char *base, struct str model)
{
	const char *both = arena_printf(a, "%s " STR_FMT, base, STR_ARG(model));

	return str_from(arena_printf(a, "%016llx", (unsigned long long)str_hash(str_from(both))));
}

struct str wire_name(struct arena *a, struct str own)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
	bool letter = own.n && !char_in(own.p[0], "0123456789_-"); /* Gemini wants one in front */
	size_t n = 0;

	while (n < own.n && char_in(own.p[n], allowed))
		n++;
	if (n == own.n && n <= 64 && letter)
		return own;
	char *name = arena_printf(a, "%s" STR_FMT "_%08x", letter ? "" : "t", (int)MIN(own.n, (size_t)54), own.p,
				  (unsigned)str_hash(own));
	for (char *p = name; *p; p++)
		if (!char_in(*p, allowed))
			*p = '_';
	return str_from(name);
}

void wire_put_id(struct wire_writer *w, struct str id)
{
	if (id.n > WIRE_LONGEST_ID)
		id = str_from(arena_printf(&w->out->arena, "call_%016llx", (unsigned long long)str_hash(id)));
	translation_add(w->out, id);
}

bool wire_is_image(const struct json *block)
{
	const struct json *source = json_get(block, "source");

	return json_str_is(json_get(block, "type"), "image") && (json_get(source, "data") || json_get(source, "url"));
}

void wire_put_source(struct translation *out, const struct json *block)
{
	const struct json *source = json_get(block, "source");

	if (!json_get(source, "data")) {
		translation_add(out, wire_raw(json_get(source, "url")));
		return;
	}
	translation_add(out, STR("data:"));
	translation_add(out, wire_raw(json_get(source, "media_type")));
	translation_add(out, STR(";base64,"));
	translation_add(out, wire_raw(json_get(source, "data")));
}

struct str wire_description(struct wire_writer *w, const struct json *block)
{
	const struct json *source = json_get(block, "source");

	if (json_str_is(json_get(source, "type"), "text"))
		return wire_raw(json_get(source, "data"));
	struct str type = wire_raw(json_get(block, "type"));
	return str_from(arena_printf(&w->out->arena,
				     "[A block of type " STR_FMT " was left out: it cannot be sent to this model.]",
				     STR_ARG(type)));
}

void wire_put_result(struct wire_writer *w, const struct json *content, const char *note)
{
	translation_add(w->out, wire_raw(content));
	for (const struct json *p = json_items(content); p; p = json_next(content, p)) {
		if (p != json_first(content))
			wire_put(w, "\\n");
		if (json_str_is(json_get(p, "type"), "text")) {
			translation_add(w->out, wire_raw(json_get(p, "text")));
		} else if (w->form->is_media(p)) {
			if (w->images)
				translation_add(w->images, str_from(wire_part_comma));
			else
				w->images = xcalloc(1, sizeof(struct translation));
			w->form->put_media(w->images, p);
			wire_put(w, note);
		} else {
			translation_add(w->out, wire_description(w, p));
		}
	}
}

void wire_put_images(struct wire_writer *w)
{
	translation_append(w->out, w->images);
	translation_free(TAKE(w->images));
}

bool wire_put_system(struct wire_writer *w, const struct json *head, const char *open, const char *between,
		     const char *close)
{
	const struct json *system = json_get(head, "system");
	const char *before = open;

	for (const struct json *b = json_first(system); b; b = json_next(system, b)) {
		if (!json_is(json_get(b, "text"), JSON_STRING))
			continue;
		wire_put_text(w, before, wire_raw(json_get(b, "text")), "");
		before = between;
	}
	if (before != open)
		wire_put(w, close);
	return before != open;
}

bool wire_next_seal(struct wire_writer *w, struct str thought, size_t *at, struct wire_seal *ret)
{
	AUTO_BUF struct buf list = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root = NULL;
	const char *name = w->form->name;
	size_t i = 0;

	if (!thought.n)
		return false;
	buf_addf(&list, "[" STR_FMT "]", STR_ARG(thought));
	(void)json_parse(&reader, list.p, list.n, &root, NULL);
	for (const struct json *b = json_first(root); b; b = json_next(root, b), i++) {
		AUTO_ARENA struct arena scratch = { 0 };
		struct str rest = json_str(json_get(b, "signature"), &scratch);
		if (i < *at || !str_is(str_cut(&rest, ':'), name))
			continue;
		struct str origin = str_cut(&rest, ':');
		if (origin.n != WIRE_ORIGIN || !rest.p)
			continue;
		*ret = (struct wire_seal){ arena_str(&w->out->arena, origin), arena_str(&w->out->arena, rest),
					   arena_str(&w->out->arena, wire_raw(json_get(b, "thinking"))) };
		*at = i + 1;
		return true;
	}
	return false;
}

void wire_seal_open(struct wire_writer *w, struct str origin)
{
	translation_add_optional(w->out, str_from(seal_mark));
	translation_add_optional(w->out, origin);
}

void wire_seal_close(struct wire_writer *w)
{
	translation_add_optional(w->out, str_from(seal_end));
}

void wire_put_sealed(struct wire_writer *w, struct str origin, const char *before, struct str text, const char *behind)
{
	wire_seal_open(w, origin);
	translation_add_optional(w->out, str_from(before));
	translation_add_optional(w->out, text);
	translation_add_optional(w->out, str_from(behind));
	wire_seal_close(w);
}

bool wire_seal_is_sent(const struct wire_body *b, const struct translation *part, size_t end)
{
	if (part->pieces[end].p != seal_end)
		return false;
	while (part->pieces[end].p != seal_mark)
		end--;
	return str_eq(part->pieces[end + 1], b->origin);
}

static bool key_is_any(const struct json *key, const char *const *words)
{
	for (; *words; words++)
		if (json_str_is(key, *words))
			return true;
	return false;
}

enum { MOST_OPEN_REFERENCES = 16, LARGEST_SCHEMA = 64 << 10 }; /* of a tool: what is behind them may be anything */

/* Keywords that every server takes, and the constraints that the description says in their place */
static const char *const schema_kept[] = {
	"type",  "enum",  "const", "properties",           "required", "items", "prefixItems",
	"anyOf", "oneOf", "allOf", "additionalProperties", "title",    NULL
};
static const char *const schema_said[] = { "pattern",  "format",        "minLength",        "maxLength",
					   "minimum",  "maximum",       "exclusiveMinimum", "exclusiveMaximum",
					   "minItems", "maxItems",      "multipleOf",       "uniqueItems",
					   "default",  "minProperties", "maxProperties",    NULL };

/* The description, with the constraints that no member says any more: a model can heed them. */
static void add_description(struct buf *out, const struct json *schema, struct str own, const char **before)
{
	AUTO_BUF struct buf said = { 0 };

	for (size_t i = 0; schema_said[i]; i++) {
		const struct json *value = json_get(schema, schema_said[i]);
		struct str text = json_is(value, JSON_STRING) ? wire_raw(value) : json_raw(value);
		if (value && !json_is(value, JSON_OBJECT) && !json_is(value, JSON_ARRAY) && !json_is(value, JSON_NULL))
			buf_addf(&said, "%s%s: " STR_FMT, said.n ? ", " : "", schema_said[i], STR_ARG(text));
	}
	if (!own.n && !said.n)
		return;
	buf_addf(out, "%s\"description\":\"" STR_FMT, *before, STR_ARG(own));
	if (said.n)
		buf_addf(out, "%s(%s)", own.n ? " " : "", said.p);
	buf_addch(out, '"');
	*before = ",";
}

/* A schema that is being written, and the references that lead to it */
struct schema_path {
	const struct json *document;
	const struct json *open[MOST_OPEN_REFERENCES];
	size_t count;
};

/* What a reference inside the document names; NULL: nothing that can be written, or what is being written. */
static const struct json *schema_referent(struct schema_path *path, const struct json *reference)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf name = { 0 };
	struct str rest = json_str(reference, &a);
	const struct json *at = str_is(str_cut(&rest, '/'), "#") ? path->document : NULL;

	while (at && rest.p) {
		struct str step = str_cut(&rest, '/');
		buf_clear(&name);
		for (size_t i = 0; i < step.n; i++) {
			bool escaped = step.p[i] == '~' && i + 1 < step.n;
			buf_addch(&name, !escaped ? step.p[i] : step.p[++i] == '1' ? '/' : '~');
		}
		uint64_t index = 0;
		if (json_is(at, JSON_ARRAY) && str_to_u64(buf_str(&name), &index) && index < at->count) {
			const struct json *list = at;
			for (at = json_first(list); index; index--)
				at = json_next(list, at);
		} else {
			at = json_get(at, name.p ? name.p : "");
		}
	}
	for (size_t i = 0; i < path->count; i++)
		if (path->open[i] == at)
			return NULL;
	if (at && path->count < MOST_OPEN_REFERENCES)
		path->open[path->count++] = at;
	else
		at = NULL;
	return at;
}

/* The names in a list of required properties that the schema has: Kimi and Gemini refuse others. */
static void add_required(struct buf *out, const struct json *schema, const struct json *list)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *comma = "";

	buf_addch(out, '[');
	for (const struct json *v = json_items(list); v; v = json_next(list, v)) {
		struct str raw = json_raw(v);
		if (!json_get(json_get(schema, "properties"), json_cstr(v, &a)))
			continue;
		buf_addf(out, "%s" STR_FMT, comma, STR_ARG(raw));
		comma = ",";
	}
	buf_addch(out, ']');
}

static bool is_array_type(const struct json *type)
{
	for (const struct json *v = json_items(type); v; v = json_next(type, v))
		if (json_str_is(v, "array"))
			return true;
	return json_str_is(type, "array");
}

/* Writes the part of a schema that all servers accept, with what its references name in their place. llama.cpp makes a grammar of
 * every constraint and fails on some, Mistral and Gemini reject others; Kimi wants the type inside the branches of anyOf; OpenAI and
 * Together want items in every array. The tools check their input themselves. type: of a branch that may have none; NULL otherwise. */
static void add_schema(struct buf *out, const struct json *schema, bool root, const struct json *type,
		       struct schema_path *path)
{
	static const char *const not_at_root[] = { "anyOf", "oneOf", "allOf", "enum", "const", "type", NULL };
	static const char *const inner[] = { "items", "additionalProperties", NULL };
	static const char *const lists[] = { "anyOf", "oneOf", "allOf", "prefixItems", NULL };
	const char *before = "";
	const struct json *reference;
	struct str description = wire_raw(json_get(schema, "description"));
	size_t open = path->count;

	while ((reference = json_get(schema, "$ref"))) {
		schema = out->n < LARGEST_SCHEMA ? schema_referent(path, reference) : NULL;
		description = description.n ? description : wire_raw(json_get(schema, "description"));
	}
	buf_addch(out, '{');
	if (root) {
		buf_addstr(out, "\"type\":\"object\"");
		if (!json_get(schema, "properties"))
			buf_addstr(out, ",\"properties\":{}");
		before = ",";
	}
	const struct json *branches = root ? NULL : json_get(schema, "anyOf");
	struct str inherited = json_raw(type);
	if (type && !json_get(schema, "type")) {
		buf_addf(out, "\"type\":" STR_FMT, STR_ARG(inherited));
		before = ",";
	}
	add_description(out, schema, description, &before);
	for (struct json_member m = json_members(schema); m.key; m = json_member_next(schema, m)) {
		bool closed = json_str_is(m.key, "additionalProperties") && !json_is(m.value, JSON_OBJECT);
		if (!key_is_any(m.key, schema_kept) || closed || (root && key_is_any(m.key, not_at_root)) ||
		    (branches && json_str_is(m.key, "type")))
			continue;
		struct str key = json_raw(m.key), value = json_raw(m.value);
		bool is_const = json_str_is(m.key, "const");
		if (is_const && json_get(schema, "enum"))
			continue;
		buf_addf(out, "%s" STR_FMT ":", before, STR_ARG(is_const ? STR("\"enum\"") : key));
		before = ",";
		if (is_const) {
			buf_addf(out, "[" STR_FMT "]", STR_ARG(value));
		} else if (json_str_is(m.key, "required")) {
			add_required(out, schema, m.value);
		} else if (key_is_any(m.key, inner)) {
			add_schema(out, m.value, false, NULL, path); /* true and false become {} */
		} else if (key_is_any(m.key, lists) && json_is(m.value, JSON_ARRAY)) {
			for (const struct json *v = json_first(m.value); v; v = json_next(m.value, v)) {
				buf_addch(out, v == json_first(m.value) ? '[' : ',');
				add_schema(out, v, false, m.value == branches ? json_get(schema, "type") : NULL, path);
			}
			buf_addstr(out, json_first(m.value) ? "]" : "[]");
		} else if (json_str_is(m.key, "properties") && json_is(m.value, JSON_OBJECT)) {
			const char *comma = "{";
			for (struct json_member p = json_members(m.value); p.key; p = json_member_next(m.value, p)) {
				struct str name = json_raw(p.key);
				buf_addf(out, "%s" STR_FMT ":", comma, STR_ARG(name));
				add_schema(out, p.value, false, NULL, path);
				comma = ",";
			}
			buf_addstr(out, comma[0] == '{' ? "{}" : "}");
		} else {
			buf_add(out, value.p, value.n);
		}
	}
	bool no_items = !json_get(schema, "items") && !json_get(schema, "prefixItems");
	if (no_items && !root && !branches && is_array_type(json_get(schema, "type") ? json_get(schema, "type") : type))
		buf_addf(out, "%s\"items\":{}", before);
	buf_addch(out, '}');
	path->count = open;
}

void wire_lower_schema(struct buf *out, const struct json *schema)
{
	add_schema(out, schema, true, NULL, &(struct schema_path){ schema, { schema }, 1 });
}

void wire_put_tools(struct wire_writer *w, struct wire_head *facts, const struct json *head,
		    const struct wire_tool_form *form)
{
	const struct json *tools = json_get(head, "tools");
	struct arena *a = &w->out->arena;

	for (const struct json *t = json_first(tools); t; t = json_next(tools, t)) {
		const struct json *schema = json_get(t, "input_schema"), *description = json_get(t, "description");
		struct str own = wire_raw(json_get(t, "name")), sent = wire_name(a, own);
		AUTO_BUF struct buf lowered = { 0 };
		if (!schema)
			continue; /* it runs at the server of another API */
		wire_put(w, facts->has_tools ? "," : form->first);
		facts->has_tools = true;
		if (sent.p != own.p)
			facts->names = arena_new(a, struct wire_name, sent, arena_str(a, own), facts->names);
		wire_put_text(w, form->name, sent, "");
		wire_put_text(w, description ? form->description : form->undescribed, json_raw(description), "");
		wire_lower_schema(&lowered, schema);
		wire_put_text(w, form->schema, arena_str(a, buf_str(&lowered)), form->close);
	}
}

const struct wire_head *wire_head(const struct wire_form *form, struct head *h)
{
	if (h->translations[form->slot])
		return h->translations[form->slot]->facts;
	AUTO_JSON struct json_reader reader = { 0 };
	struct translation *out = xcalloc(1, sizeof(struct translation));
	const struct json *root = head_parse(&reader, &out->arena, h->bytes);
	struct wire_head *facts = arena_calloc(&out->arena, sizeof *facts);
	struct wire_writer w = { .out = out };

	facts->model = json_str(json_get(root, "model"), &out->arena);
	facts->hash = (unsigned)str_hash(h->bytes);
	facts->effort = json_str(json_get(json_get(root, "output_config"), "effort"), &out->arena);
	(void)json_i64(json_get(root, "max_tokens"), &facts->max_tokens);
	out->facts = facts;
	form->head(&w, facts, root);
	out->state = w.state;
	h->translations[form->slot] = out;
	return facts;
}

struct str wire_effort(const struct wire_form *form, const struct wire_head *head, unsigned quirks)
{
	static const char *const levels[] = { "low", "medium", "high", "xhigh", "max" };
	const char *most = quirks & WIRE_EFFORT_LOW      ? "low"
			   : quirks & WIRE_EFFORT_MEDIUM ? "medium"
			   : quirks & WIRE_EFFORT_HIGH   ? "high"
							 : form->highest_effort;

	for (size_t i = 0, limit = COUNT_OF(levels); i < COUNT_OF(levels); i++) {
		limit = strcmp(levels[i], most) ? limit : i;
		if (str_is(head->effort, levels[i]))
			return str_from(levels[MIN(i, limit)]);
	}
	return head->effort;
}

static struct str piece_at(struct wire_body *b, const struct translation *part, size_t at, size_t *ret_count)
{
	const struct wire_form *form = b->form;
	struct str piece = part->pieces[at];
	const char *end = NULL, *instead = "";

	*ret_count = 1;
	if (piece.p == seal_end)
		return STR("");
	if (piece.p == seal_mark && str_eq(part->pieces[at + 1], b->origin)) {
		*ret_count = 2;
		return STR("");
	}
	if (piece.p == seal_mark) {
		end = seal_end;
	} else if (piece.p == form->image_open && b->quirks & CHAT_NO_IMAGES) {
		end = form->image_close;
		instead = form->image_instead;
	} else if (piece.p == form->document_open && b->quirks & WIRE_NO_DOCUMENTS) {
		end = form->document_close;
		instead = form->document_instead;
	}
	if (!end)
		return form->piece ? form->piece(b, part, at, ret_count) : piece;
	while (part->pieces[at + *ret_count - 1].p != end)
		++*ret_count;
	return str_from(instead);
}

static uint64_t part_size(struct wire_body *b, const struct translation *part)
{
	const unsigned rewriting = CHAT_NO_IMAGES | WIRE_NO_DOCUMENTS | CHAT_ANSWER_BETWEEN | CHAT_SHORT_IDS |
				   CHAT_MARKS | CHAT_ECHO_PARTS;
	uint64_t size = 0;

	if (!part->optional && !(b->quirks & rewriting))
		return part->size;
	for (size_t i = 0, count; i < part->count; i += count)
		size += piece_at(b, part, i, &count).n;
	return size;
}

/* Translates the blocks up to `to`. Returns owned. */
static struct translation *translate_blocks(const struct wire_form *form, const struct transcript *t, uint32_t from,
					    uint32_t to, int state, struct str reminder, bool is_last)
{
	struct wire_writer w = { .form = form, .out = xcalloc(1, sizeof(struct translation)), .state = state, .t = t };

	for (uint32_t i = from, end; i < to; i = end) {
		enum role role = transcript_role(t, i);
		end = i + 1;
		while (end < to && transcript_role(t, end) == role)
			end++;
		form->run(&w, i, end, role);
	}
	if (reminder.n) { /* with its comma, see core/message/body.h */
		struct block b = { .json = { reminder.p + 1, reminder.n - 1 },
				   .kind = SEGMENT_TEXT,
				   .thought = STR("") };
		form->user(&w, &b, false);
	}
	if (is_last)
		form->close(&w);
	w.out->state = w.state;
	json_reader_release(&w.reader);
	return w.out;
}

void wire_body_init(struct wire_body *b, const struct wire_form *form, const struct body *body,
		    const struct wire_model *model)
{
	const struct transcript *t = body->transcript;
	const struct wire_head *head = wire_head(form, body->head);
	int state = body->head->translations[form->slot]->state;
	AUTO_BUF struct buf end = { 0 };

	*b = (struct wire_body){ .form = form, .body = body, .quirks = model->quirks, .origin = model->origin };
	b->size = part_size(b, body->head->translations[form->slot]);
	for (uint32_t i = 0; i < t->packed_chunk_count; i++) {
		struct packed_chunk *s = t->packed_chunks[i];
		struct translation **kept = &s->translations[form->slot];
		if (!*kept)
			*kept = translate_blocks(form, t, s->before, s->before + s->count, state, STR(""), false);
		state = (*kept)->state;
		b->size += part_size(b, *kept);
	}
	b->tail = translate_blocks(form, t, transcript_packed_count(t), body->count, state, body->reminder, true);
	form->ending(&end, head, model);
	translation_add(b->tail, arena_str(&b->tail->arena, buf_str(&end)));
	b->size += part_size(b, b->tail);
}

void wire_body_release(struct wire_body *b)
{
	translation_free(b->tail);
	b->tail = NULL;
}

void wire_body_rewind(struct wire_body *b)
{
	b->part = 0;
	b->piece = b->offset = 0;
}

size_t wire_body_read(struct wire_body *b, char *out, size_t room)
{
	const struct transcript *t = b->body->transcript;
	size_t done = 0, count;

	while (done < room && b->part <= t->packed_chunk_count + 1) {
		const struct translation *part = !b->part ? b->body->head->translations[b->form->slot]
						 : b->part <= t->packed_chunk_count
							 ? t->packed_chunks[b->part - 1]->translations[b->form->slot]
							 : b->tail;
		if (b->piece == part->count) {
			b->part++;
			b->piece = 0;
			continue;
		}
		struct str piece = piece_at(b, part, b->piece, &count);
		size_t n = MIN(piece.n - b->offset, room - done);
		memcpy(out + done, piece.p + b->offset, n);
		done += n;
		b->offset += n;
		if (b->offset == piece.n) {
			b->piece += count;
			b->offset = 0;
		}
	}
	return done;
}
