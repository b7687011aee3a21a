/* SPDX-License-Identifier: MIT
 * plan.c - a profile as what the child carries out: mounts by depth, a Landlock ruleset, a filter. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "lib/git/git_objects.h"
#include "lib/io/file.h"
#include "lib/confine/landlock.h"
#include "guard/permission/resolved_path.h"
#include "guard/sandbox/sandbox_int.h"

/* What hides stands behind what opens the same path. */
static int order_mounts(const void *a, const void *b)
{
	static const int rank[] = { [CONFINE_EMPTIED] = 0,
				    [CONFINE_BACK] = 1,
				    [CONFINE_WRITABLE] = 2,
				    [CONFINE_READ_ONLY] = 3,
				    [CONFINE_HIDDEN] = 4 };
	const struct confine_mount *x = a;
	const struct confine_mount *y = b;
	size_t dx = path_depth(x->path);
	size_t dy = path_depth(y->path);

	return dx != dy ? (dx > dy) - (dx < dy) : rank[x->kind] - rank[y->kind];
}

static void plan_mounts(struct sandbox_held *held)
{
	const struct profile *p = &held->profile;
	const struct {
		const struct paths *paths;
		enum confine_kind kind;
	} lists[] = {
		{ &p->emptied, CONFINE_EMPTIED }, { &p->back, CONFINE_BACK },          { &p->writes, CONFINE_WRITABLE },
		{ &p->pins, CONFINE_WRITABLE },   { &p->protects, CONFINE_READ_ONLY }, { &p->hides, CONFINE_HIDDEN },
	};
	size_t most = 0;

	for (size_t i = 0; i < COUNT_OF(lists); i++)
		most += lists[i].paths->count;
	held->mounts = arena_alloc(&held->arena, (most + 1) * sizeof *held->mounts);
	for (size_t i = 0; i < COUNT_OF(lists); i++) {
		for (size_t k = 0; k < lists[i].paths->count; k++) {
			/* What is writable was resolved before: a link that stands there now was put there since. */
			const char *path = lists[i].paths->list[k];
			if (lists[i].kind != CONFINE_WRITABLE)
				path = resolved_path_find(&held->arena, "/", str_from(path)).target;
			if (path && file_exists(path))
				held->mounts[held->confine.count++] =
					(struct confine_mount){ lists[i].kind, file_is_dir(path), path };
		}
	}
	qsort(held->mounts, held->confine.count, sizeof *held->mounts, order_mounts);
	held->confine.list = held->mounts;
	held->confine.trees = arena_alloc(&held->arena, (p->back.count + 1) * sizeof *held->confine.trees);
}

/* In builds for tests a wall can be left out, which `cadre sandbox test` must find. */
static bool lacks_wall(const char *name)
{
#ifdef CADRE_CRASH_POINTS
	const char *without = getenv("CADRE_TEST_WITHOUT_WALL");
	return without && !strcmp(without, name);
#else
	return false;
#endif
}

/* Its text with its length, because a name may have any byte; and which file it is: a path may be made again. */
static void add_to_key(struct buf *key, const char *path, const struct file_id *id)
{
	buf_addf(key, "%zu %s %llx:%llx\n", strlen(path), path, (unsigned long long)id->dev,
		 (unsigned long long)id->ino);
}

/* Takes the key. The oldest one makes room. */
static void keep_ruleset(struct sandbox *s, struct buf *key, int fd)
{
	struct kept_ruleset *k = &s->rulesets[s->ruleset_next];

	if (s->ruleset_count == RULESETS_MAX) {
		close(k->fd);
		buf_release(&k->key);
	} else {
		s->ruleset_count++;
	}
	*k = (struct kept_ruleset){ *key, fd };
	*key = (struct buf){ 0 };
	s->ruleset_next = (s->ruleset_next + 1) % RULESETS_MAX;
}

void plan_forget(struct sandbox *s)
{
	for (size_t i = 0; i < s->ruleset_count; i++) {
		close(s->rulesets[i].fd);
		buf_release(&s->rulesets[i].key);
	}
	s->ruleset_count = s->ruleset_next = 0;
}

/* In a cell the ruleset is the second wall: mounts say the same, but for what a profile limits in reading. */
static int plan_ruleset(struct sandbox *s, struct sandbox_held *held, struct err *err)
{
	static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/tty" };
	const struct profile *p = &held->profile;
	struct paths dirs = { 0 };
	struct paths files = { 0 };
	struct paths reads = { 0 };
	struct arena *a = &held->arena;
	AUTO_BUF struct buf key = { 0 };

	buf_addf(&key, "%d%d\n", p->hold, held->reduced);
	for (size_t i = 0; i < p->writes.count; i++) {
		struct stat st;
		if (stat(p->writes.list[i], &st) < 0)
			continue;
		paths_add(S_ISDIR(st.st_mode) ? &dirs : &files, a, p->writes.list[i]);
		add_to_key(&key, p->writes.list[i], &(struct file_id){ st.st_dev, st.st_ino });
	}
	if (p->limits_reads)
		reads = p->reads;
	buf_addstr(&key, "reads\n");
	for (size_t i = p->program_count; i < reads.count; i++) /* programs stay where they are */
		add_to_key(&key, reads.list[i], &p->read_ids[i]);
	/* These are the same for all such commands under one policy. */
	if (held->confine.cell && p->limits_reads)
		paths_add(&reads, a, cell_dir(held->confine.cell, CELL_IN_PROC));
	if (held->confine.cell && p->hold == HOLD_INSIDE)
		paths_add(&dirs, a, cell_dir(held->confine.cell, CELL_IN_SHM));
	if (held->confine.cell)
		paths_add(&files, a, cell_dir(held->confine.cell, CELL_IN_PTS)); /* NULL adds nothing: a view */
	if (held->confine.cell && s->policy && s->policy->nested_user_namespaces)
		paths_add(&files, a, cell_dir(held->confine.cell, CELL_IN_PROC)); /* rights of files, below it */
	for (const char *const *d = held->confine.cell && s->policy ? s->policy->devices : NULL; d && *d; d++)
		paths_add(&files, a, *d);
	buf_addf(&key, "%d\n", held->confine.cell != NULL);
	int fd = -1;
	for (size_t i = 0; i < s->ruleset_count && fd < 0; i++)
		if (str_eq(buf_str(&s->rulesets[i].key), buf_str(&key)))
			fd = s->rulesets[i].fd;
	if (fd < 0 && p->limits_reads && profile_identify(&s->programs, s->program_ids))
		return PLAN_MOVED;
	if (fd < 0) {
		for (size_t i = 0; i < COUNT_OF(devices); i++)
			if (file_exists(devices[i]))
				paths_add(&files, a, devices[i]);
		fd = landlock_new(&(struct landlock_rules){ .dirs = dirs.list,
							    .files = files.list,
							    .reads = p->limits_reads ? reads.list : NULL,
							    .linked_reads = p->linked_reads,
							    .resolved = true,
							    .alone = (p->hold == HOLD_READS || held->reduced) &&
								     !lacks_wall("scopes") },
				  err);
		if (fd < 0)
			return fd;
		keep_ruleset(s, &key, fd);
	}
	held->confine.landlock_fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return held->confine.landlock_fd < 0 ? err_set(err, ERR_IO, "cannot confine this command: %m") : 0;
}

/* What stands in hidden places. A whole cell has its own; a view has none, and root of a cell may open any file of the users
 * that it knows: its placeholders belong to no user there. They lie beside the temporary directory, where no command can put
 * another file in their place. */
static int plan_placeholders(struct sandbox *s, struct sandbox_held *held, bool whole, struct err *err)
{
	bool root = geteuid() == 0;

	if (!root && whole)
		return 0;
	if (!s->empty_file) {
		AUTO_BUF struct buf path = { 0 };
		buf_addf(&path, "%s.hidden", s->temp_dir);
		AUTO_CLOSE int fd = file_make_parents(path.p, err) < 0
					    ? -1
					    : open(path.p, O_CREAT | O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0);
		if (fd < 0 || fchmod(fd, 0) < 0 || (root && fchown(fd, CELL_NOBODY, CELL_NOBODY) < 0))
			return err_set(err, ERR_IO, "cannot make %s: %m", path.p);
		s->empty_file = buf_take(&path, NULL);
		sandbox_own_path(s, s->empty_file);
	}
	if (!s->empty_dir) {
		AUTO_BUF struct buf path = { 0 };
		buf_addf(&path, "%s.hidden.d", s->temp_dir);
		if ((mkdir(path.p, 0111) < 0 && errno != EEXIST) ||
		    (root && lchown(path.p, CELL_NOBODY, CELL_NOBODY) < 0))
			return err_set(err, ERR_IO, "cannot make %s: %m", path.p);
		s->empty_dir = buf_take(&path, NULL);
		sandbox_own_path(s, s->empty_dir);
	}
	held->confine.empty_file = resolved_path_find(&held->arena, "/", str_from(s->empty_file)).target;
	held->confine.empty_dir = resolved_path_find(&held->arena, "/", str_from(s->empty_dir)).target;
	return 0;
}

int plan_make(struct sandbox *s, struct sandbox_held *held, struct err *err)
{
	static const enum sandbox_filter filters[] = { [HOLD_READS] = FILTER_READS,
						       [HOLD_EDITS] = FILTER_EDITS,
						       [HOLD_CONVERTS] = FILTER_EDITS,
						       [HOLD_INSIDE] = FILTER_INSIDE };
	struct profile *p = &held->profile;
	struct cell *cell = NULL;
	bool whole = p->hold != HOLD_WORKTREE;
	bool keeps_signals = s->keeps_signals && !lacks_wall("scopes");
	int rc = 0;

	if (lacks_wall("protected"))
		p->protects.count = p->pins.count = 0;
	if (lacks_wall("hidden"))
		p->hides.count = p->emptied.count = 0;
	bool needs_cell = p->hold != HOLD_READS || p->hides.count || p->emptied.count ||
			  (!keeps_signals && sandbox_strength(s, NULL) == SANDBOX_FULL);
	if (!held->reduced && needs_cell) {
		rc = sandbox_cell(s, whole ? CELL_WHOLE : CELL_VIEW, &cell, err);
		if (rc == 0)
			plan_mounts(held);
		if (rc == 0 && p->hides.count)
			rc = plan_placeholders(s, held, whole, err);
	}
	held->confine.cell = cell;
	if (cell && held->objects) {
		held->confine.covered = resolved_path_find(&held->arena, "/", str_from(held->objects->shared)).target;
		held->confine.cover = resolved_path_find(&held->arena, "/", str_from(held->objects->own)).target;
		held->confine.covered_at = held->objects->seen;
	}
	held->confine.no_cores = p->hold != HOLD_WORKTREE;
	held->confine.keep_capabilities =
		geteuid() == 0 && p->hold != HOLD_READS && p->hold != HOLD_CONVERTS && !held->reduced;
	if (rc == 0 && p->hold != HOLD_WORKTREE) {
		bool supervised = p->hold == HOLD_INSIDE && s->connects && !held->reduced;
		bool silent = (p->hold == HOLD_READS || p->hold == HOLD_CONVERTS) && !cell && !keeps_signals;
		held->confine.filter =
			sandbox_filter(s, silent                                           ? FILTER_READS_SILENT
					  : held->reduced && p->hold == HOLD_CONVERTS      ? FILTER_READS
					  : held->reduced                                  ? FILTER_REDUCED
					  : !supervised                                    ? filters[p->hold]
					  : s->policy && s->policy->nested_user_namespaces ? FILTER_NESTED
											   : FILTER_SUPERVISED);
		if (s->trace && !s->connects) /* no cell: nothing connects, and the observer needs a listener */
			s->connects = connects_new(s, -1);
		held->confine.listener_to = supervised || s->trace ? connects_fd(s->connects) : 0;
		rc = plan_ruleset(s, held, err);
	}
	if (lacks_wall("seccomp")) {
		held->confine.filter = NULL;
		held->confine.listener_to = 0;
	}
	if (lacks_wall("landlock"))
		plan_release(held);
	return rc;
}

void plan_release(struct sandbox_held *held)
{
	if (held->confine.landlock_fd > 0)
		close(held->confine.landlock_fd);
	held->confine.landlock_fd = 0;
}
