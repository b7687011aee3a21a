/* SPDX-License-Identifier: MIT
 * test_walk.c - the directory walk; ripgrep's list of files is the oracle. */
#include "unit.h"
#include <pthread.h>
#include <sys/stat.h>
#include "lib/io/file.h"
#include "tests.h"
#include "toolbox.h"
#include "tools/search/walk.h"

#define BOX(box)                                   \
	CLEANUP(toolbox_close) struct toolbox box; \
	toolbox_open(&box)

struct listing {
	pthread_mutex_t lock;
	char *paths[4096];
	size_t count;
	size_t base;
	size_t stop_after;
};

static bool on_file(void *data, unsigned worker, struct str path)
{
	struct listing *l = data;

	pthread_mutex_lock(&l->lock);
	assert_true(l->count < COUNT_OF(l->paths));
	l->paths[l->count++] = xstrdup(path.p + l->base);
	bool more = !l->stop_after || l->count < l->stop_after;
	pthread_mutex_unlock(&l->lock);
	return more;
}

static int by_path(const void *a, const void *b)
{
	return path_compare(*(char *const *)a, *(char *const *)b);
}

/* The walked paths below the box, sorted, one a line. */
static int list(struct toolbox *box, struct walk_options o, size_t stop_after, struct buf *out)
{
	struct listing l = { .lock = PTHREAD_MUTEX_INITIALIZER,
			     .base = strlen(box->dir) + 1,
			     .stop_after = stop_after };

	o.root = o.root ? o.root : box->dir;
	o.home = box->dir;
	o.threads = 4;
	o.visit = on_file;
	o.data = &l;
	int rc = walk_run(&o, NULL);
	qsort(l.paths, l.count, sizeof *l.paths, by_path);
	for (size_t i = 0; i < l.count; i++) {
		buf_addf(out, "%s\n", l.paths[i]);
		free(l.paths[i]);
	}
	return rc;
}

static void check_list(struct toolbox *box, struct walk_options o, const char *expected)
{
	AUTO_BUF struct buf out = { 0 };

	CHECK_INT(list(box, o, 0, &out), 0);
	CHECK_STR(buf_str(&out), expected);
}

TEST(ignore_files_hold_for_their_directory_and_below_and_hidden_names_are_left_out)
{
	BOX(box);
	toolbox_put(&box, ".git/config", "");
	toolbox_put(&box, ".gitignore", "*.o\n/top\nbuild/\n");
	toolbox_put(&box, "a.o", "");
	toolbox_put(&box, "a.c", "");
	toolbox_put(&box, "top", "");
	toolbox_put(&box, "sub/top", "");
	toolbox_put(&box, "sub/.gitignore", "!keep.o\nx.c\n!.seen\n");
	toolbox_put(&box, "sub/keep.o", "");
	toolbox_put(&box, "sub/x.c", "");
	toolbox_put(&box, "sub/.seen", "");
	toolbox_put(&box, "sub/.unseen", "");
	toolbox_put(&box, "build/x.c", "");
	toolbox_put(&box, "x.c", "");

	check_list(&box, (struct walk_options){ 0 }, "a.c\nsub/.seen\nsub/keep.o\nsub/top\nx.c\n");
	check_list(&box, (struct walk_options){ .root = toolbox_path(&box, "sub") },
		   "sub/.seen\nsub/keep.o\nsub/top\n");
	check_list(&box, (struct walk_options){ .root = toolbox_path(&box, "build") }, "build/x.c\n");
	check_list(&box, (struct walk_options){ .hidden = true, .root = toolbox_path(&box, "sub") },
		   "sub/.gitignore\nsub/.seen\nsub/.unseen\nsub/keep.o\nsub/top\n");
}

TEST(rules_of_git_need_a_repository_and_end_at_its_root)
{
	BOX(box);
	toolbox_put(&box, ".gitignore", "a\n");
	toolbox_put(&box, ".ignore", "b\n");
	toolbox_put(&box, "a", "");
	toolbox_put(&box, "b", "");
	check_list(&box, (struct walk_options){ 0 }, "a\n");

	toolbox_put(&box, ".git/HEAD", "");
	toolbox_put(&box, "inner/.git/HEAD", "");
	toolbox_put(&box, "inner/a", "");
	toolbox_put(&box, "inner/b", "");
	check_list(&box, (struct walk_options){ 0 }, "inner/a\n");
}

TEST(the_stronger_kind_of_ignore_file_wins)
{
	BOX(box);
	toolbox_put(&box, ".git/info/exclude", "e*\n");
	toolbox_put(&box, ".gitignore", "g*\n!e2\n");
	toolbox_put(&box, ".ignore", "!g2\ni*\n");
	toolbox_put(&box, ".rgignore", "!i2\n!g3\n");
	static const char *const names[] = { "e1", "e2", "g1", "g2", "g3", "i1", "i2", "z" };
	for (size_t i = 0; i < COUNT_OF(names); i++)
		toolbox_put(&box, names[i], "");

	check_list(&box, (struct walk_options){ 0 }, "e2\ng2\ng3\ni2\nz\n");
	check_list(&box, (struct walk_options){ .no_ignore = true }, "e1\ne2\ng1\ng2\ng3\ni1\ni2\nz\n");
}

TEST(the_users_excludes_file_holds_in_repositories)
{
	BOX(box);
	toolbox_put(&box, ".gitconfig", "[core]\n\texcludesFile = ~/.my-ignores\n");
	toolbox_put(&box, ".my-ignores", "*.bak\n");
	toolbox_put(&box, "r/.git/HEAD", "");
	toolbox_put(&box, "r/a.bak", "");
	toolbox_put(&box, "b.bak", "");

	check_list(&box, (struct walk_options){ 0 }, "b.bak\n");
}

TEST(a_worktree_has_the_excludes_of_its_repository)
{
	BOX(box);
	toolbox_put(&box, "main/.git/info/exclude", "secret\n");
	toolbox_put(&box, "main/.git/worktrees/w/commondir", "../..\n");
	toolbox_put(&box, "w/.git", arena_printf(&box.arena, "gitdir: %s/main/.git/worktrees/w\n", box.dir));
	toolbox_put(&box, "w/secret", "");
	toolbox_put(&box, "w/open", "");

	check_list(&box, (struct walk_options){ .root = toolbox_path(&box, "w") }, "w/open\n");
}

TEST(links_and_pipes_are_not_visited)
{
	BOX(box);
	toolbox_put(&box, "d/file", "");
	CHECK_INT(symlink("..", toolbox_path(&box, "d/up")), 0);
	CHECK_INT(symlink("file", toolbox_path(&box, "d/link")), 0);
	CHECK_INT(mkfifo(toolbox_path(&box, "d/pipe"), 0600), 0);

	check_list(&box, (struct walk_options){ 0 }, "d/file\n");
}

TEST(a_walk_ends_early_when_the_visitor_or_the_caller_says_so)
{
	BOX(box);
	AUTO_BUF struct buf out = { 0 };
	atomic_bool stop = true;
	for (int i = 0; i < 500; i++) {
		char name[32];
		snprintf(name, sizeof name, "d%d/f%d", i % 20, i);
		toolbox_put(&box, name, "");
	}

	CHECK_INT(list(&box, (struct walk_options){ 0 }, 1, &out), 0);
	CHECK(out.n < 200);
	buf_clear(&out);
	CHECK_INT(list(&box, (struct walk_options){ .stop = &stop }, 0, &out), -ERR_CANCELLED);
	CHECK_INT(out.n, 0);
	CHECK_INT(list(&box, (struct walk_options){ .root = toolbox_path(&box, "none") }, 0, &out), -ERR_IO);
}

/* A small generator, so that a tree can be made again from its seed. */
static unsigned next_random(unsigned *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 10;
}

static const char *pick(unsigned *seed, const char *const *words, size_t count)
{
	return words[next_random(seed) % count];
}

static void random_tree(struct toolbox *box, unsigned *seed)
{
	static const char *const dirs[] = { "", "a/", "a/b/", "b/", "b/a/", ".h/", "a/.h/", "lib/", "lib/b/a/" };
	static const char *const names[] = { "a", "b", "x.c", "x.o", ".h", "ab", "lib", "a b", "[x]", "y.c.in" };
	static const char *const lists[] = { ".gitignore", ".ignore", ".rgignore" };
	static const char *const rules[] = {
		"a",   "b/",   "/a",      "*.o",     "!*.o",     "a/b",   "**/b",  "a/**", "**/a/*",
		"!a",  "x.*",  "[ab]",    "[!a]",    "!.h",      ".h",    "/lib/", "*",    "!*/",
		"!/b", "a?",   "\\[x\\]", "a\\ b",   "lib/**/a", "{a,b}", "x.c ",  "#a",   "",
		"*b",  "!x.c", "y.c*",    "/**/x.c", "b/*",      "a b",   "**",
	};

	for (int i = 0; i < 40; i++) {
		AUTO_BUF struct buf name = { 0 };
		buf_addf(&name, "%s%s", pick(seed, dirs, COUNT_OF(dirs)), pick(seed, names, COUNT_OF(names)));
		char *path = toolbox_path(box, name.p);
		if (file_make_parents(path, NULL) == 0 && !file_exists(path))
			toolbox_put(box, name.p, "");
	}
	if (next_random(seed) % 4)
		toolbox_put(box, ".git/HEAD", "");
	for (unsigned n = next_random(seed) % 4 + 1; n; n--) {
		AUTO_BUF struct buf name = { 0 };
		AUTO_BUF struct buf text = { 0 };
		buf_addf(&name, "%s%s", pick(seed, dirs, COUNT_OF(dirs)), pick(seed, lists, COUNT_OF(lists)));
		for (unsigned k = next_random(seed) % 4 + 1; k; k--)
			buf_addf(&text, "%s\n", pick(seed, rules, COUNT_OF(rules)));
		char *path = toolbox_path(box, name.p);
		if (file_make_parents(path, NULL) == 0 && !file_exists(path))
			toolbox_put(box, name.p, text.p);
	}
}

TEST(on_random_trees_the_walk_finds_what_ripgrep_finds)
{
	static const char *const rg[] = { "rg", "--no-config", "--files", "--sort", "path", NULL };

	for (unsigned round = 1; round <= 150; round++) {
		BOX(box);
		AUTO_BUF struct buf theirs = { 0 };
		AUTO_BUF struct buf ours = { 0 };
		unsigned seed = round;
		random_tree(&box, &seed);

		if (toolbox_program(&box, rg, &theirs) < 0)
			skip();
		CHECK_INT(list(&box, (struct walk_options){ 0 }, 0, &ours), 0);

		if (!str_eq(buf_str(&ours), buf_str(&theirs)))
			fail_msg("seed %u\nours:\n" STR_FMT "ripgrep:\n" STR_FMT, round, STR_ARG(buf_str(&ours)),
				 STR_ARG(buf_str(&theirs)));
	}
}

/* While the file of the root is visited, the directory beside it becomes a link. */
static bool swap_directory(void *data, unsigned worker, struct str path)
{
	struct toolbox *box = data;

	CHECK_STR(path, toolbox_path(box, "tree/a"));
	CHECK_INT(rename(toolbox_path(box, "tree/sub"), toolbox_path(box, "was")), 0);
	CHECK_INT(symlink(toolbox_path(box, "out"), toolbox_path(box, "tree/sub")), 0);
	return true;
}

TEST(what_becomes_a_link_after_it_was_judged_is_not_entered)
{
	BOX(box);
	AUTO_BUF struct buf out = { 0 };
	toolbox_put(&box, "out/secret", "");
	toolbox_put(&box, "tree/a", "");
	toolbox_put(&box, "tree/sub/b", "");
	toolbox_put(&box, "tree2/a", "");
	const char *tree2 = toolbox_path(&box, "tree2");

	struct walk_options o = { .root = toolbox_path(&box, "tree"),
				  .threads = 1,
				  .visit = swap_directory,
				  .data = &box,
				  .no_ignore = true };
	CHECK_INT(walk_run(&o, NULL), 0); /* swap_directory() saw no other file */
	CHECK_INT(rename(tree2, toolbox_path(&box, "was2")), 0);
	CHECK_INT(symlink(toolbox_path(&box, "out"), tree2), 0);
	CHECK_INT(list(&box, (struct walk_options){ .root = tree2, .target = tree2 }, 0, &out), -ERR_IO);
	CHECK_INT(out.n, 0);
	check_list(&box, (struct walk_options){ .root = tree2 }, "tree2/secret\n");
}

int test_walk(void)
{
	return RUN_TESTS(T(ignore_files_hold_for_their_directory_and_below_and_hidden_names_are_left_out),
			 T(rules_of_git_need_a_repository_and_end_at_its_root),
			 T(the_stronger_kind_of_ignore_file_wins), T(the_users_excludes_file_holds_in_repositories),
			 T(a_worktree_has_the_excludes_of_its_repository), T(links_and_pipes_are_not_visited),
			 T(what_becomes_a_link_after_it_was_judged_is_not_entered),
			 T(a_walk_ends_early_when_the_visitor_or_the_caller_says_so),
			 T(on_random_trees_the_walk_finds_what_ripgrep_finds));
}
