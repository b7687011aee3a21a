/* SPDX-License-Identifier: MIT
 * compact.c - compaction as a session has it. */
#include "product/session/compact.h"
#include "config/settings/env_switch.h"

enum { LEAST_WINDOW = 100000, MOST_WINDOW = 1000000 }; /* that the environment may set */

/* A variable of the environment is closer to the run than a file. */
static int64_t find_window(const struct settings *settings)
{
	const char *text = getenv("CLAUDE_CODE_AUTO_COMPACT_WINDOW");
	int64_t n;

	if (text && str_to_i64(str_from(text), &n))
		return MAX(LEAST_WINDOW, MIN(n, MOST_WINDOW));
	return settings_i64(settings, "autoCompactWindow", 0);
}

static double find_percent(void)
{
	const char *text = getenv("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE");
	double percent;

	return text && str_to_double(str_from(text), &percent) && percent > 0 && percent <= 100 ? percent : 0;
}

void session_use_compact(struct cadre_session *s)
{
	const struct settings *settings = s->services->policy.settings;
	struct compact_policy *p = &s->tree.compact;

	p->possible = !env_is_on("DISABLE_COMPACT");
	p->automatic = p->possible && !env_is_on("DISABLE_AUTO_COMPACT") &&
		       settings_bool(settings, "autoCompactEnabled", true);
	p->window = find_window(settings);
	p->percent = find_percent();
	s->tree.main.query.config.compact = *p;
}

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
