/* SPDX-License-Identifier: MIT
 * host_rule.h - the host in WebFetch(domain:...): "example.com" is itself, "*.example.com" any host below it but not itself,
 * "*" all; any other * stays within one label. Case and a dot at the end do not count. */
#pragma once
#include "lib/base/arena.h"

struct str host_normal(struct arena *a, struct str host);  /* lower case, without the dot at the end */
bool host_rule_match(struct str pattern, struct str host); /* both normal */
/* The host of an address, normal; empty if it has none, or if it is written so that readers could differ about it. */
struct str host_of_url(struct arena *a, struct str url);
