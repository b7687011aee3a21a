/* SPDX-License-Identifier: MIT
 * sigv4.c - canonical request, text to sign, signature. */
#include "core/credential/credential_int.h"
#include <openssl/evp.h>
#include <openssl/hmac.h>

enum { SHA256_BYTES = 32 };

static void add_hex(struct buf *out, const unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		buf_addf(out, "%02x", bytes[i]);
}

void percent_encode(struct buf *out, struct str text, const char *kept)
{
	static const char unreserved[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

	for (size_t i = 0; i < text.n; i++)
		if (char_in(text.p[i], unreserved) || char_in(text.p[i], kept))
			buf_addch(out, text.p[i]);
		else
			buf_addf(out, "%%%02X", (unsigned char)text.p[i]);
}

/* Without empty segments, "." and "..", each segment encoded. */
static void add_path(struct arena *a, struct buf *out, const char *path, bool raw)
{
	struct str rest = str_from(path);
	struct str *segments = arena_alloc(a, (rest.n + 1) * sizeof *segments);
	size_t count = 0, start = out->n;

	if (raw) {
		percent_encode(out, rest, "/");
		return;
	}
	while (rest.p) {
		struct str segment = str_cut(&rest, '/');
		if (str_is(segment, "..")) {
			count -= count > 0;
		} else if (segment.n && !str_is(segment, ".")) {
			segments[count++] = segment;
		}
	}
	for (size_t i = 0; i < count; i++) {
		buf_addch(out, '/');
		percent_encode(out, segments[i], "");
	}
	size_t n = strlen(path);
	if (out->n == start || (n && path[n - 1] == '/'))
		buf_addch(out, '/');
}

/* Sorted by name, position and value. Parameters of a query have no position, headers of one name keep theirs. */
struct pair {
	struct str name, value;
	size_t at;
};

static int compare_texts(struct str a, struct str b)
{
	int order = memcmp(a.n ? a.p : "", b.n ? b.p : "", MIN(a.n, b.n));

	return order ? order : (a.n > b.n) - (a.n < b.n);
}

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	int order = compare_texts(x->name, y->name);

	if (!order)
		order = (x->at > y->at) - (x->at < y->at);
	return order ? order : compare_texts(x->value, y->value);
}

/* Decodes first, so that text which is encoded already is not encoded twice. */
static struct str reencoded(struct arena *a, struct str text)
{
	static const char hex[] = "0123456789abcdefABCDEF";
	AUTO_BUF struct buf plain = { 0 };
	AUTO_BUF struct buf out = { 0 };

	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '%' && i + 2 < text.n && char_in(text.p[i + 1], hex) && char_in(text.p[i + 2], hex)) {
			unsigned byte = 0;
			for (size_t k = 1; k <= 2; k++) {
				char c = text.p[i + k];
				byte = byte * 16 + (unsigned)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
			}
			buf_addch(&plain, (char)byte);
			i += 2;
		} else {
			buf_addch(&plain, text.p[i]);
		}
	}
	percent_encode(&out, buf_str(&plain), "");
	return arena_str(a, buf_str(&out));
}

/* Names in lower case and sorted; values trimmed, blanks inside folded, those of equal names joined. *ret_names: the list. */
static void add_headers(struct arena *a, struct buf *out, const char *const *headers, struct buf *ret_names)
{
	size_t count = str_count(headers);
	struct pair *pairs = arena_alloc(a, (count + 1) * sizeof *pairs);

	for (size_t i = 0; i < count; i++) {
		struct str value = str_from(headers[i]);
		struct str name = str_trim(str_cut(&value, ':'));
		char *lower = arena_dup(a, name.p, name.n);
		for (char *p = lower; *p; p++)
			*p = *p >= 'A' && *p <= 'Z' ? (char)(*p | 32) : *p;
		pairs[i] = (struct pair){ { lower, name.n }, str_trim(value.p ? value : STR("")), i };
	}
	qsort(pairs, count, sizeof *pairs, compare_pairs);
	for (size_t i = 0; i < count; i++) {
		bool same = i && str_eq(pairs[i].name, pairs[i - 1].name);
		if (same)
			buf_addch(out, ',');
		else
			buf_addf(out, "%s" STR_FMT ":", i ? "\n" : "", STR_ARG(pairs[i].name));
		if (!same)
			buf_addf(ret_names, "%s" STR_FMT, i ? ";" : "", STR_ARG(pairs[i].name));
		for (size_t k = 0; k < pairs[i].value.n; k++) {
			char c = pairs[i].value.p[k];
			bool blank = c == ' ' || c == '\t';
			if (!blank || (pairs[i].value.p[k - 1] != ' ' && pairs[i].value.p[k - 1] != '\t'))
				buf_addch(out, blank ? ' ' : c);
		}
	}
	buf_addch(out, '\n');
}

static void hmac(const unsigned char *key, size_t n, const char *text, unsigned char out[SHA256_BYTES])
{
	unsigned size = SHA256_BYTES;

	(void)HMAC(EVP_sha256(), key, (int)n, (const unsigned char *)text, strlen(text), out, &size);
}

const char *sigv4_sign(struct arena *a, const struct sigv4_request *r)
{
	AUTO_BUF struct buf request = { 0 };
	AUTO_BUF struct buf names = { 0 };
	AUTO_BUF struct buf text = { 0 };
	AUTO_BUF struct buf out = { 0 };
	unsigned char key[SHA256_BYTES], next[SHA256_BYTES];
	char date[9];

	snprintf(date, sizeof date, "%.8s", r->time);
	buf_addf(&request, "%s\n", r->method);
	add_path(a, &request, r->path, r->raw_path);
	buf_addch(&request, '\n');
	struct str rest = str_from(r->query ? r->query : "");
	struct pair *pairs = arena_alloc(a, (rest.n + 1) * sizeof *pairs);
	size_t count = 0;

	while (rest.p) {
		struct str value = str_cut(&rest, '&');
		if (!value.n)
			continue;
		struct str name = str_cut(&value, '=');
		pairs[count++] = (struct pair){ reencoded(a, name), reencoded(a, value.p ? value : STR("")), 0 };
	}
	qsort(pairs, count, sizeof *pairs, compare_pairs);
	for (size_t i = 0; i < count; i++)
		buf_addf(&request, "%s" STR_FMT "=" STR_FMT, i ? "&" : "", STR_ARG(pairs[i].name),
			 STR_ARG(pairs[i].value));
	buf_addch(&request, '\n');
	add_headers(a, &request, r->headers, &names);
	buf_addf(&request, "\n%s\n" STR_FMT, names.p ? names.p : "", STR_ARG(r->body_hash));
	(void)EVP_Digest(request.p, request.n, key, NULL, EVP_sha256(), NULL);
	buf_addf(&text, "AWS4-HMAC-SHA256\n%s\n%s/%s/%s/aws4_request\n", r->time, date, r->region, r->service);
	add_hex(&text, key, sizeof key);
	char *first = arena_printf(a, "AWS4%s", r->secret);
	hmac((const unsigned char *)first, strlen(first), date, key);
	hmac(key, sizeof key, r->region, next);
	hmac(next, sizeof next, r->service, key);
	hmac(key, sizeof key, "aws4_request", next);
	hmac(next, sizeof next, text.p, key);
	buf_addf(&out, "AWS4-HMAC-SHA256 Credential=%s/%s/%s/%s/aws4_request, SignedHeaders=%s, Signature=", r->key_id,
		 date, r->region, r->service, names.p ? names.p : "");
	add_hex(&out, key, sizeof key);
	return arena_dup(a, out.p, out.n);
}
