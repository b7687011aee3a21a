/* SPDX-License-Identifier: MIT
 * toolset.c - the tools of a server as tools of agents. Definitions are written once for each catalog. A tool is left
 * out if its full name is too long for the API or equals an earlier one. */
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

static void on_tool_answer(void *data, const struct json *result, const struct err *err)
{
	struct tool_call *call = data;
	struct tool_run *run = call->state;
	/* The full message of the server is in the error object. */
	struct str message = err ? json_str(json_get(result, "message"), &call->arena) : STR("");
	int64_t code = 0;

	run->open = NULL;
	if (!err) {
		mcp_result_finish(call, result, run->most_chars);
	} else if (message.n) {
		(void)json_i64(json_get(result, "code"), &code);
		tool_call_fail(call, "The tool %s of the server %s failed: MCP error %lld: " STR_FMT, run->tool,
			       run->server, (long long)code, STR_ARG(message));
	} else {
		tool_call_fail(call, "The tool %s of the server %s failed: %s", run->tool, run->server, err->text);
	}
}

/* Requesting progress is enough: each report restarts the idle timeout. */
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

static char *write_definition(const char *name, const struct mcp_tool *t, struct arena *a)
{
	AUTO_BUF struct buf out = { 0 };
	AUTO_BUF struct buf description = { 0 };
	struct json_out w = json_out(&out);
	struct str head = utf8_cut(str_from(t->description), DESCRIPTION_LIMIT);

	buf_add(&description, head.p, head.n);
	if (strlen(t->description) > DESCRIPTION_LIMIT)
		buf_addstr(&description, " [...]");
	json_open(&w, '{');
	json_kcstr(&w, "name", name);
	json_kstr(&w, "description", buf_str(&description));
	json_kraw(&w, "input_schema", str_from(t->schema));
	json_close(&w);
	return arena_dup(a, out.p, out.n);
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
	for (size_t i = 0; i < catalog->tool_count; i++) {
		const struct mcp_tool *t = &catalog->tools[i];
		AUTO_BUF struct buf name = { 0 };
		mcp_name_add(&name, str_from(b->server), str_from(t->name));
		if (name.n > NAME_LIMIT || map_set(&names, buf_str(&name), b))
			continue;
		struct mcp_tool_ctx *ctx = &b->ctxs[b->count];
		*ctx = (struct mcp_tool_ctx){ .set = b, .tool = t };
		b->tools[b->count++] = (struct tool){
			.name = arena_dup(&b->arena, name.p, name.n),
			.definition = write_definition(name.p, t, &b->arena),
			/* Annotations of a server grant nothing: a read-only tool may run in parallel, but still needs
			 * permission. */
			.flags = TOOL_OWN_LIMIT | (t->read_only ? TOOL_CONCURRENT : 0) |
				 (t->needs_user ? TOOL_NEEDS_USER : 0) |
				 (b->always_load || t->always_load ? 0 : TOOL_MAY_WAIT),
			.ctx = ctx,
			.start = tool_run_start,
			.cancel = tool_run_cancel,
		};
	}
	map_release(&names);
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
