/* SPDX-License-Identifier: MIT
 * proxy.c - the only way out of a cell: a socket that was made inside and is served here, on the loop. HTTP (CONNECT and
 * absolute form) and SOCKS5, by the first byte. The name is decided first, then resolved once, and the address that passed is
 * the one that is dialled.
 *
 *     head --(a whole request)--> naming --(resolved)--> dialling --(connected)--> flowing --(both sides at their end)--> closed
 *       \---------- refused: an answer that says why, then closed ----------/ */
#include "lib/base/buf.h"
#include "lib/base/list.h"
#include "lib/io/address.h"
#include "guard/sandbox/sandbox_int.h"

enum {
	LINKS_MAX = 256,
	HEAD_MAX = 16 * 1024,
	FIRST_BYTES_MS = 10 * 1000,
	ANSWER_MS = 60 * 1000,
	FLOW_MAX = 64 * 1024,
	CHUNK = 32 * 1024
};

enum link_side { SIDE_IN, SIDE_OUT, SIDES };

struct link {
	struct proxy *proxy;
	struct link *next, **prev;
	uv_tcp_t side[SIDES];
	bool opened[SIDES], ended[SIDES], stopped[SIDES];
	unsigned handles; /* open; the struct lives until the last close callback */
	bool busy, closing, flowing;
	bool waiting;         /* for the answer of a user */
	bool upstream, socks; /* dialled through the user's proxy, which speaks SOCKS */
	bool hello_seen;      /* what a TLS client asks for is known */
	bool joined;          /* it came from the machine to a port of the inside, through this spare socket: */
	size_t spare;
	struct buf head; /* what the client has said so far */
	struct proxy_request asked;
	struct timer timer;
	uv_getaddrinfo_t lookup;
	uv_connect_t connect;
};

struct proxy {
	struct sandbox *sandbox;
	struct loop *loop;
	uv_tcp_t listener, ports[CELL_PORTS_MAX];
	unsigned open; /* of these */
	struct names *names;
	struct link *links;
	size_t count;
	bool closing;
};

struct write {
	uv_write_t request;
	struct link *link;
	enum link_side to;
	bool last; /* the connection ends with it */
	char bytes[];
};

static void proxy_maybe_free(struct proxy *p)
{
	if (p->closing && !p->links && !p->open)
		free(p);
}

static void on_link_closed(uv_handle_t *handle)
{
	struct link *l = handle->data;
	struct proxy *p = l->proxy;

	if (--l->handles || l->busy)
		return;
	list_remove(l);
	p->count--;
	if (l->joined && !p->closing)
		publish_return(p->sandbox->publish, l->spare);
	buf_release(&l->head);
	proxy_request_release(&l->asked);
	free(l);
	proxy_maybe_free(p);
}

static void link_close(struct link *l)
{
	if (l->closing)
		return;
	l->closing = true;
	timer_stop(l->proxy->loop, &l->timer);
	if (l->busy)
		(void)uv_cancel((uv_req_t *)&l->lookup);
	for (int i = 0; i < SIDES; i++)
		if (l->opened[i])
			uv_close((uv_handle_t *)&l->side[i], on_link_closed);
}

static void link_pause(struct link *l, enum link_side from, bool stop);
static void on_silence(struct timer *timer);

static void on_written(uv_write_t *request, int status)
{
	struct write *w = request->data;
	struct link *l = w->link;
	bool last = w->last;
	enum link_side to = w->to;

	free(w);
	if (l->closing)
		return;
	if (status < 0 || last)
		link_close(l);
	else if (l->flowing && uv_stream_get_write_queue_size((uv_stream_t *)&l->side[to]) < FLOW_MAX / 2)
		link_pause(l, to == SIDE_IN ? SIDE_OUT : SIDE_IN, false);
}

static void link_write(struct link *l, enum link_side to, const char *p, size_t n, bool last)
{
	struct write *w = xmalloc(sizeof *w + n);

	*w = (struct write){ .link = l, .to = to, .last = last };
	w->request.data = w;
	memcpy(w->bytes, p, n);
	uv_buf_t part = uv_buf_init(w->bytes, (unsigned)n);
	if (uv_write(&w->request, (uv_stream_t *)&l->side[to], &part, 1, on_written) < 0) {
		free(w);
		link_close(l);
	}
}

static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *ret);

/* What was sent to us is read and dropped until the client has understood, or a close would take the answer along. */
static void on_drained(uv_stream_t *stream, ssize_t n, const uv_buf_t *part)
{
	struct link *l = stream->data;

	free(part->base);
	if (n < 0)
		link_close(l);
}

/* ssh gets a disconnect that it shows; others are reset. */
static void link_refuse_clear(struct link *l, const char *why)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_BUF struct buf out = { 0 };

	if (l->asked.port != 22) {
		l->opened[SIDE_IN] = !l->closing && uv_tcp_close_reset(&l->side[SIDE_IN], on_link_closed) < 0;
		link_close(l);
		return;
	}
	buf_addf(&text, "sandbox: %s: %s", l->asked.host ? l->asked.host : "", why);
	size_t payload = 1 + 4 + 4 + text.n + 4;
	size_t padding = 8 - (payload + 5) % 8 + 8;
	buf_addstr(&out, "SSH-2.0-cadre\r\n");
	const size_t numbers[] = { payload + padding + 1, 0, 2, text.n };
	for (size_t i = 0; i < COUNT_OF(numbers); i++) {
		if (i == 1) { /* length of the padding, and the message: disconnect */
			buf_addch(&out, (char)padding);
			buf_addch(&out, 1);
			continue;
		}
		for (int shift = 24; shift >= 0; shift -= 8)
			buf_addch(&out, (char)(numbers[i] >> shift));
	}
	buf_add(&out, text.p, text.n);
	for (size_t i = 0; i < 4 + padding; i++)
		buf_addch(&out, 0);
	link_write(l, SIDE_IN, out.p, out.n, false);
	if (!l->closing && uv_read_start((uv_stream_t *)&l->side[SIDE_IN], on_alloc, on_drained) < 0)
		link_close(l);
}

static void link_refuse(struct link *l, int status, const char *why)
{
	AUTO_BUF struct buf out = { 0 };

	uv_read_stop((uv_stream_t *)&l->side[SIDE_IN]);
	if (status == 403 && l->asked.host)
		sandbox_note_refusal(l->proxy->sandbox, "blocked: network %s:%u (%s)", l->asked.host, l->asked.port,
				     why);
	if (l->asked.kind == PROXY_CLEAR && l->asked.port != 80) {
		link_refuse_clear(l, why);
		return;
	}
	if (l->asked.kind == PROXY_SOCKS) {
		link_write(l, SIDE_IN, status == 403 ? "\5\2\0\1\0\0\0\0\0\0" : "\5\4\0\1\0\0\0\0\0\0", 10, true);
		return;
	}
	AUTO_BUF struct buf body = { 0 };
	buf_addf(&body, "sandbox: %s%s%s\n", l->asked.host ? l->asked.host : "", l->asked.host ? ": " : "", why);
	buf_addf(
		&out,
		"HTTP/1.1 %d %s\r\nX-Cadre-Sandbox: denied\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\nConnection: "
		"close\r\n\r\n",
		status,
		status == 403   ? "Forbidden"
		: status == 400 ? "Bad Request"
				: "Bad Gateway",
		body.n);
	buf_add(&out, body.p, body.n);
	link_write(l, SIDE_IN, out.p, out.n, true);
}

static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *ret)
{
	(void)handle;
	(void)wanted;
	*ret = uv_buf_init(xmalloc(CHUNK), CHUNK);
}

/* Behind an allowed name another one could be asked for, at the same servers. */
static void link_check_hello(struct link *l)
{
	AUTO_BUF struct buf joined = { 0 };
	struct str name;
	enum hello hello = tls_hello_name(buf_str(&l->head), &joined, &name);

	if (hello == HELLO_PART)
		return;
	l->hello_seen = true;
	if (hello == HELLO_BAD) {
		sandbox_note_refusal(l->proxy->sandbox,
				     "blocked: network %s:%u (what it is asked for by TLS cannot be told)",
				     l->asked.host, l->asked.port);
		link_close(l);
		return;
	}
	if (hello == HELLO_NAMED && !str_is_nocase(name, l->asked.host) &&
	    host_refusal(l->proxy->sandbox->policy, name, l->asked.port)) {
		sandbox_note_refusal(l->proxy->sandbox, "blocked: network " STR_FMT ":%u (asked for behind %s)",
				     STR_ARG(name), l->asked.port, l->asked.host);
		link_close(l);
		return;
	}
	link_write(l, SIDE_OUT, l->head.p, l->head.n, false);
	buf_clear(&l->head);
}

static void on_flow(uv_stream_t *stream, ssize_t n, const uv_buf_t *part)
{
	struct link *l = stream->data;
	enum link_side from = stream == (uv_stream_t *)&l->side[SIDE_IN] ? SIDE_IN : SIDE_OUT;
	enum link_side to = from == SIDE_IN ? SIDE_OUT : SIDE_IN;

	if (n > 0 && !l->closing && from == SIDE_IN && l->asked.port == 443 && !l->hello_seen) {
		buf_add(&l->head, part->base, (size_t)n);
		link_check_hello(l);
	} else if (n > 0 && !l->closing) {
		link_write(l, to, part->base, (size_t)n, false);
		if (!l->closing && uv_stream_get_write_queue_size((uv_stream_t *)&l->side[to]) > FLOW_MAX)
			link_pause(l, from, true);
	}
	free(part->base);
	if (n >= 0 || l->closing)
		return;
	l->ended[from] = true;
	uv_read_stop(stream);
	if (n != UV_EOF || l->ended[to]) {
		link_close(l);
		return;
	}
	/* The other side learns of the end behind what is queued. */
	uv_shutdown_t *end = xcalloc(1, sizeof *end);
	if (uv_shutdown(end, (uv_stream_t *)&l->side[to], (uv_shutdown_cb)(void (*)(void))free) < 0) {
		free(end);
		link_close(l);
	}
}

static void link_pause(struct link *l, enum link_side from, bool stop)
{
	if (l->stopped[from] == stop || l->ended[from])
		return;
	l->stopped[from] = stop;
	if (stop)
		uv_read_stop((uv_stream_t *)&l->side[from]);
	else
		(void)uv_read_start((uv_stream_t *)&l->side[from], on_alloc, on_flow);
}

static void link_flow(struct link *l)
{
	l->flowing = true;
	timer_stop(l->proxy->loop, &l->timer);
	if (l->asked.kind == PROXY_CONNECT)
		link_write(l, SIDE_IN, "HTTP/1.1 200 Connection established\r\n\r\n", 39, false);
	else if (l->asked.kind == PROXY_SOCKS)
		link_write(l, SIDE_IN, "\5\0\0\1\0\0\0\0\0\0", 10, false);
	buf_clear(&l->head);
	if (l->asked.port == 443 && l->asked.kind != PROXY_PLAIN && l->asked.first.n && !l->closing) {
		buf_add(&l->head, l->asked.first.p, l->asked.first.n);
		link_check_hello(l);
	} else if (l->asked.first.n && !l->closing) {
		link_write(l, SIDE_OUT, l->asked.first.p, l->asked.first.n, false);
	}
	for (int i = 0; i < SIDES && !l->closing; i++)
		if (uv_read_start((uv_stream_t *)&l->side[i], on_alloc, on_flow) < 0)
			link_close(l);
}

static void link_ask_upstream(struct link *l);
static void on_upstream(uv_stream_t *stream, ssize_t n, const uv_buf_t *part);

static void on_connected(uv_connect_t *request, int status)
{
	struct link *l = request->data;

	if (l->closing)
		return;
	if (status < 0 && l->joined) {
		link_close(l);
	} else if (status < 0) {
		link_refuse(l, 502, uv_strerror(status));
	} else if (!l->upstream) {
		link_flow(l);
	} else {
		link_ask_upstream(l);
		if (!l->closing && uv_read_start((uv_stream_t *)&l->side[SIDE_OUT], on_alloc, on_upstream) < 0)
			link_close(l);
	}
}

static void link_dial(struct link *l, const struct sockaddr *address)
{
	if (uv_tcp_init(loop_uv(l->proxy->loop), &l->side[SIDE_OUT]) < 0) {
		link_close(l);
		return;
	}
	l->opened[SIDE_OUT] = true;
	l->handles++;
	l->side[SIDE_OUT].data = l;
	l->connect.data = l;
	int rc = uv_tcp_connect(&l->connect, &l->side[SIDE_OUT], address, on_connected);
	if (rc < 0)
		link_refuse(l, 502, uv_strerror(rc));
}

static void on_resolved(uv_getaddrinfo_t *request, int status, struct addrinfo *list)
{
	struct link *l = request->data;
	const struct sandbox_policy *policy = l->proxy->sandbox->policy;
	const struct addrinfo *good = NULL;
	unsigned kinds = 0;

	l->busy = false;
	if (l->closing) {
		uv_freeaddrinfo(list);
		if (!l->handles) { /* its sides are closed already: the last to go frees it */
			l->handles = 1;
			on_link_closed(&(uv_handle_t){ .data = l });
		}
		return;
	}
	kinds = policy ? host_addresses(policy, str_from(l->asked.host), l->asked.port) : 0;
	for (const struct addrinfo *at = list; status == 0 && at && !good; at = at->ai_next)
		if (address_kind(at->ai_addr) & kinds && (kinds & ADDRESS_LOOPBACK || !address_is_own(at->ai_addr)))
			good = at;
	if (status < 0)
		link_refuse(l, 502, uv_strerror(status));
	else if (!good)
		link_refuse(l, 403, "its address is not one that this name may lead to");
	else
		link_dial(l, good->ai_addr);
	uv_freeaddrinfo(list);
}

/* The user's own proxy gets what the lists let pass. */

static void link_ask_upstream(struct link *l)
{
	AUTO_BUF struct buf out = { 0 };
	size_t n = strlen(l->asked.host);

	if (!l->socks) {
		buf_addf(&out, "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n\r\n", l->asked.host, l->asked.port,
			 l->asked.host, l->asked.port);
	} else { /* greeting and request in one: both are known, and servers read them one behind the other */
		const char head[] = { 5, 1, 0, 5, 1, 0, 3, (char)n };
		const char port[] = { (char)(l->asked.port >> 8), (char)l->asked.port };
		buf_add(&out, head, sizeof head);
		buf_add(&out, l->asked.host, n);
		buf_add(&out, port, sizeof port);
	}
	link_write(l, SIDE_OUT, out.p, out.n, false);
}

/* How many bytes its answer takes; 0: more are needed. *ret_good: it is connected. */
static size_t read_upstream(const struct link *l, bool *ret_good)
{
	const unsigned char *p = (const unsigned char *)l->head.p;
	size_t n = l->head.n;

	if (!l->socks) {
		const char *end = n ? memmem(l->head.p, n, "\r\n\r\n", 4) : NULL;
		*ret_good = end && n > 12 && !strncmp(l->head.p, "HTTP/1.", 7) && l->head.p[9] == '2';
		return end ? (size_t)(end + 4 - l->head.p) : 0;
	}
	size_t address = n < 7 ? 0 : p[5] == 4 ? 16 : p[5] == 3 ? 1 + (size_t)p[6] : 4;
	*ret_good = n > 3 && p[1] == 0 && p[3] == 0;
	return n > 3 && !*ret_good ? n : n < 7 || n < 2 + 4 + address + 2 ? 0 : 2 + 4 + address + 2;
}

static void on_upstream(uv_stream_t *stream, ssize_t n, const uv_buf_t *part)
{
	struct link *l = stream->data;
	bool good = false;

	if (n > 0)
		buf_add(&l->head, part->base, (size_t)n);
	free(part->base);
	if (l->closing)
		return;
	size_t taken = read_upstream(l, &good);
	if (n < 0 || l->head.n > HEAD_MAX || (taken && !good)) {
		uv_read_stop(stream);
		link_refuse(l, 502, "your proxy does not connect");
	} else if (taken) {
		uv_read_stop(stream);
		AUTO_BUF struct buf early = { 0 };
		buf_add(&early, l->head.p + taken, l->head.n - taken);
		link_flow(l);
		if (early.n && !l->closing)
			link_write(l, SIDE_IN, early.p, early.n, false);
	}
}

static void on_no_answer(struct timer *timer)
{
	struct link *l = CONTAINER_OF(timer, struct link, timer);

	l->waiting = false;
	link_refuse(l, 403, "no user has answered yet");
}

static void link_reach(struct link *l)
{
	const struct sandbox_policy *policy = l->proxy->sandbox->policy;
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
	char port[8];

	uv_read_stop((uv_stream_t *)&l->side[SIDE_IN]);
	const char *why = sandbox_host_refusal(l->proxy->sandbox, l->asked.host, l->asked.port, &l->waiting);
	if (why && l->waiting) {
		timer_stop(l->proxy->loop, &l->timer);
		l->timer.fire = on_no_answer;
		timer_start(l->proxy->loop, &l->timer, ANSWER_MS);
		return;
	}
	if (why) {
		link_refuse(l, 403, why);
		return;
	}
	if (policy->http_port || policy->socks_port) {
		struct sockaddr_in at;
		uv_ip4_addr("127.0.0.1", (int)(policy->http_port ? policy->http_port : policy->socks_port), &at);
		l->socks = !policy->http_port;
		l->upstream = true;
		buf_clear(&l->head);
		link_dial(l, (struct sockaddr *)&at);
		return;
	}
	snprintf(port, sizeof port, "%u", l->asked.port);
	l->lookup.data = l;
	l->busy = true;
	const char *name = l->asked.host;
	AUTO_FREE char *bare = name[0] == '[' ? xstrndup(name + 1, strlen(name) - 2) : NULL;
	int rc = uv_getaddrinfo(loop_uv(l->proxy->loop), &l->lookup, on_resolved, bare ? bare : name, port, &hints);
	if (rc < 0) {
		l->busy = false;
		link_refuse(l, 502, uv_strerror(rc));
	}
}

static void on_head(uv_stream_t *stream, ssize_t n, const uv_buf_t *part)
{
	struct link *l = stream->data;
	enum request_state state = REQUEST_PART;

	if (n > 0)
		buf_add(&l->head, part->base, (size_t)n);
	free(part->base);
	if (n < 0 || l->closing) {
		link_close(l);
		return;
	}
	for (size_t taken = 0;
	     l->head.n && (state = proxy_request_read(&l->asked, buf_str(&l->head), &taken)) == REQUEST_GREETED;) {
		link_write(l, SIDE_IN, "\5\0", 2, false);
		buf_drop(&l->head, taken);
	}
	if (l->closing)
		return;
	if (state == REQUEST_WHOLE)
		link_reach(l);
	else if (state == REQUEST_BAD)
		link_refuse(l, 400, "this is not a request to a proxy");
	else if (l->head.n > HEAD_MAX)
		link_refuse(l, 400, "this request is too long");
}

void proxy_answered(struct proxy *p, const char *host, unsigned port)
{
	struct link *next;

	for (struct link *l = p ? p->links : NULL; l; l = next) {
		next = l->next;
		if (!l->waiting || l->closing || l->asked.port != port || strcmp(l->asked.host, host) != 0)
			continue;
		timer_stop(p->loop, &l->timer);
		l->timer.fire = on_silence;
		timer_start(p->loop, &l->timer, FIRST_BYTES_MS);
		link_reach(l);
	}
}

static void on_silence(struct timer *timer)
{
	link_close(CONTAINER_OF(timer, struct link, timer));
}

/* The address that the program dialled: an invented one, our loopback, or a literal. */
static void link_take_clear(struct link *l)
{
	struct sockaddr_storage at = { 0 };
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)&at;
	int n = sizeof at;
	char text[INET6_ADDRSTRLEN + 3] = "[";

	l->asked.kind = PROXY_CLEAR;
	if (uv_tcp_getsockname(&l->side[SIDE_IN], (struct sockaddr *)&at, &n) < 0) {
		link_close(l);
		return;
	}
	bool is_four = at.ss_family == AF_INET || IN6_IS_ADDR_V4MAPPED(&six->sin6_addr);
	uint32_t four = ((struct sockaddr_in *)&at)->sin_addr.s_addr;
	if (at.ss_family == AF_INET6)
		memcpy(&four, six->sin6_addr.s6_addr + 12, sizeof four);
	bool loopback = is_four ? ntohl(four) >> 24 == 127 : IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
	const char *name = is_four ? names_find(l->proxy->names, ntohl(four)) : NULL;
	if (is_four)
		(void)uv_inet_ntop(AF_INET, &four, text, sizeof text);
	else if (uv_inet_ntop(AF_INET6, &six->sin6_addr, text + 1, INET6_ADDRSTRLEN) == 0)
		memcpy(text + strlen(text), "]", 2);
	l->asked.port = ntohs(at.ss_family == AF_INET6 ? six->sin6_port : ((struct sockaddr_in *)&at)->sin_port);
	l->asked.host = xstrdup(name ? name : loopback ? "localhost" : text);
	link_reach(l);
}

/* NULL: there is no connection. One above the limit is closed at once. */
static struct link *link_accept(struct proxy *p, uv_stream_t *listener)
{
	struct link *l = xcalloc(1, sizeof *l);

	if (uv_tcp_init(loop_uv(p->loop), &l->side[SIDE_IN]) < 0) {
		free(l);
		return NULL;
	}
	l->proxy = p;
	l->opened[SIDE_IN] = true;
	l->handles = 1;
	l->side[SIDE_IN].data = l;
	l->timer.fire = on_silence;
	list_push(&p->links, l);
	p->count++;
	if (uv_accept(listener, (uv_stream_t *)&l->side[SIDE_IN]) < 0 || p->count > LINKS_MAX)
		link_close(l);
	return l;
}

void proxy_join(struct proxy *p, uv_stream_t *listener, int fd, size_t spare, unsigned port)
{
	struct link *l = link_accept(p, listener);
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int own = fd < 0 ? -1 : dup(fd); /* libuv closes what it is given */

	if (l) {
		l->joined = fd >= 0;
		l->spare = spare;
		l->asked.kind = PROXY_CLEAR;
	}
	if (!l || l->closing || own < 0 || uv_tcp_init(loop_uv(p->loop), &l->side[SIDE_OUT]) < 0) {
		if (own >= 0)
			close(own);
		if (l)
			link_close(l);
		else if (fd >= 0)
			publish_return(p->sandbox->publish, spare);
		return;
	}
	l->opened[SIDE_OUT] = true;
	l->handles++;
	l->side[SIDE_OUT].data = l;
	l->connect.data = l;
	if (uv_tcp_open(&l->side[SIDE_OUT], own) < 0 ||
	    uv_tcp_connect(&l->connect, &l->side[SIDE_OUT], (struct sockaddr *)&at, on_connected) < 0)
		link_close(l);
}

static void on_connection(uv_stream_t *listener, int status)
{
	struct proxy *p = listener->data;
	struct link *l = status < 0 ? NULL : link_accept(p, listener);

	if (!l || l->closing)
		return;
	bool clear = listener != (uv_stream_t *)&p->listener;
	if (!clear && uv_read_start((uv_stream_t *)&l->side[SIDE_IN], on_alloc, on_head) < 0) {
		link_close(l);
		return;
	}
	timer_start(p->loop, &l->timer, FIRST_BYTES_MS);
	if (clear)
		link_take_clear(l);
}

static void proxy_listen(struct proxy *p, uv_tcp_t *listener, int fd)
{
	int own = dup(fd); /* libuv closes what it is given */

	uv_tcp_init(loop_uv(p->loop), listener);
	listener->data = p;
	p->open++;
	if (own >= 0 && uv_tcp_open(listener, own) == 0)
		(void)uv_listen((uv_stream_t *)listener, 128, on_connection);
	uv_unref((uv_handle_t *)listener); /* it does not keep the loop alive */
}

struct proxy *proxy_new(struct sandbox *s, const struct cell *cell)
{
	struct proxy *p = xcalloc(1, sizeof *p);

	p->sandbox = s;
	p->loop = s->loop;
	p->names = names_new(p->loop, cell);
	proxy_listen(p, &p->listener, cell_fd(cell, CELL_SOCKET_PROXY, 0));
	for (size_t i = 0; i < CELL_PORTS_MAX; i++)
		if (cell_fd(cell, CELL_SOCKET_PORT, i) >= 0)
			proxy_listen(p, &p->ports[i], cell_fd(cell, CELL_SOCKET_PORT, i));
	return p;
}

static void on_listener_closed(uv_handle_t *handle)
{
	struct proxy *p = handle->data;

	p->open--;
	proxy_maybe_free(p);
}

void proxy_free(struct proxy *p)
{
	if (!p)
		return;
	p->closing = true;
	for (struct link *l = p->links; l; l = l->next)
		link_close(l);
	names_free(p->names);
	uv_close((uv_handle_t *)&p->listener, on_listener_closed);
	for (size_t i = 0; i < CELL_PORTS_MAX; i++)
		if (p->ports[i].data)
			uv_close((uv_handle_t *)&p->ports[i], on_listener_closed);
}
