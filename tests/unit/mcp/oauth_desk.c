/* SPDX-License-Identifier: MIT
 * oauth_desk.c - the servers of the authorisation tests, and their client. */
#include "oauth_desk.h"
#include "lib/base/base64.h"
#include "mcp/auth/oauth_http.h"
#include "unit.h"

static void add_filled(struct desk *d, struct buf *out, const char *text)
{
	for (const char *c = text; *c; c++) {
		if (c[0] == '$') {
			c++;
			buf_addf(out, "%s%u", *c == 'U' ? "http://127.0.0.1:" : "", server_port(d->server));
		} else {
			buf_addch(out, *c);
		}
	}
}

/* Later ones go before earlier ones. */
static struct desk_rule *find_rule(struct desk *d, struct str request)
{
	for (size_t i = d->rule_count; i-- > 0;)
		if (str_is(request, d->rules[i].request) && d->rules[i].uses != UINT32_MAX)
			return &d->rules[i];
	return NULL;
}

static void use_up(struct desk_rule *rule)
{
	if (rule->uses && --rule->uses == 0)
		rule->uses = UINT32_MAX;
}

static void keep(struct buf *to, struct str text)
{
	buf_clear(to);
	buf_add(to, text.p, text.n);
	buf_addch(to, '\0');
	to->n--;
}

/* Back to the client, as a person who agrees would go. */
static void add_callback(struct desk *d, struct buf *out, struct str query)
{
	AUTO_ARENA struct arena arena = { 0 };
	const char *extra = d->authorize_extra ? d->authorize_extra : "";

	buf_addf(out, "%s?%sstate=", oauth_form_get(&arena, query, "redirect_uri"),
		 strstr(extra, "error=") ? "" : "code=c0de&");
	percent_encode(out, str_from(oauth_form_get(&arena, query, "state")), "");
	add_filled(d, out, extra);
}

static void take(struct desk *d, struct peer *p, struct str request, struct str query)
{
	if (str_is(request, "POST /token")) {
		keep(&d->form, buf_str(&p->body));
		keep(&d->head, buf_str(&p->head));
	} else if (str_is(request, "POST /register")) {
		keep(&d->registration, buf_str(&p->body));
	} else if (str_is(request, "GET /authorize")) {
		keep(&d->query, query);
	}
}

static void answer(struct desk *d, struct peer *p, struct str request, struct str query)
{
	AUTO_BUF struct buf body = { 0 };
	AUTO_BUF struct buf head = { 0 };
	struct desk_rule *rule = find_rule(d, request);
	int status = rule ? rule->status : 404;

	take(d, p, request, query);
	buf_addf(&d->log, "%s" STR_FMT " %d", d->log.n ? ", " : "", STR_ARG(request), status);
	buf_addf(&head, "HTTP/1.1 %d Said\r\n", status);
	if (rule && rule->location) {
		buf_addstr(&head, "Location: ");
		if (!strcmp(rule->location, "callback"))
			add_callback(d, &head, query);
		else
			add_filled(d, &head, rule->location);
		buf_addstr(&head, "\r\n");
	}
	add_filled(d, &body, rule && rule->body ? rule->body : "{}");
	buf_addf(&head, "Content-Length: %zu\r\n\r\n%s", body.n, body.p);
	if (rule)
		use_up(rule);
	peer_send_n(p, head.p, head.n);
}

static void serve(struct peer *p)
{
	struct desk *d = p->data;

	while (peer_request(p)) {
		struct str line = buf_str(&p->head);
		struct str method = str_cut(&line, ' ');
		struct str query = str_cut(&line, ' ');
		struct str path = str_cut(&query, '?');
		AUTO_BUF struct buf request = { 0 };
		buf_addf(&request, STR_FMT " " STR_FMT, STR_ARG(method), STR_ARG(path));
		pthread_mutex_lock(&d->lock);
		answer(d, p, buf_str(&request), query.p ? query : STR(""));
		pthread_mutex_unlock(&d->lock);
	}
}

static void on_browsed(void *desk)
{
	((struct desk *)desk)->visits++;
}

static void browse(void *desk, const char *url)
{
	struct desk *d = desk;

	CHECK(d->browser_count < DESK_BROWSERS);
	d->browsers[d->browser_count++] = oauth_fetch_start(
		d->loop, d->http, &(struct oauth_request){ .url = url, .redirects = OAUTH_LOOPBACK }, on_browsed, d);
}

void desk_no_person(struct desk *d)
{
	d->env.open_url = NULL;
}

void desk_on_end(void *desk, const struct err *err)
{
	struct desk *d = desk;

	d->ends++;
	d->err = err ? *err : (struct err){ 0 };
}

void desk_new_auth(struct desk *d)
{
	mcp_auth_free(d->auth);
	d->auth = mcp_auth_new(&d->env, &d->config);
}

static void add_rule(struct desk *d, struct desk_rule rule)
{
	pthread_mutex_lock(&d->lock);
	CHECK(d->rule_count < DESK_RULES);
	d->rules[d->rule_count++] = rule;
	pthread_mutex_unlock(&d->lock);
}

void desk_says(struct desk *d, const char *request, int status, const char *body)
{
	add_rule(d, (struct desk_rule){ .request = request, .status = status, .body = body });
}

void desk_once(struct desk *d, const char *request, int status, const char *body)
{
	add_rule(d, (struct desk_rule){ .request = request, .status = status, .body = body, .uses = 1 });
}

void desk_moves(struct desk *d, const char *request, const char *location)
{
	add_rule(d, (struct desk_rule){ .request = request, .status = 302, .location = location });
}

static const struct desk_rule everything[] = {
	{ .request = "GET /.well-known/oauth-protected-resource/mcp",
	  .status = 200,
	  .body = "{\"resource\":\"$U/mcp\",\"authorization_servers\":[\"$U\"]}" },
	{ .request = "GET /.well-known/oauth-authorization-server",
	  .status = 200,
	  .body = "{\"issuer\":\"$U\",\"authorization_endpoint\":\"$U/authorize\",\"token_endpoint\":\"$U/token\","
		  "\"registration_endpoint\":\"$U/register\",\"code_challenge_methods_supported\":[\"S256\"]}" },
	{ .request = "POST /register", .status = 201, .body = "{\"client_id\":\"client-1\"}" },
	{ .request = "GET /authorize", .status = 302, .location = "callback" },
	{ .request = "POST /token",
	  .status = 200,
	  .body = "{\"access_token\":\"token-1\",\"token_type\":\"Bearer\",\"expires_in\":3600,\"refresh_token\":\"again-1\"}" },
};

void desk_init(struct desk *d)
{
	*d = (struct desk){ 0 };
	pthread_mutex_init(&d->lock, NULL);
	for (size_t i = 0; i < COUNT_OF(everything); i++)
		add_rule(d, everything[i]);
	d->server = server_start(serve, d, NULL);
	d->loop = loop_new(0);
	d->http = http_new(d->loop, &(struct http_options){ 0 });
	folder_make(d->dir);
	snprintf(d->file, sizeof d->file, "%s/deep/tokens.json", d->dir);
	snprintf(d->url, sizeof d->url, "http://127.0.0.1:%u/mcp", server_port(d->server));
	d->env = (struct mcp_env){
		.loop = d->loop, .http = d->http, .auth_file = d->file, .open_url = browse, .data = d
	};
	d->config = (struct mcp_server){ .name = "far", .key = "far", .kind = MCP_HTTP, .url = d->url };
	desk_new_auth(d);
}

void desk_release(struct desk *d)
{
	mcp_auth_free(d->auth);
	for (size_t i = 0; i < d->browser_count; i++)
		oauth_fetch_free(d->browsers[i]);
	loop_run(d->loop);
	http_free(d->http);
	loop_free(d->loop);
	server_stop(d->server);
	pthread_mutex_destroy(&d->lock);
	buf_release(&d->log);
	buf_release(&d->form);
	buf_release(&d->head);
	buf_release(&d->query);
	buf_release(&d->registration);
	folder_remove(d->dir);
}

const char *desk_challenge(struct desk *d, int status, const char *www_authenticate)
{
	unsigned before = d->ends;

	mcp_auth_challenge(d->auth, status, str_from(www_authenticate), desk_on_end, d);
	CHECK_INT(d->ends, before); /* never from inside */
	loop_run(d->loop);
	CHECK_INT(d->ends, before + 1);
	return d->err.kind ? d->err.text : "ok";
}

const char *desk_log(struct desk *d)
{
	static char copy[2048];

	pthread_mutex_lock(&d->lock);
	snprintf(copy, sizeof copy, "%s", d->log.n ? d->log.p : "");
	buf_clear(&d->log);
	pthread_mutex_unlock(&d->lock);
	return copy;
}

const char *desk_field(struct desk *d, struct buf *form, const char *name)
{
	static char copy[1024];
	AUTO_ARENA struct arena arena = { 0 };

	pthread_mutex_lock(&d->lock);
	const char *value = oauth_form_get(&arena, buf_str(form), name);
	snprintf(copy, sizeof copy, "%s", value ? value : "");
	pthread_mutex_unlock(&d->lock);
	return copy;
}
