/* SPDX-License-Identifier: MIT
 * state.c - the queue between the loop and the thread that writes the state database.
 *
 * The loop's side puts rows into `incoming` and, when the loop turn is over, signals the thread. The thread takes all of them at
 * once, adds them to the rows that an earlier try could not write, and tries to commit. It holds the mutex for moments only. A
 * put replaces a waiting row of the same agent, so the queue never has more than one row for each agent. */
#include "core/store/state.h"
#include <pthread.h>
#include <signal.h>
#include "lib/base/buf.h"
#include "lib/base/id.h"
#include "lib/io/spawn.h"
#include "core/store/state_int.h"

enum { RETRY_FIRST_MS = 50, RETRY_LAST_MS = 5000 };
#define NS_PER_MS UINT64_C(1000000)

struct state {
	struct loop *loop; /* borrowed */
	char *config_dir;
	struct kick kick;
	struct buf key;         /* scratch */
	int64_t pid, pid_start; /* 0 before the first task */
	bool has_thread;
	uv_thread_t thread;

	uv_mutex_t mutex; /* guards what follows */
	uv_cond_t work;
	struct map incoming; /* session NUL agent NUL -> struct task_row */
	bool turn_over;      /* incoming is to be written */
	bool stopping;       /* one more try, then the thread ends */
	bool refused;        /* the file is not ours to write */

	/* Of the thread, until it is joined */
	struct map held;    /* taken and not yet written */
	struct err failure; /* of the latest try; kind 0: it succeeded */
	struct err moved;   /* kind 0, or: a damaged file was moved aside */
};

static void rows_release(struct map *rows)
{
	for (struct map_entry *e = map_next(rows, NULL); e; e = map_next(rows, e))
		free(e->value);
	map_release(rows);
}

/* Waits for a reason to write (a loop turn is over, the time of the next try, the end) and moves the queue into held.
 * Returns false if this is the last time. */
static bool state_take_rows(struct state *s, uint64_t retry_ms)
{
	uint64_t until = uv_hrtime() + retry_ms * NS_PER_MS;

	uv_mutex_lock(&s->mutex);
	while (!s->stopping && (retry_ms || !s->turn_over)) {
		uint64_t now = uv_hrtime();
		if (!retry_ms)
			uv_cond_wait(&s->work, &s->mutex);
		else if (now >= until || uv_cond_timedwait(&s->work, &s->mutex, until - now) < 0)
			break;
	}
	struct map taken = s->incoming;
	s->incoming = (struct map){ 0 };
	s->turn_over = false;
	bool more = !s->stopping;
	uv_mutex_unlock(&s->mutex);
	if (!s->held.count) {
		map_release(&s->held);
		s->held = taken;
		return more;
	}
	for (struct map_entry *e = map_next(&taken, NULL); e; e = map_next(&taken, e))
		free(map_set(&s->held, (struct str){ e->key, e->key_len }, e->value));
	map_release(&taken);
	return more;
}

static void state_write_rows(void *data)
{
	struct state *s = data;
	struct state_db db = { .path = state_db_path(s->config_dir) };
	uint64_t retry_ms = 0;

	for (bool more = true; more;) {
		more = state_take_rows(s, retry_ms);
		s->failure.kind = 0;
		int rc = state_db_commit(&db, &s->held, &s->failure);
		if (rc == -ERR_DENIED || rc == -ERR_NOT_FOUND) {
			uv_mutex_lock(&s->mutex);
			s->refused = true;
			uv_mutex_unlock(&s->mutex);
			rows_release(&s->held);
			break;
		}
		if (rc == 0)
			rows_release(&s->held);
		retry_ms = rc == 0 ? 0 : retry_ms ? MIN(retry_ms * 2, (uint64_t)RETRY_LAST_MS) : RETRY_FIRST_MS;
	}
	s->moved = db.moved;
	state_db_release(&db);
}

/* Signals must reach the loop's thread and the host's only. */
static bool state_start_thread(struct state *s)
{
	sigset_t all, old;

	if (s->has_thread)
		return true;
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	s->has_thread = uv_thread_create(&s->thread, state_write_rows, s) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return s->has_thread;
}

static void on_turn_over(struct kick *kick)
{
	struct state *s = CONTAINER_OF(kick, struct state, kick);

	(void)state_start_thread(s); /* if it cannot be made now, the next put tries again */
	uv_mutex_lock(&s->mutex);
	s->turn_over = true;
	uv_cond_signal(&s->work);
	uv_mutex_unlock(&s->mutex);
}

struct state *state_new(struct loop *loop, const char *config_dir)
{
	struct state *s =
		xnew(struct state, .loop = loop, .config_dir = xstrdup(config_dir), .kick.step = on_turn_over);

	if (uv_mutex_init(&s->mutex) < 0 || uv_cond_init(&s->work) < 0)
		base_oom(sizeof *s);
	return s;
}

void state_put_task(struct state *s, const struct task_row *row)
{
	struct task_row *copy = task_row_copy(row);

	if (!copy->updated_ms)
		copy->updated_ms = id_wall_ms();
	if (!copy->pid) {
		if (!s->pid) {
			s->pid = getpid();
			s->pid_start = process_start(s->pid);
		}
		copy->pid = s->pid;
		copy->pid_start = s->pid_start;
	}
	buf_clear(&s->key); /* each text with its NUL: "a" "bc" is not "ab" "c" */
	buf_add(&s->key, copy->session, strlen(copy->session) + 1);
	buf_add(&s->key, copy->agent, strlen(copy->agent) + 1);
	uv_mutex_lock(&s->mutex);
	bool refused = s->refused;
	free(refused ? copy : map_set(&s->incoming, buf_str(&s->key), copy));
	uv_mutex_unlock(&s->mutex);
	if (!refused)
		loop_kick(s->loop, &s->kick);
}

int state_close(struct state *s, struct err *err)
{
	int rc = 0;

	if (!s)
		return 0;
	kick_cancel(&s->kick);
	if (s->has_thread || (s->incoming.count && state_start_thread(s))) {
		uv_mutex_lock(&s->mutex);
		s->stopping = true;
		uv_cond_signal(&s->work);
		uv_mutex_unlock(&s->mutex);
		uv_thread_join(&s->thread);
	}
	const struct err *why = s->failure.kind ? &s->failure : &s->moved;
	if (why->kind)
		rc = err_set(err, why->kind, "%s", why->text);
	rows_release(&s->held);
	rows_release(&s->incoming);
	uv_cond_destroy(&s->work);
	uv_mutex_destroy(&s->mutex);
	buf_release(&s->key);
	free(s->config_dir);
	free(s);
	return rc;
}
