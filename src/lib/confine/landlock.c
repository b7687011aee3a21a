/* SPDX-License-Identifier: MIT
 * landlock.c - rulesets for child processes. A right that a ruleset does not handle is not restricted. */
#include "lib/confine/landlock.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

enum { ABI_WITH_TRUNCATE = 3, ABI_WITH_SCOPES = 6, SCOPE_ALL = 3 /* abstract sockets, signals */ };

/* As the kernel has it now; headers may be older. It takes a longer struct than it knows if the rest is 0. */
struct ruleset_attr {
	uint64_t fs, net, scoped;
};

static const uint64_t file_rights = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE;
static const uint64_t dir_rights =
	LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
	LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
	LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
	LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER;

static const uint64_t read_rights = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;

static int landlock_abi(void)
{
	return (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

bool landlock_available(void)
{
	return landlock_abi() >= ABI_WITH_TRUNCATE;
}

bool landlock_keeps_signals(void)
{
	return landlock_abi() >= ABI_WITH_SCOPES;
}

/* read_only: a path that cannot be opened is skipped, and a file gets the rights of files only. The first may be links. */
static int allow_paths(int ruleset, const char *const *paths, uint64_t rights, bool read_only, size_t linked,
		       struct err *err)
{
	const char *what = read_only ? "reading of" : "writes to";
	const struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
	struct stat st;

	for (size_t i = 0; paths && *paths; paths++, i++) {
		bool exact = i >= linked && strncmp(*paths, "/proc/self/fd/", 14) != 0;
		AUTO_CLOSE int fd = exact ? (int)syscall(SYS_openat2, AT_FDCWD, *paths, &how, sizeof how)
					  : open(*paths, O_PATH | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st) < 0) {
			if (read_only)
				continue;
			return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot allow %s %s: %m", what,
				       *paths);
		}
		struct landlock_path_beneath_attr rule = {
			.allowed_access = !read_only || S_ISDIR(st.st_mode) ? rights : LANDLOCK_ACCESS_FS_READ_FILE,
			.parent_fd = fd,
		};
		if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
			return err_set(err, ERR_IO, "cannot allow %s %s: %m", what, *paths);
	}
	return 0;
}

int landlock_new(const struct landlock_rules *rules, struct err *err)
{
	int abi = landlock_abi();
	uint64_t reading = rules->reads ? read_rights : 0;
	const struct ruleset_attr attr = {
		.fs = dir_rights | reading,
		.scoped = rules->alone && abi >= ABI_WITH_SCOPES ? SCOPE_ALL : 0,
	};

	if (abi < ABI_WITH_TRUNCATE)
		return err_set(err, ERR_LIMIT, "this kernel cannot confine what processes write (no Landlock)");
	AUTO_CLOSE int low = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
	if (low < 0)
		return err_set(err, ERR_IO, "cannot make a Landlock ruleset: %m");
	size_t linked = rules->resolved ? 0 : SIZE_MAX;
	int rc = allow_paths(low, rules->dirs, dir_rights | reading, false, linked, err);
	if (rc == 0)
		rc = allow_paths(low, rules->files, file_rights | (reading & LANDLOCK_ACCESS_FS_READ_FILE), false,
				 linked, err);
	if (rc == 0)
		rc = allow_paths(low, rules->reads, read_rights, true, MAX(linked, rules->linked_reads), err);
	if (rc < 0)
		return rc;
	/* A host may have closed its standard streams; 0 would mean "no ruleset" to spawn_start. */
	int fd = fcntl(low, F_DUPFD_CLOEXEC, 3);
	return fd < 0 ? err_set(err, ERR_IO, "cannot keep a Landlock ruleset: %m") : fd;
}
