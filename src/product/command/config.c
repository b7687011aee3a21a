/* SPDX-License-Identifier: MIT
 * config.c - `cadre config`: the settings that hold, and the keys that are known. */
#include "product/command/config.h"
#include "product/command/report.h"
#include "lib/io/file.h"
#include "config/settings/settings_key.h"

void app_put_origin(struct json_out *w, const struct settings_origin *origin)
{
	json_kcstr(w, "layer", settings_layer_name(origin->layer));
	json_kcstr(w, "file", origin->file);
	app_put_line(w, origin->line);
}

void app_origin_text(struct buf *out, const struct settings_origin *origin)
{
	buf_addstr(out, origin->file);
	if (origin->line)
		buf_addf(out, ":%u", origin->line);
}

/* ---- list -------------------------------------------------------------------------------------------------------- */

struct list {
	struct cadre_report *report;
	struct json_out w;
	const struct settings *settings;
};

static void count_parts(void *data, const struct settings_view *view)
{
	*(size_t *)data += view->effect == EFFECT_JOINS;
}

/* A name with a dot is not found by its path. */
static void list_odd(struct list *l, const char *path, const struct json *value)
{
	json_open(&l->w, '{');
	json_kcstr(&l->w, "key", path);
	json_kraw(&l->w, "value", json_raw(value));
	json_close(&l->w);
	report_row(l->report, CADRE_NOTE, path, "", "(not a path)", "", NULL);
}

static void list_setting(void *data, const char *path, const struct setting_key *key, const struct json *value)
{
	struct list *l = data;
	struct settings_origin origin = { 0 };
	size_t more = 0;
	AUTO_BUF struct buf from = { 0 };
	AUTO_BUF struct buf text = { 0 };

	if (settings_get(l->settings, path, &origin) != value) {
		list_odd(l, path, value);
		return;
	}
	settings_explain(l->settings, path, count_parts, &more);
	json_open(&l->w, '{');
	json_kcstr(&l->w, "key", path);
	json_kraw(&l->w, "value", json_raw(value));
	app_put_origin(&l->w, &origin);
	json_close(&l->w);
	app_origin_text(&from, &origin);
	if (more)
		buf_addf(&from, " and %zu more", more - 1);
	buf_add(&text, json_raw(value).p, json_raw(value).n);
	report_row(l->report, CADRE_PLAIN, path, settings_layer_name(origin.layer), from.p, text.p, NULL);
}

static void list_file(void *data, const struct settings_view *view)
{
	struct list *l = data;
	bool there = view->effect != EFFECT_NO_FILE;

	json_open(&l->w, '{');
	json_kcstr(&l->w, "layer", settings_layer_name(view->origin.layer));
	json_kcstr(&l->w, "file", view->origin.file);
	json_kbool(&l->w, "exists", there);
	json_close(&l->w);
	report_row(l->report, there ? CADRE_PLAIN : CADRE_NOTE, settings_layer_name(view->origin.layer),
		   there ? "read" : "not there", view->origin.file, NULL);
}

static void list_notes(struct list *l)
{
	size_t count;
	const struct settings_note *notes = settings_notes(l->settings, &count);

	for (size_t i = 0; i < count; i++) {
		const struct settings_origin *at = &notes[i].origin;
		json_open(&l->w, '{');
		app_put_origin(&l->w, at);
		json_kcstr(&l->w, "message", notes[i].message);
		json_close(&l->w);
		report_line(l->report, CADRE_WARN, "%s:%u:%u: %s", at->file, at->line, at->column, notes[i].message);
	}
}

static void list_all(struct list *l)
{
	json_open(&l->w, '{');
	json_key(&l->w, "settings");
	json_open(&l->w, '[');
	report_row(l->report, CADRE_HEAD, "KEY", "LAYER", "FROM", "VALUE", NULL);
	settings_each_set(l->settings, list_setting, l);
	json_close(&l->w);
	json_key(&l->w, "files");
	json_open(&l->w, '[');
	report_row(l->report, CADRE_HEAD, "LAYER", "STATE", "FILE, the highest first", NULL);
	settings_explain(l->settings, "", list_file, l);
	json_close(&l->w);
	json_key(&l->w, "notes");
	json_open(&l->w, '[');
	list_notes(l);
	json_close(&l->w);
	json_close(&l->w);
}

int cadre_config_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	struct settings *s;
	struct err err = { 0 };

	if (!sv || !ret_report)
		return CADRE_USAGE;
	int status = app_settings(sv, &s, &err);
	if (status < 0)
		return api_status(status, &err, why, why_size);
	struct cadre_report *report = xcalloc(1, sizeof *report);
	list_all(&(struct list){ report, json_out(&report->json), s });
	settings_unref(s);
	*ret_report = report;
	return 0;
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static void put_key(struct json_out *w, const struct setting_key *key, const char *expected)
{
	json_open(w, '{');
	json_kcstr(w, "key", key->path);
	json_kcstr(w, "expected", expected);
	json_kraw(w, "default", key->fallback ? str_from(key->fallback) : STR("null"));
	json_kbool(w, "effect", !(key->flags & SETTING_NO_EFFECT));
	json_kbool(w, "managedOnly", key->flags & SETTING_MANAGED);
	json_kcstr(w, "untrusted",
		   key->flags & SETTING_ANYONE        ? "counts"
		   : key->flags & SETTING_IF_NARROWER ? "narrows"
						      : "held");
	json_kcstr(w, "summary", key->summary);
	json_close(w);
}

int cadre_config_keys(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	if (!sv || !ret_report)
		return CADRE_USAGE;
	struct cadre_report *report = xcalloc(1, sizeof *report);
	struct json_out w = json_out(&report->json);
	json_open(&w, '[');
	report_row(report, CADRE_HEAD, "KEY", "DEFAULT", "MEANING", NULL);
	for (size_t i = 0; i < setting_count; i++) {
		const struct setting_key *key = &setting_table[i];
		AUTO_BUF struct buf expected = { 0 };
		setting_expected(&expected, key);
		put_key(&w, key, expected.p);
		bool inert = key->flags & SETTING_NO_EFFECT;
		AUTO_BUF struct buf meaning = { 0 };
		buf_addf(&meaning, "%s%s", inert ? "no effect: " : "", key->summary);
		report_row(report, inert ? CADRE_NOTE : CADRE_PLAIN, key->path, key->fallback ? key->fallback : "",
			   meaning.p, NULL);
	}
	json_close(&w);
	*ret_report = report;
	return 0;
}
