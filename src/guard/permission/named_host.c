/* SPDX-License-Identifier: MIT
 * named_host.c - hosts that somebody named on purpose. */
#include "guard/permission/named_host.h"

static bool set_names(const struct rule_set *set, struct str host)
{
	const struct rule_row *row = set ? &set->lists[RULE_ALLOW].hosts : NULL;

	for (size_t i = 0; row && i < row->count; i++)
		if (!str_is(row->list[i]->host, "*") && host_rule_match(row->list[i]->host, host))
			return true;
	return false;
}

bool permission_names_host(const struct permission *p, struct str host)
{
	for (; p; p = p->parent) {
		if (set_names(p->own, host) || set_names(p->rules, host))
			return true;
		for (const struct permission_grant *g = p->grants; g; g = g->next)
			if (set_names(g->rules, host))
				return true;
		if (p->replaces_allow)
			break;
	}
	return false;
}
