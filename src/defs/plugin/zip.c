/* SPDX-License-Identifier: MIT
 * zip.c - unpacks an archive, trusting none of it. The directory at the end of the archive decides; what each file says of
 * itself must agree with it. */
#include "defs/plugin/zip.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>
#include "defs/plugin/unpack.h"

enum {
	END_SIZE = 22, /* records without their names */
	CENTRAL_SIZE = 46,
	LOCAL_SIZE = 30,
	LONGEST_COMMENT = 0xffff,
	MADE_ON_UNIX = 3,
	FLAG_ENCRYPTED = 1 << 0,
	STORED = 0,
	DEFLATED = 8,
	CHUNK = 64 << 10,
};

struct entry {
	struct str name;
	unsigned flags, method, mode; /* mode: of unix, 0 if not known */
	uint32_t crc;
	size_t packed, size, local; /* local: where it begins in the archive */
};

struct unzip {
	struct str archive;
	size_t at, left; /* in the directory */
	struct unpack out;
};

static int bad(struct unzip *u, const struct entry *e, const char *what)
{
	return e ? unpack_refuse(&u->out, e->name, what) : err_set(u->out.err, ERR_PARSE, "%s", what);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static unsigned get16(const struct unzip *u, size_t at)
{
	const unsigned char *p = (const unsigned char *)u->archive.p + at;

	return p[0] | (unsigned)p[1] << 8;
}

static uint32_t get32(const struct unzip *u, size_t at)
{
	return get16(u, at) | (uint32_t)get16(u, at + 2) << 16;
}

static bool has(const struct unzip *u, size_t at, size_t n)
{
	return at <= u->archive.n && n <= u->archive.n - at;
}

static int find_directory(struct unzip *u)
{
	size_t n = u->archive.n;
	size_t lowest = n > END_SIZE + LONGEST_COMMENT ? n - END_SIZE - LONGEST_COMMENT : 0;

	if (n < END_SIZE)
		return bad(u, NULL, "is too short to be a zip file");
	for (size_t at = n - END_SIZE + 1; at-- > lowest;) {
		if (memcmp(u->archive.p + at, "PK\5\6", 4) != 0 || at + END_SIZE + get16(u, at + 20) != n)
			continue;
		if (get16(u, at + 4) || get16(u, at + 6) || get16(u, at + 8) != get16(u, at + 10))
			return bad(u, NULL, "is a part of several");
		u->left = get16(u, at + 10);
		u->at = get32(u, at + 16);
		if (u->left == 0xffff || u->at == 0xffffffff)
			return bad(u, NULL, "is a zip64 file");
		return u->at <= at ? 0 : bad(u, NULL, "has a directory outside itself");
	}
	return bad(u, NULL, "is no zip file");
}

static int read_entry(struct unzip *u, struct entry *e)
{
	size_t at = u->at;

	if (!has(u, at, CENTRAL_SIZE) || memcmp(u->archive.p + at, "PK\1\2", 4) != 0)
		return bad(u, NULL, "has a broken directory");
	size_t name = get16(u, at + 28);
	size_t all = CENTRAL_SIZE + name + get16(u, at + 30) + get16(u, at + 32);
	if (!has(u, at, all))
		return bad(u, NULL, "has a broken directory");
	*e = (struct entry){
		.name = { u->archive.p + at + CENTRAL_SIZE, name },
		.flags = get16(u, at + 8),
		.method = get16(u, at + 10),
		.mode = get16(u, at + 4) >> 8 == MADE_ON_UNIX ? get32(u, at + 38) >> 16 : 0,
		.crc = get32(u, at + 16),
		.packed = get32(u, at + 20),
		.size = get32(u, at + 24),
		.local = get32(u, at + 42),
	};
	u->at += all;
	return 0;
}

/* Where the bytes of a file begin, if it calls itself what the directory calls it. */
static int find_bytes(struct unzip *u, const struct entry *e, struct str *ret_bytes)
{
	if (!has(u, e->local, LOCAL_SIZE) || memcmp(u->archive.p + e->local, "PK\3\4", 4) != 0)
		return bad(u, e, "has no header");
	size_t name = get16(u, e->local + 26);
	size_t at = e->local + LOCAL_SIZE;
	if (!has(u, at, name) || !str_eq((struct str){ u->archive.p + at, name }, e->name))
		return bad(u, e, "has another name in its header");
	at += name + get16(u, e->local + 28);
	if (!has(u, at, e->packed))
		return bad(u, e, "is cut off");
	*ret_bytes = (struct str){ u->archive.p + at, e->packed };
	return 0;
}

/* ---- what is accepted -------------------------------------------------------------------------------------------- */

static const char *entry_problem(const struct entry *e)
{
	unsigned type = e->mode & S_IFMT;

	if (e->flags & FLAG_ENCRYPTED)
		return "is encrypted";
	if (e->method != STORED && e->method != DEFLATED)
		return "is packed in a way that is not known";
	if (type == S_IFLNK)
		return "is a link";
	if (type && type != S_IFREG && type != S_IFDIR)
		return "is a special file";
	if ((type == S_IFDIR) != str_ends(e->name, STR("/")) && type)
		return "is a directory or a file, but not both";
	return unpack_name_problem(e->name);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* What was unpacked so far of one file */
struct progress {
	int fd;
	size_t size;
	uint32_t crc;
};

static int take(struct unzip *u, const struct entry *e, struct progress *p, const unsigned char *bytes, size_t n)
{
	p->size += n;
	if (p->size > e->size)
		return bad(u, e, "is larger than it says");
	p->crc = (uint32_t)crc32(p->crc, bytes, (uInt)n);
	return unpack_write(&u->out, e->name, p->fd, bytes, n);
}

static int copy_stored(struct unzip *u, const struct entry *e, struct str bytes, struct progress *p)
{
	for (size_t at = 0; at < bytes.n; at += CHUNK) {
		int status = take(u, e, p, (const unsigned char *)bytes.p + at, MIN(bytes.n - at, (size_t)CHUNK));
		if (status < 0)
			return status;
	}
	return 0;
}

static void end_stream(z_stream *z)
{
	(void)inflateEnd(z);
}

static int inflate_all(struct unzip *u, const struct entry *e, struct str bytes, struct progress *p)
{
	CLEANUP(end_stream) z_stream z = { .next_in = (unsigned char *)(uintptr_t)bytes.p, .avail_in = (uInt)bytes.n };
	AUTO_FREE unsigned char *out = xmalloc(CHUNK);
	int state = inflateInit2(&z, -MAX_WBITS);

	while (state == Z_OK) {
		z.next_out = out;
		z.avail_out = CHUNK;
		state = inflate(&z, Z_NO_FLUSH);
		if (state != Z_OK && state != Z_STREAM_END)
			break;
		int status = take(u, e, p, out, CHUNK - z.avail_out);
		if (status < 0)
			return status;
	}
	return state == Z_STREAM_END && !z.avail_in ? 0 : bad(u, e, "is damaged");
}

static int unpack_file(struct unzip *u, const struct entry *e)
{
	struct str bytes = { 0 };
	AUTO_CLOSE int fd = -1;
	int status = find_bytes(u, e, &bytes);

	if (status == 0)
		status = unpack_create(&u->out, e->name, e->mode & S_IXUSR, &fd);
	if (status < 0 || fd < 0)
		return status;
	struct progress p = { .fd = fd };
	status = e->method == STORED ? copy_stored(u, e, bytes, &p) : inflate_all(u, e, bytes, &p);
	if (status == 0 && (p.size != e->size || p.crc != e->crc))
		return bad(u, e, "is damaged");
	return status;
}

int zip_unpack(struct str archive, const char *dir, struct err *err)
{
	AUTO_CLOSE int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct unzip u = { .archive = archive, .out = { .dir = fd, .err = err } };

	if (fd < 0)
		return err_set(err, ERR_IO, "cannot open %s: %m", dir);
	int status = find_directory(&u);
	if (status == 0 && u.left > UNPACK_ENTRY_LIMIT)
		return err_set(err, ERR_LIMIT, "has more than %d files", UNPACK_ENTRY_LIMIT);
	for (; status == 0 && u.left; u.left--) {
		struct entry e = { 0 };
		status = read_entry(&u, &e);
		const char *problem = status == 0 ? entry_problem(&e) : NULL;
		if (problem)
			status = bad(&u, &e, problem);
		if (status == 0)
			status = unpack_file(&u, &e);
	}
	return status;
}
