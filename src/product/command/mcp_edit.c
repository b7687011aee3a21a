/* SPDX-License-Identifier: MIT
 * mcp_edit.c - `cadre mcp add` and `cadre mcp remove`. */
#include "product/command/report.h"
#include "product/session/mcp_config.h"

static const struct {
	const char *word;
	enum mcp_scope scope;
} scopes[] = { { "local", MCP_SCOPE_LOCAL }, { "project", MCP_SCOPE_PROJECT }, { "user", MCP_SCOPE_USER } };

static int find_scope(const char *word, enum mcp_scope *ret_scope, struct err *err)
{
	for (size_t i = 0; i < COUNT_OF(scopes); i++)
		if (!strcmp(word, scopes[i].word)) {
			*ret_scope = scopes[i].scope;
			return 0;
		}
	return err_set(err, ERR_USAGE, "unknown scope '%.60s': expected local, project or user", word);
}

/* Names in files may be anything; one that is made here can be written in rules and on the command line as it is. */
static int check_name(const char *name, struct err *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

	if (name[0] && !name[strspn(name, letters)])
		return 0;
	return err_set(err, ERR_USAGE, "'%.60s' cannot be the name of a server: expected letters, digits, '-' and '_'",
		       name);
}

/* What `cadre mcp add` was told; lists end with NULL, env and headers may be NULL */
struct wanted {
	const char *transport;
	const char *const *words; /* program and arguments, or an address */
	const char *const *env, *const *headers;
};

/* ---- the entry --------------------------------------------------------------------------------------------------- */

static int put_env(struct json_out *w, const char *const *list, struct err *err)
{
	if (!list || !list[0])
		return 0;
	json_key(w, "env");
	json_open(w, '{');
	for (size_t i = 0; list[i]; i++) {
		struct str value = str_from(list[i]);
		struct str name = str_cut(&value, '=');
		if (!value.p || !name.n)
			return err_set(err, ERR_USAGE,
				       "env: expected NAME=value, not '%.60s' (the server's name goes before --env)",
				       list[i]);
		json_key_str(w, name);
		json_put_str(w, value);
	}
	json_close(w);
	return 0;
}

static int put_headers(struct json_out *w, const char *const *list, struct err *err)
{
	if (!list || !list[0])
		return 0;
	json_key(w, "headers");
	json_open(w, '{');
	for (size_t i = 0; list[i]; i++) {
		struct str value = str_from(list[i]);
		struct str name = str_trim(str_cut(&value, ':'));
		if (!value.p || !name.n)
			return err_set(err, ERR_USAGE,
				       "header: expected 'Name: value', not '%.60s' (the server's name goes before "
				       "--header)",
				       list[i]);
		json_key_str(w, name);
		json_put_str(w, str_trim(value));
	}
	json_close(w);
	return 0;
}

static int put_stdio(struct json_out *w, const struct wanted *e, struct err *err)
{
	if (e->headers && e->headers[0])
		return err_set(err, ERR_USAGE, "a program that is started has no headers; --transport http has");
	if (str_starts(str_from(e->words[0]), STR("http://")) || str_starts(str_from(e->words[0]), STR("https://")))
		return err_set(err, ERR_USAGE, "%.120s is an address: add --transport http (or sse)", e->words[0]);
	json_kcstr(w, "command", e->words[0]);
	json_key(w, "args");
	json_open(w, '[');
	for (size_t i = 1; e->words[i]; i++)
		json_put_cstr(w, e->words[i]);
	json_close(w);
	return put_env(w, e->env, err);
}

static int put_remote(struct json_out *w, const struct wanted *e, struct err *err)
{
	if (e->words[1])
		return err_set(err, ERR_USAGE, "expected one address, but there is '%.60s' behind it", e->words[1]);
	if (e->env && e->env[0])
		return err_set(err, ERR_USAGE, "a server that is reached by its address has no env; stdio has");
	json_kcstr(w, "url", e->words[0]);
	return put_headers(w, e->headers, err);
}

static int write_entry(struct buf *out, const struct wanted *e, struct err *err)
{
	bool stdio = !strcmp(e->transport, "stdio");
	struct json_out w = json_out(out);

	if (!stdio && strcmp(e->transport, "http") != 0 && strcmp(e->transport, "sse") != 0)
		return err_set(err, ERR_USAGE, "unknown transport '%.60s': expected stdio, http or sse", e->transport);
	if (!e->words[0] || !e->words[0][0])
		return err_set(err, ERR_USAGE,
			       stdio ? "expected the program to start" : "expected the address of the server");
	json_open(&w, '{');
	json_kcstr(&w, "type", e->transport);
	int status = stdio ? put_stdio(&w, e, err) : put_remote(&w, e, err);
	if (status == 0)
		json_close(&w);
	return status;
}

/* The entry must be one that counts when it is read again. */
static int check_entry(const char *name, enum mcp_scope scope, struct str json, struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *value;
	struct mcp_server *server;
	struct mcp_entry entry = { .name = str_from(name), .scope = scope };

	if (json_parse(&reader, json.p, json.n, &value, err) < 0) {
		err->kind = ERR_USAGE;
		return err_wrap(err, "not JSON");
	}
	entry.value = value;
	if (mcp_server_read(&entry, NULL, &server, NULL, err) < 0)
		return -ERR_USAGE;
	mcp_server_unref(server);
	return 0;
}

/* ---- add --------------------------------------------------------------------------------------------------------- */

/* An entry that is there but does not count would be a surprise later. */
static void report_standing(struct services *sv, struct cadre_report *r, const struct mcp_location *place,
			    const char *name)
{
	struct mcp_config *config = NULL;
	struct err err = { 0 };

	if (app_mcp_look(sv, &config, &err) < 0) {
		report_line(r, CADRE_WARN, "%s", err.text);
		return;
	}
	for (size_t i = 0; i < config->count; i++) {
		const struct mcp_item *item = &config->items[i];
		if (item->scope == place->scope && !strcmp(item->name, name) && item->standing != MCP_COUNTS) {
			report_line(r, CADRE_WARN, "It does not count yet (%s): %s.", mcp_standing_word(item->standing),
				    item->reason);
			break;
		}
	}
	mcp_config_free(config);
}

static void report_change(struct cadre_report *r, const struct mcp_location *place, const char *name, const char *done)
{
	struct json_out w = json_out(&r->json);

	json_open(&w, '{');
	json_kcstr(&w, "name", name);
	json_kcstr(&w, "scope", mcp_scope_word(place->scope));
	json_kcstr(&w, "file", place->file);
	json_kcstr(&w, "folder", place->folder);
	json_kcstr(&w, "done", done);
	json_close(&w);
	report_line(r, CADRE_GOOD, "Server %s is %s (scope %s).", name, done, mcp_scope_word(place->scope));
	if (place->folder)
		report_line(r, CADRE_NOTE, "Changed: %s, for the folder %s.", place->file, place->folder);
	else
		report_line(r, CADRE_NOTE, "Changed: %s.", place->file);
}

static int add(struct services *sv, const char *name, const char *scope_word, struct str json, struct cadre_report *r,
	       struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	struct mcp_locations places;
	enum mcp_scope scope = MCP_SCOPE_LOCAL;
	bool there;

	if (check_name(name, err) < 0 || find_scope(scope_word ? scope_word : "local", &scope, err) < 0 ||
	    check_entry(name, scope, json, err) < 0 || app_mcp_locations(sv, &a, &places, err) < 0)
		return -(int)err->kind;
	const struct mcp_location *place = mcp_locations_first(&places, scope);
	int status = mcp_location_has(place, str_from(name), &there, err);
	if (status == 0 && there)
		status = err_set(err, ERR_USAGE, "%s has a server '%s' already (scope %s); remove it first",
				 place->file, name, mcp_scope_word(scope));
	if (status == 0)
		status = mcp_location_set(place, str_from(name), json, err);
	if (status < 0)
		return status;
	report_change(r, place, name, "added");
	report_standing(sv, r, place, name);
	return 0;
}

int cadre_mcp_add(struct cadre *c, const char *name, const char *scope, const char *transport, const char *const *words,
		  const char *const *env, const char *const *headers, struct cadre_report **ret_report, char *why,
		  size_t why_size)
{
	struct services *sv = cadre_services(c);
	const struct wanted wanted = { transport ? transport : "stdio", words, env, headers };
	AUTO_BUF struct buf json = { 0 };
	struct err err = { 0 };

	if (!sv || !name || !words || !ret_report)
		return CADRE_USAGE;
	struct cadre_report *report = xcalloc(1, sizeof *report);
	int status = write_entry(&json, &wanted, &err);
	if (status == 0)
		status = add(sv, name, scope, buf_str(&json), report, &err);
	return app_give_report(status, report, ret_report, &err, why, why_size);
}

int cadre_mcp_add_json(struct cadre *c, const char *name, const char *scope, const char *json,
		       struct cadre_report **ret_report, char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	AUTO_BUF struct buf line = { 0 };
	struct err err = { 0 };

	if (!sv || !name || !json || !ret_report)
		return CADRE_USAGE;
	/* Line ends stand between values only: those in a string are escaped. */
	for (const char *p = json; *p; p++)
		buf_addch(&line, *p == '\n' || *p == '\r' || *p == '\t' ? ' ' : *p);
	struct cadre_report *report = xcalloc(1, sizeof *report);
	int status = add(sv, name, scope, str_trim(buf_str(&line)), report, &err);
	return app_give_report(status, report, ret_report, &err, why, why_size);
}

/* ---- remove ------------------------------------------------------------------------------------------------------ */

/* The one place that has it; with a scope the highest one of that scope. */
static int find_entry(const struct mcp_locations *places, const char *name, const char *scope_word,
		      const struct mcp_location **ret_place, struct err *err)
{
	const struct mcp_location *found = NULL;
	enum mcp_scope scope = MCP_SCOPE_LOCAL;

	if (scope_word && find_scope(scope_word, &scope, err) < 0)
		return -ERR_USAGE;
	for (size_t i = 0; i < places->count; i++) {
		const struct mcp_location *place = &places->list[i];
		bool there = false;
		if (scope_word && place->scope != scope)
			continue;
		if (mcp_location_has(place, str_from(name), &there, err) < 0)
			return -(int)err->kind;
		if (there && found && found->scope != place->scope)
			return err_set(err, ERR_USAGE,
				       "server '%.60s' is there with scope %s and scope %s: say which one with --scope",
				       name, mcp_scope_word(found->scope), mcp_scope_word(place->scope));
		if (there && !found)
			found = place;
	}
	if (!found)
		return err_set(err, ERR_NOT_FOUND, "there is no server '%.60s'%s%s; `cadre mcp list` lists them", name,
			       scope_word ? " with scope " : "", scope_word ? scope_word : "");
	*ret_place = found;
	return 0;
}

int cadre_mcp_remove(struct cadre *c, const char *name, const char *scope, struct cadre_report **ret_report, char *why,
		     size_t why_size)
{
	struct services *sv = cadre_services(c);
	AUTO_ARENA struct arena a = { 0 };
	const struct mcp_location *place = NULL;
	struct mcp_locations places;
	struct err err = { 0 };

	if (!sv || !name || !ret_report)
		return CADRE_USAGE;
	struct cadre_report *report = xcalloc(1, sizeof *report);
	int status = app_mcp_locations(sv, &a, &places, &err);
	if (status == 0)
		status = find_entry(&places, name, scope, &place, &err);
	if (status == 0)
		status = mcp_location_set(place, str_from(name), (struct str){ 0 }, &err);
	if (status == 0)
		report_change(report, place, name, "removed");
	return app_give_report(status, report, ret_report, &err, why, why_size);
}
