/* SPDX-License-Identifier: MIT
 * web_access.h - where a call may go: which addresses it may connect to, and whether it may follow an answer elsewhere. */
#pragma once
#include "core/tool/tool.h"
#include "tools/web/web_url.h"

/* Kinds of addresses (lib/io/address.h) that must not be connected to. All that is not public, unless a setting of the user
 * opens it or an allow rule names the host: a number or localhost is opened as what it is, any other name as far as
 * private networks, so that a name that was allowed cannot be made to mean this machine or a metadata service. */
unsigned web_refused_kinds(const struct tool_call *call, const struct web_url *url);

enum web_way {
	WEB_FOLLOW,
	WEB_REPORT, /* another host: the model is told and may ask for it */
	WEB_REFUSE, /* a rule forbids it */
};
/* Of an answer that leads elsewhere. reason: of WEB_REFUSE. */
enum web_way web_judge_redirect(const struct tool_call *call, const struct web_url *from, const struct web_url *to,
				struct buf *reason);
