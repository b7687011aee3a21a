/* SPDX-License-Identifier: MIT
 * event_question.c - events that want an answer, taken apart for faces. */
#include "product/session/session.h"

/* ---- may a call run? --------------------------------------------------------------------------------------------- */

/* Accessors build lazily behind a const handle: the event is ours, only its caches change. */
static struct cadre_event *mutable(const struct cadre_event *e)
{
	return (struct cadre_event *)(uintptr_t)e;
}

const char *cadre_event_why(const struct cadre_event *e)
{
	return e && e->event->why.n ? arena_str(&mutable(e)->arena, e->event->why).p : "";
}

const char *cadre_event_rule(const struct cadre_event *e, size_t i)
{
	return e && i < e->event->rule_count ? e->event->rules[i] : NULL;
}

int cadre_event_offers_edits(const struct cadre_event *e)
{
	return e && e->event->offers_edits;
}

/* ---- questions of agents ----------------------------------------------------------------------------------------- */

static const struct json *element(const struct json *list, size_t i)
{
	const struct json *v = json_first(list);

	while (v && i--)
		v = json_next(list, v);
	return v;
}

/* The input was checked against the schema, so its members are what they should be. */
static const struct json *question(const struct cadre_event *e, size_t i)
{
	struct cadre_event *m = mutable(e);
	struct str text = e->event->text;
	const struct json *root;

	bool asks = e->event->kind == EVENT_QUESTION_ASKED || e->event->kind == EVENT_ELICITATION_ASKED;

	if (!m->questions && asks && json_parse(&m->reader, text.p, text.n, &root, NULL) == 0)
		m->questions = json_get(root, "questions");
	return element(m->questions, i);
}

const char *cadre_event_question(const struct cadre_event *e, size_t i)
{
	return e ? json_cstr(json_get(question(e, i), "question"), &mutable(e)->arena) : NULL;
}

int cadre_event_takes_several(const struct cadre_event *e, size_t i)
{
	return e && json_bool(json_get(question(e, i), "multiSelect"));
}

const char *cadre_event_choice(const struct cadre_event *e, size_t i, size_t k, const char **ret_meaning)
{
	if (!e)
		return NULL;
	const struct json *choice = element(json_get(question(e, i), "options"), k);
	struct arena *a = &mutable(e)->arena;
	const char *label = json_cstr(json_get(choice, "label"), a);

	if (label && ret_meaning) {
		const char *meaning = json_cstr(json_get(choice, "description"), a);
		*ret_meaning = meaning ? meaning : "";
	}
	return label;
}
