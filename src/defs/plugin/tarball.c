/* SPDX-License-Identifier: MIT
 * tarball.c - see tarball.h. The archive is unpacked in memory, then its blocks of 512 bytes are read:
 *
 *     header (name 0, mode 100, size 124, sum 148, type 156, magic 257, prefix 345), bytes, zeros up to the next block
 *
 * A long name comes in a header of its own in front: pax ('x', a record "LENGTH path=NAME\n") or GNU ('L', the name). */
#include "defs/plugin/tarball.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>
#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "defs/plugin/unpack.h"

enum { BLOCK = 512, CHUNK = 64 << 10, LONGEST_EXTRA = 64 << 10 };

struct untar {
	struct str rest;
	struct unpack out;
	struct arena arena;  /* has names */
	struct str own_name; /* of the next file, from a header in front of it; empty: none */
	size_t entries;
};

struct entry {
	struct str name;
	uint64_t size, mode;
	char type;
	struct str bytes;
};

/* ---- gzip -------------------------------------------------------------------------------------------------------- */

static void end_stream(z_stream *z)
{
	(void)inflateEnd(z);
}

static int gunzip(struct str archive, struct buf *out, struct err *err)
{
	CLEANUP(end_stream)
	z_stream z = { .next_in = (unsigned char *)(uintptr_t)archive.p, .avail_in = (uInt)archive.n };
	int state = archive.n <= TARBALL_LIMIT ? inflateInit2(&z, 16 + MAX_WBITS) : Z_BUF_ERROR;

	while (state == Z_OK) {
		buf_reserve(out, CHUNK);
		z.next_out = (unsigned char *)out->p + out->n;
		z.avail_out = CHUNK;
		state = inflate(&z, Z_NO_FLUSH);
		out->n += CHUNK - z.avail_out;
		if (out->n > UNPACK_LIMIT)
			return err_set(err, ERR_LIMIT, "unpacks to more than %d MB", UNPACK_LIMIT >> 20);
	}
	return state == Z_STREAM_END ? 0 : err_set(err, ERR_PARSE, "is no gzip file, is damaged or is too large");
}

/* ---- headers ----------------------------------------------------------------------------------------------------- */

static struct str field(struct str header, size_t at, size_t n)
{
	return (struct str){ header.p + at, strnlen(header.p + at, n) };
}

/* Octal digits with blanks or NULs around them. Anything else, also the binary form for huge files, is none. */
static bool read_octal(struct str text, uint64_t *ret)
{
	uint64_t n = 0;

	text = str_trim(text);
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] < '0' || text.p[i] > '7' || n >> 60)
			return false;
		n = n * 8 + (uint64_t)(text.p[i] - '0');
	}
	*ret = n;
	return true;
}

/* The sum is made with blanks in its own place. */
static bool has_good_sum(struct str header)
{
	uint64_t said, sum = 8 * ' ';

	for (size_t i = 0; i < BLOCK; i++)
		sum += i >= 148 && i < 156 ? 0 : (unsigned char)header.p[i];
	return read_octal(field(header, 148, 8), &said) && said == sum;
}

static struct str name_of(struct untar *u, struct str header)
{
	struct str name = field(header, 0, 100);
	struct str prefix = memcmp(header.p + 257, "ustar\0", 6) == 0 ? field(header, 345, 155) : STR("");
	struct str own = u->own_name;

	u->own_name = (struct str){ 0 };
	if (own.n)
		return own;
	return str_from(
		arena_printf(&u->arena, STR_FMT "%s" STR_FMT, STR_ARG(prefix), prefix.n ? "/" : "", STR_ARG(name)));
}

static bool is_extra(char type)
{
	return type == 'x' || type == 'g' || type == 'L';
}

/* 1: there is one; 0: the archive is over. */
static int next_entry(struct untar *u, struct entry *e)
{
	struct str header = { u->rest.p, BLOCK };

	if (u->rest.n < BLOCK || header.p[0] == '\0')
		return 0;
	if (!has_good_sum(header) || !read_octal(field(header, 124, 12), &e->size) ||
	    !read_octal(field(header, 100, 8), &e->mode))
		return err_set(u->out.err, ERR_PARSE, "has a broken header");
	uint64_t padded = (e->size + BLOCK - 1) / BLOCK * BLOCK;
	if (e->size > UNPACK_LIMIT || padded > u->rest.n - BLOCK)
		return err_set(u->out.err, ERR_PARSE, "is cut off");
	e->type = header.p[156];
	e->name = is_extra(e->type) ? STR("") : name_of(u, header);
	e->bytes = (struct str){ header.p + BLOCK, e->size };
	u->rest = (struct str){ header.p + BLOCK + padded, u->rest.n - BLOCK - padded };
	return 1;
}

/* Records "27 path=package/a/b\n" */
static void read_pax(struct untar *u, struct str records)
{
	static const struct str key = STR("path=");

	while (records.n) {
		struct str line = str_cut(&records, '\n');
		(void)str_cut(&line, ' ');
		if (line.p && str_starts(line, key))
			u->own_name = arena_str(&u->arena, (struct str){ line.p + key.n, line.n - key.n });
	}
}

static int read_extra(struct untar *u, const struct entry *e)
{
	if (e->bytes.n > LONGEST_EXTRA)
		return err_set(u->out.err, ERR_LIMIT, "has a header that is too long");
	if (e->type == 'x')
		read_pax(u, e->bytes);
	if (e->type == 'L')
		u->own_name = arena_str(&u->arena, (struct str){ e->bytes.p, strnlen(e->bytes.p, e->bytes.n) });
	return 0;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static const char *problem_of(const struct entry *e)
{
	if (e->type == '1' || e->type == '2')
		return "is a link";
	if (e->type != '0' && e->type != '\0' && e->type != '5')
		return "is a special file";
	return unpack_name_problem(e->name);
}

static int put(struct untar *u, const struct entry *e)
{
	const char *problem = problem_of(e);
	struct str name = e->name;
	AUTO_CLOSE int fd = -1;

	if (problem)
		return unpack_refuse(&u->out, e->name, problem);
	(void)str_cut(&name, '/'); /* the directory that all are in */
	if (!name.p || !name.n || e->type == '5')
		return 0;
	int status = unpack_create(&u->out, name, e->mode & S_IXUSR, &fd);
	if (status < 0 || fd < 0)
		return status;
	return unpack_write(&u->out, name, fd, e->bytes.p, e->bytes.n);
}

static int put_all(struct untar *u)
{
	struct entry e = { 0 };
	int status;

	while ((status = next_entry(u, &e)) > 0) {
		if (++u->entries > UNPACK_ENTRY_LIMIT)
			return err_set(u->out.err, ERR_LIMIT, "has more than %d files", UNPACK_ENTRY_LIMIT);
		status = is_extra(e.type) ? read_extra(u, &e) : put(u, &e);
		if (status < 0)
			return status;
	}
	return status;
}

int tarball_unpack(struct str archive, const char *dir, struct err *err)
{
	AUTO_BUF struct buf bytes = { 0 };
	AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_set(err, ERR_IO, "cannot open %s: %m", dir);
	int status = gunzip(archive, &bytes, err);
	if (status < 0)
		return status;
	struct untar u = { .rest = buf_str(&bytes), .out = { .dir = fd, .err = err } };
	status = put_all(&u);
	arena_release(&u.arena);
	return status;
}
