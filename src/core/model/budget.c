/* SPDX-License-Identifier: MIT
 * budget.c - reservations and spending. */
#include "core/model/governor.h"
#include "core/model/catalog.h"

enum { FIRST_GUESS_TOKENS = 500 }; /* length of an answer before there was one */

bool budget_reserve(struct budget *b, const char *model, int64_t input_tokens, struct budget_share *ret_share)
{
	struct usage guess = { .input = input_tokens,
			       .output = b->answers ? b->output_tokens / b->answers : FIRST_GUESS_TOKENS };
	struct budget_share share = { b, model_cost_usd(model, &guess), guess.input + guess.output };

	for (const struct budget *at = b; at; at = at->parent)
		if ((at->limit_usd > 0 && at->spent_usd + at->reserved_usd + share.usd > at->limit_usd) ||
		    (at->limit_tokens && at->spent_tokens + at->reserved_tokens + share.tokens > at->limit_tokens))
			return false;
	for (struct budget *at = b; at; at = at->parent) {
		at->reserved_usd += share.usd;
		at->reserved_tokens += share.tokens;
	}
	*ret_share = share;
	return true;
}

void budget_return(struct budget_share *share)
{
	for (struct budget *at = share->budget; at; at = at->parent) {
		at->reserved_usd -= share->usd;
		at->reserved_tokens -= share->tokens;
	}
	*share = (struct budget_share){ 0 };
}

void budget_spend(struct budget *b, const char *model, const struct usage *usage)
{
	double usd = model_cost_usd(model, usage);
	int64_t tokens = usage->input + usage->cache_read + usage->cache_write + usage->output;

	for (struct budget *at = b; at; at = at->parent) {
		at->spent_usd += usd;
		at->spent_tokens += tokens;
		at->output_tokens += usage->output;
		at->answers++;
	}
}

bool budget_used_up(const struct budget *b)
{
	for (; b; b = b->parent)
		if ((b->limit_usd > 0 && b->spent_usd >= b->limit_usd) ||
		    (b->limit_tokens && b->spent_tokens >= b->limit_tokens))
			return true;
	return false;
}
