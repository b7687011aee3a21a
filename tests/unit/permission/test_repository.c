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
	static const char *const forms[] = { "git status", "git status | awk 1", "cd src && git status",
					     "git -C src log -1" };
	STAGE(stage);
	const char *config = path_join(&stage.arena, stage.dir, ".git/config");

	file_put(path_join(&stage.arena, stage.dir, ".git/HEAD"), STR("ref: refs/heads/main\n"));
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct permission p = { .can_ask = true };
		file_put(config, str_from(cases[i].config));
		print_error("%s\n", cases[i].config);
		for (size_t k = 0; k < COUNT_OF(forms); k++) {
			p.trusted = false;
			CHECK_INT(stage_decide(&p, stage_bash(&stage, forms[k])),
				  cases[i].asked ? PERMISSION_ASK : PERMISSION_ALLOW);
			p.trusted = true;
			CHECK_INT(stage_decide(&p, stage_bash(&stage, forms[k])), PERMISSION_ALLOW);
		}
		permission_release(&p);
	}
}

/* Trust in the folder is not for a repository that lies in it. */
TEST(git_reads_in_another_directory_only_where_that_names_no_program)
{
	static const char *const forms[] = { "cd %s && git status", "cd %s; ls; git log -1", "(cd %s && git ls-files)",
					     "git -C %s status", "git -C ./%s/ diff | awk 1" };
	STAGE(stage);
	struct permission p = { .can_ask = true, .trusted = true };

	file_put(path_join(&stage.arena, stage.dir, "other/.git/HEAD"), STR("ref: refs/heads/main\n"));
	file_put(path_join(&stage.arena, stage.dir, "other/.git/config"), STR("[diff]\n\texternal = touch X\n"));
	file_put(path_join(&stage.arena, stage.dir, "fake/HEAD"), STR("ref: refs/heads/main\n"));
	file_put(path_join(&stage.arena, stage.dir, "fake/objects/x"), STR(""));
	file_put(path_join(&stage.arena, stage.dir, "fake/refs/x"), STR(""));
	for (size_t i = 0; i < COUNT_OF(forms); i++) {
		const char *text[3];
		const char *const dirs[] = { "src", "other", "fake" };
		for (size_t k = 0; k < COUNT_OF(dirs); k++) {
			struct str rest = str_from(forms[i]);
			struct str before = str_cut(&rest, '%');
			text[k] = arena_printf(&stage.arena, STR_FMT "%s%s", STR_ARG(before), dirs[k], rest.p + 1);
		}
		CHECK_INT(stage_decide(&p, stage_bash(&stage, text[0])), PERMISSION_ALLOW);
		CHECK_INT(stage_decide(&p, stage_bash(&stage, text[1])), PERMISSION_ASK);
		CHECK_INT(stage_decide(&p, stage_bash(&stage, text[2])), PERMISSION_ASK);
	}
	permission_release(&p);
}

int test_repository(void)
{
	return RUN_TESTS(T(git_reads_only_where_its_configuration_names_no_program),
			 T(git_reads_in_another_directory_only_where_that_names_no_program));
}
