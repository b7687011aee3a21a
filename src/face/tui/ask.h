/* SPDX-License-Identifier: MIT
 * ask.h - questions to the user, for ask.c and plain.c only. */
#pragma once
#include "face/tui/state.h"

struct choice {
	char *label; /* harmless */
	bool chosen;
	enum { CHOICE_ALLOW, CHOICE_DENY, CHOICE_DENY_WHY, CHOICE_ANSWER, CHOICE_OWN } kind;
	enum cadre_scope scope;
	char *value; /* CHOICE_ANSWER: as it came */
};

struct inquiry {
	struct styled text; /* of the question; harmless */
	struct choice *choices;
	size_t count;
	bool several;
	char *answer;
};

struct ask {
	struct ask *next;
	char *id, *agent;
	bool permission;
	bool is_plan;              /* to leave plan mode */
	bool is_edit;              /* of the main agent, whose mode could accept edits */
	struct form *form;         /* of a server; NULL: questions with choices */
	char *rule;                /* that "always" would store; NULL: none */
	struct inquiry *inquiries; /* a permission has one */
	size_t count, at;
	/* while it is open */
	size_t selected;
	size_t scroll;   /* first row of the text that is shown */
	size_t room;     /* rows of it on the screen */
	bool saw_end;    /* the whole text was on the screen */
	bool takes_keys; /* it has been on the screen long enough */
	int64_t open_ms; /* since when */
	bool in_words;   /* a text is typed: own words, why not, or a rule */
	bool in_rule;
	struct draft words;
};

/* Answers to the first question, which is open */
void ask_permit(struct tui *t, const struct choice *c, const char *reason); /* reason: NULL, why not, or a rule */
void ask_answer(struct tui *t, char *answer);                               /* takes it */
void ask_again(struct tui *t);                                              /* from its start */

/* plain.c */
void plain_say_question(struct tui *t, const struct ask *ask);
void plain_answer(struct tui *t, struct ask *ask, struct str typed);
