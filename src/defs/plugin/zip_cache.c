/* SPDX-License-Identifier: MIT
 * zip_cache.c - from a zip file to a directory: plugins_dir/cache/zip/SHA256/STEM. What is there was unpacked whole, because it
 * comes by a rename. */
#include "defs/plugin/zip_cache.h"
#include <dirent.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include "lib/io/download.h"
#include "lib/io/file.h"
#include "defs/plugin/copy.h"
#include "defs/plugin/plugin.h"
#include "defs/plugin/unpack.h"

static int name_content(struct buf *out, struct str bytes, struct err *err)
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	enum { SHOWN = 16 };

	if (EVP_Digest(bytes.p, bytes.n, digest, NULL, EVP_sha256(), NULL) != 1)
		return err_set(err, ERR_IO, "SHA-256 is not available");
	for (int i = 0; i < SHOWN; i++)
		buf_addf(out, "%02x", digest[i]);
	return 0;
}

static const char *stem_of(struct arena *a, const char *file)
{
	const char *slash = strrchr(file, '/');
	struct str name = str_from(slash ? slash + 1 : file);

	if (name.n > 4 && str_is_nocase((struct str){ name.p + name.n - 4, 4 }, ".zip"))
		name.n -= 4;
	return arena_str(a, name).p;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Many archives hold one directory that holds everything. */
static const char *enter_only_directory(struct arena *a, const char *dir)
{
	DIR *list = opendir(dir);
	const char *only = NULL;
	size_t count = 0;

	if (!list)
		return dir;
	for (struct dirent *e; (e = readdir(list));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && strcmp(e->d_name, "__MACOSX") != 0) {
			only = path_join(a, dir, e->d_name);
			count++;
		}
	closedir(list);
	return count == 1 && is_directory(only) && strcmp(strrchr(only, '/'), "/.claude-plugin") != 0 ? only : dir;
}

static int zip_cache_add(struct str bytes, const char *home, const char *stem, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *temp;
	int status = directory_begin(&a, home, &temp, err);

	if (status < 0)
		return status;
	const char *dir = path_join(&a, temp, stem);
	status = mkdir(dir, 0700) < 0 ? err_set(err, ERR_IO, "cannot make the directory %s: %m", dir)
				      : unpack_zip(bytes, dir, err);
	if (status < 0) {
		(void)directory_remove(temp, NULL);
		return status;
	}
	return directory_put(temp, home, err);
}

static int open_bytes(struct arena *a, const char *plugins_dir, struct str bytes, const char *stem,
		      const char **ret_dir, struct err *err)
{
	AUTO_BUF struct buf name = { 0 };
	int status = name_content(&name, bytes, err);

	if (status < 0)
		return status;
	const char *home = arena_printf(a, "%s/cache/zip/%s", plugins_dir, name.p);
	const char *dir = path_join(a, home, stem);
	if (!is_directory(dir)) {
		status = zip_cache_add(bytes, home, stem, err);
		if (status < 0)
			return status;
	}
	*ret_dir = enter_only_directory(a, dir);
	return 0;
}

int zip_cache_open(struct arena *a, const char *plugins_dir, const char *file, const char **ret_dir, struct err *err)
{
	AUTO_BUF struct buf bytes = { 0 };
	int status = file_read(file, UNPACK_FILE_LIMIT, &bytes, err);

	return status < 0 ? status : open_bytes(a, plugins_dir, buf_str(&bytes), stem_of(a, file), ret_dir, err);
}

/* Its last part names the directory, and so a plugin without a manifest; what could not be a name is none. */
static const char *stem_of_url(struct arena *a, const char *url)
{
	const char *path = arena_dup(a, url, strcspn(url, "?#"));
	const char *stem = stem_of(a, path);

	return plugin_name_is_good(str_from(stem)) ? stem : "plugin";
}

int zip_cache_open_url(struct arena *a, const char *plugins_dir, const char *url, const char **ret_dir, struct err *err)
{
	AUTO_BUF struct buf bytes = { 0 };
	int status = download(url, UNPACK_FILE_LIMIT, &bytes, err);

	return status < 0 ? status : open_bytes(a, plugins_dir, buf_str(&bytes), stem_of_url(a, url), ret_dir, err);
}
