/* SPDX-License-Identifier: MIT
 * file_watch.c - FileChanged: the files that hooks name in their matchers, below the working directory, and those that a hook
 * names in watchPaths. They are polled twice a second while a turn runs, which works on every file system, survives editors that
 * replace files, and costs one stat per file. */
#include <sys/stat.h>
#include "product/session/session_int.h"
#include "lib/io/file.h"
#include "lib/json/json.h"

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

static void watched_read(struct watched *w)
{
	struct stat st;

	w->there = stat(w->path, &st) == 0;
	w->changed = w->there ? st.st_mtim : (struct timespec){ 0 };
	w->size = w->there ? st.st_size : 0;
}

static void watch_file(struct file_watch *f, const char *path)
{
	for (size_t i = 0; i < f->count; i++)
		if (!strcmp(f->list[i].path, path))
			return;
	if (f->count == MOST_FILES)
		return;
	f->list = xrealloc(f->list, (f->count + 1) * sizeof *f->list);
	f->list[f->count] = (struct watched){ .path = xstrdup(path) };
	watched_read(&f->list[f->count++]);
}

static void on_timer(struct timer *timer)
{
	struct file_watch *f = CONTAINER_OF(timer, struct file_watch, timer);

	for (size_t i = 0; i < f->count; i++) {
		struct watched before = f->list[i], *now = &f->list[i];
		watched_read(now);
		bool same = before.there == now->there && before.size == now->size &&
			    before.changed.tv_sec == now->changed.tv_sec &&
			    before.changed.tv_nsec == now->changed.tv_nsec;
		if (same)
			continue;
		const char *event = before.there && now->there ? "change" : now->there ? "add" : "unlink";
		const struct hook_input fields[] = { { "file_path", str_from(now->path), FIELD_TEXT },
						     { "event", str_from(event), FIELD_TEXT },
						     { 0 } };
		(void)session_run_hooks(f->session, HOOK_FILE_CHANGED, strrchr(now->path, '/') + 1, fields, NULL, NULL);
	}
	if (turn_is_running(&f->session->turn))
		timer_start(f->session->services->loop, &f->timer, LOOK_MS);
}

/* ---- of a session ------------------------------------------------------------------------------------------------ */

void session_watch_files(struct cadre_session *s)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct hook_set *set = s->tree.services->policy.hooks;

	if (!set || !set->events[HOOK_FILE_CHANGED])
		return;
	if (!s->files) {
		s->files = xcalloc(1, sizeof *s->files);
		*s->files = (struct file_watch){ .session = s, .timer = { .fire = on_timer } };
	}
	for (const struct hook *h = set->events[HOOK_FILE_CHANGED]; h; h = h->next) {
		for (struct str names = h->matcher->text; names.p;) {
			struct str name = str_trim(str_cut(&names, '|'));
			if (name.n && !str_is(name, "*"))
				watch_file(s->files, path_absolute(&a, s->tree.main.cwd, name));
		}
	}
	if (!timer_running(&s->files->timer))
		timer_start(s->services->loop, &s->files->timer, LOOK_MS);
}

void session_watch_more(struct agent_tree *t, const struct hook_outcome *outcome)
{
	struct cadre_session *s = t->data;
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	struct str json = outcome->fields[HOOK_WATCH_PATHS];
	const struct json *list;

	if (!json.n || !s->files || json_parse(&reader, json.p, json.n, &list, NULL) < 0)
		return;
	for (const struct json *v = json_first(list); v; v = json_next(list, v)) {
		const char *path = json_cstr(v, &a);
		if (path && path[0] == '/')
			watch_file(s->files, path);
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
