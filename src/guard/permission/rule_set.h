/* SPDX-License-Identifier: MIT
 * rule_set.h - many rules, compiled once and found fast. Counted: the settings of a session are one set that all its agents
 * share, and it does not change once it is shared. */
#pragma once
#include "lib/base/map.h"
#include "lib/json/json.h"
#include "guard/permission/rule.h"

struct rule_row {
	const struct rule **list;
	size_t count, cap;
};

/* Rules of one list by what they look at */
struct rule_index {
	struct map tools;            /* lower case name -> struct rule_row: bare and parameter rules */
	struct rule_row several;     /* names with * */
	struct map commands;         /* first word -> struct rule_row */
	struct rule_row any_command; /* those whose first word has a * */
	struct map names;            /* "r" or "e", then a name that may stand at any depth -> struct rule_row */
	struct rule_row paths[2];    /* other path rules that start where an agent is: reading, editing */
	struct rule_row fixed[2];    /* and those that start somewhere else */
	struct rule_row words[RULE_KIND_COUNT]; /* of hosts, types of agents and skills, by kind */
};

struct rule_set {
	unsigned refs;
	struct arena arena;
	struct rule_index lists[RULE_ALLOW + 1];
	struct rule_row limits; /* RULE_ONLY */
	struct rule_row all;    /* in the order of arrival */
	const struct rule_origin *last_origin;
};

static inline struct rule_set *rule_set_new(void) /* returns owned: one reference */
{
	struct rule_set *s = xcalloc(1, sizeof *s);

	s->refs = 1;
	return s;
}
static inline struct rule_set *rule_set_ref(struct rule_set *s)
{
	if (s)
		s->refs++;
	return s;
}
void rule_set_unref(struct rule_set *s);
/* Text and origin are copied. 0, also for an allow rule that was skipped with a warning, or -ERR_PARSE as rule_parse(). */
int rule_set_add(struct rule_set *s, enum rule_list list, struct str text, const struct rule_origin *o,
		 rule_warn_fn *warn, void *data, struct err *err);

/* The first rule of a list (not RULE_ONLY) that matches, or NULL. server: of struct tool. A rule that allows the tools of a server means
 * exactly that one: the tools of github__evil have names that begin like those of github. */
const struct rule *rule_set_tool(const struct rule_set *s, enum rule_list list, const char *lower_name,
				 const char *server, const struct json *input);
const struct rule *rule_set_path(const struct rule_set *s, enum rule_list list, bool edits, const char *path,
				 const struct path_anchors *anchors);
/* What a rule names may lead elsewhere by links: it means that place, too. */
struct path_alias {
	const char *named, *real; /* absolute; real has no link in it */
};
struct path_aliases {
	struct path_alias *list;
	size_t count;
};
/* Of the path rules of a list, as far as they have no wildcard, from where they may start. Texts are in the arena. */
void path_aliases_add(struct path_aliases *aliases, struct arena *a, const struct rule_set *s, enum rule_list list,
		      const struct path_anchors *anchors);
/* What the rule calls this path, in the arena; NULL: it is not there. path has no link in it. */
const char *path_alias_name(const struct path_alias *alias, struct arena *a, const char *path);
const struct rule *rule_set_command(const struct rule_set *s, enum rule_list list, const struct command_text *command);
