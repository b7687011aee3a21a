/* SPDX-License-Identifier: MIT
 * guide.c - what the guide knows about this machine. */
#include "defs/agentdef/guide.h"
#include "lib/base/utf8.h"

enum { MOST_NAMES = 50, LONGEST_DESCRIPTION = 120 };

static void add_list(struct buf *out, const char *title, const char *const *names)
{
	size_t i = 0;

	for (; names && names[i] && i < MOST_NAMES; i++)
		buf_addf(out, "%s%s", i ? ", " : title, names[i]);
	if (i && names[i])
		buf_addstr(out, " and more");
	if (i)
		buf_addch(out, '\n');
}

static void add_agents(struct buf *out, const struct agent_registry *r)
{
	size_t shown = 0;
	size_t count = 0;

	for (size_t i = 0; i < r->active_count; i++) {
		const struct agent_definition *d = r->active[i]->definition;
		if (d->source == AGENT_BUILT_IN || count++ >= MOST_NAMES)
			continue;
		struct str text = str_from(d->description);
		struct str line = utf8_cut(str_cut(&text, '\n'), LONGEST_DESCRIPTION);
		buf_addf(out, "%s- %s (%s): " STR_FMT "\n", shown++ ? "" : "Agents:\n", d->name,
			 agent_source_name(d->source), STR_ARG(line));
	}
	if (count > shown)
		buf_addf(out, "- and %zu more; `cadre agents` lists them\n", count - shown);
	if (r->failed_count)
		buf_addf(out, "Agent files that could not be loaded: %zu; `cadre agents check` says why.\n",
			 r->failed_count);
}

void guide_prompt(struct buf *out, const struct agent_definition *guide, const struct agent_registry *r,
		  const struct guide_facts *facts)
{
	AUTO_BUF struct buf here = { 0 };

	buf_addstr(out, guide->prompt ? guide->prompt : "");
	add_agents(&here, r);
	add_list(&here, "Settings files: ", facts->settings_files);
	add_list(&here, "MCP servers: ", facts->mcp_servers);
	add_list(&here, "Skills: ", facts->skills);
	add_list(&here, "Plugins: ", facts->plugins);
	buf_addf(out, "\n\n# Configured here\n\n%s", here.n ? here.p : "Nothing beyond the defaults.\n");
}
