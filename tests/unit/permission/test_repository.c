/* SPDX-License-Identifier: MIT
 * test_repository.c - git and the configuration that it finds: what names a program is asked about. */
#include "lib/io/file.h"
#include "unit.h"
#include "stage.h"
#include "tests.h"

TEST(git_reads_only_where_its_configuration_names_no_program)
{
	static const struct {
		const char *config;
		bool asked;
	} cases[] = {
		{ "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n[remote \"origin\"]\n\turl = x\n", false },
		{ "[core]\n\tfsmonitor = touch X\n\thooksPath = x\n", false }, /* overridden by the environment */
		{ "[user]\n\tname = x\n[branch \"main\"]\n\tremote = origin\n", false },
		{ "[filter \"x\"]\n\tclean = touch X\n", true },
		{ "[FILTER \"x\"]\n\tsmudge = touch X\n", true },
		{ "[filter.x]\n\tclean = touch X\n", true },
		{ "[diff \"x\"]\n\ttextconv = touch X\n", true },
		{ "[diff]\n\texternal = touch X\n", true },
		{ "[diff] external = touch X\n", true },
		{ "[include]\n\tpath = ../x\n", true },
		{ "[includeIf \"gitdir:x\"]\n\tpath = x\n", true },
		{ "[core]\n\tworktree = /\n", true },
		{ "[core]\n\tsshCommand = x\n", true },
		{ "[core]\n\tfilemode = true \\\n[filter \"x\"]\n", true },
		{ "[extensions]\n\tpartialClone = origin\n", true },
		{ "[remote \"o\"]\n\tpromisor = true\n", true },
		{ "[remote \"o\"]\n\tuploadpack = touch X\n", true },
		{ "[merge \"x\"]\n\tdriver = touch X\n", true },
		{ "[submodule \"s\"]\n\turl = x\n", true },
		{ "[gpg]\n\tprogram = touch X\n", true },
		{ "[core]\nfsmonitor = x\n[unheardof]\n\tcommand = x\n", true },
	};
	STAGE(stage);
	const char *config = path_join(&stage.arena, stage.dir, ".git/config");

	file_put(path_join(&stage.arena, stage.dir, ".git/HEAD"), STR("ref: refs/heads/main\n"));
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct permission p = { .can_ask = true };
		file_put(config, str_from(cases[i].config));
		print_message("# %s\n", cases[i].config);
		CHECK_INT(stage_decide(&p, stage_bash(&stage, "git status")),
			  cases[i].asked ? PERMISSION_ASK : PERMISSION_ALLOW);
		p.trusted = true;
		CHECK_INT(stage_decide(&p, stage_bash(&stage, "git status")), PERMISSION_ALLOW);
		permission_release(&p);
	}
}

int test_repository(void)
{
	return RUN_TESTS(T(git_reads_only_where_its_configuration_names_no_program));
}
