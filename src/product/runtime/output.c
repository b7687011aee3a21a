/* SPDX-License-Identifier: MIT
 * output.c - writers for faces, and what happens when their readers are slow: above 8 MB nothing new is asked for. */
#include "product/runtime/runtime.h"
#include "lib/io/writer.h"

enum { BACKLOG_LIMIT = 8 << 20 };

struct cadre_writer {
	struct cadre *cadre;
	struct cadre_writer *next;
	struct writer *writer;
	cadre_failure_fn *on_failure, *on_drained; /* may be NULL */
	void *data, *drained_data;
};

void app_check_backlog(struct services *sv)
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

	(void)writer;
	app_check_backlog(&w->cadre->services);
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
	if (writer_flush(w->writer, timeout_ms))
		return CADRE_OK;
	const char *reason = writer_error(w->writer);
	return api_status(err_set(&err, ERR_IO, "%s", reason ? reason : "the reader is too slow"), &err, why, why_size);
}

void cadre_writer_free(struct cadre_writer *w)
{
	if (!w)
		return;
	for (struct cadre_writer **at = &w->cadre->writers; *at; at = &(*at)->next) {
		if (*at != w)
			continue;
		*at = w->next;
		break;
	}
	writer_free(w->writer);
	free(w);
}
