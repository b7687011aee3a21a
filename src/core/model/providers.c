/* SPDX-License-Identifier: MIT
 * providers.c - finds the provider of a model name, and keeps what is known of models at providers. */
#include "core/model/providers.h"

const char *providers_env(const struct providers *p, const char *name)
{
	return variables_get(p ? &p->variables : &(struct variables){ 0 }, name);
}

bool providers_env_is_on(const struct providers *p, const char *name)
{
	return env_is_on(providers_env(p, name));
}

const struct provider *provider_find(const struct providers *p, struct str name)
{
	for (size_t i = 0; p && i < p->own_count; i++)
		if (str_is(name, p->own[i]->name))
			return p->own[i];
	for (size_t i = 0; provider_table[i]; i++)
		if (str_is(name, provider_table[i]->name))
			return provider_table[i];
	return NULL;
}

const struct provider *provider_of(const struct providers *p, const char *model, const char **ret_name)
{
	struct str rest = str_from(model);
	struct str first = str_cut(&rest, '/');
	const struct provider *provider = rest.n ? provider_find(p, first) : NULL;

	/* A gateway lists models by vendor: only its own name and those of the settings are providers then. */
	if (provider && p && p->usual && p->usual->gateway && provider != p->usual && !provider->own)
		provider = NULL;
	if (ret_name)
		*ret_name = provider ? rest.p : model;
	if (!provider && p && p->twin && str_starts(str_from(model), STR("anthropic.")))
		return p->twin;
	return provider;
}

const char *provider_sent_name(const struct providers *p, const char *model, struct arena *a)
{
	const char *name, *other = json_cstr(json_get(p->overrides, model), a);

	(void)provider_of(p, other ? other : model, &name);
	return name;
}

const struct json *provider_model(const struct provider *p, const char *model, const char *key)
{
	const struct json *models = p ? json_get(p->own, "models") : NULL;
	const struct json *found = json_get(json_get(models, model), key);

	return found ? found : json_get(json_get(models, "*"), key);
}

void providers_learn(struct providers *p, const struct provider *provider, const char *name, int64_t window,
		     const char *source)
{
	char key[256];

	snprintf(key, sizeof key, "%s/%s", provider->name, name);
	struct model_fact *fact = map_get(&p->facts, str_from(key));
	if (!fact) {
		fact = arena_calloc(&p->arena, sizeof *fact);
		(void)map_set(&p->facts, str_from(key), fact);
	}
	*fact = (struct model_fact){ window, source };
}

void providers_read_overrides(struct providers *p, struct str json)
{
	struct str copy = arena_str(&p->arena, json);

	(void)json_parse(&p->override_reader, copy.p, copy.n, &p->overrides, NULL);
}

void providers_release(struct providers *p)
{
	map_release(&p->facts);
	json_reader_release(&p->reader);
	json_reader_release(&p->override_reader);
	arena_release(&p->arena);
	*p = (struct providers){ 0 };
}
