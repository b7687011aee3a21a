/* SPDX-License-Identifier: MIT
 * bench_grep.c - the search under the Grep tool beside ripgrep, in one run on the same trees: 200 MB in 4,000 files, and
 * a small tree of 100 files. Ours runs in this process, ripgrep is started as a tool would start it (default threads,
 * output read through a pipe). Both must find the same lines. Times are the medians of alternating rounds, warm cache.
 * With --json the figures are one JSON object. The trees lie in a temporary directory that is removed at the end. */
#include <fcntl.h>
#include <ftw.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "tools/search/grep.h"

enum { ROUNDS = 5, BIG_FILES = 4000, SMALL_FILES = 100, FILE_BYTES = 50 * 1024 };

struct search {
	const char *pattern;
	bool nocase;
	bool files; /* -l, otherwise -n */
};

static const struct search searches[] = {
	{ "connection_lost", false, false }, /* rare text */
	{ "connection_lost", true, false },
	{ "return", false, true },                /* in every file */
	{ "status", false, false },               /* common text, many lines of output */
	{ "\\w+_reset\\(\\w+\\)", false, false }, /* text inside of a pattern */
	{ "never_there|nor_this|nor_that", false, false },
	{ "[A-Z]{3}_[0-9]{4}", false, false }, /* no text to look for */
	{ "\\bq[a-z]+ \\d+$", false, false },
	{ "\\s{3}\\w{9}\\(.*\\d{5}", false, false },
};

struct result {
	double ours_ms, theirs_ms;         /* wall */
	double ours_cpu_ms, theirs_cpu_ms; /* user and system, all threads */
	size_t lines;
	bool same;
};

static unsigned next_random(unsigned *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Text that looks like source code, with some rare words. */
static void add_line(struct buf *out, unsigned *seed)
{
	static const char *const words[] = {
		"int",   "return", "struct", "node",    "status",  "if",     "buffer", "length",
		"while", "const",  "char",   "value",   "index",   "result", "error",  "state",
		"queue", "client", "server", "request", "message", "copy",   "free",
	};
	unsigned kind = next_random(seed) % 20000;

	buf_addf(out, "%.*s", (int)(next_random(seed) % 4), "\t\t\t");
	for (unsigned i = next_random(seed) % 8 + 1; i; i--)
		buf_addf(out, "%s%c", words[next_random(seed) % COUNT_OF(words)], "  (_.=;)"[next_random(seed) % 8]);
	if (kind == 0)
		buf_addstr(out, "connection_lost");
	else if (kind == 1)
		buf_addstr(out, "Connection_Lost");
	else if (kind < 10)
		buf_addf(out, "client_reset(%s)", words[next_random(seed) % COUNT_OF(words)]);
	else if (kind < 20)
		buf_addf(out, "ERR_%04u", next_random(seed) % 10000);
	else if (kind < 40)
		buf_addf(out, " /* caf\xc3\xa9 %u */", next_random(seed) % 100);
	else if (kind < 60)
		buf_addf(out, "quit %u", next_random(seed) % 100);
	buf_addch(out, '\n');
}

static void make_tree(const char *root, unsigned files)
{
	AUTO_BUF struct buf text = { 0 };
	unsigned seed = files;
	struct err err = { 0 };
	char path[512];

	for (unsigned i = 0; i < files; i++) {
		size_t size = FILE_BYTES / 8 + next_random(&seed) % (FILE_BYTES * 7 / 4);
		buf_clear(&text);
		while (text.n < size)
			add_line(&text, &seed);
		snprintf(path, sizeof path, "%s/dir%02u/sub%u/file%04u.c", root, i % 40, i % 7, i);
		if (file_make_parents(path, &err) < 0 || file_replace(path, text.p, text.n, &err) < 0) {
			fprintf(stderr, "bench_grep: %s\n", err.text);
			exit(1);
		}
	}
}

static double now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1000 + (double)ts.tv_nsec / 1e6;
}

static double cpu_ms(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
}

/* The found lines, or files in the order of their names. */
static void run_ours(const char *root, const struct search *s, struct buf *out)
{
	struct grep_results results = { 0 };
	struct err err = { 0 };
	struct grep_query q = {
		.pattern = str_from(s->pattern),
		.flags = s->nocase ? REGEX_NOCASE : 0,
		.want = { .mode = s->files ? GREP_FILES : GREP_CONTENT, .numbers = true, .with_path = true },
		.base = root,
		.walk = { .root = root, .home = getenv("HOME") },
	};

	if (grep_run(&q, &results, &err) < 0) {
		fprintf(stderr, "bench_grep: %s\n", err.text);
		exit(1);
	}
	for (size_t i = 0; i < results.count; i++) {
		if (s->files)
			buf_addf(out, "%s\n", results.files[i].path);
		else
			buf_add(out, results.files[i].hits.text.p, results.files[i].hits.text.n);
	}
	grep_results_release(&results);
}

static void run_ripgrep(const char *root, const struct search *s, struct buf *out)
{
	const char *argv[16] = { "rg", "--no-config", "--no-heading", "--color=never", s->files ? "-l" : "-n" };
	size_t n = 5;
	int ends[2];
	int status;

	if (s->nocase)
		argv[n++] = "-i";
	argv[n++] = "-e";
	argv[n++] = s->pattern;
	if (pipe2(ends, O_CLOEXEC) < 0)
		exit(1);
	pid_t pid = vfork();
	if (pid == 0) {
		if (dup2(ends[1], 1) < 0 || chdir(root) < 0)
			_exit(127);
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(127);
	}
	close(ends[1]);
	if (pid < 0 || file_read_fd(ends[0], SIZE_MAX / 2, out, NULL) < 0)
		exit(1);
	close(ends[0]);
	if (waitpid(pid, &status, 0) < 0 || WEXITSTATUS(status) > 1) {
		fprintf(stderr, "bench_grep: ripgrep is needed for the comparison\n");
		exit(1);
	}
}

static int by_line(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines of text in order, so that the order of files does not matter; also counts them. */
static size_t sort_lines(struct buf *text)
{
	AUTO_BUF struct buf copy = { 0 };
	size_t count = count_line_feeds(buf_str(text).p, text->n);
	AUTO_FREE char **lines = xcalloc(count + 1, sizeof(char *));
	size_t n = 0;

	buf_add(&copy, buf_str(text).p, text->n);
	for (char *p = copy.p, *lf; (lf = strchr(p, '\n')); p = lf + 1) {
		*lf = '\0';
		lines[n++] = p;
	}
	qsort(lines, n, sizeof *lines, by_line);
	buf_clear(text);
	for (size_t i = 0; i < n; i++)
		buf_addf(text, "%s\n", lines[i]);
	return n;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values)
{
	qsort(values, ROUNDS, sizeof *values, by_value);
	return values[ROUNDS / 2];
}

static struct result measure(const char *root, const struct search *s)
{
	struct result r = { 0 };
	double ours_ms[ROUNDS];
	double theirs_ms[ROUNDS];
	double ours_cpu_ms[ROUNDS];
	double theirs_cpu_ms[ROUNDS];

	for (int i = -1; i < ROUNDS; i++) { /* round -1 warms the cache and compares */
		AUTO_BUF struct buf ours = { 0 };
		AUTO_BUF struct buf theirs = { 0 };
		double own_cpu = cpu_ms(RUSAGE_SELF);
		double child_cpu = cpu_ms(RUSAGE_CHILDREN);
		double start = now_ms();
		run_ours(root, s, &ours);
		double middle = now_ms();
		double own_cpu_end = cpu_ms(RUSAGE_SELF);
		run_ripgrep(root, s, &theirs);
		double end = now_ms();
		if (i >= 0) {
			ours_ms[i] = middle - start;
			theirs_ms[i] = end - middle;
			ours_cpu_ms[i] = own_cpu_end - own_cpu;
			theirs_cpu_ms[i] = cpu_ms(RUSAGE_CHILDREN) - child_cpu;
			continue;
		}
		r.lines = sort_lines(&ours);
		sort_lines(&theirs);
		r.same = str_eq(buf_str(&ours), buf_str(&theirs));
	}
	r.ours_ms = median(ours_ms);
	r.theirs_ms = median(theirs_ms);
	r.ours_cpu_ms = median(ours_cpu_ms);
	r.theirs_cpu_ms = median(theirs_cpu_ms);
	return r;
}

static bool measure_tree(const char *name, const char *root, struct json_out *w, bool json)
{
	bool good = true;

	if (!json)
		printf("\n%-33s %8s %9s %9s %6s %6s  %s\n", name, "lines", "cadre ms", "rg ms", "ratio", "cpu",
		       "matches");
	for (size_t i = 0; i < COUNT_OF(searches); i++) {
		const struct search *s = &searches[i];
		struct result r = measure(root, s);
		good = good && r.same;
		if (!json)
			printf("%-30s %-2s %8zu %9.2f %9.2f %6.2f %6.2f  %s\n", s->pattern,
			       s->nocase  ? "-i"
			       : s->files ? "-l"
					  : "",
			       r.lines, r.ours_ms, r.theirs_ms, r.ours_ms / r.theirs_ms,
			       r.ours_cpu_ms / r.theirs_cpu_ms, r.same ? "same" : "DIFFERENT");
		json_open(w, '{');
		json_kcstr(w, "tree", name);
		json_kcstr(w, "pattern", s->pattern);
		json_kcstr(w, "flag", s->nocase ? "-i" : s->files ? "-l" : "-n");
		json_key(w, "cadre_ms");
		json_put_double(w, r.ours_ms);
		json_key(w, "ripgrep_ms");
		json_put_double(w, r.theirs_ms);
		json_key(w, "ratio");
		json_put_double(w, r.ours_ms / r.theirs_ms);
		json_key(w, "cpu_ratio");
		json_put_double(w, r.ours_cpu_ms / r.theirs_cpu_ms);
		json_kbool(w, "same_matches", r.same);
		json_close(w);
	}
	return good;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

int main(int argc, char **argv)
{
	bool json = argc == 2 && !strcmp(argv[1], "--json");
	AUTO_BUF struct buf out = { 0 };
	struct json_out w = json_out(&out);
	char root[] = "/tmp/cadre-bench-grep-XXXXXX";
	char big[64];
	char small[64];

	if (!mkdtemp(root))
		return 1;
	snprintf(big, sizeof big, "%s/big", root);
	snprintf(small, sizeof small, "%s/small", root);
	make_tree(big, BIG_FILES);
	make_tree(small, SMALL_FILES);
	json_open(&w, '{');
	json_key(&w, "searches");
	json_open(&w, '[');
	bool good = measure_tree("200 MB in 4,000 files", big, &w, json);
	good = measure_tree("5 MB in 100 files", small, &w, json) && good;
	json_close(&w);
	json_close(&w);
	if (json)
		printf("%s\n", out.p);
	(void)nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return good ? 0 : 1;
}
