/* SPDX-License-Identifier: MIT
 * oauth_scope.c - sets of scopes. They are short, so they stay text. */
#include "mcp/auth/oauth_scope.h"
#include "lib/base/buf.h"

/* The next scope; false at the end. */
static bool next(struct str *rest, struct str *ret_one)
{
	while (rest->p) {
		*ret_one = str_cut(rest, ' ');
		if (ret_one->n)
			return true;
	}
	return false;
}

bool oauth_scope_has(const char *scopes, struct str one)
{
	struct str rest = str_from(scopes);
	struct str scope;

	while (next(&rest, &scope))
		if (str_eq(scope, one))
			return true;
	return false;
}

bool oauth_scope_covers(const char *scopes, const char *wanted)
{
	struct str rest = str_from(wanted);
	struct str one;

	while (next(&rest, &one))
		if (!oauth_scope_has(scopes, one))
			return false;
	return true;
}

/* Those that out does not have yet and that are not `without`. */
static void add(struct buf *out, const char *scopes, struct str without)
{
	struct str rest = str_from(scopes);
	struct str one;

	while (next(&rest, &one)) {
		if (str_eq(one, without) || oauth_scope_has(out->p, one))
			continue;
		if (out->n)
			buf_addch(out, ' ');
		buf_add(out, one.p, one.n);
	}
}

static const char *kept(struct arena *arena, const struct buf *text)
{
	return text->n ? arena_dup(arena, text->p, text->n) : NULL;
}

const char *oauth_scope_union(struct arena *arena, const char *a, const char *b)
{
	AUTO_BUF struct buf text = { 0 };

	add(&text, a, STR(""));
	add(&text, b, STR(""));
	return kept(arena, &text);
}

const char *oauth_scope_without(struct arena *arena, const char *scopes, struct str one)
{
	AUTO_BUF struct buf text = { 0 };

	add(&text, scopes, one);
	return kept(arena, &text);
}
