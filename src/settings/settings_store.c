/* SPDX-License-Identifier: MIT
 * settings_store.c - adds to a settings file what the user decided. */
#include "settings/settings_store.h"
#include "io/file.h"
#include "json/json_write.h"
#include "settings/settings_file.h"

static bool has(const struct json *list, struct str rule)
{
	for (const struct json *v = json_first(list); v; v = json_next(list, v)) {
		AUTO_ARENA struct arena a = { 0 };
		if (json_is(v, JSON_STRING) && str_eq(json_str(v, &a), rule))
			return true;
	}
	return false;
}

/* Puts text before the bracket that closes container, behind what is in it. */
static void insert(struct buf *out, struct str file, const struct json *container, struct str text)
{
	struct str raw = json_raw(container);
	const char *end = raw.p + raw.n - 1;

	while (end > raw.p + 1 && strchr(" \t\r\n", end[-1]))
		end--;
	buf_add(out, file.p, (size_t)(end - file.p));
	if (json_first(container))
		buf_addch(out, ',');
	buf_add(out, text.p, text.n);
	buf_add(out, end, file.n - (size_t)(end - file.p));
}

static void change(struct buf *out, struct str file, const struct json *root, const char *list, struct str rule)
{
	const struct json *permissions = json_get(root, "permissions");
	const struct json *rules = json_get(permissions, list);
	AUTO_BUF struct buf text = { 0 };

	if (rules) {
		buf_addstr(&text, "\n      ");
		json_add_quoted(&text, rule);
	} else {
		buf_addf(&text,
			 permissions ? "\n    \"%s\": [\n      " : "\n  \"permissions\": {\n    \"%s\": [\n      ",
			 list);
		json_add_quoted(&text, rule);
		buf_addstr(&text, permissions ? "\n    ]" : "\n    ]\n  }\n");
	}
	insert(out, file, rules ? rules : permissions ? permissions : root, buf_str(&text));
}

int settings_add_rule(const char *path, const char *list, struct str rule, struct err *err)
{
	AUTO_SETTINGS_FILE struct settings_file f = { 0 };
	AUTO_BUF struct buf out = { 0 };

	if (settings_file_read(&f, path, err) < 0 || (!f.root && settings_file_parse(&f, path, STR("{}\n"), err) < 0))
		return -(int)err->kind;
	const struct json *permissions = json_get(f.root, "permissions");
	const struct json *rules = json_get(permissions, list);
	if ((permissions && !json_is(permissions, JSON_OBJECT)) || (rules && !json_is(rules, JSON_ARRAY)))
		return err_set(err, ERR_USAGE, "%s: permissions.%s is no list of rules", path, list);
	if (has(rules, rule))
		return 0;
	change(&out, buf_str(&f.text), f.root, list, rule);
	if (file_make_parents(path, err) < 0 || file_replace(path, out.p, out.n, err) < 0)
		return err_wrap(err, "the rule cannot be kept");
	return 0;
}
