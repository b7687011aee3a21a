/* SPDX-License-Identifier: MIT
 * fuzz_plugin.c - any bytes as a manifest, as archives and as a range of versions. Besides not crashing: a plugin that
 * counts has a good name and no component outside its root, one that does not says why, and an archive writes nothing beside
 * the directory that it was given, and there only files and directories with plain modes. */
#include <dirent.h>
#include <ftw.h>
#include <sys/stat.h>
#include <zlib.h>
#include "lib/base/buf.h"
#include "lib/io/file.h"
#include "defs/plugin/fetch.h"
#include "defs/plugin/plugin.h"

static int unpack_zip(struct str bytes, const char *dir, struct err *err)
{
	return unpack_archive(UNPACK_ZIP, bytes, dir, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LARGEST = 64 << 10 };

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void check_paths(const struct plugin *p, const struct plugin_paths *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		must(path_is_inside(paths->list[i].path, p->root));
}

static void try_manifest(struct arena *a, const char *dir, struct str text)
{
	const char *file = path_join(a, dir, "plugin.json");

	must(file_replace(file, text.p, text.n, NULL) == 0);
	struct plugin *p = plugin_read(dir, PLUGIN_INLINE, "inline");
	plugin_validate(p);
	must(p->state == PLUGIN_ENABLED ? plugin_name_is_good(str_from(p->name)) : p->error_count > 0);
	check_paths(p, &p->agents);
	check_paths(p, &p->skills);
	check_paths(p, &p->commands);
	check_paths(p, &p->styles);
	for (size_t i = 0; i < p->error_count; i++)
		must(p->errors[i].message[0] != '\0');
	plugin_free(p);
}

static size_t count_entries(const char *dir)
{
	DIR *list = opendir(dir);
	size_t n = 0;

	must(list != NULL);
	while (readdir(list))
		n++;
	closedir(list);
	return n;
}

static int check_unpacked(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)path;
	(void)kind;
	(void)at;
	must(S_ISDIR(st->st_mode) || (S_ISREG(st->st_mode) && st->st_nlink == 1));
	must(!(st->st_mode & 07022));
	return 0;
}

static void try_archive(struct arena *a, const char *dir, struct str bytes,
			int (*unpack)(struct str archive, const char *dir, struct err *err))
{
	const char *inner = path_join(a, dir, "inner");
	size_t before = count_entries(dir);

	must(file_make_dirs(inner, 0700, NULL) == 0);
	(void)unpack(bytes, inner, NULL);
	must(count_entries(dir) == before + 1);
	must(nftw(inner, check_unpacked, 16, FTW_PHYS) == 0);
	must(directory_remove(inner, NULL) == 0);
}

/* Behind the packing is what is worth looking at. */
static int pack_and_unpack(struct str bytes, const char *dir, struct err *err)
{
	AUTO_BUF struct buf packed = { 0 };
	z_stream z = { .next_in = (unsigned char *)(uintptr_t)bytes.p, .avail_in = (uInt)bytes.n };

	must(deflateInit2(&z, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
	buf_reserve(&packed, deflateBound(&z, bytes.n));
	z.next_out = (unsigned char *)packed.p;
	z.avail_out = (uInt)deflateBound(&z, bytes.n);
	must(deflate(&z, Z_FINISH) == Z_STREAM_END);
	packed.n = z.total_out;
	(void)deflateEnd(&z);
	return unpack_archive(UNPACK_TARBALL, buf_str(&packed), dir, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_ARENA struct arena a = { 0 };
	struct str bytes = { (const char *)data, size };
	char dir[] = "/tmp/cadre-fuzz-plugin-XXXXXX";

	if (size > LARGEST)
		return 0;
	must(mkdtemp(dir) != NULL);
	try_manifest(&a, dir, bytes);
	try_archive(&a, dir, bytes, unpack_zip);
	try_archive(&a, dir, bytes, pack_and_unpack);
	(void)directory_remove(dir, NULL);
	if (version_range_is_good(bytes))
		(void)version_fits(STR("1.2.3-a.1"), bytes);
	return 0;
}
