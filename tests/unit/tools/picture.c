/* SPDX-License-Identifier: MIT
 * picture.c - image files for tests. */
#include "picture.h"
#include <zlib.h>
#include "unit.h"
#include "tools/media/image.h"

static void add_big32(struct buf *out, uint32_t v)
{
	const unsigned char bytes[] = { v >> 24, v >> 16, v >> 8, v };

	buf_add(out, bytes, sizeof bytes);
}

static void add_chunk(struct buf *out, const char *name, struct str data)
{
	add_big32(out, (uint32_t)data.n);
	size_t from = out->n;
	buf_addstr(out, name);
	buf_add(out, data.p, data.n);
	add_big32(out, (uint32_t)crc32(0, (const unsigned char *)out->p + from, (uInt)(out->n - from)));
}

static void add_head(struct buf *out, uint32_t width, uint32_t height)
{
	AUTO_BUF struct buf head = { 0 };

	buf_add(out, "\x89PNG\r\n\x1a\n", 8);
	add_big32(&head, width);
	add_big32(&head, height);
	buf_add(&head, "\x08\x06\x00\x00\x00", 5); /* 8 bits, RGBA */
	add_chunk(out, "IHDR", buf_str(&head));
}

void picture_png(struct buf *out, struct picture p)
{
	AUTO_BUF struct buf rows = { 0 };
	uint32_t seed = 1;

	for (uint32_t y = 0; y < p.height; y++) {
		buf_addch(&rows, 0);
		for (uint32_t x = 0; x < p.width; x++) {
			seed = seed * 1664525 + 1013904223;
			const unsigned char pixel[] = { p.noise ? seed >> 24 : 200, p.noise ? seed >> 16 : 30, 30,
							p.alpha && x < p.width / 2 ? 0 : 255 };
			buf_add(&rows, pixel, sizeof pixel);
		}
	}
	uLongf n = compressBound(rows.n);
	AUTO_FREE unsigned char *packed = xmalloc(n);
	CHECK_INT(compress2(packed, &n, (const unsigned char *)rows.p, rows.n, 1), Z_OK);
	add_head(out, p.width, p.height);
	add_chunk(out, "IDAT", (struct str){ (const char *)packed, n });
	add_chunk(out, "IEND", STR(""));
}

void picture_png_claim(struct buf *out, uint32_t width, uint32_t height)
{
	add_head(out, width, height);
	add_chunk(out, "IDAT", STR("x"));
	add_chunk(out, "IEND", STR(""));
}

void picture_jpeg(struct buf *out, struct picture p)
{
	struct image_codec *codec = NULL;
	AUTO_BUF struct buf png = { 0 };
	struct image_head head;
	struct err err = { 0 };

	picture_png(&png, p);
	if (image_head_read(buf_str(&png), &head, &err) < 0 ||
	    image_codec_open(buf_str(&png), &head, &codec, &err) < 0 || image_codec_encode(codec, 95, out, &err) < 0)
		fail_msg("%s", err.text);
	image_codec_close(codec);
}

void picture_gif(struct buf *out, unsigned pictures, size_t comment_bytes)
{
	static const char block[255] = "padding";

	buf_add(out, "GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00", 19);
	buf_add(out, "!\xfe", 2);
	for (size_t n = 0; n < comment_bytes; n += sizeof block) {
		buf_addch(out, (char)sizeof block);
		buf_add(out, block, sizeof block);
	}
	buf_addch(out, 0);
	while (pictures--)
		buf_add(out, ",\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02\x44\x01\x00", 15);
	buf_addch(out, ';');
}

void picture_webp_claim(struct buf *out, uint32_t width, uint32_t height, bool moves)
{
	const char size[] = { (char)(width - 1),  (char)((width - 1) >> 8),  (char)((width - 1) >> 16),
			      (char)(height - 1), (char)((height - 1) >> 8), (char)((height - 1) >> 16) };

	buf_add(out, "RIFF\x16\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00", 20);
	buf_addch(out, moves ? 2 : 0);
	buf_add(out, "\0\0\0", 3);
	buf_add(out, size, sizeof size);
}
