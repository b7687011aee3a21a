/* SPDX-License-Identifier: MIT
 * pattern.c - a compiled search pattern: PCRE2 with its JIT compiler where there is one, and limits on its work. */
#include "tools/search/pattern.h"
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

enum {
	MATCH_LIMIT = 2000000, /* backtracking points of one match: tens of milliseconds */
	DEPTH_LIMIT = 100000,
	HEAP_LIMIT_KB = 32 * 1024,
	JIT_STACK_MIN = 32 * 1024,
	JIT_STACK_MAX = 8 * 1024 * 1024,
	MIN_NEEDLE = 2,       /* a single character is in too many lines, */
	MIN_NEEDLE_BROAD = 1, /* but better than trying a match at every place */
};

struct matcher {
	const struct pattern *pattern;
	pcre2_match_data *data;
	pcre2_match_context *context;
	pcre2_jit_stack *stack;
};

static int compile(struct str text, uint32_t options, pcre2_code **ret_code, struct err *err)
{
	int code_error = 0;
	PCRE2_SIZE at = 0;
	pcre2_compile_context *context = pcre2_compile_context_create(NULL);

	if (!context)
		base_oom(0);
	pcre2_set_newline(context, PCRE2_NEWLINE_LF);
	pcre2_code *code = pcre2_compile((PCRE2_SPTR)text.p, text.n, options, &code_error, &at, context);
	pcre2_compile_context_free(context);
	if (!code) {
		char why[160] = "";
		pcre2_get_error_message(code_error, (PCRE2_UCHAR *)why, sizeof why);
		return err_set(err, ERR_PARSE, "regex parse error: %s", why);
	}
	(void)pcre2_jit_compile(code,
				PCRE2_JIT_COMPLETE); /* without it the interpreter matches, with the same limits */
	*ret_code = code;
	return 0;
}

static void take_needles(struct pattern *p, const struct regex *regex, bool nocase)
{
	size_t least = regex->broad ? MIN_NEEDLE_BROAD : MIN_NEEDLE;

	for (size_t i = 0; i < regex->needle_count; i++)
		if (regex->needles[i].n < least)
			return;
	for (size_t i = 0; i < regex->needle_count; i++)
		literal_init(&p->needles[i], buf_str(&regex->needles[i]), nocase);
	p->needle_count = regex->needle_count;
	p->exact = regex->exact;
}

static int compile_both(struct pattern *p, const struct regex *regex, unsigned flags, struct err *err)
{
	uint32_t options = PCRE2_MULTILINE | PCRE2_ALT_CIRCUMFLEX; /* ^ holds on an empty last line, too */

	if (flags & REGEX_NOCASE)
		options |= PCRE2_CASELESS;
	if (flags & REGEX_MULTILINE)
		options |= PCRE2_DOTALL;
	struct str text = buf_str(&regex->pcre);
	int rc = compile(text, options | PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &p->code, err);
	if (rc == 0 && regex->ascii)
		rc = compile(text, options, &p->ascii, err);
	return rc;
}

int pattern_compile(struct pattern *p, struct str text, unsigned flags, struct err *err)
{
	struct regex regex;

	*p = (struct pattern){ 0 };
	int rc = regex_translate(&regex, text, flags, err);
	if (rc == 0)
		rc = compile_both(p, &regex, flags, err);
	if (rc == 0)
		take_needles(p, &regex, flags & REGEX_NOCASE);
	p->alone = regex.alone;
	p->multiline = regex.crosses;
	regex_release(&regex);
	if (rc < 0)
		pattern_release(p);
	return rc;
}

void pattern_release(struct pattern *p)
{
	pcre2_code_free(p->code);
	pcre2_code_free(p->ascii);
	for (size_t i = 0; i < p->needle_count; i++)
		literal_release(&p->needles[i]);
	*p = (struct pattern){ 0 };
}

struct matcher *matcher_new(const struct pattern *p)
{
	struct matcher *m = xcalloc(1, sizeof *m);

	m->pattern = p;
	m->data = pcre2_match_data_create(1, NULL);
	m->context = pcre2_match_context_create(NULL);
	m->stack = pcre2_jit_stack_create(JIT_STACK_MIN, JIT_STACK_MAX, NULL); /* NULL where there is no JIT */
	if (!m->data || !m->context)
		base_oom(0);
	pcre2_set_match_limit(m->context, MATCH_LIMIT);
	pcre2_set_depth_limit(m->context, DEPTH_LIMIT);
	pcre2_set_heap_limit(m->context, HEAP_LIMIT_KB);
	pcre2_jit_stack_assign(m->context, NULL, m->stack);
	return m;
}

void matcher_free(struct matcher *m)
{
	if (!m)
		return;
	pcre2_match_data_free(m->data);
	pcre2_match_context_free(m->context);
	pcre2_jit_stack_free(m->stack);
	free(m);
}

int matcher_find(struct matcher *m, struct str text, size_t from, bool text_is_ascii, struct span *ret_match,
		 struct err *err)
{
	pcre2_code *code = text_is_ascii && m->pattern->ascii ? m->pattern->ascii : m->pattern->code;
	int rc = pcre2_match(code, (PCRE2_SPTR)text.p, text.n, from, 0, m->data, m->context);

	if (rc == PCRE2_ERROR_NOMATCH)
		return 0;
	if (rc < 0) {
		char why[120] = "";
		pcre2_get_error_message(rc, (PCRE2_UCHAR *)why, sizeof why);
		return err_set(
			err, ERR_LIMIT,
			"the pattern needs too much backtracking (%s). Write it without nested repetitions such as "
			"(a+)+, or search for a fixed text",
			why);
	}
	const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(m->data);
	*ret_match = (struct span){ ends[0], ends[1] };
	return 1;
}
