/* SPDX-License-Identifier: MIT
 * web.c - what the tools of the web share. */
#include "tools/web/web.h"

struct web *web_new(struct loop *loop)
{
	struct http_options options = { .user_agent = "cadre/" CADRE_VERSION " (a user's agent reads a page)" };
	struct web *web = xcalloc(1, sizeof *web);

	web->loop = loop;
	web->http = http_new(loop, &options, NULL); /* opens nothing before the first request: it cannot fail */
	return web;
}

void web_free(struct web *web)
{
	if (!web)
		return;
	http_free(web->http);
	web_cache_release(&web->cache);
	map_release(&web->searches);
	free(web);
}

static uintptr_t used_by(const struct web *web, const char *session_id)
{
	return (uintptr_t)map_get(&web->searches, str_from(session_id));
}

unsigned web_take_searches(struct web *web, const char *session_id, unsigned wanted, unsigned limit)
{
	uintptr_t used = used_by(web, session_id);
	unsigned taken = used < limit ? MIN(wanted, (unsigned)(limit - used)) : 0;

	map_set(&web->searches, str_from(session_id), (void *)(used + taken));
	return taken;
}

void web_return_searches(struct web *web, const char *session_id, unsigned count)
{
	uintptr_t used = used_by(web, session_id);

	map_set(&web->searches, str_from(session_id), (void *)(used - MIN(used, count)));
}
