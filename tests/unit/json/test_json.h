/* SPDX-License-Identifier: MIT
 * test_json.h - the groups of this program, and what they share. */
#pragma once
#include "lib/json/json.h"

int test_read(void);
int test_value(void);
int test_write(void);
int test_schema(void);
int test_oracle(void);

/* A document in memory of exactly its size, so that ASan sees a read behind the end. */
struct doc {
	char *text;
	struct json_reader reader;
	const struct json *root; /* NULL if it was rejected */
	int rc;
	struct err err;
};

struct doc doc_parse(struct str text);
void doc_release(struct doc *d);
#define AUTO_DOC CLEANUP(doc_release)

/* jansson's view of a text: -1 if it rejects it, else 0 and the values in the form that dump_value() writes.
 */
enum oracle_reason { ORACLE_SYNTAX = 1, ORACLE_NUMBER, ORACLE_NUL_IN_KEY };
int oracle_dump(struct str text, struct buf *out, enum oracle_reason *ret_reason);
