/* SPDX-License-Identifier: MIT
 * marketplaces.h - marketplaces of plugins: known, fetched, read. */
#pragma once
#include "product/command/command.h"
#include "defs/policy/plugins.h"
#include "defs/plugin/marketplace.h"
#include "defs/plugin/install.h"

/* What changes to plugins need, found once */
struct marketplace_ctx {
	struct services *services;
	struct arena arena;
	struct settings *settings; /* reference */
	const char *plugins_dir, *cwd, *config_dir;
	struct plugin_records records;
};

int marketplace_ctx_open(struct marketplace_ctx *ctx, struct services *sv,
			 struct err *err); /* ctx need not be initialised */
static inline void marketplace_ctx_release(struct marketplace_ctx *ctx)
{
	plugin_records_release(&ctx->records);
	settings_unref(ctx->settings);
	arena_release(&ctx->arena);
	*ctx = (struct marketplace_ctx){ 0 };
}
#define AUTO_MARKETPLACE_CTX CLEANUP(marketplace_ctx_release)

/* Gets a repository or a package into the empty directory dir and waits for it. *ret_dir is what the source names in it: dir, or a
 * directory below it. */
int market_fetch(struct marketplace_ctx *ctx, const struct json *source, const char *dir, const char **ret_dir,
		 struct err *err);
/* A known marketplace, or one that extraKnownMarketplaces declares, which is then added. */
int market_open(struct marketplace_ctx *ctx, const char *name, struct marketplace *ret_market, struct err *err);

/* The words of `cadre plugin marketplace` */
int marketplace_list(struct cadre_call *call);
int marketplace_add(struct cadre_call *call);
int marketplace_remove(struct cadre_call *call);
int marketplace_update(struct cadre_call *call);
