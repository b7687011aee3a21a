/* SPDX-License-Identifier: MIT
 * test_schema.c - which values a schema lets pass, and what the model is told about the others. */
#include "unit.h"
#include "lib/json/json_schema.h"
#include "test_json.h"

struct row {
	const char *schema, *value;
	const char *error; /* NULL: conforms */
};

static void check_rows(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		AUTO_DOC struct doc schema = doc_parse(str_from(rows[i].schema)),
				    value = doc_parse(str_from(rows[i].value));
		struct err err = { 0 };
		if (schema.rc || value.rc)
			fail_msg("row %zu: %s%s", i, schema.err.text, value.err.text);
		int rc = json_schema_check(schema.root, value.root, &err);
		if (rc != (rows[i].error ? -ERR_PARSE : 0))
			fail_msg("%s against %s: %d %s", rows[i].value, rows[i].schema, rc, err.text);
		CHECK_CSTR(err.text, rows[i].error ? rows[i].error : "");
	}
}

static const char read_schema[] =
	"{\"type\":\"object\",\"properties\":{\"file_path\":{\"type\":\"string\",\"description\":\"x\"},"
	"\"offset\":{\"type\":\"integer\",\"minimum\":0},\"limit\":{\"type\":\"integer\","
	"\"exclusiveMinimum\":0}},"
	"\"required\":[\"file_path\"],\"additionalProperties\":false}";

TEST(tool_inputs_are_checked_with_messages_for_the_model)
{
	static const struct row rows[] = {
		{ read_schema, "{\"file_path\":\"/a\"}", NULL },
		{ read_schema, "{\"file_path\":\"/a\",\"offset\":0,\"limit\":10}", NULL },
		{ read_schema, "{}", "file_path: required parameter is missing" },
		{ read_schema, "{\"path\":\"/a\"}", "file_path: required parameter is missing" },
		{ read_schema, "{\"file_path\":\"/a\",\"limit\":\"10\"}", "limit: expected an integer, got a string" },
		{ read_schema, "{\"file_path\":\"/a\",\"limit\":1.5}",
		  "limit: expected an integer, got a number with a fraction" },
		{ read_schema, "{\"file_path\":\"/a\",\"limit\":10.0}", NULL },
		{ read_schema, "{\"file_path\":\"/a\",\"limit\":0}", "limit: must be more than 0" },
		{ read_schema, "{\"file_path\":\"/a\",\"offset\":-1}", "offset: must be at least 0" },
		{ read_schema, "{\"file_path\":null}", "file_path: expected a string, got null" },
		{ read_schema, "{\"file_path\":\"/a\",\"x\":1}", "An unexpected parameter `x` was provided" },
		{ read_schema, "[]", "expected an object, got an array" },
		{ read_schema, "{\"file\\u005fpath\":\"/a\"}", NULL },
	};

	check_rows(rows, COUNT_OF(rows));
}

TEST(types_are_told_apart)
{
	static const struct row rows[] = {
		{ "{\"type\":\"string\"}", "\"\"", NULL },
		{ "{\"type\":\"string\"}", "1", "expected a string, got a number" },
		{ "{\"type\":\"number\"}", "1.5", NULL },
		{ "{\"type\":\"number\"}", "true", "expected a number, got a boolean" },
		{ "{\"type\":\"integer\"}", "1e2", NULL },
		{ "{\"type\":\"integer\"}", "123456789012345678901234567890", NULL },
		{ "{\"type\":\"boolean\"}", "false", NULL },
		{ "{\"type\":\"boolean\"}", "true", NULL },
		{ "{\"type\":\"boolean\"}", "\"true\"", "expected a boolean, got a string" },
		{ "{\"type\":\"null\"}", "0", "expected null, got a number" },
		{ "{\"type\":\"array\"}", "{}", "expected an array, got an object" },
		{ "{\"type\":[\"string\",\"null\"]}", "null", NULL },
		{ "{\"type\":[\"string\",\"null\"]}", "[]", "expected a string or null, got an array" },
		{ "{\"type\":[\"integer\",\"boolean\",\"null\"]}", "\"\"",
		  "expected an integer or a boolean or null, got a string" },
		{ "true", "1", NULL },
		{ "false", "1", "no value is allowed here" },
		{ "{}", "[1,{}]", NULL },
		{ "{\"unknownKeyword\":{\"type\":\"string\"},\"pattern\":\"^a$\",\"format\":\"uri\"}", "\"b\"", NULL },
	};

	check_rows(rows, COUNT_OF(rows));
}

TEST(values_are_held_to_lists_and_bounds)
{
	static const struct row rows[] = {
		{ "{\"enum\":[\"a\",\"b\",3]}", "\"b\"", NULL },
		{ "{\"enum\":[\"a\",\"b\",3]}", "3.0", NULL },
		{ "{\"enum\":[\"a\",\"b\",3]}", "\"c\"", "expected one of \"a\", \"b\", 3" },
		{ "{\"const\":{\"a\":[1]}}", "{\"a\":[1.0]}", NULL },
		{ "{\"const\":\"x\"}", "\"y\"", "expected \"x\"" },
		{ "{\"minimum\":1,\"maximum\":5}", "1", NULL },
		{ "{\"minimum\":1,\"maximum\":5}", "5", NULL },
		{ "{\"minimum\":1,\"maximum\":5}", "0.9", "must be at least 1" },
		{ "{\"minimum\":1,\"maximum\":5}", "5.1", "must be at most 5" },
		{ "{\"exclusiveMinimum\":1,\"exclusiveMaximum\":5}", "3", NULL },
		{ "{\"exclusiveMinimum\":1}", "1", "must be more than 1" },
		{ "{\"exclusiveMaximum\":5}", "5", "must be less than 5" },
		{ "{\"minimum\":1}", "\"0\"", NULL },
		{ "{\"minLength\":2,\"maxLength\":3}", "\"\xc3\xa4\xc3\xb6\\u00fc\"", NULL },
		{ "{\"minLength\":1}", "\"\"", "must have at least 1 character, has 0" },
		{ "{\"maxLength\":3}", "\"abcd\"", "must have at most 3 characters, has 4" },
		{ "{\"minItems\":1,\"maxItems\":2}", "[1]", NULL },
		{ "{\"minItems\":1}", "[]", "must have at least 1 item, has 0" },
		{ "{\"maxItems\":2}", "[1,2,3]", "must have at most 2 items, has 3" },
	};

	check_rows(rows, COUNT_OF(rows));
}

TEST(faults_in_nested_values_are_named_by_their_path)
{
	static const char edits[] =
		"{\"properties\":{\"edits\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":["
		"\"old\"],"
		"\"properties\":{\"old\":{\"type\":\"string\"}},\"additionalProperties\":false}}}}";
	static const struct row rows[] = {
		{ edits, "{\"edits\":[{\"old\":\"a\"},{\"old\":\"b\"}],\"other\":1}", NULL },
		{ edits, "{\"edits\":[{\"old\":\"a\"},{}]}", "edits[1].old: required parameter is missing" },
		{ edits, "{\"edits\":[{\"old\":1}]}", "edits[0].old: expected a string, got a number" },
		{ edits, "{\"edits\":[{\"old\":\"a\",\"new\":\"b\"}]}",
		  "An unexpected parameter `edits[0].new` was provided" },
		{ edits, "{\"edits\":{}}", "edits: expected an array, got an object" },
		{ "{\"items\":{\"items\":{\"type\":\"null\"}}}", "[[null],[null,1]]",
		  "[1][1]: expected null, got a number" },
		{ "{\"additionalProperties\":{\"type\":\"string\"}}", "{\"a\":\"x\",\"b\":2}",
		  "b: expected a string, got a number" },
		{ "{\"properties\":{\"a\":true},\"additionalProperties\":{\"type\":\"string\"}}", "{\"a\":1}", NULL },
		{ "{\"patternProperties\":{\"^x\":{}},\"additionalProperties\":false}", "{\"x1\":1}", NULL },
		{ "{\"prefixItems\":[{\"type\":\"string\"}],\"items\":{\"type\":\"null\"}}", "[\"a\",null,null]",
		  NULL },
		{ "{\"prefixItems\":[{\"type\":\"string\"}],\"items\":{\"type\":\"null\"}}", "[null]",
		  "[0]: expected a string, got null" },
		{ "{\"prefixItems\":[{\"type\":\"string\"}],\"items\":{\"type\":\"null\"}}", "[\"a\",1]",
		  "[1]: expected null, got a number" },
		{ "{\"items\":[{\"type\":\"string\"}]}", "[\"a\",1]", NULL },
		{ "{\"items\":[{\"type\":\"string\"}]}", "[1]", "[0]: expected a string, got a number" },
	};

	check_rows(rows, COUNT_OF(rows));
}

TEST(alternatives_and_references_are_followed)
{
	static const char tree[] =
		"{\"$ref\":\"#/$defs/node\",\"$defs\":{\"node\":{\"type\":\"object\",\"required\":[\"name\"],"
		"\"properties\":{\"kids\":{\"items\":{\"$ref\":\"#/$defs/node\"}}}}}}";
	static const char any[] =
		"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"array\",\"items\":{\"type\":\"string\"}}]}";
	static const char one[] = "{\"oneOf\":[{\"type\":\"integer\"},{\"minimum\":5}]}";
	static const struct row rows[] = {
		{ any, "\"a\"", NULL },
		{ any, "[\"a\"]", NULL },
		{ any, "[1]", "expected a string, got an array; or [0]: expected a string, got a number" },
		{ one, "3", NULL },
		{ one, "5.5", NULL },
		{ one, "6", "matches 2 forms where exactly one is allowed" },
		{ one, "1.5", "expected an integer, got a number with a fraction; or must be at least 5" },
		{ "{\"allOf\":[{\"minimum\":1},{\"maximum\":5}]}", "3", NULL },
		{ "{\"allOf\":[{\"minimum\":1},{\"maximum\":5}]}", "6", "must be at most 5" },
		{ tree, "{\"name\":1,\"kids\":[{\"name\":2,\"kids\":[]}]}", NULL },
		{ tree, "{\"name\":1,\"kids\":[{\"name\":2,\"kids\":[{}]}]}",
		  "kids[0].kids[0].name: required parameter is missing" },
		{ "{\"$ref\":\"#/definitions/a~1b~0c\",\"definitions\":{\"a/b~c\":{\"type\":\"null\"}}}", "1",
		  "expected null, got a number" },
		{ "{\"properties\":{\"a\":{\"$ref\":\"#\"}},\"required\":[\"a\"]}", "{\"a\":{}}",
		  "a.a: required parameter is missing" },
		{ "{\"$ref\":\"#/\",\"\":{\"type\":\"null\"}}", "1", "expected null, got a number" },
		{ "{\"$ref\":\"#/$defs/none\"}", "1", "the schema has no \"#/$defs/none\"" },
		{ "{\"$ref\":\"http://example.invalid/s.json\"}", "1",
		  "the schema has no \"http://example.invalid/s.json\"" },
	};

	check_rows(rows, COUNT_OF(rows));
}

TEST(a_schema_that_turns_in_circles_is_given_up)
{
	static const char *const schemas[] = {
		"{\"$ref\":\"#\"}",
		"{\"anyOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}]}",
		"{\"$ref\":\"#/a\",\"a\":{\"$ref\":\"#/b\"},\"b\":{\"allOf\":[{\"$ref\":\"#/a\"}]}}",
	};

	AUTO_BUF struct buf text = { 0 }; /* large, so that the steps granted for it would exhaust the stack */
	buf_addstr(&text, "[0");
	for (int i = 0; i < 20000; i++)
		buf_addstr(&text, ",0");
	buf_addch(&text, ']');

	for (size_t i = 0; i < COUNT_OF(schemas); i++) {
		AUTO_DOC struct doc schema = doc_parse(str_from(schemas[i])), value = doc_parse(buf_str(&text));
		struct err err = { 0 };
		CHECK_INT(json_schema_check(schema.root, value.root, &err), -ERR_LIMIT);
		CHECK_CSTR(err.text, "the schema is too complex to check");
	}
}

/* Each level tries two alternatives that only fail at the bottom: 2^40 ways without a limit on steps. */
TEST(alternatives_that_multiply_are_given_up)
{
	AUTO_BUF struct buf text = { 0 };
	struct err err = { 0 };
	buf_addstr(&text, "{\"$ref\":\"#/$defs/0\",\"$defs\":{");
	for (int i = 0; i < 40; i++)
		buf_addf(&text, "\"%d\":{\"anyOf\":[{\"$ref\":\"#/$defs/%d\"},{\"$ref\":\"#/$defs/%d\"}]},", i, i + 1,
			 i + 1);
	buf_addstr(&text, "\"40\":false}}");
	AUTO_DOC struct doc schema = doc_parse(buf_str(&text)), value = doc_parse(STR("1"));

	CHECK_INT(json_schema_check(schema.root, value.root, &err), -ERR_LIMIT);
}

TEST(what_is_no_schema_is_told_by_its_keyword)
{
	static const struct {
		const char *schema, *error; /* NULL: it is one */
	} rows[] = {
		{ "{}", NULL },
		{ "true", NULL },
		{ "{\"type\":[\"string\",\"null\"],\"x-own\":[1]}", NULL },
		{ "{\"properties\":{\"a\":false},\"required\":[],\"items\":[{}]}", NULL },
		{ "{\"enum\":[1,\"a\"],\"minimum\":-1.5,\"maxLength\":0}", NULL },
		{ "[]", "a schema is an object or a boolean, but the whole is neither" },
		{ "{\"type\":\"strin\"}",
		  "'type' must be array, boolean, integer, null, number, object or string, or a list of them" },
		{ "{\"type\":[]}",
		  "'type' must be array, boolean, integer, null, number, object or string, or a list of them" },
		{ "{\"properties\":[]}", "'properties' must be an object of schemas" },
		{ "{\"properties\":{\"a\":{\"items\":3}}}",
		  "a schema is an object or a boolean, but items is neither" },
		{ "{\"required\":[\"a\",1]}", "'required' must be a list of names" },
		{ "{\"anyOf\":[]}", "'anyOf' must be a list of at least one schema" },
		{ "{\"$defs\":{\"a\":{\"minLength\":-1}}}", "'minLength' must be a whole number from 0 on" },
		{ "{\"not\":{\"maximum\":\"1\"}}", "'maximum' must be a number" },
		{ "{\"enum\":{}}", "'enum' must be a list" },
		{ "{\"pattern\":1}", "'pattern' must be a string" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_DOC struct doc schema = doc_parse(str_from(rows[i].schema));
		struct err err = { 0 };

		int rc = json_schema_form(schema.root, &err);

		CHECK_INT(rc, rows[i].error ? -ERR_PARSE : 0);
		CHECK_CSTR(err.text, rows[i].error ? rows[i].error : "");
	}
}

TEST(a_schema_that_is_nested_too_deeply_is_refused)
{
	AUTO_BUF struct buf text = { 0 };
	struct err err = { 0 };

	for (int i = 0; i < 200; i++)
		buf_addstr(&text, "{\"not\":");
	buf_addstr(&text, "{}");
	for (int i = 0; i < 200; i++)
		buf_addch(&text, '}');
	AUTO_DOC struct doc schema = doc_parse(buf_str(&text));

	CHECK_INT(json_schema_form(schema.root, &err), -ERR_LIMIT);
}

int test_schema(void)
{
	return RUN_TESTS(T(tool_inputs_are_checked_with_messages_for_the_model), T(types_are_told_apart),
			 T(values_are_held_to_lists_and_bounds), T(faults_in_nested_values_are_named_by_their_path),
			 T(alternatives_and_references_are_followed), T(a_schema_that_turns_in_circles_is_given_up),
			 T(alternatives_that_multiply_are_given_up), T(what_is_no_schema_is_told_by_its_keyword),
			 T(a_schema_that_is_nested_too_deeply_is_refused));
}
