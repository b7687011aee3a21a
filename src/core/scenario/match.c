/* SPDX-License-Identifier: MIT
 * match.c - which rule wants a request. Conditions on the request come first; nth, every and chance count only the
 * requests for which those hold. */
#include "core/scenario/engine_int.h"

static bool any_has(struct texts texts, struct str part)
{
	for (size_t i = 0; i < texts.n; i++)
		if (str_has(texts.items[i], part))
			return true;
	return false;
}

static bool in_range(const struct range *r, uint64_t value)
{
	return value >= r->from && value <= r->to;
}

static bool holds(const struct asking *a, const struct condition *c)
{
	struct arena *arena = &a->engine->scratch;
	struct str agent = a->ask->agent.n ? a->ask->agent : STR("main");

	switch (c->kind) {
	case CONDITION_AGENT:
		return str_eq(agent, c->text);
	case CONDITION_MODEL:
		return str_eq(a->request->model, c->text);
	case CONDITION_TURN:
		return in_range(&c->range, a->request->turn);
	case CONDITION_CONTAINS:
		return any_has(request_texts(a->request, c->source, arena), c->text);
	case CONDITION_LACKS:
		return !any_has(request_texts(a->request, c->source, arena), c->text);
	}
	return false;
}

static size_t value_len(const struct capture *c, struct str s)
{
	size_t n = 0;

	if (c->end == CAPTURE_UNTIL) {
		const char *end = s.n ? memmem(s.p, s.n, c->until.p, c->until.n) : NULL;
		return end ? (size_t)(end - s.p) : s.n;
	}
	while (n < s.n && s.p[n] != '\n' && (c->end == CAPTURE_LINE || (s.p[n] != ' ' && s.p[n] != '\t')))
		n++;
	return n;
}

static bool find_value(const struct capture *c, struct str text, struct str *ret)
{
	const char *hit = c->mark.n ? memmem(text.p, text.n, c->mark.p, c->mark.n) : text.p;

	if (!hit)
		return false;
	struct str rest = { hit + c->mark.n, text.n - (size_t)(hit - text.p) - c->mark.n };
	while (rest.n && (rest.p[0] == ' ' || rest.p[0] == '\t')) {
		rest.p++;
		rest.n--;
	}
	*ret = (struct str){ rest.p, value_len(c, rest) };
	return true;
}

static bool take_capture(struct asking *a, const struct capture *c)
{
	struct arena *arena = &a->engine->scratch;
	struct texts texts = request_texts(a->request, c->source, arena);
	struct str value;

	for (size_t i = 0; i < texts.n; i++) {
		if (!find_value(c, texts.items[i], &value))
			continue;
		struct captured *captured = arena_alloc(arena, sizeof *captured);
		*captured = (struct captured){ .next = a->captured, .capture = c, .text = value };
		a->captured = captured;
		return true;
	}
	return false;
}

static bool wants(struct asking *a, const struct rule *rule)
{
	a->captured = NULL;
	for (const struct condition *c = rule->conditions; c; c = c->next)
		if (!holds(a, c))
			return false;
	for (const struct capture *c = rule->captures; c; c = c->next)
		if (!take_capture(a, c))
			return false;
	a->n = ++a->engine->rules[rule->index].seen;
	if (rule->nth.from && !in_range(&rule->nth, a->n))
		return false;
	if (rule->every && a->n % rule->every)
		return false;
	return rule->chance < 0 || (double)(digest_random(&a->engine->random) >> 11) * 0x1p-53 < rule->chance;
}

const struct rule *match_rule(struct asking *a)
{
	const struct rule *rule = a->engine->scenario->rules;

	while (rule && !wants(a, rule))
		rule = rule->next;
	if (rule)
		a->engine->rules[rule->index].matched++;
	return rule;
}
