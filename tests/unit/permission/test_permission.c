/* SPDX-License-Identifier: MIT
 * test_permission.c - may this call run? */
#include "unit.h"
#include "permission/permission.h"

static const struct tool bash = { .name = "Bash", .definition = "{}" };

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
	{ "somebody can be asked", PERMISSION_DEFAULT, true, "", 0, PERMISSION_ASK },
	{ "reading needs no question", PERMISSION_DEFAULT, true, "", TOOL_READ_ONLY, PERMISSION_ALLOW },
	{ "allowed by name", PERMISSION_DEFAULT, false, "Bash", 0, PERMISSION_ALLOW },
	{ "allowed in another case", PERMISSION_DEFAULT, true, "bASH", 0, PERMISSION_ALLOW },
	{ "another tool is allowed", PERMISSION_DEFAULT, false, "Bas", 0, PERMISSION_DENY },
	{ "bypass allows all", PERMISSION_BYPASS, true, "", TOOL_EDITS, PERMISSION_ALLOW },
};

TEST(mode_flags_and_allowed_names_decide)
{
	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct permission p = { .mode = table[i].mode, .can_ask = table[i].can_ask };
		struct tool_call call = { .tool = &bash, .flags = table[i].flags };
		AUTO_BUF struct buf reason = { 0 };
		print_message("# %s\n", table[i].what);
		permission_allow_tool(&p, str_from(table[i].allowed));

		CHECK_INT(permission_decide(&p, &call, &reason), table[i].expected);

		if (table[i].expected == PERMISSION_DENY)
			CHECK(strstr(reason.p, "--allowedTools Bash") != NULL);
		else
			CHECK_INT(reason.n, 0);
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
	struct tool_call call = { .tool = &tool };
	AUTO_BUF struct buf reason = { 0 };

	CHECK_INT(permission_decide(&p, &call, &reason), PERMISSION_DENY);
	permission_allow_tool(&p, str_from(name));
	CHECK_INT(permission_decide(&p, &call, &reason), PERMISSION_ALLOW);
	permission_release(&p);
}

TEST(modes_have_the_names_that_people_write)
{
	enum permission_mode mode = PERMISSION_DEFAULT;

	CHECK(permission_mode_parse(STR("bypassPermissions"), &mode));
	CHECK_INT(mode, PERMISSION_BYPASS);
	CHECK(permission_mode_parse(STR("DEFAULT"), &mode));
	CHECK_INT(mode, PERMISSION_DEFAULT);
	CHECK(!permission_mode_parse(STR("bypass"), &mode));
	CHECK_CSTR(permission_mode_name(PERMISSION_BYPASS), "bypassPermissions");
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

int main(void)
{
	return RUN_TESTS(T(mode_flags_and_allowed_names_decide), T(a_very_long_name_is_handled),
			 T(modes_have_the_names_that_people_write), T(bypass_is_refused_for_root_outside_a_sandbox));
}
