/* SPDX-License-Identifier: MIT
 * id.c - random names and times as text. One getrandom() fills a pool per thread: a uuid per transcript line must not
 * cost a system call. */
#include "lib/base/id.h"
#include <sys/random.h>

static _Thread_local struct {
	unsigned char bytes[512];
	size_t left;
} pool;

static void random_bytes(void *out, size_t n)
{
	if (n > pool.left) {
		size_t have = 0;
		while (have < sizeof pool.bytes) {
			ssize_t got = getrandom(pool.bytes + have, sizeof pool.bytes - have, 0);
			if (got > 0)
				have += (size_t)got;
		}
		pool.left = sizeof pool.bytes;
	}
	pool.left -= n;
	memcpy(out, pool.bytes + pool.left, n);
}

uint64_t id_random_u64(void)
{
	uint64_t v;

	random_bytes(&v, sizeof v);
	return v;
}

void id_uuid(char out[UUID_LEN + 1])
{
	static const char hex[] = "0123456789abcdef";
	unsigned char b[16];

	random_bytes(b, sizeof b);
	b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
	b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
	char *p = out;
	for (size_t i = 0; i < sizeof b; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*p++ = '-';
		*p++ = hex[b[i] >> 4];
		*p++ = hex[b[i] & 15];
	}
	*p = '\0';
}

void id_random(char *out, size_t digits, const char *alphabet)
{
	size_t n = strlen(alphabet);

	for (size_t i = 0; i < digits; i++)
		out[i] = alphabet[id_random_u64() % n];
	out[digits] = '\0';
}

bool id_is_uuid(struct str s)
{
	if (s.n != UUID_LEN)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
		if (dash ? c != '-' : !hex)
			return false;
	}
	return true;
}

void id_iso_time(int64_t unix_ms, char out[ISO_TIME_LEN + 1])
{
	time_t seconds = (time_t)(unix_ms / 1000);
	struct tm tm;

	gmtime_r(&seconds, &tm);
	size_t n = strftime(out, ISO_TIME_LEN + 1, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out + n, ISO_TIME_LEN + 1 - n, ".%03dZ", (int)(unix_ms % 1000));
}

bool id_parse_time(const char *text, int64_t *ret_ms)
{
	struct tm tm = { 0 };
	const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;

	if (!end)
		return false;
	*ret_ms = (int64_t)timegm(&tm) * 1000;
	if (*end == '.')
		for (int64_t unit = 100; unit && *++end >= '0' && *end <= '9'; unit /= 10)
			*ret_ms += unit * (*end - '0');
	while (*end >= '0' && *end <= '9')
		end++;
	if ((*end == '+' || *end == '-') && strptime(end, "%z", &tm))
		*ret_ms -= (int64_t)tm.tm_gmtoff * 1000;
	return true;
}

uint64_t clock_ms(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}
