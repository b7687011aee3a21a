/* SPDX-License-Identifier: MIT
 * failure.c - classifies failures; one table has the retries of each. */
#include "core/wire/failure.h"
#include "core/wire/error_words.h"
#include "lib/base/utf8.h"
#include "lib/json/json.h"

enum { FOREVER = 1 << 20, FIRST_DELAY_MS = 500, LONGEST_DELAY_MS = 32000 };
enum { LEAST_WINDOW = 1000, LARGEST_WINDOW = 100000000 };

/* First match decides. 429 without retry-after means a spend cap more often than a burst: five tries. */
static const struct rule {
	enum failure_kind kind;
	int from, to; /* status */
	bool told;    /* the server said when to come back */
	unsigned tries;
	const char *name;
	unsigned patience; /* so many tries, then another model is better; 0: no other would be */
} rules[] = {
	{ FAIL_STATUS, 401, 401, false, 1, "authentication_failed", 0 },
	{ FAIL_STATUS, 402, 402, false, 1, "billing_error", 0 },
	{ FAIL_STATUS, 403, 403, false, 1, "authentication_failed", 0 },
	{ FAIL_STATUS, 404, 404, false, 1, "model_not_found", 1 },
	{ FAIL_STATUS, 408, 409, false, FOREVER, "server_error", 0 },
	{ FAIL_STATUS, 424, 425, false, FOREVER, "server_error", 0 }, /* Bedrock: the model had an error; too early */
	{ FAIL_STATUS, 429, 429, true, FOREVER, "rate_limit", 0 },
	{ FAIL_STATUS, 429, 429, false, 5, "rate_limit", 0 },
	{ FAIL_STATUS, 498, 498, false, 5, "rate_limit", 0 }, /* Groq: no capacity */
	{ FAIL_STATUS, 503, 503, false, FOREVER, "overloaded", 3 },
	{ FAIL_STATUS, 529, 529, false, FOREVER, "overloaded", 3 },
	{ FAIL_STATUS, 500, 599, false, FOREVER, "server_error", 0 },
	{ FAIL_STATUS, 0, 999, false, 1, "invalid_request", 0 },
	{ FAIL_CONNECT, 0, 999, false, FOREVER, "server_error", 0 },
	{ FAIL_CUT, 0, 999, false, FOREVER, "server_error", 0 },
	{ FAIL_STALL, 0, 999, false, FOREVER, "server_error", 0 },
	{ FAIL_GARBAGE, 0, 999, false, 3, "server_error", 0 },
	{ FAIL_CREDENTIAL, 0, 999, false, 1, "authentication_failed", 0 },
	{ FAIL_NONE, 0, 999, false, 1, "unknown", 0 }, /* the end: TLS, too large, cancelled, not admitted */
};

static const struct rule *rule_for(const struct failure *f)
{
	enum failure_kind kind = f->kind == FAIL_EVENT ? FAIL_STATUS : f->kind;
	static const struct rule unpaid = { .tries = 1, .name = "billing_error" };
	static const struct rule bad_key = { .tries = 1, .name = "authentication_failed" };
	static const struct rule no_model = { .tries = 1, .name = "model_not_found", .patience = 1 };
	const struct rule *r = rules;

	if (f->unpaid || f->bad_key || f->no_model)
		return f->unpaid ? &unpaid : f->bad_key ? &bad_key : &no_model;
	while (r->kind != FAIL_NONE &&
	       (r->kind != kind || f->status < r->from || f->status > r->to || (r->told && f->retry_after_ms < 0)))
		r++;
	return r;
}

/* At most n bytes of what a server said, as one line of UTF-8 */
static void add_said(struct buf *out, struct str said, size_t n)
{
	AUTO_BUF struct buf clean = { 0 };

	utf8_add_repaired(&clean, utf8_cut(str_trim(said), n));
	for (size_t i = 0; i < clean.n; i++) {
		bool blank = (unsigned char)clean.p[i] <= ' ' || clean.p[i] == 0x7f;
		if (!blank || (out->n && out->p[out->n - 1] != ' '))
			buf_addch(out, blank ? ' ' : clean.p[i]);
	}
}

void failure_set(struct failure *f, enum failure_kind kind, const char *fmt, ...)
{
	AUTO_BUF struct buf text = { 0 };
	char raw[sizeof f->text];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof raw, fmt, ap);
	va_end(ap);
	add_said(&text, str_from(raw), sizeof raw);
	snprintf(f->text, sizeof f->text, "%s", text.n ? text.p : "");
	f->kind = kind;
}

static void failure_set_text(struct failure *f, int status, struct str type, struct str message)
{
	AUTO_BUF struct buf text = { 0 };
	int64_t number = 0;

	if (str_to_i64(type, &number) && number == status) /* Azure */
		type = STR("");
	f->status = status;
	snprintf(f->type, sizeof f->type, STR_FMT, STR_ARG(type));
	buf_addf(&text, "%d ", status);
	add_said(&text, type, sizeof f->type);
	buf_addstr(&text, type.n ? ": " : "");
	add_said(&text, message, 300);
	snprintf(f->text, sizeof f->text, "%s", text.p);
}

static const char *memmem_nocase(struct str text, struct str part)
{
	for (size_t i = 0; i + part.n <= text.n; i++)
		if (!strncasecmp(text.p + i, part.p, part.n))
			return text.p + i;
	return NULL;
}

static bool has_words(struct str text, const char *const *words)
{
	for (; *words; words++)
		if (memmem_nocase(text, str_from(*words)))
			return true;
	return false;
}

int64_t failure_duration_ms(const char *p)
{
	double total = 0;
	bool any = false;

	for (;;) {
		size_t n = strspn(p, "0123456789.");
		double number;
		if (!n || !str_to_double((struct str){ p, n }, &number) || number > 86400000)
			break;
		any = true;
		p += n;
		const char *unit = p + strspn(p, " ");
		bool ms = !strncmp(unit, "ms", 2) || !strncmp(unit, "milli", 5);
		total += number * (ms ? 1 : *unit == 'm' ? 60000 : *unit == 'h' ? 3600000 : 1000);
		if (unit > p || (!ms && !char_in(*p, "mhs")))
			break;
		p += ms ? 2 : 1;
	}
	return any && total < 86400000 ? (int64_t)total : -1;
}

/* A delay that only the text contains: RetryInfo of Google, "Please try again in 11.054s." of OpenAI. */
static int64_t wait_in_text_ms(struct str body)
{
	static const char *const marks[] = { "\"retryDelay\":",         "try again in ", "retry after ",
					     "try again after ",        "retry in ",     "lease wait ",
					     "\"retry_after_seconds\":" };
	char text[32];

	for (size_t i = 0; i < COUNT_OF(marks); i++) {
		struct str mark = str_from(marks[i]);
		const char *hit = memmem_nocase(body, mark);
		if (!hit)
			continue;
		struct str rest = { hit + mark.n, body.n - (size_t)(hit - body.p) - mark.n };
		while (rest.n && (rest.p[0] == ' ' || rest.p[0] == '"')) {
			rest.p++;
			rest.n--;
		}
		snprintf(text, sizeof text, STR_FMT, (int)MIN(rest.n, sizeof text - 1), rest.p);
		int64_t ms = failure_duration_ms(text);
		if (ms >= 0)
			return ms;
	}
	return -1;
}

/* A part of an id or a date, a code, a number of bytes, or by how much it is too long */
static bool is_no_count(struct str left, struct str right)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
	static const char *const before[] = { " by ", "code\":", "code\": ", "code\":\"", "code\": \"", "status\":" };

	for (size_t i = 0; i < COUNT_OF(before); i++)
		if (str_ends(left, str_from(before[i])))
			return true;
	return (left.n && char_in(left.p[left.n - 1], letters)) ||
	       (right.n && char_in(right.p[0], letters) && !str_starts(right, STR("-tok"))) ||
	       str_starts(right, STR(" bytes"));
}

/* The window that a refusal names; 0: none. The mark stands before the number or behind it. Of two numbers without a mark the smaller one
 * is the limit. */
static int64_t window_in_text(struct str said)
{
	static const char *const before[] = { "context length is ",
					      "context length of ",
					      "context length: ",
					      "prompt length is ",
					      "limit of ",
					      "context size (",
					      "allowed (",
					      "n_ctx\":",
					      "n_ctx\": ",
					      "[1, ",
					      "context window of ",
					      "token limit: ",
					      "limit is ",
					      "must be <= ",
					      "> ",
					      "window limit (",
					      "n_ctx (",
					      "model length of ",
					      "(TPM): Limit ",
					      "cannot exceed " };
	static const char *const behind[] = { " maximum", " token limit", " tokens maximum", " max context" };
	int64_t named = 0, least = 0;
	unsigned count = 0;

	for (size_t i = 0; i < said.n; i++) {
		size_t from = i;
		int64_t n = 0;
		while (i < said.n && ((said.p[i] >= '0' && said.p[i] <= '9') || (said.p[i] == ',' && i > from)) &&
		       n < 1000000000)
			n = said.p[i] == ',' ? n : n * 10 + (said.p[i] - '0'), i++;
		struct str left = { said.p, from }, right = { said.p + i, said.n - i };
		if (n < LEAST_WINDOW || n > LARGEST_WINDOW || is_no_count(left, right))
			continue;
		bool marked = false;
		for (size_t k = 0; k < COUNT_OF(before) && !marked; k++)
			marked = str_ends(left, str_from(before[k]));
		for (size_t k = 0; k < COUNT_OF(behind) && !marked; k++)
			marked = str_starts(right, str_from(behind[k]));
		named = marked && !named ? n : named;
		least = !count++ || n < least ? n : least;
	}
	return named ? named : count == 2 ? least : 0;
}

/* The words by which servers say why they refuse: there are no common codes, and some have a message only. */
static const char *const too_long_words[] = { "prompt is too long",
					      "exceed context limit",
					      "context window",
					      "maximum context length",
					      "context_length_exceeded",
					      "context length",
					      "context size",
					      "exceed_context_size_error",
					      "input is too long",
					      "input length",
					      "prompt too long",
					      "exceeds max length",
					      "input token count",
					      "maximum prompt length",
					      "reduce the length of the",
					      "reduce the length of either",
					      "token limit",
					      "token count of",
					      "longer than the model",
					      "`inputs` tokens",
					      "current length is",
					      "too many tokens",
					      "ContextWindowExceeded",
					      "request_too_large",
					      "prompt_too_long",
					      "too large for model with",
					      "model_max_prompt_tokens_exceeded",
					      "maximum model length",
					      "n_keep",
					      "when context the overflows",
					      "`inputs` must have less than",
					      "max_seq_len",
					      "exceed the configured limit",
					      "payload size exceeds",
					      "max message tokens",
					      "number of input tokens",
					      "more than max tokens allowed",
					      NULL };
/* Other limits: of rate, of the answer */
static const char *const limited_words[] = { "rate limit", "rate_limit",      "too many requests",
					     "throttling", "max tokens must", NULL };
/* One request above a limit per minute: no wait makes it smaller. */
static const char *const above_limit_words[] = { "Request too large for", NULL };
static const char *const unpaid_words[] = { "insufficient_quota",
					    "insufficient_balance",
					    "Insufficient Balance",
					    "balance is insufficient",
					    "overdue balance",
					    "not enough balance",
					    "exceeded_current_quota",
					    "billing_hard_limit",
					    "billing_not_active",
					    "billing_error",
					    "billing to be enabled",
					    "spend limit",
					    "spending limit",
					    "credit balance is too low",
					    "used all available credits",
					    "out of credits",
					    "have any credits",
					    "credits are depleted",
					    "reached your specified API usage limits",
					    "Budget has been exceeded",
					    "budget_exceeded",
					    "free-models-per-day",
					    "free allocation",
					    "free tier of the model has been exhausted",
					    "INVALID_PAYMENT_INSTRUMENT",
					    "Arrearage",
					    "SetLimitExceeded",
					    "package has expired",
					    "requires a subscription",
					    "PerDay",
					    "tokens per day, please wait",
					    NULL };

static const char *const bad_key_words[] = { "API_KEY_INVALID",
					     "API key not valid",
					     "API key expired",
					     "Incorrect API key",
					     "organization has been disabled",
					     NULL };
static const char *const no_model_words[] = { "model_not_found",
					      "on-demand throughput isn",
					      "model identifier is invalid",
					      "not a valid model ID",
					      "Invalid model:",
					      "Invalid model name",
					      "\"invalid_model\"",
					      "model_not_supported",
					      "_model_access_denied",
					      "Model not found:",
					      "Unknown Model,",
					      "Unknown model:",
					      "Model Not Exist",
					      "Model does not exist",
					      "model_decommissioned",
					      NULL };

/* A filter of OpenRouter, not the key */
static const char *const flagged_words[] = { "input was flagged", NULL };
/* Ollama, llama.cpp: the same request fails again, also with a status of the server's own trouble. */
static const char *const stuck_words[] = { "requires more system memory", "unable to load model", "Jinja Exception",
					   "raise_exception(", NULL };
/* The same: what the model wrote was no call. It may write another one. */
static const char *const no_call_words[] = { "error parsing tool call", "Failed to parse input", NULL };

/* Sets what only the text of the error tells. said: the whole body; code: of the error, may be empty. */
static void failure_classify(struct failure *f, struct str said, struct str code)
{
	/* The messages of Z.ai are Chinese in China. */
	bool is_too_long = has_words(said, too_long_words) || str_is(code, "1261");
	bool is_unpaid = has_words(said, unpaid_words) || str_is_one_of_nocase(code, "1113|1309");
	bool is_no_model = has_words(said, no_model_words) || str_is(code, "1211");

	f->bad_key = f->status == 400 && has_words(said, bad_key_words);
	f->no_model = (f->status == 400 || f->status == 401 || f->status == 403) && is_no_model;
	bool can_be = f->status == 400 || f->status == 422 || f->status == 500;
	f->too_long = f->status == 413 || (can_be && is_too_long && !has_words(said, limited_words)) ||
		      (f->status == 429 && has_words(said, above_limit_words));
	if (f->status == 403 && has_words(said, flagged_words))
		f->status = 400;
	if (f->status == 500 && !f->retry && has_words(said, stuck_words))
		f->retry = -1;
	f->vague = f->vague || (f->status == 500 && has_words(said, no_call_words));
	f->window = f->too_long ? window_in_text(said) : 0;
	if (f->retry_after_ms < 0)
		f->retry_after_ms = wait_in_text_ms(said);
	/* Google calls a limit per minute a quota, too, and says when it ends. */
	bool quota = f->retry_after_ms < 0 && str_has(said, STR("exceeded your current quota"));
	f->unpaid = f->status >= 400 && f->status <= 500 && (quota || is_unpaid); /* 500: MiniMax */
}

/* Where a text begins to repeat a part of the request: JSON, JSON in JSON, a list of Python, a line of pydantic. Else its end. */
static const char *echo_in(struct str text)
{
	static const char *const marks[] = { "\"input\":", "\\\"input\\\":", ", 'input': ", "input_value=" };

	for (size_t i = 0; i < COUNT_OF(marks); i++) {
		const char *hit = text.n ? memmem(text.p, text.n, marks[i], strlen(marks[i])) : NULL;
		text.n = hit ? (size_t)(hit - text.p) : text.n;
	}
	return text.p + text.n;
}

/* Copies the text of a value from *at on, without such parts. */
static void copy_without_echo(struct buf *out, const char **at, const struct json *v)
{
	for (const struct json *i = json_items(v); i; i = json_next(v, i))
		copy_without_echo(out, at, i);
	for (struct json_member m = json_members(v); m.key; m = json_member_next(v, m)) {
		struct str value = json_raw(m.value);
		if (!json_str_is(m.key, "input")) {
			copy_without_echo(out, at, m.value);
			continue;
		}
		buf_add(out, *at, (size_t)(value.p - *at));
		buf_addstr(out, "null");
		*at = value.p + value.n;
	}
	if (!json_is(v, JSON_STRING))
		return;
	const char *echo = echo_in((struct str){ v->text, v->len });
	buf_add(out, *at, (size_t)(echo - *at));
	*at = v->text + v->len;
}

void failure_drop_echo(struct buf *body)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf kept = { 0 };
	struct str all = buf_str(body);
	const struct json *root;
	const char *at = all.p;

	bool cut = json_parse(&reader, all.p, all.n, &root, NULL) < 0;
	if (!cut)
		copy_without_echo(&kept, &at, root);
	buf_add(&kept, at, (size_t)((cut ? echo_in(all) : all.p + all.n) - at));
	struct buf old = *body;
	*body = kept;
	kept = old;
}

/* What to do, behind the server's own words */
static void failure_hint(struct failure *f, const char *advice)
{
	size_t n = strlen(f->text);

	snprintf(f->text + n, sizeof f->text - n, " (%s)", advice);
}

/* The title of an HTML page, or its text if it has none */
static struct str page_title(struct str page, struct arena *a)
{
	char *text = arena_alloc(a, page.n + 1);
	size_t n = 0;
	bool in_tag = false;
	const char *from = memmem_nocase(page, STR("<title>"));
	const char *to = memmem_nocase(page, STR("</title>"));

	if (from && to > from + 7)
		return str_trim((struct str){ from + 7, (size_t)(to - from) - 7 });
	for (size_t i = 0; i < page.n; i++) {
		char c = page.p[i] == '\n' || page.p[i] == '\r' || page.p[i] == '\t' ? ' ' : page.p[i];
		in_tag = in_tag ? c != '>' : c == '<';
		if (!in_tag && c != '>' && (c != ' ' || (n && text[n - 1] != ' ')))
			text[n++] = c;
	}
	return str_trim((struct str){ text, n });
}

void failure_from_body(struct failure *f, int status, struct str body, const char *type)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena arena = { 0 };
	const struct json *root;
	struct error_words words = { STR(""), STR(""), STR("") };

	f->kind = FAIL_STATUS;
	if (str_starts(body, STR("\xEF\xBB\xBF"))) /* byte order mark */
		body = str_tail(body, 3);
	body = str_trim(body);
	if (json_parse(&reader, body.p, body.n, &root, NULL) == 0)
		words = error_words_of(root, &arena);
	if (words.message.n || words.type.n) {
		if (!words.type.n)
			words.type = words.code.n || !type ? words.code : str_from(type);
		failure_set_text(f, status, words.type, words.message);
	} else if (body.n && body.p[0] == '<') {
		struct str title = utf8_cut(page_title(body, &arena), 200);
		words.message = str_from(
			arena_printf(&arena, "a web page answered, of a proxy or a login: " STR_FMT, STR_ARG(title)));
		failure_set_text(f, status, STR(""), words.message);
	} else {
		struct str line = body;
		failure_set_text(f, status, STR(""),
				 line.n ? str_cut(&line, '\n') : STR("the server sent no explanation"));
	}
	failure_classify(f, body, words.code);
	if (f->no_model && str_has(body, STR("on-demand throughput")))
		failure_hint(f, "name an inference profile, such as us.anthropic.NAME, or its ARN");
	else if (status == 403 && str_is(str_from(f->type), "AccessDeniedException") &&
		 !str_has(body, STR("API Key")) && !str_has(body, STR("Bearer Token")))
		failure_hint(
			f,
			"the account may not use this model: check IAM, and the model access of Bedrock's console in this region");
}

void failure_from_page(struct failure *f, struct str page, const char *type)
{
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	struct str text = str_trim(page);
	bool html = text.n && text.p[0] == '<';
	const struct json *root;
	struct error_words words = { STR(""), STR(""), STR("") };

	if (html)
		text = page_title(text, &arena);
	else if (json_parse(&reader, text.p, text.n, &root, NULL) == 0)
		words = error_words_of(root, &arena);
	text = words.message.n ? words.message : text;
	size_t n = 0;
	while (n < text.n && n < 100 && (unsigned char)text.p[n] >= ' ' && text.p[n] != 0x7f)
		n++;
	AUTO_BUF struct buf said = { 0 };
	add_said(&said, text, n);
	failure_set(f, FAIL_GARBAGE, "the server's answer is not an event stream%s%s%s: %s%s",
		    *type ? " (content type " : "", type, *type ? ")" : "",
		    html              ? "a web page answered, of a proxy or a login: "
		    : !text.n         ? "it is empty"
		    : !n              ? "it is not text"
		    : words.message.n ? ""
				      : "it begins with ",
		    said.n ? said.p : "");
}

/* 0: the type is not known. */
static int status_for_type(struct str type)
{
	static const struct {
		const char *type;
		int status;
	} statuses[] = {
		{ "api_error", 500 },
		{ "server_error", 500 },
		{ "overloaded_error", 529 },
		{ "rate_limit_error", 429 },
		{ "invalid_request_error", 400 },
		{ "authentication_error", 401 },
		{ "permission_error", 403 },
		{ "not_found_error", 404 },
		{ "request_too_large", 413 },
		{ "timeout_error", 504 },
		{ "billing_error", 402 },
		{ "rate_limit_exceeded", 429 },
		{ "insufficient_quota", 429 },
		{ "model_not_found", 404 },
		{ "invalid_api_key", 401 },
		{ "context_length_exceeded", 400 },
		{ "BadRequestError", 400 },
		{ "exceed_context_size_error", 400 },
		{ "server_is_overloaded", 529 },
		{ "slow_down", 529 },
		{ "modelNotReadyException", 503 },
		{ "invalid_prompt", 400 },
		{ "throttlingException", 429 },
		{ "modelTimeoutException", 408 },
		{ "modelStreamErrorException", 424 },
		{ "internalServerException", 500 },
		{ "serviceUnavailableException", 503 },
		{ "validationException", 400 },
	};

	for (size_t i = 0; i < COUNT_OF(statuses); i++)
		if (str_is(type, statuses[i].type))
			return statuses[i].status;
	/* Of the Responses API: "cyber_policy", "image_too_large", "invalid_base64_image" */
	return str_has(type, STR("_policy")) || str_has(type, STR("image")) ? 400 : 0;
}

void failure_from_event(struct failure *f, struct str type, struct str message)
{
	int status = status_for_type(type);

	f->kind = FAIL_EVENT;
	f->vague = !status;
	failure_set_text(f, status ? status : 500, type, message);
	failure_classify(f, str_from(f->text), STR(""));
}

void failure_from_error(struct failure *f, const struct json *root)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct error_words words = error_words_of(root, &arena);
	int64_t number = 0;

	bool numbered = json_i64(json_get(json_get(root, "error"), "code"), &number) || str_to_i64(words.code, &number);
	struct str type = words.code.n && !numbered ? words.code : words.type;
	int status = number >= 400 && number <= 599 ? (int)number : status_for_type(type);
	words.message = str_trim(words.message);
	if (!words.message.n) /* what it has in place of words, if that says anything */
		words.message = type.n || !json_is(json_get(root, "error"), JSON_OBJECT)
					? STR("the server sent no explanation")
					: json_raw(json_get(root, "error"));
	f->kind = FAIL_EVENT;
	f->vague = !status;
	failure_set_text(f, status ? status : 500, type, words.message);
	AUTO_BUF struct buf said = { 0 };
	buf_append(&said, json_raw(root));
	failure_drop_echo(&said);
	failure_classify(f, buf_str(&said), words.code);
}

static bool says_something(const struct json *v)
{
	return json_is(v, JSON_STRING) ? v->len > 0 : json_bool(v) || json_double(v) != 0 || (v && v->count);
}

bool failure_in_event(struct failure *f, const struct json *event)
{
	if (json_is(event, JSON_ARRAY))
		event = json_first(event);
	const struct json *error = json_get(event, "error");
	bool is_error =
		json_str_is(json_get(event, "object"), "error") || json_str_is(json_get(event, "type"), "error");
	/* Each event of some gateways has one, which is empty as long as there is none. */
	for (struct json_member m = json_members(error); m.key; m = json_member_next(error, m))
		is_error = is_error || says_something(m.value);
	is_error = is_error || (!json_is(error, JSON_OBJECT) && says_something(error)) ||
		   says_something(json_get(event, "error_message")) ||
		   json_double(json_get(json_get(event, "base_resp"), "status_code")) != 0; /* MiniMax: 0 is none */
	if (!is_error)
		return false;
	failure_from_error(f, event);
	return true;
}

const char *failure_name(const struct failure *f)
{
	return rule_for(f)->name;
}

bool failure_is_too_long(const struct failure *f)
{
	return (f->kind == FAIL_STATUS || f->kind == FAIL_EVENT) && (f->too_long || f->status == 413);
}

bool failure_is_model_unavailable(const struct failure *f, unsigned attempt)
{
	unsigned patience = rule_for(f)->patience;

	return patience && attempt >= patience;
}

int64_t failure_retry_delay_ms(const struct failure *f, unsigned attempt, uint64_t random)
{
	bool by_status = f->kind == FAIL_STATUS;
	unsigned tries = by_status && f->retry < 0 ? 1 : by_status && f->retry > 0 ? FOREVER : rule_for(f)->tries;

	if (attempt >= (f->vague ? MIN(tries, 3u) : tries))
		return -1;
	unsigned doublings = MIN(attempt - 1, 6u);
	int64_t delay = MIN((int64_t)FIRST_DELAY_MS << doublings, (int64_t)LONGEST_DELAY_MS);
	int64_t jitter = (int64_t)(random % (uint64_t)(delay / 4 + 1));
	/* Never before the server's time, and not everybody at that very moment. */
	return MAX(delay, f->retry_after_ms) + jitter;
}
