/* SPDX-License-Identifier: MIT
 * watch.c - a protected name that does not exist cannot be mounted over. So what is there by the end of a command and was not
 * before it is moved into the session's temporary directory: nothing of ours reads it from there. */
#include <errno.h>
#include <sys/stat.h>
#include "lib/base/id.h"
#include "guard/sandbox/find.h"
#include "guard/sandbox/sandbox_int.h"

/* The target of a link is protected by the kernel; the link itself can be replaced, and that is seen here. */
static bool was_there(const struct sandbox_held *held, const char *path)
{
	const struct profile *p = &held->profile;
	struct stat st;

	for (size_t i = 0; i < p->protects.count; i++) {
		if (strcmp(p->protects.list[i], path) != 0)
			continue;
		bool was_link = false;
		for (size_t k = 0; k < p->links.count && !was_link; k++)
			was_link = !strcmp(p->links.list[k], path);
		return !was_link || (lstat(path, &st) == 0 && S_ISLNK(st.st_mode));
	}
	return false;
}

static void move_away(struct sandbox_held *held, const char *path, struct buf *out)
{
	char id[9] = "";

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

/* In the sandbox of the settings a repository that was cloned or made is what the command was for, and its hooks do not run by
 * themselves. */
void watch_after(struct sandbox_held *held, struct buf *out)
{
	static const struct tool_env no_rules;
	bool inside = held->profile.hold == HOLD_INSIDE;
	struct paths now = { 0 };

	for (size_t i = 0; i < held->profile.roots.count; i++)
		(void)find_protected(&now, &held->arena, &no_rules, held->profile.roots.list[i], inside, NULL);
	for (size_t i = 0; i < now.count; i++)
		if (!was_there(held, now.list[i]) && !(inside && strstr(now.list[i], "/.git/")))
			move_away(held, now.list[i], out);
}
