/* SPDX-License-Identifier: MIT
 * read_image.c - an image as a block that the model sees, from a worker. */
#include "lib/base/base64.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "tools/file_tool.h"
#include "tools/media/image_fit.h"
#include "tools/read.h"
#include "tools/media/read_blocks.h"
#include "tools/tool_job.h"

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
static void add_scale(struct read_blocks *b, const struct fitted_image *i)
{
	if (i->width != i->original.width)
		read_blocks_textf(
			b,
			"[The image has %u x %u pixels and is shown with %u x %u: multiply coordinates by %.2f "
			"to find the place in the file.]",
			i->original.width, i->original.height, i->width, i->height,
			(double)i->original.width / i->width);
}

static void put_object(struct buf *out, const struct fitted_image *i, size_t original_size)
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

static void show(struct image_job *job, const struct fitted_image *i, size_t original_size)
{
	AUTO_BUF struct buf words = { 0 };

	buf_addf(&words, "[image, %s, %u x %u, ", image_media_type(i->type), i->width, i->height);
	buf_addsize(&words, i->bytes.n);
	buf_addch(&words, ']');
	read_blocks_media(&job->blocks, "image", image_media_type(i->type), buf_str(&i->bytes), words.p);
	add_scale(&job->blocks, i);
	put_object(&job->object, i, original_size);
}

static int load(struct image_job *job, struct buf *bytes)
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

static void run(struct tool_job *base)
{
	struct image_job *job = CONTAINER_OF(base, struct image_job, job);
	AUTO_FITTED_IMAGE struct fitted_image image = { 0 };
	AUTO_BUF struct buf bytes = { 0 };

	job->rc = load(job, &bytes);
	if (job->rc == 0)
		job->rc = image_fit(buf_str(&bytes), &image, &job->err);
	if (job->rc == 0)
		show(job, &image, bytes.n);
}

static void report(struct tool_job *base)
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

static void release(struct tool_job *base)
{
	struct image_job *job = CONTAINER_OF(base, struct image_job, job);

	read_blocks_release(&job->blocks);
	buf_release(&job->object);
}

void read_image(struct tool_call *call, const struct read_args *args)
{
	struct image_job *job = arena_calloc(&call->arena, sizeof *job);

	*job = (struct image_job){
		.job = { .run = run, .report = report, .release = release },
		.path = args->path,
		.target = args->target,
	};
	tool_job_start(&job->job, call);
}
