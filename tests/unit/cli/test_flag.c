/* SPDX-License-Identifier: MIT
 * test_flag.c - the table, the grammar of the command line, what reaches the library, the help text. */
#include "test_cli.h"
#include "face/cli/configure.h"
#include "face/cli/command.h"
#include "product/runtime/runtime.h"

enum { ARGS_MAX = 12 };

static int parse(const char *const *words, struct args *ret_args, struct err *err)
{
	const char *argv[ARGS_MAX + 1] = { "cadre" };
	int argc = 1;

	while (*words && argc < ARGS_MAX)
		argv[argc++] = *words++;
	return flags_parse(argc, argv, ret_args, err);
}

/* "prompt|name=value;name;" with the flags that have no setting in front. */
static char *describe(const struct args *args)
{
	struct buf b = { 0 };

	if (args_has(args, "print"))
		buf_addstr(&b, "print ");
	if (args_has(args, "verbose"))
		buf_addstr(&b, "verbose ");
	if (args_has(args, "output-format"))
		buf_addf(&b, "%s ", args_value(args, "output-format"));
	buf_addf(&b, "%s|", flags_prompt(args) ? flags_prompt(args) : "-");
	for (size_t i = 0; i < args->given_count; i++)
		if (flag_setting(flag_of(args->given[i].option)))
			buf_addf(&b, "%s=%s;", args->given[i].option->name,
				 args->given[i].value ? args->given[i].value : "-");
	return buf_take(&b, NULL);
}

TEST(command_lines_mean_what_they_mean_elsewhere)
{
	static const struct {
		const char *words[ARGS_MAX];
		const char *meaning;
	} table[] = {
		{ { NULL }, "-|" },
		{ { "-p", "hi" }, "print hi|" },
		{ { "hi", "-p" }, "print hi|" },
		{ { "--print", "hi", "--verbose" }, "print verbose hi|" },
		{ { "--print=hi" }, "print hi|" },
		{ { "-p", "--", "--not-a-flag" }, "print --not-a-flag|" },
		{ { "-p", "-" }, "print -|" },
		{ { "-p", "" }, "print |" },
		{ { "--model", "opus" }, "-|model=opus;" },
		{ { "--model=opus" }, "-|model=opus;" },
		{ { "--model=" }, "-|model=;" },
		{ { "--model=a=b" }, "-|model=a=b;" },
		{ { "--append-system-prompt", "- be terse" }, "-|append-system-prompt=- be terse;" },
		{ { "--output-format", "json", "-p", "x" }, "print json x|" },
		{ { "--tools=" }, "-|tools=;" },
		{ { "--tools", "" }, "-|tools=;" },
		{ { "--tools", "Read,Grep Glob" }, "-|tools=Read,Grep,Glob;" },
		{ { "--allowedTools", "Read", "Grep", "-p", "x" }, "print x|allowed-tools=Read,Grep;" },
		{ { "--allowed-tools=Read", "x" }, "x|allowed-tools=Read;" },
		{ { "--allowed-tools", "Read", "--", "x" }, "x|allowed-tools=Read;" },
		{ { "--allowedTools", "Read", "--allowed-tools", "Bash" }, "-|allowed-tools=Read,Bash;" },
		{ { "--allowedTools", "Bash(git log:*, -p) Edit" }, "-|allowed-tools=Bash(git log:*, -p),Edit;" },
		{ { "--tools", "A", "--add-dir=x", "--allowedTools", "B", "--tools", "C", "--model=y" },
		  "-|tools=A,C;add-dir=x;allowed-tools=B;model=y;" },
		{ { "--allowedTools", " , Read , " }, "-|allowed-tools=Read;" },
		{ { "--add-dir", "../a b", "/c", "--verbose", "x" }, "verbose x|add-dir=../a b;add-dir=/c;" },
		{ { "--debug", "x" }, "x|debug=-;" },
		{ { "--debug=api,!mcp", "x" }, "x|debug=api,!mcp;" },
		{ { "--debug-file", "a.log", "--json-schema", "{}", "--fallback-model=a,b", "-n", "My title" },
		  "-|debug-file=a.log;json-schema={};fallback-model=a,b;name=My title;" },
		{ { "--betas", "a", "b,c", "--", "x" }, "x|betas=a,b,c;" },
		{ { "-c", "x" }, "x|continue=;" },
		{ { "-r" }, "-|resume=-;" },
		{ { "-r", "-p" }, "print -|resume=-;" },
		{ { "-p", "--resume", "1-2", "x" }, "print x|resume=1-2;" },
		{ { "--resume=" }, "-|resume=;" },
		{ { "--dangerously-skip-permissions" }, "-|dangerously-skip-permissions=;" },
		{ { "--model", "a", "--model", "b" }, "-|model=a;model=b;" },
		{ { "--max-budget-usd", "0.5", "--append-subagent-system-prompt", "- be brief" },
		  "-|max-budget-usd=0.5;append-subagent-system-prompt=- be brief;" },
		{ { "--teammate-mode", "tmux", "--plan-mode-required", "--agent-id", "ann@alpha",
		    "--lead-process=1.2" },
		  "-|teammate-mode=tmux;plan-mode-required=;agent-id=ann@alpha;lead-process=1.2;" },
		{ { "--agent-name", "ann", "--team-name", "alpha", "--agent-color", "blue", "--agent-type", "writer" },
		  "-|agent-name=ann;team-name=alpha;agent-color=blue;agent-type=writer;" },
		{ { "--plugin-dir", "a", "--plugin-dir=b", "x" }, "x|plugin-dir=a;plugin-dir=b;" },
		{ { "--mcp-config", "a.json", "{}", "--strict-mcp-config", "x" },
		  "x|mcp-config=a.json;mcp-config={};strict-mcp-config=;" },
		{ { "--mcp-config={}", "--mcp-config=b", "x" }, "x|mcp-config={};mcp-config=b;" },
		{ { "--agents", "{\"a\":{}}", "--setting-sources=" }, "-|agents={\"a\":{}};setting-sources=;" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_ARGS struct args args = { 0 };
		struct err err = { 0 };
		CHECK_INT(parse(table[i].words, &args, &err), 0);
		AUTO_FREE char *meaning = describe(&args);
		CHECK_CSTR(meaning, table[i].meaning);
	}
}

TEST(a_wrong_command_line_says_what_was_expected)
{
	static const struct {
		const char *words[ARGS_MAX];
		const char *why;
	} table[] = {
		{ { "--modle", "x" }, "unknown option '--modle' (did you mean --model?)" },
		{ { "--allowdTools=x" }, "unknown option '--allowdTools' (did you mean --allowedTools?)" },
		{ { "--colour" }, "unknown option '--colour' (cadre --help lists them)" },
		{ { "-x" }, "unknown option '-x' (cadre --help lists them)" },
		{ { "-pc" }, "unknown option '-pc' (cadre --help lists them)" },
		{ { "--\033[2J" }, "unknown option '--\033[2J' (cadre --help lists them)" },
		{ { "--=x" }, "unknown option '--' (cadre --help lists them)" },
		{ { "--model" }, "--model needs a value: --model <model>" },
		{ { "--verbose=1" }, "--verbose takes no value" },
		{ { "--output-format", "xml" },
		  "--output-format: 'xml' is not known; expected: text, json, stream-json" },
		{ { "two", "words" }, "there is a second prompt, 'words'; a prompt of several words needs quotes" },
		{ { "-p", "a", "--", "b" }, "there is a second prompt, 'b'; a prompt of several words needs quotes" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct args args = { 0 };
		struct err err = { 0 };
		CHECK_INT(parse(table[i].words, &args, &err), -ERR_USAGE);
		CHECK_CSTR(err.text, table[i].why);
	}
}

TEST(flags_that_do_not_go_together_are_refused)
{
	static const struct {
		const char *words[ARGS_MAX];
		bool interactive;
		const char *why; /* NULL: fine */
	} table[] = {
		{ { "-p", "x", "--output-format", "stream-json", "--verbose" }, false, NULL },
		{ { "-p", "x", "--output-format", "stream-json", "--verbose", "--include-partial-messages" },
		  false,
		  NULL },
		{ { "-r" }, true, NULL },
		{ { "-p", "x", "--output-format", "stream-json" },
		  false,
		  "--output-format stream-json needs --verbose with --print" },
		{ { "-p", "x", "--scope", "user" }, false, "--scope belongs to `cadre mcp` and `cadre plugin`" },
		{ { "-p", "x", "--env", "A=1" }, false, "--env belongs to `cadre mcp`" },
		{ { "-p", "x", "--include-partial-messages" },
		  false,
		  "--include-partial-messages needs --print and --output-format stream-json" },
		{ { "-p", "x", "--output-format", "stream-json", "--verbose", "--forward-subagent-text" },
		  false,
		  NULL },
		{ { "-p", "x", "--forward-subagent-text" },
		  false,
		  "--forward-subagent-text needs --print and --output-format stream-json" },
		{ { "-p", "x", "--include-hook-events" },
		  false,
		  "--include-hook-events needs --print and --output-format stream-json" },
		{ { "-p", "x", "--replay-user-messages", "--input-format", "text" },
		  false,
		  "--replay-user-messages needs --print and --input-format stream-json" },
		{ { "-p", "x", "--await-initialize" },
		  false,
		  "--await-initialize needs --print and --input-format stream-json" },
		{ { "--session-mirror" }, true, "--session-mirror needs --print and --input-format stream-json" },
		{ { "-p", "x", "--managed-settings-in-initialize" },
		  false,
		  "--managed-settings-in-initialize needs --print and --input-format stream-json" },
		{ { "--output-format", "json" }, true, "--output-format needs --print" },
		{ { "-p", "x", "--list" }, false, "--list belongs to `cadre rewind` and `cadre trust`" },
		{ { "--forget" }, true, "--forget belongs to `cadre plugin` and `cadre trust`" },
		{ { "-p", "-r" }, false, "--resume needs a session, by its id or title: --resume <session>" },
		{ { "--resume=" }, true, "--resume needs a session, by its id or title: --resume <session>" },
		{ { "-c", "-r", "1" }, true, "--continue and --resume cannot be given together" },
		{ { "--system-prompt=a", "--system-prompt-file=b" },
		  true,
		  "--system-prompt and --system-prompt-file cannot be given together" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_ARGS struct args args = { 0 };
		struct err err = { 0 };
		CHECK_INT(parse(table[i].words, &args, &err), 0);
		CHECK_INT(configure_check(&args, table[i].interactive, &err), table[i].why ? -ERR_USAGE : 0);
		CHECK_CSTR(err.text, table[i].why ? table[i].why : "");
	}
}

TEST(settings_reach_the_library_in_the_order_of_the_command_line)
{
	AUTO_ARGS struct args args = { 0 };
	struct err err = { 0 };
	struct cadre *c = NULL;
	char file[] = "/tmp/cadre-test-XXXXXX";
	int fd = mkstemp(file);
	CHECK_INT(write(fd, "from a file\n", 12), 12);
	close(fd);
	const char *words[] = {
		"--system-prompt-file", file, "--permission-mode=plan", "--model=a", "--model=b", "-r", NULL
	};
	CHECK_INT(parse(words, &args, &err), 0);
	unsetenv("CLAUDE_CODE_ENTRYPOINT");

	CHECK_INT(configure_runtime(&args, CONFIGURE_INTERACTIVE, &c, &err), 0);

	const struct options *o = &cadre_services(c)->options;
	CHECK_CSTR(o->system_prompt, "from a file\n");
	CHECK_CSTR(o->model, "b");
	CHECK(o->continue_newest && o->interactive);
	CHECK_CSTR(o->entrypoint, "cli");
	unlink(file);
	cadre_free(c);
}

TEST(a_fresh_session_is_opened_without_the_flags_that_chose_the_first)
{
	AUTO_ARGS struct args args = { 0 };
	struct err err = { 0 };
	struct cadre *c = NULL;
	const char *words[] = { "-c", "--fork-session", "--no-session-persistence", "--model=a", NULL };
	CHECK_INT(parse(words, &args, &err), 0);

	CHECK_INT(configure_runtime(&args, CONFIGURE_FRESH, &c, &err), 0);

	const struct options *o = &cadre_services(c)->options;
	CHECK(!o->continue_newest && !o->fork_session && o->no_persistence);
	CHECK_CSTR(o->model, "a");
	cadre_free(c);
}

TEST(a_refused_setting_and_a_missing_file_are_usage_errors)
{
	static const struct {
		const char *words[ARGS_MAX], *why;
	} table[] = {
		{ { "--max-turns", "many" }, "max-turns" },
		{ { "--append-system-prompt-file", "/nonexistent/x" },
		  "--append-system-prompt-file: cannot open /nonexistent/x: No such file or directory" },
	};

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		AUTO_ARGS struct args args = { 0 };
		struct err err = { 0 };
		struct cadre *c;
		CHECK_INT(parse(table[i].words, &args, &err), 0);
		CHECK_INT(configure_runtime(&args, 0, &c, &err), -ERR_USAGE);
		CHECK(strstr(err.text, table[i].why) != NULL);
	}
}

TEST(every_row_of_the_table_is_complete_and_has_its_own_names)
{
	const struct cadre_option *options[200] = { 0 };

	for (size_t i = 0; i < flag_count; i++)
		options[i] = &flag_table[i].option;
	for (size_t i = 0; i < flag_count; i++) {
		const struct cadre_option *opt = options[i];
		CHECK(option_find(options, str_from(opt->name)) == opt);
		CHECK(!opt->alias || option_find(options, str_from(opt->alias)) == opt);
		CHECK((opt->value != NULL) == (opt->arg != CADRE_OPTION_NONE));
		CHECK(opt->help && strlen(opt->help) > 10);
		CHECK((int)flag_table[i].group < GROUP_COUNT);
		for (size_t k = 0; k < i; k++)
			CHECK(!opt->letter || options[k]->letter != opt->letter);
	}
}

static void check_option_is_new(void *data, const struct cadre_option *opt)
{
	const struct cadre_option **seen = data;

	for (; *seen; seen++) {
		CHECK(!option_find((const struct cadre_option *const[]){ *seen, NULL }, str_from(opt->name)));
		CHECK(!opt->alias || strcmp(opt->alias, (*seen)->name) != 0);
		CHECK(!opt->letter || opt->letter != (*seen)->letter);
	}
	*seen = opt;
}

/* An option of a command that is called as a flag would hide it, and a setting that no flag gives has no effect. */
TEST(options_of_a_command_have_their_own_names_and_its_settings_have_flags)
{
	for (const struct cadre_command *c = NULL; (c = command_next(c));) {
		const struct cadre_option *seen[200] = { 0 };
		command_options(c, check_option_is_new, seen);
		bool prints_for_programs = str_is_one_of(str_from(c->name), "completion|manual");
		CHECK(option_find(seen, STR("help")) && !option_find(seen, STR("json")) == prints_for_programs);
		for (const char *const *setting = c->settings; *setting; setting++) {
			size_t i = 0;
			while (i < flag_count &&
			       (!flag_setting(&flag_table[i]) || strcmp(flag_setting(&flag_table[i]), *setting) != 0))
				i++;
			if (i == flag_count)
				fail_msg("cadre %s: no flag sets %s", c->name, *setting);
		}
	}
}

TEST(the_help_text_has_every_flag_and_fits_on_the_screen)
{
	AUTO_BUF struct buf b = { 0 };

	help_write(&b);

	for (size_t i = 0; i < flag_count; i++) {
		AUTO_BUF struct buf flag = { 0 };
		buf_addf(&flag, " --%s", flag_table[i].option.name);
		CHECK(str_has(buf_str(&b), buf_str(&flag)));
	}
	for (struct str rest = buf_str(&b); rest.p;)
		CHECK(str_cut(&rest, '\n').n <= 115);
}

const struct test_group flag_tests = GROUP(
	T(command_lines_mean_what_they_mean_elsewhere), T(a_wrong_command_line_says_what_was_expected),
	T(flags_that_do_not_go_together_are_refused), T(settings_reach_the_library_in_the_order_of_the_command_line),
	T(a_fresh_session_is_opened_without_the_flags_that_chose_the_first),
	T(a_refused_setting_and_a_missing_file_are_usage_errors),
	T(every_row_of_the_table_is_complete_and_has_its_own_names),
	T(options_of_a_command_have_their_own_names_and_its_settings_have_flags),
	T(the_help_text_has_every_flag_and_fits_on_the_screen));
