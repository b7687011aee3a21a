/* SPDX-License-Identifier: MIT
 * known_name.h - is this the name of a tool, here or in another program of this kind? What is not is a mistake that is said. */
#pragma once
#include "lib/base/str.h"

bool tool_name_is_known(struct str name); /* any case; older names too. Tools of MCP servers are not known here */
