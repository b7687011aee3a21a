/* SPDX-License-Identifier: MIT
 * image_head.c - the outer structure of PNG, JPEG, GIF and WebP files. A reader that runs past the end fails; nothing here
 * allocates. */
#include "tools/media/image_head.h"
#include <zlib.h>

/* What is left of the file */
struct scan {
	const unsigned char *p;
	size_t n;
};

static bool skip(struct scan *s, size_t n)
{
	if (s->n < n)
		return false;
	s->p += n;
	s->n -= n;
	return true;
}

static uint32_t big16(const unsigned char *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t big32(const unsigned char *p)
{
	return big16(p) << 16 | big16(p + 2);
}

static uint32_t little16(const unsigned char *p)
{
	return (uint32_t)p[1] << 8 | p[0];
}

static uint32_t little24(const unsigned char *p)
{
	return (uint32_t)p[2] << 16 | little16(p);
}

static uint32_t little32(const unsigned char *p)
{
	return little16(p + 2) << 16 | little16(p);
}

/* ---- PNG: a signature, then chunks: length, name, data, CRC ---- */

enum { PNG_SIGNATURE_LEN = 8, CHUNK_FRAME = 12 };

static bool read_png(struct scan s, struct image_head *h)
{
	if (!skip(&s, PNG_SIGNATURE_LEN) || s.n < 25 || memcmp(s.p + 4, "IHDR", 4) != 0)
		return false;
	h->width = big32(s.p + 8);
	h->height = big32(s.p + 12);
	while (s.n >= CHUNK_FRAME) {
		size_t n = big32(s.p);
		if (n > s.n - CHUNK_FRAME || crc32(0, s.p + 4, (uInt)n + 4) != big32(s.p + 8 + n))
			return false;
		h->moves = h->moves || !memcmp(s.p + 4, "acTL", 4);
		if (!memcmp(s.p + 4, "IEND", 4))
			return true;
		(void)skip(&s, n + CHUNK_FRAME);
	}
	return false;
}

/* ---- JPEG: segments FF xx with a length, up to the compressed data, which ends with FF D9 ---- */

static bool has_size(unsigned char marker)
{
	return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

/* EXIF is a TIFF directory in a segment: "Exif", byte order, place of the directory, entries of 12 bytes. */
enum { EXIF_HEAD = 6, EXIF_ENTRY = 12, EXIF_ORIENTATION = 0x0112 };

static uint8_t orientation_of(struct scan s)
{
	if (s.n < EXIF_HEAD + 8 || memcmp(s.p, "Exif\0\0", EXIF_HEAD) != 0)
		return 0;
	(void)skip(&s, EXIF_HEAD);
	bool is_big = s.p[0] == 'M';
	uint32_t (*number16)(const unsigned char *) = is_big ? big16 : little16;
	if (!skip(&s, is_big ? big32(s.p + 4) : little32(s.p + 4)) || s.n < 2)
		return 0;
	uint32_t count = number16(s.p);
	for ((void)skip(&s, 2); count && s.n >= EXIF_ENTRY; count--, (void)skip(&s, EXIF_ENTRY))
		if (number16(s.p) == EXIF_ORIENTATION)
			return number16(s.p + 8) <= 8 ? (uint8_t)number16(s.p + 8) : 0;
	return 0;
}

/* Bytes may follow the end: cameras write a second, smaller picture there. */
static bool has_end(struct scan s)
{
	for (const unsigned char *p; s.n > 1 && (p = memchr(s.p, 0xff, s.n - 1)); skip(&s, (size_t)(p - s.p) + 1))
		if (p[1] == 0xd9)
			return true;
	return false;
}

static bool read_jpeg(struct scan s, struct image_head *h)
{
	if (!skip(&s, 2))
		return false;
	while (s.n >= 4 && s.p[0] == 0xff) {
		unsigned char marker = s.p[1];
		if (marker == 0xff) { /* padding */
			(void)skip(&s, 1);
			continue;
		}
		size_t n = big16(s.p + 2);
		if (marker == 0xda)
			return h->width && has_end(s);
		if (n < 2 || s.n < n + 2)
			return false;
		if (marker == 0xe1 && !h->held)
			h->held = orientation_of((struct scan){ s.p + 4, n - 2 });
		if (has_size(marker) && n >= 8) {
			h->height = big16(s.p + 5);
			h->width = big16(s.p + 7);
		}
		(void)skip(&s, n + 2);
	}
	return false;
}

/* ---- GIF: a screen, then pictures and extensions as runs of blocks, then a semicolon ---- */

static bool skip_blocks(struct scan *s)
{
	while (s->n && s->p[0])
		if (!skip(s, (size_t)s->p[0] + 1))
			return false;
	return skip(s, 1);
}

static size_t color_table_len(unsigned char flags)
{
	return flags & 0x80 ? (size_t)3 << ((flags & 7) + 1) : 0;
}

static bool skip_picture(struct scan *s)
{
	return s->n >= 10 && skip(s, 10 + color_table_len(s->p[9])) && skip(s, 1) && skip_blocks(s);
}

static bool read_gif(struct scan s, struct image_head *h)
{
	size_t pictures = 0;

	if (s.n < 13)
		return false;
	h->width = little16(s.p + 6);
	h->height = little16(s.p + 8);
	if (!skip(&s, 13 + color_table_len(s.p[10])))
		return false;
	while (s.n && s.p[0] != ';') {
		bool is_picture = s.p[0] == ',';
		pictures += is_picture;
		if (!is_picture && s.p[0] != '!')
			return false;
		if (!(is_picture ? skip_picture(&s) : skip(&s, 2) && skip_blocks(&s)))
			return false;
	}
	h->moves = pictures > 1;
	return s.n && pictures;
}

/* ---- WebP: a RIFF file whose first chunk says what it is ---- */

enum { RIFF_HEAD = 12, WEBP_FIRST = 30 };

static bool read_webp(struct scan s, struct image_head *h)
{
	if (s.n < WEBP_FIRST || little32(s.p + 4) > s.n - 8)
		return false;
	const unsigned char *data = s.p + RIFF_HEAD + 8;
	if (!memcmp(s.p + RIFF_HEAD, "VP8X", 4)) {
		h->moves = data[0] & 2;
		h->width = little24(data + 4) + 1;
		h->height = little24(data + 7) + 1;
	} else if (!memcmp(s.p + RIFF_HEAD, "VP8L", 4) && data[0] == 0x2f) {
		uint32_t bits = little32(data + 1);
		h->width = (bits & 0x3fff) + 1;
		h->height = (bits >> 14 & 0x3fff) + 1;
	} else if (!memcmp(s.p + RIFF_HEAD, "VP8 ", 4)) {
		h->width = little16(data + 6) & 0x3fff;
		h->height = little16(data + 8) & 0x3fff;
	}
	return h->width != 0;
}

/* ---- all of them ---- */

static const struct {
	const char *name, *media_type;
	bool (*read)(struct scan s, struct image_head *h);
} types[] = {
	[IMAGE_PNG] = { "PNG", "image/png", read_png },
	[IMAGE_JPEG] = { "JPEG", "image/jpeg", read_jpeg },
	[IMAGE_GIF] = { "GIF", "image/gif", read_gif },
	[IMAGE_WEBP] = { "WebP", "image/webp", read_webp },
};

enum image_type image_type_of(struct str head)
{
	if (str_starts(head, STR("\x89PNG\r\n\x1a\n")))
		return IMAGE_PNG;
	if (str_starts(head, STR("\xff\xd8\xff")))
		return IMAGE_JPEG;
	if (str_starts(head, STR("GIF87a")) || str_starts(head, STR("GIF89a")))
		return IMAGE_GIF;
	if (str_starts(head, STR("RIFF")) && head.n >= RIFF_HEAD && !memcmp(head.p + 8, "WEBP", 4))
		return IMAGE_WEBP;
	return IMAGE_NONE;
}

const char *image_media_type(enum image_type type)
{
	return types[type].media_type;
}

int image_head_read(struct str bytes, struct image_head *ret_head, struct err *err)
{
	struct image_head h = { .type = image_type_of(bytes) };
	struct scan s = { (const unsigned char *)bytes.p, bytes.n };

	if (!h.type)
		return err_set(err, ERR_PARSE, "not a PNG, JPEG, GIF or WebP image");
	if (!types[h.type].read(s, &h) || !h.width || !h.height)
		return err_set(err, ERR_PARSE, "a damaged or incomplete %s image", types[h.type].name);
	*ret_head = h;
	return 0;
}
