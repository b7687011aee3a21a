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

printf_like(3, 4) static void draft_warn(struct draft *d, const struct rule *r, const char *fmt, ...)
{
	AUTO_FREE char *text = NULL;

	if (!d->warn)
		return;
	PRINT_ARGS_NEW(text, fmt);
	d->warn(d->data, arena_printf(d->arena, "permissions.%s: \"%s\" %s", list_names[r->list], r->text, text));
}

static int draft_split(struct draft *d, struct str text, struct err *err)
{
	struct str rest = text;

	d->name = str_trim(str_cut(&rest, '('));
	d->specifier = (struct str){ 0 };
	bool is_name = d->name.n > 0;
	for (size_t i = 0; i < d->name.n; i++)
		is_name = is_name && (isalnum((unsigned char)d->name.p[i]) || char_in(d->name.p[i], "_*-.:@/"));
	if (!is_name)
		return err_set(err, ERR_PARSE, "\"" STR_FMT "\" does not begin with the name of a tool", STR_ARG(text));
	if (!rest.p)
		return 0;
	if (!rest.n || rest.p[rest.n - 1] != ')')
		return err_set(err, ERR_PARSE, "\"" STR_FMT "\" has no closing parenthesis at its end", STR_ARG(text));
	/* "\(" and "\)" are parentheses; other backslashes belong to the pattern. */
	char *out = arena_alloc(d->arena, rest.n);
	size_t n = 0;
	for (size_t i = 0; i < rest.n - 1; i++) {
		bool escape = rest.p[i] == '\\' && i + 2 < rest.n && char_in(rest.p[i + 1], "()");
		out[n++] = rest.p[i += escape];
	}
	out[n] = '\0';
	d->specifier = str_trim((struct str){ out, n });
	return 0;
}

char *rule_tool_name(struct arena *a, struct str tool)
{
	struct str now = tool_current_name(tool);
	char *name = arena_dup(a, now.p, now.n);

	for (char *c = name; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return name;
}

/* Tools of servers as they are written for the model: mcp__my.server__x is mcp__my_server__x. "mcp__server" and "mcp__server__*" are the
 * same. */
static char *tool_pattern(struct arena *a, struct str tool)
{
	char *name = rule_tool_name(a, tool), *to = name;
	const char *server = strncmp(name, "mcp__", 5) == 0 ? name + 5 : "";

	for (const char *p = name; *server && *p; p++)
		if (((unsigned char)*p & 0xc0) != 0x80) /* a character of several bytes is one '_' */
			*to++ = char_is_alnum(*p) || char_in(*p, "-*") ? *p : '_';
	if (*server)
		*to = '\0';
	return *server && *server != '*' && !strstr(server, "__") ? arena_printf(a, "%s__*", name) : name;
}

bool rule_names_tool(struct str rule, const char *tool)
{
	AUTO_ARENA struct arena a = { 0 };

	if (!str_has(rule, STR("*")) && !str_has(rule, STR("__"))) /* as most of them are */
		return str_is_nocase(tool_current_name(rule), tool);
	return wildcard_match(str_from(tool_pattern(&a, rule)), str_from(rule_tool_name(&a, str_from(tool))));
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
	bool primary = !listed && s && s->primary && str_is(name, s->primary);
	if (primary &&
	    (r->list == RULE_DENY || r->list == RULE_ASK)) { /* who forbids it means what the tool's own rules mean */
		d->specifier = str_trim(value);
		return false;
	}
	if (primary) {
		draft_warn(d, r, "is not looked at: %s has rules of its own for %s", s->name, s->primary);
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

static int make_inert(struct draft *d, struct rule *r, const char *why)
{
	draft_warn(d, r, "is not looked at: %s", why);
	r->kind = RULE_INERT;
	return 0;
}

/* Reads what stands in the parentheses of this tool. */
static int read_specifier(struct draft *d, struct rule *r, struct err *err)
{
	bool strict = r->list == RULE_ALLOW || r->list == RULE_ONLY;
	bool any;

	if (read_parameter(d, r))
		return 0;
	struct str text = d->specifier;
	switch (r->subject ? r->subject->kind : SUBJECT_NAME) {
	case SUBJECT_SHELL:
		r->kind = RULE_COMMAND;
		command_rule_compile(&r->command, d->arena, text);
		return 0;
	case SUBJECT_READ:
	case SUBJECT_EDIT:
		if (!(r->subject->flags & TOOL_RULES_LEAD) && r->list == RULE_ALLOW)
			return make_inert(d, r, "paths belong into Read(...) and Edit(...)");
		if (!(r->subject->flags & TOOL_RULES_LEAD) && r->list != RULE_ONLY) /* who forbids it means the file */
			draft_warn(d, r, "counts as %s(...): paths belong into Read(...) and Edit(...)",
				   r->subject->kind == SUBJECT_READ ? "Read" : "Edit");
		r->kind = RULE_PATH;
		if (path_rule_compile(&r->path, d->arena, text, strict, r->origin->base, err) < 0)
			return err_wrap(err, "\"%s\"", r->text);
		return 0;
	case SUBJECT_HOST:
		if (!str_starts(text, STR("domain:")))
			return make_inert(d, r, "expected WebFetch(domain:HOST)");
		r->kind = RULE_HOST;
		r->host = host_normal(d->arena, (struct str){ text.p + 7, text.n - 7 });
		return 0;
	case SUBJECT_AGENT:
		r->kind = RULE_AGENT;
		r->names = text;
		return 0;
	case SUBJECT_SKILL:
		any = str_ends(text, STR(" *")) || str_ends(text, STR(":*"));
		text.n -= any ? 2 : 0;
		if (str_starts(text, STR("/")))
			text = (struct str){ text.p + 1, text.n - 1 };
		r->kind = RULE_SKILL;
		r->skill.name = str_trim(text);
		r->skill.any_arguments = any || !strict;
		return 0;
	case SUBJECT_NAME:
		break;
	}
	if (r->subject || strchr(r->tool, '_')) /* otherwise it is known to name no tool */
		draft_warn(d, r, "is not looked at: rules for %s have nothing in parentheses", r->tool);
	r->kind = RULE_INERT;
	return 0;
}

/* Rules that widen are dropped when in doubt; rules that narrow are an error. */
static int rule_reject(struct draft *d, const struct rule *r, const struct err *err)
{
	if (r->list != RULE_ALLOW)
		return -(int)err->kind;
	draft_warn(d, r, "is left out: %s", err->text);
	return 0;
}

int rule_parse(struct arena *a, enum rule_list list, struct str text, const struct rule_origin *origin,
	       rule_warn_fn *warn_fn, void *data, struct rule *ret_rule, struct err *err)
{
	struct draft d = { .arena = a, .warn = warn_fn, .data = data };
	struct rule r = { .list = list, .kind = RULE_BARE, .origin = origin };
	bool allows = list == RULE_ALLOW;
	struct err why = { 0 };

	r.text = arena_str(a, str_trim(text)).p;
	if (!err)
		err = &why;
	if (memchr(text.p, '\0', text.n))
		return err_set(err, ERR_PARSE, "a rule has a NUL in it");
	if (draft_split(&d, str_from(r.text), err) < 0)
		return rule_reject(&d, &r, err);
	r.tool = tool_pattern(d.arena, d.name);
	r.several = strchr(r.tool, '*') != NULL;
	r.subject = r.several ? NULL : tool_facts_find(tool_current_name(d.name));
	const char *server = strncmp(r.tool, "mcp__", 5) == 0 ? r.tool + 5 : "", *end = strstr(server, "__");
	bool one_server = end && end > server && !memchr(server, '*', (size_t)(end - server));
	if (!r.several && !strchr(r.tool, '_') && !tool_facts_find(str_from(r.tool)))
		draft_warn(&d, &r, "names no tool that is known");
	if (allows && r.several && !one_server)
		err_set(&why, ERR_PARSE, "several tools are allowed at once only below one MCP server: mcp__SERVER__*");
	else if (allows && d.specifier.p && !d.specifier.n)
		err_set(&why, ERR_PARSE, "its parentheses are empty");
	else if (d.specifier.n && !str_is(d.specifier, "*") && read_specifier(&d, &r, err) < 0)
		return rule_reject(&d, &r, err);
	else if (allows && r.kind == RULE_PARAMETER)
		err_set(&why, ERR_PARSE, "rules about a parameter can only deny or ask");
	if (why.kind)
		return rule_reject(&d, &r, &why);
	*ret_rule = r;
	return 1;
}

static struct str lower_case(struct arena *a, struct str s)
{
	char *copy = arena_dup(a, s.p, s.n);

	for (size_t i = 0; i < s.n; i++)
		copy[i] = (char)tolower((unsigned char)copy[i]);
	return (struct str){ copy, s.n };
}

/* Blanks and case are nothing that those who use the value look at; such rules only forbid or ask. */
bool rule_matches_input(const struct rule *r, const struct json *input)
{
	AUTO_ARENA struct arena scratch = { 0 };

	if (r->kind != RULE_PARAMETER)
		return r->kind == RULE_BARE;
	const struct json *v = json_get_str(input, r->parameter.name);
	if (!v || json_is(v, JSON_NULL) || json_is(v, JSON_ARRAY) || json_is(v, JSON_OBJECT))
		return false;
	struct str text = str_trim(json_is(v, JSON_STRING) ? json_str(v, &scratch) : json_raw(v));
	struct str value = lower_case(&scratch, r->parameter.value);
	text = lower_case(&scratch, text);
	if (wildcard_match(value, text))
		return true;
	/* A family of models is in the names of all its models. */
	return str_is_nocase(r->parameter.name, "model") && value.n && str_has(text, value);
}

bool agent_rule_match(struct str names, struct str type)
{
	while (names.p) {
		struct str name = str_trim(str_cut(&names, ','));
		size_t i = 0;
		size_t k = 0;
		if (str_is(name, "*"))
			return true;
		for (bool same = name.n > 0; same; i++, k++) {
			while (i < name.n && char_in(name.p[i], " -_"))
				i++;
			while (k < type.n && char_in(type.p[k], " -_"))
				k++;
			if (i == name.n && k == type.n)
				return true;
			same = i < name.n && k < type.n &&
			       tolower((unsigned char)name.p[i]) == tolower((unsigned char)type.p[k]);
		}
	}
	return false;
}
