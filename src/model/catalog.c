/* SPDX-License-Identifier: MIT
 * catalog.c - aliases and prices. Longest matching prefix wins, so dated ids find their family. */
#include "model/catalog.h"

static const struct {
	const char *alias, *variable, *id;
} aliases[] = {
	{ "opus", "ANTHROPIC_DEFAULT_OPUS_MODEL", "claude-opus-5-5" },
	{ "sonnet", "ANTHROPIC_DEFAULT_SONNET_MODEL", "claude-sonnet-5-5" },
	{ "haiku", "ANTHROPIC_DEFAULT_HAIKU_MODEL", "claude-haiku-5-5" },
	{ "fable", "ANTHROPIC_DEFAULT_FABLE_MODEL", "claude-fable-5-2" },
	{ "default", "ANTHROPIC_DEFAULT_MODEL", "claude-sonnet-5-5" },
	{ "best", "ANTHROPIC_DEFAULT_OPUS_MODEL", "claude-opus-5-5" },
	{ "opusplan", "ANTHROPIC_DEFAULT_OPUS_MODEL", "claude-opus-5-5" },
};

/* Input, 5-minute write, 1-hour write, read, output. The newest models have no published price: those are estimates. */
static const struct model_info models[] = {
	{ "claude-opus-5-5", 4, 5, 8, 0.2, 20, 1000000, 128000 },
	{ "claude-sonnet-5-5", 2, 2.5, 4, 0.1, 10, 1000000, 128000 },
	{ "claude-haiku-5-5", 0.5, 0.625, 1, 0.05, 0.5, 1000000, 128000 },
	{ "claude-fable-5", 10, 12.5, 20, 1, 50, 1000000, 128000 },
	{ "claude-fable-5-2", 8, 10, 16, 0.2, 40, 1000000, 128000 },
	{ "claude-mythos-5", 10, 12.5, 20, 1, 50, 1000000, 128000 },
	{ "claude-opus-5", 5, 6.25, 10, 0.5, 25, 1000000, 128000 },
	{ "claude-opus-4", 5, 6.25, 10, 0.5, 25, 1000000, 128000 },
	{ "claude-sonnet-5", 2, 2.5, 4, 0.2, 10, 1000000, 128000 },
	{ "claude-sonnet-4", 3, 3.75, 6, 0.3, 15, 1000000, 128000 },
	{ "claude-haiku-4", 1, 1.25, 2, 0.1, 5, 200000, 64000 },
};

static bool looks_like_id(const char *name)
{
	return strpbrk(name, "-./:@0123456789") != NULL;
}

int model_resolve(struct arena *a, const char *name, const char **ret_id, struct err *err)
{
	struct str base = str_trim(str_from(name));
	struct str suffix = STR("[1m]");

	if (str_ends(base,
		     suffix)) /* all current models have the long window: the suffix is accepted and means nothing */
		base.n -= suffix.n;
	for (size_t i = 0; i < COUNT_OF(aliases); i++) {
		if (!str_is_nocase(base, aliases[i].alias))
			continue;
		const char *instead = getenv(aliases[i].variable);
		*ret_id = arena_strdup(a, instead && instead[0] ? instead : aliases[i].id);
		return 0;
	}
	char *id = arena_dup(a, base.p, base.n);
	if (!base.n || !looks_like_id(id))
		return err_set(err, ERR_USAGE,
			       "unknown model '%s': expected a model id such as %s, or one of opus, sonnet, haiku, "
			       "fable, default, best, opusplan",
			       name, aliases[1].id);
	*ret_id = id;
	return 0;
}

const char *model_default(void)
{
	const char *name = getenv("ANTHROPIC_MODEL");

	return name && name[0] ? name : "default";
}

const struct model_info *model_find(const char *id)
{
	static const struct model_info unknown = { .id = "", .context = 200000, .max_output = 32000 };
	const struct model_info *best = &unknown;

	for (size_t i = 0; i < COUNT_OF(models); i++)
		if (str_starts(str_from(id), str_from(models[i].id)) && strlen(models[i].id) > strlen(best->id))
			best = &models[i];
	return best;
}

double model_cost_usd(const char *id, const struct usage *u)
{
	const struct model_info *m = model_find(id);
	int64_t long_writes = MIN(u->cache_write_1h, u->cache_write);
	int64_t writes = u->cache_write - long_writes;

	return ((double)u->input * m->input + (double)writes * m->write_5m + (double)long_writes * m->write_1h +
		(double)u->cache_read * m->read + (double)u->output * m->output) /
	       1e6;
}
