/* SPDX-License-Identifier: MIT
 * str.h - a borrowed string slice: pointer and length, not NUL-terminated, never owned. */
#pragma once
#include "lib/base/base.h"

struct str {
	const char *p;
	size_t n;
};

#define STR(lit)   ((struct str){ "" lit, sizeof(lit) - 1 })
#define STR_FMT    "%.*s"
#define STR_ARG(s) (int)(s).n, (s).p

static inline struct str str_from(const char *s)
{
	return (struct str){ s, s ? strlen(s) : 0 };
}
static inline struct str str_tail(struct str s, size_t n) /* without the first n bytes, which it must have */
{
	return (struct str){ s.p + n, s.n - n };
}
static inline struct str str_between(const char *from, const char *to)
{
	return (struct str){ from, (size_t)(to - from) };
}
static inline bool str_eq(struct str a, struct str b)
{
	return a.n == b.n && (!a.n || !memcmp(a.p, b.p, a.n));
}
static inline bool str_is(struct str a, const char *lit)
{
	return str_eq(a, str_from(lit));
}
/* Where a set has c, or NULL. strchr() would find the NUL at its end: src calls it with a constant only (tests/source.py). */
static inline const char *char_find(char c, const char *set)
{
	return c ? strchr(set, c) : NULL;
}
static inline bool char_in(char c, const char *set)
{
	return char_find(c, set);
}

/* ASCII letters and digits, in every locale */
static inline bool char_is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static inline bool str_is_nocase(struct str a, const char *lit)
{
	return a.n == strlen(lit) && !strncasecmp(a.p, lit, a.n);
}

static inline bool str_starts(struct str s, struct str prefix)
{
	return s.n >= prefix.n && !memcmp(s.p, prefix.p, prefix.n);
}

static inline bool str_ends(struct str s, struct str suffix)
{
	return s.n >= suffix.n && !memcmp(s.p + s.n - suffix.n, suffix.p, suffix.n);
}

static inline bool str_has(struct str s, struct str part)
{
	return part.n == 0 || (s.n >= part.n && memmem(s.p, s.n, part.p, part.n));
}

bool str_is_name(struct str s, const char *more); /* not empty; ASCII letters, digits and these characters only */
void hex_encode(const unsigned char *bytes, size_t n, char *out); /* 2 * n digits in lower case, and a zero */
bool str_is_hex(struct str s);                                    /* lower-case hexadecimal digits only */
/* A list such as "a|b|c"; none of its members is empty. */
bool str_is_one_of(struct str s, const char *list);
bool str_fits_one_of(struct str s, const char *list); /* a member that ends with '*' stands for all that begin so */
bool str_is_one_of_nocase(struct str s, const char *list);
bool str_starts_with_one_of(struct str s, const char *list);

/* A switch of the environment or the settings is on with anything but NULL, "", 0, false, no and off, in any case. */
bool env_is_on(const char *value);

struct str str_trim(struct str s);         /* spaces, tabs, CR, LF on both ends */
struct str str_cut_word(struct str *rest); /* the first word between those; *rest is what follows, trimmed */

/* Splits *rest at the first c: returns the part before it and leaves the part after it in *rest. Without a c it returns
 * all, and *rest has p == NULL, which ends a loop: while (rest.p) { struct str part = str_cut(&rest, ','); ... } */
struct str str_cut(struct str *rest, char c);

/* Changes of one letter, and swaps of two neighbours, that lead from a to b. SIZE_MAX: one is longer than 64 bytes. */
size_t str_distance(struct str a, struct str b);
/* For qsort() of a list of texts. */
static inline int str_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}
size_t str_count(const char *const *list);                      /* of a list that ends with NULL; NULL: none */
const char *env_get(const char *const *envp, const char *name); /* envp NULL: of the process; NULL: not there */

/* Parse the whole text as a number: false on anything but digits (and one sign for int64) or overflow. */
bool str_to_u64(struct str s, uint64_t *ret_value);
bool str_to_i64(struct str s, int64_t *ret_value);
/* "0.5", "2e3": independent of the locale. False for anything else, and if it is not finite. */
bool str_to_double(struct str s, double *ret_value);

uint64_t str_hash(struct str s); /* for tables of this process: not for security, not for files */
