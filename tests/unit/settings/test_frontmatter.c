/* SPDX-License-Identifier: MIT
 * test_frontmatter.c - what is found at the head of a file, and what its fields mean. */
#include "unit.h"
#include "config/catalog/frontmatter.h"
#include "tests.h"

static const struct definition_field known_fields[] = {
	{ .name = "name", .flags = FRONTMATTER_KNOWN | FRONTMATTER_TEXT },
	{ .name = "description", .flags = FRONTMATTER_KNOWN | FRONTMATTER_TEXT },
	{ .name = "tools", .flags = FRONTMATTER_KNOWN | FRONTMATTER_RESTRICTION },
	{ .name = "model", .flags = FRONTMATTER_KNOWN },
	{ 0 },
};

struct reading {
	struct arena arena;
	struct diagnostics diagnostics;
	struct frontmatter fm;
	struct buf out;
};

static void read_bytes(struct reading *r, struct str bytes)
{
	*r = (struct reading){ 0 };
	r->diagnostics.arena = &r->arena;
	frontmatter_read(&r->fm, &r->arena, bytes, known_fields, &r->diagnostics);
}

static void release(struct reading *r)
{
	arena_release(&r->arena);
	buf_release(&r->out);
}

/* "key=json|key=json" of all fields, "?" before a doubtful one, "!key" for each lost one; "none" if nothing was found. */
static const char *fields(struct reading *r)
{
	if (!r->fm.found)
		return "none";
	buf_addstr(&r->out, "");
	for (size_t i = 0; i < r->fm.field_count; i++)
		buf_addf(&r->out, "%s%s%s=%s", r->out.n ? "|" : "", r->fm.fields[i].doubtful ? "?" : "",
			 r->fm.fields[i].key.p, r->fm.fields[i].json.p);
	for (size_t i = 0; i < r->fm.lost_count; i++)
		buf_addf(&r->out, "%s!%s:%u", r->out.n ? "|" : "", r->fm.lost[i].key.p, r->fm.lost[i].line);
	return r->out.p;
}

struct row {
	const char *text, *fields, *body;
};

static void check_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct reading r;
		read_bytes(&r, str_from(rows[i].text));
		CHECK_CSTR(fields(&r), rows[i].fields);
		if (rows[i].body)
			CHECK_STR(r.fm.body, rows[i].body);
		release(&r);
	}
}

TEST(a_frontmatter_stands_between_whole_lines_of_dashes)
{
	static const struct row rows[] = {
		{ "---\nname: a\n---\nbody\n", "name=\"a\"", "body" },
		{ "---  \nname: a\n---\t\n\n  body  \n\n", "name=\"a\"", "body" },
		{ "---\nname: a\n...\nbody", "name=\"a\"", "body" },
		{ "---\nname: a\n---", "name=\"a\"", "" },
		{ "---\nname: one --- two\nmodel: x\n---\nb", "name=\"one --- two\"|model=\"x\"", "b" },
		{ "---\nname: ends ---\ntools: x\n---\nb", "name=\"ends ---\"|tools=\"x\"", "b" },
		{ "---\nname: |\n  a\n  ---\n  b\n---\nb", "name=\"a\\n---\\nb\\n\"", "b" },
		{ "---\n---\nbody", "", "body" },
		{ "---\n# only\n---\nbody", "", "body" },
		{ "text\n---\nname: a\n---", "none", "text\n---\nname: a\n---" },
		{ "----\nname: a\n---", "none", NULL },
		{ "", "none", "" },
	};

	check_rows(rows, COUNT_OF(rows));
}

TEST(four_dashes_close_only_behind_keys)
{
	static const struct row rows[] = {
		{ "---\n\nname: a\ntools: x\n-------\nbody", "name=\"a\"|tools=\"x\"", "body" },
		{ "---\nname: a\nlist:\n  - x\n----\nb\n---\nc", "name=\"a\"|list=[\"x\"]", "b\n---\nc" },
		{ "---\nname: a\nsome prose\n-----\nmodel: m\n---\nb", "name=\"a\\nsome prose\\n-----\"|model=\"m\"",
		  "b" },
		{ "---\nname: a\n----\ntools: x\n---\nb", "name=\"a\\n----\"|tools=\"x\"", "b" }, /* the keys go on */
	};

	check_rows(rows, COUNT_OF(rows));
}

TEST(without_a_close_the_leading_keys_count)
{
	static const struct row rows[] = {
		{ "---\nname: a\ntools:\n  - x\n\n# You are\nbody", "name=\"a\"|tools=[\"x\"]", "# You are\nbody" },
		{ "---\nname: a\n\nYou are it.", "name=\"a\"", "You are it." },
		{ "---\nname: a", "name=\"a\"", "" },
		{ "---", "", "" },
		{ "---\nname: a\nprose here\n\ntools: x\n", "name=\"a\"|!tools:5", NULL },
	};

	check_rows(rows, COUNT_OF(rows));
}

TEST(blank_lines_comments_and_a_fence_may_come_first)
{
	static const struct row rows[] = {
		{ "\n \n---\nname: a\n---\nb", "name=\"a\"", "b" },
		{ "<!-- one -->\n<!--\ntwo\n-->\n\n---\nname: a\n---\nb", "name=\"a\"", "b" },
		{ "<!-- one --> text\n---\nname: a\n---\nb", "none", NULL },
		{ "<!-- never closed\n---\nname: a\n---\nb", "none", NULL },
		{ "```yaml\n---\nname: a\n---\n```\nb", "name=\"a\"", "b" },
		{ "```markdown\n---\nname: a\n---\nb\n```\n", "name=\"a\"", "b" },
		{ "```\n```\n---\nname: a\n---\nb", "none", NULL },
	};

	check_rows(rows, COUNT_OF(rows));
}

TEST(indentation_of_the_whole_is_taken_off)
{
	static const struct row rows[] = {
		{ "  ---\n  name: a\n  tools: |\n    x\n    y\n  ---\n  b", "name=\"a\"|tools=\"x\\ny\\n\"", "b" },
		{ "---\n  name: a: b\n  tools: x\n---\nb", "name=\"a: b\"|tools=\"x\"", "b" },
		{ "\t---\n\tname: a\n\ttools: x\n\t---\nb", "name=\"a\"|tools=\"x\"", "b" },
	};

	check_rows(rows, COUNT_OF(rows));
}

TEST(every_encoding_becomes_utf8_with_lf)
{
	static const struct {
		struct str bytes;
		const char *fields, *body;
	} rows[] = {
		{ STR("\xef\xbb\xbf---\nname: a\n---\nb"), "name=\"a\"", "b" },
		{ STR("---\r\nname: a\r\nmodel: m\r\n---\r\nb\r\nc\r\n"), "name=\"a\"|model=\"m\"", "b\nc" },
		{ STR("---\rname: a\rmodel: m\r---\rb\rc\r"), "name=\"a\"|model=\"m\"", "b\nc" },
		{ STR("---\nname: a\xff\xfe\n---\nb\xc3("), "name=\"a\xef\xbf\xbd\xef\xbf\xbd\"", "b\xef\xbf\xbd(" },
		{ STR("\xff\xfe-\0-\0-\0\n\0n\0a\0m\0e\0:\0 \0\xe4\0\n\0-\0-\0-\0\n\0=\xd8\x80\xde"),
		  "name=\"\xc3\xa4\"", "\xf0\x9f\x9a\x80" },
		{ STR("\xfe\xff\0-\0-\0-\0\n\0n\0a\0m\0e\0:\0 \0a\0\n\0-\0-\0-\0\n\0b\xd8\0\0"), "name=\"a\"",
		  "b\xef\xbf\xbd\xef\xbf\xbd" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct reading r;
		read_bytes(&r, rows[i].bytes);
		CHECK_CSTR(fields(&r), rows[i].fields);
		CHECK_STR(r.fm.body, rows[i].body);
		release(&r);
	}
}

TEST(a_nul_in_the_body_hides_nothing)
{
	struct reading r;

	read_bytes(&r, STR("---\nname: a\n---\nb\0c\n"));

	CHECK_INT(r.fm.body.n, 3);
	release(&r);
}

TEST(values_keep_their_types)
{
	static const struct row rows[] = {
		{ "---\nx: 5\ny: -1.5\nz: 007\nb: true\nn: ~\ne:\ns: 'true'\n---",
		  "x=5|y=-1.5|z=\"007\"|b=true|n=null|e=null|s=\"true\"", NULL },
		{ "---\nx: [a, 'b', {c: 1}]\ny:\n  k:\n    - v\n---", "x=[\"a\",\"b\",{\"c\":1}]|y={\"k\":[\"v\"]}",
		  NULL },
		{ "---\nx: |\n  a\n  b\ny: >\n  a\n  b\nz: \"a\\tb\"\n---", "x=\"a\\nb\\n\"|y=\"a b\\n\"|z=\"a\\tb\"",
		  NULL },
		{ "---\n{x: 1, name: a}\n---", "x=1|name=\"a\"", NULL },
		{ "---\nx: 1\nx: 2\n---", "x=1|x=2", NULL },
	};

	check_rows(rows, COUNT_OF(rows));
}

TEST(names_and_descriptions_are_text_as_it_stands)
{
	static const struct row rows[] = {
		{ "---\nname: 12\ndescription: yes\n---", "name=\"12\"|description=\"yes\"", NULL },
		{ "---\nname: a#b #c # d\ndescription: fix #12 # later\n---", "name=\"a#b #c\"|description=\"fix #12\"",
		  NULL },
		{ "---\ndescription: #first\n---", "description=\"#first\"", NULL },
		{ "---\ndescription: # a comment\n---", "description=\"\"", NULL },
		{ "---\ndescription: one\n  two\n\n  three\n---", "description=\"one two\\nthree\"", NULL },
		{ "---\ndescription: \"a # b\"\n---", "description=\"a # b\"", NULL },
		{ "---\ndescription:\n  When: it is so\n---", "description=\"When: it is so\"", NULL },
		{ "---\ndescription: {place} holder\n---", "description=\"{place} holder\"", NULL },
	};

	check_rows(rows, COUNT_OF(rows));
}

TEST(anchors_aliases_and_tags_are_text)
{
	static const struct row rows[] = {
		{ "---\ndescription: &a text\n---", "description=\"&a text\"", NULL },
		{ "---\ndescription: !x text\n---", "description=\"!x text\"", NULL },
		{ "---\ndescription: *bold\n---", "description=\"*bold\"", NULL },
		{ "---\nx: &a [1]\ny: *a\n---", "x=[1]|y=\"*a\"", NULL },
		{ "---\nx: [&a b, *a, !t c]\n---", "x=[\"&a b\",\"*a\",\"!t c\"]", NULL },
		{ "---\nmodel: *\n---", "model=\"*\"", NULL },
	};

	check_rows(rows, COUNT_OF(rows));
}

TEST(what_is_not_yaml_is_read_by_line)
{
	static const struct row rows[] = {
		{ "---\ndescription: a: b\nmodel: m\n---", "description=\"a: b\"|model=\"m\"", NULL },
		{ "---\ndescription: ends with:\nx: y: z\n---", "description=\"ends with:\"|x=\"y: z\"", NULL },
		{ "---\ndescription: a\n\nExamples:\n<example>\nuser: hi\nmode: x\n</example>\nmodel: m\n---",
		  "description=\"a\\n\\nExamples:\\n<example>\\nuser: hi\\nmode: x\\n</example>\"|model=\"m\"", NULL },
		{ "---\ndescription: a: b\nuser: hi\nassistant: yes\n---",
		  "description=\"a: b\\nuser: hi\\nassistant: yes\"", NULL },
		{ "---\ndescription: a: b\nmode: x\nUpper: y\n---", "description=\"a: b\"|mode=\"x\\nUpper: y\"",
		  NULL },
		{ "---\nname:a\ndescription:no space\n---", "name=\"a\"|description=\"no space\"", NULL },
		{ "---\nname: a\ndescription:\xc2\xa0 x\n---", "name=\"a\"|description=\"x\"", NULL },
		{ "---\ndescription: \"never closed\nmodel: m\n---", "description=\"never closed\"|model=\"m\"", NULL },
		{ "---\ndescription: \"say \"a\" now: b\"\n---", "description=\"say \\\"a\\\" now: b\"", NULL },
		{ "---\ndescription: \"a\" and \"b\"\n---", "description=\"\\\"a\\\" and \\\"b\\\"\"", NULL },
		{ "---\ndescription: 'it's: so'\n---", "description=\"it's: so\"", NULL },
		{ "---\ndescription: |\nno indentation\nmodel: m\n---", "description=\"no indentation\"|model=\"m\"",
		  NULL },
		{ "---\ndescription: @you `x`\n---", "description=\"@you `x`\"", NULL },
		{ "---\ndescription: %x\n---", "description=\"%x\"", NULL },
		{ "---\nNAME : a: b\nTools : x\n---", "NAME=\"a: b\"|Tools=\"x\"", NULL },
		{ "---\nname: a: b\ntools:\n\t- x\n\t- y\n---", "name=\"a: b\"|tools=[\"x\",\"y\"]", NULL },
		{ "---\nname: a: b\ntools:\n- x\n- y(z: *)\n---", "name=\"a: b\"|tools=[\"x\",\"y(z: *)\"]", NULL },
		{ "---\nname: a: b\nx:\n  k: [1]\n---", "name=\"a: b\"|x={\"k\":[1]}", NULL },
		{ "---\nname: a: b\nmodel: m\nprose\n---", "name=\"a: b\"|model=\"m\"", NULL },
		{ "---\nlost\nname: a: b\n---", "name=\"a: b\"", NULL },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct reading r;
		read_bytes(&r, str_from(rows[i].text));
		CHECK_CSTR(fields(&r), rows[i].fields);
		CHECK(r.fm.recovered);
		CHECK(r.diagnostics.count > 0);
		release(&r);
	}
}

TEST(a_restriction_that_cannot_be_read_is_doubtful_or_lost)
{
	static const struct row rows[] = {
		{ "---\nname: a\ntools: [x\n---", "name=\"a\"|?tools=\"[x\"", NULL },
		{ "---\nname: a\ntools: {x\n---", "name=\"a\"|?tools=\"{x\"", NULL },
		{ "---\nname: a: b\ntools: x\nand prose\n---", "name=\"a: b\"|?tools=\"x\\nand prose\"", NULL },
		{ "---\nname: \"a\ntools: x\nb\"\n---", "name=\"a tools: x b\"|!tools:3", NULL },
		{ "---\nname: a: b\n? tools\n: x\n---", "name=\"a: b\\n? tools\\n: x\"|!tools:3", NULL },
		{ "---\n{name: a,\ntools: x\n---", "!tools:3", NULL },
		{ "---\nname: a: b\nother:\n  tools: x\n---", "name=\"a: b\"|other={\"tools\":\"x\"}", NULL },
		{ "---\nname: a: b\ntools: [*]\n---", "name=\"a: b\"|tools=\"[*]\"", NULL },
	};

	check_rows(rows, COUNT_OF(rows));
}

TEST(lines_are_those_of_the_file)
{
	struct reading r;

	read_bytes(&r, STR("\n\n---\n# c\nname: \xc3\xa4\xe2\x80\xa8x\n\ntools:\n  - x\nmodel: a\n---\nb"));

	CHECK_INT(r.fm.field_count, 3);
	CHECK_INT(r.fm.fields[0].line, 5);
	CHECK_INT(r.fm.fields[1].line, 7);
	CHECK_INT(r.fm.fields[2].line, 9);
	CHECK_INT(r.diagnostics.list[0].line, 3);
	release(&r);
}

TEST(hostile_sizes_end_in_a_diagnostic)
{
	AUTO_BUF struct buf deep = { 0 }, wide = { 0 }, many = { 0 };
	struct buf *texts[] = { &deep, &wide, &many };

	buf_addstr(&deep, "---\nx: ");
	for (int i = 0; i < 5000; i++)
		buf_addch(&deep, '[');
	buf_addstr(&wide, "---\nx: ");
	for (int i = 0; i < FRONTMATTER_LIMIT_BYTES; i++)
		buf_addch(&wide, 'y');
	buf_addstr(&many, "---\n");
	for (int i = 0; i < 3 * FRONTMATTER_LIMIT_FIELDS; i++)
		buf_addf(&many, "k%d: v\n", i);
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct reading r;
		buf_addstr(texts[i], "\n---\nbody");
		read_bytes(&r, buf_str(texts[i]));
		CHECK(r.diagnostics.count > 0);
		CHECK(r.fm.field_count <= FRONTMATTER_LIMIT_FIELDS);
		CHECK_STR(r.fm.body, "body");
		release(&r);
	}
}

int test_frontmatter(void)
{
	return RUN_TESTS(T(a_frontmatter_stands_between_whole_lines_of_dashes), T(four_dashes_close_only_behind_keys),
			 T(without_a_close_the_leading_keys_count), T(blank_lines_comments_and_a_fence_may_come_first),
			 T(indentation_of_the_whole_is_taken_off), T(every_encoding_becomes_utf8_with_lf),
			 T(a_nul_in_the_body_hides_nothing), T(values_keep_their_types),
			 T(names_and_descriptions_are_text_as_it_stands), T(anchors_aliases_and_tags_are_text),
			 T(what_is_not_yaml_is_read_by_line), T(a_restriction_that_cannot_be_read_is_doubtful_or_lost),
			 T(lines_are_those_of_the_file), T(hostile_sizes_end_in_a_diagnostic));
}
