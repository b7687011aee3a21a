/* SPDX-License-Identifier: MIT
 * shell_files.h - which words of a command may be files, for rules that forbid. The commands are forms of shell_list_for_deny(): they
 * have a name. */
#pragma once
#include "guard/shell/shell_command.h"

/* The word may name a file that the command makes, changes or removes: sed -i F, sort -o F, tee F, curl -o F ... */
bool shell_may_write_word(const struct shell_command *c, size_t index);
/* The word may name a directory of which all is copied, moved or packed: cp -r, mv, tar c ... */
bool shell_is_tree_source(const struct shell_command *c, size_t index);
bool shell_changes_tree(const struct shell_command *c, size_t index); /* or removed: rm -r, chmod -R ... */
/* It shows what is in the files of the directories that it names. ret_hidden: those too that begin with a dot. ret_here: it names
 * none and means the current one. */
bool shell_reads_tree(const struct shell_command *c, bool *ret_hidden, bool *ret_here);
/* A find whose names other commands of the text get: find -exec, | xargs, for f in $(find). */
bool shell_hands_on_names(const struct shell_command *c, const struct shell_script *script);
/* git shows what is in files, which it takes from its own store: show, log -p, diff, grep ... c is a git command. */
bool shell_git_shows_contents(const struct shell_command *c);
/* Its words are subcommands, messages and names of things, too: git, npm, docker ... (shell_deny.c) */
bool shell_takes_subcommands(struct str name);
