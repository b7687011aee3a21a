/* SPDX-License-Identifier: MIT
 * trust.c - `cadre trust`: the user's consent to the agents, hooks, servers and rules of a folder. */
#include "product/command/command.h"
#include "lib/io/file.h"
#include "config/settings/trust.h"

static int trust_run(struct cadre_call *call);

const struct cadre_command command_trust = {
	.name = "trust",
	.summary = "trust a folder, or revoke trust",
	.help = "Usage: cadre trust              trust this project: the root of the repository, or this directory\n"
		"       cadre trust DIR          trust DIR and nothing else\n"
		"       cadre trust --forget [DIR]\n"
		"       cadre trust --list       list trusted folders\n"
		"\n"
		"A project can contain files that act for you: rules that allow commands, variables that decide what\n"
		"runs, hooks and MCP servers of its agents. They have no effect until you trust the folder, and cadre\n"
		"says so. Restrictions of a project always apply. Read .claude/ before you trust it.\n"
		"\n"
		"The answer is kept in ~/.claude.json (or .claude.json in CLAUDE_CONFIG_DIR), where other programs\n"
		"see it too; the rest of that file stays unchanged.\n"
		"\n"
		"Examples:\n"
		"  cadre trust ~/work/project\n"
		"  cadre trust --list\n",
	.words =
		(const struct cadre_command_word[]){
			{ "", "[DIR]", 0, trust_run },
			{ .name = NULL },
		},
	.options = (const struct cadre_option[]){ { "list", .help = "List trusted folders." },
						  { "forget", .help = "Revoke trust in the folder." },
						  { .name = NULL } },
	.settings = (const char *const[]){ NULL },
};

static void report_consent(struct cadre_report *r, const char *folder, bool trusted, bool changed,
			   const char *state_file)
{
	static const char *const texts[2][2] = {
		{ "was not trusted before", "is not trusted any more" },
		{ "was trusted already", "is trusted now" },
	};
	struct json_out w = json_out(&r->json);

	json_putf(&w, "{folder:'%s', trusted:!!%d, changed:!!%d, file:'%s'}", folder, trusted, changed, state_file);
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

static int trust_run(struct cadre_call *call)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_TRUST struct trust trust = { 0 };
	const char *dir = call->operands[0];
	const char *cwd, *config_dir, *state_file, *folder;
	bool trusted = !args_has(&call->args, "forget");
	bool list = args_has(&call->args, "list");
	bool changed;

	if (list && (!trusted || dir))
		return err_set(call->err, ERR_USAGE, "--list takes no other word: cadre trust --list");
	if (options_directories(&call->services->options, &a, &cwd, &config_dir, call->err) < 0 ||
	    services_state_file(call->services, &a, &state_file, call->err) < 0)
		return -(int)call->err->kind;
	if (list) {
		int status = trust_read(&trust, state_file, call->err);
		if (status == 0) {
			struct cadre_report *r = call->report;
			struct json_out w = json_out(&r->json);

			json_putf(&w, "{file:'%s', folders:[", state_file);
			for (size_t i = 0; i < trust.count; i++) {
				json_put_cstr(&w, trust.folders[i]);
				report_line(r, CADRE_PLAIN, "%s", trust.folders[i]);
			}
			json_putf(&w, "]}");
			if (!trust.count)
				report_line(r, CADRE_NOTE, "No folder is trusted (%s).", state_file);
		}
		return status;
	}
	folder = dir ? path_absolute(&a, cwd, str_from(dir)) : trust_folder(&a, cwd);
	int status = trust_record(&a, state_file, folder, trusted, &folder, &changed, call->err);
	if (status == 0)
		report_consent(call->report, folder, trusted, changed, state_file);
	return status;
}
