/* SPDX-License-Identifier: MIT
 * settings_key.c - checks values by type. */
#include "config/settings/settings_key.h"

static const char *const type_names[SETTING_TYPE_COUNT] = {
	[SETTING_ANY] = "anything",
	[SETTING_BOOL] = "true or false",
	[SETTING_INTEGER] = "a whole number",
	[SETTING_NUMBER] = "a number",
	[SETTING_TEXT] = "a string",
	[SETTING_CHOICE] = "",
	[SETTING_TEXTS] = "an array of strings",
	[SETTING_ONE_OR_MORE] = "a string or an array of strings",
	[SETTING_RULES] = "an array of rules",
	[SETTING_LIST] = "an array",
	[SETTING_MAP] = "an object",
	[SETTING_ENV] = "an object of strings, with names of variables as keys",
	[SETTING_LISTS] = "an object of arrays",
};

void setting_expected(struct buf *out, const struct setting_key *key)
{
	buf_addstr(out, key->choices && key->choices[1] ? "one of " : type_names[key->type]);
	for (size_t i = 0; key->choices && key->choices[i]; i++)
		buf_addf(out, "%s\"%s\"", i ? ", " : "", key->choices[i]);
	if (key->type == SETTING_INTEGER || key->type == SETTING_NUMBER)
		buf_addf(out, key->most ? " from %lld to %lld" : " from %lld on", (long long)key->least,
			 (long long)key->most);
}

static int compare(const void *path, const void *key)
{
	const struct str *a = path;
	struct str b = str_from(((const struct setting_key *)key)->path);
	int order = memcmp(a->p, b.p, MIN(a->n, b.n));

	return order ? order : (a->n > b.n) - (a->n < b.n);
}

const struct setting_key *setting_find(struct str path)
{
	return path.n ? bsearch(&path, setting_table, setting_count, sizeof *setting_table, compare) : NULL;
}

const struct setting_key *setting_nearest(struct str path)
{
	const struct setting_key *best = NULL;
	size_t limit = MIN(path.n / 4 + 1, (size_t)3); /* further away it is another setting */

	for (size_t i = 0; i < setting_count; i++) {
		struct str known = str_from(setting_table[i].path);
		const char *dot = strrchr(known.p, '.');
		if (str_eq(path, known))
			return NULL; /* a name with dots, where objects are meant */
		if (str_is_nocase(path, known.p) || (dot && str_is_nocase(path, dot + 1)))
			return &setting_table[i];
		size_t d = str_distance(path, known);
		if (path.n > 2 && d <= limit) {
			best = &setting_table[i];
			limit = d - (d > 0);
		}
	}
	return best;
}

bool setting_is_remark(struct str name)
{
	return str_is(name, "$schema");
}

bool setting_is_group(struct str path)
{
	for (size_t i = 0; path.n && i < setting_count; i++) {
		struct str known = str_from(setting_table[i].path);
		if (known.n > path.n && known.p[path.n] == '.' && str_starts(known, path))
			return true;
	}
	return false;
}

/* The part before the last dot; may be empty. */
static struct str parent_of(struct str path)
{
	size_t n = path.n;

	while (n && path.p[n - 1] != '.')
		n--;
	return (struct str){ path.p, n ? n - 1 : 0 };
}

const struct setting_key *setting_at_or_above(struct str path)
{
	const struct setting_key *key = NULL;

	for (; path.n && !key; path = parent_of(path))
		key = setting_find(path);
	return key;
}

bool setting_is_whole(struct str path)
{
	const struct setting_key *key = setting_find(path);
	const struct setting_key *map = setting_at_or_above(parent_of(path));

	return (key && key->flags & SETTING_WHOLE) || (map && map->flags & (SETTING_WHOLE_MEMBERS | SETTING_WHOLE));
}

bool setting_restricts(struct str path)
{
	/* A name that ends with '*' stands for all that begin so. */
	static const char *const names[] = {
		"allowManaged*",
		"allowedHttpHookUrls",
		"allowedMcpServers",
		"availableModels",
		"blockedMarketplaces",
		"deniedMcpServers",
		"disableAutoMode",
		"disableSideloadFlags",
		"disableSkillShellExecution",
		"disabledMcpjsonServers",
		"enforceAvailableModels",
		"hooks",
		"httpHookAllowedEnvVars",
		"permissions.ask",
		"permissions.deny",
		"permissions.disable*",
		"sandbox.*",
		"strict*",
		"subagents.max*",
	};

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct str name = str_from(names[i]);
		bool all = name.p[name.n - 1] == '*';
		struct str head = { name.p, name.n - all };
		if (all ? str_starts(path, head) : str_eq(path, name))
			return true;
		if (head.n > path.n && head.p[path.n] == '.' && str_starts(head, path))
			return true;
	}
	return false;
}

struct setting_spot setting_below(struct arena *a, struct setting_spot above, struct str name)
{
	if (!above.group || !name.n || memchr(name.p, '.', name.n))
		return (struct setting_spot){ 0 };
	char *path = above.path.n ? arena_printf(a, STR_FMT "." STR_FMT, STR_ARG(above.path), STR_ARG(name))
				  : arena_dup(a, name.p, name.n);
	struct str text = str_from(path);
	return (struct setting_spot){ setting_find(text), setting_is_group(text), text };
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static const struct json *misfit_unless(bool fits, const struct json *value)
{
	return fits ? NULL : value;
}

/* Nodes of one file stand in the order of its text. */
static bool is_behind(const struct json *v, const struct json *after)
{
	return !after || v > after;
}

static const struct json *misfit_in_list(const struct json *list, enum json_type one, enum json_type other,
					 const struct json *after)
{
	if (!json_is(list, JSON_ARRAY))
		return list;
	for (const struct json *v = json_first(list); v; v = json_next(list, v))
		if (is_behind(v, after) && v->type != one && v->type != other)
			return v;
	return NULL;
}

static bool is_choice(const struct json *value, const char *const *choices)
{
	for (; *choices; choices++)
		if (json_str_is(value, *choices))
			return true;
	return false;
}

/* What setenv() takes. */
static bool is_variable(const struct json *name)
{
	AUTO_ARENA struct arena scratch = { 0 };
	const char *text = json_cstr(name, &scratch);

	return text && text[0] && !strchr(text, '=');
}

static bool is_env_value(const struct json *value)
{
	AUTO_ARENA struct arena scratch = { 0 };

	if (json_is(value, JSON_STRING))
		return json_cstr(value, &scratch) != NULL;
	return json_is(value, JSON_NUMBER) || json_is(value, JSON_TRUE) || json_is(value, JSON_FALSE);
}

static const struct json *misfit_in_env(const struct json *value, const struct json *after)
{
	if (!json_is(value, JSON_OBJECT))
		return value;
	for (struct json_member m = json_members(value); m.key; m = json_member_next(value, m)) {
		if (!is_behind(m.value, after))
			continue;
		if (is_behind(m.key, after) && !is_variable(m.key))
			return m.key;
		if (!is_env_value(m.value))
			return m.value;
	}
	return NULL;
}

static const struct json *misfit_in_lists(const struct json *value, const struct json *after)
{
	if (!json_is(value, JSON_OBJECT))
		return value;
	for (struct json_member m = json_members(value); m.key; m = json_member_next(value, m))
		if (is_behind(m.value, after) && !json_is(m.value, JSON_ARRAY))
			return m.value;
	return NULL;
}

const struct json *setting_misfit(const struct setting_key *key, const struct json *value, const struct json *after)
{
	int64_t n;

	switch (key->type) {
	case SETTING_ANY:
		return misfit_unless(!json_is(value, JSON_NULL), value);
	case SETTING_BOOL:
		return misfit_unless(json_is(value, JSON_TRUE) || json_is(value, JSON_FALSE), value);
	case SETTING_INTEGER:
		return misfit_unless(json_i64(value, &n) && n >= key->least && (!key->most || n <= key->most), value);
	case SETTING_NUMBER:
		return misfit_unless(json_is(value, JSON_NUMBER) && json_double(value) >= (double)key->least, value);
	case SETTING_TEXT:
		return misfit_unless(json_is(value, JSON_STRING), value);
	case SETTING_CHOICE:
		return misfit_unless(is_choice(value, key->choices), value);
	case SETTING_TEXTS:
		return misfit_in_list(value, JSON_STRING, JSON_STRING, after);
	case SETTING_ONE_OR_MORE:
		return json_is(value, JSON_STRING) ? NULL : misfit_in_list(value, JSON_STRING, JSON_STRING, after);
	case SETTING_RULES:
		return misfit_in_list(value, JSON_STRING, JSON_OBJECT, after);
	case SETTING_LIST:
		return misfit_unless(json_is(value, JSON_ARRAY), value);
	case SETTING_MAP:
		return misfit_unless(json_is(value, JSON_OBJECT), value);
	case SETTING_ENV:
		return misfit_in_env(value, after);
	case SETTING_LISTS:
		return misfit_in_lists(value, after);
	case SETTING_TYPE_COUNT:
		break;
	}
	return value;
}
