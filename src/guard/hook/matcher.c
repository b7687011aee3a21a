/* SPDX-License-Identifier: MIT
 * matcher.c - names, lists of names, and regular expressions through PCRE2 with the options that make it read
 * JavaScript's dialect. */
#include "guard/hook/matcher.h"
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum {
	MATCH_LIMIT = 200000, /* backtracking points: a few milliseconds, once */
	DEPTH_LIMIT = 10000,
	HEAP_LIMIT_KB = 1024,
	TEXT_LIMIT = 4096, /* bytes of a matcher */
};

static const uint32_t javascript = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_ALT_BSUX | PCRE2_ALLOW_EMPTY_CLASS |
				   PCRE2_MATCH_UNSET_BACKREF | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C;

static void matcher_split_names(struct hook_matcher *m, struct arena *arena, struct str text)
{
	struct str copy = arena_str(arena, text);
	size_t most = 1;

	for (size_t i = 0; i < copy.n; i++)
		most += copy.p[i] == '|' || copy.p[i] == ',';
	m->names = arena_alloc(arena, most * sizeof *m->names);
	while (copy.p) {
		struct str part = str_cut(&copy, '|');
		while (part.p) {
			struct str name = str_trim(str_cut(&part, ','));
			if (name.n)
				m->names[m->name_count++] = name;
		}
	}
}

static int matcher_compile(struct hook_matcher *m, struct str text, struct err *err)
{
	int code_error = 0;
	PCRE2_SIZE at = 0;

	if (text.n > TEXT_LIMIT)
		return err_set(err, ERR_PARSE, "more than %d bytes", TEXT_LIMIT);
	m->code = pcre2_compile((PCRE2_SPTR)text.p, text.n, javascript, &code_error, &at, NULL);
	if (!m->code) {
		char why[160] = "";
		pcre2_get_error_message(code_error, (PCRE2_UCHAR *)why, sizeof why);
		return err_set(err, ERR_PARSE, "%s at character %zu", why, at);
	}
	m->scratch = pcre2_match_data_create(1, NULL);
	m->limits = pcre2_match_context_create(NULL);
	if (!m->scratch || !m->limits)
		base_oom(0);
	pcre2_set_match_limit(m->limits, MATCH_LIMIT);
	pcre2_set_depth_limit(m->limits, DEPTH_LIMIT);
	pcre2_set_heap_limit(m->limits, HEAP_LIMIT_KB);
	return 0;
}

int hook_matcher_init(struct hook_matcher *m, struct arena *arena, struct str text, bool narrow, struct err *err)
{
	*m = (struct hook_matcher){ 0 };
	if (!text.n || str_is(text, "*")) {
		m->all = true;
		return 0;
	}
	for (size_t i = 0; i < text.n; i++)
		if (!hook_is_word_char(text.p[i]) && !char_in(text.p[i], narrow ? "|" : "|- ,"))
			return matcher_compile(m, text, err);
	matcher_split_names(m, arena, text);
	return 0;
}

void hook_matcher_release(struct hook_matcher *m)
{
	pcre2_code_free(m->code);
	pcre2_match_data_free(m->scratch);
	pcre2_match_context_free(m->limits);
	*m = (struct hook_matcher){ 0 };
}

bool hook_matcher_fits(const struct hook_matcher *m, struct str subject)
{
	if (m->all)
		return true;
	for (size_t i = 0; i < m->name_count; i++)
		if (str_eq(m->names[i], subject))
			return true;
	if (!m->code)
		return false;
	PCRE2_SPTR text = (PCRE2_SPTR)(subject.n ? subject.p : "");
	return pcre2_match(m->code, text, subject.n, 0, 0, m->scratch, m->limits) != PCRE2_ERROR_NOMATCH;
}
