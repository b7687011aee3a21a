/* SPDX-License-Identifier: MIT
 * image.c - images: what their first bytes say, decoding and encoding, and how they fit into a request. */
#include "tools/media/image.h"
#include <gd.h>
#include <malloc.h>
#include <pthread.h>
#include <zlib.h>
#include "lib/base/base64.h"
#include "lib/base/library.h"

/* Headers: type and size before anything is decoded. */

/* The outer structure of PNG, JPEG, GIF and WebP files. A reader that runs past the end fails; nothing here
 * allocates. */

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

enum { PNG_SIGNATURE_LEN = 8, CHUNK_FRAME = 12 };

static bool read_png(struct scan s, struct image_head *h)
{
	if (!scan_skip(&s, PNG_SIGNATURE_LEN) || s.n < 25 || memcmp(s.p + 4, "IHDR", 4) != 0)
		return false;
	h->width = read_big(s.p + 8, 4);
	h->height = read_big(s.p + 12, 4);
	while (s.n >= CHUNK_FRAME) {
		size_t n = read_big(s.p, 4);
		if (n > s.n - CHUNK_FRAME || crc32(0, s.p + 4, (uInt)n + 4) != read_big(s.p + 8 + n, 4))
			return false;
		h->moves = h->moves || !memcmp(s.p + 4, "acTL", 4);
		if (!memcmp(s.p + 4, "IEND", 4))
			return true;
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

#define GD_FUNCTIONS(X)                        \
	X(gdImageCreateFromPngPtr, from_png)   \
	X(gdImageCreateFromJpegPtr, from_jpeg) \
	X(gdImageCreateFromGifPtr, from_gif)   \
	X(gdImageCreateFromWebpPtr, from_webp) \
	X(gdImageCreateTrueColor, create)      \
	X(gdImageDestroy, destroy)             \
	X(gdImageCopyResampled, resample)      \
	X(gdImageRotateInterpolated, rotate)   \
	X(gdImageFlipHorizontal, mirror)       \
	X(gdImageFilledRectangle, fill)        \
	X(gdImageAlphaBlending, set_blending)  \
	X(gdImageSaveAlpha, set_save_alpha)    \
	X(gdImageCopy, copy)                   \
	X(gdImagePngPtr, to_png)               \
	X(gdImageJpegPtr, to_jpeg)             \
	X(gdFree, free)                        \
	X(gdSetErrorMethod, set_error_method)

#define MEMBER(name, member) __typeof__(name) *member;
struct gd {
	GD_FUNCTIONS(MEMBER)
};

#define SYMBOL(name, member) { #name, offsetof(struct gd, member) },
static const struct library_symbol symbols[] = { GD_FUNCTIONS(SYMBOL) };
static const char *const files[] = { "libgd.so.3", NULL };
static const struct library library = { files, "libgd3", symbols, COUNT_OF(symbols) };

struct image_codec {
	struct gd gd;
	gdImagePtr image;
};

/* The turn belongs to the process, like the memory that it bounds. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

/* libgd would print to standard error. */
static void ignore_gd_error(int priority, const char *format, va_list args) {}

/* Only the chunks that hold the picture: profiles and texts are compressed as well, to any size, and libpng complains about
 * them on standard error. */
static void add_bare_png(struct buf *out, struct str png)
{
	static const char *const wanted[] = { "IHDR", "PLTE", "tRNS", "IDAT", "IEND" };
	const unsigned char *p = (const unsigned char *)png.p;

	buf_reserve(out, png.n);
	buf_add(out, png.p, 8);
	for (size_t at = 8, n; at + 12 <= png.n; at += n) {
		n = CHUNK_FRAME + (size_t)read_big(p + at, 4);
		for (size_t i = 0; i < COUNT_OF(wanted) && n <= png.n - at; i++)
			if (!memcmp(p + at + 4, wanted[i], 4))
				buf_add(out, p + at, n);
	}
}

static gdImagePtr image_decode(const struct gd *gd, struct str bytes, enum image_type type)
{
	AUTO_BUF struct buf bare = { 0 };
	void *p = (void *)(uintptr_t)bytes.p;

	switch (type) {
	case IMAGE_PNG:
		add_bare_png(&bare, bytes);
		return gd->from_png((int)bare.n, bare.p);
	case IMAGE_JPEG:
		return gd->from_jpeg((int)bytes.n, p);
	case IMAGE_GIF:
		return gd->from_gif((int)bytes.n, p);
	case IMAGE_WEBP:
		return gd->from_webp((int)bytes.n, p);
	default:
		return NULL;
	}
}

int image_codec_open(struct str bytes, const struct image_head *head, struct image_codec **ret_codec, struct err *err)
{
	struct gd gd;

	if ((uint64_t)head->width * head->height > IMAGE_PIXEL_LIMIT || bytes.n > INT32_MAX)
		return err_set(err, ERR_LIMIT, "%u x %u pixels are more than can be decoded here (%d million)",
			       head->width, head->height, IMAGE_PIXEL_LIMIT / 1000000);
	pthread_mutex_lock(&turn);
	int rc = library_load(&library, &gd, err);
	if (rc == 0) {
		gd.set_error_method(ignore_gd_error);
		gdImagePtr image = image_decode(&gd, bytes, head->type);
		if (image) {
			*ret_codec = xmalloc(sizeof **ret_codec);
			**ret_codec = (struct image_codec){ gd, image };
			return 0; /* with the turn */
		}
		rc = err_set(err, ERR_PARSE, "it cannot be decoded");
	}
	pthread_mutex_unlock(&turn);
	return rc;
}

void image_codec_close(struct image_codec *c)
{
	if (!c)
		return;
	c->gd.destroy(c->image);
	free(c);
	/* An image is thousands of rows, each an allocation: the worker's heap would keep all of it. */
	(void)malloc_trim(0);
	pthread_mutex_unlock(&turn);
}

static gdImagePtr image_create(const struct gd *gd, uint32_t width, uint32_t height)
{
	gdImagePtr image = gd->create((int)width, (int)height);

	if (!image)
		base_oom((size_t)width * height * sizeof(int));
	return image;
}

int image_codec_encode(struct image_codec *c, int quality, struct buf *out, struct err *err)
{
	int n = 0;
	void *bytes;

	if (quality) {
		int width = gdImageSX(c->image), height = gdImageSY(c->image);
		gdImagePtr page = image_create(&c->gd, (uint32_t)width, (uint32_t)height);
		c->gd.fill(page, 0, 0, width - 1, height - 1, gdTrueColor(255, 255, 255));
		c->gd.copy(page, c->image, 0, 0, 0, 0, width, height);
		bytes = c->gd.to_jpeg(page, &n, quality);
		c->gd.destroy(page);
	} else {
		bytes = c->gd.to_png(c->image, &n);
	}
	if (!bytes)
		return err_set(err, ERR_IO, "it cannot be encoded again");
	buf_clear(out);
	buf_add(out, bytes, (size_t)n);
	c->gd.free(bytes);
	return 0;
}

static int image_keep(struct str bytes, const struct image_head *h, struct fitted_image *ret)
{
	*ret = (struct fitted_image){ .type = h->type, .width = h->width, .height = h->height, .original = *h };
	buf_append(&ret->bytes, bytes);
	return 0;
}

static void image_scale(struct image_codec *c, struct fitted_image *image, uint32_t longest)
{
	uint64_t now = MAX(image->width, image->height);

	image->width = (uint32_t)MAX(image->width * (uint64_t)longest / now, (uint64_t)1);
	image->height = (uint32_t)MAX(image->height * (uint64_t)longest / now, (uint64_t)1);
	gdImagePtr scaled = image_create(&c->gd, image->width, image->height);
	c->gd.set_blending(scaled, 0); /* transparency is copied, not painted */
	c->gd.set_save_alpha(scaled, 1);
	c->gd.resample(scaled, c->image, 0, 0, 0, 0, (int)image->width, (int)image->height, gdImageSX(c->image),
		       gdImageSY(c->image));
	c->gd.destroy(c->image);
	c->image = scaled;
}

/* Undoes how the camera was held; the new file does not say it. */
static void image_turn_upright(struct image_codec *c, struct fitted_image *image)
{
	/* Counter-clockwise; four of the eight are mirrored as well. */
	static const float degrees[9] = { [3] = 180, [4] = 180, [5] = 270, [6] = 270, [7] = 90, [8] = 90 };
	uint8_t held = image->original.held;
	gdImagePtr turned = degrees[held] > 0 ? c->gd.rotate(c->image, degrees[held], 0) : NULL;
	struct fitted_image was = *image;

	if (turned) {
		c->gd.destroy(c->image);
		c->image = turned;
	}
	if (held == 2 || held == 4 || held == 5 || held == 7)
		c->gd.mirror(c->image);
	if (held < 5)
		return;
	image->width = was.height;
	image->height = was.width;
	image->original.width = was.original.height;
	image->original.height = was.original.width;
}

/* Drawings stay sharp as PNG where that is small; photographs are JPEG, as good as the size allows. */
static int image_encode(struct image_codec *codec, struct fitted_image *image, struct err *err)
{
	static const int qualities[] = { 0, 85, 70, 50, 30 };
	size_t first = image->original.type == IMAGE_JPEG;
	int rc = 0;

	for (size_t i = first; i < COUNT_OF(qualities) && rc == 0; i++) {
		rc = image_codec_encode(codec, qualities[i], &image->bytes, err);
		image->type = qualities[i] ? IMAGE_JPEG : IMAGE_PNG;
		if (image->bytes.n <= IMAGE_GOOD_BYTES)
			break;
	}
	return rc;
}

static int image_shrink(struct str bytes, const struct image_head *h, struct fitted_image *ret, struct err *err)
{
	struct image_codec *codec = NULL;
	AUTO_FITTED_IMAGE struct fitted_image image = { .width = h->width, .height = h->height, .original = *h };
	uint32_t longest = MAX(h->width, h->height);

	int rc = image_codec_open(bytes, h, &codec, err);
	if (rc == 0 && longest > IMAGE_GOOD_EDGE)
		image_scale(codec, &image, longest = IMAGE_GOOD_EDGE);
	if (rc == 0)
		image_turn_upright(codec, &image);
	if (rc == 0)
		rc = image_encode(codec, &image, err);
	/* Noise is heavy at any quality. */
	while (rc == 0 && image.bytes.n > IMAGE_GOOD_BYTES) {
		image_scale(codec, &image, longest = longest * 2 / 3);
		rc = image_encode(codec, &image, err);
	}
	image_codec_close(codec);
	if (rc < 0)
		return rc;
	*ret = image;
	image.bytes = (struct buf){ 0 };
	return 0;
}

int image_fit(struct str bytes, struct fitted_image *ret_image, struct err *err)
{
	struct err why = { 0 };
	struct image_head h;

	int rc = image_head_read(bytes, &h, err);
	if (rc < 0)
		return rc;
	if (bytes.n <= IMAGE_GOOD_BYTES && MAX(h.width, h.height) <= IMAGE_GOOD_EDGE)
		return image_keep(bytes, &h, ret_image);
	/* A picture that moves would lose all but its first moment. */
	if (h.moves)
		rc = err_set(&why, ERR_LIMIT, "it is animated");
	else
		rc = image_shrink(bytes, &h, ret_image, &why);
	if (rc == 0)
		return 0;
	if (why.kind == ERR_PARSE)
		return err_set(err, ERR_PARSE, "a damaged image: %s", why.text);
	if (base64_len(bytes.n) <= IMAGE_BASE64_LIMIT && MAX(h.width, h.height) <= IMAGE_EDGE_LIMIT)
		return image_keep(bytes, &h, ret_image);
	return err_set(
		err, ERR_LIMIT,
		"an image of %u x %u pixels and %zu KB, too large for the model, which cannot be scaled down here: "
		"%s. Make a smaller copy with another program and read that",
		h.width, h.height, bytes.n / 1024, why.text);
}
