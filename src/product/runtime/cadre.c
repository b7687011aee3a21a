/* SPDX-License-Identifier: MIT
 * cadre.c - the runtime: loop, registries, options. */
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include "product/runtime/runtime.h"
#include "product/session/server_pool.h"
#include "product/observe/observe.h"
#include "tools/web/web.h"
#include "agents/agent/classifier.h"
#include "lib/base/list.h"
#include "lib/io/http.h"
#include "lib/io/writer.h"

/* Descriptors and signals watched for a face.
 * 
 * libuv makes a polled descriptor non-blocking, and a terminal shares that flag with all processes that have it open.
 * So an epoll instance holds the descriptor, and libuv polls that one. */

struct watch {
	struct cadre *cadre;
	struct watch *next;
	int number;   /* descriptor or signal */
	int epoll_fd; /* -1 for a signal */
	bool is_signal, keep;
	cadre_watch_fn *fn;
	void *data;
	union {
		uv_poll_t poll;
		uv_signal_t signal;
		uv_handle_t handle;
	};
};

static void on_poll(uv_poll_t *handle, int status, int events)
{
	struct watch *w = handle->data;

	w->fn(w->cadre, w->number, w->data);
}

static void on_signal(uv_signal_t *handle, int number)
{
	struct watch *w = handle->data;

	w->fn(w->cadre, number, w->data);
}

static void on_closed(uv_handle_t *handle)
{
	struct watch *w = handle->data;

	if (w->epoll_fd >= 0)
		close(w->epoll_fd);
	free(w);
}

static void end_watch(struct watch *w)
{
	list_drop(&w->cadre->watches, w);
	if (w->keep)
		services_busy(&w->cadre->services, -1);
	uv_close(&w->handle, on_closed);
}

static void watch_remove(struct cadre *c, int number, bool is_signal)
{
	for (struct watch *w = c->watches; w; w = w->next) {
		if (w->number != number || w->is_signal != is_signal)
			continue;
		end_watch(w);
		return;
	}
}

static struct watch *watch_new(struct cadre *c, int number, bool is_signal, cadre_watch_fn *fn, void *data)
{
	return xnew(struct watch, .cadre = c, .number = number, .epoll_fd = -1, .is_signal = is_signal, .fn = fn,
		    .data = data);
}

int cadre_watch_fd(struct cadre *c, int fd, int keep, cadre_watch_fn *fn, void *data)
{
	struct epoll_event wanted = { .events = EPOLLIN };

	if (!c || !fn)
		return CADRE_USAGE;
	struct watch *w = watch_new(c, fd, false, fn, data);
	w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	/* A regular file is always readable, and epoll refuses it. */
	if (w->epoll_fd < 0 || epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, fd, &wanted) < 0 ||
	    uv_poll_init(loop_uv(c->services.loop), &w->poll, w->epoll_fd) < 0) {
		if (w->epoll_fd >= 0)
			close(w->epoll_fd);
		free(w);
		return CADRE_IO;
	}
	w->keep = keep;
	if (keep)
		services_busy(&c->services, 1);
	w->handle.data = w;
	w->next = c->watches;
	c->watches = w;
	uv_poll_start(&w->poll, UV_READABLE, on_poll);
	return CADRE_OK;
}

int cadre_keep_terminal(struct cadre *c, const void *modes, const char *reset, char *why, size_t why_size)
{
	struct err err = { 0 };

	if (!c || !modes || !reset)
		return CADRE_USAGE;
	return api_status(spawner_keep_terminal(c->services.spawner, modes, reset, &err), &err, why, why_size);
}

void cadre_unwatch_fd(struct cadre *c, int fd)
{
	if (c)
		watch_remove(c, fd, false);
}

int cadre_watch_signal(struct cadre *c, int signal, cadre_watch_fn *fn, void *data)
{
	if (!c)
		return CADRE_USAGE;
	watch_remove(c, signal, true);
	if (!fn)
		return CADRE_OK;
	struct watch *w = watch_new(c, signal, true, fn, data);
	uv_signal_init(loop_uv(c->services.loop), &w->signal);
	w->handle.data = w;
	w->next = c->watches;
	c->watches = w;
	if (uv_signal_start(&w->signal, on_signal, signal) < 0) {
		end_watch(w);
		return CADRE_IO;
	}
	uv_unref(&w->handle);
	return CADRE_OK;
}

/* Writers for faces, and what happens when their readers are slow: above 8 MB nothing new is asked for. */

enum { BACKLOG_LIMIT = 8 << 20 };

struct cadre_writer {
	struct cadre *cadre;
	struct cadre_writer *next;
	struct writer *writer;
	cadre_failure_fn *on_failure, *on_drained; /* may be NULL */
	void *data, *drained_data;
};

void services_check_backlog(struct services *sv)
{
	struct cadre *c = sv->owner;
	bool behind = false;

	for (struct cadre_writer *w = c->writers; w; w = w->next)
		behind = behind || writer_queued(w->writer) > BACKLOG_LIMIT;
	if (behind == sv->paused)
		return;
	sv->paused = behind;
	for (struct cadre_session *s = sv->sessions; s; s = s->next)
		agent_tree_pause(&s->tree, behind);
}

static void on_drained(struct writer *writer, void *data)
{
	struct cadre_writer *w = data;

	services_check_backlog(&w->cadre->services);
	if (w->on_drained)
		w->on_drained(w, w->drained_data);
}

static void on_failed(struct writer *writer, void *data)
{
	struct cadre_writer *w = data;

	on_drained(writer, data); /* what was queued is gone */
	if (w->on_failure)
		w->on_failure(w, w->data);
}

struct cadre_writer *cadre_writer_new(struct cadre *c, int fd)
{
	if (!c)
		return NULL;
	struct cadre_writer *w = xcalloc(1, sizeof *w);
	w->cadre = c;
	w->writer = writer_new(c->services.loop, fd, on_drained, on_failed, w);
	w->next = c->writers;
	c->writers = w;
	return w;
}

void cadre_write(struct cadre_writer *w, const void *p, size_t n)
{
	if (!w)
		return;
	writer_add(w->writer, p, n);
}

size_t cadre_writer_queued(const struct cadre_writer *w)
{
	return w ? writer_queued(w->writer) : 0;
}

void cadre_writer_on_failure(struct cadre_writer *w, cadre_failure_fn *fn, void *data)
{
	if (!w)
		return;
	w->on_failure = fn;
	w->data = data;
}

void cadre_writer_on_drained(struct cadre_writer *w, cadre_failure_fn *fn, void *data)
{
	if (!w)
		return;
	w->on_drained = fn;
	w->drained_data = data;
}

int cadre_writer_flush(struct cadre_writer *w, unsigned timeout_ms, char *why, size_t why_size)
{
	struct err err = { 0 };

	if (!w)
		return CADRE_USAGE;
	bool flushed = writer_flush(w->writer, timeout_ms);
	services_check_backlog(&w->cadre->services);
	if (flushed)
		return CADRE_OK;
	const char *reason = writer_error(w->writer);
	return api_status(err_set(&err, ERR_IO, "%s", reason ? reason : "the reader is too slow"), &err, why, why_size);
}

void cadre_writer_free(struct cadre_writer *w)
{
	if (!w)
		return;
	list_drop(&w->cadre->writers, w);
	writer_free(w->writer);
	free(w);
}

enum { FEWEST_DESCRIPTORS = 16 };

const char *cadre_version(void)
{
	return CADRE_VERSION;
}

static size_t descriptor_limit(bool raise)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 1024;
	if (raise && limit.rlim_cur < limit.rlim_max) {
		struct rlimit wide = { limit.rlim_max, limit.rlim_max };
		if (setrlimit(RLIMIT_NOFILE, &wide) == 0)
			limit = wide;
	}
	return (size_t)MIN(limit.rlim_cur, (rlim_t)1 << 20);
}

/* libuv aborts where it lacks descriptors, so there must be enough before it begins. */
static int check_descriptors(struct err *err)
{
	int fds[FEWEST_DESCRIPTORS];
	int n = 0;

	while (n < FEWEST_DESCRIPTORS &&
	       (fds[n] = n ? fcntl(fds[0], F_DUPFD_CLOEXEC, 0) : open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		n++;
	if (n < FEWEST_DESCRIPTORS)
		err_set(err, ERR_IO, "only %d more files can be opened, at least %d are needed (ulimit -n): %m", n,
			FEWEST_DESCRIPTORS);
	for (int i = 0; i < n; i++)
		close(fds[i]);
	return n < FEWEST_DESCRIPTORS ? -ERR_IO : 0;
}

struct cadre *cadre_new(char *why, size_t why_size)
{
	struct err err = { 0 };

	if (check_descriptors(&err) < 0) {
		api_status(-ERR_IO, &err, why, why_size);
		return NULL;
	}
	struct cadre *c = xcalloc(1, sizeof *c);
	c->services.owner = c;
	c->services.loop = loop_new(0);
	c->services.changes.loop = c->services.loop;
	c->services.descriptor_limit = descriptor_limit(false);
	c->services.spawner = spawner_new(c->services.loop);
	return c;
}

void cadre_free(struct cadre *c)
{
	if (!c)
		return;
	struct services *sv = &c->services;
	while (c->watches)
		end_watch(c->watches);
	for (struct cadre_session *s = sv->sessions, *next; s; s = next) {
		next = s->next;
		cadre_close(s);
	}
	while (sv->sessions)
		cadre_run(c);
	store_finish(&sv->store);
	while (c->writers)
		cadre_writer_free(c->writers);
	services_close_servers(sv);
	change_queue_drain(&sv->changes); /* tokens of the servers, too */
	classifier_free(sv->classifier);
	services_close_hooks(sv); /* some of them ask the model */
	web_free(sv->web);
	if (sv->worktrees) {
		sv->draining++;
		worktree_pool_drain(sv->worktrees, services_drained, sv);
		while (sv->draining)
			loop_run(sv->loop);
		worktree_pool_free(sv->worktrees);
	}
	endpoints_close(&sv->endpoints);
	while (spawner_active(sv->spawner)) /* background shells of the sessions: killed, not gone yet */
		loop_run(sv->loop);
	spawner_free(sv->spawner);
	catalog_free(sv->registry);
	catalog_free(sv->skills);
	policy_release(&sv->policy); /* the others went with their sessions */
	services_free_variables(sv);
	plugin_list_unref(sv->plugins);
	map_release(&sv->sessions_by_id);
	head_pool_release(&sv->heads);
	for (struct observer *o = sv->observers, *next; o; o = next) {
		next = o->next;
		o->free(o);
	}
	lock_table_release(&sv->locks);
	if (sv->store.config_dir)
		store_release(&sv->store);
	loop_run(sv->loop); /* lets closing handles close */
	loop_free(sv->loop);
	if (c->prepares_tls)
		uv_thread_join(&c->tls_thread);
	arena_release(&sv->options.arena);
	free(c);
}

int cadre_set(struct cadre *c, const char *option, const char *value, char *why, size_t why_size)
{
	struct err err = { 0 };

	if (!c || !option)
		return CADRE_USAGE;
	struct options *o = &c->services.options;
	bool raised = o->raise_descriptors;
	int status = options_set(o, option, value, &err);
	spawner_limit(c->services.spawner, o->no_keeper, o->no_subreaper);
	if (o->raise_descriptors && !raised)
		c->services.descriptor_limit = descriptor_limit(true);
	bool open = c->services.observers && value && status == 0; /* what is observed from now on */
	if (open && !strcmp(option, "trace"))
		status = trace_observe(&c->services, &err);
	else if (open && !strcmp(option, "debug-file"))
		status = debug_observe(&c->services, &err);
	return api_status(status, &err, why, why_size);
}

struct services *cadre_services(struct cadre *c)
{
	return c ? &c->services : NULL;
}

/* A stop before the loop runs ends its first iteration only: busy decides, not the loop. */
void cadre_run(struct cadre *c)
{
	if (!c)
		return;
	c->stopped = false;
	while (c->services.busy && !c->stopped) {
		loop_run(c->services.loop);
		if (!uv_loop_alive(loop_uv(c->services.loop)))
			break;
	}
}

int cadre_open(struct cadre *c, cadre_event_fn *on_event, void *data, struct cadre_session **ret_session, char *why,
	       size_t why_size)
{
	struct err err = { 0 };

	if (!c || !ret_session)
		return CADRE_USAGE;
	struct services *sv = &c->services;
	int status = 0;
	if (!sv->observers) { /* with the first session the options are known */
		/* A member in a pane takes over the environment of its lead, which no thread may read meanwhile. */
		if (!sv->options.agent_id && !c->prepares_tls)
			c->prepares_tls = http_prepare(&c->tls_thread);
		status = trace_observe(sv, &err) < 0 || debug_observe(sv, &err) < 0 ? -(int)err.kind : 0;
		if (status == 0) {
			control_observe(sv);
			peers_observe(sv);
		}
	}
	if (status == 0)
		status = session_open(sv, on_event, data, ret_session, &err);
	return api_status(status, &err, why, why_size);
}

void cadre_stop(struct cadre *c)
{
	if (!c)
		return;
	c->stopped = true;
	loop_stop(c->services.loop);
}
