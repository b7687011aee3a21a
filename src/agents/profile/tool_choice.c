/* SPDX-License-Identifier: MIT
 * tool_choice.c - from the names of a definition to tools. */
#include "agents/profile/tool_choice.h"
#include "core/tool/tool_facts.h"
#include "defs/agentdef/registry.h"
#include "guard/permission/rule.h"

struct selector {
	struct str name;
	struct str specifier; /* p == NULL: none */
	bool several;         /* a pattern; but mcp__SERVER__* is all tools of a server */
};

static bool is_mcp(struct str name)
{
	return str_starts(name, STR("mcp__"));
}

static struct selector read_selector(const char *entry)
{
	struct str rest = str_trim(str_from(entry)), all = STR("__*");
	struct selector s = { .name = str_trim(str_cut(&rest, '(')) };

	if (rest.p && rest.n && rest.p[rest.n - 1] == ')')
		s.specifier = str_trim((struct str){ rest.p, rest.n - 1 });
	else if (rest.p)
		s.specifier = str_trim(rest);
	if (str_is(s.specifier, "*"))
		s.specifier = (struct str){ 0 };
	s.name = tool_current_name(s.name);
	bool server = is_mcp(s.name) && str_ends(s.name, all) && s.name.n > 5 + all.n;
	s.several = memchr(s.name.p, '*', s.name.n - (server ? all.n : 0)) != NULL;
	return s;
}

static bool may_have(const struct agent_definition *d, const struct tool_choice_spec *spec, struct str name)
{
	bool plans = spec->plans || (d->permission_mode && !strcmp(d->permission_mode, "plan"));

	const struct tool_facts *facts = tool_facts_find(name);
	unsigned flags = facts ? facts->flags : 0;

	if (is_mcp(name) || spec->main_thread)
		return true;
	if ((flags & TOOL_MAIN_ONLY) && !(plans && (flags & TOOL_ENDS_PLAN)))
		return false;
	if (spec->deepest && (flags & TOOL_SPAWNS))
		return false;
	return !spec->background || (flags & TOOL_BACKGROUND);
}

/* A specifier alone ("Bash(rm *)") does not take the tool away: it forbids some of its calls. */
static bool is_disallowed(const struct agent_definition *d, const struct tool *tool)
{
	if (d->disallowed_tools.all)
		return true;
	for (size_t i = 0; i < d->disallowed_tools.count; i++) {
		struct selector s = read_selector(d->disallowed_tools.names[i]);
		if (!s.specifier.n && rule_names_tool(s.name, tool->name))
			return true;
	}
	return false;
}

static bool set_has(const struct tool_set *set, const struct tool *tool)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->tools[i] == tool)
			return true;
	return false;
}

static void add_limit(struct tool_choice *c, struct tool_limits *limits, const char *tool, struct str specifier)
{
	*arena_push(&c->arena, limits->list, limits->count) =
		(struct permission_limit){ tool, arena_str(&c->arena, specifier).p };
}

static void select_entry(struct tool_choice *c, const struct agent_definition *d, const struct tool_choice_spec *spec,
			 const char *entry)
{
	struct selector s = read_selector(entry);
	bool found = false;
	struct tool_names *names;

	for (size_t i = 0; spec->own && i < spec->own->count && !s.several; i++)
		found = found || rule_names_tool(s.name, spec->own->tools[i]->name); /* add_further_tools() adds it */
	for (size_t i = 0; i < spec->pool->count && !s.several; i++) {
		const struct tool *tool = spec->pool->tools[i];
		if (!rule_names_tool(s.name, tool->name) || !may_have(d, spec, str_from(tool->name)))
			continue;
		found = true;
		if (is_disallowed(d, tool))
			continue;
		if (!set_has(&c->tools, tool))
			tool_set_add(&c->tools, tool);
		/* "Bash, Bash(git *)": the whole tool is named as well, so the specifier limits nothing. */
		bool whole = !s.specifier.n;
		for (size_t k = 0; k < d->tools.count && !whole; k++) {
			struct selector other = read_selector(d->tools.names[k]);
			whole = !other.specifier.n && !other.several && rule_names_tool(other.name, tool->name);
		}
		if (!whole)
			add_limit(c, &c->only, tool->name, s.specifier);
	}
	if (found)
		return;
	if (s.several || (!is_mcp(s.name) && !agent_tool_is_known(s.name)))
		names = &c->unknown;
	else
		names = may_have(d, spec, s.name) ? &c->missing : &c->withheld;
	*arena_push(&c->arena, names->list, names->count) = entry;
}

/* Tools that it gets beside those that its definition selects */
static void add_further_tools(struct tool_choice *c, const struct agent_definition *d,
			      const struct tool_choice_spec *spec)
{
	const struct tool_set *pool = spec->pool;

	/* An own tool by the name of one in the pool is the same tool, or hides it. */
	for (size_t i = 0; spec->own && i < spec->own->count; i++) {
		const struct tool *tool = spec->own->tools[i];
		if (!tool_set_find(&c->tools, str_from(tool->name)) && !is_disallowed(d, tool))
			tool_set_add(&c->tools, tool);
	}
	for (size_t i = 0; spec->memory && d->memory != MEMORY_NONE && i < pool->count; i++) {
		const struct tool *tool = pool->tools[i];
		if (!(tool->flags & TOOL_FOR_MEMORY) || set_has(&c->tools, tool) || is_disallowed(d, tool))
			continue;
		tool_set_add(&c->tools, tool);
		*arena_push(&c->arena, c->for_memory.list, c->for_memory.count) = tool->name;
	}
	for (size_t i = 0; spec->member && i < pool->count; i++) { /* also those that its definition disallows */
		const struct tool *tool = pool->tools[i];
		bool belongs = (tool->flags & TOOL_MEMBER) || (spec->plans && (tool->flags & TOOL_ENDS_PLAN));
		if (belongs && !set_has(&c->tools, tool))
			tool_set_add(&c->tools, tool);
	}
}

void tool_choose(const struct agent_definition *d, const struct tool_choice_spec *spec, struct tool_choice *ret_choice)
{
	struct tool_choice *c = ret_choice;
	bool all = spec->whole || !d->tools.present || d->tools.all;

	*c = (struct tool_choice){ 0 };
	for (size_t i = 0; all && i < spec->pool->count; i++) {
		const struct tool *tool = spec->pool->tools[i];
		if (spec->whole || (may_have(d, spec, str_from(tool->name)) && !is_disallowed(d, tool)))
			tool_set_add(&c->tools, tool);
	}
	if (spec->whole)
		return;
	for (size_t i = 0; !all && i < d->tools.count; i++)
		select_entry(c, d, spec, d->tools.names[i]);
	for (size_t i = 0; i < d->disallowed_tools.count; i++) {
		struct selector s = read_selector(d->disallowed_tools.names[i]);
		if (s.specifier.n)
			add_limit(c, &c->never, arena_str(&c->arena, s.name).p, s.specifier);
	}
	add_further_tools(c, d, spec);
}

void tool_choice_narrow(struct tool_choice *c, const struct agent_definition *by, const struct tool_choice_spec *spec)
{
	struct tool_choice bound;
	size_t kept = 0;

	if (!by)
		return;
	tool_choose(by, spec, &bound);
	for (size_t i = 0; i < c->tools.count; i++)
		if (set_has(&bound.tools, c->tools.tools[i]))
			c->tools.tools[kept++] = c->tools.tools[i];
	c->tools.count = kept;
	/* One of the specifiers of a tool must match, so those of the other definition stand in their place. */
	for (size_t i = 0; i < bound.only.count; i++)
		for (size_t k = c->only.count; k-- > 0;)
			if (!strcmp(c->only.list[k].tool, bound.only.list[i].tool))
				c->only.list[k] = c->only.list[--c->only.count];
	for (size_t i = 0; i < bound.only.count; i++)
		add_limit(c, &c->only, bound.only.list[i].tool, str_from(bound.only.list[i].specifier));
	for (size_t i = 0; i < bound.never.count; i++)
		add_limit(c, &c->never, arena_strdup(&c->arena, bound.never.list[i].tool),
			  str_from(bound.never.list[i].specifier));
	c->mode = by->permission_mode;
	tool_choice_release(&bound);
}

/* The stricter one of the definition's mode and that which narrows it */
static const char *narrowed_mode(const struct agent_definition *d, const char *narrow)
{
	enum permission_mode own, other;

	if (!narrow || !permission_mode_parse(str_from(narrow), &other))
		return d->permission_mode;
	bool has_own = d->permission_mode && permission_mode_parse(str_from(d->permission_mode), &own);
	return has_own && permission_mode_is_wider(other, own) ? d->permission_mode : narrow;
}

/* What the guide is for: it reads the user's files and the documentation without a question, but no secrets and no other
 * conversations, which a page might ask it for. */
static const char *const *guide_allows(struct tool_choice *c, const char *config_dir)
{
	static const char *const kept[] = { ".credentials.json", "history.jsonl", "projects/**/*.jsonl" };
	const char **rules = arena_calloc(&c->arena, 4 * sizeof *rules);

	rules[0] = arena_printf(&c->arena, "Read(/%s/**)", config_dir);
	rules[1] = "WebFetch";
	rules[2] = "WebSearch";
	for (size_t i = 0; i < COUNT_OF(kept); i++)
		add_limit(c, &c->never, "Read", str_from(arena_printf(&c->arena, "/%s/%s", config_dir, kept[i])));
	return rules;
}

void tool_choice_birth(struct tool_choice *c, const struct agent_definition *d, bool believed,
		       const struct memory_dirs *places, bool memory, struct arena *a,
		       struct permission_birth *ret_birth)
{
	const char *const *more = builtin_is_guide(d) ? guide_allows(c, places->config_dir) : NULL;
	struct permission_limit *only = arena_alloc(a, (c->only.count + 1) * sizeof *only);
	size_t n = 0;

	for (size_t i = 0; i < c->only.count; i++) /* the types it may start do not limit those below it */
		if (strcmp(c->only.list[i].tool, "Agent") != 0)
			only[n++] = c->only.list[i];
	*ret_birth = (struct permission_birth){
		.mode = narrowed_mode(d, c->mode),
		.mode_invalid = d->permission_mode_invalid,
		.mode_may_widen = d->source != SOURCE_PLUGIN && believed,
		.only = only,
		.only_count = n,
		.never = c->never.list,
		.never_count = c->never.count,
		.memory_dir = memory ? agent_memory_dir(a, d, places) : NULL,
		.memory_tools = c->for_memory.list,
		.memory_tool_count = c->for_memory.count,
		.more = more,
	};
}

void definition_use_mode(const struct agent_definition *d, const char *narrow, bool believed, struct permission *p,
			 struct buf *notes)
{
	enum permission_mode wish;

	if (d->permission_mode_invalid && permission_mode_is_wider(p->mode, PERMISSION_DEFAULT))
		p->mode = PERMISSION_DEFAULT;
	bool wishes = d->permission_mode && permission_mode_parse(str_from(d->permission_mode), &wish) &&
		      wish != PERMISSION_BUBBLE;
	if (wishes && permission_mode_is_wider(wish, p->mode) && (d->source == SOURCE_PLUGIN || !believed))
		buf_addf(
			notes,
			"this folder is not trusted, so the permissionMode of %s can only narrow: run `cadre trust` to "
			"record consent\n",
			d->name);
	else if (wishes && ((wish == PERMISSION_BYPASS && p->bypass_off) || (wish == PERMISSION_AUTO && p->auto_off)))
		buf_addf(notes, "the permissionMode %s of %s is not available here\n", d->permission_mode, d->name);
	else if (wishes)
		p->mode = wish;
	if (narrow && permission_mode_parse(str_from(narrow), &wish) && permission_mode_is_wider(p->mode, wish))
		p->mode = wish;
}

static void add_group(struct buf *out, const char *title, const struct tool_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		buf_addf(out, "%s%s", i ? ", " : title, names->list[i]);
	if (names->count)
		buf_addch(out, '.');
}

bool tool_choice_lacks(const struct tool_choice *c, struct buf *why)
{
	size_t before = why->n;

	for (size_t i = 0; i < c->missing.count; i++)
		if (is_mcp(str_from(c->missing.list[i])))
			buf_addf(why, "%s%s", why->n > before ? ", " : "These tools of MCP servers do not exist: ",
				 c->missing.list[i]);
	if (why->n > before)
		buf_addstr(why, ". Look at `cadre mcp list`, or take them out of the definition's tools.");
	return why->n > before;
}

bool tool_choice_refuses(const struct tool_choice *c, const struct agent_definition *d, struct buf *why)
{
	if (c->tools.count || !d->tools.count || (!c->unknown.count && !c->withheld.count && !c->missing.count))
		return false;
	buf_addf(why, "Agent '%s' would be spawned with zero tools \xe2\x80\x94 refusing.", d->name);
	add_group(why, " Not recognised: ", &c->unknown);
	add_group(why, " Not available to subagents: ", &c->withheld);
	add_group(why, " Matched no tool in this session: ", &c->missing);
	return true;
}
