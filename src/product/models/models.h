/* SPDX-License-Identifier: MIT
 * models.h - what the files of `cadre models` share. */
#pragma once
#include "product/command/command.h"
#include "core/model/catalog.h"
#include "core/model/provider.h"

int models_open(struct cadre_call *call); /* settings and places */
/* Where the credential of a place is from, never its value. May be in the arena. */
const char *models_credential(struct services *sv, const struct provider *p, struct arena *a);
int models_test(struct cadre_call *call);
