/* SPDX-License-Identifier: MIT
 * api_check.h - a request body against the rules of the API, as the scripted model server checks them. Apart from the tests
 * because the two rooms have a struct block each. */
#pragma once
#include "lib/base/str.h"

int api_check(struct str body, struct err *err); /* any tool may be called, and max_tokens may be missing */
