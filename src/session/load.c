/* SPDX-License-Identifier: MIT
 * load.c - reads the lines of a session and follows their chain. What the lines mean for the conversation is decided in
 * replay.c. */
#include "session/load.h"
#include <fcntl.h>
#include <sys/stat.h>
#include "base/map.h"
#include "io/file.h"
#include "session/load_int.h"

enum { LARGEST_FILE = 1 << 30, DEEPEST_FORK = 64 };

struct reading {
	struct line *lines;
	size_t count, cap;
	struct map by_uuid;
	struct buf text;
};

static void reading_release(struct reading *r)
{
	map_release(&r->by_uuid);
	buf_release(&r->text);
	free(r->lines);
}

static struct line *add_line(struct reading *r)
{
	if (r->count == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 256;
		r->lines = xrealloc(r->lines, r->cap * sizeof *r->lines);
	}
	struct line *l = &r->lines[r->count++];
	*l = (struct line){ 0 };
	return l;
}

static struct str plain(const struct json *v)
{
	return json_is(v, JSON_STRING) ? (struct str){ v->text, v->len } : (struct str){ 0 };
}

static void classify(struct line *l, const struct json *root)
{
	const struct json *type = json_get(root, "type");
	const struct json *message = json_get(root, "message");

	l->uuid = plain(json_get(root, "uuid"));
	l->parent = plain(json_get(root, "parentUuid"));
	l->sidechain = json_bool(json_get(root, "isSidechain"));
	l->meta = json_bool(json_get(root, "isMeta")) || json_bool(json_get(root, "isCompactSummary"));
	if (json_str_is(type, "user") && message)
		l->type = LINE_USER;
	else if (json_str_is(type, "assistant") && message)
		l->type = LINE_ASSISTANT;
	else if (json_str_is(type, "fork-origin"))
		l->type = LINE_FORK;
	else if (json_str_is(type, "agent-end"))
		l->type = LINE_END;
	else if (json_str_is(type, "system") && json_str_is(json_get(root, "subtype"), "compact_boundary"))
		l->type = LINE_BOUNDARY;
	l->message_id = plain(json_get(message, "id"));
	const struct json *first = json_first(json_get(message, "content"));
	if (l->type == LINE_USER && json_str_is(json_get(first, "type"), "tool_result"))
		l->call_id = plain(json_get(first, "tool_use_id"));
	if (l->type == LINE_ASSISTANT && json_str_is(json_get(first, "type"), "tool_use"))
		l->call_id = plain(json_get(first, "id"));
}

/* Of any line, whether it still counts for the conversation or not: who was told is not told again. */
static void note_delivered(struct session_load *out, const struct json *root)
{
	const struct json *ids = json_get(json_get(root, "origin"), "ids");

	for (const struct json *id = json_first(ids); id; id = json_next(ids, id))
		map_set(&out->delivered, json_str(id, &out->arena), out);
}

static const struct json *agent_of(const struct json *root)
{
	return json_str_is(json_get(root, "type"), "agent-setting") ? json_get(root, "agentSetting") : NULL;
}

/* The newest word of a file counts, and a fork's own before that of its origin, which is read after it. */
static void index_lines(struct reading *r, struct session_load *out)
{
	bool agent_known = out->agent != NULL;
	AUTO_JSON struct json_reader reader = { 0 };
	struct str rest = buf_str(&r->text);

	while (rest.p && rest.n) {
		struct str text = str_trim(str_cut(&rest, '\n'));
		const struct json *root;
		if (!text.n)
			continue;
		if (json_parse(&reader, text.p, text.n, &root, NULL) < 0 || !json_is(root, JSON_OBJECT)) {
			out->skipped++;
			continue;
		}
		struct line *l = add_line(r);
		l->text = text;
		classify(l, root);
		note_delivered(out, root);
		if (!agent_known && agent_of(root))
			out->agent = json_cstr(agent_of(root), &out->arena);
	}
	for (size_t i = 0; i < r->count; i++)
		if (r->lines[i].uuid.n)
			map_set(&r->by_uuid, r->lines[i].uuid, &r->lines[i]);
}

/* A parent that is not there was damaged: the conversation goes on with the line that stands before. */
static struct line *parent_of(struct reading *r, struct line *line)
{
	struct line *parent = map_get(&r->by_uuid, line->parent);

	for (struct line *l = line; !parent && line->parent.n && l > r->lines; l--)
		if (l[-1].uuid.n && l[-1].sidechain == line->sidechain)
			parent = &l[-1];
	return parent;
}

/* Keeps the chain from leaf back to its root; returns the root. What is before a boundary is summed up behind it. */
static struct line *keep_chain(struct reading *r, struct line *leaf)
{
	struct line *root = NULL;

	for (struct line *l = leaf; l && !l->keep; l = l->type == LINE_BOUNDARY ? NULL : parent_of(r, l)) {
		l->keep = true;
		root = l;
	}
	return root;
}

/* Branches that are only an effect of parallel calls: further blocks of a kept message, results of kept calls. */
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
		l->keep = l->keep || map_get(&messages, l->message_id);
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

/* <project>/SESSION.jsonl, and its agents in <project>/SESSION/subagents/agent-ID.jsonl */
static char *origin_path(struct arena *a, const char *path, bool is_agent, struct str session, struct str agent)
{
	const char *slash = strrchr(path, '/');
	int dir_len = slash ? (int)(slash - path + 1) : 0;

	if (agent.n && id_is_agent(agent))
		return arena_printf(a, "%.*sagent-" STR_FMT ".jsonl", dir_len, path, STR_ARG(agent));
	return arena_printf(a, "%.*s%s" STR_FMT ".jsonl", dir_len, path, is_agent ? "../../" : "", STR_ARG(session));
}

static int load_origin(const char *path, const struct line *fork, struct replay *replay, unsigned depth,
		       struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena arena = { 0 };
	const struct json *root;

	if (depth >= DEEPEST_FORK)
		return err_set(err, ERR_LIMIT, "%s: more than %d sessions are forked from each other", path,
			       DEEPEST_FORK);
	if (json_parse(&reader, fork->text.p, fork->text.n, &root, err) < 0)
		return -ERR_PARSE;
	const struct json *from = json_get(root, "forkedFrom");
	struct str session = json_str(json_get(from, "sessionId"), &arena);
	if (!id_is_uuid(session))
		return err_set(err, ERR_PARSE, "%s: the fork's origin is not a session id", path);
	char *origin = origin_path(&arena, path, fork->sidechain, session, json_str(json_get(from, "agentId"), &arena));
	if (load_file(origin, json_str(json_get(from, "uuid"), &arena), replay, depth + 1, err) < 0)
		return depth ? -(int)err->kind : err_wrap(err, "the origin of a fork");
	const struct json *placeholder = json_get(from, "placeholder");
	if (placeholder)
		replay_placeholder(replay, json_str(placeholder, &arena));
	return 0;
}

/* A write that was cut by the end of its process: the last line lacks its end. A whole object only gets its line end. A
 * file that grew since it was read is being written by somebody, and nothing is torn. */
static int repair_tail(const char *path, struct buf *text, struct session_load *out, struct err *err)
{
	if (!text->n || text->p[text->n - 1] == '\n')
		return 0;
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	const char *line_end = memrchr(text->p, '\n', text->n);
	size_t start = line_end ? (size_t)(line_end + 1 - text->p) : 0;
	const struct json *root;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && (size_t)st.st_size != text->n)
		return 0;
	bool whole = json_parse(&reader, text->p + start, text->n - start, &root, NULL) == 0;
	if (fd < 0 || (whole ? write(fd, "\n", 1) != 1 : ftruncate(fd, (off_t)start) < 0))
		return err_set(err, ERR_IO, "cannot repair the torn last line of %s: %m", path);
	if (!whole)
		text->n = start;
	out->repaired = true;
	return 0;
}

static void find_end(struct reading *r, const struct line *leaf, struct session_load *out)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	for (const struct line *l = leaf ? leaf + 1 : r->lines; l < r->lines + r->count; l++) {
		if (l->type != LINE_END || json_parse(&reader, l->text.p, l->text.n, &root, NULL) < 0)
			continue;
		out->end = arena_str(&out->arena, json_raw(json_get(root, "end")));
		snprintf(out->last, sizeof out->last, STR_FMT, STR_ARG(l->uuid));
	}
}

static void count_prompts(const struct reading *r, struct session_load *out)
{
	for (const struct line *l = r->lines; l < r->lines + r->count; l++)
		out->prompts += l->type == LINE_USER && !l->meta && !l->call_id.n;
}

/* Files that were seen before the conversation was summed up are known all the same. */
static void replay_lines(struct replay *replay, const struct reading *r, const struct line *root)
{
	bool summed_up = root && root->type == LINE_BOUNDARY;

	for (const struct line *l = r->lines; l < r->lines + r->count; l++) {
		if (l->keep)
			replay_line(replay, l);
		else if (summed_up && l < root && l->type == LINE_USER && str_has(l->text, STR("\"filePath\"")))
			replay_files(replay, l);
	}
}

static int load_file(const char *path, struct str leaf_uuid, struct replay *replay, unsigned depth, struct err *err)
{
	CLEANUP(reading_release) struct reading r = { 0 };

	if (file_read(path, LARGEST_FILE, &r.text, err) < 0)
		return -(int)err->kind;
	if (depth == 0 && repair_tail(path, &r.text, replay->out, err) < 0)
		return -(int)err->kind;
	index_lines(&r, replay->out);
	struct line *leaf = leaf_uuid.n ? map_get(&r.by_uuid, leaf_uuid) : newest_line(&r);
	if (leaf_uuid.n && !leaf)
		return err_set(err, depth ? ERR_NOT_FOUND : ERR_USAGE, "%s has no line " STR_FMT, path,
			       STR_ARG(leaf_uuid));
	struct line *root = keep_chain(&r, leaf);
	if (root && root->type == LINE_FORK && load_origin(path, root, replay, depth, err) < 0)
		return -(int)err->kind;
	keep_siblings(&r);
	replay_lines(replay, &r, root);
	if (leaf)
		snprintf(replay->out->last, sizeof replay->out->last, STR_FMT, STR_ARG(leaf->uuid));
	if (depth == 0) {
		find_end(&r, leaf, replay->out);
		count_prompts(&r, replay->out);
	}
	return 0;
}

int session_load(const char *path, struct session_load *ret, struct err *err)
{
	return session_load_until(path, (struct str){ 0 }, ret, err);
}

int session_load_until(const char *path, struct str uuid, struct session_load *ret, struct err *err)
{
	*ret = (struct session_load){ 0 };
	struct replay replay = { .out = ret };

	int status = load_file(path, uuid, &replay, 0, err);
	replay_end(&replay);
	if (status < 0)
		session_load_release(ret);
	return status;
}

void session_load_release(struct session_load *l)
{
	for (size_t i = 0; i < l->call_count; i++)
		segment_unref(l->calls[i].result);
	free(l->calls);
	free(l->files);
	map_release(&l->delivered);
	transcript_release(&l->transcript);
	arena_release(&l->arena);
	*l = (struct session_load){ 0 };
}
