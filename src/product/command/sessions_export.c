/* SPDX-License-Identifier: MIT
 * sessions_export.c - a conversation as Markdown: a heading for who speaks, calls and results as code. */
#include "product/command/sessions.h"
#include "lib/json/json.h"

/* Code in a fence that is longer than any run of backquotes in it */
static void add_code(struct buf *out, const char *language, struct str text)
{
	size_t run = 0, longest = 2;

	for (size_t i = 0; i < text.n; i++) {
		run = text.p[i] == '`' ? run + 1 : 0;
		longest = MAX(longest, run);
	}
	for (size_t i = 0; i <= longest; i++)
		buf_addch(out, '`');
	buf_addf(out, "%s\n" STR_FMT "%s", language, STR_ARG(text), str_ends(text, STR("\n")) ? "" : "\n");
	for (size_t i = 0; i <= longest; i++)
		buf_addch(out, '`');
	buf_addstr(out, "\n\n");
}

static void add_text(struct buf *out, const char *who, struct str text)
{
	text = str_trim(text);
	if (text.n)
		buf_addf(out, "## %s\n\n" STR_FMT "\n\n", who, STR_ARG(text));
}

static void add_result(struct buf *out, const struct json *block, struct arena *a)
{
	const struct json *content = json_get(block, "content");

	buf_addf(out, "%s:\n\n", json_bool(json_get(block, "is_error")) ? "Error" : "Result");
	if (json_is(content, JSON_STRING))
		add_code(out, "", json_str(content, a));
	for (const struct json *b = json_is(content, JSON_ARRAY) ? json_first(content) : NULL; b;
	     b = json_next(content, b))
		add_code(out, "", json_get(b, "text") ? json_str(json_get(b, "text"), a) : STR("(not text)"));
}

static void add_block(struct buf *out, const char *who, const struct json *block, struct arena *a)
{
	const struct json *type = json_get(block, "type");

	if (json_str_is(type, "text")) {
		add_text(out, who, json_str(json_get(block, "text"), a));
	} else if (json_str_is(type, "tool_use")) {
		buf_addf(out, "**" STR_FMT "**\n\n", STR_ARG(json_str(json_get(block, "name"), a)));
		add_code(out, "json", json_raw(json_get(block, "input")));
	} else if (json_str_is(type, "tool_result")) {
		add_result(out, block, a);
	}
}

void session_line_markdown(struct buf *out, struct str line)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *root;

	if (json_parse(&reader, line.p, line.n, &root, NULL) < 0 || json_bool(json_get(root, "isMeta")))
		return;
	bool of_user = json_str_is(json_get(root, "type"), "user");
	if (!of_user && !json_str_is(json_get(root, "type"), "assistant"))
		return;
	const char *who = of_user ? "User" : "Assistant";
	const struct json *content = json_get(json_get(root, "message"), "content");
	if (json_is(content, JSON_STRING))
		add_text(out, who, json_str(content, &a));
	for (const struct json *b = json_is(content, JSON_ARRAY) ? json_first(content) : NULL; b;
	     b = json_next(content, b))
		add_block(out, who, b, &a);
}
