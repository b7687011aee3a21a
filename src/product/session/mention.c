/* SPDX-License-Identifier: MIT
 * mention.c - files, resources of servers and agents that a prompt names. A file is a call of Read that the model did not make: the
 * same limits hold, and the file counts as read; a resource is one of ReadMcpResourceTool. The agent's gate decides, without
 * questions to the user (docs/internals/mention.md). */
#include <sys/stat.h>
#include "product/session/session_int.h"
#include "lib/base/list.h"
#include "lib/io/dir.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"
#include "lib/json/json_write.h"
#include "guard/permission/permission.h"
#include "agents/agent/skill_use.h"
#include "mcp/client/pool.h"
#include "agents/subagent/subagent.h"
#include "tools/files/text_file.h"
#include "tools/search/walk.h"

enum { MOST_NAMES = 1000, MOST_BYTES = 400 * 1024, MOST_FILES = 100000, FILES_MS = 5000 };

#define PUNCTUATION ".,;:!?)'\""

struct mention {
	struct mentions *all;
	char *path;             /* absolute; SERVER:URI; of an agent its name; owned */
	struct tool_call *call; /* NULL: an agent */
	bool done;
};

struct mentions {
	struct cadre_session *session;
	struct kick kick;
	struct tool lister; /* Read for a directory */
	struct mention list[MOST_MENTIONS];
	size_t count;
	bool is_cut; /* more files are named than have room */
};

/* The next name behind an @ from *at on; p == NULL: there are no more. */
static struct str next_name(struct str text, size_t *at)
{
	for (; *at + 1 < text.n; (*at)++) {
		if (text.p[*at] != '@' || (*at && !char_in(text.p[*at - 1], " \t\r\n(")))
			continue; /* not at the beginning of a word */
		size_t from = *at + 1;
		bool quoted = text.p[from] == '"';
		from += quoted;
		size_t to = from;
		while (to < text.n && (quoted ? text.p[to] != '"' : !char_in(text.p[to], " \t\r\n")))
			to++;
		*at = to;
		if (to > from)
			return (struct str){ text.p + from, to - from };
	}
	return (struct str){ 0 };
}

static void on_kick(struct kick *kick)
{
	struct mentions *m = CONTAINER_OF(kick, struct mentions, kick);

	for (size_t i = 0; i < m->count; i++)
		if (!m->list[i].done)
			return;
	turn_work_over(m->session);
}

static void on_done(struct tool_call *call)
{
	struct mention *one = call->owner;

	one->done = true;
	loop_kick(call->env->loop, &one->all->kick);
}

static void list_directory(struct tool_call *call)
{
	AUTO_ARENA struct arena a = { 0 };
	char *names[MOST_NAMES], *path;
	const char *target;
	size_t count = 0;

	if (!file_tool_find(call, "file_path", &path, &target))
		return;
	struct hidden_files *hidden = hidden_files_find_at(call->env, path, target);
	AUTO_DIR DIR *dir = dir_open_unlinked(target);
	for (struct dirent *e; count < MOST_NAMES && (e = dir_next(dir));)
		if (!hidden_files_has(hidden, path_join(&a, path, e->d_name)))
			names[count++] = arena_printf(&a, "%s%s", e->d_name, e->d_type == DT_DIR ? "/" : "");
	qsort(names, count, sizeof *names, str_compare);
	for (size_t i = 0; i < count; i++)
		buf_addf(&call->result, "%s\n", names[i]);
	if (count == MOST_NAMES)
		buf_addstr(&call->result, "... and more\n");
	hidden_files_free(hidden);
	tool_call_end(call);
}

static bool mentions_have(const struct mentions *m, const char *path)
{
	for (size_t i = 0; i < m->count; i++)
		if (!strcmp(m->list[i].path, path))
			return true;
	return false;
}

/* The name as a file or directory. A sentence may end behind the name: without such a file its punctuation is cut off. NULL: it is in
 * the list, or cannot be attached (*ret_named), or there is none. */
static char *mention_path(const struct mentions *m, struct arena *a, struct str name, bool *ret_named, bool *ret_is_dir)
{
	const char *cwd = m->session->tree.main.env.cwd;
	char *path = path_absolute(a, cwd, name);
	struct stat st;

	while (stat(path, &st) < 0) {
		if (name.n < 2 || !char_in(name.p[name.n - 1], PUNCTUATION))
			return NULL;
		name.n--;
		path = path_absolute(a, cwd, name);
	}
	*ret_named = true;
	*ret_is_dir = S_ISDIR(st.st_mode);
	return (*ret_is_dir || S_ISREG(st.st_mode)) && !mentions_have(m, path) ? path : NULL;
}

static struct mention *mention_add(struct mentions *m, const char *path)
{
	struct mention *one = &m->list[m->count++];

	*one = (struct mention){ .all = m, .path = xstrdup(path) };
	return one;
}

static void mention_call(struct mention *one, const struct tool *tool, struct str input)
{
	struct agent *agent = &one->all->session->tree.main;
	char id[UUID_LEN + 1];

	id_uuid(id);
	one->call = tool_call_new(&agent->env, &agent->gate, tool, str_from(id), str_from(tool->name), input);
	one->call->policy = (struct gate_policy){ .apart = true, .no_question = true };
	one->call->owner = one;
	one->call->done = on_done;
	tool_call_start(one->call);
}

/* agent-NAME, or NAME (agent): one that the main agent can start. False: there is no such agent. */
static bool mention_agent(struct mentions *m, struct arena *a, struct str name)
{
	const struct agent *agent = &m->session->tree.main;
	struct str prefix = STR("agent-"), suffix = STR(" (agent)");
	AUTO_BUF struct buf why = { 0 };

	if (str_starts(name, prefix))
		name = str_tail(name, prefix.n);
	else if (str_ends(name, suffix))
		name.n -= suffix.n;
	else
		return false;
	while (name.n && char_in(name.p[name.n - 1], PUNCTUATION))
		name.n--;
	if (!name.n || !tool_set_find(&agent->tools, STR("Agent")))
		return false;
	struct agent_definition *d = agent_find_definition(agent, arena_str(a, name).p, &why);
	if (!d)
		return false;
	if (!mentions_have(m, d->name))
		mention_add(m, d->name)->done = true;
	agent_unref(d);
	return true;
}

/* SERVER:URI of a server of the main agent. Behind a URI that the server has not listed, punctuation belongs to the sentence. */
static void mention_resource(struct mentions *m, struct arena *a, struct str name)
{
	const struct agent *agent = &m->session->tree.main;
	const struct tool *read = tool_set_find(&agent->tools, STR("ReadMcpResourceTool"));
	struct str uri = name, server = str_cut(&uri, ':');
	struct mcp_lease *lease = read && uri.p && agent->servers ? mcp_selection_find(agent->servers, server) : NULL;
	struct mcp_catalog *catalog = lease ? mcp_lease_catalog(lease) : NULL;
	bool listed = false;

	for (size_t i = 0; catalog && i < catalog->resource_count && !listed; i++)
		listed = str_is(uri, catalog->resources[i].uri);
	mcp_catalog_unref(catalog);
	while (lease && !listed && uri.n && char_in(uri.p[uri.n - 1], PUNCTUATION))
		uri.n--;
	if (!lease || !uri.n)
		return;
	const char *path = arena_printf(a, STR_FMT ":" STR_FMT, STR_ARG(server), STR_ARG(uri));
	if (mentions_have(m, path))
		return;
	AUTO_BUF struct buf input = { 0 };
	json_addf(&input, "{server:'%.*s', uri:'%.*s'}", STR_ARG(server), STR_ARG(uri));
	mention_call(mention_add(m, path), read, buf_str(&input));
}

bool session_read_mentions(struct cadre_session *s)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct tool *read = tool_set_find(&s->tree.main.tools, STR("Read"));
	struct str text = buf_str(&s->turn.prompt), name;
	size_t first = 0;

	if (s->turn.verbatim || !next_name(text, &first).p)
		return false;
	turn_announce(s);
	struct mentions *m = xnew(struct mentions, .session = s, .kick = { .step = on_kick });
	s->turn.mentions = m;
	if (read) {
		m->lister = *read;
		m->lister.start = list_directory;
		m->lister.cancel = NULL;
	}
	for (size_t at = 0; !m->is_cut && (name = next_name(text, &at)).p;) {
		bool named = false, is_dir;
		const char *path = read ? mention_path(m, &a, name, &named, &is_dir) : NULL;
		if (m->count == MOST_MENTIONS) {
			m->is_cut = path;
			continue;
		}
		if (!path) {
			if (!named && !mention_agent(m, &a, name))
				mention_resource(m, &a, name);
			continue;
		}
		AUTO_BUF struct buf input = { 0 };
		json_addf(&input, "{file_path:'%s'}", path);
		mention_call(mention_add(m, path), is_dir ? &m->lister : read, buf_str(&input));
	}
	if (!m->count) {
		session_drop_mentions(s);
		return false;
	}
	loop_kick(s->services->loop, &m->kick);
	return true;
}

void session_stop_mentions(struct cadre_session *s)
{
	struct mentions *m = s->turn.mentions;

	for (size_t i = 0; m && i < m->count; i++)
		if (m->list[i].call)
			tool_call_cancel(m->list[i].call);
}

void session_drop_mentions(struct cadre_session *s)
{
	struct mentions *m = TAKE(s->turn.mentions);

	if (!m)
		return;
	kick_cancel(&m->kick);
	for (size_t i = 0; i < m->count; i++) {
		tool_call_free(m->list[i].call);
		free(m->list[i].path);
	}
	free(m);
}

int session_add_mentions(struct cadre_session *s, struct err *err)
{
	const struct mentions *m = s->turn.mentions;
	struct segment *blocks[MOST_MENTIONS + 1];
	size_t left = MOST_BYTES;

	if (!m)
		return 0;
	for (size_t i = 0; i < m->count; i++) {
		const char *path = m->list[i].path;
		const struct tool_call *call = m->list[i].call;
		AUTO_BUF struct buf out = { 0 };
		if (!call)
			buf_addf(&out,
				 "<system-reminder>\nThe user asks for the agent %s. Use the Agent tool with "
				 "subagent_type \"%s\".",
				 path, path);
		else
			buf_addf(&out, "<system-reminder>\nThe prompt names %s", path);
		if (call && call->result_blocks.n)
			buf_addf(&out, ", which is not a text file. %s shows it.", call->name);
		else if (call && call->result.n > left)
			buf_addstr(&out, ", which is too large to be shown here. Read it.");
		else if (call && call->is_error)
			buf_addf(&out, ", which could not be attached: " STR_FMT, STR_ARG(call->result));
		else if (call)
			buf_addf(&out, ". %s:\n" STR_FMT,
				 call->tool == &m->lister
					 ? "It is a directory with"
					 : arena_printf(&m->list[i].call->arena, "%s returns", call->name),
				 STR_ARG(call->result));
		buf_addstr(&out, "\n</system-reminder>");
		left -= MIN(left, out.n);
		blocks[i] = segment_text(buf_str(&out));
	}
	if (m->is_cut)
		blocks[m->count] =
			segment_text(STR("<system-reminder>\nThe prompt names more files than can be "
					 "attached. Read those that are not shown here.\n</system-reminder>"));
	int status = query_add_user(&s->tree.main.query, blocks, m->count + m->is_cut, true, err);
	for (size_t i = 0; i < m->count; i++)
		if (m->list[i].call)
			agent_touch(&s->tree.main, m->list[i].call);
	session_drop_mentions(s);
	return status;
}

/* Those that a search would look at, found on a thread: a tree may be large, and its disk slow. */
struct file_search {
	uv_work_t work;
	struct cadre_session *session;
	struct file_search *next, **prev; /* in session->file_searches */
	struct arena arena;
	struct walk_options walk;
	struct hidden_files *denied;
	atomic_bool stop;
	size_t above; /* bytes of the working directory and a slash */
	size_t count;
	struct buf names;
	file_names_fn *done;
	void *data;
};

static bool on_file(void *data, unsigned worker, struct str path)
{
	struct file_search *f = data;

	buf_add(&f->names, path.p + f->above, path.n - f->above + 1);
	return ++f->count < MOST_FILES;
}

static void search_on_thread(uv_work_t *work)
{
	struct file_search *f = CONTAINER_OF(work, struct file_search, work);
	struct err ignored = { 0 };

	(void)walk_run(&f->walk, &ignored); /* what was found until then counts */
}

static void on_searched(uv_work_t *work, int status)
{
	struct file_search *f = CONTAINER_OF(work, struct file_search, work);

	list_remove(f);
	f->done(f->data, buf_str(&f->names));
	session_kick(f->session);
	hidden_files_free(f->denied);
	buf_release(&f->names);
	arena_release(&f->arena);
	free(f);
}

void session_find_files(struct cadre_session *s, file_names_fn *done, void *data)
{
	const struct tool_env *env = &s->tree.main.env;
	struct file_search *f = xnew(struct file_search, .session = s, .done = done, .data = data);

	f->denied = hidden_files_find_at(env, env->cwd, NULL);
	f->above = strlen(env->cwd) + (env->cwd[1] != '\0');
	f->walk = (struct walk_options){ .root = arena_strdup(&f->arena, env->cwd),
					 .denied = f->denied,
					 .home = arena_strdup(&f->arena, tool_env_get(env, "HOME")),
					 .config_home = arena_strdup(&f->arena, tool_env_get(env, "XDG_CONFIG_HOME")),
					 .no_ignore = env->settings && env->settings->search_ignored,
					 .threads = 1,
					 .stop = &f->stop,
					 .limit_ms = FILES_MS,
					 .visit = on_file,
					 .data = f };
	list_push(&s->file_searches, f);
	(void)uv_queue_work(loop_uv(s->services->loop), &f->work, search_on_thread, on_searched);
}

void session_stop_file_searches(struct cadre_session *s)
{
	for (struct file_search *f = s->file_searches; f; f = f->next) {
		atomic_store(&f->stop, true);
		(void)uv_cancel((uv_req_t *)&f->work); /* it may be running already; then the flag ends it */
	}
}
