/* SPDX-License-Identifier: MIT
 * permissions.c - /permissions: the rules by list with their files, adding and removing them, and the calls that were denied in this
 * session. */
#include <unistd.h>
#include "face/cli/view.h"
#include "face/tui/state.h"
#include "lib/json/json.h"
#include "lib/json/json_write.h"

static const char *const lists[] = { "allow", "ask", "deny" };

/* Where a rule can be stored; the first is the default of /permissions add. Others cannot be changed. */
static const struct place {
	const char *word, *source, *name;
} places[] = {
	{ "local", "localSettings", "your settings of this project" },
	{ "session", "session", "this session" },
	{ "user", "userSettings", "your settings of all projects" },
	{ "project", "projectSettings", "the project's settings, for everyone who works on it" },
};

static const char usage[] = "/permissions add allow|ask|deny RULE [local|session|user|project]\n"
			    "/permissions remove RULE [local|session|user|project]\n";

static const struct place *place_of_source(struct str source)
{
	for (size_t i = 0; i < COUNT_OF(places); i++)
		if (str_is(source, places[i].source))
			return &places[i];
	return NULL;
}

/* A command may have several lines; a row and a title have one. */
static void join_lines(struct buf *b)
{
	for (size_t i = 0; i < b->n; i++)
		if (b->p[i] == '\n')
			b->p[i] = ' ';
}

static struct page *open_list(struct tui *t, struct buf *title, page_choose_fn *choose)
{
	join_lines(title);
	return page_open_list(t, title->p, choose);
}

static void add_row(struct page *p, const struct buf *id, struct buf *text)
{
	join_lines(text);
	page_add_item(p, buf_str(id), buf_str(text));
}

/* The rules of the session, file by file; NULL: it was refused, which is said */
static const struct json *read_rules(struct tui *t, struct json_reader *reader)
{
	return show_request(t, reader, "{\"subtype\":\"list_permission_rules\"}");
}

static void change_rule(struct tui *t, const char *type, struct str list, struct str rule, const struct place *place)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf request = { 0 }, said = { 0 };
	struct json_out w = json_out(&request);
	bool adds = !strcmp(type, "addRules");

	json_putf(&w, "{subtype:'update_permissions', update:{type:'%s', behavior:'%.*s', destination:'%s'", type,
		  STR_ARG(list), place->source);
	json_putf(&w, "rules:[{toolName:'%.*s'}]}}", STR_ARG(rule));
	buf_addf(&said, STR_FMT " " STR_FMT " %s %s\n", STR_ARG(list), STR_ARG(rule),
		 adds ? "is added to" : "is removed from", place->name);
	if (show_request(t, &reader, request.p))
		feed_words(t, LOOK_DIM, buf_str(&said));
}

/* A layer whose rules are not stored in a place of ours */
static void say_fixed(struct tui *t, struct str source, struct str rule)
{
	AUTO_BUF struct buf b = { 0 };

	buf_addf(&b, STR_FMT " %s\n", STR_ARG(rule),
		 str_is(source, "policySettings") ? "is a rule of managed settings, which cannot be changed here"
						  : "was given when cadre was started: it cannot be removed here");
	feed_words(t, LOOK_YELLOW, buf_str(&b));
}

/* id: add or remove, then PLACE LIST RULE */
static void choose_change(struct tui *t, const char *id)
{
	struct str rule = str_from(id), verb = str_cut(&rule, ' '), source = str_cut(&rule, ' '),
		   list = str_cut(&rule, ' ');

	if (rule.p)
		change_rule(t, str_is(verb, "add") ? "addRules" : "removeRules", list, rule, place_of_source(source));
}

static void offer_removal(struct tui *t, struct str source, struct str list, struct str rule)
{
	const struct place *place = place_of_source(source);
	AUTO_BUF struct buf title = { 0 }, id = { 0 }, text = { 0 };

	if (!place) {
		say_fixed(t, source, rule);
		return;
	}
	buf_addf(&title, "Remove " STR_FMT " " STR_FMT, STR_ARG(list), STR_ARG(rule));
	struct page *p = open_list(t, &title, choose_change);
	buf_addf(&id, "remove %s " STR_FMT " " STR_FMT, place->source, STR_ARG(list), STR_ARG(rule));
	buf_addf(&text, "remove it from %s", place->name);
	page_add_item(p, STR("keep"), STR("keep it"));
	page_add_item(p, buf_str(&id), buf_str(&text));
}

static void offer_rule(struct tui *t, struct str rule)
{
	AUTO_BUF struct buf title = { 0 };

	buf_addf(&title, "Allow " STR_FMT, STR_ARG(rule));
	struct page *p = open_list(t, &title, choose_change);
	page_add_item(p, STR("no"), STR("no"));
	for (size_t i = 0; i < COUNT_OF(places); i++) {
		AUTO_BUF struct buf id = { 0 }, text = { 0 };
		buf_addf(&id, "add %s allow " STR_FMT, places[i].source, STR_ARG(rule));
		buf_addf(&text, "from now on, in %s", places[i].name);
		page_add_item(p, buf_str(&id), buf_str(&text));
	}
}

/* id: rule SOURCE LIST RULE, denied RULE, words TEXT, or add */
static void choose_entry(struct tui *t, const char *id)
{
	struct str rest = str_from(id), kind = str_cut(&rest, ' ');

	if (str_is(kind, "rule")) {
		struct str source = str_cut(&rest, ' '), list = str_cut(&rest, ' ');
		offer_removal(t, source, list, rest);
	} else if (str_is(kind, "denied")) {
		offer_rule(t, rest);
	} else if (str_is(kind, "words")) {
		feed_words(t, LOOK_YELLOW, rest);
	} else if (t->lines) {
		feed_say(t, LOOK_PLAIN, str_from(usage));
	} else {
		draft_set(&t->draft, STR("/permissions add allow "));
	}
}

/* A file of the folder or of the user's home by its shorter name */
static void add_file(struct buf *out, struct str file)
{
	AUTO_FREE char *cwd = getcwd(NULL, 0);
	const char *home = getenv("HOME");
	struct str here = str_from(cwd ? cwd : ""), own = str_from(home ? home : "");

	if (here.n && str_starts(file, here) && file.p[here.n] == '/')
		file = str_tail(file, here.n + 1);
	else if (own.n && str_starts(file, own) && file.p[own.n] == '/') {
		buf_addch(out, '~');
		file = str_tail(file, own.n);
	}
	buf_add(out, file.p, file.n);
}

static void add_rules(struct page *p, const struct json *rules, const char *list)
{
	AUTO_ARENA struct arena a = { 0 };

	for (const struct json *r = json_items(rules); r; r = json_next(rules, r)) {
		AUTO_BUF struct buf id = { 0 }, text = { 0 };
		struct str rule = json_str(json_get(r, "rule"), &a), source = json_str(json_get(r, "source"), &a),
			   file = json_str(json_get(r, "file"), &a);
		const struct json *counts = json_get(r, "effective");
		int64_t line = 0;
		if (!json_str_is(json_get(r, "list"), list))
			continue;
		buf_addf(&id, "rule " STR_FMT " %s " STR_FMT, STR_ARG(source), list, STR_ARG(rule));
		buf_addf(&text, "%-5s  " STR_FMT "  ", list, STR_ARG(rule));
		if (file.n) {
			(void)json_i64(json_get(r, "line"), &line);
			add_file(&text, file);
			buf_addf(&text, ":%lld", (long long)line);
		} else {
			buf_addf(&text, "%s", str_is(source, "session") ? "this session" : "the command line");
		}
		if (counts && !json_bool(counts))
			buf_addstr(&text, " (it has no effect)");
		add_row(p, &id, &text);
	}
}

static void open_rules(struct tui *t)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *root = read_rules(t, &reader), *held = json_get(root, "warnings");

	if (!root)
		return;
	struct page *p =
		page_open_list(t, "Permission rules . enter removes one, or allows what was denied", choose_entry);
	for (size_t i = 0; i < COUNT_OF(lists); i++) {
		add_rules(p, json_get(root, "rules"), lists[i]);
		add_rules(p, json_get(root, "session"), lists[i]);
	}
	for (size_t i = 0; i < MOST_DENIED && t->denied[i].text; i++) {
		AUTO_BUF struct buf id = { 0 }, text = { 0 };
		const struct denied *d = &t->denied[i];
		if (d->rule)
			buf_addf(&id, "denied %s", d->rule);
		else
			buf_addf(&id, "words %s (no rule of yours would allow it)", d->text);
		buf_addf(&text, "denied %s", d->text);
		add_row(p, &id, &text);
	}
	for (const struct json *k = json_items(held); k; k = json_next(held, k)) {
		AUTO_BUF struct buf id = { 0 }, text = { 0 };
		buf_addf(&id, "words " STR_FMT, STR_ARG(json_str(k, &a)));
		buf_addf(&text, "held   " STR_FMT, STR_ARG(json_str(k, &a)));
		add_row(p, &id, &text);
	}
	page_add_item(p, STR("add"), STR("add a rule"));
}

/* The place at the end of a rule, cut off; NULL: it names none */
static const struct place *cut_place(struct str *rule)
{
	for (size_t i = 0; i < COUNT_OF(places); i++) {
		struct str word = str_from(places[i].word);
		if (rule->n > word.n && str_ends(*rule, word) && rule->p[rule->n - word.n - 1] == ' ') {
			*rule = str_trim((struct str){ rule->p, rule->n - word.n });
			return &places[i];
		}
	}
	return NULL;
}

static void remove_rule(struct tui *t, struct str rule, const struct place *place)
{
	static const char *const members[] = { "rules", "session" };
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	const struct json *root = read_rules(t, &reader);
	struct str source = { 0 }, list = { 0 };
	size_t found = 0;

	for (size_t i = 0; i < COUNT_OF(members) && root; i++) {
		const struct json *rules = json_get(root, members[i]);
		for (const struct json *r = json_items(rules); r; r = json_next(rules, r)) {
			if (!str_eq(json_str(json_get(r, "rule"), &a), rule) ||
			    (place && !json_str_is(json_get(r, "source"), place->source)))
				continue;
			source = json_str(json_get(r, "source"), &a);
			list = json_str(json_get(r, "list"), &a);
			found++;
		}
	}
	if (found == 1 && place_of_source(source))
		change_rule(t, "removeRules", list, rule, place_of_source(source));
	else if (found == 1)
		say_fixed(t, source, rule);
	else if (root)
		feed_say(t, LOOK_YELLOW,
			 found ? STR("there are several such rules: /permissions lists them, and Enter removes one\n")
			       : STR("there is no such rule: /permissions lists them\n"));
}

void command_permissions(struct tui *t, const struct slash *slash, struct str rest)
{
	struct str words = rest, verb = str_cut(&words, ' '), rule = words.p ? str_trim(words) : STR("");
	bool adds = str_is(verb, "add");
	struct str list = adds ? str_cut(&rule, ' ') : STR("");
	const struct place *place;
	size_t i = 0;

	if (!rest.n) {
		open_rules(t);
		return;
	}
	if (!adds && !str_is(verb, "remove")) {
		job_cadre(t, slash->words, rest, NULL);
		return;
	}
	rule = rule.p ? str_trim(rule) : STR("");
	place = cut_place(&rule);
	while (adds && i < COUNT_OF(lists) && !str_is(list, lists[i]))
		i++;
	if (!rule.n || i == COUNT_OF(lists))
		feed_say(t, LOOK_YELLOW, str_from(usage));
	else if (adds)
		change_rule(t, "addRules", list, rule, place ? place : &places[0]);
	else
		remove_rule(t, rule, place);
}

void permissions_note_denied(struct tui *t, const struct cadre_event *e)
{
	const char *rule = cadre_event_rule(e, 0);
	AUTO_BUF struct buf text = { 0 };
	struct denied *last = &t->denied[MOST_DENIED - 1];

	free(last->rule);
	free(last->text);
	memmove(t->denied + 1, t->denied, (MOST_DENIED - 1) * sizeof *t->denied);
	buf_addf(&text, "%s: " STR_FMT, rule ? rule : cadre_event_name(e), STR_ARG(view_event_text(e)));
	t->denied[0] = (struct denied){ rule ? xstrdup(rule) : NULL, buf_take(&text, NULL) };
}

void permissions_forget_denied(struct tui *t)
{
	for (size_t i = 0; i < MOST_DENIED; i++) {
		free(t->denied[i].rule);
		free(t->denied[i].text);
		t->denied[i] = (struct denied){ 0 };
	}
}
