/* SPDX-License-Identifier: MIT
 * server_prompt.c - prompts of MCP servers as commands. */
#include "product/session/server_pool.h"
#include "lib/json/json_write.h"
#include "mcp/client/toolset.h"
#include "lib/base/list.h"

enum { MOST_BLOCKS = 1000 };

struct server_prompt {
	struct mcp_request *call;
	server_prompt_fn *done;
	void *data;
};

/* Until visit says that it is enough. */
void server_prompts_each(const struct cadre_session *s, server_prompt_visit_fn *visit, void *data)
{
	const struct mcp_selection *set = s->tree.main.servers;
	AUTO_BUF struct buf name = { 0 };
	bool more = true;

	for (size_t i = 0; set && more && i < set->count; i++) {
		struct mcp_lease *link = set->leases[i];
		struct mcp_catalog *c = mcp_lease_state(link) == MCP_CONNECTED ? mcp_lease_catalog(link) : NULL;
		for (size_t k = 0; c && more && k < c->prompt_count; k++) {
			buf_clear(&name);
			mcp_name_add(&name, str_from(link->server->name), str_from(c->prompts[k].name));
			if (!permission_forbids(&s->tree.main.permission, &(struct tool){ .name = name.p }))
				more = visit(data, link, name.p, &c->prompts[k]);
		}
		mcp_catalog_unref(c);
	}
}

/* One prompt, looked for and asked while its catalog is there. */
struct asking {
	struct str name, arguments;
	struct mcp_lease *link; /* NULL: not found */
	struct buf params;
	struct buf missing; /* names of required arguments that were not given */
	struct buf hint;
};

/* Words, in the order of the prompt's own list; the last argument is the rest of the line. */
static void put_arguments(struct asking *a, struct json_out *w, const struct mcp_prompt *prompt)
{
	struct str rest = a->arguments;

	json_kopen(w, "arguments", '{');
	for (size_t i = 0; i < prompt->argument_count; i++) {
		const struct mcp_prompt_argument *argument = &prompt->arguments[i];
		bool is_last = i + 1 == prompt->argument_count;
		struct str value = is_last ? str_trim(rest) : str_cut_word(&rest);
		if (value.n)
			json_kstr(w, argument->name, value);
		else if (argument->required)
			buf_addf(&a->missing, "%s%s", a->missing.n ? ", " : "", argument->name);
	}
	json_close(w);
}

static bool visit_asked(void *data, struct mcp_lease *link, const char *name, const struct mcp_prompt *prompt)
{
	struct asking *a = data;
	struct json_out w = json_out(&a->params);

	if (!str_is(a->name, name))
		return true;
	a->link = link;
	json_putf(&w, "{name:'%s'", prompt->name);
	put_arguments(a, &w, prompt);
	json_close(&w);
	server_prompt_hint(&a->hint, prompt);
	return false;
}

bool server_prompt_is(const struct cadre_session *s, struct str name)
{
	struct asking a = { .name = name };

	server_prompts_each(s, visit_asked, &a);
	buf_release(&a.params);
	buf_release(&a.missing);
	buf_release(&a.hint);
	return a.link;
}

static struct segment *image_segment(const struct json *content, struct arena *a)
{
	struct str mime = json_str(json_get(content, "mimeType"), a);
	const char *why = mcp_image_refusal(mime, json_str(json_get(content, "data"), a));
	AUTO_BUF struct buf block = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	if (why) {
		buf_addf(&block, "[image, " STR_FMT ", %s]", STR_ARG(mime), why);
		return segment_text(buf_str(&block));
	}
	json_addf(&block, "{type:'image', source:{type:'base64', media_type:'%.*s', data:%.*s}}", STR_ARG(mime),
		  JSON_ARG(json_get(content, "data")));
	return json_parse(&reader, block.p, block.n, &root, NULL) == 0 ? segment_from_json(root) : NULL;
}

/* Text, images and the text of resources; other content cannot be read by a model. More than MOST_BLOCKS: there are too many. */
static struct segment **read_messages(const struct json *result, size_t *ret_count)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct json *messages = json_get(result, "messages");
	struct segment **blocks = NULL;
	size_t n = 0;

	for (const struct json *m = json_first(messages); m && n <= MOST_BLOCKS; m = json_next(messages, m)) {
		const struct json *content = json_get(m, "content"), *type = json_get(content, "type");
		const struct json *holder = json_str_is(type, "resource") ? json_get(content, "resource") : content;
		const struct json *text = json_get(holder, "text");
		struct str s = json_is(text, JSON_STRING) ? json_str(text, &a) : STR("");
		struct segment *block = NULL;
		if (json_str_is(type, "image") && json_is(json_get(content, "data"), JSON_STRING))
			block = image_segment(content, &a);
		else if (str_trim(s).n)
			block = segment_text(s);
		if (!block)
			continue;
		blocks = xrealloc(blocks, (n + 1) * sizeof(struct segment *));
		blocks[n++] = block;
	}
	*ret_count = n;
	return blocks;
}

static void on_answer(void *data, const struct json *result, const struct err *err)
{
	struct server_prompt *p = data;
	size_t count = 0;
	struct segment **blocks = err ? NULL : read_messages(result, &count);

	if (err)
		p->done(p->data, NULL, 0, str_from(err->text));
	else if (!count)
		p->done(p->data, NULL, 0, STR("The server's prompt has no text and no image."));
	else if (count > MOST_BLOCKS)
		p->done(p->data, NULL, 0, STR("The server's prompt has too many messages: 1000 is the most."));
	else
		p->done(p->data, blocks, count, STR(""));
	for (size_t i = 0; count > MOST_BLOCKS && i < count; i++)
		segment_unref(blocks[i]);
	free(blocks);
	free(p);
}

struct server_prompt *server_prompt_start(struct cadre_session *s, struct str name, struct str arguments,
					  server_prompt_fn *done, void *data, struct err *err)
{
	struct asking a = { .name = name, .arguments = arguments };
	struct server_prompt *p = NULL;

	server_prompts_each(s, visit_asked, &a);
	if (!a.link)
		(void)err_set(err, ERR_NOT_FOUND, "The prompt " STR_FMT " does not exist any more.", STR_ARG(name));
	else if (a.missing.n)
		(void)err_set(err, ERR_USAGE, "/" STR_FMT " needs %s. It is called as /" STR_FMT " %s", STR_ARG(name),
			      a.missing.p, STR_ARG(name), a.hint.p);
	else
		p = xcalloc(1, sizeof *p);
	if (p) {
		*p = (struct server_prompt){ .done = done, .data = data };
		p->call = mcp_lease_call(a.link, &(struct mcp_call){ .method = "prompts/get",
								     .params = buf_str(&a.params),
								     .answer = on_answer,
								     .data = p });
	}
	buf_release(&a.params);
	buf_release(&a.missing);
	buf_release(&a.hint);
	return p;
}

void server_prompt_cancel(struct server_prompt *p)
{
	mcp_request_cancel(p->call, "it is not wanted any more");
}

/* A call of an MCP tool that no model makes. */

struct server_call {
	struct cadre_session *session;
	struct server_call *next, **prev; /* in session->server_calls */
	struct tool tool;                 /* under the name that models, rules and hooks know it by */
	struct tool_call *call;           /* owned */
	struct mcp_request *open;         /* NULL: not asked, or answered */
	struct arena arena;
	const char *server, *tool_name;
	uint64_t timeout_ms;
	struct buf json;
	server_call_fn *done;
	void *data;
};

static void server_call_on_answer(void *data, const struct json *result, const struct err *err)
{
	struct server_call *c = data;
	const struct json *content = json_get(result, "content");
	struct buf *text = &c->call->result;

	c->open = NULL;
	if (err) {
		tool_call_fail(c->call, "%s", err->text);
		return;
	}
	struct str raw = json_raw(result);
	buf_add(&c->json, raw.p, raw.n);
	for (const struct json *v = json_first(content); v; v = json_next(content, v)) {
		if (!json_str_is(json_get(v, "type"), "text"))
			continue;
		struct str more = json_str(json_get(v, "text"), &c->arena);
		buf_addf(text, "%s" STR_FMT, text->n ? "\n" : "", STR_ARG(more));
	}
	tool_call_end_as(c->call, json_bool(json_get(result, "isError")));
}

static void server_tool_start(struct tool_call *call)
{
	struct server_call *c = call->owner;
	const struct mcp_selection *set = c->session->tree.main.servers;
	struct mcp_lease *link = set ? mcp_selection_find(set, str_from(c->server)) : NULL;
	AUTO_BUF struct buf params = { 0 };

	if (!link) {
		tool_call_fail(call, "the MCP server '%s' has been removed", c->server);
		return;
	}
	json_addf(&params, "{name:'%s', arguments:%.*s}", c->tool_name, STR_ARG(json_raw(call->input)));
	c->open = mcp_lease_call(link, &(struct mcp_call){ .method = "tools/call",
							   .params = buf_str(&params),
							   .timeout_ms = c->timeout_ms,
							   .answer = server_call_on_answer,
							   .data = c });
}

static void server_tool_cancel(struct tool_call *call)
{
	const struct server_call *c = call->owner;

	if (c->open)
		mcp_request_cancel(c->open, "it is not wanted any more");
}

static void on_done(struct tool_call *call)
{
	struct server_call *c = call->owner;
	struct cadre_session *s = c->session;

	list_remove(c);
	c->done(c->data, &(struct server_reply){ .failed = call->is_error,
						 .denied = call->denied,
						 .text = buf_str(&call->result),
						 .json = buf_str(&c->json) });
	tool_call_free(call);
	buf_release(&c->json);
	arena_release(&c->arena);
	free(c);
	session_kick(s);
}

static void call_start(struct server_call *c, struct str input, struct gate_policy policy)
{
	struct agent *a = &c->session->tree.main;
	char id[UUID_LEN + 1];

	list_push(&c->session->server_calls, c);
	id_uuid(id);
	c->call = tool_call_new(&a->env, &a->gate, &c->tool, str_from(id), str_from(c->tool.name), input);
	c->call->policy = policy;
	c->call->owner = c;
	c->call->done = on_done;
	tool_call_start(c->call);
}

void session_call_tool(struct cadre_session *s, const struct tool *tool, struct str input, struct gate_policy policy,
		       server_call_fn *done, void *data)
{
	call_start(xnew(struct server_call, .session = s, .tool = *tool, .done = done, .data = data), input, policy);
}

struct server_call *server_call_start(struct cadre_session *s, const struct server_call_spec *spec,
				      server_call_fn *done, void *data, struct err *err)
{
	const struct mcp_selection *set = s->tree.main.servers;
	AUTO_BUF struct buf name = { 0 };

	if (!set || !mcp_selection_find(set, spec->server)) {
		(void)err_set(err, ERR_NOT_FOUND, "no such MCP server: " STR_FMT, STR_ARG(spec->server));
		return NULL;
	}
	struct server_call *c = xcalloc(1, sizeof *c);
	mcp_name_add(&name, spec->server, spec->tool);
	*c = (struct server_call){ .session = s, .timeout_ms = spec->timeout_ms, .done = done, .data = data };
	c->server = arena_str(&c->arena, spec->server).p;
	c->tool_name = arena_str(&c->arena, spec->tool).p;
	/* The server checks the arguments, and who asks wants all of the answer. */
	c->tool = (struct tool){ .name = arena_str(&c->arena, buf_str(&name)).p,
				 .definition = "{}",
				 .flags = TOOL_OWN_LIMIT,
				 .start = server_tool_start,
				 .cancel = server_tool_cancel };
	call_start(c, spec->arguments, spec->policy);
	return c;
}

void server_call_cancel(struct server_call *c)
{
	tool_call_cancel(c->call);
}

void session_cancel_server_calls(struct cadre_session *s)
{
	for (struct server_call *c = s->server_calls; c; c = c->next)
		if (!c->call->policy.by_hook)
			tool_call_cancel(c->call);
}
