/* SPDX-License-Identifier: MIT
 * tool_read.c - Read: a file as the model can see it. Its first bytes decide what it is; only a notebook, which is JSON like
 * many others, is known by its name. Media are in read_media.c.
 *
 * A whole text file is at most 256 KB (allow_large lifts that) and its text at most the token cap; above the cap the first
 * page is shown with a PARTIAL notice, which does not count as having read the file. A range is read in pieces, so that
 * the file may have any size, and fails when the range itself is above the cap. Small files are read at once on the
 * loop, others in a worker. */
#include <fcntl.h>
#include "lib/base/utf8.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "tools/files/text_file.h"
#include "tools/media/image.h"
#include "tools/media/read_blocks.h"
#include "core/tool/tool.h"
#include "core/tool/tool_list.h"

enum {
	WHOLE_LIMIT = 256 * 1024,
	LOOP_LIMIT = 1024 * 1024,       /* larger files are read in a worker */
	LARGE_LIMIT = 32 * 1024 * 1024, /* even with allow_large */
	PIECE = 256 * 1024,
};

struct read_job {
	struct tool_job job;
	struct read_args args;
	int fd;         /* owned */
	struct stat st; /* of fd */
	int rc;         /* below 0: it could not be opened, or read */
	struct err err;
	/* what the worker found */
	struct buf whole; /* all bytes, when the file was read whole */
	struct buf text;  /* the lines of the range, without line ends */
	struct buf numbered;
	uint64_t shown, total; /* lines */
	bool cut;              /* the page ended before the range did */
	bool binary;
};

/* A line of the file, n bytes without its line end. */
static void take_line(struct read_job *r, const char *p, size_t n)
{
	r->total++;
	if (r->total < r->args.first || (r->args.limit && r->total >= r->args.first + r->args.limit) || r->cut)
		return;
	n -= n && p[n - 1] == '\r';
	char number[32];
	int digits = snprintf(number, sizeof number, "%llu\t", (unsigned long long)r->total);
	if (r->numbered.n + (size_t)digits + n + 1 > r->args.cap_bytes) {
		r->cut = true;
		if (r->shown || r->args.ranged)
			return;
		n = utf8_cut((struct str){ p, n }, r->args.cap_bytes - MIN(r->args.cap_bytes, (size_t)digits + 1)).n;
	}
	if (r->shown++) {
		buf_addch(&r->numbered, '\n');
		buf_addch(&r->text, '\n');
	}
	buf_add(&r->numbered, number, (size_t)digits);
	buf_add(&r->numbered, p, n);
	buf_add(&r->text, p, n);
}

/* All complete lines of bytes; the rest stays. */
static void take_lines(struct read_job *r, struct buf *bytes)
{
	size_t at = 0;
	char *end;

	while (bytes->n > at && (end = memchr(bytes->p + at, '\n', bytes->n - at))) {
		take_line(r, bytes->p + at, (size_t)(end - bytes->p) - at);
		at = (size_t)(end - bytes->p) + 1;
	}
	buf_drop(bytes, at);
}

static void read_whole(struct read_job *r, size_t limit_bytes)
{
	AUTO_BUF struct buf text = { 0 };
	size_t mark_len;
	bool exact;

	r->rc = file_read_known(r->fd, &r->st, limit_bytes, &r->whole, &r->err);
	if (r->rc < 0)
		return;
	struct str bytes = buf_str(&r->whole);
	r->binary = text_looks_binary(bytes);
	if (r->binary || !bytes.n)
		return;
	enum text_encoding encoding = text_encoding_of(bytes, &mark_len);
	bytes = str_tail(bytes, mark_len);
	if (encoding == TEXT_UTF16_LE || encoding == TEXT_UTF16_BE)
		utf16_decode(bytes, encoding, &text, &exact);
	else
		buf_append(&text, bytes);
	take_lines(r, &text);
	take_line(r, buf_str(&text).p, text.n);
}

/* The file in pieces; a line is kept only as long as it may be shown. */
static void read_range(struct read_job *r)
{
	AUTO_BUF struct buf bytes = { 0 };
	bool first_piece = true;
	ssize_t n = 1;

	while (n > 0 && !atomic_load(&r->job.stop)) {
		buf_reserve(&bytes, PIECE);
		n = read(r->fd, bytes.p + bytes.n, PIECE);
		if (n < 0) {
			r->rc = err_set(&r->err, ERR_IO, "cannot read %s: %m", r->args.path);
			return;
		}
		bytes.n += (size_t)n;
		if (first_piece) {
			size_t mark_len;
			enum text_encoding encoding = text_encoding_of(buf_str(&bytes), &mark_len);
			if (encoding == TEXT_UTF16_LE || encoding == TEXT_UTF16_BE) {
				(void)lseek(r->fd, 0, SEEK_SET);
				read_whole(r, LARGE_LIMIT);
				return;
			}
			r->binary = text_looks_binary(buf_str(&bytes));
			if (r->binary)
				return;
			buf_drop(&bytes, mark_len);
			first_piece = false;
		}
		take_lines(r, &bytes);
		if (bytes.n > LARGE_LIMIT) {
			r->rc = err_set(&r->err, ERR_LIMIT, "line %llu of %s is longer than %d MB",
					(unsigned long long)r->total + 1, r->args.path, LARGE_LIMIT >> 20);
			return;
		}
	}
	take_line(r, buf_str(&bytes).p, bytes.n);
}

static void text_run(struct tool_job *job)
{
	struct read_job *r = CONTAINER_OF(job, struct read_job, job);

	if (r->rc < 0)
		return;
	/* A small file is read whole for a range too: then its state is known by content, not by time alone. */
	if (r->args.ranged && r->st.st_size > WHOLE_LIMIT)
		read_range(r);
	else
		read_whole(r, r->args.allow_large ? LARGE_LIMIT : WHOLE_LIMIT);
}

static void text_report_failure(struct read_job *r)
{
	struct tool_call *call = r->job.call;

	if (r->rc == -ERR_NOT_FOUND)
		file_tool_missing(call, false);
	else if (r->rc == -ERR_LIMIT && !r->args.ranged && !r->args.allow_large)
		tool_call_fail(
			call,
			"File content (%.1fKB) exceeds maximum allowed size (256KB). Use offset and limit to read a "
			"part of the file, search for what you need in it, or set allow_large: true to read all of it.",
			(double)r->st.st_size / 1024);
	else if (r->rc < 0)
		tool_call_fail(call, "%s", r->err.text);
	else if (r->binary)
		tool_call_fail(
			call,
			"%s is a binary file (%lld bytes), not text. Use a program that understands its format instead.",
			r->args.path, (long long)r->st.st_size);
	else
		tool_call_fail(call,
			       "The lines asked for have more than %zu tokens, the most that one Read may return. "
			       "Ask for fewer lines with a smaller limit, or search for what you need.",
			       r->args.cap_bytes / READ_BYTES_PER_TOKEN);
}

static void text_report(struct tool_job *job)
{
	struct read_job *r = CONTAINER_OF(job, struct read_job, job);
	struct file_state *files = job->call->env->files;
	struct buf *result = &job->call->result;
	AUTO_BUF struct buf content = { 0 };

	bool too_long = r->args.ranged && r->cut;
	if (r->rc < 0 || r->binary || too_long) {
		text_report_failure(r);
		return;
	}
	struct file_stamp stamp = file_stamp_of(&r->st, buf_str(&r->whole));
	stamp.has_hash = (off_t)r->whole.n == r->st.st_size;
	stamp.partial = r->cut;
	if (files)
		file_state_note(files, r->args.path, stamp);
	read_blocks_clean(&content, buf_str(&r->text));
	json_addf(&job->call->result_json,
		  "{type:'text', file:{filePath:'%s', content:'%.*s', numLines:%lld, startLine:%lld, "
		  "totalLines:%lld}}",
		  r->args.path, STR_ARG(buf_str(&content)), (long long)r->shown, (long long)r->args.first,
		  (long long)r->total);
	read_blocks_clean(result, buf_str(&r->numbered));
	if (!r->total)
		buf_addstr(result,
			   "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>");
	else if (r->args.first > r->total)
		buf_addf(result,
			 "<system-reminder>Warning: the file exists but is shorter than the provided offset (%llu). "
			 "The file has %llu lines.</system-reminder>",
			 (unsigned long long)r->args.first, (unsigned long long)r->total);
	else if (r->cut)
		buf_addf(
			result,
			"\n\n<system-reminder>PARTIAL view: the file is too long for one Read. Shown are lines %llu-%llu of "
			"%llu. Read the rest with offset and limit; an edit needs the lines it changes to be read that "
			"way.</system-reminder>",
			(unsigned long long)r->args.first, (unsigned long long)(r->args.first + r->shown - 1),
			(unsigned long long)r->total);
	tool_call_end(job->call);
}

static void text_release(struct tool_job *job)
{
	struct read_job *r = CONTAINER_OF(job, struct read_job, job);

	if (r->fd >= 0)
		close(r->fd);
	buf_release(&r->whole);
	buf_release(&r->text);
	buf_release(&r->numbered);
}

/* Takes the descriptor. */
static void read_text(struct read_job *r)
{
	struct tool_call *call = r->job.call;

	r->job = (struct tool_job){ .run = text_run, .report = text_report, .release = text_release, .call = call };
	if (r->rc == 0 && r->st.st_size > LOOP_LIMIT && (r->args.ranged || r->args.allow_large)) {
		tool_job_start(&r->job, call);
		return;
	}
	text_run(&r->job);
	text_report(&r->job);
	text_release(&r->job);
}

static void read_start(struct tool_call *call);

const struct tool tool_read = { TOOL_READ_FACTS, .start = read_start, .cancel = tool_job_cancel };

enum {
	MOST_TOKENS = 8 << 20,
	DEFAULT_TOKENS = 25000,
	NOTICE_ROOM = 600,
};

static size_t read_cap(const struct tool_env *env, bool allow_large)
{
	uint64_t tokens = DEFAULT_TOKENS;
	const char *set = tool_env_get(env, "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS");

	if (allow_large)
		return SIZE_MAX;
	if (!set || !str_to_u64(str_from(set), &tokens) || !tokens || tokens > MOST_TOKENS)
		tokens = DEFAULT_TOKENS;
	/* The notice must fit as well, or the page would be too large for the conversation and go to a file. */
	size_t bytes = (size_t)tokens * READ_BYTES_PER_TOKEN;
	return bytes > 2 * NOTICE_ROOM ? bytes - NOTICE_ROOM : bytes;
}

/* NULL: of text. */
static void (*media_reader(const struct read_job *r))(struct tool_call *, const struct read_args *)
{
	char head[IMAGE_MAGIC_LEN];

	ssize_t n = pread(r->fd, head, sizeof head, 0);
	struct str bytes = { head, n > 0 ? (size_t)n : 0 };
	if (image_type_of(bytes))
		return read_image;
	if (str_starts(bytes, STR("%PDF-")))
		return read_pdf;
	return bytes.n && str_ends(str_from(r->args.target), STR(".ipynb")) ? read_notebook : NULL;
}

static void read_start(struct tool_call *call)
{
	const struct json *pages = json_get(call->input, "pages");
	struct read_job *r = arena_calloc(&call->arena, sizeof *r);
	struct read_args *args = &r->args;

	r->job.call = call;
	r->fd = -1;
	if (!file_tool_find(call, "file_path", &args->path, &args->target))
		return;
	bool has_offset = json_u64(json_get(call->input, "offset"), &args->first);
	args->ranged = json_u64(json_get(call->input, "limit"), &args->limit) || has_offset;
	args->first = MAX(args->first, (uint64_t)1);
	args->allow_large = json_bool(json_get(call->input, "allow_large"));
	args->cap_bytes = read_cap(call->env, args->allow_large);
	if (pages)
		args->pages = json_str(pages, &call->arena);
	r->rc = text_file_open(args->target, &r->fd, &r->st, &r->err);
	void (*read_media)(struct tool_call *, const struct read_args *) = r->rc == 0 ? media_reader(r) : NULL;
	if (!read_media && !args->pages.p) {
		read_text(r);
		return;
	}
	if (r->fd >= 0)
		close(r->fd); /* media are opened again, by their worker */
	if (args->pages.p && read_media != read_pdf)
		tool_call_reject(call, "pages is for PDF documents, and %s is not one: it does not begin with %%PDF-.",
				 args->path);
	else
		read_media(call, args);
}
