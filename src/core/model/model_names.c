/* SPDX-License-Identifier: MIT
 * model_names.c - the models that a server lists, and which of them a name that it does not know may have meant: asked before such a
 * refusal is reported. */
#include "core/model/http_endpoint.h"

enum { ASK_MS = 3000, LARGEST_LIST = 8 << 20 };

const char *model_list_url(const struct http_endpoint *p, struct arena *a)
{
	static const struct {
		const struct wire *wire;
		const char *path;
	} paths[] = { { &wire_messages, "/v1/models?limit=1000" },
		      { &wire_chat, "/models" },
		      { &wire_responses, "/models" },
		      { &wire_gemini, "/models?pageSize=1000" },
		      { &wire_invoke, "/inference-profiles?type=SYSTEM_DEFINED&maxResults=1000" } };
	const char *base = p->base, *given = variables_get(&p->variables, "AWS_ENDPOINT_URL_BEDROCK");
	const struct wire *wire = p->endpoint.provider->wire;

	if (wire == &wire_invoke) /* its models are listed at another address */
		base = given ? given : arena_printf(a, "https://bedrock.%s.amazonaws.com", p->region);
	for (size_t i = 0; i < COUNT_OF(paths); i++)
		if (paths[i].wire == wire)
			return arena_printf(a, "%s%s", base, paths[i].path);
	return NULL;
}

const struct json *model_list_items(const struct json *root)
{
	static const char *const lists[] = { "data", "models", "inferenceProfileSummaries" };
	const struct json *list = json_is(root, JSON_ARRAY) ? root : NULL; /* Together */

	for (size_t i = 0; i < COUNT_OF(lists) && !list; i++)
		list = json_get(root, lists[i]);
	return json_is(list, JSON_ARRAY) ? list : NULL;
}

const char *model_list_name(const struct json *entry, struct arena *a)
{
	static const char *const keys[] = { "id", "inferenceProfileId", "name" };
	const char *name = NULL;

	for (size_t i = 0; i < COUNT_OF(keys) && !name; i++)
		name = json_cstr(json_get(entry, keys[i]), a);
	return name && str_starts(str_from(name), STR("models/")) ? name + strlen("models/") : name; /* Gemini */
}

/* Of the names in a list the one that differs least; NULL: the name itself is there, or none is like it. */
static const char *nearest_name(const struct json *list, struct str name, struct arena *a)
{
	size_t limit = MIN(name.n / 4 + 1, (size_t)3); /* further away it is another model */
	const char *best = NULL;

	for (const struct json *v = json_items(list); v; v = json_next(list, v)) {
		const char *id = model_list_name(v, a), *vendor = id ? strrchr(id, '/') : NULL;
		bool plain = id != NULL;
		for (const char *p = id; plain && *p; p++) /* it becomes a part of an error */
			plain = *p > ' ' && *p < 0x7f;
		if (!plain)
			continue;
		if (str_is(name, id))
			return NULL;
		bool same = str_is_nocase(name, id) || (vendor && str_is_nocase(name, vendor + 1));
		size_t d = same ? 0 : str_distance(name, str_from(id));
		if (d > limit || (best && !d && !same))
			continue;
		best = id;
		limit = d - (d > 0);
	}
	return best;
}

static void on_list(struct http_req *r, enum http_error error, const char *text)
{
	struct model_call *call = http_data(r);
	struct http_call *c = call->transfer;
	AUTO_ARENA struct arena a = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	c->transfer = NULL;
	bool listed = error == HTTP_OK && http_status(r) == 200 &&
		      json_parse(&reader, c->list.p, c->list.n, &root, NULL) == 0;
	const char *meant = listed ? nearest_name(model_list_items(root), str_from(c->name), &a) : NULL;
	c->quirks->meant = meant ? arena_strdup(&c->server->arena, meant) : NULL;
	http_call_finish(c, call->cancelled ? FAIL_CANCELLED : FAIL_NONE, text);
}

bool model_names_ask(struct http_call *c)
{
	static const struct http_handlers handlers = { .on_done = on_list };
	AUTO_ARENA struct arena a = { 0 };
	struct failure f = { .retry_after_ms = -1 };
	struct model_call *call = c->call;
	const char *url = model_list_url(c->server, &a), *headers[CREDENTIAL_MOST_HEADERS + 2] = { NULL };
	unsigned generation;

	failure_from_body(&f, call->status, buf_str(&call->error_body), call->error_type);
	bool unknown = f.no_model || (call->status == 404 && str_has(buf_str(&call->error_body), STR("odel")));
	if (!unknown || !url || c->quirks->names_asked || c->server->endpoint.provider->wire == &wire_invoke)
		return false;
	c->quirks->names_asked = true;
	credential_sign(c->server->endpoint.credential,
			&(struct credential_request){ .method = "GET", .url = url, .body_hash = STR(EMPTY_BODY_HASH) },
			&a, headers, &generation);
	headers[str_count(headers)] = "anthropic-version: 2023-06-01";
	struct http_request get = { .method = "GET",
				    .url = url,
				    .headers = headers,
				    .answer = &c->list,
				    .stall_ms = ASK_MS,
				    .limit_ms = ASK_MS,
				    .limit_bytes = LARGEST_LIST };
	return http_start(c->server->client, &get, &handlers, call, &c->transfer, NULL) == 0;
}
