/* SPDX-License-Identifier: MIT
 * line_diff.h - the difference of two texts as hunks of lines, for the structuredPatch of Edit and Write. */
#pragma once
#include "lib/json/json_write.h"

/* Writes one JSON array: [{"oldStart":1,"oldLines":2,"newStart":1,"newLines":2,"lines":[" same","-old","+new"]}, ...]
 * with three lines of context. Shortest script up to a thousand changed lines; beyond that the changed middle is one
 * block, so that no text makes it slow. */
void line_diff_put(struct json_out *w, struct str old_text, struct str new_text);
/* Lines that the new text has and the old one has not, and the other way round. */
void line_diff_count(struct str old_text, struct str new_text, size_t *ret_added, size_t *ret_removed);
