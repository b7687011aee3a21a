/* SPDX-License-Identifier: MIT
 * unpack.c - libarchive reads, we write: every name is opened below the descriptor of the target, part by part, without
 * following links. Its own writer to disk is not used because its paths depend on the working directory of the process.
 *
 * The cache of zip files is plugins_dir/cache/zip/SHA256/STEM. Entries are complete, because they appear by a rename. */
#include "defs/plugin/fetch.h"
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <sys/stat.h>
#include "lib/base/library.h"
#include "lib/base/utf8.h"
#include "lib/io/dir.h"
#include "lib/io/file.h"
#include "defs/plugin/plugin.h"

enum { NAME_SHOWN = 80, PIECE_BYTES = 64 << 10 };

/* What is used of it: function, member */
#define LIBARCHIVE(X)                                            \
	X(archive_read_new, read_new)                            \
	X(archive_read_free, read_free)                          \
	X(archive_read_support_filter_gzip, support_gzip)        \
	X(archive_read_support_format_tar, support_tar)          \
	X(archive_read_support_format_zip_seekable, support_zip) \
	X(archive_read_open_memory, open_memory)                 \
	X(archive_read_next_header, next_header)                 \
	X(archive_read_data, read_data)                          \
	X(archive_filter_bytes, filter_bytes)                    \
	X(archive_format_name, format_name)                      \
	X(archive_error_string, error_string)                    \
	X(archive_entry_pathname, pathname)                      \
	X(archive_entry_hardlink, hardlink)                      \
	X(archive_entry_mode, mode)                              \
	X(archive_entry_size, size)                              \
	X(archive_entry_is_encrypted, is_encrypted)
#define MEMBER(name, member) __typeof__(name) *member;
#define SYMBOL(name, member) { #name, offsetof(struct libarchive, member) },

struct libarchive {
	LIBARCHIVE(MEMBER)
};
static const struct library_symbol symbols[] = { LIBARCHIVE(SYMBOL) };
static const char *const files[] = { "libarchive.so.13", NULL };
static const struct library library = { files, "libarchive13", symbols, COUNT_OF(symbols) };

struct unpacking {
	struct libarchive lib;
	struct archive *archive;
	bool is_zip;
	int dir; /* descriptor of the target */
	size_t entries;
	int64_t total; /* bytes written */
	struct err *err;
};

static int refuse_entry(struct unpacking *u, struct str name, const char *what)
{
	return err_set(u->err, ERR_PARSE, "'%.*s' %s", (int)MIN(name.n, NAME_SHOWN), name.p, what);
}

/* The message of libarchive, on one line */
static struct str archive_reason(struct unpacking *u)
{
	const char *why = u->lib.error_string(u->archive);

	return str_trim(str_from(why ? why : "unknown reason"));
}

static const char *name_problem(struct str name)
{
	unsigned depth = 0;

	if (!name.n || name.n > UNPACK_NAME_LIMIT)
		return "has a name that is empty or too long";
	if (name.p[0] == '/' ||
	    (name.n > 1 && name.p[1] == ':' && (name.p[0] | 0x20) >= 'a' && (name.p[0] | 0x20) <= 'z'))
		return "has an absolute path";
	if (!utf8_valid(name))
		return "has a name that is not UTF-8";
	for (size_t i = 0; i < name.n; i++)
		if ((unsigned char)name.p[i] < ' ' || name.p[i] == 0x7f || name.p[i] == '\\')
			return "has a control character or a backslash in its name";
	for (struct str rest = str_ends(name, STR("/")) ? (struct str){ name.p, name.n - 1 } : name; rest.p;) {
		struct str part = str_cut(&rest, '/');
		if (!part.n || str_is(part, ".") || str_is(part, ".."))
			return "has a path that leads elsewhere";
		if (part.n > NAME_MAX || ++depth > UNPACK_DEPTH_LIMIT)
			return "has a path that is too deep or too long";
	}
	return NULL;
}

static const char *entry_problem(struct unpacking *u, struct archive_entry *e, struct str name)
{
	mode_t type = u->lib.mode(e) & S_IFMT;
	struct str format = str_from(u->lib.format_name(u->archive));

	if (type == S_IFLNK || u->lib.hardlink(e))
		return "is a link";
	if (type != S_IFREG && type != S_IFDIR)
		return "is a special file";
	if (u->lib.is_encrypted(e))
		return "is encrypted";
	/* libarchive knows more methods than archives of plugins need, and gives the method of an entry only by its name. */
	if (u->is_zip && !str_has(format, STR("(deflation)")) && !str_has(format, STR("(uncompressed)")))
		return "is compressed with an unknown method";
	if (type == S_IFDIR && u->lib.size(e) > 0)
		return "is a directory with the content of a file";
	return name_problem(name);
}

/* more: the size in the header of an entry. A tar archive is read as one compressed stream: headers and skipped data count
 * as well. */
static int check_limits(struct unpacking *u, int64_t more)
{
	if (u->entries > UNPACK_ENTRY_LIMIT)
		return err_set(u->err, ERR_LIMIT, "has more than %d files", UNPACK_ENTRY_LIMIT);
	if (u->total > UNPACK_LIMIT || more > UNPACK_LIMIT - u->total ||
	    u->lib.filter_bytes(u->archive, 0) > UNPACK_LIMIT)
		return err_set(u->err, ERR_LIMIT, "unpacks to more than %d MB", UNPACK_LIMIT >> 20);
	return 0;
}

static int system_error(struct unpacking *u, struct str name)
{
	if (errno == EEXIST || errno == ENOTDIR || errno == ELOOP || errno == EISDIR)
		return refuse_entry(u, name, "is in the way of another name");
	return err_set(u->err, ERR_IO, "cannot unpack '%.*s': %m", (int)MIN(name.n, NAME_SHOWN), name.p);
}

/* Opens the directory of a path, and makes what is missing of it; *ret_last is what follows the last slash. The path is cut
 * at its slashes. Returns a descriptor, or -1 with errno. */
static int open_parent(int dir, char *path, const char **ret_last)
{
	int at = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char *part = path;

	for (char *slash; at >= 0 && (slash = strchr(part, '/')); part = slash + 1) {
		*slash = '\0';
		int next = -1;
		if (mkdirat(at, part, 0755) == 0 || errno == EEXIST)
			next = openat(at, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(at);
		at = next;
	}
	*ret_last = part;
	return at;
}

static int unpack_content(struct unpacking *u, struct archive_entry *e, struct str name, int fd)
{
	AUTO_FREE char *piece = xmalloc(PIECE_BYTES);
	int64_t left = u->lib.size(e);
	la_ssize_t n;

	while ((n = u->lib.read_data(u->archive, piece, PIECE_BYTES)) > 0) {
		left -= n;
		u->total += n;
		int status = check_limits(u, 0);
		if (status < 0)
			return status;
		if (left < 0)
			return refuse_entry(u, name, "is larger than its header says");
		if (file_write_all(fd, piece, (size_t)n) < 0)
			return system_error(u, name);
	}
	if (n == 0 && left == 0)
		return 0;
	struct str why = n < 0 ? archive_reason(u) : STR("it is shorter than its header says");
	return err_set(u->err, ERR_PARSE, "'%.*s' is damaged: " STR_FMT, (int)MIN(name.n, NAME_SHOWN), name.p,
		       STR_ARG(why));
}

static int unpack_entry(struct unpacking *u, struct archive_entry *e)
{
	const char *pathname = u->lib.pathname(e);
	struct str name = str_from(pathname ? pathname : "");
	const char *problem = entry_problem(u, e, name);
	char path[UNPACK_NAME_LIMIT + 2];
	const char *last;

	if (problem)
		return refuse_entry(u, name, problem);
	if (!u->is_zip)
		(void)str_cut(&name, '/'); /* the directory that holds them all */
	if (!name.n)
		return 0;
	bool is_dir = S_ISDIR(u->lib.mode(e));
	snprintf(path, sizeof path, STR_FMT "%s", STR_ARG(name), is_dir && !str_ends(name, STR("/")) ? "/" : "");
	AUTO_CLOSE int dir = open_parent(u->dir, path, &last);
	if (dir < 0)
		return system_error(u, name);
	if (is_dir)
		return 0;
	AUTO_CLOSE int fd = openat(dir, last, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				   u->lib.mode(e) & S_IXUSR ? 0755 : 0644);
	return fd < 0 ? system_error(u, name) : unpack_content(u, e, name, fd);
}

/* A warning of libarchive is a contradiction in the archive, so it refuses the archive like an error. */
static int unpack_entries(struct unpacking *u, struct str archive)
{
	static const char signature[] = { 'P', 'K', 1, 2 };
	size_t records = 0;
	struct archive_entry *e;
	int rc = u->is_zip ? u->lib.support_zip(u->archive) : u->lib.support_gzip(u->archive);

	/* libarchive reads the whole directory of a zip file before the first entry, a million entries if they are there.
	 * Those of a zip file inside count too. */
	const char *end = archive.p + archive.n;
	for (const char *p = u->is_zip ? archive.p : NULL;
	     p && (p = memmem(p, (size_t)(end - p), signature, sizeof signature)); p += sizeof signature)
		if (++records > UNPACK_ENTRY_LIMIT)
			return err_set(u->err, ERR_LIMIT, "has more than %d files", UNPACK_ENTRY_LIMIT);
	if (rc == ARCHIVE_OK && !u->is_zip)
		rc = u->lib.support_tar(u->archive);
	if (rc == ARCHIVE_OK)
		rc = u->lib.open_memory(u->archive, archive.p, archive.n);
	while (rc == ARCHIVE_OK && (rc = u->lib.next_header(u->archive, &e)) == ARCHIVE_OK) {
		u->entries++;
		int status = check_limits(u, u->lib.size(e));
		if (status == 0)
			status = unpack_entry(u, e);
		if (status < 0)
			return status;
	}
	struct str why = archive_reason(u);
	if (rc != ARCHIVE_EOF)
		return err_set(u->err, ERR_PARSE, "is not a %s file, or is damaged: " STR_FMT,
			       u->is_zip ? "zip" : "tar.gz", STR_ARG(why));
	return u->entries ? 0 : err_set(u->err, ERR_PARSE, "has no files");
}

/* libarchive converts names to the character set of the locale: this thread's is UTF-8 for the time. */
int unpack_archive(enum unpack_format format, struct str archive, const char *dir, struct err *err)
{
	AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct unpacking u = { .dir = fd, .is_zip = format == UNPACK_ZIP, .err = err };

	if (fd < 0)
		return err_set(err, ERR_IO, "cannot open %s: %m", dir);
	int status = library_load(&library, &u.lib, err);
	if (status < 0)
		return status;
	u.archive = u.lib.read_new();
	if (!u.archive)
		base_oom(sizeof u);
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	locale_t before = uselocale(utf8);
	status = unpack_entries(&u, archive);
	u.lib.read_free(u.archive);
	uselocale(before);
	if (utf8)
		freelocale(utf8);
	return status;
}

static const char *zip_stem(struct arena *a, const char *file)
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
	AUTO_DIR DIR *list = opendir(dir);
	const char *only = NULL;
	size_t count = 0;

	for (struct dirent *e; (e = dir_next(list));)
		if (strcmp(e->d_name, "__MACOSX") != 0) {
			only = path_join(a, dir, e->d_name);
			count++;
		}
	return count == 1 && is_directory(only) && strcmp(strrchr(only, '/'), "/.claude-plugin") != 0 ? only : dir;
}

static int zip_cache_open_bytes(struct arena *a, const char *plugins_dir, struct str bytes, const char *stem,
				const char **ret_dir, struct err *err)
{
	enum { SHOWN = 32 };
	char digest[SHA256_DIGITS + 1];

	sha256_hex(bytes, digest);
	const char *home = arena_printf(a, "%s/cache/zip/%.*s", plugins_dir, SHOWN, digest);
	const char *dir = path_join(a, home, stem);
	if (!is_directory(dir)) {
		const char *temp;
		int status = directory_begin(a, home, &temp, err);
		if (status < 0)
			return status;
		const char *unpacked = path_join(a, temp, stem);
		status = mkdir(unpacked, 0700) < 0 ? err_set(err, ERR_IO, "cannot make the directory %s: %m", unpacked)
						   : unpack_archive(UNPACK_ZIP, bytes, unpacked, err);
		if (status < 0) {
			(void)directory_remove(temp, NULL);
			return status;
		}
		status = directory_put(temp, home, err);
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

	return status < 0 ? status
			  : zip_cache_open_bytes(a, plugins_dir, buf_str(&bytes), zip_stem(a, file), ret_dir, err);
}

int zip_cache_open_url(struct arena *a, const char *plugins_dir, const char *url, const char **ret_dir, struct err *err)
{
	AUTO_BUF struct buf bytes = { 0 };
	const char *stem = zip_stem(a, arena_dup(a, url, strcspn(url, "?#")));
	int status = download(url, UNPACK_FILE_LIMIT, &bytes, err);

	/* The last part of the address names the directory, and so a plugin without a manifest. */
	if (!plugin_name_is_good(str_from(stem)))
		stem = "plugin";
	return status < 0 ? status : zip_cache_open_bytes(a, plugins_dir, buf_str(&bytes), stem, ret_dir, err);
}
