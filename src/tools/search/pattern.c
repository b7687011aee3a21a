/* SPDX-License-Identifier: MIT
 * pattern.c - a compiled search pattern: PCRE2 with its JIT compiler where there is one, and limits on its work. */
#include "tools/search/pattern.h"

/* Fast search for a fixed text: two of its bytes, the rarest ones, are compared at 16 or 32 places at once,
 * and only where both are there the whole text is. On machines without SSE2 the C library does the work. */

#ifdef __SSE2__
#include <immintrin.h>
#include <sys/platform/x86.h>
#endif

/* The commonest bytes of source text, commonest first; what is not here is rarer. */
static const char common[] = " etaonirslcdpumfh\tg\n_y,bvwk()-.x;=\"01/>TSE*2:ACIRN'OPLDqj{}Mz3<FB4$U5";

static unsigned rarity(char c)
{
	const char *at = char_find(c, common);

	return at ? (unsigned)(at - common) : (unsigned)sizeof common;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* Text is copied, not empty */
static void literal_init(struct literal *l, struct str text, bool nocase)
{
	*l = (struct literal){ .text = xstrndup(text.p, text.n), .n = text.n, .nocase = nocase };
#ifdef __SSE2__
	/* __builtin_cpu_supports() costs each start of the program 70 us in a virtual machine, which emulates CPUID. */
	l->avx2 = CPU_FEATURE_ACTIVE(AVX2);
#endif
	for (size_t i = 0; nocase && i < l->n; i++)
		l->text[i] = lower(l->text[i]);
	for (size_t i = 1; i < l->n; i++)
		if (rarity(l->text[i]) > rarity(l->text[l->rare]))
			l->rare = i;
	l->rare2 = l->rare ? 0 : l->n - 1;
	for (size_t i = 0; i < l->n; i++)
		if (i != l->rare && rarity(l->text[i]) > rarity(l->text[l->rare2]))
			l->rare2 = i;
}

static bool is_here(const struct literal *l, const char *p)
{
	if (!l->nocase)
		return !memcmp(p, l->text, l->n);
	for (size_t i = 0; i < l->n; i++)
		if (lower(p[i]) != l->text[i])
			return false;
	return true;
}

static const char *find_slowly(const struct literal *l, const char *p, size_t n)
{
	if (!l->nocase)
		return n ? memmem(p, n, l->text, l->n) : NULL;
	for (size_t at = 0; at + l->n <= n; at++)
		if (is_here(l, p + at))
			return p + at;
	return NULL;
}

#ifdef __SSE2__
/* Letters are compared with bit 5 set; that lets some other bytes pass, which is_here() then refuses. */
static char case_bit(const struct literal *l, size_t at)
{
	return l->nocase && l->text[at] >= 'a' && l->text[at] <= 'z' ? 0x20 : 0;
}

/* Both return the place of the text, or NULL and in *at how far they came. */
static const char *find_sse2(const struct literal *l, const char *p, size_t n, size_t *at)
{
	const __m128i want1 = _mm_set1_epi8(l->text[l->rare]);
	const __m128i want2 = _mm_set1_epi8(l->text[l->rare2]);
	const __m128i fold1 = _mm_set1_epi8(case_bit(l, l->rare));
	const __m128i fold2 = _mm_set1_epi8(case_bit(l, l->rare2));

	for (; *at + l->n + 15 <= n; *at += 16) {
		const char *here = p + *at;
		__m128i have1 = _mm_loadu_si128((const __m128i *)(const void *)(here + l->rare));
		__m128i have2 = _mm_loadu_si128((const __m128i *)(const void *)(here + l->rare2));
		__m128i same = _mm_and_si128(_mm_cmpeq_epi8(_mm_or_si128(have1, fold1), want1),
					     _mm_cmpeq_epi8(_mm_or_si128(have2, fold2), want2));
		for (unsigned bits = (unsigned)_mm_movemask_epi8(same); bits; bits &= bits - 1)
			if (is_here(l, here + __builtin_ctz(bits)))
				return here + __builtin_ctz(bits);
	}
	return NULL;
}

__attribute__((target("avx2"))) static const char *find_avx2(const struct literal *l, const char *p, size_t n,
							     size_t *at)
{
	const __m256i want1 = _mm256_set1_epi8(l->text[l->rare]);
	const __m256i want2 = _mm256_set1_epi8(l->text[l->rare2]);
	const __m256i fold1 = _mm256_set1_epi8(case_bit(l, l->rare));
	const __m256i fold2 = _mm256_set1_epi8(case_bit(l, l->rare2));

	for (; *at + l->n + 31 <= n; *at += 32) {
		const char *here = p + *at;
		__m256i have1 = _mm256_loadu_si256((const __m256i *)(const void *)(here + l->rare));
		__m256i have2 = _mm256_loadu_si256((const __m256i *)(const void *)(here + l->rare2));
		__m256i same = _mm256_and_si256(_mm256_cmpeq_epi8(_mm256_or_si256(have1, fold1), want1),
						_mm256_cmpeq_epi8(_mm256_or_si256(have2, fold2), want2));
		for (unsigned bits = (unsigned)_mm256_movemask_epi8(same); bits; bits &= bits - 1)
			if (is_here(l, here + __builtin_ctz(bits)))
				return here + __builtin_ctz(bits);
	}
	return NULL;
}

const char *literal_find(const struct literal *l, const char *p, size_t n)
{
	size_t at = 0;
	const char *hit = l->avx2 ? find_avx2(l, p, n, &at) : NULL;

	if (!hit)
		hit = find_sse2(l, p, n, &at);
	return hit || n < l->n ? hit : find_slowly(l, p + at, n - at);
}

size_t count_line_feeds(const char *p, size_t n)
{
	const __m128i want = _mm_set1_epi8('\n');
	const __m128i zero = _mm_setzero_si128();
	size_t count = 0;
	size_t at = 0;

	while (at + 16 <= n) {
		/* Sixteen counters of one byte: they must be added up before one of them can overflow. */
		__m128i counts = zero;
		for (size_t end = MIN(n, at + 255 * 16); at + 16 <= end; at += 16) {
			__m128i have = _mm_loadu_si128((const __m128i *)(const void *)(p + at));
			counts = _mm_sub_epi8(counts, _mm_cmpeq_epi8(have, want));
		}
		__m128i sums = _mm_sad_epu8(counts, zero);
		count += (size_t)_mm_cvtsi128_si64(sums) + (size_t)_mm_cvtsi128_si64(_mm_srli_si128(sums, 8));
	}
	for (; at < n; at++)
		count += p[at] == '\n';
	return count;
}
#else
const char *literal_find(const struct literal *l, const char *p, size_t n)
{
	return find_slowly(l, p, n);
}

size_t count_line_feeds(const char *p, size_t n)
{
	size_t count = 0;

	for (size_t at = 0; at < n; at++)
		count += p[at] == '\n';
	return count;
}
#endif

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

static int pcre_compile(struct str text, uint32_t options, pcre2_code **ret_code, struct err *err)
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

int pattern_compile(struct pattern *p, struct str text, unsigned flags, struct err *err)
{
	/* ^ holds on an empty last line, too. */
	uint32_t options = PCRE2_MULTILINE | PCRE2_ALT_CIRCUMFLEX | (flags & REGEX_NOCASE ? PCRE2_CASELESS : 0) |
			   (flags & REGEX_MULTILINE ? PCRE2_DOTALL : 0);
	struct regex regex;

	*p = (struct pattern){ 0 };
	int rc = regex_translate(&regex, text, flags, err);
	struct str pcre = buf_str(&regex.pcre);
	if (rc == 0)
		rc = pcre_compile(pcre, options | PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &p->code, err);
	if (rc == 0 && regex.ascii)
		rc = pcre_compile(pcre, options, &p->ascii, err);
	bool usable = rc == 0; /* as needles: all of them are long enough */
	for (size_t i = 0; i < regex.needle_count; i++)
		usable = usable && regex.needles[i].n >= (regex.broad ? MIN_NEEDLE_BROAD : MIN_NEEDLE);
	p->needle_count = usable ? regex.needle_count : 0;
	for (size_t i = 0; i < p->needle_count; i++)
		literal_init(&p->needles[i], buf_str(&regex.needles[i]), flags & REGEX_NOCASE);
	p->exact = usable && regex.exact;
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
		free(p->needles[i].text);
	*p = (struct pattern){ 0 };
}

struct matcher *matcher_new(const struct pattern *p)
{
	struct matcher *m = xnew(struct matcher, .pattern = p, .data = pcre2_match_data_create(1, NULL),
				 .context = pcre2_match_context_create(NULL));

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
