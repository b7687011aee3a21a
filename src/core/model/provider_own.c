/* SPDX-License-Identifier: MIT
 * provider_own.c - the providers of the setting `providers`: address, wire, credential, headers, models (docs/models.md). */
#include "core/credential/sigv4.h"
#include "core/model/catalog.h"
#include "core/model/http_endpoint.h"
#include "lib/base/base64.h"
#include "lib/base/buf.h"
#include "lib/io/url.h"

/* A provider, and the variable that it answers in place of the environment */
struct own_provider {
	struct provider provider;
	struct variables outer;
	const char *profile; /* AWS_PROFILE; NULL: none */
};

static int own_open(const struct provider *provider, const struct endpoint_options *o, struct endpoint **ret,
		    struct err *err);

/* What all of them have in common */
static const struct provider own_provider = { HTTP_PROVIDER, .own_names = true, .gateway = true, .open = own_open };

enum member_type { TEXT, NUMBER, SWITCH, LIST, TEXTS /* an object of texts */, MAP, ANY };
enum { LEAST_WINDOW = 512 };

struct member {
	const char *name;
	enum member_type type;
};

static const struct member members[] = {
	{ "wire", TEXT },       { "baseUrl", TEXT },   { "query", TEXTS },        { "key", TEXT },
	{ "keyEnv", TEXT },     { "keyHelper", TEXT }, { "keyHeader", TEXT },     { "headers", TEXTS },
	{ "region", TEXT },     { "project", TEXT },   { "workspace", TEXT },     { "profile", TEXT },
	{ "credential", TEXT }, { "stallMs", NUMBER }, { "maxRequests", NUMBER }, { "extraBody", MAP },
	{ "quirks", LIST },     { "models", MAP },     { "aliases", TEXTS },      { "server", TEXT },
	{ NULL, ANY },
};
static const struct member model_members[] = {
	{ "like", TEXT },     { "context", NUMBER },      { "maxOutput", NUMBER }, { "price", MAP },
	{ "images", SWITCH }, { "thinking", TEXT },       { "responses", SWITCH }, { "quirks", LIST },
	{ "effort", LIST },   { "reasoningField", TEXT }, { "pdf", SWITCH },       { "tools", SWITCH },
	{ NULL, ANY },
};
/* Members that may not be any text */
static const struct {
	const char *name, *words;
} choices[] = {
	{ "credential", "none|key|aws|google|entra" },
	{ "server", "ollama|llamacpp|vllm|lmstudio|openrouter|litellm" },
	{ "thinking", "adaptive|budget|none" },
	{ "reasoningField", "reasoning|reasoning_content" },
};

static const struct member price_members[] = {
	{ "input", NUMBER },      { "output", NUMBER }, { "cacheRead", NUMBER },
	{ "cacheWrite", NUMBER }, { "tiers", LIST },    { NULL, ANY },
};
static const struct member tier_members[] = {
	{ "above", NUMBER },     { "input", NUMBER },      { "output", NUMBER },
	{ "cacheRead", NUMBER }, { "cacheWrite", NUMBER }, { NULL, ANY },
};

/* Reports the first member that is unknown, of another type or not one of its words. */
static int check_members(const struct json *object, const struct member *known, const char *path, struct err *err)
{
	static const char *const types[] = { "a text", "a number",           "true or false",
					     "a list", "an object of texts", "an object" };

	if (!json_is(object, JSON_OBJECT))
		return err_set(err, ERR_USAGE, "%s is not an object", path);
	for (struct json_member m = json_members(object); m.key; m = json_member_next(object, m)) {
		const struct member *k = known;
		while (k->name && !json_str_is(m.key, k->name))
			k++;
		struct str name = { m.key->text, m.key->len }, text = { m.value->text, m.value->len };
		if (!k->name)
			return err_set(err, ERR_USAGE, "%s." STR_FMT " is not known; see docs/models.md", path,
				       STR_ARG(name));
		enum json_type t = (enum json_type)m.value->type;
		bool fits = k->type == TEXT     ? t == JSON_STRING
			    : k->type == NUMBER ? t == JSON_NUMBER && json_double(m.value) >= 0
			    : k->type == SWITCH ? t == JSON_TRUE || t == JSON_FALSE
			    : k->type == LIST   ? t == JSON_ARRAY
						: t == JSON_OBJECT;
		for (struct json_member v = json_members(k->type == TEXTS ? m.value : NULL); v.key;
		     v = json_member_next(m.value, v))
			fits = fits && json_is(v.value, JSON_STRING);
		if (!fits)
			return err_set(err, ERR_USAGE, "%s.%s is not %s", path, k->name, types[k->type]);
		for (size_t i = 0; i < COUNT_OF(choices); i++)
			if (!strcmp(k->name, choices[i].name) && !str_is_one_of(text, choices[i].words))
				return err_set(err, ERR_USAGE, "%s.%s is '" STR_FMT "' and must be one of %s", path,
					       k->name, STR_ARG(text), choices[i].words);
		if (!strcmp(k->name, "context") && json_double(m.value) < LEAST_WINDOW)
			return err_set(err, ERR_USAGE, "%s.context is less than %d", path, LEAST_WINDOW);
	}
	return 0;
}

static int check_price(const struct json *price, struct arena *a, const char *path, struct err *err)
{
	const struct json *tiers = json_get(price, "tiers");

	if (!price)
		return 0;
	if (check_members(price, price_members, path, err) < 0)
		return -(int)err->kind;
	for (const struct json *t = tiers ? json_first(tiers) : NULL; t; t = json_next(tiers, t))
		if (check_members(t, tier_members, arena_printf(a, "%s.tiers", path), err) < 0)
			return -(int)err->kind;
	return 0;
}

/* The bits of a list of quirks. */
static int read_quirks(const struct wire *wire, const struct json *list, const char *path, unsigned *ret_bits,
		       struct err *err)
{
	for (const struct json *v = json_first(list); v; v = json_next(list, v)) {
		const struct wire_quirk *q = wire->quirks;
		while (q && q->name && !json_str_is(v, q->name))
			q++;
		if (!q || !q->name)
			return err_set(err, ERR_USAGE, "%s.quirks: the wire %s has no quirk " STR_FMT, path, wire->name,
				       JSON_ARG(v));
		*ret_bits |= q->bit;
	}
	return 0;
}

static int read_provider(struct providers *p, struct str name, const struct json *value, struct provider **ret,
			 struct err *err)
{
	struct arena *a = &p->arena;
	const char *path = arena_printf(a, "providers." STR_FMT, STR_ARG(name));
	const struct provider *built_in = provider_find(NULL, name);
	const struct json *models = json_get(value, "models"), *credential = json_get(value, "credential");
	struct own_provider *own = arena_calloc(a, sizeof *own);
	struct provider *provider = &own->provider;
	unsigned bits = 0;

	if (!name.n || memchr(name.p, '/', name.n) || memchr(name.p, ' ', name.n))
		return err_set(err, ERR_USAGE, "%s: a name has neither blanks nor slashes", path);
	if (built_in && (built_in->pin || !built_in->wire))
		return err_set(err, ERR_USAGE, "%s: this name is taken", path);
	if (check_members(value, members, path, err) < 0)
		return -(int)err->kind;
	for (struct json_member m = json_members(models); m.key; m = json_member_next(models, m)) {
		const char *at = arena_printf(a, "%s.models." STR_FMT, path, (int)m.key->len, m.key->text);
		if (check_members(m.value, model_members, at, err) < 0 ||
		    check_price(json_get(m.value, "price"), a, arena_printf(a, "%s.price", at), err) < 0)
			return -(int)err->kind;
		const char *like = json_cstr(json_get(m.value, "like"), a);
		if (like && !model_find(p, like).id[0])
			return err_set(
				err, ERR_USAGE,
				"%s.like is '%s', which is not a known model: name a built-in one, or one of the catalog",
				at, like);
	}
	*provider = own_provider;
	provider->name = arena_str(a, name).p;
	provider->own = value;
	const char *wire = json_cstr(json_get(value, "wire"), a);
	provider->wire = wire_find(str_from(wire ? wire : built_in ? built_in->wire->name : "messages"));
	if (!provider->wire)
		return err_set(err, ERR_USAGE, "%s.wire: there is no wire '%s'", path, wire);
	bool is_messages = provider->wire == &wire_messages || provider->wire == &wire_invoke ||
			   provider->wire == &wire_rawpredict;
	provider->base = json_cstr(json_get(value, "baseUrl"), a);
	if (!provider->base && built_in)
		provider->base = built_in->base;
	if (!provider->base && (provider->wire == &wire_messages || !is_messages))
		return err_set(err, ERR_USAGE, "%s has no baseUrl", path);
	provider->has_aliases = is_messages;
	if (provider->wire == &wire_invoke || provider->wire == &wire_rawpredict)
		provider->model_name = provider->wire == &wire_invoke ? provider_bedrock.model_name : vertex_model_name;
	/* A provider of the program with more facts keeps its variables. */
	bool same = built_in && !json_get(value, "baseUrl") && !json_get(value, "key") && !json_get(value, "keyEnv") &&
		    !json_get(value, "keyHelper") && !credential;
	if (same)
		provider->env = built_in->env;
	else
		provider->env.api_key = json_cstr(json_get(value, "keyEnv"), a);
	provider->key_header = json_cstr(json_get(value, "keyHeader"), a);
	if (!provider->key_header && same)
		provider->key_header = built_in->key_header;
	else if (!provider->key_header)
		provider->key_header = is_messages                      ? "x-api-key"
				       : provider->wire == &wire_gemini ? "x-goog-api-key"
									: NULL;
	else if (!strcasecmp(provider->key_header, "authorization"))
		provider->key_header = NULL; /* a bearer token */
	provider->server = json_cstr(json_get(value, "server"), a);
	if (!provider->server && built_in)
		provider->server = built_in->server;
	provider->may_cut = provider->server && !strcmp(provider->server, "ollama");
	provider->local = provider->base && url_is_loopback(provider->base);
	own->profile = json_cstr(json_get(value, "profile"), a);
	for (struct json_member m = json_members(models); m.key; m = json_member_next(models, m))
		if (read_quirks(provider->wire, json_get(m.value, "quirks"),
				arena_printf(a, "%s.models." STR_FMT, path, (int)m.key->len, m.key->text), &bits,
				err) < 0)
			return -(int)err->kind;
	*ret = provider;
	return read_quirks(provider->wire, json_get(value, "quirks"), path, &bits, err);
}

int providers_read_own(struct providers *p, struct str json, struct err *err)
{
	struct str copy = arena_str(&p->arena, json);
	const struct json *root;

	if (json_parse(&p->reader, copy.p, copy.n, &root, err) < 0)
		return -(int)err->kind;
	const struct provider **list = arena_calloc(&p->arena, (root->count + 1) * sizeof *list);
	for (struct json_member m = json_members(root); m.key; m = json_member_next(root, m)) {
		struct provider *provider = NULL;
		if (read_provider(p, json_str(m.key, &p->arena), m.value, &provider, err) < 0)
			return -(int)err->kind;
		list[p->own_count++] = provider;
	}
	p->own = list;
	return 0;
}

static const char *find_own_variable(const void *data, const char *name)
{
	const struct own_provider *own = data;

	if (own->profile && !strcmp(name, "AWS_PROFILE"))
		return own->profile;
	return variables_get(&own->outer, name);
}

static const char *const *all_own_variables(const void *data)
{
	const struct own_provider *own = data;

	return own->outer.all ? own->outer.all(own->outer.data) : NULL;
}

/* The text with the values of ${NAME}; a variable that is not set is an error. */
static int expand(const struct own_provider *own, const char *member, struct str text, struct buf *out, struct err *err)
{
	while (text.n) {
		const char *open = memmem(text.p, text.n, "${", 2);
		const char *end = open ? memchr(open, '}', (size_t)(text.p + text.n - open)) : NULL;
		if (!end) {
			buf_add(out, text.p, text.n);
			return 0;
		}
		char name[128];
		buf_add(out, text.p, (size_t)(open - text.p));
		snprintf(name, sizeof name, "%.*s", (int)(end - open - 2), open + 2);
		const char *value = variables_get(&own->outer, name);
		if (!value)
			return err_set(err, ERR_USAGE, "providers.%s.%s: the variable %s is not set",
				       own->provider.name, member, name);
		buf_addstr(out, value);
		text = (struct str){ end + 1, (size_t)(text.p + text.n - end) - 1 };
	}
	return 0;
}

/* The key in its header, the output of a command, or keys of a cloud. *ret stays NULL: nothing is sent. */
static int own_credential(const struct own_provider *own, const struct endpoint_options *o, const char *base,
			  const char *region, struct credential **ret, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf text = { 0 };
	const struct provider *provider = &own->provider;
	const struct json *key = json_get(provider->own, "key");
	const char *kind = json_cstr(json_get(provider->own, "credential"), &a);
	const char *helper = json_cstr(json_get(provider->own, "keyHelper"), &a);
	const char *given = o->auth_token ? o->auth_token : o->api_key, *ttl;
	const char *form =
		provider->key_header ? arena_printf(&a, "%s: %%s", provider->key_header) : "authorization: Bearer %s";
	struct credential_options options = { .loop = o->loop,
					      .spawner = o->spawner,
					      .variables = { find_own_variable, all_own_variables, own },
					      .region = region,
					      .service = strstr(base, "bedrock-mantle") ? "bedrock-mantle"
							 : strstr(base, "aws-external-anthropic") ||
									 json_get(provider->own, "workspace")
								 ? "aws-external-anthropic"
								 : "bedrock",
					      .export_command = o->aws_export,
					      .helper = helper,
					      .helper_headers = { form, NULL },
					      .helper_ttl_ms = 300000 };

	if (!kind)
		kind = provider->wire == &wire_invoke ? "aws" : provider->wire == &wire_rawpredict ? "google" : "key";
	if (!given && key && !helper) {
		if (expand(own, "key", json_str(key, &a), &text, err) < 0)
			return -(int)err->kind;
		given = text.p;
	}
	bool key_variable = json_get(provider->own, "keyEnv");
	if (!given && !helper && provider->env.api_key && (key_variable || (!provider->local && !o->base_url)))
		return err_set(err, ERR_USAGE, "no API key: set %s (%sproviders.%s)", provider->env.api_key,
			       key_variable ? "keyEnv of " : "for ", provider->name);
	if (given && strpbrk(given, "\r\n"))
		return err_set(err, ERR_USAGE, "the key of providers.%s has a line end in it", provider->name);
	if (helper && (ttl = variables_get(&own->outer, "CLAUDE_CODE_API_KEY_HELPER_TTL_MS")))
		(void)str_to_u64(str_from(ttl), &options.helper_ttl_ms);
	if (helper) {
		*ret = credential_new(CREDENTIAL_HELPER, &options);
	} else if (given) {
		struct str before = str_from(form);
		before.n -= 2; /* of %s */
		const char *headers[] = { arena_printf(&a, STR_FMT "%s", STR_ARG(before), given), NULL };
		options.headers = headers;
		*ret = credential_new(CREDENTIAL_HEADERS, &options);
	} else if (!strcmp(kind, "aws")) {
		options.refresh_command = o->aws_refresh;
		*ret = credential_new(CREDENTIAL_AWS, &options);
	} else if (!strcmp(kind, "google")) {
		options.refresh_command = o->gcp_refresh;
		*ret = credential_new(CREDENTIAL_GOOGLE, &options);
	} else if (!strcmp(kind, "entra")) {
		*ret = credential_new(CREDENTIAL_ENTRA, &options);
	}
	return 0;
}

/* The address with its query: from baseUrl, or of the cloud in the region. */
static int own_address(const struct own_provider *own, const struct endpoint_options *o, const char *region,
		       struct buf *out, struct err *err)
{
	const struct provider *provider = &own->provider;
	const struct json *query = json_get(provider->own, "query");
	AUTO_ARENA struct arena a = { 0 };

	if (o->base_url)
		buf_addstr(out, o->base_url);
	else if (provider->base && expand(own, "baseUrl", str_from(provider->base), out, err) < 0)
		return -(int)err->kind;
	else if (!provider->base && provider->wire == &wire_invoke)
		buf_addf(out, "https://bedrock-runtime.%s.amazonaws.com", region);
	char before = strchr(out->n ? out->p : "", '?') ? '&' : '?';
	for (struct json_member m = json_members(query); m.key; m = json_member_next(query, m), before = '&') {
		buf_addch(out, before);
		percent_encode(out, json_str(m.key, &a), "");
		buf_addch(out, '=');
		percent_encode(out, json_str(m.value, &a), "");
	}
	buf_addch(out, '\0');
	struct endpoint_options checked = { .base_url = out->p[0] ? out->p : NULL };
	struct provider named = { .env.base_url = arena_printf(&a, "providers.%s.baseUrl", provider->name) };
	return http_endpoint_check(&named, &checked, err);
}

static int own_open(const struct provider *provider, const struct endpoint_options *o, struct endpoint **ret,
		    struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf base = { 0 }, headers = { 0 };
	struct own_provider *own = CONTAINER_OF(provider, struct own_provider, provider);
	const struct json *list = json_get(provider->own, "headers");
	const char *region = json_cstr(json_get(provider->own, "region"), &a);
	const char *workspace = json_cstr(json_get(provider->own, "workspace"), &a);
	struct endpoint_options options = *o;
	int64_t number = 0;

	own->outer = o->variables;
	if (!region)
		region = provider->wire == &wire_rawpredict ? "us-east5" : "us-east-1";
	if (own_address(own, o, region, &base, err) < 0)
		return -(int)err->kind;
	for (struct json_member m = json_members(list); m.key; m = json_member_next(list, m)) {
		struct str name = json_str(m.key, &a);
		buf_addf(&headers, STR_FMT ": ", STR_ARG(name));
		if (expand(own, "headers", json_str(m.value, &a), &headers, err) < 0)
			return -(int)err->kind;
		buf_addch(&headers, '\n');
	}
	options.extra_headers = headers.n ? headers.p : NULL;
	if (json_i64(json_get(provider->own, "stallMs"), &number) && number)
		options.stall_ms = (uint64_t)number;
	struct http_address at = { .base = base.p,
				   .region = region,
				   .prefix = bedrock_prefix(&options, region),
				   .project = json_cstr(json_get(provider->own, "project"), &a),
				   .header = workspace ? arena_printf(&a, "anthropic-workspace-id: %s", workspace)
						       : NULL };
	if (provider->wire == &wire_rawpredict && !at.project)
		return err_set(err, ERR_USAGE, "providers.%s has no project", provider->name);
	number = 0;
	(void)json_i64(json_get(provider->own, "maxRequests"), &number);
	at.most = (unsigned)MIN(number, 1000000);
	at.extra_body = json_get(provider->own, "extraBody");
	(void)read_quirks(provider->wire, json_get(provider->own, "quirks"), "", &at.quirks, NULL);
	if (own_credential(own, o, base.p, region, &at.credential, err) < 0)
		return -(int)err->kind;
	return http_endpoint_open(provider, &options, &at, ret, err);
}

void provider_own_quirks(const struct provider *provider, const char *model, struct model_quirks *ret)
{
	(void)json_i64(provider_model(provider, model, "maxOutput"), &ret->limit);
	(void)read_quirks(provider->wire, provider_model(provider, model, "quirks"), "", &ret->bits, NULL);
	if (json_bool(provider_model(provider, model, "responses")))
		ret->wire = wire_find(STR("responses"));
}
