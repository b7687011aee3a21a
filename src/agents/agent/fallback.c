/* SPDX-License-Identifier: MIT
 * fallback.c - see fallback.h. */
#include "agents/agent/context.h"
#include "agents/agent/tree.h"

static void use(struct agent *a, struct fallback_model m)
{
	const struct query *q = &a->query;
	const struct head *head = q->next_head ? q->next_head : q->config.head;

	a->model = m.name;
	a->endpoint = m.endpoint;
	query_set_head(&a->query, context_head_like(a, head), a->model);
	query_set_endpoint(&a->query, a->endpoint);
}

bool agent_fall_back(struct agent *a)
{
	const struct fallback_list *list = &a->tree->fallbacks;
	struct fallback *f = &a->fallback;

	while (f->next < list->count) {
		struct fallback_model m = list->models[f->next++];
		if (!strcmp(m.name, a->model))
			continue;
		if (!f->usual.name)
			f->usual = (struct fallback_model){ a->model, a->endpoint };
		use(a, m);
		return true;
	}
	return false;
}

void agent_leave_fallback(struct agent *a)
{
	struct fallback_model usual = a->fallback.usual;

	a->fallback = (struct fallback){ 0 };
	if (usual.name)
		use(a, usual);
}
