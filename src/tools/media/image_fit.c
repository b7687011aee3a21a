/* SPDX-License-Identifier: MIT
 * image_fit.c - an image as the model can be shown it. */
#include "tools/media/image_fit.h"
#include "lib/base/base64.h"
#include "tools/media/image_codec.h"

void fitted_image_release(struct fitted_image *image)
{
	buf_release(&image->bytes);
}

static bool is_good(const struct image_head *h, size_t n)
{
	return n <= IMAGE_GOOD_BYTES && MAX(h->width, h->height) <= IMAGE_GOOD_EDGE;
}

static bool is_allowed(const struct image_head *h, size_t n)
{
	return base64_len(n) <= IMAGE_BASE64_LIMIT && MAX(h->width, h->height) <= IMAGE_EDGE_LIMIT;
}

static int keep(struct str bytes, const struct image_head *h, struct fitted_image *ret)
{
	*ret = (struct fitted_image){ .type = h->type, .width = h->width, .height = h->height, .original = *h };
	buf_add(&ret->bytes, bytes.p, bytes.n);
	return 0;
}

static void scale(struct image_codec *codec, struct fitted_image *image, uint32_t longest)
{
	uint64_t now = MAX(image->width, image->height);

	image->width = (uint32_t)MAX(image->width * (uint64_t)longest / now, (uint64_t)1);
	image->height = (uint32_t)MAX(image->height * (uint64_t)longest / now, (uint64_t)1);
	image_codec_scale(codec, image->width, image->height);
}

static void swap(uint32_t *a, uint32_t *b)
{
	uint32_t was = *a;

	*a = *b;
	*b = was;
}

static void turn(struct image_codec *codec, struct fitted_image *image)
{
	image_codec_turn(codec, image->original.held);
	if (image->original.held < 5)
		return;
	swap(&image->width, &image->height);
	swap(&image->original.width, &image->original.height);
}

/* Drawings stay sharp as PNG where that is small; photographs are JPEG, as good as the size allows. */
static int encode(struct image_codec *codec, struct fitted_image *image, struct err *err)
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

static int shrink(struct str bytes, const struct image_head *h, struct fitted_image *ret, struct err *err)
{
	AUTO_IMAGE_CODEC struct image_codec *codec = NULL;
	AUTO_FITTED_IMAGE struct fitted_image image = { .width = h->width, .height = h->height, .original = *h };
	uint32_t longest = MAX(h->width, h->height);

	int rc = image_codec_open(bytes, h, &codec, err);
	if (rc == 0 && longest > IMAGE_GOOD_EDGE)
		scale(codec, &image, longest = IMAGE_GOOD_EDGE);
	if (rc == 0)
		turn(codec, &image); /* what is written anew says no more how the camera was held */
	if (rc == 0)
		rc = encode(codec, &image, err);
	/* Noise is heavy at any quality. */
	while (rc == 0 && image.bytes.n > IMAGE_GOOD_BYTES) {
		scale(codec, &image, longest = longest * 2 / 3);
		rc = encode(codec, &image, err);
	}
	if (rc < 0)
		return rc;
	*ret = image;
	image.bytes = (struct buf){ 0 };
	return 0;
}

static int refuse(const struct image_head *h, size_t n, const struct err *why, struct err *err)
{
	if (why->kind == ERR_PARSE)
		return err_set(err, ERR_PARSE, "a damaged image: %s", why->text);
	return err_set(
		err, ERR_LIMIT,
		"an image of %u x %u pixels and %zu KB, too large for the model, which cannot be scaled down here: "
		"%s. Make a smaller copy with another program and read that",
		h->width, h->height, n / 1024, why->text);
}

int image_fit(struct str bytes, struct fitted_image *ret_image, struct err *err)
{
	struct err why = { 0 };
	struct image_head h;

	int rc = image_head_read(bytes, &h, err);
	if (rc < 0)
		return rc;
	if (is_good(&h, bytes.n))
		return keep(bytes, &h, ret_image);
	/* A picture that moves would lose all but its first moment. */
	if (h.moves)
		rc = err_set(&why, ERR_LIMIT, "it is animated");
	else
		rc = shrink(bytes, &h, ret_image, &why);
	if (rc == 0)
		return 0;
	if (is_allowed(&h, bytes.n) && why.kind != ERR_PARSE)
		return keep(bytes, &h, ret_image);
	return refuse(&h, bytes.n, &why, err);
}
