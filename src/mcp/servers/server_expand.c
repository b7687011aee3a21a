/* SPDX-License-Identifier: MIT
 * server_expand.c - variables in the texts of an entry. */
#include "mcp/servers/server_int.h"
#include "config/settings/settings.h"

/* ${NAME} or ${NAME:-default} */
struct variable {
	struct str name;
	struct str fallback; /* p NULL: none */
	const char *end;     /* behind the brace */
};

static size_t name_length(const char *p)
{
	size_t n = 0;

	for (;; n++) {
		bool letter = (p[n] >= 'a' && p[n] <= 'z') || (p[n] >= 'A' && p[n] <= 'Z') || p[n] == '_';
		if (!letter && !(n && p[n] >= '0' && p[n] <= '9'))
			return n;
	}
}

/* last is the last brace of the text: what begins behind it has no end, and nobody needs to look for it again. */
static bool parse_variable(const char *at, const char *last, struct variable *ret)
{
	struct variable v = { 0 };

	if (at[0] != '$' || at[1] != '{' || at > last)
		return false;
	v.name = (struct str){ at + 2, name_length(at + 2) };
	v.end = v.name.p + v.name.n;
	if (v.end[0] == ':' && v.end[1] == '-') {
		v.fallback.p = v.end + 2;
		v.end = strchr(v.fallback.p, '}');
		if (!v.end)
			return false;
		v.fallback.n = (size_t)(v.end - v.fallback.p);
	}
	if (!v.name.n || *v.end != '}')
		return false;
	v.end++;
	*ret = v;
	return true;
}

static const char *look_up(const struct mcp_entry *entry, struct str name)
{
	if (entry->lookup)
		return entry->lookup(entry->data, name);
	AUTO_FREE char *copy = xstrndup(name.p, name.n);
	return getenv(copy);
}

static void say_unset(struct buf *notes, const char *place, struct str name, bool withheld)
{
	if (!notes)
		return;
	if (withheld)
		buf_addf(notes,
			 "%s: ${" STR_FMT
			 "} is not filled in: its name is that of a secret, and a project defines this "
			 "server; define the server yourself (`cadre mcp add`) to give it the secret\n",
			 place, STR_ARG(name));
	else
		buf_addf(notes,
			 "%s: ${" STR_FMT "} is not set and stays as it is; ${" STR_FMT ":-...} gives a default\n",
			 place, STR_ARG(name), STR_ARG(name));
}

static void add_value(struct buf *out, const struct mcp_entry *entry, const char *at, const struct variable *v,
		      const char *place, struct buf *notes)
{
	bool withheld = entry->of_project && env_is_secret(v->name);
	const char *value = withheld ? NULL : look_up(entry, v->name);

	if (value) {
		buf_addstr(out, value);
	} else if (v->fallback.p) {
		buf_add(out, v->fallback.p, v->fallback.n);
	} else {
		buf_add(out, at, (size_t)(v->end - at));
		say_unset(notes, place, v->name, withheld);
	}
}

const char *server_expand(struct arena *a, const struct mcp_entry *entry, const char *place, const char *text,
			  struct buf *notes)
{
	AUTO_BUF struct buf out = { 0 };
	const char *last = strrchr(text, '}');
	struct variable v;

	for (const char *at = text; *at;) {
		if (last && parse_variable(at, last, &v)) {
			add_value(&out, entry, at, &v, place, notes);
			at = v.end;
		} else {
			buf_addch(&out, *at++);
		}
	}
	return arena_str(a, buf_str(&out)).p;
}
