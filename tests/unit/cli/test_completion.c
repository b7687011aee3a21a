/* SPDX-License-Identifier: MIT
 * test_completion.c - the texts for shells and man: they name everything that the tables have. */
#include "test_cli.h"
#include "face/cli/completion.h"

static const struct {
	const char *name;
	void (*write)(struct buf *out);
	const char *flag; /* how a flag is spelled in it */
	const char *verb;
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

TEST(every_script_names_every_flag_and_every_verb)
{
	for (size_t k = 0; k < COUNT_OF(texts); k++) {
		AUTO_BUF struct buf text = { 0 };

		texts[k].write(&text);

		for (size_t i = 0; i < option_count; i++)
			expect(&text, texts[k].name, texts[k].flag, option_table[i].name);
		for (size_t i = 0; verb_table[i]; i++)
			expect(&text, texts[k].name, texts[k].verb, verb_table[i]->name);
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

TEST(the_manual_names_every_flag_and_every_verb)
{
	AUTO_BUF struct buf text = { 0 };

	manual_write(&text);

	for (size_t i = 0; i < option_count; i++) {
		AUTO_BUF struct buf name = { 0 };
		add_roff(&name, option_table[i].name);
		if (!strstr(text.p, name.p))
			fail_msg("the manual does not have %s", option_table[i].name);
	}
	for (size_t i = 0; verb_table[i]; i++)
		expect(&text, "the manual", ".SS \"cadre %s\"", verb_table[i]->name);
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
	GROUP(T(every_script_names_every_flag_and_every_verb), T(every_shell_of_the_table_has_a_script_of_its_own),
	      T(the_manual_names_every_flag_and_every_verb), T(no_line_of_the_manual_is_a_command_by_accident));
