/* SPDX-License-Identifier: MIT
 * window.c - asks a server for the window of a model, beside the first requests to it. Only servers whose dialect is known are asked. */
#include "core/model/catalog.h"
#include "core/model/http_endpoint.h"

enum { ASK_MS = 2000, LARGEST_LIST = 8 << 20, MOST_ASKS = 3 };

static const struct {
	const char *server, *path;
	bool at_root; /* of the server: the base without its /v1 */
} dialects[] = {
	{ "ollama", "/api/ps", true },          { "llamacpp", "/props", true },     { "vllm", "/models", false },
	{ "lmstudio", "/api/v0/models", true }, { "openrouter", "/models", false }, { "litellm", "/model/info", true },
};

struct window_ask {
	struct http_endpoint *server;
	struct http_req *request;
	char *model;
	struct buf answer;
	int status;
};

int64_t window_of(const struct json *entry)
{
	static const char *const keys[] = { "max_model_len",  "loaded_context_length", "context_length",
					    "context_window", "max_input_tokens",      "max_context_length",
					    "n_ctx" };
	int64_t n = 0;

	for (size_t i = 0; i < COUNT_OF(keys) && !n; i++)
		(void)json_i64(json_get(entry, keys[i]), &n);
	return n >= 512 && n <= 100000000 ? n : 0;
}

/* The window of a model in the answer of its server; 0: it does not say. llama.cpp has one model and one object, the others a list. */
static int64_t window_in_answer(struct str answer, struct str model)
{
	static const char *const lists[] = { "data", "models" }, *const names[] = { "id", "name", "model",
										    "model_name" };
	static const char *const inner[] = { "model_info", "default_generation_settings" };
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root, *found = NULL;

	if (json_parse(&reader, answer.p, answer.n, &root, NULL) < 0)
		return 0;
	bool has_list = false;
	for (size_t i = 0; i < COUNT_OF(lists); i++) {
		const struct json *list = json_get(root, lists[i]);
		has_list = has_list || json_is(list, JSON_ARRAY);
		for (const struct json *v = json_first(list); v && !found; v = json_next(list, v))
			for (size_t k = 0; k < COUNT_OF(names) && !found; k++) {
				const struct json *name = json_get(v, names[k]);
				struct str text = name ? (struct str){ name->text, name->len } : STR("");
				bool latest = text.n == model.n + 7 && str_starts(text, model) &&
					      str_ends(text, STR(":latest"));
				found = str_eq(text, model) || latest ? v : NULL;
			}
	}
	found = has_list ? found : root;
	int64_t n = window_of(found);
	for (size_t i = 0; i < COUNT_OF(inner) && !n; i++)
		n = window_of(json_get(found, inner[i]));
	return n;
}

static void on_head(struct http_req *r, int status)
{
	((struct window_ask *)http_data(r))->status = status;
}

static bool on_data(struct http_req *r, const char *p, size_t n)
{
	buf_add(&((struct window_ask *)http_data(r))->answer, p, n);
	return true;
}

static void on_done(struct http_req *r, enum http_error error, const char *text)
{
	struct window_ask *ask = http_data(r);
	struct http_endpoint *p = ask->server;

	(void)text;
	if (error == HTTP_OK && ask->status == 200)
		endpoint_note_window(&p->endpoint, ask->model,
				     window_in_answer(buf_str(&ask->answer), str_from(ask->model)), "asked");
	p->ask = NULL;
	buf_release(&ask->answer);
	free(ask->model);
	free(ask);
	if (p->closing)
		loop_stop(p->endpoint.loop);
}

void window_ask_start(struct http_endpoint *p, const char *model, struct model_quirks *quirks)
{
	static const struct http_handlers handlers = { on_head, NULL, on_data, on_done };
	AUTO_ARENA struct arena a = { 0 };
	const char *server = p->endpoint.provider->server;
	struct str root = str_from(p->base);
	const char *headers[CREDENTIAL_MOST_HEADERS + 1] = { NULL };
	unsigned generation;
	size_t i = 0;

	while (server && i < COUNT_OF(dialects) && strcmp(server, dialects[i].server) != 0)
		i++;
	if (!server || i == COUNT_OF(dialects) || p->ask || quirks->window_known || quirks->asks >= MOST_ASKS ||
	    !credential_ready(p->endpoint.credential))
		return;
	const struct endpoints *all = p->endpoint.of;
	const char *full = arena_printf(&a, "%s/%s", p->endpoint.provider->name, model);
	const char *known = all ? model_find(&all->places, full).window_source : NULL;
	if (known && (!p->endpoint.provider->local || !strcmp(known, "settings")))
		return; /* the catalog of a vendor is right; a local server may be started with less */
	quirks->asks++; /* a model that is not loaded yet has none: its next requests ask again */
	if (dialects[i].at_root && str_ends(root, STR("/v1")))
		root.n -= 3;
	const char *url = arena_printf(&a, STR_FMT "%s", STR_ARG(root), dialects[i].path);
	credential_sign(p->endpoint.credential, &(struct credential_request){ .method = "GET", .url = url }, &a,
			headers, &generation);
	struct window_ask *ask = xnew(struct window_ask, .server = p, .model = xstrdup(model));
	struct http_request request = {
		.method = "GET", .url = url, .headers = headers, .stall_ms = ASK_MS, .limit_bytes = LARGEST_LIST
	};
	if (http_start(p->client, &request, &handlers, ask, &ask->request, NULL) < 0) {
		free(ask->model);
		free(ask);
		return;
	}
	p->ask = ask;
}

void window_ask_cancel(struct http_endpoint *p)
{
	p->closing = true;
	if (p->ask)
		http_cancel(p->ask->request);
	while (p->ask)
		loop_run(p->endpoint.loop);
}
