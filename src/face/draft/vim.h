/* SPDX-License-Identifier: MIT
 * vim.h - the keys of vim for a draft: modes, motions, operators, text objects, counts, repeat. It changes the draft only; keys that
 * are not its own (Enter, Ctrl, the arrows) are left to the caller. */
#pragma once
#include "face/draft/draft.h"
#include "face/draft/key.h"

enum vim_mode { VIM_INSERT, VIM_NORMAL, VIM_VISUAL, VIM_VISUAL_LINES };
enum { VIM_COMMAND_BYTES = 64, VIM_SHIFT_COLUMNS = 2, VIM_MOST_REPEATS = 9999, VIM_REMAPS = 8 };

struct vim {
	bool on;
	enum vim_mode mode;
	char command[VIM_COMMAND_BYTES]; /* what was typed of it so far */
	size_t command_n;
	size_t anchor;     /* the end of the selection where the cursor is not */
	size_t want;       /* the column that j and k aim at; SIZE_MAX: the end of the line */
	bool wants;        /* want is set: the last motion was j, k or $ */
	struct buf yanked; /* also what was deleted */
	bool yanked_lines;
	struct buf found;               /* f F t T with its character, for ; and , */
	char change[VIM_COMMAND_BYTES]; /* the last command that changed the text, for . */
	size_t change_n, change_count;  /* without its count; 0: none was given */
	/* Of a change of a selection: how many lines it had, and how many characters, of the last line if there were several;
	 * SIZE_MAX: to its end. lines 0: the change was made without one */
	struct {
		size_t lines, characters;
		bool whole_lines;
	} selected;
	struct buf typed;                /* in insert mode, since the command that began it */
	struct buf change_typed;         /* what belongs to change */
	char inserts[VIM_COMMAND_BYTES]; /* the command that began this insert mode */
	size_t inserts_n, insert_count;
	unsigned group; /* of changes that are undone together */
	char remaps[VIM_REMAPS][8];
	size_t remap_count;
};

enum vim_result {
	VIM_DONE,
	VIM_OTHER,  /* not for vim: the key does what it does without it */
	VIM_ABOVE,  /* k in the first line */
	VIM_BELOW,  /* j in the last one */
	VIM_SEARCH, /* / */
};

void vim_release(struct vim *v);
void vim_set(struct vim *v, struct draft *d, bool on); /* starts in insert mode */
void vim_reset(struct vim *v, struct draft *d);        /* another text: insert mode */
/* Letters that leave insert mode when they are typed one after the other, as jj. false: too long, or too many */
bool vim_add_remap(struct vim *v, struct str letters);
enum vim_result vim_key(struct vim *v, struct draft *d, const struct key *key);
const char *vim_mode_name(const struct vim *v); /* "INSERT", "NORMAL", "VISUAL", "VISUAL LINE" */
/* The selected bytes; equal: none */
void vim_selection(const struct vim *v, const struct draft *d, size_t *ret_from, size_t *ret_to);
