/* SPDX-License-Identifier: MIT
 * models.c - `cadre models`: the list of models, how a name is resolved, and the catalog of prices and
 * windows. The test is in models_test.c. */
#include "product/models/models.h"
#include "core/model/http_endpoint.h"
#include "lib/io/file.h"

static int models_list(struct cadre_call *call);
static int models_show(struct cadre_call *call);
static int models_update(struct cadre_call *call);

const struct cadre_command command_models = {
	.name = "models",
	.summary = "list, show and test models and their providers",
	.help = "Usage: cadre models [list] [PROVIDER]   models with window and price, and the source of each fact\n"
		"       cadre models show NAME           how a name is resolved: provider, address, API, credential\n"
		"       cadre models test [NAME]         send one tiny request, and print in one line why it fails\n"
		"       cadre models update FILE|URL     install a signed catalog of prices and windows\n"
		"\n"
		"NAME is a model as --model takes it: sonnet, claude-opus-5-5, ollama/qwen3, work/fast. Without one,\n"
		"test takes the model of the settings. list --ask adds the models that the server lists. Your own\n"
		"providers are in the setting `providers`; test --all tests each of their models. An assumed window\n"
		"is marked with '!'. test sends at most 16 tokens; --tools adds a second request that must call a\n"
		"tool. It exits with 1 if a request fails; --save writes what was learned into that setting. A\n"
		"catalog counts if it is signed with a key of the setting modelCatalogKeys.\n"
		"\n"
		"Examples:\n"
		"  cadre models test ollama/qwen3 --tools\n"
		"  cadre models show sonnet --provider bedrock\n",
	.words =
		(const struct cadre_command_word[]){
			{ "list", "[PROVIDER]", 0, models_list },
			{ "show", "NAME", 0, models_show },
			{ "test", "[NAME]", CADRE_COMMAND_BLOCKS, models_test },
			{ "update", "FILE|URL", 0, models_update },
			{ .name = NULL },
		},
	.options =
		(const struct cadre_option[]){
			{ "tools", NULL, 0, CADRE_OPTION_NONE, 0, NULL,
			  .help = "With test: send a second request, which must call a tool and read its result." },
			{ "all", NULL, 0, CADRE_OPTION_NONE, 0, NULL,
			  .help = "With test: test the usual model, and every model of the setting providers." },
			{ "save", NULL, 0, CADRE_OPTION_NONE, 0, NULL,
			  .help = "With test: write what the server refuses into your setting providers." },
			{ "ask", NULL, 0, CADRE_OPTION_NONE, 0, NULL,
			  .help = "With list: add the models that the provider's server lists." },
			{ .name = NULL } },
	.settings = (const char *const[]){ "base-url", "model", "provider", "scenario", "setting-sources", "settings",
					   "trust-project", NULL },
};

int models_open(struct cadre_call *call)
{
	if (policy_load(call->services, call->err) < 0 || services_open_endpoints(call->services, call->err) < 0)
		return -(int)call->err->kind;
	const char *problem = call->services->endpoints.providers.file_problem;
	if (problem)
		report_line(call->report, CADRE_BAD, "%s", problem);
	return 0;
}

struct model_list {
	struct cadre_report *report;
	struct json_out w;
	const struct providers *providers;
	unsigned count;
};

static void add_price(struct buf *out, const struct model_info *m)
{
	if (!m->price_source) {
		buf_addstr(out, "unknown");
		return;
	}
	buf_addf(out, "%g / %g", m->price.input, m->price.output);
	for (size_t i = 0; i < MOST_TIERS && m->tiers[i].above; i++)
		buf_addf(out, "; above %lldk %g / %g", (long long)m->tiers[i].above / 1000, m->tiers[i].price.input,
			 m->tiers[i].price.output);
}

static void put_price(struct json_out *w, const struct model_price *p)
{
	json_putf(w, "price:{input:%g, output:%g, cacheRead:%g, cacheWrite:%g, cacheWrite1h:%g}", p->input, p->output,
		  p->read, p->write_5m, p->write_1h);
}

static void put_facts(struct json_out *w, const struct model_info *m)
{
	json_putf(w, "context:%lld, maxOutput:%lld, windowSource:'%s', priceSource:'%s'", (long long)m->context,
		  (long long)m->max_output, m->window_source ? m->window_source : "assumed", m->price_source);
	if (m->price_source)
		put_price(w, &m->price);
	json_putf(w, "tiers:[");
	for (size_t i = 0; i < MOST_TIERS && m->tiers[i].above; i++) {
		json_putf(w, "{above:%lld", (long long)m->tiers[i].above);
		put_price(w, &m->tiers[i].price);
		json_close(w);
	}
	json_close(w);
}

static void list_model(struct model_list *l, const char *provider, const char *name)
{
	AUTO_BUF struct buf full = { 0 };
	AUTO_BUF struct buf price = { 0 };
	char window[32], output[32];

	buf_addf(&full, "%s%s%s", provider, provider[0] ? "/" : "", name);
	struct model_info m = model_find(l->providers, full.p);
	snprintf(window, sizeof window, "%lld%s", (long long)m.context, m.window_source ? "" : " !");
	snprintf(output, sizeof output, "%lld", (long long)m.max_output);
	add_price(&price, &m);
	report_row(l->report, CADRE_PLAIN, full.p, window, output, price.p,
		   m.window_source ? m.window_source : "assumed", NULL);
	json_putf(&l->w, "{model:'%s'", full.p);
	put_facts(&l->w, &m);
	json_close(&l->w);
	l->count++;
}

enum { ASK_MS = 3000, LARGEST_LIST = 8 << 20 };

struct model_question {
	struct credential_wait wait;
	struct loop *loop;
	struct err why; /* no kind: it went well */
	struct buf answer;
	bool over;
};

static void on_ready(struct credential_wait *wait, const struct err *why)
{
	struct model_question *q = CONTAINER_OF(wait, struct model_question, wait);

	if (why)
		q->why = *why;
	q->over = true;
	loop_stop(q->loop);
}

int models_request(struct http *client, struct http_request *request, struct buf *ret_answer, struct err *err)
{
	int status;

	request->stall_ms = request->limit_ms = ASK_MS;
	request->limit_bytes = LARGEST_LIST;
	request->answer = ret_answer;
	if (http_ask(client, request, &status, NULL, err) < 0)
		return -(int)err->kind;
	return status == 200 ? 0 : err_set(err, ERR_IO, "status %d", status);
}

/* The answer to a GET with the credential of the provider. */
static int ask_server(struct http_endpoint *p, const char *url, struct model_question *q, struct arena *a)
{
	const char *headers[CREDENTIAL_MOST_HEADERS + 2] = { NULL };
	unsigned generation;

	q->wait.on_ready = on_ready;
	if (!credential_ready(p->endpoint.credential))
		for (credential_want(p->endpoint.credential, &q->wait); !q->over;)
			loop_run(q->loop);
	if (q->why.kind)
		return -(int)q->why.kind;
	credential_sign(p->endpoint.credential,
			&(struct credential_request){ .method = "GET", .url = url, .body_hash = STR(EMPTY_BODY_HASH) },
			a, headers, &generation);
	headers[str_count(headers)] = "anthropic-version: 2023-06-01";
	struct http_request get = { .method = "GET", .url = url, .headers = headers };
	return models_request(p->client, &get, &q->answer, &q->why);
}

/* Windows that the list names count from now on. */
static int list_asked(struct cadre_call *call, struct model_list *l, const struct provider *provider)
{
	struct endpoints *endpoints = &call->services->endpoints;
	struct model_question q = { .loop = call->services->loop };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	struct endpoint *endpoint;
	const struct json *root = NULL;

	if (endpoints_find(endpoints, arena_printf(&a, "%s/x", provider->name), &endpoint, call->err) < 0)
		return -(int)call->err->kind;
	struct http_endpoint *http = CONTAINER_OF(endpoint, struct http_endpoint, endpoint);
	const char *url = model_list_url(http, &a);
	if (!url)
		return err_set(call->err, ERR_USAGE, "%s has no list of models that can be asked for", provider->name);
	int status = ask_server(http, url, &q, &a);
	if (status == 0)
		status = json_parse(&reader, q.answer.p, q.answer.n, &root, &q.why);
	const struct json *list = model_list_items(root);
	for (const struct json *v = json_items(list); v; v = json_next(list, v)) {
		const char *name = model_list_name(v, &a);
		if (!name || (provider->wire == &wire_invoke && !strstr(name, "anthropic."))) /* of no Messages API */
			continue;
		if (window_of(v))
			providers_learn(&endpoints->providers, provider, name, window_of(v), "asked");
		list_model(l, provider->name, name);
	}
	buf_release(&q.answer);
	return status < 0 ? err_set(call->err, ERR_IO, "%s does not list its models: %s", provider->name, q.why.text)
			  : 0;
}

static int models_list(struct cadre_call *call)
{
	const char *only = call->count ? call->operands[0] : NULL;
	size_t count;
	const struct model_info *rows = model_rows(&count);

	if (models_open(call) < 0)
		return -(int)call->err->kind;
	struct providers *providers = &call->services->endpoints.providers;
	struct model_list l = { .report = call->report, .w = json_out(&call->report->json), .providers = providers };
	if (only && !provider_find(providers, str_from(only)))
		return err_set(call->err, ERR_NOT_FOUND,
			       "no such provider: %.80s; expected one that --provider takes (`cadre --help`)", only);
	report_row(call->report, CADRE_HEAD, "MODEL", "WINDOW", "OUTPUT", "USD PER MILLION IN / OUT", "SOURCE", NULL);
	json_putf(&l.w, "{provider:'%s', models:[", providers->usual->name);
	for (size_t i = 0; i < providers->own_count; i++) {
		const struct json *models = json_get(providers->own[i]->own, "models");
		AUTO_ARENA struct arena a = { 0 };
		for (struct json_member m = json_members(models); m.key; m = json_member_next(models, m))
			if (!json_str_is(m.key, "*") && (!only || !strcmp(only, providers->own[i]->name)))
				list_model(&l, providers->own[i]->name, json_cstr(m.key, &a));
	}
	const struct provider *provider = only ? provider_find(providers, str_from(only)) : providers->usual;
	bool asks = args_has(&call->args, "ask") ||
		    (provider->wire == &wire_messages &&
		     providers_env_is_on(providers, "CLAUDE_CODE_ENABLE_GATEWAY_MODEL_DISCOVERY"));
	int status = asks ? services_may_block(call->services, call->err) : 0;
	if (asks && status == 0)
		status = list_asked(call, &l, provider);
	for (int from_file = 1; from_file >= 0; from_file--) {
		const struct model_info *list = from_file ? providers->file : rows;
		for (size_t i = 0; i < (from_file ? providers->file_count : count); i++) {
			const char *home = list[i].provider ? list[i].provider : model_home(list[i].id);
			if (!only || !strcmp(only, home))
				list_model(&l, home, list[i].id);
		}
	}
	json_putf(&l.w, "], catalogProblem?:'%s', providers:[", providers->file_problem);
	for (size_t i = 0; i < providers->own_count; i++)
		json_put_cstr(&l.w, providers->own[i]->name);
	for (size_t i = 0; provider_table[i]; i++)
		json_put_cstr(&l.w, provider_table[i]->name);
	json_putf(&l.w, "]}");
	if (!l.count)
		report_line(call->report, CADRE_NOTE, "cadre knows no models of %s; any name is passed through.", only);
	return status;
}

const char *models_credential(struct services *sv, const struct provider *p, struct arena *a)
{
	const char *names[] = { p->env.auth_token, p->env.api_key };
	const struct json *helper = json_get(p->own, "keyHelper"), *key = json_get(p->own, "key");
	bool usual = p == sv->endpoints.providers.usual;

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const char *value = names[i] ? services_getenv(sv, sv->policy.settings,
							       sv->policy.trusted ? ENV_ALL : ENV_SAFE, names[i])
					     : NULL;
		if (usual && (i ? sv->options.api_key : sv->options.auth_token))
			return "an option of the host";
		if (value && value[0])
			return arena_printf(a, "the variable %s", names[i]);
	}
	bool literal = !helper && key && !str_has((struct str){ key->text, key->len }, STR("${"));
	if (helper || key)
		return arena_printf(a, "%s of providers.%s%s", helper ? "keyHelper" : "key", p->name,
				    literal ? " (in the clear: \"${VARIABLE}\" or keyEnv keeps it out of the file)"
					    : "");
	if (p == &provider_anthropic)
		return settings_get(sv->policy.settings, "apiKeyHelper", NULL) ? "apiKeyHelper" : "none";
	if (p->local || p->base || !p->wire)
		return "none";
	return "the credentials of the cloud";
}

static void show_row(struct model_list *l, const char *field, const char *text)
{
	json_kcstr(&l->w, field, text);
	report_row(l->report, CADRE_PLAIN, field, text ? text : "-", NULL);
}

/* Bits of quirks by name. */
static void show_quirks(struct model_list *l, const struct http_endpoint *p, unsigned bits)
{
	AUTO_BUF struct buf text = { 0 };

	json_kopen(&l->w, "quirks", '[');
	for (const struct wire_quirk *q = p->endpoint.provider->wire->quirks; q && q->name; q++) {
		if (!(bits & q->bit))
			continue;
		json_put_cstr(&l->w, q->name);
		buf_addf(&text, "%s%s", text.n ? ", " : "", q->name);
	}
	json_close(&l->w);
	report_row(l->report, CADRE_PLAIN, "quirks", text.n ? text.p : "none", NULL);
}

static int models_show(struct cadre_call *call)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf price = { 0 };
	struct services *sv = call->services;
	struct providers *providers = &sv->endpoints.providers;
	const char *id, *name;
	struct endpoint *endpoint = NULL;
	struct err why = { 0 };

	if (models_open(call) < 0 || model_resolve_at(&a, providers, call->operands[0], &id, call->err) < 0)
		return -(int)call->err->kind;
	const struct provider *provider = provider_of(providers, id, &name);
	provider = provider ? provider : providers->usual;
	struct model_list l = { .report = call->report, .w = json_out(&call->report->json), .providers = providers };
	bool open = endpoints_find(&sv->endpoints, id, &endpoint, &why) == 0;
	const struct http_endpoint *http =
		open && provider->wire ? CONTAINER_OF(endpoint, struct http_endpoint, endpoint) : NULL;
	const char *sent = provider_sent_name(providers, id, &a);
	json_open(&l.w, '{');
	show_row(&l, "name", call->operands[0]);
	show_row(&l, "model", id);
	show_row(&l, "provider", provider->name);
	show_row(&l, "sent", http && provider->model_name ? provider->model_name(http, sent, &a) : sent);
	show_row(&l, "address", http ? http->base[0] ? http->shown : "of the region" : NULL);
	show_row(&l, "wire", provider->wire ? provider->wire->name : NULL);
	show_row(&l, "credential", models_credential(sv, provider, &a));
	struct model_info m = model_find(providers, id);
	put_facts(&l.w, &m);
	report_row(call->report, CADRE_PLAIN, "window",
		   arena_printf(&a, "%lld (%s), output %lld", (long long)m.context,
				m.window_source ? m.window_source : "assumed", (long long)m.max_output),
		   NULL);
	add_price(&price, &m);
	report_row(call->report, CADRE_PLAIN, "price", price.p, m.price_source ? m.price_source : "", NULL);
	show_row(&l, "thinking", model_thinking(providers, id));
	if (http)
		show_quirks(&l, http,
			    http_endpoint_quirks(CONTAINER_OF(endpoint, struct http_endpoint, endpoint), sent)->bits);
	json_kcstr(&l.w, "problem", open ? NULL : why.text);
	json_putf(&l.w, "catalogProblem?:'%s'", providers->file_problem);
	if (!open)
		report_row(call->report, CADRE_BAD, "problem", why.text, NULL);
	call->report->bad = !open;
	json_close(&l.w);
	return 0;
}

static int models_update(struct cadre_call *call)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf bytes = { 0 };
	struct services *sv = call->services;
	const struct model_info *rows;
	size_t count;

	if (policy_load(sv, call->err) < 0)
		return -(int)call->err->kind;
	const char *path = call->operands[0], *to = services_catalog_file(sv, &a);
	const char *const *keys = settings_texts(sv->policy.settings, "modelCatalogKeys", &a);
	if (str_starts(str_from(path), STR("http://")) || str_starts(str_from(path), STR("https://"))) {
		struct err why = { 0 };
		struct http_request get = { .method = "GET", .url = path };
		if (services_may_block(sv, call->err) < 0)
			return -(int)call->err->kind;
		struct http *client =
			http_new(sv->loop, &(struct http_options){ .user_agent = "cadre/" CADRE_VERSION });
		int status = models_request(client, &get, &bytes, &why);
		http_free(client);
		if (status < 0)
			return err_set(call->err, ERR_IO, "%s: %s", path, why.text);
	} else if (file_read(path, LARGEST_CATALOG, &bytes, call->err) < 0) {
		return -(int)call->err->kind;
	}
	if (catalog_read(&a, buf_str(&bytes), keys, &rows, &count, call->err) < 0)
		return err_wrap(call->err, "%s is refused", path);
	if (file_make_parents(to, call->err) < 0 || file_replace(to, bytes.p, bytes.n, call->err) < 0)
		return -(int)call->err->kind;
	json_addf(&call->report->json, "{file:'%s', models:%zu}", to, count);
	report_line(call->report, CADRE_GOOD, "%zu models are in %s; new sessions use it.", count, to);
	return 0;
}
