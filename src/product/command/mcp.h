/* SPDX-License-Identifier: MIT
 * mcp.h - the words of `cadre mcp` that start something. */
#pragma once
#include "product/command/command.h"

int mcp_test(struct cadre_call *call); /* and login */
int mcp_serve(struct cadre_call *call);
