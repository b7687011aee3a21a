/* SPDX-License-Identifier: MIT
 * image_head.h - what the bytes of an image say before it is decoded, and what the API takes. A damaged image must not be sent: the API
 * refuses the whole conversation that holds it. */
#pragma once
#include "lib/base/str.h"

enum {
	IMAGE_BASE64_LIMIT = 5 << 20, /* of one image; above it the API refuses the request */
	IMAGE_EDGE_LIMIT = 8000,      /* the same, in pixels */
};

/* Type and size of an image and whether it is complete, from its bytes and without decoding. The name of a file is not used. */

enum image_type { IMAGE_NONE, IMAGE_PNG, IMAGE_JPEG, IMAGE_GIF, IMAGE_WEBP };

enum { IMAGE_MAGIC_LEN = 16 }; /* bytes that image_type_of() wants to see */

struct image_head {
	enum image_type type;
	uint32_t width, height; /* pixels; never 0 */
	bool moves;             /* more than one picture */
	uint8_t held;           /* how the camera was held: EXIF's orientation, 2 to 8; 0 or 1: upright */
};

enum image_type image_type_of(struct str head);
const char *image_media_type(enum image_type type); /* "image/png" */
/* Walks through the whole file. -ERR_PARSE: it is not an image of its type, it is damaged, or its end is missing; such a file must
 * not be sent, because the API refuses the whole conversation that holds it. */
int image_head_read(struct str bytes, struct image_head *ret_head, struct err *err);
