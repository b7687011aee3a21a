/* SPDX-License-Identifier: MIT
 * test_git_index.c - whether a file came with the repository. git itself makes the indexes. */
#include "stage.h"
#include "lib/io/file.h"
#include "lib/git/git_head.h"
#include "tests.h"

#define WANTED ".claude/settings.local.json"

static void open_repository(struct stage *s, const char *options)
{
	stage_init(s);
	stage_put(s, "repo/" WANTED, "{}");
	stage_put(s, "repo/a", "");
	stage_put(s, "repo/.claude/agents/x.md", "");
	stage_put(s, "repo/src/deep/er/file.c", "");
	stage_git(s, "repo", arena_printf(&s->arena, "git init -q %s .; git add a src .claude/agents", options));
}

TEST(a_file_is_known_once_git_has_it_whatever_the_version_of_the_index)
{
	static const char *const versions[] = { "2", "3", "4" };

	for (size_t i = 0; i < COUNT_OF(versions); i++) {
		struct stage s;
		open_repository(&s, "");
		stage_git(&s, "repo",
			  arena_printf(&s.arena, "git update-index --index-version %s; git add -N a", versions[i]));

		CHECK(!git_tracks(stage_path(&s, "repo"), WANTED));
		CHECK(git_tracks(stage_path(&s, "repo"), "src/deep/er/file.c"));
		stage_git(&s, "repo", "git add -f " WANTED);
		CHECK(git_tracks(stage_path(&s, "repo"), WANTED));
		stage_release(&s);
	}
}

TEST(long_hashes_and_linked_worktrees_are_read_too)
{
	struct stage s;
	open_repository(&s, "--object-format=sha256");

	stage_git(&s, "repo", "git -c user.name=n -c user.email=e commit -qm first; git worktree add -q ../tree");
	CHECK(!git_tracks(stage_path(&s, "repo"), WANTED));
	CHECK(!git_tracks(stage_path(&s, "tree"), WANTED));
	stage_git(&s, "repo", "cd ../tree; mkdir -p .claude; echo {} > " WANTED "; git add -f " WANTED);
	CHECK(!git_tracks(stage_path(&s, "repo"), WANTED));
	CHECK(git_tracks(stage_path(&s, "tree"), WANTED));
	stage_release(&s);
}

TEST(a_repository_without_an_index_has_no_files)
{
	struct stage s;
	stage_init(&s);

	CHECK(!git_tracks(stage_path(&s, "top"), WANTED));
	stage_release(&s);
}

TEST(what_cannot_be_known_counts_as_known_to_git)
{
	struct stage s;
	open_repository(&s, "");
	const char *index = stage_path(&s, "repo/.git/index");
	AUTO_BUF struct buf bytes = { 0 };
	struct err err = { 0 };
	CHECK_INT(file_read(index, 1 << 20, &bytes, &err), 0);
	size_t entries = bytes.n;

	stage_git(&s, "repo", "git update-index --split-index");
	CHECK(git_tracks(stage_path(&s, "repo"), WANTED));
	while (entries > 12 && memcmp(bytes.p + entries - 4, "TREE", 4) != 0)
		entries--;
	entries = entries > 12 ? entries - 4 : bytes.n - 20;
	for (size_t n = 0; n < entries; n++) {
		CHECK_INT(file_replace(index, bytes.p, n, &err), 0);
		CHECK(git_tracks(stage_path(&s, "repo"), WANTED));
	}
	stage_release(&s);
}

TEST(broken_bytes_are_survived)
{
	struct stage s;
	open_repository(&s, "");
	stage_git(&s, "repo", "git update-index --index-version 4");
	const char *index = stage_path(&s, "repo/.git/index");
	AUTO_BUF struct buf bytes = { 0 };
	struct err err = { 0 };
	CHECK_INT(file_read(index, 1 << 20, &bytes, &err), 0);

	for (size_t i = 0; i < bytes.n; i++) {
		char was = bytes.p[i];
		bytes.p[i] = (char)0xff;
		CHECK_INT(file_replace(index, bytes.p, bytes.n, &err), 0);
		bool known = git_tracks(stage_path(&s, "repo"), WANTED);
		CHECK(known || i >= 12); /* a broken head is never believed */
		bytes.p[i] = was;
	}
	stage_release(&s);
}

int test_git_index(void)
{
	return RUN_TESTS(T(a_file_is_known_once_git_has_it_whatever_the_version_of_the_index),
			 T(long_hashes_and_linked_worktrees_are_read_too),
			 T(a_repository_without_an_index_has_no_files), T(what_cannot_be_known_counts_as_known_to_git),
			 T(broken_bytes_are_survived));
}
