/* SPDX-License-Identifier: MIT
 * template.h - the text of a skill: which parts of it are commands, and what stands for arguments and variables.
 *
 *     !`command`             behind a blank or at the beginning of a line
 *     ```!  ...  ```         the lines between them
 *     $ARGUMENTS             all arguments as they were given
 *     $ARGUMENTS[1], $1      one of them, counted from 0, as a shell would split them; as it stands if there is none
 *     $name                  one that `arguments` names; nothing if it was not given
 *     ${CLAUDE_SKILL_DIR}    a variable
 *     \$1                    the text $1
 *     @path                  a file that is attached
 *
 * Commands are found in the file as it was written, before anything is put in: what a user gives as an argument never becomes
 * a command, and what was put in is not looked at again. In a command no variable stands for a path that a shell would read as
 * code: who made a directory has chosen its name. */
#pragma once
#include "defs/skill/skill.h"

struct template_part {
	bool is_command;
	struct str text; /* borrowed from the text; of a command: without its marks */
};

struct template_parts {
	struct template_part *list; /* owned */
	size_t count, cap;
};

void template_split(struct template_parts *parts, struct str text);
static inline void template_parts_release(struct template_parts *parts)
{
	free(parts->list);
	*parts = (struct template_parts){ 0 };
}

/* Borrowed */
struct template_values {
	const struct skill *skill;
	struct str arguments;
	const char *session_id, *effort, *project_dir; /* NULL: "" */
	/* made by template_values_open() */
	struct arena arena;
	struct str *words; /* the arguments as a shell would split them */
	size_t count;
	bool used; /* some argument was put in */
	bool in_command;
	const char *refused; /* a variable that was left out: a shell could read its value as code */
};

void template_values_open(struct template_values *v); /* skill and arguments are set */
static inline void template_values_release(struct template_values *v)
{
	arena_release(&v->arena);
	v->words = NULL;
	v->count = 0;
}

/* Appends text with everything put in. */
void template_fill(struct buf *out, struct str text, struct template_values *v);

/* The next @path of a text: cut off *rest, which becomes what follows it. False: there is none. */
bool template_next_file(struct str *rest, struct str *ret_path);
