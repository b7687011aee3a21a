/* SPDX-License-Identifier: MIT
 * names.c - DNS of a cell: every well-formed name gets an address of 198.18.0.0/15 that is invented and kept, so that a connection
 * to it says which name was meant. No packet leaves: there is no way to tell anybody anything by a lookup. */
#include <netinet/in.h>
#include "lib/base/buf.h"
#include "lib/base/list.h"
#include "lib/base/map.h"
#include "guard/sandbox/sandbox_int.h"

enum { FIRST = 0xc6120000, NAMES_MAX = 131070, NAME_MAX_BYTES = 253, TYPE_A = 1, CLASS_IN = 1 };
enum { RCODE_FORMAT = 1, RCODE_FAIL = 2, ASKERS_MAX = 32, ASKER_MS = 10 * 1000 };

/* A connection for lookups; TCP brings them one behind the other, each with its size in front. */
struct asker {
	struct names *names;
	struct asker *next, **prev;
	uv_tcp_t socket;
	struct timer timer;
	size_t count; /* of bytes */
	unsigned char bytes[2 + NAMES_PACKET_MAX];
};

enum names_socket { NAMES_FOUR, NAMES_SIX, NAMES_SOCKETS };

struct names {
	struct loop *loop;
	uv_udp_t udp[NAMES_SOCKETS];
	uv_tcp_t tcp[NAMES_SOCKETS];
	unsigned open; /* of these, and connections */
	bool closing;
	struct asker *askers;
	size_t asker_count;
	struct map numbers; /* name -> its number + 1 */
	char **list;
	size_t count, cap;
	char packet[NAMES_PACKET_MAX];
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

size_t names_answer(struct names *n, unsigned char *p, size_t size)
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
	if (!address || end + 16 > NAMES_PACKET_MAX)
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

static void names_release(struct names *n)
{
	map_release(&n->numbers);
	for (size_t i = 0; i < n->count; i++)
		free(n->list[i]);
	free(n->list);
	free(n);
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
	size_t out = names_answer(n, (unsigned char *)part->base, (size_t)size);
	uv_buf_t answer = uv_buf_init(n->packet, (unsigned)out);
	if (out)
		(void)uv_udp_try_send(socket, &answer, 1, from);
}

static void on_asker_closed(uv_handle_t *handle)
{
	struct asker *a = handle->data;
	struct names *n = a->names;

	list_remove(a);
	free(a);
	n->asker_count--;
	if (!--n->open && n->closing)
		names_release(n);
}

static void asker_close(struct asker *a)
{
	timer_stop(a->names->loop, &a->timer);
	if (!uv_is_closing((uv_handle_t *)&a->socket))
		uv_close((uv_handle_t *)&a->socket, on_asker_closed);
}

static void on_asker_silent(struct timer *timer)
{
	asker_close(CONTAINER_OF(timer, struct asker, timer));
}

static void on_asker_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *ret)
{
	struct asker *a = handle->data;

	(void)wanted;
	*ret = uv_buf_init((char *)a->bytes + a->count, (unsigned)(sizeof a->bytes - a->count));
}

/* A question that is larger than a packet of UDP, or an answer that the client does not take at once, ends the connection. */
static void on_asked(uv_stream_t *stream, ssize_t got, const uv_buf_t *part)
{
	struct asker *a = stream->data;

	(void)part;
	bool over = got < 0;
	a->count += got > 0 ? (size_t)got : 0;
	while (!over && a->count >= 2) {
		unsigned char packet[2 + NAMES_PACKET_MAX];
		size_t size = (size_t)a->bytes[0] << 8 | a->bytes[1];
		over = size > NAMES_PACKET_MAX;
		if (over || a->count < 2 + size)
			break;
		memcpy(packet + 2, a->bytes + 2, size);
		memmove(a->bytes, a->bytes + 2 + size, a->count -= 2 + size);
		size_t out = names_answer(a->names, packet + 2, size);
		packet[0] = (unsigned char)(out >> 8);
		packet[1] = (unsigned char)out;
		uv_buf_t answer = uv_buf_init((char *)packet, (unsigned)(2 + out));
		over = !out || uv_try_write(stream, &answer, 1) != (int)answer.len;
	}
	if (over)
		asker_close(a);
}

static void on_asker(uv_stream_t *listener, int status)
{
	struct names *n = listener->data;
	struct asker *a = xcalloc(1, sizeof *a);

	if (status < 0 || uv_tcp_init(loop_uv(n->loop), &a->socket) < 0) {
		free(a);
		return;
	}
	a->names = n;
	a->socket.data = a;
	a->timer.fire = on_asker_silent;
	list_push(&n->askers, a);
	n->open++;
	n->asker_count++;
	uv_unref((uv_handle_t *)&a->socket);
	if (uv_accept(listener, (uv_stream_t *)&a->socket) < 0 || n->asker_count > ASKERS_MAX ||
	    uv_read_start((uv_stream_t *)&a->socket, on_asker_alloc, on_asked) < 0)
		asker_close(a);
	else
		timer_start(n->loop, &a->timer, ASKER_MS);
}

struct names *names_new(struct loop *loop, const struct cell *cell)
{
	struct names *n = xcalloc(1, sizeof *n);

	n->loop = loop;
	for (int i = 0; cell && i < NAMES_SOCKETS; i++) {
		int udp =
			dup(cell_fd(cell, CELL_SOCKET_DNS, i == NAMES_SIX ? 2 : 0)); /* libuv closes what it is given */
		int tcp = dup(cell_fd(cell, CELL_SOCKET_DNS, i == NAMES_SIX ? 3 : 1));
		uv_udp_init(loop_uv(loop), &n->udp[i]);
		uv_tcp_init(loop_uv(loop), &n->tcp[i]);
		n->udp[i].data = n->tcp[i].data = n;
		n->open += 2;
		if (udp >= 0 && uv_udp_open(&n->udp[i], udp) == 0)
			(void)uv_udp_recv_start(&n->udp[i], on_alloc, on_question);
		if (tcp >= 0 && uv_tcp_open(&n->tcp[i], tcp) == 0)
			(void)uv_listen((uv_stream_t *)&n->tcp[i], ASKERS_MAX, on_asker);
		uv_unref((uv_handle_t *)&n->udp[i]);
		uv_unref((uv_handle_t *)&n->tcp[i]);
	}
	return n;
}

static void on_closed(uv_handle_t *handle)
{
	struct names *n = handle->data;

	if (!--n->open)
		names_release(n);
}

void names_free(struct names *n)
{
	if (!n)
		return;
	n->closing = true;
	if (!n->open) {
		names_release(n);
		return;
	}
	for (struct asker *a = n->askers; a; a = a->next)
		asker_close(a);
	for (int i = 0; i < NAMES_SOCKETS; i++) {
		uv_close((uv_handle_t *)&n->udp[i], on_closed);
		uv_close((uv_handle_t *)&n->tcp[i], on_closed);
	}
}
