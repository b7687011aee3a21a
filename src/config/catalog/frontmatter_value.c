/* SPDX-License-Identifier: MIT
 * frontmatter_value.c - what the tables of fields have in common. */
#include "config/catalog/frontmatter.h"

bool frontmatter_key_is(struct str key, const char *name, const char *const aliases[FRONTMATTER_ALIASES])
{
	if (!key.n || (key.p[0] | 0x20) != (name[0] | 0x20))
		return false;
	if (str_is_nocase(key, name))
		return true;
	for (size_t i = 0; i < FRONTMATTER_ALIASES && aliases[i]; i++)
		if (str_is_nocase(key, aliases[i]))
			return true;
	return false;
}

const char *frontmatter_text(const struct json *value, struct arena *arena, struct arena *scratch)
{
	struct str text = { 0 };

	if (json_is(value, JSON_STRING))
		text = str_trim(json_str(value, scratch));
	else if (json_is(value, JSON_NUMBER) || json_is(value, JSON_TRUE) || json_is(value, JSON_FALSE))
		text = json_raw(value);
	if (!text.n)
		return NULL;
	char *copy = arena_dup(arena, text.p, text.n);
	for (char *nul; (nul = memchr(copy, '\0', text.n));)
		*nul = ' '; /* a text must not seem to end before it does */
	return copy;
}
