/* SPDX-License-Identifier: MIT
 * models.h - what the files of `cadre models` share. */
#pragma once
#include "product/command/command.h"
#include "core/model/catalog.h"
#include "core/model/provider.h"

int models_open(struct cadre_call *call); /* settings and providers */
/* Where the credential of a provider is from, never its value. May be in the arena. */
const char *models_credential(struct services *sv, const struct provider *p, struct arena *a);
/* One request, until its end. *ret_answer is appended to. */
int models_request(struct http *client, struct http_request *request, struct buf *ret_answer, struct err *err);
int models_test(struct cadre_call *call);
