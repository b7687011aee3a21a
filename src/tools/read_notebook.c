/* SPDX-License-Identifier: MIT
 * read_notebook.c - the cells of a notebook with what they printed and drew, from a worker. offset and limit count cells. */
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "tools/file_tool.h"
#include "tools/media/notebook_show.h"
#include "tools/read.h"
#include "tools/tool_job.h"

struct notebook_job {
	struct tool_job job;
	struct read_args args;
	/* what the worker found */
	int rc;
	struct err err;
	struct file_stamp stamp;
	struct notebook_view view;
};

static int load(struct notebook_job *job, struct buf *bytes)
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

static void add_notice(struct notebook_view *view)
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

static void run(struct tool_job *base)
{
	struct notebook_job *job = CONTAINER_OF(base, struct notebook_job, job);
	AUTO_NOTEBOOK struct notebook notebook = { 0 };
	AUTO_BUF struct buf bytes = { 0 };

	job->rc = load(job, &bytes);
	if (job->rc == 0)
		job->rc = notebook_open(&notebook, without_mark(buf_str(&bytes)), &job->err);
	if (job->rc < 0)
		return;
	notebook_show(&notebook, &job->view);
	add_notice(&job->view);
}

static void put_object(struct notebook_job *job)
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

static void report(struct tool_job *base)
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
	put_object(job);
	read_blocks_finish(&job->view.blocks, call);
	tool_call_end(call, false);
}

static void release(struct tool_job *base)
{
	notebook_view_release(&CONTAINER_OF(base, struct notebook_job, job)->view);
}

void read_notebook(struct tool_call *call, const struct read_args *args)
{
	struct notebook_job *job = arena_calloc(&call->arena, sizeof *job);

	*job = (struct notebook_job){
		.job = { .run = run, .report = report, .release = release },
		.args = *args,
		.view = { .first = args->first, .limit = args->limit, .cap_bytes = args->cap_bytes },
	};
	tool_job_start(&job->job, call);
}
