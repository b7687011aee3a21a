/* SPDX-License-Identifier: MIT
 * engine.c - checks capacity and validity of a request, finds its rule, and counts. */
#include "core/scenario/engine_int.h"

enum { BYTES_PER_TOKEN = 4, KEEP_SCRATCH_BYTES = 1 << 20, LOOK_BACK_BLOCKS = 20, CACHE_SWEEP_LEAST = 256 };

static uint64_t cache_expiry(const struct engine *e, uint64_t hash)
{
	return (uintptr_t)map_get(&e->cache, (struct str){ (const char *)&hash, sizeof hash });
}

static void cache_renew(struct engine *e, uint64_t hash, uint64_t ttl_ms)
{
	uint64_t expires_ms = MAX(cache_expiry(e, hash), e->now_ms + ttl_ms);

	map_set(&e->cache, (struct str){ (const char *)&hash, sizeof hash }, (void *)(uintptr_t)expires_ms);
}

/* The longest live prefix that a mark finds: block + 1, or 0. A hit lives on. */
static size_t look_back(struct engine *e, const struct request *r, const struct mark *mark)
{
	size_t last = mark->block + 1;
	size_t first = last > LOOK_BACK_BLOCKS ? last - LOOK_BACK_BLOCKS : 0;

	for (size_t end = last; end > first; end--) {
		uint64_t hash = r->prefixes[end - 1].hash;
		if (cache_expiry(e, hash) > e->now_ms) {
			cache_renew(e, hash, mark->ttl_ms);
			return end;
		}
	}
	return 0;
}

static struct cache_look cache_find(struct engine *e, const struct request *r)
{
	struct cache_look look = { .total_bytes = r->prefixes[r->prefix_count - 1].bytes };
	uint64_t min_bytes = e->scenario->cache_min_tokens * BYTES_PER_TOKEN;

	for (unsigned i = 0; e->scenario->cache && i < r->mark_count; i++) {
		const struct mark *mark = &r->marks[i];
		const struct prefix *prefix = &r->prefixes[mark->block];
		if (prefix->bytes < min_bytes)
			continue;
		size_t hit = look_back(e, r, mark);
		if (hit)
			look.read_bytes = MAX(look.read_bytes, r->prefixes[hit - 1].bytes);
		look.prefix_bytes = MAX(look.prefix_bytes, prefix->bytes);
		look.writes[look.write_count++] = (struct cache_write){ prefix->hash, mark->ttl_ms };
	}
	return look;
}

void reply_begun(struct reply *r)
{
	struct engine *e = r->engine;

	for (unsigned i = 0; i < r->write_count; i++)
		cache_renew(e, r->writes[i].hash, r->writes[i].ttl_ms);
	r->write_count = 0;
	if (e->cache.count < e->cache_sweep_at)
		return;
	for (struct map_entry *m = map_next(&e->cache, NULL); m; m = map_next(&e->cache, m))
		if ((uintptr_t)m->value <= e->now_ms)
			map_remove(&e->cache, (struct str){ m->key, m->key_len });
	e->cache_sweep_at = MAX(e->cache.count * 2, CACHE_SWEEP_LEAST);
}

static const struct rule *match_rule(struct asking *a);

struct engine *engine_new(const struct scenario *scenario, const struct dialect *const *dialects)
{
	struct engine *e = xnew(struct engine, .scenario = scenario, .checker = checker_new(), .dialects = dialects);

	e->translation.arena = &e->scratch;
	e->rules = xcalloc(scenario->rule_count, sizeof *e->rules);
	engine_reset(e);
	return e;
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	checker_free(e->checker);
	map_release(&e->cache);
	arena_release(&e->scratch);
	buf_release(&e->text);
	buf_release(&e->translation.body);
	json_reader_release(&e->translation.reader);
	free(e->blocks);
	free(e->rules);
	free(e);
}

void engine_reset(struct engine *e)
{
	memset(&e->counters, 0, sizeof e->counters);
	memset(e->rules, 0, e->scenario->rule_count * sizeof *e->rules);
	map_release(&e->cache);
	e->counters.in_flight_max = e->in_flight;
	e->random = e->scenario->seed;
	e->rate_left = (double)e->scenario->rate_per_s;
}

/* A token bucket with the requests of one second */
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
	return (s->unknown_tools ? REQUEST_UNKNOWN_TOOLS : 0) | (s->pauses ? REQUEST_PAUSES : 0) |
	       (s->sealed ? REQUEST_SEALED : 0);
}

static struct reply *ask_message(struct engine *e, const struct engine_request *ask)
{
	struct counters *c = &e->counters;
	struct request request;
	struct err err;

	if (e->scenario->capacity && e->in_flight >= e->scenario->capacity)
		return refuse_load(e, "more requests in flight than the scenario's capacity");
	if (!rate_allows(e))
		return refuse_load(e, "more requests a second than the scenario's rate");
	if (request_check(e->checker, ask->body, check_flags(e->scenario), &request, &err) < 0)
		return refuse_request(e, &err);
	struct asking a = { .engine = e, .ask = ask, .request = &request, .number = c->requests };
	const struct rule *rule = match_rule(&a);
	struct reply *r;
	if (rule) {
		struct cache_look look = cache_find(e, &request);
		c->prefix_bytes += look.prefix_bytes;
		c->read_bytes += look.read_bytes;
		c->recent[c->recent_count++ % RECENT_REQUESTS] =
			(struct recent){ c->requests, look.prefix_bytes, look.read_bytes };
		c->answered++;
		r = answer_rule(&a, rule, &look);
	} else {
		c->unmatched++;
		r = answer_error(e, 400, NULL,
				 "no rule of the scenario wants this request: agent " STR_FMT ", turn %llu",
				 STR_ARG(ask->agent.n ? ask->agent : STR("main")), (unsigned long long)request.turn);
	}
	r->counted = true;
	e->in_flight++;
	c->in_flight_max = MAX(c->in_flight_max, e->in_flight);
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
	json_putf(w,
		  "{type:'model', id:'%s', display_name:'%s', created_at:'2026-01-01T00:00:00Z', "
		  "max_input_tokens:1000000, max_tokens:128000}",
		  id, id);
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
		return answer_error(e, 404, NULL, "no such model: " STR_FMT, STR_ARG(id));
	json_putf(&w, "{data:[");
	for (size_t i = 0; i < COUNT_OF(models); i++)
		put_model(&w, models[i]);
	json_putf(&w, "], has_more:false, first_id:'%s', last_id:'%s'}", models[0], models[COUNT_OF(models) - 1]);
	return answer_json(e, buf_str(&body));
}

static struct reply *ask_path(struct engine *e, const struct engine_request *ask)
{
	const struct str models = STR("/v1/models");
	struct str rest = ask->path;
	struct str path = str_cut(&rest, '?');
	struct engine_request translated = *ask; /* as a request of the Messages API */
	struct err err;

	if (str_is(path, "/v1/messages") || str_is(path, "/anthropic/v1/messages") ||
	    str_ends(path, STR("/invoke/v1/messages")))
		return ask_message(e, ask);
	for (const struct dialect *const *d = e->dialects; d && *d; d++) {
		if (!(*d)->takes(path))
			continue;
		e->dialect = *d;
		buf_clear(&e->translation.body);
		if ((*d)->request(&e->translation, path, ask->body, &err) < 0)
			return refuse_request(e, &err);
		translated.body = buf_str(&e->translation.body);
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

static const struct dialect messages; /* all as it is */

struct reply *engine_ask(struct engine *e, const struct engine_request *ask)
{
	e->given++;
	e->counters.requests++;
	e->counters.bytes_in += ask->body.n;
	e->now_ms = MAX(e->now_ms, ask->now_ms);
	e->dialect = &messages;
	e->translation.wants_usage = false;
	struct reply *r = ask_path(e, ask);
	arena_reset(&e->scratch);
	if (e->text.cap > KEEP_SCRATCH_BYTES)
		buf_release(&e->text);
	if (e->translation.body.cap > KEEP_SCRATCH_BYTES)
		buf_release(&e->translation.body);
	return r;
}

/* Conditions on the request come first; nth, every and chance count only the requests for which those hold. */

static bool any_has(struct texts texts, struct str part)
{
	for (size_t i = 0; i < texts.n; i++)
		if (str_has(texts.items[i], part))
			return true;
	return false;
}

static bool condition_holds(const struct asking *a, const struct condition *c)
{
	struct arena *arena = &a->engine->scratch;
	struct str agent = a->ask->agent.n ? a->ask->agent : STR("main");

	switch (c->kind) {
	case CONDITION_AGENT:
		return str_eq(agent, c->text);
	case CONDITION_MODEL:
		return str_eq(a->request->model, c->text);
	case CONDITION_TURN:
		return a->request->turn >= c->range.from && a->request->turn <= c->range.to;
	case CONDITION_CONTAINS:
		return any_has(request_texts(a->request, c->source, arena), c->text);
	case CONDITION_LACKS:
		return !any_has(request_texts(a->request, c->source, arena), c->text);
	}
	return false;
}

static bool take_capture(struct asking *a, const struct capture *c)
{
	struct arena *arena = &a->engine->scratch;
	struct texts texts = request_texts(a->request, c->source, arena);

	for (size_t i = 0; i < texts.n; i++) {
		struct str text = texts.items[i];
		const char *hit = c->mark.n ? memmem(text.p, text.n, c->mark.p, c->mark.n) : text.p;
		if (!hit)
			continue;
		struct str value = { hit + c->mark.n, 0 };
		const char *end = text.p + text.n;
		while (value.p < end && (value.p[0] == ' ' || value.p[0] == '\t'))
			value.p++;
		size_t left = (size_t)(end - value.p);
		if (c->end == CAPTURE_UNTIL) {
			const char *stop = left ? memmem(value.p, left, c->until.p, c->until.n) : NULL;
			value.n = stop ? (size_t)(stop - value.p) : left;
		} else {
			const char *stops = c->end == CAPTURE_LINE ? "\n" : "\n \t";
			while (value.n < left && !char_in(value.p[value.n], stops))
				value.n++;
		}
		struct captured *captured = arena_alloc(arena, sizeof *captured);
		*captured = (struct captured){ .next = a->captured, .capture = c, .text = value };
		a->captured = captured;
		return true;
	}
	return false;
}

static bool rule_matches(struct asking *a, const struct rule *rule)
{
	a->captured = NULL;
	for (const struct condition *c = rule->conditions; c; c = c->next)
		if (!condition_holds(a, c))
			return false;
	for (const struct capture *c = rule->captures; c; c = c->next)
		if (!take_capture(a, c))
			return false;
	a->n = ++a->engine->rules[rule->index].seen;
	if (rule->nth.from && (a->n < rule->nth.from || a->n > rule->nth.to))
		return false;
	if (rule->every && a->n % rule->every)
		return false;
	return rule->chance < 0 || (double)(digest_random(&a->engine->random) >> 11) * 0x1p-53 < rule->chance;
}

/* NULL: no rule matches. Sets n and captured. */
static const struct rule *match_rule(struct asking *a)
{
	const struct rule *rule = a->engine->scenario->rules;

	while (rule && !rule_matches(a, rule))
		rule = rule->next;
	if (rule)
		a->engine->rules[rule->index].matched++;
	return rule;
}

void engine_stats(const struct engine *e, struct buf *out_json)
{
	const struct counters *c = &e->counters;
	struct json_out w = json_out(out_json);

	json_putf(&w,
		  "{requests:%lld, answered:%lld, invalid:%lld, limited:%lld, unmatched:%lld, "
		  "in_flight:%lld, in_flight_max:%lld, bytes_in:%lld, bytes_out:%lld, last_invalid:'%s'",
		  (long long)c->requests, (long long)c->answered, (long long)c->invalid, (long long)c->limited,
		  (long long)c->unmatched, (long long)e->in_flight, (long long)c->in_flight_max, (long long)c->bytes_in,
		  (long long)c->bytes_out, c->last_invalid.kind ? c->last_invalid.text : NULL);
	uint64_t first = c->recent_count > RECENT_REQUESTS ? c->recent_count - RECENT_REQUESTS : 0;
	json_putf(&w, "cache:{prefix_bytes:%lld, read_bytes:%lld, requests:[", (long long)c->prefix_bytes,
		  (long long)c->read_bytes);
	for (uint64_t i = first; i < c->recent_count; i++) {
		const struct recent *r = &c->recent[i % RECENT_REQUESTS];
		json_putf(&w, "{request:%lld, prefix_bytes:%lld, read_bytes:%lld}", (long long)r->number,
			  (long long)r->prefix_bytes, (long long)r->read_bytes);
	}
	json_putf(&w, "]}, rules:[");
	for (const struct rule *rule = e->scenario->rules; rule; rule = rule->next)
		json_putf(&w, "{name:'%.*s', line:%lld, seen:%lld, matched:%lld}", STR_ARG(rule->name),
			  (long long)rule->line, (long long)e->rules[rule->index].seen,
			  (long long)e->rules[rule->index].matched);
	json_putf(&w, "]}");
}
