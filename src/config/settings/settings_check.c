/* SPDX-License-Identifier: MIT
 * settings_check.c - checks the values of a file against its keys. */
#include "config/settings/settings_int.h"

/* Notes of held keys have a separate limit, so that unknown keys cannot crowd them out. */
static void add_note(struct settings *s, const struct layer_file *from, const struct json *value,
		     enum settings_note_kind kind, const char *key, const char *message)
{
	size_t *count = kind == NOTE_HELD ? &s->held_count : &s->other_count;
	struct settings_cursor at = { 0 };

	if (*count == SETTINGS_NOTES_LIMIT)
		return;
	++*count;
	s->notes = xgrow(s->notes, s->note_count, &s->note_cap, sizeof *s->notes);
	s->notes[s->note_count++] = (struct settings_note){ settings_origin_of(from, &at, value), kind, key, message };
}

/* ---- what does not fit ------------------------------------------------------------------------------------------- */

static void refuse(struct settings *s, const char *what)
{
	if (!s->refusal.text[0])
		(void)err_set(&s->refusal, ERR_USAGE, "%s; agents do not run until this is right (`cadre config`)",
			      what);
}

void settings_refuse_file(struct settings *s, const struct layer_file *from, const struct err *why)
{
	refuse(s, why->text);
	add_note(s, from, NULL, NOTE_REFUSED, NULL, arena_strdup(&s->arena, s->refusal.text));
}

bool settings_left_out(const struct layer_file *from, const struct json *value)
{
	for (size_t i = 0; value && i < from->misfit_count; i++)
		if (value >= from->misfits[i] && value < from->misfits[i] + from->misfits[i]->span)
			return true;
	return false;
}

/* where: the part of the value that shows it. A null sets nothing, so nothing is lost with it. */
static void leave_out(struct settings *s, struct layer_file *from, struct setting_ref ref, const struct json *where,
		      const char *expected, bool counts)
{
	struct settings_cursor cursor = { 0 };
	struct settings_origin at = settings_origin_of(from, &cursor, where);
	bool refused = counts && !json_is(where, JSON_NULL) && setting_restricts(ref.path);
	const char *what = arena_printf(&s->arena, STR_FMT ": expected %s", STR_ARG(ref.path), expected);

	if (from->misfit_count ==
	    SETTINGS_MISFITS_LIMIT) { /* no file that people write; each look at a value costs this */
		from->misfits[0] = from->file.root;
		refuse(s,
		       arena_printf(&s->arena, "%s: more than %d values do not fit", at.file, SETTINGS_MISFITS_LIMIT));
		return;
	}
	from->misfits = xrealloc(from->misfits, (from->misfit_count + 1) * sizeof *from->misfits);
	from->misfits[from->misfit_count++] = where;
	if (refused)
		refuse(s, arena_printf(&s->arena, "%s:%u:%u: %s", at.file, at.line, at.column, what));
	add_note(s, from, where, refused ? NOTE_REFUSED : NOTE_LEFT_OUT, arena_str(&s->arena, ref.path).p,
		 arena_printf(&s->arena, "%s; %s", what,
			      refused ? "it restricts, so agents do not run until this is right" : "it is left out"));
}

/* ---- keys ---------------------------------------------------------------------------------------------------------- */

static void note_unknown(struct settings *s, const struct layer_file *from, struct setting_ref group,
			 const struct json *key)
{
	enum { LONGEST = 80 };
	AUTO_ARENA struct arena scratch = { 0 };
	struct str name = json_str(key, &scratch);

	if (s->other_count == SETTINGS_NOTES_LIMIT)
		return;
	const char *path = arena_printf(&s->arena, STR_FMT "%s%.*s", STR_ARG(group.path), group.path.n ? "." : "",
					(int)MIN(name.n, (size_t)LONGEST), name.p);
	const struct setting_key *near = setting_nearest(str_from(path));
	add_note(s, from, key, NOTE_UNKNOWN, path,
		 arena_printf(&s->arena, "%s is not known%s%s%s; it is kept", path, near ? " (did you mean " : "",
			      near ? near->path : "", near ? "?)" : ""));
}

static void check_key(struct settings *s, struct layer_file *from, struct setting_ref ref, const struct json *value)
{
	AUTO_BUF struct buf expected = { 0 };
	const char *ignored = settings_ignored(s, ref.key, from, value);
	const struct json *part = setting_misfit(ref.key, value, NULL);

	if (part)
		setting_expected(&expected, ref.key);
	for (size_t n = 0; part; part = setting_misfit(ref.key, value, part), n++) {
		if (ref.key->flags & SETTING_WHOLE || n == SETTINGS_PARTS_LIMIT)
			part = value;
		leave_out(s, from, ref, part, expected.p, !ignored);
		if (part == value)
			return; /* nothing of the value counts */
	}
	if (ref.key->flags & SETTING_NO_EFFECT)
		add_note(s, from, value, NOTE_NO_EFFECT, ref.key->path,
			 arena_printf(&s->arena, STR_FMT " has no effect in this version", STR_ARG(ref.path)));
	else if (ignored)
		add_note(s, from, value, ignored == settings_untrusted ? NOTE_HELD : NOTE_IGNORED, ref.key->path,
			 arena_printf(&s->arena, STR_FMT " has no effect here: %s", STR_ARG(ref.path), ignored));
	else if (ref.key->type == SETTING_ENV)
		settings_env_add(s, from, value);
}

static void check_group(struct settings *s, struct layer_file *from, struct setting_ref group,
			const struct json *object)
{
	if (!json_is(object, JSON_OBJECT)) {
		leave_out(s, from, group, object, "an object", true);
		return;
	}
	for (struct json_member m = json_members(object); m.key; m = json_member_next(object, m)) {
		struct setting_ref ref = setting_below(&s->arena, group, json_str(m.key, &s->arena));
		if (ref.key)
			check_key(s, from, ref, m.value);
		else if (ref.group)
			check_group(s, from, ref, m.value);
		else if (!str_is(json_str(m.key, &s->arena), "$schema"))
			note_unknown(s, from, group, m.key);
	}
}

void settings_check(struct settings *s, struct layer_file *from)
{
	check_group(s, from, (struct setting_ref){ .group = true }, from->file.root);
}
