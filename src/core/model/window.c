/* SPDX-License-Identifier: MIT
 * window.c - asks a server for the window of a model, beside the first requests to it. Only servers whose dialect is known are asked. */
#include "core/model/catalog.h"
#include "core/model/http_endpoint.h"

enum { ASK_MS = 2000, LARGEST_LIST = 8 << 20, MOST_ASKS = 3 };

/* Where a server does not say it, its next row is asked. */
static const struct {
	const char *server, *path;
	bool at_root; /* of the server: the base without its /v1 */
	bool maximum; /* the question names the model; the answer is the most that it can have, not what it was loaded with */
} dialects[] = {
	{ "ollama", "/api/ps", true, false },          { "ollama", "/api/show", true, true },
	{ "llamacpp", "/props", true, false },         { "vllm", "/models", false, false },
	{ "lmstudio", "/api/v1/models", true, false }, { "lmstudio", "/api/v0/models", true, false },
	{ "openrouter", "/models", false, false },     { "litellm", "/model/info", true, false },
};

struct window_ask {
	struct http_endpoint *server;
	struct http_req *request;
	size_t row;
	char *model;
	struct buf question, answer;
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
	static const char *const lists[] = { "data", "models" }, *const names[] = { "id", "key", "name", "model",
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
	/* LM Studio: what the model was loaded with, else what it can have */
	const struct json *loaded = json_first(json_get(found, "loaded_instances"));
	int64_t n = window_of(json_get(loaded, "config"));
	n = n ? n : window_of(found);
	for (size_t i = 0; i < COUNT_OF(inner) && !n; i++)
		n = window_of(json_get(found, inner[i]));
	/* Ollama: "qwen3.context_length" */
	const struct json *info = json_get(found, "model_info");
	for (struct json_member m = json_members(info); m.key && !n; m = json_member_next(info, m))
		if (str_ends((struct str){ m.key->text, m.key->len }, STR(".context_length")))
			(void)json_i64(m.value, &n);
	return n;
}

static void window_ask_free(struct window_ask *ask)
{
	ask->server->ask = NULL;
	buf_release(&ask->question);
	buf_release(&ask->answer);
	free(ask->model);
	free(ask);
}

static bool window_ask_send(struct window_ask *ask);

static void on_done(struct http_req *r, enum http_error error, const char *text)
{
	struct window_ask *ask = http_data(r);
	struct http_endpoint *p = ask->server;
	const char *server = dialects[ask->row].server;
	bool maximum = dialects[ask->row].maximum;

	int64_t n = error == HTTP_OK && http_status(r) == 200
			    ? window_in_answer(buf_str(&ask->answer), str_from(ask->model))
			    : 0;
	endpoint_note_window(&p->endpoint, ask->model, n, maximum ? "learned" : "asked");
	if (maximum) /* what it is loaded with is still to be asked */
		http_endpoint_quirks(p, ask->model)->window_known = false;
	bool next = !n && !p->closing && ++ask->row < COUNT_OF(dialects) && !strcmp(dialects[ask->row].server, server);
	if (next && window_ask_send(ask))
		return;
	window_ask_free(ask);
	if (p->closing)
		loop_stop(p->endpoint.loop);
}

static bool window_ask_send(struct window_ask *ask)
{
	static const struct http_handlers handlers = { .on_done = on_done };
	AUTO_ARENA struct arena a = { 0 };
	struct http_endpoint *p = ask->server;
	const char *headers[CREDENTIAL_MOST_HEADERS + 1] = { NULL };
	const char *method = dialects[ask->row].maximum ? "POST" : "GET";
	struct str root = str_from(p->base);
	unsigned generation;

	if (dialects[ask->row].at_root && str_ends(root, STR("/v1")))
		root.n -= 3;
	const char *url = arena_printf(&a, STR_FMT "%s", STR_ARG(root), dialects[ask->row].path);
	credential_sign(p->endpoint.credential, &(struct credential_request){ .method = method, .url = url }, &a,
			headers, &generation);
	buf_clear(&ask->answer);
	if (dialects[ask->row].maximum)
		json_addf(&ask->question, "{model:'%s'}", ask->model);
	struct http_request request = { .method = method,
					.url = url,
					.headers = headers,
					.text = buf_str(&ask->question),
					.answer = &ask->answer,
					.stall_ms = ASK_MS,
					.limit_bytes = LARGEST_LIST };
	return http_start(p->client, &request, &handlers, ask, &ask->request, NULL) == 0;
}

void window_ask_start(struct http_endpoint *p, const char *model, struct model_quirks *quirks)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *server = p->endpoint.provider->server;
	size_t i = 0;

	while (server && i < COUNT_OF(dialects) && strcmp(server, dialects[i].server) != 0)
		i++;
	if (!server || i == COUNT_OF(dialects) || p->ask || quirks->window_known || quirks->asks >= MOST_ASKS ||
	    !credential_ready(p->endpoint.credential))
		return;
	const struct endpoints *all = p->endpoint.of;
	const char *full = arena_printf(&a, "%s/%s", p->endpoint.provider->name, model);
	const char *known = all ? model_find(&all->providers, full).window_source : NULL;
	if (known && (!p->endpoint.provider->local || !strcmp(known, "settings")))
		return; /* the catalog of a vendor is right; a local server may be started with less */
	quirks->asks++; /* a model that is not loaded yet has none: its next requests ask again */
	p->ask = xnew(struct window_ask, .server = p, .row = i, .model = xstrdup(model));
	if (!window_ask_send(p->ask))
		window_ask_free(p->ask);
}

void window_ask_cancel(struct http_endpoint *p)
{
	p->closing = true;
	if (p->ask)
		http_cancel(p->ask->request);
	while (p->ask)
		loop_run(p->endpoint.loop);
}
