/* SPDX-License-Identifier: MIT
 * catalog.c - names of models: aliases, defaults, availableModels. */
#include "core/model/catalog.h"
#include "core/model/providers.h"

static const struct {
	const char *alias, *variable, *id;
} aliases[] = {
	{ "opus", "ANTHROPIC_DEFAULT_OPUS_MODEL", "claude-opus-5-5" },
	{ "sonnet", "ANTHROPIC_DEFAULT_SONNET_MODEL", "claude-sonnet-5-5" },
	{ "haiku", "ANTHROPIC_DEFAULT_HAIKU_MODEL", "claude-haiku-5-5" },
	{ "fable", "ANTHROPIC_DEFAULT_FABLE_MODEL", "claude-fable-5-2" },
	{ "default", "ANTHROPIC_DEFAULT_MODEL", "claude-sonnet-5-5" },
	{ "best", "ANTHROPIC_DEFAULT_OPUS_MODEL", "claude-opus-5-5" },
	{ "opusplan", "ANTHROPIC_DEFAULT_SONNET_MODEL", "claude-sonnet-5-5" }, /* in plan mode: opus */
};

static int resolve_plain(struct arena *a, const struct providers *at, const struct provider *p, const char *name,
			 const char **ret_id, struct err *err)
{
	struct str base = str_trim(str_from(name)), suffix = STR("[1m]");
	const char *url = p->env.base_url ? providers_env(at, p->env.base_url) : NULL;
	const struct json *own = json_get(p->own, "aliases");

	/* All current models have the long window: the suffix is accepted and has no effect. */
	if (str_ends(base, suffix))
		base.n -= suffix.n;
	if ((*ret_id = json_cstr(json_get_str(own, base), a)))
		return 0;
	if (json_get_str(json_get(p->own, "models"),
			 base)) { /* a name of the provider itself, even if it is an alias elsewhere */
		*ret_id = arena_dup(a, base.p, base.n);
		return 0;
	}
	for (size_t i = 0; i < COUNT_OF(aliases); i++) {
		if (!str_is_nocase(base, aliases[i].alias))
			continue;
		const char *instead = providers_env(at, aliases[i].variable);
		if (!instead && !p->has_aliases)
			return err_set(err, ERR_USAGE,
				       "the provider %s has no model '" STR_FMT "': name one of its own", p->name,
				       STR_ARG(base));
		*ret_id = arena_strdup(a, instead ? instead : aliases[i].id);
		return 0;
	}
	const char *id = arena_dup(a, base.p, base.n);
	bool is_word = p->has_aliases && !strpbrk(id, "-./:@0123456789");
	/* A gateway has names of its own: a plain word is an error only at the provider itself. */
	bool any_name = p->own_names || (url && !strstr(url, "://api.anthropic.com"));
	for (size_t i = 0; is_word && any_name && i < COUNT_OF(aliases); i++) {
		const char *alias = aliases[i].alias;
		unsigned typos = strlen(alias) > 5 ? 2 : 1;
		if (id[0] == alias[0] && str_distance(str_from(id), str_from(alias)) <= typos)
			any_name = false; /* a misspelt alias */
	}
	if (!base.n || (is_word && !any_name))
		return err_set(err, ERR_USAGE,
			       "unknown model '%s': expected a model id such as %s, or one of opus, sonnet, haiku, "
			       "fable, default, best, opusplan",
			       name, aliases[1].id);
	*ret_id = id;
	return 0;
}

int model_resolve_at(struct arena *a, const struct providers *at, const char *name, const char **ret_id,
		     struct err *err)
{
	const char *plain;
	const struct provider *named = provider_of(at, name, &plain), *usual = at ? at->usual : NULL;

	int status = resolve_plain(a, at, named ? named : usual ? usual : provider_table[0], plain, ret_id, err);

	if (status == 0 && named)
		*ret_id = arena_printf(a, "%s/%s", named->name, *ret_id);
	return status;
}

int model_resolve(struct arena *a, const char *name, const char **ret_id, struct err *err)
{
	return model_resolve_at(a, NULL, name, ret_id, err);
}

const char *model_in_plan_mode(struct arena *a, const struct providers *at, const char *name)
{
	const char *plain;
	const struct provider *named = provider_of(at, name, &plain);
	struct str base = str_trim(str_from(plain)), suffix = STR("[1m]");

	if (str_ends(base, suffix))
		base.n -= suffix.n;
	if (!str_is_nocase(base, "opusplan"))
		return NULL;
	return named ? arena_printf(a, "%s/opus", named->name) : "opus";
}

const char *model_default(const struct providers *at)
{
	const char *name = providers_env(at, "ANTHROPIC_MODEL");

	return name ? name : "default";
}

int model_default_at(const struct providers *at, const char *configured, const char **ret_name, struct err *err)
{
	const struct provider *p = at->usual;
	const char *variable = p->has_aliases ? "ANTHROPIC_MODEL" : p->env.model;
	const char *name = variable ? providers_env(at, variable) : NULL;

	if (!name)
		name = configured;
	if (!name && p->has_aliases)
		name = "default";
	if (!name)
		return err_set(err, ERR_USAGE, "no model given: the provider %s has no default; use --model%s%s",
			       p->name, variable ? " or set " : "", variable ? variable : "");
	*ret_name = name;
	return 0;
}

int model_resolve_allowed(struct arena *a, const struct json *list, const struct providers *at, const char *name,
			  const char **ret_id, struct err *err)
{
	const char *id, *newest = NULL;
	bool allowed = !json_is(list, JSON_ARRAY);

	if (model_resolve_at(a, at, name, &id, err) < 0)
		return -(int)err->kind;
	bool is_family = strcmp(id, name) != 0;
	for (const struct json *v = json_first(list); v && !allowed; v = json_next(list, v)) {
		const char *entry = json_cstr(v, a), *resolved = "", *planner = "";
		if (!entry || !entry[0])
			continue;
		bool known = model_resolve_at(a, at, entry, &resolved, NULL) == 0;
		const char *plans = model_in_plan_mode(a, at, entry);
		if (plans)
			(void)model_resolve_at(a, at, plans, &planner, NULL);
		allowed = str_has(str_from(id), str_from(entry)) || (known && !strcmp(resolved, id)) ||
			  !strcmp(planner, id);
		/* Ids of one family differ by their version alone. */
		if (is_family && known && str_has(str_from(entry), str_from(name)) &&
		    (!newest || strverscmp(resolved, newest) > 0))
			newest = resolved;
	}
	if (!allowed && !newest)
		return err_set(err, ERR_USAGE, "the model '%s' is not among availableModels (" STR_FMT ")", name,
			       JSON_ARG(list));
	*ret_id = allowed ? id : newest;
	return 0;
}
