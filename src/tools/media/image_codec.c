/* SPDX-License-Identifier: MIT
 * image_codec.c - pixels through libgd. */
#include "tools/media/image_codec.h"
#include <gd.h>
#include <malloc.h>
#include <pthread.h>
#include "lib/base/library.h"

struct gd {
	__typeof__(gdImageCreateFromPngPtr) *from_png;
	__typeof__(gdImageCreateFromJpegPtr) *from_jpeg;
	__typeof__(gdImageCreateFromGifPtr) *from_gif;
	__typeof__(gdImageCreateFromWebpPtr) *from_webp;
	__typeof__(gdImageCreateTrueColor) *create;
	__typeof__(gdImageDestroy) *destroy;
	__typeof__(gdImageCopyResampled) *resample;
	__typeof__(gdImageRotateInterpolated) *rotate;
	__typeof__(gdImageFlipHorizontal) *mirror;
	__typeof__(gdImageFilledRectangle) *fill;
	__typeof__(gdImageAlphaBlending) *set_blending;
	__typeof__(gdImageSaveAlpha) *set_save_alpha;
	__typeof__(gdImageCopy) *copy;
	__typeof__(gdImagePngPtr) *to_png;
	__typeof__(gdImageJpegPtr) *to_jpeg;
	__typeof__(gdFree) *free;
	__typeof__(gdSetErrorMethod) *set_error_method;
};

#define SYMBOL(name, member)                        \
	{                                           \
#name, offsetof(struct gd, member), \
	}
static const struct library_symbol symbols[] = {
	SYMBOL(gdImageCreateFromPngPtr, from_png),
	SYMBOL(gdImageCreateFromJpegPtr, from_jpeg),
	SYMBOL(gdImageCreateFromGifPtr, from_gif),
	SYMBOL(gdImageCreateFromWebpPtr, from_webp),
	SYMBOL(gdImageCreateTrueColor, create),
	SYMBOL(gdImageDestroy, destroy),
	SYMBOL(gdImageCopyResampled, resample),
	SYMBOL(gdImageRotateInterpolated, rotate),
	SYMBOL(gdImageFlipHorizontal, mirror),
	SYMBOL(gdImageFilledRectangle, fill),
	SYMBOL(gdImageAlphaBlending, set_blending),
	SYMBOL(gdImageSaveAlpha, set_save_alpha),
	SYMBOL(gdImageCopy, copy),
	SYMBOL(gdImagePngPtr, to_png),
	SYMBOL(gdImageJpegPtr, to_jpeg),
	SYMBOL(gdFree, free),
	SYMBOL(gdSetErrorMethod, set_error_method),
};
static const char *const files[] = { "libgd.so.3", NULL };
static const struct library library = { files, "libgd3", symbols, COUNT_OF(symbols) };

struct image_codec {
	struct gd gd;
	gdImagePtr image;
};

/* The turn belongs to the process, like the memory that it bounds. */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

/* libgd would print to standard error. */
static void stay_quiet(int priority, const char *format, va_list args)
{
	(void)priority;
	(void)format;
	(void)args;
}

/* Only the chunks that hold the picture: profiles and texts are compressed as well, to any size, and libpng complains about
 * them on standard error. */
static void add_bare_png(struct buf *out, struct str png)
{
	static const char *const wanted[] = { "IHDR", "PLTE", "tRNS", "IDAT", "IEND" };
	const unsigned char *p = (const unsigned char *)png.p;

	buf_reserve(out, png.n);
	buf_add(out, png.p, 8);
	for (size_t at = 8, n; at + 12 <= png.n; at += n) {
		n = 12 + ((size_t)p[at] << 24 | (size_t)p[at + 1] << 16 | (size_t)p[at + 2] << 8 | p[at + 3]);
		for (size_t i = 0; i < COUNT_OF(wanted) && n <= png.n - at; i++)
			if (!memcmp(p + at + 4, wanted[i], 4))
				buf_add(out, p + at, n);
	}
}

static gdImagePtr decode(const struct gd *gd, struct str bytes, enum image_type type)
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
		gd.set_error_method(stay_quiet);
		gdImagePtr image = decode(&gd, bytes, head->type);
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

void image_codec_scale(struct image_codec *c, uint32_t width, uint32_t height)
{
	gdImagePtr scaled = c->gd.create((int)width, (int)height);

	if (!scaled)
		base_oom((size_t)width * height * sizeof(int));
	c->gd.set_blending(scaled, 0); /* transparency is copied, not painted */
	c->gd.set_save_alpha(scaled, 1);
	c->gd.resample(scaled, c->image, 0, 0, 0, 0, (int)width, (int)height, gdImageSX(c->image), gdImageSY(c->image));
	c->gd.destroy(c->image);
	c->image = scaled;
}

void image_codec_turn(struct image_codec *c, uint8_t held)
{
	/* Against the clock; four of the eight are mirrored as well. */
	static const float degrees[9] = { [3] = 180, [4] = 180, [5] = 270, [6] = 270, [7] = 90, [8] = 90 };
	gdImagePtr turned = degrees[held] > 0 ? c->gd.rotate(c->image, degrees[held], 0) : NULL;

	if (turned) {
		c->gd.destroy(c->image);
		c->image = turned;
	}
	if (held == 2 || held == 4 || held == 5 || held == 7)
		c->gd.mirror(c->image);
}

static gdImagePtr on_white(const struct gd *gd, gdImagePtr image)
{
	int width = gdImageSX(image), height = gdImageSY(image);
	gdImagePtr page = gd->create(width, height);

	if (!page)
		base_oom((size_t)width * (size_t)height * sizeof(int));
	gd->fill(page, 0, 0, width - 1, height - 1, gdTrueColor(255, 255, 255));
	gd->copy(page, image, 0, 0, 0, 0, width, height);
	return page;
}

int image_codec_encode(struct image_codec *c, int quality, struct buf *out, struct err *err)
{
	int n = 0;
	void *bytes;

	if (quality) {
		gdImagePtr page = on_white(&c->gd, c->image);
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
