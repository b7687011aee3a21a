/* SPDX-License-Identifier: MIT
 * git_head.c - facts about a repository, read from its files. */
#include "lib/git/git_head.h"
#include <sys/stat.h>
#include "lib/io/file.h"

enum { SMALL_FILE = 4096, INDEX_MAX_BYTES = 256 << 20, CONFIG_MAX_BYTES = 1 << 20, HEADER = 12, STAT_BYTES = 40 };

char *git_find_root(struct arena *a, const char *dir, bool anyones)
{
	char *at = arena_strdup(a, dir);
	struct stat st, owner;

	for (;;) {
		bool found = file_exists(path_join(a, at, ".git"));
		/* As git does: a repository of another user around this directory is none of its. */
		if (found && (anyones || stat(at, &st) < 0 || st.st_uid == geteuid() || st.st_uid == 0 ||
			      (stat(dir, &owner) == 0 && st.st_uid == owner.st_uid)))
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

/* Without the check of the way back, a .git file of a stranger could make us read anywhere. */
char *git_main_checkout(struct arena *a, const char *root)
{
	AUTO_BUF struct buf text = { 0 };
	char *dot_git = path_join(a, root, ".git");

	if (!file_is_regular(dot_git) || file_read(dot_git, SMALL_FILE, &text, NULL) < 0 ||
	    !str_starts(buf_str(&text), STR("gitdir:")))
		return NULL;
	char *admin = path_absolute(a, root, str_trim(str_tail(buf_str(&text), 7)));
	char *end = strstr(admin, "/.git/worktrees/");
	buf_clear(&text);
	if (!end || file_read(path_join(a, admin, "gitdir"), SMALL_FILE, &text, NULL) < 0 ||
	    strcmp(path_absolute(a, admin, str_trim(buf_str(&text))), dot_git) != 0) /* it may be relative, too */
		return NULL;
	return arena_dup(a, admin, (size_t)(end - admin));
}

/* In a linked worktree .git is a file that names the real directory. */
char *git_dir(struct arena *a, const char *root)
{
	AUTO_BUF struct buf text = { 0 };
	char *dir = path_join(a, root, ".git");

	if (!file_is_regular(dir) || file_read(dir, SMALL_FILE, &text, NULL) < 0 ||
	    !str_starts(buf_str(&text), STR("gitdir:")))
		return dir;
	struct str target = str_trim(str_tail(buf_str(&text), 7));
	return path_join(a, root, arena_str(a, target).p);
}

/* A linked worktree is named in "gitdir", the checkout of a submodule in "config". */
char *git_own_dir(struct arena *a, const char *root)
{
	AUTO_BUF struct buf text = { 0 };
	char *dot_git = path_join(a, root, ".git");
	struct stat st;

	if (lstat(dot_git, &st) < 0 || S_ISLNK(st.st_mode))
		return NULL;
	char *dir = S_ISDIR(st.st_mode) ? dot_git : git_dir(a, root);
	if (!strcmp(dir, dot_git) || git_main_checkout(a, root))
		return dir;
	if (file_read(path_join(a, dir, "config"), CONFIG_MAX_BYTES, &text, NULL) < 0)
		return NULL;
	for (struct str rest = buf_str(&text); rest.p;) {
		struct str value = str_cut(&rest, '\n');
		struct str name = str_trim(str_cut(&value, '='));
		if (value.p && str_is(name, "worktree") && !strcmp(path_absolute(a, dir, str_trim(value)), root))
			return dir;
	}
	return NULL;
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

/* Names in git's index
 *
 *     "DIRC" version count | entries | extensions | checksum              numbers are big-endian, 4 bytes
 *     entry: 40 bytes of stat, object id, 2 bytes of flags, 2 more if bit 14 is set (from version 3 on), name
 *     name, 2 and 3: text with 1 to 8 NULs, so that the entry's length is a multiple of 8
 *     name, 4: how much of the name before goes away (a number in 7-bit pieces), the new end, NUL
 *
 * Its bytes are foreign: everything is checked, and an index that does not fit makes the answer unknown. */

struct index {
	struct str rest;
	size_t hash_bytes;
	uint32_t version;
	struct buf name; /* of the entry that was read last */
};

static uint32_t read_be32(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;

	return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

static bool str_skip(struct str *s, size_t n)
{
	if (s->n < n)
		return false;
	s->p += n;
	s->n -= n;
	return true;
}

/* Version 4: how many bytes of the previous name go away. */
static bool read_strip(struct str *s, size_t *ret_n)
{
	size_t n = 0;

	for (int i = 0; i < 5 && s->n; i++) {
		unsigned char c = (unsigned char)s->p[0];
		(void)str_skip(s, 1);
		n = (i ? (n + 1) << 7 : 0) + (c & 127);
		*ret_n = n;
		if (!(c & 128))
			return true;
	}
	return false;
}

static bool read_entry(struct index *x)
{
	size_t flags_at = STAT_BYTES + x->hash_bytes;
	size_t strip = x->name.n;

	if (x->rest.n < flags_at + 4)
		return false;
	bool more = x->version > 2 && (x->rest.p[flags_at] & 0x40);
	size_t head = flags_at + (more ? 4 : 2);
	if (!str_skip(&x->rest, head))
		return false;
	if (x->version == 4 && (!read_strip(&x->rest, &strip) || strip > x->name.n))
		return false;
	const char *end = memchr(x->rest.p, '\0', x->rest.n);
	if (!end)
		return false;
	size_t n = (size_t)(end - x->rest.p);
	x->name.n -= strip;
	buf_add(&x->name, x->rest.p, n);
	return str_skip(&x->rest, x->version == 4 ? n + 1 : n + 8 - (head + n) % 8);
}

static bool index_may_have(struct index *x, struct str path)
{
	if (x->rest.n < HEADER || memcmp(x->rest.p, "DIRC", 4) != 0)
		return true;
	x->version = read_be32(x->rest.p + 4);
	uint32_t count = read_be32(x->rest.p + 8);
	if (x->version < 2 || x->version > 4 || !str_skip(&x->rest, HEADER))
		return true;
	for (uint32_t i = 0; i < count; i++) {
		if (!read_entry(x))
			return true;
		struct str name = buf_str(&x->name);
		/* In a sparse checkout a directory stands for everything in it. */
		if (str_eq(name, path) || (str_ends(name, STR("/")) && str_starts(path, name)))
			return true;
	}
	/* "link": the other entries are in another file. */
	while (x->rest.n >= 8 + x->hash_bytes) {
		if (!memcmp(x->rest.p, "link", 4))
			return true;
		if (!str_skip(&x->rest, 8 + (size_t)read_be32(x->rest.p + 4)))
			return true;
	}
	return false;
}

bool git_tracks(const char *root, const char *path)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf bytes = { 0 }, config = { 0 };
	const char *main_root = git_main_checkout(&a, root);
	int status = file_read(path_join(&a, git_dir(&a, root), "index"), INDEX_MAX_BYTES, &bytes, NULL);

	if (status < 0)
		return status != -ERR_NOT_FOUND;
	const char *main_dir = git_dir(&a, main_root ? main_root : root);
	(void)file_read(path_join(&a, main_dir, "config"), CONFIG_MAX_BYTES, &config, NULL);
	bool sha256 = str_has(buf_str(&config), STR("sha256"));
	struct index x = { .rest = buf_str(&bytes), .hash_bytes = sha256 ? 32 : 20 };
	bool tracked = index_may_have(&x, str_from(path));
	buf_release(&x.name);
	return tracked;
}
