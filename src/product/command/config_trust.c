/* SPDX-License-Identifier: MIT
 * config_trust.c - `cadre trust`: the user's consent to what a folder brings along. */
#include "defs/policy/sources.h"
#include "product/command/report.h"
#include "lib/io/file.h"
#include "config/settings/trust.h"

static void report_set(struct cadre_report *r, const char *folder, bool trusted, bool changed, const char *state_file)
{
	static const char *const texts[2][2] = {
		{ "was not trusted before", "is not trusted any more" },
		{ "was trusted already", "is trusted now" },
	};
	struct json_out w = json_out(&r->json);

	json_open(&w, '{');
	json_kcstr(&w, "folder", folder);
	json_kbool(&w, "trusted", trusted);
	json_kbool(&w, "changed", changed);
	json_kcstr(&w, "file", state_file);
	json_close(&w);
	report_line(r, CADRE_GOOD, "%s %s.", folder, texts[trusted][changed]);
	report_line(r, CADRE_NOTE, "Recorded in %s.", state_file);
	if (!trusted)
		return;
	report_line(r, CADRE_PLAIN, "What its files say now counts:");
	report_line(r, CADRE_PLAIN,
		    "  every key of .claude/settings.json: allow rules, hooks, permission mode, plugins,");
	report_line(r, CADRE_PLAIN, "  every variable in env, also those that decide what runs,");
	report_line(r, CADRE_PLAIN, "  MCP servers of .mcp.json (on a terminal you are asked about each),");
	report_line(r, CADRE_PLAIN, "  hooks, MCP servers and wider permission modes of agents in .claude/agents.");
	report_line(r, CADRE_PLAIN,
		    "`cadre config list` and `cadre agents` show it; `cadre trust --forget` takes it back.");
}

static int set(struct services *sv, const char *dir, bool trusted, struct cadre_report *report, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	const char *cwd;
	const char *config_dir;
	const char *state_file;
	const char *folder;
	bool changed;
	int status = options_directories(&sv->options, &a, &cwd, &config_dir, err);

	if (status == 0)
		status = app_state_file(sv, &a, &state_file, err);
	if (status < 0)
		return status;
	folder = dir ? path_absolute(&a, cwd, str_from(dir)) : trust_folder(&a, cwd);
	status = trust_record(&a, state_file, folder, trusted, &folder, &changed, err);
	if (status == 0)
		report_set(report, folder, trusted, changed, state_file);
	return status;
}

int cadre_trust_set(struct cadre *c, const char *dir, int trusted, struct cadre_report **ret_report, char *why,
		    size_t why_size)
{
	struct services *sv = cadre_services(c);
	struct err err = { 0 };

	if (!sv || !ret_report)
		return CADRE_USAGE;
	struct cadre_report *report = xcalloc(1, sizeof *report);
	int status = set(sv, dir, trusted, report, &err);
	return app_give_report(status, report, ret_report, &err, why, why_size);
}

static void report_list(struct cadre_report *r, const struct trust *trust, const char *state_file)
{
	struct json_out w = json_out(&r->json);

	json_open(&w, '{');
	json_kcstr(&w, "file", state_file);
	json_key(&w, "folders");
	json_open(&w, '[');
	for (size_t i = 0; i < trust->count; i++) {
		json_put_cstr(&w, trust->folders[i]);
		report_line(r, CADRE_PLAIN, "%s", trust->folders[i]);
	}
	json_close(&w);
	json_close(&w);
	if (!trust->count)
		report_line(r, CADRE_NOTE, "No folder is trusted (%s).", state_file);
}

int cadre_trust_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size)
{
	struct services *sv = cadre_services(c);
	AUTO_ARENA struct arena a = { 0 };
	AUTO_TRUST struct trust trust = { 0 };
	const char *state_file;
	struct err err = { 0 };

	if (!sv || !ret_report)
		return CADRE_USAGE;
	struct cadre_report *report = xcalloc(1, sizeof *report);
	int status = app_state_file(sv, &a, &state_file, &err);
	if (status == 0)
		status = trust_read(&trust, state_file, &err);
	if (status == 0)
		report_list(report, &trust, state_file);
	return app_give_report(status, report, ret_report, &err, why, why_size);
}
