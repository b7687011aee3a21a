/* SPDX-License-Identifier: MIT
 * test_shell_oracle.c - bash itself says what it runs. Each text of the corpus, alone and inside another construct, is run
 * by bash in an empty directory with an empty PATH, where every program that is not there is reported. What bash reports
 * must be in the list of shell_parse(), if that says that it understood; and bash must find such a text valid. Each is run
 * once more with variables of a hostile environment: the names that are in the text hold a command for arithmetic. */
#include "unit.h"
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include "guard/shell/shell_command.h"
#include "shell_arithmetic_corpus.h"
#include "shell_corpus.h"
#include "tests.h"

enum { REPORT_FD = 9, HOSTILE_MAX = 32 };

/* Words end with US, commands with RS. The builtins that only talk are reported too. */
static const char prelude[] = "unset BASH_ENV\n"
			      "ulimit -t 10\n"
			      "_report() { local IFS=$'\\037'; builtin printf '%s\\037\\036' \"$*\" >&9; }\n"
			      "command_not_found_handle() { _report \"$@\"; return $ORACLE_STATUS; }\n"
			      "echo() { _report echo \"$@\"; builtin echo \"$@\"; }\n"
			      "printf() { _report printf \"$@\"; builtin printf \"$@\"; }\n"
			      "cd() { _report cd \"$@\"; }\n"
			      "true() { _report true \"$@\"; }\n"
			      "test() { _report test \"$@\"; builtin test \"$@\"; }\n"
			      "eval() { _report eval \"$@\"; builtin eval \"$@\"; }\n";

struct bench {
	char dir[64];
	char script[80];
	char path[80];
	char bash_env[100];
	size_t commands;
	size_t understood;
	struct buf problems;
};

static void open_bench(struct bench *b)
{
	*b = (struct bench){ .dir = "/tmp/shell-oracle-XXXXXX" };
	CHECK(mkdtemp(b->dir));
	snprintf(b->script, sizeof b->script, "%s.prelude", b->dir);
	snprintf(b->path, sizeof b->path, "PATH=%s", b->dir);
	snprintf(b->bash_env, sizeof b->bash_env, "BASH_ENV=%s", b->script);
	FILE *f = fopen(b->script, "w");
	CHECK(f && fputs(prelude, f) >= 0 && fclose(f) == 0);
}

static void run(const char *const *argv, const char *const *envp, const char *dir, struct buf *ret_report,
		int *ret_status)
{
	posix_spawn_file_actions_t files;
	int fds[2];
	pid_t pid;
	char chunk[4096];
	ssize_t n;

	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	posix_spawn_file_actions_init(&files);
	for (int fd = 0; fd < 3; fd++)
		posix_spawn_file_actions_addopen(&files, fd, "/dev/null", O_RDWR, 0);
	posix_spawn_file_actions_adddup2(&files, fds[1], REPORT_FD);
	posix_spawn_file_actions_addchdir_np(&files, dir);
	CHECK_INT(posix_spawnp(&pid, argv[0], &files, NULL, (char *const *)(uintptr_t)argv,
			       (char *const *)(uintptr_t)envp),
		  0);
	posix_spawn_file_actions_destroy(&files);
	close(fds[1]);
	while ((n = read(fds[0], chunk, sizeof chunk)) > 0)
		buf_add(ret_report, chunk, (size_t)n);
	close(fds[0]);
	CHECK_INT(waitpid(pid, ret_status, 0), pid);
}

static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Bash would not be the same with these. */
static bool decides_what_runs(struct str name)
{
	static const char *const names[] = { "PATH", "ENV", "IFS", "PS4", "SHELLOPTS", "POSIXLY_CORRECT" };

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (str_is(name, names[i]))
			return true;
	return str_starts(name, STR("BASH")) || str_starts(name, STR("LC_")) || str_starts(name, STR("LD_"));
}

/* Each word of the text that could be a variable's name holds touch HACK, written without a blank so that it is one word
 * wherever it gets. */
static void hostile_environment(struct arena *a, const char *text, const char **ret)
{
	size_t count = 0;

	for (const char *at = text; *at && count < HOSTILE_MAX;) {
		struct str name = { at, 0 };
		while (is_name_char(at[name.n]))
			name.n++;
		if (name.n && !(at[0] >= '0' && at[0] <= '9') && !decides_what_runs(name))
			ret[count++] = arena_printf(a, STR_FMT "=a[$({touch,HACK})]", STR_ARG(name));
		at += MAX(name.n, (size_t)1);
	}
}

static void run_bash(struct bench *b, const char *text, bool succeed, bool hostile, struct buf *ret_report)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *const argv[] = { "/bin/bash", "-c", "--", text, NULL };
	const char *envp[HOSTILE_MAX + 5] = { b->path, b->bash_env, succeed ? "ORACLE_STATUS=0" : "ORACLE_STATUS=1",
					      "LC_ALL=C.UTF-8" };
	int status;

	if (hostile)
		hostile_environment(&a, text, envp + 4);
	run(argv, envp, b->dir, ret_report, &status);
}

static bool bash_finds_valid(struct bench *b, const char *text)
{
	const char *const argv[] = { "/bin/bash", "-n", "-c", "--", text, NULL };
	const char *const envp[] = { b->path, "LC_ALL=C.UTF-8", NULL };
	AUTO_BUF struct buf report = { 0 };
	int status;

	run(argv, envp, b->dir, &report, &status);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* Do the words of a command become these arguments? args is "a US b US". */
static bool matches(const struct shell_word *w, size_t count, struct str args)
{
	if (!count)
		return !args.n;
	bool several = w->splits || w->globs;
	if (several && matches(w + 1, count - 1, args))
		return true;
	if (!args.n)
		return false;
	struct str rest = args;
	struct str arg = str_cut(&rest, '\037');
	if (w->literal && !str_eq(arg, w->text))
		return false;
	if (!rest.p)
		rest = (struct str){ "", 0 };
	return (several && matches(w, count, rest)) || matches(w + 1, count - 1, rest);
}

static bool is_listed(const struct shell_script *s, struct str args)
{
	for (size_t i = 0; i < s->count; i++) {
		struct shell_command c = s->commands[i];
		struct shell_command inner = shell_strip_for_allow(&c);
		if (c.word_count &&
		    (matches(c.words, c.word_count, args) || matches(inner.words, inner.word_count, args)))
			return true;
	}
	return false;
}

static bool hides(const struct shell_script *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->commands[i].hides)
			return true;
	return false;
}

static void check_run(struct bench *b, const char *text, const struct shell_script *s, bool succeed, bool hostile)
{
	AUTO_BUF struct buf report = { 0 };
	struct str rest;

	run_bash(b, text, succeed, hostile, &report);
	for (rest = buf_str(&report); rest.n;) {
		struct str args = str_cut(&rest, '\036');
		b->commands++;
		if (!is_listed(s, args))
			buf_addf(&b->problems, "bash runs '" STR_FMT "'%s for: %s\n", STR_ARG(args),
				 hostile ? " in a hostile environment" : "", text);
	}
}

static void check_text(struct bench *b, const char *text)
{
	AUTO_ARENA struct arena a = { 0 };
	struct shell_script s;

	shell_parse(&a, str_from(text), &s);
	if (!s.understood)
		return;
	b->understood++;
	if (!bash_finds_valid(b, text))
		buf_addf(&b->problems, "understood, but bash does not find it valid: %s\n", text);
	if (hides(&s))
		return;
	check_run(b, text, &s, true, false);
	check_run(b, text, &s, false, false);
	check_run(b, text, &s, true, true);
}

static void close_bench(struct bench *b)
{
	const char *const argv[] = { "rm", "-rf", b->dir, b->script, NULL };
	const char *const envp[] = { NULL };
	AUTO_BUF struct buf report = { 0 };
	int status;

	run(argv, envp, "/", &report, &status);
	CHECK_INT(status, 0);
}

/* The text alone and inside another construct. */
static void check_inside(struct bench *b, const char *inner, size_t i)
{
	static const char *const around[] = { "zz $(%s\n)",
					      "( %s\n)",
					      "{ %s\n}",
					      "if %s\nthen yy; fi",
					      "f() { %s\n}; f",
					      "zz \"$(%s\n)\" | yy",
					      "case x in x) %s\n;; esac",
					      "zz <<E\n$(%s\n)\nE" };
	AUTO_BUF struct buf text = { 0 };
	const char *outer = around[i % COUNT_OF(around)];
	size_t before = (size_t)(strstr(outer, "%s") - outer);

	buf_add(&text, outer, before);
	buf_addstr(&text, inner);
	buf_addstr(&text, outer + before + 2);
	check_text(b, inner);
	check_text(b, text.p);
}

TEST(bash_runs_no_command_that_an_understood_text_does_not_list)
{
	struct bench b;

	open_bench(&b);
	for (size_t i = 0; i < COUNT_OF(shell_corpus); i++)
		check_inside(&b, shell_corpus[i], i);
	for (size_t i = 0; i < COUNT_OF(arithmetic_safe); i++)
		check_inside(&b, arithmetic_safe[i], i);
	close_bench(&b);

	if (b.problems.n)
		fprintf(stderr, "%s", b.problems.p);
	CHECK_INT(b.problems.n, 0);
	CHECK(COUNT_OF(shell_corpus) >= 300);
	CHECK(b.understood > COUNT_OF(shell_corpus) / 2);
	CHECK(b.commands > b.understood);
}

static bool runs_hack(struct bench *b, const char *text)
{
	AUTO_BUF struct buf report = { 0 };

	run_bash(b, text, true, true, &report);
	return str_has(buf_str(&report), STR("touch\037HACK"));
}

TEST(a_hostile_environment_runs_its_command_in_the_arithmetic_that_is_not_understood)
{
	struct bench b;

	open_bench(&b);
	for (size_t i = 0; i < COUNT_OF(arithmetic_hostile); i++)
		if (!runs_hack(&b, arithmetic_hostile[i]))
			buf_addf(&b.problems, "bash runs nothing hostile for: %s\n", arithmetic_hostile[i]);
	close_bench(&b);

	if (b.problems.n)
		fprintf(stderr, "%s", b.problems.p);
	CHECK_INT(b.problems.n, 0);
}

int test_shell_oracle(void)
{
	return RUN_TESTS(T(bash_runs_no_command_that_an_understood_text_does_not_list),
			 T(a_hostile_environment_runs_its_command_in_the_arithmetic_that_is_not_understood));
}
