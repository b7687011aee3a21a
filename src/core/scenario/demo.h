/* SPDX-License-Identifier: MIT
 * demo.h - the embedded scenario of `make run`, made from demo.txt by scripts/embed.py. */
#pragma once

extern const char scenario_demo[]; /* NUL-terminated */
