/* SPDX-License-Identifier: MIT
 * test_base.c - errors, buffers, arenas, maps, text, UTF-8, ids. */
#include "unit.h"
#include "lib/base/base64.h"
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/base/arena.h"
#include "lib/base/id.h"
#include "lib/base/library.h"
#include "lib/base/map.h"
#include "lib/base/budgeted_list.h"
#include "lib/base/utf8.h"

TEST(an_error_carries_kind_and_text_and_context_goes_in_front)
{
	struct err err = { 0 };

	errno = ENOENT;
	CHECK_INT(err_set(&err, ERR_NOT_FOUND, "cannot open %s: %m", "x"), -ERR_NOT_FOUND);
	CHECK_INT(err_wrap(&err, "agent %s", "reviewer"), -ERR_NOT_FOUND);

	CHECK_CSTR(err.text, "agent reviewer: cannot open x: No such file or directory");
}

TEST(an_error_that_is_too_long_is_cut_not_overrun)
{
	struct err err = { 0 };
	char big[1000];
	memset(big, 'a', sizeof big - 1);
	big[sizeof big - 1] = '\0';

	err_set(&err, ERR_IO, "%s", big);
	err_wrap(&err, "%s", "context");

	CHECK_INT(strlen(err.text), sizeof err.text - 1);
	CHECK(!strncmp(err.text, "context: aaa", 12));
}

TEST(counts_and_times_are_short_for_people)
{
	static const struct {
		int64_t n;
		const char *count, *span;
	} table[] = {
		{ 0, "0", "0.0 s" },
		{ 950, "950", "0.9 s" },
		{ 1234, "1.2 k", "1.2 s" },
		{ 9949, "9.9 k", "9.9 s" },
		{ 9950, "9.9 k", "10 s" },
		{ 59499, "59.5 k", "59 s" },
		{ 59500, "59.5 k", "1 min 0 s" },
		{ 185000, "185.0 k", "3 min 5 s" },
		{ 999949, "999.9 k", "16 min 40 s" },
		{ 999950, "1.0 M", "16 min 40 s" },
		{ 7800000, "7.8 M", "2 h 10 min" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_BUF struct buf count = { 0 };
		AUTO_BUF struct buf span = { 0 };
		buf_addcount(&count, table[i].n);
		buf_addspan(&span, table[i].n);
		CHECK_STR(buf_str(&count), table[i].count);
		CHECK_STR(buf_str(&span), table[i].span);
	}
}

TEST(a_buffer_grows_formats_and_drops_from_the_front)
{
	AUTO_BUF struct buf b = { 0 };

	for (int i = 0; i < 1000; i++)
		buf_addf(&b, "%d,", i);
	buf_drop(&b, 2);

	CHECK(str_starts(buf_str(&b), STR("1,2,3,")));
	CHECK(str_ends(buf_str(&b), STR("998,999,")));
	CHECK_INT(b.p[b.n], 0);
}

TEST(an_arena_keeps_its_first_block_after_a_reset)
{
	AUTO_ARENA struct arena a = { 0 };
	char *first = arena_strdup(&a, "first");

	for (int i = 0; i < 1000; i++)
		CHECK_INT((uintptr_t)arena_alloc(&a, (size_t)i) % 16, 0);
	arena_reset(&a);

	CHECK(arena_strdup(&a, "again") == first);
}

TEST(a_map_keeps_the_order_of_insertion_and_survives_removal)
{
	struct map m = { 0 };
	char key[16];
	int values[500];

	for (int i = 0; i < 500; i++) {
		snprintf(key, sizeof key, "k%d", i);
		CHECK(!map_set(&m, str_from(key), &values[i]));
	}
	for (int i = 0; i < 500; i += 2) {
		snprintf(key, sizeof key, "k%d", i);
		CHECK(map_remove(&m, str_from(key)) == &values[i]);
	}
	CHECK(map_set(&m, STR("k1"), &values[0]) == &values[1]);

	CHECK_INT(m.count, 250);
	CHECK(!map_get(&m, STR("k2")));
	CHECK(map_get(&m, STR("k1")) == &values[0]);
	int seen = 0;
	for (struct map_entry *e = map_next(&m, NULL); e; e = map_next(&m, e), seen++) {
		snprintf(key, sizeof key, "k%d", seen * 2 + 1);
		CHECK_CSTR(e->key, key);
	}
	CHECK_INT(seen, 250);
	map_release(&m);
}

TEST(text_is_cut_at_a_separator_until_nothing_is_left)
{
	struct str rest = STR("a,,b");

	CHECK_STR(str_cut(&rest, ','), "a");
	CHECK_STR(str_cut(&rest, ','), "");
	CHECK_STR(str_cut(&rest, ','), "b");
	CHECK(!rest.p);
}

TEST(a_member_of_a_list_is_the_whole_of_one)
{
	CHECK(str_is_one_of(STR("b c"), "a|b c|d"));
	CHECK(str_is_one_of(STR("d"), "a|b c|d"));
	CHECK(!str_is_one_of(STR("b"), "a|b c|d"));
	CHECK(!str_is_one_of(STR("a|b c"), "a|b c|d"));
	CHECK(!str_is_one_of(STR(""), "a|b"));
	CHECK(!str_is_one_of(STR(""), ""));
	CHECK(str_is_one_of_nocase(STR("B"), "a|b"));
	CHECK(!str_is_one_of_nocase(STR("ab"), "a|b"));
	CHECK(str_starts_with_one_of(STR("--output=x"), "-o|--ou"));
	CHECK(!str_starts_with_one_of(STR("--o"), "-o|--ou"));
	CHECK(!str_starts_with_one_of(STR("x"), ""));
}

TEST(numbers_are_whole_text_or_nothing)
{
	static const struct {
		const char *text;
		bool ok;
		int64_t value;
	} table[] = {
		{ "0", true, 0 },
		{ "-1", true, -1 },
		{ "9223372036854775807", true, INT64_MAX },
		{ "-9223372036854775808", true, INT64_MIN },
		{ "9223372036854775808", false, 0 },
		{ "", false, 0 },
		{ "-", false, 0 },
		{ "1x", false, 0 },
		{ "+1", false, 0 },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		int64_t v = 0;
		CHECK_INT(str_to_i64(str_from(table[i].text), &v), table[i].ok);
		CHECK(v == table[i].value);
	}
}

TEST(a_decimal_number_is_digits_with_a_point_and_nothing_else)
{
	static const struct {
		struct str text;
		bool ok;
		double value;
	} table[] = {
		{ STR("0.5"), true, 0.5 },  { STR("-2e3"), true, -2000 }, { STR("+1."), true, 1 },
		{ STR("7"), true, 7 },      { STR(""), false, 0 },        { STR("0,5"), false, 0 },
		{ STR("1x"), false, 0 },    { STR(" 1"), false, 0 },      { STR("1\0"), false, 0 },
		{ STR("inf"), false, 0 },   { STR("nan"), false, 0 },     { STR("0x10"), false, 0 },
		{ STR("1e999"), false, 0 }, { STR("e"), false, 0 },       { STR("."), false, 0 },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		double v = 0;
		CHECK_INT(str_to_double(table[i].text, &v), table[i].ok);
		CHECK(v == table[i].value);
	}
}

/* A host may have called setlocale(). */
TEST(a_decimal_number_is_the_same_where_the_locale_has_commas)
{
	char dir[FOLDER_MAX];
	AUTO_BUF struct buf path = { 0 }, out = { 0 };
	double v = 0;

	folder_make(dir);
	buf_addf(&path, "%s/de", dir);
	(void)program_run(dir, (const char *const[]){ "localedef", "-i", "de_DE", "-f", "UTF-8", path.p, NULL }, NULL,
			  true, &out);
	setenv("LOCPATH", dir, 1);
	bool found = setlocale(LC_NUMERIC, "de");
	unsetenv("LOCPATH");
	bool ok = found && str_to_double(STR("0.5"), &v);
	bool is_comma = found && localeconv()->decimal_point[0] == ',';
	setlocale(LC_NUMERIC, "C");
	folder_remove(dir);
	CHECK(found && is_comma && ok && v == 0.5);
}

TEST(a_nul_is_in_no_set_of_characters)
{
	CHECK(char_in('a', "abc") && !char_in('x', "abc"));
	CHECK(!char_in('\0', "abc") && !char_in('\0', ""));
	CHECK(id_is_agent(STR("a0123456789abcdef")));
	CHECK(!id_is_agent(STR("a0123456789abcde\0")) && !id_is_agent(STR("a\0"
									  "123456789abcdef")));
}

TEST(invalid_utf8_is_found_and_replaced_by_maximal_subparts)
{
	static const struct {
		const char *in;
		size_t valid;
		const char *repaired;
	} table[] = {
		{ "plain ascii text, longer than a word", 36, "plain ascii text, longer than a word" },
		{ "gr\xc3\xbc\xc3\x9f", 6, "gr\xc3\xbc\xc3\x9f" },
		{ "\xed\xa0\x80", 0, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" }, /* a surrogate */
		{ "a\xc0\xaf", 1, "a\xef\xbf\xbd\xef\xbf\xbd" },               /* overlong */
		{ "a\xf0\x9f\x98z", 1, "a\xef\xbf\xbdz" },                     /* cut inside a character */
		{ "\xf4\x90\x80\x80", 0, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "ok\xf0\x9f\x98\x80", 6, "ok\xf0\x9f\x98\x80" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_BUF struct buf b = { 0 };
		CHECK_INT(utf8_valid_prefix(table[i].in, strlen(table[i].in)), table[i].valid);
		utf8_add_repaired(&b, str_from(table[i].in));
		CHECK_CSTR(b.p, table[i].repaired);
	}
}

TEST(a_cut_never_splits_a_character)
{
	CHECK_INT(utf8_cut(STR("a\xc3\xbc"), 2).n, 1);
	CHECK_INT(utf8_cut(STR("a\xc3\xbc"), 3).n, 3);
	CHECK_INT(utf8_cut(STR("\xc3\xbc"), 1).n, 0);
}

TEST(a_uuid_has_its_form_and_is_not_repeated)
{
	char a[UUID_LEN + 1], b[UUID_LEN + 1];

	id_uuid(a);
	id_uuid(b);

	CHECK(id_is_uuid(str_from(a)));
	CHECK_INT(a[14], '4');
	CHECK(strcmp(a, b) != 0);
	CHECK(!id_is_uuid(STR("../../etc/passwd")));
}

TEST(a_time_is_written_with_milliseconds_in_utc)
{
	char out[ISO_TIME_LEN + 1];

	id_iso_time(1700000000123, out);

	CHECK_CSTR(out, "2023-11-14T22:13:20.123Z");
}

TEST(a_library_that_is_missing_or_lacks_a_name_says_so_and_leaves_the_pointers)
{
	struct {
		double (*cosine)(double);
	} math = { 0 };
	static const char *const libm[] = { "no-such-library.so.1", "libm.so.6", NULL };
	static const char *const none[] = { "no-such-library.so.1", NULL };
	static const struct library_symbol good = { "cos", 0 }, bad = { "no_such_name", 0 };
	struct err err = { 0 };

	CHECK_INT(library_load(&(struct library){ none, "no-package", &good, 1 }, &math, &err), -ERR_NOT_FOUND);
	CHECK_CSTR(err.text, "no-such-library.so.1 is not installed (package no-package)");
	CHECK_INT(library_load(&(struct library){ libm, "libc6", &bad, 1 }, &math, &err), -ERR_NOT_FOUND);
	CHECK_CSTR(err.text, "no-such-library.so.1 has no no_such_name: a newer package libc6 is needed");
	CHECK(!math.cosine);
	CHECK_INT(library_load(&(struct library){ libm, "libc6", &good, 1 }, &math, &err), 0);
	CHECK(math.cosine(0) == 1);
}

/* The directory that we are in may be a stranger's. */
TEST(a_program_is_found_in_absolute_directories_only)
{
	static const char *const relative[] = { "", ":", ".", "bin", "./bin", "..", ":/no/such/dir", ".:bin:" };
	char dir[FOLDER_MAX];
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf file = { 0 };
	AUTO_FREE char *back = getcwd(NULL, 0);

	folder_make(dir);
	const char *in_bin = arena_printf(&a, "%s/bin", dir);
	const char *const programs[] = { arena_printf(&a, "%s/tmux", dir), arena_printf(&a, "%s/tmux", in_bin) };
	for (size_t i = 0; i < COUNT_OF(programs); i++) {
		file_put(programs[i], STR("#!/bin/sh\n"));
		CHECK_INT(chmod(programs[i], 0755), 0);
	}
	CHECK_INT(chdir(dir), 0);
	for (size_t i = 0; i < COUNT_OF(relative); i++)
		CHECK(!program_find(relative[i], "tmux", &file));
	CHECK(!program_find(arena_printf(&a, "../%s", strrchr(dir, '/') + 1), "tmux", &file));
	CHECK(program_find(arena_printf(&a, ".:bin:%s", in_bin), "tmux", &file));
	CHECK_CSTR(file.p, programs[1]);
	CHECK_INT(chdir(back), 0);
	folder_remove(dir);
}

TEST(a_budgeted_list_gives_up_descriptions_before_names_and_stays_in_its_room)
{
	struct budgeted_item items[40];
	char names[40][8], long_text[101] = { 0 };
	struct budgeted_list l = { items, COUNT_OF(items) };
	size_t named;

	memset(long_text, 'x', 100);
	for (size_t i = 0; i < COUNT_OF(items); i++) {
		snprintf(names[i], sizeof names[i], "n%zu", i);
		items[i] = (struct budgeted_item){ str_from(names[i]), str_from(long_text), STR(" [all]"), STR(" []") };
	}
	static const struct {
		size_t room;
		enum budgeted_form form;
		bool all_named;
	} cases[] = { { 10000, BUDGETED_WHOLE, true },
		      { 4000, BUDGETED_SHORTENED, true },
		      { 400, BUDGETED_NAMES, true },
		      { 150, BUDGETED_NAMES, false },
		      { 0, BUDGETED_NAMES, false } };

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		AUTO_BUF struct buf out = { 0 };
		CHECK_INT(budgeted_list_write(&out, &l, cases[i].room, 100, &named), cases[i].form);
		CHECK_INT(named == l.count, cases[i].all_named);
		CHECK(out.n <= MAX(cases[i].room, 1));
		CHECK_INT(strstr(out.p, " []") != NULL, cases[i].form == BUDGETED_SHORTENED);
	}
}

TEST(base64_reads_back_what_it_wrote_and_refuses_the_rest)
{
	static const struct {
		const char *bytes, *text;
	} cases[] = { { "", "" }, { "f", "Zg==" }, { "fo", "Zm8=" }, { "foo", "Zm9v" }, { "\xfb\xff\xfe", "+//+" } };
	static const char *const bad[] = { "Z", "Zg", "Zg=", "Zg==Zg==", "Z===", "====", "Zm9*", "=m9v", "Zm9vZ" };

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		AUTO_BUF struct buf text = { 0 };
		AUTO_BUF struct buf bytes = { 0 };
		base64_add(&text, str_from(cases[i].bytes));
		CHECK_STR(buf_str(&text), cases[i].text);
		CHECK_INT(base64_decode(&bytes, buf_str(&text), NULL), 0);
		CHECK_STR(buf_str(&bytes), cases[i].bytes);
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		AUTO_BUF struct buf bytes = { 0 };
		buf_addstr(&bytes, "kept");
		CHECK_INT(base64_decode(&bytes, str_from(bad[i]), NULL), -ERR_PARSE);
		CHECK_STR(buf_str(&bytes), "kept");
	}
	AUTO_BUF struct buf lines = { 0 };
	CHECK_INT(base64_decode(&lines, STR("Zm9v\r\n Zg\t==\n"), NULL), 0);
	CHECK_STR(buf_str(&lines), "foof");
}

int main(void)
{
	RUN_TESTS(T(an_error_carries_kind_and_text_and_context_goes_in_front),
		  T(an_error_that_is_too_long_is_cut_not_overrun), T(a_buffer_grows_formats_and_drops_from_the_front),
		  T(counts_and_times_are_short_for_people), T(an_arena_keeps_its_first_block_after_a_reset),
		  T(a_map_keeps_the_order_of_insertion_and_survives_removal),
		  T(text_is_cut_at_a_separator_until_nothing_is_left), T(a_member_of_a_list_is_the_whole_of_one),
		  T(numbers_are_whole_text_or_nothing), T(a_decimal_number_is_digits_with_a_point_and_nothing_else),
		  T(a_decimal_number_is_the_same_where_the_locale_has_commas), T(a_nul_is_in_no_set_of_characters),
		  T(invalid_utf8_is_found_and_replaced_by_maximal_subparts), T(a_cut_never_splits_a_character),
		  T(a_uuid_has_its_form_and_is_not_repeated), T(a_time_is_written_with_milliseconds_in_utc),
		  T(a_library_that_is_missing_or_lacks_a_name_says_so_and_leaves_the_pointers),
		  T(a_program_is_found_in_absolute_directories_only),
		  T(a_budgeted_list_gives_up_descriptions_before_names_and_stays_in_its_room),
		  T(base64_reads_back_what_it_wrote_and_refuses_the_rest));
	return tests_run();
}
