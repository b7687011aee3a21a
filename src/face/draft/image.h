/* SPDX-License-Identifier: MIT
 * image.h - what is dropped on a terminal: paths, and the heads of images and PDF files. It opens no file. */
#pragma once
#include "lib/base/buf.h"

struct image_head {
	const char *media_type; /* "image/png", "application/pdf" ... */
	unsigned width, height; /* 0 of a PDF file */
};

bool image_head_of(struct str bytes, struct image_head *ret_head); /* false: none of those that models take */
/* The next path of a paste as terminals write it: quoted, with backslashes before blanks, as a file: URL, or as it is. false: there
 * is none, or it is not a path. */
bool image_next_path(struct str *rest, struct buf *ret_path);
