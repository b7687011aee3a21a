/* SPDX-License-Identifier: MIT
 * web_status.h - words for what a server answers. */
#pragma once
#include <stdbool.h>

const char *web_status_text(int status); /* "Not Found"; "" if it is not known */
bool web_status_moves(int status);       /* the page is somewhere else */
