/* SPDX-License-Identifier: MIT
 * ask.c - questions to the user: permissions of calls, and what agents want to know. They wait in one row; the first one opens as
 * a list of choices in the place of the input.
 *
 *     WAITS --line empty, no key for 1 s; or Tab--> OPENS --no key for 400 ms--> TAKES KEYS --Enter--> answered
 *
 * What was typed before never answers: until a question takes keys they go into the draft. */
#include <sys/ioctl.h>
#include <unistd.h>
#include "face/cli/view.h"
#include "face/screen/markdown.h"
#include "face/tui/ask.h"
#include "lib/base/list.h"
#include "lib/base/utf8.h"
#include "lib/json/json.h"

enum { QUIET_MS = 1000, SETTLE_MS = 400 };

#define TRUST_ID "trust of this folder"

static void drop_ask(struct ask **at)
{
	struct ask *gone = *at;

	*at = gone->next;
	for (size_t i = 0; i < gone->count; i++) {
		struct inquiry *q = &gone->inquiries[i];
		for (size_t k = 0; k < q->count; k++) {
			free(q->choices[k].label);
			free(q->choices[k].value);
		}
		free(q->choices);
		free(q->answer);
		styled_release(&q->text);
	}
	draft_release(&gone->words);
	form_free(gone->form);
	free(gone->rule);
	free(gone->inquiries);
	free(gone->id);
	free(gone->agent);
	free(gone);
}

static void close_first(struct tui *t)
{
	t->asking = false;
	drop_ask(&t->asks);
	tui_changed(t);
	ask_consider(t);
}

void ask_drop(struct tui *t, const char *agent, const char *id, struct str why)
{
	const struct ask *first = t->asks;
	AUTO_BUF struct buf said = { 0 };

	for (struct ask **at = &t->asks; *at;) {
		if (strcmp(id ? (*at)->id : (*at)->agent, id ? id : agent) != 0) {
			at = &(*at)->next;
			continue;
		}
		agents_set_asking(&t->agents, (*at)->agent, false);
		drop_ask(at);
	}
	if (t->asking && t->asks != first) {
		buf_addf(&said, "The question is closed: " STR_FMT ".", STR_ARG(why));
		t->asking = false;
		feed_say(t, LOOK_DIM, buf_str(&said));
		ask_consider(t);
	}
	tui_changed(t);
}

void ask_release(struct tui *t)
{
	while (t->asks)
		drop_ask(&t->asks);
}

static struct choice *add_choice(struct inquiry *q, const char *label)
{
	q->choices = xrealloc(q->choices, (q->count + 1) * sizeof *q->choices);
	struct choice *c = &q->choices[q->count++];
	*c = (struct choice){ .label = render_copy(str_from(label)) };
	return c;
}

static void add_answer(struct inquiry *q, const char *label, const char *value)
{
	struct choice *c = add_choice(q, label);

	c->kind = CHOICE_ANSWER;
	c->value = xstrdup(value);
}

static void add_permission_choices(struct tui *t, struct ask *ask, const struct cadre_event *e)
{
	struct inquiry *q = &ask->inquiries[0];
	AUTO_BUF struct buf rules = { 0 }, label = { 0 };
	AUTO_FREE char *cwd = getcwd(NULL, 0);
	const char *rule, *file = cadre_rules_file(t->session);
	size_t patch;
	size_t below = cwd && !strncmp(file, cwd, strlen(cwd)) && file[strlen(cwd)] == '/' ? strlen(cwd) + 1 : 0;

	add_choice(q, "Yes");
	(void)cadre_event_patch(e, &patch);
	ask->is_edit = patch && !ask->agent[0] && !strcmp(cadre_session_mode(t->session), "default");
	if (cadre_event_can_accept_edits(e) || ask->is_edit)
		add_choice(q, "Yes, and accept edits from now on")->scope = CADRE_ACCEPT_EDITS;
	for (size_t i = 0; (rule = cadre_event_rule(e, i)); i++)
		buf_addf(&rules, "%s%s", i ? ", " : "", rule);
	if (rules.n) {
		buf_addf(&label, "Yes, for this session: %s", rules.p);
		add_choice(q, label.p)->scope = CADRE_FOR_SESSION;
		buf_clear(&label);
		buf_addf(&label, "Yes, always, kept in %s: %s", file + below, rules.p);
		add_choice(q, label.p)->scope = CADRE_ALWAYS;
		ask->rule = xstrdup(cadre_event_rule(e, 0));
	}
	add_choice(q, "No")->kind = CHOICE_DENY;
	add_choice(q, "No, and say why")->kind = CHOICE_DENY_WHY;
}

/* The plan of ExitPlanMode, as Markdown */
static bool describe_plan(struct tui *t, struct styled *out, struct str text)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *root = NULL;

	if (json_parse(&reader, text.p, text.n, &root, NULL) == 0)
		text = json_str(json_get(root, "plan"), &a);
	if (text.n)
		markdown_render(text, t->region.columns - 1, true, out);
	return text.n > 0;
}

/* What an edit would change, below the path of its file. False: not an edit, or it cannot be applied. */
static bool describe_edit(struct tui *t, struct styled *out, const struct cadre_event *e)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *patch = NULL;
	size_t n, added, removed;
	const char *json = cadre_event_patch(e, &n);

	if (!n || json_parse(&reader, json, n, &patch, NULL) < 0)
		return false;
	styled_add(out, LOOK_PLAIN, STR("  "));
	styled_add_line(out, LOOK_PLAIN, json_str(json_get(patch, "filePath"), &a));
	diff_paint(t, json_get(patch, "structuredPatch"), 6, SIZE_MAX, out, &added, &removed);
	return true;
}

/* The agent that asks, and below which others it works; nothing for the main agent */
static void add_who(struct buf *out, const struct cadre_event *e)
{
	agent_title(out, e);
	if (out->n && cadre_event_int(e, CADRE_INT_DEPTH) > 1)
		buf_addf(out, ", %s,", cadre_event_str(e, CADRE_STR_PATH));
}

static void describe_call(struct tui *t, struct styled *out, const struct cadre_event *e)
{
	AUTO_BUF struct buf who = { 0 };
	struct str text = view_event_text(e);

	add_who(&who, e);
	styled_add_foreign(out, LOOK_BOLD, who.n ? buf_str(&who) : STR("cadre"));
	if (!strcmp(cadre_event_name(e), "ExitPlanMode")) {
		styled_add(out, LOOK_BOLD, STR(" has a plan:\n"));
		if (describe_plan(t, out, text))
			return;
	}
	styled_add(out, LOOK_BOLD, STR(" wants to use "));
	styled_add_foreign(out, LOOK_BOLD, str_from(cadre_event_name(e)));
	styled_add(out, LOOK_BOLD, STR(":\n"));
	bool is_edit = describe_edit(t, out, e);
	for (struct str rest = text; !is_edit && rest.p && text.n;) {
		styled_add(out, LOOK_PLAIN, STR("  "));
		styled_add_line(out, LOOK_PLAIN, str_cut(&rest, '\n'));
	}
	if (cadre_event_why(e)[0]) {
		styled_add(out, LOOK_DIM, STR("why: "));
		styled_add_line(out, LOOK_DIM, str_from(cadre_event_why(e)));
	}
}

static void add_inquiry(struct ask *ask, const struct cadre_event *e, size_t i)
{
	struct inquiry *q = &ask->inquiries[i];
	AUTO_BUF struct buf who = { 0 };
	const char *label, *meaning;

	add_who(&who, e);
	if (who.n) {
		styled_add_foreign(&q->text, LOOK_DIM, buf_str(&who));
		styled_add(&q->text, LOOK_DIM, STR(" asks:\n"));
	}
	q->several = cadre_event_multi_select(e, i);
	styled_add_foreign_lines(&q->text, LOOK_BOLD, str_from(cadre_event_question(e, i)));
	styled_add(&q->text, LOOK_PLAIN, STR("\n"));
	while ((label = cadre_event_choice(e, i, q->count, &meaning))) {
		AUTO_BUF struct buf text = { 0 };
		buf_addf(&text, "%s%s%s", label, meaning[0] ? " - " : "", meaning);
		add_answer(q, text.p, label);
	}
	add_choice(q, "Other: in your own words")->kind = CHOICE_OWN;
}

static void ask_queue(struct tui *t, struct ask *ask)
{
	agents_set_asking(&t->agents, ask->agent, true);
	list_push_last(&t->asks, ask);
	notice_user(t, "a question waits");
	ask_consider(t);
	tui_changed(t);
}

void ask_add(struct tui *t, const struct cadre_event *e)
{
	struct ask *ask = xnew(struct ask, .id = xstrdup(cadre_event_id(e)), .agent = xstrdup(cadre_event_agent(e)));

	while (cadre_event_question(e, ask->count))
		ask->count++;
	ask->permission = !ask->count;
	ask->count = MAX(ask->count, (size_t)1);
	ask->inquiries = xcalloc(ask->count, sizeof *ask->inquiries);
	ask->is_plan = ask->permission && !strcmp(cadre_event_name(e), "ExitPlanMode");
	if (ask->permission) {
		describe_call(t, &ask->inquiries[0].text, e);
		if (!t->lines)
			styled_expand_tabs(&ask->inquiries[0].text);
		add_permission_choices(t, ask, e);
	}
	for (size_t i = 0; !ask->permission && i < ask->count; i++)
		add_inquiry(ask, e, i);
	if (cadre_event_kind(e) == CADRE_ELICITATION_ASKED && !t->lines)
		ask->form = form_new(e);
	if (ask->form) { /* one question with all fields */
		struct styled *text = &ask->inquiries[0].text;
		struct str rest = str_from(cadre_event_question(e, 0)), message = str_cut(&rest, '\n');
		styled_clear(text);
		styled_add(text, LOOK_BOLD, STR("server "));
		styled_add_foreign(text, LOOK_BOLD, str_from(cadre_event_name(e)));
		styled_add(text, LOOK_BOLD, STR(" asks: "));
		if (rest.p)
			styled_add_line(text, LOOK_BOLD, message);
	}
	ask_queue(t, ask);
}

/* A folder whose files do not count until the user trusts it: asked once. */
void ask_trust(struct tui *t, struct str why)
{
	if (t->trust_asked)
		return;
	t->trust_asked = true;
	/* no agent: no end takes it away */
	struct ask *ask = xnew(struct ask, .id = xstrdup(TRUST_ID), .agent = xstrdup("-"), .count = 1);
	ask->inquiries = xcalloc(1, sizeof *ask->inquiries);
	struct inquiry *q = &ask->inquiries[0];
	styled_add(&q->text, LOOK_BOLD, STR("Do you trust this folder?\n"));
	styled_add_foreign(&q->text, LOOK_PLAIN, why);
	styled_add(&q->text, LOOK_DIM,
		   STR("\nRead its .claude folder first: rules, hooks and servers in it act for you.\n"));
	add_answer(q, "No, not now", "no");
	add_answer(q, "Yes, always: kept as `cadre trust` keeps it", "yes");
	ask_queue(t, ask);
}

/* Their content is not read: what they would do is held until the folder is trusted. */
void ask_trust_first(struct tui *t)
{
	static const char *const names[] = { ".claude/settings.json", ".claude/agents", ".claude/skills",
					     ".claude/commands" }; /* servers of .mcp.json are asked about one by one */
	AUTO_BUF struct buf why = { 0 }, config = { 0 };
	AUTO_FREE char *here = realpath(".claude", NULL), *own = NULL;

	if (tui_config_path(&config, ""))
		own = realpath(config.p, NULL);
	if (cadre_session_is_trusted(t->session) || (here && own && !strcmp(here, own)) ||
	    args_has(t->args, "agent-id"))
		return;
	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (access(names[i], F_OK) == 0)
			buf_addf(&why, "%s%s", why.n ? ", " : "It has ", names[i]);
	if (!why.n)
		return;
	buf_addch(&why, '.');
	t->trust_waits = true;
	ask_trust(t, buf_str(&why));
}

static void trust_is_over(struct tui *t)
{
	AUTO_BUF struct buf lines = t->without_trust;

	t->without_trust = (struct buf){ 0 };
	t->trust_waits = false;
	for (struct str rest = str_trim(buf_str(&lines)); rest.n;)
		feed_foreign(t, LOOK_DIM, str_cut(&rest, '\n'));
	tui_next_of_queue(t);
}

/* `cadre trust` has ended. A session that has done nothing starts again, with all that the folder brings. */
static void trust_recorded(struct tui *t, struct str output, bool ok)
{
	struct str rest = str_trim(output);

	feed_words(t, ok ? LOOK_DIM : LOOK_RED, str_cut(&rest, '\n'));
	bool fresh =
		ok && t->trust_waits && !t->worked && !args_has(t->args, "continue") && !args_has(t->args, "resume");
	if (fresh) {
		tui_want(t, TUI_NEW, STR(""));
		return;
	}
	if (ok)
		feed_say(t, LOOK_DIM, STR("A new session uses what this folder brings: /clear begins one."));
	trust_is_over(t);
}

void ask_open(struct tui *t)
{
	struct ask *ask = t->asks;

	if (!ask || t->asking)
		return;
	menu_close(t);
	t->asking = true;
	ask->selected = ask->scroll = 0;
	ask->saw_end = ask->takes_keys = ask->in_words = ask->in_rule = false;
	ask->open_ms = tui_now_ms();
	draft_clear(&ask->words);
	if (t->lines)
		plain_say_question(t, ask);
	tui_set_timer(t, TIMER_ASK, SETTLE_MS);
	tui_changed(t);
}

void ask_again(struct tui *t)
{
	t->asking = false;
	ask_open(t);
}

void ask_open_of(struct tui *t, const char *agent)
{
	struct ask **at = &t->asks;

	while (*at && strcmp((*at)->agent, agent) != 0)
		at = &(*at)->next;
	struct ask *found = *at;
	if (!found || t->asking)
		return;
	*at = found->next;
	found->next = t->asks;
	t->asks = found;
	ask_open(t);
}

void ask_consider(struct tui *t)
{
	int64_t quiet_ms = tui_now_ms() - MAX(t->key_ms, t->asks && t->asking ? t->asks->open_ms : 0);
	int unread = 0;

	if (!t->asks)
		return;
	if (t->asking) {
		if (t->keys.pasting || (ioctl(STDIN_FILENO, FIONREAD, &unread) == 0 && unread))
			quiet_ms = 0; /* what was typed before comes first */
		t->asks->takes_keys = t->asks->takes_keys || quiet_ms >= SETTLE_MS;
		t->asks->in_words = t->asks->in_words || (t->lines && t->asks->takes_keys);
		if (!t->asks->takes_keys)
			tui_set_timer(t, TIMER_ASK, SETTLE_MS - quiet_ms);
		tui_changed(t);
	} else if (t->lines) {
		ask_open(t); /* until it takes keys they go into the draft */
	} else if (t->draft.text.n) {
		tui_changed(t); /* the row says that it waits */
	} else if (quiet_ms < QUIET_MS) {
		tui_set_timer(t, TIMER_ASK, QUIET_MS - quiet_ms);
	} else {
		ask_open(t);
	}
}

/* The next question that waits, or the one before: it takes keys at once, since a key has brought it */
static void walk(struct tui *t, bool back)
{
	size_t waiting = 0;

	if (!t->asks->next)
		return;
	for (const struct ask *ask = t->asks->next; ask; ask = ask->next)
		waiting++;
	for (size_t n = back ? waiting : 1; n; n--) { /* the first one goes to the end */
		struct ask *first = list_pop(&t->asks);
		first->next = NULL;
		list_push_last(&t->asks, first);
	}
	ask_again(t);
	t->asks->takes_keys = true;
}

static void say_answer(struct tui *t, const struct ask *ask, const char *answer)
{
	AUTO_STYLED struct styled s = { 0 };
	struct str text = buf_str(&ask->inquiries[ask->at].text.text);
	struct str first = str_cut(&text, '\n'), second = text.p ? str_cut(&text, '\n') : STR("");

	if (t->lines) /* it stands there as it was typed */
		return;
	if (ask->is_plan) /* the answer does not tell what was approved */
		feed_styled(t, &ask->inquiries[0].text);
	styled_addf(&s, LOOK_DIM, "%s ", tui_mark(t, MARK_ASKS));
	first = ask->is_plan ? STR("the plan") : utf8_cut(ask->permission ? str_trim(second) : first, 160);
	styled_add(&s, LOOK_DIM, first);
	styled_add(&s, LOOK_DIM, str_ends(first, STR(":")) ? STR(" ") : STR(" : "));
	styled_add_foreign(&s, LOOK_PLAIN, str_from(answer));
	feed_styled(t, &s);
}

void ask_permit(struct tui *t, const struct choice *c, const char *reason)
{
	struct ask *ask = t->asks;
	bool allow = c->kind == CHOICE_ALLOW, own_rule = allow && reason;
	char why[240] = "";

	if (!own_rule)
		say_answer(t, ask, reason ? reason : c->label);
	int rc = cadre_answer(t->session, ask->id, allow, c->scope, reason, why, sizeof why);
	if (rc < 0 && own_rule) { /* asked again if it is none */
		tui_note(t, why);
		return;
	}
	if (own_rule)
		say_answer(t, ask, reason);
	else if (rc < 0)
		feed_words(t, LOOK_RED, str_from(why));
	else if (ask->is_edit && c->scope == CADRE_ACCEPT_EDITS)
		command_set(t, "permission-mode", "acceptEdits");
	if (allow)
		feed_allowed(t, ask->id);
	agents_set_asking(&t->agents, ask->agent, false);
	close_first(t);
}

static void give_answers(struct tui *t, bool declined)
{
	struct ask *ask = t->asks;
	bool trust = !strcmp(ask->id, TRUST_ID);

	if (trust && t->job) { /* it takes a command, and there is one at a time */
		tui_note(t, "a command runs: Ctrl-C ends it");
		return;
	}
	const char **answers = xcalloc(ask->count, sizeof *answers);
	for (size_t i = 0; i < ask->count; i++)
		answers[i] = ask->inquiries[i].answer;
	if (!trust) {
		if (cadre_answer_question(t->session, ask->id, answers, declined ? 0 : ask->count) == CADRE_NOT_FOUND)
			feed_say(t, LOOK_DIM, STR("The question was answered elsewhere."));
	} else if (!declined && answers[0] && !strcmp(answers[0], "yes")) {
		job_cadre(t, "trust", STR(""), trust_recorded);
	} else {
		trust_is_over(t);
	}
	free(answers);
	agents_set_asking(&t->agents, ask->agent, false);
	close_first(t);
}

void ask_answer(struct tui *t, char *answer)
{
	struct ask *ask = t->asks;

	say_answer(t, ask, answer);
	free(ask->inquiries[ask->at].answer);
	ask->inquiries[ask->at].answer = answer;
	ask->selected = ask->scroll = 0;
	ask->in_words = false;
	draft_clear(&ask->words);
	/* the next one without an answer; a tab may have passed some by */
	for (size_t i = 1; i <= ask->count; i++) {
		size_t next = (ask->at + i) % ask->count;
		if (!ask->inquiries[next].answer) {
			ask->at = next;
			if (t->lines)
				ask_again(t);
			tui_changed(t);
			return;
		}
	}
	give_answers(t, false);
}

/* A form that is complete */
static void send_form(struct tui *t)
{
	struct ask *ask = t->asks;
	AUTO_BUF struct buf said = { 0 };

	for (size_t i = 0; i < ask->count && i < form_count(ask->form); i++) {
		ask->inquiries[i].answer = form_answer(ask->form, i);
		if (ask->inquiries[i].answer)
			buf_addf(&said, "%s%s", said.n ? ", " : "", ask->inquiries[i].answer);
	}
	say_answer(t, ask, buf_str(&said).p);
	give_answers(t, false);
}

/* The end of the call was on the screen */
static bool may_allow(struct tui *t)
{
	if (!t->asks->saw_end)
		tui_note(t, "the end has not been shown: PgDn shows it");
	return t->asks->saw_end;
}

static void confirm(struct tui *t)
{
	struct ask *ask = t->asks;
	struct inquiry *q = &ask->inquiries[ask->at];
	struct choice *c = &q->choices[ask->selected];
	AUTO_BUF struct buf joined = { 0 };

	if (ask->in_words) {
		AUTO_BUF struct buf typed = { 0 };
		draft_expand(&ask->words, &typed);
		if (t->lines) {
			plain_answer(t, ask, buf_str(&typed));
			return;
		}
		AUTO_FREE char *words = buf_take(&typed, NULL);
		if (ask->in_rule)
			ask_permit(t, &(struct choice){ .kind = CHOICE_ALLOW, .scope = CADRE_ALWAYS }, words);
		else if (ask->permission)
			ask_permit(t, c, words);
		else
			ask_answer(t, TAKE(words));
		return;
	}
	if (c->kind == CHOICE_ALLOW && !may_allow(t))
		return;
	if (c->kind == CHOICE_OWN || c->kind == CHOICE_DENY_WHY) {
		ask->in_words = true;
		return;
	}
	if (ask->permission) {
		ask_permit(t, c, NULL);
		return;
	}
	c->chosen = c->chosen || !q->several;
	for (size_t i = 0; i < q->count; i++)
		if (q->choices[i].chosen)
			buf_addf(&joined, "%s%s", joined.n ? ", " : "", q->choices[i].value);
	if (!joined.n)
		buf_addstr(&joined, c->value);
	ask_answer(t, buf_take(&joined, NULL));
}

static void refuse(struct tui *t)
{
	if (t->asks->permission)
		ask_permit(t, &(struct choice){ .label = (char *)"No", .kind = CHOICE_DENY }, NULL);
	else
		give_answers(t, true);
}

static void words_key(struct tui *t, struct draft *words, const struct key *key)
{
	bool ends = t->lines && key->code == KEY_CTRL && key->letter == 'd';

	if (key->code == KEY_ENTER && !key->alt && !key->shift && (words->text.n || t->lines))
		confirm(t);
	else if (key->code == KEY_ESC) {
		if (t->asks->in_rule) /* the rule is not a reason */
			draft_clear(words);
		t->asks->in_rule = false;
		t->asks->in_words = t->lines != NULL;
	} else if (ends && !words->text.n)
		refuse(t);
	else if (ends)
		draft_delete(words, MOVE_RIGHT);
	else
		(void)input_edit(t, words, key);
}

void ask_saw_end(struct tui *t, const char *id)
{
	for (struct ask *ask = t->asks; ask; ask = ask->next)
		if (!strcmp(ask->id, id))
			ask->saw_end = true;
}

static void letter_key(struct tui *t, struct ask *ask, struct inquiry *q, char letter)
{
	if (letter >= '1' && (size_t)(letter - '1') < q->count) {
		ask->selected = (size_t)(letter - '1');
	} else if (letter == ' ' && q->several && q->choices[ask->selected].kind == CHOICE_ANSWER) {
		q->choices[ask->selected].chosen = !q->choices[ask->selected].chosen;
	} else if (letter == 'n' || letter == 'p') {
		walk(t, letter == 'p');
	} else if (letter == 'e' && ask->rule && may_allow(t)) {
		ask->in_words = ask->in_rule = true;
		draft_set(&ask->words, str_from(ask->rule));
	}
}

void ask_key(struct tui *t, const struct key *key)
{
	struct ask *ask = t->asks;
	struct inquiry *q = &ask->inquiries[ask->at];
	size_t page = MAX(MIN((size_t)t->region.rows / 2, ask->room), (size_t)1); /* no row is passed by */

	tui_changed(t);
	if (key->code == KEY_CTRL && key->letter == 'c') {
		if (t->lines && t->in_turn)
			input_action(t, ACTION_INTERRUPT);
		else
			refuse(t);
		return;
	}
	if (ask->in_words) {
		words_key(t, &ask->words, key);
		return;
	}
	if (ask->form) {
		if (key->code == KEY_ESC)
			refuse(t);
		else if (form_key(ask->form, key))
			send_form(t);
		return;
	}
	if (key->code == KEY_CTRL && key->letter == 'o') { /* all of it, on the whole screen */
		struct page *p = page_open(t, PAGE_TEXT, "The question");
		styled_append(&p->text, &q->text, 0, q->text.text.n);
		p->ask_id = xstrdup(ask->id);
		return;
	}
	switch (key->code) {
	case KEY_UP:
	case KEY_DOWN:
		ask->selected = (ask->selected + (key->code == KEY_UP ? q->count - 1 : 1)) % q->count;
		break;
	case KEY_PAGE_UP:
	case KEY_PAGE_DOWN: /* rows are counted when they are drawn */
		ask->scroll = key->code == KEY_PAGE_DOWN ? ask->scroll + page : ask->scroll - MIN(ask->scroll, page);
		break;
	case KEY_TEXT:
		if (key->text.n == 1)
			letter_key(t, ask, q, key->text.p[0]);
		break;
	case KEY_TAB:
	case KEY_LEFT:
	case KEY_RIGHT: /* the questions of one call are tabs */
		ask->at = (ask->at + (key->code == KEY_LEFT || key->shift ? ask->count - 1 : 1)) % ask->count;
		ask->selected = ask->scroll = 0;
		break;
	case KEY_ENTER:
		confirm(t);
		break;
	case KEY_ESC:
		refuse(t);
		break;
	default:
		break;
	}
}

bool ask_takes_keys(const struct tui *t)
{
	return t->asking && t->asks->takes_keys;
}
