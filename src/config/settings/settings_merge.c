/* SPDX-License-Identifier: MIT
 * settings_merge.c - merges all files into one value. The result is written as JSON and parsed again. Each step is
 * linear in its input: a file of two megabytes must not take minutes. Recursion is bounded by the depth limit of a
 * settings file. */
#include <math.h>
#include <sys/stat.h>
#include "lib/base/map.h"
#include "lib/json/json_write.h"
#include "lib/git/git_head.h"
#include "lib/io/file.h"
#include "config/settings/settings_int.h"
#include "config/settings/trust.h"

/* Which files may widen permissions: a cloned repository contains settings of its author. */

/* The local file is the user's own if cadre made it here when the user answered (trust.h). That git knows other files of the
 * project and not this one says nothing: an archive can bring a repository, with its index, and such a file beside it. */
bool settings_is_own(enum settings_layer layer, const char *file, const char *config_dir)
{
	AUTO_ARENA struct arena a = { 0 };
	struct stat st;

	if (layer != LAYER_PROJECT && layer != LAYER_FLAG && stat(file, &st) == 0 &&
	    file_check_own(&st, file, NULL) < 0)
		return false;
	if (layer != LAYER_LOCAL)
		return layer != LAYER_PROJECT;
	const char *slash = strrchr(file, '/');
	const char *dir = slash && slash > file ? arena_dup(&a, file, (size_t)(slash - file)) : "/";
	if (lstat(dir, &st) == 0 && S_ISLNK(st.st_mode))
		return false;
	const char *root = git_root(&a, dir);
	size_t at = root ? strlen(root) + (root[1] ? 1 : 0) : 0;
	size_t project = (size_t)(strrchr(dir, '/') + 1 - dir); /* where .claude begins */
	if (root && (project < at || git_tracks(root, file + at)))
		return false;
	return trust_made_local(config_dir, file);
}

/* How much a value allows, for keys with SETTING_IF_NARROWER. Permission modes are the choices of such a key; their order is
 * that of permission_mode_is_wider(). */
static double width_of(const struct setting_key *key, const struct json *value)
{
	size_t i = 0;

	switch (key->type) {
	case SETTING_BOOL:
		return json_bool(value) ? 0 : 1;
	case SETTING_INTEGER:
	case SETTING_NUMBER:
		return json_double(value) == 0 && !strcmp(key->fallback, "0") ? INFINITY : json_double(value);
	case SETTING_CHOICE:
		while (key->choices[i] && !json_str_is(value, key->choices[i]))
			i++;
		return -(double)i;
	default:
		return INFINITY;
	}
}

static bool settings_is_held(const struct settings *s, const struct setting_key *key, const struct layer_file *from,
			     const struct json *value)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *known = NULL;

	if (!key || from->believed || key->flags & SETTING_ANYONE)
		return false;
	if (!(key->flags & SETTING_IF_NARROWER))
		return true;
	for (size_t i = s->file_count; !known && i-- > 0;) {
		const struct layer_file *f = &s->files[i];
		struct str path = str_from(key->path);
		known = f->believed ? f->file.root : NULL;
		while (known && path.p)
			known = json_get_str(known, str_cut(&path, '.'));
		if (known && settings_ignored(s, key, f, known))
			known = NULL;
	}
	if (!known && key->fallback)
		(void)json_parse(&reader, key->fallback, strlen(key->fallback), &known, NULL);
	/* A switch without a default may be on: then only `true` is not wider. All other keys of this kind have a default. */
	return width_of(key, value) > (known ? width_of(key, known) : 0);
}

const char settings_untrusted[] = "this folder is not trusted (`cadre trust` records consent)";

const char *settings_ignored(const struct settings *s, const struct setting_key *key, const struct layer_file *from,
			     const struct json *value)
{
	enum settings_layer layer = from->layer;

	if (settings_left_out(from, value))
		return "it does not fit";
	if (!key)
		return NULL;
	if (key->flags & SETTING_MANAGED && layer != LAYER_MANAGED)
		return "it counts in managed settings only";
	if (key->flags & SETTING_NOT_PROJECT && settings_is_projects(layer))
		return "it does not count from the project";
	if (key->flags & SETTING_NO_AUTO && settings_is_projects(layer) && json_str_is(value, "auto"))
		return "\"auto\" does not count from the project";
	if (settings_is_held(s, key, from, value))
		return settings_is_projects(layer) ? settings_untrusted
						   : "other users can write to the file or own it (chmod go-w, chown)";
	return NULL;
}

/* Without blanks and with one spelling of each string, so that equal values are equal texts. */
static void write_value(struct json_out *w, const struct json *v, struct arena *scratch)
{
	switch ((enum json_type)v->type) {
	case JSON_STRING:
		json_put_str(w, json_str(v, scratch));
		return;
	case JSON_ARRAY:
		json_open(w, '[');
		for (const struct json *e = json_first(v); e; e = json_next(v, e))
			write_value(w, e, scratch);
		json_close(w);
		return;
	case JSON_OBJECT:
		json_open(w, '{');
		for (struct json_member m = json_members(v); m.key; m = json_member_next(v, m)) {
			json_key_str(w, json_str(m.key, scratch));
			write_value(w, m.value, scratch);
		}
		json_close(w);
		return;
	default:
		json_put_raw(w, json_raw(v));
	}
}

static void value_text(struct buf *out, const struct json *v, struct arena *scratch)
{
	struct json_out w = json_out(out);

	buf_clear(out);
	write_value(&w, v, scratch);
}

static size_t strictness_of(const struct setting_key *key, const struct json *value)
{
	AUTO_ARENA struct arena scratch = { 0 };
	AUTO_BUF struct buf text = { 0 };
	size_t i = 0;

	value_text(&text, value, &scratch);
	while (key->strictness[i] && strcmp(key->strictness[i], text.p) != 0)
		i++;
	return key->strictness[i] ? i + 1 : 0;
}

size_t settings_winner(const struct setting_key *key, bool whole, const struct settings_part *parts, size_t count,
		       size_t *ret_first)
{
	size_t top = count - 1;
	bool managed_only = key && key->flags & SETTING_WHOLE_IF_MANAGED && parts[top].from->layer == LAYER_MANAGED;

	if (key && key->strictness) {
		size_t best = count - 1;
		for (size_t i = count; i-- > 0;)
			if (strictness_of(key, parts[i].value) > strictness_of(key, parts[best].value))
				best = i;
		return *ret_first = best;
	}
	*ret_first = top;
	if (whole || !(json_is(parts[top].value, JSON_ARRAY) || json_is(parts[top].value, JSON_OBJECT)))
		return top;
	while (*ret_first > 0 && parts[*ret_first - 1].value->type == parts[top].value->type &&
	       (!managed_only || parts[*ret_first - 1].from->layer == LAYER_MANAGED))
		--*ret_first;
	return top;
}

/* One name and its value in each file */
struct member {
	struct setting_ref ref;
	struct settings_part *parts;
	size_t count;
};

struct merge {
	const struct settings *settings;
	struct json_out w;
	struct arena arena;
};

static void merge_value(struct merge *m, const struct member *member, bool whole);

static void add_part(struct merge *m, struct member *member, struct settings_part part)
{
	if (member->count && member->parts[member->count - 1].from == part.from) {
		member->parts[member->count - 1] = part; /* the last of duplicate keys wins */
		return;
	}
	*arena_push(&m->arena, member->parts, member->count) = part;
}

static void merge_objects(struct merge *m, const struct member *object, size_t first)
{
	CLEANUP(map_release) struct map names = { 0 };
	bool whole = object->ref.key && object->ref.key->flags & SETTING_WHOLE_MEMBERS;

	for (size_t i = first; i < object->count; i++) {
		const struct json *value = object->parts[i].value;
		const struct layer_file *from = object->parts[i].from;
		for (struct json_member j = json_members(value); j.key; j = json_member_next(value, j)) {
			struct str name = json_str(j.key, &m->arena);
			struct member *member = map_get(&names, name);
			if (!member) {
				member = arena_calloc(&m->arena, sizeof *member);
				member->ref = setting_below(&m->arena, object->ref, name);
				map_set(&names, name, member);
			}
			if (!settings_left_out(from, j.key) &&
			    !settings_ignored(m->settings, member->ref.key, from, j.value))
				add_part(m, member, (struct settings_part){ j.value, from });
			else if (member->count && member->parts[member->count - 1].from == from)
				member->count--; /* the last one of a name counts, and it sets nothing */
		}
	}
	json_open(&m->w, '{');
	for (struct map_entry *e = map_next(&names, NULL); e; e = map_next(&names, e)) {
		const struct member *member = e->value;
		if (!member->count)
			continue;
		json_key_str(&m->w, (struct str){ e->key, e->key_len });
		merge_value(m, member, whole);
	}
	json_close(&m->w);
}

static void merge_value(struct merge *m, const struct member *member, bool whole)
{
	size_t first;

	whole |= member->ref.key && member->ref.key->flags & SETTING_WHOLE;
	size_t winner = settings_winner(member->ref.key, whole, member->parts, member->count, &first);
	const struct json *value = member->parts[winner].value;
	if (!whole && json_is(value, JSON_OBJECT))
		merge_objects(m, member, first);
	else if (!whole && json_is(value, JSON_ARRAY)) {
		CLEANUP(map_release) struct map seen = { 0 };
		AUTO_BUF struct buf text = { 0 };
		json_open(&m->w, '[');
		for (size_t i = first; i < member->count; i++) {
			const struct json *list = member->parts[i].value;
			for (const struct json *v = json_first(list); v; v = json_next(list, v)) {
				if (settings_left_out(member->parts[i].from, v))
					continue;
				value_text(&text, v, &m->arena);
				if (!map_set(&seen, buf_str(&text), &seen))
					json_put_raw(&m->w, buf_str(&text));
			}
		}
		json_close(&m->w);
	} else
		write_value(&m->w, value, &m->arena);
}

void settings_merge(struct settings *s)
{
	struct merge m = { .settings = s, .w = json_out(&s->text) };
	struct member root = { .ref.group = true };

	for (size_t i = 0; i < s->file_count; i++)
		if (s->files[i].file.root)
			add_part(&m, &root, (struct settings_part){ s->files[i].file.root, &s->files[i] });
	merge_objects(&m, &root, 0);
	arena_release(&m.arena);
}

/* Checks the values of a file against its keys. */

/* Notes of held keys have a separate limit, so that unknown keys cannot crowd them out. */
static void add_note(struct settings *s, const struct layer_file *from, const struct json *value,
		     enum settings_note_kind kind, const char *key, const char *message)
{
	size_t *count = kind == NOTE_HELD ? &s->held_count : &s->other_count;
	struct settings_cursor at = { 0 };

	if (*count == SETTINGS_NOTES_LIMIT)
		return;
	++*count;
	*xpush(s->notes, s->note_count, s->note_cap) =
		(struct settings_note){ settings_origin_of(from, &at, value), kind, key, message };
}

/* The first reason is that of settings_refusal(). */
static const char *settings_refuse(struct settings *s, const char *what)
{
	const char *text = arena_printf(&s->arena, "%s; agents do not run until this is right (`cadre config`)", what);

	if (!s->refusal.text[0])
		(void)err_set(&s->refusal, ERR_USAGE, "%s", text);
	return text;
}

void settings_refuse_file(struct settings *s, const struct layer_file *from, const char *why)
{
	add_note(s, from, NULL, NOTE_REFUSED, NULL, settings_refuse(s, why));
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
		settings_refuse(s, arena_printf(&s->arena, "%s: more than %d values do not fit", at.file,
						SETTINGS_MISFITS_LIMIT));
		return;
	}
	from->misfits = xrealloc(from->misfits, (from->misfit_count + 1) * sizeof *from->misfits);
	from->misfits[from->misfit_count++] = where;
	if (refused)
		settings_refuse(s, arena_printf(&s->arena, "%s:%u:%u: %s", at.file, at.line, at.column, what));
	add_note(s, from, where, refused ? NOTE_REFUSED : NOTE_LEFT_OUT, arena_str(&s->arena, ref.path).p,
		 arena_printf(&s->arena, "%s; %s", what,
			      refused ? "it restricts, so agents do not run until this is right" : "it is left out"));
}

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

static const char repeated[] = "only one of this name, and another follows";

/* The first value that another one of the same name in its object replaces, at any depth; NULL: there is none. */
static const struct json *find_repeated(struct arena *a, const struct json *value)
{
	CLEANUP(map_release) struct map names = { 0 };
	const struct json *found = NULL;

	if (json_is(value, JSON_ARRAY))
		for (const struct json *v = json_first(value); v && !found; v = json_next(value, v))
			found = find_repeated(a, v);
	if (json_is(value, JSON_OBJECT))
		for (struct json_member m = json_members(value); m.key && !found; m = json_member_next(value, m)) {
			found = map_set(&names, json_str(m.key, a), (void *)(uintptr_t)m.value);
			found = found ? found : find_repeated(a, m.value);
		}
	return found;
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
	const struct json *lost = find_repeated(&s->arena, value);
	if (lost)
		leave_out(s, from, ref, lost, repeated, !ignored);
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
	CLEANUP(map_release) struct map names = { 0 };

	if (!json_is(object, JSON_OBJECT)) {
		leave_out(s, from, group, object, "an object", true);
		return;
	}
	for (struct json_member m = json_members(object); m.key; m = json_member_next(object, m)) {
		struct setting_ref ref = setting_below(&s->arena, group, json_str(m.key, &s->arena));
		const struct json *lost = map_set(&names, json_str(m.key, &s->arena), (void *)(uintptr_t)m.value);
		if (lost && (ref.key || ref.group))
			leave_out(s, from, ref, lost, repeated, true);
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
