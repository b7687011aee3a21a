/* SPDX-License-Identifier: MIT
 * budget.h - what agents may spend, in money and in tokens. A budget may be a part of another one: what is reserved and
 * spent counts in both.
 *
 * Each request reserves what it will cost at least, its input and an answer as long as the average so far, so that many
 * requests at a time cannot all slip below the cap. What is reserved is given back when the request is over; what it cost
 * is spent by budget_spend() whether or not it was foreseen. */
#pragma once
#include "core/message/usage.h"

struct budget {
	struct budget *parent; /* borrowed; NULL: none */
	double limit_usd;      /* 0: no limit */
	int64_t limit_tokens;  /* input and output together, cached ones too; 0: no limit */
	double spent_usd, reserved_usd;
	int64_t spent_tokens, reserved_tokens;
	int64_t output_tokens, answers; /* for the average */
};

struct budget_share {
	struct budget *budget; /* NULL: nothing is reserved */
	double usd;
	int64_t tokens;
};

/* False: a limit would be exceeded, nothing is reserved. Without any limit it always succeeds. */
bool budget_reserve(struct budget *b, const char *model, int64_t input_tokens, struct budget_share *ret_share);
void budget_return(struct budget_share *share); /* also when empty */
void budget_spend(struct budget *b, const char *model, const struct usage *usage);
bool budget_used_up(const struct budget *b); /* of it or of those that it is a part of */
