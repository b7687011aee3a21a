/* SPDX-License-Identifier: MIT
 * grep.c - a search for a pattern in all files of a tree: the threads of a walk, each with its own scanner. */
#include "tools/search/grep.h"
#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include "lib/io/file.h"
#include "lib/io/file_at.h"

struct grep {
	const struct grep_query *q;
	struct walk_options walk;
	struct pattern pattern;
	struct grep_scanner **scanners; /* one a thread, made when it is first needed */
	pthread_mutex_t lock;           /* for all that follows */
	struct grep_results found;
	const char *last_wanted; /* files behind this path are of no use; borrowed from found */
	int rc;
	struct err err;
};

static int compare_path(const void *a, const void *b)
{
	return path_compare(((const struct grep_file *)a)->path, ((const struct grep_file *)b)->path);
}

static int compare_age(const void *a, const void *b)
{
	const struct grep_file *x = a;
	const struct grep_file *y = b;

	if (x->mtime_ns != y->mtime_ns)
		return x->mtime_ns > y->mtime_ns ? -1 : 1;
	return path_compare(x->path, y->path);
}

void grep_results_release(struct grep_results *results)
{
	for (size_t i = 0; i < results->count; i++) {
		free(results->files[i].path);
		buf_release(&results->files[i].hits.text);
	}
	free(results->files);
	*results = (struct grep_results){ 0 };
}

/* Of lines that are shown in the order of their paths only the first max_lines are of use. */
static void drop_useless_files(struct grep *g)
{
	size_t max = g->q->want.max_lines;
	struct grep_results *r = &g->found;
	size_t lines = 0;
	size_t kept = 0;

	if (g->q->want.mode != GREP_CONTENT || !max || r->lines < 2 * max + 1000)
		return;
	qsort(r->files, r->count, sizeof *r->files, compare_path);
	while (kept < r->count && lines < max)
		lines += r->files[kept++].hits.lines;
	for (size_t i = kept; i < r->count; i++) {
		free(r->files[i].path);
		buf_release(&r->files[i].hits.text);
	}
	r->count = kept;
	r->lines = lines;
	g->last_wanted = r->files[kept - 1].path;
}

/* Takes the hits. */
static void keep_hits(struct grep *g, const struct stat *st, const char *shown, struct grep_hits *hits)
{
	struct grep_file file = { .path = xstrdup(shown),
				  .mtime_ns = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
				  .hits = *hits };
	struct grep_results *r = &g->found;

	*hits = (struct grep_hits){ 0 };
	pthread_mutex_lock(&g->lock);
	*xpush(r->files, r->count, r->cap) = file;
	r->lines += file.hits.lines;
	drop_useless_files(g);
	pthread_mutex_unlock(&g->lock);
}

/* False: the pattern cannot be searched for. A file that cannot be read is left out unless it was named. */
static bool search_file(struct grep *g, unsigned worker, const char *path, bool named)
{
	const char *shown = path;
	size_t base = strlen(g->q->base);
	struct grep_hits hits = { 0 };
	struct err err = { 0 };

	if (path_is_inside(path, g->q->base) && path[base])
		shown = path + base + (path[base] == '/');
	pthread_mutex_lock(&g->lock);
	bool wanted = !g->last_wanted || path_compare(shown, g->last_wanted) <= 0;
	pthread_mutex_unlock(&g->lock);
	if (!wanted)
		return true;
	if (!g->scanners[worker])
		g->scanners[worker] = grep_scanner_new(&g->pattern, &g->q->want, g->q->walk.stop, g->q->walk.limit_ms);
	char real[PATH_MAX];
	struct stat st;
	AUTO_CLOSE int fd = file_below_open("/", walk_real(&g->walk, path, real), &st, &err);
	if (fd < 0 && !named)
		return true;
	int rc = fd < 0 ? fd : grep_scan_file(g->scanners[worker], fd, path, shown, named, &hits, &err);
	if (rc == 0 && hits.matches)
		keep_hits(g, &st, shown, &hits);
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

static int search_path(struct grep *g, unsigned threads, struct err *err)
{
	struct walk_options *options = &g->walk;
	const char *path = options->root;
	AUTO_FREE char *real = options->target ? NULL : realpath(path, NULL);
	struct stat st;
	int rc = 0;

	if (real)
		options->target = real;
	options->globs_base = path_is_inside(path, g->q->base) ? g->q->base : path;
	options->threads = threads;
	options->visit = on_file;
	options->data = g;
	if (stat(path, &st) < 0)
		return err_set(err, errno == ENOENT || errno == ENOTDIR ? ERR_NOT_FOUND : ERR_IO,
			       "cannot search in %s: %m", path);
	if (S_ISDIR(st.st_mode))
		rc = walk_run(options, err);
	else if (S_ISREG(st.st_mode))
		(void)search_file(g, 0, path, true);
	else
		rc = err_set(err, ERR_IO, "%s is neither a file nor a directory", path);
	if (g->rc < 0)
		return err_set(err, g->err.kind, "%s", g->err.text);
	return rc;
}

int grep_run(const struct grep_query *query, struct grep_results *ret_results, struct err *err)
{
	struct grep g = { .q = query, .walk = query->walk, .lock = PTHREAD_MUTEX_INITIALIZER };
	unsigned threads = walk_threads();

	int rc = pattern_compile(&g.pattern, query->pattern, query->flags, err);
	if (rc < 0)
		return rc;
	g.scanners = xcalloc(threads, sizeof(struct grep_scanner *));
	rc = search_path(&g, threads, err);
	for (unsigned i = 0; i < threads; i++)
		grep_scanner_free(g.scanners[i]);
	free(g.scanners);
	pattern_release(&g.pattern);
	pthread_mutex_destroy(&g.lock);
	if (rc < 0) {
		grep_results_release(&g.found);
		return rc;
	}
	if (g.found.count)
		qsort(g.found.files, g.found.count, sizeof *g.found.files,
		      query->want.mode == GREP_FILES ? compare_age : compare_path);
	*ret_results = g.found;
	return 0;
}
