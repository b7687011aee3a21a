/* SPDX-License-Identifier: MIT
 * server_read.c - one entry of "mcpServers": variables in its texts, a table of types, and a function for each field. */
#include "config/settings/settings.h"
#include "lib/base/utf8.h"
#include "mcp/servers/server.h"

struct entry_reader {
	const struct mcp_entry *entry;
	struct mcp_server *s;
	const char *place; /* source position and name: how messages begin */
	struct buf *notes;
	const char **ret_type;
	struct err *err;
};

/* ${NAME} or ${NAME:-default} */
struct variable {
	struct str name;
	struct str fallback; /* p NULL: none */
	const char *end;     /* behind the brace */
};

/* last is the last brace of the text: a variable that begins after it has no end. */
static bool parse_variable(const char *at, const char *last, struct variable *ret)
{
	struct variable v = { .name.p = at + 2 };

	if (at[0] != '$' || at[1] != '{' || at > last)
		return false;
	v.end = v.name.p;
	while (*v.end == '_' || (char_is_alnum(*v.end) && !(v.end == v.name.p && char_in(*v.end, "0123456789"))))
		v.end++;
	v.name.n = (size_t)(v.end - v.name.p);
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

static const char *expand_text(struct entry_reader *r, const char *text)
{
	AUTO_BUF struct buf out = { 0 };
	const struct mcp_entry *entry = r->entry;
	const char *last = strrchr(text, '}');
	struct variable v;

	for (const char *at = text; *at;) {
		if (!last || !parse_variable(at, last, &v)) {
			buf_addch(&out, *at++);
			continue;
		}
		AUTO_FREE char *name = xstrndup(v.name.p, v.name.n);
		const char *value = entry->lookup ? entry->lookup(entry->data, v.name) : getenv(name);
		bool withheld = entry->of_project && env_holds_secret(v.name, value);
		value = withheld ? NULL : value;
		if (value) {
			buf_addstr(&out, value);
		} else if (v.fallback.p) {
			buf_append(&out, v.fallback);
		} else {
			buf_add(&out, at, (size_t)(v.end - at));
			if (r->notes && withheld)
				buf_addf(r->notes,
					 "%s: ${%s} is not filled in: it seems to be a secret, and a project "
					 "defines this server; define the server yourself (`cadre mcp add`) to give it "
					 "the secret\n",
					 r->place, name);
			else if (r->notes)
				buf_addf(r->notes,
					 "%s: ${%s} is not set and stays as it is; ${%s:-...} gives a default\n",
					 r->place, name, name);
		}
		at = v.end;
	}
	return arena_str(&r->s->arena, buf_str(&out)).p;
}

/* The texts of one entry together are bounded by the file; what is compared with each other is bounded here. */
enum { LEAST_TIMEOUT_MS = 1000, MOST_MEMBERS = 1000 };

printf_like(3, 4) static int entry_fail(struct entry_reader *r, const char *type, const char *fmt, ...)
{
	char text[sizeof r->err->text];

	PRINT_ARGS(text, fmt);
	if (r->ret_type)
		*r->ret_type = type;
	return err_set(r->err, ERR_USAGE, "%s: %s", r->place, text);
}

static int entry_fail_field(struct entry_reader *r, const char *field, const char *expected)
{
	return entry_fail(r, "invalid_config", "%s: expected %s", field, expected);
}

/* An optional text that must not be empty. Without it *ret is unchanged. */
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

/* Room for the elements or members of a field, for `more` others, and the NULL behind them; all NULL. */
static int make_list(struct entry_reader *r, const struct json *v, enum json_type type, const char *field, size_t more,
		     const char ***ret_list)
{
	*ret_list = NULL;
	if (v && !json_is(v, type))
		return entry_fail_field(r, field, type == JSON_ARRAY ? "an array of strings" : "an object of strings");
	if (v && v->count > MOST_MEMBERS)
		return entry_fail(r, "invalid_config", "%s: more than %d elements", field, MOST_MEMBERS);
	*ret_list = arena_calloc(&r->s->arena, ((v ? v->count : 0) + more + 1) * sizeof **ret_list);
	return 0;
}

static int read_args(struct entry_reader *r)
{
	const struct json *list = json_get(r->entry->value, "args");
	const char **args;
	size_t n = 0;

	if (make_list(r, list, JSON_ARRAY, "args", 0, &args) < 0)
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

static int read_env(struct entry_reader *r)
{
	const struct json *map = json_get(r->entry->value, "env");
	const char *const *given = r->entry->env; /* defaults, which the entry overrides */
	struct arena *a = &r->s->arena;
	const char **env;
	size_t n = 0;

	if (make_list(r, map, JSON_OBJECT, "env", str_count(given), &env) < 0)
		return -ERR_USAGE;
	for (struct json_member m = json_members(map); m.key; m = json_member_next(map, m)) {
		const char *name = json_cstr(m.key, a);
		const char *value = scalar_text(r, m.value);
		if (!name || !name[0] || strchr(name, '=') || !value)
			return entry_fail_field(r, "env", "an object of strings, its keys names of variables");
		if (json_get_str(map, json_str(m.key, a)) == m.value) /* the last of its name */
			env[n++] = arena_printf(a, "%s=%s", name, expand_text(r, value));
	}
	for (size_t own = n; given && *given; given++) {
		size_t name_len = strcspn(*given, "=");
		size_t i = 0;
		while (i < own && (strncmp(env[i], *given, name_len) != 0 || env[i][name_len] != '='))
			i++;
		if (i == own)
			env[n++] = arena_strdup(a, *given);
	}
	r->s->env = env;
	return 0;
}

static int read_headers(struct entry_reader *r)
{
	const struct json *map = json_get(r->entry->value, "headers");
	struct arena *a = &r->s->arena;
	const char **headers;
	size_t n = 0;

	if (make_list(r, map, JSON_OBJECT, "headers", 0, &headers) < 0)
		return -ERR_USAGE;
	for (struct json_member m = json_members(map); m.key; m = json_member_next(map, m)) {
		const char *name = json_cstr(m.key, a);
		const char *text = json_is(m.value, JSON_STRING) ? json_cstr(m.value, a) : NULL;
		const char *value = text ? expand_text(r, text) : NULL;
		if (!name || !str_is_name(str_from(name), "!#$%&'*+-.^_`|~") || !value)
			return entry_fail_field(r, "headers", "an object of strings, its keys names of headers");
		if (strpbrk(value, "\r\n")) /* it would be two headers */
			return entry_fail(r, "invalid_config", "headers.%.60s: its value has more than one line", name);
		if (json_get_str(map, json_str(m.key, a)) == m.value) /* the last of its name */
			headers[n++] = arena_printf(a, "%s: %s", name, value);
	}
	r->s->headers = headers;
	return 0;
}

static int read_oauth(struct entry_reader *r)
{
	const struct json *v = json_get(r->entry->value, "oauth");
	const struct json *port = json_get(v, "callbackPort");
	const struct json *type = json_get(v, "grantType");
	struct mcp_oauth *o = &r->s->oauth;
	uint64_t number = 0;
	const struct {
		const char *field;
		bool expanded;
		const char **ret;
	} texts[] = {
		{ "clientId", false, &o->client_id },
		{ "clientSecret", true, &o->client_secret },
		{ "authServerMetadataUrl", false, &o->metadata_url },
		{ "privateKey", true, &o->private_key },
		{ "idpTokenUrl", true, &o->idp_token_url },
		{ "idpClientId", true, &o->idp_client_id },
		{ "idpToken", true, &o->idp_token },
	};

	if (v && !json_is(v, JSON_OBJECT))
		return entry_fail_field(r, "oauth", "an object");
	if (port && (!json_u64(port, &number) || number < 1 || number > 65535))
		return entry_fail_field(r, "oauth.callbackPort", "a number from 1 to 65535");
	o->callback_port = (unsigned)number;
	o->machine = json_str_is(type, "client_credentials"); /* without a user */
	if (type && !o->machine && !json_str_is(type, "authorization_code"))
		return entry_fail_field(r, "oauth.grantType", "authorization_code or client_credentials");
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (read_text(r, v, texts[i].field, texts[i].expanded, texts[i].ret) < 0)
			return -ERR_USAGE;
	const struct json *scopes = json_get(v, "scopes");
	AUTO_BUF struct buf text = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	if (!scopes)
		return 0;
	if (json_is(scopes, JSON_STRING))
		return read_text(r, v, "scopes", false, &r->s->oauth.scopes);
	if (!json_is(scopes, JSON_ARRAY))
		return entry_fail_field(r, "oauth.scopes", "a string, or an array of strings");
	for (const struct json *e = json_first(scopes); e; e = json_next(scopes, e)) {
		const char *scope = json_cstr(e, &a);
		if (!scope)
			return entry_fail_field(r, "oauth.scopes", "a string, or an array of strings");
		buf_addf(&text, "%s%s", text.n ? " " : "", scope);
	}
	r->s->oauth.scopes = arena_str(&r->s->arena, buf_str(&text)).p;
	return 0;
}

/* "sandbox": {"allowWrite": [...], "allowedDomains": [...], "allowUnixSockets": [...]} */
static int read_wishes(struct entry_reader *r)
{
	const struct json *v = json_get(r->entry->value, "sandbox");
	struct child_wishes *w = &r->s->wishes;
	const struct {
		const char *field;
		const char *const **ret;
	} lists[] = { { "allowWrite", &w->write },
		      { "allowedDomains", &w->hosts },
		      { "allowUnixSockets", &w->sockets } };

	if (v && !json_is(v, JSON_OBJECT))
		return entry_fail_field(r, "sandbox", "an object");
	r->s->wishes_text = v ? arena_str(&r->s->arena, json_raw(v)).p : NULL;
	for (size_t i = 0; v && i < COUNT_OF(lists); i++) {
		const struct json *list = json_get(v, lists[i].field);
		const char **texts;
		size_t n = 0;
		if (make_list(r, list, JSON_ARRAY, lists[i].field, 0, &texts) < 0)
			return -ERR_USAGE;
		for (const struct json *e = json_first(list); e; e = json_next(list, e))
			if (!(texts[n++] = json_cstr(e, &r->s->arena)))
				return entry_fail_field(r, lists[i].field, "an array of strings");
		*lists[i].ret = n ? texts : NULL;
	}
	return 0;
}

static int read_stdio(struct entry_reader *r)
{
	if (read_text(r, r->entry->value, "command", true, &r->s->command) < 0 || read_args(r) < 0)
		return -ERR_USAGE;
	if (!r->s->command)
		return entry_fail_field(r, "command", "the program to start");
	return read_wishes(r) < 0 ? -ERR_USAGE : read_env(r);
}

static int read_remote(struct entry_reader *r)
{
	const struct json *v = r->entry->value;

	if (read_text(r, v, "url", true, &r->s->url) < 0)
		return -ERR_USAGE;
	if (!r->s->url)
		return entry_fail_field(r, "url", "the URL of the server");
	struct str rest = str_from(r->s->url);
	struct str scheme = str_cut(&rest, ':');
	if ((!str_is_nocase(scheme, "http") && !str_is_nocase(scheme, "https")) || rest.n <= 2 ||
	    !str_starts(rest, STR("//")))
		return entry_fail(r, "invalid_config", "url: expected http:// or https://, not '%.80s'", r->s->url);
	if (read_headers(r) < 0 || read_text(r, v, "headersHelper", false, &r->s->headers_helper) < 0)
		return -ERR_USAGE;
	return read_oauth(r);
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
	{ "sdk", MCP_SDK, NULL },
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

/* [{"name": TOOL, "permission_policy": "always_ask" or "always_deny"}]. Nothing is allowed here, and what is not known asks. */
static void read_policies(struct entry_reader *r, const struct json *tools)
{
	struct mcp_server *s = r->s;

	for (const struct json *v = json_items(tools); v; v = json_next(tools, v)) {
		const struct json *word = json_get(v, "permission_policy");
		const char *tool = json_cstr(json_get(v, "name"), &s->arena);
		if (tool && tool[0] && !json_str_is(word, "always_allow"))
			*arena_push(&s->arena, s->policies, s->policy_count) =
				(struct mcp_tool_policy){ tool, json_str_is(word, "always_deny") };
	}
}

static int read_entry(struct entry_reader *r)
{
	static const char *const known[] = { "type",    "command",       "args",    "env",     "url",
					     "headers", "headersHelper", "oauth",   "timeout", "alwaysLoad",
					     "role",    "name",          "sandbox", "tools" };
	/* By other programs that share these files. */
	static const char reserved[] = "workspace|claude-in-chrome|computer-use|Claude Preview|Claude Browser";
	const struct json *v = r->entry->value;
	struct str name = r->entry->name;
	const struct json *timeout = json_get(v, "timeout");
	const struct json *load = json_get(v, "alwaysLoad");
	const struct type *type = NULL;

	if (!str_trim(name).n || memchr(name.p, '\0', name.n))
		return entry_fail(r, "invalid_config", "it needs a name");
	if (str_is_one_of(name, reserved) || memmem(name.p, name.n, MCP_SEAL_MARK, strlen(MCP_SEAL_MARK)))
		return entry_fail(r, "reserved_name", "this name is reserved; use another one");
	if (!json_is(v, JSON_OBJECT))
		return entry_fail(r, "invalid_config", "expected an object with a command, or with a type and a url");
	if (find_type(r, &type) < 0)
		return -ERR_USAGE;
	r->s->kind = type->kind;
	/* An SDK server lives in the program that started us: a file cannot define one. */
	if (type->kind == MCP_SDK && r->entry->scope != MCP_SCOPE_FLAG && r->entry->scope != MCP_SCOPE_AGENT)
		return entry_fail(r, "invalid_config", "type: a server of type sdk can be given by a host only");
	if (type->read && type->read(r) < 0)
		return -ERR_USAGE;
	if (timeout && (!json_u64(timeout, &r->s->timeout_ms) || r->s->timeout_ms < LEAST_TIMEOUT_MS))
		return entry_fail_field(r, "timeout", "milliseconds, 1000 or more");
	if (load && !json_is(load, JSON_TRUE) && !json_is(load, JSON_FALSE))
		return entry_fail_field(r, "alwaysLoad", "true or false");
	r->s->always_load = json_bool(load);
	/* A child's permissions are made after its servers, so its definition has rules instead. */
	size_t known_count = COUNT_OF(known) - (r->entry->scope == MCP_SCOPE_AGENT);
	if (known_count == COUNT_OF(known))
		read_policies(r, json_get(v, "tools"));
	r->s->comms = json_str_is(json_get(v, "role"), "comms"); /* another role means nothing here */
	for (struct json_member m = json_members(v); r->notes && m.key; m = json_member_next(v, m)) {
		size_t i = 0;
		while (i < known_count && !json_str_is(m.key, known[i]))
			i++;
		if (i == known_count)
			buf_addf(r->notes, "%s: " STR_FMT " is not known and has no effect\n", r->place,
				 STR_ARG(utf8_cut(json_raw(m.key), 60)));
	}
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
	s->file = arena_strdup(&s->arena, entry->file);
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
