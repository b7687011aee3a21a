/* SPDX-License-Identifier: MIT
 * provider.c - the table of wires, the part of a request that all providers share, and the endpoints of a runtime. */
#include "lib/base/id.h"
#include "core/model/catalog.h"
#include "core/model/http_endpoint.h"

enum { MOST_TOOLS = 128 }; /* of OpenAI */
enum { SMALL_WINDOW = 16384 };

static const struct wire *const wire_table[] = { &wire_messages, &wire_invoke,    &wire_rawpredict,
						 &wire_chat,     &wire_responses, &wire_gemini };

const struct wire *wire_find(struct str name)
{
	for (size_t i = 0; i < COUNT_OF(wire_table); i++)
		if (str_is(name, wire_table[i]->name))
			return wire_table[i];
	return NULL;
}

size_t provider_most_tools(const struct providers *p, const char *model)
{
	const struct provider *provider = provider_of(p, model, NULL);
	const struct wire *wire = provider ? provider->wire : p->usual ? p->usual->wire : NULL;

	return wire == &wire_chat || wire == &wire_responses ? MOST_TOOLS : 0;
}

int model_call_start(struct model_call *call, struct err *err)
{
	answer_init(&call->answer, call->sink, call->owner);
	call->failure = (struct failure){ .retry_after_ms = -1 };
	call->request_id[0] = call->gateway_id[0] = call->error_type[0] = '\0';
	call->server_ms = 0;
	call->empty_limits = 0;
	call->hold_ms = 0;
	call->status = 0;
	call->is_stream = call->is_frames = call->cancelled = call->limit_empty = false;
	call->may_be_stream = true;
	call->explain = NULL;
	const struct endpoints *all = call->endpoint->of;
	if (all && all->admit && all->admit(all->data, call->endpoint->provider, err) < 0) {
		failure_set(&call->failure, FAIL_NOT_ADMITTED, "%s", err->text);
		return -(int)err->kind;
	}
	int status = call->endpoint->provider->start(call->endpoint, call, err);
	call->running = status == 0;
	return status;
}

void model_call_cancel(struct model_call *call)
{
	if (call->running)
		call->endpoint->provider->cancel(call);
}

void model_call_reset(struct model_call *call)
{
	answer_release(&call->answer);
	call->answer = (struct answer){ 0 };
	buf_release(&call->error_body);
}

/* Reports the most specific failure: an error event, then a status, then the transport. */
void model_call_finish(struct model_call *call, enum failure_kind transport, const char *text)
{
	struct failure *f = &call->failure;
	const struct failure *inner = &call->answer.failure;
	int64_t retry_after_ms = f->retry_after_ms;
	signed char retry = f->retry;

	answer_end(&call->answer);
	if (transport == FAIL_CANCELLED && !inner->kind)
		failure_set(f, FAIL_CANCELLED, "cancelled");
	else if (call->status && call->status != 200)
		failure_from_body(f, call->status, buf_str(&call->error_body), call->error_type);
	else if (inner->kind)
		*f = *inner;
	else if (call->status == 200 && !call->is_stream)
		failure_from_page(f, buf_str(&call->error_body), call->error_type);
	else if (call->status == 200 && !transport && !call->answer.started)
		failure_set(f, FAIL_GARBAGE, "the server's event stream has no answer of this API in it");
	else if (transport && !answer_complete(&call->answer))
		failure_set(f, transport, "%s", text);
	else if (!answer_complete(&call->answer))
		failure_set(f, FAIL_CUT, "the stream ended before the answer did");
	if (retry_after_ms >= 0)
		f->retry_after_ms = retry_after_ms;
	f->retry = retry ? retry : f->retry;
	if (f->kind && f->kind != FAIL_CANCELLED && call->explain)
		call->explain(call);
	size_t n = strlen(f->text);
	if (f->kind == FAIL_STATUS && call->gateway_id[0])
		snprintf(f->text + n, sizeof f->text - n, " (request-id %s, apim-request-id %s)", call->request_id,
			 call->gateway_id);
	call->running = false;
	call->transfer = NULL;
	call->on_done(call);
}

bool model_call_is_stream(struct model_call *call, struct str *bytes)
{
	static const struct str beginnings[] = { STR("data:"), STR("event:"), STR("id:"), STR(":"),
						 STR("\xEF\xBB\xBF") };

	/* Gateways say the type before they know that there is an error. */
	struct str text = str_trim(*bytes);
	if (call->is_stream && call->may_be_stream && text.n) {
		call->may_be_stream = false;
		call->is_stream = !char_in(text.p[0], "{[<");
	}
	if (call->is_stream)
		return true;
	buf_append(&call->error_body, *bytes);
	if (!call->may_be_stream)
		return false;
	struct str all = buf_str(&call->error_body);
	while (all.n && (all.p[0] == '\n' || all.p[0] == '\r'))
		all = str_tail(all, 1);
	call->may_be_stream = !all.n;
	for (size_t i = 0; i < COUNT_OF(beginnings); i++) {
		call->is_stream = call->is_stream || str_starts(all, beginnings[i]);
		call->may_be_stream = call->may_be_stream || str_starts(beginnings[i], all);
	}
	call->may_be_stream = call->may_be_stream && !call->is_stream;
	*bytes = all;
	return call->is_stream;
}

/* anthropic-ratelimit-requests-remaining and the like */
static bool is_limit_header(struct str name, const char *ending)
{
	const char *prefix = "anthropic-ratelimit-";
	size_t from = strlen(prefix), end = strlen(ending);

	return name.n > from + end && str_is_nocase((struct str){ name.p, from }, prefix) &&
	       str_is_nocase((struct str){ name.p + name.n - end, end }, ending);
}

/* "2026-11-15T20:21:00Z", a date of HTTP in one of its three forms, seconds or milliseconds since 1970; 0 if it is not a time. */
static int64_t time_ms(const char *text)
{
	static const char *const forms[] = { "%a, %d %b %Y %H:%M:%S", "%a, %d-%b-%y %H:%M:%S", "%a %b %d %H:%M:%S %Y" };
	const int64_t least_s = 1000000000, least_ms = least_s * 1000;
	int64_t ms = 0;

	if (str_to_i64(str_from(text), &ms))
		return ms >= least_ms ? ms : ms >= least_s ? ms * 1000 : 0;
	if (id_parse_time(text, &ms))
		return ms;
	for (size_t i = 0; i < COUNT_OF(forms); i++) {
		struct tm tm = { 0 };
		if (strptime(text, forms[i], &tm))
			return (int64_t)timegm(&tm) * 1000;
	}
	return 0;
}

/* From now; 0 if it is past, -1 if it is not a time. */
static int64_t ms_until(const char *text)
{
	int64_t at_ms = time_ms(text);

	return at_ms ? MAX(at_ms - id_wall_ms(), 0) : -1;
}

/* x-ratelimit-remaining-requests, x-ratelimit-reset-tokens and the like, of OpenAI and Groq: those of the same kind belong together. */
static void take_ratelimit(struct model_call *call, struct str name, struct str value, const char *text)
{
	static const struct {
		const char *name;
		unsigned kind;
		bool reset;
	} headers[] = {
		{ "x-ratelimit-remaining-requests", 1, false },
		{ "x-ratelimit-remaining-tokens", 2, false },
		{ "x-ratelimit-reset-requests", 1, true },
		{ "x-ratelimit-reset-tokens", 2, true },
	};

	/* OpenRouter and gateways: one limit, and when it ends */
	if (call->status == 429 && call->failure.retry_after_ms < 0 && str_is_nocase(name, "x-ratelimit-reset"))
		call->failure.retry_after_ms = MAX(failure_duration_ms(text), ms_until(text));
	for (size_t i = 0; i < COUNT_OF(headers); i++) {
		if (!str_is_nocase(name, headers[i].name))
			continue;
		if (!headers[i].reset && str_is(value, "0"))
			call->empty_limits |= headers[i].kind;
		else if (headers[i].reset && call->empty_limits & headers[i].kind)
			call->hold_ms = MAX(call->hold_ms, MAX(failure_duration_ms(text), ms_until(text)));
	}
}

static int64_t retry_after(struct str value, const char *text, double unit_ms)
{
	double n;

	if (str_to_double(str_trim(value), &n))
		n *= unit_ms;
	else
		n = ms_until(text) > 0 ? (double)ms_until(text) : -1;
	return n >= 0 && n < 86400000 ? (int64_t)n : -1;
}

void model_call_header(struct model_call *call, struct str name, struct str value)
{
	char text[64];

	snprintf(text, sizeof text, STR_FMT, STR_ARG(value));
	if (str_is_nocase(name, "content-type")) {
		struct str rest = value;
		struct str type = str_trim(str_cut(&rest, ';'));
		call->is_stream = str_is_nocase(type, "text/event-stream");
		call->is_frames = str_is_nocase(type, "application/vnd.amazon.eventstream");
	} else if (str_is_nocase(name, "request-id") || str_is_nocase(name, "x-request-id") ||
		   str_is_nocase(name, "x-amzn-requestid")) {
		snprintf(call->request_id, sizeof call->request_id, "%s", text);
	} else if (str_is_nocase(name, "apim-request-id")) {
		snprintf(call->gateway_id, sizeof call->gateway_id, "%s", text);
	} else if (str_is_nocase(name, "x-amzn-errortype")) { /* "ValidationException:http://..." */
		snprintf(call->error_type, sizeof call->error_type, "%.*s", (int)strcspn(text, ":"), text);
	} else if (str_is_nocase(name, "location")) {
		snprintf(call->error_type, sizeof call->error_type, "%s", text);
	} else if (str_is_nocase(name, "date")) {
		call->server_ms = time_ms(text);
	} else if (str_is_nocase(name, "retry-after-ms")) {
		int64_t ms = retry_after(value, text, 1);
		call->failure.retry_after_ms = ms >= 0 ? ms : call->failure.retry_after_ms;
	} else if (str_is_nocase(name, "retry-after") && call->failure.retry_after_ms < 0) {
		call->failure.retry_after_ms = retry_after(value, text, 1000);
	} else if (str_is_nocase(name, "x-should-retry")) {
		call->failure.retry = str_is(value, "true") ? 1 : str_is(value, "false") ? -1 : 0;
	} else if (is_limit_header(name, "-remaining")) {
		call->limit_empty = str_is(value, "0"); /* its reset header follows */
	} else if (is_limit_header(name, "-reset")) {
		if (call->limit_empty)
			call->hold_ms = MAX(call->hold_ms, ms_until(text));
		call->limit_empty = false;
	} else {
		take_ratelimit(call, name, value, text);
	}
}

/* Opens endpoints on first use. */

int endpoints_find(struct endpoints *e, const char *model, struct endpoint **ret_endpoint, struct err *err)
{
	const struct provider *usual = e->providers.usual, *p = provider_of(&e->providers, model, NULL);
	AUTO_ARENA struct arena arena = { 0 };
	struct endpoint_options options = { .loop = e->loop, .arena = &arena };

	p = p ? p : usual;
	struct endpoint *open = map_get(&e->open, str_from(p->name));
	if (e->admit && e->admit(e->data, p, err) < 0)
		return -(int)err->kind;
	if (!open) {
		e->configure(e->data, p, &options);
		if (p->open(p, &options, &open, err) < 0) {
			struct err why = *err;
			if (p != usual && !usual->has_aliases)
				return err_set(err, why.kind,
					       "'%s' names the provider %s (for that name at %s write '%s/%s'): %s",
					       model, p->name, usual->name, usual->name, model, why.text);
			return -(int)err->kind;
		}
		if (p == &provider_bedrock)
			e->providers.bedrock_prefix = CONTAINER_OF(open, struct http_endpoint, endpoint)->prefix;
		open->of = e;
		open->loop = e->loop;
		const char *retries = providers_env(&e->providers, "CLAUDE_CODE_MAX_RETRIES");
		uint64_t most = 0;
		if (retries && str_to_u64(str_from(retries), &most))
			open->most_tries = (unsigned)MIN(most, (uint64_t)1000) + 1;
		governor_init(&open->governor, e->loop, open->most ? MIN(open->most, e->most) : e->most);
		(void)map_set(&e->open, str_from(p->name), open);
	}
	*ret_endpoint = open;
	return 0;
}

struct governor *endpoint_governor(struct endpoint *e, const char *model)
{
	struct governor *part = map_get(&e->parts, str_from(model));

	if (!e->of)
		return &e->governor;
	if (!part) {
		part = xcalloc(1, sizeof *part);
		governor_init_part(part, &e->governor);
		(void)map_set(&e->parts, str_from(model), part);
	}
	return part;
}

void endpoint_note_window(struct endpoint *e, const char *model, int64_t window, const char *source)
{
	struct providers *providers = e->of ? &e->of->providers : NULL;
	AUTO_ARENA struct arena a = { 0 };
	const char *name;

	bool asked = !strcmp(source, "asked");
	if (!providers || window <= 0 || (!asked && window >= model_find(providers, model).context))
		return;
	(void)provider_of(providers, model, &name);
	providers_learn(providers, e->provider, name, window, source);
	if (!e->provider->wire)
		return;
	/* An answer must fit beside the conversation. */
	struct http_endpoint *p = CONTAINER_OF(e, struct http_endpoint, endpoint);
	struct model_quirks *quirks = http_endpoint_quirks(p, provider_sent_name(providers, model, &a));
	quirks->limit = quirks->limit ? MIN(quirks->limit, window / 4) : window / 4;
	quirks->window_known = true;
}

const char *endpoint_note_answer(struct endpoint *e, const char *model, const char *answered_by, int64_t head_tokens,
				 struct arena *a)
{
	const struct providers *providers = e->of ? &e->of->providers : NULL;
	const struct provider *provider = e->provider;
	const char *text = NULL;

	if (!providers || !provider->wire || !(provider->local || provider->own || provider->wire == &wire_messages))
		return NULL;
	const char *sent = provider_sent_name(providers, model, a);
	struct model_quirks *quirks = http_endpoint_quirks(CONTAINER_OF(e, struct http_endpoint, endpoint), sent);
	/* DeepSeek and some gateways answer names of Claude with a model of their own. */
	if (!quirks->told_other && provider->wire == &wire_messages && str_starts(str_from(sent), STR("claude")) &&
	    answered_by[0] && !str_has(str_from(answered_by), STR("claude"))) {
		quirks->told_other = true;
		text = arena_printf(a, "the server answers %s with another model: %s", sent, answered_by);
	}
	if (quirks->told_small || !(provider->local || provider->own))
		return text;
	struct model_info m = model_find(providers, model);
	if (m.context >= SMALL_WINDOW || !m.window_source)
		return text;
	quirks->told_small = true;
	return arena_printf(
		a,
		"%s has a window of %lld tokens, and instructions and tools take about %lld of them: --tools "
		"with a short list, or a larger context of the server, leaves more room",
		sent, (long long)m.context, (long long)head_tokens);
}

void endpoints_set_most(struct endpoints *e, unsigned most)
{
	e->most = most;
	for (struct map_entry *at = NULL; (at = map_next(&e->open, at));) {
		struct endpoint *open = at->value;
		governor_set_most(&open->governor, open->most ? MIN(open->most, most) : most);
	}
}

void endpoints_close(struct endpoints *e)
{
	for (struct map_entry *at = NULL; (at = map_next(&e->open, at));) {
		struct endpoint *open = at->value;
		struct credential *credential = open->credential;
		governor_release(&open->governor);
		for (struct map_entry *part = NULL; (part = map_next(&open->parts, part));)
			free(part->value);
		map_release(&open->parts);
		if (credential)
			credential_stop(credential);
		while (credential && credential_busy(credential))
			loop_run(e->loop);
		credential_free(credential);
		open->provider->close(open);
	}
	map_release(&e->open);
	providers_release(&e->providers);
}
