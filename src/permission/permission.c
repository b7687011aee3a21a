/* SPDX-License-Identifier: MIT
 * permission.c - may this call run? */
#include "permission/permission.h"
#include <ctype.h>

static const char *const mode_names[] = { [PERMISSION_DEFAULT] = "default", [PERMISSION_BYPASS] = "bypassPermissions" };

void permission_release(struct permission *p)
{
	map_release(&p->allowed);
}

bool permission_mode_parse(struct str name, enum permission_mode *ret_mode)
{
	for (size_t i = 0; i < COUNT_OF(mode_names); i++) {
		if (!str_is_nocase(name, mode_names[i]))
			continue;
		*ret_mode = (enum permission_mode)i;
		return true;
	}
	return false;
}

const char *permission_mode_name(enum permission_mode mode)
{
	return mode_names[mode];
}

int permission_check_mode(enum permission_mode mode, struct err *err)
{
	const char *sandbox = getenv("IS_SANDBOX");

	if (mode != PERMISSION_BYPASS || geteuid() != 0 || (sandbox && !strcmp(sandbox, "1")))
		return 0;
	return err_set(err, ERR_USAGE,
		       "permissions are not bypassed for root: run as another user, or set IS_SANDBOX=1 in a "
		       "container made for this");
}

static void lower(char *out, size_t size, struct str name)
{
	size_t n = MIN(name.n, size - 1);

	for (size_t i = 0; i < n; i++)
		out[i] = (char)tolower((unsigned char)name.p[i]);
	out[n] = '\0';
}

void permission_allow_tool(struct permission *p, struct str name)
{
	char key[128];

	lower(key, sizeof key, name);
	map_set(&p->allowed, str_from(key), p);
}

enum permission_decision permission_decide(const struct permission *p, const struct tool_call *call, struct buf *reason)
{
	char key[128];

	lower(key, sizeof key, str_from(call->tool->name));
	if (p->mode == PERMISSION_BYPASS || (call->flags & TOOL_READ_ONLY) || map_get(&p->allowed, str_from(key)))
		return PERMISSION_ALLOW;
	if (p->can_ask)
		return PERMISSION_ASK;
	buf_addf(reason,
		 "Permission to use %s was denied: nobody is there to ask, and it is not among the allowed tools "
		 "(--allowedTools %s would allow it).",
		 call->tool->name, call->tool->name);
	return PERMISSION_DENY;
}
