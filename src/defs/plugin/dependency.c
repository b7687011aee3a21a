/* SPDX-License-Identifier: MIT
 * dependency.c - is everything there that a plugin needs? */
#include "defs/plugin/dependency.h"
#include "defs/plugin/version.h"

static const char *market_of(const struct plugin *p)
{
	return strchr(p->id, '@') + 1;
}

/* Given on the command line, a plugin stands in for that of any marketplace. */
static bool is_meant(const struct plugin_dependency *d, const struct plugin *by, const struct plugin *p)
{
	if (strcmp(d->name, p->name) != 0 || p == by)
		return false;
	if (p->origin != PLUGIN_INSTALLED)
		return true;
	if (!d->marketplace && by->origin != PLUGIN_INSTALLED)
		return true;
	return !strcmp(market_of(p), d->marketplace ? d->marketplace : market_of(by));
}

static const struct plugin *find(const struct plugin_list *l, const struct plugin_dependency *d,
				 const struct plugin *by)
{
	const struct plugin *found = NULL;

	for (size_t i = 0; i < l->count && !(found && found->state == PLUGIN_ENABLED); i++)
		if (is_meant(d, by, l->all[i]))
			found = l->all[i];
	return found;
}

static bool check(const struct plugin_list *l, struct plugin *p, const struct plugin_dependency *d)
{
	static const char *const states[] = { [PLUGIN_DISABLED] = "is disabled", [PLUGIN_FAILED] = "has failed" };
	const struct plugin *other = find(l, d, p);

	if (!other || other->state != PLUGIN_ENABLED)
		plugin_fail(p, PLUGIN_BAD_DEPENDENCY, p->manifest, d->line, "needs the plugin %s, which %s", d->name,
			    other ? states[other->state] : "is not there");
	else if (d->range && !version_fits(str_from(other->version ? other->version : ""), str_from(d->range)))
		plugin_fail(p, PLUGIN_BAD_DEPENDENCY, p->manifest, d->line,
			    "needs version %s of the plugin %s, which has %s", d->range, d->name,
			    other->version ? other->version : "none");
	return p->state == PLUGIN_ENABLED;
}

void dependencies_check(struct plugin_list *l)
{
	for (bool changed = true; changed;) {
		changed = false;
		for (size_t i = 0; i < l->count; i++) {
			struct plugin *p = l->all[i];
			for (size_t k = 0; k < p->dependency_count && p->state == PLUGIN_ENABLED; k++)
				changed |= !check(l, p, &p->dependencies[k]);
		}
	}
}
