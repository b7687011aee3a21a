/* SPDX-License-Identifier: MIT
 * test_find.c - the walks that look for what must be hidden or protected, before each command. */
#include <limits.h>
#include <linux/capability.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include "jail.h"
#include "tests.h"
#include "guard/sandbox/sandbox_int.h"

/* The same files are found as by a walk of the whole tree, whatever has changed since, also within one tick of the clock. */
TEST(what_is_hidden_is_found_again_after_any_change_of_the_tree)
{
	enum { STEPS = 600, PLACES = 12 };
	struct find_tree *trees = NULL;
	struct jail j;
	unsigned seed = 14;
	size_t most = 0;

	jail_open(&j);
	for (int step = 0; step < STEPS; step++) {
		struct find_tree *fresh = NULL;
		struct paths known = { 0 }, all = { 0 };
		struct err err = { 0 };
		const char *dir =
			arena_printf(&j.arena, "%s/a%d/b%d", j.work, rand_r(&seed) % 3, rand_r(&seed) % PLACES);
		const char *file = arena_printf(&j.arena, "%s/%s", dir, rand_r(&seed) % 2 ? ".env" : "f");
		const char *to =
			arena_printf(&j.arena, "%s/a%d/c%d", j.work, rand_r(&seed) % 3, rand_r(&seed) % PLACES);
		switch (rand_r(&seed) % 4) {
		case 0:
		case 1:
			file_put(file, STR("x"));
			break;
		case 2:
			(void)unlink(file);
			break;
		default:
			(void)rename(dir, to);
		}
		/* The time that a program can set says nothing. */
		const struct timespec old[2] = { { 1000000, 1 }, { 1000000, 1 } };
		(void)utimensat(AT_FDCWD, dir, old, 0);
		CHECK_INT(find_denied(&known, &j.arena, &j.env, j.work, NULL, &trees, &err), 0);
		CHECK_INT(find_denied(&all, &j.arena, &j.env, j.work, NULL, &fresh, &err), 0);
		CHECK_INT(known.count, all.count);
		for (size_t i = 0; i < all.count; i++)
			CHECK(paths_hold(&known, all.list[i]));
		most = MAX(most, all.count);
		find_forget(&fresh, 0);
	}
	CHECK(most > 10);
	find_forget(&trees, 0);
	jail_close(&j);
}

/* Modes of files hold for root as for others. */
static void set_powers(bool on)
{
	enum { DAC = 1U << 1 | 1U << 2 };
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	CHECK_INT(syscall(SYS_capget, &head, data), 0);
	data[0].effective = on ? data[0].permitted : data[0].permitted & ~DAC;
	CHECK_INT(syscall(SYS_capset, &head, data), 0);
}

TEST(what_a_directory_that_cannot_be_listed_holds_is_hidden_and_protected)
{
	struct jail j;
	struct profile reads, edits;
	struct paths now = { 0 };
	struct find_tree *trees = NULL;
	static const struct tool_env no_rules;
	jail_open(&j);
	const char *closed = arena_printf(&j.arena, "%s/deep", j.work);
	file_put(arena_printf(&j.arena, "%s/.mcp.json", closed), STR("{}"));

	CHECK_INT(chmod(closed, 0311), 0);
	set_powers(false);
	jail_profile(&j, HOLD_READS, NULL, &reads);
	jail_profile(&j, HOLD_EDITS, NULL, &edits);
	/* After a command nothing is moved away because it was closed. */
	CHECK_INT(find_protected(&now, &j.arena, &no_rules, j.work, &edits, &trees, NULL), 0);
	set_powers(true);

	CHECK(!profile_may_read(&reads, arena_printf(&j.arena, "%s/.env", closed)));
	CHECK(!profile_may_write(&edits, arena_printf(&j.arena, "%s/.mcp.json", closed)));
	CHECK(profile_may_write(&edits, arena_printf(&j.arena, "%s/f.txt", j.work)));
	CHECK(!paths_hold(&now, closed) && paths_hold(&now, arena_printf(&j.arena, "%s/.claude", j.work)));
	find_forget(&trees, 0);
	jail_close(&j);
}

TEST(a_link_with_a_hidden_name_hides_what_it_leads_to)
{
	struct jail j;
	struct profile reads;
	jail_open(&j);
	file_put(arena_printf(&j.arena, "%s/shared/prod", j.work), STR("x"));
	file_put(arena_printf(&j.arena, "%s/shared/more", j.work), STR("x"));
	file_put(arena_printf(&j.arena, "%s/app/f", j.work), STR("x"));
	CHECK_INT(symlink("../shared/prod", arena_printf(&j.arena, "%s/app/.env", j.work)), 0);

	jail_profile(&j, HOLD_READS, NULL, &reads);

	CHECK(!profile_may_read(&reads, arena_printf(&j.arena, "%s/app/.env", j.work)));
	CHECK(!profile_may_read(&reads, arena_printf(&j.arena, "%s/shared/prod", j.work)));
	CHECK(profile_may_read(&reads, arena_printf(&j.arena, "%s/shared/more", j.work)));
	jail_close(&j);
}

/* A command can make any number of files. */
TEST(what_is_protected_is_found_among_many_files)
{
	enum { DIRS = 8, FILES = 3000 };
	struct jail j;
	struct profile edits;
	jail_open(&j);
	for (int d = 0; d < DIRS; d++) {
		file_put(arena_printf(&j.arena, "%s/m%d/.mcp.json", j.work, d), STR("{}"));
		for (int i = 0; i < FILES; i++)
			CHECK_INT(mknod(arena_printf(&j.arena, "%s/m%d/%d", j.work, d, i), S_IFREG | 0600, 0), 0);
	}

	jail_profile(&j, HOLD_EDITS, NULL, &edits);

	for (int d = 0; d < DIRS; d++) {
		CHECK(!profile_may_write(&edits, arena_printf(&j.arena, "%s/m%d/.mcp.json", j.work, d)));
		CHECK(profile_may_write(&edits, arena_printf(&j.arena, "%s/m%d/1", j.work, d)));
	}
	jail_close(&j);
}

/* What no path leads to cannot be hidden by one: the directory above is. */
TEST(a_tree_that_is_deeper_than_paths_is_hidden_below_the_last_of_them)
{
	enum { LEVELS = 60 };
	char name[101];
	int fds[LEVELS];
	struct jail j;
	struct find_tree *trees = NULL;
	struct paths found = { 0 };
	struct err err = { 0 };
	bool cut = false;
	jail_open(&j);
	snprintf(name, sizeof name, "%0100d", 0);
	for (int i = 0; i < LEVELS; i++) {
		int up = i ? fds[i - 1] : open(j.work, O_PATH | O_CLOEXEC);
		CHECK_INT(mkdirat(up, name, 0700), 0);
		fds[i] = openat(up, name, O_PATH | O_CLOEXEC);
		CHECK(fds[i] >= 0);
		if (!i)
			close(up);
	}

	CHECK_INT(find_denied(&found, &j.arena, &j.env, j.work, NULL, &trees, &err), 0);

	for (size_t i = 0; i < found.count; i++) {
		CHECK(strlen(found.list[i]) < PATH_MAX);
		cut = cut || str_ends(str_from(found.list[i]), str_from(name));
	}
	CHECK(cut);
	for (int i = LEVELS - 1; i >= 0; i--) {
		if (i)
			CHECK_INT(unlinkat(fds[i - 1], name, AT_REMOVEDIR), 0);
		close(fds[i]);
	}
	find_forget(&trees, 0);
	jail_close(&j);
}

static int64_t ms_since_change(const char *dir)
{
	struct timespec now;
	struct stat st;

	CHECK_INT(stat(dir, &st), 0);
	CHECK_INT(clock_gettime(CLOCK_REALTIME, &now), 0);
	return (now.tv_sec - st.st_ctim.tv_sec) * 1000 + (now.tv_nsec - st.st_ctim.tv_nsec) / 1000000;
}

static void wait_since_change(const char *dir, int64_t ms)
{
	while (ms_since_change(dir) < ms)
		CHECK_INT(usleep(1000), 0);
}

/* What a rule means by a link is where that leads now, though no directory on the way there has changed. */
TEST(a_rule_that_names_a_link_is_looked_for_where_it_leads_now)
{
	struct jail j;
	struct find_tree *trees = NULL;
	struct err err = { 0 };

	jail_open(&j);
	const char *link = arena_printf(&j.arena, "%s/link", j.work);
	for (int i = 0; i < 2; i++)
		file_put(arena_printf(&j.arena, "%s/d%d/a.key", j.work, i), STR("x"));
	jail_add_rule(&j, RULE_DENY, "Read(./link/*.key)");
	wait_since_change(arena_printf(&j.arena, "%s/d1", j.work), 160);
	for (int i = 0; i < 2; i++) {
		struct paths found = { 0 };
		(void)unlink(link);
		CHECK_INT(symlink(i ? "d1" : "d0", link), 0);
		CHECK_INT(find_denied(&found, &j.arena, &j.env, j.work, NULL, &trees, &err), 0);
		for (int k = 0; k < 2; k++)
			CHECK_INT(paths_hold(&found, arena_printf(&j.arena, "%s/d%d/a.key", j.work, k)), k == i);
	}
	find_forget(&trees, 0);
	jail_close(&j);
}

/* What the gate refuses to change is not changed by a program either. */
TEST(what_edit_rules_deny_is_protected_at_any_depth_and_where_links_and_copies_lead)
{
	static const struct {
		const char *rule, *path;
		bool written;
	} cases[] = {
		{ "Edit(./a/b/c/d/e/f.txt)", "a/b/c/d/e/f.txt", false },
		{ "Edit(*.lock)", "a/b/c/d/e/f/g.lock", false },
		{ "Edit(./link/*.md)", "real/x.md", false },
		{ "Edit(./link/*.md)", "real/x.txt", true },
		{ "Edit(~/far/**)", "real/x.md", false },
		{ "Edit(//main/src/**)", "src/x.c", false },
		{ "Edit(//main/src/**)", "other/x.c", true },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct jail j;
		struct profile edits;
		jail_open(&j);
		const char *path = arena_printf(&j.arena, "%s/%s", j.work, cases[i].path);
		file_put(path, STR("x"));
		file_put(arena_printf(&j.arena, "%s/real/y", j.work), STR("x"));
		CHECK_INT(symlink("real", arena_printf(&j.arena, "%s/link", j.work)), 0);
		CHECK_INT(symlink("../work/real", arena_printf(&j.arena, "%s/far", j.home)), 0);
		j.permission.copy_root = j.work;
		j.permission.copy_of[0] = "/main";
		jail_add_rule(&j, RULE_DENY, cases[i].rule);
		jail_profile(&j, HOLD_EDITS, NULL, &edits);
		if (profile_may_write(&edits, path) != cases[i].written)
			fail_msg("%s: %s", cases[i].rule, cases[i].path);
		jail_close(&j);
	}
}

TEST(more_than_can_be_hidden_or_protected_is_an_error_that_says_so)
{
	enum { MOST = FIND_HIDDEN_MAX };
	struct jail j;
	struct find_tree *trees = NULL;
	struct profile empty = { 0 };

	jail_open(&j);
	jail_add_rule(&j, RULE_DENY, "Read(~/many/*.pem)");
	for (int i = 0; i < 2 * MOST; i++)
		file_put(arena_printf(&j.arena, "%s/many/%d.pem", j.home, i), STR(""));
	for (int i = 0; i < MOST - 2; i++) { /* there are two .env, .git and .claude */
		file_put(arena_printf(&j.arena, "%s/m/%d/.env", j.work, i), STR(""));
		file_put(arena_printf(&j.arena, "%s/m/%d/.npmrc", j.work, i), STR(""));
	}
	for (int more = 0; more < 2; more++) {
		struct paths hidden = { 0 }, protected = { 0 }, named = { 0 };
		struct err err = { 0 };
		int wanted = more ? -ERR_LIMIT : 0;
		if (more) {
			file_put(arena_printf(&j.arena, "%s/m/more/.env", j.work), STR(""));
			file_put(arena_printf(&j.arena, "%s/m/more/.npmrc", j.work), STR(""));
			file_put(arena_printf(&j.arena, "%s/many/more.pem", j.home), STR(""));
		}
		CHECK_INT(find_denied(&hidden, &j.arena, &j.env, j.work, NULL, &trees, &err), wanted);
		CHECK(!more || str_has(str_from(err.text), STR("name these files by their paths")));
		CHECK_INT(find_protected(&protected, &j.arena, &j.env, j.work, &empty, &trees, &err), wanted);
		CHECK(!more || str_has(str_from(err.text), STR("more than 500 protected files")));
		CHECK_INT(find_named_by_rules(&named, &j.arena, &j.env, &trees, &err), wanted);
		CHECK(!more || str_has(str_from(err.text), STR("Read(~/many/*.pem)")));
	}
	find_forget(&trees, 0);
	jail_close(&j);
}

/* Two changes within a tick of the clock may have the same time. So what was listed soon after a change does not count as known. */
TEST(a_directory_is_listed_again_until_its_last_change_is_long_ago)
{
	enum { SOON = 50, LATER = 95, LONG_AGO = 160 };
	struct jail j;
	struct find_tree *trees = NULL;
	struct err err = { 0 };
	char events[4096];
	bool tried = false;

	jail_open(&j);
	const char *dir = arena_printf(&j.arena, "%s/deep", j.work);
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	CHECK(inotify_add_watch(watch, dir, IN_ACCESS) >= 0);
	for (int i = 0; !tried; i++) { /* until the machine was not too slow for it */
		file_put(arena_printf(&j.arena, "%s/f%d", dir, i), STR(""));
		for (int64_t wait = SOON; wait <= LONG_AGO; wait += LONG_AGO - SOON) {
			struct paths found = { 0 };
			wait_since_change(dir, wait);
			CHECK_INT(find_denied(&found, &j.arena, &j.env, j.work, NULL, &trees, &err), 0);
			tried = wait > SOON || ms_since_change(dir) < LATER;
			if (!tried)
				break;
			while (read(watch, events, sizeof events) > 0)
				;
			CHECK_INT(find_denied(&found, &j.arena, &j.env, j.work, NULL, &trees, &err), 0);
			CHECK_INT(read(watch, events, sizeof events) > 0, wait == SOON);
		}
	}
	close(watch);
	find_forget(&trees, 0);
	jail_close(&j);
}

int test_find(void)
{
	return RUN_TESTS(T(what_is_hidden_is_found_again_after_any_change_of_the_tree),
			 T(what_a_directory_that_cannot_be_listed_holds_is_hidden_and_protected),
			 T(a_link_with_a_hidden_name_hides_what_it_leads_to),
			 T(what_is_protected_is_found_among_many_files),
			 T(a_tree_that_is_deeper_than_paths_is_hidden_below_the_last_of_them),
			 T(a_rule_that_names_a_link_is_looked_for_where_it_leads_now),
			 T(what_edit_rules_deny_is_protected_at_any_depth_and_where_links_and_copies_lead),
			 T(more_than_can_be_hidden_or_protected_is_an_error_that_says_so),
			 T(a_directory_is_listed_again_until_its_last_change_is_long_ago));
}
