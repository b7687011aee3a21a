/* SPDX-License-Identifier: MIT
 * oauth_challenge.c - WWW-Authenticate: SCHEME name=value, name="value", SCHEME ... A word is a scheme if no '=' follows it. */
#include "mcp/auth/oauth_challenge.h"
#include "lib/base/buf.h"

struct reader {
	struct str rest;
	struct arena *arena;
};

static bool is_word(char c)
{
	return c > ' ' && c < 0x7f && !char_in(c, "()<>@,;:\\\"/[]?={}");
}

static void skip(struct reader *r, const char *set)
{
	while (r->rest.n && char_in(r->rest.p[0], set)) {
		r->rest.p++;
		r->rest.n--;
	}
}

static struct str take_while(struct reader *r, bool (*fits)(char))
{
	struct str taken = { r->rest.p, 0 };

	while (taken.n < r->rest.n && fits(r->rest.p[taken.n]))
		taken.n++;
	r->rest.p += taken.n;
	r->rest.n -= taken.n;
	return taken;
}

static bool is_unquoted(char c)
{
	return c != ',' && c != ' ' && c != '\t';
}

static const char *quoted(struct reader *r)
{
	AUTO_BUF struct buf text = { 0 };
	size_t i = 1;

	for (; i < r->rest.n && r->rest.p[i] != '"'; i++) {
		if (r->rest.p[i] == '\\' && i + 1 < r->rest.n)
			i++;
		buf_addch(&text, r->rest.p[i]);
	}
	i = MIN(i + 1, r->rest.n);
	r->rest.p += i;
	r->rest.n -= i;
	return arena_dup(r->arena, text.n ? text.p : "", text.n);
}

static const char *value(struct reader *r)
{
	skip(r, " \t");
	if (r->rest.n && r->rest.p[0] == '"')
		return quoted(r);
	return arena_str(r->arena, take_while(r, is_unquoted)).p;
}

static void set_once(const char **place, const char *text)
{
	if (!*place && text[0])
		*place = text;
}

static void keep(struct oauth_challenge *c, struct str name, const char *text)
{
	if (str_is_nocase(name, "resource_metadata"))
		set_once(&c->metadata_url, text);
	else if (str_is_nocase(name, "scope"))
		set_once(&c->scope, text);
	else if (str_is_nocase(name, "error"))
		set_once(&c->error, text);
}

struct oauth_challenge oauth_challenge_read(struct arena *arena, struct str header)
{
	struct reader r = { header, arena };
	struct oauth_challenge c = { 0 };
	bool is_bearer = false;

	for (;;) {
		skip(&r, ", \t");
		struct str word = take_while(&r, is_word);
		if (!r.rest.n)
			return c;
		if (!word.n) {
			str_cut(&r.rest, ','); /* no list of parameters: the credentials of some other scheme */
			continue;
		}
		skip(&r, " \t");
		if (r.rest.n && r.rest.p[0] == '=') {
			skip(&r, "=");
			const char *text = value(&r);
			if (is_bearer)
				keep(&c, word, text);
		} else if (is_bearer) {
			return c;
		} else {
			is_bearer = str_is_nocase(word, "Bearer");
		}
	}
}
