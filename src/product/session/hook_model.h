/* SPDX-License-Identifier: MIT
 * hook_model.h - hooks that are a question to a model: type prompt (one answer), type agent (it may read files first). They
 * go through the same endpoint, governor and budget as everything else, and count as spending of the session. */
#pragma once
#include "guard/hook/hook.h"

struct services;

struct hook_runner *hook_model_new(struct services *sv); /* returns owned; borrows c */
void hook_model_free(struct hook_runner *runner);        /* no question may be open */
