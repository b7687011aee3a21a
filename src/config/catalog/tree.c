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

const char *tree_stem(struct arena *a, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct str name = str_from(slash ? slash + 1 : path);

	name.n -= str_ends(name, STR(".md")) ? 3 : 0;
	return arena_str(a, name).p;
}

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
	l->list = xgrow(l->list, l->count, &l->cap, sizeof *l->list);
	entry.name = arena_strdup(&l->arena, e->d_name);
	l->list[l->count++] = entry;
}

static void listing_release(struct listing *l)
{
	free(l->list);
	arena_release(&l->arena);
}

static void walk_directory(struct walker *w, const char *path, const char *below, unsigned depth);

/* Gives a file, walks a directory. path: that of the directory that has the entry. */
static void walk_entry(struct walker *w, const struct entry *e, int dir, const char *path, const char *below,
		       unsigned depth)
{
	AUTO_ARENA struct arena arena = { 0 };
	const struct tree_walk *walk = w->walk;
	struct tree_file file = { .dir = dir, .name = e->name, .below = below };
	bool is_link = e->link, is_file = e->type == DT_REG;
	struct stat st;

	if (walk->leaf) { /* the one file of a directory, which is reached without opening that directory */
		file.name = arena_printf(&arena, "%s/%s", e->name, walk->leaf);
		file.below = e->name;
		if (e->type != DT_DIR || fstatat(dir, file.name, &st, 0) < 0 || !S_ISREG(st.st_mode))
			return;
		is_file = true;
		is_link = is_link || (walk->inside && fstatat(dir, file.name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
				      S_ISLNK(st.st_mode));
	}
	file.path = path_join(&arena, path, file.name);
	if (is_link && walk->inside && !tree_is_inside(file.path, walk->inside))
		walk->on_problem(walk->data, file.path, "is a link that leads out of its plugin or project: not read");
	else if (is_file && ++w->files <= w->limit)
		walk->on_file(walk->data, &file);
	else if (is_file && w->files == w->limit + 1)
		walk->on_problem(walk->data, file.path, "too many files: this one and all after it are left out");
	else if (!is_file && depth == DEEPEST)
		walk->on_problem(walk->data, file.path, "is too deep below its directory: not read");
	else if (!is_file)
		walk_directory(w, file.path, arena_printf(&arena, "%s%s%s", below, below[0] ? ":" : "", e->name),
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
	for (size_t i = 0; i < l.count; i++)
		if (l.list[i].type == DT_REG && !w->walk->leaf)
			walk_entry(w, &l.list[i], dirfd(dir), path, below, depth);
	for (size_t i = 0; i < l.count && !w->walk->flat; i++)
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
