/* SPDX-License-Identifier: MIT
 * spawner.c - state shared by all children: the keeper, the subreaper, groups that outlive their leader, orphans, abandoned
 * pipes. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "lib/base/id.h"
#include "lib/base/list.h"
#include "lib/io/file.h"
#include "lib/io/spawn_int.h"

enum {
	ADOPT_EVERY_MS = 500,
	PRUNE_GROUPS = 64,      /* of one look */
	END_PATIENCE_MS = 1000, /* for processes that got SIGKILL; the kernel may hold one longer */
	END_STEP_MS = 5,
};

struct spawner *spawner_new(struct loop *loop)
{
	struct spawner *s = xnew(struct spawner, .loop = loop, .keeper.fd = -1);

	id_random(s->id, SPAWN_ID_LEN, "0123456789abcdef");
	return s;
}

void spawner_set_confiner(struct spawner *s, const struct confiner *confiner)
{
	s->confiner = *confiner;
}

size_t spawner_active(const struct spawner *s)
{
	return s->active;
}

void spawner_limit(struct spawner *s, bool no_keeper, bool no_subreaper)
{
	s->no_keeper = no_keeper;
	s->no_subreaper = no_subreaper;
}

/* How many spawners need the attribute of the process. It is the kernel that has one for all of them. */
static atomic_uint subreapers;

int spawner_prepare(struct spawner *s, struct err *err)
{
	int was = 0;

	if (s->prepared)
		return 0;
	int rc = s->no_keeper ? 0 : keeper_start(&s->keeper, s->id, err);
	if (rc < 0)
		return rc;
	if (!s->no_subreaper && prctl(PR_GET_CHILD_SUBREAPER, &was) == 0) {
		bool of_host = was && !atomic_load(&subreapers); /* the host is one itself, and stays one */
		s->set_subreaper = !of_host && (was || prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
		atomic_fetch_add(&subreapers, s->set_subreaper);
	}
	s->scratch = xmalloc(CHILD_READ_BYTES);
	s->prepared = true;
	return 0;
}

int spawner_new_keeper(struct spawner *s, struct err *err)
{
	keeper_stop(&s->keeper, false);
	int rc = keeper_start(&s->keeper, s->id, err);
	if (rc < 0)
		return rc;
	bool told = keeper_send(&s->keeper, s->left.pids, s->left.count);
	for (const struct child *c = s->children; c && told; c = c->next)
		told = c->exited || keeper_send(&s->keeper, &c->pid, 1);
	for (size_t i = 0; i < s->path_count && told; i++)
		told = keeper_send_path(&s->keeper, KEEPER_PATH, s->paths[i]);
	return told ? 0 : err_set(err, ERR_IO, "the keeper process does not answer: %m");
}

int spawner_keep_path(struct spawner *s, const char *path, struct err *err)
{
	int rc = s->no_keeper ? 0 : spawner_prepare(s, err);

	if (rc < 0 || s->no_keeper)
		return rc;
	s->paths = xrealloc(s->paths, (s->path_count + 1) * sizeof *s->paths);
	s->paths[s->path_count++] = xstrdup(path);
	return keeper_send_path(&s->keeper, KEEPER_PATH, path) ? 0 : spawner_new_keeper(s, err);
}

void spawner_forget_path(struct spawner *s, const char *path)
{
	for (size_t i = 0; i < s->path_count; i++)
		if (!strcmp(s->paths[i], path)) {
			(void)keeper_send_path(&s->keeper, KEEPER_NO_PATH, path);
			free(s->paths[i]);
			s->paths[i] = s->paths[--s->path_count];
			return;
		}
}

int spawner_keep_terminal(struct spawner *s, const struct termios *modes, const char *reset, struct err *err)
{
	struct keeper_terminal t = { .modes = *modes, .reset = reset };

	if (s->no_keeper)
		return 0;
	if (ttyname_r(STDIN_FILENO, t.path, sizeof t.path) != 0)
		return err_set(err, ERR_IO, "standard input is not a terminal whose state can be restored");
	s->keeper.terminal = t;
	return s->prepared ? spawner_new_keeper(s, err) : spawner_prepare(s, err);
}

static void forget_group(struct spawner *s, pid_t pgid)
{
	pid_list_remove(&s->left, pgid);
	(void)keeper_send(&s->keeper, &(int32_t){ -pgid }, 1); /* a dead keeper is replaced at the next start */
}

static int compare_pids(const void *a, const void *b)
{
	pid_t x = *(const pid_t *)a;
	pid_t y = *(const pid_t *)b;

	return (x > y) - (x < y);
}

/* Children of ours that we did not start ourselves, that carry our mark and belong to no group that we know.
 * They must be found while they live: a zombie has no environment, and a host's own children must stay the
 * host's to wait for. */
static void adopt_orphans(struct spawner *s)
{
	struct pid_list children = { 0 };
	AUTO_FREE pid_t *leaders = xmalloc(s->active * sizeof *leaders); /* sorted */
	size_t n = 0;

	for (const struct child *c = s->children; c; c = c->next)
		leaders[n++] = c->pid;
	qsort(leaders, n, sizeof *leaders, compare_pids);
	s->adopted_ms = loop_now_ms(s->loop);
	(void)orphan_children(&children);
	for (size_t i = 0; i < children.count; i++) {
		pid_t pid = children.pids[i];
		pid_t pgid = getpgid(pid);
		bool known = pid == s->keeper.pid || pid_list_has(&s->adopted, pid) || pid_list_has(&s->left, pgid) ||
			     bsearch(&pgid, leaders, s->active, sizeof *leaders, compare_pids);
		if (!known && orphan_is_marked(pid, s->id))
			(void)pid_list_add(&s->adopted, pid);
	}
	pid_list_release(&children);
}

/* Whether the group is forgotten. */
static bool prune_group(struct spawner *s, pid_t pgid)
{
	while (waitpid(-pgid, NULL, WNOHANG) > 0)
		;
	if (kill(-pgid, 0) == 0 || errno != ESRCH)
		return false;
	forget_group(s, pgid);
	return true;
}

static void prune_groups(struct spawner *s, size_t most)
{
	for (size_t n = MIN(most, s->left.count); n--;)
		if (!prune_group(s, s->left.pids[s->prune_at % s->left.count]))
			s->prune_at++;
	for (size_t i = s->adopted.count; i--;) {
		pid_t pid = s->adopted.pids[i];
		if (waitpid(pid, NULL, WNOHANG) != 0)
			pid_list_remove(&s->adopted, pid);
	}
}

/* In turn, a few at each start and end: a thousand servers left running would cost two thousand calls each time. */
void spawner_prune(struct spawner *s)
{
	prune_groups(s, PRUNE_GROUPS);
}

void spawner_group_over(struct spawner *s, pid_t pgid)
{
	if ((kill(-pgid, 0) < 0 && errno == ESRCH) || !pid_list_add(&s->left, pgid))
		forget_group(s, pgid);
	if (loop_now_ms(s->loop) >= s->adopted_ms + ADOPT_EVERY_MS || !s->adopted_ms)
		adopt_orphans(s);
	spawner_prune(s);
}

bool spawner_group_left(struct spawner *s, pid_t pgid)
{
	return pid_list_has(&s->left, pgid) && !prune_group(s, pgid);
}

void spawner_kill_group(struct spawner *s, pid_t pgid)
{
	if (spawner_group_left(s, pgid))
		(void)kill(-pgid, SIGKILL);
}

/* Again until none is found: the children of an orphan become ours only when it is gone. */
void spawner_reap_orphans(struct spawner *s)
{
	for (int ms = 0; ms < END_PATIENCE_MS; ms += END_STEP_MS) {
		prune_groups(s, SIZE_MAX);
		adopt_orphans(s);
		if (!s->left.count && !s->adopted.count)
			return;
		for (size_t i = 0; i < s->left.count; i++)
			(void)kill(-s->left.pids[i], SIGKILL);
		for (size_t i = 0; i < s->adopted.count; i++)
			(void)kill(s->adopted.pids[i], SIGKILL);
		(void)poll(NULL, 0, END_STEP_MS);
	}
}

static void end_descendants(struct spawner *s)
{
	struct pid_list children = { 0 };
	struct pid_list killed = { 0 };

	spawner_reap_orphans(s);
	/* Nearly always only the keeper (and processes of the host) is left: then /proc need not be read whole. */
	bool known = orphan_children(&children);
	bool others = children.count > (pid_list_has(&children, s->keeper.pid) ? 1 : 0);
	pid_list_release(&children);
	if (known && !others)
		return;
	orphan_kill_marked(s->id, &killed);
	/* A process that is not our child yet becomes one when its parent, killed too, is gone: hence kill(pid, 0). */
	for (int ms = 0; killed.count && ms < END_PATIENCE_MS; ms += END_STEP_MS) {
		for (size_t i = killed.count; i--;)
			if (waitpid(killed.pids[i], NULL, WNOHANG) > 0 || kill(killed.pids[i], 0) < 0)
				pid_list_remove(&killed, killed.pids[i]);
		(void)poll(NULL, 0, killed.count ? END_STEP_MS : 0);
	}
	pid_list_release(&killed);
}

static void drain_close(struct drain *d)
{
	list_remove(d);
	uv_close((uv_handle_t *)&d->poll, loop_free_handle);
	close(d->fd);
}

static void on_drain(uv_poll_t *poll, int status, int events)
{
	struct drain *d = poll->data;
	ssize_t n = read(d->fd, d->spawner->scratch, CHILD_READ_BYTES);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		drain_close(d);
}

void spawner_drain(struct spawner *s, int fd)
{
	struct drain *d = xcalloc(1, sizeof *d);

	if (uv_poll_init(loop_uv(s->loop), &d->poll, fd) < 0) {
		close(fd);
		free(d);
		return;
	}
	d->poll.data = d;
	d->spawner = s;
	d->fd = fd;
	list_push(&s->drains, d);
	(void)uv_poll_start(&d->poll, UV_READABLE, on_drain);
	uv_unref((uv_handle_t *)&d->poll); /* an orphan's pipe must not keep the loop alive */
}

void spawner_check_exits(struct spawner *s)
{
	for (struct child *c = s->children, *next; c; c = next) {
		next = c->next;
		child_check_exit(c);
	}
}

static void on_sigchld(uv_signal_t *handle, int signum)
{
	spawner_check_exits(handle->data);
}

int spawner_use_sigchld(struct spawner *s, struct err *err)
{
	int rc = 0;

	if (!s->sigchld) {
		AUTO_FREE uv_signal_t *handle = xcalloc(1, sizeof *handle);
		rc = uv_signal_init(loop_uv(s->loop), handle);
		handle->data = s;
		s->sigchld = rc < 0 ? NULL : TAKE(handle);
	}
	if (rc == 0 && !s->sigchld_users)
		rc = uv_signal_start(s->sigchld, on_sigchld, SIGCHLD);
	if (rc < 0)
		return err_set(err, ERR_IO, "cannot watch for SIGCHLD: %s", uv_strerror(rc));
	s->sigchld_users++;
	(void)raise(SIGCHLD); /* a child that ended before this is seen too */
	return 0;
}

void spawner_free(struct spawner *s)
{
	if (!s)
		return;
	assert(!s->active);
	if (s->prepared)
		end_descendants(s);
	while (s->drains)
		drain_close(s->drains);
	if (s->sigchld)
		uv_close((uv_handle_t *)s->sigchld, loop_free_handle);
	keeper_stop(&s->keeper, true);
	if (s->set_subreaper && atomic_fetch_sub(&subreapers, 1) == 1)
		(void)prctl(PR_SET_CHILD_SUBREAPER, 0);
	pid_list_release(&s->left);
	pid_list_release(&s->adopted);
	for (size_t i = 0; i < s->path_count; i++)
		free(s->paths[i]);
	free(s->paths);
	free(s->scratch);
	free(s);
}

/* The second field of the file is the program's name in parentheses, with any bytes in it: count from its end. */
int64_t process_start(int64_t pid)
{
	enum { STAT_LIMIT = 4096, FIRST_FIELD = 3, START_FIELD = 22 };
	AUTO_BUF struct buf text = { 0 };
	char path[64];
	int64_t ticks = 0;

	snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
	if (file_read(path, STAT_LIMIT, &text, NULL) < 0)
		return 0;
	const char *name_end = strrchr(text.p, ')');
	if (!name_end)
		return 0;
	struct str rest = str_trim(str_from(name_end + 1)), field = { 0 };
	for (int i = FIRST_FIELD; i <= START_FIELD && rest.p; i++)
		field = str_cut(&rest, ' ');
	return str_to_i64(field, &ticks) ? ticks : 0;
}
