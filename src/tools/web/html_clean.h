/* SPDX-License-Identifier: MIT
 * html_clean.h - a page in plain words: its tags without what nobody looks at, no comments, no scripts. The parser behind it
 * repairs structure in a time that an author of thousands of attributes or wrong ends could choose; it never gets them. */
#pragma once
#include "lib/base/buf.h"

/* Appends. Takes time and room in proportion to the page. page: valid UTF-8. NUL becomes a blank, other control characters go. */
void html_clean(struct str page, struct buf *out);
