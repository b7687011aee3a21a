/* SPDX-License-Identifier: MIT
 * compact_history.c - the conversation in a summary request.
 *
 *     shortness 0    unchanged: most of it is in the server's cache
 *     shortness 1    long results are truncated, media are left out: for a request that was too long
 *     shortness 2    the same, and only the newer half
 *
 * Calls keep their results: a result is truncated, never dropped, and the half begins with an answer. */
#include "agents/query/compact_int.h"

enum { RESULT_BYTES = 1000, TEXT_BYTES = 20000 }; /* of a block that is cut */

static const char request_text[] =
	"This conversation is about to be replaced by a summary, because it has grown too long to be sent as a whole. Write "
	"that summary now. Call no tools; answer with text only. The conversation continues from your text alone, so it must hold "
	"all that is needed to finish the work:\n"
	"1. What the user asked for, in the user's own words where they matter, with every later change and correction.\n"
	"2. What was done and decided, and why; what was tried and did not work.\n"
	"3. The files that matter, with their paths, what is in them, what was changed, and code that is needed word for "
	"word.\n"
	"4. Errors that came up and how they were solved; what the last tool calls returned, as far as it is still needed.\n"
	"5. What is open: tasks that are not done, and exactly where the work stands.\n"
	"6. The next step, if one follows from what the user asked for.\n"
	"Be exact about names, numbers and paths. Leave out what no longer matters.";

static struct segment *request_block(struct str instructions)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addstr(&text, request_text);
	if (instructions.n)
		buf_addf(&text, "\n\nFurther instructions for this summary:\n" STR_FMT, STR_ARG(instructions));
	return segment_text(buf_str(&text));
}

static struct segment *cut_text(struct str text)
{
	AUTO_BUF struct buf b = { 0 };

	buf_add(&b, text.p, MIN(text.n, (size_t)TEXT_BYTES));
	buf_addstr(&b, "\n[the rest was left out]");
	return segment_text(buf_str(&b));
}

/* The text of a result's content, which may be blocks; media have none. */
static void add_content(struct buf *out, const struct json *content, struct arena *a)
{
	if (json_is(content, JSON_STRING)) {
		struct str text = json_str(content, a);
		buf_add(out, text.p, text.n);
		return;
	}
	for (const struct json *b = json_first(content); b; b = json_next(content, b)) {
		struct str text = json_str(json_get(b, "text"), a);
		buf_add(out, text.p, text.n);
	}
}

/* The model's own text stays unchanged. */
static struct segment *shorten(struct block b)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *root;
	size_t most = b.kind == SEGMENT_TEXT ? TEXT_BYTES : RESULT_BYTES;

	if (b.role == ROLE_ASSISTANT || b.json.n <= most || json_parse(&reader, b.json.p, b.json.n, &root, NULL) < 0)
		return segment_new(b.kind, b.json);
	if (b.kind == SEGMENT_TEXT)
		return cut_text(json_str(json_get(root, "text"), &a));
	if (b.kind == SEGMENT_TOOL_RESULT) {
		AUTO_BUF struct buf text = { 0 };
		add_content(&text, json_get(root, "content"), &a);
		text.n = MIN(text.n, (size_t)RESULT_BYTES);
		buf_addstr(&text, "\n[the rest of this result was left out]");
		return segment_tool_result(json_str(json_get(root, "tool_use_id"), &a), buf_str(&text),
					   json_bool(json_get(root, "is_error")));
	}
	return segment_text(STR("[an image or a document was left out]"));
}

/* The first answer of the newer half, or the last one. A history without answers is sent whole. */
static uint32_t half_begins(const struct transcript *t)
{
	uint64_t bytes = 0;
	uint32_t found = 0;

	for (uint32_t i = transcript_count(t); i-- > 0 && (bytes < t->bytes / 2 || !found);) {
		struct block b = transcript_block(t, i);
		bytes += b.json.n;
		if (b.role == ROLE_ASSISTANT && i > 0 && transcript_block(t, i - 1).role == ROLE_USER)
			found = i;
	}
	return found;
}

void compact_history(struct transcript *t, unsigned shortness, struct str instructions, struct transcript *out)
{
	uint32_t from = shortness >= MOST_SHORTNESS ? half_begins(t) : 0;

	if (!shortness)
		transcript_fork(t, out);
	if (from)
		transcript_add(out, ROLE_USER, segment_text(STR("[The beginning of this conversation was left out.]")));
	for (uint32_t i = from; shortness && i < transcript_count(t); i++) {
		struct block b = transcript_block(t, i);
		transcript_add(out, b.role, shorten(b));
	}
	transcript_add(out, ROLE_USER, request_block(instructions));
}
