/* SPDX-License-Identifier: MIT
 * permissions.h - where a rule stands, for reports. */
#pragma once
#include "guard/permission/rule_set.h"
#include "product/command/report.h"

void app_rule_origin(struct buf *out, const struct rule *r); /* FILE:LINE, or the layer */
