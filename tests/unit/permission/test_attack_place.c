/* SPDX-License-Identifier: MIT
 * test_attack_place.c - attacks by where a command runs and what a name stands for: copies in a worktree, limits of agents,
 * repositories that git finds, programs of the home, names of servers. Tables as in test_attack.c. */
#include <sys/stat.h>
#include "lib/io/file.h"
#include "unit.h"
#include "stage.h"
#include "tests.h"

/* 10: the copy in a worktree. */

TEST(a_path_in_a_worktree_is_the_same_path_in_the_main_checkout)
{
	static const struct {
		const char *rule, *path;
		int denied;
	} cases[] = {
		{ "Read(//@/conf/secret/**)", "conf/secret/k", true },
		{ "Read(/conf/secret/**)", "conf/secret/k", true },
		{ "Read(./conf/secret/**)", "conf/secret/k", true },
		{ "Read(//@/conf/*/k)", "conf/secret/k", true },
		{ "Read(//@/.env)", ".env", true },
		{ "Read(//@/a/**/k)", "a/secrets/k", true },
		{ "Read(//@/conf/secret/**)", "conf/open", false },
		{ "Read(//@/conf/secret/**)", "src/app.ts", false },
	};
	STAGE(stage);
	const char *tree = path_join(&stage.arena, stage.dir, ".claude/worktrees/w");
	const char *dirs[] = { tree, NULL };
	struct rule_origin origin = { .layer = "projectSettings", .file = "settings.json", .base = stage.dir };

	stage_furnish(&stage);
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		file_put(path_join(&stage.arena, tree, cases[i].path), STR("x\n"));
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct permission p = { .can_ask = true, .mode = PERMISSION_BYPASS };
		struct permission child;
		AUTO_BUF struct buf rule = { 0 };
		for (const char *c = cases[i].rule; *c; c++)
			if (*c == '@')
				buf_addstr(&rule, stage.dir + 1);
			else
				buf_addch(&rule, *c);
		CHECK_INT(permission_add_rule(&p, RULE_DENY, buf_str(&rule), &origin, NULL, NULL, NULL), 0);
		permission_derive(
			&child, &p,
			&(struct permission_birth){ .can_ask = true, .write_root = tree, .main_checkout = stage.dir });
		child.root = tree;
		struct tool_env env = { .cwd = tree, .root = tree, .dirs = dirs, .permission = &child };
		enum permission_decision want = cases[i].denied ? PERMISSION_DENY : PERMISSION_ALLOW;
		struct tool_use *read =
			stage_call(&stage, "Read", arena_printf(&stage.arena, "{'file_path':'%s'}", cases[i].path));
		struct tool_use *cat = stage_bash(&stage, arena_printf(&stage.arena, "cat %s", cases[i].path));
		struct tool_use *odd = stage_bash(&stage, arena_printf(&stage.arena, "pr ./%s", cases[i].path));
		read->env = cat->env = odd->env = &env;
		print_message("# %s %s\n", cases[i].rule, cases[i].path);
		CHECK_INT(stage_decide(&child, read), want);
		CHECK_INT(stage_decide(&child, cat), want);
		CHECK_INT(stage_decide(&child, odd), want);
		struct hidden_files *hidden = hidden_files_find(&env, tree);
		CHECK_INT(hidden_files_has(hidden, path_join(&stage.arena, tree, cases[i].path)), cases[i].denied);
		hidden_files_free(hidden);
		permission_release(&child);
		permission_release(&p);
	}
}

/* 24: limits. */

TEST(a_rule_that_names_a_link_means_what_it_leads_to)
{
	static const struct {
		const char *rule, *path;
		bool denied;
	} cases[] = {
		{ "Read(named/**)", "data/prod/k", true },
		{ "Read(./named/**)", "data/prod/k", true },
		{ "Read(/named/**)", "data/prod/k", true },
		{ "Read(//@/named/**)", "data/prod/k", true },
		{ "Read(named/*.key)", "data/prod/a.key", true },
		{ "Read(named/*.key)", "data/prod/k", false },
		{ "Read(named)", "data/prod/k", true },
		{ "Read(single)", "data/prod/k", true },
		{ "Read(./single)", "data/prod/k", true },
		{ "Read(single)", "data/prod/a.key", false },
		{ "Read(//@/twice/prod/**)", "data/prod/k", true },
		{ "Read(~/prod/k)", "data/prod/k", true },
		{ "Read(named/new)", "data/prod/new", true },
		{ "Read(data/**)", "named/k", true },
		{ "Read(named/**)", "data/k", false },
		{ "Read(dead/**)", "data/k", false },
	};
	STAGE(stage);
	const char *home = getenv("HOME");
	AUTO_FREE char *before = home ? xstrdup(home) : NULL;

	stage_furnish(&stage);
	for (const char *const *f = (const char *const[]){ "data/prod/k", "data/prod/a.key", "data/k", NULL }; *f; f++)
		file_put(path_join(&stage.arena, stage.dir, *f), STR("x\n"));
	CHECK_INT(symlink("data/prod", path_join(&stage.arena, stage.dir, "named")), 0);
	CHECK_INT(symlink("named/k", path_join(&stage.arena, stage.dir, "single")), 0);
	CHECK_INT(symlink("data", path_join(&stage.arena, stage.dir, "twice")), 0);
	CHECK_INT(symlink("nowhere", path_join(&stage.arena, stage.dir, "dead")), 0);
	setenv("HOME", path_join(&stage.arena, stage.dir, "twice"), 1);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct permission p = { .can_ask = true, .mode = PERMISSION_BYPASS };
		struct rule_origin origin = { .layer = "projectSettings", .file = "settings.json", .base = stage.dir };
		AUTO_BUF struct buf rule = { 0 };
		for (const char *c = cases[i].rule; *c; c++)
			if (*c == '@')
				buf_addstr(&rule, stage.dir + 1);
			else
				buf_addch(&rule, *c);
		CHECK_INT(permission_add_rule(&p, RULE_DENY, buf_str(&rule), &origin, NULL, NULL, NULL), 0);
		struct tool_use *read =
			stage_call(&stage, "Read", arena_printf(&stage.arena, "{'file_path':'%s'}", cases[i].path));
		if ((stage_decide(&p, read) == PERMISSION_DENY) != cases[i].denied)
			fail_msg("%s: %s", rule.p, cases[i].path);
		const char *dirs[] = { stage.dir, NULL };
		struct tool_env env = { .cwd = stage.dir, .root = stage.dir, .dirs = dirs, .permission = &p };
		const char *path = path_join(&stage.arena, stage.dir, cases[i].path);
		struct hidden_files *hidden = hidden_files_find(&env, stage.dir);
		bool search_shows = !hidden_files_has(hidden, path);
		if (str_starts(str_from(cases[i].path), STR("data/")) && search_shows == cases[i].denied)
			fail_msg("search: %s: %s", rule.p, cases[i].path);
		hidden_files_free(hidden);
		permission_release(&p);
	}
	if (before)
		setenv("HOME", before, 1);
	else
		unsetenv("HOME");
}

TEST(a_limit_to_commands_that_read_lets_none_write)
{
	static const struct attack list[] = {
		{ "git log > .git/hooks/post-checkout", NOT },
		{ "git log >> f", NOT },
		{ "git log >| f", NOT },
		{ "git log &> f", NOT },
		{ "git log 2> f", NOT },
		{ "git log <> f", NOT },
		{ "git log --output=f", NOT },
		{ "git log --outpu=f", NOT },
		{ "git log --ext-diff -p", NOT },
		{ "sort -o f f", NOT },
		{ "sort --outp=f f", NOT },
		{ "git log > /dev/null", RUN },
		{ "git log 2>&1", RUN },
		{ "git log -p --stat", RUN },
		{ "sort -u f", RUN },
		{ "qq x > f", NOT },
		{ "qq x", RUN },
		{ "sed -i s/a/b/ f", RUN },
	};
	static const struct permission_limit only[] = {
		{ "Bash", "git log:*" }, { "Bash", "sort *" }, { "Bash", "qq:*" }, { "Bash", "sed -i *" }
	};
	STAGE(stage);
	struct permission p = { .can_ask = true, .mode = PERMISSION_BYPASS };
	struct permission child;
	unsigned wrong = 0;

	permission_derive(&child, &p,
			  &(struct permission_birth){ .can_ask = true, .only = only, .only_count = COUNT_OF(only) });
	for (size_t i = 0; i < COUNT_OF(list); i++)
		if ((int)stage_decide(&child, stage_bash(&stage, list[i].command)) != list[i].expected) {
			print_message("# %s\n", list[i].command);
			wrong++;
		}
	CHECK_INT(wrong, 0);
	permission_release(&child);
}

/* 3: git and the configuration that it finds. */

/* The directory that an earlier call has left behind counts: git is asked about where it finds another repository. */
TEST(git_is_asked_about_in_a_directory_that_it_takes_for_a_repository)
{
	static const struct {
		const char *dir;
		bool asked;
	} cases[] = {
		{ "", false }, { "/src", false }, { "/bare", true }, { "/bare/refs", true }, { "/nested", true }
	};
	STAGE(stage);

	stage_furnish(&stage);
	file_put(path_join(&stage.arena, stage.dir, ".git/HEAD"), STR("ref: refs/heads/main\n"));
	file_put(path_join(&stage.arena, stage.dir, "nested/.git/config"), STR("[diff]\n\texternal = touch X\n"));
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct permission p = { .can_ask = true, .trusted = true, .mode = PERMISSION_ACCEPT_EDITS };
		struct tool_env env = stage.env;
		struct tool_use *call = stage_bash(&stage, "git status");
		env.cwd = arena_printf(&stage.arena, "%s%s", stage.dir, cases[i].dir);
		call->env = &env;
		print_message("# %s\n", env.cwd);
		CHECK_INT(stage_decide(&p, call), cases[i].asked ? ASK : RUN);
		permission_release(&p);
	}
}

/* 20, 21: names. */

TEST(names_are_compared_as_they_are_resolved)
{
	static const struct {
		const char *rules, *tool, *input;
		int expected;
	} cases[] = {
		{ "allow Skill\ndeny Skill(dep)", "Skill", "{'skill':' dep'}", NOT },
		{ "allow Skill\ndeny Skill(dep)", "Skill", "{'skill':'DEP'}", NOT },
		{ "allow Skill\ndeny Skill(dep)", "Skill", "{'skill':'/Dep '}", NOT },
		{ "allow Skill\ndeny Skill(dep)", "Skill", "{'skill':' / dep'}", NOT },
		{ "allow Skill\ndeny Skill(dep)", "Skill", "{'command':'\\tdEp\\n'}", NOT },
		{ "allow Skill\ndeny Skill(dep)", "Skill", "{'skill':'deploy'}", RUN },
		{ "allow Skill(dep)", "Skill", "{'skill':' dep'}", RUN },
		{ "allow Agent\ndeny Agent(model:opus)", "Agent", "{'model':'Opus'}", NOT },
		{ "allow Agent\ndeny Agent(model:opus)", "Agent", "{'model':' opus'}", NOT },
		{ "allow Agent\ndeny Agent(model:opus)", "Agent", "{'model':'OPUS\\n'}", NOT },
		{ "allow Agent\ndeny Agent(model:opus)", "Agent", "{'model':'claude-opus-4-5'}", NOT },
		{ "allow Agent\ndeny Agent(model:opus)", "Agent", "{'model':'opus[1m]'}", NOT },
		{ "allow Agent\ndeny Agent(model:opus)", "Agent", "{'model':'sonnet'}", RUN },
		{ "allow Agent\ndeny Agent(model:*)", "Agent", "{'model':'x'}", NOT },
		{ "deny Agent(Explore)", "Agent", "{'subagent_type':' eXplore'}", NOT },
		{ "allow Bash\ndeny Bash(run_in_background:true)", "Bash", "{'command':'x','run_in_background':true}",
		  NOT },
	};
	STAGE(stage);
	unsigned wrong = 0;

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct permission p = { .can_ask = true };
		stage_rules(&stage, &p, cases[i].rules);
		if ((int)stage_decide(&p, stage_call(&stage, cases[i].tool, cases[i].input)) != cases[i].expected) {
			print_message("# %s: %s\n", cases[i].rules, cases[i].input);
			wrong++;
		}
		permission_release(&p);
	}
	CHECK_INT(wrong, 0);
}

/* Names of tools are joined from two parts, and the parts may have what joins them in them. */
TEST(what_programs_of_the_home_run_is_asked_about_though_the_session_was_started_there)
{
	static const char *const asked[] = {
		".ssh/config",
		".ssh/authorized_keys",
		".gnupg/gpg.conf",
		".config/fish/config.fish",
		".config/autostart/x",
		".config/systemd/user/x",
		".local/bin/ls",
		".local/share/applications/x.desktop",
		".pam_environment",
		".xinitrc",
		".tcshrc",
		".inputrc",
		".vimrc",
		".gdbinit",
		".netrc",
		".curlrc",
		".aws/config",
		".kube/config",
		"bin/ls",
		".SSH/config",
		"project/.hg/hgrc",
		"project/.git/hooks/x",
		".bashrc",
		".docker/config.json",
	};
	static const char *const passing[] = { "project/.vimrc",  "project/bin/x",  "project/.ssh.md", "notes.txt",
					       ".config/other/x", ".local/share/x", "binary" };
	STAGE(stage);
	AUTO_FREE char *home = xstrdup(getenv("HOME") ? getenv("HOME") : "/");
	CHECK_INT(setenv("HOME", stage.dir, 1), 0);

	for (size_t i = 0; i < COUNT_OF(asked) + COUNT_OF(passing); i++) {
		const char *name = i < COUNT_OF(asked) ? asked[i] : passing[i - COUNT_OF(asked)];
		struct permission p = { .can_ask = true, .mode = PERMISSION_ACCEPT_EDITS };
		const char *input =
			arena_printf(&stage.arena, "{\"file_path\": \"%s/%s\", \"content\": \"x\"}", stage.dir, name);
		print_message("# %s\n", name);
		CHECK_INT(stage_decide(&p, stage_call(&stage, "Write", input)), i < COUNT_OF(asked) ? ASK : RUN);
		permission_release(&p);
	}
	CHECK_INT(setenv("HOME", home, 1), 0);
}

TEST(a_rule_for_a_server_means_no_other_server)
{
	static const struct {
		const char *rules, *server, *tool;
		int expected;
	} cases[] = {
		{ "allow mcp__github", "mcp__github__", "mcp__github__get", RUN },
		{ "allow mcp__github", "mcp__github__", "mcp__github__evil__x", RUN },
		{ "allow mcp__github", "mcp__github__evil__", "mcp__github__evil__x", ASK },
		{ "allow mcp__github__*", "mcp__github__evil__", "mcp__github__evil__x", ASK },
		{ "allow mcp__github__get_*", "mcp__github__get_x__", "mcp__github__get_x__y", ASK },
		{ "allow mcp__GitHub", "mcp__github__", "mcp__github__get", RUN },
		{ "allow mcp__a", "mcp__a____", "mcp__a____x", ASK },
		{ "allow mcp__github__evil__*", "mcp__github__evil__", "mcp__github__evil__x", RUN },
		{ "allow mcp__github__x", "mcp__github__", "mcp__github__x", RUN },
		{ "deny mcp__github\nallow mcp__github__evil__x", "mcp__github__evil__", "mcp__github__evil__x", NOT },
	};
	STAGE(stage);

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct permission p = { .can_ask = true };
		struct tool tool = { .name = cases[i].tool, .definition = "{}", .server = cases[i].server };
		struct tool_use *call = stage_call(&stage, cases[i].tool, "{}");
		call->tool = &tool;
		stage_rules(&stage, &p, cases[i].rules);
		print_error("%s: %s of %s\n", cases[i].rules, cases[i].tool, cases[i].server);
		CHECK_INT(stage_decide(&p, call), cases[i].expected);
		permission_release(&p);
	}
}

TEST(what_stands_before_a_command_that_a_rule_allows_changes_nothing_for_it)
{
	static const struct attack list[] = {
		{ "read own < f; npm test", RUN },
		{ "read own _ < f; npm test", RUN },
		{ "read npm_config_globalconfig < f; npm test", ASK },
		{ "read -r own npm_config_script_shell < f && npm test", ASK },
		{ "read exported_here < f; npm test", ASK },
		{ "read exported_here_not < f; npm test", RUN },
		{ "read https_proxy < f; npm test", ASK },
		{ "npm_config_globalconfig=f npm test", ASK },
		{ "printf x > /dev/null; npm test", RUN },
		{ "printf x > /dev/tty; npm test", ASK },
	};

	CHECK_INT(setenv("exported_here", "x", 1), 0);
	ATTACKS("default", "allow Bash(npm test)", list);
	CHECK_INT(unsetenv("exported_here"), 0);
}

TEST(the_terminal_of_the_user_is_no_place_for_what_passes)
{
	static const struct attack list[] = {
		{ "printf '\\033]0;x\\007' > /dev/tty", ASK },
		{ "cat f 2>> /dev/tty", ASK },
		{ "cat f &> /dev/tty", ASK },
		{ "cat < /dev/tty", ASK },
		{ "cat f > /dev/stderr", RUN },
		{ "cat f > /dev/null", RUN },
	};

	ATTACKS("default", "", list);
	ATTACKS("acceptEdits", "", list);
}

int test_attack_place(void)
{
	return RUN_TESTS(T(a_rule_that_names_a_link_means_what_it_leads_to),
			 T(a_path_in_a_worktree_is_the_same_path_in_the_main_checkout),
			 T(a_limit_to_commands_that_read_lets_none_write),
			 T(what_stands_before_a_command_that_a_rule_allows_changes_nothing_for_it),
			 T(the_terminal_of_the_user_is_no_place_for_what_passes),
			 T(git_is_asked_about_in_a_directory_that_it_takes_for_a_repository),
			 T(what_programs_of_the_home_run_is_asked_about_though_the_session_was_started_there),
			 T(a_rule_for_a_server_means_no_other_server), T(names_are_compared_as_they_are_resolved));
}
