/* SPDX-License-Identifier: MIT
 * test_completion.c - the texts for shells and man: they name everything that the tables have. */
#include "test_cli.h"
#include "face/cli/completion.h"

static void reply_to(struct buf *out, const char *command, const char *typed)
{
	buf_clear(out);
	buf_addch(out, '\n');
	completion_reply(command ? (const char *[]){ command, typed } : &typed, command ? 2 : 1, out);
}

static void expect(const struct buf *text, const char *where, const char *format, const char *name)
{
	AUTO_BUF struct buf wanted = { 0 };
	struct str rest = str_from(format);
	struct str before = str_cut(&rest, '%');

	buf_addf(&wanted, STR_FMT "%s%s", STR_ARG(before), name, rest.p + 1);
	if (!strstr(text->p, wanted.p))
		fail_msg("%s does not have: %s", where, wanted.p);
}

TEST(every_flag_command_and_word_is_offered)
{
	AUTO_BUF struct buf flags = { 0 }, commands = { 0 };

	reply_to(&flags, NULL, "--");
	reply_to(&commands, NULL, "");

	for (size_t i = 0; i < flag_count; i++)
		if (strcmp(flag_table[i].option.name, "json") != 0) /* it needs a command */
			expect(&flags, "cadre", "\n--%s\t", flag_table[i].option.name);
	for (const struct cadre_command *c = NULL; (c = command_next(c));) {
		AUTO_BUF struct buf options = { 0 }, words = { 0 };
		expect(&commands, "cadre", "\n%s\t", c->name);
		reply_to(&options, c->name, "--");
		for (const struct cadre_option *o = c->options; o->name; o++)
			expect(&options, c->name, "\n--%s\t", o->name);
		if (!c->words[0].name[0])
			continue;
		reply_to(&words, c->name, "");
		for (const struct cadre_command_word *w = c->words; w->name; w++)
			if (!strchr(w->name, ' '))
				expect(&words, c->name, "\n%s\t", w->name);
	}
}

TEST(what_stands_before_decides_what_is_offered)
{
	static const struct {
		const char *words[5];
		const char *expected;
	} rows[] = {
		{ { "se" }, "sessions\t" },
		{ { "--output-format", "j" }, "json\t\n" },
		{ { "--output-format=st" }, "--output-format=stream-json\t\n" },
		{ { "--output-format", "=", "j" }, "json\t\n" }, /* bash */
		{ { "--output-format", "=" }, "text\t\njson\t\nstream-json\t\n" },
		{ { "--settings", "x" }, ":\n" },
		{ { "--max-turns", "" }, "" },
		{ { "-p", "text" }, ":\n" },
		{ { "sessions", "s" }, "search\t\nshow\t\n" },
		{ { "sessions", "list", "" }, ":\n" },
		{ { "plugin", "market" }, "marketplace\t\n" },
		{ { "sessions", "prune", "--o" },
		  "--older-than\tWith prune: the age since the last change, such as 30d\n" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_BUF struct buf out = { 0 };
		size_t count = 0;
		while (rows[i].words[count])
			count++;
		completion_reply(rows[i].words, count, &out);
		if (!str_starts(buf_str(&out), str_from(rows[i].expected)) || (!rows[i].expected[0] && out.n))
			fail_msg("%s %s: %s", rows[i].words[0], rows[i].words[count - 1], buf_str(&out).p);
	}
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
	GROUP(T(every_flag_command_and_word_is_offered), T(what_stands_before_decides_what_is_offered),
	      T(the_manual_names_every_flag_and_every_command), T(no_line_of_the_manual_is_a_command_by_accident));
