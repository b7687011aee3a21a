/* SPDX-License-Identifier: MIT
 * bench_sandbox.c - from the wish to run a command to its end, plain and held in each way, alternating in one run. Usage:
 * bench_sandbox ROUNDS; prints the medians in milliseconds as one JSON object. The command is bash, which does nothing.
 * bench_sandbox leaks COUNT: so many commands inside; prints what was there before and is there after them. */
#include <dirent.h>
#include <time.h>
#include "guard/sandbox/sandbox.h"
#include "lib/io/file.h"
#include "lib/io/spawn.h"

enum { VARIANTS = 5, ROUNDS_MAX = 2000 };

struct bench {
	struct loop *loop;
	struct spawner *spawner;
	struct sandbox *sandbox;
	struct tool_env env;
	struct permission permission;
	double times[VARIANTS][ROUNDS_MAX];
};

static const struct variant {
	const char *name;
	enum tool_belief belief;
	enum tool_where where;
	bool hides; /* a rule hides a file in the working directory */
} variants[VARIANTS] = {
	{ "plain", BELIEF_NONE, WHERE_FREE, false }, { "reads", BELIEF_READS, WHERE_FREE, false },
	{ "hides", BELIEF_READS, WHERE_FREE, true }, { "edits", BELIEF_EDITS, WHERE_FREE, false },
	{ "inside", BELIEF_NONE, WHERE_IN, false },
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void on_exit_of_child(struct child *c, int status)
{
	*(int *)child_data(c) = status;
}

static const struct child_handlers handlers = { .on_exit = on_exit_of_child };

static double run_once(struct bench *b, const struct variant *v)
{
	const char *argv[] = { "bash", "-c", ":", NULL };
	struct sandbox_request request = {
		.env = &b->env, .cwd = b->env.cwd, .command = ":", .belief = v->belief, .where = v->where
	};
	struct sandbox_held *held = NULL;
	struct err err = { 0 };
	int status = -1;

	b->env.permission = v->hides ? &b->permission : NULL;
	double started = now_ms();
	if (sandbox_hold(b->sandbox, &request, &held, &err) < 0 ||
	    spawn_start(
		    b->spawner,
		    &(struct child_options){ .argv = argv, .cwd = b->env.cwd, .confine = held ? &held->confine : NULL },
		    &handlers, &status, NULL, &err) < 0) {
		fprintf(stderr, "%s: %s\n", v->name, err.text);
		exit(1);
	}
	loop_run(b->loop);
	double took = now_ms() - started;
	sandbox_held_free(held);
	if (status) {
		fprintf(stderr, "%s: ended with status %d\n", v->name, status);
		exit(1);
	}
	return took;
}

static int order(const void *a, const void *b)
{
	const double *x = a;
	const double *y = b;

	return (*x > *y) - (*x < *y);
}

static unsigned count_entries(const char *dir)
{
	DIR *d = opendir(dir);
	unsigned n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static unsigned count_words(const char *path, char end)
{
	AUTO_BUF struct buf text = { 0 };
	unsigned n = 0;

	(void)file_read(path, 1 << 20, &text, NULL);
	for (size_t i = 0; i < text.n; i++)
		n += text.p[i] == end;
	return n;
}

/* What a run of many commands could leave behind */
static void print_left(const char *name, const char *temp_dir)
{
	char children[64];

	snprintf(children, sizeof children, "/proc/self/task/%d/children", (int)getpid());
	printf("\"%s\":{\"descriptors\":%u,\"mounts\":%u,\"processes\":%u,\"files\":%u}", name,
	       count_entries("/proc/self/fd"), count_words("/proc/self/mountinfo", '\n'), count_words(children, ' '),
	       count_entries(temp_dir));
}

static void find_leaks(struct bench *b, unsigned long count, const char *temp_dir)
{
	for (int i = 0; i < 10; i++)
		(void)run_once(b, &variants[VARIANTS - 1]);
	printf("{");
	print_left("before", temp_dir);
	for (unsigned long i = 0; i < count; i++)
		(void)run_once(b, &variants[VARIANTS - 1]);
	printf(",");
	print_left("after", temp_dir);
	printf("}\n");
}

int main(int argc, char **argv)
{
	AUTO_ARENA struct arena a = { 0 };
	static struct bench b;
	char dir[] = "/tmp/bench-sandbox-XXXXXX";
	unsigned rounds = argc > 1 ? (unsigned)MIN(strtoul(argv[1], NULL, 10), (unsigned long)ROUNDS_MAX) : 200;
	struct err err = { 0 };

	if (!mkdtemp(dir))
		return 1;
	const char *work = arena_printf(&a, "%s/work", dir);
	const char *dirs[] = { work, NULL };
	(void)file_make_dirs(arena_printf(&a, "%s/.git/hooks", work), 0755, &err);
	(void)file_replace(arena_printf(&a, "%s/.env", work), "x", 1, &err);
	b.loop = loop_new(0);
	b.spawner = spawner_new(b.loop);
	b.sandbox = sandbox_new(&(struct sandbox_options){ b.loop, dir, arena_printf(&a, "%s/tmp", dir), b.spawner });
	b.env = (struct tool_env){ .loop = b.loop, .spawner = b.spawner, .cwd = work, .root = work, .dirs = dirs };
	struct sandbox_policy *policy = xcalloc(1, sizeof *policy);
	policy->enabled = true;
	sandbox_use_policy(b.sandbox, policy);
	(void)permission_add_rule(&b.permission, RULE_DENY, STR("Read(./.env)"),
				  &(struct rule_origin){ .layer = "session" }, NULL, NULL, &err);
	bool leaks = argc > 2 && !strcmp(argv[1], "leaks");
	if (leaks)
		find_leaks(&b, strtoul(argv[2], NULL, 10), arena_printf(&a, "%s/tmp", dir));
	for (unsigned i = 0; i < rounds + 5 && !leaks; i++)
		for (size_t v = 0; v < VARIANTS; v++)
			b.times[v][i < 5 ? 0 : i - 5] = run_once(&b, &variants[v]);
	if (!leaks)
		printf("{");
	for (size_t v = 0; v < VARIANTS && !leaks; v++) {
		qsort(b.times[v], rounds, sizeof b.times[v][0], order);
		printf("%s\"%s\":%.3f", v ? "," : "", variants[v].name, b.times[v][rounds / 2]);
	}
	if (!leaks)
		printf("}\n");
	sandbox_free(b.sandbox);
	permission_release(&b.permission);
	spawner_free(b.spawner);
	loop_free(b.loop);
	return 0;
}
