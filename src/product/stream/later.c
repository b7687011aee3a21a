/* SPDX-License-Identifier: MIT
 * later.c - requests of the client that are answered later. */
#include "product/stream/wire_int.h"

struct wire_later {
	struct wire_later *next, **prev;
	struct cadre_wire *wire; /* NULL: nobody waits any more */
	char *id;
};

static void let_go(struct wire_later *l)
{
	if (!l->wire)
		return;
	l->wire = NULL;
	*l->prev = l->next;
	if (l->next)
		l->next->prev = l->prev;
}

static void later_free(struct wire_later *l)
{
	let_go(l);
	free(l->id);
	free(l);
}

struct wire_later *wire_later(const struct wire_request *r)
{
	struct cadre_wire *w = r->wire;
	struct wire_later *l = xcalloc(1, sizeof *l);

	*l = (struct wire_later){ .next = w->laters, .prev = &w->laters, .wire = w, .id = xstrndup(r->id.p, r->id.n) };
	if (w->laters)
		w->laters->prev = &l->next;
	w->laters = l;
	return l;
}

void wire_later_reply(struct wire_later *l, struct str payload)
{
	if (l->wire)
		wire_reply(l->wire, str_from(l->id), payload);
	later_free(l);
}

void wire_later_fail(struct wire_later *l, const char *why)
{
	if (l->wire)
		wire_reply_error(l->wire, str_from(l->id), NULL, "%s", why);
	later_free(l);
}

void wire_withdraw(struct cadre_wire *w, const struct json *message)
{
	AUTO_ARENA struct arena a = { 0 };
	struct str id = json_str(json_get(message, "request_id"), &a);
	struct wire_later *l = w->laters;

	while (l && !str_is(id, l->id))
		l = l->next;
	if (l)
		let_go(l);
}

void wire_laters_end(struct cadre_wire *w)
{
	while (w->laters)
		let_go(w->laters);
}
