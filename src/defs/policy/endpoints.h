/* SPDX-License-Identifier: MIT
 * endpoints.h - whom a runtime asks, from options, settings and environment. */
#pragma once
#include "defs/policy/services.h"

int app_open_endpoints(struct services *sv, struct err *err); /* the provider of the run, once */
void app_adjust_governor(struct services *sv);                /* as many requests as agents may be alive */
