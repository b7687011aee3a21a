/* SPDX-License-Identifier: MIT
 * web.h - what WebFetch and WebSearch share in a runtime: an HTTP client of their own, separate from the connections to the
 * model; a cache of pages; and access to a model (docs/internals/web.md). */
#pragma once
#include "core/tool/tool.h"
#include "lib/base/map.h"
#include "lib/io/http.h"
#include "lib/base/arena.h"

struct web_cached {
	const char *url; /* after redirects */
	struct str text;
	uint64_t bytes; /* that the server sent */
	int status;
	uint64_t until_ms; /* of the loop's clock */
};

enum { WEB_CACHE_PAGES = 128 };

/* Zeroed: empty. The page that was not used for the longest time is dropped for a new one. */
struct web_cache {
	struct web_entry {
		struct web_cached page; /* of the texts below */
		uint64_t used;          /* number of the last use */
		char *key, *url, *text; /* owned */
	} entries[WEB_CACHE_PAGES];
	size_t count, held_bytes;
	uint64_t uses; /* so far */
};

/* NULL: it is not there, or too old. Borrowed until the next call. */
const struct web_cached *web_cache_get(struct web_cache *c, const char *key, uint64_t now_ms);
/* Copies all texts; one with the same key is replaced. A page that is too large for the cache is not kept. */
void web_cache_put(struct web_cache *c, const char *key, const struct web_cached *page);
void web_cache_release(struct web_cache *c);

/* One question of a tool to a model, beside the conversation. The tool owns it and keeps it until done. */
struct web_question {
	const char *label, *instructions; /* constants */
	const char *server_tool; /* JSON of a tool that the server runs; NULL: none. Borrowed until ask returns */
	struct str text;         /* the same */
	/* Exactly once, later, also after a cancel. answer: what the model said, and with a server tool the JSON array of all
	 * blocks of it; when failed, why there is none. Borrowed until return. */
	void (*done)(struct web_question *q, bool failed, struct str answer);
	void (*cancel)(struct web_question *q); /* set by ask: a request */
	void *asked;                            /* for the one who implements ask */
};

struct web {
	struct loop *loop; /* borrowed */
	struct http *http;
	struct web_cache cache;
	struct map searches; /* session id -> how many; the number is the pointer */
	/* Set by the composition root; NULL: there is no model, and pages are given as they are. The spending is that of the
	 * agent whose env it is. Below 0: it cannot be asked, and done does not come. */
	int (*ask)(struct web *web, struct tool_env *env, struct web_question *q, struct err *err);
	void *data; /* of ask */
};

struct web *web_new(struct loop *loop);
void web_free(struct web *web); /* no call may run */

/* Takes up to `wanted` searches from the quota of the session; those that were not made are returned to it. */
unsigned web_take_searches(struct web *web, const char *session_id, unsigned wanted, unsigned limit);

struct web_url {
	const char *text; /* normalized, without the fragment */
	const char *host; /* lower case, without a dot at the end */
	const char *port;
	bool https;
};

/* http and https, without a user name. Texts are in the arena. A host that programs could read differently (an escape, an
 * unusual form of an IP address, letters outside ASCII) is refused: rules could not be applied to it. */
int web_url_parse(struct arena *a, struct str text, struct web_url *ret_url, struct err *err);
void web_url_upgrade(struct arena *a,
		     struct web_url *url); /* https in place of http, on its own port if there is one */
/* A host that is on this machine or its network by its name or number alone. */
bool web_url_is_local(const struct web_url *url);

/* Kinds of addresses (lib/io/address.h) that must not be connected to. All that is not public, unless a setting of the user
 * opens it or an allow rule names the host: a number or localhost is opened as what it is, any other name as far as
 * private networks, so that a name that was allowed cannot be made to mean this machine or a metadata service. */
unsigned web_refused_kinds(const struct tool_call *call, const struct web_url *url);

enum web_redirect {
	WEB_FOLLOW,
	WEB_REPORT, /* another host: reported to the model, which may ask for it */
	WEB_REFUSE, /* a rule forbids it */
};
/* Whether a redirect is followed. reason: of WEB_REFUSE. */
enum web_redirect web_check_redirect(const struct tool_call *call, const struct web_url *from, const struct web_url *to,
				     struct buf *reason);
