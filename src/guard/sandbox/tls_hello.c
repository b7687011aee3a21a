/* SPDX-License-Identifier: MIT
 * tls_hello.c - the server name in a ClientHello (RFC 8446, 6066), in one record, which is how clients send it. */
#include "guard/sandbox/sandbox_int.h"

enum { RECORD_HANDSHAKE = 22, CLIENT_HELLO = 1, EXTENSION_NAME = 0, RECORD_MAX = 16 * 1024 };

/* Takes n bytes off the front; false: there are not so many. */
static bool take(struct str *s, size_t n, struct str *ret)
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

	if (!take(s, bytes, &head))
		return false;
	for (size_t i = 0; i < bytes; i++)
		n = n << 8 | (unsigned char)head.p[i];
	return take(s, n, ret);
}

enum hello tls_hello_name(struct str bytes, struct str *ret_name)
{
	struct str skipped;
	struct str record;
	struct str hello;
	struct str extensions;

	*ret_name = (struct str){ 0 };
	if (!bytes.n || (unsigned char)bytes.p[0] != RECORD_HANDSHAKE)
		return bytes.n ? HELLO_NONE : HELLO_PART;
	if (!take(&bytes, 3, &skipped) || !take_sized(&bytes, 2, &record))
		return bytes.n > RECORD_MAX ? HELLO_NONE : HELLO_PART;
	if (!take(&record, 1, &skipped) || skipped.p[0] != CLIENT_HELLO || !take_sized(&record, 3, &hello) ||
	    !take(&hello, 34, &skipped) || !take_sized(&hello, 1, &skipped) || !take_sized(&hello, 2, &skipped) ||
	    !take_sized(&hello, 1, &skipped) || !take_sized(&hello, 2, &extensions))
		return HELLO_NONE;
	for (struct str type; take(&extensions, 2, &type);) {
		struct str value;
		struct str list;
		struct str kind;
		if (!take_sized(&extensions, 2, &value))
			return HELLO_NONE;
		if (type.p[0] == 0 && type.p[1] == EXTENSION_NAME && take_sized(&value, 2, &list) &&
		    take(&list, 1, &kind) && kind.p[0] == 0 && take_sized(&list, 2, ret_name) && ret_name->n)
			return HELLO_NAMED;
	}
	return HELLO_NONE;
}
