/* SPDX-License-Identifier: MIT
 * engine_stats.c - what an engine has counted, as JSON. */
#include "lib/json/json_write.h"
#include "core/scenario/engine_int.h"

static void put_cache(struct json_out *w, const struct counters *c)
{
	uint64_t first = c->recent_count > RECENT_REQUESTS ? c->recent_count - RECENT_REQUESTS : 0;

	json_key(w, "cache");
	json_open(w, '{');
	json_ki64(w, "prefix_bytes", (int64_t)c->prefix_bytes);
	json_ki64(w, "read_bytes", (int64_t)c->read_bytes);
	json_key(w, "requests");
	json_open(w, '[');
	for (uint64_t i = first; i < c->recent_count; i++) {
		const struct recent *r = &c->recent[i % RECENT_REQUESTS];
		json_open(w, '{');
		json_ki64(w, "request", (int64_t)r->number);
		json_ki64(w, "prefix_bytes", (int64_t)r->prefix_bytes);
		json_ki64(w, "read_bytes", (int64_t)r->read_bytes);
		json_close(w);
	}
	json_close(w);
	json_close(w);
}

static void put_rules(struct json_out *w, const struct engine *e)
{
	json_key(w, "rules");
	json_open(w, '[');
	for (const struct rule *rule = e->scenario->rules; rule; rule = rule->next) {
		json_open(w, '{');
		json_kstr(w, "name", rule->name);
		json_ki64(w, "line", rule->line);
		json_ki64(w, "seen", (int64_t)e->rules[rule->index].seen);
		json_ki64(w, "matched", (int64_t)e->rules[rule->index].matched);
		json_close(w);
	}
	json_close(w);
}

void engine_stats(const struct engine *e, struct buf *out_json)
{
	const struct counters *c = &e->counters;
	struct json_out w = json_out(out_json);

	json_open(&w, '{');
	json_ki64(&w, "requests", (int64_t)c->requests);
	json_ki64(&w, "answered", (int64_t)c->answered);
	json_ki64(&w, "invalid", (int64_t)c->invalid);
	json_ki64(&w, "limited", (int64_t)c->limited);
	json_ki64(&w, "unmatched", (int64_t)c->unmatched);
	json_ki64(&w, "in_flight", (int64_t)e->in_flight);
	json_ki64(&w, "in_flight_max", (int64_t)c->in_flight_max);
	json_ki64(&w, "bytes_in", (int64_t)c->bytes_in);
	json_ki64(&w, "bytes_out", (int64_t)c->bytes_out);
	json_kcstr(&w, "last_invalid", c->last_invalid.kind ? c->last_invalid.text : NULL);
	put_cache(&w, c);
	put_rules(&w, e);
	json_close(&w);
}
