/* SPDX-License-Identifier: MIT
 * texts.h - texts that the build puts into the program. */
#pragma once

extern const char agent_template_text[]; /* agent_template.md */
extern const char style_explanatory_text[], style_learning_text[], style_proactive_text[];
