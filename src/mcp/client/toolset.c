/* SPDX-License-Identifier: MIT
 * toolset.c - the tools of a server as tools of agents: their definitions, written once for each catalog, their calls and
 * results. A tool is left out if its full name is too long for the API or equals an earlier one.
 *
 * Of a result, text is collected in order; an image ends a run of text and becomes a block of its own. Without an image
 * the result is plain text. Content that is neither text nor an image for the model becomes a file. */
#include "mcp/client/toolset.h"
#include "core/tool/image_head.h"
#include "lib/base/base64.h"
#include "lib/base/map.h"
#include "lib/base/utf8.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "mcp/client/client_int.h"
#include "mcp/client/pool.h"

enum { FILES_LIMIT = 50 }; /* of one call */

static const struct {
	const char *mime, *extension;
} file_types[] = {
	{ "application/gzip", "gz" }, { "application/json", "json" }, { "application/pdf", "pdf" },
	{ "application/zip", "zip" }, { "audio/mpeg", "mp3" },        { "audio/ogg", "ogg" },
	{ "audio/wav", "wav" },       { "image/bmp", "bmp" },         { "image/gif", "gif" },
	{ "image/jpeg", "jpg" },      { "image/png", "png" },         { "image/svg+xml", "svg" },
	{ "image/webp", "webp" },     { "text/html", "html" },        { "text/plain", "txt" },
	{ "video/mp4", "mp4" },
};

enum {
	DEFAULT_TOKENS = 25000,
	BYTES_PER_TOKEN = 4,
	MOST_CHARS = 500000,
	IMAGES_LIMIT = 20,
};

struct piece {
	struct str text;        /* of a run of text, in the arena; or: */
	struct str image, mime; /* base64 */
};

struct mapping {
	struct tool_call *call;
	struct buf text; /* the run that is being collected */
	struct piece *pieces;
	size_t count, cap, images;
	size_t text_bytes;
	unsigned saved; /* files so far */
};

static void end_run(struct mapping *m)
{
	if (!m->text.n)
		return;
	m->text_bytes += m->text.n;
	*xpush(m->pieces, m->count, m->cap) = (struct piece){ .text = arena_str(&m->call->arena, buf_str(&m->text)) };
	buf_clear(&m->text);
}

static void start_line(struct mapping *m)
{
	if (m->text.n)
		buf_addch(&m->text, '\n');
}

static bool is_image_type(struct str mime)
{
	return str_is_one_of_nocase(mime, "image/png|image/jpeg|image/gif|image/webp");
}

const char *mcp_image_refusal(struct str mime, struct str data)
{
	AUTO_BUF struct buf bytes = { 0 };
	struct image_head head;
	size_t padding = data.n < 2 || data.p[data.n - 1] != '=' ? 0 : data.p[data.n - 2] == '=' ? 2 : 1;

	if (!is_image_type(mime))
		return "left out: the model cannot see this type";
	if (!data.n || data.n % 4 || !str_is_name((struct str){ data.p, data.n - padding }, "+/"))
		return "left out: not base64";
	if (data.n > IMAGE_BASE64_LIMIT)
		return "left out: too large";
	if (base64_decode(&bytes, data, NULL) < 0 || image_head_read(buf_str(&bytes), &head, NULL) < 0)
		return "left out: damaged";
	if (!str_is_nocase(mime, image_media_type(head.type)))
		return "left out: it is of another type";
	return MAX(head.width, head.height) > IMAGE_EDGE_LIMIT ? "left out: too large" : NULL;
}

/* Saves the content to a file and adds a line with its path. */
static void note_binary(struct mapping *m, const char *what, struct str mime, struct str data, const char *why)
{
	char *text_path = tool_result_path(m->call);
	AUTO_BUF struct buf bytes = { 0 };
	struct err err = { 0 };
	char *path = NULL;

	if (text_path && m->saved < FILES_LIMIT && data.n && base64_decode(&bytes, data, NULL) == 0) {
		struct str stem = { text_path, strlen(text_path) - strlen(".txt") };
		const char *extension = "bin";
		for (size_t i = 0; i < COUNT_OF(file_types); i++)
			if (str_is_nocase(mime, file_types[i].mime))
				extension = file_types[i].extension;
		path = arena_printf(&m->call->arena, STR_FMT "-%u.%s", STR_ARG(stem), ++m->saved, extension);
		if (file_make_parents(path, &err) < 0 || file_replace(path, bytes.p, bytes.n, &err) < 0)
			path = NULL;
	}
	start_line(m);
	buf_addf(&m->text, "[%s, " STR_FMT ", ", what, STR_ARG(mime));
	buf_addsize(&m->text, data.n / 4 * 3);
	buf_addf(&m->text, ", %s%s%s]", why, path ? "; saved to " : "", path ? path : "");
}

static void add_image(struct mapping *m, struct str mime, struct str data)
{
	const char *why = m->images >= IMAGES_LIMIT ? "left out: too many images" : mcp_image_refusal(mime, data);

	if (why) {
		note_binary(m, "image", mime, data, why);
		return;
	}
	end_run(m);
	m->images++;
	*xpush(m->pieces, m->count, m->cap) = (struct piece){ .image = data, .mime = mime };
}

static void add_text(struct mapping *m, struct str text)
{
	start_line(m);
	buf_append(&m->text, text);
}

/* What a resource holds: text, or base64 in "blob". */
static void add_contents(struct mapping *m, const struct json *resource)
{
	struct arena *a = &m->call->arena;
	struct str uri = json_str(json_get(resource, "uri"), a);
	struct str mime = json_str(json_get(resource, "mimeType"), a);
	const struct json *blob = json_get(resource, "blob");

	start_line(m);
	buf_addf(&m->text, "[Resource " STR_FMT "]", STR_ARG(uri));
	if (json_is(blob, JSON_STRING) && is_image_type(mime))
		add_image(m, mime, json_str(blob, a));
	else if (json_is(blob, JSON_STRING))
		note_binary(m, "binary content", mime, json_str(blob, a), "not text");
	else
		add_text(m, json_str(json_get(resource, "text"), a));
}

static void add_block(struct mapping *m, const struct json *block)
{
	struct arena *a = &m->call->arena;
	const struct json *type = json_get(block, "type");
	struct str mime = json_str(json_get(block, "mimeType"), a);

	if (json_str_is(type, "text")) {
		add_text(m, json_str(json_get(block, "text"), a));
	} else if (json_str_is(type, "image")) {
		add_image(m, mime, json_str(json_get(block, "data"), a));
	} else if (json_str_is(type, "audio")) {
		note_binary(m, "audio", mime, json_str(json_get(block, "data"), a), "left out: the model cannot hear");
	} else if (json_str_is(type, "resource")) {
		add_contents(m, json_get(block, "resource"));
	} else if (json_str_is(type, "resource_link")) {
		struct str description = json_str(json_get(block, "description"), a);
		start_line(m);
		buf_addf(&m->text, "[Resource link: " STR_FMT "] " STR_FMT,
			 STR_ARG(json_str(json_get(block, "name"), a)), STR_ARG(json_str(json_get(block, "uri"), a)));
		if (description.n)
			buf_addf(&m->text, " (" STR_FMT ")", STR_ARG(description));
	} else {
		add_text(m, json_raw(block));
	}
}

/* All runs of text become one notice with the path of the file; images stay. */
static void persist_text(struct mapping *m)
{
	AUTO_BUF struct buf text = { 0 }, notice = { 0 };
	struct piece *pieces = xcalloc(m->count + 1, sizeof *pieces);
	size_t kept = 1;

	for (size_t i = 0; i < m->count; i++) {
		const struct piece *p = &m->pieces[i];
		if (p->image.n)
			pieces[kept++] = *p;
		if (text.n && p->text.n)
			buf_addch(&text, '\n');
		buf_append(&text, p->text);
	}
	tool_persist(m->call, buf_str(&text), &notice);
	pieces[0].text = arena_str(&m->call->arena, buf_str(&notice));
	free(m->pieces);
	m->pieces = pieces;
	m->count = kept;
}

/* Blocks for the model if there is an image; and always text, for people, with a line for each image. most_chars: 0:
 * the default limit. */
static void finish_result(struct mapping *m, size_t most_chars, bool is_error)
{
	const struct mcp_env env = { .envp = m->call->env ? m->call->env->envp : NULL };
	uint64_t tokens = MIN(mcp_env_number(&env, "MAX_MCP_OUTPUT_TOKENS", DEFAULT_TOKENS), UINT32_MAX);
	struct buf *out = &m->call->result;
	struct json_out w = json_out(&m->call->result_blocks);

	end_run(m);
	if (m->text_bytes > (most_chars ? MIN(most_chars, MOST_CHARS) : tokens * BYTES_PER_TOKEN))
		persist_text(m);
	if (m->images)
		json_open(&w, '[');
	for (size_t i = 0; i < m->count; i++) {
		const struct piece *p = &m->pieces[i];
		if (out->n)
			buf_addch(out, '\n');
		if (p->image.n)
			buf_addf(out, "[image, " STR_FMT "]", STR_ARG(p->mime));
		else
			buf_append(out, p->text);
		if (!m->images)
			continue;
		json_putf(&w, "{type:'%s'", p->image.n ? "image" : "text");
		if (p->image.n) {
			json_putf(&w, "source:{type:'base64', media_type:'%.*s', data:'%.*s'}", STR_ARG(p->mime),
				  STR_ARG(p->image));
		} else {
			json_kstr(&w, "text", p->text);
		}
		json_close(&w);
	}
	if (m->images)
		json_close(&w);
	buf_release(&m->text);
	free(m->pieces);
	tool_call_end_as(m->call, is_error);
}

void mcp_result_finish_resource(struct tool_call *call, const struct json *result)
{
	struct mapping m = { .call = call };
	const struct json *contents = json_get(result, "contents");

	for (const struct json *v = json_first(contents); json_is(contents, JSON_ARRAY) && v;
	     v = json_next(contents, v))
		add_contents(&m, v);
	if (!m.count && !m.text.n)
		add_text(&m, STR("(the resource is empty)"));
	finish_result(&m, 0, false);
}

/* A call: from the lease of the agent to the server and back. */

/* What a call keeps while it runs, in its arena */
struct tool_run {
	struct mcp_request *open; /* NULL: answered */
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
		/* structuredContent if present, else the blocks of `content`. */
		struct mapping m = { .call = call };
		const struct json *structured = json_get(result, "structuredContent");
		const struct json *content = json_get(result, "content");

		if (json_is(structured, JSON_OBJECT) || json_is(structured, JSON_ARRAY))
			add_text(&m, json_raw(structured));
		else if (json_is(content, JSON_ARRAY))
			for (const struct json *v = json_first(content); v; v = json_next(content, v))
				add_block(&m, v);
		else
			add_text(&m, json_raw(result)); /* before 2024-11-05 results had another form */
		finish_result(&m, run->most_chars, json_bool(json_get(result, "isError")));
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

	if (!lease) {
		tool_call_fail(call, "The tool %s cannot be called: this agent does not use the server %s.",
			       ctx->tool->name, ctx->set->server);
		return;
	}
	json_addf(&params, "{name:'%s', arguments:%.*s}", ctx->tool->name, JSON_ARG(call->input));
	struct tool_run *tool_run =
		arena_new(&call->arena, struct tool_run, .server = arena_strdup(&call->arena, ctx->set->server),
			  .tool = arena_strdup(&call->arena, ctx->tool->name), .most_chars = ctx->tool->most_chars);
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
		mcp_request_cancel(tool_run->open, "the call was cancelled");
}

enum { NAME_LIMIT = 128, DESCRIPTION_LIMIT = 2048 };

struct mcp_toolset *mcp_toolset_new(struct mcp_catalog *catalog, const struct mcp_server *server)
{
	struct map names = { 0 };
	struct mcp_toolset *b = xnew(struct mcp_toolset, .refs = 1, .catalog = mcp_catalog_ref(catalog));

	b->server = arena_strdup(&b->arena, server->name);
	b->always_load = server->always_load;
	b->comms = server->comms;
	AUTO_BUF struct buf prefix = { 0 };
	mcp_name_add(&prefix, str_from(b->server), STR(""));
	const char *names_begin = arena_dup(&b->arena, prefix.p, prefix.n);
	b->tools = arena_calloc(&b->arena, catalog->tool_count * sizeof *b->tools);
	b->ctxs = arena_calloc(&b->arena, catalog->tool_count * sizeof *b->ctxs);
	for (size_t i = 0; i < catalog->tool_count; i++) {
		const struct mcp_tool *t = &catalog->tools[i];
		AUTO_BUF struct buf name = { 0 }, definition = { 0 }, description = { 0 };
		mcp_name_add(&name, str_from(b->server), str_from(t->name));
		if (name.n > NAME_LIMIT || map_set(&names, buf_str(&name), b))
			continue;
		buf_append(&description, utf8_cut(str_from(t->description), DESCRIPTION_LIMIT));
		if (strlen(t->description) > DESCRIPTION_LIMIT)
			buf_addstr(&description, " [...]");
		json_addf(&definition, "{name:'%s', description:'%.*s', input_schema:%s}", name.p,
			  STR_ARG(buf_str(&description)), t->schema);
		struct mcp_tool_ctx *ctx = &b->ctxs[b->count];
		*ctx = (struct mcp_tool_ctx){ .set = b, .tool = t };
		b->tools[b->count++] = (struct tool){
			.name = arena_dup(&b->arena, name.p, name.n),
			.definition = arena_dup(&b->arena, definition.p, definition.n),
			/* Annotations of a server grant nothing: a read-only tool may run in parallel, but still needs
			 * permission. */
			.flags = TOOL_OWN_LIMIT | (t->read_only ? TOOL_CONCURRENT : 0) |
				 (t->needs_user ? TOOL_NEEDS_USER : 0) |
				 (b->always_load || t->always_load ? 0 : TOOL_MAY_WAIT) |
				 (b->comms ? TOOL_COORDINATOR : 0),
			.server = names_begin,
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
