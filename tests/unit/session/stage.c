/* SPDX-License-Identifier: MIT
 * stage.c - see stage.h. */
#include "stage.h"

void stage_set(struct stage *st, const char *option, const char *value)
{
	char why[256] = "";

	if (cadre_set(st->c, option, value, why, sizeof why) < 0)
		fail_msg("%s: %s", option, why);
}

static void open_with(struct stage *st, const char *scenario, const char *settings, const char *managed,
		      cadre_event_fn *on_event, void *data)
{
	AUTO_ARENA struct arena a = { 0 };
	char why[256] = "";

	folder_make(st->dir);
	if (managed)
		file_put(arena_printf(&a, "%s/managed/managed-settings.json", st->dir), str_from(managed));
	const char *script = arena_printf(&a, "%s/scenario.txt", st->dir);
	file_put(script, str_from(scenario));
	st->c = cadre_new(why, sizeof why);
	stage_set(st, "provider", "scripted");
	stage_set(st, "scenario", script);
	stage_set(st, "config-dir", arena_printf(&a, "%s/config", st->dir));
	stage_set(st, "cwd", st->dir);
	stage_set(st, "managed-dir", arena_printf(&a, "%s/managed", st->dir));
	stage_set(st, "setting-sources", "");
	stage_set(st, "include-hook-events", "");
	if (!st->unattended)
		stage_set(st, "interactive", "");
	stage_set(st, "settings", settings ? settings : "{}");
	if (st->mcp_config)
		stage_set(st, "mcp-config", st->mcp_config);
	if (cadre_open(st->c, on_event, data, &st->session, why, sizeof why) < 0)
		fail_msg("%s", why);
}

void stage_open(struct stage *st, const char *scenario, const char *settings, cadre_event_fn *on_event, void *data)
{
	open_with(st, scenario, settings, NULL, on_event, data);
}

void stage_open_managed(struct stage *st, const char *scenario, const char *managed, cadre_event_fn *on_event,
			void *data)
{
	open_with(st, scenario, NULL, managed, on_event, data);
}

int stage_prompt(struct stage *st, const char *text)
{
	return cadre_prompt(st->session, text, strlen(text), NULL, 0);
}

void stage_close(struct stage *st)
{
	cadre_close(TAKE(st->session));
	cadre_run(st->c);
	cadre_free(TAKE(st->c));
	folder_remove(st->dir);
}
