/* SPDX-License-Identifier: MIT
 * event.c - what a host can ask of an event (cadre.h). Texts and frames are made when they are asked for. */
#include "defs/agentdef/describe.h"
#include "product/stream/frame_int.h"
#include "product/session/session.h"

/* ---- what a host can ask of an event (cadre.h) ------------------------------------------------------------------- */

/* Texts and frames are made when they are asked for. */

_Static_assert((int)EVENT_COMPACTED == (int)CADRE_COMPACTED && (int)EVENT_RETRY == (int)CADRE_RETRY,
	       "one list of kinds");

enum cadre_event_kind cadre_event_kind(const struct cadre_event *e)
{
	return e ? (enum cadre_event_kind)e->event->kind : (enum cadre_event_kind)0;
}

uint64_t cadre_event_seq(const struct cadre_event *e)
{
	return e ? e->seq : 0;
}

int64_t cadre_event_time_ms(const struct cadre_event *e)
{
	return e ? e->time_ms : 0;
}

const char *cadre_event_session(const struct cadre_event *e)
{
	return e ? e->session->id : "";
}

const char *cadre_event_agent(const struct cadre_event *e)
{
	return e && e->event->agent ? e->event->agent->id : "";
}

const char *cadre_event_name(const struct cadre_event *e)
{
	return e && e->event->name ? e->event->name : "";
}

const char *cadre_event_id(const struct cadre_event *e)
{
	return e && e->event->id ? e->event->id : "";
}

int cadre_event_is_error(const struct cadre_event *e)
{
	return e && e->event->is_error;
}

/* Accessors build lazily behind a const handle: the event is ours, only its caches change. */
static struct cadre_event *mutable(const struct cadre_event *e)
{
	return (struct cadre_event *)(uintptr_t)e;
}

const char *cadre_event_text(const struct cadre_event *e, size_t *ret_n)
{
	struct cadre_event *m = mutable(e);

	if (ret_n)
		*ret_n = 0;
	if (!m)
		return "";
	if (!m->text.p)
		buf_add(&m->text, e->event->text.n ? e->event->text.p : "", e->event->text.n);
	if (ret_n)
		*ret_n = m->text.n;
	return m->text.p;
}

const char *cadre_event_frame(const struct cadre_event *e, size_t *ret_n)
{
	struct cadre_event *m = mutable(e);

	if (ret_n)
		*ret_n = 0;
	if (!m)
		return NULL;
	if (!m->frame.p)
		frame_write(m);
	if (ret_n)
		*ret_n = m->frame.n;
	return m->frame.n ? m->frame.p : NULL;
}

const char *cadre_event_subtype(const struct cadre_event *e)
{
	return e && e->event->kind == EVENT_TURN_ENDED ? turn_subtype(e->session) : "";
}

/* ---- about children ---------------------------------------------------------------------------------------------- */

/* A fork has no colour. */
static const char *color_of(const struct cadre_event *e)
{
	const struct catalog *r = e->session->tree.services->registry;
	const struct catalog_entry *entry = r ? agent_registry_find(r, str_from(e->event->agent->type)) : NULL;

	return entry ? agent_color(entry->definition) : NULL;
}

static const char *end_summary(const struct event_task *t)
{
	enum end_state state = AGENT_RUNNING;

	(void)end_state_parse(str_from(t->state), &state);
	return end_words(state)->summary;
}

static void add_path(struct buf *out, const struct agent *a)
{
	if (a->parent && a->parent->parent) {
		add_path(out, a->parent);
		buf_addstr(out, " > ");
	}
	buf_addstr(out, a->who.description ? a->who.description : "");
}

static const char *path_of(const struct cadre_event *e)
{
	const struct agent *a = agent_tree_find(&e->session->tree, e->event->agent->id);
	AUTO_BUF struct buf path = { 0 };

	if (!a)
		return e->event->agent->description;
	add_path(&path, a);
	return arena_str(&mutable(e)->arena, buf_str(&path)).p;
}

/* From the event, or else from its task. NULL: not about a child. */
static const struct event_task *task_of(const struct cadre_event *e, struct event_task *scratch)
{
	if (e->event->task)
		return e->event->task;
	struct agent_record *record = map_get(&e->session->tree.by_id, str_from(cadre_event_agent(e)));
	if (!record)
		return NULL;
	agent_record_event(record, scratch);
	return scratch;
}

static const char *agent_detail(const struct cadre_event *e, enum cadre_detail which)
{
	const struct event_agent *a = e->event->agent;
	struct event_task scratch;
	const struct event_task *t = task_of(e, &scratch);

	switch (which) {
	case CADRE_DETAIL_TYPE:
		return a->type;
	case CADRE_DETAIL_NAME:
		return a->name;
	case CADRE_DETAIL_DESCRIPTION:
		return a->description;
	case CADRE_DETAIL_PARENT:
		return a->parent_id;
	case CADRE_DETAIL_COLOR:
		return color_of(e);
	case CADRE_DETAIL_STATE:
		return t ? t->state : NULL;
	case CADRE_DETAIL_END:
		return t ? end_summary(t) : NULL;
	case CADRE_DETAIL_LAST_TOOL:
		return t ? t->last_tool : NULL;
	case CADRE_DETAIL_PATH:
		return path_of(e);
	}
	return NULL;
}

const char *cadre_event_detail(const struct cadre_event *e, enum cadre_detail which)
{
	const char *text = cadre_event_agent(e)[0] ? agent_detail(e, which) : NULL;

	return text ? text : "";
}

int64_t cadre_event_figure(const struct cadre_event *e, enum cadre_figure which)
{
	struct event_task scratch;

	if (!e)
		return 0;
	const struct event_agent *a = e->event->agent;
	const struct event_task *t = task_of(e, &scratch);
	if (which == CADRE_FIGURE_DEPTH)
		return a ? a->depth : 0;
	if (!t)
		return 0;
	switch (which) {
	case CADRE_FIGURE_DEPTH:
		break;
	case CADRE_FIGURE_TURNS:
		return t->turns;
	case CADRE_FIGURE_TOOL_USES:
		return t->tool_uses;
	case CADRE_FIGURE_TOKENS:
		return t->usage.input + t->usage.cache_read + t->usage.cache_write + t->usage.output;
	case CADRE_FIGURE_MS:
		return (int64_t)t->duration_ms;
	}
	return 0;
}

/* ---- events that want an answer, taken apart for faces ----------------------------------------------------------- */

/* ---- may a call run? --------------------------------------------------------------------------------------------- */

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
