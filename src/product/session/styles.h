/* SPDX-License-Identifier: MIT
 * styles.h - output styles: how the main agent talks. The setting outputStyle names one: built in, or a Markdown file in
 * output-styles/ of the managed directory, of .claude in cwd and the directories above it up to the repository's root, of the
 * user's configuration, or of a plugin (then called plugin:name). The first of these places that has the name counts. */
#pragma once
#include "product/session/session.h"

struct json_out;

/* Sets s->style_name and tree.style. An unknown name is noted, and the default style is used. */
void session_find_style(struct cadre_session *s);
/* "output_style" and "available_output_styles" */
void session_put_styles(struct json_out *w, const struct cadre_session *s);
