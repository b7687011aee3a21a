/* SPDX-License-Identifier: MIT
 * policy_int.h - addresses and patterns. */
#pragma once
#include "lib/base/str.h"

/* A pattern with "://" is compared part by part: scheme, host and port without their case, path and query; so a * for the
 * host never reaches into a path. User names in an address and the usual port do not count. A pattern without a path means
 * the root alone, but any path if its host ends with *. A pattern without "://" is compared with the whole address. */
bool policy_url_fits(struct str pattern, const char *url);
