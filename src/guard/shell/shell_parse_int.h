/* SPDX-License-Identifier: MIT
 * shell_parse_int.h - inside of the shell parser: one cursor over the text, moved by functions that each read one
 * construct. None of them fails: what cannot be read calls shell_fail() and the rest is read as well as possible. */
#pragma once
#include "lib/base/buf.h"
#include "guard/shell/shell_parse.h"

/* A name that the text sets, or that arithmetic uses. */
struct shell_name {
	struct str name;
	bool used;  /* by arithmetic */
	bool other; /* it may get a value that is not a number */
};

/* A name that is set at this point, whatever happened before; never changed, so a branch goes back to an older head. */
struct shell_known {
	const struct shell_known *before;
	struct str name;
	bool doubtful; /* an error earlier in the line skips the rest of the line, and bash continues with the next one */
};

/* What the parsers of one text and of the texts inside it write to. */
struct shell_sink {
	struct arena *arena;
	struct shell_script *script;
	struct buf scratch; /* the text of the words that are being read, the innermost one last */
	struct shell_name *names;
	size_t name_count;
	bool can_fail;      /* an expansion in this line can be an error */
	bool call_can_fail; /* one in a function can: then every line that may call it */
	bool freezes;       /* a declaration with options, perhaps of a constant: then an assignment can fail */
};

struct shell_here {
	struct shell_here *next;
	struct str delimiter;
	struct str *body;
	const struct shell_known *known; /* where it is used, which is before the lines that it is in */
	bool quoted;                     /* nothing is expanded in it */
	bool tabs;                       /* <<- */
};

struct shell_parser {
	struct shell_sink *sink;
	struct str text;
	size_t at;
	unsigned where;
	unsigned depth;
	struct shell_here *pending; /* here-documents whose bodies begin behind the next newline */
	bool after_compound;        /* a closing word may follow without a separator */
	const struct shell_known *known;
	struct str arithmetic; /* the last $(( )) that was read */
};

/* How a word ends, and what is special in it. */
enum shell_word_mode {
	SHELL_WORD_PLAIN,
	SHELL_WORD_PATTERN, /* right of == in [[ ]]: extended globs */
	SHELL_WORD_REGEX,   /* right of =~ */
};

enum shell_quoting { SHELL_UNQUOTED, SHELL_DOUBLE_QUOTED, SHELL_HERE_BODY };

static inline bool shell_at_end(const struct shell_parser *p)
{
	return p->at >= p->text.n;
}
/* The byte that is n bytes ahead, or NUL: the text has none (shell_parse.c refuses it before). */
static inline char shell_peek(const struct shell_parser *p, size_t n)
{
	return p->at + n < p->text.n ? p->text.p[p->at + n] : '\0';
}
static inline bool shell_starts(const struct shell_parser *p, const char *text) /* with this text */
{
	return str_starts((struct str){ p->text.p + p->at, p->text.n - p->at }, str_from(text));
}
static inline void shell_skip(struct shell_parser *p, size_t n)
{
	p->at = MIN(p->at + n, p->text.n);
}
static inline struct str shell_slice(const struct shell_parser *p, size_t from)
{
	return (struct str){ p->text.p + from, p->at - from };
}
static inline bool shell_is_blank(char c)
{
	return c == ' ' || c == '\t';
}
static inline bool shell_is_digit(char c)
{
	return c >= '0' && c <= '9';
}
static inline bool shell_is_name_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static inline bool shell_is_name_char(char c)
{
	return shell_is_name_start(c) || shell_is_digit(c);
}
static inline bool shell_is_meta(char c) /* ends a word */
{
	return !c || char_in(c, " \t\n;&|<>()");
}

static inline void shell_leave(struct shell_parser *p) /* what shell_enter() entered */
{
	p->depth--;
}

/* shell_parse.c: the sink, and the grammar of lists */
void shell_fail(struct shell_parser *p, const char *why); /* static text; the first one counts */
bool shell_enter(struct shell_parser *p); /* false at the depth limit: the rest of the text is skipped */
void *shell_grow(struct arena *a, void *items, size_t count, size_t size); /* room for one more item */
void shell_add_command(struct shell_parser *p, struct shell_command *c);   /* copies; fills where and hides */
void shell_add_variable(struct shell_parser *p, struct str name);          /* something other than NAME=x sets it */
size_t shell_read_list(struct shell_parser *p); /* up to a closing word or ")"; returns the number of commands */
struct str shell_peek_word(const struct shell_parser *p); /* the next word if nothing in it is special, else empty */

/* shell_word.c */
void shell_skip_blanks(struct shell_parser *p);   /* and continued lines */
void shell_skip_newlines(struct shell_parser *p); /* and comments; reads the pending here-documents */
bool shell_read_word(struct shell_parser *p, enum shell_word_mode mode, struct shell_word *ret); /* false: none here */
void shell_read_quoted(struct shell_parser *p, struct shell_word *w); /* from a " or ' to behind its partner */

/* shell_expand.c: each begins at its first byte ($ or ` or < or >) and sets the flags of w */
void shell_read_dollar(struct shell_parser *p, enum shell_quoting quoting, struct shell_word *w);
void shell_read_backticks(struct shell_parser *p, enum shell_quoting quoting, struct shell_word *w);
void shell_read_process(struct shell_parser *p, struct shell_word *w);
/* Behind "((": moves behind "))" and says true, or, if this is a subshell in a subshell, moves nothing. loop: it is that
 * of for (( ; ; )). */
bool shell_read_arithmetic(struct shell_parser *p, bool loop);
/* Text in which only $ and ` are special, up to the end of p->text. */
void shell_read_body(struct shell_parser *p);

/* shell_arithmetic.c: behind "((" to behind "))"; false if that is more than numbers, names and operators */
bool shell_read_expression(struct shell_parser *p, bool loop);

/* The names that hold numbers. A name is borrowed as long as the text. */
bool shell_is_decimal(struct str s); /* as bash writes numbers: no leading zero, never too large */
static inline bool shell_declares(struct str word)
{
	return str_is_one_of(word, "declare|typeset|local|export|readonly");
}
void shell_set_name(struct shell_parser *p, struct str name, bool number);
void shell_know(struct shell_parser *p, struct str name); /* from here on it is set */
static inline void shell_end_line(struct shell_parser *p) /* of the text, not of one inside it */
{
	while (p->known && p->known->doubtful)
		p->known = p->known->before;
	p->sink->can_fail = p->sink->call_can_fail;
}
void shell_note_simple(struct shell_parser *p, const struct shell_command *c);
void shell_check_names(struct shell_parser *p);

/* shell_simple.c */
void shell_read_simple(struct shell_parser *p);
bool shell_read_redirect(struct shell_parser *p, struct shell_command *c); /* false: none here */

/* shell_compound.c */
bool shell_read_compound(struct shell_parser *p); /* false: none here */
void shell_read_function_body(struct shell_parser *p, struct str name);
void shell_read_array(struct shell_parser *p); /* from "(" to behind ")" */

/* shell_hides.c: NULL, or why the words of c do not say what runs */
const char *shell_hides(const struct shell_command *c);
bool shell_may_hide(struct str name);          /* some forms of this command do */
bool shell_name_is_dangerous(struct str name); /* a variable that decides what runs */

/* shell_code.c: NULL, or why a command gives a program code that may start others */
const char *shell_runs_code(const struct shell_command *c);
/* shell_read_only.c: it has a command that runs others, or it was not understood */
bool shell_sed_may_run(struct str script);
