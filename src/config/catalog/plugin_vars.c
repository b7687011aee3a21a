/* SPDX-License-Identifier: MIT
 * plugin_vars.c - ${NAME} in texts of plugins. */
#include "config/catalog/plugin_vars.h"

static const char *find_option(const char *const *list, struct str key)
{
	for (; list && *list; list++)
		if (str_starts(str_from(*list), key) && (*list)[key.n] == '=')
			return *list + key.n + 1;
	return NULL;
}

const char *plugin_vars_find(const struct plugin_vars *vars, struct str name, bool with_options)
{
	static const char option[] = "user_config.";
	size_t n = sizeof option - 1;

	if (str_is(name, "CLAUDE_PLUGIN_ROOT"))
		return vars->root;
	if (str_is(name, "CLAUDE_PLUGIN_DATA"))
		return vars->data;
	if (str_is(name, "CLAUDE_PROJECT_DIR"))
		return vars->project;
	if (with_options && str_starts(name, str_from(option)))
		return find_option(vars->options, (struct str){ name.p + n, name.n - n });
	return NULL;
}

/* A place is "${", a name without braces, "}". */
static struct str name_at(struct str s)
{
	const char *end = s.n > 3 && s.p[0] == '$' && s.p[1] == '{' ? memchr(s.p, '}', s.n) : NULL;

	return end ? (struct str){ s.p + 2, (size_t)(end - s.p) - 2 } : STR("");
}

void plugin_vars_expand(struct buf *out, struct str text, const struct plugin_vars *vars, bool with_options)
{
	while (text.n) {
		const char *dollar = memchr(text.p, '$', text.n);
		size_t before = dollar ? (size_t)(dollar - text.p) : text.n;
		buf_add(out, text.p, before);
		text = (struct str){ text.p + before, text.n - before };
		if (!text.n)
			return;
		struct str name = name_at(text);
		const char *value = name.n ? plugin_vars_find(vars, name, with_options) : NULL;
		size_t used = value ? name.n + 3 : 1;
		if (value)
			buf_addstr(out, value);
		else
			buf_addch(out, '$');
		text = (struct str){ text.p + used, text.n - used };
	}
}
