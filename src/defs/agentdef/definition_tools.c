/* SPDX-License-Identifier: MIT
 * definition_tools.c - lists of names. A list that limits what an agent may do is read with certainty or not at
 * all: what is cut off, unbalanced or of an unknown shape refuses the agent. */
#include "defs/agentdef/definition_int.h"
#include "core/tool/tool_facts.h"

struct complainer {
	struct definition_reader *r;
	bool strict;
};

static void complain(void *data, const char *what)
{
	struct complainer *c = data;

	if (c->strict)
		definition_refuse(c->r, "%s: %s, so the agent is refused", c->r->key, what);
	else
		definition_note(c->r, DIAGNOSTIC_WARNING, "%s: %s; this part is ignored", c->r->key, what);
}

static void note(void *data, const char *what)
{
	struct complainer *c = data;

	definition_note(c->r, DIAGNOSTIC_NOTE, "%s: %s", c->r->key, what);
}

void definition_names(struct definition_reader *r, const struct json *value, struct name_list *ret, bool strict)
{
	struct complainer c = { r, strict };

	name_list_read(ret, value,
		       &(struct name_list_spec){ .arena = &r->d->arena,
						 .scratch = &r->scratch,
						 .complain = complain,
						 .note = note,
						 .data = &c });
}

static void report_unknown(struct definition_reader *r, const struct name_list *list, const char *effect)
{
	AUTO_BUF struct buf unknown = { 0 };

	for (size_t i = 0; i < list->count; i++)
		if (!str_is(str_from(list->names[i]), "*") && !agent_tool_is_known(str_from(list->names[i])))
			buf_addf(&unknown, "%s%s", unknown.n ? ", " : "", list->names[i]);
	if (unknown.n)
		definition_note(r, DIAGNOSTIC_WARNING, "%s: not the name of a tool, %s: %s", r->key, effect, unknown.p);
}

void definition_read_tools(struct definition_reader *r, const struct json *value)
{
	definition_names(r, value, &r->d->tools, true);
	report_unknown(r, &r->d->tools, "grants nothing");
	if (!r->d->tools.count)
		definition_note(r, DIAGNOSTIC_NOTE, "tools: the list is empty: the agent has no tools");
}

void definition_read_disallowed_tools(struct definition_reader *r, const struct json *value)
{
	struct name_list *list = &r->d->disallowed_tools;

	definition_names(r, value, list, true);
	for (size_t i = 0; i < list->count; i++)
		if (char_in(list->names[i][0], "*&") && list->names[i][1])
			definition_refuse(r, "disallowedTools: the YAML alias %s is not followed", list->names[i]);
	report_unknown(r, list, "takes nothing away");
}

bool agent_tool_is_known(struct str name)
{
	struct str rest = name, base = str_trim(str_cut(&rest, '('));

	if (str_starts(base, STR("mcp__")))
		return true;
	return tool_facts_find(base) != NULL;
}
