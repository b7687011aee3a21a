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
	[SETTING_TEXT_LISTS] = "an object of arrays of strings",
	[SETTING_CREDENTIALS] = "files and envVars, arrays of strings or of {path or name, mode: deny, mask or allow}",
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

static int compare_key(const void *path, const void *key)
{
	const struct str *a = path;
	struct str b = str_from(((const struct setting_key *)key)->path);
	int order = memcmp(a->p, b.p, MIN(a->n, b.n));

	return order ? order : (a->n > b.n) - (a->n < b.n);
}

const struct setting_key *setting_find(struct str path)
{
	return path.n ? bsearch(&path, setting_table, setting_count, sizeof *setting_table, compare_key) : NULL;
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
	static const char names[] =
		"allowManaged*|allowedHttpHookUrls|allowedMcpServers|availableModels|blockedMarketplaces|"
		"deniedMcpServers|disableAutoMode|disableSideloadFlags|disableSkillShellExecution|disabledMcpjsonServers|"
		"enforceAvailableModels|hooks|httpHookAllowedEnvVars|permissions.ask|permissions.deny|"
		"permissions.disable*|sandbox.*|strict*|subagents.max*";

	if (str_fits_one_of(path, names))
		return true;
	for (struct str rest = str_from(names); rest.p;) {
		struct str name = str_cut(&rest, '|');
		if (name.n > path.n && name.p[path.n] == '.' && str_starts(name, path))
			return true;
	}
	return false;
}

struct setting_ref setting_below(struct arena *a, struct setting_ref above, struct str name)
{
	if (!above.group || !name.n || memchr(name.p, '.', name.n))
		return (struct setting_ref){ 0 };
	char *path = above.path.n ? arena_printf(a, STR_FMT "." STR_FMT, STR_ARG(above.path), STR_ARG(name))
				  : arena_dup(a, name.p, name.n);
	struct str text = str_from(path);
	return (struct setting_ref){ setting_find(text), setting_is_group(text), text };
}

static bool type_fits(const struct setting_key *key, const struct json *value)
{
	int64_t n;

	switch (key->type) {
	case SETTING_ANY:
		return !json_is(value, JSON_NULL);
	case SETTING_BOOL:
		return json_is(value, JSON_TRUE) || json_is(value, JSON_FALSE);
	case SETTING_INTEGER:
		return json_i64(value, &n) && n >= key->least && (!key->most || n <= key->most);
	case SETTING_NUMBER:
		return json_is(value, JSON_NUMBER) && json_double(value) >= (double)key->least &&
		       (!key->most || json_double(value) <= (double)key->most);
	case SETTING_TEXT:
		return json_is(value, JSON_STRING);
	case SETTING_CHOICE:
		for (size_t i = 0; key->choices[i]; i++)
			if (json_str_is(value, key->choices[i]))
				return true;
		return false;
	case SETTING_ONE_OR_MORE:
		return json_is(value, JSON_STRING) || json_is(value, JSON_ARRAY);
	case SETTING_TEXTS:
	case SETTING_RULES:
	case SETTING_LIST:
		return json_is(value, JSON_ARRAY);
	case SETTING_MAP:
	case SETTING_ENV:
	case SETTING_LISTS:
	case SETTING_TEXT_LISTS:
	case SETTING_CREDENTIALS:
		return json_is(value, JSON_OBJECT);
	case SETTING_TYPE_COUNT:
		break;
	}
	return false;
}

/* An element of an array, or the value of a member */
static bool element_fits(enum setting_type type, const struct json *v)
{
	AUTO_ARENA struct arena scratch = { 0 };

	switch (type) {
	case SETTING_TEXTS:
	case SETTING_ONE_OR_MORE:
		return json_is(v, JSON_STRING);
	case SETTING_RULES:
		return json_is(v, JSON_STRING) || json_is(v, JSON_OBJECT);
	case SETTING_LISTS:
	case SETTING_TEXT_LISTS:
		return json_is(v, JSON_ARRAY);
	case SETTING_ENV:
		if (json_is(v, JSON_STRING))
			return json_cstr(v, &scratch) != NULL;
		return json_is(v, JSON_NUMBER) || json_is(v, JSON_TRUE) || json_is(v, JSON_FALSE);
	default:
		return true;
	}
}

static bool credential_fits(const struct json *v, const char *name)
{
	const struct json *mode = json_get(v, "mode");
	const struct json *what = json_is(v, JSON_STRING) ? v : json_get(v, name);

	return json_is(what, JSON_STRING) && !json_str_is(what, "") &&
	       (!mode || json_str_is(mode, "deny") || json_str_is(mode, "mask") || json_str_is(mode, "allow"));
}

/* Of a member whose value is a list: itself, or its first element behind `after` that does not fit; NULL: none */
static const struct json *member_misfit(enum setting_type type, struct json_member m, const struct json *after)
{
	bool files = json_str_is(m.key, "files");

	if (type == SETTING_CREDENTIALS && !files &&
	    !json_str_is(m.key, "envVars")) /* of masks, which are not made here */
		return json_str_is(m.key, "allowPlaintextInject") || json_str_is(m.key, "awsPairs") ||
				       json_str_is(m.key, "sigv4") || (after && m.key <= after)
			       ? NULL
			       : m.key;
	if (!json_is(m.value, JSON_ARRAY))
		return after && m.value <= after ? NULL : m.value;
	for (const struct json *v = json_first(m.value); v; v = json_next(m.value, v))
		if ((!after || v > after) && !(type == SETTING_CREDENTIALS ? credential_fits(v, files ? "path" : "name")
									   : json_is(v, JSON_STRING)))
			return v;
	return NULL;
}

const struct json *setting_misfit(const struct setting_key *key, const struct json *value, const struct json *after)
{
	AUTO_ARENA struct arena scratch = { 0 };

	if (!type_fits(key, value))
		return value;
	/* Nodes of one file stand in the order of its text, and `after` is NULL for the first part. */
	if (json_is(value, JSON_ARRAY))
		for (const struct json *v = json_first(value); v; v = json_next(value, v))
			if ((!after || v > after) && !element_fits(key->type, v))
				return v;
	for (struct json_member m = json_members(value); m.key; m = json_member_next(value, m)) {
		if (key->type == SETTING_TEXT_LISTS || key->type == SETTING_CREDENTIALS) {
			const struct json *part = member_misfit(key->type, m, after);
			if (part)
				return part;
			continue;
		}
		if (after && m.value <= after)
			continue;
		if (key->type == SETTING_ENV && (!after || m.key > after)) { /* what setenv() takes */
			const char *name = json_cstr(m.key, &scratch);
			if (!name || !name[0] || strchr(name, '='))
				return m.key;
		}
		if (!element_fits(key->type, m.value))
			return m.value;
	}
	return NULL;
}
