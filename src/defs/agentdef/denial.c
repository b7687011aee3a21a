/* SPDX-License-Identifier: MIT
 * denial.c - which agent types are denied. */
#include "defs/agentdef/registry.h"
#include <ctype.h>
#include "core/tool/tool_facts.h"

bool agent_type_same(struct str a, struct str b)
{
	size_t i = 0;
	size_t k = 0;

	for (;;) {
		while (i < a.n && char_in(a.p[i], " -_"))
			i++;
		while (k < b.n && char_in(b.p[k], " -_"))
			k++;
		if (i == a.n || k == b.n)
			return i == a.n && k == b.n;
		if (tolower((unsigned char)a.p[i++]) != tolower((unsigned char)b.p[k++]))
			return false;
	}
}

static void add_denial(struct agent_denials *d, struct str type, const char *origin)
{
	d->list = xgrow(d->list, d->count, &d->cap, sizeof *d->list);
	d->list[d->count++] = (struct agent_denial){
		.type = type.n ? arena_str(&d->arena, type).p : NULL,
		.rule = type.n ? arena_printf(&d->arena, "Agent(" STR_FMT ")", STR_ARG(type)) : "Agent",
		.origin = arena_strdup(&d->arena, origin),
	};
}

static void add_types(struct agent_denials *d, struct str list, const char *origin)
{
	struct str value = list;
	struct str name = str_trim(str_cut(&value, ':'));

	/* A name before a single colon may be a parameter of the call; it is one if the tool has it. */
	if (value.p && tool_has_parameter(tool_facts_find(STR("Agent")), name))
		return;
	while (list.p) {
		struct str type = str_trim(str_cut(&list, ','));
		if (str_is(type, "*"))
			add_denial(d, (struct str){ 0 }, origin);
		else if (type.n)
			add_denial(d, type, origin);
	}
}

void agent_denials_add_rule(struct agent_denials *d, struct str rule, const char *origin)
{
	struct str rest = str_trim(rule);
	struct str tool = str_cut(&rest, '(');

	if (!str_is(tool_current_name(str_trim(tool)), "Agent"))
		return;
	if (!rest.p)
		add_denial(d, (struct str){ 0 }, origin);
	else if (rest.n && rest.p[rest.n - 1] == ')')
		add_types(d, (struct str){ rest.p, rest.n - 1 }, origin);
}

void agent_denials_add(struct agent_denials *d, const struct json *deny, const char *origin)
{
	AUTO_ARENA struct arena scratch = { 0 };

	for (const struct json *v = json_is(deny, JSON_ARRAY) ? json_first(deny) : NULL; v; v = json_next(deny, v)) {
		const struct json *args = json_get(v, "args");
		bool is_list = json_is(args, JSON_ARRAY);

		if (!json_is(v, JSON_OBJECT)) {
			agent_denials_add_rule(d, json_str(v, &scratch), origin);
			continue;
		}
		if (!str_is(tool_current_name(json_str(json_get(v, "tool"), &scratch)), "Agent"))
			continue;
		if (!args)
			add_denial(d, (struct str){ 0 }, origin);
		else if (json_is(args, JSON_STRING))
			add_types(d, json_str(args, &scratch), origin);
		for (const struct json *arg = is_list ? json_first(args) : NULL; arg; arg = json_next(args, arg))
			add_types(d, json_str(arg, &scratch), origin);
	}
}

void agent_denials_release(struct agent_denials *d)
{
	free(d->list);
	arena_release(&d->arena);
	*d = (struct agent_denials){ 0 };
}

const struct agent_denial *agent_denials_find(const struct agent_denials *d, struct str type)
{
	for (size_t i = 0; i < d->count; i++) {
		const char *denied = d->list[i].type;
		const char *meant = denied ? builtin_alias(str_from(denied)) : NULL;
		if (!denied || agent_type_same(str_from(denied), type) || (meant && str_is(type, meant)))
			return &d->list[i];
	}
	return NULL;
}
