/* SPDX-License-Identifier: MIT
 * image.c - images: decoding and encoding, and how they fit into a request. */
#include "tools/media/image.h"
#include <gd.h>
#include <malloc.h>
#include <pthread.h>
#include "lib/base/base64.h"
#include "lib/base/library.h"

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
	enum { CHUNK_FRAME = 12 }; /* length, name, CRC */
	const unsigned char *p = (const unsigned char *)png.p;

	buf_reserve(out, png.n);
	buf_add(out, png.p, 8);
	for (size_t at = 8, n; at + CHUNK_FRAME <= png.n; at += n) {
		n = CHUNK_FRAME + ((size_t)p[at] << 24 | (size_t)p[at + 1] << 16 | (size_t)p[at + 2] << 8 | p[at + 3]);
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
