/* SPDX-License-Identifier: MIT
 * debug_session.c - what goes into the log besides events: requests. */
#include "product/runtime/app_int.h"
#include "product/observe/debug.h"

static void on_state(struct query *q, const char *to)
{
	const struct actor *a = CONTAINER_OF(q, struct actor, query);
	const struct cadre_session *s = a->tree->data;

	if (!strcmp(to, "STREAM"))
		debug_say(s->cadre->debug, "api", "%s: request to %s, try %u, %llu bytes",
			  a->who.id[0] ? a->who.id : "main", q->config.model, q->attempt,
			  (unsigned long long)(q->config.head->bytes.n + q->transcript.bytes));
}

int app_open_debug(struct cadre *c, struct err *err)
{
	const struct options *o = &c->options;

	if (c->debug || (!o->debug && !o->debug_file))
		return 0;
	return debug_new(o->debug, o->debug_file, &c->debug, err);
}

void session_watch_requests(struct cadre_session *s)
{
	if (s->cadre->debug)
		s->tree.on_state = on_state;
}
