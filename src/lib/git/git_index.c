/* SPDX-License-Identifier: MIT
 * git_index.c - names in git's index.
 *
 *     "DIRC" version count | entries | extensions | checksum              numbers are big-endian, 4 bytes
 *     entry: 40 bytes of stat, object id, 2 bytes of flags, 2 more if bit 14 is set (from version 3 on), name
 *     name, 2 and 3: text with 1 to 8 NULs, so that the entry's length is a multiple of 8
 *     name, 4: how much of the name before goes away (a number in 7-bit pieces), the new end, NUL
 *
 * Its bytes are foreign: everything is checked, and what does not fit makes the answer unknown. */
#include "lib/git/git_index.h"
#include "lib/base/buf.h"
#include "lib/io/file.h"
#include "lib/git/git_head.h"

enum { INDEX_MAX_BYTES = 256 << 20, CONFIG_MAX_BYTES = 1 << 20, HEADER = 12, STAT_BYTES = 40 };

struct index {
	struct str rest;
	size_t hash_bytes;
	uint32_t version;
	struct buf name; /* of the entry that was read last */
};

static uint32_t number(const char *p)
{
	const unsigned char *u = (const unsigned char *)p;

	return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

static bool skip(struct str *s, size_t n)
{
	if (s->n < n)
		return false;
	s->p += n;
	s->n -= n;
	return true;
}

static bool read_header(struct index *x, uint32_t *ret_count)
{
	if (x->rest.n < HEADER || memcmp(x->rest.p, "DIRC", 4) != 0)
		return false;
	x->version = number(x->rest.p + 4);
	*ret_count = number(x->rest.p + 8);
	return x->version >= 2 && x->version <= 4 && skip(&x->rest, HEADER);
}

static bool read_strip(struct str *s, size_t *ret_n)
{
	size_t n = 0;

	for (int i = 0; i < 5 && s->n; i++) {
		unsigned char c = (unsigned char)s->p[0];
		(void)skip(s, 1);
		n = (i ? (n + 1) << 7 : 0) + (c & 127);
		*ret_n = n;
		if (!(c & 128))
			return true;
	}
	return false;
}

static bool read_name(struct index *x, size_t head)
{
	size_t strip = x->name.n;

	if (x->version == 4 && (!read_strip(&x->rest, &strip) || strip > x->name.n))
		return false;
	const char *end = memchr(x->rest.p, '\0', x->rest.n);
	if (!end)
		return false;
	size_t n = (size_t)(end - x->rest.p);
	x->name.n -= strip;
	buf_add(&x->name, x->rest.p, n);
	return skip(&x->rest, x->version == 4 ? n + 1 : n + 8 - (head + n) % 8);
}

static bool read_entry(struct index *x)
{
	size_t flags_at = STAT_BYTES + x->hash_bytes;

	if (x->rest.n < flags_at + 4)
		return false;
	bool more = x->version > 2 && (x->rest.p[flags_at] & 0x40);
	size_t head = flags_at + (more ? 4 : 2);
	return skip(&x->rest, head) && read_name(x, head);
}

/* A directory stands for all that is in it where the checkout is sparse. */
static bool covers(struct str name, struct str path)
{
	return str_eq(name, path) || (str_ends(name, STR("/")) && str_starts(path, name));
}

static bool may_have(struct index *x, struct str path)
{
	uint32_t count;

	if (!read_header(x, &count))
		return true;
	for (uint32_t i = 0; i < count; i++)
		if (!read_entry(x) || covers(buf_str(&x->name), path))
			return true;
	/* "link": the other entries are in another file. */
	while (x->rest.n >= 8 + x->hash_bytes) {
		if (!memcmp(x->rest.p, "link", 4))
			return true;
		if (!skip(&x->rest, 8 + (size_t)number(x->rest.p + 4)))
			return true;
	}
	return false;
}

static size_t hash_bytes(struct arena *a, const char *git_dir)
{
	AUTO_BUF struct buf config = { 0 };

	(void)file_read(path_join(a, git_dir, "config"), CONFIG_MAX_BYTES, &config, NULL);
	return str_has(buf_str(&config), STR("sha256")) ? 32 : 20;
}

bool git_tracks(const char *root, const char *path)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf bytes = { 0 };
	const char *main_root = git_main_checkout(&a, root);
	int status = file_read(path_join(&a, git_dir(&a, root), "index"), INDEX_MAX_BYTES, &bytes, NULL);

	if (status < 0)
		return status != -ERR_NOT_FOUND;
	struct index x = { .rest = buf_str(&bytes) };
	x.hash_bytes = hash_bytes(&a, git_dir(&a, main_root ? main_root : root));
	bool tracked = may_have(&x, str_from(path));
	buf_release(&x.name);
	return tracked;
}
