/* SPDX-License-Identifier: MIT
 * oauth_form.h - names and values as in a query or a form body: a=b&c=d, percent-encoded. */
#pragma once
#include "lib/base/arena.h"
#include "lib/base/buf.h"

void oauth_percent(struct buf *out, struct str s); /* all but letters, digits and -._~ is encoded */
/* Appends name=value, with a '&' before it unless out is empty or ends with '?'. A value of NULL: nothing. */
void oauth_form_add(struct buf *out, const char *name, const char *value);
/* The first value of the name, decoded; NULL: it is not there, or holds a NUL. */
const char *oauth_form_get(struct arena *arena, struct str form, const char *name);
