/* SPDX-License-Identifier: MIT
 * line_ask.c - questions to the person at the terminal: may a call run, and what agents want to know. They wait in a row,
 * whoever asks; the first one is shown. */
#include "face/cli/choice.h"
#include "face/cli/line_int.h"
#include "face/cli/render.h"

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

static void ask_free(struct ask *ask)
{
	for (size_t i = 0; i < ask->count; i++) {
		free(ask->inquiries[i].text);
		free(ask->inquiries[i].answer);
		choices_release(&ask->inquiries[i].choices);
	}
	free(ask->inquiries);
	free(ask->id);
	free(ask->agent);
	free(ask->text);
	free(ask);
}

static void drop(struct ask **at)
{
	struct ask *gone = *at;

	*at = gone->next;
	ask_free(gone);
}

void line_ask_forget(struct line *l, const char *agent)
{
	bool shown = l->state == LINE_ASKING && l->asks && !strcmp(l->asks->agent, agent);

	for (struct ask **at = &l->asks; *at;) {
		if (strcmp((*at)->agent, agent) != 0)
			at = &(*at)->next;
		else
			drop(at);
	}
	if (!shown)
		return;
	line_hide(l);
	line_go_on(l);
}

void line_ask_release(struct line *l)
{
	while (l->asks)
		drop(&l->asks);
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

static void add_rules(struct buf *out, struct line *l, const struct cadre_event *e)
{
	const char *rule;

	for (size_t i = 0; (rule = cadre_event_rule(e, i)); i++)
		add_field(out, "rule", rule);
	if (cadre_event_rule(e, 0))
		add_field(out, "always keeps it in", cadre_rules_file(l->session));
}

/* All its lines: what is allowed must have been seen. */
static void describe_call(struct buf *out, struct line *l, const struct cadre_event *e)
{
	AUTO_BUF struct buf who = { 0 };
	struct str rest = view_event_text(e);
	struct str subject = cadre_event_offers_edits(e) ? rest : str_cut(&rest, '\n');

	buf_addstr(out, "Allow ");
	render_line(out, str_from(cadre_event_name(e)));
	agent_title(&who, e);
	buf_addstr(out, who.n ? " for " : "");
	render_line(out, buf_str(&who));
	buf_addstr(out, subject.n ? ": " : "");
	render_text(out, subject);
	buf_addch(out, '?');
	if (!cadre_event_offers_edits(e) && rest.n) {
		buf_addch(out, '\n');
		render_text(out, rest);
	}
	add_ancestors(out, e);
	add_field(out, "why", cadre_event_why(e));
	add_rules(out, l, e);
}

static void describe_inquiry(struct buf *out, const struct cadre_event *e, size_t i)
{
	const char *meaning;
	const char *label;

	render_text(out, str_from(cadre_event_question(e, i)));
	for (size_t k = 0; (label = cadre_event_choice(e, i, k, &meaning)); k++) {
		buf_addf(out, "\n  %zu. ", k + 1);
		render_line(out, str_from(label));
		buf_addstr(out, meaning[0] ? " - " : "");
		render_line(out, str_from(meaning));
	}
}

/* ---- a new one --------------------------------------------------------------------------------------------------- */

static void read_choices(struct choices *c, const struct cadre_event *e, size_t i)
{
	const char *label;

	c->several = cadre_event_takes_several(e, i);
	while ((label = cadre_event_choice(e, i, c->count, NULL))) {
		c->labels = xrealloc(c->labels, (c->count + 1) * sizeof *c->labels);
		c->labels[c->count++] = xstrdup(label);
	}
}

static void read_inquiries(struct ask *ask, const struct cadre_event *e)
{
	while (cadre_event_question(e, ask->count)) {
		AUTO_BUF struct buf text = { 0 };
		ask->inquiries = xrealloc(ask->inquiries, (ask->count + 1) * sizeof *ask->inquiries);
		struct inquiry *q = &ask->inquiries[ask->count];
		*q = (struct inquiry){ 0 };
		describe_inquiry(&text, e, ask->count);
		q->text = buf_take(&text, NULL);
		read_choices(&q->choices, e, ask->count++);
	}
}

static void describe_asker(struct buf *out, const struct cadre_event *e)
{
	AUTO_BUF struct buf who = { 0 };

	agent_title(&who, e);
	if (!who.n)
		return;
	render_line(out, buf_str(&who));
	buf_addstr(out, " asks:");
	add_ancestors(out, e);
}

void line_ask_add(struct line *l, const struct cadre_event *e)
{
	AUTO_BUF struct buf text = { 0 };
	struct ask **at = &l->asks;
	struct ask *ask = xcalloc(1, sizeof *ask);

	ask->id = xstrdup(cadre_event_id(e));
	ask->agent = xstrdup(cadre_event_agent(e));
	ask->has_rule = cadre_event_rule(e, 0) != NULL;
	ask->has_edits = cadre_event_offers_edits(e);
	read_inquiries(ask, e);
	if (ask->count)
		describe_asker(&text, e);
	else
		describe_call(&text, l, e);
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
static struct answer answer_of(const struct ask *ask, struct str s)
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

	for (size_t i = 0; i < COUNT_OF(words); i++) {
		if (!str_is_nocase(s, words[i].letter) && !str_is_nocase(s, words[i].word))
			continue;
		bool lasting = words[i].scope == CADRE_FOR_SESSION || words[i].scope == CADRE_ALWAYS;
		bool offered = lasting ? ask->has_rule : words[i].scope != CADRE_ACCEPT_EDITS || ask->has_edits;
		return (struct answer){ offered, words[i].allow, words[i].scope };
	}
	return (struct answer){ .known = s.n > 0 };
}

static void on_answer(const char *text, void *data)
{
	struct line *l = data;
	struct str s = text ? str_trim(str_from(text)) : STR("no"); /* Ctrl-D */
	struct answer answer = answer_of(l->asks, s);
	bool plain = answer.allow || str_is_nocase(s, "n") || str_is_nocase(s, "no");
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
	drop(&l->asks);
	line_go_on(l);
}

/* ---- what an agent wants to know --------------------------------------------------------------------------------- */

static void give_answers(struct line *l)
{
	struct ask *ask = l->asks;
	const char **answers = xcalloc(ask->count, sizeof *answers);

	for (size_t i = 0; i < ask->count; i++)
		answers[i] = ask->inquiries[i].answer;
	(void)cadre_answer_question(l->session, ask->id, answers, ask->at); /* it may be gone by now */
	free(answers);
	drop(&l->asks);
	line_go_on(l);
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
		give_answers(l);
		return;
	}
	if (choice_read(&q->choices, str_from(text), &answer)) {
		q->answer = buf_take(&answer, NULL);
		ask->at++;
	}
	if (ask->at == ask->count)
		give_answers(l);
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

	if (!ask->count)
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
