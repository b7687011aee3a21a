/* SPDX-License-Identifier: MIT
 * git_objects.c - the object store of an agent, and the way of its objects into the shared one. */
#include "lib/git/git_objects.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "lib/io/dir.h"
#include "lib/io/file_at.h"

enum { NAME_SHA1 = 38, NAME_SHA256 = 62 };

int git_objects_prepare(struct git_objects *ret, const char *admin, const char *common, struct arena *a,
			struct err *err)
{
	static const char *const dirs[] = { "objects/info", "objects/pack", "history" };
	int rc = 0;

	for (size_t i = 0; i < COUNT_OF(dirs) && rc == 0; i++)
		rc = file_below_make_dir(admin, dirs[i], 0700, err);
	*ret = (struct git_objects){ arena_strdup(a, admin), arena_printf(a, "%s/objects", common),
				     arena_printf(a, "%s/objects", admin), arena_printf(a, "%s/history", admin) };
	const char *alternates = arena_printf(a, "%s\n", ret->seen);
	return rc < 0 ? rc : file_below_replace(admin, "objects/info/alternates", str_from(alternates), err);
}

/* A file that is there already stays: objects with one name are the same. */
static void move_file(int from, int to, const char *name)
{
	struct stat st;

	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return;
	if (syscall(SYS_renameat2, from, name, to, name, RENAME_NOREPLACE) < 0 && errno == EEXIST)
		(void)unlinkat(from, name, 0);
}

/* ab/cdef...: git gives an object this name when it is whole. */
static void move_loose(int own, int shared, const char *folder)
{
	AUTO_DIR DIR *dir = dir_open_at(own, folder);
	AUTO_CLOSE int to = dir ? openat(shared, folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;

	for (struct dirent *e; (e = dir_next(dir));) {
		struct str name = str_from(e->d_name);
		if ((name.n != NAME_SHA1 && name.n != NAME_SHA256) || !str_is_hex(name))
			continue;
		if (to < 0 && (mkdirat(shared, folder, 0777) == 0 || errno == EEXIST))
			to = openat(shared, folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (to < 0)
			break;
		move_file(dirfd(dir), to, e->d_name);
	}
}

/* git knows a pack by its .idx, which it writes last: so it goes last. */
static void move_packs(int own, int shared)
{
	static const char *const endings[] = { "pack", "rev", "bitmap", "mtimes", "idx" };
	AUTO_DIR DIR *dir = dir_open_at(own, "pack");
	AUTO_CLOSE int to = dir ? openat(shared, "pack", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;

	for (struct dirent *e; to >= 0 && (e = dir_next(dir));) {
		size_t n = strlen(e->d_name);
		char name[NAME_MAX + 1];
		if (n < 10 || strncmp(e->d_name, "pack-", 5) != 0 || strcmp(e->d_name + n - 4, ".idx") != 0 ||
		    !str_is_hex((struct str){ e->d_name + 5, n - 9 }))
			continue;
		for (size_t i = 0; i < COUNT_OF(endings); i++) {
			snprintf(name, sizeof name, "%.*s%s", (int)(n - 3), e->d_name, endings[i]);
			move_file(dirfd(dir), to, name);
		}
	}
}

void git_objects_move(const struct git_objects *o)
{
	AUTO_CLOSE int root = open(o->admin, O_PATH | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int shared = open(o->shared, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_DIR DIR *own = root < 0 || shared < 0 ? NULL : dir_open_at(root, "objects");

	for (struct dirent *e; (e = dir_next(own));)
		if (strlen(e->d_name) == 2 && str_is_hex(str_from(e->d_name)))
			move_loose(dirfd(own), shared, e->d_name);
	if (own)
		move_packs(dirfd(own), shared);
}
