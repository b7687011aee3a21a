/* SPDX-License-Identifier: MIT
 * logs.c - `cadre logs`: the transcript of a child, as it is or as it grows. A follower waits for the file to change; it looks
 * at the process only when nothing has changed for a while, because one that was killed changes nothing any more. */
#include "product/command/logs.h"
#include "product/command/report.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include "product/observe/control.h"
#include "product/command/tasks.h"

enum { QUIET_MS = 1000, CHUNK = 65536 };

struct logs {
	int fd;
	struct buf in; /* a line that is not whole yet */
	bool ended;    /* the last line says so */
	bool stopped;  /* whoever listens has had enough */
	cadre_log_fn *fn;
	void *data;
};

static void give_line(struct logs *l, struct str line)
{
	struct cadre_report piece = { 0 };

	buf_add(&piece.json, line.p, line.n);
	logs_line(&piece, line, &l->ended);
	l->stopped = l->fn(&piece, l->data) != 0;
	buf_release(&piece.json);
	free(piece.rows);
	arena_release(&piece.arena);
}

static void give_lines(struct logs *l)
{
	size_t at = 0;

	while (!l->stopped) {
		const char *end = at < l->in.n ? memchr(l->in.p + at, '\n', l->in.n - at) : NULL;
		if (!end)
			break;
		struct str line = { l->in.p + at, (size_t)(end - l->in.p) - at };
		at += line.n + 1;
		if (line.n)
			give_line(l, line);
	}
	buf_drop(&l->in, at);
}

static int read_on(struct logs *l, struct err *err)
{
	for (;;) {
		buf_reserve(&l->in, CHUNK);
		ssize_t n = read(l->fd, l->in.p + l->in.n, CHUNK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(err, ERR_IO, "the transcript cannot be read: %m");
		if (n == 0)
			return 0;
		l->in.n += (size_t)n;
		l->in.p[l->in.n] = '\0';
		give_lines(l);
		if (l->stopped)
			return 0;
	}
}

/* True: it changed, or somebody else ended our wait. */
static bool wait_for_change(int watch)
{
	struct pollfd p = { .fd = watch, .events = POLLIN };
	char events[4096];

	if (poll(&p, 1, QUIET_MS) <= 0)
		return false;
	return read(watch, events, sizeof events) > 0;
}

static bool session_lives(const char *socket)
{
	struct err err = { 0 };
	int fd = control_connect(socket, &err);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int follow(struct logs *l, const char *path, const char *socket, struct err *err)
{
	AUTO_CLOSE int watch = inotify_init1(IN_CLOEXEC);

	if (watch < 0 || inotify_add_watch(watch, path, IN_MODIFY) < 0)
		return err_set(err, ERR_IO, "cannot watch %s: %m", path);
	while (!l->ended && !l->stopped) {
		bool over =
			!session_lives(socket); /* asked before the last look: what it wrote before its end is seen */
		if (read_on(l, err) < 0)
			return -(int)err->kind;
		if (over || l->ended || l->stopped)
			break;
		while (!wait_for_change(watch))
			if (!session_lives(socket))
				break;
	}
	return 0;
}

static int find(struct services *sv, struct task_list *l, const char *agent, struct found_task *ret, struct err *err)
{
	struct task_places places;

	if (task_places(sv, &l->arena, &places, err) < 0 || task_list_add_live(l, err) < 0 ||
	    task_list_add_past(l, places.config_dir, err) < 0)
		return -(int)err->kind;
	task_list_add_forgotten(l, places.project_dir, false);
	if (task_list_find(l, agent, NULL, ret, err) < 0)
		return -(int)err->kind;
	if (!ret->row->transcript[0])
		return err_set(err, ERR_NOT_FOUND, "agent %s keeps no transcript (--no-session-persistence)",
			       ret->row->agent);
	return 0;
}

static int logs(struct services *sv, const char *agent, bool follows, struct logs *l, struct err *err)
{
	AUTO_TASKS struct task_list list = { 0 };
	struct found_task found;

	if (find(sv, &list, agent, &found, err) < 0)
		return -(int)err->kind;
	l->fd = open(found.row->transcript, O_RDONLY | O_CLOEXEC);
	if (l->fd < 0)
		return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "%s: %m", found.row->transcript);
	int status = read_on(l, err);
	if (status == 0 && follows && task_is_running(&found) && !l->stopped)
		status = follow(l, found.row->transcript, found.session->socket, err);
	close(l->fd);
	buf_release(&l->in);
	return status;
}

int cadre_logs(struct cadre *c, const char *agent, int follow_it, cadre_log_fn *fn, void *data, char *why,
	       size_t why_size)
{
	struct services *sv = cadre_services(c);
	struct logs l = { .fn = fn, .data = data };
	struct err err = { 0 };

	if (!sv || !agent || !fn)
		return CADRE_USAGE;
	int status = services_may_block(sv, &err);
	if (status == 0)
		status = logs(sv, agent, follow_it, &l, &err);
	return api_status(status, &err, why, why_size);
}
