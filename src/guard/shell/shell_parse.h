/* SPDX-License-Identifier: MIT
 * shell_parse.h - what would bash run for this text? A tokenizer and parser for POSIX shell with the extras of bash. The
 * result is flat: every simple command that could run, also those in substitutions, branches, loops and functions.
 *
 * It promises one thing: if `understood` is true, and no command has `hides`, then bash -c starts no command that is not
 * in the list. What it does not know for certain is not understood; the list is then what was found, which is enough
 * for rules that forbid and never enough for rules that allow. docs/internals/shell.md says how.
 *
 * Everything in the result is in the arena or a slice of the text: both are borrowed for as long as the result is used. */
#pragma once
#include "lib/base/arena.h"
#include "lib/base/str.h"

enum { SHELL_MAX_BYTES = 10000, SHELL_MAX_DEPTH = 40 };

struct shell_word {
	struct str text;   /* of a literal word: what the command gets, quotes removed. Of another one: its source */
	struct str source; /* as it was written */
	bool literal;      /* text is all there is to know: no expansion, no glob, no tilde */
	bool globs;        /* an unquoted * ? [...] or a brace expansion: it can become several words */
	bool tilde;        /* an unquoted ~ where a home directory may be put */
	bool quoted;       /* some part of it was quoted or escaped */
	bool splits;       /* an unquoted expansion: it can become no word, or several */
	bool number;       /* a whole number, written or computed; of NAME=x behind export and the like: x is one */
};

enum shell_op {
	SHELL_READ,        /* <   */
	SHELL_WRITE,       /* >   */
	SHELL_APPEND,      /* >>  */
	SHELL_CLOBBER,     /* >|  */
	SHELL_READ_WRITE,  /* <>  */
	SHELL_WRITE_BOTH,  /* &>  and >& with a file */
	SHELL_APPEND_BOTH, /* &>> */
	SHELL_DUP_OUT,     /* >& with a descriptor or - */
	SHELL_DUP_IN,      /* <&  */
	SHELL_HERE,        /* <<  */
	SHELL_HERE_TABS,   /* <<- */
	SHELL_HERE_STRING, /* <<< */
};

struct shell_redirect {
	enum shell_op op;
	int fd;
	struct shell_word target; /* of a here-document: its delimiter */
	const struct str *body;   /* of a here-document: its lines, as they were written; else NULL */
	bool writes_file;         /* target is opened for writing; true as well when target is not known */
};

struct shell_assignment {
	struct str name;
	struct shell_word value; /* not literal for an array, and for a variable that a loop or arithmetic sets */
};

/* Where a command stands; 0 is the top of the text. */
enum {
	SHELL_IN_SUBSTITUTION = 1 << 0, /* $( ), backticks, <( ), >( ) */
	SHELL_IN_SUBSHELL = 1 << 1,     /* ( ) */
	SHELL_IN_GROUP = 1 << 2,        /* { } */
	SHELL_IN_CONTROL = 1 << 3,      /* a condition, branch or body of if, while, until, for, select, case */
	SHELL_IN_FUNCTION = 1 << 4,
	SHELL_BEHIND_PIPE = 1 << 5, /* its input comes from another command, unless a redirection says otherwise */
};

/* A command without words is a bare assignment, a variable that a loop or arithmetic sets, or the redirections of a
 * compound command. */
struct shell_command {
	struct shell_word *words; /* the name first */
	size_t word_count;
	struct shell_assignment *assignments; /* before the name */
	size_t assignment_count;
	struct shell_redirect *redirects;
	size_t redirect_count;
	struct str source; /* from its first word to its last one, redirections included */
	unsigned where;
	const char *hides; /* NULL, or why the words do not say what will run, for people: "eval runs a text" */
};

struct shell_script {
	struct shell_command *commands; /* in the order in which they end in the text */
	size_t count;
	bool understood;
	const char *why_not; /* the first reason if not understood, for people; static text */
	bool has_substitution;
	bool has_subshell;
	bool has_group;
	bool has_control_flow;
	bool has_function;
	bool has_background; /* & or coproc */
	bool has_here_document;
};

/* Never fails. ret is written whole. */
void shell_parse(struct arena *a, struct str text, struct shell_script *ret);

static inline struct str shell_base_name(struct str path) /* without its directory */
{
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;

	return slash ? (struct str){ slash + 1, (size_t)(path.p + path.n - slash - 1) } : path;
}
static inline bool shell_runs(const struct shell_command *c, const char *names) /* one of "a|b", written as such */
{
	return c->word_count && c->words[0].literal && str_is_one_of(c->words[0].text, names);
}
