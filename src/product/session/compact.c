/* SPDX-License-Identifier: MIT
 * compact.c - compaction as a session has it. */
#include "product/session/compact.h"

/* What the user typed; an agent's own words may stand before it. */
static struct str typed(const struct cadre_session *s)
{
	struct str prompt = buf_str(&s->turn.prompt);

	return str_trim((struct str){ prompt.p + s->turn.initial, prompt.n - s->turn.initial });
}

bool session_asks_compact(const struct cadre_session *s)
{
	struct str text = typed(s), word = STR("/compact");

	return !s->services->options.no_slash_commands && str_starts(text, word) &&
	       (text.n == word.n || char_in(text.p[word.n], " \t\r\n"));
}

struct str session_compact_instructions(const struct cadre_session *s)
{
	struct str text = typed(s);
	size_t word = strlen("/compact");

	return str_trim((struct str){ text.p + word, text.n - word });
}
