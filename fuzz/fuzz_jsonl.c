/* SPDX-License-Identifier: MIT
 * fuzz_jsonl.c - a session file of any bytes: loading never crashes, and loading it again gives the same conversation,
 * because the first load has repaired what there was to repair. What was loaded can be sent: roles alternate by
 * construction, and each call has its result or is handed on. */
#include <sys/mman.h>
#include <sys/stat.h>
#include "core/store/load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_out(struct buf *out, const struct session_load *l)
{
	for (uint32_t i = 0; i < transcript_count(&l->transcript); i++) {
		struct block b = transcript_block(&l->transcript, i);
		buf_addf(out, "%d ", b.role);
		buf_add(out, b.json.p, b.json.n);
	}
	for (size_t i = 0; i < l->call_count; i++)
		buf_addf(out, " call " STR_FMT " %d", STR_ARG(l->calls[i].id), l->calls[i].result != NULL);
	for (size_t i = 0; i < l->file_count; i++)
		buf_addf(out, " file %s %lld", l->files[i].path, (long long)l->files[i].time_ms);
	buf_addf(out, " last %s skipped %u interrupted %d", l->last, l->skipped, l->interrupted);
}

static bool is_valid(struct str json)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	return json_parse(&reader, json.p, json.n, &root, NULL) == 0;
}

/* After a call of the model no text of the model or the user may come before the results. */
static void check_calls(const struct session_load *l)
{
	size_t open = 0;

	for (uint32_t i = 0; i < transcript_count(&l->transcript); i++) {
		struct block b = transcript_block(&l->transcript, i);
		if (!is_valid(b.json))
			abort();
		if (b.role == ROLE_ASSISTANT && b.kind == SEGMENT_TOOL_USE)
			open++;
		else if (b.role == ROLE_USER && b.kind == SEGMENT_TOOL_RESULT)
			open -= open ? 1 : 0;
		else if (b.role == ROLE_USER && open)
			abort();
	}
	if (open != l->call_count)
		abort();
}

static int load(const char *path, struct buf *out)
{
	struct session_load l;
	struct err err = { 0 };
	int status = session_load(path, &l, &err);

	if (status < 0)
		return status;
	check_calls(&l);
	write_out(out, &l);
	session_load_release(&l);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUF struct buf first = { 0 };
	AUTO_BUF struct buf second = { 0 };
	AUTO_CLOSE int fd = memfd_create("session", 0);
	char path[40];

	/* One that others can write is not read. */
	if (fd < 0 || fchmod(fd, 0600) < 0 || (size && write(fd, data, size) != (ssize_t)size))
		return 0;
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	int status = load(path, &first);
	if (status == -ERR_DENIED || load(path, &second) != status || !str_eq(buf_str(&first), buf_str(&second)))
		abort();
	return 0;
}
