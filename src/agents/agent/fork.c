/* SPDX-License-Identifier: MIT
 * fork.c - the words that make a child out of its parent's conversation. */
#include "agents/agent/fork.h"
#include "lib/base/buf.h"

const char fork_placeholder_text[] = "This call was handed to a fork, which has begun to work on it.";

struct segment *fork_placeholder(const char *call_id)
{
	return segment_tool_result(str_from(call_id), str_from(fork_placeholder_text), false);
}

void fork_directive(struct buf *out, struct str task)
{
	buf_addf(out,
		 FORK_TAG
		 "\n"
		 "From here on you are a fork: a second process with this conversation, split off by the agent "
		 "you have been so far. That agent goes on elsewhere; you have one task, which stands below.\n"
		 "- Advice in your instructions to delegate or to fork is meant for the other one. Do the work "
		 "yourself, with your tools.\n"
		 "- Nobody answers questions. Where something is open, take the most likely reading and say so.\n"
		 "- Stay within the task. What lies beside it goes into the last line of your report.\n"
		 "- If you change files in a git repository, commit them before you report.\n"
		 "Your last message is the report, and all that is seen of your work. It begins with the word "
		 "\"Scope:\" and has these lines:\n"
		 "Scope: the task in one sentence\n"
		 "Result: what you found or did\n"
		 "Key files: paths that matter\n"
		 "Files changed: paths, with the commit (only if there are any)\n"
		 "Issues: what remains (only if something does)\n"
		 "</fork-boilerplate>\n\n"
		 "Task of this fork: " STR_FMT,
		 STR_ARG(task));
}

void fork_worktree_notice(struct buf *out, const char *parent_cwd, const char *worktree)
{
	buf_addf(
		out,
		"\n\nYou work in a copy of the repository of your own, a git worktree at %s. Paths in the conversation "
		"above speak of %s: read each of them as the same place below your worktree. Files may differ from what "
		"was read before, so read them again before you change them. Nothing you do here touches the other "
		"copy.",
		worktree, parent_cwd);
}

bool fork_is_marked(const struct transcript *t)
{
	for (uint32_t i = 0; i < transcript_count(t); i++) {
		struct block b = transcript_block(t, i);
		if (b.role == ROLE_USER && b.kind == SEGMENT_TEXT &&
		    str_starts(b.json, STR("{\"type\":\"text\",\"text\":\"" FORK_TAG)))
			return true;
	}
	return false;
}
