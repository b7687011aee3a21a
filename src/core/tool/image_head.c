/* SPDX-License-Identifier: MIT
 * image_head.c - the outer structure of PNG, JPEG, GIF and WebP files: type and size before anything is decoded. A reader that
 * runs past the end fails. Of a small PNG the rows are unpacked and counted, because it is sent as it is. */
#include "core/tool/image_head.h"
#include <zlib.h>

/* The rest of the file */
struct scan {
	const unsigned char *p;
	size_t n;
};

static bool scan_skip(struct scan *s, size_t n)
{
	if (s->n < n)
		return false;
	s->p += n;
	s->n -= n;
	return true;
}

static uint32_t read_big(const unsigned char *p, size_t n)
{
	uint32_t value = 0;

	for (size_t i = 0; i < n; i++)
		value = value << 8 | p[i];
	return value;
}

static uint32_t read_little(const unsigned char *p, size_t n)
{
	uint32_t value = 0;

	while (n > 0)
		value = value << 8 | p[--n];
	return value;
}

/* PNG: a signature, then chunks: length, name, data, CRC. */

enum { PNG_SIGNATURE_LEN = 8, CHUNK_FRAME = 12, PNG_CHECKED_EDGE = 1568 };

/* The packed rows, which stand in all chunks IDAT */
struct png_rows {
	z_stream z;
	struct scan chunks;
};

/* Unpacks so many bytes. first: of them */
static bool png_rows_take(struct png_rows *r, size_t n, unsigned char *ret_first)
{
	unsigned char sink[4096];

	for (bool first = true; n; first = false) {
		uInt piece = (uInt)MIN(n, sizeof sink);
		r->z.next_out = sink;
		r->z.avail_out = piece;
		while (r->z.avail_out) {
			while (!r->z.avail_in && r->chunks.n >= CHUNK_FRAME) {
				size_t length = read_big(r->chunks.p, 4);
				r->z.next_in = (unsigned char *)(uintptr_t)r->chunks.p + 8;
				r->z.avail_in = memcmp(r->chunks.p + 4, "IDAT", 4) ? 0 : (uInt)length;
				(void)scan_skip(&r->chunks, length + CHUNK_FRAME);
			}
			int rc = r->z.avail_in ? inflate(&r->z, Z_NO_FLUSH) : Z_BUF_ERROR;
			if ((rc != Z_OK && rc != Z_STREAM_END) || (rc == Z_STREAM_END && r->z.avail_out))
				return false;
		}
		if (first)
			*ret_first = sink[0];
		n -= piece;
	}
	return true;
}

/* Whether there is a row for each line. The chunks are whole. */
static bool png_has_rows(struct scan chunks, const unsigned char *head)
{
	static const struct {
		uint32_t x, y, dx, dy;
	} passes[] = { { 0, 0, 1, 1 }, /* not interlaced; the others: Adam7 */
		       { 0, 0, 8, 8 }, { 4, 0, 8, 8 }, { 0, 4, 4, 8 }, { 2, 0, 4, 4 },
		       { 0, 2, 2, 4 }, { 1, 0, 2, 2 }, { 0, 1, 1, 2 } };
	static const struct {
		unsigned samples, depths; /* depths: one bit each */
	} colors[] = { { 1, 1 | 2 | 4 | 8 | 16 },
		       { 0 },
		       { 3, 8 | 16 },
		       { 1, 1 | 2 | 4 | 8 },
		       { 2, 8 | 16 },
		       { 0 },
		       { 4, 8 | 16 } };
	uint32_t width = read_big(head, 4), height = read_big(head + 4, 4);
	unsigned depth = head[8], color = head[9], interlaced = head[12];
	struct png_rows r = { .chunks = chunks };
	bool whole = true;

	if (color >= COUNT_OF(colors) || !colors[color].samples || (depth & (depth - 1)) ||
	    !(colors[color].depths & depth) || head[10] || head[11] || interlaced > 1 || inflateInit(&r.z) != Z_OK)
		return false;
	for (size_t i = interlaced; i < (interlaced ? COUNT_OF(passes) : 1) && whole; i++) {
		uint64_t columns = width > passes[i].x ? (width - passes[i].x + passes[i].dx - 1) / passes[i].dx : 0;
		uint64_t bytes = (columns * colors[color].samples * depth + 7) / 8;
		for (uint32_t y = passes[i].y; y < height && columns && whole; y += passes[i].dy) {
			unsigned char filter = 0;
			whole = png_rows_take(&r, 1 + (size_t)bytes, &filter) && filter <= 4;
		}
	}
	(void)inflateEnd(&r.z);
	return whole;
}

static bool read_png(struct scan s, struct image_head *h)
{
	if (!scan_skip(&s, PNG_SIGNATURE_LEN) || s.n < 25 || memcmp(s.p + 4, "IHDR", 4) != 0)
		return false;
	struct scan chunks = s;
	h->width = read_big(s.p + 8, 4);
	h->height = read_big(s.p + 12, 4);
	while (s.n >= CHUNK_FRAME) {
		size_t n = read_big(s.p, 4);
		bool ancillary = s.p[4] & 0x20; /* by its small letter; decoders leave a damaged one out */
		if (n > s.n - CHUNK_FRAME || (!ancillary && crc32(0, s.p + 4, (uInt)n + 4) != read_big(s.p + 8 + n, 4)))
			return false;
		h->moves = h->moves || !memcmp(s.p + 4, "acTL", 4);
		if (!memcmp(s.p + 4, "IEND", 4)) /* a larger one is decoded before it is sent */
			return MAX(h->width, h->height) > PNG_CHECKED_EDGE || png_has_rows(chunks, chunks.p + 8);
		(void)scan_skip(&s, n + CHUNK_FRAME);
	}
	return false;
}

/* JPEG: segments FF xx with a length, up to the compressed data, which ends with FF D9. */

/* EXIF is a TIFF directory in a segment: "Exif", byte order, place of the directory, entries of 12 bytes. */
enum { EXIF_HEAD = 6, EXIF_ENTRY = 12, EXIF_ORIENTATION = 0x0112 };

static uint8_t orientation_of(struct scan s)
{
	if (s.n < EXIF_HEAD + 8 || memcmp(s.p, "Exif\0\0", EXIF_HEAD) != 0)
		return 0;
	(void)scan_skip(&s, EXIF_HEAD);
	bool is_big = s.p[0] == 'M';
	uint32_t (*number)(const unsigned char *p, size_t n) = is_big ? read_big : read_little;
	if (!scan_skip(&s, number(s.p + 4, 4)) || s.n < 2)
		return 0;
	uint32_t count = number(s.p, 2);
	for ((void)scan_skip(&s, 2); count && s.n >= EXIF_ENTRY; count--, (void)scan_skip(&s, EXIF_ENTRY))
		if (number(s.p, 2) == EXIF_ORIENTATION)
			return number(s.p + 8, 2) <= 8 ? (uint8_t)number(s.p + 8, 2) : 0;
	return 0;
}

static bool read_jpeg(struct scan s, struct image_head *h)
{
	if (!scan_skip(&s, 2))
		return false;
	while (s.n >= 4 && s.p[0] == 0xff) {
		unsigned char marker = s.p[1];
		if (marker == 0xff) { /* padding */
			(void)scan_skip(&s, 1);
			continue;
		}
		size_t n = read_big(s.p + 2, 2);
		if (marker == 0xda) /* bytes may follow the end: cameras write a second, smaller picture there */
			return h->width && memmem(s.p, s.n, "\xff\xd9", 2);
		if (n < 2 || s.n < n + 2)
			return false;
		if (marker == 0xe1 && !h->held)
			h->held = orientation_of((struct scan){ s.p + 4, n - 2 });
		bool has_size = marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
		if (has_size && n >= 8) {
			h->height = read_big(s.p + 5, 2);
			h->width = read_big(s.p + 7, 2);
		}
		(void)scan_skip(&s, n + 2);
	}
	return false;
}

/* GIF: a screen, then pictures and extensions as runs of blocks, then a semicolon. */

static size_t color_table_len(unsigned char flags)
{
	return flags & 0x80 ? (size_t)3 << ((flags & 7) + 1) : 0;
}

static bool read_gif(struct scan s, struct image_head *h)
{
	size_t pictures = 0;

	if (s.n < 13)
		return false;
	h->width = read_little(s.p + 6, 2);
	h->height = read_little(s.p + 8, 2);
	if (!scan_skip(&s, 13 + color_table_len(s.p[10])))
		return false;
	while (s.n && s.p[0] != ';') {
		bool is_picture = s.p[0] == ',';
		pictures += is_picture;
		if (is_picture ? s.n < 10 : s.p[0] != '!')
			return false;
		if (!scan_skip(&s, is_picture ? 11 + color_table_len(s.p[9]) : 2))
			return false;
		while (s.n && s.p[0]) /* its blocks; one without a byte is the last */
			if (!scan_skip(&s, (size_t)s.p[0] + 1))
				return false;
		if (!scan_skip(&s, 1))
			return false;
	}
	h->moves = pictures > 1;
	return s.n && pictures;
}

/* WebP: a RIFF file whose first chunk says what it is. */

enum { RIFF_HEAD = 12, WEBP_FIRST = 30 };

static bool read_webp(struct scan s, struct image_head *h)
{
	if (s.n < WEBP_FIRST || read_little(s.p + 4, 4) > s.n - 8)
		return false;
	const unsigned char *data = s.p + RIFF_HEAD + 8;
	if (!memcmp(s.p + RIFF_HEAD, "VP8X", 4)) {
		h->moves = data[0] & 2;
		h->width = read_little(data + 4, 3) + 1;
		h->height = read_little(data + 7, 3) + 1;
	} else if (!memcmp(s.p + RIFF_HEAD, "VP8L", 4) && data[0] == 0x2f) {
		uint32_t bits = read_little(data + 1, 4);
		h->width = (bits & 0x3fff) + 1;
		h->height = (bits >> 14 & 0x3fff) + 1;
	} else if (!memcmp(s.p + RIFF_HEAD, "VP8 ", 4)) {
		h->width = read_little(data + 6, 2) & 0x3fff;
		h->height = read_little(data + 8, 2) & 0x3fff;
	}
	return h->width != 0;
}

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
