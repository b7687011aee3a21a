/* SPDX-License-Identifier: MIT
 * permission.c - the context of one agent: its rules, its mode, and what it has from its parent. */
#include "guard/permission/permission.h"
#include <assert.h>
#include "guard/permission/evaluation_int.h"
#include "lib/base/list.h"

static const struct rule_origin session_origin = { .layer = "session" };
static const struct rule_origin definition_origin = { .layer = "agent" };
static const struct rule_origin call_origin = { .layer = "command" };

void permission_release(struct permission *p)
{
	permission_revoke(p, NULL);
	for (struct permission_narrowing *n; (n = list_pop(&p->narrowings));)
		free(n);
	rule_set_unref(p->rules);
	rule_set_unref(p->own);
	*p = (struct permission){ 0 };
}

static struct rule_set *own_rules(struct permission *p)
{
	if (!p->own)
		p->own = rule_set_new();
	return p->own;
}

int permission_add_rule(struct permission *p, enum rule_list list, struct str text, const struct rule_origin *origin,
			rule_warn_fn *warn, void *data, struct err *err)
{
	return rule_set_add(own_rules(p), list, text, origin, warn, data, err);
}

struct permission_grant *permission_grant(struct permission *p)
{
	struct permission_grant *g = xnew(struct permission_grant, .rules = rule_set_new(), .next = p->grants);

	p->grants = g;
	return g;
}

void permission_revoke(struct permission *p, struct permission_grant *grant)
{
	for (struct permission_grant **at = &p->grants; *at;) {
		struct permission_grant *g = *at;
		if (grant && g != grant) {
			at = &g->next;
			continue;
		}
		*at = g->next;
		rule_set_unref(g->rules);
		free(g);
	}
}

static const char *copy_text(struct permission *p, const char *text)
{
	return text ? arena_strdup(&own_rules(p)->arena, text) : NULL;
}

void permission_give_memory(struct permission *p, const char *dir, const char *const *tools, size_t tool_count)
{
	const char **names = tool_count ? arena_calloc(&own_rules(p)->arena, (tool_count + 1) * sizeof *names) : NULL;

	for (size_t i = 0; i < tool_count; i++)
		names[i] = copy_text(p, tools[i]);
	p->memory_dir = copy_text(p, dir);
	p->memory_tools = names;
}

void permission_drop_rules(struct permission *p, enum rule_list list, const char *text)
{
	struct rule_set *old = p->own;

	assert(!p->parent); /* a child has texts of its own in the set's arena */
	p->own = rule_set_new();
	for (size_t i = 0; old && i < old->all.count; i++) {
		const struct rule *r = old->all.list[i];
		bool of_session = r->list == list && !strcmp(r->origin->layer, session_origin.layer);
		if (!of_session || (text && strcmp(r->text, text) != 0))
			(void)rule_set_add(p->own, r->list, str_from(r->text), r->origin, NULL, NULL, NULL);
	}
	if (p->memory_dir) /* it is in the arena of the old set */
		permission_give_memory(p, p->memory_dir, p->memory_tools, str_count(p->memory_tools));
	rule_set_unref(old);
}

/* What cannot be read must not become a freedom: then the tool as a whole is forbidden. */
static void permission_add_limits(struct permission *p, enum rule_list list, const struct permission_limit *limits,
				  size_t count)
{
	for (size_t i = 0; i < count; i++) {
		AUTO_BUF struct buf text = { 0 };
		buf_addstr(&text, limits[i].tool);
		if (limits[i].specifier)
			buf_addf(&text, "(%s)", limits[i].specifier);
		if (permission_add_rule(p, list, buf_str(&text), &definition_origin, NULL, NULL, NULL) < 0)
			(void)permission_add_rule(p, RULE_DENY, str_from(limits[i].tool), &definition_origin, NULL,
						  NULL, NULL);
	}
}

void permission_limit(struct permission *p, const struct permission_birth *birth)
{
	permission_add_limits(p, RULE_ONLY, birth->only, birth->only_count);
	permission_add_limits(p, RULE_DENY, birth->never, birth->never_count);
	permission_give_memory(p, birth->memory_dir, birth->memory_tools, birth->memory_tool_count);
}

void permission_derive(struct permission *child, const struct permission *parent, const struct permission_birth *birth)
{
	*child = (struct permission){
		.parent = parent,
		.can_ask = birth->can_ask,
		.default_agent = parent->default_agent,
		.replaces_allow = birth->replaces_allow || birth->allow_count > 0,
		.inherits_mode = !birth->mode,
		.mode_invalid = birth->mode_invalid,
		.mode_may_widen = birth->mode_may_widen,
		.mode_holds = birth->mode_holds,
	};
	if (birth->mode && !permission_mode_parse(str_from(birth->mode), &child->mode))
		child->mode_invalid = true;
	permission_add_limits(child, RULE_ONLY, birth->agents, birth->agent_count);
	permission_limit(child, birth);
	for (size_t i = 0; i < birth->allow_count; i++)
		(void)permission_add_rule(child, RULE_ALLOW, str_from(birth->allow[i]), &call_origin, NULL, NULL, NULL);
	for (size_t i = 0; birth->more && birth->more[i]; i++)
		(void)permission_add_rule(child, RULE_ALLOW, str_from(birth->more[i]), &definition_origin, NULL, NULL,
					  NULL);
	child->write_root = copy_text(child, birth->write_root);
	child->main_checkout = copy_text(child, birth->main_checkout);
	child->copy_root = child->write_root;
	child->copy_of[0] = child->main_checkout;
	child->copy_of[1] = copy_text(child, birth->origin);
}

static enum permission_mode stricter_mode(enum permission_mode a, enum permission_mode b)
{
	return permission_mode_is_wider(a, b) ? b : a;
}

static bool is_wide(enum permission_mode mode)
{
	return mode == PERMISSION_BYPASS || mode == PERMISSION_ACCEPT_EDITS || mode == PERMISSION_AUTO;
}

bool permission_mode_matters(const struct permission *p)
{
	return !p->inherits_mode && (p->mode_may_widen || p->is_gone || !is_wide(p->mode));
}

/* A definition's mode counts under a parent that asks, plans or asks nothing. One that accepts edits, bypasses or has a
 * classifier was chosen by the user for the whole session: under it only plan mode counts, because it takes away. */
enum permission_mode permission_mode(const struct permission *p)
{
	const struct permission *session = permission_main(p);
	bool off = (p->mode == PERMISSION_BYPASS && session->bypass_off) ||
		   (p->mode == PERMISSION_AUTO && session->auto_off) || p->mode == PERMISSION_BUBBLE;

	if (!p->parent)
		return off ? PERMISSION_DEFAULT : p->mode;
	enum permission_mode above = permission_mode(p->parent);
	if (p->mode_invalid)
		return stricter_mode(above, PERMISSION_DEFAULT);
	if (p->inherits_mode || off)
		return above;
	if (p->mode_holds)
		return stricter_mode(above, p->mode);
	if (is_wide(above))
		return p->mode == PERMISSION_PLAN ? p->mode : above;
	/* Nothing below an agent whose call chose its mode is wider than it. An ancestor that is gone had a wide mode, under which
	 * those of its children did not count. It does not widen any more, and neither do they. */
	bool may_widen = p->mode_may_widen;
	for (const struct permission *up = p->parent; up && may_widen; up = up->parent)
		may_widen = up->inherits_mode || (!up->mode_holds && (!up->is_gone || !is_wide(up->mode)));
	return may_widen ? p->mode : stricter_mode(above, p->mode);
}

enum permission_mode permission_mode_for(const struct permission *p, const char *tool)
{
	enum permission_mode mode = permission_mode(p);

	if (mode != PERMISSION_BYPASS && mode != PERMISSION_AUTO)
		return mode;
	for (const struct permission_narrowing *n = permission_main(p)->narrowings; n; n = n->next)
		if (str_starts(str_from(tool), str_from(n->tools)))
			return stricter_mode(n->mode, mode);
	return mode;
}

void permission_narrow(struct permission *p, struct str tools, enum permission_mode mode)
{
	struct permission_narrowing **at = &p->narrowings;

	while (*at && !str_is(tools, (*at)->tools))
		at = &(*at)->next;
	free(list_pop(at));
	if (mode == PERMISSION_BYPASS)
		return;
	struct permission_narrowing *n = xcalloc(1, sizeof *n + tools.n + 1);
	n->mode = mode;
	memcpy(n->tools, tools.p, tools.n);
	n->next = p->narrowings;
	p->narrowings = n;
}

static const struct {
	const char *name;
	int width;
} modes[] = {
#define X(mode, mode_name, mode_width) [PERMISSION_##mode] = { mode_name, mode_width },
	PERMISSION_MODES(X)
#undef X
};

bool permission_mode_parse(struct str name, enum permission_mode *ret_mode)
{
	if (str_is_nocase(name, "manual"))
		name = STR("default");
	for (size_t i = 0; i < COUNT_OF(modes); i++) {
		if (!str_is_nocase(name, modes[i].name))
			continue;
		*ret_mode = (enum permission_mode)i;
		return true;
	}
	return false;
}

const char *permission_mode_name(enum permission_mode mode)
{
	return modes[mode].name;
}

int permission_check_mode(enum permission_mode mode, struct err *err)
{
	const char *sandbox = getenv("IS_SANDBOX");

	if (mode != PERMISSION_BYPASS || geteuid() != 0 || (sandbox && !strcmp(sandbox, "1")))
		return 0;
	return err_set(err, ERR_USAGE,
		       "permissions are not bypassed for root: run as another user, or set IS_SANDBOX=1 in a "
		       "container made for this");
}

bool permission_mode_is_wider(enum permission_mode a, enum permission_mode b)
{
	return modes[a].width > modes[b].width;
}

bool permission_names_host(const struct permission *p, struct str host)
{
	for (struct rule_walk w = { .owner = p, .list = RULE_ALLOW }; rule_walk_next(&w);) {
		const struct rule_row *row = &w.set->lists[RULE_ALLOW].words[RULE_HOST];
		for (size_t i = 0; i < row->count; i++)
			if (!str_is(row->list[i]->host, "*") && host_rule_match(row->list[i]->host, host))
				return true;
	}
	return false;
}

/* Worktrees are made to be written, also if the configuration is that of a project; so is a working directory that lies somewhere
 * below the configuration. */
bool permission_is_own(const struct permission *p, const char *path)
{
	const struct permission *of_main = permission_main(p);
	const char *const *dirs = of_main->own_dirs;
	struct str below;

	for (; dirs && *dirs; dirs++) {
		struct str unused;
		bool around = of_main->root && path_relative(of_main->root, *dirs, &below) && below.n;
		if (!path_relative(path, *dirs, &below) || (around && path_relative(path, of_main->root, &unused)))
			continue;
		struct str first = str_cut(&below, '/');
		if (!str_is(first, "worktrees") || !below.n)
			return true;
	}
	return false;
}

const char *permission_main_path(const struct permission *p, struct arena *a, const char *path, size_t i)
{
	const char *of = p->copy_of[i];
	struct str relative;

	if (!of || !p->copy_root || !path_relative(path, p->copy_root, &relative))
		return NULL;
	return relative.n ? arena_printf(a, "%s/" STR_FMT, of, STR_ARG(relative)) : of;
}
