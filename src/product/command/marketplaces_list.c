/* SPDX-License-Identifier: MIT
 * marketplaces_list.c - `cadre plugin marketplace`: list, add, remove, update. */
#include "product/command/report.h"
#include "product/command/marketplaces.h"
#include "defs/plugin/copy.h"
#include "lib/io/file.h"

/* ---- list -------------------------------------------------------------------------------------------------------- */

static void put_offers(struct json_out *w, const struct marketplace *m)
{
	json_key(w, "plugins");
	json_open(w, '[');
	for (size_t i = 0; i < m->count; i++) {
		json_open(w, '{');
		json_kcstr(w, "name", m->plugins[i].name);
		json_kcstr(w, "version", m->plugins[i].version);
		json_kcstr(w, "description", m->plugins[i].description);
		json_close(w);
	}
	json_close(w);
}

static void add_offers(struct cadre_report *r, const struct marketplace *m)
{
	for (size_t i = 0; i < m->count; i++) {
		AUTO_BUF struct buf id = { 0 };
		buf_addf(&id, "  %s@%s", m->plugins[i].name, m->name);
		report_row(r, CADRE_PLAIN, id.p, m->plugins[i].version ? m->plugins[i].version : "",
			   m->plugins[i].description ? m->plugins[i].description : "", NULL);
	}
}

static void list_one(struct cadre_report *r, struct json_out *w, const struct known_marketplace *k)
{
	AUTO_MARKETPLACE struct marketplace m = { 0 };
	struct err err = { 0 };
	int status = marketplace_read(&m, k->dir, &err);

	json_open(w, '{');
	json_kcstr(w, "name", k->name);
	json_kraw(w, "source", json_raw(k->source));
	json_kcstr(w, "dir", k->dir);
	json_kcstr(w, "error", status < 0 ? err.text : NULL);
	put_offers(w, &m);
	json_close(w);
	report_line(r, CADRE_HEAD, "%s (%s)", k->name, k->dir);
	if (status < 0)
		report_line(r, CADRE_BAD, "  %s", err.text);
	add_offers(r, &m);
}

int cadre_marketplaces_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	AUTO_MARKET_ROOM struct market_room room = { 0 };
	struct err err = { 0 };

	if (!sv || !ret_report)
		return CADRE_USAGE;
	struct cadre_report *report = xcalloc(1, sizeof *report);
	struct json_out w = json_out(&report->json);
	int status = market_room_open(&room, sv, &err);
	json_open(&w, '[');
	for (size_t i = 0; i < room.records.known_count; i++)
		list_one(report, &w, &room.records.known[i]);
	json_close(&w);
	if (!room.records.known_count)
		report_line(report, CADRE_NOTE,
			    "No marketplace is known: cadre plugin marketplace add PATH or ADDRESS.");
	return app_give_report(status, report, ret_report, &err, why, why_size);
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

static void tell(struct cadre_report *r, const char *name, const char *did)
{
	struct json_out w = json_out(&r->json);

	json_open(&w, '{');
	json_kcstr(&w, "name", name);
	json_kcstr(&w, "did", did);
	json_close(&w);
	report_line(r, CADRE_GOOD, "The marketplace %s was %s.", name, did);
}

static int add(struct market_room *room, const char *what, struct cadre_report *r, struct err *err)
{
	AUTO_BUF struct buf source = { 0 };
	const char *name;
	int status = market_source_write(room, what, &source, err);

	if (status == 0)
		status = market_add(room, buf_str(&source), NULL, &name, err);
	if (status == 0)
		tell(r, name, "added");
	return status;
}

/* A clone is ours and goes with it; a directory of the user stays. */
static int remove_known(struct market_room *room, const char *name, struct cadre_report *r, struct err *err)
{
	const struct known_marketplace *known = plugin_records_market(&room->records, name);
	const char *ours = path_join(&room->arena, room->plugins_dir, "marketplaces");

	if (!known)
		return err_set(err, ERR_NOT_FOUND, "there is no marketplace %s", name);
	int status = record_no_market(room->plugins_dir, name, err);
	if (status == 0 && path_is_inside(known->dir, ours) && strcmp(known->dir, ours) != 0)
		status = directory_remove(known->dir, err);
	if (status == 0)
		tell(r, name, "removed");
	return status;
}

static int update_one(struct market_room *room, const char *name, struct err *err)
{
	const struct known_marketplace *known = plugin_records_market(&room->records, name);

	if (!known)
		return err_set(err, ERR_NOT_FOUND, "there is no marketplace %s", name);
	return market_add(room, json_raw(known->source), name, &name, err);
}

/* Each is tried; one that cannot be reached does not keep the others old. */
static int update(struct market_room *room, const char *name, struct cadre_report *r, struct err *err)
{
	struct json_out w = json_out(&r->json);
	size_t count = name ? 1 : room->records.known_count;
	const char **names = arena_calloc(&room->arena, (count + 1) * sizeof *names);

	for (size_t i = 0; i < count; i++)
		names[i] = name ? name : arena_strdup(&room->arena, room->records.known[i].name);
	json_open(&w, '[');
	for (size_t i = 0; i < count; i++) {
		int status = update_one(room, names[i], err);
		json_open(&w, '{');
		json_kcstr(&w, "name", names[i]);
		json_kcstr(&w, "error", status < 0 ? err->text : NULL);
		json_close(&w);
		r->bad |= status < 0;
		report_line(r, status < 0 ? CADRE_BAD : CADRE_GOOD, "%s: %s", names[i],
			    status < 0 ? err->text : "updated");
	}
	json_close(&w);
	return 0;
}

int cadre_marketplaces_change(struct cadre *c, enum cadre_marketplace_change change, const char *what,
			      struct cadre_report **ret_report, char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	AUTO_MARKET_ROOM struct market_room room = { 0 };
	struct err err = { 0 };

	if (!sv || !ret_report || (!what && change != CADRE_MARKETPLACE_UPDATE))
		return CADRE_USAGE;
	struct cadre_report *report = xcalloc(1, sizeof *report);
	int status = services_may_block(sv, &err);
	if (status == 0)
		status = market_room_open(&room, sv, &err);
	if (status == 0 && change == CADRE_MARKETPLACE_ADD)
		status = add(&room, what, report, &err);
	else if (status == 0 && change == CADRE_MARKETPLACE_REMOVE)
		status = remove_known(&room, what, report, &err);
	else if (status == 0)
		status = update(&room, what, report, &err);
	return app_give_report(status, report, ret_report, &err, why, why_size);
}
