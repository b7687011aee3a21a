/* SPDX-License-Identifier: MIT
 * mode.c - names and order of the permission modes. */
#include "guard/permission/mode.h"

static const struct {
	const char *name;
	int width;
} modes[] = {
#define X(mode, mode_name, mode_width) [PERMISSION_##mode] = { mode_name, mode_width },
	PERMISSION_MODES(X)
#undef X
};

bool permission_mode_parse(struct str name, enum permission_mode *ret_mode)
{
	if (str_is_nocase(name, "manual"))
		name = STR("default");
	for (size_t i = 0; i < COUNT_OF(modes); i++) {
		if (!str_is_nocase(name, modes[i].name))
			continue;
		*ret_mode = (enum permission_mode)i;
		return true;
	}
	return false;
}

const char *permission_mode_name(enum permission_mode mode)
{
	return modes[mode].name;
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

bool permission_mode_is_wider(enum permission_mode a, enum permission_mode b)
{
	return modes[a].width > modes[b].width;
}
