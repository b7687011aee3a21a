/* SPDX-License-Identifier: MIT
 * mention.c - files that a prompt names. Each is a call of Read that the model did not make: the same limits hold, and the file
 * counts as read. The agent's gate decides, without questions to the user (docs/internals/mention.md). */
#include <sys/stat.h>
#include "product/session/session_int.h"
#include "lib/io/dir.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"
#include "lib/json/json_write.h"
#include "guard/permission/permission.h"
#include "guard/permission/resolved_path.h"

enum { MOST_NAMES = 1000, MOST_BYTES = 400 * 1024 };

struct mention {
	struct mentions *all;
	char *path;             /* absolute; owned */
	char *target;           /* of a directory: where it leads; owned */
	struct tool_call *call; /* NULL: a directory */
	struct buf text;        /* of a directory */
	bool done;
};

struct mentions {
	struct cadre_session *session;
	struct kick kick;
	struct mention list[MOST_MENTIONS];
	size_t count;
};

/* ---- finding them ------------------------------------------------------------------------------------------------ */

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

/* ---- reading them ------------------------------------------------------------------------------------------------ */

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

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
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
	qsort(names, count, sizeof *names, by_name);
	for (size_t i = 0; i < count; i++)
		buf_addf(&one->text, "%s\n", names[i]);
	if (count == MOST_NAMES)
		buf_addstr(&one->text, "... and more\n");
	hidden_files_free(hidden);
	one->done = true;
}

/* The name as a file or directory that may be attached. A sentence may end behind the name: without such a file its punctuation is
 * cut off. NULL: there is none, or it is in the list. */
static char *mention_path(const struct mentions *m, struct arena *a, struct str name, struct stat *ret_st,
			  const char **ret_target)
{
	const struct tool_env *env = &m->session->tree.main.env;
	const char *const *dirs = env->dirs;
	char *path = path_absolute(a, env->cwd, name);

	while (stat(path, ret_st) < 0) {
		if (name.n < 2 || !char_in(name.p[name.n - 1], ".,;:!?)'\""))
			return NULL;
		name.n--;
		path = path_absolute(a, env->cwd, name);
	}
	for (size_t i = 0; i < m->count; i++)
		if (!strcmp(m->list[i].path, path))
			return NULL;
	if (!S_ISDIR(ret_st->st_mode))
		return S_ISREG(ret_st->st_mode) ? path : NULL;
	const struct resolved_path found = resolved_path_find(a, "/", str_from(path));
	*ret_target = found.target;
	while (*dirs && !resolved_path_is_inside(a, &found, *dirs))
		dirs++;
	return *dirs ? path : NULL; /* names in other directories are not given away */
}

bool session_read_mentions(struct cadre_session *s)
{
	AUTO_ARENA struct arena a = { 0 };
	struct agent *agent = &s->tree.main;
	const struct tool *read = tool_set_find(&agent->tools, STR("Read"));
	struct str text = buf_str(&s->turn.prompt), name;
	size_t first = 0;
	struct stat st;

	if (!next_name(text, &first).p)
		return false;
	turn_announce(s);
	struct mentions *m = xnew(struct mentions, .session = s, .kick = { .step = on_kick });
	s->turn.mentions = m;
	for (size_t at = 0; read && m->count < MOST_MENTIONS && (name = next_name(text, &at)).p;) {
		const char *target = NULL;
		const char *path = mention_path(m, &a, name, &st, &target);
		if (!path || (target && permission_forbids(&agent->permission, read)))
			continue;
		struct mention *one = &m->list[m->count++];
		*one = (struct mention){ .all = m, .path = xstrdup(path), .target = target ? xstrdup(target) : NULL };
		if (target) {
			list_directory(one);
			continue;
		}
		AUTO_BUF struct buf input = { 0 };
		char id[UUID_LEN + 1];
		json_addf(&input, "{file_path:'%s'}", path);
		id_uuid(id);
		one->call = tool_call_new(&agent->env, &agent->gate, read, str_from(id), STR("Read"), buf_str(&input));
		one->call->policy = (struct gate_policy){ .apart = true, .no_question = true };
		one->call->owner = one;
		one->call->done = on_done;
		tool_call_start(one->call);
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
		buf_addf(&out, "<system-reminder>\nThe prompt names %s", one->path);
		if (one->call && one->call->result_blocks.n)
			buf_addstr(&out, ", which is not a text file. Read shows it.");
		else if (text.n > left)
			buf_addstr(&out, ", which is too large to be shown here. Read it.");
		else if (one->call && one->call->is_error)
			buf_addf(&out, ", which could not be attached: " STR_FMT, STR_ARG(text));
		else
			buf_addf(&out, ". %s:\n" STR_FMT, one->call ? "Read returns" : "It is a directory with",
				 STR_ARG(text));
		buf_addstr(&out, "\n</system-reminder>");
		left -= MIN(left, out.n);
		blocks[i] = segment_text(buf_str(&out));
	}
	int status = query_add_user(&s->tree.main.query, blocks, m->count, true, err);
	session_drop_mentions(s);
	return status;
}
