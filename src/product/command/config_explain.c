/* SPDX-License-Identifier: MIT
 * config_explain.c - `cadre config get` and `explain`: one key, its value, and who says what about it. */
#include <strings.h>
#include "defs/policy/sources.h"
#include "product/command/report.h"
#include "product/command/config.h"
#include "config/settings/settings_key.h"

static const char *const effects[] = {
	[EFFECT_NO_FILE] = "no file",
	[EFFECT_SILENT] = "-",
	[EFFECT_IGNORED] = "ignored",
	[EFFECT_HELD] = "held",
	[EFFECT_OVERRIDDEN] = "overridden",
	[EFFECT_JOINS] = "joined",
	[EFFECT_WINS] = "wins",
};

/* The known key whose last name was given, or that was spelled in another case. */
static const char *nearest(const char *name)
{
	for (size_t i = 0; i < setting_count; i++) {
		const char *path = setting_table[i].path;
		const char *dot = strrchr(path, '.');
		if (!strcasecmp(path, name) || (dot && !strcasecmp(dot + 1, name)))
			return path;
	}
	return NULL;
}

static int fail_unknown(const char *name, struct err *err)
{
	const char *near = nearest(name);

	if (near)
		return err_set(err, ERR_NOT_FOUND, "there is no setting '%.80s' (did you mean %s?)", name, near);
	return err_set(err, ERR_NOT_FOUND, "there is no setting '%.80s' (cadre config keys lists them)", name);
}

/* A key that is neither known nor set. */
static bool is_nothing(const struct settings *s, const char *name)
{
	struct str path = str_from(name);

	return !settings_get(s, name, NULL) && !setting_at_or_above(path) && !setting_is_group(path);
}

/* ---- get --------------------------------------------------------------------------------------------------------- */

static void write_get(struct cadre_report *report, const struct settings *s, const char *name, const struct json *value,
		      const char *fallback)
{
	AUTO_ARENA struct arena scratch = { 0 };
	struct json_out w = json_out(&report->json);
	struct settings_origin origin;
	struct str raw = value ? json_raw(value) : str_from(fallback);
	struct str text = json_is(value, JSON_STRING) ? json_str(value, &scratch) : raw;

	if (!value && raw.n > 1 && raw.p[0] == '"')
		text = (struct str){ raw.p + 1, raw.n - 2 };
	json_open(&w, '{');
	json_kcstr(&w, "key", name);
	json_kraw(&w, "value", raw);
	if (settings_get(s, name, &origin))
		app_put_origin(&w, &origin);
	else
		json_kcstr(&w, "layer", "default");
	json_close(&w);
	report_line(report, CADRE_PLAIN, STR_FMT, STR_ARG(text));
}

static int get(const struct settings *s, const char *name, struct cadre_report *report, struct err *err)
{
	const struct setting_key *key = setting_find(str_from(name));
	const struct json *value = settings_get(s, name, NULL);

	if (is_nothing(s, name))
		return fail_unknown(name, err);
	if (!value && !(key && key->fallback))
		return err_set(err, ERR_NOT_FOUND, "%.80s is not set", name);
	write_get(report, s, name, value, key ? key->fallback : NULL);
	return 0;
}

/* ---- explain ----------------------------------------------------------------------------------------------------- */

struct explain {
	struct cadre_report *report;
	struct json_out w;
};

static void explain_view(void *data, const struct settings_view *view)
{
	struct explain *e = data;
	AUTO_BUF struct buf from = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct str raw = json_raw(view->value);

	json_open(&e->w, '{');
	app_put_origin(&e->w, &view->origin);
	json_kraw(&e->w, "value", raw.n ? raw : STR("null"));
	json_kcstr(&e->w, "effect", view->effect == EFFECT_SILENT ? "silent" : effects[view->effect]);
	json_kcstr(&e->w, "why", view->why);
	json_close(&e->w);
	app_origin_text(&from, &view->origin);
	buf_add(&text, raw.p, raw.n);
	if (view->why)
		buf_addf(&text, " (%s)", view->why);
	report_row(e->report,
		   view->effect == EFFECT_WINS ? CADRE_GOOD
		   : view->value               ? CADRE_PLAIN
					       : CADRE_NOTE,
		   settings_layer_name(view->origin.layer), effects[view->effect], from.p, buf_str(&text).p, NULL);
}

static void explain_unknown(struct cadre_report *report, const char *name)
{
	const struct setting_key *map = setting_at_or_above(str_from(name));

	if (map)
		report_line(report, CADRE_PLAIN, "%s, part of %s: %s", name, map->path, map->summary);
	else if (setting_is_group(str_from(name)))
		report_line(report, CADRE_PLAIN, "%s: a group of settings", name);
	else
		report_line(report, CADRE_WARN, "%s: not a setting that is known here; it has no effect", name);
}

static void explain_key(struct explain *e, const char *name, const struct setting_key *key)
{
	AUTO_BUF struct buf expected = { 0 };

	json_kcstr(&e->w, "key", name);
	json_kbool(&e->w, "known", setting_at_or_above(str_from(name)) || setting_is_group(str_from(name)));
	json_kbool(&e->w, "effect", !key || !(key->flags & SETTING_NO_EFFECT));
	json_kcstr(&e->w, "summary", key ? key->summary : NULL);
	json_kraw(&e->w, "default", key && key->fallback ? str_from(key->fallback) : STR("null"));
	if (!key) {
		explain_unknown(e->report, name);
		return;
	}
	setting_expected(&expected, key);
	report_line(e->report, CADRE_PLAIN, "%s: %s", key->path, key->summary);
	report_line(e->report, CADRE_NOTE, "expects %s%s%s", expected.p, key->fallback ? "; default " : "",
		    key->fallback ? key->fallback : "");
	if (key->flags & SETTING_NO_EFFECT)
		report_line(e->report, CADRE_WARN,
			    "no effect: other programs have this setting, this version does not act on it");
	if (key->strictness)
		report_line(e->report, CADRE_NOTE, "the strictest value counts, whichever layer says it");
	if (key->flags & SETTING_OURS)
		report_line(e->report, CADRE_NOTE, "cadre's own: other programs ignore it");
	if (key->flags & SETTING_AT_START)
		report_line(e->report, CADRE_NOTE, "a change counts for the next session");
}

static void explain(const struct settings *s, const char *name, struct cadre_report *report)
{
	struct explain e = { report, json_out(&report->json) };
	const struct setting_key *key = setting_find(str_from(name));
	struct str value = json_raw(settings_get(s, name, NULL));

	json_open(&e.w, '{');
	explain_key(&e, name, key);
	json_kraw(&e.w, "value", value.n ? value : STR("null"));
	json_key(&e.w, "layers");
	json_open(&e.w, '[');
	report_row(report, CADRE_HEAD, "LAYER", "EFFECT", "FROM", "VALUE", NULL);
	settings_explain(s, name, explain_view, &e);
	json_close(&e.w);
	json_close(&e.w);
	if (value.n)
		report_line(report, CADRE_PLAIN, "in force: " STR_FMT, STR_ARG(value));
	else if (key && key->fallback)
		report_line(report, CADRE_PLAIN, "in force: %s (the default)", key->fallback);
	else
		report_line(report, CADRE_PLAIN, "not set");
}

/* ---- the API ----------------------------------------------------------------------------------------------------- */

int cadre_config_get(struct cadre *c, const char *key, struct cadre_report **ret_report, char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	struct settings *s = NULL;
	struct err err = { 0 };

	if (!sv || !key || !ret_report)
		return CADRE_USAGE;
	struct cadre_report *report = xcalloc(1, sizeof *report);
	int status = app_settings(sv, &s, &err);
	if (status == 0)
		status = get(s, key, report, &err);
	settings_unref(s);
	return app_give_report(status, report, ret_report, &err, why, why_size);
}

int cadre_config_explain(struct cadre *c, const char *key, struct cadre_report **ret_report, char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	struct settings *s = NULL;
	struct err err = { 0 };

	if (!sv || !key || !ret_report)
		return CADRE_USAGE;
	struct cadre_report *report = xcalloc(1, sizeof *report);
	int status = app_settings(sv, &s, &err);
	if (status == 0 && is_nothing(s, key))
		status = fail_unknown(key, &err);
	if (status == 0)
		explain(s, key, report);
	settings_unref(s);
	return app_give_report(status, report, ret_report, &err, why, why_size);
}
