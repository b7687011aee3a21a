/* SPDX-License-Identifier: MIT
 * test_line_file.c - lines in their order, and each of them again. */
#include "core/store/line_file.h"
#include "stage.h"
#include "test_session.h"

/* Every line in brackets, then each of them once more, the last first. */
static const char *read_twice(struct stage *s, const char *path, bool *ret_torn)
{
	struct line_file f;
	struct line_span places[8], place;
	size_t count = 0;
	struct str line, again;
	struct err err = { 0 };
	AUTO_BUF struct buf out = { 0 };

	CHECK_INT(line_file_open(&f, path, &err), 0);
	while (line_file_next(&f, &line, &place, &err) == 1) {
		buf_addf(&out, "[" STR_FMT "]", STR_ARG(line));
		places[count++] = place;
	}
	*ret_torn = f.torn;
	while (count--) {
		CHECK_INT(line_file_again(&f, places[count], &again, &err), 0);
		buf_addf(&out, "<" STR_FMT ">", STR_ARG(again));
	}
	line_file_close(&f);
	return arena_str(&s->arena, buf_str(&out)).p;
}

TEST(lines_are_read_in_their_order_and_again_by_their_place)
{
	static const struct {
		const char *text, *expected;
		bool torn;
	} table[] = {
		{ "", "", false },
		{ "\n", "[]<>", false },
		{ "a\n", "[a]<a>", false },
		{ "a", "[a]<a>", true },
		{ "a\n\nbc\r\n", "[a][][bc\r]<bc\r><><a>", false },
		{ "{\"k\":1}\n{\"k\"", "[{\"k\":1}][{\"k\"]<{\"k\"><{\"k\":1}>", true },
	};
	struct stage s;
	stage_init(&s);

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		bool torn;
		CHECK_CSTR(read_twice(&s, stage_write(&s, "f", table[i].text), &torn), table[i].expected);
		CHECK_INT(torn, table[i].torn);
	}
	stage_release(&s);
}

TEST(what_cannot_be_read_is_said)
{
	struct stage s;
	struct line_file f;
	struct line_span place;
	struct str line, again;
	struct err err = { 0 };
	AUTO_BUF struct buf text = { 0 };
	stage_init(&s);
	buf_addf(&text, "0123456789\n%0300000d\n", 7); /* more than is read at a time */
	char *path = stage_write(&s, "f", text.p);

	CHECK_INT(line_file_open(&f, stage_path(&s, "none"), &err), -ERR_NOT_FOUND);
	line_file_close(&f);
	CHECK_INT(line_file_open(&f, path, &err), 0);
	CHECK_INT(line_file_next(&f, &line, &place, &err), 1);
	struct line_span first = place;
	CHECK_INT(line_file_next(&f, &line, &place, &err), 1);
	CHECK_INT(line.n, 300000);
	CHECK(line.p[299999] == '7');
	CHECK_INT(line_file_again(&f, first, &again, &err), 0);
	CHECK_STR(again, "0123456789");
	CHECK_INT(line_file_again(&f, place, &again, &err), 0);
	CHECK_INT(truncate(path, 4), 0);
	CHECK_INT(line_file_again(&f, first, &again, &err), -ERR_IO);
	CHECK(strstr(err.text, "the file is shorter now") != NULL);
	line_file_close(&f);
	stage_release(&s);
}

int test_line_file(void)
{
	return RUN_TESTS(T(lines_are_read_in_their_order_and_again_by_their_place), T(what_cannot_be_read_is_said));
}
