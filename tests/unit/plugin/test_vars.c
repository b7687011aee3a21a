/* SPDX-License-Identifier: MIT
 * test_vars.c - variables in the texts of plugins. */
#include "unit.h"
#include "defs/plugin/plugin.h"
#include "tests.h"

TEST(places_are_replaced_and_options_only_in_configurations)
{
	static const char *const options[] = { "KEY=value", "KEY2=other", NULL };
	const struct plugin p = { .vars = { "/root", "/data", "/project", options } };
	static const struct {
		const char *text, *body, *config;
	} table[] = {
		{ "", "", "" },
		{ "plain $HOME ${HOME}", "plain $HOME ${HOME}", "plain $HOME ${HOME}" },
		{ "${CLAUDE_PLUGIN_ROOT}/x", "/root/x", "/root/x" },
		{ "${CLAUDE_PLUGIN_DATA}${CLAUDE_PROJECT_DIR}", "/data/project", "/data/project" },
		{ "$CLAUDE_PLUGIN_ROOT", "$CLAUDE_PLUGIN_ROOT", "$CLAUDE_PLUGIN_ROOT" },
		{ "${user_config.KEY}", "${user_config.KEY}", "value" },
		{ "${user_config.KEY2}", "${user_config.KEY2}", "other" },
		{ "${user_config.KE}", "${user_config.KE}", "${user_config.KE}" },
		{ "$${CLAUDE_PLUGIN_ROOT", "$${CLAUDE_PLUGIN_ROOT", "$${CLAUDE_PLUGIN_ROOT" },
		{ "${${CLAUDE_PLUGIN_ROOT}}", "${/root}", "${/root}" },
		{ "${}", "${}", "${}" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		static const enum plugin_text places[] = { PLUGIN_IN_BODY, PLUGIN_IN_SHELL, PLUGIN_IN_CONFIG };
		for (size_t k = 0; k < COUNT_OF(places); k++) {
			AUTO_BUF struct buf out = { 0 };
			plugin_vars_expand(&out, str_from(table[i].text), &p.vars, places[k] == PLUGIN_IN_CONFIG);
			CHECK_STR(buf_str(&out), places[k] == PLUGIN_IN_CONFIG ? table[i].config : table[i].body);
		}
	}
}

TEST(a_variable_without_a_value_stays_as_it_is)
{
	const struct plugin p = { .vars = { .root = "/root" } };
	AUTO_BUF struct buf out = { 0 };

	plugin_vars_expand(&out, STR("${CLAUDE_PLUGIN_DATA} ${CLAUDE_PLUGIN_ROOT}"), &p.vars, true);

	CHECK_STR(buf_str(&out), "${CLAUDE_PLUGIN_DATA} /root");
	CHECK(!plugin_value(&p, STR("CLAUDE_PROJECT_DIR"), PLUGIN_IN_BODY));
}

int test_vars(void)
{
	return RUN_TESTS(T(places_are_replaced_and_options_only_in_configurations),
			 T(a_variable_without_a_value_stays_as_it_is));
}
