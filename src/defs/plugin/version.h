/* SPDX-License-Identifier: MIT
 * version.h - versions and ranges of them, as package managers write them (semver.org).
 *
 *     range       part ( "||" part )*                     one of them must fit
 *     part        comparison ( " " comparison )*          all must fit;  "1.2 - 2.3" is from .. to
 *     comparison  [ "^" | "~" | ">=" | ">" | "<=" | "<" | "=" ] [ "v" ] 1 [ .2 [ .3 [ -pre ] ] ]    x and * stand for any number
 */
#pragma once
#include "lib/base/str.h"

bool version_range_is_good(struct str range);
/* A version that is none fits "*" and an empty range only. Versions before a release fit ranges that name one of the same
 * number. */
bool version_fits(struct str version, struct str range);
