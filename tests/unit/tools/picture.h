/* SPDX-License-Identifier: MIT
 * picture.h - image files for tests, made here. */
#pragma once
#include "lib/base/buf.h"

struct picture {
	uint32_t width, height;
	bool noise; /* every pixel random, which no format makes small; else one colour */
	bool alpha; /* the left half is transparent */
};

void picture_png(struct buf *out, struct picture p);
/* Only the shell of one: a head that claims this size, and no pixels. Its checksums are right. */
void picture_png_claim(struct buf *out, uint32_t width, uint32_t height);
void picture_jpeg(struct buf *out, struct picture p);                       /* needs libgd */
void picture_gif(struct buf *out, unsigned pictures, size_t comment_bytes); /* 1 x 1, with a comment of that size */
void picture_webp_claim(struct buf *out, uint32_t width, uint32_t height, bool moves);
