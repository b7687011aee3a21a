/* SPDX-License-Identifier: MIT
 * test_pdf.c - Read of PDF documents, with poppler's tools and without. */
#include "unit.h"
#include <sys/stat.h>
#include "lib/io/spawn.h"
#include "tests.h"
#include "toolbox.h"
#include "tools/media/pdf.h"

/* A box with child processes */
struct pdf_box {
	struct toolbox box;
};

static void pdf_box_open(struct pdf_box *pb)
{
	toolbox_open(&pb->box);
	pb->box.env.spawner = spawner_new(pb->box.env.loop);
}

static void pdf_box_close(struct pdf_box *pb)
{
	spawner_free(pb->box.env.spawner);
	toolbox_close(&pb->box);
}

#define BOX(pb)                                   \
	CLEANUP(pdf_box_close) struct pdf_box pb; \
	pdf_box_open(&pb)

/* A document of empty pages; readers do without the table of places. */
static void add_pdf(struct buf *out, unsigned pages)
{
	buf_addstr(out, "%PDF-1.4\n1 0 obj\n<</Type /Catalog /Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type /Pages /Kids [");
	for (unsigned i = 0; i < pages; i++)
		buf_addf(out, "%u 0 R ", i + 3);
	buf_addf(out, "] /Count %u>>\nendobj\n", pages);
	for (unsigned i = 0; i < pages; i++)
		buf_addf(out, "%u 0 obj\n<</Type /Page /Parent 2 0 R /MediaBox [0 0 200 100]>>\nendobj\n", i + 3);
	buf_addstr(out, "trailer\n<</Root 1 0 R>>\n%%EOF\n");
}

static void put_pdf(struct toolbox *box, const char *name, unsigned pages)
{
	AUTO_BUF struct buf bytes = { 0 };

	add_pdf(&bytes, pages);
	toolbox_put_bytes(box, name, buf_str(&bytes));
}

static void hide_poppler(struct toolbox *box)
{
	const char **envp = arena_calloc(&box->arena, 2 * sizeof(char *));

	envp[0] = "PATH=/nowhere";
	box->env.envp = envp;
}

TEST(pages_are_a_number_or_a_range_of_at_most_20)
{
	static const struct {
		const char *text;
		unsigned first, last; /* 0: refused */
	} cases[] = {
		{ "1", 1, 1 },   { "3-5", 3, 5 }, { " 2 - 4 ", 2, 4 }, { "7-26", 7, 26 },      { "7-27", 0, 0 },
		{ "", 0, 0 },    { "0", 0, 0 },   { "5-3", 0, 0 },     { "1-", 0, 0 },         { "-3", 0, 0 },
		{ "1,2", 0, 0 }, { "a", 0, 0 },   { "1-2-3", 0, 0 },   { "4294967297", 0, 0 },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct pdf_pages pages = { 0 };
		struct err err = { 0 };
		int rc = pdf_pages_parse(str_from(cases[i].text), &pages, &err);
		CHECK_INT(rc, cases[i].first ? 0 : -ERR_USAGE);
		CHECK_INT(pages.first, cases[i].first);
		CHECK_INT(pages.last, cases[i].last);
	}
}

TEST(the_number_of_pages_is_the_last_one_that_pdfinfo_prints)
{
	CHECK_INT(pdf_info_pages(STR("Title: x\nPages: 1\nPages:           12\nEncrypted: no\n")), 12);
	CHECK_INT(pdf_info_pages(STR("Title: x\n")), 0);
	CHECK_INT(pdf_least_pages(STR("/Type/Page /Type /Pages /Type\n/Page/Type/Page")), 3);
}

TEST(a_short_document_comes_whole)
{
	BOX(pb);
	put_pdf(&pb.box, "a.bin", 10);

	toolbox_run(&pb.box, "Read", "{'file_path':'a.bin'}");

	CHECK(!pb.box.call->is_error);
	struct str blocks = buf_str(&pb.box.call->result_blocks);
	CHECK(str_has(blocks,
		      STR("{\"type\":\"document\",\"source\":{\"type\":\"base64\",\"media_type\":\"application/pdf\","
			  "\"data\":\"JVBERi0xLjQK")));
	CHECK(str_starts(toolbox_object(&pb.box), STR("{\"type\":\"pdf\",\"file\":{\"filePath\":")));
}

TEST(pages_come_as_images_one_after_the_other)
{
	BOX(pb);
	put_pdf(&pb.box, "a.pdf", 12);

	toolbox_run(&pb.box, "Read", "{'file_path':'a.pdf','pages':'11-14'}");

	CHECK(!pb.box.call->is_error);
	CHECK(str_starts(
		buf_str(&pb.box.call->result_blocks),
		STR("[{\"type\":\"text\",\"text\":\"Page 11 of 12:\"},{\"type\":\"image\",\"source\":{\"type\":"
		    "\"base64\",\"media_type\":\"image/jpeg\",\"data\":\"/9j/")));
	CHECK_STR(toolbox_text(&pb.box), "Page 11 of 12:\n[image, image/jpeg, page 11]\nPage 12 of 12:\n"
					 "[image, image/jpeg, page 12]");
	CHECK(str_has(toolbox_object(&pb.box), STR("\"count\":2,\"outputDir\":\"\"},\"firstPage\":11}")));
}

TEST(what_cannot_be_shown_of_a_document_says_what_to_do)
{
	BOX(pb);
	put_pdf(&pb.box, "long.pdf", 11);
	put_pdf(&pb.box, "short.pdf", 1);
	toolbox_put(&pb.box, "broken.pdf", "%PDF-1.4\nnothing of the kind\n");
	toolbox_put(&pb.box, "text.pdf", "words");
	static const struct {
		const char *input, *text;
	} cases[] = {
		{ "'file_path':'long.pdf'", "it has 11 pages, too many to read at once. Say which with `pages`" },
		{ "'file_path':'short.pdf','pages':'2'", "it has 1 pages, and page 2 was asked for" },
		{ "'file_path':'short.pdf','pages':'1-30'", "at most 20 pages can be read at once" },
		{ "'file_path':'broken.pdf'", "it is damaged, locked with a password, or not a PDF file (pdfinfo: " },
		{ "'file_path':'text.pdf','pages':'1'", "text.pdf is not one: it does not begin with %PDF-." },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		toolbox_run(&pb.box, "Read", "{%s}", cases[i].input);
		CHECK(pb.box.call->is_error);
		CHECK(str_has(toolbox_text(&pb.box), str_from(cases[i].text)));
	}
}

TEST(without_poppler_a_document_comes_whole_up_to_100_pages)
{
	BOX(pb);
	put_pdf(&pb.box, "a.pdf", 100);
	put_pdf(&pb.box, "long.pdf", 101);
	hide_poppler(&pb.box);

	toolbox_run(&pb.box, "Read", "{'file_path':'a.pdf','pages':'1-2'}");
	CHECK(!pb.box.call->is_error);
	CHECK(str_has(toolbox_text(&pb.box), STR("Pages cannot be picked: poppler-utils is not installed.")));
	CHECK(str_has(buf_str(&pb.box.call->result_blocks), STR("\"document\"")));

	toolbox_run(&pb.box, "Read", "{'file_path':'long.pdf'}");
	CHECK(pb.box.call->is_error);
	CHECK(str_has(toolbox_text(&pb.box), STR("it has more than 100 pages, and without poppler-utils")));
}

/* In the place of pdfinfo stands a program that does not end. */
static void put_endless_program(struct toolbox *box)
{
	const char **envp = arena_calloc(&box->arena, 2 * sizeof(char *));

	toolbox_put(box, "bin/pdfinfo", "#!/bin/sh\nexec sleep 600\n");
	CHECK_INT(chmod(toolbox_path(box, "bin/pdfinfo"), 0755), 0);
	envp[0] = arena_printf(&box->arena, "PATH=%s:/usr/bin:/bin", toolbox_path(box, "bin"));
	box->env.envp = envp;
}

TEST(a_cancelled_read_of_a_document_ends_its_program)
{
	BOX(pb);
	put_pdf(&pb.box, "a.pdf", 3);
	put_endless_program(&pb.box);
	uint64_t begun = uv_hrtime();

	toolbox_begin(&pb.box, "Read", "{'file_path':'a.pdf','pages':'1-3'}");
	tool_call_cancel(pb.box.call);
	toolbox_finish(&pb.box);

	CHECK_STR(toolbox_text(&pb.box), "The call was cancelled.");
	CHECK_INT(spawner_active(pb.box.env.spawner), 0);
	CHECK(uv_hrtime() - begun < UINT64_C(15000000000)); /* not by its own limit */
}

int test_pdf(void)
{
	return RUN_TESTS(T(pages_are_a_number_or_a_range_of_at_most_20),
			 T(the_number_of_pages_is_the_last_one_that_pdfinfo_prints), T(a_short_document_comes_whole),
			 T(pages_come_as_images_one_after_the_other),
			 T(what_cannot_be_shown_of_a_document_says_what_to_do),
			 T(without_poppler_a_document_comes_whole_up_to_100_pages),
			 T(a_cancelled_read_of_a_document_ends_its_program));
}
