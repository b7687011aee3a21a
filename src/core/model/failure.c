/* SPDX-License-Identifier: MIT
 * failure.c - one table says what each failure means. */
#include "core/model/failure.h"
#include "lib/json/json.h"

enum { FOREVER = 1 << 20, FIRST_DELAY_MS = 500, LONGEST_DELAY_MS = 32000 };

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
	{ FAIL_STATUS, 429, 429, true, FOREVER, "rate_limit", 0 },
	{ FAIL_STATUS, 429, 429, false, 5, "rate_limit", 0 },
	{ FAIL_STATUS, 529, 529, false, FOREVER, "overloaded", 3 },
	{ FAIL_STATUS, 500, 599, false, FOREVER, "server_error", 0 },
	{ FAIL_STATUS, 0, 999, false, 1, "invalid_request", 0 },
	{ FAIL_CONNECT, 0, 999, false, FOREVER, "server_error", 0 },
	{ FAIL_CUT, 0, 999, false, FOREVER, "server_error", 0 },
	{ FAIL_STALL, 0, 999, false, FOREVER, "server_error", 0 },
	{ FAIL_GARBAGE, 0, 999, false, 3, "server_error", 0 },
	{ FAIL_NONE, 0, 999, false, 1, "unknown", 0 }, /* the end: TLS, too large, cancelled, not admitted */
};

static const struct rule *rule_for(const struct failure *f)
{
	enum failure_kind kind = f->kind == FAIL_EVENT ? FAIL_STATUS : f->kind;
	const struct rule *r = rules;

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
	struct str type, message;
};

/* Some servers send only a text. */
static struct error_words words_of(const struct json *root, struct arena *arena)
{
	const struct json *error = json_get(root, "error");

	if (json_is(error, JSON_STRING))
		return (struct error_words){ STR(""), json_str(error, arena) };
	return (struct error_words){ json_str(json_get(error, "type"), arena),
				     json_str(json_get(error, "message"), arena) };
}

void failure_from_body(struct failure *f, int status, struct str body)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena arena = { 0 };
	const struct json *root, *error;

	f->kind = FAIL_STATUS;
	if (json_parse(&reader, body.p, body.n, &root, NULL) == 0 &&
	    (json_is(error = json_get(root, "error"), JSON_OBJECT) || json_is(error, JSON_STRING))) {
		struct error_words words = words_of(root, &arena);
		failure_set_text(f, status, words.type, words.message);
		return;
	}
	struct str line = str_trim(body);
	failure_set_text(f, status, STR(""), line.n ? str_cut(&line, '\n') : STR("the server sent no explanation"));
}

static int status_of(struct str type)
{
	static const struct {
		const char *type;
		int status;
	} statuses[] = {
		{ "overloaded_error", 529 },      { "rate_limit_error", 429 },
		{ "invalid_request_error", 400 }, { "authentication_error", 401 },
		{ "permission_error", 403 },      { "not_found_error", 404 },
		{ "request_too_large", 413 },     { "timeout_error", 504 },
		{ "billing_error", 402 },         { "rate_limit_exceeded", 429 },
		{ "insufficient_quota", 429 },    { "model_not_found", 404 },
		{ "invalid_api_key", 401 },       { "context_length_exceeded", 400 },
		{ "BadRequestError", 400 },       { "exceed_context_size_error", 400 },
	};

	for (size_t i = 0; i < COUNT_OF(statuses); i++)
		if (str_is(type, statuses[i].type))
			return statuses[i].status;
	return 500;
}

void failure_from_event(struct failure *f, struct str type, struct str message)
{
	f->kind = FAIL_EVENT;
	failure_set_text(f, status_of(type), type, message);
}

void failure_from_error(struct failure *f, const struct json *root)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct error_words words = words_of(root, &arena);
	struct str code = json_str(json_get(json_get(root, "error"), "code"), &arena);
	int64_t number = 0;

	(void)json_i64(json_get(json_get(root, "error"), "code"), &number);
	struct str type = code.n ? code : words.type;
	f->kind = FAIL_EVENT;
	failure_set_text(f, number >= 400 && number <= 599 ? (int)number : status_of(type), type, words.message);
}

const char *failure_name(const struct failure *f)
{
	return rule_for(f)->name;
}

/* There is no common code for it: some servers have a type, others only a message. */
bool failure_is_too_long(const struct failure *f)
{
	static const char *const words[] = { "prompt is too long",     "exceed context limit",     "context window",
					     "maximum context length", "context_length_exceeded",  "context length",
					     "context size",           "exceed_context_size_error" };

	if (f->kind != FAIL_STATUS && f->kind != FAIL_EVENT)
		return false;
	for (size_t i = 0; f->status == 400 && i < COUNT_OF(words); i++)
		if (strcasestr(f->text, words[i]))
			return true;
	return f->status == 413;
}

bool failure_is_of_model(const struct failure *f, unsigned attempt)
{
	unsigned patience = rule_for(f)->patience;

	return patience && attempt >= patience;
}

int64_t failure_retry_delay_ms(const struct failure *f, unsigned attempt, uint64_t random)
{
	if (attempt >= rule_for(f)->tries)
		return -1;
	unsigned doublings = MIN(attempt - 1, 6u);
	int64_t delay = MIN((int64_t)FIRST_DELAY_MS << doublings, (int64_t)LONGEST_DELAY_MS);
	int64_t jitter = (int64_t)(random % (uint64_t)(delay / 4 + 1));
	/* Never before the server's time, and not everybody at that very moment. */
	return MAX(delay, f->retry_after_ms) + jitter;
}
