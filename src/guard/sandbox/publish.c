/* SPDX-License-Identifier: MIT
 * publish.c - sandbox.network.allowLocalBinding: ports on which programs inside listen appear on the machine's 127.0.0.1. While
 * a command runs inside, the kernel is asked which those are; a connection from outside goes through a socket that was made in
 * the cell, because a process cannot make one there later. Such a socket is used again when its connection has ended. */
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include "guard/sandbox/sandbox_int.h"

enum { PUBLISHED_MAX = 32, LOOK_MS = 200, PORT_LEAST = 1024 };

struct published {
	uv_tcp_t listener;
	unsigned port; /* 0: this place is free */
	bool seen, closing;
};

struct publish {
	struct sandbox *sandbox; /* NULL: it is gone, and we close */
	struct loop *loop;
	const struct cell *cell;
	struct published list[PUBLISHED_MAX];
	bool used[CELL_SPARES_MAX];
	struct timer timer;
	unsigned open; /* listeners */
};

static void publish_maybe_free(struct publish *p)
{
	if (!p->sandbox && !p->open)
		free(p);
}

static void on_listener_closed(uv_handle_t *handle)
{
	struct publish *p = handle->data;
	struct published *one = CONTAINER_OF(handle, struct published, listener);

	one->port = 0;
	one->closing = false;
	p->open--;
	publish_maybe_free(p);
}

static void published_close(struct published *one)
{
	if (one->port && !one->closing)
		uv_close((uv_handle_t *)&one->listener, on_listener_closed);
	one->closing = one->port != 0;
}

/* The connection through it has ended. */
void publish_return(struct publish *p, size_t spare)
{
	const struct sockaddr none = { .sa_family = AF_UNSPEC };

	(void)connect(cell_fd(p->cell, CELL_SOCKET_SPARE, spare), &none, sizeof none);
	p->used[spare] = false;
}

static void on_visitor(uv_stream_t *listener, int status)
{
	struct publish *p = listener->data;
	const struct published *one = CONTAINER_OF(listener, struct published, listener);
	size_t spare = 0;

	while (spare < CELL_SPARES_MAX && (p->used[spare] || cell_fd(p->cell, CELL_SOCKET_SPARE, spare) < 0))
		spare++;
	if (status < 0)
		return;
	if (spare < CELL_SPARES_MAX)
		p->used[spare] = true;
	proxy_join(p->sandbox->proxy, listener,
		   spare < CELL_SPARES_MAX ? cell_fd(p->cell, CELL_SOCKET_SPARE, spare) : -1, spare, one->port);
}

static void publish_port(struct publish *p, unsigned port)
{
	struct published *one = NULL;
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	for (size_t i = 0; i < PUBLISHED_MAX; i++) {
		if (p->list[i].port == port) {
			p->list[i].seen = true;
			return;
		}
		one = p->list[i].port ? one : &p->list[i];
	}
	if (!one)
		return;
	*one = (struct published){ .port = port, .seen = true };
	uv_tcp_init(loop_uv(p->loop), &one->listener);
	one->listener.data = p;
	p->open++;
	if (uv_tcp_bind(&one->listener, (struct sockaddr *)&at, 0) < 0 ||
	    uv_listen((uv_stream_t *)&one->listener, 64, on_visitor) < 0) {
		sandbox_note_refusal(p->sandbox, "blocked: port %u does not appear outside: it is taken there", port);
		/* It keeps its place, so that this is said once. */
	}
	uv_unref((uv_handle_t *)&one->listener);
}

/* Ports that are served by us are not the programs'. */
static bool is_ours(const struct sandbox *s, unsigned port)
{
	for (size_t i = 0; s->policy && i < s->policy->allowed.count; i++)
		if (s->policy->allowed.list[i].port == port)
			return true;
	return port == CELL_PROXY_PORT;
}

static void publish_look(struct publish *p, uint8_t family)
{
	const struct {
		struct nlmsghdr head;
		struct inet_diag_req_v2 req;
	} question = { { .nlmsg_len = sizeof question,
			 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		       { .sdiag_family = family, .sdiag_protocol = IPPROTO_TCP, .idiag_states = 1U << TCP_LISTEN } };
	char answers[16 * 1024] __attribute__((aligned(8)));
	int diag = cell_fd(p->cell, CELL_SOCKET_DIAG, 0);
	bool over = diag < 0 || send(diag, &question, sizeof question, 0) < 0;

	while (!over) {
		ssize_t got = recv(diag, answers, sizeof answers, MSG_DONTWAIT);
		unsigned left = got > 0 ? (unsigned)got : 0;
		over = got <= 0;
		for (const struct nlmsghdr *m = (void *)answers; !over && NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
			over = m->nlmsg_type != SOCK_DIAG_BY_FAMILY;
			unsigned port = over ? 0 : ntohs(((const struct inet_diag_msg *)NLMSG_DATA(m))->id.idiag_sport);
			if (port >= PORT_LEAST && !is_ours(p->sandbox, port))
				publish_port(p, port);
		}
	}
}

static void on_look(struct timer *timer)
{
	struct publish *p = CONTAINER_OF(timer, struct publish, timer);

	for (size_t i = 0; i < PUBLISHED_MAX; i++)
		p->list[i].seen = false;
	publish_look(p, AF_INET);
	publish_look(p, AF_INET6);
	for (size_t i = 0; i < PUBLISHED_MAX; i++)
		if (!p->list[i].seen)
			published_close(&p->list[i]);
	if (p->sandbox->held)
		timer_start(p->loop, timer, LOOK_MS);
}

void publish_watch(struct sandbox *s)
{
	struct publish *p = s->publish;

	if (!p) {
		p = s->publish = xcalloc(1, sizeof *p);
		p->sandbox = s;
		p->loop = s->loop;
		p->cell = s->cells[CELL_WHOLE];
		p->timer.fire = on_look;
	}
	if (!timer_running(&p->timer))
		timer_start(p->loop, &p->timer, LOOK_MS);
}

void publish_free(struct publish *p)
{
	if (!p)
		return;
	timer_stop(p->loop, &p->timer);
	for (size_t i = 0; i < PUBLISHED_MAX; i++)
		published_close(&p->list[i]);
	p->sandbox = NULL;
	publish_maybe_free(p);
}
