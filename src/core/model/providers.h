/* SPDX-License-Identifier: MIT
 * providers.h - the providers that answer requests: those of the program (provider_table.c) and those of the setting `providers` (provider_own.c),
 * and what is known of their models (catalog.h). */
#pragma once
#include "lib/base/arena.h"
#include "lib/base/map.h"
#include "lib/json/json.h"
#include "core/credential/credential.h"

struct endpoint;
struct endpoint_options;
struct http_endpoint;
struct model_call;
struct model_info;
struct providers;
struct wire;

/* Names of environment variables; NULL: none */
struct provider_env {
	const char *base_url, *api_key, *auth_token, *headers, *betas;
	const char *model; /* the default model of a provider without aliases */
	const char *place; /* the region or resource that its usual address is made of */
};

struct provider {
	const char *name;
	const char *pin; /* the variable that pins all requests to it; NULL: none */
	struct provider_env env;
	const char *base;       /* its address, unless a variable or an option has another one; NULL: open makes it */
	const char *key_header; /* "api-key"; NULL: the key is a bearer token */
	bool has_aliases;       /* accepts the aliases of catalog.h */
	bool own_names;         /* its models may have any name: deployments */
	bool gateway;           /* it has models of many vendors: "anthropic/NAME" is one of them */
	bool local;             /* a server of the user: no key, no price, a small window unless it says more */
	bool may_cut;           /* it drops the beginning of a long prompt in silence */
	const char *server;     /* whose dialect tells a model's window (window.c); NULL: it is not asked */
	const struct json *own; /* of the settings; NULL: built in */
	bool searches_web;      /* its server offers the tool web_search */
	/* Whether a model is answered by one region, which costs more; NULL: never. */
	bool (*is_regional)(const struct providers *at, const char *model);
	const struct wire *wire; /* that its models speak, unless their quirks name another one; NULL: not over HTTP */
	/* The name that a model has at its server; NULL: as it is. In the arena. */
	const char *(*model_name)(const struct http_endpoint *p, const char *model, struct arena *a);
	int (*open)(const struct provider *p, const struct endpoint_options *options, struct endpoint **ret_endpoint,
		    struct err *err);
	void (*close)(struct endpoint *e);
	int (*start)(struct endpoint *e, struct model_call *call, struct err *err);
	void (*cancel)(struct model_call *call);
	void (*pause)(struct model_call *call, bool on); /* back-pressure; may be NULL */
};

/* What a server said of a model */
struct model_fact {
	int64_t window;
	const char *source; /* a constant: "asked", "learned" */
};

/* The providers of a runtime. { .usual = ... } has those of the program only. */
struct providers {
	const struct provider *usual; /* of names without a provider */
	const struct provider
		*twin; /* Mantle, for names with "anthropic." while Bedrock is the usual one; NULL: none */
	const struct provider *const *own;
	size_t own_count;
	const struct json *overrides;  /* the setting modelOverrides; NULL: none */
	const struct model_info *file; /* of the catalog that was installed; NULL: none */
	size_t file_count;
	const char *file_problem;   /* why it does not count; NULL: it does, or there is none */
	struct variables variables; /* those of the settings count as well as the environment */
	const char *bedrock_prefix; /* of its names, once Bedrock is open: the region may be in a file; NULL: not yet */
	struct map facts;           /* "PROVIDER/NAME" -> struct model_fact */
	struct arena arena;         /* holds all of it */
	struct json_reader reader, override_reader;
};

const char *providers_env(const struct providers *p, const char *name); /* NULL: unset or empty; p may be NULL */
bool providers_env_is_on(const struct providers *p, const char *name);  /* set, and neither 0, false, no nor off */
/* The value of the setting `providers`; copies it. -ERR_USAGE names the member that is wrong. */
int providers_read_own(struct providers *p, struct str json, struct err *err);
void providers_read_overrides(struct providers *p, struct str json);
void providers_release(struct providers *p);
const struct provider *provider_find(const struct providers *p,
				     struct str name); /* NULL: unknown; p: NULL for the built-in ones */
/* The provider of a model name: "openai/NAME" is NAME at openai. NULL: it names none; *ret_name, which may be NULL, is then the
 * whole name. Behind a gateway "anthropic/NAME" names no provider. */
const struct provider *provider_of(const struct providers *p, const char *model, const char **ret_name);
/* The name that is sent for a model, by modelOverrides; without its provider. In the arena. */
const char *provider_sent_name(const struct providers *p, const char *model, struct arena *a);
/* A member of a model in providers.NAME.models, or of "*"; NULL: it has none. */
const struct json *provider_model(const struct provider *p, const char *model, const char *key);
size_t provider_most_tools(const struct providers *p, const char *model); /* that its wire takes; 0: any number */
void providers_learn(struct providers *p, const struct provider *provider, const char *name, int64_t window,
		     const char *source);

extern const struct provider provider_anthropic, provider_bedrock, provider_scripted;
extern const struct provider *const provider_table[]; /* NULL-terminated */
extern const struct wire wire_messages, wire_invoke, wire_rawpredict, wire_chat, wire_responses, wire_gemini;
const struct wire *wire_find(struct str name);
