/* SPDX-License-Identifier: MIT
 * tool_tool_search.c - ToolSearch: loads tools that wait (core/tool/deferral.h). It starts when the answer that makes it is complete,
 * so that no other call of the same answer depends on which of them is faster. */
#include "lib/base/utf8.h"
#include "lib/json/json_write.h"
#include "mcp/client/selection.h"
#include "core/tool/deferral.h"
#include "tools/tool_rank.h"
#include "tools/tool_list.h"

enum { USUAL_RESULTS = 5, MOST_RESULTS = 50, DESCRIPTION_BYTES = 200 };

static void search_start(struct tool_call *call);

const struct tool tool_tool_search = {
	TOOL_TOOL_SEARCH_FACTS,
	.start = search_start,
};

struct finding {
	struct tool_call *call;
	struct tool_set tools;
	struct buf unknown; /* names, with commas between */
};

static void select_names(struct finding *f, const struct tool_set *known, struct str names)
{
	while (names.p) {
		struct str name = str_trim(str_cut(&names, ','));
		const struct tool *tool = name.n ? tool_set_find(known, name) : NULL;
		if (!tool && name.n)
			buf_addf(&f->unknown, "%s" STR_FMT, f->unknown.n ? ", " : "", STR_ARG(name));
		if (tool && !tool_set_find(&f->tools, str_from(tool->name)))
			tool_set_add(&f->tools, tool);
	}
}

static void search_words(struct finding *f, const struct tool_set *known, struct str words)
{
	const struct tool *best[MOST_RESULTS];
	uint64_t most = USUAL_RESULTS;

	(void)json_u64(json_get(f->call->input, "max_results"), &most);
	size_t n = tool_rank(known, words, MIN(most, MOST_RESULTS), best);
	for (size_t i = 0; i < n; i++)
		tool_set_add(&f->tools, best[i]);
}

/* One exact name is as good as "select:" with it. */
static void find(struct finding *f, const struct tool_set *known, struct str query)
{
	struct str select = STR("select:");
	const struct tool *exact = tool_set_find(known, query);

	if (str_starts(query, select))
		select_names(f, known, (struct str){ query.p + select.n, query.n - select.n });
	else if (exact)
		tool_set_add(&f->tools, exact);
	else
		search_words(f, known, query);
}

static void put_object(const struct finding *f, struct str query, size_t total)
{
	struct json_out w = json_out(&f->call->result_json);

	json_open(&w, '{');
	json_key(&w, "matches");
	json_open(&w, '[');
	for (size_t i = 0; i < f->tools.count; i++)
		json_put_cstr(&w, f->tools.tools[i]->name);
	json_close(&w);
	json_kstr(&w, "query", query);
	json_ki64(&w, "total_deferred_tools", (int64_t)total);
	json_close(&w);
}

static void put_tool(struct tool_call *call, const struct tool *tool)
{
	struct str text = str_trim(tool_description(tool, &call->arena));
	struct str line = utf8_cut(str_cut(&text, '\n'), DESCRIPTION_BYTES);

	buf_addf(&call->result, "- %s%s" STR_FMT "\n", tool->name, line.n ? ": " : "", STR_ARG(line));
}

static void put_text(const struct finding *f)
{
	struct tool_call *call = f->call;
	struct buf *out = &call->result;
	const struct mcp_selection *servers = call->env->servers;

	if (f->tools.count)
		buf_addstr(out, "These tools are in your list from now on, and you can call them:\n");
	for (size_t i = 0; i < f->tools.count; i++)
		put_tool(call, f->tools.tools[i]);
	if (f->unknown.n)
		buf_addf(out, "Not found: %s. What is in your list already need not be loaded.\n", f->unknown.p);
	else if (!f->tools.count)
		buf_addstr(out, "No tool fits. Try other words, or exact names with select:\n");
	if (servers && mcp_selection_settling(servers))
		buf_addstr(out, "Some MCP servers are still connecting: their tools can be found later.\n");
}

static void search_start(struct tool_call *call)
{
	struct deferral *d = call->env->deferral;
	struct str query = str_trim(json_str(json_get(call->input, "query"), &call->arena));
	struct finding f = { .call = call };

	if (!d || !d->known.count) {
		tool_call_finish(call, STR("There is nothing to load: all your tools are in your list."));
		return;
	}
	find(&f, &d->known, query);
	for (size_t i = 0; i < f.tools.count; i++)
		deferral_want(d, f.tools.tools[i]->name);
	put_object(&f, query, d->known.count);
	put_text(&f);
	tool_set_release(&f.tools);
	buf_release(&f.unknown);
	tool_call_end(call, false);
}
