/* SPDX-License-Identifier: MIT
 * image.c - paths, and the heads of images and PDF files. */
#include "face/draft/image.h"
#include "lib/base/base64.h"
#include "lib/base/utf8.h"

static unsigned number(struct str b, size_t at, size_t n, bool big_endian)
{
	unsigned value = 0;

	for (size_t i = 0; i < n && at + n <= b.n; i++)
		value |= (unsigned)(unsigned char)b.p[at + i] << 8 * (big_endian ? n - 1 - i : i);
	return value;
}

/* Segments until the one with the size of the picture */
static bool jpeg_size(struct str b, struct image_head *ret)
{
	for (size_t at = 2; at + 9 < b.n && (unsigned char)b.p[at] == 0xff;) {
		unsigned kind = (unsigned char)b.p[at + 1];
		if (kind == 0xff) {
			at++;
			continue;
		}
		if (kind >= 0xc0 && kind <= 0xcf && kind != 0xc4 && kind != 0xc8 && kind != 0xcc) {
			ret->height = number(b, at + 5, 2, true);
			ret->width = number(b, at + 7, 2, true);
			return true;
		}
		at += 2 + MAX(number(b, at + 2, 2, true), 2u);
	}
	return false;
}

static bool webp_size(struct str b, struct image_head *ret)
{
	if (str_starts(str_tail(b, 12), STR("VP8X"))) {
		ret->width = number(b, 24, 3, false) + 1;
		ret->height = number(b, 27, 3, false) + 1;
	} else if (str_starts(str_tail(b, 12), STR("VP8L"))) {
		unsigned bits = number(b, 21, 4, false);
		ret->width = (bits & 0x3fff) + 1;
		ret->height = (bits >> 14 & 0x3fff) + 1;
	} else {
		ret->width = number(b, 26, 2, false) & 0x3fff;
		ret->height = number(b, 28, 2, false) & 0x3fff;
	}
	return ret->width && ret->height;
}

bool image_head_of(struct str b, struct image_head *ret_head)
{
	*ret_head = (struct image_head){ 0 };
	if (b.n >= 24 && str_starts(b, STR("\x89PNG\r\n\x1a\n"))) {
		*ret_head = (struct image_head){ "image/png", number(b, 16, 4, true), number(b, 20, 4, true) };
		return ret_head->width && ret_head->height;
	}
	if (b.n >= 10 && (str_starts(b, STR("GIF87a")) || str_starts(b, STR("GIF89a")))) {
		*ret_head = (struct image_head){ "image/gif", number(b, 6, 2, false), number(b, 8, 2, false) };
		return ret_head->width && ret_head->height;
	}
	if (b.n >= 30 && str_starts(b, STR("RIFF")) && str_starts(str_tail(b, 8), STR("WEBP"))) {
		ret_head->media_type = "image/webp";
		return webp_size(b, ret_head);
	}
	if (str_starts(b, STR("\xff\xd8\xff"))) {
		ret_head->media_type = "image/jpeg";
		return jpeg_size(b, ret_head) && ret_head->width && ret_head->height;
	}
	ret_head->media_type = "application/pdf";
	return str_starts(b, STR("%PDF-"));
}

/* The part behind file:// is percent-encoded, with or without this machine's name */
static void decode_url(struct buf *path)
{
	struct str s = str_tail(buf_str(path), sizeof "file://" - 1);
	AUTO_BUF struct buf out = { 0 };
	const char *slash = memchr(s.p, '/', s.n);

	s = slash ? str_tail(s, (size_t)(slash - s.p)) : STR("");
	percent_decode(&out, s);
	buf_clear(path);
	buf_append(path, buf_str(&out));
}

bool image_next_path(struct str *rest, struct buf *ret_path)
{
	struct str s = str_trim(*rest);
	char quote = 0;
	size_t i = 0;

	buf_clear(ret_path);
	for (; i < s.n && (quote || !char_in(s.p[i], " \n\t")); i++) {
		if (quote ? s.p[i] == quote : char_in(s.p[i], "'\""))
			quote = quote ? 0 : s.p[i];
		else if (s.p[i] == '\\' && quote != '\'' && i + 1 < s.n)
			buf_addch(ret_path, s.p[++i]);
		else
			buf_addch(ret_path, s.p[i]);
	}
	*rest = str_tail(s, i);
	if (str_starts(buf_str(ret_path), STR("file://")))
		decode_url(ret_path);
	struct str path = buf_str(ret_path);
	return !quote && path.n && path.n < 4096 && !memchr(path.p, '\0', path.n) &&
	       (path.p[0] == '/' || path.p[0] == '~' || memchr(path.p, '.', path.n));
}
