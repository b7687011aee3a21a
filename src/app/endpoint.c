/* SPDX-License-Identifier: MIT
 * endpoint.c - the model endpoint of a runtime, from options and environment. */
#include "app/app_int.h"

enum { MOST_CHILDREN = 1000, SPARE_DESCRIPTORS = 128 };

static const char *option_or_env(const char *option, const char *variable)
{
	if (option && option[0])
		return option;
	const char *value = getenv(variable);
	return value && value[0] ? value : NULL;
}

int app_open_endpoint(struct cadre *c, struct err *err)
{
	const struct options *o = &c->options;
	const struct provider *provider = provider_find(str_from(o->provider ? o->provider : "anthropic"));

	if (c->endpoint)
		return 0;
	struct endpoint_options options = {
		.loop = c->loop,
		.base_url = option_or_env(o->base_url, "ANTHROPIC_BASE_URL"),
		.api_key = option_or_env(o->api_key, "ANTHROPIC_API_KEY"),
		.auth_token = option_or_env(o->auth_token, "ANTHROPIC_AUTH_TOKEN"),
		.extra_headers = getenv("ANTHROPIC_CUSTOM_HEADERS"),
		.betas = getenv("ANTHROPIC_BETAS"),
		.scenario = o->scenario && o->scenario[0] ? o->scenario : NULL,
	};
	const char *stall = getenv("CADRE_STALL_MS");
	uint64_t stall_ms;
	if (stall && str_to_u64(str_from(stall), &stall_ms))
		options.stall_ms = stall_ms;
	int status = provider->open(&options, &c->endpoint, err);
	if (status == 0)
		governor_init(&c->endpoint->governor, c->loop, MOST_CHILDREN);
	return status;
}

/* As many requests as agents may be alive: the children, and the main agent of each session. Each needs a descriptor; a
 * quarter of the others stays free for idle connections, files and child processes. */
void app_adjust_governor(struct cadre *c)
{
	size_t taken = STORE_OPEN_FILES + SPARE_DESCRIPTORS;
	size_t room = c->descriptor_limit > taken ? (c->descriptor_limit - taken) * 3 / 4 : 1;
	size_t agents = MAX(c->most_children, (size_t)MOST_CHILDREN) + c->session_count;

	if (c->endpoint)
		governor_set_most(&c->endpoint->governor, (unsigned)MIN(agents, MAX(room, (size_t)1)));
}
