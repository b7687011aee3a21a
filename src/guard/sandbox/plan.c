/* SPDX-License-Identifier: MIT
 * plan.c - a profile as what the child carries out: mounts by depth, a Landlock ruleset, a filter. */
#include <limits.h>
#include <sys/stat.h>
#include "lib/io/file.h"
#include "lib/io/landlock.h"
#include "guard/permission/place.h"
#include "guard/sandbox/sandbox_int.h"

static bool is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static size_t depth_of(const char *path)
{
	size_t n = 0;

	for (; *path; path++)
		n += *path == '/';
	return n;
}

/* What hides stands behind what opens the same place. */
static int order_mounts(const void *a, const void *b)
{
	static const int rank[] = { [CONFINE_EMPTIED] = 0,
				    [CONFINE_BACK] = 1,
				    [CONFINE_WRITABLE] = 2,
				    [CONFINE_READ_ONLY] = 3,
				    [CONFINE_HIDDEN] = 4 };
	const struct confine_mount *x = a;
	const struct confine_mount *y = b;
	size_t dx = depth_of(x->path);
	size_t dy = depth_of(y->path);

	return dx != dy ? (dx > dy) - (dx < dy) : rank[x->kind] - rank[y->kind];
}

static void add_mounts(struct sandbox_held *held, const struct paths *paths, enum confine_kind kind)
{
	for (size_t i = 0; i < paths->count; i++) {
		struct place place = place_find(&held->arena, "/", str_from(paths->list[i]));
		if (place.target && file_exists(place.target))
			held->mounts[held->confine.count++] =
				(struct confine_mount){ kind, is_dir(place.target), place.target };
	}
}

static void plan_mounts(struct sandbox_held *held)
{
	const struct profile *p = &held->profile;
	size_t most =
		p->writes.count + p->pins.count + p->protects.count + p->hides.count + p->emptied.count + p->back.count;

	held->mounts = arena_alloc(&held->arena, (most + 1) * sizeof *held->mounts);
	add_mounts(held, &p->emptied, CONFINE_EMPTIED);
	add_mounts(held, &p->back, CONFINE_BACK);
	add_mounts(held, &p->writes, CONFINE_WRITABLE);
	add_mounts(held, &p->pins, CONFINE_WRITABLE);
	add_mounts(held, &p->protects, CONFINE_READ_ONLY);
	add_mounts(held, &p->hides, CONFINE_HIDDEN);
	qsort(held->mounts, held->confine.count, sizeof *held->mounts, order_mounts);
	held->confine.list = held->mounts;
}

/* In a cell the ruleset is the second wall: mounts say the same, but for what a profile limits in reading. */
static int plan_ruleset(struct sandbox_held *held, struct err *err)
{
	static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/tty", NULL };
	struct paths dirs = { 0 };
	struct paths files = { 0 };
	struct arena *a = &held->arena;

	for (size_t i = 0; i < COUNT_OF(devices) - 1; i++)
		if (file_exists(devices[i]))
			paths_add(&files, a, devices[i]);
	for (size_t i = 0; i < held->profile.writes.count; i++) {
		const char *path = held->profile.writes.list[i];
		if (file_exists(path))
			paths_add(is_dir(path) ? &dirs : &files, a, path);
	}
	if (held->confine.cell) {
		paths_add(&held->profile.reads, a, cell_proc(held->confine.cell));
		if (held->profile.hold == HOLD_INSIDE)
			paths_add(&dirs, a, cell_shm(held->confine.cell));
	}
	int fd = landlock_new(
		&(struct landlock_rules){ .dirs = dirs.list,
					  .files = files.list,
					  .reads = held->profile.limits_reads ? held->profile.reads.list : NULL,
					  .alone = held->profile.hold == HOLD_READS },
		err);
	if (fd > 0)
		held->confine.landlock_fd = fd;
	return fd < 0 ? fd : 0;
}

static bool needs_view(const struct profile *p)
{
	return p->hold != HOLD_READS || p->hides.count || p->emptied.count;
}

int plan_make(struct sandbox *s, struct sandbox_held *held, const struct tool_env *env, struct err *err)
{
	struct profile *p = &held->profile;
	struct cell *cell = NULL;
	int rc = 0;

	(void)env;
	if (needs_view(p)) {
		rc = sandbox_cell(s, p->hold == HOLD_WORKTREE ? CELL_VIEW : CELL_WHOLE, &cell, err);
		if (rc == 0)
			plan_mounts(held);
	}
	held->confine.cell = cell;
	held->confine.no_cores = p->hold != HOLD_WORKTREE;
	held->confine.keep_capabilities = geteuid() == 0 && p->hold != HOLD_READS;
	if (rc == 0 && p->hold != HOLD_WORKTREE) {
		held->confine.filter = sandbox_filter(s, p->hold == HOLD_READS   ? FILTER_READS
							 : p->hold == HOLD_EDITS ? FILTER_EDITS
										 : FILTER_INSIDE);
		rc = plan_ruleset(held, err);
	}
	return rc;
}

void plan_release(struct sandbox_held *held)
{
	if (held->confine.landlock_fd > 0)
		close(held->confine.landlock_fd);
	held->confine.landlock_fd = 0;
}
