/* SPDX-License-Identifier: MIT
 * marketplaces.c - `cadre plugin marketplace`: fetches marketplaces, checks them against managed settings, records and lists them. */
#include "product/command/command.h"
#include "product/plugin/marketplaces.h"
#include "lib/io/file.h"
#include "defs/plugin/fetch.h"
#include "defs/plugin/marketplace.h"

int marketplace_ctx_open(struct marketplace_ctx *ctx, struct services *sv, struct err *err)
{
	*ctx = (struct marketplace_ctx){ .services = sv };
	if (options_directories(&sv->options, &ctx->arena, &ctx->cwd, &ctx->config_dir, err) < 0 ||
	    services_plugins_dir(sv, &ctx->arena, &ctx->plugins_dir, err) < 0 ||
	    services_settings(sv, &ctx->settings, err) < 0 ||
	    plugin_records_read(&ctx->records, ctx->plugins_dir, err) < 0) {
		marketplace_ctx_release(ctx);
		return -(int)err->kind;
	}
	return 0;
}

int market_fetch(struct marketplace_ctx *ctx, const struct json *source, const char *dir, const char **ret_dir,
		 struct err *err)
{
	const struct json *kind = json_get(source, "source");
	struct npm_source npm;
	struct git_source git;

	*ret_dir = dir;
	if (json_str_is(kind, "command"))
		return err_set(
			err, ERR_DENIED,
			"a source of the kind command would run a program of the marketplace's choice to get its "
			"files: get them yourself and install the directory");
	if (json_str_is(kind, "npm")) {
		int status = npm_source_read(&ctx->arena, source, &npm, err);
		return status < 0 ? status : npm_fetch(&npm, dir, err);
	}
	if (git_source_read(&ctx->arena, source, &git, err) < 0 || git_clone(&git, dir, err) < 0)
		return -(int)err->kind;
	if (!git.path)
		return 0;
	*ret_dir = path_absolute(&ctx->arena, dir, str_from(git.path));
	AUTO_FREE char *real = realpath(*ret_dir, NULL);
	AUTO_FREE char *root = realpath(dir, NULL);
	if (!real || !root || !path_is_inside(real, root))
		return err_set(err, ERR_USAGE, "path: '%s' is not in the repository", git.path);
	return 0;
}

static void write_source(struct buf *out, const char *kind, const char *key, struct str value, struct str ref)
{
	struct json_out w = json_out(out);

	json_putf(&w, "{source:'%s'", kind);
	json_kstr(&w, key, value);
	json_putf(&w, "ref?:'%.*s'}", STR_ARG(ref));
}

/* Writes the source of an operand as JSON: a directory, `ADDRESS#REF`, or OWNER/NAME. Repositories at GitHub always become owner
 * and name, so that rules about them match every spelling. */
static int market_source_write(struct marketplace_ctx *ctx, const char *what, struct buf *out, struct err *err)
{
	static const char github[] = "https://github.com/";
	struct str ref = str_from(what);
	struct str address = str_cut(&ref, '#');
	const char *path = path_absolute(&ctx->arena, ctx->cwd, str_from(what));

	if (file_is_dir(path)) {
		AUTO_FREE char *real = realpath(path, NULL);
		write_source(out, "directory", "path", str_from(real ? real : path), STR(""));
		return 0;
	}
	struct str repo = address;
	if (str_starts(repo, str_from(github)))
		repo = (struct str){ repo.p + sizeof github - 1, repo.n - (sizeof github - 1) };
	if (str_ends(repo, STR(".git")) && repo.p != address.p)
		repo.n -= 4;
	struct str name = repo;
	struct str owner = str_cut(&name, '/');
	if (plugin_name_is_good(owner) && name.p && plugin_name_is_good(name))
		write_source(out, "github", "repo", repo, ref);
	else if (str_has(address, STR("://")) || str_starts(address, STR("git@")))
		write_source(out, "git", "url", address, ref);
	else
		return err_set(err, ERR_NOT_FOUND,
			       "'%.100s' is neither a directory, the address of a repository, nor OWNER/NAME", what);
	return 0;
}

static int check_allowed(struct marketplace_ctx *ctx, const char *name, const struct json *source, struct err *err)
{
	const char *why = market_forbidden(ctx->settings, name, source);

	return why ? err_set(err, ERR_DENIED, "the marketplace %s%sis not allowed: %s", name, name[0] ? " " : "", why)
		   : 0;
}

static int check_market_name(struct marketplace_ctx *ctx, const struct marketplace *m, const struct json *source,
			     const char *expected, struct err *err)
{
	const struct known_marketplace *known = plugin_records_market(&ctx->records, m->name);

	if (expected && strcmp(expected, m->name) != 0)
		return err_set(err, ERR_USAGE, "the marketplace calls itself %s, not %s", m->name, expected);
	if (known && !json_same(known->source, source))
		return err_set(err, ERR_USAGE,
			       "another marketplace is called %s already: cadre plugin marketplace remove %s", m->name,
			       m->name);
	return check_allowed(ctx, m->name, source, err);
}

/* Reads the marketplace in dir, checks it and records it. A clone is moved to the directory of its name. */
static int read_market(struct marketplace_ctx *ctx, const struct json *source, const char *dir, bool is_clone,
		       const char *expected, const char **ret_name, struct err *err)
{
	AUTO_MARKETPLACE struct marketplace m = { 0 };
	int status = marketplace_read(&m, dir, err);

	if (status == 0)
		status = check_market_name(ctx, &m, source, expected, err);
	if (status < 0)
		return status;
	const char *home = is_clone ? arena_printf(&ctx->arena, "%s/marketplaces/%s", ctx->plugins_dir, m.name) : m.dir;
	if (is_clone)
		status = directory_put(dir, home, err);
	if (status == 0)
		status = record_market(ctx->plugins_dir, m.name, json_raw(source), home, err);
	*ret_name = arena_strdup(&ctx->arena, m.name);
	if (status < 0)
		return status;
	plugin_records_release(&ctx->records);
	return plugin_records_read(&ctx->records, ctx->plugins_dir, err);
}

/* Fetches, checks and records the marketplace of a source. expected: the name that it must have; NULL: any. *ret_name is in
 * the ctx's arena. */
static int market_add(struct marketplace_ctx *ctx, struct str source_json, const char *expected, const char **ret_name,
		      struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	struct str text = arena_str(&ctx->arena, source_json);
	const struct json *source;
	const char *temp, *dir;
	int status = json_parse(&reader, text.p, text.n, &source, err);

	if (status == 0) /* before anything is fetched; its name may be known only afterwards */
		status = check_allowed(ctx, expected ? expected : "", source, err);
	if (status < 0)
		return status;
	if (json_str_is(json_get(source, "source"), "directory")) {
		dir = json_cstr(json_get(source, "path"), &ctx->arena);
		if (!dir || dir[0] != '/')
			return err_set(err, ERR_USAGE, "the source of a marketplace needs an absolute path");
		return read_market(ctx, source, dir, false, expected, ret_name, err);
	}
	const char *place = arena_printf(&ctx->arena, "%s/marketplaces/x", ctx->plugins_dir);
	if (directory_begin(&ctx->arena, place, &temp, err) < 0)
		return -(int)err->kind;
	status = market_fetch(ctx, source, temp, &dir, err);
	if (status == 0)
		status = read_market(ctx, source, temp, true, expected, ret_name, err);
	if (status < 0)
		(void)directory_remove(temp, NULL);
	return status;
}

struct declared {
	const char *name;
	const struct json *source; /* NULL: the settings do not declare it */
};

static void find_declared(void *data, const struct settings_item *item)
{
	struct declared *d = data;

	if (json_str_is(item->key, d->name))
		d->source = json_get(item->value, "source");
}

int market_open(struct marketplace_ctx *ctx, const char *name, struct marketplace *ret_market, struct err *err)
{
	const struct known_marketplace *known = plugin_records_market(&ctx->records, name);
	struct declared d = { .name = name };
	int status = 0;

	settings_each(ctx->settings, "extraKnownMarketplaces", find_declared, &d);
	if (!known && d.source)
		status = market_add(ctx, json_raw(d.source), name, &name, err);
	if (status < 0)
		return status;
	known = plugin_records_market(&ctx->records, name);
	if (!known)
		return err_set(err, ERR_NOT_FOUND, "no such marketplace: %s; `cadre plugin marketplace add` adds one",
			       name);
	status = check_allowed(ctx, name, known->source, err);
	return status < 0 ? status : marketplace_read(ret_market, known->dir, err);
}

static void list_market(struct cadre_report *r, struct json_out *w, const struct known_marketplace *k)
{
	AUTO_MARKETPLACE struct marketplace m = { 0 };
	struct err err = { 0 };
	int status = marketplace_read(&m, k->dir, &err);

	json_putf(w, "{name:'%s', source:%.*s, dir:'%s', error:'%s'", k->name, STR_ARG(json_raw(k->source)), k->dir,
		  status < 0 ? err.text : NULL);
	report_line(r, CADRE_HEAD, "%s (%s)", k->name, k->dir);
	if (status < 0)
		report_line(r, CADRE_BAD, "  %s", err.text);
	json_kopen(w, "plugins", '[');
	for (size_t i = 0; i < m.count; i++) {
		const struct market_plugin *p = &m.plugins[i];
		AUTO_BUF struct buf id = { 0 };
		json_putf(w, "{name:'%s', version:'%s', description:'%s'}", p->name, p->version, p->description);
		buf_addf(&id, "  %s@%s", p->name, m.name);
		report_row(r, CADRE_PLAIN, id.p, p->version ? p->version : "", p->description ? p->description : "",
			   NULL);
	}
	json_putf(w, "]}");
}

int marketplace_list(struct cadre_call *call)
{
	AUTO_MARKETPLACE_CTX struct marketplace_ctx ctx = { 0 };
	struct json_out w = json_out(&call->report->json);

	if (marketplace_ctx_open(&ctx, call->services, call->err) < 0)
		return -(int)call->err->kind;
	json_open(&w, '[');
	for (size_t i = 0; i < ctx.records.known_count; i++)
		list_market(call->report, &w, &ctx.records.known[i]);
	json_close(&w);
	if (!ctx.records.known_count)
		report_line(call->report, CADRE_NOTE,
			    "No marketplaces. Add one with: cadre plugin marketplace add PATH or ADDRESS.");
	return 0;
}

static void report_market(struct cadre_report *r, const char *name, const char *did)
{
	json_addf(&r->json, "{name:'%s', did:'%s'}", name, did);
	report_line(r, CADRE_GOOD, "The marketplace %s was %s.", name, did);
}

int marketplace_add(struct cadre_call *call)
{
	AUTO_MARKETPLACE_CTX struct marketplace_ctx ctx = { 0 };
	AUTO_BUF struct buf source = { 0 };
	const char *name;

	if (marketplace_ctx_open(&ctx, call->services, call->err) < 0 ||
	    market_source_write(&ctx, call->operands[0], &source, call->err) < 0 ||
	    market_add(&ctx, buf_str(&source), NULL, &name, call->err) < 0)
		return -(int)call->err->kind;
	report_market(call->report, name, "added");
	return 0;
}

/* A clone is removed as well; a directory of the user stays. */
int marketplace_remove(struct cadre_call *call)
{
	AUTO_MARKETPLACE_CTX struct marketplace_ctx ctx = { 0 };
	const char *name = call->operands[0];

	if (marketplace_ctx_open(&ctx, call->services, call->err) < 0)
		return -(int)call->err->kind;
	const struct known_marketplace *known = plugin_records_market(&ctx.records, name);
	const char *ours = path_join(&ctx.arena, ctx.plugins_dir, "marketplaces");
	if (!known)
		return err_set(call->err, ERR_NOT_FOUND,
			       "no such marketplace: %s; `cadre plugin marketplace` lists them", name);
	int status = record_market(ctx.plugins_dir, name, (struct str){ 0 }, NULL, call->err);
	if (status == 0 && path_is_inside(known->dir, ours) && strcmp(known->dir, ours) != 0)
		status = directory_remove(known->dir, call->err);
	if (status == 0)
		report_market(call->report, name, "removed");
	return status;
}

/* Each one is tried: a failure does not stop the others. */
int marketplace_update(struct cadre_call *call)
{
	AUTO_MARKETPLACE_CTX struct marketplace_ctx ctx = { 0 };
	struct json_out w = json_out(&call->report->json);
	const char *name = call->operands[0];

	if (marketplace_ctx_open(&ctx, call->services, call->err) < 0)
		return -(int)call->err->kind;
	size_t count = name ? 1 : ctx.records.known_count;
	const char **names = arena_calloc(&ctx.arena, (count + 1) * sizeof *names);
	for (size_t i = 0; i < count; i++)
		names[i] = name ? name : arena_strdup(&ctx.arena, ctx.records.known[i].name);
	json_open(&w, '[');
	if (!count)
		report_line(call->report, CADRE_NOTE,
			    "No marketplaces. Add one with: cadre plugin marketplace add SOURCE.");
	for (size_t i = 0; i < count; i++) {
		const struct known_marketplace *known = plugin_records_market(&ctx.records, names[i]);
		struct err why = { 0 };
		int status = known ? market_add(&ctx, json_raw(known->source), names[i], &name, &why)
				   : err_set(&why, ERR_NOT_FOUND,
					     "no such marketplace; `cadre plugin marketplace` lists them");
		json_putf(&w, "{name:'%s', error:'%s'}", names[i], status < 0 ? why.text : NULL);
		call->report->bad |= status < 0;
		report_line(call->report, status < 0 ? CADRE_BAD : CADRE_GOOD, "%s: %s", names[i],
			    status < 0 ? why.text : "updated");
	}
	json_close(&w);
	return 0;
}
