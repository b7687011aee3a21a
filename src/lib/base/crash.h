/* SPDX-License-Identifier: MIT
 * crash.h - crash injection: named points around every write where a test build can kill itself.
 *
 * With -Dcrash_points=true, CADRE_CRASH_AT=name:N kills the process when the point is passed for the N-th time, and
 * CADRE_CRASH_LOG=FILE appends the name of every point passed. Otherwise crash_point() is nothing. */
#pragma once

#define CRASH_POINTS(X)                                                                                \
	X(lock_taken)          /* the session is locked, nothing is written yet */                     \
	X(line_before)         /* a transcript line is complete in memory */                           \
	X(line_torn)           /* half of it is in the file */                                         \
	X(line_written)        /* all of it is in the file */                                          \
	X(prompt_recorded)     /* the user's prompt is on disk, no request was sent */                 \
	X(request_before_send) /* a request is about to leave */                                       \
	X(block_recorded)      /* a block of an answer is on disk, its tool has not started */         \
	X(answer_closed)       /* the closing line of an answer is on disk */                          \
	X(call_started)        /* a tool was started */                                                \
	X(call_ended)          /* a tool has its result in memory only */                              \
	X(result_recorded)     /* a tool's result is on disk */                                        \
	X(replace_before)      /* a changed file is complete beside the old one */                     \
	X(replace_after)       /* it has replaced the old one */                                       \
	X(turn_ended)          /* the answer was given to the face */                                  \
	X(agent_torn)          /* half of a child's new meta file is written */                        \
	X(agent_recorded)      /* a child's meta file is on disk, no request was sent */               \
	X(agent_prompted)      /* its first message is on disk */                                      \
	X(agent_end_recorded)  /* its end and report are on disk, no notification was queued */        \
	X(message_queued)      /* a message of another agent is on disk, its sender has no result */   \
	X(message_end_kept)    /* an end that was not read is queued before the next run begins */     \
	X(notice_queued)       /* a notification is queued in memory */                                \
	X(notice_delivered)    /* the message that carries it is on disk */                            \
	X(team_recorded)       /* the line of a new team is on disk, the call has no result */         \
	X(mail_queued)         /* a message within a team is on disk, its sender has no result */      \
	X(plan_sent)           /* the lead has a plan, the member's call has no result */              \
	X(plan_answered)       /* the answer is in the member's meta file, it is not told */           \
	X(shutdown_sent)       /* a request to shut down is at the member */                           \
	X(shutdown_approved)   /* the lead has the member's word, the member lives */                  \
	X(member_gone)         /* it is gone on disk, the lead is not told */                          \
	X(pane_recorded)       /* pane and process of a member are in its meta file */                 \
	X(config_written)      /* config.json of a team was written */                                 \
	X(inbox_taken)         /* entries of an inbox are on disk at the receiver, and in the file */  \
	X(inbox_written)       /* the inbox was written without them */                                \
	X(claim_written)       /* a change of the team's task list is on disk */                       \
	X(assignment_queued)   /* its new owner has the task as a message, the change has no result */ \
	X(team_deleted)        /* the end of a team is on disk, its files are there */                 \
	X(compact_boundary)    /* the boundary of a compaction is on disk; its summary is not */       \
	X(compact_summary)     /* the summary is on disk */

enum crash_point {
#define X(name) CRASH_##name,
	CRASH_POINTS(X)
#undef X
		CRASH_POINT_COUNT
};

#ifdef CADRE_CRASH_POINTS
void crash_point_passed(enum crash_point point);
#define crash_point(name) crash_point_passed(CRASH_##name)
#else
#define crash_point(name) ((void)0)
#endif
