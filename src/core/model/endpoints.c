/* SPDX-License-Identifier: MIT
 * endpoints.c - opened when first needed. */
#include "core/model/endpoints.h"
#include "core/credential/credential.h"
#include <assert.h>

static size_t place_of(const struct provider *p)
{
	size_t i = 0;

	while (provider_table[i] != p)
		i++;
	assert(i < MOST_PROVIDERS);
	return i;
}

static int open_endpoint(struct endpoints *e, const struct provider *p, struct endpoint **ret, struct err *err)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct endpoint_options options = { .loop = e->loop, .arena = &arena };

	e->configure(e->data, p, &options);
	if (p->open(&options, ret, err) < 0)
		return -(int)err->kind;
	(*ret)->of = e;
	(*ret)->loop = e->loop;
	governor_init(&(*ret)->governor, e->loop, e->most);
	return 0;
}

int endpoints_find(struct endpoints *e, const char *model, struct endpoint **ret_endpoint, struct err *err)
{
	const struct provider *named = provider_of(model, NULL);
	const struct provider *p = named ? named : e->usual;
	struct endpoint **at = &e->open[place_of(p)];

	if (e->admit && e->admit(e->data, p, err) < 0)
		return -(int)err->kind;
	if (!*at && open_endpoint(e, p, at, err) < 0) {
		struct err why = *err;
		if (p != e->usual && !e->usual->has_aliases)
			return err_set(err, why.kind,
				       "'%s' names the provider %s (for that name at %s write '%s/%s'): %s", model,
				       p->name, e->usual->name, e->usual->name, model, why.text);
		return -(int)err->kind;
	}
	*ret_endpoint = *at;
	return 0;
}

void endpoints_set_most(struct endpoints *e, unsigned most)
{
	e->most = most;
	for (size_t i = 0; i < MOST_PROVIDERS; i++)
		if (e->open[i])
			governor_set_most(&e->open[i]->governor, most);
}

void endpoints_close(struct endpoints *e)
{
	for (size_t i = 0; i < MOST_PROVIDERS; i++) {
		if (!e->open[i])
			continue;
		governor_release(&e->open[i]->governor);
		struct credential *credential = e->open[i]->credential;
		if (credential)
			credential_stop(credential);
		while (credential && credential_busy(credential))
			loop_run(e->loop);
		credential_free(credential);
		e->open[i]->provider->close(e->open[i]);
		e->open[i] = NULL;
	}
}
