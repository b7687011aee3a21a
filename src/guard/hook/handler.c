/* SPDX-License-Identifier: MIT
 * handler.c - reads one handler. A handler that cannot mean what its author wanted is left out, with the reason. */
#include "guard/hook/hook_int.h"
#include "lib/base/utf8.h"
#include "lib/json/json_write.h"
#include "lib/match/glob.h"

enum { TIMEOUT_MAX_S = 24 * 3600, LABEL_BYTES = 200 };

/* Returns false, so that a reader can return it. */
static bool handler_refuse(struct hook_builder *b, const struct json *where, const char *why)
{
	hook_builder_warn(b, where, "%s, so this hook does not run", why);
	return false;
}

static void handler_note(struct hook_builder *b, const struct json *where, const char *what)
{
	hook_builder_note(b, DIAGNOSTIC_NOTE, where, "hooks.%s: %s", hook_events[b->event].name, what);
}

static bool read_text(struct hook_builder *b, const struct json *v, const char *key, const char **ret_text)
{
	const struct json *value = json_get(v, key);
	const char *text = json_cstr(value, &b->set->arena);
	char why[80];

	if (!text || !*text) {
		snprintf(why, sizeof why, "\"%s\" must be a text", key);
		return handler_refuse(b, value ? value : v, why);
	}
	*ret_text = text;
	return true;
}

/* A list of texts, NULL-terminated; false: it is something else. Absent: *ret stays. */
static bool read_list(struct hook_builder *b, const struct json *v, const char *const **ret_list)
{
	size_t n = 0;

	if (!v)
		return true;
	if (!json_is(v, JSON_ARRAY))
		return false;
	const char **list = arena_calloc(&b->set->arena, (v->count + 1) * sizeof *list);
	for (const struct json *e = json_first(v); e; e = json_next(v, e)) {
		list[n] = json_cstr(e, &b->set->arena);
		if (!list[n++])
			return false;
	}
	*ret_list = list;
	return true;
}

static bool read_command(struct hook_builder *b, struct hook *h, const struct json *v)
{
	const struct json *shell = json_get(v, "shell");

	if (!read_text(b, v, "command", &h->command))
		return false;
	if (!read_list(b, json_get(v, "args"), &h->args))
		return handler_refuse(b, v, "\"args\" must be a list of texts");
	if (shell && !json_str_is(shell, "bash") && !json_str_is(shell, "powershell"))
		return handler_refuse(b, shell, "\"shell\" must be bash or powershell");
	h->shell = json_cstr(shell, &b->set->arena);
	h->rewake = json_bool(json_get(v, "asyncRewake"));
	h->wake_message = json_cstr(json_get(v, "rewakeMessage"), &b->set->arena);
	h->async = h->rewake || json_bool(json_get(v, "async"));
	return true;
}

/* Scheme and host; *rest becomes what follows them */
static struct str cut_host(struct str *rest)
{
	const char *slashes = memmem(rest->p, rest->n, "://", 3);
	size_t n = slashes ? (size_t)(slashes - rest->p) + 3 : 0;

	while (n < rest->n && !char_in(rest->p[n], "/?#"))
		n++;
	struct str host = { rest->p, n };
	*rest = (struct str){ rest->p + n, rest->n - n };
	return host;
}

/* A * in the host does not reach into the path, where a stranger's host could carry the expected name; nor does a name
 * before an @ count as the host. */
static bool url_fits(const char *pattern, const char *url)
{
	struct str wanted_rest = str_from(pattern);
	struct str rest = str_from(url);
	struct str wanted = cut_host(&wanted_rest);
	struct str host = cut_host(&rest);

	if (memchr(host.p, '@', host.n) || memchr(host.p, '\\', host.n) || !wildcard_match(wanted, host))
		return false;
	return (!wanted_rest.n && str_ends(wanted, STR("*"))) || wildcard_match(wanted_rest, rest);
}

static bool read_headers(struct hook_builder *b, struct hook *h, const struct json *v)
{
	static const char header_chars[] =
		"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

	if (!v)
		return true;
	h->headers = arena_calloc(&b->set->arena, (v->count + 1) * sizeof *h->headers);
	for (struct json_member m = json_members(v); m.key; m = json_member_next(v, m)) {
		struct hook_header header = { json_cstr(m.key, &b->set->arena), json_cstr(m.value, &b->set->arena) };
		if (!header.name || !*header.name || header.name[strspn(header.name, header_chars)] || !header.value ||
		    strpbrk(header.value, "\r\n"))
			return false;
		h->headers[h->header_count++] = header;
	}
	return json_is(v, JSON_OBJECT);
}

static bool read_http(struct hook_builder *b, struct hook *h, const struct json *v)
{
	const char *const *urls = b->policy->http_urls;
	const char *const *wanted = NULL;
	bool allowed = !urls;

	if (!read_text(b, v, "url", &h->url))
		return false;
	if (!str_starts(str_from(h->url), STR("http://")) && !str_starts(str_from(h->url), STR("https://")))
		return handler_refuse(b, v, "\"url\" must begin with http:// or https://");
	for (; urls && *urls; urls++)
		allowed = allowed || url_fits(*urls, h->url);
	if (!allowed) { /* an administrator decided so: no mistake of the file */
		hook_builder_note(b, DIAGNOSTIC_WARNING, v,
				  "hooks.%s: the URL is not in allowedHttpHookUrls, so this hook does not run",
				  hook_events[b->event].name);
		return false;
	}
	if (!read_headers(b, h, json_get(v, "headers")))
		return handler_refuse(b, v, "\"headers\" must be an object of texts of one line");
	if (!read_list(b, json_get(v, "allowedEnvVars"), &wanted))
		return handler_refuse(b, v, "\"allowedEnvVars\" must be a list of names");
	/* Headers may use what both the hook and the policy allow. */
	const char **names = arena_calloc(&b->set->arena, (str_count(wanted) + 1) * sizeof *names);
	h->env_names = names;
	for (; wanted && *wanted; wanted++) {
		const char *const *env = b->policy->http_env;
		while (env && *env && strcmp(*env, *wanted) != 0)
			env++;
		if (!env || *env)
			*names++ = *wanted;
	}
	return true;
}

static bool read_mcp_tool(struct hook_builder *b, struct hook *h, const struct json *v)
{
	const struct json *input = json_get(v, "input");

	if (!read_text(b, v, "server", &h->server) || !read_text(b, v, "tool", &h->tool))
		return false;
	if (input && !json_is(input, JSON_OBJECT))
		return handler_refuse(b, input, "\"input\" must be an object");
	h->tool_input = arena_str(&b->set->arena, input ? json_raw(input) : STR("{}"));
	return true;
}

static bool read_prompt(struct hook_builder *b, struct hook *h, const struct json *v)
{
	if (!read_text(b, v, "prompt", &h->prompt))
		return false;
	h->model = json_cstr(json_get(v, "model"), &b->set->arena);
	h->continue_on_block = h->type == HOOK_AGENT || json_bool(json_get(v, "continueOnBlock"));
	return true;
}

static bool read_type(struct hook_builder *b, const struct json *v, enum hook_type *ret_type)
{
	const struct json *type = json_get(v, "type");
	AUTO_ARENA struct arena scratch = { 0 };

	if (!type && json_is(json_get(v, "command"), JSON_STRING)) {
		handler_note(b, v, "a hook without a type was read as a command");
		*ret_type = HOOK_COMMAND;
	} else if (!hook_type_find(json_str(type, &scratch), ret_type) || *ret_type == HOOK_CALLBACK)
		return handler_refuse(b, type ? type : v, "the type must be command, http, mcp_tool, prompt or agent");
	if (!(hook_events[b->event].types & (1u << *ret_type)))
		return handler_refuse(b, v, "this event does not take hooks of this type");
	return true;
}

static void read_timeout(struct hook_builder *b, struct hook *h, const struct json *v)
{
	const struct json *timeout = json_get(v, "timeout");
	double seconds = json_double(timeout);

	if (timeout && !(seconds > 0))
		handler_note(b, timeout, "a timeout must be a number of seconds above 0; the default is used");
	else if (timeout)
		h->timeout_ms = MAX(1, (uint64_t)(MIN(seconds, (double)TIMEOUT_MAX_S) * 1000));
}

/* Everything that makes a difference to what happens, but for the time limit. The same hook in several settings files runs
 * once; copies in plugins and skills are hooks of their own. */
static struct str make_identity(struct hook_builder *b, const struct hook *h)
{
	bool stays_apart = b->origin->layer == HOOK_FROM_PLUGIN || b->origin->layer == HOOK_FROM_SKILL;
	AUTO_BUF struct buf out = { 0 };
	struct json_out w = json_out(&out);

	json_putf(&w, "['%s', %u, '%.*s'", stays_apart ? b->origin->file : NULL, h->type, STR_ARG(h->rule));
	const char *const texts[] = {
		h->command, h->shell, h->url, h->server, h->tool, h->prompt, h->model, h->callback
	};
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		json_put_cstr(&w, texts[i]);
	json_putf(&w, "!!%d, [", h->args != NULL);
	for (const char *const *arg = h->args; arg && *arg; arg++)
		json_put_cstr(&w, *arg);
	json_putf(&w, "], '%.*s'", STR_ARG(h->tool_input));
	for (size_t i = 0; i < h->header_count; i++)
		json_putf(&w, "'%s', '%s'", h->headers[i].name, h->headers[i].value);
	json_putf(&w, "!!%d, !!%d]", h->async, h->rewake);
	return arena_str(&b->set->arena, buf_str(&out));
}

/* A handler that was read whole */
static void builder_add_hook(struct hook_builder *b, struct hook *h)
{
	const char *const texts[] = {
		[HOOK_COMMAND] = h->command, [HOOK_HTTP] = h->url,     [HOOK_MCP_TOOL] = h->tool,
		[HOOK_PROMPT] = h->prompt,   [HOOK_AGENT] = h->prompt, [HOOK_CALLBACK] = h->callback,
	};
	struct str line = str_from(texts[h->type]);

	if (h->type == HOOK_MCP_TOOL)
		line = str_from(arena_printf(&b->set->arena, "%s %s", h->server, h->tool));
	line = str_cut(&line, '\n');
	h->label = utf8_cut(line, LABEL_BYTES);
	h->identity = make_identity(b, h);
	h->event = b->event;
	h->origin = b->origin;
	h->matcher = b->matcher;
	*b->tails[b->event] = h;
	b->tails[b->event] = &h->next;
	b->set->count++;
}

void hook_read(struct hook_builder *b, const struct json *handler)
{
	static bool (*const read[])(struct hook_builder *, struct hook *, const struct json *) = {
		[HOOK_COMMAND] = read_command, [HOOK_HTTP] = read_http,    [HOOK_MCP_TOOL] = read_mcp_tool,
		[HOOK_PROMPT] = read_prompt,   [HOOK_AGENT] = read_prompt,
	};
	struct hook *h = arena_calloc(&b->set->arena, sizeof *h);

	if (b->set->count == HOOKS_LIMIT)
		return;
	if (!json_is(handler, JSON_OBJECT)) {
		handler_refuse(b, handler, "a hook must be an object");
		return;
	}
	h->line = hook_builder_line(b, handler);
	if (!read_type(b, handler, &h->type) || !read[h->type](b, h, handler))
		return;
	const struct json *rule = json_get(handler, "if");
	const char *wrong = NULL;
	if (rule && !(hook_events[b->event].flags & HOOK_ABOUT_TOOL))
		wrong = "\"if\" has a meaning for events of tools only";
	else if (rule && !json_is(rule, JSON_STRING))
		wrong = "\"if\" must be one permission rule";
	if (wrong) {
		handler_refuse(b, rule, wrong);
		return;
	}
	if (rule)
		h->rule = arena_str(&b->set->arena, json_str(rule, &b->set->arena));
	read_timeout(b, h, handler);
	h->status = json_cstr(json_get(handler, "statusMessage"), &b->set->arena);
	h->once = json_bool(json_get(handler, "once"));
	if (h->once && b->source->layer != HOOK_FROM_SKILL) {
		h->once = false;
		handler_note(b, handler, "\"once\" has a meaning in skills only");
	}
	if (h->type != HOOK_COMMAND && json_bool(json_get(handler, "async")))
		handler_note(b, handler, "\"async\" has a meaning for commands only");
	builder_add_hook(b, h);
}

void hook_read_callback(struct hook_builder *b, const struct json *entry, const struct json *id)
{
	struct hook *h = arena_calloc(&b->set->arena, sizeof *h);

	if (b->set->count == HOOKS_LIMIT)
		return;
	h->type = HOOK_CALLBACK;
	h->callback = json_cstr(id, &b->set->arena);
	if (!h->callback) {
		handler_refuse(b, entry, "the id of a callback must be a text");
		return;
	}
	read_timeout(b, h, entry);
	h->block_on_failure = json_str_is(json_get(entry, "onFailure"), "block");
	builder_add_hook(b, h);
}
