/* SPDX-License-Identifier: MIT
 * tls_hello.c - the server name in a ClientHello (RFC 8446, 6066), which may be cut into several records. What one server
 * may read otherwise than another is refused. */
#include "guard/sandbox/sandbox_int.h"

enum {
	RECORD_FIRST = 20,
	RECORD_HANDSHAKE = 22,
	RECORD_LAST = 23,
	CLIENT_HELLO = 1,
	EXTENSION_NAME = 0,
	HELLO_MAX = 16 * 1024
};

/* Takes n bytes off the front; false: there are not so many. */
static bool hello_take(struct str *s, size_t n, struct str *ret)
{
	if (s->n < n)
		return false;
	*ret = (struct str){ s->p, n };
	*s = (struct str){ s->p + n, s->n - n };
	return true;
}

/* A field whose length stands in front of it, in that many bytes */
static bool take_sized(struct str *s, size_t bytes, struct str *ret)
{
	struct str head;
	size_t n = 0;

	if (!hello_take(s, bytes, &head))
		return false;
	for (size_t i = 0; i < bytes; i++)
		n = n << 8 | (unsigned char)head.p[i];
	return hello_take(s, n, ret);
}

/* The name in the list of names, which has one entry, of the kind host */
static bool take_name(struct str value, struct str *ret_name)
{
	struct str list;
	struct str kind;

	return take_sized(&value, 2, &list) && !value.n && hello_take(&list, 1, &kind) && kind.p[0] == 0 &&
	       take_sized(&list, 2, ret_name) && !list.n && ret_name->n;
}

enum hello tls_hello_name(struct str bytes, struct buf *joined, struct str *ret_name)
{
	const size_t said = bytes.n;
	struct str skipped;
	struct str record;
	struct str rest;
	struct str hello;
	struct str extensions;
	struct str name = { 0 };

	*ret_name = (struct str){ 0 };
	if (said && (bytes.p[0] < RECORD_FIRST || bytes.p[0] > RECORD_LAST))
		return HELLO_NONE;
	buf_clear(joined);
	do {
		if (bytes.n && bytes.p[0] != RECORD_HANDSHAKE)
			return HELLO_BAD;
		if (!hello_take(&bytes, 3, &skipped) || !take_sized(&bytes, 2, &record))
			return said > HELLO_MAX ? HELLO_BAD : HELLO_PART;
		buf_append(joined, record);
		rest = buf_str(joined);
		if (!record.n || rest.p[0] != CLIENT_HELLO)
			return HELLO_BAD;
	} while (!hello_take(&rest, 1, &skipped) || !take_sized(&rest, 3, &hello));
	if (rest.n || !hello_take(&hello, 34, &skipped) || !take_sized(&hello, 1, &skipped) ||
	    !take_sized(&hello, 2, &skipped) || !take_sized(&hello, 1, &skipped))
		return HELLO_BAD;
	if (!hello.n)
		return HELLO_NONE;
	if (!take_sized(&hello, 2, &extensions) || hello.n)
		return HELLO_BAD;
	while (extensions.n) {
		struct str type;
		struct str value;
		if (!hello_take(&extensions, 2, &type) || !take_sized(&extensions, 2, &value))
			return HELLO_BAD;
		if (type.p[0] || type.p[1] != EXTENSION_NAME)
			continue;
		if (name.n || !take_name(value, &name))
			return HELLO_BAD;
	}
	*ret_name = name;
	return name.n ? HELLO_NAMED : HELLO_NONE;
}
