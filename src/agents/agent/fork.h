/* SPDX-License-Identifier: MIT
 * fork.h - the words that make a child out of its parent's conversation. All forks of one answer get the same bytes up to
 * their directive, which is what the server's prompt cache needs. */
#pragma once
#include "core/message/transcript.h"

#define FORK_TYPE "fork"
#define FORK_TAG  "<fork-boilerplate>"

extern const char fork_placeholder_text[];
struct segment *fork_placeholder(const char *call_id); /* the result of an open call, as every fork sees it */
/* The message behind the history: what a fork is, and its task. */
void fork_directive(struct buf *out, struct str task);
/* For a child that has its parent's history but works in another directory. */
void fork_worktree_notice(struct buf *out, const char *parent_cwd, const char *worktree);
/* The history holds the directive of a fork: whoever it belongs to is one. */
bool fork_is_marked(const struct transcript *t);
