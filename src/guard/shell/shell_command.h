/* SPDX-License-Identifier: MIT
 * shell_command.h - what a simple command means for a permission: the command behind its wrappers, and whether it only
 * reads. Results borrow from the command they were made of. */
#pragma once
#include "guard/shell/shell_parse.h"

/* For rules that allow: wrappers that run their arguments unchanged (timeout 5, nice -n 3, nohup, command, bare xargs ...)
 * and assignments of variables that are known to be harmless are gone. Other assignments stay; a command that still has
 * some is not the one that a rule names. Redirections stay. */
struct shell_command shell_strip_for_allow(const struct shell_command *c);

/* For rules that forbid or ask. All is in the arena. */
struct shell_forms {
	/* Every command that it may start, the command itself first: behind all assignments and wrappers (env, sudo, xargs with
	 * flags ... too), each form with the directory of its name removed as well, those of find -exec, and those in a text that it
	 * gives to a shell (sh -c, eval, trap, here-documents). */
	struct shell_command *list;
	size_t count;
	/* What a program that is not known would start if it ran its words. */
	struct shell_command *doubts;
	size_t doubt_count;
	bool too_many;     /* there is more than can be listed: it is to be treated as if a rule matched */
	const char *hides; /* why it may start others that are not listed, for people; NULL: it does not */
};
void shell_list_for_deny(struct arena *a, const struct shell_command *c, struct shell_forms *ret);

/* The words with one space between them, for patterns. A literal word is its text, unless a blank or an operator in it
 * would make it look like something else: then, as any other word, it is its source. */
struct str shell_command_text(struct arena *a, const struct shell_command *c);

/* It changes nothing and runs nothing else, whatever its expansions become. Wrappers and harmless assignments are seen
 * through. Says nothing about which files it reads, nor about the targets of its redirections. */
bool shell_is_read_only(const struct shell_command *c);
/* Its purpose is to read, but only the kernel knows what it does: python3 -c, make -n, npm ls. Wrappers and
 * harmless assignments have been taken away. */
bool shell_reads_if_held(const struct shell_command *c);
/* What a command that the kernel holds to reading starts: it without wrappers, variables of its own and IFS; the command behind xargs;
 * a find without its -exec, and the commands of those. An expansion is an operand. At most SHELL_HELD_MAX, in the arena; 0: that is
 * not certain. */
enum { SHELL_HELD_MAX = 8 };
size_t shell_held_forms(struct arena *a, const struct shell_command *c, struct shell_command ret[SHELL_HELD_MAX]);
/* Where the command of xargs begins, with options that add words; 0: that is not certain. */
size_t shell_behind_xargs(const struct shell_command *c);
/* It reads nothing but its words, whatever options it has: echo, pwd, uname ... */
bool shell_takes_no_files(const struct shell_command *c);

/* Runs other commands by its nature, so that no prefix says enough: watch, setsid, ionice, flock, find -exec ... */
bool shell_needs_exact_rule(const struct shell_command *c);

bool shell_variable_is_own(
	struct str name); /* of the shell's text: programs listen to names in capitals, and to *_proxy */
bool shell_variable_is_harmless(struct str name); /* for the program that gets it: LANG, NO_COLOR, NODE_ENV ... */

/* shell_files.c: which words of a command may be files, for rules that forbid. The commands are forms of shell_list_for_deny(): they
 * have a name. */

/* The word may name a file that the command makes, changes or removes: sed -i F, sort -o F, tee F, curl -o F ... */
bool shell_may_write_word(const struct shell_command *c, size_t index);
/* The word may name a directory of which all is copied, moved or packed: cp -r, mv, tar c ... */
bool shell_is_tree_source(const struct shell_command *c, size_t index);
bool shell_changes_tree(const struct shell_command *c, size_t index); /* or removed: rm -r, chmod -R ... */
/* It shows what is in the files of the directories that it names. ret_hidden: those too that begin with a dot. ret_here: it names
 * none and means the current one. */
bool shell_reads_tree(const struct shell_command *c, bool *ret_hidden, bool *ret_here);
/* A command that lists names, hidden ones too, which other commands of the text get: find -exec, ls -A | xargs, cat $(find). */
bool shell_hands_on_names(const struct shell_command *c, const struct shell_script *script);
/* git shows what is in files, which it takes from its own store: show, log -p, diff, grep ... c is a git command. */
bool shell_git_shows_contents(const struct shell_command *c);
/* Its words are subcommands, messages and names of things, too: git, npm, docker ... (shell_deny.c) */
bool shell_takes_subcommands(struct str name);
