/* SPDX-License-Identifier: MIT
 * load.c - reads the lines of a session and follows their chain. What the lines mean for the conversation is decided in
 * replay.c. A file is read twice: once to index every line, then for the lines of the conversation. */
#include "core/store/load.h"
#include <fcntl.h>
#include <sys/stat.h>
#include "lib/base/map.h"
#include "lib/io/file.h"
#include "lib/io/loop.h"
#include "core/store/load_int.h"

enum { DEEPEST_FORK = 64, END_TAIL = 64 << 10 };

struct reading {
	struct line_file file;
	struct line *lines;
	size_t count, cap;
	struct str session; /* whose file it is: a fork's begins with lines of its origin; empty: of an agent */
	struct map by_uuid;
	struct map queued;  /* id -> struct notice in the arena of the result */
	size_t team_at;     /* the number of the line that made the team */
	struct str end;     /* how its last run ended, raw: of the newest line that says so ... */
	size_t ended;       /* ... and how many lines were read by then; 0: there is none */
	struct arena arena; /* holds the texts of the lines' members */
	uint64_t bytes;     /* of whole lines, the last one with the end that it may still get */
};

static void reading_release(struct reading *r)
{
	line_file_close(&r->file);
	map_release(&r->by_uuid);
	map_release(&r->queued);
	arena_release(&r->arena);
	free(r->lines);
}

/* Kept raw. Most ids repeat one of the previous line, which is then shared. */
static struct str keep_id(struct reading *r, const struct json *v, struct str before)
{
	struct str id = json_is(v, JSON_STRING) ? (struct str){ v->text, v->len } : (struct str){ 0 };

	if (!id.n)
		return id;
	return str_eq(id, before) ? before : arena_str(&r->arena, id);
}

static void line_classify(struct reading *r, struct line *l, const struct json *root)
{
	const struct json *type = json_get(root, "type");
	const struct json *message = json_get(root, "message");
	const struct line none = { 0 }, *before = l > r->lines ? l - 1 : &none;

	l->uuid = keep_id(r, json_get(root, "uuid"), (struct str){ 0 });
	l->parent = keep_id(r, json_get(root, "parentUuid"), before->uuid);
	l->sidechain = json_bool(json_get(root, "isSidechain"));
	l->meta = json_bool(json_get(root, "isMeta")) || json_bool(json_get(root, "isCompactSummary"));
	if (json_str_is(type, "user") && message)
		l->type = LINE_USER;
	else if (json_str_is(type, "assistant") && message && !json_bool(json_get(root, "isCompactSummary")))
		l->type = LINE_ASSISTANT;
	else if (json_str_is(type, "fork-origin"))
		l->type = LINE_FORK;
	else if (json_str_is(type, "agent-end"))
		l->type = LINE_END;
	else if (json_str_is(type, "system") && json_str_is(json_get(root, "subtype"), "compact_boundary"))
		l->type = LINE_BOUNDARY;
	l->message_id = keep_id(r, json_get(message, "id"), before->message_id);
	const struct json *first = json_first(json_get(message, "content"));
	if (l->type == LINE_USER && json_str_is(json_get(first, "type"), "tool_result"))
		l->call_id = keep_id(r, json_get(first, "tool_use_id"), before->call_id);
	if (l->type == LINE_ASSISTANT && json_str_is(json_get(first, "type"), "tool_use"))
		l->call_id = keep_id(r, json_get(first, "id"), before->call_id);
	if (l->type == LINE_USER)
		l->trace = trace_read(&r->arena, root);
}

static bool is_prompt(const struct line *l)
{
	return l->type == LINE_USER && !l->meta && !l->call_id.n;
}

/* False: not an object. */
static bool index_line(struct reading *r, struct json_reader *reader, struct str text, struct line_span span,
		       struct session_load *out, char **agent)
{
	const struct json *root = json_read(reader, text);

	if (!json_is(root, JSON_OBJECT))
		return false;
	struct line *l = xpush(r->lines, r->count, r->cap);
	*l = (struct line){ .span = span };
	line_classify(r, l, root);
	/* From all lines, including compacted ones: a delivered notice is not delivered again. */
	const struct json *ids = json_get(json_get(root, "origin"), "ids");
	for (const struct json *id = json_first(ids); id; id = json_next(ids, id))
		map_set(&out->delivered, json_str(id, &out->arena), out);
	const struct json *type = json_get(root, "type");
	const struct json *id = json_get(root, "id");
	const struct json *session = json_get(root, "sessionId");
	bool ours = !r->session.n || !session || str_eq((struct str){ session->text, session->len }, r->session);
	if (json_str_is(type, "queue-operation") && json_is(id, JSON_STRING) && ours) {
		struct notice *n =
			arena_new(&out->arena, struct notice, .id = json_cstr(id, &out->arena),
				  .text = arena_str(&out->arena, json_str(json_get(root, "content"), &out->arena)),
				  .about = json_cstr(json_get(root, "about"), &out->arena),
				  .mail = json_str_is(json_get(root, "kind"), "teammate"),
				  .quiet = json_bool(json_get(root, "quiet")));
		map_set(&r->queued, str_from(n->id), n);
		const struct json *replaced = json_get(root, "replaces");
		for (const struct json *v = json_first(replaced); v; v = json_next(replaced, v))
			map_set(&out->delivered, json_str(v, &out->arena), out);
	}
	if (json_str_is(type, "team") && json_str_is(json_get(root, "operation"), "create"))
		r->team_at = r->count - 1;
	if (json_str_is(type, "team"))
		out->team = json_str_is(json_get(root, "operation"), "delete")
				    ? (struct str){ 0 }
				    : arena_str(&out->arena, json_raw(json_get(root, "team")));
	if (l->type == LINE_END) {
		r->end = arena_str(&r->arena, json_raw(json_get(root, "end")));
		r->ended = r->count;
	}
	if (json_str_is(type, "mode"))
		out->coordinator = json_str_is(json_get(root, "mode"), "coordinator");
	if (json_str_is(type, "agent-setting") && json_get(root, "agentSetting"))
		*agent = json_cstr(json_get(root, "agentSetting"), &out->arena);
	return true;
}

/* The newest record of a file wins, and a fork's own over that of its origin, which is read after it. */
static int index_lines(struct reading *r, const struct replay *replay, struct err *err)
{
	struct session_load *out = replay->out;
	AUTO_JSON struct json_reader reader = { 0 };
	char *agent = NULL;
	struct line_span span;
	struct str text;
	int more;

	while ((more = line_file_next(&r->file, &text, &span, err)) > 0) {
		text = str_trim(text);
		bool whole = text.n && index_line(r, &reader, text, span, out, &agent);
		out->skipped += text.n && !whole;
		r->bytes = !r->file.torn ? r->file.at : whole ? r->file.at + 1 : span.at;
		if (replay->stop && atomic_load(replay->stop))
			return err_set(err, ERR_CANCELLED, "stopped");
	}
	if (!out->agent)
		out->agent = agent;
	for (size_t i = 0; i < r->count; i++)
		if (r->lines[i].uuid.n)
			map_set(&r->by_uuid, r->lines[i].uuid, &r->lines[i]);
	return more;
}

/* The text of a line, until the next one is asked for. */
static int text_of(struct reading *r, const struct line *l, struct str *ret_text, struct err *err)
{
	if (line_file_again(&r->file, l->span, ret_text, err) < 0)
		return -(int)err->kind;
	*ret_text = str_trim(*ret_text);
	return 0;
}

/* Keeps the chain from leaf back to its root; returns the root. Lines before a boundary are in its summary. */
static struct line *keep_chain(struct reading *r, struct line *leaf)
{
	struct line *root = NULL;

	for (struct line *l = leaf, *parent; l && !l->keep; l = parent) {
		l->keep = true;
		root = l;
		if (l->type == LINE_BOUNDARY)
			break;
		parent = map_get(&r->by_uuid, l->parent);
		/* A missing parent was damaged: the chain continues with the previous line. */
		for (struct line *p = l; !parent && l->parent.n && p > r->lines; p--)
			if (p[-1].uuid.n && p[-1].sidechain == l->sidechain)
				parent = &p[-1];
	}
	return root;
}

/* Branches that are only an effect of parallel calls: further blocks of a kept message, results of kept calls. A block follows a
 * line that is kept: one with the same id in a branch that was left is another answer. */
static void keep_siblings(struct reading *r)
{
	struct map messages = { 0 }, calls = { 0 };

	for (size_t i = 0; i < r->count; i++)
		if (r->lines[i].keep && r->lines[i].message_id.n)
			map_set(&messages, r->lines[i].message_id, r);
	for (size_t i = 0; i < r->count; i++) {
		struct line *l = &r->lines[i];
		if (l->type != LINE_ASSISTANT)
			continue;
		const struct line *parent = map_get(&r->by_uuid, l->parent);
		l->keep = l->keep || (map_get(&messages, l->message_id) && (!parent || parent->keep));
		if (l->keep && l->call_id.n)
			map_set(&calls, l->call_id, r);
	}
	for (size_t i = 0; i < r->count; i++)
		if (r->lines[i].type == LINE_USER && r->lines[i].call_id.n && map_get(&calls, r->lines[i].call_id))
			r->lines[i].keep = true;
	map_release(&messages);
	map_release(&calls);
}

static struct line *newest_line(struct reading *r)
{
	for (size_t i = r->count; i-- > 0;) {
		struct line *l = &r->lines[i];
		if ((l->type == LINE_USER || l->type == LINE_ASSISTANT || l->type == LINE_FORK) && l->uuid.n &&
		    (!l->sidechain || r->lines[0].sidechain))
			return l;
	}
	return NULL;
}

static int load_file(const char *path, struct str leaf_uuid, struct replay *replay, unsigned depth, struct err *err);

static int load_origin(const char *path, struct reading *r, const struct line *fork, struct replay *replay,
		       unsigned depth, struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena arena = { 0 };
	const struct json *root;
	struct str text;

	if (depth >= DEEPEST_FORK)
		return err_set(err, ERR_LIMIT, "%s: more than %d sessions are forked from each other", path,
			       DEEPEST_FORK);
	if (text_of(r, fork, &text, err) < 0 || json_parse(&reader, text.p, text.n, &root, err) < 0)
		return -(int)err->kind;
	const struct json *from = json_get(root, "forkedFrom");
	struct str session = json_str(json_get(from, "sessionId"), &arena);
	if (!id_is_uuid(session))
		return err_set(err, ERR_PARSE, "%s: the fork's origin is not a session id", path);
	/* <project>/SESSION.jsonl, and its agents in <project>/SESSION/subagents/agent-ID.jsonl */
	struct str agent = json_str(json_get(from, "agentId"), &arena);
	const char *slash = strrchr(path, '/');
	int dir_len = slash ? (int)(slash - path + 1) : 0;
	const char *origin =
		agent.n && id_is_agent(agent)
			? arena_printf(&arena, "%.*sagent-" STR_FMT ".jsonl", dir_len, path, STR_ARG(agent))
			: arena_printf(&arena, "%.*s%s" STR_FMT ".jsonl", dir_len, path,
				       fork->sidechain ? "../../" : "", STR_ARG(session));
	if (load_file(origin, json_str(json_get(from, "uuid"), &arena), replay, depth + 1, err) < 0)
		return depth ? -(int)err->kind : err_wrap(err, "the origin of a fork");
	const struct json *placeholder = json_get(from, "placeholder");
	if (placeholder)
		replay_placeholder(replay, json_str(placeholder, &arena));
	return 0;
}

/* The facts about the whole file, after its lines were replayed. */
static void finish_load(const struct reading *r, const struct line *leaf, bool cut, struct replay *replay)
{
	struct session_load *out = replay->out;
	size_t end = r->count;

	while (cut && end > 0 && !r->lines[end - 1].keep)
		end--;
	out->bytes = end < r->count ? r->lines[end].span.at : r->bytes;
	for (size_t i = 0; i < r->count; i++)
		out->prompts += is_prompt(&r->lines[i]);
	for (size_t i = end; i < r->count; i++)
		if (r->lines[i].type == LINE_ASSISTANT && r->lines[i].call_id.n)
			map_set(&out->later, arena_str(&out->arena, r->lines[i].call_id), out);
	out->team_later = end < r->count && out->team.n && r->team_at >= end;
	out->waiting = arena_calloc(&out->arena, (r->queued.count + 1) * sizeof *out->waiting);
	for (const struct map_entry *e = map_next(&r->queued, NULL); e; e = map_next(&r->queued, e)) {
		const struct notice *n = e->value;
		if (!map_get(&out->delivered, str_from(n->id)))
			out->waiting[out->waiting_count++] = *n;
	}
	if (r->ended <= (leaf ? (size_t)(leaf - r->lines) + 1 : 0))
		return;
	out->end = arena_str(&out->arena, r->end);
	snprintf(out->last, sizeof out->last, STR_FMT, STR_ARG(r->lines[r->ended - 1].uuid));
	if (out->end.n)
		replay_reset_usage(replay);
}

static int load_file(const char *path, struct str leaf_uuid, struct replay *replay, unsigned depth, struct err *err)
{
	CLEANUP(reading_release) struct reading r = { 0 };
	struct str text;

	if (line_file_open(&r.file, path, err) < 0)
		return -(int)err->kind;
	const char *slash = strrchr(path, '/');
	struct str name = str_from(slash ? slash + 1 : path);
	if (str_ends(name, STR(".jsonl")) && id_is_uuid((struct str){ name.p, name.n - 6 }))
		r.session = (struct str){ name.p, name.n - 6 };
	if (index_lines(&r, replay, err) < 0)
		return err_wrap(err, "%s", path);
	struct line *leaf = leaf_uuid.n ? map_get(&r.by_uuid, leaf_uuid) : newest_line(&r);
	if (leaf_uuid.n && !leaf)
		return err_set(err, depth ? ERR_NOT_FOUND : ERR_USAGE, "%s has no line " STR_FMT, path,
			       STR_ARG(leaf_uuid));
	struct line *root = keep_chain(&r, leaf);
	if (root && root->type == LINE_FORK && load_origin(path, &r, root, replay, depth, err) < 0)
		return -(int)err->kind;
	replay_reset_usage(replay); /* that of an origin is not its own */
	keep_siblings(&r);
	/* Files read and tools loaded before a compaction are still known. */
	bool compacted = root && root->type == LINE_BOUNDARY;
	for (size_t i = 0; i < r.count; i++) {
		const struct line *l = &r.lines[i];
		if (l->trace && (l->keep || (compacted && l < root)))
			replay_trace(replay, l->trace, !l->keep);
		if (!l->keep)
			continue;
		if (replay->stop && atomic_load(replay->stop))
			return err_set(err, ERR_CANCELLED, "stopped");
		if (text_of(&r, l, &text, err) < 0)
			return err_wrap(err, "%s", path);
		replay_line(replay, l, text);
	}
	if (leaf)
		snprintf(replay->out->last, sizeof replay->out->last, STR_FMT, STR_ARG(leaf->uuid));
	if (depth == 0)
		finish_load(&r, leaf, leaf_uuid.n != 0, replay);
	return 0;
}

static int replay_file(const char *path, struct str uuid, struct replay *replay, struct err *err)
{
	*replay->out = (struct session_load){ 0 };
	int status = load_file(path, uuid, replay, 0, err);

	replay_end(replay);
	if (status < 0)
		session_load_release(replay->out);
	return status;
}

/* A write that was interrupted by the end of its process: the last line has no line end. A complete object only gets its
 * line end. A file that has grown meanwhile has a live writer and is not torn. 1: it was repaired. */
static int repair_tail(const char *path, struct err *err)
{
	for (size_t most = END_TAIL;; most *= 8) {
		AUTO_BUF struct buf tail = { 0 };
		AUTO_JSON struct json_reader reader = { 0 };
		struct stat st;
		uint64_t size;
		if (file_read_tail(path, most, &tail, &size, NULL) < 0 || !tail.n || tail.p[tail.n - 1] == '\n')
			return 0;
		const char *feed = memrchr(tail.p, '\n', tail.n);
		if (!feed && size > tail.n)
			continue; /* only the end of the line is here */
		const char *line = feed ? feed + 1 : tail.p;
		size_t n = (size_t)(tail.p + tail.n - line);
		bool whole = json_is(json_read(&reader, (struct str){ line, n }), JSON_OBJECT);
		AUTO_CLOSE int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
		if (fd >= 0 && fstat(fd, &st) == 0 &&
		    ((uint64_t)st.st_size != size || file_check_own(&st, path, NULL) < 0))
			return 0;
		if (fd < 0 || (whole ? write(fd, "\n", 1) != 1 : ftruncate(fd, (off_t)(size - n)) < 0))
			return err_set(err, ERR_IO, "cannot repair the torn last line of %s: %m", path);
		return 1;
	}
}

int session_load_until(const char *path, struct str uuid, struct session_load *ret, struct err *err)
{
	int repaired = repair_tail(path, err);
	int status = repaired < 0 ? repaired : replay_file(path, uuid, &(struct replay){ .out = ret }, err);

	if (status == 0)
		ret->repaired = repaired;
	return status;
}

bool session_load_begun(const char *path)
{
	CLEANUP(reading_release) struct reading r = { 0 };
	CLEANUP(session_load_release) struct session_load scratch = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	char *agent = NULL;
	struct line_span span;
	struct str text;

	if (line_file_open(&r.file, path, NULL) < 0)
		return false;
	while (line_file_next(&r.file, &text, &span, NULL) > 0)
		if (index_line(&r, &reader, str_trim(text), span, &scratch, &agent) && is_prompt(&r.lines[r.count - 1]))
			return true;
	return false;
}

/* What a load finds about the end, seen from the end of the file. 1: an end; 0: none; -1: the line decides nothing. */
static int take_end(struct str line, struct buf *ret_end)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root = json_read(&reader, str_trim(line)), *type = json_get(root, "type");

	if (json_str_is(type, "user") || json_str_is(type, "assistant") || json_str_is(type, "fork-origin"))
		return 0;
	if (!json_str_is(type, "agent-end"))
		return -1;
	struct str end = json_raw(json_get(root, "end"));
	buf_clear(ret_end);
	buf_append(ret_end, end);
	return 1;
}

int session_load_end(const char *path, struct buf *ret_end, struct err *err)
{
	for (size_t most = END_TAIL;; most *= 8) {
		AUTO_BUF struct buf tail = { 0 };
		uint64_t size;
		int status = file_read_tail(path, most, &tail, &size, err);
		if (status < 0)
			return status;
		for (struct str rest = buf_str(&tail); rest.n;) {
			const char *feed = memrchr(rest.p, '\n', rest.n);
			if (!feed && size > tail.n)
				break; /* only the end of a line is here */
			const char *line = feed ? feed + 1 : rest.p;
			int found = take_end(str_between(line, rest.p + rest.n), ret_end);
			if (found >= 0)
				return found;
			rest.n = feed ? (size_t)(feed - rest.p) : 0;
		}
		if (size <= tail.n)
			return 0;
	}
}

struct load_job {
	uv_work_t work;
	char *path;
	atomic_bool stop;
	struct session_load *load; /* the worker's until it is done */
	struct err err;
	load_done_fn *done;
	void *data;
};

static void on_load_thread(uv_work_t *work)
{
	struct load_job *job = CONTAINER_OF(work, struct load_job, work);
	struct replay replay = { .out = job->load, .stop = &job->stop };

	if (replay_file(job->path, (struct str){ 0 }, &replay, &job->err) < 0)
		free(TAKE(job->load));
}

static void on_load_done(uv_work_t *work, int status)
{
	struct load_job *job = CONTAINER_OF(work, struct load_job, work);

	if (status < 0 || (job->load && atomic_load(&job->stop))) { /* its thread did not begin, or was through */
		if (job->load)
			session_load_release(job->load);
		free(TAKE(job->load));
		err_set(&job->err, ERR_CANCELLED, "stopped");
	}
	job->done(job->data, job->load, &job->err);
	free(job->path);
	free(job);
}

struct load_job *session_load_start(struct loop *loop, const char *path, load_done_fn *done, void *data)
{
	struct load_job *job = xcalloc(1, sizeof *job);

	(void)repair_tail(path, NULL); /* a failure shows when the file is read or written */
	job->path = xstrdup(path);
	job->load = xcalloc(1, sizeof *job->load);
	job->done = done;
	job->data = data;
	(void)uv_queue_work(loop_uv(loop), &job->work, on_load_thread,
			    on_load_done); /* fails without a function only */
	return job;
}

void session_load_stop(struct load_job *job)
{
	if (!job)
		return;
	atomic_store(&job->stop, true);
	(void)uv_cancel((uv_req_t *)&job->work); /* it may be running already; then the flag ends it */
}

void session_load_add_waiting(struct session_load *l, const struct notice *notice)
{
	struct notice *more = arena_calloc(&l->arena, (l->waiting_count + 1) * sizeof *more);

	if (l->waiting_count)
		memcpy(more, l->waiting, l->waiting_count * sizeof *more);
	struct notice *n = &more[l->waiting_count++];
	*n = *notice;
	n->id = arena_strdup(&l->arena, notice->id);
	n->text = arena_str(&l->arena, notice->text);
	n->about = arena_strdup(&l->arena, notice->about);
	l->waiting = more;
}

void session_load_release(struct session_load *l)
{
	for (size_t i = 0; i < l->call_count; i++)
		segment_unref(l->calls[i].result);
	free(l->calls);
	free(l->files);
	free(l->tools);
	map_release(&l->delivered);
	map_release(&l->later);
	transcript_release(&l->transcript);
	arena_release(&l->arena);
	*l = (struct session_load){ 0 };
}
