/* SPDX-License-Identifier: MIT
 * tree.c - walks a directory of .md files. */
#include "config/catalog/tree.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "lib/base/map.h"
#include "lib/io/file.h"

enum { DEEPEST = 16, MOST_FILES = 100000 };

struct walker {
	const struct tree_walk *walk;
	struct map entered; /* "device:inode" of directories: a link may lead back up */
	size_t files, limit;
};

struct entry {
	const char *name;
	unsigned char type; /* DT_REG, DT_DIR, or something that is neither */
	bool link;
};

struct listing {
	struct entry *list;
	size_t count, cap;
	struct arena arena; /* holds the names */
};

bool tree_is_inside(const char *path, const char *dir)
{
	AUTO_FREE char *real = realpath(path, NULL);

	return real && path_is_inside(real, dir);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/* What is neither a file nor a directory (a pipe, a link to nothing) does not count. */
static void add_entry(struct listing *l, int dir, const struct dirent *e)
{
	struct stat st;
	struct entry entry = { .type = e->d_type, .link = e->d_type == DT_LNK };

	if (e->d_name[0] == '.')
		return;
	if (entry.type != DT_DIR && entry.type != DT_REG) {
		if (fstatat(dir, e->d_name, &st, 0) < 0)
			return;
		entry.link = true; /* or of an unknown type: looked at as if it were one */
		entry.type = S_ISDIR(st.st_mode) ? DT_DIR : S_ISREG(st.st_mode) ? DT_REG : DT_UNKNOWN;
	}
	if (entry.type == DT_UNKNOWN || (entry.type == DT_REG && !str_ends(str_from(e->d_name), STR(".md"))))
		return;
	if (l->count == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 64;
		l->list = xrealloc(l->list, l->cap * sizeof *l->list);
	}
	entry.name = arena_strdup(&l->arena, e->d_name);
	l->list[l->count++] = entry;
}

static void listing_release(struct listing *l)
{
	free(l->list);
	arena_release(&l->arena);
}

static bool may_follow(struct walker *w, bool is_link, const char *path)
{
	if (!is_link || !w->walk->inside || tree_is_inside(path, w->walk->inside))
		return true;
	w->walk->on_problem(w->walk->data, path, "is a link that leads out of its plugin: not read");
	return false;
}

static void give_file(struct walker *w, const struct tree_file *file)
{
	if (++w->files == w->limit + 1)
		w->walk->on_problem(w->walk->data, file->path,
				    "too many files: this one and all after it are left out");
	if (w->files <= w->limit)
		w->walk->on_file(w->walk->data, file);
}

/* The one file of a directory below the root, which is reached without opening that directory. */
static void give_leaf(struct walker *w, const struct entry *e, int dir, const char *root)
{
	AUTO_ARENA struct arena arena = { 0 };
	const char *name = arena_printf(&arena, "%s/%s", e->name, w->walk->leaf);
	const char *path = path_join(&arena, root, name);
	struct stat st;
	struct stat link;

	if (e->type != DT_DIR || fstatat(dir, name, &st, 0) < 0 || !S_ISREG(st.st_mode))
		return;
	bool is_link = e->link || (w->walk->inside && fstatat(dir, name, &link, AT_SYMLINK_NOFOLLOW) == 0 &&
				   S_ISLNK(link.st_mode));
	if (may_follow(w, is_link, path))
		give_file(w, &(struct tree_file){ .dir = dir, .name = name, .path = path, .below = e->name });
}

static void walk_directory(struct walker *w, const char *path, const char *below, unsigned depth);

static void walk_entry(struct walker *w, const struct entry *e, int dir, const char *path, const char *below,
		       unsigned depth)
{
	AUTO_ARENA struct arena arena = { 0 };
	const char *child = path_join(&arena, path, e->name);

	if (!may_follow(w, e->link, child))
		return;
	if (e->type == DT_REG)
		give_file(w, &(struct tree_file){ .dir = dir, .name = e->name, .path = child, .below = below });
	else if (depth == DEEPEST)
		w->walk->on_problem(w->walk->data, child, "is too deep below its directory: not read");
	else
		walk_directory(w, child, arena_printf(&arena, "%s%s%s", below, below[0] ? ":" : "", e->name),
			       depth + 1);
}

static void walk_directory(struct walker *w, const char *path, const char *below, unsigned depth)
{
	CLEANUP(listing_release) struct listing l = { 0 };
	DIR *dir = opendir(path);
	struct stat st = { 0 };
	char key[64];

	if (!dir) {
		if (errno != ENOENT && errno != ENOTDIR)
			w->walk->on_problem(w->walk->data, path, strerror(errno));
		return;
	}
	bool known = fstat(dirfd(dir), &st) < 0;
	snprintf(key, sizeof key, "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	if (!known && !map_set(&w->entered, str_from(key), w)) {
		for (const struct dirent *e; (e = readdir(dir));)
			add_entry(&l, dirfd(dir), e);
		if (l.count)
			qsort(l.list, l.count, sizeof *l.list, by_name);
	}
	for (size_t i = 0; i < l.count && w->walk->leaf; i++)
		give_leaf(w, &l.list[i], dirfd(dir), path);
	for (size_t i = 0; i < l.count && !w->walk->leaf; i++)
		if (l.list[i].type == DT_REG)
			walk_entry(w, &l.list[i], dirfd(dir), path, below, depth);
	for (size_t i = 0; i < l.count && !w->walk->leaf && !w->walk->flat; i++)
		if (l.list[i].type == DT_DIR)
			walk_entry(w, &l.list[i], dirfd(dir), path, below, depth);
	closedir(dir);
}

void tree_walk(const struct tree_walk *walk, const char *root)
{
	struct walker w = { .walk = walk, .limit = walk->limit ? walk->limit : MOST_FILES };

	walk_directory(&w, root, "", 0);
	map_release(&w.entered);
}
