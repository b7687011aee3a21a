/* SPDX-License-Identifier: MIT
 * read_media.c - Read of images, PDF documents and notebooks: as blocks that the model sees, made in a worker. */
#include "lib/base/base64.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "tools/files/text_file.h"
#include "tools/media/image.h"
#include "tools/media/notebook.h"
#include "tools/media/pdf.h"
#include "tools/media/read_blocks.h"
#include "core/tool/tool.h"

/* The result of a worker, for an image, a whole PDF document or a notebook */
struct media_job {
	struct tool_job job;
	struct read_args args;
	int rc;
	struct err err;
	struct file_stamp stamp;
	struct read_blocks blocks;
	struct buf object; /* for SDK consumers */
};

/* Reads all of the file. advice: what to do when it is larger. */
static int media_load(struct media_job *m, size_t limit_bytes, const char *advice, struct buf *bytes)
{
	AUTO_CLOSE int fd = -1;
	struct stat st;

	int rc = text_file_open(m->args.target, &fd, &st, &m->err);
	if (rc == 0)
		rc = file_read_fd(fd, limit_bytes, bytes, &m->err);
	if (rc == -ERR_LIMIT)
		return err_set(&m->err, ERR_LIMIT, "it has more than %zu MB%s", limit_bytes >> 20, advice);
	if (rc == 0)
		m->stamp = file_stamp_of(&st, buf_str(bytes));
	return rc;
}

static void media_report(struct tool_job *job)
{
	struct media_job *m = CONTAINER_OF(job, struct media_job, job);
	struct tool_call *call = job->call;

	if (m->rc < 0) {
		tool_call_fail(call, "%s cannot be shown: %s.", m->args.path, m->err.text);
		return;
	}
	if (call->env->files)
		file_state_note(call->env->files, m->args.path, m->stamp);
	read_blocks_finish(&m->blocks, call);
	buf_append(&call->result_json, buf_str(&m->object));
	tool_call_end(call);
}

static void media_release(struct tool_job *job)
{
	struct media_job *m = CONTAINER_OF(job, struct media_job, job);

	read_blocks_release(&m->blocks);
	buf_release(&m->object);
}

static void media_start(struct tool_call *call, const struct read_args *args, void (*run)(struct tool_job *job))
{
	struct media_job *m =
		arena_new(&call->arena, struct media_job,
			  .job = { .run = run, .report = media_report, .release = media_release }, .args = *args);

	tool_job_start(&m->job, call);
}

/* {"type":TYPE,"file":{ */
static struct json_out object_open(struct buf *out, const char *type)
{
	struct json_out w = json_out(out);

	json_putf(&w, "{type:'%s', file:{", type);
	return w;
}

static void image_run(struct tool_job *job)
{
	struct media_job *m = CONTAINER_OF(job, struct media_job, job);
	AUTO_FITTED_IMAGE struct fitted_image i = { 0 };
	AUTO_BUF struct buf bytes = { 0 }, words = { 0 };

	m->rc = media_load(m, IMAGE_FILE_LIMIT, ". Make a smaller copy with another program and read that", &bytes);
	if (m->rc == 0)
		m->rc = image_fit(buf_str(&bytes), &i, &m->err);
	if (m->rc < 0)
		return;
	buf_addf(&words, "[image, %s, %u x %u, ", image_media_type(i.type), i.width, i.height);
	buf_addsize(&words, i.bytes.n);
	buf_addch(&words, ']');
	read_blocks_media(&m->blocks, "image", image_media_type(i.type), buf_str(&i.bytes), words.p);
	/* The model points at places in what it sees; programs count in the file. */
	if (i.width != i.original.width)
		read_blocks_textf(
			&m->blocks,
			"[The image has %u x %u pixels and is shown with %u x %u: multiply coordinates by %.2f "
			"to find the place in the file.]",
			i.original.width, i.original.height, i.width, i.height, (double)i.original.width / i.width);
	struct json_out w = object_open(&m->object, "image");
	AUTO_BUF struct buf text = { 0 };
	base64_add(&text, buf_str(&i.bytes));
	json_putf(&w,
		  "base64:'%.*s', type:'%s', originalSize:%lld, dimensions:{originalWidth:%lld, "
		  "originalHeight:%lld, displayWidth:%lld, displayHeight:%lld}, }}",
		  STR_ARG(buf_str(&text)), image_media_type(i.type), (long long)bytes.n, (long long)i.original.width,
		  (long long)i.original.height, (long long)i.width, (long long)i.height);
}

void read_image(struct tool_call *call, const struct read_args *args)
{
	media_start(call, args, image_run);
}

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
	struct media_job media; /* reads the file, when it is sent as it is */
	struct pdf_program program;
	struct pdf_pages wanted;
	uint32_t page_count; /* 0: unknown, pdfinfo is missing */
	uint32_t page;       /* that is being drawn */
	size_t drawn_bytes;
};

static void pdf_release(struct tool_job *job)
{
	pdf_program_release(&CONTAINER_OF(job, struct pdf_job, media.job)->program);
	media_release(job);
}

printf_like(2, 3) static void pdf_fail(struct pdf_job *job, const char *fmt, ...)
{
	struct err err;

	PRINT_ARGS(err.text, fmt);
	if (job->program.cancelled)
		tool_call_fail(job->media.job.call, "The call was cancelled.");
	else
		tool_call_fail(job->media.job.call, "%s cannot be shown: %s.", job->media.args.path, err.text);
	pdf_release(&job->media.job);
}

/* The whole file as one block */
static void pdf_run(struct tool_job *job)
{
	struct media_job *m = CONTAINER_OF(job, struct media_job, job);
	AUTO_BUF struct buf bytes = { 0 }, text = { 0 }, size = { 0 };

	m->rc = media_load(m, DOCUMENT_LIMIT, ", too many for one block; read it with `pages`", &bytes);
	if (m->rc == 0 && pdf_least_pages(buf_str(&bytes)) > PDF_MOST_PAGES)
		m->rc = err_set(&m->err, ERR_LIMIT,
				"it has more than %d pages, and without poppler-utils they cannot be read in parts",
				PDF_MOST_PAGES);
	if (m->rc < 0)
		return;
	buf_addsize(&size, bytes.n);
	read_blocks_textf(&m->blocks, "PDF file: %s (%s). With `pages` it is shown page by page, as images.",
			  m->args.path, size.p);
	if (m->args.pages.p)
		read_blocks_textf(
			&m->blocks,
			"Pages cannot be picked: poppler-utils is not installed. This is the whole document.");
	read_blocks_media(&m->blocks, "document", "application/pdf", buf_str(&bytes), "[document, application/pdf]");
	struct json_out w = object_open(&m->object, "pdf");
	base64_add(&text, buf_str(&bytes));
	json_putf(&w, "filePath:'%s', base64:'%.*s', originalSize:%lld, }}", m->args.path, STR_ARG(buf_str(&text)),
		  (long long)bytes.n);
}

static void pdf_finish_pages(struct pdf_job *job)
{
	struct media_job *m = &job->media;
	struct json_out w = object_open(&m->job.call->result_json, "parts");
	struct stat st = { 0 };

	(void)fstat(job->program.file, &st);
	json_putf(&w, "filePath:'%s', originalSize:%lld, count:%lld", m->args.path, (long long)st.st_size,
		  (long long)(job->page - job->wanted.first));
	/* The images are in the result alone. */
	json_putf(&w, "outputDir:''}, firstPage:%lld}", (long long)job->wanted.first);
	if (job->page <= job->wanted.last)
		read_blocks_textf(
			&m->blocks,
			"[Pages %u to %u were left out: there is too much in the pages before them. Read them "
			"with a call of their own.]",
			job->page, job->wanted.last);
	read_blocks_finish(&m->blocks, m->job.call);
	tool_call_end(m->job.call);
	pdf_release(&m->job);
}

static void pdf_draw_page(struct pdf_job *job);

static void on_page(struct pdf_program *p, enum pdf_end end)
{
	struct pdf_job *job = CONTAINER_OF(p, struct pdf_job, program);
	char words[64];

	if (end == PDF_DONE && image_type_of(buf_str(&p->run.out)) != IMAGE_JPEG)
		end = PDF_FAILED;
	if (end != PDF_DONE) {
		struct str why = str_trim(buf_str(&p->run.errors));
		pdf_fail(job, "page %u cannot be drawn: " STR_FMT, job->page, (int)MIN(why.n, (size_t)120), why.p);
		return;
	}
	snprintf(words, sizeof words, "[image, image/jpeg, page %u]", job->page);
	read_blocks_textf(&job->media.blocks, "Page %u of %u:", job->page, job->page_count);
	read_blocks_media(&job->media.blocks, "image", "image/jpeg", buf_str(&p->run.out), words);
	job->drawn_bytes += p->run.out.n;
	job->page++;
	if (job->page > job->wanted.last || job->drawn_bytes > PAGES_LIMIT)
		pdf_finish_pages(job);
	else
		pdf_draw_page(job);
}

static void pdf_draw_page(struct pdf_job *job)
{
	char number[16], edge[16];

	snprintf(number, sizeof number, "%u", job->page);
	snprintf(edge, sizeof edge, "%d", IMAGE_GOOD_EDGE);
	const char *const words[] = { "pdftoppm", "-jpeg", "-scale-to", edge, "-f", number, "-l", number, "-", NULL };
	job->program.done = on_page;
	pdf_program_start(&job->program, words, PAGE_LIMIT, PAGE_MS);
}

/* Decides between the whole document and some of its pages. */
static void on_info(struct pdf_program *p, enum pdf_end end)
{
	struct pdf_job *job = CONTAINER_OF(p, struct pdf_job, program);
	struct str why = str_trim(buf_str(&p->run.errors));
	bool has_pages = job->media.args.pages.p;

	job->page_count = end == PDF_DONE ? pdf_info_pages(buf_str(&p->run.out)) : 0;
	if (end == PDF_MISSING) {
		tool_job_start(&job->media.job, job->media.job.call);
	} else if (end != PDF_DONE) {
		pdf_fail(job, "it is damaged, locked with a password, or not a PDF file (pdfinfo: " STR_FMT ")",
			 (int)MIN(why.n, (size_t)120), why.p);
	} else if (!job->page_count) {
		pdf_fail(job, "it has no pages");
	} else if (has_pages && job->wanted.first > job->page_count) {
		pdf_fail(job, "it has %u pages, and page %u was asked for", job->page_count, job->wanted.first);
	} else if (has_pages) {
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
		tool_job_start(&job->media.job, job->media.job.call);
	}
}

static void pdf_cancel(struct tool_job *job)
{
	pdf_program_cancel(&CONTAINER_OF(job, struct pdf_job, media.job)->program);
}

void read_pdf(struct tool_call *call, const struct read_args *args)
{
	struct err err = { 0 };
	struct pdf_job *job =
		arena_new(&call->arena, struct pdf_job,
			  .media.job = { .call = call,
					 .run = pdf_run,
					 .report = media_report,
					 .release = pdf_release,
					 .cancel = pdf_cancel },
			  .media.args = *args, .program = { .env = call->env, .file = -1, .done = on_info });
	struct stat st;

	call->state = &job->media.job;
	if (args->pages.p && pdf_pages_parse(args->pages, &job->wanted, &err) < 0) {
		tool_call_reject(call, "%s", err.text);
		return;
	}
	if (text_file_open(args->target, &job->program.file, &st, &err) < 0) {
		tool_call_fail(call, "%s", err.text);
		return;
	}
	pdf_program_start(&job->program, (const char *const[]){ "pdfinfo", "-", NULL }, INFO_LIMIT, INFO_MS);
}

static void notebook_run(struct tool_job *job)
{
	struct media_job *m = CONTAINER_OF(job, struct media_job, job);
	struct notebook_view view = { .first = m->args.first, .limit = m->args.limit, .cap_bytes = m->args.cap_bytes };
	AUTO_NOTEBOOK struct notebook notebook = { 0 };
	AUTO_BUF struct buf bytes = { 0 };

	m->rc = media_load(m, NOTEBOOK_LIMIT,
			   ". Clear its outputs, or take out what you need with a program such as jq", &bytes);
	if (m->rc == 0 && str_starts(buf_str(&bytes), STR("\xef\xbb\xbf")))
		buf_drop(&bytes, 3); /* Jupyter writes no byte order mark, but editors do */
	if (m->rc == 0)
		m->rc = notebook_open(&notebook, buf_str(&bytes), &m->err);
	if (m->rc < 0)
		return;
	notebook_show(&notebook, &view);
	if (!view.total)
		read_blocks_textf(&view.blocks, "<system-reminder>The notebook has no cells.</system-reminder>");
	else if (view.first > view.total)
		read_blocks_textf(
			&view.blocks,
			"<system-reminder>The notebook has %zu cells, fewer than the offset (%zu).</system-reminder>",
			view.total, view.first);
	else if (view.cut)
		read_blocks_textf(
			&view.blocks,
			"<system-reminder>PARTIAL view: the notebook is too long for one Read. Shown are cells "
			"%zu-%zu of %zu. Read the rest with offset and limit, which count cells here.</system-reminder>",
			view.first, view.first + view.shown - 1, view.total);
	m->blocks = view.blocks;
	view.blocks = (struct read_blocks){ 0 };
	m->stamp.partial = view.cut;
	struct json_out w = object_open(&m->object, "notebook");
	json_putf(&w, "filePath:'%s', cells:%.*s, }}", m->args.path, STR_ARG(buf_str(&view.cells)));
	notebook_view_release(&view);
}

void read_notebook(struct tool_call *call, const struct read_args *args)
{
	media_start(call, args, notebook_run);
}
