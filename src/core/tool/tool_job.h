/* SPDX-License-Identifier: MIT
 * tool_job.h - the part of a tool call that runs in libuv's thread pool. The worker sees the job's own copy of its input
 * and nothing of the call; it looks at `stop` often, and what it finds out stays in the job until the loop takes it. */
#pragma once
#include <stdatomic.h>
#include "core/tool/tool.h"

/* The first member of a tool's own struct; that one lives in the call's arena */
struct tool_job {
	uv_work_t work;
	struct tool_call *call;
	atomic_bool stop;                      /* cancelled */
	void (*run)(struct tool_job *job);     /* in a worker thread */
	void (*report)(struct tool_job *job);  /* on the loop, ends the call; not after a cancel */
	void (*release)(struct tool_job *job); /* last, on the loop: frees what run made; may be NULL */
	void (*cancel)(struct tool_job *job);  /* on the loop, to end what runs beside the worker; may be NULL */
};

void tool_job_start(struct tool_job *job, struct tool_call *call); /* sets call->state; leads to the end of the call */
void tool_job_cancel(struct tool_call *call);                      /* a tool's .cancel; call->state is a job */
