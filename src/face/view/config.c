/* SPDX-License-Identifier: MIT
 * config.c - /config: the settings that a session may store, with their values, to be changed; all others are shown where they
 * are set, and edited there. */
#include <cadre_command.h>
#include "face/tui/state.h"
#include "lib/json/json.h"
#include "lib/json/json_write.h"

static page_choose_fn choose_key;

bool config_store(struct tui *t, const char *key, struct str value)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf request = { 0 };
	struct json_out w = json_out(&request);
	const char *source = strcmp(key, "outputStyle") != 0 ? "userSettings" : "localSettings";

	json_putf(&w, "{subtype:'update_settings', source:'%s', settings:{", source);
	json_key(&w, key);
	if (str_is(value, "true") || str_is(value, "false") || str_is(value, "null"))
		json_put_raw(&w, value);
	else
		json_put_str(&w, value);
	json_putf(&w, "}}");
	if (!show_request(t, &reader, request.p))
		return false;
	tui_read_settings(t);
	input_configure(t);
	if (!strcmp(key, "editorMode") && str_is(value, "vim") != t->vim.on)
		input_toggle_vim(t);
	return true;
}

/* The row of a key in what `cadre config keys` says */
static const struct json *find_key(const struct json *keys, const char *name)
{
	const struct json *k = json_items(keys);

	while (k && !json_str_is(json_get(k, "key"), name))
		k = json_next(keys, k);
	return k;
}

static const struct json *read_keys(struct tui *t, struct json_reader *reader, struct cadre_report **ret)
{
	static const char *const words[] = { "config", "keys" };

	return show_command(t, reader, ret, words, COUNT_OF(words));
}

/* What counts now, or the default; "": neither */
static struct str value_now(struct tui *t, const struct json *key, struct arena *a)
{
	struct str value = tui_setting(t, json_cstr(json_get(key, "key"), a));
	const struct json *otherwise = json_get(key, "default");

	if (value.n || json_is(otherwise, JSON_NULL))
		return value;
	return json_is(otherwise, JSON_STRING) ? json_str(otherwise, a) : json_raw(otherwise);
}

/* Its value in each layer, and which one counts, as `cadre config explain` says */
static void preview_key(struct tui *t, struct page *p, const char *id, struct styled *out)
{
	const char *const words[] = { "config", "explain", id };
	AUTO_JSON struct json_reader reader = { 0 };
	struct cadre_report *report = NULL;

	if (!*id || !show_command(t, &reader, &report, words, COUNT_OF(words)))
		return;
	for (size_t row = 0; row < cadre_report_rows(report); row++) {
		for (size_t i = 0; i < cadre_report_cells(report, row); i++)
			styled_add_foreign(out, i ? LOOK_PLAIN : LOOK_DIM, str_from(cadre_report_cell(report, row, i))),
				styled_add(out, LOOK_PLAIN, STR("  "));
		styled_add(out, LOOK_PLAIN, STR("\n"));
	}
	cadre_report_free(report);
}

/* at: the key that is selected; NULL: the first one */
static void open_keys(struct tui *t, const char *at)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = 1 << 20, .depth = 8 } };
	AUTO_ARENA struct arena a = { 0 };
	struct cadre_report *report = NULL;
	const struct json *keys = read_keys(t, &reader, &report);
	struct page *p = page_open_list(t, "Settings . enter changes one", choose_key);
	bool narrow = t->region.columns < NARROW_COLUMNS;

	p->preview = preview_key;
	p->previewed = SIZE_MAX - 1;
	for (const struct json *k = json_items(keys); k; k = json_next(keys, k)) {
		AUTO_BUF struct buf text = { 0 };
		struct str name = json_str(json_get(k, "key"), &a), value = value_now(t, k, &a);
		if (!json_bool(json_get(k, "storable")))
			continue;
		buf_addf(&text, narrow ? STR_FMT " " STR_FMT "  %s" : "%-22.*s  %-8.*s  %s", STR_ARG(name),
			 STR_ARG(value.n ? value : STR("-")), json_cstr(json_get(k, "summary"), &a));
		if (at && str_is(name, at))
			p->selected = p->count;
		page_add_item(p, name, buf_str(&text));
	}
	page_add_item(p, STR(""), STR("all that is set, with the files"));
	cadre_report_free(report);
}

/* Stored, and what comes of it */
static void store_and_say(struct tui *t, const char *key, struct str value)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = 1 << 20, .depth = 8 } };
	AUTO_BUF struct buf said = { 0 };
	struct cadre_report *report = NULL;

	if (!config_store(t, key, value))
		return;
	bool later = json_bool(json_get(find_key(read_keys(t, &reader, &report), key), "atStart"));
	bool decides = str_is(value, "null") || str_eq(tui_setting(t, key), value);
	cadre_report_free(report);
	buf_addf(&said, "stored in your settings%s%s", decides ? "" : ", but another file decides: /config ",
		 decides ? later ? ", for the next session" : "" : key);
	tui_note(t, said.p);
}

static void choose_value(struct tui *t, const char *id) /* KEY VALUE */
{
	struct str value = str_from(id), key = str_cut(&value, ' ');
	AUTO_FREE char *name = xstrndup(key.p, key.n);

	store_and_say(t, name, value);
	open_keys(t, name);
}

static void choose_key(struct tui *t, const char *id)
{
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = 1 << 20, .depth = 8 } };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf none = { 0 };
	struct cadre_report *report = NULL;

	if (!*id) {
		job_cadre(t, "config", STR(""), NULL);
		return;
	}
	if (!strcmp(id, "outputStyle") || !strcmp(id, "theme")) { /* they have lists of their own */
		(void)command_slash(t, *id == 't' ? STR("/theme") : STR("/output-style"));
		return;
	}
	const struct json *key = find_key(read_keys(t, &reader, &report), id), *choices = json_get(key, "choices");
	if (!json_first(choices)) { /* any text: it is typed */
		buf_addf(&none, "/config %s=", id);
		draft_set(&t->draft, buf_str(&none));
		cadre_report_free(report);
		return;
	}
	struct str now = arena_str(&a, value_now(t, key, &a));
	struct page *p = page_open_list(t, id, choose_value);
	for (const struct json *c = json_items(choices); c; c = json_next(choices, c)) {
		struct str value = json_is(c, JSON_STRING) ? json_str(c, &a) : json_raw(c);
		AUTO_BUF struct buf what = { 0 };
		buf_addf(&what, "%s " STR_FMT, id, STR_ARG(value));
		page_add_choice(p, buf_str(&what), value, str_eq(value, now));
	}
	buf_addf(&none, "%s null", id);
	page_add_item(p, buf_str(&none), STR("not set by you"));
	cadre_report_free(report);
}

void command_config(struct tui *t, const struct slash *slash, struct str rest)
{
	struct str value = rest, key = str_cut(&value, '=');

	if (!rest.n) {
		open_keys(t, NULL);
	} else if (!value.p) {
		job_cadre(t, slash->words, rest, NULL);
	} else {
		AUTO_FREE char *name = xstrndup(key.p, key.n);
		store_and_say(t, name, value.n ? value : STR("null"));
	}
}
