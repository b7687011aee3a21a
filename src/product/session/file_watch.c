/* SPDX-License-Identifier: MIT
 * file_watch.c - FileChanged: the files that hooks name in their matchers, below the working directory, and those that a hook
 * asks for by watchPaths. They are looked at twice a second while a turn runs, which works on every file system, survives
 * editors that replace files, and costs a stat each. */
#include <sys/stat.h>
#include "product/session/session_int.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "agents/agent/hooks.h"

enum { LOOK_MS = 500, MOST_FILES = 256 };

struct watched {
	char *path;
	bool there;
	struct timespec changed;
	off_t size;
};

struct file_watch {
	struct cadre_session *session;
	struct timer timer;
	struct watched *list;
	size_t count;
};

static void look(struct watched *w)
{
	struct stat st;

	w->there = stat(w->path, &st) == 0;
	w->changed = w->there ? st.st_mtim : (struct timespec){ 0 };
	w->size = w->there ? st.st_size : 0;
}

static void add(struct file_watch *f, const char *path)
{
	for (size_t i = 0; i < f->count; i++)
		if (!strcmp(f->list[i].path, path))
			return;
	if (f->count == MOST_FILES)
		return;
	f->list = xrealloc(f->list, (f->count + 1) * sizeof *f->list);
	f->list[f->count] = (struct watched){ .path = xstrdup(path) };
	look(&f->list[f->count++]);
}

static void add_named(struct file_watch *f, struct str names)
{
	AUTO_ARENA struct arena a = { 0 };

	while (names.p) {
		struct str name = str_trim(str_cut(&names, '|'));
		if (name.n && !str_is(name, "*"))
			add(f, path_absolute(&a, f->session->tree.main.cwd, name));
	}
}

/* ---- what has happened ------------------------------------------------------------------------------------------- */

static const char *event_of(const struct watched *before, const struct watched *now)
{
	if (before->there != now->there)
		return now->there ? "add" : "unlink";
	bool same = before->size == now->size && before->changed.tv_sec == now->changed.tv_sec &&
		    before->changed.tv_nsec == now->changed.tv_nsec;
	return same ? NULL : "change";
}

static void tell(struct file_watch *f, const char *path, const char *event)
{
	struct agent *a = &f->session->tree.main;
	const char *name = strrchr(path, '/');
	struct hook_fire_spec spec = { .event = HOOK_FILE_CHANGED, .subject = str_from(name ? name + 1 : path) };
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	if (!agent_has_hooks(a, &spec))
		return;
	json_open(&w, '{');
	json_kcstr(&w, "file_path", path);
	json_kcstr(&w, "event", event);
	json_close(&w);
	spec.fields = buf_str(&fields);
	agent_notify_hooks(a, &spec);
}

static void on_timer(struct timer *timer)
{
	struct file_watch *f = CONTAINER_OF(timer, struct file_watch, timer);

	for (size_t i = 0; i < f->count; i++) {
		struct watched before = f->list[i];
		look(&f->list[i]);
		const char *event = event_of(&before, &f->list[i]);
		if (event)
			tell(f, f->list[i].path, event);
	}
	if (turn_is_running(&f->session->turn))
		timer_start(f->session->services->loop, &f->timer, LOOK_MS);
}

/* ---- of a session ------------------------------------------------------------------------------------------------ */

void session_watch_files(struct cadre_session *s)
{
	const struct hook_set *set = s->tree.services->policy.hooks;

	if (!set || !set->events[HOOK_FILE_CHANGED])
		return;
	if (!s->files) {
		s->files = xcalloc(1, sizeof *s->files);
		*s->files = (struct file_watch){ .session = s, .timer = { .fire = on_timer } };
	}
	for (const struct hook *h = set->events[HOOK_FILE_CHANGED]; h; h = h->next)
		add_named(s->files, h->matcher->text);
	if (!timer_running(&s->files->timer))
		timer_start(s->services->loop, &s->files->timer, LOOK_MS);
}

void session_watch_more(struct cadre_session *s, const struct hook_outcome *outcome)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	struct str json = outcome->fields[HOOK_WATCH_PATHS];
	const struct json *list;

	if (!json.n || !s->files || json_parse(&reader, json.p, json.n, &list, NULL) < 0)
		return;
	for (const struct json *v = json_first(list); v; v = json_next(list, v)) {
		const char *path = json_cstr(v, &a);
		if (path && path[0] == '/')
			add(s->files, path);
	}
}

void session_unwatch_files(struct cadre_session *s)
{
	struct file_watch *f = TAKE(s->files);

	if (!f)
		return;
	timer_stop(s->services->loop, &f->timer);
	for (size_t i = 0; i < f->count; i++)
		free(f->list[i].path);
	free(f->list);
	free(f);
}
