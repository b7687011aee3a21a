/* SPDX-License-Identifier: MIT
 * cadre_command.h - the subcommands of the program `cadre`, for host programs.
 *
 *     const char *argv[] = { "agents", "show", "Explore" };
 *     status = cadre_command(c, 3, argv, NULL, &report, why, sizeof why);
 *     if (status == CADRE_OK)
 *             puts(cadre_report_json(report, NULL));
 *     cadre_report_free(report);
 *
 * A command inspects or changes configuration and stored sessions without a conversation. It reads the disk on each call and
 * uses the options of cadre_set(). Structures that the library returns may grow at their end. */
#ifndef CADRE_COMMAND_H
#define CADRE_COMMAND_H
#include <cadre.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reports. */

/* The answer of a command, as JSON for programs and as rows of cells for people. */
struct cadre_report;
enum cadre_style {
	CADRE_PLAIN,
	CADRE_HEAD, /* column titles of the rows below */
	CADRE_GOOD,
	CADRE_NOTE,
	CADRE_WARN,
	CADRE_BAD
};
CADRE_API const char *cadre_report_json(const struct cadre_report *r, size_t *ret_n); /* without a line end */
CADRE_API size_t cadre_report_rows(const struct cadre_report *r);
CADRE_API enum cadre_style cadre_report_style(const struct cadre_report *r, size_t row);
/* A row with a single cell is running text, possibly of several lines. */
CADRE_API size_t cadre_report_cells(const struct cadre_report *r, size_t row);
CADRE_API const char *cadre_report_cell(const struct cadre_report *r, size_t row,
					size_t column);        /* "" beyond the last */
CADRE_API int cadre_report_bad(const struct cadre_report *r);  /* something was refused: the program exits with 1 */
CADRE_API int cadre_report_code(const struct cadre_report *r); /* the exit code: 0, 1 if bad, or the command's own */
CADRE_API void cadre_report_free(struct cadre_report *r);

/* Running a command. */

/* What a command may need while it runs. Each function may be NULL. */
struct cadre_command_io {
	/* Receives each piece of the answer as soon as it is known; `logs` has many. Return nonzero to stop the command. NULL:
	 * the pieces are collected in the report. */
	int (*on_piece)(const struct cadre_report *piece, void *data);
	/* Receives a URL that the user has to visit to sign in. Return nonzero to have a browser opened. NULL: a server that
	 * requires it cannot be used. */
	int (*on_visit)(const char *url, void *data);
	/* The command is about to serve another program (`mcp serve`): return the two descriptors. It ends at the end of its
	 * input, or with cadre_stop(). NULL: CADRE_USAGE. */
	void (*on_serve)(struct cadre *c, int *ret_in, int *ret_out, void *data);
	void *data;
	int attended; /* a user waits for the answer: `mcp test` may ask to sign in; `mcp login` always does */
};

/* argv[0] is the name of the command; its words and options follow as on the command line, except those that are options of
 * cadre_set(). io may be NULL. The caller owns *ret_report; it is NULL on failure, and if on_piece received everything.
 * CADRE_USAGE: unknown command, word or option, wrong number of words, an invalid settings file.
 * CADRE_BUSY: the command blocks (CADRE_COMMAND_BLOCKS), and the call is inside cadre_run(). */
CADRE_API int cadre_command(struct cadre *c, int argc, const char *const *argv, const struct cadre_command_io *io,
			    struct cadre_report **ret_report, char *why, size_t why_size);

/* The table of commands, for help, completion and manuals. */

enum cadre_option_arg { CADRE_OPTION_NONE, CADRE_OPTION_REQUIRED, CADRE_OPTION_OPTIONAL };
enum cadre_option_flags {
	CADRE_OPTION_VARIADIC = 1, /* takes several words, and may be repeated: each word counts */
	CADRE_OPTION_LIST = 2,     /* the same, but all words together become one comma list */
	CADRE_OPTION_JOINED = 4,   /* its optional value follows a '=' only */
	CADRE_OPTION_WORD = 8      /* its optional value is the operand that follows */
};
struct cadre_option {
	const char *name;  /* without dashes */
	const char *alias; /* another long spelling, or NULL */
	char letter;       /* short, or 0 */
	enum cadre_option_arg arg;
	unsigned flags;
	const char *value;          /* name of its value; NULL: none; session, file and dir select the completion */
	const char *const *choices; /* NULL-terminated; NULL: any value */
	const char *help;           /* one or more sentences */
};

struct cadre_call; /* of the library */
enum cadre_command_flags {
	CADRE_COMMAND_BLOCKS = 1 /* waits for programs, servers or other processes */
};
struct cadre_command_word {
	const char *name;     /* "show", "marketplace add"; "" if operands follow the command directly */
	const char *operands; /* "NAME [PATH...]"; SESSION, PATH and DIR select the completion */
	unsigned flags;
	int (*run)(struct cadre_call *call); /* the library's own */
};
struct cadre_command {
	const char *name;
	const char *summary;                    /* one line */
	const char *help;                       /* usage lines and explanation */
	const struct cadre_command_word *words; /* ends with a NULL name; the first one is used without a word */
	const struct cadre_option *options;     /* its own; never NULL, ends with a NULL name */
	const char *const *settings; /* the options of cadre_set() that it uses; never NULL, ends with NULL */
};
/* The command after this one, in alphabetical order. NULL: the first; returns NULL after the last. */
CADRE_API const struct cadre_command *cadre_command_next(const struct cadre_command *before);

#ifdef __cplusplus
}
#endif
#endif
