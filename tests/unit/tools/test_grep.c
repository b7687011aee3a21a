/* SPDX-License-Identifier: MIT
 * test_grep.c - the Grep tool and the search under it; ripgrep is the oracle for what matches and how it is printed. */
#include "unit.h"
#include "tests.h"
#include "toolbox.h"
#include "tools/search/grep.h"

#define BOX(box)                                   \
	CLEANUP(toolbox_close) struct toolbox box; \
	toolbox_open(&box)

static void put_sources(struct toolbox *box)
{
	toolbox_put(box, ".git/HEAD", "needle\n");
	toolbox_put(box, ".gitignore", "ignored\n");
	toolbox_put(box, "a.c", "one\nneedle two\nthree\nfour\nneedle needle\n");
	toolbox_put(box, "b/x.h", "nothing\n");
	toolbox_put(box, "b/y.py", "NEEDLE\nneedle");
	toolbox_put(box, "b.txt", "needle\n");
	toolbox_put(box, "ignored", "needle\n");
	toolbox_put(box, ".hidden", "needle\n");
	toolbox_put_bytes(box, "bin", STR("needle\n\0\n"));
	toolbox_age(box, "a.c", 100);
	toolbox_age(box, "b/y.py", 300);
	toolbox_age(box, "b.txt", 200);
}

TEST(what_a_deny_rule_hides_is_not_found_in_any_mode)
{
	static const struct rule_origin origin = { .layer = "session" };
	static const struct {
		const char *tool, *input, *text;
	} cases[] = {
		{ "Grep", "'pattern':'needle'", "Found 1 file\nb.txt" },
		{ "Grep", "'pattern':'needle','output_mode':'content'", "b.txt:1:needle" },
		{ "Grep", "'pattern':'needle','output_mode':'count'",
		  "b.txt:1\n\nFound 1 total occurrence across 1 file." },
		{ "Grep", "'pattern':'needle','path':'b'", "No files found" },
		{ "Glob", "'pattern':'**/*.{py,txt,c}'", "b.txt" },
		{ "Glob", "'pattern':'b/*'", "No files found" },
	};
	BOX(box);
	struct permission p = { 0 };
	put_sources(&box);
	box.env.permission = &p;
	(void)permission_add_rule(&p, RULE_DENY, STR("Read(b/**)"), &origin, NULL, NULL, NULL);
	(void)permission_add_rule(&p, RULE_DENY, STR("Read(*.c)"), &origin, NULL, NULL, NULL);

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		toolbox_run(&box, cases[i].tool, "{%s}", cases[i].input);
		CHECK_STR(toolbox_text(&box), cases[i].text);
	}
	permission_release(&p);
}

TEST(results_are_printed_as_specified)
{
	static const struct {
		const char *input, *text;
	} cases[] = {
		{ "", "Found 3 files\na.c\nb.txt\nb/y.py" },
		{ ",'-i':true,'glob':'*.py'", "Found 1 file\nb/y.py" },
		{ ",'head_limit':2", "Found 3 files\na.c\nb.txt\n\n[Showing results with pagination = limit: 2]" },
		{ ",'offset':1", "Found 3 files\nb.txt\nb/y.py\n\n[Showing results with pagination = offset: 1]" },
		{ ",'offset':9", "No entries at this offset (9)." },
		{ ",'type':'c'", "Found 1 file\na.c" },
		{ ",'glob':'*.py, *.txt'", "Found 2 files\nb.txt\nb/y.py" },
		{ ",'glob':'*.{c,h}'", "Found 1 file\na.c" },
		{ ",'glob':'!*.c'", "Found 2 files\nb.txt\nb/y.py" },
		{ ",'glob':'b/**'", "Found 1 file\nb/y.py" },
		{ ",'path':'b'", "Found 1 file\nb/y.py" },
		{ ",'path':'b','glob':'*.c'", "No files found" },
		{ ",'output_mode':'content'",
		  "a.c:2:needle two\na.c:5:needle needle\nb/y.py:2:needle\nb.txt:1:needle" },
		{ ",'output_mode':'content','-n':false,'glob':'*.c'", "a.c:needle two\na.c:needle needle" },
		{ ",'output_mode':'content','-A':1,'type':'c'",
		  "a.c:2:needle two\na.c-3-three\n--\na.c:5:needle needle" },
		{ ",'output_mode':'content','-B':1,'type':'c'",
		  "a.c-1-one\na.c:2:needle two\n--\na.c-4-four\na.c:5:needle needle" },
		{ ",'output_mode':'content','context':1,'glob':'*.{c,txt}'",
		  "a.c-1-one\na.c:2:needle two\na.c-3-three\na.c-4-four\na.c:5:needle needle\n--\nb.txt:1:needle" },
		{ ",'output_mode':'content','-o':true,'type':'c'", "a.c:2:needle\na.c:5:needle\na.c:5:needle" },
		{ ",'output_mode':'content','head_limit':1",
		  "a.c:2:needle two\n\n[Showing results with pagination = limit: 1]" },
		{ ",'output_mode':'content','head_limit':1,'offset':1",
		  "a.c:5:needle needle\n\n[Showing results with pagination = limit: 1, offset: 1]" },
		{ ",'output_mode':'content','path':'a.c'", "2:needle two\n5:needle needle" },
		{ ",'output_mode':'content','path':'ignored'", "1:needle" },
		{ ",'output_mode':'content','path':'bin'", "binary file matches (found a NUL byte around offset 7)" },
		{ ",'output_mode':'count'", "a.c:2\nb/y.py:1\nb.txt:1\n\nFound 4 total occurrences across 3 files." },
		{ ",'output_mode':'count','head_limit':1",
		  "a.c:2\n\n[Showing results with pagination = limit: 1]\n\nFound 4 total occurrences across 3 files." },
		{ ",'output_mode':'count','glob':'*.nix'", "No matches found" },
	};
	BOX(box);
	put_sources(&box);

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		toolbox_run(&box, "Grep", "{'pattern':'needle'%s}", cases[i].input);
		CHECK_STR(toolbox_text(&box), cases[i].text);
		CHECK(!box.call->is_error);
	}
}

TEST(the_result_objects_have_the_fields_of_their_mode)
{
	BOX(box);
	put_sources(&box);

	toolbox_run(&box, "Grep", "{'pattern':'needle','head_limit':2}");
	CHECK_STR(toolbox_object(&box),
		  "{\"mode\":\"files_with_matches\",\"numFiles\":3,\"filenames\":[\"a.c\",\"b.txt\"],"
		  "\"appliedLimit\":2}");
	toolbox_run(&box, "Grep", "{'pattern':'two','output_mode':'content'}");
	CHECK_STR(toolbox_object(&box), "{\"mode\":\"content\",\"numFiles\":0,\"filenames\":[],"
					"\"content\":\"a.c:2:needle two\",\"numLines\":1}");
	toolbox_run(&box, "Grep", "{'pattern':'needle','output_mode':'count'}");
	CHECK_STR(toolbox_object(&box), "{\"mode\":\"count\",\"numFiles\":3,\"filenames\":[],"
					"\"content\":\"a.c:2\\nb/y.py:1\\nb.txt:1\",\"numMatches\":4}");
}

TEST(what_cannot_be_searched_is_an_error)
{
	static const struct {
		const char *input, *part;
	} cases[] = {
		{ "'pattern':'a(b'", "unclosed group" },
		{ "'pattern':'[a'", "unclosed character class" },
		{ "'pattern':'*'", "repetition operator missing expression" },
		{ "'pattern':'\\\\y'", "unrecognized escape sequence" },
		{ "'pattern':'a\\\\nb'", "set multiline" },
		{ "'pattern':'x','type':'nonsense'", "unrecognized file type: nonsense" },
		{ "'pattern':'x','path':'nowhere'", "Path does not exist: " },
	};
	BOX(box);

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		toolbox_run(&box, "Grep", "{%s}", cases[i].input);
		CHECK(box.call->is_error);
		if (!str_has(toolbox_text(&box), str_from(cases[i].part)))
			fail_msg("%s: " STR_FMT, cases[i].input, STR_ARG(toolbox_text(&box)));
	}
}

/* A file without an end, as good as: it is sparse, so that it takes no room. */
TEST(a_file_that_is_named_has_a_time_limit_as_a_tree_has)
{
	static const struct {
		const char *pattern;
		unsigned flags;
	} cases[] = { { "needle", 0 }, { "x.*y", 0 }, { "[a-z]needle", REGEX_NOCASE } };
	BOX(box);
	toolbox_put(&box, "large", "one line\n");
	const char *path = toolbox_path(&box, "large");
	CHECK_INT(truncate(path, (off_t)1 << 32), 0); /* seconds, not hours, if the limit does not hold */
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
	for (off_t at = 0; at < (off_t)1 << 24;
	     at += 4096) /* text first: a file with a NUL at its beginning is skipped */
		CHECK_INT(pwrite(fd, "a line of text\n", 15, at), 15);

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct grep_query q = { .pattern = str_from(cases[i].pattern),
					.flags = cases[i].flags,
					.base = box.dir,
					.want = { .mode = GREP_COUNT, .max_lines = 10 },
					.walk = { .root = path, .limit_ms = 200 } };
		struct grep_results found = { 0 };
		struct err err = { 0 };
		CHECK_INT(grep_run(&q, &found, &err), -ERR_TIMEOUT);
		CHECK(strstr(err.text, "took more than 0.2 s"));
	}
}

TEST(a_pattern_that_backtracks_without_end_is_stopped)
{
	BOX(box);
	toolbox_put(&box, "a", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\n");

	toolbox_run(&box, "Grep", "{'pattern':'(a+)+$'}");

	CHECK(box.call->is_error);
	CHECK(str_starts(toolbox_text(&box), STR("the pattern needs too much backtracking")));
}

TEST(a_cancelled_search_ends_with_an_error)
{
	BOX(box);
	put_sources(&box);

	toolbox_begin(&box, "Grep", "{'pattern':'needle'}");
	tool_call_cancel(box.call);
	toolbox_finish(&box);

	CHECK(box.call->is_error);
	CHECK_STR(toolbox_text(&box), "The call was cancelled.");
}

TEST(only_the_first_files_are_kept_when_a_limit_makes_the_rest_useless)
{
	BOX(box);
	AUTO_BUF struct buf text = { 0 };
	for (int i = 0; i < 10; i++)
		buf_addstr(&text, "a line\n");
	for (int i = 0; i < 400; i++) {
		char name[32];
		snprintf(name, sizeof name, "d%d/f%03d", i % 7, i);
		toolbox_put_bytes(&box, name, buf_str(&text));
	}

	toolbox_run(&box, "Grep", "{'pattern':'line','output_mode':'content','-n':false,'head_limit':3,'offset':99}");

	CHECK_STR(toolbox_text(&box), "d0/f063:a line\nd0/f070:a line\nd0/f070:a line\n\n"
				      "[Showing results with pagination = limit: 3, offset: 99]");
}

TEST(long_lines_are_cut)
{
	BOX(box);
	AUTO_BUF struct buf text = { 0 };
	for (int i = 0; i < 20000; i++)
		buf_addch(&text, 'x');
	toolbox_put_bytes(&box, "f", buf_str(&text));

	toolbox_run(&box, "Grep", "{'pattern':'xx','output_mode':'content'}");

	CHECK(toolbox_text(&box).n < 10100);
	CHECK(str_ends(toolbox_text(&box), STR(" [... 10000 more bytes in this line]")));
}

/* Our output for the flags that the oracle gets; paths as ripgrep prints them without an argument. */
static void search(struct toolbox *box, const char *pattern, unsigned flags, struct grep_want want, struct buf *out)
{
	struct grep_results results = { 0 };
	struct err err = { 0 };
	want.with_path = true;
	struct grep_query q = {
		.pattern = str_from(pattern),
		.flags = flags,
		.want = want,
		.base = box->dir,
		.walk = { .root = box->dir, .home = box->dir },
	};

	if (grep_run(&q, &results, &err) < 0)
		fail_msg("%s: %s", pattern, err.text);
	for (size_t i = 0; i < results.count; i++) {
		if (want.mode == GREP_COUNT)
			buf_addf(out, "%s:%llu\n", results.files[i].path,
				 (unsigned long long)results.files[i].hits.matches);
		else if (i && (want.before || want.after))
			buf_addstr(out, "--\n");
		buf_add(out, results.files[i].hits.text.p, results.files[i].hits.text.n);
	}
	grep_results_release(&results);
}

struct variant {
	const char *args[6]; /* of ripgrep */
	unsigned flags;
	struct grep_want want;
};

static const struct variant variants[] = {
	{ { "-n" }, 0, { .mode = GREP_CONTENT, .numbers = true } },
	{ { "-n", "-i" }, REGEX_NOCASE, { .mode = GREP_CONTENT, .numbers = true } },
	{ { "-c" }, 0, { .mode = GREP_COUNT } },
	{ { "-n", "-A2", "-B1" }, 0, { .mode = GREP_CONTENT, .numbers = true, .before = 1, .after = 2 } },
	{ { "-N", "-o" }, 0, { .mode = GREP_CONTENT, .only_matching = true } },
	{ { "-n", "-U", "--multiline-dotall" }, REGEX_MULTILINE, { .mode = GREP_CONTENT, .numbers = true } },
	{ { "-n", "-U", "--multiline-dotall", "-C1" },
	  REGEX_MULTILINE,
	  { .mode = GREP_CONTENT, .numbers = true, .before = 1, .after = 1 } },
	{ { "-c", "-U", "--multiline-dotall" }, REGEX_MULTILINE, { .mode = GREP_COUNT } },
};

static void show_difference(const char *pattern, const struct variant *v, struct str ours, struct str theirs)
{
	size_t at = 0;
	while (at < ours.n && at < theirs.n && ours.p[at] == theirs.p[at])
		at++;
	while (at && ours.p[at - 1] != '\n')
		at--;
	fail_msg("%s %s %s\nours:    %.*s\nripgrep: %.*s", pattern, v->args[0], v->args[1] ? v->args[1] : "",
		 (int)MIN(ours.n - at, (size_t)100), ours.p + at, (int)MIN(theirs.n - at, (size_t)100), theirs.p + at);
}

/* True when both printed the same; false: ripgrep is missing. */
static bool same_as_ripgrep(struct toolbox *box, const char *pattern, const struct variant *v)
{
	const char *argv[16] = { "rg",      "--no-config", "--sort",       "path",
				 "--color", "never",       "--no-heading", "--with-filename" };
	size_t n = 8;
	AUTO_BUF struct buf theirs = { 0 };
	AUTO_BUF struct buf ours = { 0 };

	for (size_t i = 0; v->args[i]; i++)
		argv[n++] = v->args[i];
	argv[n++] = "-e";
	argv[n++] = pattern;
	int status = toolbox_program(box, argv, &theirs);
	if (status < 0)
		return false;
	if (status > 1)
		fail_msg("ripgrep refuses %s", pattern);
	search(box, pattern, v->flags, v->want, &ours);
	if (!str_eq(buf_str(&ours), buf_str(&theirs)))
		show_difference(pattern, v, buf_str(&ours), buf_str(&theirs));
	return true;
}

static void put_words(struct toolbox *box)
{
	static const char *const words[] = {
		"foo",      "bar",  "Foo", "foobar", "x",           "\n",          "\n",  "\n",
		" ",        "\t",   "a.b", "(y)",    "caf\xc3\xa9", "12",          "_z9", "\r\n",
		"\xce\x94", "\xff", "the", "{}",     "task",        "ta\xc5\xbfk", "C++", "\n\n",
	};
	unsigned seed = 7;

	for (int f = 0; f < 12; f++) {
		AUTO_BUF struct buf text = { 0 };
		char name[32];
		for (int i = 0; i < 60 + f * 40; i++) {
			seed = seed * 1664525 + 1013904223;
			buf_addstr(&text, words[(seed >> 12) % COUNT_OF(words)]);
			if (seed >> 30)
				buf_addch(&text, ' ');
		}
		snprintf(name, sizeof name, "d%d/f%d.%s", f % 3, f, f % 2 ? "c" : "txt");
		toolbox_put_bytes(box, name, buf_str(&text));
	}
	toolbox_put_bytes(box, "u16",
			  (struct str){ "\xff\xfe"
					"f\0o\0o\0\n\0b\0a\0r\0",
					16 });
	toolbox_put(box, "bom",
		    "\xef\xbb\xbf"
		    "foo\n");
	toolbox_put(box, "empty", "");
	toolbox_put(box, "lf", "\n");
}

TEST(patterns_match_what_ripgrep_matches_and_print_the_same)
{
	static const char *const patterns[] = {
		"foo",
		"bar$",
		"^foo",
		"foo|bar",
		"foo|bar|the|task|x",
		"fo+",
		"f.o",
		"foo\\s+bar",
		"\\bfoo\\b",
		"\\w+bar",
		"[^a-z]foo",
		"[\\s,]x",
		"\\d+",
		"a\\.b",
		"\\(y\\)",
		"caf\xc3\xa9",
		"caf.$",
		"\xce\x94",
		"[[:alpha:]]+o",
		"(foo|x)+",
		"fo{2}",
		"fo{1,}b",
		"\\{\\}",
		"task",
		"(?i)FOO",
		"C\\+\\+",
		"o+\\s?",
		"[fb][oa].",
		"\\Wx",
		"\\S+\\s\\S+",
		"foo[^\\n]*bar",
		"(?P<n>the) ",
		"\\x66oo",
		"\\u0066oo",
		"the\\r$",
		"[^x]$",
		"\\Dx",
		"fo++",
		"z9?",
		"foo bar|Foo bar",
		"(?s)foo.bar",
		"[\\d_]z",
		"\\pL{4}",
		"\\x{e9}",
		"t.*k",
		"(?:foo){1,2}x?",
	};
	/* ripgrep 13 reports empty matches inside of characters with -o, and behind the last line with -U. */
	static const char *const empty[] = { "x*", "a|", "", "$", "\\b", "^$", "^\\s*$" };
	BOX(box);
	put_words(&box);

	for (size_t v = 0; v < COUNT_OF(variants); v++) {
		for (size_t i = 0; i < COUNT_OF(patterns); i++)
			if (!same_as_ripgrep(&box, patterns[i], &variants[v]))
				skip();
		for (size_t i = 0; i < COUNT_OF(empty) && !variants[v].want.only_matching && !variants[v].flags; i++)
			CHECK(same_as_ripgrep(&box, empty[i], &variants[v]));
	}
}

TEST(large_files_are_searched_in_pieces_as_ripgrep_does)
{
	static const char *const patterns[] = { "line 1.*9", "needle", "^line [0-9]+ x$", "NUL" };
	BOX(box);
	AUTO_BUF struct buf text = { 0 };
	for (int i = 0; i < 30000; i++)
		buf_addf(&text, "line %d x\n%s", i, i % 7000 == 0 ? "a needle\n" : "");
	toolbox_put_bytes(&box, "big", buf_str(&text));
	for (size_t v = 0; v < COUNT_OF(variants); v++)
		for (size_t i = 0; i < COUNT_OF(patterns); i++)
			if (!same_as_ripgrep(&box, patterns[i], &variants[v]))
				skip();

	for (int i = 0; i < 70000; i++)
		buf_addch(&text, 'y');
	buf_addstr(&text, "needle at the end of a line that is longer than a piece\nlast needle");
	toolbox_put_bytes(&box, "long", buf_str(&text));
	for (size_t v = 0; v < COUNT_OF(variants); v++)
		if (variants[v].want.mode == GREP_COUNT)
			CHECK(same_as_ripgrep(&box, "needle", &variants[v]));
}

TEST(a_nul_far_inside_a_file_keeps_what_came_before_but_no_count)
{
	BOX(box);
	AUTO_BUF struct buf text = { 0 };
	buf_addstr(&text, "needle\n");
	while (text.n < 200000)
		buf_addstr(&text, "filler\n");
	buf_add(&text, "\0needle\n", 8);
	toolbox_put_bytes(&box, "f", buf_str(&text));

	toolbox_run(&box, "Grep", "{'pattern':'needle'}");
	CHECK_STR(toolbox_text(&box), "Found 1 file\nf");
	toolbox_run(&box, "Grep", "{'pattern':'needle','output_mode':'count'}");
	CHECK_STR(toolbox_text(&box), "No matches found");
	toolbox_run(&box, "Grep", "{'pattern':'needle','output_mode':'content'}");
	CHECK_STR(toolbox_text(&box),
		  "f:1:needle\nf: search stopped: binary file (found a NUL byte around offset 200004)");
}

TEST(syntax_beyond_that_of_ripgrep_works_line_by_line)
{
	static const struct {
		const char *pattern, *text;
	} cases[] = {
		{ "foo(?!bar)", "f:2:foo" },
		{ "(?<=o)bar", "f:1:foobar" },
		{ "(.)\\\\1$", "f:2:foo" },
		{ "\\\\<bar\\\\>", "f:3:bar" },
	};
	BOX(box);
	toolbox_put(&box, "f", "foobar\nfoo\nbar\n");

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		toolbox_run(&box, "Grep", "{'pattern':'%s','output_mode':'content'}", cases[i].pattern);
		CHECK_STR(toolbox_text(&box), cases[i].text);
	}
}

int test_grep(void)
{
	return RUN_TESTS(T(what_a_deny_rule_hides_is_not_found_in_any_mode), T(results_are_printed_as_specified),
			 T(the_result_objects_have_the_fields_of_their_mode), T(what_cannot_be_searched_is_an_error),
			 T(a_file_that_is_named_has_a_time_limit_as_a_tree_has),
			 T(a_pattern_that_backtracks_without_end_is_stopped), T(a_cancelled_search_ends_with_an_error),
			 T(only_the_first_files_are_kept_when_a_limit_makes_the_rest_useless), T(long_lines_are_cut),
			 T(patterns_match_what_ripgrep_matches_and_print_the_same),
			 T(large_files_are_searched_in_pieces_as_ripgrep_does),
			 T(a_nul_far_inside_a_file_keeps_what_came_before_but_no_count),
			 T(syntax_beyond_that_of_ripgrep_works_line_by_line));
}
