/* SPDX-License-Identifier: MIT
 * doctor.h - `cadre doctor`. */
#pragma once
#include "face/cli/command.h"

extern const struct cadre_command doctor_command;
int doctor_run(struct buf *out, bool json, doctor_keys_fn *keys); /* appends what it found; returns the exit code */
