/* SPDX-License-Identifier: MIT
 * catalog.c - aliases and prices. Longest matching prefix wins, so dated ids find their family. */
#include "core/model/catalog.h"
#include "core/model/provider.h"

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

/* Input, 5-minute write, 1-hour write, read, output. The newest models have no published price: those are estimates. An
 * id of another company matches itself and its dated versions only: other suffixes have other prices. */
static const struct model_info models[] = {
	{ "claude-opus-5-5", 4, 5, 8, 0.2, 20, 1000000, 128000 },
	{ "claude-sonnet-5-5", 2, 2.5, 4, 0.1, 10, 1000000, 128000 },
	{ "claude-haiku-5-5", 0.1, 0.125, 0.2, 0.01, 0.5, 1000000, 128000 },
	{ "claude-fable-5", 10, 12.5, 20, 1, 50, 1000000, 128000 },
	{ "claude-fable-5-2", 8, 10, 16, 0.2, 40, 1000000, 128000 },
	{ "claude-mythos-5", 10, 12.5, 20, 1, 50, 1000000, 128000 },
	{ "claude-opus-5", 5, 6.25, 10, 0.5, 25, 1000000, 128000 },
	{ "claude-opus-4", 5, 6.25, 10, 0.5, 25, 1000000, 128000 },
	{ "claude-opus-4-5", 5, 6.25, 10, 0.5, 25, 200000, 64000 },
	{ "claude-sonnet-4-5", 3, 3.75, 6, 0.3, 15, 200000, 64000 },
	{ "claude-sonnet-5", 2, 2.5, 4, 0.2, 10, 1000000, 128000 },
	{ "claude-sonnet-4", 3, 3.75, 6, 0.3, 15, 1000000, 128000 },
	{ "claude-haiku-4", 1, 1.25, 2, 0.1, 5, 200000, 64000 },
	{ "gpt-4.1", 2, 0, 0, 0.5, 8, 1047576, 32768 },
	{ "gpt-4.1-mini", 0.4, 0, 0, 0.1, 1.6, 1047576, 32768 },
	{ "gpt-4.1-nano", 0.1, 0, 0, 0.025, 0.4, 1047576, 32768 },
	{ "gpt-4o", 2.5, 0, 0, 1.25, 10, 128000, 16384 },
	{ "gpt-4o-2024-05-13", 5, 0, 0, 5, 15, 128000, 4096 },
	{ "gpt-4o-mini", 0.15, 0, 0, 0.075, 0.6, 128000, 16384 },
	{ "gpt-5", 1.25, 0, 0, 0.125, 10, 400000, 128000 },
	{ "gpt-5-mini", 0.25, 0, 0, 0.025, 2, 400000, 128000 },
	{ "gpt-5-nano", 0.05, 0, 0, 0.005, 0.4, 400000, 128000 },
	{ "o3", 2, 0, 0, 0.5, 8, 200000, 100000 },
	{ "o4-mini", 1.1, 0, 0, 0.275, 4.4, 200000, 100000 },
};

/* A prompt above this number of tokens multiplies the price. */
static const struct price_step {
	const char *id;
	int64_t above;
	double input, output;
} steps[] = {
	{ "claude-haiku-5-5", 100000, 5, 5 },
};

static unsigned edit_distance(const char *a, const char *b)
{
	unsigned row[32];
	size_t n = MIN(strlen(b), COUNT_OF(row) - 1);

	for (unsigned i = 0; i <= n; i++)
		row[i] = i;
	for (unsigned i = 1; a[i - 1]; i++) {
		unsigned diagonal = row[0]++;
		for (size_t k = 1; k <= n; k++) {
			unsigned other = diagonal + (a[i - 1] != b[k - 1]);
			diagonal = row[k];
			row[k] = MIN(other, MIN(row[k], row[k - 1]) + 1);
		}
	}
	return row[n];
}

static int resolve_plain(struct arena *a, const struct provider *p, const char *name, const char **ret_id,
			 struct err *err)
{
	struct str base = str_trim(str_from(name)), suffix = STR("[1m]");
	const char *url = p->env.base_url ? getenv(p->env.base_url) : NULL;

	/* All current models have the long window: the suffix is accepted and has no effect. */
	if (str_ends(base, suffix))
		base.n -= suffix.n;
	for (size_t i = 0; i < COUNT_OF(aliases); i++) {
		if (!str_is_nocase(base, aliases[i].alias))
			continue;
		const char *instead = getenv(aliases[i].variable);
		bool given = instead && instead[0];
		if (!given && !p->has_aliases)
			return err_set(err, ERR_USAGE,
				       "the provider %s has no model '" STR_FMT "': name one of its own", p->name,
				       STR_ARG(base));
		*ret_id = arena_strdup(a, given ? instead : aliases[i].id);
		return 0;
	}
	const char *id = arena_dup(a, base.p, base.n);
	bool is_word = p->has_aliases && !strpbrk(id, "-./:@0123456789");
	/* A gateway has names of its own: a plain word is an error only at the provider itself. */
	bool any_name = p->own_names || (url && url[0] && !strstr(url, "://api.anthropic.com"));
	for (size_t i = 0; is_word && any_name && i < COUNT_OF(aliases); i++) {
		const char *alias = aliases[i].alias;
		unsigned typos = strlen(alias) > 5 ? 2 : 1;
		if (id[0] == alias[0] && edit_distance(id, alias) <= typos)
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

int model_resolve_at(struct arena *a, const struct provider *p, const char *name, const char **ret_id, struct err *err)
{
	const char *plain;
	const struct provider *named = provider_of(name, &plain);

	int status = resolve_plain(a, named ? named : p ? p : provider_table[0], plain, ret_id, err);

	if (status == 0 && named)
		*ret_id = arena_printf(a, "%s/%s", named->name, *ret_id);
	return status;
}

int model_resolve(struct arena *a, const char *name, const char **ret_id, struct err *err)
{
	return model_resolve_at(a, NULL, name, ret_id, err);
}

const char *model_in_plan_mode(struct arena *a, const char *name)
{
	const char *plain;
	const struct provider *named = provider_of(name, &plain);
	struct str base = str_trim(str_from(plain)), suffix = STR("[1m]");

	if (str_ends(base, suffix))
		base.n -= suffix.n;
	if (!str_is_nocase(base, "opusplan"))
		return NULL;
	return named ? arena_printf(a, "%s/opus", named->name) : "opus";
}

const char *model_default(void)
{
	const char *name = getenv("ANTHROPIC_MODEL");

	return name && name[0] ? name : "default";
}

int model_default_at(const struct provider *p, const char *configured, const char **ret_name, struct err *err)
{
	const char *name = getenv(p->has_aliases ? "ANTHROPIC_MODEL" : p->env.model);

	if (!name || !name[0])
		name = configured;
	if (!name && p->has_aliases)
		name = "default";
	if (!name)
		return err_set(err, ERR_USAGE, "no model given: the provider %s has no default; use --model or set %s",
			       p->name, p->env.model);
	*ret_name = name;
	return 0;
}

/* The name of the model at its own company, from a name at a cloud or gateway */
static const char *plain_name(const char *id, char *room, size_t size)
{
	static const char *const regions[] = { "us-gov.", "us.", "eu.", "apac.", "jp.", "au.", "global." };
	const char *vendor = strrchr(id, '/');

	if (vendor && !str_starts(str_from(id), STR("arn:")))
		id = vendor + 1;
	for (size_t i = 0; i < COUNT_OF(regions); i++)
		if (str_starts(str_from(id), str_from(regions[i]))) {
			id += strlen(regions[i]);
			break;
		}
	if (str_starts(str_from(id), STR("anthropic.")))
		id += strlen("anthropic.");
	snprintf(room, size, "%s", id);
	room[strcspn(room, ":[")] = '\0'; /* of a version, ":free", "[1m]" */
	size_t n = strlen(room);
	if (n > 3 && !strncmp(room + n - 3, "-v", 2))
		room[n - 3] = '\0';
	for (char *p = room; *p && str_starts(str_from(room), STR("claude-")); p++)
		*p = *p == '@' || *p == '.' ? '-' : *p;
	return room;
}

const struct model_info *model_find(const char *id)
{
	static const struct model_info unknown = { .id = "", .context = 200000, .max_output = 32000 };
	const struct model_info *best = &unknown;
	char room[128];

	(void)provider_of(id, &id);
	id = plain_name(id, room, sizeof room);
	for (size_t i = 0; i < COUNT_OF(models); i++) {
		size_t n = strlen(models[i].id);
		if (strncmp(id, models[i].id, n) != 0 || n <= strlen(best->id))
			continue;
		if (str_starts(str_from(id), STR("claude-")) || !id[n] || !strncmp(id + n, "-20", 3))
			best = &models[i];
	}
	return best;
}

double model_cost_usd(const char *id, const struct usage *u)
{
	const struct model_info *m = model_find(id);
	int64_t long_writes = MIN(u->cache_write_1h, u->cache_write);
	int64_t writes = u->cache_write - long_writes;
	int64_t prompt = u->input + u->cache_write + u->cache_read;

	double input = (double)u->input * m->input + (double)writes * m->write_5m + (double)long_writes * m->write_1h +
		       (double)u->cache_read * m->read;
	double output = (double)u->output * m->output;
	for (size_t i = 0; i < COUNT_OF(steps); i++)
		if (!strcmp(steps[i].id, m->id) && prompt > steps[i].above) {
			input *= steps[i].input;
			output *= steps[i].output;
		}
	return (input + output) / 1e6;
}

/* Families and their last version that takes a budget of tokens; newer ones decide for themselves. */
const char *model_thinking(const char *id)
{
	static const struct {
		const char *prefix, *thinking;
	} ways[] = {
		{ "claude-opus-4-6", "adaptive" },
		{ "claude-opus-4-7", "adaptive" },
		{ "claude-opus-4-8", "adaptive" },
		{ "claude-opus-4", "16000" },
		{ "claude-sonnet-4-6", "adaptive" },
		{ "claude-sonnet-4", "16000" },
		{ "claude-haiku-4", "16000" },
		{ "claude-3-7-sonnet", "16000" },
		{ "claude-3", NULL },
		{ "claude-", "adaptive" },
	};

	(void)provider_of(id, &id);
	for (size_t i = 0; i < COUNT_OF(ways); i++)
		if (str_starts(str_from(id), str_from(ways[i].prefix)))
			return ways[i].thinking;
	return NULL;
}

bool model_has_price(const char *id)
{
	return model_find(id)->output > 0;
}

/* ---- availableModels -------------------------------------------------------------------------------------------- */

int model_resolve_allowed(struct arena *a, const struct json *list, const struct provider *p, const char *name,
			  const char **ret_id, struct err *err)
{
	const char *id, *newest = NULL;
	bool allowed = !json_is(list, JSON_ARRAY);

	if (model_resolve_at(a, p, name, &id, err) < 0)
		return -(int)err->kind;
	bool is_family = strcmp(id, name) != 0;
	for (const struct json *v = json_first(list); v && !allowed; v = json_next(list, v)) {
		const char *entry = json_cstr(v, a), *resolved = "", *planner = "";
		if (!entry || !entry[0])
			continue;
		bool known = model_resolve_at(a, p, entry, &resolved, NULL) == 0;
		const char *plans = model_in_plan_mode(a, entry);
		if (plans)
			(void)model_resolve_at(a, p, plans, &planner, NULL);
		allowed = str_has(str_from(id), str_from(entry)) || (known && !strcmp(resolved, id)) ||
			  !strcmp(planner, id);
		/* Ids of one family differ by their version alone. */
		if (is_family && known && str_has(str_from(entry), str_from(name)) &&
		    (!newest || strverscmp(resolved, newest) > 0))
			newest = resolved;
	}
	if (!allowed && !newest)
		return err_set(err, ERR_USAGE, "the model '%s' is not among availableModels (" STR_FMT ")", name,
			       STR_ARG(json_raw(list)));
	*ret_id = allowed ? id : newest;
	return 0;
}
