/* SPDX-License-Identifier: MIT
 * json_schema.h - checks a value against the subset of JSON Schema that tool inputs and structured output need: type
 * (also a list), properties, required, additionalProperties (false or a schema), items, prefixItems, enum, const,
 * minimum, maximum, exclusiveMinimum, exclusiveMaximum, minLength, maxLength, minItems, maxItems, pattern (ignored here),
 * anyOf, oneOf, allOf, $ref into the same schema (#/$defs/x, #/definitions/x, #). Unknown keywords are ignored, as the standard says. */
#pragma once
#include "lib/json/json.h"

/* 0 if value conforms. Otherwise -ERR_PARSE with a text for the model that names the path and what was expected:
 * "file_path: required parameter is missing", "limit: expected an integer, got a string", "An unexpected parameter `x`
 * was provided". Faults in nested values are named by their path, "edits[0].old_string: ...".
 * -ERR_LIMIT if the schema has a $ref loop or its alternatives multiply. */
int json_schema_check(const struct json *schema, const struct json *value, struct err *err);
/* 0 if it is a valid schema. Otherwise -ERR_PARSE or -ERR_LIMIT with the first invalid keyword. */
int json_schema_form(const struct json *schema, struct err *err);
