/* SPDX-License-Identifier: MIT
 * server_read.c - one entry of "mcpServers": variables in its texts, a table of types, and a function for each field. */
#include "config/settings/settings.h"
#include "lib/base/utf8.h"
#include "mcp/servers/server.h"

/* ---- ${NAME} and ${NAME:-default} ---- */

/* ${NAME} or ${NAME:-default} */
struct variable {
	struct str name;
	struct str fallback; /* p NULL: none */
	const char *end;     /* behind the brace */
};

static size_t variable_length(const char *p)
{
	size_t n = 0;

	for (;; n++) {
		bool letter = (p[n] >= 'a' && p[n] <= 'z') || (p[n] >= 'A' && p[n] <= 'Z') || p[n] == '_';
		if (!letter && !(n && p[n] >= '0' && p[n] <= '9'))
			return n;
	}
}

/* last is the last brace of the text: a variable that begins after it has no end. */
static bool parse_variable(const char *at, const char *last, struct variable *ret)
{
	struct variable v = { 0 };

	if (at[0] != '$' || at[1] != '{' || at > last)
		return false;
	v.name = (struct str){ at + 2, variable_length(at + 2) };
	v.end = v.name.p + v.name.n;
	if (v.end[0] == ':' && v.end[1] == '-') {
		v.fallback.p = v.end + 2;
		v.end = strchr(v.fallback.p, '}');
		if (!v.end)
			return false;
		v.fallback.n = (size_t)(v.end - v.fallback.p);
	}
	if (!v.name.n || *v.end != '}')
		return false;
	v.end++;
	*ret = v;
	return true;
}

static const char *look_up_variable(const struct mcp_entry *entry, struct str name)
{
	if (entry->lookup)
		return entry->lookup(entry->data, name);
	AUTO_FREE char *copy = xstrndup(name.p, name.n);
	return getenv(copy);
}

static void note_unset(struct buf *notes, const char *place, struct str name, bool withheld)
{
	if (!notes)
		return;
	if (withheld)
		buf_addf(notes,
			 "%s: ${" STR_FMT
			 "} is not filled in: its name is that of a secret, and a project defines this "
			 "server; define the server yourself (`cadre mcp add`) to give it the secret\n",
			 place, STR_ARG(name));
	else
		buf_addf(notes,
			 "%s: ${" STR_FMT "} is not set and stays as it is; ${" STR_FMT ":-...} gives a default\n",
			 place, STR_ARG(name), STR_ARG(name));
}

static void add_value(struct buf *out, const struct mcp_entry *entry, const char *at, const struct variable *v,
		      const char *place, struct buf *notes)
{
	bool withheld = entry->of_project && env_is_secret(v->name);
	const char *value = withheld ? NULL : look_up_variable(entry, v->name);

	if (value) {
		buf_addstr(out, value);
	} else if (v->fallback.p) {
		buf_add(out, v->fallback.p, v->fallback.n);
	} else {
		buf_add(out, at, (size_t)(v->end - at));
		note_unset(notes, place, v->name, withheld);
	}
}

static const char *expand_variables(struct arena *a, const struct mcp_entry *entry, const char *place, const char *text,
				    struct buf *notes)
{
	AUTO_BUF struct buf out = { 0 };
	const char *last = strrchr(text, '}');
	struct variable v;

	for (const char *at = text; *at;) {
		if (last && parse_variable(at, last, &v)) {
			add_value(&out, entry, at, &v, place, notes);
			at = v.end;
		} else {
			buf_addch(&out, *at++);
		}
	}
	return arena_str(a, buf_str(&out)).p;
}

/* ---- fields ---- */

/* The texts of one entry together are bounded by the file; what is compared with each other is bounded here. */
enum { LEAST_TIMEOUT_MS = 1000, MOST_MEMBERS = 1000 };

struct entry_reader {
	const struct mcp_entry *entry;
	struct mcp_server *s;
	const char *place; /* how messages begin */
	struct buf *notes;
	const char **ret_type;
	struct err *err;
};

static int entry_fail(struct entry_reader *r, const char *type, const char *fmt, ...) printf_like(3, 4);
static int entry_fail(struct entry_reader *r, const char *type, const char *fmt, ...)
{
	char text[sizeof r->err->text];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	if (r->ret_type)
		*r->ret_type = type;
	return err_set(r->err, ERR_USAGE, "%s: %s", r->place, text);
}

static int entry_fail_field(struct entry_reader *r, const char *field, const char *expected)
{
	return entry_fail(r, "invalid_config", "%s: expected %s", field, expected);
}

static const char *expand_text(struct entry_reader *r, const char *text)
{
	return expand_variables(&r->s->arena, r->entry, r->place, text, r->notes);
}

/* A text that is there must have something in it. *ret stays as it is if there is none. */
static int read_text(struct entry_reader *r, const struct json *object, const char *field, bool expanded,
		     const char **ret)
{
	const struct json *v = json_get(object, field);
	const char *text = json_cstr(v, &r->s->arena);

	if (!v)
		return 0;
	if (!text || !text[0])
		return entry_fail_field(r, field, "a text that is not empty");
	*ret = expanded ? expand_text(r, text) : text;
	return 0;
}

/* Room for the elements or members of a field, and the NULL behind them; all NULL. */
static int make_list(struct entry_reader *r, const struct json *v, enum json_type type, const char *field,
		     const char ***ret_list)
{
	*ret_list = NULL;
	if (v && !json_is(v, type))
		return entry_fail_field(r, field, type == JSON_ARRAY ? "an array of strings" : "an object of strings");
	if (v && v->count > MOST_MEMBERS)
		return entry_fail(r, "invalid_config", "%s: more than %d elements", field, MOST_MEMBERS);
	*ret_list = arena_calloc(&r->s->arena, ((v ? v->count : 0) + 1) * sizeof **ret_list);
	return 0;
}

static int read_args(struct entry_reader *r)
{
	const struct json *list = json_get(r->entry->value, "args");
	const char **args;
	size_t n = 0;

	if (make_list(r, list, JSON_ARRAY, "args", &args) < 0)
		return -ERR_USAGE;
	for (const struct json *v = json_first(list); v; v = json_next(list, v)) {
		const char *text = json_cstr(v, &r->s->arena);
		if (!text)
			return entry_fail_field(r, "args", "an array of strings");
		args[n++] = expand_text(r, text);
	}
	r->s->args = args;
	return 0;
}

/* The last of repeated members wins, as everywhere. */
static bool is_repeated(const struct json *object, struct json_member m, struct arena *a)
{
	return json_get_str(object, json_str(m.key, a)) != m.value;
}

/* Strings, and numbers and booleans as they are written. */
static const char *scalar_text(struct entry_reader *r, const struct json *v)
{
	struct str raw = json_raw(v);

	if (json_is(v, JSON_STRING))
		return json_cstr(v, &r->s->arena);
	if (json_is(v, JSON_NUMBER) || json_is(v, JSON_TRUE) || json_is(v, JSON_FALSE))
		return arena_str(&r->s->arena, raw).p;
	return NULL;
}

static bool is_variable_name(const char *name)
{
	return name && name[0] && !strchr(name, '=');
}

static bool names_same(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return n == strcspn(b, "=") && !memcmp(a, b, n);
}

/* Defaults from the caller; the entry overrides them. */
static const char *const *add_given(struct entry_reader *r, const char **own, size_t count)
{
	const char *const *given = r->entry->env;
	size_t more = 0;

	while (given && given[more])
		more++;
	if (!more)
		return own;
	const char **all = arena_calloc(&r->s->arena, (count + more + 1) * sizeof *all);
	size_t n = count;
	for (size_t i = 0; i < count; i++)
		all[i] = own[i];
	for (size_t i = 0; i < more; i++) {
		size_t k = 0;
		while (k < count && !names_same(own[k], given[i]))
			k++;
		if (k == count)
			all[n++] = arena_strdup(&r->s->arena, given[i]);
	}
	return all;
}

static int read_env(struct entry_reader *r)
{
	const struct json *map = json_get(r->entry->value, "env");
	struct arena *a = &r->s->arena;
	const char **env;
	size_t n = 0;

	if (make_list(r, map, JSON_OBJECT, "env", &env) < 0)
		return -ERR_USAGE;
	for (struct json_member m = json_members(map); m.key; m = json_member_next(map, m)) {
		const char *name = json_cstr(m.key, a);
		const char *value = scalar_text(r, m.value);
		if (!is_variable_name(name) || !value)
			return entry_fail_field(r, "env", "an object of strings, its keys names of variables");
		if (!is_repeated(map, m, a))
			env[n++] = arena_printf(a, "%s=%s", name, expand_text(r, value));
	}
	r->s->env = add_given(r, env, n);
	return 0;
}

static bool is_header_name(const char *name)
{
	static const char others[] = "!#$%&'*+-.^_`|~";

	for (const char *p = name; p && *p; p++) {
		bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9');
		if (!letter && !strchr(others, *p))
			return false;
	}
	return name && name[0];
}

static int read_headers(struct entry_reader *r)
{
	const struct json *map = json_get(r->entry->value, "headers");
	struct arena *a = &r->s->arena;
	const char **headers;
	size_t n = 0;

	if (make_list(r, map, JSON_OBJECT, "headers", &headers) < 0)
		return -ERR_USAGE;
	for (struct json_member m = json_members(map); m.key; m = json_member_next(map, m)) {
		const char *name = json_cstr(m.key, a);
		const char *text = json_is(m.value, JSON_STRING) ? json_cstr(m.value, a) : NULL;
		const char *value = text ? expand_text(r, text) : NULL;
		if (!is_header_name(name) || !value)
			return entry_fail_field(r, "headers", "an object of strings, its keys names of headers");
		if (strpbrk(value, "\r\n")) /* it would be two headers */
			return entry_fail(r, "invalid_config", "headers.%.60s: its value has more than one line", name);
		if (!is_repeated(map, m, a))
			headers[n++] = arena_printf(a, "%s: %s", name, value);
	}
	r->s->headers = headers;
	return 0;
}

static int read_scopes(struct entry_reader *r, const struct json *v)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_ARENA struct arena a = { 0 };

	if (!v)
		return 0;
	if (json_is(v, JSON_STRING))
		return read_text(r, json_get(r->entry->value, "oauth"), "scopes", false, &r->s->oauth.scopes);
	if (!json_is(v, JSON_ARRAY))
		return entry_fail_field(r, "oauth.scopes", "a string, or an array of strings");
	for (const struct json *e = json_first(v); e; e = json_next(v, e)) {
		const char *scope = json_cstr(e, &a);
		if (!scope)
			return entry_fail_field(r, "oauth.scopes", "a string, or an array of strings");
		buf_addf(&text, "%s%s", text.n ? " " : "", scope);
	}
	r->s->oauth.scopes = arena_str(&r->s->arena, buf_str(&text)).p;
	return 0;
}

/* Token grants without a user. */
static int read_grant(struct entry_reader *r, const struct json *v)
{
	struct mcp_oauth *o = &r->s->oauth;
	const struct json *type = json_get(v, "grantType");

	o->machine = json_str_is(type, "client_credentials");
	if (type && !o->machine && !json_str_is(type, "authorization_code"))
		return entry_fail_field(r, "oauth.grantType", "authorization_code or client_credentials");
	if (read_text(r, v, "privateKey", true, &o->private_key) < 0 ||
	    read_text(r, v, "idpTokenUrl", true, &o->idp_token_url) < 0 ||
	    read_text(r, v, "idpClientId", true, &o->idp_client_id) < 0 ||
	    read_text(r, v, "idpToken", true, &o->idp_token) < 0)
		return -ERR_USAGE;
	return 0;
}

static int read_oauth(struct entry_reader *r)
{
	const struct json *v = json_get(r->entry->value, "oauth");
	const struct json *port = json_get(v, "callbackPort");
	struct mcp_oauth *o = &r->s->oauth;
	uint64_t number = 0;

	if (v && !json_is(v, JSON_OBJECT))
		return entry_fail_field(r, "oauth", "an object");
	if (port && (!json_u64(port, &number) || number < 1 || number > 65535))
		return entry_fail_field(r, "oauth.callbackPort", "a number from 1 to 65535");
	o->callback_port = (unsigned)number;
	if (read_text(r, v, "clientId", false, &o->client_id) < 0 ||
	    read_text(r, v, "clientSecret", true, &o->client_secret) < 0 ||
	    read_text(r, v, "authServerMetadataUrl", false, &o->metadata_url) < 0 || read_grant(r, v) < 0)
		return -ERR_USAGE;
	return read_scopes(r, json_get(v, "scopes"));
}

/* ---- kinds ------------------------------------------------------------------------------------------------------- */

static int read_stdio(struct entry_reader *r)
{
	if (read_text(r, r->entry->value, "command", true, &r->s->command) < 0 || read_args(r) < 0)
		return -ERR_USAGE;
	if (!r->s->command)
		return entry_fail_field(r, "command", "the program to start");
	return read_env(r);
}

static bool is_web_address(const char *url)
{
	struct str scheme = str_from(url);
	struct str rest = scheme;

	scheme = str_cut(&rest, ':');
	return (str_is_nocase(scheme, "http") || str_is_nocase(scheme, "https")) && rest.n > 2 &&
	       str_starts(rest, STR("//"));
}

static int read_remote(struct entry_reader *r)
{
	const struct json *v = r->entry->value;

	if (read_text(r, v, "url", true, &r->s->url) < 0)
		return -ERR_USAGE;
	if (!r->s->url)
		return entry_fail_field(r, "url", "the address of the server");
	if (!is_web_address(r->s->url))
		return entry_fail(r, "invalid_config", "url: expected http:// or https://, not '%.80s'", r->s->url);
	if (read_headers(r) < 0 || read_text(r, v, "headersHelper", false, &r->s->headers_helper) < 0)
		return -ERR_USAGE;
	return read_oauth(r);
}

/* It lives in the program that started us: a file cannot bring one. */
static int read_sdk(struct entry_reader *r)
{
	if (r->entry->scope != MCP_SCOPE_FLAG && r->entry->scope != MCP_SCOPE_AGENT)
		return entry_fail(r, "invalid_config", "type: a server of type sdk can be given by a host only");
	return 0;
}

static const struct type {
	const char *word;
	enum mcp_kind kind;
	int (*read)(struct entry_reader *r);
} types[] = {
	{ "stdio", MCP_STDIO, read_stdio },
	{ "http", MCP_HTTP, read_remote },
	{ "streamable-http", MCP_HTTP, read_remote },
	{ "sse", MCP_SSE, read_remote },
	{ "sdk", MCP_SDK, read_sdk },
};

static int find_type(struct entry_reader *r, const struct type **ret_type)
{
	const struct json *v = json_get(r->entry->value, "type");

	for (size_t i = 0; v && i < COUNT_OF(types); i++)
		if (json_str_is(v, types[i].word)) {
			*ret_type = &types[i];
			return 0;
		}
	if (v)
		return entry_fail(r, "unknown_type", "type: expected stdio, http or sse, not " STR_FMT,
				  STR_ARG(utf8_cut(json_raw(v), 40)));
	if (json_get(r->entry->value, "command")) {
		*ret_type = &types[0];
		return 0;
	}
	if (json_get(r->entry->value, "url"))
		return entry_fail(
			r, "url_missing_type",
			"it has a url and no type: add \"type\": \"http\" (or \"sse\" for a server of the old kind)");
	return entry_fail_field(r, "command", "the program to start, or a type and a url");
}

/* ---- what all have ----------------------------------------------------------------------------------------------- */

static int read_common(struct entry_reader *r)
{
	const struct json *timeout = json_get(r->entry->value, "timeout");
	const struct json *load = json_get(r->entry->value, "alwaysLoad");

	if (timeout && (!json_u64(timeout, &r->s->timeout_ms) || r->s->timeout_ms < LEAST_TIMEOUT_MS))
		return entry_fail_field(r, "timeout", "milliseconds, 1000 or more");
	if (load && !json_is(load, JSON_TRUE) && !json_is(load, JSON_FALSE))
		return entry_fail_field(r, "alwaysLoad", "true or false");
	r->s->always_load = json_bool(load);
	return 0;
}

static void note_unknown(struct entry_reader *r)
{
	static const char *const known[] = { "type",          "command", "args",    "env",        "url", "headers",
					     "headersHelper", "oauth",   "timeout", "alwaysLoad", "name" };
	const struct json *v = r->entry->value;

	for (struct json_member m = json_members(v); r->notes && m.key; m = json_member_next(v, m)) {
		size_t i = 0;
		while (i < COUNT_OF(known) && !json_str_is(m.key, known[i]))
			i++;
		if (i == COUNT_OF(known))
			buf_addf(r->notes, "%s: " STR_FMT " is not known and has no effect\n", r->place,
				 STR_ARG(utf8_cut(json_raw(m.key), 60)));
	}
}

/* Names reserved by other programs that share these files. */
static bool is_reserved(struct str name)
{
	static const char *const names[] = { "workspace", "claude-in-chrome", "computer-use", "Claude Preview",
					     "Claude Browser" };

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (str_is(name, names[i]))
			return true;
	return false;
}

static int check_name(struct entry_reader *r)
{
	struct str name = r->entry->name;

	if (!str_trim(name).n || memchr(name.p, '\0', name.n))
		return entry_fail(r, "invalid_config", "it needs a name");
	if (is_reserved(name))
		return entry_fail(r, "reserved_name", "this name is reserved; give it another one");
	return 0;
}

static int read_entry(struct entry_reader *r)
{
	const struct type *type = NULL;

	if (check_name(r) < 0)
		return -ERR_USAGE;
	if (!json_is(r->entry->value, JSON_OBJECT))
		return entry_fail(r, "invalid_config", "expected an object with a command, or with a type and a url");
	if (find_type(r, &type) < 0)
		return -ERR_USAGE;
	r->s->kind = type->kind;
	if (type->read(r) < 0 || read_common(r) < 0)
		return -ERR_USAGE;
	note_unknown(r);
	r->s->key = mcp_server_key(r->s);
	return 0;
}

int mcp_server_read(const struct mcp_entry *entry, struct buf *notes, struct mcp_server **ret_server,
		    const char **ret_type, struct err *err)
{
	AUTO_BUF struct buf place = { 0 };
	struct mcp_server *s = xcalloc(1, sizeof *s);
	struct entry_reader r = { entry, s, "", notes, ret_type, err };

	s->refs = 1;
	s->scope = entry->scope;
	s->name = arena_str(&s->arena, entry->name).p;
	s->file = entry->file ? arena_strdup(&s->arena, entry->file) : NULL;
	s->line = entry->line;
	s->believed = entry->believed;
	s->of_project = entry->of_project;
	if (entry->file)
		buf_addstr(&place, entry->file);
	if (entry->file && entry->line)
		buf_addf(&place, ":%u", entry->line);
	buf_addf(&place, "%sserver '" STR_FMT "'", entry->file ? ": " : "", STR_ARG(utf8_cut(entry->name, 60)));
	r.place = place.p;
	if (read_entry(&r) < 0) {
		mcp_server_unref(s);
		return -ERR_USAGE;
	}
	*ret_server = s;
	return 0;
}
