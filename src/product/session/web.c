/* SPDX-License-Identifier: MIT
 * web.c - the web for the tools of a session. */
#include "product/session/session_int.h"
#include "agents/agent/one_shot.h"
#include "tools/web/web.h"

enum { RETRY_MS = 60 * 1000 }; /* an agent waits for the page */

static void on_answer(void *data, bool failed, struct str answer)
{
	struct web_question *q = data;

	q->asked = NULL;
	q->done(q, failed, answer);
}

static void web_cancel_question(struct web_question *q)
{
	if (q->asked)
		one_shot_cancel(q->asked);
}

static int web_ask_model(struct web *web, struct tool_env *env, struct web_question *q, struct err *err)
{
	const struct agent *a = env->owner;
	struct one_shot_spec spec = { .services = web->data,
				      .session_id = env->session_id,
				      .agent_id = a->who.id,
				      .label = q->label,
				      .instructions = q->instructions,
				      .server_tool = q->server_tool,
				      .text = q->text,
				      .retry_deadline_ms = RETRY_MS };

	q->cancel = web_cancel_question;
	q->asked = one_shot_start(&spec, on_answer, q, err);
	return q->asked ? 0 : -(int)err->kind;
}

void session_use_web(struct cadre_session *s)
{
	struct services *sv = s->services;

	if (!sv->web) {
		sv->web = web_new(sv->loop);
		sv->web->ask = web_ask_model;
		sv->web->data = sv;
	}
	sv->web->allow_private = settings_bool(sv->policy.settings, "webFetch.allowPrivate", false);
}
