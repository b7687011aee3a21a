/* SPDX-License-Identifier: MIT
 * verb_plugin.c - `cadre plugin`. */
#include "face/cli/verb.h"

static int run(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err);

const struct verb verb_plugin = {
	.name = "plugin",
	.summary = "list, check, install, enable and trust plugins",
	.help = "Usage: cadre plugin [list]                 the plugins, what they bring, and what is wrong with them\n"
		"       cadre plugin validate PATH          a plugin or a marketplace: every file is looked at\n"
		"       cadre plugin install PATH|NAME@MARKETPLACE [--scope user|project|local]\n"
		"       cadre plugin uninstall NAME\n"
		"       cadre plugin enable NAME [--scope user|project|local]\n"
		"       cadre plugin disable NAME [--scope user|project|local]\n"
		"       cadre plugin trust NAME [--forget]  hooks and MCP servers of its agents may run, or not any more\n"
		"       cadre plugin marketplace [list]     the marketplaces that are known, and what they offer\n"
		"       cadre plugin marketplace add PATH|ADDRESS[#REF]|OWNER/NAME\n"
		"       cadre plugin marketplace remove NAME\n"
		"       cadre plugin marketplace update [NAME]\n"
		"\n"
		"What is installed is copied; a change of the original counts after installing it again. enabledPlugins of\n"
		"the settings says which plugins count, --plugin-dir adds one for a single run. validate ends with 1 if\n"
		"something is wrong.\n",
	.words = (const char *const[]){ "disable", "enable", "install", "list", "marketplace", "trust", "uninstall",
					"validate", NULL },
	.options = (const char *const[]){ "forget", "plugin-dir", "plugin-dir-no-mcp", "plugin-url", "scope",
					  "setting-sources", "settings", "trust-project", NULL },
	.run = run,
};

static int status_of(int status, const char *why, struct err *err)
{
	return status < 0 ? err_set(err, (enum err_kind) - status, "%s", why) : 0;
}

static const struct change {
	const char *name;
	enum cadre_plugin_change change;
} changes[] = {
	{ "disable", CADRE_PLUGIN_DISABLE },     { "enable", CADRE_PLUGIN_ENABLE },
	{ "install", CADRE_PLUGIN_INSTALL },     { "trust", CADRE_PLUGIN_TRUST },
	{ "uninstall", CADRE_PLUGIN_UNINSTALL },
};

static int run_marketplace(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	static const struct {
		const char *name;
		enum cadre_marketplace_change change;
		bool needs_word;
	} market_changes[] = { { "add", CADRE_MARKETPLACE_ADD, true },
			       { "remove", CADRE_MARKETPLACE_REMOVE, true },
			       { "update", CADRE_MARKETPLACE_UPDATE, false } };
	const char *what = args->word_count > 1 ? args->words[1] : "list";
	const char *subject = args->word_count > 2 ? args->words[2] : NULL;
	char why[sizeof err->text] = "";

	if (!strcmp(what, "list") && !subject)
		return status_of(cadre_marketplaces_list(c, ret_report, why, sizeof why), why, err);
	for (size_t i = 0; i < COUNT_OF(market_changes); i++) {
		if (strcmp(market_changes[i].name, what) != 0)
			continue;
		if (args->word_count > 3 || (market_changes[i].needs_word && !subject))
			return err_set(err, ERR_USAGE, "expected one word: cadre plugin marketplace %s NAME", what);
		return status_of(
			cadre_marketplaces_change(c, market_changes[i].change, subject, ret_report, why, sizeof why),
			why, err);
	}
	return err_set(err, ERR_USAGE,
		       "cadre plugin marketplace: '%.60s' is not known; expected list, add, remove or update", what);
}

static int run_change(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	const char *what = args->words[0];
	char why[sizeof err->text] = "";

	for (size_t i = 0; i < COUNT_OF(changes); i++) {
		if (strcmp(changes[i].name, what) != 0)
			continue;
		if (args->word_count != 2)
			return err_set(err, ERR_USAGE, "expected one name: cadre plugin %s NAME", what);
		bool forget = changes[i].change == CADRE_PLUGIN_TRUST && args->forget;
		return status_of(cadre_plugins_change(c, forget ? CADRE_PLUGIN_FORGET : changes[i].change,
						      args->words[1], args->scope, ret_report, why, sizeof why),
				 why, err);
	}
	return err_set(
		err, ERR_USAGE,
		"cadre plugin: '%.60s' is not known; expected list, validate, install, uninstall, enable, disable, "
		"trust or marketplace",
		what);
}

static int run(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	const char *what = args->word_count ? args->words[0] : "list";
	char why[sizeof err->text] = "";

	if (!strcmp(what, "list") && args->word_count < 2)
		return status_of(cadre_plugins_list(c, ret_report, why, sizeof why), why, err);
	if (!strcmp(what, "marketplace"))
		return run_marketplace(c, args, ret_report, err);
	if (strcmp(what, "validate") != 0)
		return run_change(c, args, ret_report, err);
	if (args->word_count != 2)
		return err_set(err, ERR_USAGE, "expected one path: cadre plugin validate PATH");
	return status_of(cadre_plugins_validate(c, args->words[1], ret_report, why, sizeof why), why, err);
}
