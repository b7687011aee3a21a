/* SPDX-License-Identifier: MIT
 * line_ask.c - questions to the person at the terminal: permissions of calls, and what agents want to know. They wait in one
 * queue; the first one is shown. */
#include "face/cli/edit.h"
#include "face/cli/line_int.h"
#include "face/cli/view.h"

/* One question of AskUserQuestion */
struct inquiry {
	char *text; /* with its numbered answers, fit for the terminal */
	struct choices choices;
	char *answer; /* NULL: not yet */
};

struct ask {
	struct ask *next;
	char *id;
	char *agent;               /* who asks; "" is the main agent */
	char *text;                /* above the input line */
	bool has_rule, has_edits;  /* which answers there are besides yes and no */
	struct inquiry *inquiries; /* of an agent that wants to know something */
	size_t count, at;          /* at: the one that is shown; count 0: it is about a permission */
};

/* ---- the row ----------------------------------------------------------------------------------------------------- */

static void line_ask_drop(struct ask **at)
{
	struct ask *gone = *at;

	*at = gone->next;
	for (size_t i = 0; i < gone->count; i++) {
		free(gone->inquiries[i].text);
		free(gone->inquiries[i].answer);
		choices_release(&gone->inquiries[i].choices);
	}
	free(gone->inquiries);
	free(gone->id);
	free(gone->agent);
	free(gone->text);
	free(gone);
}

void line_ask_forget(struct line *l, const char *agent)
{
	bool shown = l->state == LINE_ASKING && l->asks && !strcmp(l->asks->agent, agent);

	for (struct ask **at = &l->asks; *at;) {
		if (strcmp((*at)->agent, agent) != 0)
			at = &(*at)->next;
		else
			line_ask_drop(at);
	}
	if (!shown)
		return;
	line_hide(l);
	line_continue(l);
}

void line_ask_release(struct line *l)
{
	while (l->asks)
		line_ask_drop(&l->asks);
}

/* ---- what is shown ----------------------------------------------------------------------------------------------- */

static void add_field(struct buf *out, const char *name, const char *text)
{
	if (!text[0])
		return;
	buf_addf(out, "\n  %s: ", name);
	render_line(out, str_from(text));
}

/* Whose descendant it is, if that is not the main agent. */
static void add_ancestors(struct buf *out, const struct cadre_event *e)
{
	if (cadre_event_figure(e, CADRE_FIGURE_DEPTH) > 1)
		add_field(out, "asked by", cadre_event_detail(e, CADRE_DETAIL_PATH));
}

/* ---- a new one --------------------------------------------------------------------------------------------------- */

static void ask_add_inquiry(struct ask *ask, const struct cadre_event *e)
{
	AUTO_BUF struct buf text = { 0 };
	const char *label, *meaning;
	size_t i = ask->count++;

	ask->inquiries = xrealloc(ask->inquiries, ask->count * sizeof *ask->inquiries);
	struct inquiry *q = &ask->inquiries[i];
	*q = (struct inquiry){ .choices.several = cadre_event_takes_several(e, i) };
	render_text(&text, str_from(cadre_event_question(e, i)));
	while ((label = cadre_event_choice(e, i, q->choices.count, &meaning))) {
		q->choices.labels = xrealloc(q->choices.labels, (q->choices.count + 1) * sizeof *q->choices.labels);
		q->choices.labels[q->choices.count++] = xstrdup(label);
		buf_addf(&text, "\n  %zu. ", q->choices.count);
		render_line(&text, str_from(label));
		buf_addstr(&text, meaning[0] ? " - " : "");
		render_line(&text, str_from(meaning));
	}
	q->text = buf_take(&text, NULL);
}

/* May this call run? All its lines are shown: what is allowed must have been seen. */
static void describe_call(struct buf *out, struct line *l, const struct cadre_event *e, const char *who)
{
	struct str rest = view_event_text(e);
	struct str subject = cadre_event_offers_edits(e) ? rest : str_cut(&rest, '\n');
	const char *rule;

	buf_addstr(out, "Allow ");
	render_line(out, str_from(cadre_event_name(e)));
	buf_addstr(out, who[0] ? " for " : "");
	render_line(out, str_from(who));
	buf_addstr(out, subject.n ? ": " : "");
	render_text(out, subject);
	buf_addch(out, '?');
	if (!cadre_event_offers_edits(e) && rest.n) {
		buf_addch(out, '\n');
		render_text(out, rest);
	}
	add_ancestors(out, e);
	add_field(out, "why", cadre_event_why(e));
	for (size_t i = 0; (rule = cadre_event_rule(e, i)); i++)
		add_field(out, "rule", rule);
	if (cadre_event_rule(e, 0))
		add_field(out, "always keeps it in", cadre_rules_file(l->session));
}

void line_ask_add(struct line *l, const struct cadre_event *e)
{
	AUTO_BUF struct buf text = { 0 }, who = { 0 };
	struct ask **at = &l->asks;
	struct ask *ask = xcalloc(1, sizeof *ask);

	ask->id = xstrdup(cadre_event_id(e));
	ask->agent = xstrdup(cadre_event_agent(e));
	ask->has_rule = cadre_event_rule(e, 0) != NULL;
	ask->has_edits = cadre_event_offers_edits(e);
	while (cadre_event_question(e, ask->count))
		ask_add_inquiry(ask, e);
	agent_title(&who, e);
	if (!ask->count) {
		buf_addstr(&text, l->view.reader ? "Permission Required: " : "");
		describe_call(&text, l, e, buf_str(&who).p);
		int number = 0;
		if (l->view.reader) { /* in the order of answer_of() */
			buf_addf(&text, "\n%d. Yes", ++number);
			if (ask->has_rule)
				buf_addf(&text, "\n%d. Yes, for this session\n%d. Yes, always", number + 1, number + 2);
			number += 2 * ask->has_rule;
			if (ask->has_edits)
				buf_addf(&text, "\n%d. Yes, and accept edits from now on", ++number);
			buf_addf(&text, "\n%d. No", number + 1);
		}
	} else if (who.n) {
		render_line(&text, buf_str(&who));
		buf_addstr(&text, " asks:");
		add_ancestors(&text, e);
	}
	ask->text = buf_take(&text, NULL);
	while (*at)
		at = &(*at)->next;
	*at = ask;
	if (l->state == LINE_WORKING || l->state == LINE_READING)
		line_ask_next(l);
}

/* ---- may a call run? --------------------------------------------------------------------------------------------- */

struct answer {
	bool known, allow;
	enum cadre_scope scope;
};

/* What stands for an answer; anything else is a no with a reason. An answer that was not offered is asked again. */
static bool is_offered(const struct ask *ask, enum cadre_scope scope)
{
	bool lasting = scope == CADRE_FOR_SESSION || scope == CADRE_ALWAYS;

	return lasting ? ask->has_rule : scope != CADRE_ACCEPT_EDITS || ask->has_edits;
}

static struct answer answer_of(const struct ask *ask, struct str s, bool numbered)
{
	static const struct {
		const char *letter, *word;
		bool allow;
		enum cadre_scope scope;
	} words[] = {
		{ "y", "yes", true, CADRE_ONCE },      { "s", "session", true, CADRE_FOR_SESSION },
		{ "a", "always", true, CADRE_ALWAYS }, { "e", "edits", true, CADRE_ACCEPT_EDITS },
		{ "n", "no", false, CADRE_ONCE },
	};

	uint64_t number = 0;
	if (numbered && str_to_u64(s, &number)) { /* in the order of the list */
		for (size_t i = 0; i < COUNT_OF(words) && number; i++)
			if (is_offered(ask, words[i].scope) && --number == 0)
				return (struct answer){ true, words[i].allow, words[i].scope };
		return (struct answer){ .known = false };
	}
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		if (!str_is_nocase(s, words[i].letter) && !str_is_nocase(s, words[i].word))
			continue;
		return (struct answer){ is_offered(ask, words[i].scope), words[i].allow, words[i].scope };
	}
	return (struct answer){ .known = s.n > 0 };
}

static void on_answer(const char *text, void *data)
{
	struct line *l = data;
	struct str s = text ? str_trim(str_from(text)) : STR("no"); /* Ctrl-D */
	struct answer answer = answer_of(l->asks, s, l->view.reader);
	uint64_t number;
	bool plain = answer.allow || str_is_nocase(s, "n") || str_is_nocase(s, "no") ||
		     (l->view.reader && str_to_u64(s, &number));
	AUTO_FREE char *reason = plain ? NULL : xstrndup(s.p, s.n);
	char why[240] = "";

	line_hide(l);
	if (!answer.known) {
		line_ask_next(l);
		return;
	}
	if (cadre_answer(l->session, l->asks->id, answer.allow, answer.scope, reason, why, sizeof why) < 0) {
		AUTO_BUF struct buf note = { 0 };
		render_line(&note, str_from(why));
		line_say(l, note.p);
	}
	line_ask_drop(&l->asks);
	line_continue(l);
}

/* ---- what an agent wants to know --------------------------------------------------------------------------------- */

static void line_give_answers(struct line *l)
{
	struct ask *ask = l->asks;
	const char **answers = xcalloc(ask->count, sizeof *answers);

	for (size_t i = 0; i < ask->count; i++)
		answers[i] = ask->inquiries[i].answer;
	(void)cadre_answer_question(l->session, ask->id, answers, ask->at); /* it may be gone by now */
	free(answers);
	line_ask_drop(&l->asks);
	line_continue(l);
}

static void on_choice(const char *text, void *data)
{
	struct line *l = data;
	struct ask *ask = l->asks;
	struct inquiry *q = &ask->inquiries[ask->at];
	AUTO_BUF struct buf answer = { 0 };

	line_hide(l);
	if (!text) { /* Ctrl-D: none of this is answered */
		ask->at = 0;
		line_give_answers(l);
		return;
	}
	if (choice_read(&q->choices, str_from(text), &answer)) {
		q->answer = buf_take(&answer, NULL);
		ask->at++;
	}
	if (ask->at == ask->count)
		line_give_answers(l);
	else
		line_ask_next(l);
}

/* ---- the first of the row ---------------------------------------------------------------------------------------- */

void line_ask_next(struct line *l)
{
	const struct ask *ask = l->asks;

	l->state = LINE_ASKING;
	if (!ask->count || (!ask->at && ask->text[0]))
		line_say(l, ask->text);
	if (ask->count)
		line_say(l, ask->inquiries[ask->at].text);
	line_wait(l);
}

void line_ask_open(struct line *l)
{
	const struct ask *ask = l->asks;
	AUTO_BUF struct buf prompt = { 0 };

	if (!ask->count && l->view.reader)
		buf_addf(&prompt, "Enter 1 to %d, or say why not: ", 2 + ask->has_edits + 2 * ask->has_rule);
	else if (!ask->count)
		buf_addf(&prompt, "[y]es / %s%s[n]o, or say why: ", ask->has_edits ? "yes and accept [e]dits / " : "",
			 ask->has_rule ? "for this [s]ession / [a]lways / " : "");
	else if (ask->inquiries[ask->at].choices.several)
		buf_addstr(&prompt, "Numbers with commas, or your own words: ");
	else
		buf_addstr(&prompt, "A number, or your own words: ");
	line_show(l, EDIT_ANSWER, prompt.p, ask->count ? on_choice : on_answer);
}

void line_ask_refuse(struct line *l)
{
	if (l->asks->count)
		on_choice(NULL, l);
	else
		on_answer(NULL, l);
}
