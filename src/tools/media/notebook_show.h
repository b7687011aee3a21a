/* SPDX-License-Identifier: MIT
 * notebook_show.h - a notebook as the model sees it: each cell in its tags, behind it what it printed and drew. Only for
 * workers: pictures may have to be made smaller. */
#pragma once
#include "tools/media/notebook.h"
#include "tools/media/read_blocks.h"

struct notebook_view {
	size_t first;     /* cell, from 1 */
	size_t limit;     /* cells; 0: to the end */
	size_t cap_bytes; /* of the text; a cell that does not fit is not shown, the first one is cut */
	/* what came of it */
	struct read_blocks blocks;
	struct buf cells; /* a JSON array for SDK consumers; pictures are left out of it */
	size_t shown, total;
	bool cut; /* the cap came before the end */
};

void notebook_show(const struct notebook *n, struct notebook_view *view);
void notebook_view_release(struct notebook_view *view);
