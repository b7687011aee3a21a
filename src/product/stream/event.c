/* SPDX-License-Identifier: MIT
 * event.c - the accessors of an event (cadre.h). Texts and frames are built on demand. */
#include "defs/agentdef/describe.h"
#include "product/stream/wire_int.h"

_Static_assert((int)EVENT_FILES_FOUND == (int)CADRE_FILES_FOUND && (int)EVENT_RETRY == (int)CADRE_RETRY,
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
static struct cadre_event *event_mutable(const struct cadre_event *e)
{
	return (struct cadre_event *)(uintptr_t)e;
}

const char *cadre_event_text(const struct cadre_event *e, size_t *ret_n)
{
	struct cadre_event *m = event_mutable(e);

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
	struct cadre_event *m = event_mutable(e);

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

static void add_path(struct buf *out, const struct agent *a)
{
	if (a->parent && a->parent->parent) {
		add_path(out, a->parent);
		buf_addstr(out, " > ");
	}
	buf_addstr(out, a->who.description ? a->who.description : "");
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

const char *cadre_event_str(const struct cadre_event *e, enum cadre_str which)
{
	const struct event_agent *a = e ? e->event->agent : NULL;
	struct event_task scratch;
	enum end_state state = AGENT_RUNNING;
	AUTO_BUF struct buf path = { 0 };
	const char *text = NULL;

	if (!a || !a->id[0])
		return "";
	const struct event_task *t = task_of(e, &scratch);
	const struct agent_tree *tree = &e->session->tree;
	if (which == CADRE_STR_COLOR) { /* a fork has none */
		const struct catalog *r = tree->services->registry;
		const struct catalog_entry *entry = r ? agent_registry_find(r, str_from(a->type)) : NULL;
		text = entry ? agent_color(entry->definition) : NULL;
	} else if (which == CADRE_STR_PATH) {
		const struct agent *agent = agent_tree_find(&e->session->tree, a->id);
		if (agent)
			add_path(&path, agent);
		text = agent ? arena_str(&event_mutable(e)->arena, buf_str(&path)).p : a->description;
	} else if (which == CADRE_STR_END) {
		if (t)
			(void)end_state_parse(str_from(t->state), &state);
		text = t ? end_states[state].summary : NULL;
	} else {
		const char *const texts[] = { [CADRE_STR_TYPE] = a->type,
					      [CADRE_STR_NAME] = a->name,
					      [CADRE_STR_DESCRIPTION] = a->description,
					      [CADRE_STR_PARENT] = a->parent_id,
					      [CADRE_STR_STATE] = t ? t->state : NULL,
					      [CADRE_STR_LAST_TOOL] = t ? t->last_tool : NULL,
					      [CADRE_STR_MODEL] = t ? t->model : NULL,
					      [CADRE_STR_WORKTREE] = t ? t->worktree : NULL,
					      [CADRE_STR_TEAM] = t ? t->team : NULL };
		text = (size_t)which < COUNT_OF(texts) ? texts[which] : NULL;
	}
	return text ? text : "";
}

int64_t cadre_event_int(const struct cadre_event *e, enum cadre_int which)
{
	struct event_task scratch;

	if (!e)
		return 0;
	if (which == CADRE_INT_LINES)
		return (int64_t)e->event->lines;
	if (which == CADRE_INT_DELAY_MS || which == CADRE_INT_LEFT_MS)
		return which == CADRE_INT_DELAY_MS ? e->event->delay_ms : e->event->left_ms;
	const struct event_agent *a = e->event->agent;
	const struct event_task *t = task_of(e, &scratch);
	if (which == CADRE_INT_DEPTH || !t)
		return a && which == CADRE_INT_DEPTH ? a->depth : 0;
	const int64_t figures[] = { [CADRE_INT_TURNS] = t->turns,
				    [CADRE_INT_TOOL_USES] = t->tool_uses,
				    [CADRE_INT_TOKENS] = t->usage.input + t->usage.cache_read + t->usage.cache_write +
							 t->usage.output,
				    [CADRE_INT_MS] = (int64_t)t->duration_ms,
				    [CADRE_INT_COST_MICROS] = (int64_t)(t->cost_usd * 1e6 + 0.5) };
	return (size_t)which < COUNT_OF(figures) ? figures[which] : 0;
}

const char *cadre_event_why(const struct cadre_event *e)
{
	return e && e->event->why.n ? arena_str(&event_mutable(e)->arena, e->event->why).p : "";
}

const char *cadre_event_rule(const struct cadre_event *e, size_t i)
{
	return e && i < e->event->rule_count ? e->event->rules[i] : NULL;
}

const char *cadre_event_patch(const struct cadre_event *e, size_t *ret_n)
{
	struct str patch = e ? e->event->patch : STR("");

	if (ret_n)
		*ret_n = patch.n;
	return patch.n ? patch.p : "";
}

int cadre_event_can_accept_edits(const struct cadre_event *e)
{
	return e && e->event->offers_edits;
}

static const struct json *question_element(const struct json *list, size_t i)
{
	const struct json *v = json_first(list);

	while (v && i--)
		v = json_next(list, v);
	return v;
}

/* The input was checked against the schema, so its members are what they should be. */
static const struct json *event_question(const struct cadre_event *e, size_t i)
{
	struct cadre_event *m = event_mutable(e);
	struct str text = e->event->text;
	const struct json *root;

	bool asks = e->event->kind == EVENT_QUESTION_ASKED || e->event->kind == EVENT_ELICITATION_ASKED;

	if (!m->questions && asks && json_parse(&m->reader, text.p, text.n, &root, NULL) == 0)
		m->questions = json_get(root, "questions");
	return question_element(m->questions, i);
}

const char *cadre_event_question(const struct cadre_event *e, size_t i)
{
	return e ? json_cstr(json_get(event_question(e, i), "question"), &event_mutable(e)->arena) : NULL;
}

int cadre_event_multi_select(const struct cadre_event *e, size_t i)
{
	return e && json_bool(json_get(event_question(e, i), "multiSelect"));
}

const char *cadre_event_choice(const struct cadre_event *e, size_t i, size_t k, const char **ret_meaning)
{
	if (!e)
		return NULL;
	const struct json *choice = question_element(json_get(event_question(e, i), "options"), k);
	struct arena *a = &event_mutable(e)->arena;
	const char *label = json_cstr(json_get(choice, "label"), a);

	if (label && ret_meaning) {
		const char *meaning = json_cstr(json_get(choice, "description"), a);
		*ret_meaning = meaning ? meaning : "";
	}
	return label;
}
