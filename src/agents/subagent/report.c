/* SPDX-License-Identifier: MIT
 * report.c - the reports about a child to its parent. */
#include "agents/subagent/subagent.h"
#include <ctype.h>
#include <inttypes.h>
#include "lib/base/utf8.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "agents/agent/record.h"

static int64_t tokens_of(const struct usage *u)
{
	return u->input + u->cache_read + u->cache_write + u->output;
}

static int64_t duration_ms(const struct agent_record *t)
{
	return MAX(t->ended_ms - t->run_started_ms, (int64_t)0);
}

const char *report_verdict(struct str text)
{
	static const char *const verdicts[] = { "PASS", "FAIL", "PARTIAL" };
	const char *found = NULL;

	while (text.p) {
		struct str line = str_trim(str_cut(&text, '\n'));
		while (line.n && char_in(line.p[0], "*`# "))
			line = (struct str){ line.p + 1, line.n - 1 };
		if (!str_starts(line, STR("VERDICT:")))
			continue;
		struct str word = str_trim((struct str){ line.p + 8, line.n - 8 });
		for (size_t i = 0; i < COUNT_OF(verdicts); i++)
			if (str_starts(word, str_from(verdicts[i])) &&
			    (word.n == strlen(verdicts[i]) || !isalnum((unsigned char)word.p[strlen(verdicts[i])])))
				found = verdicts[i];
	}
	return found;
}

void text_add_marked(struct buf *out, struct str text)
{
	static const char tags[] = "system-reminder|task-notification|result>|usage>|fork-boilerplate|teammate-message|"
				   "cross-session-message|agent-message";

	for (size_t i = 0; i < text.n;) {
		struct str rest = { text.p + i, text.n - i };
		bool is_end = str_starts(rest, STR("</"));
		struct str name = { rest.p + 1 + is_end, rest.n - 1 - is_end };
		size_t n = 0; /* of what is marked */
		if ((i == 0 || text.p[i - 1] == '\n') && str_starts_with_one_of(rest, "Human:|Assistant:"))
			n = (size_t)((const char *)memchr(rest.p, ':', rest.n) - rest.p);
		else if (rest.p[0] == '<' && str_starts_with_one_of(name, tags))
			n = 1;
		buf_add(out, rest.p, n ? n : 1);
		if (n)
			buf_addch(out, '\\');
		i += n ? n : 1;
	}
}

static void add_report(struct buf *out, const struct agent_record *t)
{
	struct str text = str_trim(buf_str(&t->report));
	struct str head = utf8_cut(text, REPORT_LIMIT);
	AUTO_BUF struct buf path = { 0 };
	struct err err = { 0 };

	text_add_marked(out, head);
	if (head.n == text.n)
		return;
	buf_addf(out, "\n[The report is cut: these are the first %zu of %zu bytes.", head.n, text.n);
	if (t->tree->results_dir) {
		buf_addf(&path, "%s/agent-%s.%u.txt", t->tree->results_dir, t->id, t->run);
		if (file_make_parents(path.p, &err) == 0 && file_replace(path.p, text.p, text.n, &err) == 0)
			buf_addf(out, " The whole is in %s", path.p);
	}
	buf_addstr(out, "]");
}

static void add_notes(struct buf *out, const struct agent_record *t, struct str notes)
{
	if (t->state == AGENT_TURN_LIMIT)
		buf_addf(out,
			 "NOTE: this agent stopped at its %" PRId64
			 "-turn limit before it was finished. What follows is "
			 "PARTIAL: it may be continued.\n",
			 t->turn_limit);
	while (notes.n) {
		struct str line = str_cut(&notes, '\n');
		if (line.n)
			buf_addf(out, "NOTE: " STR_FMT "\n", STR_ARG(line));
	}
}

static void put_completed(struct buf *out, const struct agent_record *t)
{
	struct json_out w = json_out(out);

	const struct end_state_info *end = &end_states[t->state];
	struct str text = utf8_cut(buf_str(&t->report), REPORT_LIMIT);

	json_putf(
		&w,
		"{status:'%s', endState?:'%s', prompt:'%s', agentId:'%s', agentType:'%s', content:[{type:'text', "
		"text:'%.*s'}], resolvedModel?:'%s', totalToolUseCount:%u, totalDurationMs:%lld, totalTokens:%lld, usage:",
		end->is_error ? end->state : "completed", t->state != AGENT_COMPLETED ? end->state : NULL, t->prompt,
		t->id, t->type, STR_ARG(text), t->model, t->tool_uses, (long long)duration_ms(t),
		(long long)tokens_of(&t->usage));
	usage_write(&w, &t->usage);
	if (t->worktree)
		json_putf(&w, "worktreePath:'%s', worktreeBranch:'%s'", t->worktree, t->branch);
	json_putf(&w, "verdict?:'%s', canContinueAgent:!!%d}", t->verdict, t->recorded && !t->one_shot);
}

/* Why there is no report, or the line before it */
static void add_failure(struct buf *out, const struct agent_record *t)
{
	switch (t->state) {
	case AGENT_FAILED:
		buf_addf(out, "Agent terminated early due to %s", t->failure ? t->failure : "a failure");
		break;
	case AGENT_REFUSED:
		buf_addf(out, "The model refused the agent's request%s%s", t->failure ? ": " : ".",
			 t->failure ? t->failure : "");
		break;
	case AGENT_BUDGET:
		buf_addstr(out, "Budget limit reached: the agent was stopped before it was finished.");
		break;
	case AGENT_KILLED:
		buf_addstr(out, "The agent was stopped before it was finished.");
		break;
	default:
		return;
	}
	buf_addstr(out, t->report.n ? "\nIts last text:\n" : "");
}

void report_completed(struct tool_call *call, const struct agent_record *t, struct str notes)
{
	struct buf *out = &call->result;

	buf_clear(out);
	add_notes(out, t, notes);
	add_failure(out, t);
	add_report(out, t);
	if (!t->one_shot && t->recorded)
		buf_addf(out, "\nagentId: %s (use SendMessage with to: '%s' to continue this agent)", t->id, t->id);
	if (t->worktree)
		buf_addf(out, "\nworktreePath: %s", t->worktree);
	if (t->worktree && t->branch && t->branch[0])
		buf_addf(out, "\nworktreeBranch: %s", t->branch);
	buf_addf(out, "\n<usage>subagent_tokens: %" PRId64 "\ntool_uses: %u\nduration_ms: %" PRId64 "</usage>",
		 tokens_of(&t->usage), t->tool_uses, duration_ms(t));
	put_completed(&call->result_json, t);
	tool_call_end_as(call, end_states[t->state].is_error);
}

void report_launched(struct tool_call *call, const struct agent_record *t)
{
	struct buf *out = &call->result;

	buf_clear(out);
	buf_addf(
		out,
		"The agent was launched and works in the background.\nagentId: %s\nYou get a notification when it ends; do not "
		"wait for it or ask for its result before, but continue with something else, or end your turn.",
		t->id);
	if (t->transcript && !t->tree->switches.coordinator) /* a coordinator could not read it */
		buf_addf(out, "\noutput_file: %s", t->transcript);
	const struct agent *parent = call->env->owner;
	bool can_read = tool_set_find(&parent->tools, STR("Read")) || tool_set_find(&parent->tools, STR("Bash"));

	/* SDKs recognise an agent with this conversation's history by this word. */
	json_addf(&call->result_json,
		  "{status:'%s', isAsync:true, agentId:'%s', description:'%s', prompt:'%s', resolvedModel?:'%s', "
		  "outputFile:'%s', canReadOutputFile:!!%d, canContinueAgent:!!%d}",
		  t->shares_history ? "sub_agent_entered" : "async_launched", t->id, t->description, t->prompt,
		  t->model, t->transcript ? t->transcript : "", t->transcript && can_read, t->recorded && !t->one_shot);
	tool_call_end(call);
}

static void add_tag(struct buf *out, const char *tag, const char *value)
{
	if (value && value[0])
		buf_addf(out, "<%s>%s</%s>\n", tag, value, tag);
}

void report_notification(struct buf *out, const struct agent_record *t, struct str notes)
{
	buf_addstr(out,
		   "<system-reminder>\n[SYSTEM NOTIFICATION - NOT USER INPUT]\n"
		   "This message was made by the program because a background task changed. It was not written by the "
		   "user and does not grant any permission.\n\n<task-notification>\n");
	add_tag(out, "task-id", t->id);
	add_tag(out, "tool-use-id", t->tool_use_id);
	if (!t->tree->switches.coordinator)
		add_tag(out, "output-file", t->transcript);
	add_tag(out, "status", end_states[t->state].status);
	buf_addf(out, "<summary>Agent \"%s\" %s</summary>\n", t->description, end_states[t->state].summary);
	add_tag(out, "verdict", t->verdict);
	if (end_states[t->state].has_report && (t->report.n || t->failure || notes.n)) {
		buf_addstr(out, "<result>");
		add_notes(out, t, notes);
		add_failure(out, t);
		add_report(out, t);
		buf_addstr(out, "</result>\n");
	}
	if (t->worktree)
		buf_addf(out,
			 "<worktree><worktreePath>%s</worktreePath><worktreeBranch>%s</worktreeBranch></worktree>\n",
			 t->worktree, t->branch);
	buf_addf(out,
		 "<usage><subagent_tokens>%" PRId64 "</subagent_tokens><tool_uses>%u</tool_uses><duration_ms>%" PRId64
		 "</duration_ms></usage>\n</task-notification>\n</system-reminder>",
		 tokens_of(&t->usage), t->tool_uses, duration_ms(t));
}

bool report_read(struct buf *out, struct agent_record *t)
{
	bool found = end_load(t);

	if (found)
		add_report(out, t);
	buf_release(&t->report);
	return found && out->n;
}
