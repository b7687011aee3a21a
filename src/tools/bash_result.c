/* SPDX-License-Identifier: MIT
 * bash_result.c - the text of a command's result: whole when it is short, a file and a preview when it is
 * long. */
#include "tools/bash_result.h"
#include "lib/base/utf8.h"
#include "lib/json/json_write.h"
#include "tools/bash_text.h"

static size_t count_chars(struct str s)
{
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++)
		n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
	return n;
}

static bool fits(const struct shell_output *o, size_t chars)
{
	return o->total <= chars || (o->total == o->head.n && count_chars(buf_str(&o->head)) <= chars);
}

/* Without the line ends behind the last line. */
static struct str shown(struct str s)
{
	while (s.n && (s.p[s.n - 1] == '\n' || s.p[s.n - 1] == '\r'))
		s.n--;
	return s;
}

/* True when all of the output is in a file now. */
static bool save(struct shell_output *o)
{
	if (!o->path && !o->err.text[0] && o->spill_path)
		(void)shell_output_save(o, o->spill_path, &o->err);
	return o->path && !o->err.text[0];
}

static void add_ends(struct buf *out, struct shell_output *o, size_t chars)
{
	struct str head = utf8_cut(buf_str(&o->head), chars / 2);
	struct str end = shell_output_end(o, chars / 2);
	bool saved = save(o);

	utf8_add_repaired(out, head);
	buf_addf(out, "\n\n... [%llu bytes left out", (unsigned long long)(o->total - head.n - end.n));
	if (saved)
		buf_addf(out, "; all of it is in %s", o->path);
	else if (o->err.text[0])
		buf_addf(out, "; they could not be saved: %s", o->err.text);
	buf_addstr(out, "] ...\n\n");
	utf8_add_repaired(out, shown(end));
}

static struct json_out open_json(struct tool_call *call, struct str text)
{
	buf_clear(&call->result_json);
	struct json_out w = json_out(&call->result_json);

	json_open(&w, '{');
	json_kstr(&w, "stdout", text);
	json_kcstr(&w, "stderr", "");
	json_kbool(&w, "interrupted", false);
	json_kbool(&w, "isImage", false);
	json_kbool(&w, "noOutputExpected", false);
	return w;
}

void bash_result_success(struct tool_call *call, struct shell *shell, const struct bash_limits *limits,
			 const char *meaning)
{
	struct shell_output *o = &shell->output;
	struct str text = shown(buf_str(&o->head));
	bool whole = fits(o, limits->inline_chars);

	if (whole && !text.n)
		buf_addstr(&call->result, "(Bash completed with no output)");
	else if (whole)
		buf_add(&call->result, text.p, text.n);
	else if (save(o))
		tool_add_persisted(&call->result, o->total, o->path, buf_str(&o->head));
	else
		add_ends(&call->result, o, limits->failure_chars);
	struct json_out w = open_json(call, whole ? text : utf8_cut(text, limits->inline_chars));
	if (o->path)
		json_kcstr(&w, "persistedOutputPath", o->path);
	if (meaning)
		json_kcstr(&w, "returnCodeInterpretation", meaning);
	json_close(&w);
}

void bash_result_failure(struct tool_call *call, struct shell *shell, const struct bash_limits *limits,
			 struct str first_line)
{
	struct shell_output *o = &shell->output;
	struct str text = shown(buf_str(&o->head));

	buf_add(&call->result, first_line.p, first_line.n);
	if (!o->total || (fits(o, limits->failure_chars) && !text.n))
		return;
	buf_addch(&call->result, '\n');
	if (fits(o, limits->failure_chars))
		buf_add(&call->result, text.p, text.n);
	else
		add_ends(&call->result, o, limits->failure_chars);
}

void bash_result_background(struct tool_call *call, const struct shell *shell, uint64_t timed_out_ms)
{
	struct buf *out = &call->result;

	if (timed_out_ms) {
		buf_addstr(out, "Command did not complete within its ");
		bash_add_duration(out, timed_out_ms);
		buf_addf(out, " timeout and was moved to the background (ID: %s).", shell->id);
	} else {
		buf_addf(out, "Command running in background with ID: %s.", shell->id);
	}
	buf_addf(out,
		 " Output is being written to: %s. You will be notified when it completes; until then Read "
		 "shows what that file has so far.",
		 shell->output.path);
	struct json_out w = open_json(call, STR(""));
	json_kcstr(&w, "backgroundTaskId", shell->id);
	if (timed_out_ms)
		json_ki64(&w, "timedOutAfterMs", (int64_t)timed_out_ms);
	json_close(&w);
}
