/* SPDX-License-Identifier: MIT
 * id.h - random names and times as text. */
#pragma once
#include <time.h>
#include "lib/base/str.h"

enum { UUID_LEN = 36, ISO_TIME_LEN = 24, AGENT_ID_LEN = 17 };

void id_uuid(char out[UUID_LEN + 1]);                           /* version 4, lower case */
void id_random(char *out, size_t digits, const char *alphabet); /* NUL-terminated */
bool id_is_uuid(struct str s);
/* a and 16 hexadecimal digits */
static inline void id_agent(char out[AGENT_ID_LEN + 1])
{
	out[0] = 'a';
	id_random(out + 1, AGENT_ID_LEN - 1, "0123456789abcdef");
}

static inline bool id_is_agent(struct str s)
{
	return s.n == AGENT_ID_LEN && s.p[0] == 'a' && str_is_hex(s);
}

uint64_t id_random_u64(void);

void id_iso_time(int64_t unix_ms, char out[ISO_TIME_LEN + 1]); /* 2026-11-15T20:21:00.123Z */
bool id_parse_time(const char *text,
		   int64_t *ret_ms); /* the same, also without milliseconds or with an offset; NULL is none */
struct iso_time {
	char text[ISO_TIME_LEN + 1];
};
uint64_t clock_ms(clockid_t clock);
static inline int64_t id_wall_ms(void)
{
	return (int64_t)clock_ms(CLOCK_REALTIME);
}
static inline struct iso_time id_iso_now(void) /* id_iso_now().text holds until the end of the expression */
{
	struct iso_time now;

	id_iso_time(id_wall_ms(), now.text);
	return now;
}
