/* SPDX-License-Identifier: MIT
 * json_write.c - the writer. Its state is small because the text itself tells the rest: behind a key stands a
 * colon. */
#include "lib/json/json_write.h"
#include <assert.h>
#include <locale.h>
#include <math.h>
#include "lib/base/utf8.h"
#include "lib/json/json_int.h"

enum { DEPTH_MAX = 64 };

static bool in_object(const struct json_out *w)
{
	return w->depth && (w->objects >> (w->depth - 1) & 1);
}

/* Asked by assertions only. */
__attribute__((unused)) static bool behind_key(const struct json_out *w)
{
	return w->buf->n && w->buf->p[w->buf->n - 1] == ':';
}

static void begin_value(struct json_out *w)
{
	assert(!in_object(w) || behind_key(w));
	if (w->comma)
		buf_addch(w->buf, ',');
	w->comma = true;
}

void json_open(struct json_out *w, char bracket)
{
	assert(bracket == '{' || bracket == '[');
	assert(w->depth < DEPTH_MAX);
	begin_value(w);
	uint64_t level = UINT64_C(1) << w->depth++;
	w->objects = bracket == '{' ? w->objects | level : w->objects & ~level;
	w->comma = false;
	buf_addch(w->buf, bracket);
}

void json_close(struct json_out *w)
{
	assert(w->depth && !(in_object(w) && behind_key(w)));
	buf_addch(w->buf, in_object(w) ? '}' : ']');
	w->depth--;
	w->comma = true;
}

void json_key_str(struct json_out *w, struct str key)
{
	assert(in_object(w) && !behind_key(w));
	if (w->comma)
		buf_addch(w->buf, ',');
	w->comma = false;
	json_add_quoted(w->buf, key);
	buf_addch(w->buf, ':');
}

void json_put_str(struct json_out *w, struct str s)
{
	begin_value(w);
	json_add_quoted(w->buf, s);
}

void json_put_raw(struct json_out *w, struct str json)
{
	assert(json.n);
	begin_value(w);
	buf_append(w->buf, json);
}

void json_put_members(struct json_out *w, const struct json *object, const char *const *except,
		      const struct json *replaced)
{
	AUTO_ARENA struct arena a = { 0 };

	for (struct json_member m = json_members(object); m.key; m = json_member_next(object, m)) {
		struct str key = json_str(m.key, &a);
		bool named = json_get_str(replaced, key) || json_get_str(object, key) != m.value;
		for (size_t i = 0; except && except[i] && !named; i++)
			named = str_is(key, except[i]);
		if (named)
			continue;
		json_key_str(w, key);
		json_put_raw(w, json_raw(m.value));
	}
}

void json_put_cstr(struct json_out *w, const char *s)
{
	if (s)
		json_put_str(w, str_from(s));
	else
		json_put_null(w);
}

static void put_integer(struct json_out *w, bool minus, uint64_t v)
{
	char digits[24];
	char *p = digits + sizeof digits;

	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	if (minus)
		*--p = '-';
	json_put_raw(w, str_between(p, digits + sizeof digits));
}

void json_put_i64(struct json_out *w, int64_t v)
{
	put_integer(w, v < 0, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
}

/* 15 digits are enough for most numbers that people wrote, 17 for all. The C locale has the point we need. */
void json_put_double(struct json_out *w, double v)
{
	char text[32];
	int n = 0;

	if (!isfinite(v)) {
		json_put_null(w);
		return;
	}
	locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	locale_t before = uselocale(c_locale);
	for (int digits = 15; digits <= 17; digits++) {
		n = snprintf(text, sizeof text, "%.*g", digits, v);
		if (strtod_l(text, NULL, c_locale) == v)
			break;
	}
	uselocale(before);
	json_put_raw(w, (struct str){ text, (size_t)n });
}

/* Templates are short and many: strcspn(3) and strchr(3) with a set of characters took most of their time. */
static bool is_template_mark(char c)
{
	switch (c) {
	case '\0':
	case ' ':
	case ',':
	case ':':
	case '?':
	case '{':
	case '}':
	case '[':
	case ']':
	case '\'':
	case '%':
	case '!':
		return true;
	default:
		return false;
	}
}

/* A key of a template needs no escapes. */
static void put_template_key(struct json_out *w, struct str key)
{
	if (!key.n)
		return;
	assert(in_object(w) && !behind_key(w));
	buf_reserve(w->buf, key.n + 4);
	char *to = w->buf->p + w->buf->n;
	if (w->comma)
		*to++ = ',';
	*to++ = '"';
	memcpy(to, key.p, key.n);
	to += key.n;
	*to++ = '"';
	*to++ = ':';
	*to = '\0';
	w->buf->n = (size_t)(to - w->buf->p);
	w->comma = false;
}

/* Writes the constant or conversion at p, with its key if it has one. Returns where it ends. */
static const char *put_template_value(struct json_out *w, struct str key, bool optional, const char *p, va_list *args)
{
	bool or_null = *p == '?', is_text = true, is_none = false;
	struct str text = { 0 };
	uint64_t number = 0;
	double real = 0;
	char digits[24];

	p += or_null;
	bool quoted = *p == '\'', boolean = *p == '!';
	p += quoted ? 1 : boolean ? 2 : 0;
	const char *end = p;
	if (quoted)
		while (*end && *end != '\'')
			end++;
	else if (*p == '%')
		while (*end++ && end[-1] != 's' && end[-1] != 'd' && end[-1] != 'u' && end[-1] != 'g')
			;
	else
		while (*end && *end != ' ' && *end != ',' && *end != ']' && *end != '}')
			end++;
	if (*p != '%') {
		text = (struct str){ p, (size_t)(end - p) };
	} else if (end[-1] == 's' && p[1] == '.') {
		text.n = (size_t)va_arg(*args, int);
		text.p = va_arg(*args, const char *);
		is_none = !text.n;
	} else if (end[-1] == 's') {
		text = str_from(va_arg(*args, const char *));
		is_none = !text.p;
		or_null = true;
	} else {
		is_text = false;
		if (end[-1] == 'g')
			real = va_arg(*args, double);
		else if (p[1] == 'd')
			number = (uint64_t)(int64_t)va_arg(*args, int);
		else if (p[1] == 'u')
			number = va_arg(*args, unsigned);
		else
			number = p[1] == 'z' ? va_arg(*args, size_t) : va_arg(*args, unsigned long long);
		is_none = real == 0 && number == 0;
	}
	if (optional && is_none)
		return end + quoted;
	put_template_key(w, key);
	if (is_none && (or_null || (is_text && !quoted)))
		json_put_null(w);
	else if (boolean)
		json_put_bool(w, number);
	else if (is_text && quoted)
		json_put_str(w, text);
	else if (is_text)
		json_put_raw(w, text);
	else if (end[-1] == 'g')
		json_put_double(w, real);
	else if (quoted)
		json_put_str(w, (struct str){ digits, (size_t)snprintf(digits, sizeof digits, "%llu",
								       (unsigned long long)number) });
	else
		put_integer(w, end[-1] == 'd' && (int64_t)number < 0,
			    end[-1] == 'd' && (int64_t)number < 0 ? 0 - number : number);
	return end + quoted;
}

void json_vputf(struct json_out *w, const char *template, va_list list)
{
	struct str key = { 0 };
	bool optional = false;
	va_list args;

	va_copy(args, list); /* as an object: list may be a pointer here */
	for (const char *p = template; *p;) {
		size_t n = 0;
		switch (*p) {
		case ' ':
		case ',':
			p++;
			continue;
		case '}':
		case ']':
			assert(in_object(w) == (*p == '}'));
			json_close(w);
			p++;
			continue;
		case '{':
		case '[':
			put_template_key(w, key);
			json_open(w, *p++);
			break;
		default:
			while (!is_template_mark(p[n])) /* a key or a constant */
				n++;
			if (n && (p[n] == ':' || p[n] == '?')) {
				key = (struct str){ p, n };
				optional = p[n] == '?';
				p += n + 1 + optional;
				continue;
			}
			p = put_template_value(w, key, optional, p, &args);
		}
		key = (struct str){ 0 };
		optional = false;
	}
	va_end(args);
	put_template_key(w, key);
}

void json_putf(struct json_out *w, const char *template, ...)
{
	va_list args;

	va_start(args, template);
	json_vputf(w, template, args);
	va_end(args);
}

void json_addf(struct buf *out, const char *template, ...)
{
	struct json_out w = json_out(out);
	va_list args;

	va_start(args, template);
	json_vputf(&w, template, args);
	va_end(args);
}

/* A character never spans the end of a run, so repairing run by run gives the same as repairing the whole. */
void json_add_escaped(struct buf *out, struct str s)
{
	const char *p = s.n ? s.p : "", *end = p + s.n;

	buf_reserve(out, s.n + 2);
	for (;;) {
		bool high = false;
		const char *stop = json_scan(p, end, &high);
		struct str run = { p, (size_t)(stop - p) };
		if (high)
			utf8_add_repaired(out, run);
		else
			buf_append(out, run);
		if (stop == end)
			return;
		char c = *stop;
		static const char letters[0x20] = {
			['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'
		};
		static const char hex[] = "0123456789abcdef";
		unsigned char u = (unsigned char)c;

		if (u >= 0x20)
			buf_add(out, (char[]){ '\\', c }, 2);
		else if (letters[u])
			buf_add(out, (char[]){ '\\', letters[u] }, 2);
		else
			buf_add(out, (char[]){ '\\', 'u', '0', '0', hex[u >> 4], hex[u & 0xf] }, 6);
		p = stop + 1;
	}
}

void json_add_quoted(struct buf *out, struct str s)
{
	buf_addch(out, '"');
	json_add_escaped(out, s);
	buf_addch(out, '"');
}
