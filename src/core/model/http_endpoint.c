/* SPDX-License-Identifier: MIT
 * http_endpoint.c - requests of a model call over HTTP. */
#include "core/model/http_endpoint.h"

static void add_header(struct http_endpoint *p, const char *line)
{
	if (p->header_count + 1 >= p->header_cap) {
		p->header_cap = p->header_cap ? p->header_cap * 2 : 16;
		p->headers = xrealloc(p->headers, p->header_cap * sizeof *p->headers);
	}
	p->headers[p->header_count++] = line;
	p->headers[p->header_count] = NULL;
}

void http_endpoint_header(struct http_endpoint *p, const char *name, const char *value)
{
	add_header(p, arena_printf(&p->arena, "%s: %s", name, value));
}

/* A header that the client would drop or the server misread is refused before the first request. */
static int add_extra_headers(struct http_endpoint *p, const char *lines, struct err *err)
{
	struct str all = str_from(lines);

	for (unsigned number = 1; all.p; number++) {
		struct str line = str_trim(str_cut(&all, '\n')), rest = line;
		struct str name = str_trim(str_cut(&rest, ':'));
		const char *why = !rest.p                                  ? "it has no colon"
				  : !name.n || memchr(name.p, ' ', name.n) ? "its name is invalid"
									   : NULL;
		if (!line.n)
			continue;
		for (size_t i = 0; i < line.n && !why; i++) {
			unsigned char c = (unsigned char)line.p[i];
			if ((c < ' ' && c != '\t') || c == 0x7f)
				why = "it has a control character";
			else if (c >= 0xc4)
				why = "it has a character above U+00FF";
		}
		if (why)
			return err_set(err, ERR_USAGE, "line %u of ANTHROPIC_CUSTOM_HEADERS is not a header: %s",
				       number, why);
		add_header(p, arena_str(&p->arena, line).p);
	}
	return 0;
}

int http_endpoint_open(struct http_endpoint *p, const struct endpoint_options *o, const char *base, const char *path,
		       struct err *err)
{
	struct str query = str_from(base);
	struct str trimmed = str_cut(&query, '?'); /* Azure has ?api-version= in its base */

	add_header(p, "content-type: application/json");
	add_header(p, "accept: text/event-stream");
	if (!o->extra_headers || add_extra_headers(p, o->extra_headers, err) == 0)
		p->client = http_new(o->loop, &(struct http_options){ .user_agent = "cadre/" CADRE_VERSION }, err);
	if (!p->client) {
		http_endpoint_close(p);
		return -(int)err->kind;
	}
	while (trimmed.n && trimmed.p[trimmed.n - 1] == '/')
		trimmed.n--;
	p->base = arena_str(&p->arena, trimmed).p;
	p->url = arena_printf(&p->arena, STR_FMT "%s%s" STR_FMT, STR_ARG(trimmed), path, query.p ? "?" : "",
			      STR_ARG(query.p ? query : STR("")));
	bool loopback = strstr(base, "://127.") || strstr(base, "://localhost") || strstr(base, "://[::1]");
	p->stall_ms = o->stall_ms ? o->stall_ms : loopback ? LOCAL_STALL_MS : USUAL_STALL_MS;
	return 0;
}

void http_endpoint_close(struct http_endpoint *p)
{
	http_free(p->client);
	free(p->headers);
	arena_release(&p->arena);
}

int http_endpoint_post(struct http_endpoint *p, struct model_call *call, const char *url, const struct http_body *body,
		       const char *const *own, const struct http_handlers *handlers, struct http_req **ret_transfer,
		       struct err *err)
{
	size_t n = p->header_count;
	AUTO_FREE const char **headers = xmalloc((n + str_count(own) + 3) * sizeof *headers);
	char agent[192], member[192];

	memcpy(headers, p->headers, n * sizeof *headers);
	while (own && *own)
		headers[n++] = *own++;
	if (call->agent[0]) {
		snprintf(agent, sizeof agent, "x-cadre-agent: %s", call->agent);
		headers[n++] = agent;
	}
	if (strchr(call->agent, '@')) { /* a member of a team */
		snprintf(member, sizeof member, "x-claude-code-agent-id: %s", call->agent);
		headers[n++] = member;
	}
	headers[n] = NULL;
	if (!call->shard)
		call->shard = http_pick_shard(p->client);
	struct http_request request = {
		.method = "POST",
		.url = url ? url : p->url,
		.headers = headers,
		.body = *body,
		.body_data = call->transfer,
		.shard = call->shard,
		.stall_ms = p->stall_ms,
		.limit_bytes = LARGEST_ANSWER,
	};
	return http_start(p->client, &request, handlers, call, ret_transfer, err);
}

void http_endpoint_on_head(struct http_req *r, int status)
{
	((struct model_call *)http_data(r))->status = status;
}

void http_endpoint_on_header(struct http_req *r, struct str name, struct str value)
{
	model_call_header(http_data(r), name, value);
}

enum failure_kind http_endpoint_failure(enum http_error error)
{
	static const enum failure_kind kinds[] = {
		[HTTP_OK] = FAIL_NONE,
		[HTTP_REFUSED] = FAIL_CONNECT,
		[HTTP_RESOLVE] = FAIL_CONNECT,
		[HTTP_TLS] = FAIL_TLS,
		[HTTP_RESET] = FAIL_CUT,
		[HTTP_STALLED] = FAIL_STALL,
		[HTTP_TOO_LARGE] = FAIL_TOO_LARGE,
		[HTTP_DENIED] = FAIL_CONNECT,
		[HTTP_CANCELLED] = FAIL_CANCELLED,
		[HTTP_OTHER] = FAIL_CONNECT,
	};

	return kinds[error];
}

int http_endpoint_check(const struct provider *p, const struct endpoint_options *o, struct err *err)
{
	const char *url = o->base_url, *host = url ? strstr(url, "://") : NULL;

	if (o->api_key && strpbrk(o->api_key, "\r\n"))
		return err_set(err, ERR_USAGE, "%s has a line end in it",
			       p->env.api_key ? p->env.api_key : "the API key");
	if (o->auth_token && strpbrk(o->auth_token, "\r\n"))
		return err_set(err, ERR_USAGE, "%s has a line end in it",
			       p->env.auth_token ? p->env.auth_token : "the token");
	if (!url || ((str_starts(str_from(url), STR("http://")) || str_starts(str_from(url), STR("https://"))) &&
		     host[3] && host[3] != '/' && !strpbrk(url, " \t\r\n")))
		return 0;
	return err_set(err, ERR_USAGE, "%s is not an address (http://... or https://...): %s", p->env.base_url, url);
}
