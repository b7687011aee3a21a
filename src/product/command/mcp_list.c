/* SPDX-License-Identifier: MIT
 * mcp_list.c - `cadre mcp list` and `cadre mcp get`: which servers are configured, where, and which of them count. */
#include "product/command/report.h"
#include "product/session/mcp_config.h"

/* FILE:LINE; "" if nobody knows. */
static void add_place(struct buf *out, const struct mcp_item *item)
{
	buf_addstr(out, item->file ? item->file : "");
	if (item->file && item->line)
		buf_addf(out, ":%u", item->line);
}

static const char *kind_of(const struct mcp_item *item)
{
	return item->server ? mcp_kind_word(item->server->kind) : "-";
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void put_by(struct json_out *w, const struct mcp_item *by)
{
	json_key(w, "shadowedBy");
	if (!by) {
		json_put_null(w);
		return;
	}
	json_open(w, '{');
	json_kcstr(w, "name", by->name);
	json_kcstr(w, "scope", mcp_scope_word(by->scope));
	json_kcstr(w, "file", by->file);
	app_put_line(w, by->line);
	json_close(w);
}

static void put_item(struct json_out *w, const struct mcp_item *item)
{
	json_open(w, '{');
	json_kcstr(w, "name", item->name);
	json_kcstr(w, "scope", mcp_scope_word(item->scope));
	json_kcstr(w, "type", item->server ? mcp_kind_word(item->server->kind) : NULL);
	json_kcstr(w, "file", item->file);
	app_put_line(w, item->line);
	json_kcstr(w, "state", mcp_standing_word(item->standing));
	json_kcstr(w, "reason", item->reason[0] ? item->reason : NULL);
	json_kcstr(w, "error", item->error_type);
	put_by(w, item->by);
	json_kraw(w, "config", item->json);
	json_close(w);
}

static void put_notes(struct json_out *w, const struct mcp_config *config)
{
	json_key(w, "notes");
	json_open(w, '[');
	for (struct str rest = buf_str(&config->notes); rest.p;) {
		struct str line = str_cut(&rest, '\n');
		if (line.n)
			json_put_str(w, line);
	}
	json_close(w);
}

/* ---- list -------------------------------------------------------------------------------------------------------- */

static const enum cadre_tone tones[] = { [MCP_COUNTS] = CADRE_PLAIN,
					 [MCP_SHADOWED] = CADRE_NOTE,
					 [MCP_UNAPPROVED] = CADRE_WARN,
					 [MCP_REFUSED] = CADRE_BAD };

static void list_item(struct cadre_report *r, const struct mcp_item *item)
{
	AUTO_BUF struct buf place = { 0 };
	AUTO_BUF struct buf state = { 0 };

	add_place(&place, item);
	buf_addstr(&state, mcp_standing_word(item->standing));
	if (item->standing == MCP_SHADOWED) {
		buf_addf(&state, " by %s ", mcp_scope_word(item->by->scope));
		add_place(&state, item->by);
	}
	report_row(r, tones[item->standing], item->name, mcp_scope_word(item->scope), kind_of(item), state.p,
		   buf_str(&place).p, NULL);
}

/* Rows say that something does not count; these lines say why. */
static void list_reasons(struct cadre_report *r, const struct mcp_config *config)
{
	for (size_t i = 0; i < config->count; i++) {
		const struct mcp_item *item = &config->items[i];
		AUTO_BUF struct buf place = { 0 };
		add_place(&place, item);
		if (item->error_type) /* the error names its place itself */
			report_line(r, CADRE_BAD, "%s", item->reason);
		else if (item->standing == MCP_REFUSED || item->standing == MCP_UNAPPROVED)
			report_line(r, tones[item->standing], "%s: server '%s': %s", buf_str(&place).p, item->name,
				    item->reason);
	}
	for (struct str rest = buf_str(&config->notes); rest.p;) {
		struct str line = str_cut(&rest, '\n');
		if (line.n)
			report_line(r, CADRE_NOTE, STR_FMT, STR_ARG(line));
	}
}

static void report_list(struct cadre_report *r, const struct mcp_config *config)
{
	struct json_out w = json_out(&r->json);

	json_open(&w, '{');
	json_key(&w, "servers");
	json_open(&w, '[');
	if (config->count)
		report_row(r, CADRE_HEAD, "NAME", "SCOPE", "TYPE", "STATE", "WHERE", NULL);
	else
		report_line(r, CADRE_NOTE, "No MCP server is configured. `cadre mcp add --help` tells how.");
	for (size_t i = 0; i < config->count; i++) {
		put_item(&w, &config->items[i]);
		list_item(r, &config->items[i]);
	}
	json_close(&w);
	json_kcstr(&w, "managedFile", config->managed_file);
	put_notes(&w, config);
	json_close(&w);
	list_reasons(r, config);
}

int cadre_mcp_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	struct mcp_config *config = NULL;
	struct err err = { 0 };

	if (!sv || !ret_report)
		return CADRE_USAGE;
	struct cadre_report *report = xcalloc(1, sizeof *report);
	int status = app_mcp_look(sv, &config, &err);
	if (status == 0)
		report_list(report, config);
	mcp_config_free(config);
	return app_give_report(status, report, ret_report, &err, why, why_size);
}

/* ---- get --------------------------------------------------------------------------------------------------------- */

static void add_words(struct buf *out, const char *const *list, char before)
{
	for (size_t i = 0; list && list[i]; i++)
		buf_addf(out, "%s%s", i || before ? " " : "", list[i]);
}

/* Values may be secrets: the names are enough to recognise them. */
static void add_names(struct buf *out, const char *const *list, char end)
{
	for (size_t i = 0; list && list[i]; i++) {
		struct str rest = str_from(list[i]);
		struct str name = str_cut(&rest, end);
		buf_addf(out, "%s" STR_FMT, i ? ", " : "", STR_ARG(name));
	}
}

static void row_if(struct cadre_report *r, const char *word, const struct buf *text)
{
	if (text->n)
		report_row(r, CADRE_PLAIN, word, text->p, NULL);
}

static void get_server(struct cadre_report *r, const struct mcp_server *s)
{
	AUTO_BUF struct buf what = { 0 };
	AUTO_BUF struct buf env = { 0 };
	AUTO_BUF struct buf headers = { 0 };

	buf_addstr(&what, s->command ? s->command : s->url ? s->url : "");
	add_words(&what, s->args, ' ');
	add_names(&env, s->env, '=');
	add_names(&headers, s->headers, ':');
	row_if(r, s->command ? "command" : "url", &what);
	row_if(r, "env", &env);
	row_if(r, "headers", &headers);
	if (s->headers_helper)
		report_row(r, s->believed ? CADRE_PLAIN : CADRE_WARN, "headersHelper",
			   s->believed ? s->headers_helper : "does not run: the folder is not trusted", NULL);
}

static void get_item(struct cadre_report *r, const struct mcp_item *item)
{
	AUTO_BUF struct buf place = { 0 };

	add_place(&place, item);
	report_row(r, CADRE_PLAIN, "name", item->name, NULL);
	report_row(r, CADRE_PLAIN, "scope", mcp_scope_word(item->scope), NULL);
	report_row(r, CADRE_PLAIN, "type", kind_of(item), NULL);
	row_if(r, "where", &place);
	report_row(r, tones[item->standing], "state", mcp_standing_word(item->standing), NULL);
	if (item->reason[0])
		report_row(r, tones[item->standing], "why", item->reason, NULL);
	if (item->server)
		get_server(r, item->server);
}

static int report_get(struct cadre_report *r, const struct mcp_config *config, const char *name, struct err *err)
{
	const struct mcp_item *item = app_mcp_item(config, name);
	struct json_out w = json_out(&r->json);

	if (!item)
		return err_set(err, ERR_NOT_FOUND, "there is no MCP server '%.80s'; `cadre mcp list` lists them", name);
	put_item(&w, item);
	get_item(r, item);
	r->bad = item->standing == MCP_REFUSED;
	return 0;
}

int cadre_mcp_get(struct cadre *c, const char *name, struct cadre_report **ret_report, char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	struct mcp_config *config = NULL;
	struct err err = { 0 };

	if (!sv || !name || !ret_report)
		return CADRE_USAGE;
	struct cadre_report *report = xcalloc(1, sizeof *report);
	int status = app_mcp_look(sv, &config, &err);
	if (status == 0)
		status = report_get(report, config, name, &err);
	mcp_config_free(config);
	return app_give_report(status, report, ret_report, &err, why, why_size);
}
