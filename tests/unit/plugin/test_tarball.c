/* SPDX-License-Identifier: MIT
 * test_tarball.c - packages of strangers. */
#include "stage.h"
#include <sys/stat.h>
#include <zlib.h>
#include "lib/io/file.h"
#include "defs/plugin/fetch.h"
#include "tests.h"

enum { BLOCK = 512 };

struct member {
	const char *name, *text;
	char type; /* 0: a file */
	unsigned mode;
	const char *link;
	size_t size_lie; /* added to the size that it says */
};

static void add_header(struct buf *out, const struct member *m)
{
	char header[BLOCK] = { 0 };
	unsigned sum = 0;

	snprintf(header, 100, "%s", m->name);
	snprintf(header + 100, 8, "%07o", m->mode ? m->mode : 0644);
	snprintf(header + 124, 12, "%011zo", strlen(m->text) + m->size_lie);
	memset(header + 148, ' ', 8);
	header[156] = m->type ? m->type : '0';
	snprintf(header + 157, 100, "%s", m->link ? m->link : "");
	memcpy(header + 257, "ustar\00000", 8);
	for (size_t i = 0; i < BLOCK; i++)
		sum += (unsigned char)header[i];
	snprintf(header + 148, 8, "%06o", sum);
	buf_add(out, header, BLOCK);
}

static void add_member(struct buf *out, const struct member *m)
{
	static const char zeros[BLOCK];

	add_header(out, m);
	buf_addstr(out, m->text);
	buf_add(out, zeros, (BLOCK - out->n % BLOCK) % BLOCK);
}

/* Compresses the same bytes again and again */
static void pack_often(struct buf *out, struct str bytes, size_t times)
{
	z_stream z = { 0 };

	CHECK_INT(deflateInit2(&z, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
	buf_reserve(out, deflateBound(&z, bytes.n) + bytes.n * times / 64);
	z.next_out = (unsigned char *)out->p;
	z.avail_out = (uInt)(out->cap - 1);
	for (size_t i = 0; i < times; i++) {
		z.next_in = (unsigned char *)(uintptr_t)bytes.p;
		z.avail_in = (uInt)bytes.n;
		CHECK_INT(deflate(&z, i + 1 < times ? Z_NO_FLUSH : Z_FINISH), i + 1 < times ? Z_OK : Z_STREAM_END);
	}
	out->n = z.total_out;
	(void)deflateEnd(&z);
}

static void pack(struct buf *out, struct str tar)
{
	pack_often(out, tar, 1);
}

/* What unpacking these says; "" if nothing is wrong. In the stage's arena. */
static const char *unpack(struct stage *s, const struct member *members, size_t count)
{
	AUTO_BUF struct buf tar = { 0 };
	AUTO_BUF struct buf packed = { 0 };
	struct err err = { 0 };

	for (size_t i = 0; i < count; i++)
		add_member(&tar, &members[i]);
	pack(&packed, buf_str(&tar));
	return unpack_archive(UNPACK_TARBALL, buf_str(&packed), stage_path(s, "work"), &err) < 0
		       ? arena_strdup(&s->arena, err.text)
		       : "";
}

static const char *text_of(struct stage *s, const char *path)
{
	AUTO_BUF struct buf text = { 0 };

	if (file_read(stage_path(s, path), 1000, &text, NULL) < 0)
		return "(not there)";
	return arena_dup(&s->arena, text.n ? text.p : "", text.n);
}

TEST(files_of_a_package_come_without_its_top_directory)
{
	static const struct member members[] = {
		{ .name = "package/", .text = "", .type = '5' },
		{ .name = "package/package.json", .text = "{}" },
		{ .name = "package/bin/run", .text = "#!/bin/sh\n", .mode = 04777 },
		{ .name = "ignored", .text = "13 comment=x\n", .type = 'g' },
		{ .name = "short", .text = "27 path=package/by/pax.txt\n", .type = 'x' },
		{ .name = "package/short", .text = "pax" },
		{ .name = "long", .text = "package/by/gnu.txt", .type = 'L' },
		{ .name = "package/short", .text = "gnu" },
		{ .name = "package/plain", .text = "plain" },
	};
	struct stage s;
	struct stat st;
	stage_init(&s);

	CHECK_CSTR(unpack(&s, members, COUNT_OF(members)), "");

	CHECK_CSTR(text_of(&s, "work/package.json"), "{}");
	CHECK_CSTR(text_of(&s, "work/by/pax.txt"), "pax");
	CHECK_CSTR(text_of(&s, "work/by/gnu.txt"), "gnu");
	CHECK_CSTR(text_of(&s, "work/plain"), "plain");
	CHECK_INT(stat(stage_path(&s, "work/bin/run"), &st), 0);
	CHECK_INT(st.st_mode & 07777, 0755);
	stage_release(&s);
}

TEST(a_hostile_package_is_refused)
{
	static const struct {
		struct member member;
		const char *why;
	} rows[] = {
		{ { .name = "package/../../out", .text = "x" }, "leads elsewhere" },
		{ { .name = "../out", .text = "x" }, "leads elsewhere" },
		{ { .name = "package/..", .text = "", .type = '5' }, "leads elsewhere" },
		{ { .name = "/etc/x", .text = "x" }, "absolute path" },
		{ { .name = "C:/x", .text = "x" }, "absolute path" },
		{ { .name = "package/a\\b", .text = "x" }, "backslash" },
		{ { .name = "package/l", .text = "", .type = '2', .link = "../../out" }, "is a link" },
		{ { .name = "package/l", .text = "", .type = '2', .link = "dir" }, "is a link" },
		{ { .name = "package/l", .text = "", .type = '1', .link = "/etc/passwd" }, "is a link" },
		{ { .name = "package/l", .text = "", .type = '1', .link = "package/dir" }, "is a link" },
		{ { .name = "package/l", .text = "", .type = '1' }, "special file" },
		{ { .name = "package/tty", .text = "", .type = '3' }, "special file" },
		{ { .name = "package/disk", .text = "", .type = '4' }, "special file" },
		{ { .name = "package/fifo", .text = "", .type = '6' }, "special file" },
		{ { .name = "package/d", .text = "x", .type = '5' }, "damaged" },
		{ { .name = "package/dir/x", .text = "x" }, "in the way" },
		{ { .name = "package/dir", .text = "twice" }, "in the way" },
		{ { .name = "another/dir", .text = "twice" }, "in the way" },
		{ { .name = "package/a", .text = "x", .size_lie = 4096 }, "damaged" },
		{ { .name = "package/a", .text = "x", .size_lie = 1UL << 32 }, "more than 256 MB" },
		{ { .name = "pax",
		    .text = "33 GNU.sparse.size=1099511627776\n26 GNU.sparse.numblocks=1\n22 GNU.sparse.map=0,0\n",
		    .type = 'x' },
		  "more than 256 MB" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct member both[] = { { .name = "package/dir", .text = "a file" },
					       rows[i].member,
					       { .name = "package/l/behind", .text = "" } };
		struct stage s;
		stage_init(&s);
		const char *why = unpack(&s, both, COUNT_OF(both));
		if (!strstr(why, rows[i].why))
			fail_msg("%s: '%s'", rows[i].member.name, why);
		CHECK_CSTR(text_of(&s, "out"), "(not there)");
		stage_release(&s);
	}
}

TEST(a_package_that_is_cut_or_changed_anywhere_is_refused_without_harm)
{
	static const struct member member = { .name = "package/a", .text = "some text" };
	AUTO_BUF struct buf tar = { 0 };
	struct stage s;
	struct err err;
	stage_init(&s);
	add_member(&tar, &member);

	for (size_t n = 1; n < BLOCK + 9; n += 7) {
		AUTO_BUF struct buf packed = { 0 };
		pack(&packed, (struct str){ tar.p, n });
		int status = unpack_archive(UNPACK_TARBALL, buf_str(&packed), stage_path(&s, "work"), &err);
		CHECK(status < 0);
	}
	for (size_t n = 100; n < 154; n++) {
		AUTO_BUF struct buf packed = { 0 };
		tar.p[n] ^= 1;
		pack(&packed, buf_str(&tar));
		CHECK(unpack_archive(UNPACK_TARBALL, buf_str(&packed), stage_path(&s, "work"), &err) < 0);
		tar.p[n] ^= 1;
	}
	CHECK(unpack_archive(UNPACK_TARBALL, STR("no gzip"), stage_path(&s, "work"), &err) < 0);
	stage_release(&s);
}

/* Headers are not files, but unpacking them takes time too: 300 MB of them in a few MB. */
TEST(a_packed_bomb_is_stopped_at_the_limit)
{
	enum { COMMENT = 900000 };
	struct stage s;
	struct err err = { 0 };
	stage_init(&s);
	char *comment = arena_alloc(&s.arena, COMMENT + 1);
	int n = snprintf(comment, COMMENT, "%d comment=", COMMENT);
	memset(comment + n, 'x', COMMENT - (size_t)n);
	memcpy(comment + COMMENT - 1, "\n", 2);
	const struct member pair[] = { { .name = "pax", .text = comment, .type = 'x' },
				       { .name = "beside", .text = "" } };
	AUTO_BUF struct buf tar = { 0 };
	AUTO_BUF struct buf packed = { 0 };
	add_member(&tar, &pair[0]);
	add_member(&tar, &pair[1]);
	pack_often(&packed, buf_str(&tar), 300);

	CHECK(unpack_archive(UNPACK_TARBALL, buf_str(&packed), stage_path(&s, "work"), &err) < 0);
	CHECK_CSTR(err.text, "unpacks to more than 256 MB");
	stage_release(&s);
}

TEST(a_package_without_files_or_with_too_many_is_refused)
{
	AUTO_BUF struct buf tar = { 0 };
	AUTO_BUF struct buf packed = { 0 };
	AUTO_BUF struct buf zeros = { 0 };
	struct stage s;
	struct err err = { 0 };
	stage_init(&s);

	add_member(&tar, &(struct member){ .name = "package/d/", .text = "", .type = '5' });
	pack_often(&packed, buf_str(&tar), UNPACK_ENTRY_LIMIT + 1);
	CHECK_INT(unpack_archive(UNPACK_TARBALL, buf_str(&packed), stage_path(&s, "work"), &err), -ERR_LIMIT);
	buf_clear(&packed);
	buf_reserve(&zeros, 4 * BLOCK);
	memset(zeros.p, 0, 4 * BLOCK);
	pack(&packed, (struct str){ zeros.p, 4 * BLOCK });
	CHECK_INT(unpack_archive(UNPACK_TARBALL, buf_str(&packed), stage_path(&s, "work"), &err), -ERR_PARSE);
	CHECK_CSTR(err.text, "has no files");
	stage_release(&s);
}

TEST(a_source_is_a_package_of_a_registry_and_nothing_else)
{
	static const struct {
		const char *json;
		bool good;
	} rows[] = {
		{ "{\"package\":\"name\"}", true },
		{ "{\"package\":\"@scope/name\",\"version\":\">=1.0.0 <2\"}", true },
		{ "{\"package\":\"name\",\"version\":\"latest\",\"registry\":\"https://x.example/npm/\"}", true },
		{ "{\"package\":\"name\",\"registry\":\"http://127.0.0.1:80/\"}", true },
		{ "{}", false },
		{ "{\"package\":\"--help\"}", false },
		{ "{\"package\":\"./here\"}", false },
		{ "{\"package\":\"owner/name\"}", false },
		{ "{\"package\":\"@scope\"}", false },
		{ "{\"package\":\"@/name\"}", false },
		{ "{\"package\":\"name@1\"}", false },
		{ "{\"package\":\"name\",\"version\":\"git+ssh://x\"}", false },
		{ "{\"package\":\"name\",\"version\":\"-1\"}", false },
		{ "{\"package\":\"name\",\"version\":\"\"}", false },
		{ "{\"package\":\"name\",\"version\":1}", false },
		{ "{\"package\":\"name\",\"registry\":\"http://x.example\"}", false },
		{ "{\"package\":\"name\",\"registry\":\"http://127.0.0.1:80@x.example\"}", false },
		{ "{\"package\":\"name\",\"registry\":\"http://localhost:x@x.example\"}", false },
		{ "{\"package\":\"name\",\"registry\":\"--x\"}", false },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_ARENA struct arena a = { 0 };
		AUTO_JSON struct json_reader reader = { 0 };
		const struct json *root;
		struct npm_source source;
		CHECK_INT(json_parse(&reader, rows[i].json, strlen(rows[i].json), &root, NULL), 0);
		if ((npm_source_read(&a, root, &source, NULL) == 0) != rows[i].good)
			fail_msg("%s", rows[i].json);
	}
}

int test_tarball(void)
{
	return RUN_TESTS(T(files_of_a_package_come_without_its_top_directory), T(a_hostile_package_is_refused),
			 T(a_package_that_is_cut_or_changed_anywhere_is_refused_without_harm),
			 T(a_packed_bomb_is_stopped_at_the_limit),
			 T(a_package_without_files_or_with_too_many_is_refused),
			 T(a_source_is_a_package_of_a_registry_and_nothing_else));
}
