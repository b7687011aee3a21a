/* SPDX-License-Identifier: MIT
 * classifier.h - decides in auto mode when no rule does: a small model is asked about one call and answers later. It sees the
 * prompts of this run, the task of a child, the working directory and the call; no results of tools, so that their text cannot
 * influence it. It never sees a call that a rule denies or asks about, or one that touches a
 * protected or critical path.
 *
 * One that refuses again and again is wrong, or the work is: after MOST_DENIALS_IN_A_ROW, or MOST_DENIALS in a session, it
 * steps back, and the user is asked. Consent of the user starts the row again. */
#pragma once
#include "agents/agent/tree.h"

enum { MOST_DENIALS_IN_A_ROW = 3, MOST_DENIALS = 20 };

enum classifier_answer { CLASSIFIER_ALLOWS, CLASSIFIER_UNSURE, CLASSIFIER_DENIES };
/* reason is for the model; borrowed until return. */
typedef void classifier_done_fn(void *data, enum classifier_answer word, struct str reason);

struct classifier_question; /* its own */
struct classifier {
	/* done comes exactly once, later, also after a cancel. NULL: it cannot be asked, and done does not come. */
	struct classifier_question *(*ask)(struct classifier *c, struct agent *a, struct tool_call *call,
					   classifier_done_fn *done, void *data);
	void (*cancel)(struct classifier_question *q);
};

/* As classifier.ask; NULL also when there is none or it has stepped back. */
struct classifier_question *agent_classify(struct agent *a, struct tool_call *call, classifier_done_fn *done,
					   void *data);
/* The decision about a call, of the classifier or the user. */
void agent_note_classifier_answer(struct agent *a, enum classifier_answer word);

struct classifier *classifier_new(struct services *sv); /* returns owned; borrows sv */
void classifier_free(struct classifier *c);             /* waits for open questions; no session may be left */
void recent_prompts_add(struct recent_prompts *recent,
			struct str text); /* forgets the oldest when there are too many */
