/* SPDX-License-Identifier: MIT
 * definition_nested.c - hooks and MCP servers, brought to the form that settings files have.
 *
 *     hooks:       {Event: [{"matcher": m, "hooks": [{"type": "command", "command": c, "timeout": seconds}]}]}
 *     mcpServers:  ["name", {"name": {config}}] */
#include "defs/agentdef/definition_int.h"
#include "lib/json/json_write.h"

enum { TIMEOUT_LIMIT_S = 600 };

static bool is_text(const struct json *v)
{
	return json_is(v, JSON_STRING) && v->len > 0;
}

/* A handler as it stands, but for its type and for a timeout that can only be milliseconds. */
static void put_handler(struct definition_reader *r, struct json_out *w, const struct json *handler)
{
	int64_t timeout;

	json_open(w, '{');
	if (!json_get(handler, "type"))
		json_kcstr(w, "type", "command");
	for (struct json_member m = json_members(handler); m.key; m = json_member_next(handler, m)) {
		if (json_str_is(m.key, "matcher") || json_str_is(m.key, "hooks"))
			continue;
		json_key_str(w, json_str(m.key, &r->scratch));
		if (json_str_is(m.key, "timeout") && json_i64(m.value, &timeout) && timeout > TIMEOUT_LIMIT_S) {
			definition_note(r, DIAGNOSTIC_NOTE, "hooks: a timeout of %lld was read as milliseconds",
					(long long)timeout);
			json_put_double(w, (double)timeout / 1000);
		} else {
			json_put_raw(w, json_raw(m.value));
		}
	}
	json_close(w);
}

static bool is_handler(const struct json *v)
{
	return is_text(json_get(v, "command")) || is_text(json_get(v, "url")) || is_text(json_get(v, "prompt")) ||
	       (is_text(json_get(v, "server")) && is_text(json_get(v, "tool")));
}

static bool put_handlers(struct definition_reader *r, struct json_out *w, const struct json *entry)
{
	const struct json *hooks = json_get(entry, "hooks");

	if (!hooks && is_handler(entry)) {
		definition_note(r, DIAGNOSTIC_NOTE, "hooks: an entry without a list of hooks was read as one hook");
		put_handler(r, w, entry);
		return true;
	}
	if (!json_is(hooks, JSON_ARRAY))
		return false;
	for (const struct json *h = json_first(hooks); h; h = json_next(hooks, h)) {
		if (!is_handler(h))
			return false;
		put_handler(r, w, h);
	}
	return true;
}

static bool put_entry(struct definition_reader *r, struct json_out *w, const struct json *entry)
{
	const struct json *matcher = json_get(entry, "matcher");

	if (!json_is(entry, JSON_OBJECT) || (matcher && !json_is(matcher, JSON_STRING)))
		return false;
	json_open(w, '{');
	if (matcher)
		json_kraw(w, "matcher", json_raw(matcher));
	json_key(w, "hooks");
	json_open(w, '[');
	if (!put_handlers(r, w, entry))
		return false;
	json_close(w);
	json_close(w);
	return true;
}

static bool put_event(struct definition_reader *r, struct json_out *w, const struct json *entries)
{
	json_open(w, '[');
	if (json_is(entries, JSON_OBJECT)) {
		if (!put_entry(r, w, entries))
			return false;
	} else if (json_is(entries, JSON_ARRAY)) {
		for (const struct json *e = json_first(entries); e; e = json_next(entries, e))
			if (!put_entry(r, w, e))
				return false;
	} else if (!json_is(entries, JSON_NULL)) {
		return false;
	}
	json_close(w);
	return true;
}

void definition_read_hooks(struct definition_reader *r, const struct json *value)
{
	AUTO_BUF struct buf out = { 0 };
	struct json_out w = json_out(&out);

	if (json_is(value, JSON_NULL)) {
		definition_note(r, DIAGNOSTIC_NOTE, "hooks: there are none");
		return;
	}
	if (!json_is(value, JSON_OBJECT)) {
		definition_refuse(r, "hooks: must be a map of events, so the agent is refused");
		return;
	}
	json_open(&w, '{');
	for (struct json_member m = json_members(value); m.key; m = json_member_next(value, m)) {
		struct str event = json_str(m.key, &r->scratch);
		json_key_str(&w, event);
		if (!put_event(r, &w, m.value)) {
			definition_refuse(r, "hooks: " STR_FMT " is not a list of hooks, so the agent is refused",
					  STR_ARG(event));
			return;
		}
	}
	json_close(&w);
	r->d->hooks = arena_dup(&r->d->arena, out.p, out.n);
}

/* {"name": n, "transport": t, ...} becomes {n: {"type": t, ...}}. */
static void put_named_server(struct definition_reader *r, struct json_out *w, const struct json *server)
{
	const struct json *transport = json_get(server, "transport");

	json_open(w, '{');
	json_key_str(w, json_str(json_get(server, "name"), &r->scratch));
	json_open(w, '{');
	if (transport && !json_get(server, "type"))
		json_kraw(w, "type", json_raw(transport));
	for (struct json_member m = json_members(server); m.key; m = json_member_next(server, m)) {
		if (json_str_is(m.key, "name") || json_str_is(m.key, "transport"))
			continue;
		json_key_str(w, json_str(m.key, &r->scratch));
		json_put_raw(w, json_raw(m.value));
	}
	json_close(w);
	json_close(w);
}

static void put_server_map(struct definition_reader *r, struct json_out *w, const struct json *map)
{
	for (struct json_member m = json_members(map); m.key; m = json_member_next(map, m)) {
		struct str name = json_str(m.key, &r->scratch);
		if (json_is(m.value, JSON_NULL)) {
			json_put_str(w, name);
			continue;
		}
		if (!json_is(m.value, JSON_OBJECT)) {
			definition_note(r, DIAGNOSTIC_WARNING, "mcpServers: " STR_FMT " has no settings and is ignored",
					STR_ARG(name));
			continue;
		}
		json_open(w, '{');
		json_key_str(w, name);
		json_put_raw(w, json_raw(m.value));
		json_close(w);
	}
}

static void put_names(struct definition_reader *r, struct json_out *w, const struct json *value)
{
	struct name_list names;

	definition_names(r, value, &names, false);
	for (size_t i = 0; i < names.count; i++)
		json_put_cstr(w, names.names[i]);
}

static void put_servers(struct definition_reader *r, struct json_out *w, const struct json *value)
{
	if (json_is(value, JSON_OBJECT) && is_text(json_get(value, "name")))
		put_named_server(r, w, value);
	else if (json_is(value, JSON_OBJECT))
		put_server_map(r, w, value);
	else if (json_is(value, JSON_STRING))
		put_names(r, w, value);
	else
		definition_note(r, DIAGNOSTIC_WARNING,
				"mcpServers: an entry is neither a name nor a map and is ignored");
}

void definition_read_mcp_servers(struct definition_reader *r, const struct json *value)
{
	AUTO_BUF struct buf out = { 0 };
	struct json_out w = json_out(&out);

	if (json_is(value, JSON_NULL))
		return;
	json_open(&w, '[');
	if (json_is(value, JSON_ARRAY))
		for (const struct json *v = json_first(value); v; v = json_next(value, v))
			put_servers(r, &w, v);
	else
		put_servers(r, &w, value);
	json_close(&w);
	if (out.n > 2)
		r->d->mcp_servers = arena_dup(&r->d->arena, out.p, out.n);
}
