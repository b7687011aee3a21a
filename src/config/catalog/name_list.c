/* SPDX-License-Identifier: MIT
 * name_list.c - lists of names, in all the ways that people write them. */
#include "config/catalog/name_list.h"

enum { LIMIT_NAMES = 1024 };

struct list_reader {
	const struct name_list_spec *spec;
	struct name_list *list;
	size_t cap;
	bool full;
};

static void complain(struct list_reader *l, const char *what)
{
	l->spec->complain(l->spec->data, what);
}

static struct str without_quotes(struct str s)
{
	while (s.n && char_in(s.p[0], "\"'`") && s.p[0])
		s = (struct str){ s.p + 1, s.n - 1 };
	while (s.n && char_in(s.p[s.n - 1], "\"'`") && s.p[s.n - 1])
		s.n--;
	return str_trim(s);
}

static void add_name(struct list_reader *l, struct str name)
{
	struct name_list *list = l->list;

	name = without_quotes(str_trim(name));
	if (!name.n || l->full)
		return;
	for (size_t i = 0; i < list->count; i++)
		if (str_is(name, list->names[i]))
			return;
	if (list->count == LIMIT_NAMES) {
		complain(l, "too many names");
		l->full = true;
		return;
	}
	if (list->count == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 8;
		const char **names = arena_alloc(l->spec->arena, l->cap * sizeof *names);
		if (list->count)
			memcpy(names, list->names, list->count * sizeof *names);
		list->names = names;
	}
	list->names[list->count++] = arena_dup(l->spec->arena, name.p, name.n);
	list->all = list->all || str_is(name, "*");
}

static bool is_separator(char c)
{
	return c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Splits at commas and blanks, but not inside parentheses: `Bash(git add:*, git commit:*) Read` is two names. */
static void add_split(struct list_reader *l, struct str s)
{
	size_t start = 0;
	int depth = 0;

	for (size_t i = 0; i < s.n && depth >= 0; i++) {
		depth += (s.p[i] == '(') - (s.p[i] == ')');
		if (depth || !is_separator(s.p[i]))
			continue;
		add_name(l, (struct str){ s.p + start, i - start });
		start = i + 1;
	}
	if (depth)
		complain(l, "a parenthesis is not closed or not opened");
	else
		add_name(l, (struct str){ s.p + start, s.n - start });
}

static void add_value(struct list_reader *l, const struct json *value, unsigned depth);

/* `[a, b]` inside a string: JSON, or the same without its quotes. */
static void add_bracketed(struct list_reader *l, struct str s, unsigned depth)
{
	AUTO_JSON struct json_reader reader = { .limits = { .depth = 8, .bytes = 1 << 20 } };
	const struct json *root;

	if (s.p[s.n - 1] != ']')
		complain(l, "the list is not closed");
	else if (json_parse(&reader, s.p, s.n, &root, NULL) == 0)
		add_value(l, root, depth + 1);
	else
		add_split(l, (struct str){ s.p + 1, s.n - 2 });
}

static void add_string(struct list_reader *l, struct str s, unsigned depth)
{
	s = str_trim(s);
	if (str_is_nocase(s, "all") || str_is_nocase(s, "all tools"))
		add_name(l, STR("*"));
	else if (s.n && s.p[0] == '[')
		add_bracketed(l, s, depth);
	else
		add_split(l, s);
}

static bool means_no(const struct json *value)
{
	return json_is(value, JSON_FALSE) || json_str_is(value, "false") || json_str_is(value, "no") ||
	       json_str_is(value, "off") || json_str_is(value, "deny");
}

static void add_map(struct list_reader *l, const struct json *map)
{
	l->spec->note(l->spec->data, "a map was read as the list of its keys that are not false");
	for (struct json_member m = json_members(map); m.key; m = json_member_next(map, m)) {
		if (json_is(m.value, JSON_ARRAY) || json_is(m.value, JSON_OBJECT))
			complain(l, "a map with lists or maps inside is not a list of names");
		else if (!means_no(m.value))
			add_name(l, json_str(m.key, l->spec->scratch));
	}
}

/* YAML takes `- Edit(a: b)` for a map, because of the blank behind the colon. Nothing is lost by joining it again. */
static bool add_torn_entry(struct list_reader *l, const struct json *entry)
{
	struct json_member m = json_members(entry);
	struct str key = json_str(m.key, l->spec->scratch), value = json_str(m.value, l->spec->scratch);
	AUTO_BUF struct buf whole = { 0 };

	if (entry->count != 1 || !json_is(m.value, JSON_STRING) || !str_has(key, STR("(")) ||
	    !str_ends(value, STR(")")))
		return false;
	buf_addf(&whole, STR_FMT ": " STR_FMT, STR_ARG(key), STR_ARG(value));
	add_split(l, buf_str(&whole));
	return true;
}

static void add_list(struct list_reader *l, const struct json *list, unsigned depth)
{
	for (const struct json *v = json_first(list); v; v = json_next(list, v)) {
		if (!json_is(v, JSON_OBJECT))
			add_value(l, v, depth + 1);
		else if (!add_torn_entry(l, v))
			complain(l, "an entry is a map");
	}
}

static void add_value(struct list_reader *l, const struct json *value, unsigned depth)
{
	if (depth > 4)
		complain(l, "lists are nested too deeply");
	else if (json_is(value, JSON_STRING))
		add_string(l, json_str(value, l->spec->scratch), depth);
	else if (json_is(value, JSON_ARRAY))
		add_list(l, value, depth);
	else if (json_is(value, JSON_OBJECT))
		add_map(l, value);
	else if (json_is(value, JSON_NUMBER) || json_is(value, JSON_TRUE))
		add_name(l, json_raw(value));
}

void name_list_read(struct name_list *ret, const struct json *value, const struct name_list_spec *spec)
{
	struct list_reader l = { .spec = spec, .list = ret };

	*ret = (struct name_list){ .present = true };
	add_value(&l, value, 0);
}
