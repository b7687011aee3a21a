/* SPDX-License-Identifier: MIT
 * flag_settings.c - more settings from the host while a session runs, in the layer of --settings. A key replaces what the
 * layer said under it; null takes it out. */
#include "product/session/session_int.h"
#include "defs/policy/sources.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"

enum { FILE_MAX_BYTES = 2 << 20 };

/* These are no settings while a session runs but options of it. */
static const struct {
	const char *key, *option;
} steered[] = { { "model", "model" }, { "effortLevel", "effort" } };

static bool is_steered(struct str key)
{
	for (size_t i = 0; i < COUNT_OF(steered); i++)
		if (str_is(key, steered[i].key))
			return true;
	return false;
}

/* What the layer says now; NULL: nothing. */
static int read_layer(const struct options *o, struct json_reader *reader, struct buf *scratch,
		      const struct json **ret_root, struct err *err)
{
	const char *given = o->settings;

	*ret_root = NULL;
	if (!given || !given[0])
		return 0;
	if (str_trim(str_from(given)).p[0] == '{')
		buf_addstr(scratch, given);
	else if (file_read(given, FILE_MAX_BYTES, scratch, err) < 0)
		return -(int)err->kind;
	return json_parse(reader, scratch->p, scratch->n, ret_root, err);
}

static void merge(struct buf *out, struct arena *a, const struct json *old, const struct json *more)
{
	struct json_out w = json_out(out);

	json_open(&w, '{');
	for (struct json_member m = json_members(old); m.key; m = json_member_next(old, m)) {
		struct str key = json_str(m.key, a);
		if (json_get_str(more, key))
			continue;
		json_key_str(&w, key);
		json_put_raw(&w, json_raw(m.value));
	}
	for (struct json_member m = json_members(more); m.key; m = json_member_next(more, m)) {
		struct str key = json_str(m.key, a);
		if (json_is(m.value, JSON_NULL) || is_steered(key))
			continue;
		json_key_str(&w, key);
		json_put_raw(&w, json_raw(m.value));
	}
	json_close(&w);
}

/* On failure the old ones hold. */
static int use_settings(struct services *sv, const char *text, struct err *err)
{
	const char *old = sv->options.settings;
	struct policy *changed;

	sv->options.settings = arena_strdup(&sv->options.arena, text);
	if (policy_renew(sv, &changed, err) < 0) {
		sv->options.settings = old;
		return -(int)err->kind;
	}
	app_use_policy(sv, changed);
	return 0;
}

static int steer(struct cadre_session *s, const struct json *more, struct arena *a, struct err *err)
{
	for (size_t i = 0; i < COUNT_OF(steered); i++) {
		const struct json *v = json_get(more, steered[i].key);
		int status =
			v ? cadre_session_set(s, steered[i].option, json_cstr(v, a), err->text, sizeof err->text) : 0;
		if (status < 0) {
			err->kind = (enum err_kind) - status;
			return status;
		}
	}
	return 0;
}

int session_apply_settings(struct cadre_session *s, const struct json *more, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf scratch = { 0 };
	AUTO_BUF struct buf merged = { 0 };
	const struct json *old;

	if (read_layer(&s->services->options, &reader, &scratch, &old, err) < 0)
		return -(int)err->kind;
	merge(&merged, &a, old, more);
	if (use_settings(s->services, merged.p, err) < 0)
		return -(int)err->kind;
	return steer(s, more, &a, err);
}
