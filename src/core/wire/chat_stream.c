/* SPDX-License-Identifier: MIT
 * chat_stream.c - chat-completion chunks in, events out. Servers differ: missing parts are generated, repeated ones
 * are used once, unknown ones are skipped. */
#include "core/wire/wire.h"

/* Reasoning belongs to the server and model that it came from, and goes back in the member that it came in. */
static void seal_reasoning(struct wire_stream *s, const char *field)
{
	if (s->open == WIRE_THINKING && !s->seal.n)
		wire_seal(s, str_from(arena_printf(&s->scratch, "{\"field\":\"%s\"}", field)));
}

static const struct str think_open = { "<think>", 7 }, think_close = { "</think>", 8 };

/* Where a tag stands, or may begin with the last bytes; the end if neither. */
static const char *find_tag(struct str text, struct str tag)
{
	const char *end = text.p + text.n, *at = text.n ? memmem(text.p, text.n, tag.p, tag.n) : NULL;

	for (size_t n = MIN(text.n, tag.n - 1); n && !at; n--)
		if (!memcmp(end - n, tag.p, n))
			at = end - n;
	return at ? at : end;
}

static void pass_held(struct wire_stream *s, bool thinking, size_t n)
{
	wire_text(s, thinking, (struct str){ s->held.p, n });
	buf_drop(&s->held, n);
}

/* A text that began without a tag. A template may have put <think> into the prompt: then all text up to </think> was thinking. Not if the
 * tag is quoted, which a backtick before it tells, or something else came before the text. */
static void add_begun_text(struct wire_stream *s, bool is_last)
{
	struct str held = buf_str(&s->held);
	const char *close = find_tag(held, think_close), *end = held.p + held.n;
	unsigned ticks = 0;

	if (find_tag(held, think_open) < close) { /* the text speaks of both */
		if (!is_last && (size_t)(end - find_tag(held, think_open)) < think_open.n)
			return pass_held(s, false, (size_t)(find_tag(held, think_open) - held.p));
		s->think = THINK_OVER;
		return pass_held(s, false, held.n);
	}
	if (close > held.p)
		pass_held(s, false, (size_t)(close - held.p));
	held = buf_str(&s->held);
	if (held.n < think_close.n)
		return is_last && held.n ? pass_held(s, false, held.n) : (void)0;
	struct str before = s->open == WIRE_TEXT ? buf_str(&s->answer->text) : STR("");
	for (size_t i = 0; i < before.n; i++)
		ticks += before.p[i] == '`';
	if (before.n && (ticks % 2 || s->blocks > 1)) {
		s->think = THINK_OVER;
		return pass_held(s, false, held.n);
	}
	if (before.n) {
		answer_turn_into_thinking(s->answer);
		s->open = WIRE_THINKING;
		seal_reasoning(s, "content");
	}
	buf_drop(&s->held, think_close.n);
	s->think = THINK_AFTER;
}

/* Templates without a parser leave what a model thought in front of its text, between two tags. A tag may come in pieces: what
 * can be the beginning of one is held. */
static void add_text(struct wire_stream *s, const struct json *piece)
{
	struct str text = json_str(piece, &s->scratch);

	bool plain = s->think == THINK_BEGUN && !s->held.n && text.n && !memchr(text.p, '<', text.n);
	if (s->think == THINK_OVER || plain || !json_is(piece, JSON_STRING)) {
		wire_piece(s, false, piece);
		return;
	}
	buf_add(&s->held, text.p, text.n);
	if (s->think == THINK_FIRST && s->held.n) {
		size_t before = (size_t)(find_tag(buf_str(&s->held), think_open) - s->held.p);
		bool whole = s->held.n - before >= think_open.n;
		if (str_trim((struct str){ s->held.p, before }).n)
			s->think = THINK_BEGUN;
		else if (whole)
			buf_drop(&s->held, before + think_open.n);
		s->think += whole && s->think == THINK_FIRST;
	}
	if (s->think == THINK_INSIDE && s->held.n) {
		size_t before = (size_t)(find_tag(buf_str(&s->held), think_close) - s->held.p);
		pass_held(s, true, before);
		seal_reasoning(s, "content");
		if (s->held.n >= think_close.n) {
			buf_drop(&s->held, think_close.n);
			s->think = THINK_AFTER;
		}
	}
	if (s->think == THINK_BEGUN)
		add_begun_text(s, false);
	while (s->think == THINK_AFTER && s->held.n && char_in(s->held.p[0], "\r\n"))
		buf_drop(&s->held, 1);
	if (s->think == THINK_AFTER && s->held.n)
		s->think = THINK_OVER;
	if (s->think == THINK_OVER)
		pass_held(s, false, s->held.n);
}

/* OpenRouter: pieces of one text have the same index; all other details are whole. They go back as they came. */
static void add_details(struct wire_stream *s, const struct json *list)
{
	for (const struct json *d = json_items(list); d; d = json_next(list, d)) {
		struct str raw = json_raw(d), text = wire_raw(json_get(d, "text")),
			   index = json_raw(json_get(d, "index"));
		const char *key =
			arena_printf(&s->scratch, "{\"type\":\"reasoning.text\",\"index\":" STR_FMT ",\"text\":\"",
				     STR_ARG(index.n ? index : STR("0")));
		struct str open = buf_str(&s->details);
		const char *last = open.n ? memrchr(open.p, '\n', open.n) : NULL; /* begins the detail that is open */
		bool is_text = json_str_is(json_get(d, "type"), "reasoning.text") &&
			       json_is(json_get(d, "text"), JSON_STRING) && !wire_raw(json_get(d, "signature")).n;
		if (is_text && last && !strncmp(last + 1, key, strlen(key))) {
			s->details.n -= 2; /* "} */
			buf_addf(&s->details, STR_FMT "\"}", STR_ARG(text));
		} else if (is_text) {
			buf_addf(&s->details, "%s\n%s" STR_FMT "\"}", open.n ? "," : "", key, STR_ARG(text));
		} else if (json_is(d, JSON_OBJECT)) {
			buf_addf(&s->details, "%s\n" STR_FMT, open.n ? "," : "", STR_ARG(raw));
		}
	}
}

/* LiteLLM, of Claude: pieces of a text, then its signature. Blocks go back as they are, those without a signature do not. */
static void add_blocks(struct wire_stream *s, const struct json *list)
{
	struct buf *out = &s->signed_blocks;

	for (const struct json *b = json_items(list); b; b = json_next(list, b)) {
		struct str raw = json_raw(b), text = wire_raw(json_get(b, "thinking")),
			   seal = wire_raw(json_get(b, "signature"));
		bool plain = json_str_is(json_get(b, "type"), "thinking");
		if (out->n == s->signed_n)
			buf_addf(out, "%s%s", out->n ? "," : "", plain ? "{\"type\":\"thinking\",\"thinking\":\"" : "");
		if (plain)
			buf_append(out, text);
		if (plain && seal.n)
			buf_addf(out, "\",\"signature\":\"" STR_FMT "\"}", STR_ARG(seal));
		else if (!plain)
			buf_append(out, raw);
		s->signed_n = seal.n || !plain ? out->n : s->signed_n;
	}
}

/* Most servers send a string, some a list of parts: texts, thoughts (which may be parts again), a refusal. */
static void add_content(struct wire_stream *s, bool thinking, const struct json *content)
{
	if (!json_is(content, JSON_ARRAY)) {
		if (thinking)
			wire_piece(s, true, content);
		else
			add_text(s, content);
		return;
	}
	for (const struct json *part = json_first(content); part; part = json_next(content, part)) {
		const struct json *type = json_get(part, "type");
		struct str refusal = json_str(json_get(part, "refusal"), &s->scratch);
		if (json_str_is(type, "thinking") || json_str_is(type, "reasoning"))
			add_content(s, true, json_get(part, json_get(part, "thinking") ? "thinking" : "text"));
		else
			wire_piece(s, thinking, json_is(part, JSON_STRING) ? part : json_get(part, "text"));
		seal_reasoning(s, "content");
		buf_add(&s->refusal, refusal.p, refusal.n);
	}
}

/* Adds one element of tool_calls. Pieces belong together by their id and index, where they have them; servers leave out either, give all
 * calls the same one, count the index up with each piece, or make an id for each piece. A piece that names a tool begins a call if
 * the arguments of the one before are whole; one that names none belongs to the call before. */
static void add_call_piece(struct wire_stream *s, const struct json *piece)
{
	struct wire_calls *c = &s->calls;
	const struct json *function = json_get(piece, "function");
	struct str id = json_str(json_get(piece, "id"), &s->scratch);
	struct str name = json_str(json_get(function, "name"), &s->scratch);
	struct str text = wire_arguments(s, json_get(function, "arguments"));
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *whole;
	struct wire_call *call = NULL;
	int64_t index = -1;

	(void)json_i64(json_get(piece, "index"), &index);
	for (size_t i = c->count; i-- > 0 && !call;) {
		struct wire_call *old = &c->list[i];
		bool has_indexes = index >= 0 && old->index >= 0;
		bool has_ids = id.n && old->id.n && (name.n || !has_indexes);
		if ((has_ids && !str_eq(id, buf_str(&old->id))) || (has_indexes && index != old->index) ||
		    (!has_ids && !has_indexes && name.n))
			continue;
		bool other = !has_ids && name.n && old->name.n && !str_eq(name, buf_str(&old->name));
		bool again = name.n && str_ends(buf_str(&old->arguments), STR("}")) &&
			     json_parse(&reader, old->arguments.p, old->arguments.n, &whole, NULL) == 0;
		if (again && !other && str_eq(text, buf_str(&old->arguments)))
			return; /* all of it once more, at the end */
		if (other || (again && text.n))
			break;
		call = old;
	}
	if (!call && c->count && !id.n && !name.n)
		call = &c->list[c->count - 1];
	if (!call)
		call = wire_call_add(s, index);
	if (!call)
		return;
	if (!call->id.n)
		buf_add(&call->id, id.p, id.n);
	if (!call->name.n)
		buf_add(&call->name, name.p, name.n);
	buf_add(&call->arguments, text.p, text.n);
	s->answer_bytes += text.n;
	struct str extra = json_raw(json_get(piece, "extra_content")); /* Gemini: with a signature in it */
	if (json_is(json_get(piece, "extra_content"), JSON_OBJECT) && !call->seal.n)
		buf_addf(&call->seal, "{\"extra_content\":" STR_FMT "}", STR_ARG(extra));
}

void chat_stop(struct wire_stream *s, struct str reason)
{
	if (s->think == THINK_BEGUN)
		add_begun_text(s, true);
	else
		pass_held(s, s->think == THINK_INSIDE, s->held.n);
	s->think = THINK_OVER;
	if (s->details.n && !s->stop_reason)
		wire_seal(s, str_from(arena_printf(&s->scratch, "{\"reasoning_details\":[%s]}", s->details.p)));
	if (s->signed_n && !s->stop_reason)
		wire_seal(s, str_from(arena_printf(&s->scratch, "{\"thinking_blocks\":[%.*s]}", (int)s->signed_n,
						   s->signed_blocks.p)));
	if (wire_end_by_word(s, reason))
		return;
	if (s->refusal.n)
		wire_finish(s, "refusal");
	else if (str_is(reason, "length") ||
		 str_is_nocase(reason, "max_tokens")) /* the latter: gateways to other APIs */
		wire_finish(s, "max_tokens");
	else if (str_is(reason, "model_context_window_exceeded") || str_is(reason, "model_length")) /* Z.ai, Mistral */
		wire_finish(s, "model_context_window_exceeded");
	else
		wire_finish(s, s->calls.count ? "tool_use" : "end_turn"); /* some servers report "stop" after a call */
}

/* Servers report what came from their cache under four names. xAI and Gemini count reasoning in the total only. */
static void take_usage(struct wire_stream *s, const struct json *usage)
{
	const struct json *details = json_get(usage, "prompt_tokens_details");
	const struct json *cache[] = { json_get(details, "cached_tokens"), json_get(usage, "prompt_cache_hit_tokens"),
				       json_get(usage, "cached_tokens"), json_get(usage, "cache_read_input_tokens") };
	int64_t input = 0, output = 0, cached = 0, written = 0, total = 0;

	bool usual = usage_count(json_get(usage, "prompt_tokens"), &input);
	if (!usual && !usage_count(json_get(usage, "input_tokens"), &input))
		return;
	(void)usage_count(json_get(usage, usual ? "completion_tokens" : "output_tokens"), &output);
	for (size_t i = 0; i < COUNT_OF(cache) && !cached; i++)
		(void)usage_count(cache[i], &cached);
	if (!usage_count(json_get(details, "cache_write_tokens"), &written))
		(void)usage_count(json_get(usage, "cache_creation_input_tokens"), &written);
	if (usage_count(json_get(usage, "total_tokens"), &total) && total > input + output)
		output = total - input;
	wire_take_usage(
		s, usage,
		(struct usage){ .input = input, .cache_read = cached, .cache_write = written, .output = output });
}

void chat_take(struct wire_stream *s, const struct json *chunk)
{
	const struct json *choices = json_get(chunk, "choices");
	const struct json *choice = json_items(choices);

	if (json_is(choices, JSON_ARRAY)) /* there are servers that number their answers from 0 to 999 */
		wire_start(s, json_str(json_get(chunk, "id"), &s->scratch), "chatcmpl",
			   json_str(json_get(chunk, "model"), &s->scratch));
	take_usage(s, json_get(chunk, "usage"));
	take_usage(s, json_get(choice, "usage"));                    /* Kimi */
	take_usage(s, json_get(json_get(chunk, "x_groq"), "usage")); /* Groq */
	int64_t number = 0;
	(void)json_i64(json_get(choice, "index"), &number);
	if (choice && s->item < 0)
		s->item = number;
	while (choice && number != s->item && (choice = json_next(choices, choice))) {
		number = 0;
		(void)json_i64(json_get(choice, "index"), &number);
	}
	if (!choice || s->stop_reason)
		return;
	const struct json *delta = json_get(choice, "delta");
	const struct json *finish_reason = json_get(choice, "finish_reason");
	if (!delta)
		delta = json_get(choice, "message"); /* an answer that came whole */
	static const char *const fields[] = { "reasoning_content", "reasoning", "reasoning_text", "thinking" };
	struct str refusal = json_str(json_get(delta, "refusal"), &s->scratch);
	size_t i = 0;
	while (i + 1 < COUNT_OF(fields) && !wire_raw(json_get(delta, fields[i])).n)
		i++;
	wire_piece(s, true, json_get(delta, fields[i]));
	seal_reasoning(s, fields[i]);
	add_details(s, json_get(delta, "reasoning_details"));
	add_blocks(s, json_get(delta, "thinking_blocks"));
	add_content(s, false, json_get(delta, "content"));
	const struct json *pieces = json_get(delta, "tool_calls");
	for (const struct json *p = json_items(pieces); p; p = json_next(pieces, p))
		add_call_piece(s, p);
	buf_add(&s->refusal, refusal.p, refusal.n);
	if (json_is(finish_reason, JSON_STRING) && finish_reason->len) /* xAI sends "" on the way */
		chat_stop(s, json_str(finish_reason, &s->scratch));
}

/* The name that a text like <function=NAME>{...}, {"name": "NAME"} or [NAME(...)] has. */
static struct str failed_name(struct str text)
{
	static const char *const marks[] = { "<function=", "\"name\"", "[", "for tool ", "call tool '" };
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";

	for (size_t i = 0; i < COUNT_OF(marks); i++) {
		const char *p = memmem(text.p, text.n, marks[i], strlen(marks[i])), *end = text.p + text.n;
		if (!p)
			continue;
		for (p += strlen(marks[i]); p < end && char_in(*p, " :\"\n"); p++)
			;
		const char *from = p;
		while (p < end && p - from < 64 && char_in(*p, letters))
			p++;
		if (p > from)
			return (struct str){ from, (size_t)(p - from) };
	}
	size_t n = 0; /* NAME{...} */
	while (n < text.n && char_in(text.p[n], letters))
		n++;
	return n < text.n && text.p[n] == '{' ? (struct str){ text.p, n } : STR("");
}

/* The last answers were such calls, one after the other: the model does not learn from their errors. */
static bool fails_again(const struct transcript *t)
{
	enum { MOST_FAILED = 4 };
	unsigned failed = 0;

	for (uint32_t i = t ? transcript_count(t) : 0; i-- > 0 && failed < MOST_FAILED;) {
		struct block b = transcript_block(t, i);
		if (b.role == ROLE_ASSISTANT && !str_has(b.json, STR("\"INVALID_JSON\":")))
			return false;
		failed += b.role == ROLE_ASSISTANT;
	}
	return failed == MOST_FAILED;
}

/* Its input is no JSON, which every tool refuses that needs a member. */
bool chat_take_failed_call(struct wire_stream *s, const struct json *root)
{
	const struct json *error = json_get(root, "error");
	struct wire_call *call;

	if (!json_str_is(json_get(error, "code"), "tool_use_failed") || s->answer->failure.kind || s->over ||
	    fails_again(s->history))
		return false;
	wire_start(s, STR(""), "chatcmpl", STR(""));
	if (!(call = wire_call_add(s, -1)))
		return true;
	struct str message = json_str(json_get(error, "message"), &s->scratch);
	struct str wrote = json_str(json_get(error, "failed_generation"), &s->scratch), name = failed_name(wrote);
	name = name.n ? name : failed_name(message);
	buf_append(&call->name, name.n ? name : STR("unknown"));
	buf_addf(&call->arguments, STR_FMT "\n" STR_FMT, STR_ARG(message), STR_ARG(wrote));
	wire_finish(s, "tool_use");
	wire_close(s);
	return true;
}
