/* SPDX-License-Identifier: MIT
 * color.h - the colour an agent is shown in: the one it asks for, else one that its type always gets. */
#pragma once
#include "defs/agentdef/definition.h"

const char *agent_color(const struct agent_definition *d); /* red, blue, green, yellow, purple, orange, pink or cyan */
