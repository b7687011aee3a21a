/* SPDX-License-Identifier: MIT
 * plugin_vars.c - ${NAME} in texts of plugins. */
#include "config/catalog/definition.h"

const char *plugin_vars_find(const struct plugin_vars *vars, struct str name, bool with_options)
{
	static const char prefix[] = "user_config.";
	size_t n = sizeof prefix - 1;

	if (str_is(name, "CLAUDE_PLUGIN_ROOT"))
		return vars->root;
	if (str_is(name, "CLAUDE_PLUGIN_DATA"))
		return vars->data;
	if (str_is(name, "CLAUDE_PROJECT_DIR"))
		return vars->project;
	if (!with_options || !str_starts(name, str_from(prefix)))
		return NULL;
	struct str key = { name.p + n, name.n - n };
	for (const char *const *option = vars->options; option && *option; option++)
		if (str_starts(str_from(*option), key) && (*option)[key.n] == '=')
			return *option + key.n + 1;
	return NULL;
}

/* A variable is "${", a name without braces, "}". */
void plugin_vars_expand(struct buf *out, struct str text, const struct plugin_vars *vars, bool with_options)
{
	while (text.n) {
		const char *dollar = memchr(text.p, '$', text.n);
		size_t before = dollar ? (size_t)(dollar - text.p) : text.n;
		buf_add(out, text.p, before);
		text = (struct str){ text.p + before, text.n - before };
		if (!text.n)
			return;
		const char *end = text.n > 3 && text.p[1] == '{' ? memchr(text.p, '}', text.n) : NULL;
		size_t n = end ? (size_t)(end - text.p) - 2 : 0;
		const char *value = n ? plugin_vars_find(vars, (struct str){ text.p + 2, n }, with_options) : NULL;
		size_t used = value ? n + 3 : 1;
		buf_addstr(out, value ? value : "$");
		text = (struct str){ text.p + used, text.n - used };
	}
}
