/* SPDX-License-Identifier: MIT
 * classifier.c - when the classifier of a session is asked, and when it steps back. */
#include "agents/agent/classifier.h"
#include "agents/agent/tree.h"

static bool has_stepped_back(const struct agent_tree *t)
{
	return t->denials_in_a_row >= MOST_DENIALS_IN_A_ROW || t->classifier_denials >= MOST_DENIALS;
}

struct classifier_question *agent_classify(struct agent *a, struct tool_call *call, classifier_done_fn *done,
					   void *data)
{
	struct classifier *c = a->tree->services->classifier;

	return c && !has_stepped_back(a->tree) ? c->ask(c, a, call, done, data) : NULL;
}

void agent_note_word(struct agent *a, enum classifier_word word)
{
	struct agent_tree *t = a->tree;

	if (word == CLASSIFIER_ALLOWS)
		t->denials_in_a_row = 0;
	if (word != CLASSIFIER_DENIES)
		return;
	t->denials_in_a_row++;
	t->classifier_denials++;
	if (t->denials_in_a_row == MOST_DENIALS_IN_A_ROW || t->classifier_denials == MOST_DENIALS)
		agent_emit(a,
			   &(struct event){ .kind = EVENT_ERROR,
					    .text = STR("the classifier of auto mode has refused so much that it is "
							"not asked any more: what it would decide needs a person") });
}
