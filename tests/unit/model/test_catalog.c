/* SPDX-License-Identifier: MIT
 * test_catalog.c - names of models, their ids and prices. */
#include "unit.h"
#include "core/model/catalog.h"
#include "core/model/provider.h"
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
	{ "openai/llama", "openai/llama" },
	{ "openai/openai/gpt-oss-20b", "openai/openai/gpt-oss-20b" },
	{ "anthropic/sonnet", "anthropic/claude-sonnet-5-5" },
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
	CHECK_CSTR(model_default(NULL), "opus");
	unsetenv("ANTHROPIC_MODEL");
	CHECK_CSTR(model_default(NULL), "default");
}

TEST(a_provider_without_aliases_takes_any_name_but_theirs)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct providers p = { .usual = provider_find(NULL, STR("openai")) };
	struct err err = { 0 };
	const char *id;

	CHECK_INT(model_resolve_at(&a, &p, "llama", &id, &err), 0);
	CHECK_CSTR(id, "llama");
	CHECK_INT(model_resolve_at(&a, &p, "anthropic/opus", &id, &err), 0);
	CHECK_CSTR(id, "anthropic/claude-opus-5-5");
	CHECK_INT(model_resolve_at(&a, &p, "haiku", &id, &err), -ERR_USAGE);
	CHECK_CSTR(err.text, "the provider openai has no model 'haiku': name one of its own");
	setenv("ANTHROPIC_DEFAULT_HAIKU_MODEL", "small", 1);
	CHECK_INT(model_resolve_at(&a, &p, "haiku", &id, &err), 0);
	CHECK_CSTR(id, "small");
	unsetenv("ANTHROPIC_DEFAULT_HAIKU_MODEL");
}

TEST(the_default_is_the_variable_then_what_is_configured_then_the_alias)
{
	const struct providers usual = { .usual = provider_find(NULL, STR("anthropic")) };
	const struct providers other = { .usual = provider_find(NULL, STR("openai")) };
	struct err err = { 0 };
	const char *name;

	CHECK_INT(model_default_at(&other, NULL, &name, &err), -ERR_USAGE);
	CHECK(strstr(err.text, "OPENAI_MODEL") != NULL);
	CHECK_INT(model_default_at(&other, "mine", &name, &err), 0);
	CHECK_CSTR(name, "mine");
	setenv("OPENAI_MODEL", "theirs", 1);
	CHECK_INT(model_default_at(&other, "mine", &name, &err), 0);
	CHECK_CSTR(name, "theirs");
	unsetenv("OPENAI_MODEL");
	CHECK_INT(model_default_at(&usual, NULL, &name, &err), 0);
	CHECK_CSTR(name, "default");
}

TEST(a_model_names_its_provider_or_nobody)
{
	static const struct {
		const char *model, *provider, *name;
	} models[] = {
		{ "openai/gpt-4o", "openai", "gpt-4o" },
		{ "openai/openai/x", "openai", "openai/x" },
		{ "gpt-4o", NULL, "gpt-4o" },
		{ "org/model", NULL, "org/model" },
		{ "openai/", NULL, "openai/" },
		{ "openai", NULL, "openai" },
	};

	for (size_t i = 0; i < COUNT_OF(models); i++) {
		const char *name;
		const struct provider *p = provider_of(NULL, models[i].model, &name);
		CHECK_INT(p == NULL, models[i].provider == NULL);
		if (p)
			CHECK_CSTR(p->name, models[i].provider);
		CHECK_CSTR(name, models[i].name);
	}
}

TEST(the_longest_prefix_of_an_id_decides_its_price)
{
	CHECK_CSTR(model_find(NULL, "claude-opus-5-5-20261101").id, "claude-opus-5-5");
	CHECK_CSTR(model_find(NULL, "claude-opus-5").id, "claude-opus-5");
	CHECK_CSTR(model_find(NULL, "claude-fable-5-2").id, "claude-fable-5-2");
	CHECK_CSTR(model_find(NULL, "gpt-x").id, "");
	CHECK_INT(model_find(NULL, "gpt-x").context, 128000);
	CHECK_CSTR(model_find(NULL, "openai/gpt-4o-mini-2024").id, "gpt-4o-mini");
	CHECK_CSTR(model_find(NULL, "gpt-5-pro").id, "");
	CHECK_CSTR(model_find(NULL, "gpt-5.7").id, "");
	CHECK_CSTR(model_find(NULL, "o3-mini").id, "");
	CHECK(model_has_price(NULL, "claude-haiku-4-5-20251001") && !model_has_price(NULL, "gpt-5-pro"));
	CHECK_INT(model_find(NULL, "claude-haiku-4-5").max_output, 64000);
}

TEST(cost_counts_each_kind_of_token_at_its_price)
{
	struct usage u = { .input = 1000000,
			   .output = 1000000,
			   .cache_read = 1000000,
			   .cache_write = 3000000,
			   .cache_write_1h = 1000000 };

	/* 5 input, 25 output, 0.5 read, 2 x 6.25 short writes, 10 long write */
	assert_float_equal(model_cost_usd(NULL, "claude-opus-5", &u), 53.0, 1e-9);
	assert_float_equal(model_cost_usd(NULL, "unknown-1", &u), 0.0, 1e-9);
}

TEST(a_name_that_a_cloud_gives_is_the_companys_model)
{
	static const char *const given[] = { "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
					     "global.anthropic.claude-sonnet-4-5-20250929-v1:0",
					     "anthropic.claude-sonnet-4-5",
					     "claude-sonnet-4-5@20250929",
					     "anthropic/claude-sonnet-4.5:free",
					     "claude-sonnet-4-5[1m]" };

	for (size_t i = 0; i < COUNT_OF(given); i++) {
		CHECK_CSTR(model_find(NULL, given[i]).id, "claude-sonnet-4-5");
		CHECK_INT(model_find(NULL, given[i]).context, 200000);
	}
}

TEST(a_long_prompt_costs_the_price_of_its_step)
{
	struct usage small = { .input = 100, .output = 5 },
		     large = { .input = 100000, .cache_read = 1, .output = 1000000 };

	assert_float_equal(model_cost_usd(NULL, "claude-haiku-5-5", &small), 0.0000125, 1e-12);
	assert_float_equal(model_cost_usd(NULL, "claude-haiku-5-5", &large), 0.05 + 0.00000005 + 2.5, 1e-9);
}

/* Requests of a week as vendors bill them: USD per million tokens from their price pages, in the comment. */
TEST(a_week_of_requests_costs_what_the_vendors_bill)
{
	static const struct {
		const char *model;
		int requests;
		struct usage usage;
		double usd; /* of all of them */
	} week[] = {
		/* 0.10, write 0.125, read 0.01, 0.50: 500 + 1875 + 600 + 1000 */
		{ "claude-haiku-5-5",
		  1000,
		  { .input = 5000, .cache_write = 15000, .cache_read = 60000, .output = 2000 },
		  3.975 },
		/* above 100,000: 0.50, 0.625, 0.05, 2.50: 5000 + 25000 + 5000 + 7500 */
		{ "claude-haiku-5-5",
		  200,
		  { .input = 10000, .cache_write = 40000, .cache_read = 100000, .output = 3000 },
		  8.50 },
		/* exactly 100,000 is not above it: 10000 + 500 */
		{ "claude-haiku-5-5", 100, { .input = 100000, .output = 1000 }, 1.05 },
		/* 4, write 5, for an hour 8, read 0.20, 20: 12000 + 25000 + 160000 + 40000 + 80000 */
		{ "claude-opus-5-5",
		  500,
		  { .input = 3000,
		    .cache_write = 25000,
		    .cache_write_1h = 20000,
		    .cache_read = 200000,
		    .output = 4000 },
		  158.50 },
		/* 10, read 1, 50: 720000 + 200000 + 50000; 272,000 is not above 272,000 */
		{ "gpt-6-astra", 10, { .input = 72000, .cache_read = 200000, .output = 1000 }, 9.70 },
		/* above: 20, write 25, read 2, 75: 1000000 + 250000 + 480000 + 375000 */
		{ "gpt-6-astra",
		  100,
		  { .input = 50000, .cache_write = 10000, .cache_read = 240000, .output = 5000 },
		  210.50 },
		/* 2, read 0.20, 12: 100000 + 10000 + 24000 */
		{ "gemini-3.1-pro-preview", 100, { .input = 50000, .cache_read = 50000, .output = 2000 }, 13.40 },
		/* above 200,000: 4, read 0.40, 18: 200000 + 80000 + 36000 */
		{ "gemini-3.1-pro-preview", 100, { .input = 50000, .cache_read = 200000, .output = 2000 }, 31.60 },
		/* 15, read 1.50, 75: 150000 + 15000 + 75000 */
		{ "claude-opus-4-1-20250805", 10, { .input = 10000, .cache_read = 10000, .output = 1000 }, 2.40 },
		/* 5, 25 */
		{ "claude-opus-4-8", 10, { .input = 10000, .output = 1000 }, 0.75 },
	};

	for (size_t i = 0; i < COUNT_OF(week); i++) {
		double usd = 0;
		for (int k = 0; k < week[i].requests; k++)
			usd += model_cost_usd(NULL, week[i].model, &week[i].usage);
		print_message("# %s %.4f\n", week[i].model, usd);
		assert_float_equal(usd, week[i].usd, 0.0001);
	}
}

int test_catalog(void)
{
	return RUN_TESTS(
		T(aliases_become_ids_and_ids_pass_through), T(the_environment_decides_what_an_alias_means),
		T(a_provider_without_aliases_takes_any_name_but_theirs),
		T(the_default_is_the_variable_then_what_is_configured_then_the_alias),
		T(a_model_names_its_provider_or_nobody), T(the_longest_prefix_of_an_id_decides_its_price),
		T(cost_counts_each_kind_of_token_at_its_price), T(a_name_that_a_cloud_gives_is_the_companys_model),
		T(a_long_prompt_costs_the_price_of_its_step), T(a_week_of_requests_costs_what_the_vendors_bill));
}
