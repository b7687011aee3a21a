/* SPDX-License-Identifier: MIT
 * rule.c - from the text of a rule to what it means. */
#include "guard/permission/rule.h"
#include <ctype.h>
#include "lib/match/glob.h"
#include "core/tool/tool_facts.h"

/* A rule on its way: the two parts of its text, and where complaints go */
struct draft {
	struct arena *arena;
	struct str name, specifier; /* specifier.p == NULL: none */
	rule_warn_fn *warn;
	void *data;
};

static const char *const list_names[] = {
	[RULE_DENY] = "deny", [RULE_ASK] = "ask", [RULE_ALLOW] = "allow", [RULE_ONLY] = "tools"
};

const char *rule_list_name(enum rule_list list)
{
	return list_names[list];
}

struct str rule_cut(struct str *rest)
{
	struct str all = *rest;
	size_t depth = 0;

	for (size_t i = 0; i < all.n; i++) {
		depth += all.p[i] == '(';
		depth -= all.p[i] == ')' && depth;
		if (all.p[i] != ',' || depth)
			continue;
		*rest = (struct str){ all.p + i + 1, all.n - i - 1 };
		return str_trim((struct str){ all.p, i });
	}
	*rest = (struct str){ 0 };
	return str_trim(all);
}

printf_like(3, 4) static void warn(struct draft *d, const struct rule *r, const char *fmt, ...)
{
	AUTO_FREE char *text = NULL;
	va_list ap;

	if (!d->warn)
		return;
	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		base_oom(0);
	va_end(ap);
	d->warn(d->data, arena_printf(d->arena, "permissions.%s: \"%s\" %s", list_names[r->list], r->text, text));
}

/* ---- the two parts --------------------------------------------------------------------------------------------- */

/* "\(" and "\)" are parentheses; other backslashes belong to the pattern. */
static struct str unescape(struct arena *a, struct str text)
{
	char *out = arena_alloc(a, text.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < text.n; i++) {
		bool escape = text.p[i] == '\\' && i + 1 < text.n && (text.p[i + 1] == '(' || text.p[i + 1] == ')');
		out[n++] = text.p[i += escape];
	}
	out[n] = '\0';
	return (struct str){ out, n };
}

static bool is_name(struct str name)
{
	for (size_t i = 0; i < name.n; i++)
		if (!isalnum((unsigned char)name.p[i]) && !char_in(name.p[i], "_*-.:@/"))
			return false;
	return name.n > 0;
}

static int split(struct draft *d, struct str text, struct err *err)
{
	struct str rest = text;

	d->name = str_trim(str_cut(&rest, '('));
	d->specifier = (struct str){ 0 };
	if (!is_name(d->name))
		return err_set(err, ERR_PARSE, "\"" STR_FMT "\" does not begin with the name of a tool", STR_ARG(text));
	if (!rest.p)
		return 0;
	if (!rest.n || rest.p[rest.n - 1] != ')')
		return err_set(err, ERR_PARSE, "\"" STR_FMT "\" has no closing parenthesis at its end", STR_ARG(text));
	d->specifier = str_trim(unescape(d->arena, (struct str){ rest.p, rest.n - 1 }));
	return 0;
}

/* ---- what the parts mean --------------------------------------------------------------------------------------- */

/* What follows "mcp__"; p == NULL if the name does not begin with it. */
static struct str behind_mcp(struct str name)
{
	return str_starts(name, STR("mcp__")) ? (struct str){ name.p + 5, name.n - 5 } : (struct str){ 0 };
}

/* "mcp__server" and "mcp__server__*" are the same. */
static void find_tool(struct draft *d, struct rule *r)
{
	struct str now = tool_current_name(d->name);
	char *name = arena_dup(d->arena, now.p, now.n);

	for (char *c = name; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	struct str server = behind_mcp(str_from(name));
	if (server.n && server.p[0] != '*' && !str_has(server, STR("__")))
		name = arena_printf(d->arena, "%s__*", name);
	r->tool = name;
	r->several = strchr(name, '*') != NULL;
	r->subject = r->several ? NULL : tool_facts_find(now);
}

/* An allow rule for several tools must name the server whose tools they are. */
static bool names_server(const char *name)
{
	struct str rest = behind_mcp(str_from(name));
	const char *end = rest.n ? memmem(rest.p, rest.n, "__", 2) : NULL;

	return end && end > rest.p && !memchr(rest.p, '*', (size_t)(end - rest.p));
}

/* "parameter:value". False: the specifier is something else. */
static bool read_parameter(struct draft *d, struct rule *r)
{
	struct str value = d->specifier;
	struct str name = str_trim(str_cut(&value, ':'));
	const struct tool_facts *s = r->subject;

	if (!value.p || !name.n)
		return false;
	bool listed = tool_has_parameter(s, name);
	if (!listed && s && s->primary && str_is(name, s->primary)) {
		warn(d, r, "is not looked at: %s has rules of its own for %s", s->name, s->primary);
		r->kind = RULE_INERT;
		return true;
	}
	if (s && s->parameters && !listed)
		return false;
	r->kind = RULE_PARAMETER;
	r->parameter.name = name;
	r->parameter.value = str_trim(value);
	return true;
}

static void read_path(struct draft *d, struct rule *r, struct err *err, int *status)
{
	bool strict = r->list == RULE_ALLOW || r->list == RULE_ONLY;

	if (!(r->subject->flags & TOOL_RULES_LEAD) && r->list != RULE_ONLY) {
		warn(d, r, "is not looked at: paths belong into Read(...) and Edit(...)");
		r->kind = RULE_INERT;
		return;
	}
	r->kind = RULE_PATH;
	*status = path_rule_compile(&r->path, d->arena, d->specifier, strict, r->origin->base, err);
	if (*status < 0)
		err_wrap(err, "\"%s\"", r->text);
}

static void read_host(struct draft *d, struct rule *r)
{
	struct str host = d->specifier;

	if (!str_starts(host, STR("domain:"))) {
		warn(d, r, "is not looked at: expected WebFetch(domain:HOST)");
		r->kind = RULE_INERT;
		return;
	}
	r->kind = RULE_HOST;
	r->host = host_normal(d->arena, (struct str){ host.p + 7, host.n - 7 });
}

static void read_skill(struct draft *d, struct rule *r)
{
	struct str name = d->specifier;
	bool any = str_ends(name, STR(" *")) || str_ends(name, STR(":*"));

	if (any)
		name.n -= 2;
	if (str_starts(name, STR("/")))
		name = (struct str){ name.p + 1, name.n - 1 };
	r->kind = RULE_SKILL;
	r->skill.name = str_trim(name);
	r->skill.any_arguments = any || r->list == RULE_DENY || r->list == RULE_ASK;
}

/* What stands in the parentheses of this tool. */
static int read_specifier(struct draft *d, struct rule *r, struct err *err)
{
	enum subject_kind kind = r->subject ? r->subject->kind : SUBJECT_NAME;
	int status = 0;

	if (read_parameter(d, r))
		return 0;
	switch (kind) {
	case SUBJECT_SHELL:
		r->kind = RULE_COMMAND;
		command_rule_compile(&r->command, d->arena, d->specifier);
		break;
	case SUBJECT_READ:
	case SUBJECT_EDIT:
		read_path(d, r, err, &status);
		break;
	case SUBJECT_HOST:
		read_host(d, r);
		break;
	case SUBJECT_AGENT:
		r->kind = RULE_AGENT;
		r->names = d->specifier;
		break;
	case SUBJECT_SKILL:
		read_skill(d, r);
		break;
	case SUBJECT_NAME:
		warn(d, r, "is not looked at: rules for %s have nothing in parentheses", r->tool);
		r->kind = RULE_INERT;
		break;
	}
	return status;
}

static int skip_allow(struct draft *d, const struct rule *r, const char *why)
{
	warn(d, r, "is left out: %s", why);
	return 0;
}

/* ---- one rule -------------------------------------------------------------------------------------------------- */

/* Rules that widen are dropped when in doubt; rules that narrow are an error. */
static int rule_fail(struct draft *d, const struct rule *r, struct err *err)
{
	if (r->list == RULE_ALLOW)
		return skip_allow(d, r, err->text);
	return -(int)err->kind;
}

int rule_parse(struct arena *a, enum rule_list list, struct str text, const struct rule_origin *origin,
	       rule_warn_fn *warn_fn, void *data, struct rule *ret_rule, struct err *err)
{
	struct draft d = { .arena = a, .warn = warn_fn, .data = data };
	struct rule r = { .list = list, .kind = RULE_BARE, .origin = origin };
	struct err why = { 0 };

	r.text = arena_str(a, str_trim(text)).p;
	if (!err)
		err = &why;
	if (memchr(text.p, '\0', text.n))
		return err_set(err, ERR_PARSE, "a rule has a NUL in it");
	if (split(&d, str_from(r.text), err) < 0)
		return rule_fail(&d, &r, err);
	find_tool(&d, &r);
	if (!r.several && !strchr(r.tool, '_') && !tool_facts_find(str_from(r.tool)))
		warn(&d, &r, "names no tool that is known");
	if (list == RULE_ALLOW && r.several && !names_server(r.tool))
		return skip_allow(&d, &r,
				  "several tools are allowed at once only below one MCP server: mcp__SERVER__*");
	if (list == RULE_ALLOW && d.specifier.p && !d.specifier.n)
		return skip_allow(&d, &r, "its parentheses are empty");
	if (d.specifier.n && !str_is(d.specifier, "*") && read_specifier(&d, &r, err) < 0)
		return rule_fail(&d, &r, err);
	if (r.kind == RULE_PARAMETER && list == RULE_ALLOW)
		return skip_allow(&d, &r, "rules about a parameter can only deny or ask");
	*ret_rule = r;
	return 1;
}

void rule_release(struct rule *r)
{
	if (r->kind == RULE_PATH)
		path_rule_release(&r->path);
}

/* ---- matching --------------------------------------------------------------------------------------------------- */

bool rule_parameter_match(const struct rule *r, const struct json *input)
{
	AUTO_ARENA struct arena scratch = { 0 };
	const struct json *v = json_get_str(input, r->parameter.name);

	if (!v || json_is(v, JSON_NULL) || json_is(v, JSON_ARRAY) || json_is(v, JSON_OBJECT))
		return false;
	struct str text = json_is(v, JSON_STRING) ? json_str(v, &scratch) : json_raw(v);
	return wildcard_match(r->parameter.value, text);
}

static size_t skip_separators(struct str s, size_t at)
{
	while (at < s.n && char_in(s.p[at], " -_"))
		at++;
	return at;
}

static bool type_same(struct str a, struct str b)
{
	size_t i = 0;
	size_t k = 0;

	for (;;) {
		i = skip_separators(a, i);
		k = skip_separators(b, k);
		if (i == a.n || k == b.n)
			return i == a.n && k == b.n;
		if (tolower((unsigned char)a.p[i++]) != tolower((unsigned char)b.p[k++]))
			return false;
	}
}

bool agent_rule_match(struct str names, struct str type)
{
	while (names.p) {
		struct str name = str_trim(str_cut(&names, ','));
		if (name.n && (str_is(name, "*") || type_same(name, type)))
			return true;
	}
	return false;
}

bool skill_rule_match(const struct rule *r, struct str name, bool has_arguments)
{
	return str_eq(r->skill.name, name) && (r->skill.any_arguments || !has_arguments);
}
