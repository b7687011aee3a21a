/* SPDX-License-Identifier: MIT
 * question.c - questions of agents to the user. */
#include "subagent/question.h"
#include "subagent/tree.h"

bool question_ask(struct tool_call *call)
{
	struct actor *a = call->env->owner;
	struct str input = json_raw(call->input);

	if (!permission_can_ask(&a->permission))
		return false;
	actor_emit(a,
		   &(struct event){ .kind = EVENT_QUESTION_ASKED, .name = call->name, .id = call->id, .text = input });
	return true;
}

void question_answer(struct tool_call *call, const struct json *answers)
{
	const struct json *questions = json_get(call->input, "questions");
	struct buf *out = &call->result;

	buf_clear(out);
	buf_addstr(out, "The user answered:\n");
	for (const struct json *q = json_first(questions); q; q = json_next(questions, q)) {
		struct str text = json_str(json_get(q, "question"), &call->arena);
		const struct json *answer = json_get_str(answers, text);
		struct str said = json_is(answer, JSON_STRING) ? json_str(answer, &call->arena) : STR("(no answer)");
		buf_addf(out, "- " STR_FMT "\n  " STR_FMT "\n", STR_ARG(text), STR_ARG(said));
	}
	buf_addf(&call->result_json, "{\"questions\":" STR_FMT ",\"answers\":" STR_FMT "}",
		 STR_ARG(json_raw(questions)), STR_ARG(json_raw(answers)));
	tool_call_end(call, false);
}

struct tool_call *question_find(struct actor *a, const char *call_id)
{
	for (uint32_t i = 0; i < a->query.call_count; i++) {
		struct tool_call *call = a->query.calls[i]->call;
		if (call && !strcmp(call->id, call_id) && call->running && !call->finished &&
		    (call->tool->flags & TOOL_NEEDS_USER))
			return call;
	}
	return NULL;
}
