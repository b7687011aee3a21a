/* SPDX-License-Identifier: MIT
 * test_hostile.c - tests/hostile/commands.txt: each line is judged in each mode, and the kernel holds it alone: it runs as if it
 * had passed as reading, and once more as if acceptEdits had let it pass. tests/program/test_hostile.py runs the same lines
 * through the whole program. */
#include <sys/mman.h>
#include <sys/wait.h>
#include "jail.h"
#include "lib/io/file.h"
#include "lib/confine/landlock.h"
#include "lib/json/json.h"
#include "lib/json/json_write.h"
#include "tests.h"

enum { WORKERS = 3, FAILURES_MAX = 1 << 16 };

static const char *corpus(struct arena *a)
{
	const char *file = __FILE__;
	const char *end = strstr(file, "unit/sandbox/");

	return arena_printf(a, "%.*shostile/commands.txt", (int)(end - file), file);
}

struct line {
	const char *command, *modes, *verdict, *effect;
	bool again; /* the line before is about the same command, in other modes */
};

static const char *next_column(struct arena *a, struct str *line)
{
	struct str column = str_cut(line, '\t');

	return arena_dup(a, column.p ? column.p : "", column.n);
}

static struct line *read_lines(struct arena *a, size_t *ret_count)
{
	AUTO_BUF struct buf text = { 0 };
	struct line *lines = arena_alloc(a, 4096 * sizeof *lines);
	size_t n = 0;

	if (file_read(corpus(a), 1 << 20, &text, NULL) < 0)
		fail_msg("no corpus at %s", corpus(a));
	struct str rest = buf_str(&text);
	while (rest.p && n < 4096) {
		struct str line = str_cut(&rest, '\n');
		if (!line.n || line.p[0] == '#')
			continue;
		struct line *l = &lines[n];
		l->command = next_column(a, &line);
		l->modes = next_column(a, &line);
		l->verdict = next_column(a, &line);
		l->effect = next_column(a, &line);
		l->again = n && !strcmp(l->command, lines[n - 1].command);
		if (!*l->effect)
			fail_msg("a line without all of its columns: %s", l->command);
		n++;
	}
	*ret_count = n;
	return lines;
}

static size_t strictness(const char *verdict)
{
	static const char *const verdicts[] = { "allow", "ask", "deny" };
	size_t i = 0;

	while (i < COUNT_OF(verdicts) && strcmp(verdicts[i], verdict) != 0)
		i++;
	return i;
}

static const char *judge(struct jail *j, const char *command)
{
	static const struct tool bash = { .name = "Bash", .definition = "{}", .flags = TOOL_CONFINED };
	static const char *const names[] = {
		[PERMISSION_ALLOW] = "allow", [PERMISSION_ASK] = "ask", [PERMISSION_DENY] = "deny"
	};
	AUTO_BUF struct buf text = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	struct permission_verdict v = { 0 };
	struct tool_use use = { .tool = &bash, .env = &j->env };

	buf_addstr(&text, "{\"command\":");
	json_add_quoted(&text, str_from(command));
	buf_addch(&text, '}');
	CHECK_INT(json_parse(&reader, text.p, text.n, &use.input, NULL), 0);
	permission_explain(&j->permission, use, PERMISSION_HINT_NONE, &v);
	const char *name = v.unanswerable ? "ask" : names[v.decision];
	permission_verdict_release(&v);
	return name;
}

TEST(the_verdict_about_each_hostile_command_is_as_strict_as_written)
{
	static const enum permission_mode modes[] = { PERMISSION_DEFAULT, PERMISSION_ACCEPT_EDITS, PERMISSION_PLAN,
						      PERMISSION_DONT_ASK, PERMISSION_AUTO };
	struct jail j;
	size_t count;
	size_t commands = 0;

	jail_open(&j);
	j.permission.can_ask = true;
	struct line *lines = read_lines(&j.arena, &count);
	AUTO_BUF struct buf failures = { 0 };
	for (size_t i = 0; i < count; i++) {
		commands += !lines[i].again;
		for (size_t m = 0; m < COUNT_OF(modes); m++) {
			const char *mode = permission_mode_name(modes[m]);
			j.permission.mode = modes[m];
			if (strcmp(lines[i].modes, "*") != 0 && !strstr(lines[i].modes, mode))
				continue;
			const char *said = judge(&j, lines[i].command);
			if (strictness(said) > strictness(lines[i].verdict))
				print_message("# stricter than written, %s in %s: %s\n", said, mode, lines[i].command);
			if (strictness(said) < strictness(lines[i].verdict))
				buf_addf(&failures, "%s in %s, not %s: %s\n", said, mode, lines[i].verdict,
					 lines[i].command);
		}
	}
	jail_close(&j);
	if (failures.n) { /* a message of cmocka has a limit */
		fputs(failures.p, stderr);
		fail_msg("verdicts are less strict than written");
	}
	CHECK(commands >= 400);
}

/* A part of the lines, in a jail of its own; what is wrong is added to the text. */
struct worker {
	struct jail jail;
	const struct line *lines;
	size_t count, first;
	enum tool_belief belief;
	bool bare; /* no rule hides a file: no cell is needed for reading */
	struct buf wrong;
};

/* The program is there and the kernel refused: how it says so depends on the program. */
static bool says_refusal(struct str output)
{
	static const char *const words[] = {
		"Permission denied", "Operation not permitted", "Read-only file system", "EACCES", "EPERM", "EROFS"
	};

	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (str_has(output, str_from(words[i])))
			return true;
	return str_has(output, STR("not found")) || str_has(output, STR("No such file"));
}

/* The first line of one that the other has not */
static struct str first_difference(const char *before, const char *after)
{
	struct str rest = str_from(after);

	while (rest.n) {
		struct str line = str_cut(&rest, '\n');
		if (!str_has(str_from(before), line))
			return line;
	}
	return STR("something is gone");
}

static void check_line(struct worker *w, const struct line *l, const char *before)
{
	struct jail *j = &w->jail;
	AUTO_FREE char *after = jail_snapshot(j, w->belief == BELIEF_READS);
	struct str output = buf_str(&j->output);
	const char *wrong = NULL;

	if (strcmp(before, after) != 0)
		wrong = "something changed";
	else if (jail_visits(j))
		wrong = "someone was reached";
	else if (!jail_victim_lives(j))
		wrong = "a process ended";
	else if (!w->bare && str_has(output, STR(JAIL_HIDDEN)))
		wrong = "a hidden file was seen";
	else if (str_has(output, STR(JAIL_SECRET)))
		wrong = "a secret was seen";
	else if (w->belief == BELIEF_READS && !w->bare && strcmp(l->effect, "none") != 0 && !says_refusal(output))
		wrong = "the kernel refused nothing";
	if (wrong)
		buf_addf(&w->wrong, "%s: %s\n" STR_FMT "\n%.*s\n", wrong, l->command,
			 STR_ARG(first_difference(before, after)), (int)MIN(output.n, 400), output.p);
}

/* These take up to half a second to start. What the kernel refuses does not depend on them: each is held once, as reading. */
static bool is_slow(const char *command)
{
	static const char *const names[] = { "npm ", "npx ",      "pip ", "pytest ", "meson ",   "cmake --help-full",
					     "aws ", "corepack ", "gdb ", "gcore ",  "-m timeit" };

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (strstr(command, names[i]))
			return true;
	return false;
}

static void run_lines(struct worker *w)
{
	struct jail *j = &w->jail;

	jail_open(j);
	if (w->bare)
		permission_drop_rules(&j->permission, RULE_DENY, NULL);
	AUTO_FREE char *before = jail_snapshot(j, w->belief == BELIEF_READS);
	for (size_t i = w->first; i < w->count; i += WORKERS) {
		bool first = w->belief == BELIEF_READS && !w->bare;
		if (w->lines[i].again || (!first && is_slow(w->lines[i].command)))
			continue;
		if (!jail_run(j, w->lines[i].command, w->belief))
			buf_addf(&w->wrong, "it did not run: %s\n%.*s\n", w->lines[i].command, (int)j->output.n,
				 j->output.p);
		check_line(w, &w->lines[i], before);
		if (w->belief == BELIEF_EDITS)
			jail_tidy(j);
	}
	jail_close(j);
}

/* The lines are shared between processes: they wait for commands most of the time. */
static void hold_alone(enum tool_belief belief, bool bare)
{
	AUTO_ARENA struct arena a = { 0 };
	size_t count;
	const struct line *lines = read_lines(&a, &count);
	char *report = mmap(NULL, WORKERS * FAILURES_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pids[WORKERS];

	CHECK(report != MAP_FAILED);
	for (size_t i = 0; i < WORKERS; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			struct worker w = {
				.lines = lines, .count = count, .first = i, .belief = belief, .bare = bare
			};
			run_lines(&w);
			snprintf(report + i * FAILURES_MAX, FAILURES_MAX, "%s", w.wrong.n ? w.wrong.p : "");
			_exit(0);
		}
	}
	bool good = true;
	for (size_t i = 0; i < WORKERS; i++) {
		int status = -1;
		CHECK_INT(waitpid(pids[i], &status, 0), pids[i]);
		good = good && status == 0 && !report[i * FAILURES_MAX];
	}
	if (!good) {
		for (size_t i = 0; i < WORKERS; i++)
			fputs(report + i * FAILURES_MAX, stderr);
		fail_msg("the kernel did not hold all of them, or did not say so");
	}
	munmap(report, WORKERS * FAILURES_MAX);
}

/* What rules hide, and edits, are held by namespaces: a container may have none. */
static void skip_unless_full(void)
{
	const char *why = NULL;
	struct jail j;

	jail_open(&j);
	bool full = sandbox_strength(j.sandbox, &why) == SANDBOX_FULL;
	if (!full)
		print_message("# skipped: %s\n", why ? why : "no sandbox");
	jail_close(&j);
	if (!full)
		skip();
}

TEST(no_hostile_command_has_an_effect_though_it_passed_as_reading)
{
	skip_unless_full();
	hold_alone(BELIEF_READS, false);
}

TEST(no_hostile_command_has_an_effect_where_no_rule_hides_a_file)
{
	if (!landlock_available())
		skip();
	hold_alone(BELIEF_READS, true);
}

TEST(no_hostile_command_leaves_the_working_directory_though_edits_are_accepted)
{
	skip_unless_full();
	hold_alone(BELIEF_EDITS, false);
}

int test_hostile(void)
{
	return RUN_TESTS(T(the_verdict_about_each_hostile_command_is_as_strict_as_written),
			 T(no_hostile_command_has_an_effect_though_it_passed_as_reading),
			 T(no_hostile_command_has_an_effect_where_no_rule_hides_a_file),
			 T(no_hostile_command_leaves_the_working_directory_though_edits_are_accepted));
}
