/* SPDX-License-Identifier: MIT
 * shell_files.c - files as rules that forbid see them. A command that is not known to read only may use each of its words as a file;
 * here is which of them it may write, and which programs take a directory for all that is in it. Too much is better than too little. */
#include "guard/shell/shell_command.h"
#include "guard/shell/shell_options.h"

static bool has_letter(const struct shell_command *c, const char *letters)
{
	for (size_t i = 1; i < c->word_count; i++) {
		struct str word = c->words[i].text;
		for (size_t k = 1; word.n > 1 && word.p[0] == '-' && word.p[1] != '-' && k < word.n; k++)
			if (char_in(word.p[k], letters))
				return true;
	}
	return false;
}

static bool has_word(const struct shell_command *c, const char *begin)
{
	for (size_t i = 1; i < c->word_count; i++)
		if (str_starts(c->words[i].text, str_from(begin)))
			return true;
	return false;
}

/* All their words may be files that they make, change or remove. */
static const char writers[] =
	"7z|ar|black|brotli|bunzip2|bzip2|chattr|chgrp|chmod|chown|compress|convert|cp|cpio|crudini|csplit|"
	"dos2unix|ed|emacs|ex|fallocate|ffmpeg|gunzip|gzip|install|isort|jar|joe|link|ln|logrotate|lz4|magick|"
	"mcedit|micro|mkdir|mkfifo|mknod|mktemp|mmv|mogrify|mv|nano|nvim|objcopy|patch|pax|pico|rename|rm|"
	"rmdir|rsync|rustfmt|scp|script|setfacl|setfattr|shred|split|sponge|sqlite3|ssh-keygen|strip|tee|touch|"
	"truncate|unix2dos|unlink|unlzma|unxz|unzip|unzstd|uudecode|vi|vim|vimdiff|xmlstarlet|xxd|xz|zip|zstd";

/* Programs that change the files they are given if one of these words is among the others */
static const struct {
	const char *names, *words;
} changers[] = {
	{ "autopep8|clang-format|yapf|yq", "-i" },
	{ "cmake", "copy|copy_if_different|rename|rm|touch" },
	{ "gofmt|goimports|prettier|shfmt", "-w" },
	{ "hg|svn", "revert" },
	{ "rubocop", "-a|-A" },
	{ "ruff|terraform", "format|fmt" },
};

/* Of git: subcommands that write files of the work tree, or the file that they are given. */
static const char git_writers[] =
	"am|apply|archive|bundle|checkout|checkout-index|clean|clone|config|format-patch|init|mv|restore|"
	"rm|switch|worktree";

/* Options whose value is written, wherever they appear: in the same word or the next one. */
static const char outputs[] = "-o|-O|--ou|-out|--output|--log-file|--report|--dest|--directory|--target|of=";

static bool writes_all_words(const struct shell_command *c, struct str name)
{
	if (str_is_one_of(name, writers))
		return true;
	if (str_is(name, "sed"))
		return has_letter(c, "i") || has_word(c, "--i");
	if (str_starts(name, STR("perl")) || str_starts(name, STR("ruby")))
		return has_letter(c, "i");
	if (str_ends(name, STR("awk")))
		return has_word(c, "inplace");
	if (str_is(name, "find") || str_is(name, "fd"))
		return has_word(c, "-delete") || has_word(c, "-f");
	if (str_is(name, "tar") || str_is(name, "bsdtar"))
		return true;
	for (size_t i = 1; i < c->word_count; i++) {
		struct str word = c->words[i].text;
		if (str_is(name, "git") ? str_is_one_of(word, git_writers)
					: str_is_one_of(word, "--fix|--write|--in-place|--inplace"))
			return true;
		for (size_t k = 0; k < COUNT_OF(changers); k++)
			if (str_is_one_of(name, changers[k].names) && str_is_one_of(word, changers[k].words))
				return true;
	}
	return false;
}

bool shell_may_write_word(const struct shell_command *c, size_t index)
{
	struct str name = shell_base_name(c->words[0].text);
	struct str word = c->words[index].text;

	if (!index)
		return false;
	if (writes_all_words(c, name) || str_starts_with_one_of(word, outputs) ||
	    str_starts_with_one_of(c->words[index - 1].text, outputs))
		return true;
	if (str_is(name, "uniq"))
		return index > 1;
	/* A script that names a file behind > (awk) or w (sed), or code that writes */
	static const char *const marks[] = { "rite", "unlink", "rename", "emove", "runcate", "\"w", "'w", "\"a", "'a" };
	for (size_t i = 0; i < COUNT_OF(marks) && word.n > 8; i++)
		if (str_has(word, str_from(marks[i])) && memchr(word.p, '(', word.n))
			return true;
	return memchr(word.p, '>', word.n) ||
	       (str_is(name, "sed") && str_has(word, STR("w")) && memchr(word.p, '/', word.n));
}

bool shell_is_tree_source(const struct shell_command *c, size_t index)
{
	struct str name = shell_base_name(c->words[0].text);

	if (!index)
		return false;
	if (str_is_one_of(name, "cp|ditto|install|ln|mv|rsync|scp"))
		return index + 1 < c->word_count || has_letter(c, "t") || has_word(c, "--t");
	if (!str_is_one_of(name, "7z|bsdtar|jar|pax|tar|zip"))
		return false;
	/* tar that unpacks or lists: a directory is where it does that */
	struct str mode = c->words[1].text;
	bool unpacks =
		!str_is(name, "zip") &&
		(has_letter(c, "xt") || has_word(c, "--extract") || has_word(c, "--get") || has_word(c, "--list") ||
		 (mode.n && mode.p[0] != '-' && (memchr(mode.p, 'x', mode.n) || memchr(mode.p, 't', mode.n))));
	return !unpacks;
}

bool shell_changes_tree(const struct shell_command *c, size_t index)
{
	static const char names[] = "chattr|chgrp|chmod|chown|rm|setfacl|shred";
	struct str name = shell_base_name(c->words[0].text);

	return index && (str_is_one_of(name, names) || (str_is(name, "mv") && shell_is_tree_source(c, index)) ||
			 (str_is(name, "find") && has_word(c, "-delete")));
}

/* These say nothing about what is in files. */

bool shell_reads_tree(const struct shell_command *c, bool *ret_hidden, bool *ret_here)
{
	struct str name = shell_base_name(c->words[0].text);
	size_t first;
	const struct shell_program *p = shell_find_program(c, &first);
	struct shell_part part;
	size_t operands = 0;

	*ret_hidden = true;
	*ret_here = str_is_one_of(name, "ack|ag|pt|sift|ugrep"); /* they search the directory, unless files are named */
	*ret_here = *ret_here || (str_is(name, "git") && c->word_count > 1 && str_is(c->words[1].text, "grep") &&
				  (has_word(c, "--untr") || has_word(c, "--no-in")));
	if (*ret_here)
		return true;
	if (!p || str_is_one_of(name, "[|cd|df|du|find|ls|popd|pushd|pwd|readlink|realpath|stat|test|tree") ||
	    p->texts == PROGRAM_NO_FILES || (p->flags & PROGRAM_WRITES) || str_is(name, "git"))
		return false;
	for (struct shell_parts parts = shell_parts_of(p, c, first); shell_next_part(&parts, &part);)
		operands += part.kind == PART_OPERAND;
	if (str_is(name, "rg")) {
		*ret_hidden = has_letter(c, "u.") || has_word(c, "--hidden") || has_word(c, "--unrestricted");
		*ret_here = !operands;
	} else if (str_ends(name, STR("grep"))) {
		*ret_here =
			!operands && (has_letter(c, "r") || has_word(c, "--recursive") || has_word(c, "--directories"));
	}
	return true;
}

/* Programs that list names, and how they list those too that begin with a dot or that git does not have */
static bool lists_hidden_names(const struct shell_command *c)
{
	struct str name = shell_base_name(c->words[0].text);

	if (str_is(name, "ls"))
		return has_letter(c, "aAf") || has_word(c, "--a");
	if (str_is_one_of(name, "fd|fdfind"))
		return has_letter(c, "Hu") || has_word(c, "--hid") || has_word(c, "--unr");
	if (str_is(name, "rg"))
		return has_word(c, "--files") && (has_letter(c, "u.") || has_word(c, "--hid") || has_word(c, "--unr"));
	return str_is(name, "git") && has_word(c, "ls-files") && (has_letter(c, "o") || has_word(c, "--oth"));
}

bool shell_hands_on_names(const struct shell_command *c, const struct shell_script *script)
{
	bool on = has_word(c, "-exec") || has_word(c, "-ok") || (c->where & SHELL_IN_SUBSTITUTION);

	if (!shell_runs(c, "find") && !lists_hidden_names(c))
		return false;
	for (size_t i = 0; i < script->count && !on; i++)
		on = shell_runs(&script->commands[i], "parallel|xargs");
	return on || script->has_control_flow;
}

bool shell_git_shows_contents(const struct shell_command *c)
{
	static const char names_only[] =
		"branch|check-ignore|config|count-objects|describe|for-each-ref|ls-files|ls-tree|merge-base|"
		"name-rev|remote|remote get-url|rev-list|rev-parse|shortlog|show-ref|tag|version|worktree list";
	/* Of those that show contents only if they are asked to, the options that are asked for without */
	static const char plain[] =
		"oneline|stat|numstat|shortstat|name-only|name-status|graph|decorate|no-decorate|all|pretty|"
		"format|max-count|skip|since|after|until|before|author|committer|grep|merges|no-merges|"
		"first-parent|follow|reverse|date|tags|branches|remotes|left-right|cherry|no-color|color|"
		"abbrev-commit|topo-order|date-order|summary|no-patch|full-history|no-walk|no-renames|"
		"relative-date|walk-reflogs|diff-filter";
	size_t first;
	const struct shell_program *p = shell_find_program(c, &first);
	struct shell_part part;

	if (!p)
		return true;
	if (str_is_one_of(str_from(p->name), names_only))
		return false;
	if (str_is(str_from(p->name), "status"))
		return has_letter(c, "v") || has_word(c, "--verbose");
	/* A file that is named is judged by its name. */
	if (str_is(str_from(p->name), "blame"))
		return false;
	if (!str_is_one_of(str_from(p->name), "log|reflog|reflog show|stash list"))
		return true;
	for (struct shell_parts parts = shell_parts_of(p, c, first); shell_next_part(&parts, &part);) {
		struct str word = part.word->text;
		struct str name = { word.p + MIN(word.n, 2), word.n - MIN(word.n, 2) };
		struct str rest = name;
		if (part.kind != PART_OPTION)
			continue;
		name = str_cut(&rest, '=');
		bool number = word.n > 1 && word.p[1] >= '0' && word.p[1] <= '9';
		bool letter = word.n == 2 && char_in(word.p[1], "ngiEFPqSGsz");
		bool counted = word.n > 2 && word.p[1] == 'n' && word.p[2] >= '0' && word.p[2] <= '9';
		if (!number && !letter && !counted && !(str_starts(word, STR("--")) && str_is_one_of(name, plain)))
			return true;
	}
	return false;
}
