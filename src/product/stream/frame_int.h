/* SPDX-License-Identifier: MIT
 * frame_int.h - an event as a line of stream-json. */
#pragma once
#include "product/session/session.h"
#include "lib/json/json_write.h"

void frame_write(struct cadre_event *e);
