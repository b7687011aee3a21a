/* SPDX-License-Identifier: MIT
 * budget.h - spending limits in money and tokens. A budget may have a parent: reservations and spending count in both.
 *
 * Each request reserves its expected cost (its input and an answer of average length), so that concurrent requests
 * cannot all pass below the cap. The reservation is released when the request ends; budget_spend() records the real
 * cost. */
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

/* False: a limit would be exceeded, nothing is reserved. Always succeeds without a limit. */
bool budget_reserve(struct budget *b, const char *model, int64_t input_tokens, struct budget_share *ret_share);
void budget_return(struct budget_share *share); /* also when empty */
void budget_spend(struct budget *b, const char *model, const struct usage *usage);
bool budget_used_up(const struct budget *b); /* of it or its ancestors */
