/* SPDX-License-Identifier: MIT
 * allowed.c - the models that may be chosen. */
#include "core/model/allowed.h"
#include "core/model/catalog.h"

static bool allows(const struct provider *p, const char *entry, const char *id)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *resolved;

	if (!entry || !entry[0])
		return false;
	if (str_has(str_from(id), str_from(entry)))
		return true;
	return model_resolve_at(&a, p, entry, &resolved, NULL) == 0 && !strcmp(resolved, id);
}

static bool model_is_allowed(const struct json *list, const struct provider *p, const char *id)
{
	AUTO_ARENA struct arena scratch = { 0 };

	for (const struct json *v = json_first(list); v; v = json_next(list, v))
		if (allows(p, json_cstr(v, &scratch), id))
			return true;
	return !json_is(list, JSON_ARRAY);
}

/* Ids of one family differ by their version alone. NULL: the list has none of it. */
static const char *newest_of(struct arena *a, const struct json *list, const struct provider *p, const char *family)
{
	const char *newest = NULL;

	for (const struct json *v = json_first(list); v; v = json_next(list, v)) {
		const char *entry = json_cstr(v, a), *id;
		if (!entry || !str_has(str_from(entry), str_from(family)) ||
		    model_resolve_at(a, p, entry, &id, NULL) < 0)
			continue;
		if (!newest || strverscmp(id, newest) > 0)
			newest = id;
	}
	return newest;
}

int model_resolve_allowed(struct arena *a, const struct json *list, const struct provider *p, const char *name,
			  const char **ret_id, struct err *err)
{
	const char *id;

	if (model_resolve_at(a, p, name, &id, err) < 0)
		return -(int)err->kind;
	if (!model_is_allowed(list, p, id))
		id = strcmp(id, name) != 0 ? newest_of(a, list, p, name) : NULL;
	if (!id)
		return err_set(err, ERR_USAGE, "the model '%s' is not among availableModels (" STR_FMT ")", name,
			       STR_ARG(json_raw(list)));
	*ret_id = id;
	return 0;
}
