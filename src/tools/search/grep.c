/* SPDX-License-Identifier: MIT
 * grep.c - a search for a pattern in all files of a tree: the threads of a walk, each with its own scanner. */
#include "tools/search/grep.h"
#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include "lib/io/file.h"

struct grep {
	const struct grep_query *q;
	struct pattern pattern;
	struct grep_scanner **scanners; /* one a thread, made when it is first needed */
	pthread_mutex_t lock;           /* for all that follows */
	struct grep_results found;
	const char *last_wanted; /* files behind this path are of no use; borrowed from found */
	int rc;
	struct err err;
};

static int by_path(const void *a, const void *b)
{
	return path_compare(((const struct grep_file *)a)->path, ((const struct grep_file *)b)->path);
}

static int by_age(const void *a, const void *b)
{
	const struct grep_file *x = a;
	const struct grep_file *y = b;

	if (x->mtime_ns != y->mtime_ns)
		return x->mtime_ns > y->mtime_ns ? -1 : 1;
	return path_compare(x->path, y->path);
}

static void file_release(struct grep_file *file)
{
	free(file->path);
	buf_release(&file->hits.text);
}

void grep_results_release(struct grep_results *results)
{
	for (size_t i = 0; i < results->count; i++)
		file_release(&results->files[i]);
	free(results->files);
	*results = (struct grep_results){ 0 };
}

static void add_file(struct grep_results *r, struct grep_file file)
{
	if (r->count == r->cap) {
		r->cap = r->cap ? r->cap * 2 : 64;
		r->files = xrealloc(r->files, r->cap * sizeof *r->files);
	}
	r->files[r->count++] = file;
	r->lines += file.hits.lines;
}

static void sort_files(struct grep_results *r, enum grep_mode mode)
{
	if (r->count)
		qsort(r->files, r->count, sizeof *r->files, mode == GREP_FILES ? by_age : by_path);
}

/* Of lines that are shown in the order of their paths only the first max_lines are of use. */
static void drop_useless(struct grep *g)
{
	size_t max = g->q->want.max_lines;
	struct grep_results *r = &g->found;
	size_t lines = 0;
	size_t kept = 0;

	if (g->q->want.mode != GREP_CONTENT || !max || r->lines < 2 * max + 1000)
		return;
	sort_files(r, GREP_CONTENT);
	while (kept < r->count && lines < max)
		lines += r->files[kept++].hits.lines;
	for (size_t i = kept; i < r->count; i++)
		file_release(&r->files[i]);
	r->count = kept;
	r->lines = lines;
	g->last_wanted = r->files[kept - 1].path;
}

static const char *shown_path(const struct grep_query *q, const char *path)
{
	size_t n = strlen(q->base);

	if (!path_is_inside(path, q->base) || !path[n])
		return path;
	return path + n + (path[n] == '/');
}

static bool is_wanted(struct grep *g, const char *shown)
{
	pthread_mutex_lock(&g->lock);
	bool wanted = !g->last_wanted || path_compare(shown, g->last_wanted) <= 0;
	pthread_mutex_unlock(&g->lock);
	return wanted;
}

static int64_t mtime_of(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return 0;
	return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

static void keep_hits(struct grep *g, const char *path, const char *shown, struct grep_hits *hits)
{
	struct grep_file file = { .path = xstrdup(shown), .hits = *hits };

	*hits = (struct grep_hits){ 0 };
	if (g->q->want.mode == GREP_FILES)
		file.mtime_ns = mtime_of(path);
	pthread_mutex_lock(&g->lock);
	add_file(&g->found, file);
	drop_useless(g);
	pthread_mutex_unlock(&g->lock);
}

/* False: the pattern cannot be searched for. A file that cannot be read is left out unless it was named. */
static bool search_file(struct grep *g, unsigned worker, const char *path, bool named)
{
	const char *shown = shown_path(g->q, path);
	struct grep_hits hits = { 0 };
	struct err err = { 0 };

	if (!is_wanted(g, shown))
		return true;
	if (!g->scanners[worker])
		g->scanners[worker] = grep_scanner_new(&g->pattern, &g->q->want, g->q->stop);
	int rc = grep_scan_file(g->scanners[worker], path, shown, named, &hits, &err);
	if (rc == 0 && hits.matches)
		keep_hits(g, path, shown, &hits);
	buf_release(&hits.text);
	if (rc == 0 || (rc == -ERR_IO && !named))
		return true;
	pthread_mutex_lock(&g->lock);
	g->rc = rc;
	g->err = err;
	pthread_mutex_unlock(&g->lock);
	return false;
}

static bool on_file(void *data, unsigned worker, struct str path)
{
	return search_file(data, worker, path.p, false);
}

static int search_tree(struct grep *g, unsigned threads, struct err *err)
{
	const struct walk_options options = {
		.root = g->q->path,
		.globs = g->q->globs,
		.globs_base = path_is_inside(g->q->path, g->q->base) ? g->q->base : g->q->path,
		.types = g->q->types,
		.denied = g->q->denied,
		.home = g->q->home,
		.config_home = g->q->config_home,
		.threads = threads,
		.stop = g->q->stop,
		.limit_ms = g->q->limit_ms,
		.visit = on_file,
		.data = g,
	};

	return walk_run(&options, err);
}

static int search(struct grep *g, unsigned threads, struct err *err)
{
	struct stat st;
	int rc = 0;

	if (stat(g->q->path, &st) < 0)
		return err_set(err, errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_IO,
			       "cannot search in %s: %m", g->q->path);
	if (S_ISDIR(st.st_mode))
		rc = search_tree(g, threads, err);
	else if (S_ISREG(st.st_mode))
		(void)search_file(g, 0, g->q->path, true);
	else
		rc = err_set(err, ERR_IO, "%s is neither a file nor a directory", g->q->path);
	if (g->rc < 0)
		return err_set(err, g->err.kind, "%s", g->err.text);
	return rc;
}

int grep_run(const struct grep_query *query, struct grep_results *ret_results, struct err *err)
{
	struct grep g = { .q = query, .lock = PTHREAD_MUTEX_INITIALIZER };
	unsigned threads = query->threads ? query->threads : walk_threads();

	int rc = pattern_compile(&g.pattern, query->pattern, query->flags, err);
	if (rc < 0)
		return rc;
	g.scanners = xcalloc(threads, sizeof(struct grep_scanner *));
	rc = search(&g, threads, err);
	for (unsigned i = 0; i < threads; i++)
		grep_scanner_free(g.scanners[i]);
	free(g.scanners);
	pattern_release(&g.pattern);
	pthread_mutex_destroy(&g.lock);
	sort_files(&g.found, query->want.mode);
	if (rc < 0)
		grep_results_release(&g.found);
	else
		*ret_results = g.found;
	return rc;
}
