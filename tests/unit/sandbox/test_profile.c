/* SPDX-License-Identifier: MIT
 * test_profile.c - belief as places: one table of who may read and write what. */
#include "jail.h"
#include "tests.h"
#include "guard/sandbox/sandbox_int.h"

static const struct row {
	const char *path; /* below the jail, or absolute */
	bool reads_read, edits_read, edits_write, inside_read, inside_write;
} rows[] = {
	/*                             reads  edits: r w     inside: r w */
	{ "work/f.txt", true, true, true, true, true },
	{ "work/new/deep", true, true, true, true, true },
	{ "work/.env", false, false, true, false, true },
	{ "work/deep/.env", false, false, true, false, true },
	{ "work/.git/config", true, true, false, true, false },
	{ "work/.git/hooks/x", true, true, false, true, false },
	{ "work/.git/objects/x", true, true, false, true, true },
	{ "work/.claude/x", true, true, false, true, false },
	{ "home/.ssh/id", false, false, false, true, false },
	{ "home/.bashrc", false, false, false, true, false },
	{ "home/.gitconfig", true, true, false, true, false },
	{ "home/.config/git/config", true, true, false, true, false },
	{ "home/.config/git/credentials", false, false, false, true, false },
	{ "/etc/fstab", false, false, false, true, false },
	{ "out/f", false, false, false, true, true },
	{ "out/secret", false, false, false, false, true },
	{ "tmp/x", true, true, true, true, true },
	{ "/usr/bin/env", true, true, false, true, false },
	{ "/etc/shadow", false, false, false, true, false },
	{ "/etc/passwd", true, true, false, true, false },
	{ "/tmp/other", false, false, false, true, false },
	{ "/root/.ssh/id", false, false, false, true, false },
};

TEST(each_profile_holds_what_was_believed)
{
	struct jail j;
	jail_open(&j);
	const char *outs[] = { j.out, NULL };
	const char *secrets[] = { arena_printf(&j.arena, "%s/secret", j.out), NULL };
	struct sandbox_policy policy = { .enabled = true, .allow_write = outs, .deny_read = secrets };
	struct profile reads;
	struct profile edits;
	struct profile inside;
	jail_profile(&j, HOLD_READS, NULL, &reads);
	jail_profile(&j, HOLD_EDITS, NULL, &edits);
	jail_profile(&j, HOLD_INSIDE, &policy, &inside);

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct row *r = &rows[i];
		const char *path = r->path[0] == '/' ? r->path : arena_printf(&j.arena, "%s/%s", j.dir, r->path);
		bool good = profile_may_read(&reads, path) == r->reads_read &&
			    profile_may_write(&reads, path) == str_starts(str_from(r->path), STR("tmp/")) &&
			    profile_may_read(&edits, path) == r->edits_read &&
			    profile_may_write(&edits, path) == r->edits_write &&
			    profile_may_read(&inside, path) == r->inside_read &&
			    profile_may_write(&inside, path) == r->inside_write;
		if (!good)
			fail_msg("%s: reads %d%d edits %d%d inside %d%d", r->path, profile_may_read(&reads, path),
				 profile_may_write(&reads, path), profile_may_read(&edits, path),
				 profile_may_write(&edits, path), profile_may_read(&inside, path),
				 profile_may_write(&inside, path));
	}
	CHECK(!reads.network && !edits.network && inside.network);
	jail_close(&j);
}

TEST(limits_of_an_ancestor_narrow_what_may_be_read_and_written)
{
	struct jail j;
	jail_open(&j);
	const char *narrow[] = { arena_printf(&j.arena, "%s/deep", j.work), NULL };
	struct permission parent = { .dirs = narrow };
	struct profile reads;
	struct profile edits;
	j.permission.parent = &parent;

	jail_profile(&j, HOLD_READS, NULL, &reads);
	jail_profile(&j, HOLD_EDITS, NULL, &edits);

	CHECK(!profile_may_read(&reads, arena_printf(&j.arena, "%s/f.txt", j.work)));
	CHECK(profile_may_read(&reads, arena_printf(&j.arena, "%s/deep/f", j.work)));
	CHECK(!profile_may_write(&edits, arena_printf(&j.arena, "%s/f.txt", j.work)));
	CHECK(profile_may_write(&edits, arena_printf(&j.arena, "%s/deep/f", j.work)));
	j.permission.parent = NULL;
	jail_close(&j);
}

TEST(a_rule_that_allows_reading_opens_what_it_names)
{
	struct jail j;
	jail_open(&j);
	struct profile reads;
	AUTO_FREE char *rule = NULL;
	rule = xstrdup(arena_printf(&j.arena, "Read(/%s/**)", j.out));
	CHECK_INT(permission_add_rule(&j.permission, RULE_ALLOW, str_from(rule),
				      &(struct rule_origin){ .layer = "session" }, NULL, NULL, NULL),
		  0);

	jail_profile(&j, HOLD_READS, NULL, &reads);

	CHECK(profile_may_read(&reads, arena_printf(&j.arena, "%s/f", j.out)));
	CHECK(!profile_may_read(&reads, arena_printf(&j.arena, "%s/.ssh/id", j.home)));
	jail_close(&j);
}

/* The directory in which the matches of a pattern are may hold other files. */
TEST(a_rule_with_a_wildcard_opens_only_what_it_matches_of_the_files_that_are_named)
{
	static const struct {
		const char *command, *path;
		bool read;
	} cases[] = {
		{ "cat ~/docs/pub/a.md", "docs/pub/a.md", true },
		{ "cat %s/docs/pub/a.md", "docs/pub/a.md", true },
		{ "cat %s/docs/pub/a.md", "docs/pub/b.md", false },
		{ "head -1 %s/docs/pub/?.md", "docs/pub/b.md", true },
		{ "head -1 %s/docs/pub/?.md", "docs/pub/key", false },
		{ "cat %s/docs/pub/key", "docs/pub/key", false },
		{ "ls %s/docs/pub", "docs/pub/a.md", false },
		{ "python3 -c 1; cat %s/docs/pub/a.md", "docs/key", false },
		{ "ls %s/docs/pub/d.md", "docs/pub/d.md/key", false },
	};
	struct jail j;
	struct profile reads;

	jail_open(&j);
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		file_put(arena_printf(&j.arena, "%s/%s", j.home, cases[i].path), STR("x\n"));
	jail_add_rule(&j, RULE_ALLOW, "Read(~/docs/pub/*.md)");
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		AUTO_BUF struct buf command = { 0 };
		for (const char *p = cases[i].command; *p; p++)
			if (!strncmp(p, "%s", 2))
				buf_addstr(&command, j.home), p++;
			else
				buf_addch(&command, *p);
		jail_profile_in(&j, HOLD_READS, NULL, j.work, command.p, &reads);
		if (profile_may_read(&reads, arena_printf(&j.arena, "%s/%s", j.home, cases[i].path)) != cases[i].read)
			fail_msg("%s: %s", command.p, cases[i].path);
	}
	jail_close(&j);
}

/* Inside all else is readable, so what a rule denies must be found wherever its pattern leads. */
TEST(a_rule_that_denies_with_a_wildcard_hides_what_it_matches_anywhere)
{
	static const struct {
		const char *rule, *path;
		bool read;
	} cases[] = {
		{ "Read(~/.aws/*)", ".aws/credentials", false },
		{ "Read(~/.aws/*)", ".aws/sub/key", false },
		{ "Read(~/.ssh/id*)", ".ssh/id", false },
		{ "Read(~/.ssh/id*)", ".ssh/config", true },
		{ "Read(~/.config/*/hosts.yml)", ".config/gh/hosts.yml", false },
		{ "Read(~/.config/*/hosts.yml)", ".config/gh/config.yml", true },
		{ "Read(~/*.pem)", "key.pem", false },
		{ "Read(~/*.pem)", "deep/key.pem", true },
		{ "Read(~/keys/**/*.pem)", "keys/a/b/key.pem", false },
	};
	struct sandbox_policy policy = { .enabled = true };
	struct profile inside;

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct jail j;
		jail_open(&j);
		file_put(arena_printf(&j.arena, "%s/%s", j.home, cases[i].path), STR("x\n"));
		jail_add_rule(&j, RULE_DENY, cases[i].rule);
		jail_profile(&j, HOLD_INSIDE, &policy, &inside);
		if (profile_may_read(&inside, arena_printf(&j.arena, "%s/%s", j.home, cases[i].path)) != cases[i].read)
			fail_msg("%s: %s", cases[i].rule, cases[i].path);
		jail_close(&j);
	}
}

/* A directory of a repository, with git or a program beside it that is held */
TEST(the_rest_of_a_checkout_is_open_to_git_alone)
{
	static const struct {
		const char *command;
		bool read;
	} cases[] = {
		{ "git status", true },
		{ "git log --oneline | head -3; git diff | grep -c x", true },
		{ "timeout 5 git status && ls", true },
		{ "ls", false },
		{ "python3 -c 'print(1)' # git", false },
		{ "git status; python3 -c 'print(1)'", false },
		{ "git status; awk '{print}' f", false },
		{ "git ls-files | xargs cat", false },
		{ "git status; cat $(echo f)", false },
		{ "echo git; python3 -c 'print(1)'", false },
		{ "cat .git/HEAD", false },
	};
	struct jail j;
	struct profile reads;

	jail_open(&j);
	const char *sub = arena_printf(&j.arena, "%s/deep", j.work);
	const char *dirs[] = { sub, NULL };
	j.env.dirs = dirs;
	j.env.cwd = j.env.root = sub;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		jail_profile_in(&j, HOLD_READS, NULL, sub, cases[i].command, &reads);
		if (profile_may_read(&reads, arena_printf(&j.arena, "%s/f.txt", j.work)) != cases[i].read)
			fail_msg("%s", cases[i].command);
		CHECK(profile_may_read(&reads, arena_printf(&j.arena, "%s/.git/HEAD", j.work)));
	}
	jail_close(&j);
}

#define WORKTREE \
	"git init -q ../out/r && git -C ../out/r commit -q --allow-empty -m x && git -C ../out/r worktree add -q ../../work/w && mv w/.git .git"

/* What .git of a stranger names is opened if it names the checkout itself, or the user trusts the folder. */
TEST(a_git_directory_elsewhere_is_opened_if_it_is_of_the_checkout)
{
	static const struct {
		const char *make, *path; /* below the jail */
		bool read, trusted;
	} cases[] = {
		{ "echo \"gitdir: $OUT\" >.git", "out/secret", false, true },
		{ "echo 'gitdir: ../out' >.git", "out/secret", false, true },
		{ "ln -s ../out .git", "out/secret", false, true },
		{ "git init -q . && echo \"$OUT\" >.git/objects/info/alternates", "out/secret", false, true },
		{ "git init -q ../out/other && echo 'gitdir: ../out/other/.git' >.git", "out/other/.git/HEAD", false,
		  true },
		{ "mkdir ../out/m && printf '[core]\\n\\tworktree = ../../work\\n' >../out/m/config && echo 'gitdir: ../out/m' >.git",
		  "out/m/config", true, true },
		{ "mkdir ../out/m && printf '[core]\\n\\tworktree = ../../home\\n' >../out/m/config && echo 'gitdir: ../out/m' >.git",
		  "out/m/config", false, true },
		{ WORKTREE, "out/r/.git/worktrees/w/HEAD", false, true },
		{ WORKTREE " && echo \"$PWD/.git\" >../out/r/.git/worktrees/w/gitdir", "out/r/.git/HEAD", true, true },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct jail j;
		struct profile reads;
		jail_open(&j);
		AUTO_BUF struct buf command = { 0 };
		buf_addf(&command, "rm -rf .git; %s", cases[i].make);
		if (!jail_run(&j, command.p, BELIEF_NONE) || j.status != 0)
			fail_msg("%s: %.*s", cases[i].make, (int)j.output.n, j.output.p);
		for (int trusted = 0; trusted < 2; trusted++) {
			j.permission.trusted = trusted;
			jail_profile(&j, HOLD_READS, NULL, &reads);
			bool read = profile_may_read(&reads, arena_printf(&j.arena, "%s/%s", j.dir, cases[i].path));
			if (read != (trusted ? cases[i].trusted : cases[i].read))
				fail_msg("%s: %s is %sread, trusted %d", cases[i].make, cases[i].path,
					 read ? "" : "not ", trusted);
		}
		jail_close(&j);
	}
}

/* The directory that a command is in is another's word: of one that leads out, not even git's files are opened. */
TEST(git_of_the_directory_that_a_command_is_in_is_opened_if_that_is_a_working_directory)
{
	static const struct {
		const char *cwd, *git; /* below the jail */
		bool read;
	} cases[] = {
		{ "work/sub", "out/other/.git/worktrees/w/HEAD", true },
		{ "work/link", "out/other/.git/HEAD", false },
		{ "work/../out/other", "out/other/.git/HEAD", false },
		{ "out/other", "out/other/.git/HEAD", false },
	};
	struct jail j;
	struct profile reads;

	jail_open(&j);
	if (!jail_run(&j,
		      "git init -q ../out/other && git -C ../out/other commit -q --allow-empty -m x && "
		      "git -C ../out/other worktree add -q ../../work/w && ln -s ../out/other link && "
		      "git -C ../out/other worktree move ../../work/w ../../work/sub",
		      BELIEF_NONE) ||
	    j.status != 0)
		fail_msg("%.*s", (int)j.output.n, j.output.p);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		jail_profile_in(&j, HOLD_READS, NULL, arena_printf(&j.arena, "%s/%s", j.dir, cases[i].cwd), "git log",
				&reads);
		if (profile_may_read(&reads, arena_printf(&j.arena, "%s/%s", j.dir, cases[i].git)) != cases[i].read)
			fail_msg("%s", cases[i].cwd);
	}
	jail_close(&j);
}

TEST(a_deny_from_above_takes_what_is_writable_below_it)
{
	struct jail j;
	jail_open(&j);
	const char *all[] = { "/", NULL };
	const char *outs[] = { j.out, NULL };
	struct sandbox_policy policy = { .enabled = true, .allow_write = outs, .deny_write = all };
	struct profile inside;

	jail_profile(&j, HOLD_INSIDE, &policy, &inside);

	CHECK(!profile_may_write(&inside, arena_printf(&j.arena, "%s/f", j.out)));
	CHECK(!profile_may_write(&inside, arena_printf(&j.arena, "%s/f.txt", j.work)));
	CHECK(profile_may_write(&inside, arena_printf(&j.arena, "%s/tmp/f", j.dir)));
	jail_close(&j);
}

TEST(a_root_that_is_too_wide_is_refused_with_the_key_that_helps)
{
	struct jail j;
	jail_open(&j);
	struct paths programs = { 0 };
	struct profile p;
	struct err err = { 0 };
	const char *wide[] = { "/", NULL };
	j.env.dirs = wide;
	struct find_tree *trees = NULL;
	struct profile_facts facts = { .hold = HOLD_EDITS,
				       .trees = &trees,
				       .env = &j.env,
				       .cwd = "/",
				       .command = "ls",
				       .temp_dir = j.dir,
				       .programs = &programs,
				       .home = j.home };

	CHECK_INT(profile_make(&p, &j.arena, &facts, &err), -ERR_LIMIT);
	CHECK(str_has(str_from(err.text), STR("sandbox.filesystem.allowWrite")));
	jail_close(&j);
}

/* Which files programs are is known from an earlier command; what is hidden must follow when one of them becomes a link. */
TEST(a_directory_of_programs_that_comes_to_lead_to_a_secret_hides_it)
{
	struct jail j;
	jail_open(&j);
	struct paths programs = { 0 };
	struct profile p;
	struct err err = { 0 };
	const char *tools = arena_printf(&j.arena, "%s/tools", j.dir);
	const char *secret = arena_printf(&j.arena, "%s/.claude.json", j.home);
	file_put(secret, STR("{}"));
	CHECK_INT(mkdir(tools, 0755), 0);
	profile_programs(&programs, &j.arena, tools, j.home, NULL);
	struct file_id *ids = arena_calloc(&j.arena, programs.count * sizeof *ids);
	CHECK(profile_identify(&programs, ids) && !profile_identify(&programs, ids));
	struct find_tree *trees = NULL;
	struct profile_facts facts = { .hold = HOLD_READS,
				       .trees = &trees,
				       .env = &j.env,
				       .cwd = j.work,
				       .command = "ls",
				       .temp_dir = arena_printf(&j.arena, "%s/tmp", j.dir),
				       .programs = &programs,
				       .program_ids = ids,
				       .home = j.home };

	CHECK_INT(profile_make(&p, &j.arena, &facts, &err), 0);
	CHECK(!paths_hold(&p.hides, secret));
	CHECK_INT(rmdir(tools), 0);
	CHECK_INT(symlink(j.home, tools), 0);
	CHECK(profile_identify(&programs, ids));
	CHECK_INT(profile_make(&p, &j.arena, &facts, &err), 0);

	CHECK(paths_hold(&p.hides, secret));
	find_forget(&trees, 0);
	jail_close(&j);
}

/* An interpreter finds its libraries by the configuration beside its directory, and others of that name are none. */
TEST(programs_of_a_path_bring_what_they_need_and_not_what_stands_beside_them)
{
	static const struct {
		const char *dir, *path;
		bool read;
	} cases[] = {
		{ "out/venv/bin", "out/venv/bin/python3", true },
		{ "out/venv/bin", "out/venv/pyvenv.cfg", true },
		{ "out/venv/bin", "out/venv/lib/python3/x.py", true },
		{ "out/venv/bin", "out/venv/secret", false },
		{ "out/venv/tools", "out/venv/pyvenv.cfg", false },
		{ "home/bin", "home/lib/x", true },
		{ "home/bin", "home/pyvenv.cfg", false },
		{ "home/bin", "home/share/x", false },
		{ "home/.local/bin", "home/.local/share/x", false },
		{ "home/.nvm/v1/bin", "home/.nvm/v2/x", true },
	};
	struct jail j;

	jail_open(&j);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct paths programs = { 0 };
		profile_programs(&programs, &j.arena, arena_printf(&j.arena, "/bin:%s/%s", j.dir, cases[i].dir), j.home,
				 NULL);
		if (paths_hold(&programs, arena_printf(&j.arena, "%s/%s", j.dir, cases[i].path)) != cases[i].read)
			fail_msg("%s: %s", cases[i].dir, cases[i].path);
	}
	jail_close(&j);
}

/* Who may write around a place that a rule names can put a link there. */
TEST(a_rule_that_allows_reading_opens_nothing_by_a_link)
{
	static const char *const rules[] = { "Read(//%s/named/**)", "Read(//%s/named/.ssh/*)", "Read(//%s/named)" };
	struct jail j;

	jail_open(&j);
	const char *key = arena_printf(&j.arena, "%s/.ssh/id", j.home);
	CHECK_INT(symlink(j.home, arena_printf(&j.arena, "%s/named", j.out)), 0);
	for (size_t i = 0; i < COUNT_OF(rules); i++) {
		AUTO_BUF struct buf rule = { 0 };
		struct profile reads;
		for (const char *p = rules[i]; *p; p++)
			if (!strncmp(p, "%s", 2))
				buf_addstr(&rule, j.out + 1), p++;
			else
				buf_addch(&rule, *p);
		jail_add_rule(&j, RULE_ALLOW, rule.p);
		jail_profile_in(&j, HOLD_READS, NULL, j.work, arena_printf(&j.arena, "cat %s/named/.ssh/id", j.out),
				&reads);
		if (profile_may_read(&reads, key))
			fail_msg("%s", rule.p);
	}
	jail_close(&j);
}

int test_profile(void)
{
	return RUN_TESTS(T(each_profile_holds_what_was_believed),
			 T(limits_of_an_ancestor_narrow_what_may_be_read_and_written),
			 T(a_rule_that_allows_reading_opens_what_it_names),
			 T(a_rule_with_a_wildcard_opens_only_what_it_matches_of_the_files_that_are_named),
			 T(a_rule_that_denies_with_a_wildcard_hides_what_it_matches_anywhere),
			 T(the_rest_of_a_checkout_is_open_to_git_alone),
			 T(a_git_directory_elsewhere_is_opened_if_it_is_of_the_checkout),
			 T(git_of_the_directory_that_a_command_is_in_is_opened_if_that_is_a_working_directory),
			 T(a_deny_from_above_takes_what_is_writable_below_it),
			 T(a_root_that_is_too_wide_is_refused_with_the_key_that_helps),
			 T(a_directory_of_programs_that_comes_to_lead_to_a_secret_hides_it),
			 T(programs_of_a_path_bring_what_they_need_and_not_what_stands_beside_them),
			 T(a_rule_that_allows_reading_opens_nothing_by_a_link));
}
