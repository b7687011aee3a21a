/* SPDX-License-Identifier: MIT
 * grep.c - a search for a pattern in all files of a tree: the threads of a walk, each with its own scanner. */
#include "tools/search/grep.h"
#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>
#include "lib/base/utf8.h"
#include "lib/io/file.h"
#include "tools/search/grep_print.h"

/* ---- printing --------------------------------------------------------------------------------------------------- */

struct grep_printer grep_printer(const struct grep_want *want, const char *path, struct grep_hits *hits)
{
	return (struct grep_printer){ .want = want, .path = str_from(path), .hits = hits, .line = 1 };
}

bool grep_print_full(const struct grep_printer *p)
{
	return p->want->max_lines && p->hits->lines >= p->want->max_lines;
}

static uint64_t number_of(struct grep_printer *p, size_t line_from)
{
	p->line += count_line_feeds(p->window + p->counted, line_from - p->counted);
	p->counted = line_from;
	return p->line;
}

/* The end of the line at `at`, behind its line feed, but not beyond `to`. */
static size_t line_end(const struct grep_printer *p, size_t at, size_t to)
{
	const char *lf = memchr(p->window + at, '\n', to - at);

	return lf ? (size_t)(lf - p->window) + 1 : to;
}

static char *printer_put(char *at, const char *p, size_t n)
{
	memcpy(at, p, n);
	return at + n;
}

static char *put_number(char *at, uint64_t number)
{
	char digits[20];
	size_t from = sizeof digits;

	do
		digits[--from] = (char)('0' + number % 10);
	while (number /= 10);
	return printer_put(at, digits + from, sizeof digits - from);
}

/* A search may print millions of lines: one check for room in the buffer, no formatting functions. */
static void print_text(struct grep_printer *p, char mark, size_t line_from, struct str text)
{
	struct buf *out = &p->hits->text;

	text.n -= text.n && text.p[text.n - 1] == '\n';
	struct str shown = text.n > GREP_MAX_LINE ? utf8_cut(text, GREP_MAX_LINE) : text;
	buf_reserve(out, p->path.n + shown.n + 32);
	char *at = out->p + out->n;
	if (p->want->with_path) {
		at = printer_put(at, p->path.p, p->path.n);
		*at++ = mark;
	}
	if (p->want->numbers) {
		at = put_number(at, number_of(p, line_from));
		*at++ = mark;
	}
	at = printer_put(at, shown.p, shown.n);
	out->n = (size_t)(at - out->p);
	if (shown.n < text.n)
		buf_addf(out, " [... %zu more bytes in this line]", text.n - shown.n);
	buf_addch(out, '\n');
	p->hits->lines++;
}

static void print_lines(struct grep_printer *p, char mark, struct span lines)
{
	for (size_t at = lines.from; at < lines.to;) {
		size_t end = line_end(p, at, lines.to);
		print_text(p, mark, at, (struct str){ p->window + at, end - at });
		at = end;
	}
	p->printed = lines.to;
	p->gap = false;
}

void grep_print_after(struct grep_printer *p, size_t to)
{
	while (p->after_left && p->printed < to) {
		size_t end = line_end(p, p->printed, to);
		print_lines(p, '-', (struct span){ p->printed, end });
		p->after_left--;
	}
}

/* Start of the line `count` lines before the line at `at`, not before `from`. */
static size_t lines_before(const struct grep_printer *p, size_t at, size_t from, size_t count)
{
	for (; count && at > from; count--) {
		const char *lf = at - from > 1 ? memrchr(p->window + from, '\n', at - from - 1) : NULL;
		at = lf ? (size_t)(lf - p->window) + 1 : from;
	}
	return at;
}

/* Context and separator in front of the lines at `at`. */
static void print_before(struct grep_printer *p, size_t at)
{
	grep_print_after(p, at);
	size_t from = lines_before(p, at, p->printed, p->want->before);
	bool apart = p->gap || from > p->printed;
	if (apart && p->hits->lines && (p->want->before || p->want->after)) {
		buf_addstr(&p->hits->text, "--\n");
		p->hits->lines++;
	}
	print_lines(p, '-', (struct span){ from, at });
}

void grep_print_match(struct grep_printer *p, struct span lines)
{
	print_before(p, lines.from);
	if (!p->want->only_matching)
		print_lines(p, ':', lines);
}

void grep_print_part(struct grep_printer *p, struct span match)
{
	size_t at = match.from;

	do {
		size_t end = line_end(p, at, match.to);
		const char *lf = at ? memrchr(p->window, '\n', at) : NULL;
		print_text(p, ':', lf ? (size_t)(lf - p->window) + 1 : 0, (struct str){ p->window + at, end - at });
		at = end;
	} while (at < match.to);
}

void grep_print_note(struct grep_printer *p, const char *text)
{
	if (p->want->with_path)
		buf_addf(&p->hits->text, STR_FMT ": ", STR_ARG(p->path));
	buf_addf(&p->hits->text, "%s\n", text);
	p->hits->lines++;
}

size_t grep_print_keep(const struct grep_printer *p, size_t end)
{
	return lines_before(p, end, MIN(p->printed, end), p->want->before);
}

void grep_print_move(struct grep_printer *p, size_t drop)
{
	if (p->want->numbers && p->counted < drop)
		(void)number_of(p, drop);
	p->counted -= MIN(p->counted, drop);
	p->gap = p->gap || p->printed < drop;
	p->printed -= MIN(p->printed, drop);
}

/* ---- searching -------------------------------------------------------------------------------------------------- */

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
		.no_ignore = g->q->no_ignore,
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
