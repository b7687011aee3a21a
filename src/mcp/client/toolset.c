/* SPDX-License-Identifier: MIT
 * toolset.c - the tools of a server as tools of agents. Definitions are written once for each catalog. A tool whose full name the
 * API would not take (too long), or that becomes the same as one before it, is left out. */
#include "mcp/client/toolset.h"
#include "lib/base/map.h"
#include "lib/base/utf8.h"
#include "lib/json/json_write.h"
#include "mcp/client/result.h"
#include "mcp/client/selection.h"

/* ---- a call: from the lease of the agent to the server and back ---- */

/* What a call keeps while it runs, in its arena */
struct tool_run {
	struct mcp_lease_call *open; /* NULL: answered */
	const char *server, *tool;
	size_t most_chars;
};

/* The full message of the server is in the error object. */
static void tool_run_fail(struct tool_call *call, const struct tool_run *tool_run, const struct json *error,
			  const struct err *err)
{
	struct str words = json_str(json_get(error, "message"), &call->arena);
	int64_t code = 0;

	(void)json_i64(json_get(error, "code"), &code);
	if (words.n)
		tool_call_fail(call, "The tool %s of the server %s failed: MCP error %lld: " STR_FMT, tool_run->tool,
			       tool_run->server, (long long)code, STR_ARG(words));
	else
		tool_call_fail(call, "The tool %s of the server %s failed: %s", tool_run->tool, tool_run->server,
			       err->text);
}

static void on_tool_answer(void *data, const struct json *result, const struct err *err)
{
	struct tool_call *call = data;
	struct tool_run *tool_run = call->state;

	tool_run->open = NULL;
	if (err)
		tool_run_fail(call, tool_run, result, err);
	else
		mcp_result_finish(call, result, tool_run->most_chars);
}

/* Only its being asked for matters: it keeps the call alive where an idle limit is set. */
static void on_tool_progress(void *data, double progress, double total, struct str message)
{
	(void)data, (void)progress, (void)total, (void)message;
}

static void tool_run_start(struct tool_call *call)
{
	const struct mcp_tool_ctx *ctx = call->tool->ctx;
	struct mcp_selection *servers = call->env->servers;
	struct mcp_lease *lease = servers ? mcp_selection_find(servers, str_from(ctx->set->server)) : NULL;
	AUTO_BUF struct buf params = { 0 };
	struct json_out w = json_out(&params);

	if (!lease) {
		tool_call_fail(call, "The tool %s cannot be called: this agent does not use the server %s.",
			       ctx->tool->name, ctx->set->server);
		return;
	}
	json_open(&w, '{');
	json_kcstr(&w, "name", ctx->tool->name);
	json_kraw(&w, "arguments", json_raw(call->input));
	json_close(&w);
	struct tool_run *tool_run = arena_calloc(&call->arena, sizeof *tool_run);
	tool_run->server = arena_strdup(&call->arena, ctx->set->server);
	tool_run->tool = arena_strdup(&call->arena, ctx->tool->name);
	tool_run->most_chars = ctx->tool->most_chars;
	call->state = tool_run;
	tool_run->open = mcp_lease_call(lease, &(struct mcp_call){ .method = "tools/call",
								   .params = buf_str(&params),
								   .tool_use_id = call->id,
								   .answer = on_tool_answer,
								   .progress = on_tool_progress,
								   .data = call });
}

static void tool_run_cancel(struct tool_call *call)
{
	struct tool_run *tool_run = call->state;

	if (tool_run && tool_run->open)
		mcp_lease_call_cancel(tool_run->open, "the call was cancelled");
}

/* ---- definitions ---- */

enum { NAME_LIMIT = 128, DESCRIPTION_LIMIT = 2048 };

static void put_description(struct json_out *w, const char *description)
{
	AUTO_BUF struct buf cut = { 0 };
	struct str text = str_from(description);

	if (text.n > DESCRIPTION_LIMIT) {
		struct str head = utf8_cut(text, DESCRIPTION_LIMIT);
		buf_add(&cut, head.p, head.n);
		buf_addstr(&cut, " [...]");
		text = buf_str(&cut);
	}
	json_kstr(w, "description", text);
}

static char *write_definition(const char *name, const struct mcp_tool *t, struct arena *a)
{
	AUTO_BUF struct buf out = { 0 };
	struct json_out w = json_out(&out);

	json_open(&w, '{');
	json_kcstr(&w, "name", name);
	put_description(&w, t->description);
	json_kraw(&w, "input_schema", str_from(t->schema));
	json_close(&w);
	return arena_dup(a, out.p, out.n);
}

static void toolset_add(struct mcp_toolset *b, const struct mcp_tool *t, struct map *names)
{
	AUTO_BUF struct buf name = { 0 };

	mcp_name_add(&name, str_from(b->server), str_from(t->name));
	if (name.n > NAME_LIMIT || map_set(names, buf_str(&name), b))
		return;
	size_t i = b->count++;
	b->ctxs[i] = (struct mcp_tool_ctx){ .set = b, .tool = t };
	b->tools[i].name = arena_dup(&b->arena, name.p, name.n);
	b->tools[i].definition = write_definition(b->tools[i].name, t, &b->arena);
	/* Annotations of a server grant nothing: a read-only tool may run in parallel, but still needs permission. */
	b->tools[i].flags = TOOL_OWN_LIMIT | (t->read_only ? TOOL_CONCURRENT : 0) |
			    (t->needs_user ? TOOL_NEEDS_USER : 0) |
			    (b->always_load || t->always_load ? 0 : TOOL_MAY_WAIT);
	b->tools[i].ctx = &b->ctxs[i];
	b->tools[i].start = tool_run_start;
	b->tools[i].cancel = tool_run_cancel;
}

struct mcp_toolset *mcp_toolset_new(struct mcp_catalog *catalog, const struct mcp_server *server)
{
	struct mcp_toolset *b = xcalloc(1, sizeof *b);
	struct map names = { 0 };

	b->refs = 1;
	b->catalog = mcp_catalog_ref(catalog);
	b->server = arena_strdup(&b->arena, server->name);
	b->always_load = server->always_load;
	b->tools = arena_calloc(&b->arena, catalog->tool_count * sizeof *b->tools);
	b->ctxs = arena_calloc(&b->arena, catalog->tool_count * sizeof *b->ctxs);
	for (size_t i = 0; i < catalog->tool_count; i++)
		toolset_add(b, &catalog->tools[i], &names);
	map_release(&names);
	return b;
}

struct mcp_toolset *mcp_toolset_ref(struct mcp_toolset *b)
{
	b->refs++;
	return b;
}

void mcp_toolset_unref(struct mcp_toolset *b)
{
	if (!b || --b->refs)
		return;
	mcp_catalog_unref(b->catalog);
	arena_release(&b->arena);
	free(b);
}
