/* SPDX-License-Identifier: MIT
 * tool_set.c - finding things about tools: in the set of an agent, in the table of facts, in the environment of calls. */
#include "core/tool/tool.h"
#include "lib/io/file.h"
#include "core/tool/deferral.h"
#include "lib/base/budgeted_list.h"
#include "lib/json/json_write.h"

/* The tools of one agent, in the order in which the model sees them. */

const struct tool *tool_set_find(const struct tool_set *set, struct str name)
{
	for (size_t i = 0; i < set->count; i++)
		if (str_is(name, set->tools[i]->name))
			return set->tools[i];
	for (size_t i = 0; i < set->count; i++)
		if (str_is_nocase(name, set->tools[i]->name))
			return set->tools[i];
	for (size_t i = 0; i < set->count; i++)
		for (const char *const *alias = set->tools[i]->aliases; alias && *alias; alias++)
			if (str_is_nocase(name, *alias))
				return set->tools[i];
	return NULL;
}

const struct tool_facts *tool_facts_find(struct str name)
{
	for (size_t i = 0; i < tool_facts_count; i++)
		if (str_is_nocase(name, tool_facts_table[i].name))
			return &tool_facts_table[i];
	return NULL;
}

struct str tool_current_name(struct str name)
{
	const struct tool_facts *facts = tool_facts_find(name);

	return facts && facts->now ? str_from(facts->now) : name;
}

bool tool_has_parameter(const struct tool_facts *facts, struct str member)
{
	for (size_t i = 0; facts && facts->parameters && facts->parameters[i]; i++)
		if (str_is(member, facts->parameters[i]))
			return true;
	return false;
}

const char *tool_env_get(const struct tool_env *env, const char *name)
{
	return env_get(env->envp, name);
}

const char *tool_env_shown_path(const struct tool_env *env, const char *path)
{
	size_t n = strlen(env->cwd);

	if (!path_is_inside(path, env->cwd) || !path[n])
		return path;
	return path + n + (path[n] == '/');
}

/* Deferred tools, and those of them that the model has searched for. */

enum { USUAL_PERCENT = 10, LIST_BYTES = 16384, LIST_RESERVE = 128 };

struct deferral_policy deferral_policy_read(const char *text)
{
	struct deferral_policy p = { .when = DEFER_AUTO, .percent = USUAL_PERCENT };
	struct str s = str_trim(str_from(text)), automatic = STR("auto:");
	uint64_t percent;

	if (str_is_one_of_nocase(s, "true|1|yes|on"))
		p.when = DEFER_ALWAYS;
	else if (str_is_one_of_nocase(s, "false|0|no|off"))
		p.when = DEFER_NEVER;
	else if (str_starts(s, automatic) && str_to_u64(str_tail(s, automatic.n), &percent) && percent <= 100)
		p.percent = (unsigned)percent;
	return p;
}

size_t deferral_bytes(const struct tool_set *tools)
{
	size_t bytes = 0;

	for (size_t i = 0; i < tools->count; i++)
		if (tools->tools[i]->flags & TOOL_MAY_WAIT)
			bytes += strlen(tools->tools[i]->definition);
	return bytes;
}

static const struct tool *find_exact(const struct tool_set *set, const char *name)
{
	for (size_t i = 0; i < set->count; i++)
		if (!strcmp(set->tools[i]->name, name))
			return set->tools[i];
	return NULL;
}

void deferral_arrange(struct deferral *d, const struct tool_set *tools,
		      bool (*is_out)(void *data, const struct tool *tool), void *data)
{
	d->known.count = d->loaded.count = 0;
	for (size_t i = 0; d->on && i < tools->count; i++)
		if ((tools->tools[i]->flags & TOOL_MAY_WAIT) && !(is_out && is_out(data, tools->tools[i])))
			tool_set_add(&d->known, tools->tools[i]);
	for (size_t i = 0; i < d->wanted_count; i++) {
		const struct tool *tool = find_exact(&d->known, d->wanted[i]);
		if (tool)
			tool_set_add(&d->loaded, tool);
	}
}

void deferral_want(struct deferral *d, const char *name)
{
	for (size_t i = 0; i < d->wanted_count; i++)
		if (!strcmp(d->wanted[i], name))
			return;
	d->wanted = xrealloc(d->wanted, (d->wanted_count + 1) * sizeof *d->wanted);
	d->wanted[d->wanted_count++] = xstrdup(name);
}

bool deferral_has_news(const struct deferral *d)
{
	for (size_t i = 0; i < d->wanted_count; i++) {
		const struct tool *tool = find_exact(&d->known, d->wanted[i]);
		if (tool && deferral_holds(d, tool))
			return true;
	}
	return false;
}

bool deferral_holds(const struct deferral *d, const struct tool *tool)
{
	return d && (tool->flags & TOOL_MAY_WAIT) && find_exact(&d->known, tool->name) &&
	       !find_exact(&d->loaded, tool->name);
}

void deferral_describe(struct buf *out, const struct deferral *d, const char *definition)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_BUF struct buf text = { 0 };
	AUTO_FREE struct budgeted_item *items = xcalloc(d->known.count + 1, sizeof *items);
	struct budgeted_list list = { items, d->known.count };
	const struct json *root = json_read(&reader, str_from(definition)); /* it is compiled in */
	size_t named;

	buf_addf(&text, STR_FMT "\n\nThe tools that it finds:\n",
		 STR_ARG(json_str(json_get(root, "description"), &arena)));
	for (size_t i = 0; i < list.count; i++)
		items[i].name = str_from(d->known.tools[i]->name);
	budgeted_list_write(&text, &list, LIST_BYTES, LIST_RESERVE, &named);
	if (named < list.count)
		buf_addf(&text, "and %zu more, which only a search by keywords finds\n", list.count - named);
	json_addf(out, "{name:%.*s, description:'%.*s', input_schema:%.*s}", JSON_ARG(json_get(root, "name")),
		  STR_ARG(str_trim(buf_str(&text))), JSON_ARG(json_get(root, "input_schema")));
}

void deferral_release(struct deferral *d)
{
	for (size_t i = 0; i < d->wanted_count; i++)
		free(d->wanted[i]);
	free(d->wanted);
	tool_set_release(&d->known);
	tool_set_release(&d->loaded);
	*d = (struct deferral){ 0 };
}

static void add_name_part(struct buf *out, struct str part)
{
	for (size_t i = 0; i < part.n; i++) {
		char c = part.p[i];
		bool inside =
			((unsigned char)c & 0xc0) == 0x80; /* of a character whose first byte has its '_' already */
		if (!inside)
			buf_addch(out, char_is_alnum(c) || c == '-' ? c : '_');
	}
}

void mcp_name_add(struct buf *out, struct str server, struct str tool)
{
	buf_addstr(out, "mcp__");
	add_name_part(out, server);
	if (!tool.n)
		return;
	buf_addstr(out, "__");
	add_name_part(out, tool);
}
