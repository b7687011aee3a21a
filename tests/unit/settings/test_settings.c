/* SPDX-License-Identifier: MIT
 * test_settings.c - instruction files, where they are and what of them counts; what git's files tell. */
#include "unit.h"
#include <sys/stat.h>
#include "lib/io/file.h"
#include "lib/git/git_head.h"
#include "config/settings/instructions.h"
#include "tests.h"

struct stage {
	char dir[FOLDER_MAX];
	struct arena arena;
	struct buf out, notes;
};

static void stage_init(struct stage *s)
{

	*s = (struct stage){ 0 };
	folder_make(s->dir);
	buf_addstr(&s->out, "");
	buf_addstr(&s->notes, "");
}

static void stage_release(struct stage *s)
{
	folder_remove(s->dir);
	arena_release(&s->arena);
	buf_release(&s->out);
	buf_release(&s->notes);
}

static char *path(struct stage *s, const char *name)
{
	return path_join(&s->arena, s->dir, name);
}

static void put(struct stage *s, const char *name, const char *text)
{
	file_put(path(s, name), str_from(text));
}

static void collect(struct stage *s, size_t limit_bytes)
{
	instructions_collect(&s->out, &s->notes,
			     &(struct instructions_spec){ .cwd = path(s, "top/project"),
							  .config_dir = path(s, "config"),
							  .managed_dir = path(s, "managed"),
							  .limit_bytes = limit_bytes });
}

/* The texts without the lines that name their files. */
static char *texts(struct stage *s)
{
	AUTO_BUF struct buf out = { 0 };
	struct str rest = buf_str(&s->out);

	while (rest.p) {
		struct str line = str_cut(&rest, '\n');
		if (line.n && !str_starts(line, STR("Contents of ")))
			buf_addf(&out, "%s" STR_FMT, out.n ? "|" : "", STR_ARG(line));
	}
	return arena_dup(&s->arena, out.p, out.n);
}

TEST(the_nearest_instructions_come_last)
{
	struct stage s;
	stage_init(&s);
	put(&s, "managed/CLAUDE.md", "managed");
	put(&s, "config/CLAUDE.md", "user");
	put(&s, "config/rules/b.md", "user rule b");
	put(&s, "config/rules/a/deep.md", "user rule a/deep");
	put(&s, "top/CLAUDE.md", "top");
	put(&s, "top/project/CLAUDE.md", "project");
	put(&s, "top/project/.claude/CLAUDE.md", "project .claude");
	put(&s, "top/project/.claude/rules/r.md", "project rule");
	put(&s, "top/project/.claude/rules/r.txt", "no rule");
	put(&s, "top/project/.claude/rules/.hidden.md", "no rule");
	put(&s, "top/project/CLAUDE.local.md", "local");
	put(&s, "top/project/below/CLAUDE.md", "below");

	collect(&s, 0);

	CHECK_CSTR(texts(&s),
		   "managed|user|user rule a/deep|user rule b|top|project|project .claude|project rule|local");
	CHECK_CSTR(s.notes.p, "");
	CHECK(strstr(s.out.p, "top/project/CLAUDE.md (project instructions):\n\nproject\n") != NULL);
	stage_release(&s);
}

TEST(nothing_found_is_nothing_said)
{
	struct stage s;
	stage_init(&s);

	collect(&s, 0);

	CHECK_INT(s.out.n, 0);
	CHECK_INT(s.notes.n, 0);
	stage_release(&s);
}

TEST(imports_follow_their_file_once_and_four_hops_deep)
{
	struct stage s;
	stage_init(&s);
	put(&s, "top/project/CLAUDE.md", "root\n@docs/1.md and (@docs/twice.md), see @missing.md.");
	put(&s, "top/project/docs/1.md", "one @2.md");
	put(&s, "top/project/docs/2.md", "two @./3.md @../CLAUDE.md");
	put(&s, "top/project/docs/3.md", "three @4.md @twice.md");
	put(&s, "top/project/docs/4.md", "four @5.md");
	put(&s, "top/project/docs/5.md", "five");
	put(&s, "top/project/docs/twice.md", "once");

	collect(&s, 0);

	CHECK_CSTR(texts(&s),
		   "root|@docs/1.md and (@docs/twice.md), see @missing.md.|one @2.md|two @./3.md @../CLAUDE.md|"
		   "three @4.md @twice.md|four @5.md|once");
	CHECK(strstr(s.notes.p, "top/project/docs/4.md imports ") != NULL);
	CHECK(str_ends(buf_str(&s.notes),
		       STR("top/project/docs/5.md: not read, files import one another 4 deep at most\n")));
	CHECK(strchr(s.notes.p, '\n') == s.notes.p + s.notes.n - 1);
	stage_release(&s);
}

TEST(rules_beyond_the_most_and_too_deep_are_named_once)
{
	struct stage s;
	stage_init(&s);
	for (unsigned i = 0; i < 203; i++)
		put(&s, arena_printf(&s.arena, "config/rules/%03u.md", i), "rule");
	put(&s, "top/project/.claude/rules/1/2/3/4/5/6/7/8/deep.md", "deep");

	collect(&s, 0);

	CHECK(strstr(s.out.p, "rules/199.md") && !strstr(s.out.p, "rules/200.md") && !strstr(s.out.p, "deep.md"));
	CHECK(strstr(s.notes.p, "rules/200.md and what follows is left out: there are more than 200 rules\n") != NULL);
	CHECK(strstr(s.notes.p, "6/7/8: not read, directories of rules are 8 deep at most\n") != NULL);
	CHECK(!strstr(s.notes.p, "rules/201.md"));
	stage_release(&s);
}

TEST(an_import_that_leads_out_of_its_directory_is_refused_and_said)
{
	struct stage s;
	stage_init(&s);
	put(&s, "secret.md", "secret");
	put(&s, "top/project/CLAUDE.md", "project @../../secret.md @../gone.md");
	put(&s, "config/CLAUDE.md", "user @../user-import.md");
	put(&s, "user-import.md", "imported by the user");

	collect(&s, 0);

	CHECK_CSTR(texts(&s), "user @../user-import.md|imported by the user|project @../../secret.md @../gone.md");
	CHECK(strstr(s.notes.p, "secret.md, which is outside its directory") != NULL);
	CHECK(!strstr(s.notes.p, "gone.md"));
	stage_release(&s);
}

TEST(a_file_above_the_project_may_import_from_beside_itself)
{
	struct stage s;
	stage_init(&s);
	put(&s, "top/CLAUDE.md", "top @docs/style.md @../secret.md");
	put(&s, "top/docs/style.md", "style");
	put(&s, "secret.md", "secret");

	collect(&s, 0);

	CHECK_CSTR(texts(&s), "top @docs/style.md @../secret.md|style");
	CHECK(strstr(s.notes.p, "secret.md, which is outside its directory") != NULL);
	stage_release(&s);
}

TEST(an_import_inside_a_comment_is_none)
{
	struct stage s;
	stage_init(&s);
	put(&s, "top/project/CLAUDE.md", "text\n<!--\n@a.md\n-->\n<!-- @a.md -->");
	put(&s, "top/project/a.md", "imported");

	collect(&s, 0);

	CHECK_CSTR(texts(&s), "text");
	stage_release(&s);
}

TEST(a_file_of_comments_only_is_nothing)
{
	static const char *const files[] = { "<!-- only -->", "<!-- never closed",       "<!--\n-->", "",
					     "\n\n",          "---\npaths: x\n---\ntext" };

	for (size_t i = 0; i < COUNT_OF(files); i++) {
		struct stage s;
		stage_init(&s);
		put(&s, "top/project/CLAUDE.md", files[i]);
		collect(&s, 0);
		CHECK_INT(s.out.n, 0);
		stage_release(&s);
	}
}

TEST(rules_for_certain_files_are_not_loaded)
{
	struct stage s;
	stage_init(&s);
	put(&s, "top/project/.claude/rules/a.md", "---\ndescription: x\npaths: [\"*.c\"]\n---\nfor C");
	put(&s, "top/project/.claude/rules/b.md", "---\r\ndescription: x\r\n---\r\nfor all");
	put(&s, "top/project/.claude/rules/c.md", "---\nno frontmatter");

	collect(&s, 0);

	CHECK_CSTR(texts(&s), "for all|---|no frontmatter");
	stage_release(&s);
}

TEST(a_nul_does_not_hide_what_follows)
{
	struct stage s;
	struct err err = { 0 };
	stage_init(&s);
	put(&s, "top/project/CLAUDE.md", "x");
	CHECK_INT(file_replace(path(&s, "top/project/CLAUDE.md"), "before\0after", 12, &err), 0);

	collect(&s, 0);

	CHECK(str_has(buf_str(&s.out), (struct str){ "before\0after", 12 }));
	stage_release(&s);
}

TEST(files_beyond_the_limit_are_left_out_and_named)
{
	struct stage s;
	stage_init(&s);
	put(&s, "config/CLAUDE.md", "short");
	put(&s, "top/project/CLAUDE.md",
	    "a text that is much longer than the limit that is left for it, by any measure, surely so, "
	    "even with the line that names the file before it");

	collect(&s, 150);

	CHECK_CSTR(texts(&s), "short");
	CHECK(strstr(s.notes.p, "top/project/CLAUDE.md is left out") != NULL);
	stage_release(&s);
}

TEST(a_file_that_cannot_be_read_is_named)
{
	struct stage s;
	struct err err = { 0 };
	stage_init(&s);
	CHECK_INT(file_make_dirs(path(&s, "top/project/CLAUDE.md"), 0700, &err), 0);

	collect(&s, 0);

	CHECK(strstr(s.notes.p, "top/project/CLAUDE.md") != NULL);
	stage_release(&s);
}

TEST(excluded_files_do_not_count_but_what_is_managed_does)
{
	struct stage s;
	stage_init(&s);
	put(&s, "managed/CLAUDE.md", "managed");
	put(&s, "config/CLAUDE.md", "user");
	put(&s, "top/CLAUDE.md", "top");
	put(&s, "top/project/CLAUDE.md", "project @more.md");
	put(&s, "top/project/more.md", "more");
	const char *excludes[] = { "**/CLAUDE.md", path(&s, "top/project/more.md"), "[", NULL };

	instructions_collect(&s.out, &s.notes,
			     &(struct instructions_spec){ .cwd = path(&s, "top/project"),
							  .config_dir = path(&s, "config"),
							  .managed_dir = path(&s, "managed"),
							  .managed_text = "of the settings",
							  .excludes = excludes });

	CHECK_CSTR(texts(&s), "managed|of the settings");
	stage_release(&s);
}

static const struct {
	const char *text, *expected;
} cleaned[] = {
	{ "a\nb", "a\nb" },
	{ "  \na\n\n", "a" },
	{ "a\n<!-- gone -->\nb", "a\nb" },
	{ "a\n  <!-- gone\nstill gone\ngone --> \nb", "a\nb" },
	{ "a <!-- stays --> b", "a <!-- stays --> b" },
	{ "```\n<!-- stays -->\n```\n<!-- gone -->", "```\n<!-- stays -->\n```" },
	{ "~~~\n<!-- stays -->\n~~~", "~~~\n<!-- stays -->\n~~~" },
	{ "<!--\n```\n-->\n<!-- gone -->\na", "a" },
	{ "<!-- gone -->", "" },
	{ "", "" },
};

TEST(comments_that_stand_alone_are_left_out)
{
	for (size_t i = 0; i < COUNT_OF(cleaned); i++) {
		AUTO_BUF struct buf out = { 0 };
		buf_addstr(&out, "kept:");
		instruction_clean(&out, str_from(cleaned[i].text));
		CHECK(str_starts(buf_str(&out), STR("kept:")));
		CHECK_CSTR(out.p + 5, cleaned[i].expected);
	}
}

static void note_import(void *data, struct str target, const char *from, unsigned hops)
{
	CHECK_CSTR(from, "/f");
	CHECK_INT(hops, 2);
	buf_addf(data, STR_FMT "|", STR_ARG(target));
}

TEST(imports_are_found_outside_code_only)
{
	static const struct {
		const char *text, *expected;
	} table[] = {
		{ "@a.md", "a.md|" },
		{ "see @a.md and\t@b/c.md, (@d.md) @~/e.md.", "a.md|b/c.md|d.md|~/e.md|" },
		{ "me@example.com `@no.md` @ @.", "" },
		{ "```\n@no.md\n```\n@a.md", "a.md|" },
		{ "text\r\n@a.md\r\n", "a.md|" },
		{ "a `b @no.md` @c.md `d` @e.md", "c.md|e.md|" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_BUF struct buf out = { 0 };
		buf_addstr(&out, "");
		instruction_imports(str_from(table[i].text), "/f", 2, note_import, &out);
		CHECK_CSTR(out.p, table[i].expected);
	}
}

TEST(the_root_of_a_repository_is_the_nearest_above)
{
	struct stage s;
	stage_init(&s);
	put(&s, "repo/.git/HEAD", "ref: refs/heads/main\n");
	put(&s, "repo/sub/.git", "gitdir: ../.git/modules/sub\n");
	put(&s, "repo/sub/deep/x", "");
	put(&s, "repo/other/x", "");

	CHECK_CSTR(git_root(&s.arena, path(&s, "repo/other")), path(&s, "repo"));
	CHECK_CSTR(git_root(&s.arena, path(&s, "repo")), path(&s, "repo"));
	CHECK_CSTR(git_root(&s.arena, path(&s, "repo/sub/deep")), path(&s, "repo/sub"));
	CHECK(git_root(&s.arena, path(&s, "")) == NULL);
	CHECK(git_root(&s.arena, "/") == NULL);
	stage_release(&s);
}

TEST(the_branch_is_what_head_says)
{
	static const struct {
		const char *head, *branch;
	} table[] = {
		{ "ref: refs/heads/main\n", "main" },
		{ "ref: refs/heads/feature/a-b\n", "feature/a-b" },
		{ "0123456789abcdef0123456789abcdef01234567\n", "0123456789ab" },
		{ "", "" },
	};
	struct stage s;
	stage_init(&s);

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		put(&s, "repo/.git/HEAD", table[i].head);
		CHECK_CSTR(git_branch(&s.arena, path(&s, "repo")), table[i].branch);
	}
	CHECK_CSTR(git_branch(&s.arena, path(&s, "none")), "");
	stage_release(&s);
}

TEST(a_linked_worktree_has_a_branch_of_its_own)
{
	struct stage s;
	stage_init(&s);
	put(&s, "repo/.git/HEAD", "ref: refs/heads/main\n");
	put(&s, "repo/.git/worktrees/w/HEAD", "ref: refs/heads/of-the-worktree\n");
	put(&s, "w/.git", arena_printf(&s.arena, "gitdir: %s\n", path(&s, "repo/.git/worktrees/w")));
	put(&s, "repo/relative/.git", "gitdir: ../.git/worktrees/w\n");

	CHECK_CSTR(git_branch(&s.arena, path(&s, "w")), "of-the-worktree");
	CHECK_CSTR(git_branch(&s.arena, path(&s, "repo/relative")), "of-the-worktree");
	CHECK_CSTR(git_branch(&s.arena, path(&s, "repo")), "main");
	stage_release(&s);
}

int main(void)
{
	RUN_TESTS(T(the_nearest_instructions_come_last), T(nothing_found_is_nothing_said),
		  T(imports_follow_their_file_once_and_four_hops_deep),
		  T(rules_beyond_the_most_and_too_deep_are_named_once),
		  T(an_import_that_leads_out_of_its_directory_is_refused_and_said),
		  T(a_file_above_the_project_may_import_from_beside_itself), T(an_import_inside_a_comment_is_none),
		  T(a_file_of_comments_only_is_nothing), T(rules_for_certain_files_are_not_loaded),
		  T(a_nul_does_not_hide_what_follows), T(files_beyond_the_limit_are_left_out_and_named),
		  T(a_file_that_cannot_be_read_is_named), T(excluded_files_do_not_count_but_what_is_managed_does),
		  T(excluded_files_do_not_count_but_what_is_managed_does), T(comments_that_stand_alone_are_left_out),
		  T(imports_are_found_outside_code_only), T(the_root_of_a_repository_is_the_nearest_above),
		  T(the_branch_is_what_head_says), T(a_linked_worktree_has_a_branch_of_its_own));
	test_belief();
	test_frontmatter();
	test_git_index();
	test_env();
	test_layers();
	test_store();
	test_trust();
	return tests_run();
}
