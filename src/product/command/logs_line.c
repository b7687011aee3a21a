/* SPDX-License-Identifier: MIT
 * logs_line.c - what a line of a transcript says: who speaks and the text, a tool with one line of its input, a result cut. */
#include "product/command/logs.h"
#include "product/command/report.h"
#include "lib/base/utf8.h"
#include "lib/json/json.h"

enum { INPUT_LIMIT = 120, RESULT_LIMIT = 400, RESULT_LINES = 6, THOUGHT_LIMIT = 300 };

/* At most so many lines and bytes, each behind indent; says how much is left out. */
static void add_cut(struct buf *out, struct str text, size_t limit, unsigned lines, const char *indent)
{
	struct str rest = utf8_cut(str_trim(text), limit);
	size_t shown = 0;

	for (; rest.p && lines; lines--) {
		struct str line = str_cut(&rest, '\n');
		buf_addf(out, "%s%s" STR_FMT, out->n ? "\n" : "", indent, STR_ARG(line));
		shown += line.n + 1;
	}
	size_t all = str_trim(text).n;
	if (shown < all) {
		buf_addf(out, "\n%s... (", indent);
		buf_addcount(out, (int64_t)(all - shown));
		buf_addstr(out, " more bytes)");
	}
}

static void add_text(struct cadre_report *piece, const char *who, struct str text)
{
	text = str_trim(text);
	if (!text.n)
		return;
	report_line(piece, CADRE_HEAD, "%s", who);
	report_line(piece, CADRE_PLAIN, STR_FMT, STR_ARG(text));
}

static void add_thought(struct cadre_report *piece, struct str text)
{
	AUTO_BUF struct buf b = { 0 };

	if (!str_trim(text).n)
		return;
	add_cut(&b, text, THOUGHT_LIMIT, RESULT_LINES, "  ");
	report_line(piece, CADRE_NOTE, "%s", b.p);
}

/* The first text of the input says the most: a path, a command, a pattern. */
static void add_call(struct cadre_report *piece, const struct json *block, struct arena *a)
{
	const struct json *input = json_get(block, "input");
	struct str text = { "", 0 };

	for (struct json_member m = json_members(input); m.key && !text.n; m = json_member_next(input, m))
		text = str_trim(json_str(m.value, a));
	struct str rest = text;
	struct str line = utf8_cut(str_cut(&rest, '\n'), INPUT_LIMIT);
	report_line(piece, CADRE_GOOD, "* " STR_FMT " " STR_FMT "%s", STR_ARG(json_str(json_get(block, "name"), a)),
		    STR_ARG(line), line.n < text.n ? " ..." : "");
}

static struct str result_text(const struct json *content, struct arena *a)
{
	for (const struct json *b = json_is(content, JSON_ARRAY) ? json_first(content) : NULL; b;
	     b = json_next(content, b))
		if (json_str_is(json_get(b, "type"), "text"))
			return json_str(json_get(b, "text"), a);
	return json_str(content, a);
}

static void add_result(struct cadre_report *piece, const struct json *block, struct arena *a)
{
	struct str text = result_text(json_get(block, "content"), a);
	AUTO_BUF struct buf b = { 0 };

	add_cut(&b, text, RESULT_LIMIT, RESULT_LINES, "  | ");
	report_line(piece, json_bool(json_get(block, "is_error")) ? CADRE_BAD : CADRE_NOTE, "%s", buf_str(&b).p);
}

static void add_block(struct cadre_report *piece, const char *who, const struct json *block, struct arena *a)
{
	const struct json *type = json_get(block, "type");

	if (json_str_is(type, "text"))
		add_text(piece, who, json_str(json_get(block, "text"), a));
	else if (json_str_is(type, "thinking"))
		add_thought(piece, json_str(json_get(block, "thinking"), a));
	else if (json_str_is(type, "tool_use"))
		add_call(piece, block, a);
	else if (json_str_is(type, "tool_result"))
		add_result(piece, block, a);
}

static void add_message(struct cadre_report *piece, const char *who, const struct json *root, struct arena *a)
{
	const struct json *content = json_get(json_get(root, "message"), "content");

	if (json_is(content, JSON_STRING))
		add_text(piece, who, json_str(content, a));
	for (const struct json *b = json_is(content, JSON_ARRAY) ? json_first(content) : NULL; b;
	     b = json_next(content, b))
		add_block(piece, who, b, a);
}

static void add_end(struct cadre_report *piece, const struct json *end, struct arena *a)
{
	AUTO_BUF struct buf b = { 0 };
	int64_t turns = 0, tool_uses = 0;

	(void)json_i64(json_get(end, "turns"), &turns);
	(void)json_i64(json_get(end, "toolUses"), &tool_uses);
	buf_addf(&b, "Ended: " STR_FMT " (%lld turns, %lld tool calls", STR_ARG(json_str(json_get(end, "state"), a)),
		 (long long)turns, (long long)tool_uses);
	buf_addf(&b, ", $%.4f)", json_double(json_get(end, "costUSD")));
	report_line(piece, CADRE_HEAD, "%s", b.p);
}

void logs_line(struct cadre_report *piece, struct str line, bool *ret_end)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *root;

	if (json_parse(&reader, line.p, line.n, &root, NULL) < 0)
		return;
	const struct json *type = json_get(root, "type");
	if (json_str_is(type, "agent-end")) {
		*ret_end = true;
		add_end(piece, json_get(root, "end"), &a);
		return;
	}
	*ret_end = false;
	if (json_str_is(type, "fork-origin"))
		report_line(piece, CADRE_NOTE, "(goes on from the conversation of its parent)");
	else if (json_str_is(type, "user") && json_bool(json_get(root, "isMeta")) && !json_get(root, "origin"))
		return; /* the environment and instructions, the same for all */
	else if (json_str_is(type, "user"))
		add_message(piece, json_get(root, "origin") ? "notification" : "user", root, &a);
	else if (json_str_is(type, "assistant"))
		add_message(piece, "assistant", root, &a);
}
