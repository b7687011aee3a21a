/* SPDX-License-Identifier: MIT
 * git_head.c - the branch of a repository, read from its files. */
#include "lib/git/git_head.h"
#include <sys/stat.h>
#include "lib/io/file.h"

enum { SMALL_FILE = 4096 };

char *git_root(struct arena *a, const char *dir)
{
	char *at = arena_strdup(a, dir);

	for (;;) {
		if (file_exists(path_join(a, at, ".git")))
			return at;
		char *slash = strrchr(at, '/');
		if (!slash || !at[1])
			return NULL;
		if (slash == at)
			at[1] = '\0'; /* the root directory is the last to look at */
		else
			*slash = '\0';
	}
}

/* Without the way back anybody's .git file could make us read anywhere. */
char *git_main_checkout(struct arena *a, const char *root)
{
	AUTO_BUF struct buf text = { 0 };
	struct stat st;
	char *dot_git = path_join(a, root, ".git");

	if (stat(dot_git, &st) < 0 || !S_ISREG(st.st_mode) || file_read(dot_git, SMALL_FILE, &text, NULL) < 0 ||
	    !str_starts(buf_str(&text), STR("gitdir:")))
		return NULL;
	char *admin = path_absolute(a, root, str_trim((struct str){ text.p + 7, text.n - 7 }));
	char *end = strstr(admin, "/.git/worktrees/");
	buf_clear(&text);
	if (!end || file_read(path_join(a, admin, "gitdir"), SMALL_FILE, &text, NULL) < 0 ||
	    !str_is(str_trim(buf_str(&text)), dot_git))
		return NULL;
	return arena_dup(a, admin, (size_t)(end - admin));
}

/* In a linked worktree .git is a file that names the real directory. */
char *git_dir(struct arena *a, const char *root)
{
	AUTO_BUF struct buf text = { 0 };
	char *dir = path_join(a, root, ".git");

	if (file_read(dir, SMALL_FILE, &text, NULL) < 0 || !str_starts(buf_str(&text), STR("gitdir:")))
		return dir;
	struct str target = str_trim((struct str){ text.p + 7, text.n - 7 });
	return path_join(a, root, arena_str(a, target).p);
}

char *git_branch(struct arena *a, const char *root)
{
	AUTO_BUF struct buf text = { 0 };

	if (file_read(path_join(a, git_dir(a, root), "HEAD"), SMALL_FILE, &text, NULL) < 0)
		return arena_strdup(a, "");
	struct str head = str_trim(buf_str(&text));
	struct str prefix = STR("ref: refs/heads/");
	if (str_starts(head, prefix))
		return arena_dup(a, head.p + prefix.n, head.n - prefix.n);
	return arena_dup(a, head.p, MIN(head.n, (size_t)12));
}
