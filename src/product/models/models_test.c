/* SPDX-License-Identifier: MIT
 * models_test.c - `cadre models test`: one tiny request to a model, a second one with a tool, and the cause of a failure in one line. */
#include "product/models/models.h"
#include <openssl/x509.h>
#include "core/model/head_json.h"
#include "core/model/http_endpoint.h"
#include "config/settings/settings_store.h"
#include "lib/io/file.h"
#include "lib/io/url.h"

enum {
	TRIAL_TOKENS = 16,
	TOOL_TOKENS = 200,
	SLOW_MS = 2000,
	TOGETHER_MS = 20,
	PADDING_WORDS = 6000,
	BYTES_PER_TOKEN = 4,
	MOST_TESTED = 64
};

static const char test_tool[] =
	"{\"name\":\"add\",\"description\":\"Adds two numbers.\",\"input_schema\":{\"type\":\"object\",\"properties\":"
	"{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"integer\"}},\"required\":[\"a\",\"b\"]}}";

/* One request after the other: text, then a call and its result */
struct model_test {
	struct services *services;
	const struct provider *provider;
	const char *id, *sent;
	struct model_call call;
	struct transcript transcript;
	struct head *head;
	bool over;
	uint64_t began_ms, first_ms, ended_ms; /* first: of the first byte of an answer; 0: none came */
	struct segment *tool_use;              /* of the last answer; NULL: it made no call */
	unsigned texts;
	const char *answers_at; /* another address that answers; NULL: none was found */
};

static void on_block(void *data, struct segment *block)
{
	struct model_test *t = data;

	if (block->kind == SEGMENT_TOOL_USE && !t->tool_use)
		t->tool_use = segment_ref(block);
	t->texts += block->kind == SEGMENT_TEXT;
	transcript_add(&t->transcript, ROLE_ASSISTANT, block);
}

static void on_event(void *data, struct str json)
{
	struct model_test *t = data;

	(void)json;
	if (!t->first_ms)
		t->first_ms = loop_now_ms(t->services->loop);
}

static void on_done(struct model_call *call)
{
	struct model_test *t = call->owner;

	t->over = true;
	loop_stop(t->services->loop);
}

static void model_test_ask(struct model_test *t, struct endpoint *endpoint)
{
	static const struct answer_sink sink = { on_block, NULL, on_event };
	struct loop *loop = t->services->loop;
	struct err err = { 0 };

	model_call_reset(&t->call);
	t->call = (struct model_call){ .endpoint = endpoint,
				       .session_id = "models-test",
				       .agent = "",
				       .sink = &sink,
				       .on_done = on_done,
				       .owner = t };
	t->over = false;
	t->first_ms = 0;
	t->texts = 0;
	segment_unref(TAKE(t->tool_use));
	body_init(&t->call.body, t->head, &t->transcript, UINT32_MAX);
	t->began_ms = loop_now_ms(loop);
	if (model_call_start(&t->call, &err) < 0 && !t->call.failure.kind)
		failure_set(&t->call.failure, FAIL_CONNECT, "%s", err.text);
	else if (!t->call.failure.kind)
		while (!t->over)
			loop_run(loop);
	t->ended_ms = loop_now_ms(loop);
}

/* The ARN of the keys that sign, by GetCallerIdentity, which needs no permission; NULL: AWS does not know them either. */
static const char *aws_identity(const struct http_endpoint *p, struct arena *a)
{
	const struct str body = STR("Action=GetCallerIdentity&Version=2011-06-15");
	static const char *const sent[] = { "content-type: application/x-www-form-urlencoded", NULL };
	const char *headers[CREDENTIAL_MOST_HEADERS + 2] = { sent[0] };
	const char *given = variables_get(&p->variables, "AWS_ENDPOINT_URL_STS");
	const char *url =
		given ? arena_printf(a, "%s/", given) : arena_printf(a, "https://sts.%s.amazonaws.com/", p->region);
	AUTO_BUF struct buf answer = { 0 };
	char hash[SHA256_DIGITS + 1];
	struct err err = { 0 };
	unsigned generation;

	if (!credential_needs_hash(p->endpoint.credential) || !credential_ready(p->endpoint.credential))
		return NULL;
	sha256_hex(body, hash);
	struct credential_request request = {
		.method = "POST", .url = url, .headers = sent, .body_hash = str_from(hash), .service = "sts"
	};
	credential_sign(p->endpoint.credential, &request, a, headers + 1, &generation);
	struct http_request post = { .method = "POST", .url = url, .headers = headers, .text = body };
	if (models_request(p->client, &post, &answer, &err) < 0)
		return NULL;
	const char *arn = answer.n ? strstr(answer.p, "<Arn>") : NULL, *end = arn ? strstr(arn, "</Arn>") : NULL;
	return end ? arena_dup(a, arn + 5, (size_t)(end - arn) - 5) : NULL;
}

/* Which credential was sent, how, and what else the server may want */
static const char *refused_advice(const struct model_test *t, const char *address, struct arena *a)
{
	const struct provider *p = t->provider;
	const struct http_endpoint *http =
		p->wire ? CONTAINER_OF(t->call.endpoint, struct http_endpoint, endpoint) : NULL;
	const char *from = models_credential(t->services, p, a);
	bool is_token = p->env.auth_token && strstr(from, p->env.auth_token);

	if (http && http->region && (p->pin || p->wire == &wire_invoke) && http->prefix) {
		const char *identity = aws_identity(http, a);
		return arena_printf(a, "the credential is refused; it is from %s, for the region %s: %s%s", from,
				    http->region, identity ? "AWS knows it as " : "AWS does not say whose it is",
				    identity ? identity : "");
	}
	if (http && http->project)
		return arena_printf(
			a,
			"the credential is refused; it is from %s, for the project %s: does its account have the role for Vertex AI?",
			from, http->project);
	if (p->has_aliases && !p->own)
		return arena_printf(
			a, "the credential is refused; it is from %s and was sent to %s as %s (a gateway may want %s)",
			from, address, is_token ? "authorization" : "x-api-key",
			is_token ? "x-api-key: ANTHROPIC_API_KEY" : "authorization: ANTHROPIC_AUTH_TOKEN");
	return arena_printf(a, "the credential is refused; it is from %s and was sent to %s as %s", from, address,
			    p->key_header ? p->key_header : "authorization");
}

/* A server of chat completions or responses without the /v1 of its address answers 404. */
static bool is_wrong_path(const struct model_test *t, const char *address)
{
	size_t n = strlen(address);

	return t->call.failure.kind == FAIL_STATUS && t->call.failure.status == 404 &&
	       (t->provider->wire == &wire_chat || t->provider->wire == &wire_responses) &&
	       (n < 3 || strcmp(address + n - 3, "/v1") != 0);
}

/* What to do about a failure; NULL: its own text says enough. */
static const char *model_test_advice(struct model_test *t, const char *address, struct arena *a)
{
	const struct failure *f = &t->call.failure;
	const struct provider *p = t->provider;
	const char *proxy = http_proxy_variable(address), *ca = getenv("SSL_CERT_FILE");

	switch (f->kind) {
	case FAIL_CONNECT:
		return arena_printf(
			a, "nothing answers at %s%s%s: %s%s", address, proxy ? " through the proxy of " : "",
			proxy ? proxy : "", url_is_loopback(address) && !proxy ? "is the server running? " : "",
			http_address_source(CONTAINER_OF(t->call.endpoint, struct http_endpoint, endpoint), a));
	case FAIL_TLS:
		if (strstr(f->text, "no TLS is spoken"))
			return NULL; /* it says enough */
		return arena_printf(
			a,
			"the certificate of %s is not accepted (CA file: %s): set SSL_CERT_FILE to the file of your "
			"company's authority",
			address, ca ? ca : X509_get_default_cert_file());
	case FAIL_CREDENTIAL:
		return arena_printf(a, "no credential could be had from %s", models_credential(t->services, p, a));
	case FAIL_GARBAGE:
		if (p->wire == &wire_invoke)
			return "the gateway rewrites the stream: Bedrock answers in frames (application/vnd.amazon.eventstream)";
		return arena_printf(
			a,
			"%s does not answer with an event stream: a proxy or a login page answers, or the path is wrong",
			address);
	case FAIL_STALL:
		return "the server accepted the request and sent nothing: a model that still loads needs a longer stallMs";
	case FAIL_STATUS:
	case FAIL_EVENT:
		break;
	default:
		return NULL;
	}
	if (f->status == 401 || f->status == 403 || f->bad_key)
		return refused_advice(t, address, a);
	if (t->answers_at)
		return arena_printf(a, "the path is wrong: base URLs of chat servers end with /v1; it answers at %s",
				    t->answers_at);
	if (is_wrong_path(t, address))
		return arena_printf(
			a, "the path is wrong: base URLs of chat servers end with /v1 (%s/v1 does not answer either)",
			address);
	if (f->status == 404)
		return arena_printf(a, "%s has no model %s, or no %s", address, t->sent,
				    p->wire ? p->wire->path : "such path");
	if (f->unpaid || f->status == 402)
		return "the account has no balance or quota left";
	if (f->status == 429 || f->status == 529 || f->status == 503)
		return "the server is busy or limits requests; the address and the credential are right";
	return NULL;
}

/* Something is wrong although an answer came; NULL: nothing. */
static const char *model_test_doubt(const struct model_test *t, bool tools, struct arena *a)
{
	const struct answer *answer = &t->call.answer;
	const struct usage *u = &answer->usage;
	int64_t prompt = u->input + u->cache_read + u->cache_write;
	int64_t sent = (int64_t)(t->call.body.size / BYTES_PER_TOKEN);

	if (tools && !t->tool_use)
		return "text came instead of a call: start the server with tools enabled (llama.cpp: --jinja, vLLM: "
		       "--enable-auto-tool-choice), or take another model";
	if (tools && str_has(segment_json(t->tool_use), STR("\"input\":{\"INVALID_JSON\":")))
		return "the arguments of the call are not JSON: use another tool call parser at the server, or another model";
	if (t->provider->may_cut && !u->estimated && prompt && prompt < sent * 6 / 10)
		return arena_printf(a,
				    "the server cuts the prompt (%lld of about %lld tokens): raise its context "
				    "(OLLAMA_CONTEXT_LENGTH)",
				    (long long)prompt, (long long)sent);
	bool whole = t->call.error_body.n > 0; /* one JSON object: no stream was meant */
	if (!whole && t->first_ms - t->began_ms > SLOW_MS && t->ended_ms - t->first_ms < TOGETHER_MS && u->output > 4)
		return "all bytes came at once: a proxy between here and the model collects the stream";
	if (answer->model[0] && !str_has(str_from(answer->model), str_from(t->sent)) &&
	    !str_has(str_from(t->sent), str_from(answer->model)))
		return arena_printf(a, "the server mapped the name to %s", answer->model);
	return NULL;
}

/* A server that cuts prompts does so above its context: its request is longer than the smallest one. */
static void model_test_head(struct model_test *t, bool tools)
{
	AUTO_BUF struct buf bytes = { 0 };
	AUTO_BUF struct buf system = { 0 };
	const char *definitions[] = { tools ? test_tool : NULL, NULL };

	for (int i = 0; t->provider->may_cut && i < PADDING_WORDS; i++)
		buf_addstr(&system, "word ");
	head_write(&bytes, &(struct head_spec){ .model = t->sent,
						.max_tokens = tools ? TOOL_TOKENS : TRIAL_TOKENS,
						.system = system.n ? buf_str(&system) : STR("Answer briefly."),
						.tools = definitions });
	head_unref(t->head);
	t->head = head_intern(&t->services->heads, buf_str(&bytes));
}

static bool model_test_report(struct model_test *t, struct cadre_report *report, struct json_out *w, const char *what,
			      const char *address, bool tools)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct failure *f = &t->call.failure;
	const struct answer *answer = &t->call.answer;
	const char *advice = f->kind ? model_test_advice(t, address, &a) : model_test_doubt(t, tools, &a);
	bool bad =
		f->kind || (advice && (tools || t->provider->may_cut) && strncmp(advice, "the server mapped", 17) != 0);

	json_putf(w, "{request:'%s', good:!!%d, firstByteMs:%lld, answeredBy:'%s', usage:", what, !bad,
		  t->first_ms ? (long long)(t->first_ms - t->began_ms) : -1, answer->model[0] ? answer->model : NULL);
	usage_write(w, &answer->usage);
	json_putf(w, "failure:'%s', advice:'%s'}", f->kind ? f->text : NULL, advice);
	if (f->kind)
		report_row(report, CADRE_BAD, what, advice ? advice : f->text, advice ? f->text : "", NULL);
	else
		report_row(report, bad ? CADRE_BAD : CADRE_GOOD, what,
			   arena_printf(&a, "%s: first byte after %lld ms, %lld tokens in (%lld cached), %lld out",
					answer->model[0] ? answer->model : t->sent,
					(long long)(t->first_ms - t->began_ms), (long long)answer->usage.input,
					(long long)answer->usage.cache_read, (long long)answer->usage.output),
			   NULL);
	if (!f->kind && advice)
		report_row(report, bad ? CADRE_BAD : CADRE_WARN, "", advice, NULL);
	report->bad = report->bad || bad;
	return !bad;
}

/* The call and its result go back: that proves the loop. */
static bool model_test_tools(struct model_test *t, struct endpoint *endpoint, struct cadre_report *report,
			     struct json_out *w, const char *address)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *block;

	transcript_release(&t->transcript);
	transcript_add(&t->transcript, ROLE_USER,
		       segment_text(STR("Call the tool add with a = 2 and b = 3. Then say the sum.")));
	model_test_head(t, true);
	model_test_ask(t, endpoint);
	if (!model_test_report(t, report, w, "call", address, true))
		return false;
	struct str json = segment_json(t->tool_use);
	if (json_parse(&reader, json.p, json.n, &block, NULL) < 0)
		return false;
	transcript_add(&t->transcript, ROLE_USER,
		       segment_tool_result(json_str(json_get(block, "id"), &a), STR("5"), false));
	model_test_ask(t, endpoint);
	return model_test_report(t, report, w, "result", address, false);
}

/* Writes what was learned beyond `before` into the user's own provider. */
static int save_lessons(struct cadre_call *call, const struct model_test *t, const struct model_quirks *before,
			const struct model_quirks *now)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf quirks = { 0 };
	struct settings_file file = { 0 };
	const char *cwd, *config;

	if (options_directories(&call->services->options, &a, &cwd, &config, NULL) < 0)
		return err_set(call->err, ERR_USAGE, "--save needs a configuration directory");
	const char *path = path_join(&a, config, "settings.json");
	bool known = settings_file_read(&file, path, call->err) == 0 &&
		     json_get(json_get(file.root, "providers"), t->provider->name);
	settings_file_release(&file);
	if (!known)
		return err_set(call->err, ERR_USAGE, "--save: %s is not a member of providers in %s", t->provider->name,
			       path);
	const struct wire_quirk *q = t->provider->wire->quirks;
	for (; q && q->name; q++)
		if (now->bits & q->bit)
			buf_addf(&quirks, "%s\"%s\"", quirks.n ? ", " : "[", q->name);
	buf_addstr(&quirks, quirks.n ? "]" : "");
	const struct {
		const char *name;
		bool learned;
		struct str value;
	} members[] = { { "quirks", now->bits != before->bits && quirks.n, buf_str(&quirks) },
			{ "responses", now->wire != before->wire && now->wire == &wire_responses, STR("true") } };
	unsigned saved = 0;
	for (size_t i = 0; i < COUNT_OF(members); i++) {
		const struct str names[] = { STR("providers"), str_from(t->provider->name), STR("models"),
					     str_from(t->sent), str_from(members[i].name) };
		if (members[i].learned &&
		    settings_set_member(path, names, COUNT_OF(names), members[i].value, call->err) < 0)
			return -(int)call->err->kind;
		saved += members[i].learned;
	}
	report_line(call->report, CADRE_NOTE,
		    saved ? "Facts learned about %s were written to %s." : "Nothing new was learned of %s.", t->id,
		    path);
	return 0;
}

/* The requests to one model. */
static int test_model(struct cadre_call *call, const char *name, struct json_out *w)
{
	AUTO_ARENA struct arena a = { 0 };
	struct services *sv = call->services;
	struct providers *providers = &sv->endpoints.providers;
	struct model_test t = { .services = sv };
	struct endpoint *endpoint;

	if (model_resolve_at(&a, providers, name, &t.id, call->err) < 0)
		return -(int)call->err->kind;
	t.provider = provider_of(providers, t.id, NULL);
	t.provider = t.provider ? t.provider : providers->usual;
	t.sent = provider_sent_name(providers, t.id, &a);
	if (endpoints_find(&sv->endpoints, t.id, &endpoint, call->err) < 0)
		return -(int)call->err->kind;
	const char *address = t.provider->wire ? CONTAINER_OF(endpoint, struct http_endpoint, endpoint)->shown : "";
	json_putf(w, "{model:'%s', provider:'%s', address:'%s', requests:[", t.id, t.provider->name, address);
	struct model_quirks *quirks =
		t.provider->wire ? http_endpoint_quirks(CONTAINER_OF(endpoint, struct http_endpoint, endpoint), t.sent)
				 : NULL;
	struct model_quirks before = quirks ? *quirks : (struct model_quirks){ 0 };
	int status = 0;
	transcript_add(&t.transcript, ROLE_USER, segment_text(STR("Say: yes")));
	model_test_head(&t, false);
	model_test_ask(&t, endpoint);
	if (is_wrong_path(&t, address)) {
		struct http_endpoint *p = CONTAINER_OF(endpoint, struct http_endpoint, endpoint);
		struct failure first = t.call.failure;
		const char *base = p->base;

		p->base = arena_printf(&p->arena, "%s/v1", base);
		model_test_ask(&t, endpoint);
		if (!t.call.failure.kind || t.call.failure.status != 404)
			t.answers_at = arena_printf(&a, "%s/v1", address);
		t.call.failure = first;
		p->base = base;
	}
	const char *what = args_has(&call->args, "all") ? t.id : "text";
	if (model_test_report(&t, call->report, w, what, address, false) && args_has(&call->args, "tools"))
		(void)model_test_tools(&t, endpoint, call->report, w, address);
	json_putf(w, "]}");
	if (args_has(&call->args, "save") && quirks && !call->report->bad)
		status = save_lessons(call, &t, &before, quirks);
	model_call_reset(&t.call);
	segment_unref(t.tool_use);
	transcript_release(&t.transcript);
	head_unref(t.head);
	return status;
}

/* All models of providers of the settings, and the usual one. One that cannot be asked does not hide the others. */
static int test_all(struct cadre_call *call, const char *usual, struct json_out *w)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct providers *providers = &call->services->endpoints.providers;
	const char *names[MOST_TESTED];
	size_t count = 0;

	if (usual)
		names[count++] = usual;
	for (size_t i = 0; i < providers->own_count; i++) {
		const struct json *models = json_get(providers->own[i]->own, "models");
		for (struct json_member m = json_members(models); m.key && count < COUNT_OF(names);
		     m = json_member_next(models, m))
			if (!json_str_is(m.key, "*"))
				names[count++] =
					arena_printf(&a, "%s/%s", providers->own[i]->name, json_cstr(m.key, &a));
	}
	for (size_t i = 0; i < count; i++) {
		if (test_model(call, names[i], w) == 0)
			continue;
		report_row(call->report, CADRE_BAD, names[i], call->err->text, NULL);
		json_putf(w, "{model:'%s', problem:'%s'}", names[i], call->err->text);
		call->report->bad = true;
		*call->err = (struct err){ 0 };
	}
	return count ? 0
		     : err_set(call->err, ERR_USAGE,
			       "no model to test: name one, or define one in the setting providers");
}

int models_test(struct cadre_call *call)
{
	AUTO_ARENA struct arena a = { 0 };
	struct services *sv = call->services;
	const char *name = call->count ? call->operands[0] : sv->options.model;
	struct json_out w = json_out(&call->report->json);
	bool all = args_has(&call->args, "all");

	if (models_open(call) < 0)
		return -(int)call->err->kind;
	const char *setting = settings_cstr(sv->policy.settings, "model", &a);
	if (!name && model_default_at(&sv->endpoints.providers, setting, &name, call->err) < 0 && !all)
		return -(int)call->err->kind;
	if (!all)
		return test_model(call, name, &w);
	json_open(&w, '[');
	int status = test_all(call, name, &w);
	json_close(&w);
	return status;
}
