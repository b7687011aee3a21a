/* SPDX-License-Identifier: MIT
 * marketplace.c - reads what a marketplace offers. */
#include "defs/plugin/marketplace.h"
#include "lib/io/file.h"
#include "defs/plugin/plugin_int.h"

enum { MOST_PLUGINS = 10000 };

static int fail(struct marketplace *m, const struct json *value, struct err *err, const char *what)
{
	return err_set(err, ERR_USAGE, "%s:%u: %s", m->file.path, settings_line(&m->file, value), what);
}

/* ---- repositories ------------------------------------------------------------------------------------------------ */

static bool is_repo(struct str repo)
{
	struct str owner = str_cut(&repo, '/');

	return plugin_name_is_good(owner) && repo.p && plugin_name_is_good(repo);
}

/* A text that git could take for an option, or for a program to run, is no address. */
static bool is_address(struct str url)
{
	static const char *const kinds[] = { "https://", "http://", "ssh://", "git://", "file://", "git@", "/" };

	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		if (str_starts(url, str_from(kinds[i])))
			return !str_has(url, STR("::"));
	return false;
}

static bool is_ref(struct str ref)
{
	return ref.n && ref.p[0] != '-' && ref.n < 256;
}

static bool is_commit(struct str sha)
{
	for (size_t i = 0; i < sha.n; i++)
		if (!char_in(sha.p[i], "0123456789abcdefABCDEF"))
			return false;
	return sha.n == 40 || sha.n == 64;
}

int git_source_read(struct arena *a, const struct json *source, struct git_source *ret_source, struct err *err)
{
	struct str repo = json_str(json_get(source, "repo"), a);
	const char *url = json_cstr(json_get(source, "url"), a);
	struct git_source s = { .url = url,
				.ref = json_cstr(json_get(source, "ref"), a),
				.sha = json_cstr(json_get(source, "sha"), a),
				.path = json_cstr(json_get(source, "path"), a) };

	if (json_str_is(json_get(source, "source"), "github") && is_repo(repo))
		s.url = arena_printf(a, "https://github.com/" STR_FMT ".git", STR_ARG(repo));
	if (!s.url || !is_address(str_from(s.url)))
		return err_set(err, ERR_USAGE, "the source names no repository that git can reach: " STR_FMT,
			       STR_ARG(json_raw(source)));
	if (s.ref && !is_ref(str_from(s.ref)))
		return err_set(err, ERR_USAGE, "ref: expected the name of a branch or a tag");
	if (json_get(source, "sha") && (!s.sha || !is_commit(str_from(s.sha))))
		return err_set(err, ERR_USAGE, "sha: expected the 40 or 64 hexadecimal digits of a commit");
	*ret_source = s;
	return 0;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static int read_plugin(struct marketplace *m, const struct json *entry, struct err *err)
{
	const char *name = json_cstr(json_get(entry, "name"), &m->arena);
	const struct json *source = json_get(entry, "source");

	if (!name || !plugin_name_is_good(str_from(name)))
		return fail(m, entry, err, "plugins: an entry needs a name of letters, digits, '-', '_' and '.'");
	if (!json_is(source, JSON_STRING) && !json_is(source, JSON_OBJECT))
		return fail(m, entry, err, "plugins: an entry needs a source, a path or an object");
	if (marketplace_find(m, name))
		return fail(m, entry, err, "plugins: two entries have the same name");
	m->plugins[m->count++] = (struct market_plugin){
		.name = name,
		.version = json_cstr(json_get(entry, "version"), &m->arena),
		.description = json_cstr(json_get(entry, "description"), &m->arena),
		.source = source,
		.entry = entry,
		.is_manifest = json_is(json_get(entry, "strict"), JSON_FALSE),
		.line = settings_line(&m->file, entry),
	};
	return 0;
}

static bool is_reserved(const char *name)
{
	return !strcmp(name, "inline") || !strcmp(name, "local") || !strcmp(name, "skills-dir") || !strcmp(name, "zip");
}

static int read_all(struct marketplace *m, struct err *err)
{
	const struct json *plugins = json_get(m->file.root, "plugins");

	m->name = json_cstr(json_get(m->file.root, "name"), &m->arena);
	if (!m->name || !plugin_name_is_good(str_from(m->name)) || is_reserved(m->name))
		return fail(m, m->file.root, err,
			    "name: expected letters, digits, '-', '_' and '.', and no word of ours");
	if (!json_is(plugins, JSON_ARRAY) || plugins->count > MOST_PLUGINS)
		return fail(m, plugins ? plugins : m->file.root, err, "plugins: expected a list");
	m->plugins = arena_calloc(&m->arena, (plugins->count + 1) * sizeof *m->plugins);
	for (const struct json *e = json_first(plugins); e; e = json_next(plugins, e))
		if (read_plugin(m, e, err) < 0)
			return -ERR_USAGE;
	return 0;
}

int marketplace_read(struct marketplace *m, const char *dir, struct err *err)
{
	AUTO_FREE char *real = realpath(dir, NULL);
	int status = 0;

	*m = (struct marketplace){ 0 };
	if (!real)
		return err_set(err, ERR_NOT_FOUND, "cannot read %s: %m", dir);
	m->dir = arena_strdup(&m->arena, real);
	const char *path = path_join(&m->arena, real, ".claude-plugin/marketplace.json");
	status = settings_file_read(&m->file, path, err);
	if (status == 0 && !m->file.root)
		status = err_set(err, ERR_NOT_FOUND, "there is no marketplace in %s: %s is missing", dir, path);
	if (status == 0)
		status = read_all(m, err);
	if (status < 0)
		marketplace_release(m);
	return status;
}

void marketplace_release(struct marketplace *m)
{
	settings_file_release(&m->file);
	arena_release(&m->arena);
	*m = (struct marketplace){ 0 };
}

const struct market_plugin *marketplace_find(const struct marketplace *m, const char *name)
{
	for (size_t i = 0; i < m->count; i++)
		if (!strcmp(m->plugins[i].name, name))
			return &m->plugins[i];
	return NULL;
}

int marketplace_plugin_dir(struct marketplace *m, const struct market_plugin *plugin, const char **ret_dir,
			   struct err *err)
{
	struct arena *a = &m->arena;
	const char *source = json_cstr(plugin->source, a);
	const char *base = json_cstr(json_get(json_get(m->file.root, "metadata"), "pluginRoot"), a);
	bool good = source && component_path_is_good(str_from(source), true) &&
		    (!base || component_path_is_good(str_from(base), true));

	if (!good)
		return fail(m, plugin->source, err, "source: expected a path that begins with ./ and has no ..");
	const char *root = base ? path_absolute(a, m->dir, str_from(base)) : m->dir;
	const char *dir = path_absolute(a, root, str_from(source));
	if (base && !file_exists(dir))
		dir = path_absolute(a, m->dir, str_from(source));
	AUTO_FREE char *real = realpath(dir, NULL);
	if (!real)
		return fail(m, plugin->source, err, "source: is not there");
	if (!path_is_inside(real, m->dir))
		return fail(m, plugin->source, err, "source: is a link that leads out of the marketplace");
	*ret_dir = arena_strdup(a, real);
	return 0;
}
