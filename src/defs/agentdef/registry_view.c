/* SPDX-License-Identifier: MIT
 * registry_view.c - from what the files gave to what counts. */
#include "defs/agentdef/registry_int.h"
#include "guard/permission/rule.h"

static void add_failed(struct agent_registry *r, enum agent_source source, const char *path, unsigned line,
		       const char *message)
{
	r->failed = xrealloc(r->failed, (r->failed_count + 1) * sizeof *r->failed);
	r->failed[r->failed_count++] = (struct failed_file){ source, path, line, message };
}

/* The error that kept it from being loaded. */
static void add_refused(struct agent_registry *r, const struct agent_definition *d)
{
	for (size_t i = 0; i < d->diagnostic_count; i++) {
		const struct diagnostic *why = &d->diagnostics[i];
		if (why->level == DIAGNOSTIC_ERROR) {
			add_failed(r, d->source, d->file, why->line, why->message);
			return;
		}
	}
	add_failed(r, d->source, d->file, 0, "refused");
}

/* strictPluginOnlyCustomization of a managed file: true, or an object or list that names agents. */
static bool locks_agents(const struct unit *u)
{
	const struct json *lock = json_get(u->settings.root, "strictPluginOnlyCustomization");

	if (u->source != AGENT_POLICY)
		return false;
	for (const struct json *v = json_is(lock, JSON_ARRAY) ? json_first(lock) : NULL; v; v = json_next(lock, v))
		if (json_str_is(v, "agents"))
			return true;
	return json_bool(lock) || json_bool(json_get(lock, "agents"));
}

static bool is_locked_out(const struct agent_registry *r, enum agent_source source)
{
	return r->plugins_only && (source == AGENT_USER || source == AGENT_PROJECT || source == AGENT_FLAG);
}

static void add_unit(struct agent_registry *r, const struct unit *u)
{
	if (u->error)
		add_failed(r, u->source, u->path, u->error_line, u->error);
	for (size_t i = 0; i < u->count; i++) {
		struct agent_definition *d = u->definitions[i];
		r->looked_at[r->looked_at_count++] = d;
		if (d->refused)
			add_refused(r, d);
		else if (d->is_agent && !is_locked_out(r, d->source))
			r->all[r->all_count++] = (struct agent_entry){ .definition = d, .place = u->place };
	}
}

static int by_name(const void *a, const void *b)
{
	const struct agent_entry *x = *(const struct agent_entry *const *)a;
	const struct agent_entry *y = *(const struct agent_entry *const *)b;
	int order = strcasecmp(x->definition->name, y->definition->name);

	return order ? order : strcmp(x->definition->name, y->definition->name);
}

/* A later place wins; within one place the first does. */
static void choose_active(struct agent_registry *r)
{
	struct map winners = { 0 };

	for (size_t i = 0; i < r->all_count; i++) {
		struct agent_entry *e = &r->all[i];
		const struct agent_entry *now = map_get(&winners, str_from(e->definition->name));
		if (!now || now->place != e->place)
			map_set(&winners, str_from(e->definition->name), e);
	}
	for (size_t i = 0; i < r->all_count; i++) {
		const struct agent_entry *winner = map_get(&winners, str_from(r->all[i].definition->name));
		if (winner != &r->all[i])
			r->all[i].hidden_by = winner;
		else
			r->active[r->active_count++] = winner;
	}
	if (r->active_count)
		qsort(r->active, r->active_count, sizeof *r->active, by_name);
	map_release(&winners);
}

static void deny_by_flag(struct agent_registry *r, struct str rules)
{
	while (rules.p)
		agent_denials_add_rule(&r->denied, rule_cut(&rules), "cliArg");
}

void registry_build(struct agent_registry *r)
{
	const struct registry_scan *s = r->scan;
	size_t most = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct unit *u = s->order[i];
		most += u->count;
		r->plugins_only |= locks_agents(u);
		agent_denials_add(&r->denied, json_get(json_get(u->settings.root, "permissions"), "deny"),
				  agent_source_name(u->source));
	}
	deny_by_flag(r, str_from(s->sources.denied));
	r->all = xcalloc(most + 1, sizeof *r->all);
	r->active = xcalloc(most + 1, sizeof(struct agent_entry *));
	r->looked_at = xcalloc(most + 1, sizeof(struct agent_definition *));
	for (size_t i = 0; i < s->count; i++)
		add_unit(r, s->order[i]);
	choose_active(r);
}

void registry_release_view(struct agent_registry *r)
{
	free(TAKE(r->all));
	free((void *)TAKE(r->active));
	free(TAKE(r->failed));
	free(TAKE(r->looked_at));
	r->all_count = r->active_count = r->failed_count = r->looked_at_count = 0;
	r->plugins_only = false;
	agent_denials_release(&r->denied);
}
