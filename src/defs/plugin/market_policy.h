/* SPDX-License-Identifier: MIT
 * market_policy.h - which marketplaces managed settings allow: strictKnownMarketplaces (a list: only these; an empty one:
 * none) and blockedMarketplaces (never these, and goes first). An entry is a source as marketplaces have it,
 *
 *     {"source": "github", "repo": "owner/name"}     {"source": "git", "url": "https://..."}     {"source": "url", "url": ...}
 *     {"source": "directory", "path": "/dir"}        {"source": "file", "path": ...}
 *     {"source": "hostPattern", "hostPattern": REGEX}   {"source": "pathPattern", "pathPattern": REGEX}
 *
 * or the name of a marketplace. */
#pragma once
#include "lib/json/json.h"
#include "config/settings/settings.h"

/* Why plugins of this marketplace may not be used; NULL: they may. source may be NULL (then only names fit). settings may
 * be NULL. */
const char *market_forbidden(const struct settings *settings, const char *name, const struct json *source);
