/* SPDX-License-Identifier: MIT
 * initial_messages.c - the messages of an agent before its first request: its context and its task, after its parent's
 * history if it shares that; or, of one that continues, the conversation that is on disk. */
#include "core/model/catalog.h"
#include "agents/agent/context.h"
#include <sys/stat.h>
#include "lib/base/crash.h"
#include "agents/agent/record.h"
#include "agents/agent/tree.h"
#include "agents/agent/skill_use.h"
#include "agents/worktree/worktree.h"
#include "core/store/load.h"

const char fork_placeholder_text[] = "Fork started \xe2\x80\x94 processing in background";

struct segment *fork_placeholder(const char *call_id)
{
	return segment_tool_result(str_from(call_id), str_from(fork_placeholder_text), false);
}

void fork_directive(struct buf *out, struct str task)
{
	buf_addf(
		out,
		FORK_TAG
		"\n"
		"From here on you are a fork: a second process with this conversation, split off by the agent "
		"you have been so far. That agent continues elsewhere; you have one task, which is below.\n"
		"- Advice in your instructions to delegate or to fork is meant for that agent. Do the work "
		"yourself, with your tools.\n"
		"- You cannot ask questions. If something is unclear, take the most likely interpretation and say so.\n"
		"- Stay within the task. Mention anything else in the last line of your report.\n"
		"- If you change files in a git repository, commit them before you report.\n"
		"Your last message is the report; nothing else of your work is seen. It begins with the word "
		"\"Scope:\" and has these lines:\n"
		"Scope: the task in one sentence\n"
		"Result: what you found or did\n"
		"Key files: paths that matter\n"
		"Files changed: paths, with the commit (only if there are any)\n"
		"Issues: what remains (only if something does)\n"
		"</fork-boilerplate>\n\n"
		"FORK_DIRECTIVE: " STR_FMT,
		STR_ARG(task));
}

void fork_worktree_notice(struct buf *out, const char *parent_cwd, const char *worktree)
{
	buf_addf(
		out,
		"\n\nYou work in a copy of the repository of your own, a git worktree at %s. Paths in the conversation "
		"above speak of %s: read each of them as the same place below your worktree. Files may differ from what "
		"was read before, so read them again before you change them. Nothing you do here touches the other "
		"copy.",
		worktree, parent_cwd);
}

bool fork_is_marked(const struct transcript *t)
{
	for (uint32_t i = 0; i < transcript_count(t); i++) {
		struct block b = transcript_block(t, i);
		if (b.role == ROLE_USER && b.kind == SEGMENT_TEXT &&
		    str_starts(b.json, STR("{\"type\":\"text\",\"text\":\"" FORK_TAG)))
			return true;
	}
	return false;
}

static int add_block(struct agent *a, struct segment *block, bool meta, struct err *err)
{
	return query_add_user(&a->query, &block, 1, meta, err);
}

int agent_remind(struct agent *a, struct str text, struct err *err)
{
	AUTO_BUF struct buf b = { 0 };

	buf_addf(&b, "<system-reminder>\n" STR_FMT "\n</system-reminder>", STR_ARG(text));
	return add_block(a, segment_text(buf_str(&b)), true, err);
}

static int add_prompt(struct agent *a, struct str text, struct err *err)
{
	struct segment *block = segment_text(text);

	agent_emit(a, &(struct event){ .kind = EVENT_MESSAGE, .block = block });
	return add_block(a, block, false, err);
}

/* Its parent's conversation, with every open call answered by the same words; or that of an idle session. */
static void fork_history(struct agent *a)
{
	struct agent *origin = a->origin;
	struct fork_base *base = agent_fork_base(origin);

	a->from = (struct fork_origin){ .session_id = arena_strdup(&a->arena, origin->tree->session_id),
					.agent_id = origin->parent ? arena_strdup(&a->arena, origin->who.id) : NULL,
					.uuid = arena_strdup(&a->arena, origin->recorder.last),
					.placeholder = a->parent ? fork_placeholder_text : NULL };
	struct stat st;
	if (!a->parent && origin->journal && stat(journal_path(origin->journal), &st) == 0)
		a->from.bytes = (uint64_t)st.st_size;
	transcript_fork(&base->history, &a->query.transcript);
	a->query.measured = base->measured;
	if (agent_is_copy(a)) { /* its head is the same too: the whole prefix is in the server's cache */
		a->query.last_mark = origin->query.last_mark;
		a->query.fork_barrier = fork_barrier_ref(base->gate);
	}
}

int agent_find_history(struct agent *a, struct err *err)
{
	if (a->load && !a->parent && a->from.session_id) {
		transcript_fork(&a->load->transcript,
				&a->query.transcript); /* its marks are those of every other fork */
	} else if (a->load) {
		a->query.transcript = a->load->transcript;
		a->load->transcript = (struct transcript){ 0 };
		memcpy(a->recorder.last, a->load->last, sizeof a->recorder.last);
	} else if (a->origin) {
		fork_history(a);
	}
	return 0;
}

/* Of a session, in the file itself: other programs read it. Of agents there may be a thousand. */
int agent_record_origin(struct agent *a, struct err *err)
{
	AUTO_BUF struct buf origin = { 0 };

	if (!a->from.session_id || a->from_recorded)
		return 0;
	const char *path = a->journal ? journal_path(a->journal) : "", *slash = strrchr(path, '/');
	buf_addf(&origin, "%.*s/%s.jsonl", slash ? (int)(slash - path) : 0, path, a->from.session_id);
	if (a->parent ? recorder_fork_origin(&a->recorder, &a->from, err) < 0
		      : a->journal && a->from.bytes && journal_begin_with(a->journal, origin.p, a->from.bytes, err) < 0)
		return -(int)err->kind;
	if (!a->parent)
		snprintf(a->recorder.last, sizeof a->recorder.last, "%s", a->from.uuid);
	a->from_recorded = true;
	return 0;
}

int agent_add_skills(struct agent *a, struct err *err)
{
	AUTO_BUF struct buf list = { 0 };
	uint64_t listed = a->skills_listed, hash = a->skills_list_hash;

	agent_list_skills(a, &list);
	if (!list.n || add_block(a, segment_text(buf_str(&list)), true, err) == 0)
		return 0;
	a->skills_listed = listed; /* the model has not got it */
	a->skills_list_hash = hash;
	return -(int)err->kind;
}

int agent_add_context(struct agent *a, struct err *err)
{
	struct segment *blocks[CONTEXT_BLOCKS];
	size_t count = context_blocks(a, blocks);
	int status = 0;

	for (size_t i = 0; i < count; i++)
		if (status == 0)
			status = add_block(a, blocks[i], true, err);
		else
			segment_unref(blocks[i]);
	if (status == 0 && a->parent)
		status = agent_add_skills(a, err); /* the main agent gets them with each prompt */
	return status == 0 && a->skills.n ? add_block(a, segment_text(buf_str(&a->skills)), true, err) : status;
}

static int start_conversation(struct agent *a, struct err *err)
{
	const char *initial = a->definition ? a->definition->initial_prompt : NULL;
	AUTO_BUF struct buf text = { 0 };

	if (agent_record_origin(a, err) < 0 || (!a->is_fork && agent_add_context(a, err) < 0) ||
	    (a->start_context.n && agent_remind(a, buf_str(&a->start_context), err) < 0))
		return -(int)err->kind;
	if (a->record->member) {
		a->tree->team_ops->initial_message(a, &text);
	} else if (a->is_fork) {
		fork_directive(&text, str_from(a->record->prompt));
	} else {
		if (a->initial.n)
			initial = a->initial.p;
		if (initial)
			buf_addf(&text, "%s\n\n", initial);
		buf_addstr(&text, a->record->prompt);
	}
	if (a->worktree && a->origin)
		fork_worktree_notice(&text, a->parent->cwd, a->worktree->path);
	if (add_prompt(a, buf_str(&text), err) < 0 || (a->message.n && add_prompt(a, buf_str(&a->message), err) < 0))
		return -(int)err->kind;
	buf_clear(&a->message);
	crash_point(agent_prompted);
	return 0;
}

/* The history of a fork is not its own text. */
void agent_last_text(struct buf *out, const struct transcript *t)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };

	for (uint32_t i = transcript_count(t); i > t->forked_at; i--) {
		struct block b = transcript_block(t, i - 1);
		bool said = b.role == ROLE_ASSISTANT && b.kind == SEGMENT_TEXT;
		const struct json *root = said ? json_read(&reader, b.json) : NULL;
		if (!root)
			continue;
		struct str text = str_trim(json_str(json_get(root, "text"), &a));
		buf_add(out, text.p, text.n);
		return;
	}
}

/* An agent that has not begun gets the text with its task, or with the message that it continues with. The task of a member is
 * a message of the lead: the text stands behind it, not in it. */
int agent_extend_task(struct agent *a, const char *id, struct str text, struct err *err)
{
	struct agent_record *record = a->record;
	const char **words = a->message.n     ? &record->message
			     : record->member ? &record->member->early
					      : &record->prompt;
	const char *before = *words, *told = record->told;

	*words =
		arena_printf(&record->arena, "%s%s" STR_FMT, before ? before : "", before ? "\n\n" : "", STR_ARG(text));
	agent_record_told(record, id);
	if (record->recorded && meta_write(record, err) < 0) {
		*words = before;
		record->told = told;
		return -(int)err->kind;
	}
	if (a->message.n)
		buf_addf(&a->message, "\n\n" STR_FMT, STR_ARG(text));
	return 0;
}

/* What came for it while its transcript was read may be in the transcript, or too late for that. One that had not begun begins
 * again, with its task. */
static void take_arrivals(struct agent *a, const struct session_load *arrived)
{
	struct err ignored = { 0 };

	for (size_t i = 0; i < arrived->waiting_count; i++) {
		const struct notice *n = &arrived->waiting[i];
		bool known = a->load && map_get(&a->load->delivered, str_from(n->id));
		for (size_t k = 0; a->load && k < a->load->waiting_count; k++)
			known = known || !strcmp(a->load->waiting[k].id, n->id);
		if (a->load && !known)
			session_load_add_waiting(a->load, n);
		if (!a->load)
			(void)agent_extend_task(a, n->id, n->text,
						&ignored); /* a disk that fails shows with its first line */
	}
}

static void on_loaded(void *data, struct session_load *l, const struct err *err)
{
	struct agent *a = data;
	struct session_load *arrived = TAKE(a->load);
	struct err why = *err;

	a->loading = NULL;
	if (l && !l->prompts) { /* its task is not in it: it is written again */
		(void)unlink(a->record->transcript);
		session_load_release(l);
		free(TAKE(l));
	}
	a->load = l;
	if (l) { /* the usage of an interrupted run counts */
		a->usage = l->usage;
		const char *model = a->model ? a->model : l->model; /* its own is chosen later */
		if (model)
			a->cost_usd = model_cost_usd(&a->tree->services->endpoints.providers, model, &l->usage);
		a->tool_uses = l->tool_uses;
	}
	if (a->resumes && l && l->prompts >= a->record->run)
		buf_clear(&a->message); /* the message that this run was to begin with is in it */
	if (!why.kind || why.kind == ERR_NOT_FOUND)
		take_arrivals(a, arrived);
	session_load_release(arrived);
	free(arrived);
	if (why.kind && why.kind != ERR_NOT_FOUND && why.kind != ERR_CANCELLED)
		err_wrap(&why, "agent %s", a->record->id);
	else
		why = (struct err){ 0 };
	agent_step_done(a, &why);
}

/* The transcript of a child that continues is read in a thread: others are at work, and it may be long. That of the main agent
 * is read when its session is found. */
int agent_load(struct agent *a, struct err *err)
{
	if (!a->parent || !a->load)
		return 0;
	a->loading = session_load_start(a->tree->services->loop, a->record->transcript, on_loaded, a);
	return STEP_TAKES_TIME;
}

int agent_restore(struct agent *a, bool run, struct err *err)
{
	const struct session_load *l = a->load;
	int status = 0;

	for (size_t i = 0; !a->from.session_id && i < l->waiting_count; i++)
		query_put_notice(&a->query, &l->waiting[i]);
	for (size_t i = 0; i < l->file_count; i++) {
		a->tree->kit->recall_file(&a->env, l->files[i].path, l->files[i].time_ms, l->files[i].partial);
		agent_restore_touch(a, l->files[i].path, l->files[i].summarized);
	}
	for (size_t i = 0; i < l->call_count; i++) /* each needs a result in memory, even if it cannot be written */
		if (query_restore_call(&a->query, l->calls[i].id, l->calls[i].name, l->calls[i].input,
				       l->calls[i].result, run, err) < 0)
			status = -(int)err->kind;
	return status;
}

void agent_drop_load(struct agent *a)
{
	if (a->load)
		session_load_release(a->load);
	free(TAKE(a->load));
}

int child_initial_messages(struct agent *a, struct err *err)
{
	if (!a->load)
		return start_conversation(a, err);
	bool continues = !a->message.n, over = continues && !a->load->interrupted;
	int status = agent_restore(a, continues, err);
	if (status == 0 && a->start_context.n && !over)
		status = agent_remind(a, buf_str(&a->start_context), err);
	if (status == 0 && !continues)
		status = add_prompt(a, buf_str(&a->message), err);
	if (status == 0 && over) { /* its last turn had ended before the program did: its last text is the answer */
		agent_last_text(&a->query.text, &a->query.transcript);
		a->query.end = QUERY_DONE;
		a->turn_over = true;
		agent_kick(a);
	}
	agent_drop_load(a);
	buf_clear(&a->message);
	return status;
}
