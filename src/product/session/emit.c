/* SPDX-License-Identifier: MIT
 * emit.c - delivers events: to the observers of the runtime, then, numbered and with a time, to the host. Also the table of
 * subtypes and texts for the end of a turn. */
#include "agents/member/lead.h"
#include "product/session/session.h"
#include "product/session/server_pool.h"

void session_emit(void *data, const struct event *event)
{
	struct cadre_session *s = data;

	session_note(s, event);
	structured_output_on_event(s, event);
	if (lead_ask(&s->tree, event))
		return;
	const char *prompt_tool = s->tree.policy->options.permission_prompt_tool;
	if (event->kind == EVENT_PERMISSION_ASKED && prompt_tool && str_starts(str_from(prompt_tool), STR("mcp__"))) {
		prompt_tool_ask(s, event);
		return;
	}
	if (!s->on_event)
		return;
	struct cadre_event e = { .event = event, .session = s, .seq = ++s->seq, .time_ms = id_wall_ms() };
	if (event->uuid)
		snprintf(e.uuid, sizeof e.uuid, "%s", event->uuid);
	else
		id_uuid(e.uuid);
	s->services->in_callback++;
	s->on_event(&e, s->data);
	s->services->in_callback--;
	buf_release(&e.text);
	buf_release(&e.frame);
	json_reader_release(&e.reader);
	arena_release(&e.arena);
	services_check_backlog(s->services);
}

void session_emit_error(struct cadre_session *s, const char *format, ...)
{
	AUTO_FREE char *text = NULL;

	PRINT_ARGS_NEW(text, format);
	session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = str_from(text) });
}

static const struct ending {
	const char *subtype;
	bool is_error;
	const char *text; /* NULL: the answer itself */
} endings[] = {
	[QUERY_DONE] = { "success", false, NULL },
	[QUERY_MAX_TURNS] = { "error_max_turns", true, "Reached max turns" },
	[QUERY_MODEL_ERROR] = { "success", true, "API Error: " },
	[QUERY_REFUSED] = { "error_during_execution", true, "The model refused to answer" },
	[QUERY_EMPTY] = { "error_during_execution", true, "The model gave an empty answer" },
	[QUERY_CUT_OFF] = { "error_during_execution", true, "The answer was cut off at the output limit:\n\n" },
	[QUERY_CONTEXT_FULL] = { "error_during_execution", true,
				 "The conversation no longer fits into the model's context" },
	[QUERY_CANCELLED] = { "error_during_execution", true, "Interrupted" },
	[QUERY_HALTED] = { "success", false, NULL },
	[QUERY_BLOCKED] = { "error_during_execution", true, "A hook did not let the prompt through: " },
	[QUERY_REJECTED] = { "error_during_execution", true, NULL },
	[QUERY_BUDGET] = { "error_max_budget_usd", true, "Reached maximum budget" },
	[QUERY_DISK_ERROR] = { "error_during_execution", true, "The session cannot be written: " },
	[QUERY_UNSTRUCTURED] = { "error_max_structured_output_retries", true,
				 "The model gave no answer that fits the JSON Schema" },
};

static const struct ending waited_too_long = {
	"error_during_execution", true,
	"Background agents were still running when the time to wait for them was over. They continue when the session is "
	"resumed: cadre --resume "
};

static const struct ending *ending_of(const struct cadre_session *s)
{
	return s->gave_up ? &waited_too_long : &endings[s->tree.main.query.end];
}

const char *turn_subtype(const struct cadre_session *s)
{
	return ending_of(s)->subtype;
}

struct str turn_text(const struct cadre_session *s, struct buf *scratch, bool *ret_is_error)
{
	const struct query *q = &s->tree.main.query;
	const struct ending *how = ending_of(s);

	*ret_is_error = how->is_error;
	if (!how->text)
		return q->text.n ? buf_str(&q->text) : schema_output(s);
	buf_addstr(scratch, how->text);
	if (s->gave_up) {
		buf_addstr(scratch, s->id);
		return buf_str(scratch);
	}
	if (q->end == QUERY_MAX_TURNS)
		buf_addf(scratch, " (%u)", q->config.max_turns);
	if (q->end == QUERY_MODEL_ERROR || q->end == QUERY_DISK_ERROR || q->end == QUERY_BLOCKED)
		buf_addstr(scratch, q->failure.text);
	if (q->end == QUERY_REFUSED && q->failure.text[0])
		buf_addf(scratch, " (%s)", q->failure.text);
	if (q->end == QUERY_CUT_OFF)
		buf_add(scratch, q->text.p, q->text.n);
	return buf_str(scratch);
}
