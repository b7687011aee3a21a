/* SPDX-License-Identifier: MIT
 * read_media.c - Read of images, PDF documents and notebooks: as blocks that the model sees, made in a worker. */
#include "lib/base/base64.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "tools/files/file_tool.h"
#include "tools/media/image.h"
#include "tools/media/notebook.h"
#include "tools/media/pdf.h"
#include "tools/media/read_blocks.h"
#include "tools/files/read.h"
#include "core/tool/tool_job.h"

/* ---- images ----------------------------------------------------------------------------------------------------- */

struct image_job {
	struct tool_job job;
	const char *path, *target;
	/* what the worker found */
	int rc;
	struct err err;
	struct file_stamp stamp;
	struct read_blocks blocks;
	struct buf object;
};

/* The model points at places in what it sees; programs count in the file. */
static void image_add_scale(struct read_blocks *b, const struct fitted_image *i)
{
	if (i->width != i->original.width)
		read_blocks_textf(
			b,
			"[The image has %u x %u pixels and is shown with %u x %u: multiply coordinates by %.2f "
			"to find the place in the file.]",
			i->original.width, i->original.height, i->width, i->height,
			(double)i->original.width / i->width);
}

static void image_put_object(struct buf *out, const struct fitted_image *i, size_t original_size)
{
	struct json_out w = json_out(out);
	AUTO_BUF struct buf text = { 0 };

	base64_add(&text, buf_str(&i->bytes));
	json_open(&w, '{');
	json_kcstr(&w, "type", "image");
	json_key(&w, "file");
	json_open(&w, '{');
	json_kstr(&w, "base64", buf_str(&text));
	json_kcstr(&w, "type", image_media_type(i->type));
	json_ki64(&w, "originalSize", (int64_t)original_size);
	json_key(&w, "dimensions");
	json_open(&w, '{');
	json_ki64(&w, "originalWidth", i->original.width);
	json_ki64(&w, "originalHeight", i->original.height);
	json_ki64(&w, "displayWidth", i->width);
	json_ki64(&w, "displayHeight", i->height);
	json_close(&w);
	json_close(&w);
	json_close(&w);
}

static void image_show(struct image_job *job, const struct fitted_image *i, size_t original_size)
{
	AUTO_BUF struct buf words = { 0 };

	buf_addf(&words, "[image, %s, %u x %u, ", image_media_type(i->type), i->width, i->height);
	buf_addsize(&words, i->bytes.n);
	buf_addch(&words, ']');
	read_blocks_media(&job->blocks, "image", image_media_type(i->type), buf_str(&i->bytes), words.p);
	image_add_scale(&job->blocks, i);
	image_put_object(&job->object, i, original_size);
}

static int image_load(struct image_job *job, struct buf *bytes)
{
	AUTO_CLOSE int fd = -1;
	struct stat st;

	int rc = text_file_open(job->target, &fd, &st, &job->err);
	if (rc == 0)
		rc = file_read_fd(fd, IMAGE_FILE_LIMIT, bytes, &job->err);
	if (rc == -ERR_LIMIT)
		return err_set(&job->err, ERR_LIMIT,
			       "an image of more than %d MB. Make a smaller copy with another program and read that",
			       IMAGE_FILE_LIMIT >> 20);
	if (rc == 0)
		job->stamp = file_stamp_of(&st, buf_str(bytes));
	return rc;
}

static void image_run(struct tool_job *base)
{
	struct image_job *job = CONTAINER_OF(base, struct image_job, job);
	AUTO_FITTED_IMAGE struct fitted_image image = { 0 };
	AUTO_BUF struct buf bytes = { 0 };

	job->rc = image_load(job, &bytes);
	if (job->rc == 0)
		job->rc = image_fit(buf_str(&bytes), &image, &job->err);
	if (job->rc == 0)
		image_show(job, &image, bytes.n);
}

static void image_report(struct tool_job *base)
{
	struct image_job *job = CONTAINER_OF(base, struct image_job, job);
	struct tool_call *call = base->call;

	if (job->rc < 0) {
		tool_call_fail(call, "%s cannot be shown: %s.", job->path, job->err.text);
		return;
	}
	if (call->env->files)
		file_state_note(call->env->files, job->path, job->stamp);
	read_blocks_finish(&job->blocks, call);
	buf_add(&call->result_json, job->object.p, job->object.n);
	tool_call_end(call, false);
}

static void image_release(struct tool_job *base)
{
	struct image_job *job = CONTAINER_OF(base, struct image_job, job);

	read_blocks_release(&job->blocks);
	buf_release(&job->object);
}

void read_image(struct tool_call *call, const struct read_args *args)
{
	struct image_job *job = arena_calloc(&call->arena, sizeof *job);

	*job = (struct image_job){
		.job = { .run = image_run, .report = image_report, .release = image_release },
		.path = args->path,
		.target = args->target,
	};
	tool_job_start(&job->job, call);
}

/* ---- PDF documents ---------------------------------------------------------------------------------------------- */

enum {
	/* The API takes requests of 32 MB, and the rest of the conversation needs room beside the base64. */
	DOCUMENT_LIMIT = 20 << 20,
	PAGES_LIMIT = 12 << 20, /* of all page images of a call */
	PAGE_LIMIT = IMAGE_BASE64_LIMIT / 4 * 3 - 4,
	INFO_LIMIT = 64 * 1024,
	INFO_MS = 20 * 1000,
	PAGE_MS = 60 * 1000,
};

struct pdf_job {
	struct tool_job job; /* reads the file, when it is sent as it is */
	struct read_args args;
	struct pdf_program program;
	struct pdf_pages wanted;
	uint32_t page_count; /* 0: unknown, there is no pdfinfo */
	uint32_t page;       /* that is being drawn */
	size_t drawn_bytes;
	struct read_blocks blocks;
	/* what the worker found */
	int rc;
	struct err err;
	struct stat st;
	struct file_stamp stamp;
	struct buf object;
};

static void pdf_release(struct tool_job *base)
{
	struct pdf_job *job = CONTAINER_OF(base, struct pdf_job, job);

	pdf_program_release(&job->program);
	read_blocks_release(&job->blocks);
	buf_release(&job->object);
}

static void pdf_fail(struct pdf_job *job, const char *fmt, ...) printf_like(2, 3);
static void pdf_fail(struct pdf_job *job, const char *fmt, ...)
{
	struct err err;
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(err.text, sizeof err.text, fmt, ap);
	va_end(ap);
	tool_call_fail(job->job.call, "%s cannot be shown: %s.", job->args.path, err.text);
	pdf_release(&job->job);
}

/* ---- the whole file ---- */

static void put_document(struct pdf_job *job, struct str bytes)
{
	struct json_out w = json_out(&job->object);
	AUTO_BUF struct buf text = { 0 };

	base64_add(&text, bytes);
	json_open(&w, '{');
	json_kcstr(&w, "type", "pdf");
	json_key(&w, "file");
	json_open(&w, '{');
	json_kcstr(&w, "filePath", job->args.path);
	json_kstr(&w, "base64", buf_str(&text));
	json_ki64(&w, "originalSize", (int64_t)bytes.n);
	json_close(&w);
	json_close(&w);
}

static void show_document(struct pdf_job *job, struct str bytes)
{
	AUTO_BUF struct buf size = { 0 };

	buf_addsize(&size, bytes.n);
	read_blocks_textf(&job->blocks, "PDF file: %s (%s). With `pages` it is shown page by page, as images.",
			  job->args.path, size.p);
	if (job->args.pages.p)
		read_blocks_textf(
			&job->blocks,
			"Pages cannot be picked: poppler-utils is not installed. This is the whole document.");
	read_blocks_media(&job->blocks, "document", "application/pdf", bytes, "[document, application/pdf]");
	put_document(job, bytes);
}

static void pdf_run(struct tool_job *base)
{
	struct pdf_job *job = CONTAINER_OF(base, struct pdf_job, job);
	AUTO_BUF struct buf bytes = { 0 };
	AUTO_CLOSE int fd = -1;

	job->rc = text_file_open(job->args.target, &fd, &job->st, &job->err);
	if (job->rc == 0)
		job->rc = file_read_fd(fd, DOCUMENT_LIMIT, &bytes, &job->err);
	if (job->rc == -ERR_LIMIT)
		err_set(&job->err, ERR_LIMIT, "it has more than %d MB, too many for one block; read it with `pages`",
			DOCUMENT_LIMIT >> 20);
	else if (job->rc == 0 && pdf_least_pages(buf_str(&bytes)) > PDF_MOST_PAGES)
		job->rc = err_set(&job->err, ERR_LIMIT,
				  "it has more than %d pages, and without poppler-utils they cannot be read in parts",
				  PDF_MOST_PAGES);
	if (job->rc < 0)
		return;
	job->stamp = file_stamp_of(&job->st, buf_str(&bytes));
	show_document(job, buf_str(&bytes));
}

static void pdf_report(struct tool_job *base)
{
	struct pdf_job *job = CONTAINER_OF(base, struct pdf_job, job);
	struct tool_call *call = base->call;

	if (job->rc < 0) {
		tool_call_fail(call, "%s cannot be shown: %s.", job->args.path, job->err.text);
		return;
	}
	if (call->env->files)
		file_state_note(call->env->files, job->args.path, job->stamp);
	read_blocks_finish(&job->blocks, call);
	buf_add(&call->result_json, job->object.p, job->object.n);
	tool_call_end(call, false);
}

/* ---- page by page ---- */

static void pdf_draw_page(struct pdf_job *job);

static void pdf_put_parts(struct pdf_job *job, uint32_t count)
{
	struct json_out w = json_out(&job->job.call->result_json);
	struct stat st = { 0 };

	(void)lstat(job->args.target, &st);
	json_open(&w, '{');
	json_kcstr(&w, "type", "parts");
	json_key(&w, "file");
	json_open(&w, '{');
	json_kcstr(&w, "filePath", job->args.path);
	json_ki64(&w, "originalSize", st.st_size);
	json_ki64(&w, "count", count);
	json_kcstr(&w, "outputDir", ""); /* the images are in the result alone */
	json_close(&w);
	json_ki64(&w, "firstPage", job->wanted.first);
	json_close(&w);
}

static void finish_pages(struct pdf_job *job)
{
	pdf_put_parts(job, job->page - job->wanted.first);
	if (job->page <= job->wanted.last)
		read_blocks_textf(
			&job->blocks,
			"[Pages %u to %u were left out: there is too much in the pages before them. Read them "
			"with a call of their own.]",
			job->page, job->wanted.last);
	read_blocks_finish(&job->blocks, job->job.call);
	tool_call_end(job->job.call, false);
	pdf_release(&job->job);
}

static void on_page(struct pdf_program *p, enum pdf_end end)
{
	struct pdf_job *job = CONTAINER_OF(p, struct pdf_job, program);
	char words[64];

	if (end == PDF_CANCELLED) {
		tool_call_fail(job->job.call, "The call was cancelled.");
		pdf_release(&job->job);
		return;
	}
	if (end == PDF_DONE && image_type_of(buf_str(&p->out)) != IMAGE_JPEG)
		end = PDF_FAILED;
	if (end != PDF_DONE) {
		struct str why = str_trim(buf_str(&p->errors));
		pdf_fail(job, "page %u cannot be drawn: " STR_FMT, job->page, (int)MIN(why.n, (size_t)120), why.p);
		return;
	}
	snprintf(words, sizeof words, "[image, image/jpeg, page %u]", job->page);
	read_blocks_textf(&job->blocks, "Page %u of %u:", job->page, job->page_count);
	read_blocks_media(&job->blocks, "image", "image/jpeg", buf_str(&p->out), words);
	job->drawn_bytes += p->out.n;
	job->page++;
	if (job->page > job->wanted.last || job->drawn_bytes > PAGES_LIMIT)
		finish_pages(job);
	else
		pdf_draw_page(job);
}

static void pdf_draw_page(struct pdf_job *job)
{
	char number[16], edge[16];

	snprintf(number, sizeof number, "%u", job->page);
	snprintf(edge, sizeof edge, "%d", IMAGE_GOOD_EDGE);
	const char *const words[] = { "pdftoppm", "-jpeg", "-scale-to",      edge, "-f", number,
				      "-l",       number,  job->args.target, NULL };
	job->program.done = on_page;
	pdf_program_start(&job->program, words, PAGE_LIMIT, PAGE_MS);
}

/* ---- what kind of document it is ---- */

/* The file is known to be a PDF that can be opened. */
static void pdf_choose(struct pdf_job *job)
{
	if (job->args.pages.p && job->wanted.first > job->page_count) {
		pdf_fail(job, "it has %u pages, and page %u was asked for", job->page_count, job->wanted.first);
	} else if (job->args.pages.p) {
		job->wanted.last = MIN(job->wanted.last, job->page_count);
		job->page = job->wanted.first;
		pdf_draw_page(job);
	} else if (job->page_count > PDF_WHOLE_PAGES) {
		pdf_fail(
			job,
			"it has %u pages, too many to read at once. Say which with `pages`, for example \"1-5\"; at most %d "
			"pages a call",
			job->page_count, PDF_PAGES_AT_ONCE);
	} else {
		tool_job_start(&job->job, job->job.call);
	}
}

static void on_info(struct pdf_program *p, enum pdf_end end)
{
	struct pdf_job *job = CONTAINER_OF(p, struct pdf_job, program);
	struct str why = str_trim(buf_str(&p->errors));

	switch (end) {
	case PDF_CANCELLED:
		tool_call_fail(job->job.call, "The call was cancelled.");
		pdf_release(&job->job);
		break;
	case PDF_MISSING:
		tool_job_start(&job->job, job->job.call);
		break;
	case PDF_DONE:
		job->page_count = pdf_info_pages(buf_str(&p->out));
		if (job->page_count)
			pdf_choose(job);
		else
			pdf_fail(job, "it has no pages");
		break;
	case PDF_FAILED:
		pdf_fail(job, "it is damaged, locked with a password, or no PDF at all (pdfinfo: " STR_FMT ")",
			 (int)MIN(why.n, (size_t)120), why.p);
		break;
	}
}

static void pdf_cancel(struct tool_job *base)
{
	pdf_program_cancel(&CONTAINER_OF(base, struct pdf_job, job)->program);
}

void read_pdf(struct tool_call *call, const struct read_args *args)
{
	struct pdf_job *job = arena_calloc(&call->arena, sizeof *job);
	struct err err = { 0 };

	job->job = (struct tool_job){
		.call = call, .run = pdf_run, .report = pdf_report, .release = pdf_release, .cancel = pdf_cancel
	};
	job->args = *args;
	job->program = (struct pdf_program){ .env = call->env, .done = on_info };
	call->state = &job->job;
	if (args->pages.p && pdf_pages_parse(args->pages, &job->wanted, &err) < 0) {
		tool_call_reject(call, "%s", err.text);
		return;
	}
	pdf_program_start(&job->program, (const char *const[]){ "pdfinfo", args->target, NULL }, INFO_LIMIT, INFO_MS);
}

/* ---- notebooks -------------------------------------------------------------------------------------------------- */

struct notebook_job {
	struct tool_job job;
	struct read_args args;
	/* what the worker found */
	int rc;
	struct err err;
	struct file_stamp stamp;
	struct notebook_view view;
};

static int notebook_job_load(struct notebook_job *job, struct buf *bytes)
{
	AUTO_CLOSE int fd = -1;
	struct stat st;

	int rc = text_file_open(job->args.target, &fd, &st, &job->err);
	if (rc == 0)
		rc = file_read_fd(fd, NOTEBOOK_LIMIT, bytes, &job->err);
	if (rc == -ERR_LIMIT)
		return err_set(&job->err, ERR_LIMIT,
			       "a notebook of more than %d MB. Clear its outputs, or take out "
			       "what you need with a program such as jq",
			       NOTEBOOK_LIMIT >> 20);
	if (rc == 0)
		job->stamp = file_stamp_of(&st, buf_str(bytes));
	return rc;
}

/* Jupyter writes no byte order mark, but editors do. */
static struct str without_mark(struct str bytes)
{
	struct str mark = STR("\xef\xbb\xbf");

	return str_starts(bytes, mark) ? (struct str){ bytes.p + mark.n, bytes.n - mark.n } : bytes;
}

static void notebook_job_add_notice(struct notebook_view *view)
{
	if (!view->total)
		read_blocks_textf(&view->blocks, "<system-reminder>The notebook has no cells.</system-reminder>");
	else if (view->first > view->total)
		read_blocks_textf(
			&view->blocks,
			"<system-reminder>The notebook has %zu cells, fewer than the offset (%zu).</system-reminder>",
			view->total, view->first);
	else if (view->cut)
		read_blocks_textf(
			&view->blocks,
			"<system-reminder>PARTIAL view: the notebook is too long for one Read. Shown are cells "
			"%zu-%zu of %zu. Read the rest with offset and limit, which count cells here.</system-reminder>",
			view->first, view->first + view->shown - 1, view->total);
}

static void notebook_job_run(struct tool_job *base)
{
	struct notebook_job *job = CONTAINER_OF(base, struct notebook_job, job);
	AUTO_NOTEBOOK struct notebook notebook = { 0 };
	AUTO_BUF struct buf bytes = { 0 };

	job->rc = notebook_job_load(job, &bytes);
	if (job->rc == 0)
		job->rc = notebook_open(&notebook, without_mark(buf_str(&bytes)), &job->err);
	if (job->rc < 0)
		return;
	notebook_show(&notebook, &job->view);
	notebook_job_add_notice(&job->view);
}

static void notebook_job_put_object(struct notebook_job *job)
{
	struct json_out w = json_out(&job->job.call->result_json);

	json_open(&w, '{');
	json_kcstr(&w, "type", "notebook");
	json_key(&w, "file");
	json_open(&w, '{');
	json_kcstr(&w, "filePath", job->args.path);
	json_kraw(&w, "cells", buf_str(&job->view.cells));
	json_close(&w);
	json_close(&w);
}

static void notebook_job_report(struct tool_job *base)
{
	struct notebook_job *job = CONTAINER_OF(base, struct notebook_job, job);
	struct tool_call *call = base->call;

	if (job->rc < 0) {
		tool_call_fail(call, "%s cannot be shown: %s.", job->args.path, job->err.text);
		return;
	}
	job->stamp.partial = job->view.cut;
	if (call->env->files)
		file_state_note(call->env->files, job->args.path, job->stamp);
	notebook_job_put_object(job);
	read_blocks_finish(&job->view.blocks, call);
	tool_call_end(call, false);
}

static void notebook_job_release(struct tool_job *base)
{
	notebook_view_release(&CONTAINER_OF(base, struct notebook_job, job)->view);
}

void read_notebook(struct tool_call *call, const struct read_args *args)
{
	struct notebook_job *job = arena_calloc(&call->arena, sizeof *job);

	*job = (struct notebook_job){
		.job = { .run = notebook_job_run, .report = notebook_job_report, .release = notebook_job_release },
		.args = *args,
		.view = { .first = args->first, .limit = args->limit, .cap_bytes = args->cap_bytes },
	};
	tool_job_start(&job->job, call);
}
