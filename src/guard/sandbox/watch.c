/* SPDX-License-Identifier: MIT
 * watch.c - a protected name that does not exist cannot be mounted over. So what is there is noted before a command, and what
 * appeared by its end is moved into the session's temporary directory: nothing of ours reads it from there. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include "lib/base/id.h"
#include "lib/io/file.h"
#include "guard/permission/place.h"
#include "guard/sandbox/sandbox_int.h"

typedef void watch_fn(struct sandbox_held *held, const char *path, struct buf *out);

/* At the top of each root: below it, another program must be led there first. */
static void each_protected(struct sandbox_held *held, watch_fn *fn, struct buf *out)
{
	for (size_t i = 0; i < held->profile.roots.count; i++) {
		const char *root = held->profile.roots.list[i];
		DIR *dir = opendir(root);
		for (struct dirent *e; dir && (e = readdir(dir));) {
			const char *path = path_join(&held->arena, root, e->d_name);
			if (e->d_name[0] && strcmp(e->d_name, "..") != 0 && path_is_protected(path))
				fn(held, path, out);
		}
		if (dir)
			closedir(dir);
	}
}

static void remember(struct sandbox_held *held, const char *path, struct buf *out)
{
	(void)out;
	paths_add(&held->watched, &held->arena, path);
}

static void move_away(struct sandbox_held *held, const char *path, struct buf *out)
{
	char id[9] = "";

	for (size_t i = 0; i < held->watched.count; i++)
		if (!strcmp(held->watched.list[i], path))
			return;
	id_random(id, sizeof id - 1, "0123456789abcdef");
	const char *to = arena_printf(&held->arena, "%s/%s%s", held->temp_dir, strrchr(path, '/') + 1, id);
	bool moved = rename(path, to) == 0;
	if (!moved && errno == EXDEV) /* another file system: beside it, under a name that means nothing */
		moved = rename(path, to = arena_printf(&held->arena, "%s.removed-%s", path, id)) == 0;
	if (moved)
		buf_addf(out, "removed: %s appeared and was moved to %s: change it with Write, which asks\n", path, to);
	else
		buf_addf(out, "appeared: %s, and it could not be moved away\n", path);
}

void watch_before(struct sandbox_held *held)
{
	each_protected(held, remember, NULL);
}

/* A repository that was cloned or made inside is what the command was for; its hooks do not run by themselves. */
static bool is_new_repository(const char *path)
{
	return !strcmp(strrchr(path, '/') + 1, ".git");
}

static void move_unless_repository(struct sandbox_held *held, const char *path, struct buf *out)
{
	if (held->profile.hold != HOLD_INSIDE || !is_new_repository(path))
		move_away(held, path, out);
}

void watch_after(struct sandbox_held *held, struct buf *out)
{
	each_protected(held, move_unless_repository, out);
}
