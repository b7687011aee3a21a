/* SPDX-License-Identifier: MIT
 * zip_maker.h - archives for tests, also such as no honest program makes. */
#pragma once
#include "lib/base/buf.h"

struct zip_file {
	const char *name, *text;
	unsigned mode; /* of unix; 0: a plain file */
	bool deflated;
	const char *other_name; /* in its own header; NULL: the same */
	unsigned flags, method; /* method: other than 0 replaces the right one */
	uint32_t size_lie;      /* added to the size that it says */
	uint32_t crc_lie;
};

void zip_make(struct buf *out, const struct zip_file *files, size_t count);
