/* SPDX-License-Identifier: MIT
 * image_fit.h - an image as the model can be shown it. What is small enough stays as it is, byte for byte; the rest is scaled
 * down and written anew. Only for workers. */
#pragma once
#include "lib/base/buf.h"
#include "tools/media/image_head.h"

enum {
	IMAGE_FILE_LIMIT = 32 << 20,   /* that are looked at */
	IMAGE_BASE64_LIMIT = 5 << 20,  /* of one image; above it the API refuses the request */
	IMAGE_EDGE_LIMIT = 8000,       /* the same, in pixels */
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
void fitted_image_release(struct fitted_image *image);
#define AUTO_FITTED_IMAGE CLEANUP(fitted_image_release)
