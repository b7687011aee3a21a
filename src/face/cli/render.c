/* SPDX-License-Identifier: MIT
 * render.c - foreign text made fit for a terminal. */
#include "face/cli/view.h"
#include "lib/base/utf8.h"

/* Is the character that this valid UTF-8 starts with one that acts on a terminal? */
static bool is_control(const unsigned char *p, size_t n, unsigned *ret_cp, size_t *ret_n)
{
	*ret_cp = p[0];
	*ret_n = 1;
	if (p[0] == 0xc2 && n > 1) {
		*ret_cp = p[1];
		*ret_n = 2;
		return p[1] < 0xa0;
	}
	if (p[0] == 0xe2 && n > 2) {
		unsigned cp = 0x2000u | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
		*ret_cp = cp;
		*ret_n = 3;
		return (cp >= 0x202a && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069);
	}
	return p[0] < 0x20 || p[0] == 0x7f;
}

static void render(struct buf *out, struct str s, bool one_line)
{
	AUTO_BUF struct buf valid = { 0 };

	utf8_add_repaired(&valid, s);
	for (size_t i = 0; i < valid.n;) {
		const unsigned char *p = (const unsigned char *)valid.p + i;
		size_t n;
		unsigned cp;

		if (!is_control(p, valid.n - i, &cp, &n))
			buf_add(out, p, n);
		else if (cp == '\t' || cp == '\n')
			buf_add(out, one_line ? " " : (const char *)p, 1);
		else if (cp != '\r' || p[1] != '\n')
			buf_addf(out, cp < 0x80 ? "\\x%02x" : "\\u%04x", cp);
		i += n;
	}
}

void render_text(struct buf *out, struct str s)
{
	render(out, s, false);
}

void render_line(struct buf *out, struct str s)
{
	render(out, s, true);
}
