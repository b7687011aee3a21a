/* SPDX-License-Identifier: MIT
 * test_classifier.c - when the classifier of auto mode is asked, and when it steps back. */
#include "agents/agent/classifier.h"
#include "agents/agent/tree.h"
#include "tests.h"
#include "unit.h"

struct office {
	struct classifier classifier;
	struct services services;
	struct agent_tree tree;
	struct agent agent;
	unsigned asked, said;
};

static struct classifier_question *ask(struct classifier *c, struct agent *a, struct tool_call *call,
				       classifier_done_fn *done, void *data)
{
	struct office *o = CONTAINER_OF(c, struct office, classifier);

	(void)a, (void)call, (void)done, (void)data;
	o->asked++;
	return (struct classifier_question *)(void *)o;
}

static void on_event(void *data, const struct event *event)
{
	struct office *o = data;

	o->said += event->kind == EVENT_ERROR;
}

static void office_open(struct office *o)
{
	*o = (struct office){ .classifier.ask = ask };
	o->services.classifier = &o->classifier;
	o->tree.services = &o->services;
	o->tree.on_event = on_event;
	o->tree.data = o;
	o->agent.tree = &o->tree;
}

static bool is_asked(struct office *o)
{
	unsigned before = o->asked;
	bool waits = agent_classify(&o->agent, NULL, NULL, NULL) != NULL;

	CHECK_INT(o->asked - before, waits);
	return waits;
}

TEST(without_a_classifier_nobody_is_asked)
{
	struct office o;
	office_open(&o);
	o.tree.services->classifier = NULL;

	CHECK(!is_asked(&o));
}

TEST(after_three_denials_in_a_row_it_steps_back_and_the_user_is_told_once)
{
	struct office o;
	office_open(&o);

	for (int i = 0; i < MOST_DENIALS_IN_A_ROW; i++) {
		CHECK(is_asked(&o));
		CHECK_INT(o.said, 0);
		agent_note_classifier_answer(&o.agent, CLASSIFIER_DENIES);
	}

	CHECK(!is_asked(&o));
	CHECK_INT(o.said, 1);
}

TEST(a_yes_begins_the_row_anew_and_an_unsure_word_does_not)
{
	struct office o;
	office_open(&o);

	agent_note_classifier_answer(&o.agent, CLASSIFIER_DENIES);
	agent_note_classifier_answer(&o.agent, CLASSIFIER_DENIES);
	agent_note_classifier_answer(&o.agent, CLASSIFIER_ALLOWS);
	agent_note_classifier_answer(&o.agent, CLASSIFIER_DENIES);
	agent_note_classifier_answer(&o.agent, CLASSIFIER_DENIES);
	agent_note_classifier_answer(&o.agent, CLASSIFIER_UNSURE);
	CHECK(is_asked(&o));
	agent_note_classifier_answer(&o.agent, CLASSIFIER_DENIES);
	CHECK(!is_asked(&o));
	agent_note_classifier_answer(&o.agent, CLASSIFIER_ALLOWS); /* a person's: nobody else was asked */
	CHECK(is_asked(&o));
}

TEST(twenty_denials_in_a_session_are_enough_whatever_came_between)
{
	struct office o;
	office_open(&o);

	for (int i = 0; i < MOST_DENIALS; i++) {
		CHECK(is_asked(&o));
		agent_note_classifier_answer(&o.agent, CLASSIFIER_DENIES);
		agent_note_classifier_answer(&o.agent, CLASSIFIER_ALLOWS);
	}

	CHECK(!is_asked(&o));
	CHECK_INT(o.said, 1);
}

int test_classifier(void)
{
	return RUN_TESTS(T(without_a_classifier_nobody_is_asked),
			 T(after_three_denials_in_a_row_it_steps_back_and_the_user_is_told_once),
			 T(a_yes_begins_the_row_anew_and_an_unsure_word_does_not),
			 T(twenty_denials_in_a_session_are_enough_whatever_came_between));
}
