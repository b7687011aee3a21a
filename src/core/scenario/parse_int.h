/* SPDX-License-Identifier: MIT
 * parse_int.h - internals of the scenario parser: the position in the text, and the tokens of a line.
 *
 * How to add a statement: 1. write a statement_fn in scenario_rule.c, for a setting in scenario_parse.c, or use one that is
 * there; 2. give it a row in the table of that file; 3. describe it at the top of scenario_parse.c and in
 * docs/scenarios.md. */
#pragma once
#include "core/scenario/scenario.h"

struct parser {
	const char *name; /* of the file, for messages */
	unsigned line;
	struct str text; /* lines not yet read; p is NULL at the end */
	struct str rest; /* of the current line, trimmed */
	struct scenario *scenario;
	struct rule *rule; /* NULL before the first one */
	struct pace *pace; /* of the rule, or of the file before the first rule */
	struct rule **next_rule;
	struct block **next_block;
};

struct statement;
typedef int statement_fn(struct parser *p, const struct statement *s, struct err *err);
struct statement {
	const char *word;
	statement_fn *parse;
	int kind;         /* of the condition, block, fault or value */
	size_t offset;    /* of a value in struct scenario, rule or pace */
	const char *what; /* the value in messages */
	enum value_base { OF_SCENARIO, OF_RULE, OF_PACE } base;
};
enum value_kind { VALUE_NUMBER, VALUE_SIZE, VALUE_RANGE, VALUE_TIME, VALUE_TEXT, VALUE_SWITCH };
statement_fn parse_value;                                                               /* the value at s->offset */
const struct statement *find_statement(const struct statement *table, struct str word); /* NULL if there is none */
extern const struct statement rule_statements[];   /* sorted by word, like the others; ends with a NULL word */
extern const struct statement pace_statements[];   /* allowed in rules and before them */
int rule_check(struct parser *p, struct err *err); /* checks that the ending rule has exactly one kind of answer */

/* On a syntax error all set "NAME:LINE: ..." and return -ERR_PARSE. */
int parse_fail(const struct parser *p, struct err *err, const char *fmt, ...) printf_like(3, 4);
struct str take_word(struct parser *p); /* up to a blank; empty at the end of the line */
int take_name(struct parser *p, const char *what, struct str *ret, struct err *err);
int take_number(struct parser *p, const char *what, uint64_t *ret, struct err *err);
int take_size(struct parser *p, uint64_t *ret, struct err *err);      /* 300, 64KB, 10MB */
int take_range(struct parser *p, struct range *ret, struct err *err); /* 3, 1-3, 4+ */
int take_time(struct parser *p, struct range *ret, struct err *err);  /* 50, 50ms, 2s, 100..300ms */
int take_string(struct parser *p, struct str *ret, struct err *err);  /* "..." with JSON's escapes */
int take_text(struct parser *p, struct str *ret, struct err *err);    /* rest of the line, "..." or <<WORD block */
bool take_given(struct parser *p, const char *word);                  /* consumes it if it is the next word */

/* template.c. json: the text is a JSON value, values inside its strings are escaped and the whole is checked. */
int template_parse(struct parser *p, struct str text, bool json, struct text_template *ret, struct err *err);
int parse_source(struct parser *p, struct str word, struct source *ret, struct err *err);
