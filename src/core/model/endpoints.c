/* SPDX-License-Identifier: MIT
 * endpoints.c - opens endpoints on first use. */
#include "core/model/provider.h"
#include <assert.h>

int endpoints_find(struct endpoints *e, const char *model, struct endpoint **ret_endpoint, struct err *err)
{
	const struct provider *named = provider_of(model, NULL);
	const struct provider *p = named ? named : e->usual;
	AUTO_ARENA struct arena arena = { 0 };
	struct endpoint_options options = { .loop = e->loop, .arena = &arena };
	size_t i = 0;

	while (provider_table[i] != p)
		i++;
	assert(i < MOST_PROVIDERS);
	if (e->admit && e->admit(e->data, p, err) < 0)
		return -(int)err->kind;
	if (!e->open[i]) {
		e->configure(e->data, p, &options);
		if (p->open(p, &options, &e->open[i], err) < 0) {
			struct err why = *err;
			if (p != e->usual && !e->usual->has_aliases)
				return err_set(err, why.kind,
					       "'%s' names the provider %s (for that name at %s write '%s/%s'): %s",
					       model, p->name, e->usual->name, e->usual->name, model, why.text);
			return -(int)err->kind;
		}
		e->open[i]->of = e;
		e->open[i]->loop = e->loop;
		governor_init(&e->open[i]->governor, e->loop, e->most);
	}
	*ret_endpoint = e->open[i];
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
