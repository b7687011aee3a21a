/* SPDX-License-Identifier: MIT
 * provider_table.c - the providers of the program itself. They differ in address, credential, wire and names of models. To add one whose
 * server takes a key, or none: a row in the last part. */
#include "core/model/http_endpoint.h"

#define TASK_BUDGETS "task-budgets-2026-03-13"

#define MESSAGES_PROVIDER                                                                                              \
	HTTP_PROVIDER, .env.headers = "ANTHROPIC_CUSTOM_HEADERS", .env.betas = "ANTHROPIC_BETAS", .has_aliases = true, \
		       .key_header = "x-api-key"

static const char *env(const struct endpoint_options *o, const char *name)
{
	return variables_get(&o->variables, name);
}

/* The credential that the options contain: a token, a key, or none at all if the variable `skip` is set. NULL: it must be
 * fetched. */
static struct credential *given_credential(const struct provider *provider, const struct endpoint_options *o,
					   const char *skip)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *headers[] = { NULL, NULL };
	const char *key = o->auth_token ? o->auth_token : o->api_key;

	if (key && !o->auth_token && provider->key_header)
		headers[0] = arena_printf(&a, "%s: %s", provider->key_header, key);
	else if (key) /* a token is always a bearer token */
		headers[0] = arena_printf(&a, "authorization: Bearer %s", key);
	else if (!skip || !env_is_on(env(o, skip)))
		return NULL;
	return credential_new(CREDENTIAL_HEADERS, &(struct credential_options){ .loop = o->loop, .headers = headers });
}

/* How a provider gets its credential: that of the options, or one that is fetched */
struct provider_key {
	const char *skip;                  /* variable: none is sent */
	bool is_fetched;                   /* the provider takes neither a key nor a token of the options */
	enum credential_kind kind;         /* CREDENTIAL_HEADERS: none is fetched */
	struct credential_options fetched; /* without loop, spawner and variables */
};

static int provider_open(const struct provider *provider, const struct endpoint_options *o, struct http_address at,
			 struct provider_key key, struct endpoint **ret, struct err *err)
{
	struct endpoint_options given = *o;

	if (http_endpoint_check(provider, o, err) < 0)
		return -(int)err->kind;
	if (key.is_fetched)
		given.api_key = given.auth_token = NULL;
	key.fetched.loop = o->loop;
	key.fetched.spawner = o->spawner;
	key.fetched.variables = o->variables;
	at.credential = given_credential(provider, &given, key.skip);
	if (!at.credential && key.kind != CREDENTIAL_HEADERS)
		at.credential = credential_new(key.kind, &key.fetched);
	return http_endpoint_open(provider, o, &at, ret, err);
}

/* Whether id ends with a date of eight digits; *ret_at: where its dash is. */
static bool is_dated(const char *id, size_t *ret_at)
{
	size_t n = strlen(id);

	if (n < 10 || id[n - 9] != '-' || strspn(id + n - 8, "0123456789") != 8)
		return false;
	*ret_at = n - 9;
	return true;
}

/* Models before 4.6 have a date at clouds, also those that have a name without one at Anthropic. */
static const char *dated_name(const char *id)
{
	static const struct {
		const char *name, *dated;
	} names[] = {
		{ "claude-opus-4", "claude-opus-4-20250514" },
		{ "claude-opus-4-0", "claude-opus-4-20250514" },
		{ "claude-opus-4-1", "claude-opus-4-1-20250805" },
		{ "claude-opus-4-5", "claude-opus-4-5-20251101" },
		{ "claude-sonnet-4", "claude-sonnet-4-20250514" },
		{ "claude-sonnet-4-0", "claude-sonnet-4-20250514" },
		{ "claude-sonnet-4-5", "claude-sonnet-4-5-20250929" },
		{ "claude-haiku-4-5", "claude-haiku-4-5-20251001" },
	};

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (!strcmp(id, names[i].name))
			return names[i].dated;
	return id;
}

/* Only one credential is sent: a gateway that has a token must not see the private key. */
static int anthropic_open(const struct provider *provider, const struct endpoint_options *o, struct endpoint **ret,
			  struct err *err)
{
	const char *ttl = env(o, "CLAUDE_CODE_API_KEY_HELPER_TTL_MS");
	struct provider_key key = { .kind = CREDENTIAL_HELPER,
				    .fetched = { .helper = o->key_helper,
						 .helper_headers = { "authorization: Bearer %s", "x-api-key: %s" },
						 .helper_ttl_ms = 300000 } };
	AUTO_ARENA struct arena a = { 0 };
	struct endpoint_options options = *o;

	if (!o->api_key && !o->auth_token && !o->key_helper)
		return err_set(err, ERR_USAGE,
			       "no API key: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN (looked at both; "
			       "--provider scripted runs the built-in demo model instead)");
	if (ttl)
		(void)str_to_u64(str_from(ttl), &key.fetched.helper_ttl_ms);
	if (o->task_budget)
		options.betas = arena_printf(&a, TASK_BUDGETS "%s%s", o->betas ? "," : "", o->betas ? o->betas : "");
	const char *base = o->base_url ? o->base_url : provider->base;
	return provider_open(provider, &options, (struct http_address){ .base = base }, key, ret, err);
}

const struct provider provider_anthropic = {
	MESSAGES_PROVIDER,
	.name = "anthropic",
	.base = "https://api.anthropic.com",
	.wire = &wire_messages,
	.env.base_url = "ANTHROPIC_BASE_URL",
	.env.api_key = "ANTHROPIC_API_KEY",
	.env.auth_token = "ANTHROPIC_AUTH_TOKEN",
	.searches_web = true,
	.open = anthropic_open,
};

static const char *prefix_of(const struct variables *v, const char *region)
{
	static const struct {
		const char *region, *prefix;
	} prefixes[] = {
		{ "us-gov-", "us-gov" }, { "us-", "us" }, { "ca-", "us" }, { "eu-", "eu" }, { "ap-", "apac" }
	};
	const char *given = variables_get(v, "ANTHROPIC_BEDROCK_REGION_PREFIX");

	for (size_t i = 0; !given && i < COUNT_OF(prefixes); i++)
		if (str_starts(str_from(region), str_from(prefixes[i].region)))
			given = prefixes[i].prefix;
	return given ? given : "global";
}

const char *bedrock_prefix(const struct endpoint_options *o, const char *region)
{
	return prefix_of(&o->variables, region);
}

/* A value that is not the name of a region counts as unset. */
static const char *aws_region(struct arena *a, const struct variables *v)
{
	for (int i = 0; i < 3; i++) {
		const char *region = i == 0   ? variables_get(v, "AWS_REGION")
				     : i == 1 ? variables_get(v, "AWS_DEFAULT_REGION")
					      : credential_aws_profile_value(a, v, "region");
		if (region && !strpbrk(region, "/. :@"))
			return region;
	}
	return "us-east-1";
}

/* Profiles of one region; "global." is answered anywhere. */
static bool bedrock_is_regional(const struct providers *at, const char *model)
{
	AUTO_ARENA struct arena a = { 0 };

	if (str_starts(str_from(model), STR("claude-"))) {
		const char *prefix = at->bedrock_prefix ? at->bedrock_prefix
							: prefix_of(&at->variables, aws_region(&a, &at->variables));
		return strcmp(prefix, "global") != 0;
	}
	return str_has(str_from(model), STR(".anthropic.")) && !str_starts(str_from(model), STR("global."));
}

const char *bedrock_small_region(const struct variables *v, const char *model)
{
	return str_has(str_from(model), STR("haiku")) ? variables_get(v, "ANTHROPIC_SMALL_FAST_MODEL_AWS_REGION")
						      : NULL;
}

/* Names of Anthropic become inference profiles of the region; ARNs and names of Bedrock stay. */
static const char *bedrock_name(const struct http_endpoint *p, const char *model, struct arena *a)
{
	size_t at;

	if (!str_starts(str_from(model), STR("claude-")))
		return model;
	const char *small = bedrock_small_region(&p->variables, model), *id = dated_name(model);
	return arena_printf(a, "%s.anthropic.%s%s", small ? prefix_of(&p->variables, small) : p->prefix, id,
			    is_dated(id, &at)                ? "-v1:0"
			    : !strcmp(id, "claude-opus-4-6") ? "-v1"
							     : "");
}

static const char *mantle_name(const struct http_endpoint *p, const char *model, struct arena *a)
{
	return str_starts(str_from(model), STR("claude-")) ? arena_printf(a, "anthropic.%s", model) : model;
}

static const struct provider provider_mantle, provider_platform;

static const struct aws_service {
	const struct provider *provider;
	const char *host, *domain;
	const char *service;           /* in signatures */
	const char *skip;              /* variable: requests are not signed */
	const char *header, *variable; /* a header with the value of a variable; NULL: none */
	const char *missing;           /* the error if the variable is not set; NULL: it is optional */
} aws_services[] = {
	{ .provider = &provider_bedrock,
	  .host = "bedrock-runtime",
	  .domain = "amazonaws.com",
	  .service = "bedrock",
	  .skip = "CLAUDE_CODE_SKIP_BEDROCK_AUTH",
	  .header = "x-amzn-bedrock-service-tier",
	  .variable = "ANTHROPIC_BEDROCK_SERVICE_TIER" },
	{ .provider = &provider_mantle,
	  .host = "bedrock-mantle",
	  .domain = "api.aws/anthropic",
	  .service = "bedrock-mantle",
	  .skip = "CLAUDE_CODE_SKIP_MANTLE_AUTH" },
	{ .provider = &provider_platform,
	  .host = "aws-external-anthropic",
	  .domain = "api.aws",
	  .service = "aws-external-anthropic",
	  .skip = "CLAUDE_CODE_SKIP_ANTHROPIC_AWS_AUTH",
	  .header = "anthropic-workspace-id",
	  .variable = "ANTHROPIC_AWS_WORKSPACE_ID",
	  .missing = "Claude Platform on AWS needs the workspace" },
};

static int aws_open(const struct provider *provider, const struct endpoint_options *o, struct endpoint **ret,
		    struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *region = aws_region(&a, &o->variables), *base = o->base_url;
	const struct aws_service *s = aws_services;

	while (s->provider != provider)
		s++;
	const char *value = s->variable ? env(o, s->variable) : NULL;
	if (s->missing && !value)
		return err_set(err, ERR_USAGE, "%s: set %s", s->missing, s->variable);
	if (!base)
		base = arena_printf(&a, "https://%s.%s.%s", s->host, region, s->domain);
	struct http_address at = { base, .region = region, .prefix = bedrock_prefix(o, region),
				   .header = value ? arena_printf(&a, "%s: %s", s->header, value) : NULL };
	struct provider_key key = { .skip = s->skip,
				    .kind = CREDENTIAL_AWS,
				    .fetched = { .region = region,
						 .service = s->service,
						 .export_command = o->aws_export,
						 .refresh_command = o->aws_refresh } };
	return provider_open(provider, o, at, key, ret, err);
}

const struct provider provider_bedrock = {
	MESSAGES_PROVIDER,
	.name = "bedrock",
	.pin = "CLAUDE_CODE_USE_BEDROCK",
	.env.base_url = "ANTHROPIC_BEDROCK_BASE_URL",
	.env.place = "AWS_REGION",
	.env.auth_token = "AWS_BEARER_TOKEN_BEDROCK",
	.wire = &wire_invoke,
	.is_regional = bedrock_is_regional,
	.model_name = bedrock_name,
	.own_names = true,
	.open = aws_open,
};

static const struct provider provider_mantle = {
	MESSAGES_PROVIDER,
	.name = "mantle",
	.wire = &wire_messages,
	.pin = "CLAUDE_CODE_USE_MANTLE",
	.env.base_url = "ANTHROPIC_BEDROCK_MANTLE_BASE_URL",
	.env.place = "AWS_REGION",
	.env.auth_token = "AWS_BEARER_TOKEN_BEDROCK",
	.model_name = mantle_name,
	.own_names = true,
	.open = aws_open,
};

static const struct provider provider_platform = {
	MESSAGES_PROVIDER,
	.name = "anthropic-aws",
	.wire = &wire_messages,
	.pin = "CLAUDE_CODE_USE_ANTHROPIC_AWS",
	.env.base_url = "ANTHROPIC_AWS_BASE_URL",
	.env.place = "AWS_REGION",
	.env.api_key = "ANTHROPIC_AWS_API_KEY",
	.searches_web = true,
	.open = aws_open,
};

const char *vertex_model_name(const struct http_endpoint *p, const char *model, struct arena *a)
{
	const char *id = dated_name(model);
	size_t at;

	if (!str_starts(str_from(id), STR("claude-")) || !is_dated(id, &at))
		return model;
	return arena_printf(a, "%.*s@%s", (int)at, id, id + at + 1);
}

static bool vertex_is_regional(const struct providers *at, const char *model)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *region = vertex_region(&at->variables, vertex_model_name(NULL, model, &a));

	return !region || strcmp(region, "global") != 0;
}

static struct provider_key google_key(const struct endpoint_options *o, const char *skip)
{
	return (struct provider_key){ .skip = skip,
				      .is_fetched = true,
				      .kind = CREDENTIAL_GOOGLE,
				      .fetched = { .refresh_command = o->gcp_refresh } };
}

static int vertex_open(const struct provider *provider, const struct endpoint_options *o, struct endpoint **ret,
		       struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *names[] = { env(o, "GCLOUD_PROJECT"), env(o, "GOOGLE_CLOUD_PROJECT"),
				credential_google_project(&a, &o->variables), env(o, "ANTHROPIC_VERTEX_PROJECT_ID") };
	const char *project = NULL, *region = env(o, "CLOUD_ML_REGION");

	for (size_t i = 0; i < COUNT_OF(names) && !project; i++)
		project = names[i];
	if (!project)
		return err_set(err, ERR_USAGE, "Vertex AI needs the project: set ANTHROPIC_VERTEX_PROJECT_ID");
	struct http_address at = { o->base_url ? o->base_url : "", .region = region ? region : "us-east5",
				   .project = project };
	return provider_open(provider, o, at, google_key(o, "CLAUDE_CODE_SKIP_VERTEX_AUTH"), ret, err);
}

static const struct provider provider_vertex = {
	MESSAGES_PROVIDER,
	.name = "vertex",
	.pin = "CLAUDE_CODE_USE_VERTEX",
	.env.base_url = "ANTHROPIC_VERTEX_BASE_URL",
	.env.place = "CLOUD_ML_REGION",
	.wire = &wire_rawpredict,
	.is_regional = vertex_is_regional,
	.model_name = vertex_model_name,
	.own_names = true,
	.open = vertex_open,
};

/* Claude on Google Cloud, managed by Anthropic: the Messages API as it is, with a token of Google. */
static int google_cloud_open(const struct provider *provider, const struct endpoint_options *o, struct endpoint **ret,
			     struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *project = env(o, "ANTHROPIC_GOOGLE_CLOUD_PROJECT"), *base = o->base_url;
	const char *workspace = env(o, "ANTHROPIC_GOOGLE_CLOUD_WORKSPACE_ID");
	const char *location = env(o, "ANTHROPIC_GOOGLE_CLOUD_LOCATION");

	if (!base && (!project || !workspace))
		return err_set(err, ERR_USAGE,
			       "Google Cloud needs the project and the workspace: set "
			       "ANTHROPIC_GOOGLE_CLOUD_PROJECT and ANTHROPIC_GOOGLE_CLOUD_WORKSPACE_ID");
	if (!base) /* another one is the whole of it, as for the client of Anthropic */
		base = arena_printf(&a,
				    "https://claude.googleapis.com/v1/projects/%s/locations/%s/workspaces/%s/invoke",
				    project, location ? location : "global", workspace);
	return provider_open(provider, o, (struct http_address){ .base = base },
			     google_key(o, "CLAUDE_CODE_SKIP_ANTHROPIC_GOOGLE_CLOUD_AUTH"), ret, err);
}

static const struct provider provider_google_cloud = {
	MESSAGES_PROVIDER,
	.name = "google-cloud",
	.pin = "CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD",
	.env.base_url = "ANTHROPIC_GOOGLE_CLOUD_BASE_URL",
	.wire = &wire_messages,
	.open = google_cloud_open,
};

static int foundry_open(const struct provider *provider, const struct endpoint_options *o, struct endpoint **ret,
			struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *resource = env(o, "ANTHROPIC_FOUNDRY_RESOURCE"), *base = o->base_url;
	struct provider_key key = { .skip = "CLAUDE_CODE_SKIP_FOUNDRY_AUTH", .kind = CREDENTIAL_ENTRA };

	if (!base && !resource)
		return err_set(
			err, ERR_USAGE,
			"Foundry needs the resource: set ANTHROPIC_FOUNDRY_RESOURCE or ANTHROPIC_FOUNDRY_BASE_URL");
	if (!base && strpbrk(resource, "/.:@?# "))
		return err_set(err, ERR_USAGE,
			       "ANTHROPIC_FOUNDRY_RESOURCE is the name of a resource, not an address: %s", resource);
	if (!base)
		base = arena_printf(&a, "https://%s.services.ai.azure.com/anthropic", resource);
	return provider_open(provider, o, (struct http_address){ .base = base }, key, ret, err);
}

static const struct provider provider_foundry = {
	MESSAGES_PROVIDER,
	.name = "foundry",
	.wire = &wire_messages,
	.pin = "CLAUDE_CODE_USE_FOUNDRY",
	.env.base_url = "ANTHROPIC_FOUNDRY_BASE_URL",
	.env.place = "ANTHROPIC_FOUNDRY_RESOURCE",
	.env.api_key = "ANTHROPIC_FOUNDRY_API_KEY",
	.env.auth_token = "ANTHROPIC_FOUNDRY_AUTH_TOKEN",
	.own_names = true,
	.open = foundry_open,
};

/* A key in a header, or none */
static int plain_open(const struct provider *provider, const struct endpoint_options *o, struct endpoint **ret,
		      struct err *err)
{
	/* A server of the user's own may need none; it says so. */
	if (!o->auth_token && !o->api_key && !o->base_url && !provider->local)
		return err_set(
			err, ERR_USAGE,
			"no API key: set %s, or %s for a server that needs none (such as http://127.0.0.1:11434/v1)",
			provider->env.api_key, provider->env.base_url);
	return provider_open(provider, o, (struct http_address){ .base = o->base_url ? o->base_url : provider->base },
			     (struct provider_key){ 0 }, ret, err);
}

static int azure_open(const struct provider *provider, const struct endpoint_options *o, struct endpoint **ret,
		      struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *resource = env(o, "AZURE_OPENAI_RESOURCE_NAME"), *version = env(o, "AZURE_OPENAI_API_VERSION");
	struct endpoint_options at = *o;

	if (!o->base_url && (!resource || strpbrk(resource, "/.:@?# ")))
		return err_set(
			err, ERR_USAGE,
			"Azure needs the name of a resource: set AZURE_OPENAI_RESOURCE_NAME or AZURE_OPENAI_BASE_URL");
	if (!o->base_url && !o->api_key && !o->auth_token)
		return err_set(err, ERR_USAGE, "no API key: set AZURE_OPENAI_API_KEY or AZURE_OPENAI_AD_TOKEN");
	if (!o->base_url)
		at.base_url = arena_printf(&a, "https://%s.openai.azure.com/openai/v1", resource);
	if (version && !strchr(at.base_url, '?'))
		at.base_url = arena_printf(&a, "%s?api-version=%s", at.base_url, version);
	return plain_open(provider, &at, ret, err);
}

#define PLAIN(title, variable, address)                                                                         \
	HTTP_PROVIDER, .name = title, .env.base_url = variable "_BASE_URL", .env.api_key = variable "_API_KEY", \
		       .env.model = variable "_MODEL", .wire = &wire_chat, .base = address, .open = plain_open

static const struct provider provider_azure = {
	HTTP_PROVIDER,
	.name = "azure",
	.env = { "AZURE_OPENAI_BASE_URL", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN",
		 .model = "AZURE_OPENAI_MODEL", .place = "AZURE_OPENAI_RESOURCE_NAME" },
	.wire = &wire_chat,
	.key_header = "api-key",
	.open = azure_open,
};
static const struct provider provider_gemini = {
	HTTP_PROVIDER,
	.name = "gemini",
	.env = { "GEMINI_BASE_URL", "GEMINI_API_KEY", .model = "GEMINI_MODEL" },
	.base = "https://generativelanguage.googleapis.com/v1beta",
	.key_header = "x-goog-api-key",
	.wire = &wire_gemini,
	.open = plain_open,
};

#define LOCAL(dialect) .local = true, .gateway = true, .server = dialect

const struct provider *const provider_table[] = {
	&provider_anthropic,
	&provider_bedrock,
	&provider_mantle,
	&provider_platform,
	&provider_vertex,
	&provider_google_cloud,
	&provider_foundry,
	&(const struct provider){ PLAIN("openai", "OPENAI", "https://api.openai.com/v1") },
	&provider_azure,
	&provider_gemini,
	&(const struct provider){ PLAIN("openrouter", "OPENROUTER", "https://openrouter.ai/api/v1"), .gateway = true,
				  .server = "openrouter" },
	&(const struct provider){ PLAIN("deepseek", "DEEPSEEK", "https://api.deepseek.com") },
	&(const struct provider){ PLAIN("mistral", "MISTRAL", "https://api.mistral.ai/v1") },
	&(const struct provider){ PLAIN("groq", "GROQ", "https://api.groq.com/openai/v1") },
	&(const struct provider){ PLAIN("xai", "XAI", "https://api.x.ai/v1") },
	&(const struct provider){ PLAIN("moonshot", "MOONSHOT", "https://api.moonshot.ai/v1") },
	&(const struct provider){ PLAIN("zai", "ZAI", "https://api.z.ai/api/paas/v4") },
	&(const struct provider){ PLAIN("ollama", "OLLAMA", "http://127.0.0.1:11434/v1"), LOCAL("ollama"),
				  .may_cut = true },
	&(const struct provider){ PLAIN("lmstudio", "LMSTUDIO", "http://127.0.0.1:1234/v1"), LOCAL("lmstudio") },
	&(const struct provider){ PLAIN("llamacpp", "LLAMACPP", "http://127.0.0.1:8080/v1"), LOCAL("llamacpp") },
	&(const struct provider){ PLAIN("vllm", "VLLM", "http://127.0.0.1:8000/v1"), LOCAL("vllm") },
	&provider_scripted,
	NULL,
};
