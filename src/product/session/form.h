/* SPDX-License-Identifier: MIT
 * form.h - what an MCP server wants to know, as questions that a person can be asked one after the other. */
#pragma once
#include "lib/json/json.h"

/* {"questions":[{"question","options":[{"label","description"}],"multiSelect"}]}, the form of AskUserQuestion: one for each
 * property of requested_schema; for an address, or a form without properties, whether the user agrees. */
void form_questions(struct buf *out, const struct json *elicitation);
/* The answers in the types of the schema; one that is NULL or does not fit its type is left out. True: the user agreed. */
bool form_content(struct buf *out, const struct json *elicitation, const char *const *answers, size_t count);
