/* SPDX-License-Identifier: MIT
 * test_read_image.c - Read of images. */
#include "unit.h"
#include "lib/base/base64.h"
#include "picture.h"
#include "tests.h"
#include "toolbox.h"

#define BOX(box)                                   \
	CLEANUP(toolbox_close) struct toolbox box; \
	toolbox_open(&box)

TEST(an_image_is_known_by_its_bytes_and_comes_as_a_block)
{
	BOX(box);
	AUTO_BUF struct buf png = { 0 };
	AUTO_BUF struct buf expected = { 0 };
	picture_png(&png, (struct picture){ 4, 3, .noise = true });
	toolbox_put_bytes(&box, "picture.txt", buf_str(&png));

	toolbox_run(&box, "Read", "{'file_path':'picture.txt'}");

	buf_addstr(&expected,
		   "[{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"");
	base64_add(&expected, buf_str(&png));
	buf_addstr(&expected, "\"}}]");
	CHECK(!box.call->is_error);
	CHECK(str_eq(buf_str(&box.call->result_blocks), buf_str(&expected)));
	CHECK(str_starts(toolbox_text(&box), STR("[image, image/png, 4 x 3, ")));
	CHECK(str_starts(toolbox_object(&box), STR("{\"type\":\"image\",\"file\":{\"base64\":\"iVBOR")));
	CHECK(str_has(toolbox_object(&box), STR("\"dimensions\":{\"originalWidth\":4,\"originalHeight\":3,")));
	CHECK_INT(box.files.stamps.count, 1);
}

TEST(a_scaled_image_says_how_to_find_places_in_the_file)
{
	BOX(box);
	AUTO_BUF struct buf png = { 0 };
	picture_png(&png, (struct picture){ .width = 3136, .height = 20 });
	toolbox_put_bytes(&box, "wide.png", buf_str(&png));

	toolbox_run(&box, "Read", "{'file_path':'wide.png'}");

	CHECK(!box.call->is_error);
	CHECK(str_has(
		buf_str(&box.call->result_blocks),
		STR("},{\"type\":\"text\",\"text\":\"[The image has 3136 x 20 pixels and is shown with 1568 x 10: "
		    "multiply coordinates by 2.00")));
}

TEST(text_with_the_name_of_an_image_is_text)
{
	BOX(box);
	toolbox_put(&box, "a.png", "words");

	toolbox_run(&box, "Read", "{'file_path':'a.png'}");

	CHECK_STR(toolbox_text(&box), "1\twords");
	CHECK_INT(box.call->result_blocks.n, 0);
}

TEST(an_image_that_cannot_be_shown_is_an_error_without_blocks)
{
	BOX(box);
	AUTO_BUF struct buf png = { 0 };
	AUTO_BUF struct buf cut = { 0 };
	picture_png_claim(&png, 100000, 100000);
	picture_jpeg(&cut, (struct picture){ 64, 64, .noise = true });
	cut.n /= 2;
	toolbox_put_bytes(&box, "huge.png", buf_str(&png));
	toolbox_put_bytes(&box, "cut.jpg", buf_str(&cut));
	static const struct {
		const char *name, *text;
	} cases[] = {
		{ "huge.png", "huge.png cannot be shown: an image of 100000 x 100000 pixels" },
		{ "cut.jpg", "cut.jpg cannot be shown: a damaged or incomplete JPEG image." },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		toolbox_run(&box, "Read", "{'file_path':'%s'}", cases[i].name);
		CHECK(box.call->is_error);
		CHECK(str_has(toolbox_text(&box), str_from(cases[i].text)));
		CHECK_INT(box.call->result_blocks.n, 0);
	}
}

TEST(a_cancelled_read_of_an_image_ends)
{
	BOX(box);
	AUTO_BUF struct buf png = { 0 };
	picture_png(&png, (struct picture){ .width = 4, .height = 3 });
	toolbox_put_bytes(&box, "a.png", buf_str(&png));

	toolbox_begin(&box, "Read", "{'file_path':'a.png'}");
	tool_call_cancel(box.call);
	toolbox_finish(&box);

	CHECK(box.call->is_error);
	CHECK_STR(toolbox_text(&box), "The call was cancelled.");
}

int test_read_image(void)
{
	return RUN_TESTS(
		T(an_image_is_known_by_its_bytes_and_comes_as_a_block),
		T(a_scaled_image_says_how_to_find_places_in_the_file), T(text_with_the_name_of_an_image_is_text),
		T(an_image_that_cannot_be_shown_is_an_error_without_blocks), T(a_cancelled_read_of_an_image_ends));
}
