/* SPDX-License-Identifier: MIT
 * engine.c - takes a request, decides whether there is room for it and whether it is valid, finds its answer. */
#include "lib/json/json_write.h"
#include "core/scenario/chat_request.h"
#include "core/scenario/engine_int.h"

enum { BYTES_PER_TOKEN = 4, KEEP_SCRATCH_BYTES = 1 << 20 };

struct engine *engine_new(const struct scenario *scenario)
{
	struct engine *e = xcalloc(1, sizeof *e);

	e->scenario = scenario;
	e->checker = checker_new();
	e->rules = xcalloc(scenario->rule_count, sizeof *e->rules);
	engine_reset(e);
	return e;
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	checker_free(e->checker);
	prompt_cache_release(&e->cache);
	arena_release(&e->scratch);
	buf_release(&e->text);
	buf_release(&e->chat_body);
	json_reader_release(&e->chat_reader);
	free(e->blocks);
	free(e->rules);
	free(e);
}

void engine_reset(struct engine *e)
{
	memset(&e->counters, 0, sizeof e->counters);
	memset(e->rules, 0, e->scenario->rule_count * sizeof *e->rules);
	prompt_cache_release(&e->cache);
	e->counters.in_flight_max = e->in_flight;
	e->random = e->scenario->seed;
	e->rate_left = (double)e->scenario->rate_per_s;
}

/* A bucket that holds the requests of one second. */
static bool rate_allows(struct engine *e)
{
	double rate = (double)e->scenario->rate_per_s;

	if (!e->scenario->rate_per_s)
		return true;
	e->rate_left = MIN(rate, e->rate_left + rate * (double)(e->now_ms - e->rate_at_ms) / 1000);
	e->rate_at_ms = e->now_ms;
	if (e->rate_left < 1)
		return false;
	e->rate_left -= 1;
	return true;
}

static struct reply *refuse_load(struct engine *e, const char *what)
{
	char header[64];

	e->counters.limited++;
	snprintf(header, sizeof header, "retry-after: %llu", (unsigned long long)e->scenario->retry_after_s);
	return answer_error(e, 429, header, "%s", what);
}

static struct reply *refuse_request(struct engine *e, const struct err *why)
{
	e->counters.invalid++;
	e->counters.last_invalid = *why;
	return answer_error(e, why->kind == ERR_LIMIT ? 413 : 400, NULL, "%s", why->text);
}

static unsigned check_flags(const struct scenario *s)
{
	return (s->unknown_tools ? REQUEST_UNKNOWN_TOOLS : 0) | (s->pauses ? REQUEST_PAUSES : 0);
}

static struct reply *answer(struct engine *e, const struct engine_request *ask, const struct request *request)
{
	struct asking a = { .engine = e, .ask = ask, .request = request, .number = e->counters.requests };
	const struct rule *rule = match_rule(&a);

	if (!rule) {
		e->counters.unmatched++;
		return answer_error(
			e, 400, NULL, "no rule of the scenario wants this request: agent " STR_FMT ", turn %llu",
			STR_ARG(ask->agent.n ? ask->agent : STR("main")), (unsigned long long)request->turn);
	}
	struct cache_look look = { 0 };
	if (e->scenario->cache)
		look = prompt_cache_look(&e->cache, request, e->scenario->cache_min_tokens * BYTES_PER_TOKEN,
					 e->now_ms);
	else
		look.total_bytes = request->prefixes[request->prefix_count - 1].bytes;
	struct counters *c = &e->counters;
	c->prefix_bytes += look.prefix_bytes;
	c->read_bytes += look.read_bytes;
	c->recent[c->recent_count++ % RECENT_REQUESTS] =
		(struct recent){ c->requests, look.prefix_bytes, look.read_bytes };
	e->counters.answered++;
	return answer_rule(&a, rule, &look);
}

static struct reply *ask_message(struct engine *e, const struct engine_request *ask)
{
	struct request request;
	struct err err;

	if (e->scenario->capacity && e->in_flight >= e->scenario->capacity)
		return refuse_load(e, "more requests in flight than the scenario's capacity");
	if (!rate_allows(e))
		return refuse_load(e, "more requests a second than the scenario's rate");
	if (request_check(e->checker, ask->body, check_flags(e->scenario), &request, &err) < 0)
		return refuse_request(e, &err);
	struct reply *r = answer(e, ask, &request);
	r->counted = true;
	e->in_flight++;
	e->counters.in_flight_max = MAX(e->counters.in_flight_max, e->in_flight);
	return r;
}

static struct reply *ask_count(struct engine *e, const struct engine_request *ask)
{
	struct request request;
	struct err err;
	char body[64];

	if (request_check(e->checker, ask->body, check_flags(e->scenario) | REQUEST_COUNT_ONLY, &request, &err) < 0)
		return refuse_request(e, &err);
	uint64_t bytes = request.prefixes[request.prefix_count - 1].bytes;
	snprintf(body, sizeof body, "{\"input_tokens\":%llu}",
		 (unsigned long long)((bytes + BYTES_PER_TOKEN - 1) / BYTES_PER_TOKEN));
	return answer_json(e, str_from(body));
}

static void put_model(struct json_out *w, const char *id)
{
	json_open(w, '{');
	json_kcstr(w, "type", "model");
	json_kcstr(w, "id", id);
	json_kcstr(w, "display_name", id);
	json_kcstr(w, "created_at", "2026-01-01T00:00:00Z");
	json_ki64(w, "max_input_tokens", 1000000);
	json_ki64(w, "max_tokens", 128000);
	json_close(w);
}

static struct reply *list_models(struct engine *e, struct str id)
{
	static const char *const models[] = { "claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5",
					      "claude-fable-5-2" };
	AUTO_BUF struct buf body = { 0 };
	struct json_out w = json_out(&body);

	for (size_t i = 0; id.n && i < COUNT_OF(models); i++) {
		if (str_is(id, models[i])) {
			put_model(&w, models[i]);
			return answer_json(e, buf_str(&body));
		}
	}
	if (id.n)
		return answer_error(e, 404, NULL, "there is no model " STR_FMT, STR_ARG(id));
	json_open(&w, '{');
	json_key(&w, "data");
	json_open(&w, '[');
	for (size_t i = 0; i < COUNT_OF(models); i++)
		put_model(&w, models[i]);
	json_close(&w);
	json_kbool(&w, "has_more", false);
	json_kcstr(&w, "first_id", models[0]);
	json_kcstr(&w, "last_id", models[COUNT_OF(models) - 1]);
	json_close(&w);
	return answer_json(e, buf_str(&body));
}

static struct reply *dispatch(struct engine *e, const struct engine_request *ask)
{
	const struct str models = STR("/v1/models");
	struct str rest = ask->path;
	struct str path = str_cut(&rest, '?');

	if (str_is(path, "/v1/messages"))
		return ask_message(e, ask);
	if (str_is(path, "/v1/chat/completions")) {
		/* The same request in the words of the Messages API. */
		struct engine_request translated = *ask;
		struct err err;
		e->chat = true;
		buf_clear(&e->chat_body);
		if (chat_request(&e->chat_reader, &e->scratch, ask->body, &e->chat_body, &e->wants_usage, &err) < 0)
			return refuse_request(e, &err);
		translated.body = buf_str(&e->chat_body);
		return ask_message(e, &translated);
	}
	if (str_is(path, "/v1/messages/count_tokens"))
		return ask_count(e, ask);
	if (str_eq(path, models))
		return list_models(e, STR(""));
	if (str_starts(path, models) && path.p[models.n] == '/')
		return list_models(e, (struct str){ path.p + models.n + 1, path.n - models.n - 1 });
	return answer_error(e, 404, NULL, "there is nothing at " STR_FMT, STR_ARG(path));
}

struct reply *engine_ask(struct engine *e, const struct engine_request *ask)
{
	e->given++;
	e->counters.requests++;
	e->counters.bytes_in += ask->body.n;
	e->now_ms = MAX(e->now_ms, ask->now_ms);
	e->chat = e->wants_usage = false;
	struct reply *r = dispatch(e, ask);
	arena_reset(&e->scratch);
	if (e->text.cap > KEEP_SCRATCH_BYTES)
		buf_release(&e->text);
	if (e->chat_body.cap > KEEP_SCRATCH_BYTES)
		buf_release(&e->chat_body);
	return r;
}
