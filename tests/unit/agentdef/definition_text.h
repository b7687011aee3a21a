/* SPDX-License-Identifier: MIT
 * definition_text.h - definitions in tests: made from a few lines, and looked into. */
#pragma once
#include "unit.h"
#include "defs/agentdef/definition.h"

/* An agent named a with description d and these further lines of frontmatter. */
static inline struct agent_definition *agent_with(const char *lines)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addf(&text, "---\nname: a\ndescription: d\n%s\n---\nbody\n", lines);
	return agent_from_markdown(SOURCE_USER, "a.md", "stem", buf_str(&text));
}

static inline struct agent_definition *agent_from(const char *text)
{
	return agent_from_markdown(SOURCE_USER, "a.md", "stem", str_from(text));
}

/* Whether a diagnostic of at least this level holds the words. */
static inline bool says(const struct agent_definition *d, enum diagnostic_level level, const char *words)
{
	for (size_t i = 0; i < d->diagnostic_count; i++)
		if (d->diagnostics[i].level >= level && strstr(d->diagnostics[i].message, words))
			return true;
	return false;
}

/* "a b c", "(none)" if present and empty, "-" if absent. The caller frees. */
static inline char *joined(const struct name_list *list)
{
	AUTO_BUF struct buf out = { 0 };

	buf_addstr(&out, !list->present ? "-" : !list->count ? "(none)" : "");
	for (size_t i = 0; i < list->count; i++)
		buf_addf(&out, "%s%s", i ? "|" : "", list->names[i]);
	return buf_take(&out, NULL);
}
