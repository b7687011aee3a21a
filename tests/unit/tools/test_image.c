/* SPDX-License-Identifier: MIT
 * test_image.c - images: what their bytes say, and what the model is shown of them. */
#include "unit.h"
#include <zlib.h>
#include "lib/base/base64.h"
#include "picture.h"
#include "tests.h"
#include "tools/media/image.h"

/* Made only here: a JPEG of one segment that says 16 x 8, and a scan. */
static const char jpeg[] =
	"\xff\xd8\xff\xe0\x00\x04xx\xff\xff\xc0\x00\x0b\x08\x00\x08\x00\x10\x01\x01\x11\x00\xff\xda\x00\x02"
	"data\xff\x00more\xff\xd9";
static const char webp_lossy[] = "RIFF\x16\x00\x00\x00WEBPVP8 \x0a\x00\x00\x00xxx\x9d\x01\x2a\x10\x00\x08\x00";
static const char webp_lossless[] = "RIFF\x16\x00\x00\x00WEBPVP8L\x0a\x00\x00\x00\x2f\x0f\xc0\x01\x00xxxxx";

static void check_head(struct str bytes, struct image_head expected)
{
	struct image_head h = { 0 };
	struct err err = { 0 };

	CHECK_INT(image_head_read(bytes, &h, &err), 0);
	CHECK_INT(h.type, expected.type);
	CHECK_INT(h.width, expected.width);
	CHECK_INT(h.height, expected.height);
	CHECK_INT(h.moves, expected.moves);
}

TEST(the_bytes_of_an_image_say_its_type_and_size)
{
	AUTO_BUF struct buf png = { 0 };
	AUTO_BUF struct buf gif = { 0 };
	AUTO_BUF struct buf moving = { 0 };
	AUTO_BUF struct buf webp = { 0 };

	picture_png(&png, (struct picture){ 3, 2, .noise = true });
	picture_gif(&gif, 1, 300);
	picture_gif(&moving, 2, 0);
	picture_webp_claim(&webp, 70000, 5, true);
	check_head(buf_str(&png), (struct image_head){ IMAGE_PNG, 3, 2, .moves = false });
	check_head(buf_str(&gif), (struct image_head){ IMAGE_GIF, 1, 1, .moves = false });
	check_head(buf_str(&moving), (struct image_head){ IMAGE_GIF, 1, 1, .moves = true });
	check_head(buf_str(&webp), (struct image_head){ IMAGE_WEBP, 70000, 5, .moves = true });
	check_head((struct str){ jpeg, sizeof jpeg - 1 }, (struct image_head){ IMAGE_JPEG, 16, 8, .moves = false });
	check_head((struct str){ webp_lossy, sizeof webp_lossy - 1 },
		   (struct image_head){ IMAGE_WEBP, 16, 8, .moves = false });
	check_head((struct str){ webp_lossless, sizeof webp_lossless - 1 },
		   (struct image_head){ IMAGE_WEBP, 16, 8, .moves = false });
}

/* Each in memory of its own, so that a look past the end is seen. */
static void check_prefixes(struct str bytes)
{
	for (size_t n = 0; n < bytes.n; n++) {
		AUTO_FREE char *copy = xmalloc(n + 1);
		struct image_head h;
		struct err err = { 0 };
		memcpy(copy, bytes.p, n);
		char *exact = xrealloc(TAKE(copy), n ? n : 1);
		CHECK_INT(image_head_read((struct str){ exact, n }, &h, &err), -ERR_PARSE);
		free(exact);
	}
}

TEST(an_image_whose_end_is_missing_is_none)
{
	AUTO_BUF struct buf png = { 0 };
	AUTO_BUF struct buf gif = { 0 };

	picture_png(&png, (struct picture){ 3, 2, .noise = true });
	picture_gif(&gif, 2, 300);
	check_prefixes(buf_str(&png));
	check_prefixes(buf_str(&gif));
	check_prefixes((struct str){ jpeg, sizeof jpeg - 1 });
	check_prefixes((struct str){ webp_lossy, sizeof webp_lossy - 1 });
}

/* PNG: the bytes behind its name and length are those of the chunk; every checksum is right. */
static void add_chunk(struct buf *out, const char *name, const unsigned char *p, size_t n)
{
	unsigned char number[4];
	size_t start = out->n + 4;

	for (int i = 0; i < 4; i++)
		number[i] = (unsigned char)(n >> (24 - 8 * i));
	buf_add(out, (char *)number, 4);
	buf_add(out, name, 4);
	buf_add(out, (const char *)p, n);
	unsigned long sum = crc32(0, (unsigned char *)out->p + start, (unsigned)n + 4);
	for (int i = 0; i < 4; i++)
		number[i] = (unsigned char)(sum >> (24 - 8 * i));
	buf_add(out, (char *)number, 4);
}

TEST(a_png_with_a_wrong_checksum_is_damaged)
{
	AUTO_BUF struct buf png = { 0 };
	struct image_head h;
	struct err err = { 0 };

	picture_png(&png, (struct picture){ .width = 3, .height = 2 });
	png.p[45] ^= 1;
	CHECK_INT(image_head_read(buf_str(&png), &h, &err), -ERR_PARSE);
	CHECK_STR(str_from(err.text), "a damaged or incomplete PNG image");
}

/* As in the test image of the servers of the protocol */
TEST(a_png_with_a_wrong_checksum_that_no_decoder_needs_is_sound)
{
	AUTO_BUF struct buf png = { 0 }, damaged = { 0 };
	struct image_head h;
	size_t head = 8 + 4 + 4 + 13 + 4; /* signature, IHDR */

	picture_png(&png, (struct picture){ .width = 3, .height = 2 });
	buf_add(&damaged, png.p, head);
	add_chunk(&damaged, "tEXt", (const unsigned char *)"a", 1);
	damaged.p[damaged.n - 1] ^= 1;
	buf_add(&damaged, png.p + head, png.n - head);
	CHECK_INT(image_head_read(buf_str(&damaged), &h, NULL), 0);
}

/* 4 x 4 pixels; rows: so many bytes 0 are packed, in two chunks; junk: bytes that are not packed at all. */
static void add_png(struct buf *out, unsigned depth, unsigned color, bool interlaced, size_t rows, bool junk)
{
	unsigned char head[13] = {
		0, 0, 0, 4, 0, 0, 0, 4, (unsigned char)depth, (unsigned char)color, 0, 0, interlaced
	};
	unsigned char raw[400] = { 0 }, packed[500] = { 0 };
	unsigned long n = sizeof packed;

	CHECK_INT(compress(packed, &n, raw, rows), Z_OK);
	buf_addstr(out, "\x89PNG\r\n\x1a\n");
	add_chunk(out, "IHDR", head, sizeof head);
	add_chunk(out, "IDAT", junk ? raw : packed, 3);
	add_chunk(out, "IDAT", packed + 3, n - 3);
	add_chunk(out, "IEND", NULL, 0);
}

/* With right checksums. The API refuses a conversation that holds one. */
TEST(a_small_png_without_its_pixels_is_damaged)
{
	static const struct {
		unsigned depth, color;
		bool interlaced;
		size_t bytes; /* of the rows: 4 x 4 pixels, a byte before each row */
	} rows[] = {
		{ 8, 2, false, 4 + 48 }, { 1, 0, false, 4 + 4 },  { 8, 3, false, 4 + 16 }, { 16, 6, false, 4 + 128 },
		{ 4, 3, false, 4 + 8 },  { 8, 4, false, 4 + 32 }, { 8, 6, true, 7 + 64 },
	};
	struct image_head h;

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (int less = 0; less < 3; less++) {
			AUTO_BUF struct buf png = { 0 };
			size_t bytes = rows[i].bytes;
			add_png(&png, rows[i].depth, rows[i].color, rows[i].interlaced, bytes - (less == 1), less == 2);
			if ((image_head_read(buf_str(&png), &h, NULL) == 0) != (less == 0))
				fail_msg("row %zu, %d", i, less);
		}
	for (unsigned bad = 0; bad < 4; bad++) {
		static const unsigned kinds[][2] = { { 3, 0 }, { 8, 9 }, { 16, 3 }, { 4, 2 } };
		AUTO_BUF struct buf png = { 0 };
		add_png(&png, kinds[bad][0], kinds[bad][1], false, 300, false);
		CHECK_INT(image_head_read(buf_str(&png), &h, NULL), -ERR_PARSE);
	}
}

TEST(a_small_image_stays_as_it_is)
{
	AUTO_FITTED_IMAGE struct fitted_image image = { 0 };
	AUTO_BUF struct buf png = { 0 };
	struct err err = { 0 };

	picture_png(&png, (struct picture){ 200, 100, .noise = true });
	CHECK_INT(image_fit(buf_str(&png), &image, &err), 0);
	CHECK(str_eq(buf_str(&image.bytes), buf_str(&png)));
	CHECK_INT(image.type, IMAGE_PNG);
}

static void check_fitted(struct str bytes, enum image_type type, uint32_t width, uint32_t height)
{
	AUTO_FITTED_IMAGE struct fitted_image image = { 0 };
	struct image_head h;
	struct err err = { 0 };

	CHECK_INT(image_fit(bytes, &image, &err), 0);
	CHECK_INT(image_head_read(buf_str(&image.bytes), &h, &err), 0);
	CHECK_INT(image.type, type);
	CHECK_INT(h.type, type);
	CHECK_INT(h.width, width);
	CHECK_INT(h.height, height);
	CHECK(image.bytes.n <= IMAGE_GOOD_BYTES);
}

TEST(a_large_image_is_scaled_down_and_a_heavy_one_becomes_a_jpeg)
{
	AUTO_BUF struct buf wide = { 0 };
	AUTO_BUF struct buf heavy = { 0 };
	AUTO_BUF struct buf photo = { 0 };

	picture_png(&wide, (struct picture){ 3000, 40, .alpha = true });
	picture_png(&heavy, (struct picture){ 700, 600, .noise = true, .alpha = true });
	picture_jpeg(&photo, (struct picture){ 2000, 1000, .noise = true });
	check_fitted(buf_str(&wide), IMAGE_PNG, 1568, 20);
	check_fitted(buf_str(&heavy), IMAGE_JPEG, 700, 600);
	check_fitted(buf_str(&photo), IMAGE_JPEG, 1568, 784);
}

TEST(what_is_transparent_stays_so_when_it_is_scaled)
{
	AUTO_FITTED_IMAGE struct fitted_image image = { 0 };
	AUTO_BUF struct buf png = { 0 };
	struct err err = { 0 };

	picture_png(&png, (struct picture){ 1600, 10, .alpha = true });
	CHECK_INT(image_fit(buf_str(&png), &image, &err), 0);
	CHECK_INT(image.type, IMAGE_PNG);
	CHECK_INT(image.bytes.p[25], 6); /* colour type: RGB and alpha */
}

/* A photograph, and what a camera says about how it was held */
static void add_held(struct buf *out, char held, bool is_big)
{
	const char big[] = { 'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 18, 0, 3, 0, 0, 0, 1, 0, held, 0, 0 };
	const char little[] = { 'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 18, 1, 3, 0, 1, 0, 0, 0, held, 0, 0, 0 };
	AUTO_BUF struct buf photo = { 0 };

	picture_jpeg(&photo, (struct picture){ 2000, 40, .alpha = true });
	buf_add(out, photo.p, 2);
	buf_add(out, "\xff\xe1\0\x1e", 4);
	buf_add(out, "Exif\0", 6);
	buf_add(out, is_big ? big : little, sizeof big);
	buf_add(out, photo.p + 2, photo.n - 2);
}

TEST(a_photograph_is_shown_as_the_camera_was_held)
{
	for (int held = 1; held <= 9; held++) {
		AUTO_FITTED_IMAGE struct fitted_image image = { 0 };
		AUTO_BUF struct buf photo = { 0 };
		struct err err = { 0 };
		bool swaps = held >= 5 && held <= 8;
		add_held(&photo, (char)held, held % 2);
		check_fitted(buf_str(&photo), IMAGE_JPEG, swaps ? 31 : 1568, swaps ? 1568 : 31);
		CHECK_INT(image_fit(buf_str(&photo), &image, &err), 0);
		CHECK_INT(image.width, swaps ? 31 : 1568);
		CHECK_INT(image.original.width, swaps ? 40 : 2000);
		CHECK_INT(image.original.held, held <= 8 ? held : 0);
	}
}

TEST(an_image_that_can_neither_be_sent_nor_scaled_says_why)
{
	AUTO_BUF struct buf huge = { 0 };
	AUTO_BUF struct buf hollow = { 0 };
	AUTO_BUF struct buf moving = { 0 };
	const struct {
		struct buf *bytes;
		int rc;
		const char *text;
	} cases[] = {
		{ &huge, -ERR_LIMIT, "100000 x 100000 pixels are more than can be decoded here" },
		{ &hollow, -ERR_PARSE, "a damaged image: it cannot be decoded" },
		{ &moving, -ERR_LIMIT, "too large for the model, which cannot be scaled down here: it is animated" },
	};

	picture_png_claim(&huge, 100000, 100000);
	picture_png_claim(&hollow, 2000, 2000);
	picture_gif(&moving, 2, 5 << 20);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		AUTO_FITTED_IMAGE struct fitted_image image = { 0 };
		struct err err = { 0 };
		CHECK_INT(image_fit(buf_str(cases[i].bytes), &image, &err), cases[i].rc);
		CHECK(str_has(str_from(err.text), str_from(cases[i].text)));
	}
}

TEST(an_animated_image_within_the_limits_is_sent_as_it_is)
{
	AUTO_FITTED_IMAGE struct fitted_image image = { 0 };
	AUTO_BUF struct buf moving = { 0 };
	struct err err = { 0 };

	picture_gif(&moving, 2, 1 << 20);
	CHECK_INT(image_fit(buf_str(&moving), &image, &err), 0);
	CHECK(str_eq(buf_str(&image.bytes), buf_str(&moving)));
}

int test_image(void)
{
	return RUN_TESTS(T(the_bytes_of_an_image_say_its_type_and_size), T(an_image_whose_end_is_missing_is_none),
			 T(a_png_with_a_wrong_checksum_is_damaged),
			 T(a_png_with_a_wrong_checksum_that_no_decoder_needs_is_sound),
			 T(a_small_png_without_its_pixels_is_damaged), T(a_small_image_stays_as_it_is),
			 T(a_large_image_is_scaled_down_and_a_heavy_one_becomes_a_jpeg),
			 T(what_is_transparent_stays_so_when_it_is_scaled),
			 T(a_photograph_is_shown_as_the_camera_was_held),
			 T(an_image_that_can_neither_be_sent_nor_scaled_says_why),
			 T(an_animated_image_within_the_limits_is_sent_as_it_is));
}
