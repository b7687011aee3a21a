/* SPDX-License-Identifier: MIT
 * provider_table.c - the providers. */
#include "core/model/provider.h"

extern const struct provider provider_anthropic, provider_bedrock, provider_mantle, provider_platform, provider_vertex,
	provider_foundry, provider_openai, provider_scripted;

const struct provider *const provider_table[] = {
	&provider_anthropic, &provider_bedrock,  &provider_mantle,
	&provider_platform,  &provider_vertex,   &provider_foundry,
	&provider_openai,    &provider_scripted, NULL,
};

const struct provider *provider_find(struct str name)
{
	for (size_t i = 0; provider_table[i]; i++)
		if (str_is(name, provider_table[i]->name))
			return provider_table[i];
	return NULL;
}

const struct provider *provider_of(const char *model, const char **ret_name)
{
	struct str rest = str_from(model);
	struct str first = str_cut(&rest, '/');
	const struct provider *p = rest.n ? provider_find(first) : NULL;

	if (ret_name)
		*ret_name = p ? rest.p : model;
	return p;
}
