/* SPDX-License-Identifier: MIT
 * test_completion.c - the texts for shells and man: they name everything that the tables have. */
#include "test_cli.h"
#include "face/cli/completion.h"

static const struct {
	const char *name;
	void (*write)(struct buf *out);
	const char *flag; /* how a flag is spelled in it */
	const char *command;
} texts[] = {
	{ "bash", completion_bash, " --%s", "\t1:%s) flags=" },
	{ "fish", completion_fish, " -l %s ", "-a %s -d" },
	{ "zsh", completion_zsh, "'*--%s", "\t\t'%s:" },
};

static void expect(const struct buf *text, const char *where, const char *format, const char *name)
{
	AUTO_BUF struct buf wanted = { 0 };
	struct str rest = str_from(format);
	struct str before = str_cut(&rest, '%');

	buf_addf(&wanted, STR_FMT "%s%s", STR_ARG(before), name, rest.p + 1);
	if (!strstr(text->p, wanted.p))
		fail_msg("%s does not have: %s", where, wanted.p);
}

TEST(every_script_names_every_flag_and_every_command)
{
	for (size_t k = 0; k < COUNT_OF(texts); k++) {
		AUTO_BUF struct buf text = { 0 };

		texts[k].write(&text);

		for (size_t i = 0; i < flag_count; i++)
			expect(&text, texts[k].name, texts[k].flag, flag_table[i].option.name);
		for (const struct cadre_command *c = NULL; (c = command_next(c));) {
			expect(&text, texts[k].name, texts[k].command, c->name);
			for (const struct cadre_option *o = c->options; o->name; o++)
				expect(&text, texts[k].name, texts[k].flag, o->name);
		}
	}
}

TEST(every_shell_of_the_table_has_a_script_of_its_own)
{
	size_t count = 0;

	while (completion_shells[count].name)
		count++;
	CHECK_INT(count, COUNT_OF(texts));
	for (size_t i = 0; i < count; i++)
		CHECK(completion_shells[i].write == texts[i].write &&
		      !strcmp(completion_shells[i].name, texts[i].name));
}

static void add_roff(struct buf *out, const char *name)
{
	buf_addstr(out, "\\fB\\-\\-");
	for (; *name; name++)
		buf_addf(out, "%s%c", *name == '-' ? "\\" : "", *name);
	buf_addstr(out, "\\fR");
}

static void expect_in_manual(const struct buf *text, const char *name)
{
	AUTO_BUF struct buf spelled = { 0 };

	add_roff(&spelled, name);
	if (!strstr(text->p, spelled.p))
		fail_msg("the manual does not have %s", name);
}

TEST(the_manual_names_every_flag_and_every_command)
{
	AUTO_BUF struct buf text = { 0 };

	manual_write(&text);

	for (size_t i = 0; i < flag_count; i++)
		expect_in_manual(&text, flag_table[i].option.name);
	for (const struct cadre_command *c = NULL; (c = command_next(c));) {
		expect(&text, "the manual", ".SS \"cadre %s\"", c->name);
		for (const struct cadre_option *o = c->options; o->name; o++)
			expect_in_manual(&text, o->name);
	}
}

TEST(no_line_of_the_manual_is_a_command_by_accident)
{
	static const char *const commands[] = { ".TH ", ".SH ", ".SS ", ".TP", ".PP", ".nf", ".fi", ".br" };
	AUTO_BUF struct buf text = { 0 };

	manual_write(&text);
	for (struct str rest = buf_str(&text); rest.p;) {
		struct str line = str_cut(&rest, '\n');
		bool known = !line.n || (line.p[0] != '.' && line.p[0] != '\'');
		for (size_t i = 0; i < COUNT_OF(commands); i++)
			known = known || str_starts(line, str_from(commands[i]));
		if (!known)
			fail_msg("not a command of ours: " STR_FMT, STR_ARG(line));
	}
}

const struct test_group completion_tests =
	GROUP(T(every_script_names_every_flag_and_every_command), T(every_shell_of_the_table_has_a_script_of_its_own),
	      T(the_manual_names_every_flag_and_every_command), T(no_line_of_the_manual_is_a_command_by_accident));
