/* SPDX-License-Identifier: MIT
 * tool_tool_search.c - ToolSearch: loads deferred tools (core/tool/deferral.h). It starts when the answer with the call is complete,
 * so that no other call of the same answer depends on which of them is faster. */
#include <ctype.h>
#include "core/tool/deferral.h"
#include "lib/base/utf8.h"
#include "lib/json/json_write.h"
#include "mcp/client/pool.h"
#include "core/tool/tool_list.h"
#include "tools/agents/tool_rank.h"

/* Ranking. Texts are compared in a plain form: lower case, every word between two blanks. */

enum { MOST_WORDS = 32 };
enum { NAME_WORD = 10, NAME_PART = 5, DESCRIPTION_WORD = 3, DESCRIPTION_PART = 1 };

struct word {
	char *part, *whole; /* "log" and " log " */
	bool required;
};

struct words {
	struct word list[MOST_WORDS];
	size_t count;
};

struct candidate {
	const struct tool *tool;
	unsigned score;
	size_t place; /* in the set */
};

static char *plain_form(struct arena *arena, struct str text)
{
	AUTO_BUF struct buf out = { 0 };

	buf_addch(&out, ' ');
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];
		if (i && isupper(c) && islower((unsigned char)text.p[i - 1]))
			buf_addch(&out, ' ');
		buf_addch(&out, isalnum(c) || c >= 0x80 ? (char)tolower(c) : ' ');
	}
	buf_addch(&out, ' ');
	return arena_dup(arena, out.p, out.n);
}

static void split_words(struct words *w, struct arena *arena, struct str text)
{
	char *copy = arena_dup(arena, text.p, text.n);

	for (char *c = copy; *c; c++)
		if (isspace((unsigned char)*c))
			*c = ' ';
	for (struct str rest = { copy, text.n }; rest.p;) {
		struct str token = str_cut(&rest, ' ');
		bool required = token.n > 1 && token.p[0] == '+';
		for (struct str parts = str_from(plain_form(arena, token)); parts.p && w->count < MOST_WORDS;) {
			struct str part = str_cut(&parts, ' ');
			if (part.n)
				w->list[w->count++] =
					(struct word){ .part = arena_dup(arena, part.p, part.n),
						       .whole = arena_printf(arena, " " STR_FMT " ", STR_ARG(part)),
						       .required = required };
		}
	}
}

static struct str tool_description(const struct tool *tool, struct arena *arena)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	if (json_parse(&reader, tool->definition, strlen(tool->definition), &root, NULL) < 0)
		return STR("");
	return arena_str(arena, json_str(json_get(root, "description"), arena));
}

static unsigned found_in(const char *text, const struct word *word, unsigned whole, unsigned part)
{
	return strstr(text, word->whole) ? whole : strstr(text, word->part) ? part : 0;
}

static unsigned score_of(const struct tool *tool, const struct words *w)
{
	AUTO_ARENA struct arena arena = { 0 };
	const char *name = plain_form(&arena, str_from(tool->name));
	const char *description = plain_form(&arena, tool_description(tool, &arena));
	unsigned score = 0;

	for (size_t i = 0; i < w->count; i++) {
		unsigned found = found_in(name, &w->list[i], NAME_WORD, NAME_PART) +
				 found_in(description, &w->list[i], DESCRIPTION_WORD, DESCRIPTION_PART);
		if (!found && w->list[i].required)
			return 0;
		score += found;
	}
	return score;
}

static int compare_score(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->score != y->score)
		return x->score > y->score ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

size_t tool_rank(const struct tool_set *set, struct str text, size_t most, const struct tool **ret_best)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct candidate *all = arena_calloc(&arena, (set->count + 1) * sizeof *all);
	struct words words = { 0 };
	size_t n = 0;

	split_words(&words, &arena, text);
	for (size_t i = 0; i < set->count; i++) {
		struct candidate c = { set->tools[i], score_of(set->tools[i], &words), i };
		if (c.score)
			all[n++] = c;
	}
	qsort(all, n, sizeof *all, compare_score);
	n = MIN(n, most);
	for (size_t i = 0; i < n; i++)
		ret_best[i] = all[i].tool;
	return n;
}

enum { USUAL_RESULTS = 5, MOST_RESULTS = 50, DESCRIPTION_BYTES = 200 };

static void search_start(struct tool_call *call);

const struct tool tool_tool_search = { TOOL_TOOL_SEARCH_FACTS, .start = search_start };

struct finding {
	struct tool_call *call;
	struct tool_set tools;
	struct buf unknown; /* names, with commas between */
};

/* One exact name is as good as "select:" with it. */
static void find_tools(struct finding *f, const struct tool_set *known, struct str query)
{
	struct str select = STR("select:");
	const struct tool *best[MOST_RESULTS] = { tool_set_find(known, query) };
	uint64_t most = USUAL_RESULTS;

	if (str_starts(query, select)) {
		struct str names = str_tail(query, select.n);
		while (names.p) {
			struct str name = str_trim(str_cut(&names, ','));
			const struct tool *tool = name.n ? tool_set_find(known, name) : NULL;
			if (!tool && name.n)
				buf_addf(&f->unknown, "%s" STR_FMT, f->unknown.n ? ", " : "", STR_ARG(name));
			if (tool && !tool_set_find(&f->tools, str_from(tool->name)))
				tool_set_add(&f->tools, tool);
		}
		return;
	}
	(void)json_u64(json_get(f->call->input, "max_results"), &most);
	size_t n = best[0] ? 1 : tool_rank(known, query, MIN(most, MOST_RESULTS), best);
	for (size_t i = 0; i < n; i++)
		tool_set_add(&f->tools, best[i]);
}

static void add_found_text(const struct finding *f)
{
	struct tool_call *call = f->call;
	struct buf *out = &call->result;
	const struct mcp_selection *servers = call->env->servers;

	if (f->tools.count)
		buf_addstr(out, "These tools are in your list from now on, and you can call them:\n");
	for (size_t i = 0; i < f->tools.count; i++) {
		struct str text = str_trim(tool_description(f->tools.tools[i], &call->arena));
		struct str line = utf8_cut(str_cut(&text, '\n'), DESCRIPTION_BYTES);
		buf_addf(out, "- %s%s" STR_FMT "\n", f->tools.tools[i]->name, line.n ? ": " : "", STR_ARG(line));
	}
	if (f->unknown.n)
		buf_addf(out, "Not found: %s. Tools in your list need not be loaded.\n", f->unknown.p);
	else if (!f->tools.count)
		buf_addstr(out, "No tool matches. Try other words, or exact names with select:\n");
	if (servers && mcp_selection_settling(servers))
		buf_addstr(out, "Some MCP servers are still connecting: their tools can be found later.\n");
}

static void search_start(struct tool_call *call)
{
	struct deferral *d = call->env->deferral;
	struct str query = str_trim(json_str(json_get(call->input, "query"), &call->arena));
	struct finding f = { .call = call };
	struct json_out w = json_out(&call->result_json);

	if (!d || !d->known.count) {
		tool_call_finish(call, STR("There is nothing to load: all your tools are in your list."));
		return;
	}
	find_tools(&f, &d->known, query);
	json_putf(&w, "{matches:[");
	for (size_t i = 0; i < f.tools.count; i++) {
		deferral_want(d, f.tools.tools[i]->name);
		json_put_cstr(&w, f.tools.tools[i]->name);
	}
	json_putf(&w, "], query:'%.*s', total_deferred_tools:%lld}", STR_ARG(query), (long long)d->known.count);
	add_found_text(&f);
	tool_set_release(&f.tools);
	buf_release(&f.unknown);
	tool_call_end(call);
}
