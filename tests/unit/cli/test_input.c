/* SPDX-License-Identifier: MIT
 * test_input.c - standard input. */
#include "test_cli.h"
#include "face/cli/input.h"

TEST(a_pipe_is_read_to_its_end)
{
	AUTO_BUF struct buf b = { 0 };
	bool silent = true;
	int ends[2];
	CHECK_INT(pipe(ends), 0);
	CHECK_INT(write(ends[1], "text", 4), 4);
	close(ends[1]);

	CHECK_INT(input_read(ends[0], -1, &b, &silent, NULL), 0);

	CHECK_STR(buf_str(&b), "text");
	CHECK(!silent);
	close(ends[0]);
}

TEST(a_pipe_that_says_nothing_is_not_waited_for_longer_than_the_patience)
{
	AUTO_BUF struct buf b = { 0 };
	bool silent = false;
	int ends[2];
	CHECK_INT(pipe(ends), 0);

	CHECK_INT(input_read(ends[0], 1, &b, &silent, NULL), 0);

	CHECK(silent);
	CHECK_INT(b.n, 0);
	close(ends[0]);
	close(ends[1]);
}

TEST(a_closed_descriptor_is_empty_input)
{
	AUTO_BUF struct buf b = { 0 };
	bool silent = true;
	int ends[2];
	CHECK_INT(pipe(ends), 0);
	close(ends[0]);
	close(ends[1]);

	CHECK_INT(input_read(ends[0], -1, &b, &silent, NULL), 0);

	CHECK_INT(b.n, 0);
	CHECK(!silent);
}

TEST(input_above_the_limit_is_refused_with_a_way_out)
{
	AUTO_BUF struct buf b = { 0 };
	struct err err = { 0 };
	bool silent;
	FILE *f = tmpfile();
	CHECK_INT(ftruncate(fileno(f), INPUT_LIMIT_BYTES + 1), 0);

	CHECK_INT(input_read(fileno(f), -1, &b, &silent, &err), -ERR_USAGE);

	CHECK_CSTR(err.text, "standard input: more than 10 MB; name a file in the prompt instead");
	fclose(f);
}

TEST(a_file_of_exactly_the_limit_is_read)
{
	AUTO_BUF struct buf b = { 0 };
	bool silent;
	FILE *f = tmpfile();
	CHECK_INT(ftruncate(fileno(f), INPUT_LIMIT_BYTES), 0);

	CHECK_INT(input_read(fileno(f), -1, &b, &silent, NULL), 0);

	CHECK_INT(b.n, INPUT_LIMIT_BYTES);
	fclose(f);
}

TEST(piped_text_follows_the_prompt_and_is_repaired)
{
	AUTO_BUF struct buf b = { 0 };
	int ends[2], saved = dup(STDIN_FILENO);
	CHECK_INT(pipe(ends), 0);
	CHECK_INT(write(ends[1], "diff \xff", 6), 6);
	close(ends[1]);
	dup2(ends[0], STDIN_FILENO);

	CHECK_INT(input_prompt("Review", true, &b, NULL), 0);

	dup2(saved, STDIN_FILENO);
	close(ends[0]);
	close(saved);
	CHECK_STR(buf_str(&b), "Review\ndiff \xef\xbf\xbd");
}

const struct test_group input_tests =
	GROUP(T(a_pipe_is_read_to_its_end), T(a_pipe_that_says_nothing_is_not_waited_for_longer_than_the_patience),
	      T(a_closed_descriptor_is_empty_input), T(input_above_the_limit_is_refused_with_a_way_out),
	      T(a_file_of_exactly_the_limit_is_read), T(piped_text_follows_the_prompt_and_is_repaired));
