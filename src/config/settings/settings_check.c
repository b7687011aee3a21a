/* SPDX-License-Identifier: MIT
 * settings_check.c - whether a file says what its keys can mean. */
#include "config/settings/settings_int.h"

static struct settings_origin origin_of(const struct layer_file *from, const struct json *value)
{
	struct settings_cursor at = { 0 };

	settings_cursor_move(&at, &from->file, value);
	return (struct settings_origin){ from->layer, from->file.path, at.line, at.column };
}

/* Notes of held keys have a separate limit, so that unknown keys cannot crowd them out. */
static void note(struct settings *s, const struct layer_file *from, const struct json *value,
		 enum settings_note_kind kind, const char *key, const char *message)
{
	size_t *count = kind == NOTE_HELD ? &s->held_count : &s->other_count;

	if (*count == SETTINGS_NOTES_LIMIT)
		return;
	++*count;
	if (s->note_count == s->note_cap) {
		s->note_cap = s->note_cap ? s->note_cap * 2 : 8;
		s->notes = xrealloc(s->notes, s->note_cap * sizeof *s->notes);
	}
	s->notes[s->note_count++] = (struct settings_note){ origin_of(from, value), kind, key, message };
}

static int misfit_error(const struct layer_file *from, const struct json *value, struct str path, const char *expected,
			struct err *err)
{
	struct settings_origin at = origin_of(from, value);

	return err_set(err, ERR_USAGE, "%s:%u:%u: " STR_FMT ": expected %s", at.file, at.line, at.column, STR_ARG(path),
		       expected);
}

static int check_key(struct settings *s, const struct layer_file *from, struct setting_spot spot,
		     const struct json *value, struct err *err)
{
	const struct json *misfit = setting_misfit(spot.key, value);
	const char *ignored = settings_ignored(s, spot.key, from, value);
	AUTO_BUF struct buf expected = { 0 };

	if (misfit) {
		setting_expected(&expected, spot.key);
		return misfit_error(from, misfit, spot.path, expected.p, err);
	}
	if (spot.key->flags & SETTING_NO_EFFECT)
		note(s, from, value, NOTE_NO_EFFECT, spot.key->path,
		     arena_printf(&s->arena, STR_FMT " has no effect in this version", STR_ARG(spot.path)));
	else if (ignored)
		note(s, from, value, ignored == settings_untrusted ? NOTE_HELD : NOTE_IGNORED, spot.key->path,
		     arena_printf(&s->arena, STR_FMT " has no effect here: %s", STR_ARG(spot.path), ignored));
	else if (spot.key->type == SETTING_ENV)
		settings_env_add(s, from, value);
	return 0;
}

static void note_unknown(struct settings *s, const struct layer_file *from, struct setting_spot group,
			 const struct json *key)
{
	enum { LONGEST = 80 };
	AUTO_ARENA struct arena scratch = { 0 };
	struct str name = json_str(key, &scratch);

	if (s->other_count < SETTINGS_NOTES_LIMIT)
		note(s, from, key, NOTE_UNKNOWN, NULL,
		     arena_printf(&s->arena, STR_FMT "%s%.*s is not known; it is kept", STR_ARG(group.path),
				  group.path.n ? "." : "", (int)MIN(name.n, (size_t)LONGEST), name.p));
}

static int check_group(struct settings *s, const struct layer_file *from, struct setting_spot group,
		       const struct json *object, struct err *err)
{
	if (!json_is(object, JSON_OBJECT))
		return misfit_error(from, object, group.path, "an object", err);
	for (struct json_member m = json_members(object); m.key; m = json_member_next(object, m)) {
		int status = 0;
		struct setting_spot spot = setting_below(&s->arena, group, json_str(m.key, &s->arena));
		if (spot.key)
			status = check_key(s, from, spot, m.value, err);
		else if (spot.group)
			status = check_group(s, from, spot, m.value, err);
		else if (!setting_is_remark(json_str(m.key, &s->arena)))
			note_unknown(s, from, group, m.key);
		if (status < 0)
			return status;
	}
	return 0;
}

int settings_check(struct settings *s, const struct layer_file *from, struct err *err)
{
	return check_group(s, from, (struct setting_spot){ .group = true }, from->file.root, err);
}
