/* SPDX-License-Identifier: MIT
 * oauth_form.c - queries and form bodies. */
#include "mcp/auth/oauth_form.h"

static bool is_plain(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
	       c == '_' || c == '~';
}

void oauth_percent(struct buf *out, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (is_plain(c))
			buf_addch(out, (char)c);
		else
			buf_addf(out, "%%%02X", c);
	}
}

void oauth_form_add(struct buf *out, const char *name, const char *value)
{
	if (!value)
		return;
	if (out->n && out->p[out->n - 1] != '?')
		buf_addch(out, '&');
	oauth_percent(out, str_from(name));
	buf_addch(out, '=');
	oauth_percent(out, str_from(value));
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* What is no escape stands for itself. */
static struct str decode(struct arena *arena, struct str s)
{
	char *out = arena_alloc(arena, s.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		int high = s.p[i] == '%' && s.n - i > 2 ? digit(s.p[i + 1]) : -1;
		int low = high >= 0 ? digit(s.p[i + 2]) : -1;
		if (low >= 0)
			i += 2;
		out[n++] = low >= 0 ? (char)(high << 4 | low) : s.p[i] == '+' ? ' ' : s.p[i];
	}
	out[n] = '\0';
	return (struct str){ out, n };
}

const char *oauth_form_get(struct arena *arena, struct str form, const char *name)
{
	while (form.p) {
		struct str value = str_cut(&form, '&');
		struct str key = str_cut(&value, '=');
		if (!str_is(decode(arena, key), name))
			continue;
		struct str decoded = decode(arena, value);
		return strlen(decoded.p) == decoded.n ? decoded.p : NULL;
	}
	return NULL;
}
