/* SPDX-License-Identifier: MIT
 * test_html.c - pages as Markdown, and texts of servers as UTF-8. */
#include "unit.h"
#include "lib/base/utf8.h"
#include "tests.h"
#include "tools/web/html.h"
#include "tools/web/web_page.h"

enum { LIMIT_MS = 20000 };

static void convert(struct str page, size_t limit_bytes, struct buf *out)
{
	struct html_page source = { .text = page,
				    .base = "https://x.org/dir/page",
				    .limit_bytes = limit_bytes,
				    .limits = { .time_ms = LIMIT_MS } };
	struct err err = { 0 };

	if (html_to_markdown(&source, out, &err) < 0)
		fail_msg("%s", err.text);
}

TEST(elements_become_what_they_are_in_markdown)
{
	static const struct {
		const char *page, *markdown;
	} rows[] = {
		{ "", "" },
		{ "plain  text\n\nhere", "plain text here" },
		{ "<title>A &amp; B</title><h1>H</h1><p>t", "Title: A & B\n\n# H\n\nt" },
		{ "<h2> a <b>b</b></h2><h6>c</h6>", "## a **b**\n\n###### c" },
		{ "<p>one<p>two<br>three", "one\n\ntwo\nthree" },
		{ "<div>a</div><div>b</div>", "a\nb" },
		{ "x <b> y </b>z <i></i>w", "x **y** z w" },
		{ "<a href='/a'>t</a>", "[t](https://x.org/a)" },
		{ "<a href=b?c=1&amp;d#e>t</a>", "[t](https://x.org/dir/b?c=1&d#e)" },
		{ "<a href=#top>t</a> <a>u</a> <a href='javascript:x'>v</a>", "t u v" },
		{ "<a href=/a><img src=i></a>z", "z" },
		{ "<base href=//y.org/q/><a href=r>s</a>", "[s](https://y.org/q/r)" },
		{ "<img alt='a b' src=p.png>", "![a b](https://x.org/dir/p.png)" },
		{ "<img alt=a src='data:x'>", "a" },
		{ "<ul><li>a<li>b<ul><li>c</ul><li>d</ul>e", "- a\n- b\n  - c\n- d\n\ne" },
		{ "<ol start=9><li>a<li><p>b</ol>", "9. a\n10. b" },
		{ "<blockquote><p>a<p>b</blockquote>c", "> a\n\n> b\n\nc" },
		{ "<pre>a\n  b <b>c</b></pre>d", "```\na\n  b c\n```\n\nd" },
		{ "<code> a </code>b", "`a` b" },
		{ "<table><tr><th>a<th>b<tr><td>1<td><p>2</p>3</table>", "| a | b |\n| --- | --- |\n| 1 | 2 3 |" },
		{ "a<hr>b", "a\n\n---\n\nb" },
		{ "a<script>b</script><style>c</style><!--d--><template>e</template><svg><text>f</text></svg>g", "ag" },
		{ "a<p hidden>b<b>c</b></p>d", "a\n\nd" },
		{ "<script>if (a</b) '</p>'</script>x<textarea></p>y</textarea>", "x" },
		{ "a<span title='>'>b</span x='>'>c", "abc" },
		{ "1 < 2 <3 &lt;b&gt; </3> <>", "1 < 2 <3 <b> <>" },
		{ "&eacute;&#x20ac;&#0;&bogus;", "\xc3\xa9\xe2\x82\xac&bogus;" },
		{ "a\1b\177c", "abc" },
		{ "<a href=\"x", "" },
		{ "</b></p></table>a", "a" },
		{ "<?php x ?><![CDATA[y]]>z", "z" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_BUF struct buf out = { 0 };
		convert(str_from(rows[i].page), 1000, &out);
		if (!str_is(buf_str(&out), rows[i].markdown))
			fail_msg("%s\nbecame\n%s\nand not\n%s", rows[i].page, out.n ? out.p : "", rows[i].markdown);
	}
}

TEST(unused_elements_and_attributes_never_reach_the_parser)
{
	static const struct {
		const char *page, *clean;
	} rows[] = {
		{ "<DIV CLASS=a onclick='x>y'>t</DIV >", "<div>t</div>" },
		{ "<a HREF = \"a'b<\" x>t", "<a href=\"a'b&lt;\">t" },
		{ "</div></b>t", "t" },
		{ "<span><b>t</span></b></b>", "<b>t</b>" },
		{ "<verylongnamedelement a=1>t</verylongnamedelement>", "t" },
		{ "<!-->a<!--b--!>-->c", "ac" },
		{ "<title>a<b></title>c", "<title>a&lt;b></title>c" },
		{ "<style>a</style x><style>b", "" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_BUF struct buf out = { 0 };
		html_clean(str_from(rows[i].page), &out);
		CHECK_STR(buf_str(&out), rows[i].clean);
	}
}

static void repeat(struct buf *out, const char *text, size_t times)
{
	for (size_t i = 0; i < times; i++)
		buf_addstr(out, text);
}

TEST(a_page_that_is_nested_too_deeply_is_read_as_far_as_it_goes)
{
	AUTO_BUF struct buf page = { 0 };
	AUTO_BUF struct buf out = { 0 };

	repeat(&page, "<div>x", 10000);
	convert(buf_str(&page), 1 << 20, &out);
	CHECK(str_starts(buf_str(&out), STR("x\nx\nx\n")));
	CHECK(str_ends(buf_str(&out), STR("[The page is nested too deeply: the rest was not read.]")));
}

TEST(the_output_never_passes_its_limit)
{
	static const char *const parts[] = { "\xe2\x82\xac", "<a href=a>b</a>", "<ul><li>x", "<td>x", "<b>x" };

	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		AUTO_BUF struct buf page = { 0 };
		AUTO_BUF struct buf out = { 0 };
		repeat(&page, parts[i], 1500);
		convert(buf_str(&page), 1000, &out);
		CHECK(out.n <= 1000);
		CHECK(utf8_valid(buf_str(&out)));
		CHECK(str_ends(buf_str(&out), STR("[The page was cut here; it is longer.]")));
	}
}

TEST(the_encoding_is_that_of_the_mark_then_the_header_then_the_page_then_the_bytes)
{
	static const struct {
		struct str bytes;
		const char *charset;
		bool html;
		const char *text;
	} rows[] = {
		{ { "\xef\xbb\xbf\xc3\xa9", 5 }, "iso-8859-1", false, "\xc3\xa9" },
		{ { "\xff\xfe\xe9\0", 4 }, "utf-8", false, "\xc3\xa9" },
		{ { "\xfe\xff\0\xe9", 4 }, "", false, "\xc3\xa9" },
		{ { "\xe9", 1 }, "ISO-8859-1", false, "\xc3\xa9" },
		{ { "\x80", 1 }, "latin1", false, "\xe2\x82\xac" },
		{ { "\x82\xa0", 2 }, "Shift_JIS", false, "\xe3\x81\x82" },
		{ { "<meta charset=koi8-r>\xc1", 22 }, "", true, "<meta charset=koi8-r>\xd0\xb0" },
		{ { "<META http-equiv=x content='text/html; charset=koi8-r'>\xc1", 56 },
		  "",
		  true,
		  "<META http-equiv=x content='text/html; charset=koi8-r'>\xd0\xb0" },
		{ { "<meta charset=koi8-r>\xc3\xa9", 23 }, "utf-8", true, "<meta charset=koi8-r>\xc3\xa9" },
		{ { "<meta charset=utf-16>\xc3\xa9", 23 }, "", true, "<meta charset=utf-16>\xc3\xa9" },
		{ { "\xc3\xa9", 2 }, "", false, "\xc3\xa9" },
		{ { "\xe9", 1 }, "", false, "\xc3\xa9" },
		{ { "a\xff\xfe", 3 }, "utf-8", false, "a\xef\xbf\xbd\xef\xbf\xbd" },
		{ { "a", 1 }, "UTF-7", false, "a" },
		{ { "\x82", 1 }, "shift_jis", false, "\xef\xbf\xbd" },
		{ { "\x93\xfa\x96\x7b\x83\x5c", 6 }, "sjis", false, "\xe6\x97\xa5\xe6\x9c\xac\xe3\x82\xbd" },
		{ { "\x87\x40", 2 }, "shift_jis", false, "\xe2\x91\xa0" }, /* as on Windows */
		{ { "\xc6\xfc\xcb\xdc", 4 }, "euc-jp", false, "\xe6\x97\xa5\xe6\x9c\xac" },
		{ { "\xc7\xd1\xb1\xdb", 4 }, "euc-kr", false, "\xed\x95\x9c\xea\xb8\x80" },
		{ { "\x8c\x63", 2 }, "euc-kr", false, "\xeb\x98\xa0" }, /* as on Windows */
		{ { "\xa4\xa4\xa4\xe5", 4 }, "big5", false, "\xe4\xb8\xad\xe6\x96\x87" },
		{ { "\xd6\xd0\xce\xc4\xa2\xe3\x95\x32\x82\x36", 10 },
		  "gb18030",
		  false,
		  "\xe4\xb8\xad\xe6\x96\x87\xe2\x82\xac\xf0\xa0\x80\x80" },
		{ { "\xd6\xd0", 2 }, "gb2312", false, "\xe4\xb8\xad" },
		{ { "\xf0\xd2", 2 }, "koi8-r", false, "\xd0\x9f\xd1\x80" },
		{ { "\xc6", 1 }, "windows-1251", false, "\xd0\x96" },
		{ { "a\0\xac\x20\x3d\xd8\0\xde", 8 }, "utf-16le", false, "a\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ { "\0a\x20\xac\xd8\x3d\xde\0", 8 }, "utf-16be", false, "a\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ { "\x93\x94", 2 }, "ascii", false, "\xe2\x80\x9c\xe2\x80\x9d" },
		/* unknown names: the bytes decide */
		{ { "\xc3\xa9", 2 }, "x-unknown", false, "\xc3\xa9" },
		{ { "\xe9", 1 }, "x-unknown", false, "\xc3\xa9" },
		/* an error costs one unit, not the rest of the text */
		{ { "\x3d\xd8"
		    "a\0b\0",
		    6 },
		  "utf-16le",
		  false,
		  "\xef\xbf\xbd"
		  "ab" },
		{ { "\xd8\x3d\0a\0b", 6 },
		  "utf-16be",
		  false,
		  "\xef\xbf\xbd"
		  "ab" },
		{ { "a\0b", 3 }, "utf-16le", false, "a\xef\xbf\xbd" },
		{ { "a\0\x3d\xd8", 4 }, "utf-16le", false, "a\xef\xbf\xbd" },
		{ { "\xc7\xd1\xff"
		    "ab",
		    5 },
		  "euc-kr",
		  false,
		  "\xed\x95\x9c\xef\xbf\xbd"
		  "ab" },
		{ { "ab\xc7", 3 }, "euc-kr", false, "ab\xef\xbf\xbd" },
		/* encodings that wait whether the next character joins this one */
		{ { "\xe0", 1 }, "windows-1255", false, "\xd7\x90" },
		{ { "\xe0\xd9\xe1", 3 }, "windows-1255", false, "\xd7\x90\xef\xbf\xbd\xd7\x91" },
		{ { "a", 1 }, "windows-1258", false, "a" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_BUF struct buf out = { 0 };
		web_decode(rows[i].bytes, str_from(rows[i].charset), rows[i].html, 1000, &out);
		if (!str_is(buf_str(&out), rows[i].text))
			fail_msg("row %zu, %s: '" STR_FMT "', not '%s'", i, rows[i].charset, STR_ARG(buf_str(&out)),
				 rows[i].text);
	}
}

TEST(decoded_text_is_cut_between_characters)
{
	AUTO_BUF struct buf out = { 0 };

	web_decode(STR("aaa\xe9"), STR("latin1"), false, 4, &out);
	CHECK_STR(buf_str(&out), "aaa");
}

/* However the conversion divides its output */
TEST(a_long_text_is_converted_without_a_seam)
{
	enum { TIMES = 50000 };

	for (size_t shift = 0; shift < 4; shift++) {
		AUTO_BUF struct buf in = { 0 };
		AUTO_BUF struct buf out = { 0 };
		AUTO_BUF struct buf expected = { 0 };
		for (size_t i = 0; i < shift; i++)
			buf_addch(&in, 'a');
		for (size_t i = 0; i < TIMES; i++)
			buf_add(&in, "\x93\xfa", 2);
		for (size_t i = 0; i < shift; i++)
			buf_addch(&expected, 'a');
		for (size_t i = 0; i < TIMES; i++)
			buf_addstr(&expected, "\xe6\x97\xa5");
		web_decode(buf_str(&in), STR("shift_jis"), false, SIZE_MAX, &out);
		CHECK(str_eq(buf_str(&out), buf_str(&expected)));
	}
}

int test_html(void)
{
	return RUN_TESTS(
		T(elements_become_what_they_are_in_markdown), T(unused_elements_and_attributes_never_reach_the_parser),
		T(a_page_that_is_nested_too_deeply_is_read_as_far_as_it_goes), T(the_output_never_passes_its_limit),
		T(the_encoding_is_that_of_the_mark_then_the_header_then_the_page_then_the_bytes),
		T(decoded_text_is_cut_between_characters), T(a_long_text_is_converted_without_a_seam));
}
