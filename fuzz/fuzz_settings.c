/* SPDX-License-Identifier: MIT
 * fuzz_settings.c - any bytes, cut at NULs, as the files of the layers, and as a state file. Besides not crashing: what is
 * merged is JSON in which every known key fits, no deny rule of any layer is lost, managed keys come from the managed layer
 * alone; an edited state file says what was asked for, and editing it back and forth gives the same bytes. */
#include "config/settings/settings_int.h"
#include "config/settings/settings_store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(): it must hold in release builds as well. */
static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check_member(void *data, const char *path, const struct setting_key *key, const struct json *value)
{
	const struct settings *s = data;
	struct settings_origin origin = { 0 };

	if (!key)
		return;
	must(!setting_misfit(key, value, NULL));
	must(settings_get(s, path, &origin) == value && origin.file);
	must(!(key->flags & SETTING_MANAGED) || origin.layer == LAYER_MANAGED);
}

static void check_denied(void *data, const struct settings_item *item)
{
	const struct settings *s = data;
	const struct json *list = settings_get(s, "permissions.deny", NULL);
	AUTO_ARENA struct arena scratch = { 0 };
	bool found = false;

	for (const struct json *v = json_first(list); v && !found; v = json_next(list, v))
		found = json_is(item->value, JSON_STRING)
				? str_eq(json_str(v, &scratch), json_str(item->value, &scratch))
				: json_same(v, item->value);
	must(found);
}

static void ignore_view(void *data, const struct settings_view *view)
{
	(void)data;
	must(view->effect == EFFECT_NO_FILE || view->effect == EFFECT_SILENT || view->value);
}

static void ignore_var(void *data, const struct settings_var *var)
{
	(void)data;
	must(var->name[0] && var->value);
}

static void check_snapshot(const struct settings *s)
{
	settings_each_set(s, check_member, (void *)(uintptr_t)s);
	settings_each(s, "permissions.deny", check_denied, (void *)(uintptr_t)s);
	settings_explain(s, "permissions.deny", ignore_view, NULL);
	settings_explain(s, "env", ignore_view, NULL);
	settings_env_each(s, ENV_SAFE, ignore_var, NULL);
}

static void fuzz_layers(struct str text)
{
	struct settings *s = xcalloc(1, sizeof *s);
	int status = 0;

	s->refs = 1;
	s->files = xcalloc(LAYER_COUNT, sizeof *s->files);
	while (text.p && s->file_count < LAYER_COUNT && status == 0) {
		struct layer_file *f = &s->files[s->file_count];
		f->layer = (enum settings_layer)s->file_count++;
		status = settings_file_parse(&f->file, "fuzz", str_cut(&text, '\0'), NULL);
		if (status == 0)
			settings_check(s, f);
	}
	if (status == 0) {
		settings_merge(s);
		must(json_parse(&s->reader, s->text.p, s->text.n, &s->root, NULL) == 0);
		check_snapshot(s);
	}
	settings_unref(s);
}

/* Returns whether the text changed. */
static bool set_trust(struct buf *out, struct str text, struct str trusted)
{
	const struct str names[] = { STR("projects"), STR("/a"), STR("hasTrustDialogAccepted") };
	AUTO_SETTINGS_FILE struct settings_file f = { 0 };

	return settings_file_parse_up_to(&f, "f", text, text.n, NULL) == 0 &&
	       text_set_member(out, &f, names, 3, trusted, NULL) == 0 && out->n;
}

static void fuzz_state_file(struct str text)
{
	static const char folder[] = "/a";
	AUTO_BUF struct buf yes = { 0 };
	AUTO_BUF struct buf no = { 0 };
	AUTO_BUF struct buf again = { 0 };

	if (!set_trust(&yes, text, STR("true")))
		return;
	AUTO_SETTINGS_FILE struct settings_file file = { 0 };
	must(settings_file_parse(&file, "f", buf_str(&yes), NULL) == 0);
	must(json_bool(json_get(json_get(json_get(file.root, "projects"), folder), "hasTrustDialogAccepted")));
	must(set_trust(&no, buf_str(&yes), STR("false")));
	must(set_trust(&again, buf_str(&no), STR("true")));
	must(str_eq(buf_str(&again), buf_str(&yes)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { size ? (const char *)data : "", size };

	fuzz_layers(text);
	fuzz_state_file(text);
	return 0;
}
