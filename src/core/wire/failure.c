/* SPDX-License-Identifier: MIT
 * failure.c - classifies failures; one table has the retries of each. */
#include "core/wire/failure.h"
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
	{ FAIL_STATUS, 424, 424, false, FOREVER, "server_error", 0 }, /* Bedrock: the model had an error */
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

void failure_set(struct failure *f, enum failure_kind kind, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f->text, sizeof f->text, fmt, ap);
	va_end(ap);
	f->kind = kind;
}

static void failure_set_text(struct failure *f, int status, struct str type, struct str message)
{
	f->status = status;
	snprintf(f->type, sizeof f->type, STR_FMT, STR_ARG(type));
	snprintf(f->text, sizeof f->text, "%d " STR_FMT "%s" STR_FMT, status, STR_ARG(type), type.n ? ": " : "",
		 (int)MIN(message.n, (size_t)300), message.p);
}

struct error_words {
	struct str type, code, message;
};

/* Companies and servers differ in shape; the first member that has a message counts. */
static struct error_words read_error(const struct json *root, struct arena *arena)
{
	if (json_is(root, JSON_ARRAY))
		root = json_first(root);
	const struct json *error = json_get(root, "error");
	const struct json *list = json_get(root, "errors");
	const struct json *detail = json_get(root, "detail");
	struct error_words words = { STR(""), STR(""), STR("") };

	if (json_is(error, JSON_STRING)) {
		words.message = json_str(error, arena);
		error = root;
	} else if (json_is(error, JSON_OBJECT)) {
		words.message = json_str(json_get(error, "message"), arena);
		words.type = json_str(json_get(error, "type"), arena);
		if (!words.type.n)
			words.type = json_str(json_get(error, "status"), arena);
	} else if (json_is(list, JSON_ARRAY) && json_first(list)) {
		error = json_first(list);
		words.message = json_str(json_is(error, JSON_STRING) ? error : json_get(error, "message"), arena);
	} else {
		error = root;
		words.message = json_str(json_get(root, json_get(root, "message") ? "message" : "Message"), arena);
		words.type = json_str(json_get(root, json_get(root, "type") ? "type" : "__type"), arena);
		struct str rest = words.type; /* "com.amazon.coral.service#AccessDeniedException" */
		(void)str_cut(&rest, '#');
		words.type = rest.p ? rest : words.type;
		if (!words.message.n && json_is(detail, JSON_STRING))
			words.message = json_str(detail, arena);
		else if (!words.message.n && detail)
			words.message = json_raw(detail);
	}
	words.code = json_str(json_get(error, "code"), arena);
	return words;
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
		bool ms = !strncmp(p, "ms", 2);
		total += number * (ms ? 1 : *p == 'm' ? 60000 : *p == 'h' ? 3600000 : 1000);
		if (!ms && !char_in(*p, "mhs"))
			break;
		p += ms ? 2 : 1;
	}
	return any && total < 86400000 ? (int64_t)total : -1;
}

/* A delay that only the text contains: RetryInfo of Google, "Please try again in 11.054s." of OpenAI. */
static int64_t wait_in_text_ms(struct str body)
{
	static const char *const marks[] = { "\"retryDelay\":", "try again in ", "retry after " };
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

/* The window that a refusal names; 0: none. The mark stands before the number or behind it. Of two numbers without a mark the smaller one
 * is the limit. */
static int64_t window_in_text(struct str said)
{
	static const char *const before[] = {
		"context length is ", "context length of ", "context length: ", "prompt length is ", "limit of ",
		"context size (",     "allowed (",          "n_ctx\":",         "n_ctx\": ",         "[1, ",
		"context window of ", "token limit: ",      "limit is ",        "must be <= ",       "> "
	};
	static const char *const behind[] = { " maximum", " token limit", " tokens maximum", " max context" };
	int64_t named = 0, least = 0;
	unsigned count = 0;

	for (size_t i = 0; i < said.n; i++) {
		size_t from = i;
		int64_t n = 0;
		while (i < said.n && ((said.p[i] >= '0' && said.p[i] <= '9') || (said.p[i] == ',' && i > from)) &&
		       n < 1000000000)
			n = said.p[i] == ',' ? n : n * 10 + (said.p[i] - '0'), i++;
		if (n < LEAST_WINDOW || n > LARGEST_WINDOW)
			continue;
		struct str left = { said.p, from }, right = { said.p + i, said.n - i };
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

/* Sets what only the text of the error tells. said: the whole body. */
static void failure_classify(struct failure *f, struct str said)
{
	/* There is no common code for it: some servers have a type, others only a message. */
	static const char *const too_long[] = { "prompt is too long",
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
						"reduce the length",
						"token limit",
						"exceeds the limit of",
						"longer than the model",
						"`inputs` tokens",
						"current length is",
						"too many tokens",
						"ContextWindowExceeded",
						"request_too_large",
						"prompt_too_long",
						"too large for model with",
						"model_max_prompt_tokens_exceeded",
						"\"code\":\"1261\"",
						"\"code\": \"1261\"",
						NULL };
	static const char *const limited[] = { "rate limit", "rate_limit", "too many requests", "throttling", NULL };
	static const char *const unpaid[] = { "insufficient_quota",
					      "insufficient_balance",
					      "billing_hard_limit",
					      "billing_not_active",
					      "billing_error",
					      "exceeded your current quota",
					      "spend limit",
					      "Insufficient Balance",
					      "PerDay",
					      NULL };

	static const char *const bad_key[] = { "API_KEY_INVALID", "API key not valid", "API key expired", NULL };
	static const char *const no_model[] = { "model_not_found", "on-demand throughput isn",
						"model identifier is invalid", NULL };

	f->bad_key = f->status == 400 && has_words(said, bad_key);
	f->no_model = (f->status == 400 || f->status == 403) && has_words(said, no_model);
	bool can_be = f->status == 400 || f->status == 422 || f->status == 500;
	f->too_long = f->status == 413 || (can_be && has_words(said, too_long) && !has_words(said, limited));
	f->window = f->too_long ? window_in_text(said) : 0;
	f->unpaid = (f->status == 429 || f->status == 403) && has_words(said, unpaid);
	if (f->retry_after_ms < 0)
		f->retry_after_ms = wait_in_text_ms(said);
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
	body = str_trim(body);
	if (json_parse(&reader, body.p, body.n, &root, NULL) == 0)
		words = read_error(root, &arena);
	if (words.message.n || words.type.n) {
		if (!words.type.n)
			words.type = words.code.n || !type ? words.code : str_from(type);
		failure_set_text(f, status, words.type, words.message);
	} else if (body.n && body.p[0] == '<') {
		struct str title = page_title(body, &arena);
		failure_set_text(f, status, STR(""), STR(""));
		snprintf(f->text, sizeof f->text, "%d a web page answered, of a proxy or a login: " STR_FMT, status,
			 (int)MIN(title.n, (size_t)200), title.p);
	} else {
		struct str line = body;
		failure_set_text(f, status, STR(""),
				 line.n ? str_cut(&line, '\n') : STR("the server sent no explanation"));
	}
	failure_classify(f, body);
	if (f->no_model && str_has(body, STR("on-demand throughput")))
		failure_hint(f, "name an inference profile, such as us.anthropic.NAME, or its ARN");
	else if (status == 403 && str_is(str_from(f->type), "AccessDeniedException"))
		failure_hint(
			f,
			"the account may not use this model: check IAM, and the model access of Bedrock's console in this region");
}

void failure_from_page(struct failure *f, struct str page)
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
		words = read_error(root, &arena);
	text = words.message.n ? words.message : text;
	size_t n = 0;
	while (n < text.n && n < 100 && (unsigned char)text.p[n] >= ' ' && text.p[n] != 0x7f)
		n++;
	failure_set(f, FAIL_GARBAGE, "the server's answer is not an event stream: %s" STR_FMT,
		    html              ? "a web page answered, of a proxy or a login: "
		    : !text.n         ? "it is empty"
		    : !n              ? "it is not text"
		    : words.message.n ? ""
				      : "it begins with ",
		    (int)n, text.p ? text.p : "");
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
	return 0;
}

void failure_from_event(struct failure *f, struct str type, struct str message)
{
	int status = status_for_type(type);

	f->kind = FAIL_EVENT;
	f->vague = !status;
	failure_set_text(f, status ? status : 500, type, message);
	failure_classify(f, str_from(f->text));
}

void failure_from_error(struct failure *f, const struct json *root)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct error_words words = read_error(root, &arena);
	int64_t number = 0;

	bool numbered = json_i64(json_get(json_get(root, "error"), "code"), &number) || str_to_i64(words.code, &number);
	struct str type = words.code.n && !numbered ? words.code : words.type;
	int status = number >= 400 && number <= 599 ? (int)number : status_for_type(type);
	f->kind = FAIL_EVENT;
	f->vague = !status;
	failure_set_text(f, status ? status : 500, type, words.message);
	failure_classify(f, json_raw(root));
}

bool failure_in_event(struct failure *f, const struct json *event)
{
	if (json_is(event, JSON_ARRAY))
		event = json_first(event);
	const struct json *error = json_get(event, "error");
	if ((!error || json_is(error, JSON_NULL)) && !json_str_is(json_get(event, "object"), "error") &&
	    !json_str_is(json_get(event, "type"), "error"))
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
