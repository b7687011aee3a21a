/* SPDX-License-Identifier: MIT
 * version.c - compares versions and fits them into ranges. */
#include "defs/plugin/plugin.h"

enum { PARTS = 3, LONGEST = 256 };

struct version {
	uint64_t part[PARTS];
	unsigned given; /* how many of them are numbers: 1.x has one */
	struct str pre; /* behind '-', without "+build" */
};

static struct str cut_tail(struct str *s, char c)
{
	const char *at = s->n ? memchr(s->p, c, s->n) : NULL;
	struct str tail = at ? (struct str){ at + 1, s->n - (size_t)(at - s->p) - 1 } : (struct str){ NULL, 0 };

	if (at)
		s->n = (size_t)(at - s->p);
	return tail;
}

/* Also what is not complete: "1", "1.x". */
static bool read_version(struct str s, struct version *ret)
{
	struct version v = { 0 };

	if (s.n > LONGEST)
		return false;
	if (s.n && (s.p[0] == 'v' || s.p[0] == 'V'))
		s = str_tail(s, 1);
	struct str build = cut_tail(&s, '+');
	v.pre = cut_tail(&s, '-');
	if ((build.p && !str_is_name(build, "-.")) || (v.pre.p && !str_is_name(v.pre, "-.")))
		return false;
	unsigned n = 0;
	for (bool any = false; s.p; n++) {
		struct str part = str_cut(&s, '.');
		if (n == PARTS)
			return false;
		any = any || str_is_one_of(part, "x|X|*");
		if (!str_is_one_of(part, "x|X|*") && !str_to_u64(part, &v.part[n]))
			return false;
		v.given += !any;
	}
	if (v.pre.p && v.given < PARTS)
		return false;
	*ret = v;
	return true;
}

/* A release comes after its pre-releases. */
static int compare_tags(struct str a, struct str b)
{
	if (!a.p || !b.p)
		return (b.p != NULL) - (a.p != NULL);
	while (a.p && b.p) {
		struct str x = str_cut(&a, '.');
		struct str y = str_cut(&b, '.');
		uint64_t x_number = 0;
		uint64_t y_number = 0;
		bool x_is_number = str_to_u64(x, &x_number);
		bool y_is_number = str_to_u64(y, &y_number);
		int order = y_is_number - x_is_number; /* numbers come first */
		if (!order && x_is_number)
			order = (x_number > y_number) - (x_number < y_number);
		else if (!order)
			order = memcmp(x.p, y.p, MIN(x.n, y.n));
		if (!order && !x_is_number)
			order = (x.n > y.n) - (x.n < y.n);
		if (order)
			return order;
	}
	return (a.p != NULL) - (b.p != NULL);
}

static int compare_versions(const struct version *a, const struct version *b)
{
	for (int i = 0; i < PARTS; i++)
		if (a->part[i] != b->part[i])
			return (a->part[i] > b->part[i]) - (a->part[i] < b->part[i]);
	return compare_tags(a->pre, b->pre);
}

/* The first version behind all that begin with the first n parts of v. */
static struct version next_after(const struct version *v, unsigned n)
{
	struct version next = { .given = PARTS };

	for (unsigned i = 0; i < n; i++)
		next.part[i] = v->part[i] + (i + 1 == n);
	return next;
}

enum operator{ OP_EQUAL, OP_CARET, OP_TILDE, OP_FROM, OP_ABOVE, OP_UP_TO, OP_BELOW };

static enum operator cut_operator(struct str *s)
{
	static const struct {
		const char *text;
		enum operator op;
	} table[] = { { ">=", OP_FROM }, { "<=", OP_UP_TO }, { ">", OP_ABOVE }, { "<", OP_BELOW },
		      { "^", OP_CARET }, { "~>", OP_TILDE }, { "~", OP_TILDE }, { "=", OP_EQUAL } };

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct str text = str_from(table[i].text);
		if (!str_starts(*s, text))
			continue;
		*s = str_trim((struct str){ s->p + text.n, s->n - text.n });
		return table[i].op;
	}
	return OP_EQUAL;
}

static bool fits_comparison(const struct version *v, enum operator op, const struct version *limit)
{
	bool full = limit->given == PARTS;
	int order = compare_versions(v, limit);
	struct version end = next_after(limit, limit->given);
	unsigned kept = limit->given;

	if (!limit->given)
		return op != OP_ABOVE && op != OP_BELOW;
	switch (op) {
	case OP_FROM:
		return order >= 0;
	case OP_BELOW:
		return order < 0;
	case OP_ABOVE:
		return full ? order > 0 : compare_versions(v, &end) >= 0;
	case OP_UP_TO:
		return full ? order <= 0 : compare_versions(v, &end) < 0;
	case OP_EQUAL:
		if (full)
			return order == 0;
		break;
	case OP_TILDE: /* keeps the first two parts */
		end = next_after(limit, MIN(kept, 2U));
		break;
	case OP_CARET: /* keeps the first part that is not 0 */
		for (unsigned i = limit->given; i-- > 0;)
			if (limit->part[i])
				kept = i + 1;
		end = next_after(limit, kept);
		break;
	}
	return order >= 0 && compare_versions(v, &end) < 0;
}

/* A range is checked and applied by one walk. */
struct check {
	const struct version *version; /* NULL: the form alone is checked */
	bool bad, fits;
	bool pre_allowed; /* a comparison names something before the same release */
};

static void check_comparison(struct check *c, enum operator op, struct str text)
{
	struct version limit;

	if (!read_version(text, &limit)) {
		c->bad = true;
		return;
	}
	if (!c->version)
		return;
	c->fits = c->fits && fits_comparison(c->version, op, &limit);
	c->pre_allowed = c->pre_allowed || (limit.pre.p && !memcmp(limit.part, c->version->part, sizeof limit.part));
}

static void check_part(struct check *c, struct str part)
{
	c->fits = true;
	c->pre_allowed = false;
	while (part.n) {
		struct str word = str_cut_word(&part);
		enum operator op = cut_operator(&word);
		if (!word.n)
			word = str_cut_word(&part); /* ">= 1.2" */
		if (op == OP_EQUAL && str_starts(part, STR("- "))) {
			check_comparison(c, OP_FROM, word);
			(void)str_cut_word(&part);
			word = str_cut_word(&part);
			op = OP_UP_TO;
		}
		check_comparison(c, op, word);
	}
	if (c->version && c->version->pre.p && !c->pre_allowed)
		c->fits = false;
}

static bool walk_range(struct str range, struct check *c)
{
	bool any = false;

	if (range.n > LONGEST)
		return false;
	while (range.p) {
		struct str part = str_cut(&range, '|');
		if (range.p && (!range.n || range.p[0] != '|'))
			return false;
		if (range.p)
			range = str_tail(range, 1);
		check_part(c, str_trim(part));
		if (c->bad)
			return false;
		any = any || c->fits;
	}
	c->fits = any;
	return true;
}

bool version_range_is_good(struct str range)
{
	struct check c = { 0 };

	return walk_range(range, &c);
}

bool version_fits(struct str version, struct str range)
{
	struct version v;
	struct check c = { .version = &v };

	range = str_trim(range);
	if (!range.n || str_is_one_of(range, "x|X|*"))
		return true;
	if (!read_version(version, &v) || v.given < PARTS)
		return false;
	return walk_range(range, &c) && c.fits;
}
