/* SPDX-License-Identifier: MIT
 * image.h - images: decoding and encoding, and how they fit into a request. */
#pragma once
#include "core/tool/image_head.h"
#include "lib/base/buf.h"

/* Pixels: decoding, scaling and encoding through libgd, which is loaded when the first image needs it.
 *
 * A decoder is where hostile files strike, so it is used only for what cannot be sent as it is, on images whose head was found
 * good and within IMAGE_PIXEL_LIMIT. One image is open at a time in the whole process: that bounds the memory, whatever the
 * number of agents. Only for workers: image_codec_open() waits for its turn. */

enum { IMAGE_PIXEL_LIMIT = 40 * 1000 * 1000 }; /* libgd takes up to 8 bytes for each */

struct image_codec; /* one decoded image, and the turn */

/* bytes is borrowed until return. -ERR_NOT_FOUND: there is no libgd. On success the turn is held until image_codec_close(). */
int image_codec_open(struct str bytes, const struct image_head *head, struct image_codec **ret_codec, struct err *err);
/* quality 1 to 100: JPEG on a white ground; 0: PNG. out is replaced. */
int image_codec_encode(struct image_codec *c, int quality, struct buf *out, struct err *err);
void image_codec_close(struct image_codec *c);

/* An image as the model can be shown it. What is small enough stays as it is, byte for byte; the rest is scaled
 * down and written again. Only for workers. */

enum {
	IMAGE_FILE_LIMIT = 32 << 20,   /* that are looked at */
	IMAGE_GOOD_EDGE = 1568,        /* models see no more; the API itself scales what is larger */
	IMAGE_GOOD_BYTES = 500 * 1024, /* more than this is worth the work */
};

struct fitted_image {
	enum image_type type;
	struct buf bytes;           /* owned */
	uint32_t width, height;     /* of bytes */
	struct image_head original; /* width and height as the camera was held */
};

/* bytes is borrowed until return. The error says why the model cannot see it and what to do. */
int image_fit(struct str bytes, struct fitted_image *ret_image, struct err *err);
static inline void fitted_image_release(struct fitted_image *image)
{
	buf_release(&image->bytes);
}
#define AUTO_FITTED_IMAGE CLEANUP(fitted_image_release)
