/* SPDX-License-Identifier: MIT
 * web_access.h - URLs, and which of them a call may fetch. */
#pragma once
#include "core/tool/tool.h"
#include "lib/base/arena.h"

/* ---- addresses -------------------------------------------------------------------------------------------------- */

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

/* ---- where a call may go ---------------------------------------------------------------------------------------- */

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
