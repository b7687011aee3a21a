/* SPDX-License-Identifier: MIT
 * test_permission.c - modes, and all tests of permissions. */
#include "unit.h"
#include "guard/permission/permission.h"
#include "config/settings/settings_key.h"
#include "stage.h"
#include "tests.h"

static const struct {
	const char *what;
	enum permission_mode mode;
	bool can_ask;
	const char *allowed;
	unsigned flags;
	enum permission_decision expected;
} table[] = {
	{ "reading is free", PERMISSION_DEFAULT, false, "", TOOL_READ_ONLY, PERMISSION_ALLOW },
	{ "writing is not", PERMISSION_DEFAULT, false, "", 0, PERMISSION_DENY },
	{ "editing is not", PERMISSION_DEFAULT, false, "", TOOL_EDITS, PERMISSION_DENY },
	{ "some tools need no permission", PERMISSION_DEFAULT, false, "", TOOL_NO_ASK, PERMISSION_ALLOW },
	{ "somebody can be asked", PERMISSION_DEFAULT, true, "", 0, PERMISSION_ASK },
	{ "reading needs no question", PERMISSION_DEFAULT, true, "", TOOL_READ_ONLY, PERMISSION_ALLOW },
	{ "allowed by name", PERMISSION_DEFAULT, false, "Custom", 0, PERMISSION_ALLOW },
	{ "allowed in another case", PERMISSION_DEFAULT, true, "cUSTOM", 0, PERMISSION_ALLOW },
	{ "another tool is allowed", PERMISSION_DEFAULT, false, "Custo", 0, PERMISSION_DENY },
	{ "nothing is asked", PERMISSION_DONT_ASK, true, "", 0, PERMISSION_DENY },
	{ "bypass allows all", PERMISSION_BYPASS, true, "", TOOL_EDITS, PERMISSION_ALLOW },
};

TEST(mode_flags_and_allowed_names_decide)
{
	static const struct tool custom = { .name = "Custom", .definition = "{}" };

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct permission p = { .mode = table[i].mode, .can_ask = table[i].can_ask };
		struct tool_use use = { .tool = &custom, .flags = table[i].flags };
		struct permission_verdict v = { 0 };
		print_message("# %s\n", table[i].what);
		stage_allow_tool(&p, str_from(table[i].allowed));

		permission_explain(&p, use, PERMISSION_HINT_NONE, &v);

		CHECK_INT(v.decision, table[i].expected);
		CHECK_INT(v.reason.n > 0, table[i].expected == PERMISSION_DENY);
		if (table[i].expected == PERMISSION_DENY && table[i].mode == PERMISSION_DEFAULT)
			CHECK(strstr(v.reason.p, "--allowedTools Custom") != NULL);
		permission_verdict_release(&v);
		permission_release(&p);
	}
}

TEST(a_very_long_name_is_handled)
{
	struct permission p = { 0 };
	char name[1000];
	memset(name, 'N', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	struct tool tool = { .name = name, .definition = "{}" };
	struct tool_use use = { .tool = &tool };

	CHECK_INT(stage_decide(&p, &use), PERMISSION_DENY);
	stage_allow_tool(&p, str_from(name));
	CHECK_INT(stage_decide(&p, &use), PERMISSION_ALLOW);
	permission_release(&p);
}

TEST(modes_have_the_names_that_people_write)
{
	static const struct {
		const char *name;
		enum permission_mode mode;
	} names[] = {
		{ "default", PERMISSION_DEFAULT }, { "DEFAULT", PERMISSION_DEFAULT },
		{ "manual", PERMISSION_DEFAULT },  { "acceptEdits", PERMISSION_ACCEPT_EDITS },
		{ "plan", PERMISSION_PLAN },       { "dontAsk", PERMISSION_DONT_ASK },
		{ "auto", PERMISSION_AUTO },       { "bypassPermissions", PERMISSION_BYPASS },
		{ "bubble", PERMISSION_BUBBLE },
	};
	enum permission_mode mode;

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		CHECK(permission_mode_parse(str_from(names[i].name), &mode));
		CHECK_INT(mode, names[i].mode);
	}
	CHECK(!permission_mode_parse(STR("bypass"), &mode));
	CHECK_CSTR(permission_mode_name(PERMISSION_BYPASS), "bypassPermissions");
}

TEST(modes_have_an_order_of_strictness)
{
	static const enum permission_mode order[] = { PERMISSION_PLAN,         PERMISSION_DONT_ASK, PERMISSION_DEFAULT,
						      PERMISSION_ACCEPT_EDITS, PERMISSION_AUTO,     PERMISSION_BYPASS };

	for (size_t i = 0; i < COUNT_OF(order); i++)
		for (size_t k = 0; k < COUNT_OF(order); k++)
			CHECK_INT(permission_mode_is_wider(order[i], order[k]), i > k);
	CHECK(!permission_mode_is_wider(PERMISSION_BUBBLE, PERMISSION_DEFAULT));
	CHECK(!permission_mode_is_wider(PERMISSION_DEFAULT, PERMISSION_BUBBLE));

	/* Settings compare modes by the order in which the key lists them, the widest first. */
	const char *const *choices = setting_find(STR("permissions.defaultMode"))->choices;
	enum permission_mode above;
	enum permission_mode below;
	for (size_t i = 0; choices[i + 1]; i++) {
		CHECK(permission_mode_parse(str_from(choices[i]), &above));
		CHECK(permission_mode_parse(str_from(choices[i + 1]), &below));
		CHECK(!permission_mode_is_wider(below, above));
	}
}

TEST(bypass_is_refused_for_root_outside_a_sandbox)
{
	struct err err = { 0 };
	bool root = geteuid() == 0;

	unsetenv("IS_SANDBOX");
	CHECK_INT(permission_check_mode(PERMISSION_DEFAULT, &err), 0);
	CHECK_INT(permission_check_mode(PERMISSION_BYPASS, &err), root ? -ERR_USAGE : 0);
	setenv("IS_SANDBOX", "yes", 1);
	CHECK_INT(permission_check_mode(PERMISSION_BYPASS, &err), root ? -ERR_USAGE : 0);
	setenv("IS_SANDBOX", "1", 1);
	CHECK_INT(permission_check_mode(PERMISSION_BYPASS, &err), 0);
	unsetenv("IS_SANDBOX");
}

TEST(tools_are_narrowed_where_nothing_is_asked_and_never_widened)
{
	struct permission p = { .mode = PERMISSION_BYPASS };
	struct permission child;

	permission_narrow(&p, STR("mcp__a__"), PERMISSION_DEFAULT);
	permission_derive(&child, &p, &(struct permission_birth){ 0 });
	CHECK_INT(permission_mode_for(&p, "mcp__a__tool"), PERMISSION_DEFAULT);
	CHECK_INT(permission_mode_for(&child, "mcp__a__tool"), PERMISSION_DEFAULT);
	CHECK_INT(permission_mode_for(&p, "mcp__ab__tool"), PERMISSION_BYPASS);
	permission_narrow(&p, STR("mcp__a__"), PERMISSION_AUTO);
	CHECK_INT(permission_mode_for(&p, "mcp__a__tool"), PERMISSION_AUTO);
	p.mode = PERMISSION_PLAN;
	CHECK_INT(permission_mode_for(&p, "mcp__a__tool"), PERMISSION_PLAN);
	p.mode = PERMISSION_BYPASS;
	permission_narrow(&p, STR("mcp__a__"), PERMISSION_BYPASS);
	CHECK_INT(permission_mode_for(&p, "mcp__a__tool"), PERMISSION_BYPASS);
	permission_release(&child);
	permission_release(&p);
}

int main(void)
{
	RUN_TESTS(T(mode_flags_and_allowed_names_decide), T(a_very_long_name_is_handled),
		  T(modes_have_the_names_that_people_write), T(modes_have_an_order_of_strictness),
		  T(bypass_is_refused_for_root_outside_a_sandbox),
		  T(tools_are_narrowed_where_nothing_is_asked_and_never_widened));
	test_attack();
	test_attack_place();
	test_repository();
	test_hidden();
	test_rule();
	test_path_rule();
	test_vectors();
	test_judge();
	test_child();
	test_property();
	test_record();
	test_shell_parse();
	test_shell_command();
	test_shell_options();
	test_shell_arithmetic();
	test_shell_oracle();
	test_suggest();
	test_held();
	return tests_run();
}
