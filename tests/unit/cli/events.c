/* SPDX-License-Identifier: MIT
 * events.c - events of the library made by hand, and a file that a view writes to. */
#include <fcntl.h>
#include "test_cli.h"
#include "product/session/session.h"

void event_make(const struct made *m, void (*fn)(const struct cadre_event *e, void *data), void *data)
{
	struct agent_definition explore = { .name = "Explore", .color = "cyan" };
	struct catalog_entry entry = { .definition = &explore, .name = explore.name };
	const struct catalog_entry *active[] = { &entry };
	struct catalog registry = { .active = active, .active_count = 1 };
	struct cadre_session *session = xcalloc(1, sizeof *session);
	struct event_agent agent = { .id = m->agent,
				     .type = "Explore",
				     .name = "",
				     .description = m->agent,
				     .parent_id = m->parent ? m->parent : "",
				     .depth = m->depth };
	struct event_task task = { .state = "completed",
				   .last_tool = "Read",
				   .turns = 3,
				   .usage = { .input = 1000, .output = 234 },
				   .duration_ms = 4000 };
	struct event event = { .kind = (enum event_kind)m->kind,
			       .agent = m->agent ? &agent : NULL,
			       .task = m->agent ? &task : NULL,
			       .name = m->name,
			       .text = m->text ? str_from(m->text) : (struct str){ 0 },
			       .is_error = m->is_error };
	struct cadre_event e = { .event = &event, .session = session, .time_ms = m->time_ms };
	struct services services = { .registry = &registry };

	session->tree.services = &services;
	session->tree.main.query.end = m->end ? m->end : QUERY_DONE;
	buf_reserve(&e.frame, 1); /* so that none is built */
	buf_addstr(&e.frame, m->frame ? m->frame : "");
	fn(&e, data);
	buf_release(&e.text);
	buf_release(&e.frame);
	arena_release(&e.arena);
	free(session);
}

static void show(const struct cadre_event *e, void *data)
{
	view_event(data, e);
}

void view_show(struct view *v, const struct made *m)
{
	event_make(m, show, v);
}

static struct cadre *runtime;
static int out_fd = -1;

void out_open(struct view *v)
{
	if (!runtime) {
		runtime = cadre_new(NULL, 0);
		out_fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	}
	CHECK(runtime && out_fd >= 0 && ftruncate(out_fd, 0) == 0 && lseek(out_fd, 0, SEEK_SET) == 0);
	v->out = cadre_writer_new(runtime, out_fd);
}

void out_expect(struct view *v, const char *expected)
{
	char text[4096] = "";

	CHECK_INT(cadre_writer_flush(v->out, 5000, NULL, 0), 0);
	CHECK(pread(out_fd, text, sizeof text - 1, 0) >= 0);
	CHECK_CSTR(text, expected);
}

void out_close(void)
{
	cadre_free(runtime);
	if (out_fd >= 0)
		close(out_fd);
}
