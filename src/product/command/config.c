/* SPDX-License-Identifier: MIT
 * config.c - `cadre config`: lists settings, explains a key layer by layer, and lists the known keys. */
#include "product/command/command.h"
#include "config/settings/settings_key.h"

static command_fn config_list, config_key, config_keys;

const struct cadre_command command_config = {
	.name = "config",
	.summary = "list, get and explain settings",
	.help = "Usage: cadre config [list]          the effective values with file and line; the files of all layers\n"
		"       cadre config get KEY         one value, or its default; exits with 1 if there is none\n"
		"       cadre config explain KEY     the value of a key in every layer, and which one applies\n"
		"       cadre config keys            every known setting, its default and meaning\n"
		"\n"
		"A key is a path such as model, permissions.deny or worktree.baseRef. The layers, highest first:\n"
		"  managed   /etc/claude-code/managed-settings.json, then managed-settings.d/*.json\n"
		"  flag      --settings\n"
		"  local     .claude/settings.local.json, here and at the root of the repository\n"
		"  project   .claude/settings.json\n"
		"  user      settings.json in CLAUDE_CONFIG_DIR, or in ~/.claude\n"
		"For strings, numbers and switches the highest layer applies; objects are merged; lists are joined.\n"
		"An invalid value is left out and listed here. If it restricts, or if a file is not valid JSON, no\n"
		"agent runs until it is fixed.\n"
		"\n"
		"Examples:\n"
		"  cadre config explain permissions.allow\n"
		"  cadre config get subagents.maxDepth\n"
		"  cadre config list --setting-sources user\n",
	.words =
		(const struct cadre_command_word[]){
			{ "list", "", 0, config_list },
			{ "explain", "KEY", 0, config_key },
			{ "get", "KEY", 0, config_key },
			{ "keys", "", 0, config_keys },
			{ .name = NULL },
		},
	.options = (const struct cadre_option[]){ { .name = NULL } },
	.settings = (const char *const[]){ "setting-sources", "settings", "trust-project", NULL },
};

static void put_origin(struct json_out *w, const struct settings_origin *origin)
{
	json_putf(w, "layer:'%s', file:'%s', line:?%u", settings_layer_name(origin->layer), origin->file, origin->line);
}

struct list {
	struct cadre_report *report;
	struct json_out w;
	const struct settings *settings;
};

static void count_joined(void *data, const struct settings_view *view)
{
	*(size_t *)data += view->effect == EFFECT_JOINS;
}

static void list_setting(void *data, const char *path, const struct setting_key *key, const struct json *value)
{
	struct list *l = data;
	struct settings_origin origin = { 0 };
	size_t more = 0;

	bool is_path = settings_get(l->settings, path, &origin) == value; /* not for a name with a dot */
	json_putf(&l->w, "{key:'%s', value:%.*s", path, STR_ARG(json_raw(value)));
	if (is_path)
		put_origin(&l->w, &origin);
	json_close(&l->w);
	if (!is_path) {
		report_row(l->report, CADRE_NOTE, path, "", "(not a path)", "", NULL);
		return;
	}
	settings_explain(l->settings, path, count_joined, &more);
	const char *from = report_position(l->report, origin.file, origin.line);
	if (more)
		from = arena_printf(&l->report->arena, "%s and %zu more", from, more - 1);
	report_row(l->report, CADRE_PLAIN, path, settings_layer_name(origin.layer), from,
		   arena_str(&l->report->arena, json_raw(value)).p, NULL);
}

static void list_file(void *data, const struct settings_view *view)
{
	struct list *l = data;
	bool there = view->effect != EFFECT_NO_FILE;
	const char *state = !there ? "not there" : view->effect == EFFECT_REFUSED ? "refused" : "read";

	json_putf(&l->w, "{layer:'%s', file:'%s', exists:!!%d}", settings_layer_name(view->origin.layer),
		  view->origin.file, there);
	report_row(l->report, there ? CADRE_PLAIN : CADRE_NOTE, settings_layer_name(view->origin.layer), state,
		   view->origin.file, NULL);
}

static int config_list(struct cadre_call *call)
{
	struct list l = { .report = call->report, .w = json_out(&call->report->json) };
	struct settings *s;
	size_t count;
	int status = services_settings(call->services, &s, call->err);

	if (status < 0)
		return status;
	l.settings = s;
	json_putf(&l.w, "{settings:[");
	report_row(l.report, CADRE_HEAD, "KEY", "LAYER", "FROM", "VALUE", NULL);
	size_t rows = cadre_report_rows(l.report);
	settings_each_set(s, list_setting, &l);
	if (cadre_report_rows(l.report) == rows)
		report_line(l.report, CADRE_NOTE, "Nothing is set: all values are defaults (`cadre config keys`).");
	json_putf(&l.w, "], files:[");
	report_row(l.report, CADRE_HEAD, "LAYER", "STATE", "FILE, the highest first", NULL);
	settings_explain(s, "", list_file, &l);
	json_putf(&l.w, "], notes:[");
	static const char *const kinds[] = {
		[NOTE_UNKNOWN] = "unknown",     [NOTE_IGNORED] = "ignored",   [NOTE_HELD] = "held",
		[NOTE_NO_EFFECT] = "no effect", [NOTE_LEFT_OUT] = "left out", [NOTE_REFUSED] = "refused",
	};
	const struct settings_note *notes = settings_notes(s, &count);
	for (size_t i = 0; i < count; i++) {
		const struct settings_origin *at = &notes[i].origin;
		json_open(&l.w, '{');
		put_origin(&l.w, at);
		json_putf(&l.w, "kind:'%s', key:'%s', message:'%s'}", kinds[notes[i].kind], notes[i].key,
			  notes[i].message);
		if (notes[i].key)
			report_line(l.report, CADRE_WARN, "%s:%u:%u: %s", at->file, at->line, at->column,
				    notes[i].message);
		else
			report_line(l.report, CADRE_BAD, "%s", notes[i].message);
	}
	json_putf(&l.w, "]}");
	settings_unref(s);
	return 0;
}

static int config_keys(struct cadre_call *call)
{
	struct json_out w = json_out(&call->report->json);

	json_open(&w, '[');
	report_row(call->report, CADRE_HEAD, "KEY", "DEFAULT", "MEANING", NULL);
	for (size_t i = 0; i < setting_count; i++) {
		const struct setting_key *key = &setting_table[i];
		const char *untrusted = key->flags & SETTING_ANYONE        ? "counts"
					: key->flags & SETTING_IF_NARROWER ? "narrows"
									   : "held";
		bool inert = key->flags & SETTING_NO_EFFECT;
		AUTO_BUF struct buf expected = { 0 }, meaning = { 0 };
		setting_expected(&expected, key);
		buf_addf(&meaning, "%s%s", inert ? "no effect: " : "", key->summary);
		json_putf(&w, "{key:'%s', expected:'%s', default:%s", key->path, expected.p, key->fallback);
		json_putf(&w, "effect:!!%d, managedOnly:!!%d, untrusted:'%s', summary:'%s'", !inert,
			  (key->flags & SETTING_MANAGED) != 0, untrusted, key->summary);
		json_putf(&w, "atStart:!!%d, storable:!!%d, choices:[", (key->flags & SETTING_AT_START) != 0,
			  (key->flags & SETTING_STORABLE) != 0);
		for (size_t k = 0; key->choices && key->choices[k]; k++)
			json_put_cstr(&w, key->choices[k]);
		for (int on = 1; key->type == SETTING_BOOL && on >= 0; on--)
			json_put_bool(&w, on);
		json_putf(&w, "]}");
		report_row(call->report, inert ? CADRE_NOTE : CADRE_PLAIN, key->path,
			   key->fallback ? key->fallback : "", meaning.p, NULL);
	}
	json_close(&w);
	return 0;
}

static const char *const effects[] = {
	[EFFECT_NO_FILE] = "no file", [EFFECT_REFUSED] = "refused", [EFFECT_SILENT] = "-",
	[EFFECT_IGNORED] = "ignored", [EFFECT_HELD] = "held",       [EFFECT_OVERRIDDEN] = "overridden",
	[EFFECT_JOINS] = "joined",    [EFFECT_WINS] = "wins",
};

static int get_value(const struct settings *s, const char *name, struct cadre_report *report, struct err *err)
{
	AUTO_ARENA struct arena scratch = { 0 };
	const struct setting_key *key = setting_find(str_from(name));
	struct settings_origin origin;
	const struct json *value = settings_get(s, name, &origin);
	struct json_out w = json_out(&report->json);

	if (!value && !(key && key->fallback))
		return err_set(err, ERR_NOT_FOUND, "%.80s is not set", name);
	struct str raw = value ? json_raw(value) : str_from(key->fallback);
	struct str text = json_is(value, JSON_STRING) ? json_str(value, &scratch) : raw;
	if (!value && raw.n > 1 && raw.p[0] == '"')
		text = (struct str){ raw.p + 1, raw.n - 2 };
	json_putf(&w, "{key:'%s', value:%.*s", name, STR_ARG(raw));
	if (value)
		put_origin(&w, &origin);
	else
		json_kcstr(&w, "layer", "default");
	json_close(&w);
	report_line(report, CADRE_PLAIN, STR_FMT, STR_ARG(text));
	return 0;
}

struct explain {
	struct cadre_report *report;
	struct json_out w;
};

static void explain_view(void *data, const struct settings_view *view)
{
	struct explain *e = data;
	AUTO_BUF struct buf text = { 0 };
	struct str raw = json_raw(view->value);

	json_open(&e->w, '{');
	put_origin(&e->w, &view->origin);
	json_putf(&e->w, "value:%.*s, effect:'%s', why:'%s'}", STR_ARG(raw),
		  view->effect == EFFECT_SILENT ? "silent" : effects[view->effect], view->why);
	buf_add(&text, raw.p, raw.n);
	if (view->why)
		buf_addf(&text, " (%s)", view->why);
	report_row(e->report,
		   view->effect == EFFECT_WINS ? CADRE_GOOD
		   : view->value               ? CADRE_PLAIN
					       : CADRE_NOTE,
		   settings_layer_name(view->origin.layer), effects[view->effect],
		   report_position(e->report, view->origin.file, view->origin.line), buf_str(&text).p, NULL);
}

static void explain_key(struct explain *e, const char *name, const struct setting_key *key)
{
	AUTO_BUF struct buf expected = { 0 };
	const struct setting_key *map = setting_at_or_above(str_from(name));

	json_putf(&e->w, "key:'%s', known:!!%d, effect:!!%d", name, map || setting_is_group(str_from(name)),
		  !key || !(key->flags & SETTING_NO_EFFECT));
	json_putf(&e->w, "summary:'%s', default:%s", key ? key->summary : NULL, key ? key->fallback : NULL);
	if (!key && map)
		report_line(e->report, CADRE_PLAIN, "%s, part of %s: %s", name, map->path, map->summary);
	else if (!key && setting_is_group(str_from(name)))
		report_line(e->report, CADRE_PLAIN, "%s: a group of settings", name);
	else if (!key)
		report_line(e->report, CADRE_WARN, "%s: unknown setting, without effect", name);
	if (!key)
		return;
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

static void explain_problem(void *data, const char *message)
{
	struct explain *e = data;

	report_line(e->report, CADRE_WARN, "%s", message);
	json_put_cstr(&e->w, message);
}

static int explain_layers(const struct settings *s, const char *name, struct cadre_report *report, struct err *err)
{
	struct explain e = { report, json_out(&report->json) };
	const struct setting_key *key = setting_find(str_from(name));
	struct str value = json_raw(settings_get(s, name, NULL));

	json_open(&e.w, '{');
	explain_key(&e, name, key);
	json_putf(&e.w, "value:%.*s, layers:[", STR_ARG(value));
	report_row(report, CADRE_HEAD, "LAYER", "EFFECT", "FROM", "VALUE", NULL);
	settings_explain(s, name, explain_view, &e);
	json_putf(&e.w, "]");
	if (!strcmp(name, "hooks")) {
		json_putf(&e.w, "problems:[");
		policy_warn_hooks(s, explain_problem, &e);
		json_putf(&e.w, "]");
	}
	json_putf(&e.w, "}");
	if (value.n)
		report_line(report, CADRE_PLAIN, "in force: " STR_FMT, STR_ARG(value));
	else if (key && key->fallback)
		report_line(report, CADRE_PLAIN, "in force: %s (the default)", key->fallback);
	else
		report_line(report, CADRE_PLAIN, "not set");
	return 0;
}

static int config_key(struct cadre_call *call)
{
	const char *name = call->operands[0];
	struct str path = str_from(name);
	struct settings *s;
	int status = services_settings(call->services, &s, call->err);

	if (status < 0)
		return status;
	const struct setting_key *near = setting_nearest(path);
	if (settings_get(s, name, NULL) || setting_at_or_above(path) || setting_is_group(path))
		status = (!strcmp(call->word->name, "get") ? get_value : explain_layers)(s, name, call->report,
											 call->err);
	else if (near)
		status = err_set(call->err, ERR_NOT_FOUND, "no such setting: %.80s (did you mean %s?)", name,
				 near->path);
	else
		status = err_set(call->err, ERR_NOT_FOUND, "no such setting: %.80s (cadre config keys lists them)",
				 name);
	settings_unref(s);
	return status;
}
