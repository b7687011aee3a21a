/* SPDX-License-Identifier: MIT
 * styles.h - output styles: how the main agent talks. The setting outputStyle names one: built in, or a Markdown file in
 * output-styles/ of the managed directory, of .claude in cwd and the directories above it up to the repository's root, of the
 * user's configuration, or of a plugin (then called plugin:name). The first of these places that has the name counts. */
#pragma once
#include "product/session/session.h"

struct json_out;

/* Lives in an arena, as do its texts. */
struct output_style {
	const char *name;
	struct str prompt;
	bool keeps_prompt; /* it is added to the usual system prompt; otherwise it stands in its place */
};

/* Sets s->style. An unknown name is noted, and the usual style holds. */
void session_find_style(struct cadre_session *s);
const char *session_style_name(const struct cadre_session *s); /* as the settings say, whether there is one or not */
/* "output_style" and "available_output_styles" */
void session_put_styles(struct json_out *w, const struct cadre_session *s);
