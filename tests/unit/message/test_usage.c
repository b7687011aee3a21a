/* SPDX-License-Identifier: MIT
 * test_usage.c - token counts in and out of JSON. */
#include "unit.h"
#include "core/message/message.h"
#include "test_message.h"

static void merge(struct usage *u, const char *text)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	CHECK_INT(json_parse(&reader, text, strlen(text), &root, NULL), 0);
	usage_merge(u, root);
}

TEST(a_later_report_overwrites_only_what_it_names)
{
	struct usage u = { 0 };

	merge(&u, "{\"input_tokens\":10,\"output_tokens\":1,\"cache_read_input_tokens\":300,"
		  "\"cache_creation_input_tokens\":50,\"cache_creation\":{\"ephemeral_1h_input_tokens\":20},"
		  "\"server_tool_use\":{\"web_search_requests\":2}}");
	merge(&u, "{\"output_tokens\":42,\"input_tokens\":null,\"cache_creation\":null}");

	CHECK_INT(u.input, 10);
	CHECK_INT(u.output, 42);
	CHECK_INT(u.cache_read, 300);
	CHECK_INT(u.cache_write, 50);
	CHECK_INT(u.cache_write_1h, 20);
	CHECK_INT(u.web_searches, 2);
}

TEST(figures_that_cannot_be_meant_are_passed_over)
{
	struct usage u = { .input = 7 }, sum = { 0 };

	merge(&u, "{\"input_tokens\":-1}");
	merge(&u, "{\"input_tokens\":\"9\"}");
	merge(&u, "{\"input_tokens\":1.5}");
	merge(&u, "{\"input_tokens\":9223372036854775807,\"output_tokens\":9223372036854775807}");
	merge(&u, "[]");
	usage_add(&sum, &u);
	usage_add(&sum, &u);

	CHECK_INT(sum.input, 14);
	CHECK_INT(sum.output, 0);
}

TEST(a_sum_is_written_in_the_form_of_the_api)
{
	struct usage sum = { .input = 1, .web_searches = 1 };
	AUTO_BUF struct buf b = { 0 };
	struct json_out w = json_out(&b);

	usage_add(&sum,
		  &(struct usage){ .input = 2, .output = 3, .cache_read = 4, .cache_write = 5, .cache_write_5m = 6 });
	usage_write(&w, &sum);

	CHECK_CSTR(b.p, "{\"input_tokens\":3,\"cache_creation_input_tokens\":5,\"cache_read_input_tokens\":4,"
			"\"output_tokens\":3,\"cache_creation\":{\"ephemeral_5m_input_tokens\":6,"
			"\"ephemeral_1h_input_tokens\":0},\"server_tool_use\":{\"web_search_requests\":1}}");
	struct usage back = { 0 };
	merge(&back, b.p);
	CHECK(!memcmp(&back, &sum, sizeof back));
}

TEST(one_estimate_makes_the_sum_an_estimate)
{
	struct usage sum = { .input = 1 };
	AUTO_BUF struct buf b = { 0 };
	struct json_out w = json_out(&b);

	usage_add(&sum, &(struct usage){ .input = 2, .estimated = true });
	usage_add(&sum, &(struct usage){ .input = 3 });
	usage_write(&w, &sum);

	CHECK(str_ends(buf_str(&b), STR(",\"estimated\":true}")));
	struct usage back = { 0 };
	merge(&back, b.p);
	CHECK(back.estimated);
}

int test_usage(void)
{
	return RUN_TESTS(T(one_estimate_makes_the_sum_an_estimate), T(a_later_report_overwrites_only_what_it_names),
			 T(figures_that_cannot_be_meant_are_passed_over), T(a_sum_is_written_in_the_form_of_the_api));
}
