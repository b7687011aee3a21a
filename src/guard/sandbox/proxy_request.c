/* SPDX-License-Identifier: MIT
 * proxy_request.c - what a client of the proxy asks for: HTTP (CONNECT, absolute form) or SOCKS5, by the first byte. Bytes in,
 * a host and a port out; no connection is known here (fuzz/fuzz_proxy.c). What can be read in two ways is refused. */
#include <arpa/inet.h>
#include <ctype.h>
#include "guard/sandbox/sandbox_int.h"

void proxy_request_release(struct proxy_request *r)
{
	buf_release(&r->first);
	free(r->host);
	*r = (struct proxy_request){ 0 };
}

/* host, host:port or [v6]:port; the name is judged later (policy.c). */
static bool request_take_host(struct proxy_request *r, struct str text, uint64_t port)
{
	struct str name;

	if (!host_split(text, &name, &port) || !name.n || memchr(name.p, '\0', name.n))
		return false;
	free(r->host);
	r->host = xstrndup(name.p, name.n);
	for (char *c = r->host; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	r->port = (unsigned)port;
	return true;
}

static struct str header_value(struct str line, const char *name)
{
	size_t n = strlen(name);

	if (line.n <= n || line.p[n] != ':' || !str_is_nocase((struct str){ line.p, n }, name))
		return (struct str){ 0 };
	return str_trim((struct str){ line.p + n + 1, line.n - n - 1 });
}

static struct str cut_line(struct str *rest)
{
	struct str line = str_cut(rest, '\n');

	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	return line;
}

/* GET http://host/path: the server gets "GET /path", without what was meant for us. */
static bool request_rewrite(struct proxy_request *r, struct str method, struct str target, struct str headers)
{
	if (!str_starts(target, STR("http://")))
		return false;
	struct str rest = { target.p + 7, target.n - 7 };
	size_t n = 0;
	while (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?')
		n++;
	AUTO_FREE char *authority = xstrndup(rest.p, n);
	if (strchr(authority, '@') || !request_take_host(r, (struct str){ rest.p, n }, 80))
		return false;
	buf_addf(&r->first, STR_FMT " %s" STR_FMT " HTTP/1.1\r\n", STR_ARG(method),
		 n < rest.n && rest.p[n] == '/' ? "" : "/", STR_ARG(((struct str){ rest.p + n, rest.n - n })));
	while (headers.p) {
		struct str line = cut_line(&headers);
		struct str rest_of_line = line;
		struct str name = str_cut(&rest_of_line, ':');
		for (size_t i = 0; i < name.n; i++) /* "Host :" and folded lines are a Host for some servers */
			if (!rest_of_line.p || !isgraph((unsigned char)name.p[i]))
				return false;
		struct str host = header_value(line, "Host");
		if (host.p && !str_is_nocase(host, authority))
			return false;
		bool ours = line.n > 6 && str_is_nocase((struct str){ line.p, 6 }, "Proxy-");
		if (line.n && !ours && !header_value(line, "Connection").p)
			buf_addf(&r->first, STR_FMT "\r\n", STR_ARG(line));
	}
	buf_addstr(&r->first, "Connection: close\r\n\r\n");
	return true;
}

static enum request_state read_http(struct proxy_request *r, struct str said)
{
	const char *end = said.n ? memmem(said.p, said.n, "\r\n\r\n", 4) : NULL;

	r->kind = PROXY_PLAIN;
	if (said.n && !isupper((unsigned char)said.p[0])) /* SOCKS4, TLS: more bytes make no request of it */
		return REQUEST_BAD;
	if (!end)
		return REQUEST_PART;
	struct str headers = { said.p, (size_t)(end - said.p) };
	struct str body = { end + 4, said.n - headers.n - 4 };
	for (size_t i = 0; i < headers.n; i++) /* one that does not end a line ends it for some servers */
		if (!headers.p[i] || (headers.p[i] == '\r' && headers.p[i + 1] != '\n'))
			return REQUEST_BAD;
	struct str line = cut_line(&headers);
	struct str method = str_cut(&line, ' ');
	struct str target = line.p ? str_cut(&line, ' ') : STR("");
	if (!line.p || !str_starts(line, STR("HTTP/1.")) || line.n != 8 || !method.n)
		return REQUEST_BAD;
	r->kind = str_is(method, "CONNECT") ? PROXY_CONNECT : PROXY_PLAIN;
	if (!(r->kind == PROXY_CONNECT ? request_take_host(r, target, 443)
				       : request_rewrite(r, method, target, headers)))
		return REQUEST_BAD;
	buf_add(&r->first, body.p, body.n);
	return REQUEST_WHOLE;
}

/* 5, count, methods; then 5, 1 (connect), 0, 1|3|4, address, port. */
static enum request_state read_socks(struct proxy_request *r, struct str said, size_t *ret_taken)
{
	const unsigned char *p = (const unsigned char *)said.p;
	char text[INET6_ADDRSTRLEN + 2] = "[";

	r->kind = PROXY_SOCKS;
	if (!r->greeted) {
		if (said.n < 2 || said.n < 2 + (size_t)p[1])
			return REQUEST_PART;
		r->greeted = true;
		*ret_taken = 2 + (size_t)p[1];
		return REQUEST_GREETED;
	}
	if (said.n < 5)
		return REQUEST_PART;
	size_t size = p[3] == 1 ? 4 : p[3] == 3 ? 1 + (size_t)p[4] : p[3] == 4 ? 16 : 0;
	if (p[0] != 5 || p[1] != 1 || !size)
		return REQUEST_BAD;
	if (said.n < 4 + size + 2)
		return REQUEST_PART;
	r->port = (unsigned)p[4 + size] << 8 | p[5 + size];
	if (!r->port)
		return REQUEST_BAD;
	if (p[3] == 3) {
		if (!p[4] || memchr(p + 5, '\0', p[4]))
			return REQUEST_BAD;
		r->host = xstrndup((const char *)p + 5, p[4]);
	} else if (p[3] == 1) {
		r->host = xstrdup(inet_ntop(AF_INET, p + 4, text, sizeof text));
	} else {
		(void)inet_ntop(AF_INET6, p + 4, text + 1, INET6_ADDRSTRLEN);
		memcpy(text + strlen(text), "]", 2);
		r->host = xstrdup(text);
	}
	for (char *c = r->host; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	buf_add(&r->first, said.p + 4 + size + 2, said.n - (4 + size + 2));
	return REQUEST_WHOLE;
}

enum request_state proxy_request_read(struct proxy_request *r, struct str said, size_t *ret_taken)
{
	*ret_taken = 0;
	if (said.n && (r->greeted || said.p[0] == 5))
		return read_socks(r, said, ret_taken);
	return read_http(r, said);
}
