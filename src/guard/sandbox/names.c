/* SPDX-License-Identifier: MIT
 * names.c - DNS of a cell: every well-formed name gets an address of 198.18.0.0/15 that is invented and kept, so that a connection
 * to it says which name was meant. No packet leaves: there is no way to tell anybody anything by a lookup. */
#include <netinet/in.h>
#include "lib/base/buf.h"
#include "lib/base/map.h"
#include "guard/sandbox/sandbox_int.h"

enum { FIRST = 0xc6120000, NAMES_MAX = 131070, PACKET = 512, NAME_MAX_BYTES = 253, TYPE_A = 1, CLASS_IN = 1 };
enum { RCODE_FORMAT = 1, RCODE_FAIL = 2 };

struct names {
	uv_udp_t socket;
	struct map numbers; /* name -> its number + 1 */
	char **list;
	size_t count, cap;
	char packet[PACKET];
};

static uint32_t names_address(struct names *n, struct str name)
{
	uintptr_t number = (uintptr_t)map_get(&n->numbers, name);

	if (number)
		return FIRST + (uint32_t)number;
	if (n->count >= NAMES_MAX)
		return 0;
	if (n->count == n->cap) {
		n->cap = n->cap ? 2 * n->cap : 64;
		n->list = xrealloc(n->list, n->cap * sizeof *n->list);
	}
	n->list[n->count++] = xstrndup(name.p, name.n);
	(void)map_set(&n->numbers, str_from(n->list[n->count - 1]), (void *)(uintptr_t)n->count);
	return FIRST + (uint32_t)n->count;
}

const char *names_find(const struct names *n, uint32_t address)
{
	return n && address > FIRST && address - FIRST <= n->count ? n->list[address - FIRST - 1] : NULL;
}

/* The labels behind the head as text, lower case. Returns how many bytes they take; 0: not well-formed. */
static size_t read_name(const unsigned char *p, size_t n, char *name, size_t *ret_n)
{
	size_t at = 0;
	size_t out = 0;

	while (at < n && p[at]) {
		size_t label = p[at++];
		if (label > 63 || at + label >= n || out + label + 1 > NAME_MAX_BYTES)
			return 0;
		if (out)
			name[out++] = '.';
		for (size_t i = 0; i < label; i++) {
			char c = (char)p[at + i];
			bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
				    c == '-' || c == '_';
			if (!good)
				return 0;
			name[out++] = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
		}
		at += label;
	}
	*ret_n = out;
	return at < n && out ? at + 1 : 0;
}

static size_t make_answer(struct names *n, unsigned char *p, size_t size)
{
	char name[NAME_MAX_BYTES + 1];
	size_t length = 0;
	size_t taken =
		size > 12 && p[4] == 0 && p[5] == 1 && !(p[2] & 0xf8) ? read_name(p + 12, size - 12, name, &length) : 0;
	size_t end = 12 + taken + 4;
	unsigned rcode = 0;
	uint32_t address = 0;

	if (size < 12)
		return 0;
	bool good = taken && end <= size;
	if (!good)
		rcode = RCODE_FORMAT;
	bool wants_address = good && p[end - 4] == 0 && p[end - 3] == TYPE_A && p[end - 1] == CLASS_IN;
	if (wants_address && !(address = names_address(n, (struct str){ name, length })))
		rcode = RCODE_FAIL;
	p[2] = 0x84 | (p[2] & 1);
	p[3] = (unsigned char)(0x80 | rcode);
	memset(p + 4, 0, 8);
	if (!good)
		return 12;
	p[5] = 1;
	if (!address || end + 16 > PACKET)
		return end;
	p[7] = 1;
	const unsigned char record[16] = { 0xc0,
					   12,
					   0,
					   TYPE_A,
					   0,
					   CLASS_IN,
					   0,
					   0,
					   0,
					   60,
					   0,
					   4,
					   (unsigned char)(address >> 24),
					   (unsigned char)(address >> 16),
					   (unsigned char)(address >> 8),
					   (unsigned char)address };
	memcpy(p + end, record, sizeof record);
	return end + sizeof record;
}

static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *ret)
{
	struct names *n = handle->data;

	(void)wanted;
	*ret = uv_buf_init(n->packet, sizeof n->packet);
}

static void on_question(uv_udp_t *socket, ssize_t size, const uv_buf_t *part, const struct sockaddr *from,
			unsigned flags)
{
	struct names *n = socket->data;

	(void)flags;
	if (size <= 0 || !from)
		return;
	size_t out = make_answer(n, (unsigned char *)part->base, (size_t)size);
	uv_buf_t answer = uv_buf_init(n->packet, (unsigned)out);
	if (out)
		(void)uv_udp_try_send(socket, &answer, 1, from);
}

struct names *names_new(struct loop *loop, int fd)
{
	struct names *n = xcalloc(1, sizeof *n);

	uv_udp_init(loop_uv(loop), &n->socket);
	n->socket.data = n;
	int own = fd < 0 ? -1 : dup(fd); /* libuv closes what it is given */
	if (own >= 0 && uv_udp_open(&n->socket, own) == 0)
		(void)uv_udp_recv_start(&n->socket, on_alloc, on_question);
	uv_unref((uv_handle_t *)&n->socket);
	return n;
}

static void on_closed(uv_handle_t *handle)
{
	struct names *n = handle->data;

	map_release(&n->numbers);
	for (size_t i = 0; i < n->count; i++)
		free(n->list[i]);
	free(n->list);
	free(n);
}

void names_free(struct names *n)
{
	if (n)
		uv_close((uv_handle_t *)&n->socket, on_closed);
}
