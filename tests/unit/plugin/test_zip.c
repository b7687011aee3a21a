/* SPDX-License-Identifier: MIT
 * test_zip.c - archives of strangers. */
#include "stage.h"
#include <dirent.h>
#include <sys/stat.h>
#include "lib/io/file.h"
#include "defs/plugin/fetch.h"
#include "tests.h"
#include "zip_maker.h"

enum { UTF8_NAME = 1 << 11 }; /* a flag of entries */

static const struct zip_file good[] = {
	{ .name = ".claude-plugin/", .text = "", .mode = 040755 },
	{ .name = ".claude-plugin/plugin.json",
	  .text = "{\"name\":\"zipped\",\"version\":\"1.0.0\"}",
	  .deflated = true },
	{ .name = "agents/a.md", .text = "---\nname: a\ndescription: d\n---\nx\n", .mode = 0100666 },
	{ .name = "bin/run", .text = "#!/bin/sh\n", .mode = 0104777, .deflated = true },
	{ .name = "fifo", .text = "", .mode = 0010644 }, /* zip has no such thing: a file */
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

	CHECK_INT(unpack_archive(UNPACK_ZIP, buf_str(&zip), stage_path(&s, "work"), &err), 0);

	CHECK_INT(file_read(stage_path(&s, "work/.claude-plugin/plugin.json"), 1000, &text, &err), 0);
	CHECK_STR(buf_str(&text), good[1].text);
	CHECK_INT(stat(stage_path(&s, "work/bin/run"), &st), 0);
	CHECK_INT(st.st_mode & 07022, 0);
	CHECK(st.st_mode & 0100);
	CHECK_INT(stat(stage_path(&s, "work/agents/a.md"), &st), 0);
	CHECK_INT(st.st_mode & 0133, 0);
	CHECK_INT(stat(stage_path(&s, "work/fifo"), &st), 0);
	CHECK(S_ISREG(st.st_mode));
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
		{ { .name = "C:/x", .text = "x" }, "absolute path" },
		{ { .name = "c:x", .text = "x" }, "absolute path" },
		{ { .name = "a\\..\\..\\out", .text = "x" }, "leads elsewhere" },
		{ { .name = "\\\\host\\x", .text = "x" }, "absolute path" },
		{ { .name = "d/a\\..\\b", .text = "x" }, "backslash" },
		{ { .name = "a\nb", .text = "x" }, "control character" },
		{ { .name = "a\xff", .text = "x" }, "not UTF-8" },
		{ { .name = "", .text = "x" }, "empty or too long" },
		{ { .name = "a\xff", .text = "x", .flags = UTF8_NAME }, "converted from UTF-8" },
		{ { .name = "l", .text = "/etc/passwd", .mode = 0120777 }, "is a link" },
		{ { .name = "l", .text = "inside", .mode = 0120777 }, "is a link" },
		{ { .name = "device", .text = "", .mode = 0020644 }, "special file" },
		{ { .name = "disk", .text = "", .mode = 0060644 }, "special file" },
		{ { .name = "socket", .text = "", .mode = 0140644 }, "special file" },
		{ { .name = "a", .text = "x", .flags = 1 }, "encrypted" },
		{ { .name = "a", .text = "x", .flags = 1 | 1 << 6 }, "encrypted" },
		{ { .name = "a", .text = "x", .method = 12 }, "unknown method" },
		{ { .name = "a", .text = "x", .method = 14 }, "unknown method" },
		{ { .name = "a", .text = "x", .method = 93 }, "unknown method" },
		{ { .name = "a", .text = "x", .method = 98 }, "unknown method" },
		{ { .name = "a", .text = "x", .other_name = "../out" }, "leads elsewhere" },
		{ { .name = "a", .text = "x", .crc_lie = 1 }, "damaged" },
		{ { .name = "a", .text = "xyz", .deflated = true, .size_lie = 5 }, "damaged" },
		{ { .name = "a", .text = "xyz", .size_lie = 5 }, "damaged" },
		{ { .name = "a", .text = "xyz", .deflated = true, .size_lie = 0x7fffffff }, "more than 256 MB" },
		{ { .name = "a", .text = "xyz", .deflated = true, .size_lie = (uint32_t)-8 }, "more than 256 MB" },
		{ { .name = "a", .text = "xyz", .deflated = true, .size_lie = (uint32_t)-1 }, "wrong size" },
		{ { .name = "a", .text = "not deflated at all", .method = 8 }, "damaged" },
		{ { .name = "a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a", .text = "" },
		  "too deep" },
		{ { .name = "d", .text = "x", .mode = 040755 }, "directory with the content" },
		{ { .name = "d/", .text = "x", .mode = 0100644 }, "directory with the content" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct stage s;
		AUTO_BUF struct buf zip = { 0 };
		struct err err = { 0 };
		stage_init(&s);
		zip_make(&zip, &table[i].file, 1);
		int status = unpack_archive(UNPACK_ZIP, buf_str(&zip), stage_path(&s, "work"), &err);
		if (status == 0 || !strstr(err.text, table[i].why))
			fail_msg("%s (%s): '%s'", table[i].file.name, table[i].why, err.text);
		CHECK(!file_exists(stage_path(&s, "out")));
		stage_release(&s);
	}
}

TEST(names_in_utf8_stay_as_they_are_in_any_locale)
{
	static const struct zip_file files[] = {
		{ .name = "gr\xc3\xbc\xc3\x9f/\xe6\x97\xa5.md", .text = "1", .flags = UTF8_NAME },
		{ .name = "pl\xc3\xa4in.md", .text = "2" },
	};
	struct stage s;
	AUTO_BUF struct buf zip = { 0 };
	struct err err = { 0 };
	stage_init(&s);
	zip_make(&zip, files, COUNT_OF(files));

	CHECK_INT(unpack_archive(UNPACK_ZIP, buf_str(&zip), stage_path(&s, "work"), &err), 0);

	CHECK(file_exists(stage_path(&s, "work/gr\xc3\xbc\xc3\x9f/\xe6\x97\xa5.md")));
	CHECK(file_exists(stage_path(&s, "work/pl\xc3\xa4in.md")));
	stage_release(&s);
}

TEST(a_name_that_is_too_long_is_refused)
{
	static const struct {
		size_t n;
		char c;
	} rows[] = { { 256, 'a' }, { UNPACK_NAME_LIMIT + 1, 'a' }, { 65000, 'a' }, { 65000, '/' } };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct stage s;
		AUTO_BUF struct buf zip = { 0 };
		struct err err = { 0 };
		stage_init(&s);
		char *name = arena_alloc(&s.arena, rows[i].n + 1);
		memset(name, rows[i].c, rows[i].n);
		name[0] = 'b';
		name[rows[i].n] = '\0';
		zip_make(&zip, &(struct zip_file){ .name = name, .text = "" }, 1);
		CHECK_INT(unpack_archive(UNPACK_ZIP, buf_str(&zip), stage_path(&s, "work"), &err), -ERR_PARSE);
		if (!strstr(err.text, "too long"))
			fail_msg("%zu bytes: '%s'", rows[i].n, err.text);
		stage_release(&s);
	}
}

/* Even if a link were made, what comes after it must not pass through it. */
TEST(a_file_does_not_pass_through_a_link)
{
	static const struct zip_file files[] = {
		{ .name = "good", .text = "x" },
		{ .name = "there", .text = "..", .mode = 0120777 },
		{ .name = "there/out", .text = "x" },
	};
	struct stage s;
	AUTO_BUF struct buf zip = { 0 };
	struct err err = { 0 };
	stage_init(&s);

	zip_make(&zip, files, COUNT_OF(files));
	CHECK_INT(unpack_archive(UNPACK_ZIP, buf_str(&zip), stage_path(&s, "work"), &err), -ERR_PARSE);
	CHECK(strstr(err.text, "is a link") != NULL);
	CHECK_INT(symlink("..", stage_path(&s, "work/there")), 0); /* as if an entry had made it */
	buf_clear(&zip);
	zip_make(&zip, &files[2], 1);
	CHECK_INT(unpack_archive(UNPACK_ZIP, buf_str(&zip), stage_path(&s, "work"), &err), -ERR_PARSE);
	CHECK(strstr(err.text, "in the way") != NULL);

	CHECK(!file_exists(stage_path(&s, "out")));
	stage_release(&s);
}

TEST(an_archive_without_files_or_with_too_many_is_refused)
{
	struct stage s;
	AUTO_BUF struct buf zip = { 0 };
	struct err err = { 0 };
	stage_init(&s);
	struct zip_file *files = arena_calloc(&s.arena, (UNPACK_ENTRY_LIMIT + 1) * sizeof *files);
	for (size_t i = 0; i <= UNPACK_ENTRY_LIMIT; i++)
		files[i] = (struct zip_file){ .name = arena_printf(&s.arena, "d%zu/", i), .text = "" };

	zip_make(&zip, files, UNPACK_ENTRY_LIMIT + 1);
	CHECK_INT(unpack_archive(UNPACK_ZIP, buf_str(&zip), stage_path(&s, "work"), &err), -ERR_LIMIT);
	buf_clear(&zip);
	zip_make(&zip, NULL, 0);
	CHECK_INT(unpack_archive(UNPACK_ZIP, buf_str(&zip), stage_path(&s, "work"), &err), -ERR_PARSE);
	stage_release(&s);
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
		CHECK_INT(unpack_archive(UNPACK_ZIP, buf_str(&zip), stage_path(&s, "work"), &err), -ERR_PARSE);
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
		CHECK(unpack_archive(UNPACK_ZIP, (struct str){ copy, n }, stage_path(&s, "work"), NULL) < 0);
	}
	stage_release(&s);
}

static size_t count_names(const char *dir)
{
	DIR *list = opendir(dir);
	size_t n = 0;

	CHECK(list != NULL);
	while (readdir(list))
		n++;
	closedir(list);
	return n;
}

TEST(an_archive_that_is_changed_anywhere_does_no_harm)
{
	struct stage s;
	AUTO_BUF struct buf zip = { 0 };
	struct err err = { 0 };
	stage_init(&s);
	zip_make(&zip, good, COUNT_OF(good));
	size_t before = count_names(stage_path(&s, "."));

	for (size_t i = 0; i < zip.n; i++) {
		zip.p[i] ^= (char)0xff;
		int status = unpack_archive(UNPACK_ZIP, buf_str(&zip), stage_path(&s, "work"), &err);
		zip.p[i] ^= (char)0xff;
		CHECK(status == 0 || err.text[0]);
		CHECK_INT(count_names(stage_path(&s, ".")), before);
		CHECK_INT(directory_remove(stage_path(&s, "work"), &err), 0);
		CHECK_INT(mkdir(stage_path(&s, "work"), 0700), 0);
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

	CHECK_INT(unpack_archive(UNPACK_ZIP, buf_str(&zip), stage_path(&s, "work"), &err), -ERR_LIMIT);
	files[0].name = "9";
	files[0].size_lie = 10 - (uint32_t)n;
	buf_clear(&zip);
	zip_make(&zip, files, 1);
	CHECK_INT(unpack_archive(UNPACK_ZIP, buf_str(&zip), stage_path(&s, "work"), &err), -ERR_PARSE);
	CHECK_CSTR(err.text, "'9' is larger than its header says");
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

	CHECK_INT(zip_cache_open(&s.arena, s.spec.plugins_dir, stage_path(&s, "it.zip"), &first, &err), 0);
	CHECK_INT(stat(first, &before), 0);
	CHECK_INT(zip_cache_open(&s.arena, s.spec.plugins_dir, stage_path(&s, "it.zip"), &again, &err), 0);

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

	CHECK_INT(zip_cache_open(&s.arena, s.spec.plugins_dir, stage_path(&s, "it.zip"), &dir, &err), 0);

	CHECK(str_ends(str_from(dir), STR("/it/repo-main")));
	stage_release(&s);
}

int test_zip(void)
{
	return RUN_TESTS(
		T(files_come_out_as_they_went_in_but_for_their_modes), T(a_hostile_archive_is_refused),
		T(names_in_utf8_stay_as_they_are_in_any_locale), T(a_name_that_is_too_long_is_refused),
		T(a_file_does_not_pass_through_a_link), T(an_archive_without_files_or_with_too_many_is_refused),
		T(an_archive_that_is_changed_anywhere_does_no_harm), T(names_that_are_in_each_others_way_are_refused),
		T(an_archive_that_is_cut_anywhere_is_refused_without_harm), T(a_bomb_is_stopped_at_the_limit),
		T(a_plugin_in_a_zip_file_is_unpacked_once),
		T(an_archive_with_one_directory_at_its_top_is_that_directory));
}
