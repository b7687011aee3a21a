/* SPDX-License-Identifier: MIT
 * test_endpoints.c - one endpoint for each provider, opened when it is first needed. */
#include "unit.h"
#include "core/model/provider.h"
#include "test_model.h"

struct host {
	struct endpoints endpoints;
	struct loop *loop;
	const char *key;
	unsigned asked;
};

static void configure(void *data, const struct provider *p, struct endpoint_options *ret)
{
	struct host *h = data;

	(void)p;
	h->asked++;
	ret->api_key = h->key;
	ret->base_url = "http://127.0.0.1:9";
}

static void host_init(struct host *h)
{
	*h = (struct host){ .loop = loop_new(0), .key = "k" };
	h->endpoints = (struct endpoints){ .loop = h->loop,
					   .providers.usual = provider_find(NULL, STR("anthropic")),
					   .most = 10,
					   .configure = configure,
					   .data = h };
}

static void host_release(struct host *h)
{
	endpoints_close(&h->endpoints);
	loop_run(h->loop);
	loop_free(h->loop);
}

TEST(models_of_one_provider_share_an_endpoint_and_others_have_their_own)
{
	struct endpoint *plain, *named, *other;
	struct err err = { 0 };
	struct host h;
	host_init(&h);

	CHECK_INT(endpoints_find(&h.endpoints, "claude-x-1", &plain, &err), 0);
	CHECK_INT(endpoints_find(&h.endpoints, "anthropic/claude-y-1", &named, &err), 0);
	CHECK_INT(endpoints_find(&h.endpoints, "openai/gpt-4o", &other, &err), 0);

	CHECK(plain == named && plain != other);
	CHECK_CSTR(other->provider->name, "openai");
	CHECK_INT(h.asked, 2);
	host_release(&h);
}

TEST(each_endpoint_has_a_governor_with_the_same_limit)
{
	struct endpoint *one, *two;
	struct err err = { 0 };
	struct host h;
	host_init(&h);

	CHECK_INT(endpoints_find(&h.endpoints, "claude-x-1", &one, &err), 0);
	endpoints_set_most(&h.endpoints, 7);
	CHECK_INT(endpoints_find(&h.endpoints, "openai/gpt-4o", &two, &err), 0);

	CHECK_INT(one->governor.most, 7);
	CHECK_INT(two->governor.most, 7);
	host_release(&h);
}

TEST(an_endpoint_that_cannot_be_opened_may_be_opened_later)
{
	struct endpoint *e;
	struct err err = { 0 };
	struct host h;
	host_init(&h);
	h.key = NULL;

	CHECK_INT(endpoints_find(&h.endpoints, "claude-x-1", &e, &err), -ERR_USAGE);
	CHECK(strstr(err.text, "no API key") != NULL);
	h.key = "k";
	CHECK_INT(endpoints_find(&h.endpoints, "claude-x-1", &e, &err), 0);
	host_release(&h);
}

int test_endpoints(void)
{
	return RUN_TESTS(T(models_of_one_provider_share_an_endpoint_and_others_have_their_own),
			 T(each_endpoint_has_a_governor_with_the_same_limit),
			 T(an_endpoint_that_cannot_be_opened_may_be_opened_later));
}
