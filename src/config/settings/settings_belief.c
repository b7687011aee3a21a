/* SPDX-License-Identifier: MIT
 * settings_belief.c - which settings files may widen permissions. A cloned repository contains settings of its author.
 * Until the user trusts the folder they may only narrow permissions. */
#include <math.h>
#include <sys/stat.h>
#include "lib/git/git_head.h"
#include "config/settings/settings_int.h"

/* The local file is the user's own, unless the project brought it, or the link that its directory is. */
bool settings_is_own(enum settings_layer layer, const char *file)
{
	AUTO_ARENA struct arena a = { 0 };
	struct stat st;

	if (layer != LAYER_LOCAL)
		return layer != LAYER_PROJECT;
	const char *slash = strrchr(file, '/');
	const char *dir = slash && slash > file ? arena_dup(&a, file, (size_t)(slash - file)) : "/";
	if (lstat(dir, &st) == 0 && S_ISLNK(st.st_mode))
		return false;
	const char *root = git_root(&a, dir);
	return !root || !git_tracks(root, file + strlen(root) + (root[1] ? 1 : 0));
}

/* ---- wide and narrow --------------------------------------------------------------------------------------------- */

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

static const struct json *believed_value(const struct settings *s, const struct setting_key *key,
					 const struct layer_file *f)
{
	const struct json *value = f->believed ? f->file.root : NULL;
	struct str path = str_from(key->path);

	while (value && path.p)
		value = json_get_str(value, str_cut(&path, '.'));
	return value && !settings_ignored(s, key, f, value) ? value : NULL;
}

/* A switch without a default may be on: then only `true` is not wider. All other keys of this kind have a default. */
static double width_of_believed(const struct settings *s, const struct setting_key *key)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *value = NULL;

	for (size_t i = s->file_count; !value && i-- > 0;)
		value = believed_value(s, key, &s->files[i]);
	if (!value && key->fallback)
		(void)json_parse(&reader, key->fallback, strlen(key->fallback), &value, NULL);
	return value ? width_of(key, value) : 0;
}

bool settings_is_held(const struct settings *s, const struct setting_key *key, const struct layer_file *from,
		      const struct json *value)
{
	if (!key || from->believed || key->flags & SETTING_ANYONE)
		return false;
	if (key->flags & SETTING_IF_NARROWER)
		return width_of(key, value) > width_of_believed(s, key);
	return true;
}
