/* SPDX-License-Identifier: MIT
 * tool_job.c - the part of a tool call that runs in libuv's thread pool. */
#include "core/tool/tool.h"

static void on_work(uv_work_t *work)
{
	struct tool_job *job = CONTAINER_OF(work, struct tool_job, work);

	if (!atomic_load(&job->stop))
		job->run(job);
}

static void on_worked(uv_work_t *work, int status)
{
	struct tool_job *job = CONTAINER_OF(work, struct tool_job, work);

	if (atomic_load(&job->stop))
		tool_call_fail(job->call, "The call was cancelled.");
	else
		job->report(job);
	if (job->release)
		job->release(job);
}

void tool_job_start(struct tool_job *job, struct tool_call *call)
{
	job->call = call;
	call->state = job;
	/* libuv refuses only a job without a function to run. */
	(void)uv_queue_work(loop_uv(call->env->loop), &job->work, on_work, on_worked);
}

void tool_job_cancel(struct tool_call *call)
{
	struct tool_job *job = call->state;

	if (!job)
		return;
	atomic_store(&job->stop, true);
	if (job->cancel)
		job->cancel(job);
	(void)uv_cancel((uv_req_t *)&job->work); /* it may be running already; then the flag ends it */
}
