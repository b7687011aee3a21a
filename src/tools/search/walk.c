/* SPDX-License-Identifier: MIT
 * walk.c - all files below a directory, on several threads.
 *
 * The threads share one stack of tasks; a task is a directory to list or a batch of files to visit. The thread that lists a
 * directory pushes its subdirectories and full batches and visits the last, incomplete batch itself. The walk is over
 * when the stack is empty and all threads are idle. */
#include "tools/search/walk.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/base/id.h"
#include "lib/io/dir.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"
#include "lib/match/gitignore.h"

struct ignore_level;

struct ignore_tree {
	struct gitignore global; /* core.excludesFile */
	pthread_mutex_t lock;    /* for the list of levels */
	struct ignore_level *levels;
};

enum { IGNORE_FILE_LIMIT = 4 * 1024 * 1024 };

/* Where rules come from; the first one that has a rule for a path decides. */
enum source { SOURCE_RGIGNORE, SOURCE_IGNORE, SOURCE_GITIGNORE, SOURCE_EXCLUDE, SOURCES };
enum { ALL_SOURCES = (1 << SOURCES) - 1 };

/* The entry of a directory that has the rules of a source */
static const char *const source_names[] = { ".rgignore", ".ignore", ".gitignore", ".git" };

struct ignore_level {
	struct ignore_level *next; /* in the list of the tree */
	const struct ignore_level *parent;
	size_t base;  /* length of the directory's path with its slash */
	bool has_git; /* it is the root of a repository */
	bool in_git;  /* it or one of its parents is */
	struct gitignore lists[SOURCES];
};

static void load_rules(struct gitignore *list, const char *path)
{
	AUTO_BUF struct buf text = { 0 };

	if (path && file_read(path, IGNORE_FILE_LIMIT, &text, NULL) == 0)
		gitignore_add_text(list, buf_str(&text));
}

/* The text of a short one-line file without its line end, in the arena; NULL if there is none. */
static char *read_line(struct arena *a, const char *path)
{
	AUTO_BUF struct buf text = { 0 };

	if (file_read(path, 4096, &text, NULL) < 0)
		return NULL;
	struct str line = str_trim(buf_str(&text));
	return arena_dup(a, line.p, line.n);
}

/* Where info/exclude of a repository is: in .git, or, when .git is the file of a worktree, in the common directory. */
static char *exclude_path(struct arena *a, const char *dir)
{
	char *git = path_join(a, dir, ".git");

	if (file_is_dir(git))
		return path_join(a, git, "info/exclude");
	char *link = read_line(a, git);
	if (!link || strncmp(link, "gitdir: ", 8))
		return NULL;
	char *admin = path_join(a, dir, link + 8);
	char *common = read_line(a, path_join(a, admin, "commondir"));
	return path_join(a, common ? path_join(a, admin, common) : admin, "info/exclude");
}

static void level_free(struct ignore_level *level)
{
	for (size_t i = 0; i < SOURCES; i++)
		gitignore_release(&level->lists[i]);
	free(level);
}

/* The level of a directory below `parent`; that of the parent itself when the directory has no rules of its own. has: the
 * sources that it may have, as bits. */
static const struct ignore_level *ignore_tree_enter(struct ignore_tree *tree, const struct ignore_level *parent,
						    const char *dir, unsigned has)
{
	AUTO_ARENA struct arena a = { 0 };
	struct stat st;

	if (!has)
		return parent;
	struct ignore_level *level = xcalloc(1, sizeof *level);
	level->has_git = has & 1u << SOURCE_EXCLUDE && stat(path_join(&a, dir, ".git"), &st) == 0;
	bool used = level->has_git;
	for (size_t i = 0; i < SOURCES; i++) {
		if (has & 1u << i)
			load_rules(&level->lists[i],
				   i == SOURCE_EXCLUDE ? exclude_path(&a, dir) : path_join(&a, dir, source_names[i]));
		used = used || level->lists[i].count;
	}
	if (!used) {
		level_free(level);
		return parent;
	}
	size_t n = strlen(dir);
	level->base = n + (n && dir[n - 1] != '/');
	level->parent = parent;
	level->in_git = level->has_git || (parent && parent->in_git);
	pthread_mutex_lock(&tree->lock);
	level->next = tree->levels;
	tree->levels = level;
	pthread_mutex_unlock(&tree->lock);
	return level;
}

/* The level of all parents of an absolute directory, without the directory itself. May be NULL. */
static const struct ignore_level *ignore_tree_parents(struct ignore_tree *tree, const char *dir)
{
	const struct ignore_level *level = NULL;
	AUTO_FREE char *path = xstrdup(dir);

	for (char *slash = path; (slash = strchr(slash, '/')) && slash[1]; slash++) {
		char kept = slash[1];
		slash[slash == path] = '\0';
		level = ignore_tree_enter(tree, level, path, ALL_SOURCES);
		*slash = '/';
		slash[1] = kept;
	}
	return level;
}

/* path is absolute and lies inside the directory of the level. */
static enum ignore_verdict ignore_tree_match(const struct ignore_tree *tree, const struct ignore_level *level,
					     struct str path, bool is_dir)
{
	enum ignore_verdict verdicts[SOURCES] = { 0 };
	bool left_repository = !level || !level->in_git;
	bool in_git = !left_repository;

	for (; level; level = level->parent) {
		struct str inside = { path.p + level->base, path.n - level->base };
		for (size_t i = 0; i < SOURCES; i++) {
			bool of_git = i == SOURCE_GITIGNORE || i == SOURCE_EXCLUDE;
			if (verdicts[i] == IGNORE_NONE && !(of_git && left_repository))
				verdicts[i] = gitignore_match(&level->lists[i], inside, is_dir);
		}
		left_repository = left_repository || level->has_git;
	}
	for (size_t i = 0; i < SOURCES; i++)
		if (verdicts[i] != IGNORE_NONE)
			return verdicts[i];
	/* Its patterns have no directory to be anchored to; whole paths are what ripgrep compares as well. */
	return in_git ? gitignore_match(&tree->global, str_tail(path, 1), is_dir) : IGNORE_NONE;
}

/* The value of "excludesfile = PATH" in a git configuration, ~ resolved; NULL if it is not set. */
static char *excludes_setting(struct arena *a, const char *config, const char *home)
{
	AUTO_BUF struct buf text = { 0 };
	char *found = NULL;

	if (file_read(config, IGNORE_FILE_LIMIT, &text, NULL) < 0)
		return NULL;
	for (struct str rest = buf_str(&text); rest.p;) {
		struct str value = str_cut(&rest, '\n');
		struct str key = str_cut(&value, '=');
		value = str_trim(value);
		if (!str_is_nocase(str_trim(key), "excludesfile") || !value.n)
			continue;
		if (value.n > 1 && value.p[0] == '"' && value.p[value.n - 1] == '"')
			value = (struct str){ value.p + 1, value.n - 2 };
		if (str_starts(value, STR("~/")) && home)
			found = arena_printf(a, "%s/" STR_FMT, home, (int)value.n - 2, value.p + 2);
		else
			found = arena_dup(a, value.p, value.n);
	}
	return found;
}

/* home and config_home ($XDG_CONFIG_HOME) say where the configuration of git is; either may be NULL. */
static void ignore_tree_init(struct ignore_tree *tree, const char *home, const char *config_home)
{
	AUTO_ARENA struct arena a = { 0 };
	char *path = NULL;

	*tree = (struct ignore_tree){ .lock = PTHREAD_MUTEX_INITIALIZER };
	if ((!config_home || !*config_home) && home)
		config_home = path_join(&a, home, ".config");
	if (home)
		path = excludes_setting(&a, path_join(&a, home, ".gitconfig"), home);
	if (!path && config_home)
		path = excludes_setting(&a, path_join(&a, config_home, "git/config"), home);
	if (!path && config_home)
		path = path_join(&a, config_home, "git/ignore");
	load_rules(&tree->global, path);
}

enum { MAX_THREADS = 16, BATCH_FILES = 32, TASKS_PER_THREAD = 2 };

struct task {
	struct task *next;
	const struct ignore_level *level; /* of a directory: that of its parent */
	bool is_dir;
	size_t count;     /* paths */
	struct buf paths; /* one after the other, each with its NUL */
};

struct walk {
	const struct walk_options *o;
	struct ignore_tree ignores;
	uint64_t deadline_ms;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct task *tasks;
	size_t queued;
	unsigned working; /* threads that hold a task */
	unsigned started; /* threads beside the first one */
	pthread_t threads[MAX_THREADS];
	atomic_bool ended; /* by visit, cancel or time */
	atomic_bool timed_out;
};

struct worker {
	struct walk *walk;
	unsigned number;
	struct buf names; /* of the directory being listed: type, name, NUL */
	struct buf path;
};

static void *worker_main(void *arg);

unsigned walk_threads(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : (unsigned)n;
}

const char *walk_real(const struct walk_options *o, const char *path, char real[static PATH_MAX])
{
	if (!o->target || !strcmp(o->root, o->target))
		return path;
	int n = snprintf(real, PATH_MAX, "%s%s", o->target, path + strlen(o->root));
	return n < PATH_MAX ? real : "";
}

static bool walk_over(struct walk *w)
{
	if (w->o->stop && atomic_load_explicit(w->o->stop, memory_order_relaxed))
		atomic_store(&w->ended, true);
	return atomic_load_explicit(&w->ended, memory_order_relaxed);
}

/* The next task; waits while others may still push some. NULL: the walk is over. */
static struct task *walk_pop(struct walk *w)
{
	struct task *task = NULL;

	pthread_mutex_lock(&w->lock);
	while (!w->tasks && w->working)
		pthread_cond_wait(&w->changed, &w->lock);
	if (w->tasks) {
		task = w->tasks;
		w->tasks = task->next;
		w->queued--;
		w->working++;
	}
	pthread_mutex_unlock(&w->lock);
	return task;
}

static enum ignore_verdict match_globs(const struct walk_options *o, struct str path, bool is_dir)
{
	size_t base = strlen(o->globs_base);
	bool inside = path.n > base && !memcmp(path.p, o->globs_base, base) && path.p[base] == '/';
	size_t skip = inside ? base + 1 : 1;

	/* The meaning is turned around: a glob without ! keeps a file. */
	switch (gitignore_match(o->globs, str_tail(path, skip), is_dir)) {
	case IGNORE_DROP:
		return IGNORE_KEEP;
	case IGNORE_KEEP:
		return IGNORE_DROP;
	default:
		return o->globs->count > o->globs->keeps && !is_dir ? IGNORE_DROP : IGNORE_NONE;
	}
}

static bool walk_wants(struct walk *w, const struct ignore_level *level, struct str path, struct str name, bool is_dir)
{
	const struct walk_options *o = w->o;
	enum ignore_verdict verdict = o->globs ? match_globs(o, path, is_dir) : IGNORE_NONE;

	if (verdict != IGNORE_NONE)
		return verdict == IGNORE_KEEP;
	if (!o->no_ignore)
		verdict = ignore_tree_match(&w->ignores, level, path, is_dir);
	if (verdict == IGNORE_DROP)
		return false;
	if (o->types && !is_dir) {
		if (gitignore_match(o->types, name, false) == IGNORE_NONE)
			return false;
		verdict = IGNORE_KEEP;
	}
	return verdict == IGNORE_KEEP || o->hidden || name.p[0] != '.';
}

/* Names and types of a directory's entries into worker->names; *ret_has: the sources of rules among them, as bits. */
static int list_dir(struct worker *k, const char *path, unsigned *ret_has)
{
	char real[PATH_MAX];
	AUTO_DIR DIR *dir = dir_open_unlinked(walk_real(k->walk->o, path, real));
	if (!dir)
		return -ERR_IO;
	buf_clear(&k->names);
	for (struct dirent *e; (e = dir_next(dir));) {
		unsigned char type = e->d_type;
		struct stat st;
		for (size_t i = 0; i < SOURCES && e->d_name[0] == '.'; i++)
			*ret_has |= !strcmp(e->d_name, source_names[i]) ? 1u << i : 0;
		if (type == DT_UNKNOWN && fstatat(dirfd(dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			type = S_ISDIR(st.st_mode) ? DT_DIR : S_ISREG(st.st_mode) ? DT_REG : DT_UNKNOWN;
		if (type != DT_DIR && type != DT_REG)
			continue;
		buf_addch(&k->names, type == DT_DIR ? 'd' : 'f');
		buf_add(&k->names, e->d_name, strlen(e->d_name) + 1);
	}
	return 0;
}

static void visit_batch(struct worker *k, const struct task *batch)
{
	const char *path = batch->paths.p;

	for (size_t i = 0; i < batch->count && !walk_over(k->walk); i++) {
		struct str file = str_from(path);
		if (!k->walk->o->visit(k->walk->o->data, k->number, file))
			atomic_store(&k->walk->ended, true);
		path += file.n + 1;
	}
}

/* Hands the entries of the listed directory out: directories and full batches to the stack, the rest to this thread. */
static void take_entries(struct worker *k, const char *dir, const struct ignore_level *level)
{
	struct task *batch = xnew(struct task, .level = level, .is_dir = false);
	const char *end = k->names.p + k->names.n;

	buf_clear(&k->path);
	buf_addstr(&k->path, dir);
	if (k->path.p[k->path.n - 1] != '/')
		buf_addch(&k->path, '/');
	size_t base = k->path.n;
	for (const char *entry = k->names.p; entry < end && !walk_over(k->walk); entry += strlen(entry) + 1) {
		bool is_dir = entry[0] == 'd';
		k->path.n = base;
		buf_addstr(&k->path, entry + 1);
		struct str path = buf_str(&k->path);
		if (!walk_wants(k->walk, level, path, str_from(entry + 1), is_dir) ||
		    hidden_files_has(k->walk->o->denied, path.p))
			continue;
		struct task *task = is_dir ? xnew(struct task, .level = level, .is_dir = true) : batch;
		buf_add(&task->paths, path.p, path.n + 1);
		task->count++;
		if (!is_dir && batch->count < BATCH_FILES)
			continue;
		/* A small tree is done before a second thread could help, so threads start when tasks pile up. */
		struct walk *w = k->walk;
		pthread_mutex_lock(&w->lock);
		task->next = w->tasks;
		w->tasks = task;
		w->queued++;
		if (w->started + 1 < w->o->threads && w->queued > TASKS_PER_THREAD * (w->started + 1) &&
		    pthread_create(&w->threads[w->started], NULL, worker_main, w) == 0)
			w->started++;
		pthread_cond_signal(&w->changed);
		pthread_mutex_unlock(&w->lock);
		if (!is_dir)
			batch = xnew(struct task, .level = level, .is_dir = false);
	}
	visit_batch(k, batch);
	buf_release(&batch->paths);
	free(batch);
}

static int walk_dir(struct worker *k, const char *dir, const struct ignore_level *level)
{
	struct walk *w = k->walk;
	unsigned has = 0;

	if (w->deadline_ms && clock_ms(CLOCK_MONOTONIC) >= w->deadline_ms) {
		atomic_store(&w->timed_out, true);
		atomic_store(&w->ended, true);
	}
	if (list_dir(k, dir, &has) < 0)
		return -ERR_IO;
	if (!w->o->no_ignore)
		level = ignore_tree_enter(&w->ignores, level, dir, has);
	if (k->names.n)
		take_entries(k, dir, level);
	return 0;
}

static void worker_run(struct worker *k)
{
	struct walk *w = k->walk;
	struct task *task;

	while ((task = walk_pop(w))) {
		if (!task->is_dir)
			visit_batch(k, task);
		else if (!walk_over(w))
			(void)walk_dir(k, task->paths.p, task->level); /* one that cannot be read is left out */
		buf_release(&task->paths);
		free(task);
		pthread_mutex_lock(&w->lock);
		if (--w->working == 0 && !w->tasks)
			pthread_cond_broadcast(&w->changed);
		pthread_mutex_unlock(&w->lock);
	}
	buf_release(&k->names);
	buf_release(&k->path);
}

static void *worker_main(void *arg)
{
	struct worker k = { .walk = arg };

	/* The number is the place in threads[], which the starter of this thread wrote under the lock. */
	pthread_mutex_lock(&k.walk->lock);
	while (k.number < k.walk->started && !pthread_equal(k.walk->threads[k.number], pthread_self()))
		k.number++;
	pthread_mutex_unlock(&k.walk->lock);
	k.number++;
	worker_run(&k);
	return NULL;
}

int walk_run(const struct walk_options *options, struct err *err)
{
	struct walk_options own = *options;
	struct walk w = { .o = &own, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
	struct worker first = { .walk = &w };
	AUTO_FREE char *real = own.target ? NULL : realpath(own.root, NULL);

	if (hidden_files_has(options->denied, options->root))
		return 0;
	if (real)
		own.target = real;
	w.deadline_ms = options->limit_ms ? clock_ms(CLOCK_MONOTONIC) + options->limit_ms : 0;
	ignore_tree_init(&w.ignores, options->no_ignore ? NULL : options->home,
			 options->no_ignore ? NULL : options->config_home);
	w.working = 1; /* this thread, until the root is listed */
	int rc = walk_dir(&first, options->root,
			  options->no_ignore ? NULL : ignore_tree_parents(&w.ignores, options->root));
	if (rc < 0)
		err_set(err, ERR_IO, "cannot read directory %s: %m", options->root);
	pthread_mutex_lock(&w.lock);
	w.working--;
	pthread_cond_broadcast(&w.changed);
	pthread_mutex_unlock(&w.lock);
	worker_run(&first);
	for (unsigned i = 0; i < w.started; i++)
		pthread_join(w.threads[i], NULL);
	for (struct ignore_level *level; (level = w.ignores.levels);) {
		w.ignores.levels = level->next;
		level_free(level);
	}
	gitignore_release(&w.ignores.global);
	pthread_mutex_destroy(&w.ignores.lock);
	pthread_mutex_destroy(&w.lock);
	pthread_cond_destroy(&w.changed);
	if (rc == 0 && atomic_load(&w.timed_out))
		return err_set(err, ERR_TIMEOUT, "the search took longer than %llu seconds",
			       (unsigned long long)options->limit_ms / 1000);
	if (rc == 0 && options->stop && atomic_load(options->stop))
		return err_set(err, ERR_CANCELLED, "cancelled");
	return rc;
}

int path_compare(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	/* A slash comes before every other character, as the end of a component does. */
	int x = *a == '/' ? 1 : (unsigned char)*a * 2;
	int y = *b == '/' ? 1 : (unsigned char)*b * 2;
	return x - y;
}
