/* SPDX-License-Identifier: MIT
 * image_codec.h - pixels: decoding, scaling and encoding through libgd, which is loaded when the first image needs it.
 *
 * A decoder is where hostile files strike, so it is used only for what cannot be sent as it is, on images whose head was found
 * good and within IMAGE_PIXEL_LIMIT. One image is open at a time in the whole process: that bounds the memory, whatever the
 * number of agents. Only for workers: image_codec_open() waits for its turn. */
#pragma once
#include "lib/base/buf.h"
#include "tools/media/image_head.h"

enum { IMAGE_PIXEL_LIMIT = 40 * 1000 * 1000 }; /* libgd takes up to 8 bytes for each */

struct image_codec; /* one decoded image, and the turn */

/* bytes is borrowed until return. -ERR_NOT_FOUND: there is no libgd. On success the turn is held until image_codec_close(). */
int image_codec_open(struct str bytes, const struct image_head *head, struct image_codec **ret_codec, struct err *err);
void image_codec_scale(struct image_codec *c, uint32_t width, uint32_t height); /* in place */
void image_codec_turn(struct image_codec *c, uint8_t held); /* as image_head.held says; 5 to 8 swap width and height */
/* quality 1 to 100: JPEG on a white ground; 0: PNG. out is replaced. */
int image_codec_encode(struct image_codec *c, int quality, struct buf *out, struct err *err);
void image_codec_close(struct image_codec *c);
static inline void image_codec_closep(struct image_codec **c)
{
	image_codec_close(*c);
}
#define AUTO_IMAGE_CODEC CLEANUP(image_codec_closep)
