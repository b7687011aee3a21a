/* SPDX-License-Identifier: MIT
 * judge_name.c - tools that are judged by their name and one word of their input: a host, a type of agent, a skill. */
#include "guard/permission/judge_int.h"

static const struct rule *name_matches(struct judge *j, const struct rule_set *set, enum rule_list list);
static bool name_fits(struct judge *j, const struct rule_set *set);
static bool name_passes(struct judge *j, struct buf *why);

const struct inspector inspect_name = { .matches = name_matches, .fits = name_fits, .passes = name_passes };

static struct str agent_type(struct judge *j)
{
	struct str type = str_trim(judge_text(j, "subagent_type"));

	if (type.n)
		return type;
	return str_from(j->p->default_agent ? j->p->default_agent : "general-purpose");
}

static struct str skill_name(struct judge *j)
{
	struct str name = judge_text(j, "skill");

	if (!name.n)
		name = judge_text(j, "command");
	return str_starts(name, STR("/")) ? (struct str){ name.p + 1, name.n - 1 } : name;
}

static bool has_arguments(struct judge *j)
{
	return str_trim(judge_text(j, "args")).n > 0;
}

static const struct rule *name_matches(struct judge *j, const struct rule_set *set, enum rule_list list)
{
	switch (j->subject ? j->subject->kind : SUBJECT_NAME) {
	case SUBJECT_HOST:
		return rule_set_host(set, list, host_of_url(&j->arena, judge_text(j, "url")));
	case SUBJECT_AGENT:
		return rule_set_agent(set, list, agent_type(j));
	case SUBJECT_SKILL:
		return rule_set_skill(set, list, skill_name(j), has_arguments(j));
	default:
		return NULL;
	}
}

static bool limit_holds(struct judge *j, const struct rule *r)
{
	switch (r->kind) {
	case RULE_BARE:
		return true;
	case RULE_HOST:
		return host_rule_match(r->host, host_of_url(&j->arena, judge_text(j, "url")));
	case RULE_AGENT:
		return agent_rule_match(r->names, agent_type(j));
	case RULE_SKILL:
		return skill_rule_match(r, skill_name(j), has_arguments(j));
	case RULE_PARAMETER:
		return rule_parameter_match(r, j->use.input);
	default:
		return false;
	}
}

static bool name_fits(struct judge *j, const struct rule_set *set)
{
	bool limited = false;

	for (size_t i = 0; i < set->limits.count; i++) {
		const struct rule *r = set->limits.list[i];
		if (strcmp(r->tool, j->tool) != 0)
			continue;
		if (limit_holds(j, r))
			return true;
		limited = true;
	}
	return !limited;
}

static const struct rule *find_allow(struct judge *j, const struct rule_set *set, enum rule_list list)
{
	const struct rule *r = judge_find_bare(j, set, list);

	return r ? r : name_matches(j, set, list);
}

/* A server's own word that its tool only reads is no reason to trust it. */
static bool is_harmless(const struct judge *j)
{
	if (j->use.flags & TOOL_NO_ASK)
		return true;
	return (j->use.flags & TOOL_READ_ONLY) && !str_starts(str_from(j->tool), STR("mcp__"));
}

static bool name_passes(struct judge *j, struct buf *why)
{
	const struct rule *r = judge_find(j, RULE_ALLOW, find_allow);

	if (r)
		return judge_decide(j, PERMISSION_ALLOW, PERMISSION_STEP_ALLOW_RULE, r);
	return is_harmless(j) && judge_decide(j, PERMISSION_ALLOW, PERMISSION_STEP_READING, NULL);
}
