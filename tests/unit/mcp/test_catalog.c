/* SPDX-License-Identifier: MIT
 * test_catalog.c - what is read from the lists of a server, and schemas as the API takes them. */
#include "unit.h"
#include "mcp/client/client_int.h"
#include "tests.h"

static const struct {
	const char *schema, *flat;
} schemas[] = {
	/* as it is */
	{ "{\"type\":\"object\",\"properties\":{\"a\":{\"anyOf\":[{},{}]}},\"required\":[\"a\"]}",
	  "{\"type\":\"object\",\"properties\":{\"a\":{\"anyOf\":[{},{}]}},\"required\":[\"a\"]}" },
	/* what is no object */
	{ "null", "{\"type\":\"object\",\"properties\":{}}" },
	{ "{}", "{\"type\":\"object\",\"properties\":{}}" },
	/* of alternatives only what all require is required */
	{ "{\"anyOf\":[{\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\",\"c\"]},"
	  "{\"properties\":{\"b\":{}},\"required\":[\"c\",\"b\"]}],\"properties\":{\"c\":{}},\"description\":\"d\"}",
	  "{\"type\":\"object\",\"properties\":{\"c\":{},\"a\":{\"type\":\"string\"},\"b\":{}},\"required\":[\"c\"],"
	  "\"description\":\"d\"}" },
	/* allOf requires all that its parts do */
	{ "{\"allOf\":[{\"properties\":{\"a\":{}},\"required\":[\"a\"]},{\"properties\":{\"b\":{}},\"required\":[\"b\"]}],"
	  "\"required\":[\"z\"]}",
	  "{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},\"required\":[\"z\",\"a\",\"b\"]}" },
	/* a property that differs between alternatives allows all of them */
	{ "{\"oneOf\":[{\"properties\":{\"kind\":{\"const\":\"x\"}}},{\"properties\":{\"kind\":{\"const\":\"y\"}}},"
	  "{\"properties\":{\"kind\":{ \"const\" : \"x\" }}}]}",
	  "{\"type\":\"object\",\"properties\":{\"kind\":{\"anyOf\":[{\"const\":\"x\"},{\"const\":\"y\"}]}}}" },
	/* references are followed */
	{ "{\"oneOf\":[{\"$ref\":\"#/$defs/p\"}],\"$defs\":{\"p\":{\"properties\":{\"a\":{}},\"required\":[\"a\"]}}}",
	  "{\"type\":\"object\",\"properties\":{\"a\":{}},\"required\":[\"a\"],"
	  "\"$defs\":{\"p\":{\"properties\":{\"a\":{}},\"required\":[\"a\"]}}}" },
	/* nonsense in the places of lists */
	{ "{\"anyOf\":[1,null],\"required\":\"a\",\"properties\":[]}", "{\"type\":\"object\",\"properties\":{}}" },
};

TEST(alternatives_at_the_root_of_a_schema_are_flattened)
{
	for (size_t i = 0; i < COUNT_OF(schemas); i++) {
		AUTO_ARENA struct arena a = { 0 };
		AUTO_JSON struct json_reader r = { 0 };
		const struct json *root;
		CHECK_INT(json_parse(&r, schemas[i].schema, strlen(schemas[i].schema), &root, NULL), 0);
		CHECK_CSTR(mcp_schema_flat(root, &a), schemas[i].flat);
	}
}

TEST(what_a_tool_says_of_itself_is_read)
{
	const struct str texts[MCP_LIST_KINDS] = {
		STR("[{\"name\":\"a\",\"title\":\"T\",\"annotations\":{\"readOnlyHint\":true,\"destructiveHint\":false},"
		    "\"_meta\":{\"anthropic/alwaysLoad\":true,\"anthropic/maxResultSizeChars\":7,"
		    "\"anthropic/requiresUserInteraction\":true}},"
		    "{\"name\":\"a\"},{\"name\":5},{},7,{\"name\":\"task\",\"execution\":{\"taskSupport\":\"required\"}},{\"name\":\"b\",\"annotations\":{\"title\":\"of b\"}}]"),
		STR(""),
		STR(""),
	};
	struct mcp_catalog *c = mcp_catalog_new(STR("{}"), texts, false);

	CHECK_INT(c->tool_count, 2);
	CHECK_CSTR(c->tools[0].title, "T");
	CHECK(c->tools[0].read_only && !c->tools[0].destructive && c->tools[0].open_world);
	CHECK(c->tools[0].always_load && c->tools[0].needs_user);
	CHECK_INT(c->tools[0].most_chars, 7);
	CHECK_CSTR(c->tools[1].title, "of b");
	CHECK(!c->tools[1].read_only && c->tools[1].destructive);
	CHECK_CSTR(c->instructions, "");
	mcp_catalog_unref(c);
}

int test_catalog(void)
{
	return RUN_TESTS(T(alternatives_at_the_root_of_a_schema_are_flattened), T(what_a_tool_says_of_itself_is_read));
}
