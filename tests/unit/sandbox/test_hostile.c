/* SPDX-License-Identifier: MIT
 * test_hostile.c - the kernel alone: each line of tests/hostile/commands.txt runs as if it had passed as reading, and once more
 * as if acceptEdits had let it pass. */
#include "jail.h"
#include "lib/io/file.h"
#include "lib/io/landlock.h"
#include "tests.h"

static const char *corpus(struct arena *a)
{
	const char *file = __FILE__;
	const char *end = strstr(file, "unit/sandbox/");

	return arena_printf(a, "%.*shostile/commands.txt", (int)(end - file), file);
}

typedef void line_fn(struct jail *j, const char *command, const char *before);

static unsigned each_line(struct jail *j, bool work, line_fn *fn)
{
	AUTO_FREE char *before = jail_snapshot(j, work);
	AUTO_BUF struct buf text = { 0 };
	unsigned n = 0;

	if (file_read(corpus(&j->arena), 1 << 20, &text, NULL) < 0)
		fail_msg("no corpus at %s", corpus(&j->arena));
	struct str rest = buf_str(&text);
	while (rest.p) {
		struct str line = str_cut(&rest, '\n');
		if (!line.n || line.p[0] == '#')
			continue;
		AUTO_ARENA struct arena a = { 0 };
		fn(j, arena_dup(&a, line.p, line.n), before);
		n++;
	}
	return n;
}

static void check_line(struct jail *j, const char *command, const char *before, bool work)
{
	AUTO_FREE char *after = jail_snapshot(j, work);

	if (strcmp(before, after) != 0)
		fail_msg("something changed: %s\n%.*s", command, (int)j->output.n, j->output.p);
	if (jail_visits(j))
		fail_msg("someone was reached: %s", command);
	if (!jail_victim_lives(j))
		fail_msg("a process ended: %s", command);
}

static void run_as_reading(struct jail *j, const char *command, const char *before)
{
	(void)jail_run(j, command, BELIEF_READS);
	check_line(j, command, before, true);
	if (str_has(buf_str(&j->output), STR(JAIL_SECRET)))
		fail_msg("a secret was seen: %s\n%.*s", command, (int)j->output.n, j->output.p);
}

TEST(no_hostile_command_has_an_effect_though_it_passed_as_reading)
{
	struct jail j;

	if (!landlock_available())
		skip();
	jail_open(&j);
	unsigned n = each_line(&j, true, run_as_reading);
	jail_close(&j);
	CHECK(n >= 400);
}

/* What may be changed is made again for the next one. */
static void run_as_editing(struct jail *j, const char *command, const char *before)
{
	if (!jail_run(j, command, BELIEF_EDITS))
		return;
	check_line(j, command, before, false);
	file_put(arena_printf(&j->arena, "%s/f.txt", j->work), STR("a\nb\n"));
}

TEST(no_hostile_command_leaves_the_working_directory_though_edits_are_accepted)
{
	struct jail j;

	jail_open(&j);
	if (sandbox_strength(j.sandbox, NULL) == SANDBOX_FULL)
		CHECK(each_line(&j, false, run_as_editing) >= 400);
	jail_close(&j);
}

int test_hostile(void)
{
	return RUN_TESTS(T(no_hostile_command_has_an_effect_though_it_passed_as_reading),
			 T(no_hostile_command_leaves_the_working_directory_though_edits_are_accepted));
}
