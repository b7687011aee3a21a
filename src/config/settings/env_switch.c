/* SPDX-License-Identifier: MIT
 * env_switch.c - environment variables that are on or off. */
#include "config/settings/env_switch.h"

bool env_is_on(const char *variable)
{
	struct str value = str_from(getenv(variable));

	return value.n && !str_is(value, "0") && !str_is_nocase(value, "false");
}
