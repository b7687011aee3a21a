/* SPDX-License-Identifier: MIT
 * web_search_result.c - what a model and its server found. Blocks of other types (the model's thoughts, the calls of the
 * server's tool) are not part of it. */
#include "tools/web/web_search_result.h"
#include "lib/json/json_write.h"

enum { MOST_LINKS = 100 };

struct finding {
	struct tool_call *call;
	struct json_out w; /* of the result's object */
	unsigned searches, links;
};

static void add_said(struct finding *f, struct str text)
{
	if (!str_trim(text).n)
		return;
	buf_addch(&f->call->result, '\n');
	buf_add(&f->call->result, text.p, text.n);
	buf_addch(&f->call->result, '\n');
	json_put_str(&f->w, text);
}

static void add_link(struct finding *f, const struct json *hit)
{
	struct arena *a = &f->call->arena;
	struct str title = str_trim(json_str(json_get(hit, "title"), a));
	struct str url = json_str(json_get(hit, "url"), a);

	if (!url.n || f->links++ >= MOST_LINKS)
		return;
	buf_addstr(&f->call->result, "- [");
	buf_addfolded(&f->call->result, title.n ? title : url);
	buf_addf(&f->call->result, "](" STR_FMT ")\n", STR_ARG(url));
	json_open(&f->w, '{');
	json_kstr(&f->w, "title", title);
	json_kstr(&f->w, "url", url);
	json_close(&f->w);
}

static void add_hits(struct finding *f, const struct json *block)
{
	struct arena *a = &f->call->arena;
	const struct json *content = json_get(block, "content");

	f->searches++;
	if (!json_is(content, JSON_ARRAY)) {
		struct str code = json_str(json_get(content, "error_code"), a);
		add_said(f, str_from(arena_printf(a, "The search failed: " STR_FMT ".",
						  STR_ARG(code.n ? code : STR("the server did not say why")))));
		return;
	}
	json_open(&f->w, '{');
	json_kstr(&f->w, "tool_use_id", json_str(json_get(block, "tool_use_id"), a));
	json_key(&f->w, "content");
	json_open(&f->w, '[');
	buf_addstr(&f->call->result, json_first(content) ? "\nLinks:\n" : "\nNo links were found.\n");
	for (const struct json *hit = json_first(content); hit; hit = json_next(content, hit))
		add_link(f, hit);
	json_close(&f->w);
	json_close(&f->w);
}

static void add_block(struct finding *f, const struct json *block)
{
	const struct json *type = json_get(block, "type");

	if (json_str_is(type, "text"))
		add_said(f, json_str(json_get(block, "text"), &f->call->arena));
	else if (json_str_is(type, "web_search_tool_result"))
		add_hits(f, block);
}

int web_search_read(struct tool_call *call, struct str blocks, unsigned *ret_searches, struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	struct finding f = { .call = call, .w = json_out(&call->result_json) };
	struct str query = json_str(json_get(call->input, "query"), &call->arena);
	const struct json *root;

	if (json_parse(&reader, blocks.p, blocks.n, &root, err) < 0 || !json_is(root, JSON_ARRAY))
		return err_set(err, ERR_PROTOCOL, "the answer of the search cannot be read");
	buf_addf(&call->result, "Results of a web search for \"" STR_FMT "\":\n", STR_ARG(query));
	json_open(&f.w, '{');
	json_kstr(&f.w, "query", query);
	json_key(&f.w, "results");
	json_open(&f.w, '[');
	for (const struct json *block = json_first(root); block; block = json_next(root, block))
		add_block(&f, block);
	json_close(&f.w);
	json_key(&f.w, "durationSeconds");
	json_put_double(&f.w, (double)(loop_now_ms(call->env->loop) - call->started_ms) / 1000);
	json_ki64(&f.w, "searchCount", f.searches);
	json_close(&f.w);
	*ret_searches = f.searches;
	return 0;
}
