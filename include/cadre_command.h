/* SPDX-License-Identifier: MIT
 * cadre_command.h - the subcommands of the program `cadre`, for host programs.
 *
 *     const char *argv[] = { "agents", "show", "Explore" };
 *     status = cadre_command(c, 3, argv, NULL, &report, why, sizeof why);
 *     if (status == CADRE_OK)
 *             puts(cadre_report_json(report, NULL));
 *     cadre_report_free(report);
 *
 * A command inspects or changes configuration and stored sessions without a conversation. It reads the disk with each call, and
 * the options of cadre_set() hold for it. Structures that the library hands out may grow at their end. */
#ifndef CADRE_COMMAND_H
#define CADRE_COMMAND_H
#include <cadre.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reports. */

/* An answer for programs (JSON) and for people (rows of cells, which the face aligns). */
struct cadre_report;
enum cadre_style {
	CADRE_PLAIN,
	CADRE_HEAD, /* titles of the columns of the rows below */
	CADRE_GOOD,
	CADRE_NOTE,
	CADRE_WARN,
	CADRE_BAD
};
CADRE_API const char *cadre_report_json(const struct cadre_report *r, size_t *ret_n); /* without a line end */
CADRE_API size_t cadre_report_rows(const struct cadre_report *r);
CADRE_API enum cadre_style cadre_report_style(const struct cadre_report *r, size_t row);
/* One cell: text of its own, perhaps of several lines. */
CADRE_API size_t cadre_report_cells(const struct cadre_report *r, size_t row);
CADRE_API const char *cadre_report_cell(const struct cadre_report *r, size_t row,
					size_t column);       /* "" beyond the last */
CADRE_API int cadre_report_bad(const struct cadre_report *r); /* something was refused: the program exits with 1 */
CADRE_API int cadre_report_code(
	const struct cadre_report *r); /* the exit code that says the answer; 0, or 1 if it is bad */
CADRE_API void cadre_report_free(struct cadre_report *r);

/* Running a command. */

/* What a command may need while it runs. Each function may be NULL. */
struct cadre_command_io {
	/* A piece of the answer, as soon as it is known; `logs` has many. Returns other than 0 to stop the command. NULL: the
	 * pieces are collected in the report. */
	int (*on_piece)(const struct cadre_report *piece, void *data);
	/* An address that the user has to visit to sign in. Returns other than 0: a browser is to be opened with it. NULL:
	 * a server that wants it cannot be used. */
	int (*on_visit)(const char *url, void *data);
	/* The command is about to serve another program (`mcp serve`): gives the two descriptors. It ends with its input, or
	 * by cadre_stop(). NULL: CADRE_USAGE. */
	void (*on_serve)(struct cadre *c, int *ret_in, int *ret_out, void *data);
	void *data;
	int attended; /* a user waits for the answer: `mcp test` may ask to sign in; `mcp login` does so in any case */
};

/* argv[0] is the name of the command; its words and options follow, as on the command line, but without those that are options
 * of cadre_set(). io may be NULL. *ret_report is owned by the caller; it is NULL on failure, and if on_piece got everything.
 * CADRE_USAGE: unknown command, word or option, wrong number of words, a settings file that cannot be understood.
 * CADRE_BUSY: the command blocks (CADRE_COMMAND_BLOCKS), and the call is inside of cadre_run(). */
CADRE_API int cadre_command(struct cadre *c, int argc, const char *const *argv, const struct cadre_command_io *io,
			    struct cadre_report **ret_report, char *why, size_t why_size);

/* What there is: for help, completion and manuals. */

enum cadre_option_arg { CADRE_OPTION_NONE, CADRE_OPTION_REQUIRED, CADRE_OPTION_OPTIONAL };
enum cadre_option_flags {
	CADRE_OPTION_VARIADIC = 1, /* takes several words, and may be repeated: each word counts */
	CADRE_OPTION_LIST = 2,     /* the same, but all words together become one comma list */
	CADRE_OPTION_JOINED = 4,   /* its optional value stands behind '=' only */
	CADRE_OPTION_WORD = 8      /* its optional value is a word as those that are no options */
};
struct cadre_option {
	const char *name;  /* without dashes */
	const char *alias; /* another long spelling, or NULL */
	char letter;       /* short, or 0 */
	enum cadre_option_arg arg;
	unsigned flags;
	const char *value; /* how its value is called; NULL without one; session, file and dir say what completes it */
	const char *const *choices; /* NULL-terminated; NULL: any value */
	const char *help;           /* one or more sentences */
};

struct cadre_call; /* of the library */
enum cadre_command_flags {
	CADRE_COMMAND_BLOCKS = 1 /* waits for programs, servers or other processes */
};
struct cadre_command_word {
	const char *name;     /* "show", "marketplace add"; "" if operands follow the command at once */
	const char *operands; /* "NAME [PATH...]"; SESSION, PATH and DIR say what completes them */
	unsigned flags;
	int (*run)(struct cadre_call *call); /* the library's own */
};
struct cadre_command {
	const char *name;
	const char *summary;                    /* one line */
	const char *help;                       /* usage lines and what they do */
	const struct cadre_command_word *words; /* ends with a name NULL; the first is that of no word at all */
	const struct cadre_option *options;     /* its own; ends with a name NULL */
	const char *const *settings;            /* the options of cadre_set() that it looks at; ends with NULL */
};
/* The command behind this one, in the order of the alphabet. NULL: the first; returns NULL behind the last. */
CADRE_API const struct cadre_command *cadre_command_next(const struct cadre_command *before);

#ifdef __cplusplus
}
#endif
#endif
