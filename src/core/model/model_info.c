/* SPDX-License-Identifier: MIT
 * model_info.c - windows and prices of models. The longest prefix wins, so dated ids find their family. */
#include "core/model/catalog.h"
#include "core/model/providers.h"

enum { NO_WINDOW = 100000000 }; /* that a conversation never fills */

#define PRICE(...)          \
	{                   \
		__VA_ARGS__ \
	}
#define MODEL(name, window, longest, usual)                                          \
	{                                                                            \
		.id = name, .price = usual, .context = window, .max_output = longest \
	}
#define TIERED(name, window, longest, usual, above, then)                                                          \
	{                                                                                                          \
		.id = name, .price = usual, .context = window, .max_output = longest, .tiers = { { above, then } } \
	}

/* Window, longest output; price of input, 5-minute write, 1-hour write, read, output; above so many tokens of prompt. Fable 5.2 has no
 * published price that is known here: its row is an estimate. */
static const struct model_info rows[] = {
	MODEL("claude-opus-5-5", 1000000, 128000, PRICE(4, 5, 8, 0.2, 20)),
	MODEL("claude-sonnet-5-5", 1000000, 128000, PRICE(2, 2.5, 4, 0.1, 10)),
	TIERED("claude-haiku-5-5", 1000000, 128000, PRICE(0.1, 0.125, 0.2, 0.01, 0.5), 100000,
	       PRICE(0.5, 0.625, 1, 0.05, 2.5)),
	MODEL("claude-fable-5", 1000000, 128000, PRICE(10, 12.5, 20, 1, 50)),
	MODEL("claude-fable-5-1", 1000000, 128000, PRICE(10, 12.5, 20, 0.25, 50)),
	MODEL("claude-fable-5-2", 1000000, 128000, PRICE(8, 10, 16, 0.2, 40)),
	MODEL("claude-mythos-5", 1000000, 128000, PRICE(10, 12.5, 20, 1, 50)),
	MODEL("claude-opus-5", 1000000, 128000, PRICE(5, 6.25, 10, 0.5, 25)),
	MODEL("claude-opus-4", 1000000, 128000, PRICE(5, 6.25, 10, 0.5, 25)),
	MODEL("claude-opus-4-0", 200000, 32000, PRICE(15, 18.75, 30, 1.5, 75)),
	MODEL("claude-opus-4-1", 200000, 32000, PRICE(15, 18.75, 30, 1.5, 75)),
	MODEL("claude-opus-4-20", 200000, 32000, PRICE(15, 18.75, 30, 1.5, 75)), /* 4.0 with its date */
	MODEL("claude-opus-4-5", 200000, 64000, PRICE(5, 6.25, 10, 0.5, 25)),
	MODEL("claude-sonnet-4-5", 200000, 64000, PRICE(3, 3.75, 6, 0.3, 15)),
	MODEL("claude-sonnet-5", 1000000, 128000, PRICE(2, 2.5, 4, 0.2, 10)),
	MODEL("claude-sonnet-4", 1000000, 64000, PRICE(3, 3.75, 6, 0.3, 15)),
	MODEL("claude-sonnet-4-0", 200000, 64000, PRICE(3, 3.75, 6, 0.3, 15)),
	MODEL("claude-sonnet-4-20", 200000, 64000, PRICE(3, 3.75, 6, 0.3, 15)),
	MODEL("claude-haiku-4", 200000, 64000, PRICE(1, 1.25, 2, 0.1, 5)),
	MODEL("gpt-4.1", 1047576, 32768, PRICE(2, 0, 0, 0.5, 8)),
	MODEL("gpt-4.1-mini", 1047576, 32768, PRICE(0.4, 0, 0, 0.1, 1.6)),
	MODEL("gpt-4.1-nano", 1047576, 32768, PRICE(0.1, 0, 0, 0.025, 0.4)),
	MODEL("gpt-4o", 128000, 16384, PRICE(2.5, 0, 0, 1.25, 10)),
	MODEL("gpt-4o-2024-05-13", 128000, 4096, PRICE(5, 0, 0, 5, 15)),
	MODEL("gpt-4o-mini", 128000, 16384, PRICE(0.15, 0, 0, 0.075, 0.6)),
	MODEL("gpt-5", 400000, 128000, PRICE(1.25, 0, 0, 0.125, 10)),
	MODEL("gpt-5-mini", 400000, 128000, PRICE(0.25, 0, 0, 0.025, 2)),
	MODEL("gpt-5-nano", 400000, 128000, PRICE(0.05, 0, 0, 0.005, 0.4)),
	MODEL("o3", 200000, 100000, PRICE(2, 0, 0, 0.5, 8)),
	MODEL("o4-mini", 200000, 100000, PRICE(1.1, 0, 0, 0.275, 4.4)),
	MODEL("gpt-5.1", 400000, 128000, PRICE(1.25, 0, 0, 0.125, 10)),
	MODEL("gpt-5.2", 400000, 128000, PRICE(1.75, 0, 0, 0.175, 14)),
	TIERED("gpt-5.4", 1050000, 128000, PRICE(2.5, 0, 0, 0.25, 15), 272000, PRICE(5, 0, 0, 0.5, 22.5)),
	MODEL("gpt-5.4-mini", 400000, 128000, PRICE(0.75, 0, 0, 0.075, 4.5)),
	MODEL("gpt-5.4-nano", 400000, 128000, PRICE(0.2, 0, 0, 0.02, 1.25)),
	TIERED("gpt-5.5", 1050000, 128000, PRICE(5, 0, 0, 0.5, 30), 272000, PRICE(10, 0, 0, 1, 45)),
	TIERED("gpt-5.6", 1050000, 128000, PRICE(2, 2.5, 2.5, 0.2, 10), 272000, PRICE(4, 5, 5, 0.4, 15)),
	TIERED("gpt-5.6-sol", 1050000, 128000, PRICE(2, 2.5, 2.5, 0.2, 10), 272000, PRICE(4, 5, 5, 0.4, 15)),
	TIERED("gpt-6-astra", 1050000, 128000, PRICE(10, 12.5, 12.5, 1, 50), 272000, PRICE(20, 25, 25, 2, 75)),
	MODEL("gpt-5-codex", 400000, 128000, PRICE(1.25, 0, 0, 0.125, 10)),
	MODEL("gpt-5.1-codex", 400000, 128000, PRICE(1.25, 0, 0, 0.125, 10)),
	MODEL("gpt-5.2-codex", 400000, 128000, PRICE(1.75, 0, 0, 0.175, 14)),
	MODEL("gpt-5.3-codex", 400000, 128000, PRICE(1.75, 0, 0, 0.175, 14)),
	TIERED("gemini-2.5-pro", 1048576, 65536, PRICE(1.25, 0, 0, 0.125, 10), 200000, PRICE(2.5, 0, 0, 0.25, 15)),
	MODEL("gemini-2.5-flash", 1048576, 65536, PRICE(0.3, 0, 0, 0.03, 2.5)),
	TIERED("gemini-3-pro-preview", 1048576, 65536, PRICE(2, 0, 0, 0.2, 12), 200000, PRICE(4, 0, 0, 0.4, 18)),
	TIERED("gemini-3.1-pro-preview", 1048576, 65536, PRICE(2, 0, 0, 0.2, 12), 200000, PRICE(4, 0, 0, 0.4, 18)),
	MODEL("gemini-3-flash-preview", 1048576, 65536, PRICE(0.5, 0, 0, 0.05, 3)),
	MODEL("gemini-2.5-flash-lite", 1048576, 65536, PRICE(0.1, 0, 0, 0.01, 0.4)),
	MODEL("gemini-3.5-flash", 1048576, 65536, PRICE(1.5, 0, 0, 0.15, 9)),
};

const struct model_info *model_rows(size_t *ret_count)
{
	*ret_count = COUNT_OF(rows);
	return rows;
}

/* The name of the model at its own company, from a name at a cloud or gateway */
static const char *plain_name(const char *id, char *room, size_t size)
{
	static const char *const regions[] = { "us-gov.", "us.", "eu.", "apac.", "jp.", "au.", "global." };
	const char *vendor = strrchr(id, '/');

	if (vendor && !str_starts(str_from(id), STR("arn:")))
		id = vendor + 1;
	for (size_t i = 0; i < COUNT_OF(regions); i++) {
		size_t n = strlen(regions[i]);
		if (!strncmp(id, regions[i], n)) {
			id += n;
			break;
		}
	}
	if (str_starts(str_from(id), STR("anthropic.")))
		id += strlen("anthropic.");
	snprintf(room, size, "%s", id);
	room[strcspn(room, ":[")] = '\0'; /* of a version, ":free", "[1m]" */
	size_t n = strlen(room);
	if (n > 3 && !strncmp(room + n - 3, "-v", 2))
		room[n - 3] = '\0';
	if (!strncmp(room, "claude-", 7))
		for (char *p = room; (p = strpbrk(p, "@.")) != NULL;)
			*p = '-';
	return room;
}

/* A row of this provider is better than one of the model's home, which describes it anywhere. */
static const struct model_info *best_row(const struct model_info *list, size_t count, const char *provider,
					 const char *id)
{
	const struct model_info *best = NULL;
	bool best_is_own = false;

	for (size_t i = 0; i < count; i++) {
		const struct model_info *m = &list[i];
		if (*m->id != *id) /* most: a turn asks three times */
			continue;
		size_t n = strlen(m->id), known = best ? strlen(best->id) : 0;
		bool is_own = provider && m->provider && !strcmp(provider, m->provider);
		if (strncmp(id, m->id, n) != 0 ||
		    (m->provider && !is_own && strcmp(m->provider, model_home(m->id)) != 0))
			continue;
		if (n < known || (n == known && best && (best_is_own || !is_own)))
			continue;
		bool is_family = str_starts(str_from(m->id), STR("claude-")); /* other ids have dated versions only */
		if (is_family || !id[n] || !strncmp(id + n, "-20", 3)) {
			best = m;
			best_is_own = is_own;
		}
	}
	return best;
}

/* What the catalog leaves out is as it was built in. */
static struct model_info find_row(const struct providers *at, const char *provider, const char *id)
{
	char room[128];

	id = plain_name(id, room, sizeof room);
	const struct model_info *built_in = best_row(rows, COUNT_OF(rows), provider, id);
	const struct model_info *of_file = at ? best_row(at->file, at->file_count, provider, id) : NULL;
	struct model_info found = { .id = "" };
	if (built_in) {
		found = *built_in;
		found.price_source = found.window_source = "built in";
	}
	if (!of_file || strlen(of_file->id) < strlen(found.id))
		return found;
	struct model_info newer = *of_file;
	if (!newer.price_source) {
		newer.price = found.price;
		memcpy(newer.tiers, found.tiers, sizeof newer.tiers);
		newer.price_source = found.price_source;
	}
	if (!newer.context) {
		newer.context = found.context;
		newer.window_source = found.window_source;
	}
	if (!newer.max_output)
		newer.max_output = found.max_output;
	return newer;
}

/* The known model that a name stands for: by `like` of the settings, or by modelOverrides where its right side was given. */
static const char *known_name(const struct providers *at, const struct provider *provider, const char *name, char *room,
			      size_t size)
{
	const struct json *overrides = at ? at->overrides : NULL, *found = provider_model(provider, name, "like");

	for (struct json_member m = json_members(overrides); m.key && !found; m = json_member_next(overrides, m))
		found = json_str_is(m.value, name) ? m.key : NULL;
	if (!json_is(found, JSON_STRING))
		return name;
	snprintf(room, size, STR_FMT, (int)found->len, found->text);
	return room;
}

unsigned model_version(const struct providers *at, const char *id)
{
	char rooms[2][160];
	const char *name;
	const struct provider *provider = provider_of(at, id, &name);
	const char *known = known_name(at, provider, name, rooms[0], sizeof rooms[0]);
	struct str digits = str_from(plain_name(known, rooms[1], sizeof rooms[1]));
	uint64_t major = 0, minor = 0;

	if (!str_starts(digits, STR("claude-")))
		return 0;
	while (digits.n && !char_in(*digits.p, "0123456789"))
		digits = str_tail(digits, 1);
	(void)str_to_u64(str_cut(&digits, '-'), &major);
	(void)str_to_u64(str_cut(&digits, '-'), &minor);
	return (unsigned)(major * 100 + (minor < 100 ? minor : 0)); /* else it is a date */
}

static void read_price(const struct json *price, struct model_price *ret)
{
	const struct json *write = json_get(price, "cacheWrite"), *read = json_get(price, "cacheRead");

	*ret = (struct model_price){ .input = json_double(json_get(price, "input")),
				     .output = json_double(json_get(price, "output")) };
	ret->read = read ? json_double(read) : ret->input;
	ret->write_5m = write ? json_double(write) : ret->input;
	ret->write_1h = ret->write_5m;
}

/* Clouds charge a tenth more for answers from one region. */
static void raise_price(struct model_price *p)
{
	double *const all[] = { &p->input, &p->write_5m, &p->write_1h, &p->read, &p->output };

	for (size_t i = 0; i < COUNT_OF(all); i++)
		*all[i] *= 1.1;
}

struct model_info model_find(const struct providers *at, const char *id)
{
	const char *name;
	const struct provider *provider = provider_of(at, id, &name);
	provider = provider ? provider : at ? at->usual : NULL;
	const struct json *price = provider_model(provider, name, "price");
	const struct json *tiers = json_get(price, "tiers");
	char room[160];
	int64_t number;

	const char *known = known_name(at, provider, name, room, sizeof room);
	struct model_info m = find_row(at, provider && known == name ? provider->name : NULL, known);
	if (!m.price_source && provider && provider->local)
		m.price_source = "local";
	if (m.price_source && provider && provider->is_regional && provider->is_regional(at, name)) {
		raise_price(&m.price);
		for (size_t i = 0; i < MOST_TIERS; i++)
			raise_price(&m.tiers[i].price);
	}
	if (price) {
		read_price(price, &m.price);
		m.price_source = "settings";
		memset(m.tiers, 0, sizeof m.tiers);
		size_t i = 0;
		for (const struct json *t = json_first(tiers); t && i < MOST_TIERS; t = json_next(tiers, t), i++) {
			(void)json_i64(json_get(t, "above"), &m.tiers[i].above);
			read_price(t, &m.tiers[i].price);
		}
	}
	snprintf(room, sizeof room, "%s/%s", provider ? provider->name : "", name);
	const struct model_fact *fact = at ? map_get(&at->facts, str_from(room)) : NULL;
	if (json_i64(provider_model(provider, name, "context"), &number)) {
		m.context = number;
		m.window_source = "settings";
	} else if (fact) {
		m.context = fact->window;
		m.window_source = fact->source;
	}
	bool is_claude = str_has(str_from(name), STR("claude"));
	const char *most = is_claude ? NULL : providers_env(at, "CLAUDE_CODE_MAX_CONTEXT_TOKENS");
	if (most && str_to_i64(str_from(most), &number) && number > 0) {
		m.context = number;
		m.window_source = "variable";
	}
	if (is_claude && m.context > 200000 && providers_env_is_on(at, "CLAUDE_CODE_DISABLE_1M_CONTEXT")) {
		m.context = 200000;
		m.window_source = "variable";
	}
	if (!m.context && providers_env_is_on(at, "CLAUDE_CODE_DISABLE_UNKNOWN_MODEL_WINDOW_ENFORCEMENT"))
		m.context = NO_WINDOW;
	else if (!m.context) /* too early is better than too late */
		m.context = is_claude ? 200000 : provider && provider->local ? 32768 : 128000;
	const struct {
		const char *key;
		signed char *ability;
	} abilities[] = { { "images", &m.images }, { "pdf", &m.pdf }, { "tools", &m.tools } };
	for (size_t i = 0; i < COUNT_OF(abilities); i++) {
		const struct json *own = provider_model(provider, name, abilities[i].key);
		*abilities[i].ability = !own ? *abilities[i].ability : json_bool(own) ? 1 : -1;
	}
	const struct json *field = provider_model(provider, name, "reasoningField");
	if (field)
		m.reasoning_field = json_str_is(field, "reasoning") ? "reasoning" : "reasoning_content";
	if (json_i64(provider_model(provider, name, "maxOutput"), &number))
		m.max_output = number;
	if (!m.max_output || (m.max_output > m.context / 4 && m.context < 200000))
		m.max_output = MIN(m.max_output ? m.max_output : 32000, m.context / 4);
	return m;
}

double model_cost_usd(const struct providers *at, const char *id, const struct usage *u)
{
	struct model_info m = model_find(at, id);
	const struct model_price *price = &m.price;
	if (u->cost_usd > 0)
		return u->cost_usd;
	int64_t long_writes = MIN(u->cache_write_1h, u->cache_write);
	int64_t writes = u->cache_write - long_writes;
	int64_t prompt = u->input + u->cache_write + u->cache_read;

	for (size_t i = 0; i < MOST_TIERS; i++)
		if (m.tiers[i].above && prompt > m.tiers[i].above)
			price = &m.tiers[i].price;
	return ((double)u->input * price->input + (double)writes * price->write_5m +
		(double)long_writes * price->write_1h + (double)u->cache_read * price->read +
		(double)u->output * price->output) /
	       1e6;
}

/* A capability that ANTHROPIC_DEFAULT_OPUS_MODEL_SUPPORTED_CAPABILITIES and its like name for a model that a variable puts in the place of
 * an alias. True: the variable is set; *ret_has: it names this one. */
static bool stated_capability(const struct providers *at, const char *id, const char *capability, bool *ret_has)
{
	static const char *const families[] = { "OPUS", "SONNET", "HAIKU", "FABLE" };
	char name[80];

	for (size_t i = 0; i < COUNT_OF(families); i++) {
		size_t n = (size_t)snprintf(name, sizeof name, "ANTHROPIC_DEFAULT_%s_MODEL", families[i]);
		const char *model = providers_env(at, name);
		if (!model || strcmp(model, id) != 0)
			continue;
		snprintf(name + n, sizeof name - n, "_SUPPORTED_CAPABILITIES");
		struct str list = str_from(providers_env(at, name));
		*ret_has = false;
		while (list.p)
			*ret_has = str_is(str_trim(str_cut(&list, ',')), capability) || *ret_has;
		return providers_env(at, name) != NULL;
	}
	return false;
}

bool model_takes_effort(const struct providers *at, const char *id, const char *effort)
{
	const char *level = !strcmp(effort, "xhigh") ? "xhigh_effort"
			    : !strcmp(effort, "max") ? "max_effort"
						     : "effort";
	bool has;

	const struct provider *provider = provider_of(at, id, &id);
	const struct json *list = provider_model(provider ? provider : at ? at->usual : NULL, id, "effort");
	for (const struct json *v = json_first(list); v; v = json_next(list, v))
		if (json_str_is(v, effort))
			return true;
	if (list)
		return false;
	return providers_env_is_on(at, "CLAUDE_CODE_ALWAYS_ENABLE_EFFORT") || !stated_capability(at, id, level, &has) ||
	       has;
}

/* Families and their last version that takes a budget of tokens; newer ones decide for themselves. */
const char *model_thinking(const struct providers *at, const char *id)
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

	const struct provider *provider = provider_of(at, id, &id);
	provider = provider ? provider : at ? at->usual : NULL;
	const struct json *own = provider_model(provider, id, "thinking");
	if (own) /* constants: a number of tokens has no other form here */
		return json_str_is(own, "adaptive") ? "adaptive" : json_str_is(own, "budget") ? "16000" : NULL;
	bool thinks, adapts = !providers_env_is_on(at, "CLAUDE_CODE_DISABLE_ADAPTIVE_THINKING");
	if (stated_capability(at, id, "thinking", &thinks)) {
		bool adaptive = false;
		(void)stated_capability(at, id, "adaptive_thinking", &adaptive);
		return adaptive && adapts ? "adaptive" : thinks || adaptive ? "16000" : NULL;
	}
	char room[160], plain[160];
	id = plain_name(known_name(at, provider, id, room, sizeof room), plain, sizeof plain);
	for (size_t i = 0; i < COUNT_OF(ways); i++)
		if (str_starts(str_from(id), str_from(ways[i].prefix)))
			return ways[i].thinking && !adapts ? "16000" : ways[i].thinking;
	return NULL;
}

bool model_plans_alone(const char *id)
{
	static const char families[] =
		"claude-opus-4-8|claude-opus-4-9|claude-opus-5|claude-sonnet-5|claude-fable|claude-mythos";

	return str_starts_with_one_of(str_from(id), families);
}

bool model_has_price(const struct providers *at, const char *id)
{
	return model_find(at, id).price_source != NULL;
}
