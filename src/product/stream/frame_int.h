/* SPDX-License-Identifier: MIT
 * frame_int.h - between frame.c (the conversation) and frame_task.c (children). Each writes the members of one frame. */
#pragma once
#include "product/session/session.h"
#include "lib/json/json_write.h"

void frame_write(struct cadre_event *e); /* frame.c: the whole frame */

typedef void frame_fn(struct json_out *w, const struct cadre_event *e);

/* parent_tool_use_id, and of a child also who it is. */
void frame_put_agent(struct json_out *w, const struct event *event);
/* A child's texts and thoughts are its own unless the host asked for them. */
bool frame_is_held_back(const struct cadre_event *e);
void frame_subagent_stats(struct json_out *w, const struct agent_tree *t);
frame_fn frame_hook_started, frame_hook_response; /* frame_hook.c */
frame_fn frame_status, frame_compact_boundary;    /* frame_compact.c */
frame_fn frame_task_started, frame_task_progress, frame_task_updated, frame_task_notification, frame_tasks_changed;
