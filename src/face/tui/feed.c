/* SPDX-License-Identifier: MIT
 * feed.c - what is finished: each event as lines for the terminal's scrollback, written once. What is not finished (the end of a
 * streamed answer, running tools) is shown in the live region. */
#include "face/screen/markdown.h"
#include "face/tui/state.h"
#include "face/cli/view.h"
#include "lib/base/list.h"
#include "lib/base/utf8.h"
#include "lib/json/json.h"

enum {
	HEAD_ROWS = 3,
	TAIL_ROWS = 5,
	PROMPT_ROWS = 20,
	SUMMARY_BYTES = 200,
	STARTS_SHOWN = 6 /* agents that begin, or end, together */,
	SLOW_MS = 1000
};

const char *tui_mark(const struct tui *t, enum tui_mark mark)
{
	static const char *const marks[] = { "◐", "✔", "✗", "?", "❯", "●", "…" };
	static const char *const ascii[] = { "~", "+", "x", "?", ">", "*", "..." };

	if (mark == MARK_PROMPT && t->lines && t->lines->reader)
		return "you:";
	return t->ascii ? ascii[mark] : marks[mark];
}

/* Behind a cluster of several code points the next column is set, because terminals do not agree about its width; in a line that
 * the terminal wraps there is no such column. */
static void write_line(struct tui *t, const struct styled *s, size_t from, size_t to)
{
	struct str line = { s->text.p + from, to - from };
	bool placed = !t->dumb && cells_width(line) < t->region.columns;
	unsigned column = 0, width;

	for (size_t at = 0; placed && at < line.n;) {
		size_t end = cells_next(line, at, &width);
		column += width;
		if ((unsigned char)line.p[at] >= 0x80 && end - at > 4) {
			styled_write(s, from, from + end, t->region.colour, &t->above);
			buf_addf(&t->above, "\033[%uG", column + 1);
			from += end;
			line = (struct str){ line.p + end, line.n - end };
			end = 0;
		}
		at = end;
	}
	styled_write(s, from, to, t->region.colour, &t->above);
	buf_addstr(&t->above, "\r\n");
}

static void write_lines(struct tui *t, const struct styled *lines)
{
	struct str s = buf_str(&lines->text);

	if (t->lines && s.n)
		plain_end_line(t);
	for (size_t at = 0; at < s.n;) {
		const char *end = memchr(s.p + at, '\n', s.n - at);
		size_t to = end ? (size_t)(end - s.p) : s.n;
		write_line(t, lines, at, to);
		at = to + 1;
	}
	if (s.n)
		tui_changed(t);
}

/* Reads and searches that follow each other become one line; it is written when something else happens. So do agents that begin
 * together, and those that end before the next frame. */
void feed_folded(struct tui *t)
{
	struct folded *f = &t->folded;
	AUTO_BUF struct buf b = { 0 };

	if (f->reads + f->searches > 1) {
		styled_clear(&f->lines);
		if (f->reads)
			buf_addf(&b, "Read %u file%s", f->reads, f->reads == 1 ? "" : "s");
		if (f->searches)
			buf_addf(&b, "%s %u pattern%s", f->reads ? ", searched" : "Searched", f->searches,
				 f->searches == 1 ? "" : "s");
		styled_addf(&f->lines, LOOK_CYAN, "%s ", tui_mark(t, MARK_TOOL));
		styled_add(&f->lines, LOOK_PLAIN, buf_str(&b));
		styled_add(&f->lines, LOOK_PLAIN, STR("\n"));
	}
	if (f->starts > STARTS_SHOWN) {
		styled_clear(&f->lines);
		styled_addf(&f->lines, LOOK_DIM, "%s %u agents begin\n", tui_mark(t, MARK_TOOL), f->starts);
	}
	if (f->ends > STARTS_SHOWN) {
		styled_clear(&f->lines);
		styled_addf(&f->lines, LOOK_DIM, "%s %u agents have finished\n", tui_mark(t, MARK_DONE), f->ends);
	}
	f->reads = f->searches = f->starts = f->ends = 0;
	write_lines(t, &f->lines);
	styled_clear(&f->lines);
}

void feed_styled(struct tui *t, const struct styled *lines)
{
	feed_folded(t);
	write_lines(t, lines);
}

/* An empty line above what follows, and the mark of a turn (OSC 133) that shells and terminals know */
static void feed_gap(struct tui *t, const char *mark)
{
	feed_folded(t);
	buf_addstr(&t->above, "\r\n");
	if (t->osc && *mark)
		buf_addf(&t->above, "\033]133;%s\a", mark);
}

void feed_say(struct tui *t, unsigned look, struct str ours)
{
	AUTO_STYLED struct styled s = { 0 };

	while (ours.n) {
		struct str line = str_cut(&ours, '\n');
		size_t from = 0, next = line.n;
		do { /* a narrow window breaks it at words; a longer word is left whole to the terminal */
			size_t end = t->wraps_itself || t->dumb ? line.n
								: cells_wrap(line, from, t->region.columns - 1, &next);
			while (end == next && next < line.n && line.p[next] != ' ')
				end = ++next;
			next += next < line.n && line.p[next] == ' ';
			styled_add(&s, look, (struct str){ line.p + from, end - from });
			styled_add(&s, LOOK_PLAIN, STR("\n"));
			from = next;
		} while (from < line.n);
	}
	feed_styled(t, &s);
}

void feed_words(struct tui *t, unsigned look, struct str foreign)
{
	AUTO_STYLED struct styled s = { 0 };

	styled_add_foreign_lines(&s, look, foreign);
	feed_say(t, look, buf_str(&s.text));
}

void feed_foreign(struct tui *t, unsigned look, struct str text)
{
	AUTO_STYLED struct styled s = { 0 };

	styled_add_foreign_lines(&s, look, text);
	feed_styled(t, &s);
}

/* One line of ours about foreign text: mark, text */
static void feed_line(struct tui *t, unsigned look, const char *mark, struct str foreign)
{
	AUTO_STYLED struct styled s = { 0 };

	styled_add(&s, look, str_from(mark));
	styled_add(&s, look, STR(" "));
	styled_add_foreign(&s, look, foreign);
	feed_say(t, look, buf_str(&s.text));
}

struct str feed_output_line(struct str line)
{
	while (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	const char *back = memrchr(line.p, '\r', line.n);
	return back ? str_tail(line, (size_t)(back + 1 - line.p)) : line;
}

/* The first and last rows of a longer text, indented */
static void add_excerpt(struct tui *t, struct styled *s, unsigned look, struct str text, size_t head, size_t tail)
{
	size_t count = 0, at = 0;

	text = str_trim(text);
	for (size_t i = 0; i < text.n; i++)
		count += text.p[i] == '\n';
	count += text.n > 0;
	bool cut = count > head + tail + 1;
	for (struct str rest = text; rest.p && text.n; at++) {
		struct str line = str_cut(&rest, '\n');
		if (cut && at >= head && at < count - tail) {
			if (at == head)
				styled_addf(s, LOOK_DIM, "    %s %zu lines more\n", tui_mark(t, MARK_MORE),
					    count - head - tail);
			continue;
		}
		styled_add(s, LOOK_PLAIN, STR("    "));
		styled_add_code(s, look, utf8_cut(feed_output_line(line), 2000));
		styled_add(s, LOOK_PLAIN, STR("\n"));
	}
}

void feed_prompt(struct tui *t, struct str text)
{
	AUTO_STYLED struct styled s = { 0 };
	size_t rows = 0;

	if (t->lines) {
		AUTO_BUF struct buf prompt = { 0 };
		buf_addf(&prompt, "%s ", tui_mark(t, MARK_PROMPT));
		plain_finish(t, buf_str(&prompt), str_trim(text));
		return;
	}
	for (struct str rest = str_trim(text); rest.p; rows++) {
		struct str line = str_cut(&rest, '\n');
		if (rows == PROMPT_ROWS && rest.p) {
			size_t more = 2;
			for (size_t i = 0; i < rest.n; i++)
				more += rest.p[i] == '\n';
			styled_addf(&s, LOOK_DIM, "  %s %zu lines more\n", tui_mark(t, MARK_MORE), more);
			break;
		}
		styled_addf(&s, LOOK_BOLD, "%s ", rows ? " " : tui_mark(t, MARK_PROMPT));
		styled_add_line(&s, LOOK_BOLD, line);
	}
	feed_gap(t, "A");
	feed_styled(t, &s);
	if (t->osc)
		buf_addstr(&t->above, "\033]133;C\a");
}

/* Shown in the live region until its block is complete */
static void add_to_tail(struct tui *t, struct str text)
{
	size_t from = t->tail.text.n;

	styled_add_foreign_lines(&t->tail, LOOK_PLAIN, text);
	for (size_t i = from; i < t->tail.text.n; i++)
		if (t->tail.text.p[i] == '\t')
			t->tail.text.p[i] = ' ';
}

static void feed_blocks(struct tui *t, size_t n)
{
	AUTO_STYLED struct styled lines = { 0 };

	if (!n)
		return;
	markdown_render((struct str){ t->answer.p, n }, t->region.columns - 1, !t->wraps_itself, &lines);
	buf_drop(&t->answer, n);
	styled_clear(&t->tail);
	t->tail_moved = false;
	add_to_tail(t, buf_str(&t->answer));
	if (!lines.text.n)
		return;
	feed_gap(t, "");
	feed_styled(t, &lines);
	t->streamed = true;
}

static void end_thinking(struct tui *t)
{
	int64_t ms = tui_now_ms() - t->thinking_ms;
	AUTO_BUF struct buf b = { 0 };

	if (!t->thinking)
		return;
	t->thinking = false;
	if (ms >= SLOW_MS) {
		buf_addf(&b, "%s thought for ", tui_mark(t, MARK_MORE));
		buf_addspan(&b, ms);
		feed_say(t, LOOK_DIM, buf_str(&b));
	}
	if (t->shows_thinking && t->thought.n)
		feed_foreign(t, LOOK_DIM, str_trim(buf_str(&t->thought)));
	buf_clear(&t->thought);
}

static void feed_delta(struct tui *t, const struct cadre_event *e)
{
	struct str text = view_event_text(e);

	if (!strcmp(cadre_event_name(e), "thinking")) {
		if (!t->thinking)
			t->thinking_ms = tui_now_ms();
		t->thinking = true;
		if (t->shows_thinking)
			buf_add(&t->thought, text.p, text.n);
	} else {
		end_thinking(t);
		buf_add(&t->answer, text.p, text.n);
		buf_add(&t->copies[0], text.p, text.n);
		add_to_tail(t, text);
		feed_blocks(t, markdown_complete(buf_str(&t->answer)));
	}
	tui_changed(t);
}

static struct tool_run *take_tool(struct tui *t, const char *id)
{
	for (struct tool_run **at = &t->tools; *at; at = &(*at)->next)
		if (!strcmp((*at)->id, id))
			return list_pop(at);
	return NULL;
}

static void tool_run_free(struct tool_run *run)
{
	free(run->id);
	free(run->name);
	free(run->summary);
	styled_release(&run->patch);
	buf_release(&run->last);
	free(run);
}

static void tool_started(struct tui *t, const struct cadre_event *e)
{
	struct tool_run *run = xcalloc(1, sizeof *run);
	struct str rest = view_call_subject(e), subject = str_cut(&rest, '\n');

	if (!strcmp(cadre_event_name(e), "ExitPlanMode")) /* the plan is shown whole, with its question */
		subject = STR("");
	feed_blocks(t, t->answer.n);
	end_thinking(t);
	*run = (struct tool_run){ .id = xstrdup(cadre_event_id(e)),
				  .name = xstrdup(cadre_event_name(e)),
				  .summary = render_copy(utf8_cut(subject, SUMMARY_BYTES)),
				  .started_ms = tui_now_ms() };
	list_push_last(&t->tools, run);
	tui_changed(t);
}

void feed_allowed(struct tui *t, const char *id)
{
	for (struct tool_run *run = t->tools; run; run = run->next)
		if (!strcmp(run->id, id))
			run->started_ms = tui_now_ms();
}

/* What a command prints, while it runs: its last line */
static void tool_progress(struct tui *t, const struct cadre_event *e)
{
	for (struct tool_run *run = t->tools; run; run = run->next) {
		if (strcmp(run->id, cadre_event_id(e)) != 0)
			continue;
		buf_clear(&run->last);
		render_line(&run->last, utf8_cut(feed_output_line(view_event_text(e)), SUMMARY_BYTES));
		run->lines = cadre_event_int(e, CADRE_INT_LINES);
		tui_changed(t);
	}
}

/* The results of calls, before their ends: the hunks of an edit are kept for the line of its call. */
static void note_patch(struct tui *t, const struct cadre_event *e)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = 16 << 20, .depth = 64 } };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *root;
	size_t n = 0;
	const char *frame = cadre_event_frame(e, &n);

	if (!frame || !memmem(frame, n, "\"structuredPatch\":[", 19) || json_parse(&reader, frame, n, &root, NULL) < 0)
		return;
	const struct json *id = json_get(json_first(json_get(json_get(root, "message"), "content")), "tool_use_id"),
			  *result = json_get(root, "tool_use_result"), *hunks = json_get(result, "structuredPatch");
	for (struct tool_run *run = t->tools; run; run = run->next) {
		if (!json_str_is(id, run->id))
			continue;
		if (json_first(hunks))
			diff_paint(t, hunks, DIFF_COLUMNS, DIFF_ROWS, &run->patch, &run->added, &run->removed);
		bool created = json_str_is(json_get(result, "type"), "create"); /* without hunks */
		for (struct str rest = json_str(json_get(result, "content"), &a); created && rest.n; run->added++)
			(void)str_cut(&rest, '\n');
	}
}

/* Their results are long and known to the user: one line says enough. */
bool feed_is_quiet(const char *name)
{
	static const char *const names[] = { "Read",  "Edit",       "Write",      "NotebookEdit", "TodoWrite",
					     "Agent", "Task",       "TaskCreate", "TaskUpdate",   "TaskList",
					     "Skill", "ToolSearch", "TaskGet",    "ExitPlanMode" };

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

/* The line of a call: mark, name, subject; lines, changes and time behind it */
static void paint_call(struct tui *t, const struct tool_run *run, bool failed, size_t lines, struct styled *s)
{
	int64_t ms = tui_now_ms() - run->started_ms;
	AUTO_BUF struct buf b = { 0 };

	styled_addf(s, failed ? LOOK_RED : LOOK_CYAN, "%s ", tui_mark(t, failed ? MARK_FAILED : MARK_TOOL));
	styled_add_foreign(s, LOOK_BOLD, str_from(run->name));
	styled_add(s, LOOK_PLAIN, run->summary[0] ? STR(" ") : STR(""));
	styled_add_foreign(s, LOOK_PLAIN, str_from(run->summary));
	if (run->added || run->removed) {
		styled_addf(s, LOOK_GREEN, " +%zu", run->added);
		styled_addf(s, LOOK_RED, " -%zu", run->removed);
	}
	if (!strcmp(run->name, "Read") && !failed)
		buf_addf(&b, "%zu line%s%s", lines, lines == 1 ? "" : "s", ms >= SLOW_MS ? ", " : "");
	if (ms >= SLOW_MS)
		buf_addspan(&b, ms);
	if (b.n)
		styled_addf(s, LOOK_DIM, " (%s)", b.p);
	styled_add(s, LOOK_PLAIN, STR("\n"));
}

static void tool_ended(struct tui *t, const struct cadre_event *e)
{
	struct tool_run *run = take_tool(t, cadre_event_id(e));
	struct str text = view_result_text(str_trim(view_event_text(e)));
	AUTO_STYLED struct styled s = { 0 };
	bool failed = cadre_event_is_error(e);

	if (!run)
		return;
	bool is_agent = !strcmp(run->name, "Agent") || !strcmp(run->name, "Task");
	bool is_told = is_agent || !strcmp(run->name, "AskUserQuestion");
	if (is_agent) /* what follows its first line is for the model */
		text = str_cut(&text, '\n');
	size_t lines = text.n > 0;
	for (size_t i = 0; i < text.n; i++)
		lines += text.p[i] == '\n';
	bool reads = !failed && !strcmp(run->name, "Read");
	const char *last = reads ? memrchr(text.p, '\n', text.n) : NULL;
	uint64_t number; /* alone: a file that ends with a line end has no line behind it */
	if (last && str_to_u64(str_tail(text, (size_t)(last + 1 - text.p)), &number))
		lines--;
	bool searches = !failed && (!strcmp(run->name, "Grep") || !strcmp(run->name, "Glob"));
	if (!failed && !strcmp(run->name, "TaskCreate"))
		todo_created(t, text);
	if (failed ||
	    !is_told) { /* the start and the end of an agent, and answers to questions, have lines of their own */
		paint_call(t, run, failed, lines, &s);
		styled_append(&s, &run->patch, 0, run->patch.text.n);
		if (failed || !feed_is_quiet(run->name))
			add_excerpt(t, &s, failed ? LOOK_RED : LOOK_DIM, text, HEAD_ROWS, TAIL_ROWS);
	}
	if ((reads || searches) && t->folded.starts + t->folded.ends)
		feed_folded(t);
	if (reads || searches) {
		t->folded.reads += reads;
		t->folded.searches += searches;
		styled_append(&t->folded.lines, &s, 0, s.text.n);
	} else {
		feed_styled(t, &s);
	}
	tool_run_free(run);
}

/* In plain mode the line of a call was written when it began, with the first line of an error behind it. */
static void feed_plain_call(struct tui *t, const struct cadre_event *e)
{
	struct str text = view_result_text(str_trim(view_event_text(e)));
	enum cadre_event_kind kind = cadre_event_kind(e);
	struct tool_run *run = NULL;
	AUTO_STYLED struct styled s = { 0 };

	if (kind == CADRE_TOOL_STARTED)
		tool_started(t, e);
	else if (kind == CADRE_MESSAGE)
		note_patch(t, e);
	else if (kind == CADRE_TOOL_ENDED)
		run = take_tool(t, cadre_event_id(e));
	while (kind == CADRE_TURN_ENDED && t->tools)
		tool_run_free(take_tool(t, t->tools->id));
	if (!run)
		return;
	bool failed = cadre_event_is_error(e), is_agent = !strcmp(run->name, "Agent") || !strcmp(run->name, "Task");
	if (failed)
		(void)str_cut(&text, '\n');
	styled_append(&s, &run->patch, 0, run->patch.text.n);
	if (failed ? !is_agent && text.n : !feed_is_quiet(run->name))
		add_excerpt(t, &s, LOOK_PLAIN, text, HEAD_ROWS, TAIL_ROWS);
	if (s.text.n)
		feed_styled(t, &s);
	tool_run_free(run);
}

const char *const usage_names[USAGE_PARTS] = { "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens",
					       "output_tokens" };

/* Figures of the result: cost so far, and how full the window of the model is */
static void note_usage(struct tui *t, const struct cadre_event *e)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;
	size_t n = 0;
	const char *frame = cadre_event_frame(e, &n);

	if (!frame || json_parse(&reader, frame, n, &root, NULL) < 0)
		return;
	double cost_usd = json_double(json_get(root, "total_cost_usd"));
	t->turn_usd = MAX(cost_usd - t->cost_usd, 0.0);
	t->cost_usd = cost_usd;
	const struct json *steps = json_get(json_get(root, "usage"), "iterations"), *last = NULL;
	for (const struct json *s = json_items(steps); s; s = json_next(steps, s))
		last = s;
	int64_t context = 0, parts[USAGE_PARTS] = { 0 };
	t->turn_tokens = 0;
	for (size_t i = 0; i < USAGE_PARTS; i++) {
		(void)json_i64(json_get(json_get(root, "usage"), usage_names[i]), &parts[i]);
		t->turn_tokens += parts[i];
		if (last)
			(void)json_i64(json_get(last, usage_names[i]), &parts[i]);
		context += parts[i];
	}
	if (context) { /* a turn that was interrupted may know none */
		memcpy(t->usage, parts, sizeof parts);
		t->context = context;
	}
	const struct json *models = json_get(root, "modelUsage");
	(void)json_i64(json_get(json_get(models, cadre_session_model(t->session)), "contextWindow"), &t->window);
}

static void feed_turn_end(struct tui *t, const struct cadre_event *e)
{
	struct str text = view_event_text(e);
	AUTO_BUF struct buf b = { 0 };

	note_usage(t, e);
	end_thinking(t);
	feed_blocks(t, t->answer.n);
	while (t->tools)
		tool_run_free(take_tool(t, t->tools->id));
	if (t->cancelled) {
		feed_say(t, LOOK_DIM, STR("Interrupted."));
	} else if (cadre_event_is_error(e)) {
		feed_line(t, LOOK_RED, tui_mark(t, MARK_FAILED), text.n ? text : str_from(cadre_event_subtype(e)));
	} else {
		if (!t->streamed && text.n) {
			buf_add(&t->answer, text.p, text.n);
			feed_blocks(t, t->answer.n);
		}
		buf_addf(&b, "%s ", tui_mark(t, MARK_DONE));
		buf_addspan(&b, tui_now_ms() - t->turn_ms);
		if (t->turn_tokens) {
			buf_addstr(&b, ", ");
			buf_addcount(&b, t->turn_tokens);
			buf_addstr(&b, " tokens");
		}
		if (t->turn_usd * 1e6 >= SHOWN_MICROS)
			buf_addf(&b, ", $%.2f", t->turn_usd);
		feed_say(t, LOOK_DIM, buf_str(&b));
	}
	feed_folded(t);
	if (t->osc)
		buf_addstr(&t->above, cadre_event_is_error(e) ? "\033]133;D;1\a" : "\033]133;D;0\a");
	t->streamed = t->cancelled = false;
	buf_clear(&t->retry);
	t->retries = 0;
}

static void note_retry(struct tui *t, const struct cadre_event *e)
{
	int64_t now = tui_now_ms(), left_ms = cadre_event_int(e, CADRE_INT_LEFT_MS);

	t->retry_due_ms = now + cadre_event_int(e, CADRE_INT_DELAY_MS);
	t->retry_end_ms = left_ms ? now + left_ms : 0;
	if (!t->retries++)
		t->retry_ms = now;
	buf_clear(&t->retry);
	render_line(&t->retry, view_event_text(e));
	tui_changed(t);
}

/* A child: its start and its end, and errors; its tools are in the rows of agents. */
static void feed_child(struct tui *t, const struct cadre_event *e)
{
	AUTO_BUF struct buf b = { 0 };
	enum cadre_event_kind kind = cadre_event_kind(e);
	struct str text = view_event_text(e);

	if (kind == CADRE_AGENT_STARTED || kind == CADRE_AGENT_ENDED) {
		bool bad = kind == CADRE_AGENT_ENDED && cadre_event_is_error(e);
		agent_note(&b, e);
		if (bad) {
			feed_line(t, LOOK_RED, tui_mark(t, MARK_FAILED), buf_str(&b));
			return;
		}
		struct folded *f = &t->folded;
		unsigned *count = kind == CADRE_AGENT_STARTED ? &f->starts : &f->ends;
		if (f->reads + f->searches + f->starts + f->ends != *count) /* of another kind */
			feed_folded(t);
		if (++*count > STARTS_SHOWN)
			return;
		styled_addf(&f->lines, LOOK_DIM, "%s ",
			    tui_mark(t, kind == CADRE_AGENT_STARTED ? MARK_TOOL : MARK_DONE));
		styled_add_line(&f->lines, LOOK_DIM, buf_str(&b));
		tui_changed(t);
	} else if (kind == CADRE_ERROR) {
		agent_title(&b, e);
		buf_addstr(&b, ": ");
		buf_add(&b, text.p, text.n);
		feed_line(t, view_is_error(e) ? LOOK_RED : LOOK_DIM,
			  tui_mark(t, view_is_error(e) ? MARK_FAILED : MARK_TOOL), buf_str(&b));
	}
}

void feed_event(struct tui *t, const struct cadre_event *e)
{
	enum cadre_event_kind kind = cadre_event_kind(e);
	struct str text = view_event_text(e);

	if (kind == CADRE_ERROR && t->trust_waits && str_has(text, STR("`cadre trust`"))) {
		buf_addf(&t->without_trust, STR_FMT "\n", STR_ARG(text));
		return;
	}
	if (t->lines || cadre_event_agent(e)[0]) {
		(t->lines ? plain_event : feed_child)(t, e);
		if (t->lines && !cadre_event_agent(e)[0])
			feed_plain_call(t, e);
		return;
	}
	bool answered = kind == CADRE_DELTA || kind == CADRE_MESSAGE || kind == CADRE_TOOL_STARTED;
	if (answered && t->retries) { /* one line says how long it took */
		AUTO_BUF struct buf b = { 0 };
		buf_clear(&t->retry);
		buf_addf(&b, "after %u tries, ", t->retries + 1);
		buf_addspan(&b, tui_now_ms() - t->retry_ms);
		feed_say(t, LOOK_DIM, buf_str(&b));
		t->retries = 0;
	}
	switch (kind) {
	case CADRE_DELTA:
		feed_delta(t, e);
		break;
	case CADRE_TOOL_STARTED:
		tool_started(t, e);
		break;
	case CADRE_TOOL_ENDED:
		tool_ended(t, e);
		break;
	case CADRE_TOOL_PROGRESS:
		tool_progress(t, e);
		break;
	case CADRE_MESSAGE:
		note_patch(t, e);
		todo_message(t, e);
		break;
	case CADRE_RETRY:
		note_retry(t, e);
		break;
	case CADRE_NOTIFICATION:
		feed_line(t, LOOK_DIM, tui_mark(t, MARK_TOOL), text);
		break;
	case CADRE_ERROR:
		feed_line(t, view_is_error(e) ? LOOK_RED : LOOK_DIM,
			  tui_mark(t, view_is_error(e) ? MARK_FAILED : MARK_TOOL), text);
		if (str_has(text, STR("`cadre trust`")))
			ask_trust(t, text);
		break;
	case CADRE_COMPACTED:
		feed_say(t, LOOK_DIM, STR("The conversation continues from a summary."));
		break;
	case CADRE_TURN_ENDED:
		feed_turn_end(t, e);
		break;
	default:
		break;
	}
}

void feed_release(struct tui *t)
{
	while (t->tools)
		tool_run_free(take_tool(t, t->tools->id));
	styled_release(&t->folded.lines);
	buf_release(&t->thought);
	buf_release(&t->answer);
	styled_release(&t->tail);
	buf_release(&t->retry);
	buf_release(&t->above);
}
