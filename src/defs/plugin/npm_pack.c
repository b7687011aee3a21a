/* SPDX-License-Identifier: MIT
 * npm_pack.c - see npm_pack.h. */
#include "defs/plugin/npm_pack.h"
#include <dirent.h>
#include "lib/io/file.h"
#include "defs/plugin/copy.h"
#include "defs/plugin/unpack.h"

/* ---- the source -------------------------------------------------------------------------------------------------- */

static bool has_only(struct str text, const char *more)
{
	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
		if (!plain && (!c || !strchr(more, c)))
			return false;
	}
	return text.n > 0;
}

static bool is_part(struct str part)
{
	return part.n <= 214 && has_only(part, "._-") && part.p[0] != '.' && part.p[0] != '-';
}

static bool is_package(struct str name)
{
	if (!str_starts(name, STR("@")))
		return is_part(name);
	struct str scope = str_cut(&name, '/');
	return is_part((struct str){ scope.p + 1, scope.n - 1 }) && name.p && is_part(name);
}

/* What has a slash or a colon could be an address or a path, which npm would take as well. */
static bool is_version(struct str version)
{
	return has_only(version, ".+-^~*<>=| ") && version.p[0] != '-' && version.n <= 100;
}

static bool is_registry(struct str address)
{
	return str_starts(address, STR("https://")) || str_starts(address, STR("http://127.0.0.1:")) ||
	       str_starts(address, STR("http://localhost:")) || str_starts(address, STR("http://[::1]:"));
}

int npm_source_read(struct arena *a, const struct json *source, struct npm_source *ret_source, struct err *err)
{
	struct npm_source s = { .package = json_cstr(json_get(source, "package"), a),
				.version = json_cstr(json_get(source, "version"), a),
				.registry = json_cstr(json_get(source, "registry"), a) };

	if (!s.package || !is_package(str_from(s.package)))
		return err_set(err, ERR_USAGE, "package: expected the name of an npm package");
	if (json_get(source, "version") && (!s.version || !is_version(str_from(s.version))))
		return err_set(err, ERR_USAGE, "version: expected a version, a range or a tag");
	if (json_get(source, "registry") && (!s.registry || !is_registry(str_from(s.registry))))
		return err_set(err, ERR_USAGE, "registry: expected an address that begins with https://");
	*ret_source = s;
	return 0;
}

/* ---- fetching ---------------------------------------------------------------------------------------------------- */

static int pack(const struct npm_source *s, const char *into, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *spec = arena_printf(&a, "%s%s%s", s->package, s->version ? "@" : "", s->version ? s->version : "");
	const char *argv[12] = { "npm", "pack", "--ignore-scripts", "--silent", "--pack-destination", into };
	size_t n = 6;

	if (s->registry) {
		argv[n++] = "--registry";
		argv[n++] = s->registry;
	}
	argv[n++] = "--";
	argv[n] = spec;
	/* In a directory of its own: no project's configuration counts. */
	return program_run(
		&(struct program){ .argv = argv, .cwd = into, .what = arena_printf(&a, "npm pack %s", spec) }, err);
}

static const char *find_archive(struct arena *a, const char *dir)
{
	DIR *list = opendir(dir);
	const char *found = NULL;

	for (const struct dirent *e; list && (e = readdir(list));)
		if (str_ends(str_from(e->d_name), STR(".tgz")))
			found = path_join(a, dir, e->d_name);
	if (list)
		closedir(list);
	return found;
}

static int npm_unpack(const char *archive, const char *dir, struct err *err)
{
	AUTO_BUF struct buf bytes = { 0 };
	int status = archive ? file_read(archive, UNPACK_FILE_LIMIT, &bytes, err)
			     : err_set(err, ERR_IO, "npm pack left no archive");

	return status < 0 ? status : unpack_tarball(buf_str(&bytes), dir, err);
}

int npm_fetch(const struct npm_source *s, const char *dir, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *temp;
	int status = directory_begin(&a, dir, &temp, err);

	if (status < 0)
		return status;
	status = pack(s, temp, err);
	if (status == 0)
		status = npm_unpack(find_archive(&a, temp), dir, err);
	(void)directory_remove(temp, NULL);
	return status < 0 ? err_wrap(err, "the package %.80s", s->package) : 0;
}
