/* SPDX-License-Identifier: MIT
 * zip_maker.c - writes archives. */
#include "zip_maker.h"
#include <zlib.h>

static void add16(struct buf *out, unsigned v)
{
	buf_addch(out, (char)(v & 0xff));
	buf_addch(out, (char)(v >> 8 & 0xff));
}

static void add32(struct buf *out, uint32_t v)
{
	add16(out, v & 0xffff);
	add16(out, v >> 16);
}

static void pack(struct buf *out, const struct zip_file *f)
{
	z_stream z = { .next_in = (unsigned char *)(uintptr_t)f->text, .avail_in = (uInt)strlen(f->text) };

	if (!f->deflated) {
		buf_addstr(out, f->text);
		return;
	}
	(void)deflateInit2(&z, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
	buf_reserve(out, deflateBound(&z, z.avail_in));
	z.next_out = (unsigned char *)out->p;
	z.avail_out = (uInt)(out->cap - 1);
	(void)deflate(&z, Z_FINISH);
	out->n = out->cap - 1 - z.avail_out;
	(void)deflateEnd(&z);
}

/* What both records of a file have, from the flags to the length of the extra field. */
static void add_common(struct buf *out, const struct zip_file *f, size_t packed, const char *name)
{
	size_t size = strlen(f->text);

	add16(out, f->flags);
	add16(out, f->method ? f->method : f->deflated ? 8 : 0);
	add32(out, 0); /* time */
	add32(out, (uint32_t)crc32(0, (const unsigned char *)f->text, (uInt)size) + f->crc_lie);
	add32(out, (uint32_t)packed);
	add32(out, (uint32_t)size + f->size_lie);
	add16(out, (unsigned)strlen(name));
	add16(out, 0);
}

void zip_make(struct buf *out, const struct zip_file *files, size_t count)
{
	AUTO_BUF struct buf directory = { 0 };

	for (size_t i = 0; i < count; i++) {
		const struct zip_file *f = &files[i];
		const char *own = f->other_name ? f->other_name : f->name;
		AUTO_BUF struct buf packed = { 0 };
		size_t at = out->n;
		pack(&packed, f);
		buf_add(out, "PK\3\4", 4);
		add16(out, 20);
		add_common(out, f, packed.n, own);
		buf_addstr(out, own);
		buf_add(out, packed.p ? packed.p : "", packed.n);
		buf_add(&directory, "PK\1\2", 4);
		add16(&directory, 3 << 8 | 20);
		add16(&directory, 20);
		add_common(&directory, f, packed.n, f->name);
		add16(&directory, 0);
		add32(&directory, 0);
		add32(&directory, (uint32_t)f->mode << 16);
		add32(&directory, (uint32_t)at);
		buf_addstr(&directory, f->name);
	}
	size_t start = out->n;
	buf_add(out, directory.p ? directory.p : "", directory.n);
	buf_add(out, "PK\5\6", 4);
	add32(out, 0);
	add16(out, (unsigned)count);
	add16(out, (unsigned)count);
	add32(out, (uint32_t)directory.n);
	add32(out, (uint32_t)start);
	add16(out, 0);
}
