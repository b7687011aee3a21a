/* SPDX-License-Identifier: MIT
 * record.c - the record of a child, which outlives it: in memory, in its meta file and at the end of its transcript. */
#include "agents/agent/record.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "lib/base/crash.h"
#include "lib/io/dir.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"

const struct end_state_info end_states[END_STATE_COUNT] = {
	[AGENT_RUNNING] = { "running", "running", "is running", false, false },
	[AGENT_COMPLETED] = { "completed", "completed", "finished", false, true },
	[AGENT_TURN_LIMIT] = { "turn_limit", "completed", "stopped at its turn limit", false, true },
	[AGENT_FAILED] = { "failed", "failed", "failed", true, true },
	[AGENT_REFUSED] = { "refused", "failed", "was refused an answer by the model", true, true },
	[AGENT_BUDGET] = { "budget", "failed", "stopped because the budget is used up", true, true },
	[AGENT_KILLED] = { "killed", "killed", "was stopped", true, false },
	[AGENT_SUSPENDED] = { "suspended", "running", "is suspended", true, false },
	[AGENT_IDLE] = { "idle", "completed", "is idle", false, true },
};

enum end_state end_state_of(const struct query *q)
{
	static const enum end_state states[] = {
		[QUERY_RUNNING] = AGENT_RUNNING,      [QUERY_DONE] = AGENT_COMPLETED,
		[QUERY_MAX_TURNS] = AGENT_TURN_LIMIT, [QUERY_MODEL_ERROR] = AGENT_FAILED,
		[QUERY_REFUSED] = AGENT_REFUSED,      [QUERY_EMPTY] = AGENT_FAILED,
		[QUERY_CUT_OFF] = AGENT_FAILED,       [QUERY_CONTEXT_FULL] = AGENT_FAILED,
		[QUERY_CANCELLED] = AGENT_KILLED,     [QUERY_HALTED] = AGENT_FAILED,
		[QUERY_BLOCKED] = AGENT_FAILED,       [QUERY_REJECTED] = AGENT_FAILED,
		[QUERY_BUDGET] = AGENT_BUDGET,        [QUERY_DISK_ERROR] = AGENT_FAILED,
	};

	return states[q->end];
}

void end_reason(struct buf *out, const struct query *q)
{
	static const char *const reasons[] = {
		[QUERY_MODEL_ERROR] = "an API error: ",
		[QUERY_EMPTY] = "an empty answer of the model",
		[QUERY_CUT_OFF] = "an answer that was cut off at the output limit",
		[QUERY_CONTEXT_FULL] = "a conversation that no longer fits into the model's context",
		[QUERY_DISK_ERROR] = "a transcript that cannot be written: ",
		[QUERY_HALTED] = "a stop by a hook or the host",
	};

	if (q->end == QUERY_DONE)
		return;
	if ((size_t)q->end < COUNT_OF(reasons) && reasons[q->end])
		buf_addstr(out, reasons[q->end]);
	if (q->end == QUERY_HALTED && q->failure.text[0])
		buf_addstr(out, ": ");
	buf_addstr(out, q->failure.text);
}

bool end_state_parse(struct str name, enum end_state *ret_state)
{
	for (size_t i = 0; i < COUNT_OF(end_states); i++) {
		if (!str_is(name, end_states[i].state))
			continue;
		*ret_state = (enum end_state)i;
		return true;
	}
	return false;
}

enum { LARGEST_META = 4 << 20, PAGE = 4096 };

#define META_MARK "{\"run\":" /* what only our files begin with */

void meta_set_paths(struct agent_record *t)
{
	const char *dir = t->tree->session_dir;

	if (!dir)
		return;
	t->recorded = true;
	t->transcript = arena_printf(&t->arena, "%s/subagents/agent-%s.jsonl", dir, t->id);
	t->meta = arena_printf(&t->arena, "%s/subagents/agent-%s.meta.json", dir, t->id);
}

void agent_record_told(struct agent_record *t, const char *id)
{
	t->told = arena_printf(&t->arena, "%s%s%s", t->told ? t->told : "", t->told ? " " : "", id);
}

static void put_member(struct json_out *w, const struct agent_record *t)
{
	const struct agent_member *m = t->member;

	if (!m)
		return;
	json_putf(w, "taskKind:'in_process_teammate', teamName:'%s', color:'%s', planModeRequired:!!%d", m->team,
		  m->color, m->plan_required);
	json_putf(w, "spawnedAgentType:'%s', permissionMode?:'%s', team:{backend:'%s'", t->type, m->mode,
		  m->foreign   ? "foreign"
		  : m->in_pane ? "tmux"
			       : "in-process");
	if (m->in_pane)
		json_putf(w, "pane:'%s', pid:%lld, pidStart:%lld, agentSession?:'%s'", m->pane, (long long)m->pid,
			  (long long)m->pid_start, m->session);
	json_putf(w, "joinedAt:%lld, gone:!!%d, planApproved:!!%d, plan?:'%s', shutdown?:'%s'", (long long)m->joined_ms,
		  m->state == MEMBER_GONE, m->plan_approved, m->plan, m->shutdown);
	json_putf(w, "early?:'%s'}", m->early);
}

static void put_meta(struct buf *out, const struct agent_record *t)
{
	struct json_out w = json_out(out);
	bool ended = t->state != AGENT_RUNNING && t->state != AGENT_SUSPENDED;

	json_open(&w, '{');
	json_ki64(&w, "run", t->run); /* first: META_MARK */
	json_putf(&w, "agentType:'%s', isBuiltIn:!!%d, name?:'%s', description:'%s', toolUseId:'%s'", t->type,
		  t->built_in, t->name, t->description, t->tool_use_id);
	json_putf(&w, "parentAgentId?:'%s', spawnDepth:%u, requestShape:'%s'",
		  t->parent_id && t->parent_id[0] ? t->parent_id : NULL, t->depth,
		  t->background ? "background" : "foreground");
	json_putf(&w, "isFork:!!%d, sharesHistory:!!%d, startedAt:%lld, runStartedAt:%lld, model?:'%s'", t->is_fork,
		  t->shares_history, (long long)t->started_ms, (long long)t->run_started_ms, t->model);
	json_putf(&w, "requestedModel?:'%s', requestedEffort?:'%s', requestedIsolation?:'%s'", t->request.model,
		  t->request.effort, t->request.isolation);
	json_putf(&w, "requestedMaxTurns?:%lld, skill?:'%s'", (long long)t->request.max_turns, t->request.skill);
	if (t->base) {
		json_putf(&w, "spawnedWithWorktree:true, worktreePath:'%s', worktreeBranch:'%s'", t->worktree,
			  t->branch);
		json_putf(&w, "worktreeBase:'%s'", t->base);
	}
	put_member(&w, t);
	if (t->limits)
		json_kraw(&w, "inheritedLimits", str_from(t->limits));
	json_putf(&w, "prompt:'%s', message?:'%s', told?:'%s', finished:!!%d", t->prompt, t->message, t->told, ended);
	if (t->state != AGENT_RUNNING)
		json_kcstr(&w, "endState", end_states[t->state].state);
	json_putf(&w, "failure?:'%s', stoppedByUser?:!!%d, stopAsked?:!!%d}", ended ? t->failure : NULL,
		  t->stopped_by_user, t->stop_asked);
}

/* A new file needs no second name: until its last byte, a line feed, is there, it counts as not written. */
static int meta_write_new(int fd, const char *path, const struct buf *text, struct err *err)
{
#ifdef CADRE_CRASH_POINTS
	(void)!write(fd, text->p, text->n / 2);
	crash_point(agent_torn);
	(void)lseek(fd, 0, SEEK_SET);
#endif
	if (file_write_all(fd, text->p, text->n) == 0)
		return 0;
	err_set(err, ERR_IO, "cannot write %s: %m", path);
	(void)unlink(path);
	return -ERR_IO;
}

/* What fits into a page changes by one write, which is done or not when we die. Replacing the file would delete one, and for
 * minutes after that ext4 is slow to make new ones: with a thousand children that is felt. */
static bool meta_write_over(int fd, off_t old_size, struct buf *text)
{
	if (old_size > PAGE || text->n > PAGE)
		return false;
	text->n--; /* the line feed stays the last byte */
	while ((off_t)text->n + 1 < old_size)
		buf_addch(text, ' ');
	buf_addch(text, '\n');
	return write(fd, text->p, text->n) == (ssize_t)text->n;
}

int meta_write(const struct agent_record *t, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };
	struct stat st;
	const int flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

	if (!t->recorded)
		return 0;
	put_meta(&text, t);
	buf_addch(&text, '\n');
	AUTO_CLOSE int fd = open(t->meta, flags, 0600);
	if (fd < 0 && errno == ENOENT) {
		if (file_make_parents(t->meta, err) < 0)
			return err_wrap(err, "the agent cannot be recorded");
		fd = open(t->meta, flags, 0600);
	}
	int status;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		status = err_set(err, ERR_IO, "cannot write %s: %m", t->meta);
	else if ((st.st_mode & 077) && fchmod(fd, 0600) < 0) /* it has the prompt: of an older version */
		status = err_set(err, ERR_IO, "cannot write %s: %m", t->meta);
	else if (st.st_size == 0)
		status = meta_write_new(fd, t->meta, &text, err);
	else
		status = meta_write_over(fd, st.st_size, &text) ? 0 : file_replace(t->meta, text.p, text.n, err);
	return status < 0 ? err_wrap(err, "the agent cannot be recorded") : 0;
}

static unsigned number_of(const struct json *v, unsigned least)
{
	int64_t n = least;

	(void)json_i64(v, &n);
	return (unsigned)MIN(MAX(n, (int64_t)least), (int64_t)1 << 30);
}

static const char *text_or(const struct json *v, struct arena *a, const char *otherwise)
{
	const char *text = json_cstr(v, a);

	return text ? text : otherwise;
}

static void read_member(struct agent_record *t, const struct json *root)
{
	struct arena *a = &t->arena;
	const struct json *team = json_get(root, "team");

	if (!json_str_is(json_get(root, "taskKind"), "in_process_teammate") || !json_is(team, JSON_OBJECT) || !t->name)
		return;
	struct agent_member *m = t->member = arena_calloc(a, sizeof *m);
	m->team = text_or(json_get(root, "teamName"), a, "");
	m->color = text_or(json_get(root, "color"), a, "blue");
	m->mode = json_cstr(json_get(root, "permissionMode"), a);
	m->plan_required = json_bool(json_get(root, "planModeRequired"));
	m->plan_approved = json_bool(json_get(team, "planApproved"));
	m->plan = json_cstr(json_get(team, "plan"), a);
	m->shutdown = json_cstr(json_get(team, "shutdown"), a);
	m->early = json_cstr(json_get(team, "early"), a);
	(void)json_i64(json_get(team, "joinedAt"), &m->joined_ms);
	m->session = json_cstr(json_get(team, "agentSession"), a);
	m->foreign = json_str_is(json_get(team, "backend"), "foreign");
	m->in_pane = json_str_is(json_get(team, "backend"), "tmux") && m->session && id_is_uuid(str_from(m->session));
	(void)json_i64(json_get(team, "pid"), &m->pid);
	(void)json_i64(json_get(team, "pidStart"), &m->pid_start);
	snprintf(m->pane, sizeof m->pane, STR_FMT, STR_ARG(json_str(json_get(team, "pane"), a)));
	m->active_ms = m->joined_ms;
	m->by_lead = true; /* the lead rather gets a message too many */
	m->failed = t->state == AGENT_FAILED || t->state == AGENT_REFUSED || t->state == AGENT_BUDGET;
	m->state = json_bool(json_get(team, "gone")) ? MEMBER_GONE : m->failed ? MEMBER_FAILED : MEMBER_PARKED;
}

static void read_fields(struct agent_record *t, const struct json *root)
{
	struct arena *a = &t->arena;

	t->type = text_or(json_get(root, "agentType"), a, "general-purpose");
	t->built_in = json_bool(json_get(root, "isBuiltIn"));
	t->name = json_cstr(json_get(root, "name"), a);
	t->description = text_or(json_get(root, "description"), a, "");
	t->tool_use_id = text_or(json_get(root, "toolUseId"), a, "");
	t->parent_id = text_or(json_get(root, "parentAgentId"), a, "");
	t->prompt = text_or(json_get(root, "prompt"), a, "");
	t->message = json_cstr(json_get(root, "message"), a);
	t->told = json_cstr(json_get(root, "told"), a);
	t->failure = json_cstr(json_get(root, "failure"), a);
	t->model = json_cstr(json_get(root, "model"), a);
	t->background = json_str_is(json_get(root, "requestShape"), "background");
	t->is_fork = json_bool(json_get(root, "isFork"));
	t->shares_history = t->is_fork || json_bool(json_get(root, "sharesHistory"));
	(void)json_i64(json_get(root, "startedAt"), &t->started_ms);
	t->run_started_ms = t->started_ms;
	(void)json_i64(json_get(root, "runStartedAt"), &t->run_started_ms);
	t->depth = number_of(json_get(root, "spawnDepth"), 1);
	t->run = number_of(json_get(root, "run"), 1);
	t->worktree = json_cstr(json_get(root, "worktreePath"), a);
	t->branch = json_cstr(json_get(root, "worktreeBranch"), a);
	t->base = json_cstr(json_get(root, "worktreeBase"), a);
	t->stopped_by_user = json_bool(json_get(root, "stoppedByUser"));
	t->stop_asked = json_bool(json_get(root, "stopAsked"));
	if (json_get(root, "inheritedLimits"))
		t->limits = arena_str(a, json_raw(json_get(root, "inheritedLimits"))).p;
	t->request.model = json_cstr(json_get(root, "requestedModel"), a);
	t->request.effort = json_cstr(json_get(root, "requestedEffort"), a);
	t->request.isolation = json_cstr(json_get(root, "requestedIsolation"), a);
	t->request.max_turns = number_of(json_get(root, "requestedMaxTurns"), 0);
	/* A record brings no rules: those of the skill are in its file. */
	t->request.skill = text_or(json_get(root, "skill"), a, json_get(root, "requestedAllow") ? "" : NULL);
	t->state = json_bool(json_get(root, "finished")) ? AGENT_COMPLETED : AGENT_SUSPENDED;
	if (t->state == AGENT_COMPLETED)
		(void)end_state_parse(json_str(json_get(root, "endState"), a), &t->state);
	t->cut_off = t->state == AGENT_SUSPENDED && !json_get(root, "endState");
	read_member(t, root);
}

static int read_meta(struct agent_tree *tree, const char *path, struct str id, bool ours, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *root;

	if (file_read_own(path, LARGEST_META, &text, err) < 0)
		return -(int)err->kind;
	bool whole = json_parse(&reader, text.p, text.n, &root, err) == 0;
	bool own = !text.n || str_starts(buf_str(&text), STR(META_MARK));
	if (!whole && own && (!text.n || text.p[text.n - 1] != '\n')) {
		if (ours)
			(void)unlink(path); /* its writer died: this child was never admitted */
		return 0;
	}
	if (!whole || !json_is(root, JSON_OBJECT))
		return err_set(err, ERR_PARSE, "%s is not a record of an agent", path);
	struct agent_record *t = agent_record_new(tree, arena_str(&a, id).p);
	read_fields(t, root);
	meta_set_paths(t);
	t->restored = json_get(root, "run") != NULL; /* records of other programs cannot be continued */
	tree->restored_count += t->restored;
	return 0;
}

void meta_read_all(struct agent_tree *t, bool ours, struct buf *notes)
{
	AUTO_ARENA struct arena a = { 0 };
	struct str tail = STR(".meta.json"), front = STR("agent-");
	char *dir = t->session_dir ? arena_printf(&a, "%s/subagents", t->session_dir) : NULL;
	AUTO_DIR DIR *d = dir ? opendir(dir) : NULL;

	for (struct dirent *e; (e = dir_next(d));) {
		struct str name = str_from(e->d_name);
		struct err err = { 0 };
		if (!str_starts(name, front) || !str_ends(name, tail))
			continue;
		struct str id = { name.p + front.n, name.n - front.n - tail.n };
		if (!id_is_agent(id) || map_get(&t->by_id, id))
			continue;
		if (read_meta(t, arena_printf(&a, "%s/%s", dir, e->d_name), id, ours, &err) < 0)
			buf_addf(notes, "%s\n", err.text);
	}
	agent_tree_sort_records(t);
}

int agent_record_queue(struct agent_record *t, const struct queue_line *line, struct err *err)
{
	struct store *store = &t->tree->services->store;
	struct record_context context = { .session_id = t->tree->session_id, .agent_id = t->id };

	if (t->live && t->live->query.config.loop)
		return recorder_queue(&t->live->recorder, line, err);
	if (!t->transcript)
		return 0;
	struct journal *j = journal_new(store, t->transcript);
	struct recorder r = { .journal = j, .store = store, .context = &context };
	int status = recorder_queue(&r, line, err);
	journal_free(j);
	return status;
}

struct worktree_job *agent_record_take_worktree(const struct agent_record *r, const char *cwd, worktree_taken_fn *done,
						void *data)
{
	const struct agent_tree *t = r->tree;
	struct services *sv = t->services;
	const struct worktree_spec spec = { .agent_id = r->id,
					    .cwd = cwd,
					    .fresh = t->worktree.fresh,
					    .checked = true,
					    .trusted = t->switches.trusted,
					    .session_root = t->main.cwd,
					    .symlink_dirs = t->worktree.symlink_dirs,
					    .sparse_paths = t->worktree.sparse_paths };

	if (!sv->worktrees)
		sv->worktrees = worktree_pool_new(sv->loop, sv->spawner);
	return r->base ? worktree_adopt(sv->worktrees, &spec, r->base, done, data)
		       : worktree_take(sv->worktrees, &spec, done, data);
}

void end_write(struct buf *out, const struct agent_record *t)
{
	struct json_out w = json_out(out);

	json_putf(&w, "{state:'%s', run:%u, report:'%.*s', endedAt:%lld, turns:%u, toolUses:%u",
		  end_states[t->state].state, t->run, STR_ARG(t->report), (long long)t->ended_ms, t->turns,
		  t->tool_uses);
	json_putf(&w, "usage:");
	usage_write(&w, &t->usage);
	json_putf(&w,
		  "costUSD:%g, lastTool?:'%s', verdict?:'%s', failure?:'%s', worktreePath?:'%s', worktreeBranch?:'%s'}",
		  t->cost_usd, t->last_tool[0] ? t->last_tool : NULL, t->verdict, t->failure, t->worktree, t->branch);
}

bool end_read(struct agent_record *t, struct str text)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root = json_read(&reader, text);
	int64_t run = 0;

	(void)json_i64(json_get(root, "run"), &run);
	if (run != t->run || /* an earlier run ended so */
	    !end_state_parse(json_str(json_get(root, "state"), &t->arena), &t->state))
		return false;
	struct str report = json_str(json_get(root, "report"), &t->arena);
	buf_clear(&t->report);
	buf_add(&t->report, report.p, report.n);
	(void)json_i64(json_get(root, "endedAt"), &t->ended_ms);
	t->turns = number_of(json_get(root, "turns"), 0);
	t->tool_uses = number_of(json_get(root, "toolUses"), 0);
	t->usage = (struct usage){ 0 };
	usage_merge(&t->usage, json_get(root, "usage"));
	t->cost_usd = json_double(json_get(root, "costUSD"));
	snprintf(t->last_tool, sizeof t->last_tool, "%s", text_or(json_get(root, "lastTool"), &t->arena, ""));
	t->verdict = json_cstr(json_get(root, "verdict"), &t->arena);
	t->failure = json_cstr(json_get(root, "failure"), &t->arena);
	t->worktree = json_cstr(json_get(root, "worktreePath"), &t->arena);
	t->branch = json_cstr(json_get(root, "worktreeBranch"), &t->arena);
	return true;
}
