/* SPDX-License-Identifier: MIT
 * state.c - the queue between the loop and the thread that writes the state database.
 *
 * The loop's side puts rows into `incoming` and, when the loop turn is over, says so. The thread takes all of them at once,
 * lays them over what an earlier try could not write, and tries to commit. It holds the mutex for moments only. */
#include "core/store/state.h"
#include <pthread.h>
#include <signal.h>
#include "lib/base/id.h"
#include "core/store/state_int.h"

enum { FLUSH_LIMIT_MS = 5000, RETRY_FIRST_MS = 50, RETRY_LAST_MS = 5000 };
#define QUEUE_LIMIT_BYTES ((size_t)64 << 20)
#define NS_PER_MS         UINT64_C(1000000)

struct state {
	struct loop *loop; /* borrowed */
	char *config_dir;
	struct kick kick;
	int64_t pid, pid_start; /* 0 before the first task */
	bool has_thread;
	uv_thread_t thread;

	uv_mutex_t mutex; /* guards what follows */
	uv_cond_t work, answer;
	struct batch incoming;
	size_t held_bytes;   /* of rows that the thread has taken and not written */
	size_t dropped;      /* rows that found no room */
	bool turn_over;      /* incoming is to be written */
	bool stopping;       /* one more try, then the thread ends */
	bool refused;        /* the file is not ours to write */
	bool failing;        /* the latest try failed */
	uint64_t asked;      /* tickets of state_flush() ... */
	uint64_t answered;   /* ... and those whose rows have been tried */
	struct err failure;  /* of the latest try */
	struct err befallen; /* what a later success does not mend; kind 0: nothing */
};

/* Of the thread alone */
struct worker {
	struct state *state;
	struct state_db db;
	struct batch held;
	struct err err;
	uint64_t ticket; /* what the current try covers */
	uint64_t wait_ms;
	bool last;
};

/* ---- the thread ---- */

static bool is_hurried(const struct state *s)
{
	return s->stopping || s->asked != s->answered;
}

static void wait_for_work(struct state *s, uint64_t retry_ms)
{
	uint64_t until = uv_hrtime() + retry_ms * NS_PER_MS;

	while (!is_hurried(s)) {
		uint64_t now = uv_hrtime();
		if (!retry_ms && s->turn_over)
			return;
		if (!retry_ms)
			uv_cond_wait(&s->work, &s->mutex);
		else if (now >= until || uv_cond_timedwait(&s->work, &s->mutex, until - now) < 0)
			return;
	}
}

/* Waits for a reason to write and takes what there is. false: that was the last time. */
static bool take_batch(struct worker *w)
{
	struct state *s = w->state;
	struct batch taken;

	if (w->last)
		return false;
	uv_mutex_lock(&s->mutex);
	wait_for_work(s, w->wait_ms);
	taken = s->incoming;
	s->incoming = (struct batch){ 0 };
	s->held_bytes += taken.bytes;
	s->turn_over = false;
	w->ticket = s->asked;
	w->last = s->stopping;
	uv_mutex_unlock(&s->mutex);
	batch_merge(&w->held, &taken);
	batch_release(&taken);
	return true;
}

static void tell_result(struct worker *w, int rc)
{
	struct state *s = w->state;

	uv_mutex_lock(&s->mutex);
	s->failing = rc < 0;
	if (rc < 0)
		s->failure = w->err;
	if (rc == -ERR_DENIED) {
		s->refused = true;
		s->befallen = w->err;
	} else if (w->db.moved.kind) {
		s->befallen = w->db.moved;
		w->db.moved.kind = 0; /* told */
	}
	s->held_bytes = w->held.bytes;
	s->answered = w->ticket;
	uv_cond_broadcast(&s->answer);
	uv_mutex_unlock(&s->mutex);
}

static void run(void *data)
{
	struct worker w = { .state = data };

	w.db.path = state_db_path(w.state->config_dir);
	while (take_batch(&w)) {
		int rc = state_db_commit(&w.db, &w.held, &w.err);
		if (rc == 0 || rc == -ERR_DENIED) {
			batch_release(&w.held);
			w.wait_ms = 0;
		} else {
			w.wait_ms = w.wait_ms ? MIN(w.wait_ms * 2, (uint64_t)RETRY_LAST_MS) : RETRY_FIRST_MS;
		}
		tell_result(&w, rc);
	}
	batch_release(&w.held);
	state_db_release(&w.db);
}

/* Signals are for the loop's thread and the host's. */
static bool start_thread(struct state *s)
{
	sigset_t all, old;

	if (s->has_thread)
		return true;
	sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	s->has_thread = uv_thread_create(&s->thread, run, s) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return s->has_thread;
}

/* ---- the loop's side ---- */

static void on_turn_over(struct kick *kick)
{
	struct state *s = CONTAINER_OF(kick, struct state, kick);

	(void)start_thread(s); /* if it cannot be made now, the next put tries again */
	uv_mutex_lock(&s->mutex);
	s->turn_over = true;
	uv_cond_signal(&s->work);
	uv_mutex_unlock(&s->mutex);
}

struct state *state_new(struct loop *loop, const char *config_dir)
{
	struct state *s = xcalloc(1, sizeof *s);

	s->loop = loop;
	s->config_dir = xstrdup(config_dir);
	s->kick.step = on_turn_over;
	if (uv_mutex_init(&s->mutex) < 0 || uv_cond_init(&s->work) < 0 || uv_cond_init(&s->answer) < 0)
		base_oom(sizeof *s);
	return s;
}

static void put(struct state *s, enum row_kind_id kind, const void *row)
{
	uv_mutex_lock(&s->mutex);
	bool room = s->incoming.bytes + s->held_bytes < QUEUE_LIMIT_BYTES;
	if (room && !s->refused)
		batch_put(&s->incoming, kind, row);
	else if (!s->refused)
		err_set(&s->befallen, ERR_LIMIT, "cannot write to %s/cadre/state.db for long: %zu rows were dropped",
			s->config_dir, ++s->dropped);
	bool refused = s->refused;
	uv_mutex_unlock(&s->mutex);
	if (!refused)
		loop_kick(s->loop, &s->kick);
}

void state_put_task(struct state *s, const struct task_row *row)
{
	struct task_row copy = *row;

	if (!copy.updated_ms)
		copy.updated_ms = id_wall_ms();
	if (!copy.pid) {
		if (!s->pid) {
			s->pid = getpid();
			s->pid_start = process_start(s->pid);
		}
		copy.pid = s->pid;
		copy.pid_start = s->pid_start;
	}
	put(s, ROW_TASK, &copy);
}

void state_put_notice(struct state *s, const struct notice_row *row)
{
	struct notice_row copy = *row;

	if (!copy.created_ms)
		copy.created_ms = id_wall_ms();
	put(s, ROW_NOTICE, &copy);
}

void state_notice_delivered(struct state *s, const char *id)
{
	put(s, ROW_DELIVERED, &(struct notice_row){ .id = id, .delivered_ms = id_wall_ms() });
}

bool state_flush(struct state *s)
{
	uint64_t until = uv_hrtime() + FLUSH_LIMIT_MS * NS_PER_MS;

	kick_cancel(&s->kick);
	if (!s->has_thread && !s->incoming.rows.count)
		return true; /* nothing was ever put */
	if (!start_thread(s))
		return false;
	uv_mutex_lock(&s->mutex);
	uint64_t ticket = ++s->asked;
	uv_cond_signal(&s->work);
	while (s->answered < ticket) {
		uint64_t now = uv_hrtime();
		if (now >= until || uv_cond_timedwait(&s->answer, &s->mutex, until - now) < 0)
			break;
	}
	bool written = s->answered >= ticket && !s->failing && !s->refused;
	uv_mutex_unlock(&s->mutex);
	return written;
}

int state_error(struct state *s, struct err *err)
{
	uv_mutex_lock(&s->mutex);
	const struct err *why = s->failing ? &s->failure : &s->befallen;
	int rc = why->kind ? err_set(err, why->kind, "%s", why->text) : 0;
	uv_mutex_unlock(&s->mutex);
	return rc;
}

static void stop_thread(struct state *s)
{
	uv_mutex_lock(&s->mutex);
	s->stopping = true;
	uv_cond_signal(&s->work);
	uv_mutex_unlock(&s->mutex);
	uv_thread_join(&s->thread);
}

void state_free(struct state *s)
{
	if (!s)
		return;
	kick_cancel(&s->kick);
	if (s->has_thread || (s->incoming.rows.count && start_thread(s)))
		stop_thread(s);
	batch_release(&s->incoming);
	uv_cond_destroy(&s->answer);
	uv_cond_destroy(&s->work);
	uv_mutex_destroy(&s->mutex);
	free(s->config_dir);
	free(s);
}
