/* SPDX-License-Identifier: MIT
 * mention.c - see mention.h. Each file is a call of Read that the model did not make: the same limits hold, and the file counts
 * as seen. Its gate is the agent's, but nobody is asked (docs/internals/mention.md). */
#include <dirent.h>
#include <sys/stat.h>
#include "product/session/session_int.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "guard/permission/permission.h"

enum { MOST_NAMES = 1000, MOST_BYTES = 400 * 1024 };

struct mention {
	struct mentions *all;
	char *path;             /* absolute; owned */
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

static bool begins_word(struct str text, size_t at)
{
	return at == 0 || char_in(text.p[at - 1], " \t\r\n(");
}

/* The next name behind an @ from *at on; p == NULL: there are no more. */
static struct str next_name(struct str text, size_t *at)
{
	for (; *at + 1 < text.n; (*at)++) {
		if (text.p[*at] != '@' || !begins_word(text, *at))
			continue;
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

/* A sentence may end behind the name: what is no file is tried again without its punctuation. */
static char *find_file(const struct cadre_session *s, struct arena *a, struct str name, struct stat *ret_st)
{
	while (name.n) {
		char *path = path_absolute(a, s->tree.main.env.cwd, name);
		if (stat(path, ret_st) == 0)
			return path;
		if (!char_in(name.p[name.n - 1], ".,;:!?)'\""))
			return NULL;
		name.n--;
	}
	return NULL;
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

static void start_read(struct mention *one)
{
	struct cadre_session *s = one->all->session;
	const struct tool *tool = tool_set_find(&s->tree.main.tools, STR("Read"));
	AUTO_BUF struct buf input = { 0 };
	struct json_out w = json_out(&input);
	char id[UUID_LEN + 1];

	json_open(&w, '{');
	json_kcstr(&w, "file_path", one->path);
	json_close(&w);
	id_uuid(id);
	one->call =
		tool_call_new(&s->tree.main.env, &s->tree.main.gate, tool, str_from(id), STR("Read"), buf_str(&input));
	one->call->policy = (struct gate_policy){ .apart = true, .no_question = true };
	one->call->owner = one;
	one->call->done = on_done;
	tool_call_start(one->call);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list_directory(struct mention *one)
{
	struct hidden_files *hidden = hidden_files_find(&one->all->session->tree.main.env, one->path);
	AUTO_ARENA struct arena a = { 0 };
	char *names[MOST_NAMES];
	size_t count = 0;
	DIR *dir = opendir(one->path);

	for (struct dirent *e; dir && count < MOST_NAMES && (e = readdir(dir));) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    hidden_files_has(hidden, path_join(&a, one->path, e->d_name)))
			continue;
		names[count++] = arena_printf(&a, "%s%s", e->d_name, e->d_type == DT_DIR ? "/" : "");
	}
	qsort(names, count, sizeof *names, by_name);
	for (size_t i = 0; i < count; i++)
		buf_addf(&one->text, "%s\n", names[i]);
	if (count == MOST_NAMES)
		buf_addstr(&one->text, "... and more\n");
	if (dir)
		closedir(dir);
	hidden_files_free(hidden);
	one->done = true;
}

/* Names in other directories are not given away. */
static bool is_ours(const struct cadre_session *s, const char *path)
{
	const char *const *dirs = s->tree.main.env.dirs;

	while (*dirs && !path_is_inside(path, *dirs))
		dirs++;
	return *dirs != NULL;
}

static bool is_known(const struct mentions *m, const char *path)
{
	for (size_t i = 0; i < m->count; i++)
		if (!strcmp(m->list[i].path, path))
			return true;
	return false;
}

static void add(struct mentions *m, const char *path, bool is_dir)
{
	struct mention *one = &m->list[m->count++];

	one->all = m;
	one->path = xstrdup(path);
	if (is_dir)
		list_directory(one);
	else
		start_read(one);
}

static bool can_read(const struct cadre_session *s)
{
	return tool_set_find(&s->tree.main.tools, STR("Read")) != NULL;
}

bool session_read_mentions(struct cadre_session *s)
{
	AUTO_ARENA struct arena a = { 0 };
	struct str text = buf_str(&s->turn.prompt), name;
	size_t first = 0;
	struct stat st;

	if (!next_name(text, &first).p)
		return false;
	turn_announce(s);
	struct mentions *m = xcalloc(1, sizeof *m);
	*m = (struct mentions){ .session = s, .kick = { .step = on_kick } };
	s->turn.mentions = m;
	for (size_t at = 0; can_read(s) && m->count < MOST_MENTIONS && (name = next_name(text, &at)).p;) {
		const char *path = find_file(s, &a, name, &st);
		if (path && !is_known(m, path) && (S_ISREG(st.st_mode) || (S_ISDIR(st.st_mode) && is_ours(s, path))))
			add(m, path, S_ISDIR(st.st_mode));
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
	}
	free(m);
}

/* ---- telling them ------------------------------------------------------------------------------------------------ */

/* left: bytes that all of them may still take */
static void describe(struct buf *out, const struct mention *one, size_t left)
{
	struct str text = one->call ? buf_str(&one->call->result) : buf_str(&one->text);

	buf_addf(out, "<system-reminder>\n");
	if (one->call && one->call->result_blocks.n)
		buf_addf(out, "The prompt names %s, which is no text. Read shows it.", one->path);
	else if (text.n > left)
		buf_addf(out, "The prompt names %s, which is not shown here: there is too much of it. Read it.",
			 one->path);
	else if (one->call && one->call->is_error)
		buf_addf(out, "The prompt names %s, which could not be attached: " STR_FMT, one->path, STR_ARG(text));
	else
		buf_addf(out, "The prompt names %s. %s:\n" STR_FMT, one->path,
			 one->call ? "Read shows this of it" : "It is a directory with", STR_ARG(text));
	buf_addstr(out, "\n</system-reminder>");
}

int session_add_mentions(struct cadre_session *s, struct err *err)
{
	const struct mentions *m = s->turn.mentions;
	struct segment *blocks[MOST_MENTIONS];
	size_t left = MOST_BYTES;

	if (!m)
		return 0;
	for (size_t i = 0; i < m->count; i++) {
		AUTO_BUF struct buf text = { 0 };
		describe(&text, &m->list[i], left);
		left -= MIN(left, text.n);
		blocks[i] = segment_text(buf_str(&text));
	}
	int status = query_add_user(&s->tree.main.query, blocks, m->count, true, err);
	session_drop_mentions(s);
	return status;
}
