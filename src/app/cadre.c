/* SPDX-License-Identifier: MIT
 * cadre.c - the runtime: loop, registries, options; descriptors, signals and writers for faces. */
#include "app/app_int.h"
#include <sys/resource.h>

enum { BACKLOG_LIMIT = 8 << 20 };

struct watch {
	struct cadre *cadre;
	struct watch *next;
	int number;                 /* descriptor or signal */
	bool is_signal, keep;
	cadre_watch_fn *fn;
	void *data;
	union {
		uv_poll_t poll;
		uv_signal_t signal;
		uv_handle_t handle;
	};
};

struct cadre_writer {
	struct cadre *cadre;
	struct cadre_writer *next;
	struct writer *writer;
};

int app_status(int status, const struct err *err, char *why, size_t why_size)
{
	if (status < 0 && why && why_size)
		snprintf(why, why_size, "%s", err->text);
	return status;
}

const char *cadre_version(void)
{
	return CADRE_VERSION;
}

static size_t raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 1024;
	if (limit.rlim_cur < limit.rlim_max) {
		struct rlimit wide = { limit.rlim_max, limit.rlim_max };
		if (setrlimit(RLIMIT_NOFILE, &wide) == 0)
			limit = wide;
	}
	return (size_t)MIN(limit.rlim_cur, (rlim_t)1 << 20);
}

struct cadre *cadre_new(char *why, size_t why_size)
{
	struct err err = { 0 };
	struct cadre *c = xcalloc(1, sizeof *c);

	c->loop = loop_new(0);
	c->descriptor_limit = raise_descriptor_limit();
	c->spawner = spawner_new(c->loop, &err);
	if (!c->spawner) {
		app_status(-(int)err.kind, &err, why, why_size);
		loop_free(c->loop);
		free(c);
		return NULL;
	}
	return c;
}

void cadre_free(struct cadre *c)
{
	if (!c)
		return;
	while (c->watches)
		(c->watches->is_signal ? (void)cadre_watch_signal(c, c->watches->number, NULL, NULL)
				       : cadre_unwatch_fd(c, c->watches->number));
	for (struct cadre_session *s = c->sessions, *next; s; s = next) {
		next = s->next;
		cadre_close(s);
	}
	while (c->sessions)
		cadre_run(c);
	while (c->writers)
		cadre_writer_free(c->writers);
	if (c->endpoint) {
		governor_release(&c->endpoint->governor);
		c->endpoint->provider->close(c->endpoint);
	}
	spawner_free(c->spawner);
	head_pool_release(&c->heads);
	if (c->store.config_dir)
		store_release(&c->store);
	loop_run(c->loop); /* lets closing handles close */
	loop_free(c->loop);
	options_release(&c->options);
	arena_release(&c->arena);
	free(c);
}

int cadre_set(struct cadre *c, const char *option, const char *value, char *why, size_t why_size)
{
	struct err err = { 0 };

	if (!c || !option || !value)
		return CADRE_USAGE;
	return app_status(options_set(&c->options, option, value, &err), &err, why, why_size);
}

/* ---- running ------------------------------------------------------------------------------------------------- */

void app_busy(struct cadre *c, int change)
{
	c->busy = (unsigned)((int)c->busy + change);
	if (!c->busy)
		loop_stop(c->loop);
}

void cadre_run(struct cadre *c)
{
	if (c->busy)
		loop_run(c->loop);
}

void cadre_stop(struct cadre *c)
{
	loop_stop(c->loop);
}

/* ---- watches ------------------------------------------------------------------------------------------------- */

static void on_poll(uv_poll_t *handle, int status, int events)
{
	struct watch *w = handle->data;

	(void)status;
	(void)events;
	w->fn(w->cadre, w->number, w->data);
}

static void on_signal(uv_signal_t *handle, int number)
{
	struct watch *w = handle->data;

	w->fn(w->cadre, number, w->data);
}

static void on_watch_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void unwatch(struct cadre *c, int number, bool is_signal)
{
	for (struct watch **at = &c->watches; *at; at = &(*at)->next) {
		struct watch *w = *at;
		if (w->number != number || w->is_signal != is_signal)
			continue;
		*at = w->next;
		if (w->keep)
			app_busy(c, -1);
		uv_close(&w->handle, on_watch_closed);
		return;
	}
}

static struct watch *watch_new(struct cadre *c, int number, bool is_signal, cadre_watch_fn *fn, void *data)
{
	struct watch *w = xcalloc(1, sizeof *w);

	w->cadre = c;
	w->number = number;
	w->is_signal = is_signal;
	w->fn = fn;
	w->data = data;
	return w;
}

static void watch_link(struct watch *w)
{
	w->handle.data = w;
	w->next = w->cadre->watches;
	w->cadre->watches = w;
}

int cadre_watch_fd(struct cadre *c, int fd, int keep, cadre_watch_fn *fn, void *data)
{
	struct watch *w = watch_new(c, fd, false, fn, data);

	if (uv_poll_init(loop_uv(c->loop), &w->poll, fd) < 0) { /* a regular file: always readable, nothing to wait for */
		free(w);
		return CADRE_IO;
	}
	w->keep = keep;
	if (keep)
		app_busy(c, 1);
	watch_link(w);
	uv_poll_start(&w->poll, UV_READABLE, on_poll);
	return CADRE_OK;
}

void cadre_unwatch_fd(struct cadre *c, int fd)
{
	unwatch(c, fd, false);
}

int cadre_watch_signal(struct cadre *c, int signal, cadre_watch_fn *fn, void *data)
{
	unwatch(c, signal, true);
	if (!fn)
		return CADRE_OK;
	struct watch *w = watch_new(c, signal, true, fn, data);
	uv_signal_init(loop_uv(c->loop), &w->signal);
	watch_link(w);
	if (uv_signal_start(&w->signal, on_signal, signal) < 0) {
		unwatch(c, signal, true);
		return CADRE_IO;
	}
	uv_unref(&w->handle);
	return CADRE_OK;
}

/* ---- writers ------------------------------------------------------------------------------------------------- */

void app_check_backlog(struct cadre *c)
{
	bool behind = false;

	for (struct cadre_writer *w = c->writers; w; w = w->next)
		behind = behind || writer_queued(w->writer) > BACKLOG_LIMIT;
	if (behind == c->paused)
		return;
	c->paused = behind;
	for (struct cadre_session *s = c->sessions; s; s = s->next)
		query_pause(&s->query, behind);
}

static void on_drained(struct writer *writer, void *data)
{
	struct cadre_writer *w = data;

	(void)writer;
	app_check_backlog(w->cadre);
}

struct cadre_writer *cadre_writer_new(struct cadre *c, int fd)
{
	struct cadre_writer *w = xcalloc(1, sizeof *w);

	w->cadre = c;
	w->writer = writer_new(c->loop, fd, on_drained, on_drained, w);
	w->next = c->writers;
	c->writers = w;
	return w;
}

void cadre_write(struct cadre_writer *w, const void *p, size_t n)
{
	writer_add(w->writer, p, n);
}

int cadre_writer_failed(const struct cadre_writer *w)
{
	return writer_error(w->writer) != NULL;
}

int cadre_writer_flush(struct cadre_writer *w, unsigned timeout_ms, char *why, size_t why_size)
{
	struct err err = { 0 };
	bool flushed = writer_flush(w->writer, timeout_ms);

	if (flushed)
		return CADRE_OK;
	const char *reason = writer_error(w->writer);
	return app_status(err_set(&err, ERR_IO, "%s", reason ? reason : "the reader is too slow"), &err, why, why_size);
}

void cadre_writer_free(struct cadre_writer *w)
{
	for (struct cadre_writer **at = &w->cadre->writers; *at; at = &(*at)->next) {
		if (*at != w)
			continue;
		*at = w->next;
		break;
	}
	writer_free(w->writer);
	free(w);
}
