/* SPDX-License-Identifier: MIT
 * config.h - where a setting stands, for reports. */
#pragma once
#include "product/command/report.h"

void app_put_origin(struct json_out *w, const struct settings_origin *origin);
void app_origin_text(struct buf *out, const struct settings_origin *origin); /* FILE:LINE */
