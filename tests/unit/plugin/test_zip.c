/* SPDX-License-Identifier: MIT
 * test_zip.c - archives of strangers. */
#include "stage.h"
#include <sys/stat.h>
#include "lib/io/file.h"
#include "defs/plugin/archive.h"
#include "defs/plugin/unpack.h"
#include "defs/plugin/zip.h"
#include "tests.h"
#include "zip_maker.h"

static const struct zip_file good[] = {
	{ .name = ".claude-plugin/", .text = "", .mode = 040755 },
	{ .name = ".claude-plugin/plugin.json",
	  .text = "{\"name\":\"zipped\",\"version\":\"1.0.0\"}",
	  .deflated = true },
	{ .name = "agents/a.md", .text = "---\nname: a\ndescription: d\n---\nx\n", .mode = 0100666 },
	{ .name = "bin/run", .text = "#!/bin/sh\n", .mode = 0104777, .deflated = true },
};

TEST(files_come_out_as_they_went_in_but_for_their_modes)
{
	struct stage s;
	AUTO_BUF struct buf zip = { 0 };
	AUTO_BUF struct buf text = { 0 };
	struct err err = { 0 };
	struct stat st;
	stage_init(&s);
	zip_make(&zip, good, COUNT_OF(good));

	CHECK_INT(zip_unpack(buf_str(&zip), stage_path(&s, "work"), &err), 0);

	CHECK_INT(file_read(stage_path(&s, "work/.claude-plugin/plugin.json"), 1000, &text, &err), 0);
	CHECK_STR(buf_str(&text), good[1].text);
	CHECK_INT(stat(stage_path(&s, "work/bin/run"), &st), 0);
	CHECK_INT(st.st_mode & 07022, 0);
	CHECK(st.st_mode & 0100);
	CHECK_INT(stat(stage_path(&s, "work/agents/a.md"), &st), 0);
	CHECK_INT(st.st_mode & 0133, 0);
	stage_release(&s);
}

TEST(a_hostile_archive_is_refused)
{
	static const struct {
		struct zip_file file;
		const char *why;
	} table[] = {
		{ { .name = "../out", .text = "x" }, "leads elsewhere" },
		{ { .name = "a/../../out", .text = "x" }, "leads elsewhere" },
		{ { .name = "a//b", .text = "x" }, "leads elsewhere" },
		{ { .name = "./a", .text = "x" }, "leads elsewhere" },
		{ { .name = "..", .text = "x" }, "leads elsewhere" },
		{ { .name = "/etc/x", .text = "x" }, "absolute path" },
		{ { .name = "a\\..\\b", .text = "x" }, "backslash" },
		{ { .name = "a\nb", .text = "x" }, "control character" },
		{ { .name = "a\xff", .text = "x" }, "not UTF-8" },
		{ { .name = "", .text = "x" }, "empty or too long" },
		{ { .name = "l", .text = "/etc/passwd", .mode = 0120777 }, "is a link" },
		{ { .name = "fifo", .text = "", .mode = 0010644 }, "special file" },
		{ { .name = "device", .text = "", .mode = 0020644 }, "special file" },
		{ { .name = "a", .text = "x", .flags = 1 }, "encrypted" },
		{ { .name = "a", .text = "x", .method = 12 }, "not known" },
		{ { .name = "a", .text = "x", .other_name = "b" }, "another name" },
		{ { .name = "a", .text = "x", .crc_lie = 1 }, "damaged" },
		{ { .name = "a", .text = "xyz", .deflated = true, .size_lie = 5 }, "damaged" },
		{ { .name = "a", .text = "xyz", .deflated = true, .size_lie = (uint32_t)-1 }, "larger than it says" },
		{ { .name = "a", .text = "not deflated at all", .method = 8 }, "damaged" },
		{ { .name = "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a", .text = "" },
		  "too deep" },
		{ { .name = "d", .text = "x", .mode = 040755 }, "not both" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct stage s;
		AUTO_BUF struct buf zip = { 0 };
		struct err err = { 0 };
		stage_init(&s);
		zip_make(&zip, &table[i].file, 1);
		CHECK(zip_unpack(buf_str(&zip), stage_path(&s, "work"), &err) < 0);
		if (!strstr(err.text, table[i].why))
			print_error("%s: %s\n", table[i].why, err.text);
		CHECK(strstr(err.text, table[i].why) != NULL);
		CHECK(!file_exists(stage_path(&s, "out")));
		stage_release(&s);
	}
}

TEST(names_that_are_in_each_others_way_are_refused)
{
	static const struct zip_file pairs[][2] = {
		{ { .name = "a", .text = "1" }, { .name = "a", .text = "2" } },
		{ { .name = "a", .text = "1" }, { .name = "a/b", .text = "2" } },
		{ { .name = "a/b", .text = "1" }, { .name = "a", .text = "2" } },
	};

	for (size_t i = 0; i < COUNT_OF(pairs); i++) {
		struct stage s;
		AUTO_BUF struct buf zip = { 0 };
		struct err err = { 0 };
		stage_init(&s);
		zip_make(&zip, pairs[i], 2);
		CHECK_INT(zip_unpack(buf_str(&zip), stage_path(&s, "work"), &err), -ERR_PARSE);
		CHECK(strstr(err.text, "in the way") != NULL);
		stage_release(&s);
	}
}

TEST(an_archive_that_is_cut_anywhere_is_refused_without_harm)
{
	struct stage s;
	AUTO_BUF struct buf zip = { 0 };
	stage_init(&s);
	zip_make(&zip, good, COUNT_OF(good));

	for (size_t n = 0; n < zip.n; n += 7) {
		AUTO_FREE char *copy = xstrndup("", 0);
		copy = xrealloc(copy, n + 1);
		memcpy(copy, zip.p, n);
		CHECK(zip_unpack((struct str){ copy, n }, stage_path(&s, "work"), NULL) < 0);
	}
	stage_release(&s);
}

/* 300 MB of one letter in 300 KB. */
TEST(a_bomb_is_stopped_at_the_limit)
{
	struct stage s;
	AUTO_BUF struct buf zip = { 0 };
	struct err err = { 0 };
	stage_init(&s);
	size_t n = (size_t)UNPACK_LIMIT / 8 + 1;
	AUTO_FREE char *letters = xmalloc(n + 1);
	memset(letters, 'a', n);
	letters[n] = '\0';
	struct zip_file files[8];
	static const char *const names[] = { "1", "2", "3", "4", "5", "6", "7", "8" };
	for (size_t i = 0; i < COUNT_OF(files); i++)
		files[i] = (struct zip_file){ .name = names[i], .text = letters, .deflated = true };
	zip_make(&zip, files, COUNT_OF(files));

	CHECK_INT(zip_unpack(buf_str(&zip), stage_path(&s, "work"), &err), -ERR_LIMIT);

	stage_release(&s);
}

TEST(a_plugin_in_a_zip_file_is_unpacked_once)
{
	struct stage s;
	AUTO_BUF struct buf zip = { 0 };
	struct err err = { 0 };
	const char *first;
	const char *again;
	struct stat before;
	struct stat after;
	stage_init(&s);
	zip_make(&zip, good, COUNT_OF(good));
	CHECK_INT(file_replace(stage_path(&s, "it.zip"), zip.p, zip.n, &err), 0);

	CHECK_INT(archive_open(&s.arena, s.spec.plugins_dir, stage_path(&s, "it.zip"), &first, &err), 0);
	CHECK_INT(stat(first, &before), 0);
	CHECK_INT(archive_open(&s.arena, s.spec.plugins_dir, stage_path(&s, "it.zip"), &again, &err), 0);

	CHECK_INT(stat(again, &after), 0);
	CHECK_CSTR(first, again);
	CHECK(before.st_ino == after.st_ino);
	CHECK(path_is_inside(first, s.spec.plugins_dir));
	stage_release(&s);
}

TEST(an_archive_with_one_directory_at_its_top_is_that_directory)
{
	static const struct zip_file files[] = { { .name = "repo-main/plugin.json", .text = "{\"name\":\"inner\"}" } };
	struct stage s;
	AUTO_BUF struct buf zip = { 0 };
	struct err err = { 0 };
	const char *dir;
	stage_init(&s);
	zip_make(&zip, files, 1);
	CHECK_INT(file_replace(stage_path(&s, "it.zip"), zip.p, zip.n, &err), 0);

	CHECK_INT(archive_open(&s.arena, s.spec.plugins_dir, stage_path(&s, "it.zip"), &dir, &err), 0);

	CHECK(str_ends(str_from(dir), STR("/it/repo-main")));
	stage_release(&s);
}

int test_zip(void)
{
	return RUN_TESTS(T(files_come_out_as_they_went_in_but_for_their_modes), T(a_hostile_archive_is_refused),
			 T(names_that_are_in_each_others_way_are_refused),
			 T(an_archive_that_is_cut_anywhere_is_refused_without_harm), T(a_bomb_is_stopped_at_the_limit),
			 T(a_plugin_in_a_zip_file_is_unpacked_once),
			 T(an_archive_with_one_directory_at_its_top_is_that_directory));
}
