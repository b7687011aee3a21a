/* SPDX-License-Identifier: MIT
 * watch.c - descriptors and signals watched for a face.
 *
 * libuv makes a polled descriptor non-blocking, and a terminal shares that flag with all processes that have it open.
 * So an epoll instance holds the descriptor, and libuv polls that one. */
#include <sys/epoll.h>
#include "product/runtime/runtime.h"

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

	(void)status;
	(void)events;
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
	for (struct watch **at = &w->cadre->watches; *at; at = &(*at)->next) {
		if (*at != w)
			continue;
		*at = w->next;
		break;
	}
	if (w->keep)
		services_busy(&w->cadre->services, -1);
	uv_close(&w->handle, on_closed);
}

static void unwatch(struct cadre *c, int number, bool is_signal)
{
	for (struct watch *w = c->watches; w; w = w->next) {
		if (w->number != number || w->is_signal != is_signal)
			continue;
		end_watch(w);
		return;
	}
}

void watch_end_all(struct cadre *c)
{
	while (c->watches)
		end_watch(c->watches);
}

static struct watch *watch_new(struct cadre *c, int number, bool is_signal, cadre_watch_fn *fn, void *data)
{
	struct watch *w = xcalloc(1, sizeof *w);

	w->cadre = c;
	w->number = number;
	w->epoll_fd = -1;
	w->is_signal = is_signal;
	w->fn = fn;
	w->data = data;
	return w;
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

void cadre_unwatch_fd(struct cadre *c, int fd)
{
	if (c)
		unwatch(c, fd, false);
}

int cadre_watch_signal(struct cadre *c, int signal, cadre_watch_fn *fn, void *data)
{
	if (!c)
		return CADRE_USAGE;
	unwatch(c, signal, true);
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
