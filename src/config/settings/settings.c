/* SPDX-License-Identifier: MIT
 * settings.c - the snapshot: from files to one value, and the questions that are asked of it. */
#include "config/settings/settings.h"
#include <time.h>
#include "config/settings/settings_int.h"

static bool is_inline(const struct settings_path *entry)
{
	return (entry->layer == LAYER_FLAG || entry->layer == LAYER_MANAGED) && entry->path[0] == '{';
}

struct settings *settings_ref(struct settings *s)
{
	if (s)
		s->refs++;
	return s;
}

void settings_unref(struct settings *s)
{
	if (!s || --s->refs)
		return;
	for (size_t i = 0; i < s->file_count; i++) {
		settings_file_release(&s->files[i].file);
		free(s->files[i].misfits);
	}
	free(s->files);
	free(s->notes);
	free(s->vars);
	buf_release(&s->text);
	json_reader_release(&s->reader);
	arena_release(&s->arena);
	free(s);
}

const struct settings_spec *settings_source(const struct settings *s)
{
	return &s->spec;
}

/* Input of the command line must be readable. Any other file that is not is left out, and agents do not run. */
static int read_file(struct settings *s, struct layer_file *f, const struct settings_path *entry, struct err *err)
{
	struct err why = { 0 };
	struct stat st = { 0 };

	f->layer = entry->layer;
	if (!is_inline(entry))
		(void)stat(entry->path, &st); /* before it is read, so that a change in between shows */
	f->stamp = read_stamp_of(&st);
	if (is_inline(entry))
		return settings_file_parse(&f->file, entry->layer == LAYER_FLAG ? "--settings" : "--managed-settings",
					   str_from(entry->path), err);
	int status = settings_file_read(&f->file, entry->path, &why);
	if (status == 0 && entry->layer == LAYER_FLAG && !f->file.root)
		return err_set(err, ERR_USAGE, "Settings file not found: %s", entry->path);
	if (status < 0 && entry->layer == LAYER_FLAG)
		return err_set(err, ERR_USAGE, "%s", why.text);
	if (status < 0) {
		f->file.path = xstrdup(entry->path);
		f->refused = true;
		settings_refuse_file(s, f, why.text);
	}
	return 0;
}

static int read_all_files(struct settings *s, struct err *err)
{
	struct settings_paths paths = { .arena = &s->arena };
	int status = settings_paths_find(&paths, &s->spec, err);

	if (status < 0)
		return status;
	s->files = xcalloc(paths.count + 1, sizeof *s->files);
	for (size_t i = 0; i < paths.count; i++) {
		struct layer_file *f = &s->files[s->file_count++];
		status = read_file(s, f, &paths.list[i], err);
		if (status < 0)
			return status;
		/* A file that is not there says nothing: git's index, which can be large, is not read for it. */
		f->believed = (s->spec.trusted && settings_is_projects(f->layer)) ||
			      (f->file.root && settings_is_own(f->layer, f->file.path, s->spec.config_dir));
	}
	for (size_t i = 0; i < s->file_count; i++)
		if (s->files[i].file.root)
			settings_check(s, &s->files[i]);
	return 0;
}

int settings_load(const struct settings_spec *spec, struct settings **ret_settings, struct err *err)
{
	struct settings *s = xcalloc(1, sizeof *s);
	const char **texts[] = { &s->spec.cwd,  &s->spec.config_dir, &s->spec.managed_dir, &s->spec.managed,
				 &s->spec.flag, &s->spec.bad_state,  &s->spec.state_file };

	s->refs = 1;
	s->spec = *spec;
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		*texts[i] = arena_strdup(&s->arena, *texts[i]);
	int status = read_all_files(s, err);
	if (s->spec.bad_state)
		settings_refuse_file(
			s, &(struct layer_file){ .layer = LAYER_USER, .file.path = (char *)s->spec.state_file },
			s->spec.bad_state);
	if (status == 0) {
		settings_merge(s);
		status = json_parse(&s->reader, s->text.p, s->text.n, &s->root, err);
	}
	if (status < 0)
		settings_unref(s);
	else
		*ret_settings = s;
	return status;
}

bool settings_stale(const struct settings *s)
{
	AUTO_ARENA struct arena scratch = { 0 };
	struct settings_paths paths = { .arena = &scratch };

	if (settings_paths_find(&paths, &s->spec, NULL) < 0 || paths.count != s->file_count)
		return true;
	for (size_t i = 0; i < paths.count; i++) {
		const struct settings_path *entry = &paths.list[i];
		const struct layer_file *f = &s->files[i];
		struct stat now = { 0 };

		if (!is_inline(entry))
			(void)stat(entry->path, &now);
		/* JSON on the command line cannot change, and its file has another name than its entry. */
		if ((!is_inline(entry) && strcmp(f->file.path, entry->path) != 0) || f->layer != entry->layer ||
		    !read_stamp_holds(&f->stamp, &now))
			return true;
	}
	return false;
}

int settings_refresh(struct settings **s, struct err *err)
{
	struct settings *fresh;

	if (!settings_stale(*s))
		return 0;
	int status = settings_load(&(*s)->spec, &fresh, err);
	if (status == 0 && settings_refusal(fresh, err) < 0) {
		settings_unref(fresh);
		return -ERR_USAGE;
	}
	if (status < 0)
		return status;
	settings_unref(*s);
	*s = fresh;
	return 1;
}

static const struct layer_file *find_file(const struct settings *s, const struct layer_file *like)
{
	for (size_t i = 0; i < s->file_count; i++)
		if (s->files[i].layer == like->layer && !strcmp(s->files[i].file.path, like->file.path))
			return &s->files[i];
	return NULL;
}

const char *const *settings_files(const struct settings *s, struct arena *a)
{
	const char **list = arena_calloc(a, (s->file_count + 1) * sizeof *list);
	size_t n = 0;

	for (size_t i = 0; i < s->file_count; i++)
		if (s->files[i].file.root)
			list[n++] = s->files[i].file.path;
	return list;
}

void settings_each_change(const struct settings *from, const struct settings *to, settings_change_fn *fn, void *data)
{
	for (size_t i = 0; i < to->file_count; i++) {
		const struct layer_file *f = &to->files[i];
		const struct layer_file *old = find_file(from, f);
		struct str before = old && old->file.root ? buf_str(&old->file.text) : STR("");
		if (!str_eq(f->file.root ? buf_str(&f->file.text) : STR(""), before))
			fn(data, f->layer, f->file.path);
	}
	for (size_t i = 0; i < from->file_count; i++) {
		const struct layer_file *f = &from->files[i];
		if (f->file.root && !find_file(to, f))
			fn(data, f->layer, f->file.path);
	}
}

/* Names with dots are possible where names are the user's own: below a known key, and beside the known keys. */
static const struct json *json_at_path(const struct json *root, struct str path)
{
	const struct json *at = root;
	struct str rest = path;

	while (rest.p && at) {
		size_t done = (size_t)(rest.p - path.p);
		if (done && !setting_is_group((struct str){ path.p, done - 1 }) && json_get_str(at, rest))
			return json_get_str(at, rest);
		at = json_get_str(at, str_cut(&rest, '.'));
	}
	const struct json *whole = at ? NULL : json_get_str(root, path);
	return whole && !setting_at_or_above(path) && !setting_is_group(path) ? whole : at;
}

struct settings_origin settings_origin_of(const struct layer_file *f, struct settings_cursor *at,
					  const struct json *value)
{
	settings_cursor_move(at, &f->file, value);
	return (struct settings_origin){ f->layer, f->file.path, at->line, at->column };
}

/* The values of the files in use, lowest first; parts has room for all files. */
static size_t find_parts(const struct settings *s, struct str path, struct settings_part *parts)
{
	size_t count = 0;

	for (size_t i = 0; i < s->file_count; i++) {
		const struct layer_file *f = &s->files[i];
		const struct json *value = json_at_path(f->file.root, path);
		if (value && !settings_ignored(s, setting_at_or_above(path), f, value))
			parts[count++] = (struct settings_part){ value, f };
	}
	return count;
}

const struct json *settings_get(const struct settings *s, const char *path, struct settings_origin *ret_origin)
{
	struct str name = str_from(path);
	const struct json *value = json_at_path(s->root, name);

	if (!value || !ret_origin)
		return value;
	AUTO_FREE struct settings_part *parts = xcalloc(s->file_count + 1, sizeof *parts);
	struct settings_cursor at = { 0 };
	size_t count = find_parts(s, name, parts), first;
	if (count) {
		size_t winner = settings_winner(setting_find(name), setting_is_whole(name), parts, count, &first);
		*ret_origin = settings_origin_of(parts[winner].from, &at, parts[winner].value);
	}
	return value;
}

static const struct json *value_or_default(const struct settings *s, const char *path, struct json_reader *reader)
{
	const struct json *value = settings_get(s, path, NULL);
	const struct setting_key *key = value ? NULL : setting_find(str_from(path));

	if (key && key->fallback)
		(void)json_parse(reader, key->fallback, strlen(key->fallback), &value, NULL);
	return value;
}

bool settings_bool(const struct settings *s, const char *path)
{
	AUTO_JSON struct json_reader reader = { 0 };

	return json_bool(value_or_default(s, path, &reader));
}

int64_t settings_i64(const struct settings *s, const char *path)
{
	AUTO_JSON struct json_reader reader = { 0 };
	int64_t n;

	return json_i64(value_or_default(s, path, &reader), &n) ? n : 0;
}

double settings_double(const struct settings *s, const char *path)
{
	AUTO_JSON struct json_reader reader = { 0 };

	return json_double(value_or_default(s, path, &reader));
}

const char *settings_cstr(const struct settings *s, const char *path, struct arena *a)
{
	AUTO_JSON struct json_reader reader = { 0 };

	return json_cstr(value_or_default(s, path, &reader), a);
}

const char *const *settings_texts(const struct settings *s, const char *path, struct arena *a)
{
	const struct json *v = settings_get(s, path, NULL);
	size_t n = 0;

	if (!v)
		return NULL;
	for (const struct json *e = json_first(v); e; e = json_next(v, e))
		n++;
	const char **list = arena_alloc(a, (n + 1) * sizeof *list);
	n = 0;
	for (const struct json *e = json_first(v); e; e = json_next(v, e))
		list[n++] = json_cstr(e, a);
	list[n] = NULL;
	return list;
}

void settings_each(const struct settings *s, const char *path, settings_item_fn *fn, void *data)
{
	AUTO_FREE struct settings_part *parts = xcalloc(s->file_count + 1, sizeof *parts);
	size_t count = find_parts(s, str_from(path), parts);

	for (size_t i = 0; i < count; i++) {
		const struct layer_file *f = parts[i].from;
		const struct json *value = parts[i].value;
		struct settings_cursor at = { 0 };
		if (json_is(value, JSON_ARRAY))
			for (const struct json *v = json_first(value); v; v = json_next(value, v))
				if (!settings_left_out(f, v))
					fn(data, &(struct settings_item){ .origin = settings_origin_of(f, &at, v),
									  .value = v });
		for (struct json_member m = json_members(value); m.key; m = json_member_next(value, m))
			if (!settings_left_out(f, m.key) && !settings_left_out(f, m.value))
				fn(data, &(struct settings_item){ settings_origin_of(f, &at, m.key), m.key, m.value });
	}
}

const struct settings_note *settings_notes(const struct settings *s, size_t *ret_count)
{
	*ret_count = s->note_count;
	return s->notes;
}

bool settings_locks_kind(const struct json *lock, const char *kind)
{
	for (const struct json *v = json_items(lock); v; v = json_next(lock, v))
		if (json_str_is(v, kind))
			return true;
	return json_bool(lock) || json_bool(json_get(lock, kind));
}

int settings_refusal(const struct settings *s, struct err *err)
{
	return s->refusal.text[0] ? err_set(err, ERR_USAGE, "%s", s->refusal.text) : 0;
}

const struct settings_note *settings_misfit_of(const struct settings *s, const char *key)
{
	for (size_t i = 0; i < s->note_count; i++)
		if ((s->notes[i].kind == NOTE_LEFT_OUT || s->notes[i].kind == NOTE_REFUSED) && s->notes[i].key &&
		    !strcmp(s->notes[i].key, key))
			return &s->notes[i];
	return NULL;
}

void settings_explain(const struct settings *s, const char *path, settings_view_fn *fn, void *data)
{
	AUTO_FREE struct settings_part *parts = xcalloc(s->file_count + 1, sizeof *parts);
	struct str name = str_from(path);
	size_t count = find_parts(s, name, parts);
	size_t first = 0;
	size_t winner = count ? settings_winner(setting_find(name), setting_is_whole(name), parts, count, &first) : 0;

	for (size_t i = s->file_count; i-- > 0;) {
		const struct layer_file *f = &s->files[i];
		struct settings_cursor at = { 0 };
		struct settings_view view = { .value = name.n ? json_at_path(f->file.root, name) : NULL,
					      .file = &f->file };
		size_t part = 0;

		while (part < count && parts[part].from != f)
			part++;
		view.origin = settings_origin_of(f, &at, view.value);
		view.why = view.value ? settings_ignored(s, setting_at_or_above(name), f, view.value) : NULL;
		view.effect = f->refused                       ? EFFECT_REFUSED
			      : !f->file.root                  ? EFFECT_NO_FILE
			      : !view.value                    ? EFFECT_SILENT
			      : view.why == settings_untrusted ? EFFECT_HELD
			      : view.why                       ? EFFECT_IGNORED
			      : part < first || part > winner  ? EFFECT_OVERRIDDEN
			      : first < winner                 ? EFFECT_JOINS
							       : EFFECT_WINS;
		fn(data, &view);
	}
}

static void each_set(const struct json *object, struct setting_ref group, struct arena *a, settings_member_fn *fn,
		     void *data)
{
	for (struct json_member m = json_members(object); m.key; m = json_member_next(object, m)) {
		struct str name = json_str(m.key, a);
		struct setting_ref ref = setting_below(a, group, name);
		if (ref.group)
			each_set(m.value, ref, a, fn, data);
		else if (!str_is(name, "$schema"))
			fn(data,
			   arena_printf(a, STR_FMT "%s" STR_FMT, STR_ARG(group.path), group.path.n ? "." : "",
					STR_ARG(name)),
			   ref.key, m.value);
	}
}

void settings_each_set(const struct settings *s, settings_member_fn *fn, void *data)
{
	AUTO_ARENA struct arena scratch = { 0 };

	each_set(s->root, (struct setting_ref){ .group = true }, &scratch, fn, data);
}
