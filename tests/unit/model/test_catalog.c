/* SPDX-License-Identifier: MIT
 * test_catalog.c - names of models, their ids and prices. */
#include "unit.h"
#include "model/catalog.h"
#include "test_model.h"

/* expected NULL: no such model. */
static const struct {
	const char *name, *expected;
} names[] = {
	{ "sonnet", "claude-sonnet-5-5" },
	{ "Opus", "claude-opus-5-5" },
	{ " haiku ", "claude-haiku-5-5" },
	{ "opus[1m]", "claude-opus-5-5" },
	{ "default", "claude-sonnet-5-5" },
	{ "claude-3-5-haiku-20241022", "claude-3-5-haiku-20241022" },
	{ "claude-sonnet-5-5[1m]", "claude-sonnet-5-5" },
	{ "llama3", "llama3" },
	{ "org/model", "org/model" },
	{ "sonet", NULL },
	{ "", NULL },
	{ "[1m]", NULL },
};

TEST(aliases_become_ids_and_ids_pass_through)
{
	AUTO_ARENA struct arena a = { 0 };

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct err err = { 0 };
		const char *id = NULL;
		int status = model_resolve(&a, names[i].name, &id, &err);
		CHECK_INT(status, names[i].expected ? 0 : -ERR_USAGE);
		if (names[i].expected)
			CHECK_CSTR(id, names[i].expected);
		else
			CHECK(strstr(err.text, "opus, sonnet, haiku") != NULL);
	}
}

TEST(the_environment_decides_what_an_alias_means)
{
	AUTO_ARENA struct arena a = { 0 };
	struct err err = { 0 };
	const char *id;

	setenv("ANTHROPIC_DEFAULT_SONNET_MODEL", "my-sonnet", 1);
	CHECK_INT(model_resolve(&a, "sonnet", &id, &err), 0);
	CHECK_CSTR(id, "my-sonnet");
	setenv("ANTHROPIC_DEFAULT_SONNET_MODEL", "", 1);
	CHECK_INT(model_resolve(&a, "sonnet", &id, &err), 0);
	CHECK_CSTR(id, "claude-sonnet-5-5");
	unsetenv("ANTHROPIC_DEFAULT_SONNET_MODEL");
	setenv("ANTHROPIC_MODEL", "opus", 1);
	CHECK_CSTR(model_default(), "opus");
	unsetenv("ANTHROPIC_MODEL");
	CHECK_CSTR(model_default(), "default");
}

TEST(the_longest_prefix_of_an_id_decides_its_price)
{
	CHECK_CSTR(model_find("claude-opus-5-5-20261101")->id, "claude-opus-5-5");
	CHECK_CSTR(model_find("claude-opus-5")->id, "claude-opus-5");
	CHECK_CSTR(model_find("claude-fable-5-2")->id, "claude-fable-5-2");
	CHECK_CSTR(model_find("gpt-x")->id, "");
	CHECK_INT(model_find("gpt-x")->context, 200000);
	CHECK_INT(model_find("claude-haiku-4-5")->max_output, 64000);
}

TEST(cost_counts_each_kind_of_token_at_its_price)
{
	struct usage u = { .input = 1000000,
			   .output = 1000000,
			   .cache_read = 1000000,
			   .cache_write = 3000000,
			   .cache_write_1h = 1000000 };

	/* 5 input, 25 output, 0.5 read, 2 x 6.25 short writes, 10 long write */
	assert_float_equal(model_cost_usd("claude-opus-5", &u), 53.0, 1e-9);
	assert_float_equal(model_cost_usd("unknown-1", &u), 0.0, 1e-9);
}

int test_catalog(void)
{
	return RUN_TESTS(T(aliases_become_ids_and_ids_pass_through), T(the_environment_decides_what_an_alias_means),
			 T(the_longest_prefix_of_an_id_decides_its_price),
			 T(cost_counts_each_kind_of_token_at_its_price));
}
