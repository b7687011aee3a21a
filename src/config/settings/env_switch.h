/* SPDX-License-Identifier: MIT
 * env_switch.h - environment variables that are on or off. */
#pragma once
#include "lib/base/str.h"

bool env_is_on(const char *variable); /* set to anything but "", "0" and "false" in any case */
