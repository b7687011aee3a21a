/* SPDX-License-Identifier: MIT
 * mention.c - files, resources of servers and agents that a prompt names. A file is a call of Read that the model did not make: the
 * same limits hold, and the file counts as read; a resource is one of ReadMcpResourceTool. The agent's gate decides, without
 * questions to the user (docs/internals/mention.md). */
#include <sys/stat.h>
#include "product/session/session_int.h"
#include "lib/io/dir.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"
#include "lib/json/json_write.h"
#include "guard/permission/permission.h"
#include "guard/permission/resolved_path.h"
#include "agents/agent/skill_use.h"
#include "mcp/client/pool.h"
#include "agents/subagent/subagent.h"
#include "tools/search/walk.h"

enum { MOST_NAMES = 1000, MOST_BYTES = 400 * 1024, MOST_FILES = 10000, FILES_MS = 100 };

#define PUNCTUATION ".,;:!?)'\""

struct mention {
	struct mentions *all;
	char *path;             /* absolute; SERVER:URI; of an agent its name; owned */
	char *target;           /* of a directory: where it leads; owned */
	struct tool_call *call; /* NULL: a directory or an agent */
	struct buf text;        /* of a directory: its names; of an agent: what the user wants */
	bool is_agent;
	bool done;
};

struct mentions {
	struct cadre_session *session;
	struct kick kick;
	struct mention list[MOST_MENTIONS];
	size_t count;
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

static void list_directory(struct mention *one)
{
	struct hidden_files *hidden = hidden_files_find_at(&one->all->session->tree.main.env, one->path, one->target);
	AUTO_ARENA struct arena a = { 0 };
	char *names[MOST_NAMES];
	size_t count = 0;
	AUTO_DIR DIR *dir = hidden_files_has(hidden, one->path) ? NULL : dir_open_unlinked(one->target);

	for (struct dirent *e; count < MOST_NAMES && (e = dir_next(dir));) {
		if (hidden_files_has(hidden, path_join(&a, one->path, e->d_name)))
			continue;
		names[count++] = arena_printf(&a, "%s%s", e->d_name, e->d_type == DT_DIR ? "/" : "");
	}
	qsort(names, count, sizeof *names, str_compare);
	for (size_t i = 0; i < count; i++)
		buf_addf(&one->text, "%s\n", names[i]);
	if (count == MOST_NAMES)
		buf_addstr(&one->text, "... and more\n");
	hidden_files_free(hidden);
	one->done = true;
}

/* The name as a file or directory that may be attached. A sentence may end behind the name: without such a file its punctuation is
 * cut off. NULL: it is in the list, or must not be attached (*ret_named), or there is none. *ret_target: where a directory leads. */
static char *mention_path(const struct mentions *m, struct arena *a, struct str name, bool *ret_named,
			  const char **ret_target)
{
	const struct tool_env *env = &m->session->tree.main.env;
	const char *const *dirs = env->dirs;
	char *path = path_absolute(a, env->cwd, name);
	struct stat st;

	while (stat(path, &st) < 0) {
		if (name.n < 2 || !char_in(name.p[name.n - 1], PUNCTUATION))
			return NULL;
		name.n--;
		path = path_absolute(a, env->cwd, name);
	}
	*ret_named = true;
	for (size_t i = 0; i < m->count; i++)
		if (!strcmp(m->list[i].path, path))
			return NULL;
	if (!S_ISDIR(st.st_mode))
		return S_ISREG(st.st_mode) ? path : NULL;
	const struct resolved_path found = resolved_path_find(a, "/", str_from(path));
	*ret_target = found.target;
	while (*dirs && !resolved_path_is_inside(a, &found, *dirs))
		dirs++;
	return *dirs ? path : NULL; /* names in other directories are not given away */
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
	struct mention *one = mention_add(m, d->name);
	buf_addf(&one->text, "The user asks for the agent %s. Use the Agent tool with subagent_type \"%s\".", d->name,
		 d->name);
	one->is_agent = one->done = true;
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
	for (size_t i = 0; i < m->count; i++)
		if (!strcmp(m->list[i].path, path))
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

	if (!next_name(text, &first).p)
		return false;
	turn_announce(s);
	struct mentions *m = xnew(struct mentions, .session = s, .kick = { .step = on_kick });
	s->turn.mentions = m;
	for (size_t at = 0; m->count < MOST_MENTIONS && (name = next_name(text, &at)).p;) {
		bool named = false;
		const char *target = NULL;
		const char *path = read ? mention_path(m, &a, name, &named, &target) : NULL;
		if (!path) {
			if (!named && !mention_agent(m, &a, name))
				mention_resource(m, &a, name);
			continue;
		}
		if (target && permission_forbids(&s->tree.main.permission, read))
			continue;
		struct mention *one = mention_add(m, path);
		if (target) {
			one->target = xstrdup(target);
			list_directory(one);
			continue;
		}
		AUTO_BUF struct buf input = { 0 };
		json_addf(&input, "{file_path:'%s'}", path);
		mention_call(one, read, buf_str(&input));
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
		buf_release(&m->list[i].text);
		free(m->list[i].path);
		free(m->list[i].target);
	}
	free(m);
}

int session_add_mentions(struct cadre_session *s, struct err *err)
{
	const struct mentions *m = s->turn.mentions;
	struct segment *blocks[MOST_MENTIONS];
	size_t left = MOST_BYTES;

	if (!m)
		return 0;
	for (size_t i = 0; i < m->count; i++) {
		const struct mention *one = &m->list[i];
		struct str text = one->call ? buf_str(&one->call->result) : buf_str(&one->text);
		AUTO_BUF struct buf out = { 0 };
		buf_addstr(&out, "<system-reminder>\n");
		if (!one->is_agent)
			buf_addf(&out, "The prompt names %s", one->path);
		if (one->is_agent)
			buf_append(&out, text);
		else if (one->call && one->call->result_blocks.n)
			buf_addf(&out, ", which is not a text file. %s shows it.", one->call->name);
		else if (text.n > left)
			buf_addstr(&out, ", which is too large to be shown here. Read it.");
		else if (one->call && one->call->is_error)
			buf_addf(&out, ", which could not be attached: " STR_FMT, STR_ARG(text));
		else
			buf_addf(&out, ". %s%s:\n" STR_FMT, one->call ? one->call->name : "It is a directory with",
				 one->call ? " returns" : "", STR_ARG(text));
		buf_addstr(&out, "\n</system-reminder>");
		left -= MIN(left, out.n);
		blocks[i] = segment_text(buf_str(&out));
	}
	int status = query_add_user(&s->tree.main.query, blocks, m->count, true, err);
	for (size_t i = 0; i < m->count; i++)
		if (m->list[i].call)
			agent_touch(&s->tree.main, m->list[i].call);
	session_drop_mentions(s);
	return status;
}

struct file_list {
	struct json_out *out;
	size_t above; /* bytes of the working directory and a slash */
	size_t count;
};

static bool on_file(void *data, unsigned worker, struct str path)
{
	struct file_list *list = data;

	json_put_str(list->out, str_tail(path, list->above));
	return ++list->count < MOST_FILES;
}

/* Those that a search would look at, as far as they are found at once: a key waits for them. */
void session_put_files(struct cadre_session *s, struct json_out *w)
{
	const struct tool_env *env = &s->tree.main.env;
	struct hidden_files *denied = hidden_files_find_at(env, env->cwd, NULL);
	struct file_list list = { .out = w, .above = strlen(env->cwd) + 1 };
	struct err ignored = { 0 };

	json_kopen(w, "files", '[');
	(void)walk_run(&(struct walk_options){ .root = env->cwd,
					       .denied = denied,
					       .home = tool_env_get(env, "HOME"),
					       .config_home = tool_env_get(env, "XDG_CONFIG_HOME"),
					       .threads = 1,
					       .limit_ms = FILES_MS,
					       .visit = on_file,
					       .data = &list },
		       &ignored);
	json_close(w);
	hidden_files_free(denied);
}
