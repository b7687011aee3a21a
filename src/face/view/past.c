/* SPDX-License-Identifier: MIT
 * past.c - what stands in the transcript of a session or an agent, as lines: all of it for a view, or its last messages when a
 * session is continued. Only the end of the file is read, at most so much. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "face/cli/view.h"
#include "face/screen/markdown.h"
#include "face/tui/state.h"
#include "lib/base/utf8.h"
#include "lib/json/json.h"

enum { LAST_BYTES = 256 << 10, MOST_BYTES = 64 << 20, EXCERPT_ROWS = 3, SUMMARY_BYTES = 300 };

/* The end of the file, from the start of a line on */
static bool read_end(const char *path, size_t most, struct buf *out)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	off_t from = (size_t)st.st_size > most ? st.st_size - (off_t)most : 0;
	buf_reserve(out, (size_t)(st.st_size - from) + 1);
	for (ssize_t n;
	     out->n < (size_t)(st.st_size - from) &&
	     (n = pread(fd, out->p + out->n, (size_t)(st.st_size - from) - out->n, from + (off_t)out->n)) > 0;)
		out->n += (size_t)n;
	close(fd);
	if (from) {
		const char *end = out->n ? memchr(out->p, '\n', out->n) : NULL;
		buf_drop(out, end ? (size_t)(end - out->p) + 1 : out->n);
	}
	return true;
}

/* What a call is about: the first of its parameters that says it */
static struct str call_subject(const struct json *input, struct arena *a)
{
	static const char *const names[] = { "command", "file_path", "pattern", "description",
					     "url",     "query",     "path",    "skill" };

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct str text = json_str(json_get(input, names[i]), a);
		if (text.n)
			return utf8_cut(text, SUMMARY_BYTES);
	}
	return STR("");
}

struct past_call {
	struct styled line; /* without its mark; empty: it was written */
	bool quiet;         /* the view does not show what it returns, so it is left out of the last messages, too */
};

static void write_call(struct past *p, struct past_call *call, bool failed)
{
	if (call->line.text.n)
		styled_addf(p->out, failed ? LOOK_RED : LOOK_CYAN, "%s ",
			    tui_mark(p->tui, failed ? MARK_FAILED : MARK_TOOL));
	styled_append(p->out, &call->line, 0, call->line.text.n);
	styled_clear(&call->line);
}

/* Calls stand before what follows them even if they have no result yet. */
static void write_calls(struct past *p)
{
	for (struct map_entry *e = map_next(&p->calls, NULL); e; e = map_next(&p->calls, e))
		write_call(p, e->value, false);
}

static void drop_calls(struct past *p)
{
	for (struct map_entry *e = map_next(&p->calls, NULL); e; e = map_next(&p->calls, e)) {
		styled_release(&((struct past_call *)e->value)->line);
		free(e->value);
	}
	map_release(&p->calls);
	p->calls = (struct map){ 0 };
}

static void add_call(struct past *p, const struct json *b, struct arena *a)
{
	const char *name = json_cstr(json_get(b, "name"), a);
	struct str id = json_str(json_get(b, "id"), a);
	struct past_call *call = map_get(&p->calls, id);

	if (!call) {
		call = xcalloc(1, sizeof *call);
		(void)map_set(&p->calls, id, call);
	}
	call->quiet = name && feed_is_quiet(name);
	if (name && !strcmp(name, "ExitPlanMode"))
		markdown_render(json_str(json_get(json_get(b, "input"), "plan"), a), p->columns, true, p->out);
	styled_add_foreign(&call->line, LOOK_BOLD, str_from(name ? name : ""));
	struct str subject = call_subject(json_get(b, "input"), a);
	styled_add(&call->line, LOOK_PLAIN, subject.n ? STR(" ") : STR(""));
	styled_add_line(&call->line, LOOK_PLAIN, subject);
}

static void add_result(struct past *p, struct str text, bool failed)
{
	unsigned look = failed ? LOOK_RED : LOOK_DIM;
	size_t rows = 0;

	text = view_result_text(str_trim(text));
	for (struct str rest = text; rest.p && text.n; rows++) {
		struct str line = feed_output_line(str_cut(&rest, '\n'));
		if (!p->whole && rows == EXCERPT_ROWS) {
			styled_addf(p->out, LOOK_DIM, "    %s\n", tui_mark(p->tui, MARK_MORE));
			return;
		}
		styled_add(p->out, LOOK_PLAIN, STR("    "));
		styled_add_code(p->out, look, p->whole ? line : utf8_cut(line, p->columns > 20 ? p->columns - 5 : 15));
		styled_add(p->out, LOOK_PLAIN, STR("\n"));
	}
}

/* The text of a user's message that was not typed: what `!` ran and printed */
static bool is_output(struct str text)
{
	return str_starts(text, STR("<bash-input>"));
}

static struct str take_tagged(struct str *rest, const char *open, const char *close)
{
	const char *from = memmem(rest->p, rest->n, open, strlen(open));
	struct str tail = from ? str_tail(*rest, (size_t)(from - rest->p) + strlen(open)) : STR("");
	const char *end = memmem(tail.p, tail.n, close, strlen(close));

	*rest = end ? str_tail(tail, (size_t)(end - tail.p) + strlen(close)) : STR("");
	return (struct str){ tail.p, end ? (size_t)(end - tail.p) : tail.n };
}

static void add_commands(struct past *p, struct str text)
{
	while (text.n) {
		struct str command = take_tagged(&text, "<bash-input>", "</bash-input>"),
			   output = take_tagged(&text, "<bash-stdout>", "</bash-stdout>");
		styled_addf(p->out, LOOK_BOLD, "\n%s !", tui_mark(p->tui, MARK_PROMPT));
		styled_add_line(p->out, LOOK_BOLD, command);
		add_result(p, output, false);
		text = str_trim(text);
	}
}

/* patch: of the edit whose result it is; NULL: of none */
static void add_block(struct past *p, bool of_user, const struct json *b, const struct json *patch, struct arena *a)
{
	const struct json *type = json_get(b, "type"), *content = json_get(b, "content");
	struct str text = str_trim(json_str(json_is(b, JSON_STRING) ? b : json_get(b, "text"), a));

	if (text.n && of_user && str_starts(text, STR("<system-reminder>")))
		return;
	if (text.n || json_str_is(type, "thinking"))
		write_calls(p);
	if (text.n && of_user) {
		if (is_output(text)) {
			add_commands(p, text);
			return;
		}
		if (str_starts(text, STR("[Request interrupted by user"))) {
			styled_add(p->out, LOOK_DIM, STR("Interrupted.\n"));
			return;
		}
		if (p->copied)
			tui_begin_copy(p->tui);
		styled_addf(p->out, LOOK_BOLD, "\n%s ", tui_mark(p->tui, MARK_PROMPT));
		styled_add_foreign_lines(p->out, LOOK_BOLD, p->whole ? text : utf8_cut(text, SUMMARY_BYTES));
		styled_add(p->out, LOOK_PLAIN, STR("\n"));
	} else if (text.n) {
		if (p->copied)
			buf_add(&p->tui->copies[0], text.p, text.n);
		styled_add(p->out, LOOK_PLAIN, STR("\n"));
		markdown_render(text, p->columns, true, p->out);
	} else if (json_str_is(type, "thinking") && p->whole) {
		styled_add_foreign_lines(p->out, LOOK_DIM, str_trim(json_str(json_get(b, "thinking"), a)));
		styled_add(p->out, LOOK_PLAIN, STR("\n"));
	} else if (json_str_is(type, "tool_use")) {
		add_call(p, b, a);
	} else if (json_str_is(type, "tool_result")) {
		bool failed = json_bool(json_get(b, "is_error"));
		struct past_call *call = map_get(&p->calls, json_str(json_get(b, "tool_use_id"), a));
		if (call)
			write_call(p, call, failed);
		if (patch && !failed) {
			size_t added, removed;
			diff_paint(p->tui, patch, DIFF_COLUMNS, p->whole ? SIZE_MAX : DIFF_ROWS, p->out, &added,
				   &removed);
			return;
		}
		if (call && call->quiet && !failed && !p->whole)
			return;
		if (json_is(content, JSON_STRING))
			add_result(p, json_str(content, a), failed);
		for (const struct json *c = json_items(content); c; c = json_next(content, c))
			add_result(p, json_get(c, "text") ? json_str(json_get(c, "text"), a) : STR("(not text)"),
				   failed);
	}
}

/* Whether this line is one of the conversation */
static bool is_message(struct str line)
{
	return (memmem(line.p, line.n, "\"type\":\"user\"", 13) ||
		memmem(line.p, line.n, "\"type\":\"assistant\"", 18)) &&
	       !memmem(line.p, line.n, "\"isMeta\":true", 13);
}

static void add_line(struct past *p, struct str line)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = MOST_BYTES, .depth = 64 } };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *root;

	if (json_parse(&reader, line.p, line.n, &root, NULL) < 0)
		return; /* torn, or being written */
	const struct json *type = json_get(root, "type"), *content = json_get(json_get(root, "message"), "content");
	if (json_str_is(type, "custom-title") || json_str_is(type, "ai-title")) {
		struct str title =
			json_str(json_get(root, json_str_is(type, "ai-title") ? "aiTitle" : "customTitle"), &a);
		buf_clear(&p->title);
		render_line(&p->title, title);
		return;
	}
	bool of_user = json_str_is(type, "user");
	const struct json *patch = json_get(json_get(root, "toolUseResult"), "structuredPatch");
	patch = json_first(patch) ? patch : NULL;
	if (json_is(content, JSON_STRING))
		add_block(p, of_user, content, NULL, &a);
	for (const struct json *b = json_items(content); b; b = json_next(content, b))
		add_block(p, of_user, b, patch, &a);
}

bool past_read(struct past *p, const char *path, size_t last)
{
	AUTO_BUF struct buf text = { 0 };
	size_t count = 0, from = 0;
	bool known = read_end(path, last ? LAST_BYTES : MOST_BYTES, &text);

	p->whole = !last;
	for (size_t end = text.n; last && end > 0;) { /* where the last ones begin */
		const char *before = memrchr(text.p, '\n', end - 1);
		size_t start = before ? (size_t)(before - text.p) + 1 : 0;
		if (is_message((struct str){ text.p + start, end - start }) && ++count > last) {
			from = end;
			break;
		}
		end = start;
	}
	p->earlier = from > 0;
	bool begun = !from; /* not with a result whose call is not shown */
	for (struct str rest = { text.p, text.n }; rest.n && rest.p;) {
		struct str line = str_cut(&rest, '\n');
		bool shown = (size_t)(line.p - text.p) >= from && is_message(line) &&
			     (begun || !memmem(line.p, line.n, "\"tool_result\"", 13));
		begun = begun || shown;
		if (shown || memmem(line.p, line.n, "-title\"", 7))
			add_line(p, line);
	}
	write_calls(p);
	drop_calls(p);
	return known;
}

bool past_find(const char *path, struct str uuid, struct buf *ret_prompt, struct buf *ret_before)
{
	AUTO_BUF struct buf text = { 0 }, mark = { 0 };

	buf_addf(&mark, "\"uuid\":\"" STR_FMT "\"", STR_ARG(uuid));
	(void)read_end(path, MOST_BYTES, &text);
	for (struct str rest = { text.p, text.n }; rest.n && rest.p;) {
		AUTO_JSON struct json_reader reader = { .limits = { .bytes = MOST_BYTES, .depth = 64 } };
		AUTO_ARENA struct arena a = { 0 };
		struct str line = str_cut(&rest, '\n');
		const struct json *root;
		if (!memmem(line.p, line.n, mark.p, mark.n) || json_parse(&reader, line.p, line.n, &root, NULL) < 0)
			continue;
		const struct json *content = json_get(json_get(root, "message"), "content"), *b = content;
		if (json_is(content, JSON_ARRAY))
			for (b = json_first(content);
			     b && (!json_get(b, "text") || is_output(json_str(json_get(b, "text"), &a)));
			     b = json_next(content, b))
				;
		struct str prompt = json_str(json_is(b, JSON_STRING) ? b : json_get(b, "text"), &a);
		struct str before = json_str(json_get(root, "parentUuid"), &a);
		buf_add(ret_prompt, prompt.p, prompt.n);
		buf_add(ret_before, before.p, before.n);
		return true;
	}
	return false;
}
