/* SPDX-License-Identifier: MIT
 * explain.c - a failure in its own words, without secrets, and behind them what to look at: the variable of a key or an address, the
 * proxy, the model. */
#include "core/model/http_endpoint.h"
#include "lib/base/base64.h"
#include "lib/io/url.h"

bool http_is_expired(const struct model_call *call)
{
	static const char *const words[] = { "expired",          "security token", "UnrecognizedClient",
					     "InvalidSignature", "ExpiredToken",   "SignatureDoesNotMatch" };

	for (size_t i = 0; call->status == 403 && i < COUNT_OF(words); i++)
		if (str_has(buf_str(&call->error_body), str_from(words[i])))
			return true;
	return call->status == 401 ||
	       (call->status == 400 && str_has(buf_str(&call->error_body), STR("API_KEY_INVALID")));
}

static bool names_secret(struct str name)
{
	static const char *const words[] = { "auth", "key", "token", "secret", "cookie", "pass", "sig", "code" };

	for (size_t i = 0; i < COUNT_OF(words); i++)
		for (size_t at = 0; at + strlen(words[i]) <= name.n; at++)
			if (!strncasecmp(name.p + at, words[i], strlen(words[i])))
				return true;
	return false;
}

static void hide_text(struct str text, char *said)
{
	AUTO_ARENA struct arena a = { 0 };

	credential_hide_header(arena_printf(&a, "x: " STR_FMT, STR_ARG(text)), said);
}

/* Also headers and parameters of the user's own that carry a key, and the login of an address */
static void hide_secrets(const struct http_endpoint *p, char *said)
{
	AUTO_BUF struct buf plain = { 0 }, encoded = { 0 };

	credential_hide(p->endpoint.credential, said);
	for (size_t i = 0; i < p->header_count; i++) {
		struct str value = str_from(p->headers[i]), name = str_cut(&value, ':');
		if (names_secret(name))
			credential_hide_header(p->headers[i], said);
	}
	for (struct str rest = str_from(p->query ? p->query : ""); rest.n;) {
		struct str value = str_cut(&rest, '&'), name = str_cut(&value, '=');
		if (!names_secret(name))
			continue;
		buf_clear(&plain);
		percent_decode(&plain, value);
		hide_text(value, said);
		hide_text(buf_str(&plain), said);
	}
	size_t login = strlen(p->base) - strlen(p->shown);
	if (!login)
		return;
	buf_clear(&plain);
	percent_decode(&plain, (struct str){ strstr(p->base, "://") + 3, login - 1 });
	base64_add(&encoded, buf_str(&plain)); /* as it is sent */
	struct str password = buf_str(&plain);
	(void)str_cut(&password, ':');
	hide_text(buf_str(&encoded), said);
	hide_text(password, said);
}

const char *http_address_source(const struct http_endpoint *p, struct arena *a)
{
	const struct provider *provider = p->endpoint.provider;
	const struct provider_env *env = &provider->env;
	const char *place = env->place ? variables_get(&p->variables, env->place) : NULL;

	if (provider->own)
		return arena_printf(a, "its address is that of providers.%s", provider->name);
	if (variables_get(&p->variables, env->base_url))
		return arena_printf(a, "its address is that of %s", env->base_url);
	place = place ? place : p->region;
	if (env->place && (!p->base[0] || (place && strstr(p->base, place))))
		return arena_printf(a, "%s names the %s", env->place,
				    strstr(env->place, "RESOURCE") ? "resource" : "region");
	if (provider->base && strcmp(p->base, provider->base) != 0)
		return "its address is that of --base-url";
	return arena_printf(a, "%s would name another address", env->base_url);
}

/* What to do about a credential that was refused */
static const char *credential_advice(const struct http_endpoint *p, struct arena *a)
{
	const struct provider *provider = p->endpoint.provider;
	const char *token = provider->env.auth_token, *key = provider->env.api_key;

	switch (credential_kind_of(p->endpoint.credential)) {
	case CREDENTIAL_AWS:
		return "log in again, or let the setting awsAuthRefresh do it";
	case CREDENTIAL_GOOGLE:
		return "log in again, or let the setting gcpAuthRefresh do it";
	case CREDENTIAL_ENTRA:
		return "log in again with az, or renew AZURE_CLIENT_SECRET";
	case CREDENTIAL_HELPER:
		return "the key is that of the helper of the settings";
	case CREDENTIAL_HEADERS:
		break;
	}
	if (token && variables_get(&p->variables, token))
		return arena_printf(a, "the key is that of %s", token);
	if (key && variables_get(&p->variables, key))
		return arena_printf(a, "the key is that of %s", key);
	return provider->own && p->has_key ? arena_printf(a, "the key is that of providers.%s", provider->name) : NULL;
}

/* What to do about a status; NULL: no advice is known, or the message of the server has it */
static const char *status_advice(const struct http_endpoint *p, const struct model_call *call, struct arena *a)
{
	const struct failure *f = &call->failure;
	const struct provider *provider = p->endpoint.provider;
	const char *variable = provider->env.base_url, *proxy = http_proxy_variable(p->base);
	bool missing = f->status == 404 || f->status == 405, v1 = str_ends(str_from(p->base), STR("/v1"));
	bool usual = provider->base && !provider->own && !strcmp(p->base, provider->base);
	bool names_model =
		f->no_model || strstr(f->text, "odel") || strstr(f->text, "eployment") || strstr(f->text, "rofile");
	bool key = strstr(f->text, "API Key") || strstr(f->text, "Bearer Token"); /* 403 of Bedrock */

	if (f->status == 407)
		return arena_printf(a, "the proxy of %s wants a login: http://USER:PASSWORD@HOST",
				    proxy ? proxy : "http_proxy");
	if ((f->status == 401 || f->bad_key || (f->status == 403 && (key || http_is_expired(call)))) && p->has_key)
		return credential_advice(p, a);
	if (f->status == 403 && p->project && !strstr(f->text, "nable it"))
		return arena_printf(a, "its account needs the role Vertex AI User in the project %s", p->project);
	if (f->status == 400 && strstr(f->text, "cache_control"))
		return "DISABLE_PROMPT_CACHING=1 leaves it out; ttl is that of ENABLE_PROMPT_CACHING_1H";
	if (f->status > 300 && f->status < 400)
		return arena_printf(a, "it redirects to %s: %s must name the final address",
				    call->error_type[0] ? call->error_type : "another address",
				    provider->own ? "baseUrl" : variable);
	if (missing && provider->wire == &wire_messages && v1)
		return arena_printf(a, "%s ends with /v1, which is added: leave it out", p->shown);
	if (missing && provider->wire == &wire_chat && !v1 && !usual && !names_model)
		return arena_printf(a, "%s: addresses of chat servers usually end with /v1", p->shown);
	if (missing && provider->wire == &wire_rawpredict)
		return arena_printf(a,
				    "has Model Garden enabled it for the project %s? CLOUD_ML_REGION names the region",
				    p->project);
	if (missing && !names_model)
		return arena_printf(a, "%s at %s; %s", provider->name, p->shown, http_address_source(p, a));
	if ((!f->no_model && f->status != 404) || strstr(f->text, "inference profile") || strstr(f->text, "use case"))
		return NULL;
	if (provider->env.place && strstr(provider->env.place, "RESOURCE"))
		return "--model is the name of a deployment of the resource";
	const char *place = provider->name, *meant = call->quirks->meant;
	return arena_printf(a, "%s%s%s%s%s`cadre models list %s --ask` shows its models", meant ? "did you mean " : "",
			    meant ? place : "", meant ? "/" : "", meant ? meant : "", meant ? "? " : "", place);
}

/* A server or model without tools, and a key that is missing: errors of the configuration, with which no retry helps. */
static void explain_refusal(const struct http_endpoint *p, struct model_call *call)
{
	static const char *const words[] = {
		"does not support tools",  /* Ollama */
		"enable-auto-tool-choice", /* vLLM */
		"tools param requires",    /* llama.cpp */
		"tool use is not supported",
		"does not support function calling",
		"does not support Function Calling",
		"unction calling is not enabled", /* Mistral, Gemma */
		"ool calling is not supported",   /* DeepInfra, Perplexity */
		"ool use has not been enabled",   /* Nvidia */
		"JSON mode/function calling",     /* Together */
		"`tools` is not supported",       /* Groq */
		"`tool calling` is not supported",
		"No endpoints found that support tool use",
	};
	struct failure *f = &call->failure;
	char said[sizeof f->text];
	bool no_tools = false;

	memcpy(said, f->text, sizeof said);
	if (f->status == 400 && !call->error_body.n &&
	    strstr(p->base, "cerebras")) /* what is too long has no body there */
		f->too_long = true;
	for (size_t i = 0; i < COUNT_OF(words); i++)
		no_tools = no_tools || str_has(buf_str(&call->error_body), str_from(words[i]));
	if (no_tools) {
		f->status = 400;
		failure_set(f, FAIL_STATUS,
			    "the model %.100s cannot call tools at this server. Take a model that can, start the "
			    "server with tools enabled (llama.cpp: --jinja, vLLM: --enable-auto-tool-choice), or run "
			    "without tools (--tools \"\"). It said: %.120s",
			    call->quirks->name, said);
	} else if (f->status == 401 && !p->has_key) {
		const char *variable = p->endpoint.provider->env.api_key;
		failure_set(f, FAIL_STATUS, "%.200s (no key was sent: set %s)", said,
			    variable ? variable : "keyEnv of its provider");
	}
}

void http_explain(struct model_call *call)
{
	const struct http_endpoint *p = CONTAINER_OF(call->endpoint, struct http_endpoint, endpoint);
	const struct provider *provider = call->endpoint->provider;
	const char *proxy = http_proxy_variable(p->base[0] ? p->base : "https://aiplatform.googleapis.com"),
		   *advice = NULL;
	AUTO_ARENA struct arena a = { 0 };
	struct failure *f = &call->failure;

	hide_secrets(p, f->text);
	if (f->kind == FAIL_STATUS)
		explain_refusal(p, call);
	bool missing = f->kind == FAIL_STATUS && (f->status == 404 || f->status == 405);
	bool here = url_is_loopback(p->shown);
	/* Nothing answered, or nothing that speaks the API */
	if (f->kind == FAIL_CONNECT || (f->kind == FAIL_GARBAGE && !call->answer.started) ||
	    (f->kind == FAIL_CUT && !call->status) ||
	    (missing && !str_ends(str_from(p->base), STR("/v1")) && strstr(f->text, "a web page")))
		advice = arena_printf(
			&a, "%s%s%s %s %s; %s%s%s", provider->name, proxy ? " through the proxy of " : "",
			proxy ? proxy : "", p->base[0] ? "at" : "in the region", p->base[0] ? p->shown : p->region,
			here && !proxy && f->kind == FAIL_CONNECT ? "is it running? " : "", http_address_source(p, &a),
			here && proxy ? "; no_proxy=localhost,127.0.0.1 asks it directly" : "");
	else if (f->kind == FAIL_TLS && strstr(f->text, "wrong version"))
		advice = arena_printf(&a, "no TLS is spoken at %s: is it http://?", p->shown);
	else if (f->kind == FAIL_TLS)
		advice = arena_printf(
			&a, "%s; SSL_CERT_FILE or NODE_EXTRA_CA_CERTS names the certificate of your company", p->shown);
	else if (f->kind == FAIL_STATUS)
		advice = status_advice(p, call, &a);
	size_t n = strlen(f->text);
	if (advice)
		snprintf(f->text + n, sizeof f->text - n, " (%s)", advice);
}
