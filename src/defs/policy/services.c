/* SPDX-License-Identifier: MIT
 * services.c - see services.h. */
#include <assert.h>
#include "defs/policy/services.h"
#include "core/model/catalog.h"
#include "core/store/session_list.h"
#include "lib/base/list.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"

void services_observe(struct services *sv, struct observer *o)
{
	list_push_last(&sv->observers, o);
}

void services_log(struct services *sv, const char *subject, const char *fmt, ...)
{
	AUTO_FREE char *text = NULL;

	if (!sv->observers)
		return;
	PRINT_ARGS_NEW(text, fmt);
	for (struct observer *o = sv->observers; o; o = o->next)
		if (o->on_log)
			o->on_log(o, subject, text);
}

void services_busy(struct services *sv, int change)
{
	sv->busy = (unsigned)((int)sv->busy + change);
	if (!sv->busy)
		loop_stop(sv->loop);
}

int services_may_block(const struct services *sv, struct err *err)
{
	if (!sv->in_callback && !loop_is_running(sv->loop))
		return 0;
	return err_set(err, ERR_BUSY, "this would block the runtime: call it outside of cadre_run() and its callbacks");
}

int api_status(int status, const struct err *err, char *why, size_t why_size)
{
	if (status < 0 && why && why_size)
		snprintf(why, why_size, "%s", err->text);
	return status;
}

int services_list_sessions(struct services *sv, const char *text, struct session_list *ret, struct err *err)
{
	const char *cwd, *config;

	if (options_directories(&sv->options, &ret->arena, &cwd, &config, err) < 0)
		return -(int)err->kind;
	session_list_read(store_project_dir(&ret->arena, config, cwd), text, ret);
	return 0;
}

const char *services_getenv(const struct services *sv, const struct settings *settings, enum env_trust trust,
			    const char *name)
{
	const char *value = settings ? settings_getenv(settings, trust, name) : NULL;

	for (const struct variable *v = sv->variables; v && !value; v = v->next)
		if (!strcmp(v->name, name))
			value = v->value;
	return value ? value : getenv(name);
}

/* From the settings, of a project only as far as they are believed; then from clients; then from the environment. */
const char *services_variable(const struct services *sv, const char *name)
{
	return policy_variable(sv, &sv->policy, name);
}

void services_setenv(struct services *sv, const char *name, const char *value)
{
	struct variable **v = &sv->variables;

	while (*v && strcmp((*v)->name, name) != 0)
		v = &(*v)->next;
	if (!*v) {
		*v = xcalloc(1, sizeof **v);
		(*v)->name = xstrdup(name);
	}
	free((*v)->value);
	(*v)->value = xstrdup(value);
}

void services_free_variables(struct services *sv)
{
	for (struct variable *v; (v = list_pop(&sv->variables));) {
		free(v->name);
		free(v->value);
		free(v);
	}
}

/* The providers of a runtime, from options, settings and environment. */

enum { MOST_CHILDREN = 1000, SPARE_DESCRIPTORS = 128, MOST_PLACES = 32 };

static const char *find_variable(const void *data, const char *name)
{
	return services_variable(data, name);
}

static const char *const *all_variables(const void *data)
{
	return (const char *const *)((const struct services *)data)->policy.own_envp;
}

/* variable: NULL if there is none for it. */
static const char *option_or_env(const struct services *sv, const char *option, const char *variable)
{
	if (option && option[0])
		return option;
	const char *value = variable ? find_variable(sv, variable) : NULL;
	return value && value[0] ? value : NULL;
}

/* How long a server may send nothing; 0: as the provider has it. Hidden reasoning, Bedrock, and a local model that reads a
 * long prompt are silent for minutes. */
static uint64_t stall_ms(const struct services *sv)
{
	static const struct {
		const char *variable;
		uint64_t least;
	} variables[] = {
		{ "CADRE_STALL_MS", 0 },
		{ "CLAUDE_STREAM_IDLE_TIMEOUT_MS", 300000 },
		{ "API_TIMEOUT_MS", 0 },
	};
	uint64_t ms;

	for (size_t i = 0; i < COUNT_OF(variables); i++) {
		const char *value = find_variable(sv, variables[i].variable);
		if (value && str_to_u64(str_from(value), &ms) && ms)
			return MAX(ms, variables[i].least);
	}
	return 0;
}

/* Address and key of the options are those of the run's provider; any other one has the environment only. */
static void configure_endpoint(void *data, const struct provider *p, struct endpoint_options *ret)
{
	const struct services *sv = data;
	const struct options *o = p == sv->endpoints.providers.usual ? &sv->options : &(struct options){ 0 };

	ret->base_url = option_or_env(sv, o->base_url, p->env.base_url);
	ret->api_key = option_or_env(sv, o->api_key, p->env.api_key);
	ret->auth_token = option_or_env(sv, o->auth_token, p->env.auth_token);
	ret->extra_headers = option_or_env(sv, NULL, p->env.headers);
	ret->betas = option_or_env(sv, o->betas, p->env.betas);
	ret->task_budget = o->task_budget > 0;
	ret->scenario = o->scenario && o->scenario[0] ? o->scenario : NULL;
	ret->stall_ms = stall_ms(sv);
	ret->spawner = sv->spawner;
	ret->variables = (struct variables){ find_variable, all_variables, sv };
	ret->key_helper = settings_cstr(sv->policy.settings, "apiKeyHelper", ret->arena);
	ret->aws_export = settings_cstr(sv->policy.settings, "awsCredentialExport", ret->arena);
	ret->aws_refresh = settings_cstr(sv->policy.settings, "awsAuthRefresh", ret->arena);
	ret->gcp_refresh = settings_cstr(sv->policy.settings, "gcpAuthRefresh", ret->arena);
}

/* Variables that pin all requests to one provider, from the environment and the settings */
struct pins {
	struct {
		const char *value;
		struct settings_origin origin; /* no file: the environment */
	} list[MOST_PLACES];                   /* in the order of provider_table */
};

static void read_pin(void *data, const struct settings_var *var)
{
	struct pins *pins = data;

	for (size_t i = 0; provider_table[i] && !var->held; i++)
		if (provider_table[i]->pin && !strcmp(var->name, provider_table[i]->pin)) {
			pins->list[i].value = var->value;
			pins->list[i].origin = var->origin;
		}
}

static void read_pins(const struct services *sv, struct pins *ret)
{
	*ret = (struct pins){ 0 };
	for (size_t i = 0; provider_table[i]; i++) {
		assert(i < MOST_PLACES);
		ret->list[i].value =
			provider_table[i]->pin ? services_getenv(sv, NULL, ENV_OWN, provider_table[i]->pin) : NULL;
	}
	settings_env_each(sv->policy.settings, sv->policy.trusted ? ENV_ALL : ENV_SAFE, read_pin, ret);
	for (size_t i = 0; provider_table[i]; i++) {
		struct str value = str_trim(str_from(ret->list[i].value));
		if (!value.n || str_is_one_of_nocase(value, "0|false|no|off"))
			ret->list[i].value = NULL;
	}
}

/* A pin keeps requests from all other providers. A provider that the command line or the host names is above it, unless the pin is
 * one of managed settings. */
static int admit_provider(void *data, const struct provider *p, struct err *err)
{
	const struct services *sv = data;
	bool chosen = sv->options.provider && p == sv->endpoints.providers.usual;
	const struct provider *pinned = NULL;
	const char *file = NULL;
	bool managed = false;
	struct pins pins;

	read_pins(sv, &pins);
	for (size_t i = 0; provider_table[i]; i++) {
		const struct settings_origin *from = &pins.list[i].origin;
		bool is_managed = from->file && from->layer == LAYER_MANAGED;
		if (!pins.list[i].value || (chosen && !is_managed))
			continue;
		if (provider_table[i] == p)
			return 0;
		pinned = provider_table[i];
		managed = is_managed;
		file = from->file;
	}
	if (!pinned)
		return 0;
	return err_set(
		err, ERR_USAGE, "%s pins all requests to the provider %s, and this one is for %s: %s (it is set in %s)",
		pinned->pin, pinned->name, p->name,
		managed ? "managed settings allow no other provider" : "unset it, or name a provider with --provider",
		file ? file : "the environment");
}

/* With lockedProviders those of the managed layer only. */
static void put_managed(void *data, const struct settings_item *item)
{
	struct json_out *w = data;
	AUTO_ARENA struct arena a = { 0 };

	if (item->origin.layer != LAYER_MANAGED)
		return;
	json_key(w, json_cstr(item->key, &a));
	json_put_raw(w, json_raw(item->value));
}

/* Providers of the settings, names that stand for others, and the catalog that was installed. */
static int read_providers(struct services *sv, struct err *err)
{
	const struct settings *settings = sv->policy.settings;
	struct providers *providers = &sv->endpoints.providers;
	struct settings_origin at = { 0 };
	const struct json *own = settings_get(settings, "providers", &at);
	const struct json *overrides = settings_get(settings, "modelOverrides", NULL);
	AUTO_BUF struct buf managed = { 0 }, file = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	struct err why = { 0 };

	const char *path = services_catalog_file(sv, &a);
	if (path && file_read(path, LARGEST_CATALOG, &file, &why) == 0 &&
	    catalog_read(&providers->arena, buf_str(&file), settings_texts(settings, "modelCatalogKeys", &a),
			 &providers->file, &providers->file_count, &why) < 0 &&
	    !providers->file_problem) {
		providers->file_problem = arena_printf(&providers->arena, "%s is not used: %s", path, why.text);
		buf_addf(&sv->policy.notes, "%s\n", providers->file_problem);
	}
	if (own && settings_bool(settings, "lockedProviders")) {
		struct json_out w = json_out(&managed);
		json_open(&w, '{');
		settings_each(settings, "providers", put_managed, &w);
		json_close(&w);
	}
	if (own && providers_read_own(providers, managed.n ? buf_str(&managed) : json_raw(own), err) < 0)
		return err_wrap(err, "%s:%u", at.file, at.line);
	if (overrides)
		providers_read_overrides(providers, json_raw(overrides));
	return 0;
}

const char *services_catalog_file(const struct services *sv, struct arena *a)
{
	const char *cwd, *config;

	if (options_directories(&sv->options, a, &cwd, &config, NULL) < 0)
		return NULL;
	return path_join(a, config, "cache/models.json");
}

/* The command line or the host, then a pin, then the settings. */
int services_open_endpoints(struct services *sv, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf names = { 0 };
	const char *setting = settings_cstr(sv->policy.settings, "provider", &a);
	struct providers *providers = &sv->endpoints.providers;
	const struct provider *pinned = NULL, *twin = NULL;
	struct pins pins;

	if (providers->usual)
		return 0;
	read_pins(sv, &pins);
	for (size_t i = 0; provider_table[i] && !sv->options.provider; i++) {
		const struct provider *p = provider_table[i];
		if (!pins.list[i].value)
			continue;
		/* Bedrock and Mantle may both be on: Bedrock is the usual one then. */
		if (pinned && (strcmp(pinned->name, "bedrock") != 0 || strcmp(p->name, "mantle") != 0))
			return err_set(err, ERR_USAGE,
				       "%s and %s are both set: requests can be pinned to one of them only",
				       pinned->pin, p->pin);
		twin = pinned ? p : NULL;
		pinned = pinned ? pinned : p;
	}
	providers->variables = (struct variables){ find_variable, all_variables, sv };
	const char *name = sv->options.provider ? sv->options.provider : pinned ? pinned->name : setting;
	if (!providers->own && read_providers(sv, err) < 0)
		return -(int)err->kind;
	const struct provider *usual = provider_find(providers, str_from(name));
	for (size_t i = 0; i < providers->own_count; i++)
		buf_addf(&names, "%s, ", providers->own[i]->name);
	for (size_t i = 0; provider_table[i]; i++)
		buf_addf(&names, "%s%s", i ? ", " : "", provider_table[i]->name);
	if (!usual)
		return err_set(err, ERR_USAGE, "unknown provider '%s': expected one of %s", name, names.p);
	providers->usual = usual;
	providers->twin = twin;
	sv->endpoints.loop = sv->loop;
	sv->endpoints.configure = configure_endpoint;
	sv->endpoints.admit = admit_provider;
	sv->endpoints.allows_cut = sv->options.allow_cut_prompt;
	sv->endpoints.data = sv;
	return 0;
}

/* As many requests as agents may be alive: the children, and the main agent of each session. Each needs a descriptor; a
 * quarter of the others stays free for idle connections, files and child processes. */
void services_adjust_governor(struct services *sv)
{
	size_t taken = store_open_files(sv->descriptor_limit) + SPARE_DESCRIPTORS;
	size_t room = sv->descriptor_limit > taken ? (sv->descriptor_limit - taken) * 3 / 4 : 1;
	size_t agents = MAX(sv->most_children, (size_t)MOST_CHILDREN) + sv->session_count;

	endpoints_set_most(&sv->endpoints, (unsigned)MIN(agents, MAX(room, (size_t)1)));
}
