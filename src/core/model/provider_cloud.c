/* SPDX-License-Identifier: MIT
 * provider_cloud.c - the places that serve the Messages API: Anthropic and gateways, Amazon Bedrock and its Mantle, Claude Platform on
 * AWS, Google Vertex AI, Microsoft Foundry. They differ in address, beginning of the body, credential and names of models. */
#include "core/model/messages.h"

#define HEADERS "ANTHROPIC_CUSTOM_HEADERS"
#define BETAS   "ANTHROPIC_BETAS"

/* ---- shared ---------------------------------------------------------------------------------------------------- */

static const char *env(const struct endpoint_options *o, const char *name)
{
	return variables_get(&o->variables, name);
}

static bool is_on(const struct endpoint_options *o, const char *variable)
{
	const char *value = env(o, variable);

	return value && strcmp(value, "0") != 0 && strcasecmp(value, "false") != 0 && strcasecmp(value, "no") != 0;
}

/* value: NULL for none. */
static struct credential *fixed(const struct endpoint_options *o, const char *header, const char *value)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *const headers[] = { value ? arena_printf(&a, "%s: %s", header, value) : NULL, NULL };

	return credential_new(CREDENTIAL_HEADERS, &(struct credential_options){ .loop = o->loop, .headers = headers });
}

static struct credential *bearer(const struct endpoint_options *o)
{
	AUTO_ARENA struct arena a = { 0 };

	return fixed(o, "authorization", arena_printf(&a, "Bearer %s", o->auth_token));
}

static int check(const struct provider *p, const struct endpoint_options *o, struct err *err)
{
	if (http_place_check_key(o->api_key, p->env.api_key, err) < 0 ||
	    http_place_check_key(o->auth_token, p->env.auth_token, err) < 0 ||
	    http_place_check_url(o->base_url, p->env.base_url, err) < 0)
		return -(int)err->kind;
	return 0;
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

/* ---- Anthropic, and gateways ------------------------------------------------------------------------------------ */

static int open_anthropic(const struct endpoint_options *o, struct endpoint **ret, struct err *err);

extern const struct provider provider_anthropic;
const struct provider provider_anthropic = {
	.name = "anthropic",
	.summary = "the Messages API at ANTHROPIC_BASE_URL",
	.env = { .base_url = "ANTHROPIC_BASE_URL",
		 .api_key = "ANTHROPIC_API_KEY",
		 .auth_token = "ANTHROPIC_AUTH_TOKEN",
		 .headers = HEADERS,
		 .betas = BETAS },
	.has_aliases = true,
	.searches_web = true,
	.open = open_anthropic,
	.close = messages_close,
	.start = messages_start,
	.cancel = messages_cancel,
	.pause = messages_pause,
};

/* One credential only: a private key is no business of the gateway that a token is for. */
static int open_anthropic(const struct endpoint_options *o, struct endpoint **ret, struct err *err)
{
	static const struct messages_kind kind = { 0 };
	const char *base = o->base_url ? o->base_url : "https://api.anthropic.com";
	const char *ttl = env(o, "CLAUDE_CODE_API_KEY_HELPER_TTL_MS");
	uint64_t ttl_ms = 300000;
	struct credential *credential;
	struct messages_place *p;

	if (!o->api_key && !o->auth_token && !o->key_helper)
		return err_set(err, ERR_USAGE,
			       "no API key: set ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN (looked at both; "
			       "--provider scripted runs the built-in demo model instead)");
	if (check(&provider_anthropic, o, err) < 0)
		return -(int)err->kind;
	if (ttl)
		(void)str_to_u64(str_from(ttl), &ttl_ms);
	if (o->auth_token)
		credential = bearer(o);
	else if (o->api_key)
		credential = fixed(o, "x-api-key", o->api_key);
	else
		credential = credential_new(
			CREDENTIAL_HELPER,
			&(struct credential_options){ .loop = o->loop,
						      .spawner = o->spawner,
						      .variables = o->variables,
						      .helper = o->key_helper,
						      .helper_headers = { "authorization: Bearer %s", "x-api-key: %s" },
						      .helper_ttl_ms = ttl_ms });
	if (messages_open(&provider_anthropic, &kind, o, base, "/v1/messages", credential, &p, err) < 0)
		return -(int)err->kind;
	if (o->task_budget)
		http_place_header(&p->place, "anthropic-beta", "task-budgets-2026-03-13");
	*ret = &p->endpoint;
	return 0;
}

/* ---- AWS ------------------------------------------------------------------------------------------------------- */

/* A value that is no name of a region counts as unset. */
static const char *aws_region(const struct endpoint_options *o, struct arena *a)
{
	const char *values[] = { env(o, "AWS_REGION"), env(o, "AWS_DEFAULT_REGION"),
				 credential_aws_profile_value(a, &o->variables, "region") };

	for (size_t i = 0; i < COUNT_OF(values); i++)
		if (values[i] && !strpbrk(values[i], "/. :@"))
			return values[i];
	return "us-east-1";
}

static struct credential *aws_credential(const struct endpoint_options *o, const char *region, const char *service,
					 const char *skip)
{
	if (o->auth_token)
		return bearer(o);
	if (o->api_key)
		return fixed(o, "x-api-key", o->api_key);
	if (is_on(o, skip))
		return fixed(o, NULL, NULL);
	return credential_new(CREDENTIAL_AWS, &(struct credential_options){ .loop = o->loop,
									    .spawner = o->spawner,
									    .variables = o->variables,
									    .region = region,
									    .service = service,
									    .export_command = o->aws_export,
									    .refresh_command = o->aws_refresh });
}

static const char *aws_prefix(const struct endpoint_options *o, const char *region)
{
	static const struct {
		const char *region, *prefix;
	} prefixes[] = {
		{ "us-gov-", "us-gov" }, { "us-", "us" }, { "ca-", "us" }, { "eu-", "eu" }, { "ap-", "apac" }
	};
	const char *given = env(o, "ANTHROPIC_BEDROCK_REGION_PREFIX");

	for (size_t i = 0; !given && i < COUNT_OF(prefixes); i++)
		if (str_starts(str_from(region), str_from(prefixes[i].region)))
			given = prefixes[i].prefix;
	return given ? given : "global";
}

/* Names of Anthropic become inference profiles of the region; ARNs and names of Bedrock stay. */
static const char *bedrock_name(const struct messages_place *p, const char *model, struct arena *a)
{
	size_t at;

	if (!str_starts(str_from(model), STR("claude-")))
		return model;
	return arena_printf(a, "%s.anthropic.%s%s", p->prefix, model, is_dated(model, &at) ? "-v1:0" : "");
}

static const char *mantle_name(const struct messages_place *p, const char *model, struct arena *a)
{
	(void)p;
	return str_starts(str_from(model), STR("claude-")) ? arena_printf(a, "anthropic.%s", model) : model;
}

/* A slash of an ARN belongs to the name. */
static const char *bedrock_url(const struct messages_place *p, const char *name, struct arena *a)
{
	AUTO_BUF struct buf out = { 0 };

	buf_addf(&out, "%s/model/", p->base);
	for (; *name; name++) {
		if (char_in(*name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:"))
			buf_addch(&out, *name);
		else
			buf_addf(&out, "%%%02X", (unsigned char)*name);
	}
	buf_addstr(&out, "/invoke-with-response-stream");
	return arena_dup(a, out.p, out.n);
}

static const struct messages_kind bedrock_kind = {
	.version = "bedrock-2023-05-31", .no_stream = true, .frames = true, .name = bedrock_name, .url = bedrock_url
};
static const struct messages_kind mantle_kind = { .name = mantle_name };
static const struct messages_kind platform_kind = { 0 };

static int open_aws(const struct provider *provider, const struct messages_kind *kind, const struct endpoint_options *o,
		    const char *host, const char *path, const char *service, const char *skip,
		    struct messages_place **ret, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *region = aws_region(o, &a);
	const char *base = o->base_url;

	if (check(provider, o, err) < 0)
		return -(int)err->kind;
	if (!base)
		base = arena_printf(&a, "https://%s.%s.%s", host, region,
				    kind->frames ? "amazonaws.com"
				    : kind->name ? "api.aws/anthropic"
						 : "api.aws");
	if (messages_open(provider, kind, o, base, path, aws_credential(o, region, service, skip), ret, err) < 0)
		return -(int)err->kind;
	(*ret)->region = arena_strdup(&(*ret)->place.arena, region);
	(*ret)->prefix = arena_strdup(&(*ret)->place.arena, aws_prefix(o, region));
	return 0;
}

static int open_bedrock(const struct endpoint_options *o, struct endpoint **ret, struct err *err);
static int open_mantle(const struct endpoint_options *o, struct endpoint **ret, struct err *err);
static int open_platform(const struct endpoint_options *o, struct endpoint **ret, struct err *err);

extern const struct provider provider_bedrock, provider_mantle, provider_platform, provider_vertex, provider_foundry;
const struct provider provider_bedrock = {
	.name = "bedrock",
	.summary = "Amazon Bedrock, in the region of AWS_REGION",
	.pin = "CLAUDE_CODE_USE_BEDROCK",
	.env = { .base_url = "ANTHROPIC_BEDROCK_BASE_URL",
		 .auth_token = "AWS_BEARER_TOKEN_BEDROCK",
		 .headers = HEADERS,
		 .betas = BETAS },
	.has_aliases = true,
	.own_names = true,
	.open = open_bedrock,
	.close = messages_close,
	.start = messages_start,
	.cancel = messages_cancel,
	.pause = messages_pause,
};
const struct provider provider_mantle = {
	.name = "mantle",
	.summary = "the Messages API of Amazon Bedrock",
	.pin = "CLAUDE_CODE_USE_MANTLE",
	.env = { .base_url = "ANTHROPIC_BEDROCK_MANTLE_BASE_URL",
		 .auth_token = "AWS_BEARER_TOKEN_BEDROCK",
		 .headers = HEADERS,
		 .betas = BETAS },
	.has_aliases = true,
	.own_names = true,
	.open = open_mantle,
	.close = messages_close,
	.start = messages_start,
	.cancel = messages_cancel,
	.pause = messages_pause,
};
const struct provider provider_platform = {
	.name = "anthropic-aws",
	.summary = "Claude Platform on AWS",
	.pin = "CLAUDE_CODE_USE_ANTHROPIC_AWS",
	.env = { .base_url = "ANTHROPIC_AWS_BASE_URL",
		 .api_key = "ANTHROPIC_AWS_API_KEY",
		 .headers = HEADERS,
		 .betas = BETAS },
	.has_aliases = true,
	.searches_web = true,
	.open = open_platform,
	.close = messages_close,
	.start = messages_start,
	.cancel = messages_cancel,
	.pause = messages_pause,
};

static int open_bedrock(const struct endpoint_options *o, struct endpoint **ret, struct err *err)
{
	struct messages_place *p;

	if (open_aws(&provider_bedrock, &bedrock_kind, o, "bedrock-runtime", "/model", "bedrock",
		     "CLAUDE_CODE_SKIP_BEDROCK_AUTH", &p, err) < 0)
		return -(int)err->kind;
	const char *tier = env(o, "ANTHROPIC_BEDROCK_SERVICE_TIER");
	if (tier)
		http_place_header(&p->place, "x-amzn-bedrock-service-tier", tier);
	*ret = &p->endpoint;
	return 0;
}

static int open_mantle(const struct endpoint_options *o, struct endpoint **ret, struct err *err)
{
	struct messages_place *p;

	if (open_aws(&provider_mantle, &mantle_kind, o, "bedrock-mantle", "/v1/messages", "bedrock-mantle",
		     "CLAUDE_CODE_SKIP_MANTLE_AUTH", &p, err) < 0)
		return -(int)err->kind;
	*ret = &p->endpoint;
	return 0;
}

static int open_platform(const struct endpoint_options *o, struct endpoint **ret, struct err *err)
{
	const char *workspace = env(o, "ANTHROPIC_AWS_WORKSPACE_ID");
	struct messages_place *p;

	if (!workspace)
		return err_set(err, ERR_USAGE,
			       "Claude Platform on AWS needs the workspace: set ANTHROPIC_AWS_WORKSPACE_ID");
	if (open_aws(&provider_platform, &platform_kind, o, "aws-external-anthropic", "/v1/messages",
		     "aws-external-anthropic", "CLAUDE_CODE_SKIP_ANTHROPIC_AWS_AUTH", &p, err) < 0)
		return -(int)err->kind;
	http_place_header(&p->place, "anthropic-workspace-id", workspace);
	*ret = &p->endpoint;
	return 0;
}

/* ---- Google ---------------------------------------------------------------------------------------------------- */

static const char *vertex_name(const struct messages_place *p, const char *model, struct arena *a)
{
	size_t at;

	(void)p;
	if (!str_starts(str_from(model), STR("claude-")) || !is_dated(model, &at))
		return model;
	return arena_printf(a, "%.*s@%s", (int)at, model, model + at + 1);
}

/* VERTEX_REGION_CLAUDE_SONNET_4_5 names the region of claude-sonnet-4-5 and its dated versions. */
static const char *vertex_region(const struct messages_place *p, const char *name)
{
	char variable[96] = "VERTEX_REGION_";
	size_t n = strlen(variable);

	for (; *name && *name != '@' && n < sizeof variable - 1; name++)
		variable[n++] = *name == '-' || *name == '.'   ? '_'
				: *name >= 'a' && *name <= 'z' ? (char)(*name - 32)
							       : *name;
	variable[n] = '\0';
	const char *region = variables_get(&p->variables, variable);
	return region ? region : p->region;
}

static const char *vertex_url(const struct messages_place *p, const char *name, struct arena *a)
{
	const char *region = vertex_region(p, name);
	const char *base = p->base;

	if (!base[0] && !strcmp(region, "global"))
		base = "https://aiplatform.googleapis.com/v1";
	else if (!base[0] && (!strcmp(region, "us") || !strcmp(region, "eu")))
		base = arena_printf(a, "https://aiplatform.%s.rep.googleapis.com/v1", region);
	else if (!base[0])
		base = arena_printf(a, "https://%s-aiplatform.googleapis.com/v1", region);
	return arena_printf(a, "%s/projects/%s/locations/%s/publishers/anthropic/models/%s:streamRawPredict", base,
			    p->project, region, name);
}

static int open_vertex(const struct endpoint_options *o, struct endpoint **ret, struct err *err)
{
	static const struct messages_kind kind = { .version = "vertex-2023-10-16",
						   .name = vertex_name,
						   .url = vertex_url };
	const char *names[] = { env(o, "GCLOUD_PROJECT"), env(o, "GOOGLE_CLOUD_PROJECT"),
				env(o, "ANTHROPIC_VERTEX_PROJECT_ID") };
	const char *project = NULL, *region = env(o, "CLOUD_ML_REGION");
	struct messages_place *p;

	for (size_t i = 0; i < COUNT_OF(names) && !project; i++)
		project = names[i];
	if (!project)
		return err_set(err, ERR_USAGE, "Vertex AI needs the project: set ANTHROPIC_VERTEX_PROJECT_ID");
	if (check(&provider_vertex, o, err) < 0)
		return -(int)err->kind;
	struct credential *credential =
		is_on(o, "CLAUDE_CODE_SKIP_VERTEX_AUTH")
			? fixed(o, NULL, NULL)
			: credential_new(CREDENTIAL_GOOGLE,
					 &(struct credential_options){ .loop = o->loop,
								       .spawner = o->spawner,
								       .variables = o->variables,
								       .refresh_command = o->gcp_refresh });
	if (messages_open(&provider_vertex, &kind, o, o->base_url ? o->base_url : "", "", credential, &p, err) < 0)
		return -(int)err->kind;
	p->project = arena_strdup(&p->place.arena, project);
	p->region = arena_strdup(&p->place.arena, region ? region : "us-east5");
	*ret = &p->endpoint;
	return 0;
}

const struct provider provider_vertex = {
	.name = "vertex",
	.summary = "Google Vertex AI, in the region of CLOUD_ML_REGION",
	.pin = "CLAUDE_CODE_USE_VERTEX",
	.env = { .base_url = "ANTHROPIC_VERTEX_BASE_URL", .headers = HEADERS, .betas = BETAS },
	.has_aliases = true,
	.own_names = true,
	.open = open_vertex,
	.close = messages_close,
	.start = messages_start,
	.cancel = messages_cancel,
	.pause = messages_pause,
};

/* ---- Microsoft ------------------------------------------------------------------------------------------------- */

static int open_foundry(const struct endpoint_options *o, struct endpoint **ret, struct err *err)
{
	static const struct messages_kind kind = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	const char *resource = env(o, "ANTHROPIC_FOUNDRY_RESOURCE"), *base = o->base_url;
	struct credential *credential;
	struct messages_place *p;

	if (!base && !resource)
		return err_set(
			err, ERR_USAGE,
			"Foundry needs the resource: set ANTHROPIC_FOUNDRY_RESOURCE or ANTHROPIC_FOUNDRY_BASE_URL");
	if (check(&provider_foundry, o, err) < 0)
		return -(int)err->kind;
	if (!base && strpbrk(resource, "/.:@?# "))
		return err_set(err, ERR_USAGE,
			       "ANTHROPIC_FOUNDRY_RESOURCE is the name of a resource, not an address: %s", resource);
	if (!base)
		base = arena_printf(&a, "https://%s.services.ai.azure.com/anthropic", resource);
	if (o->auth_token)
		credential = bearer(o);
	else if (o->api_key)
		credential = fixed(o, "x-api-key", o->api_key);
	else if (is_on(o, "CLAUDE_CODE_SKIP_FOUNDRY_AUTH"))
		credential = fixed(o, NULL, NULL);
	else
		credential = credential_new(
			CREDENTIAL_ENTRA, &(struct credential_options){
						  .loop = o->loop, .spawner = o->spawner, .variables = o->variables });
	if (messages_open(&provider_foundry, &kind, o, base, "/v1/messages", credential, &p, err) < 0)
		return -(int)err->kind;
	*ret = &p->endpoint;
	return 0;
}

const struct provider provider_foundry = {
	.name = "foundry",
	.summary = "Microsoft Foundry, at the resource of ANTHROPIC_FOUNDRY_RESOURCE",
	.pin = "CLAUDE_CODE_USE_FOUNDRY",
	.env = { .base_url = "ANTHROPIC_FOUNDRY_BASE_URL",
		 .api_key = "ANTHROPIC_FOUNDRY_API_KEY",
		 .auth_token = "ANTHROPIC_FOUNDRY_AUTH_TOKEN",
		 .headers = HEADERS,
		 .betas = BETAS },
	.has_aliases = true,
	.own_names = true,
	.open = open_foundry,
	.close = messages_close,
	.start = messages_start,
	.cancel = messages_cancel,
	.pause = messages_pause,
};
