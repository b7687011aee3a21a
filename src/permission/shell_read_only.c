/* SPDX-License-Identifier: MIT
 * shell_read_only.c - commands that change nothing and run nothing. A command stands in the table with what takes it out
 * again: options, a number of operands, or a check of its own. A row without any of these may have every argument; in the
 * others all words must be known, because an expansion or the name of a file can become an option.
 *
 * To add a command: look for options that write, run or connect, also in their abbreviated forms; add one row. */
#include "permission/shell_read_only.h"

typedef bool check_fn(const struct shell_command *c);

struct reader {
	const char *name;
	const char *letters; /* short options that take it out */
	const char *options; /* long options that take it out, without --, with a blank between them */
	int operands;        /* at most so many words that are no options; -1: any number */
	check_fn *check;
};

static bool check_command(const struct shell_command *c);
static bool check_date(const struct shell_command *c);
static bool check_find(const struct shell_command *c);
static bool check_read(const struct shell_command *c);

#define ANY(name)                          \
	{                                  \
		name, NULL, NULL, -1, NULL \
	}

static const struct reader readers[] = {
	ANY(":"),
	ANY("["),
	ANY("arch"),
	ANY("b2sum"),
	{ "base64", "o", "output", -1, NULL },
	ANY("basename"),
	ANY("break"),
	ANY("cat"),
	ANY("cd"),
	ANY("cksum"),
	ANY("cmp"),
	ANY("column"),
	ANY("comm"),
	{ "command", "", "", -1, check_command },
	ANY("continue"),
	ANY("cut"),
	{ "date", "sf", "set file", -1, check_date },
	ANY("df"),
	{ "diff", "l", "paginate", -1, NULL },
	ANY("dirname"),
	ANY("du"),
	ANY("echo"),
	ANY("egrep"),
	ANY("exit"),
	ANY("expand"),
	ANY("expr"),
	ANY("false"),
	ANY("fgrep"),
	{ "file", "Cmfzp", "compile magic-file files-from uncompress preserve-date", -1, NULL },
	{ "find", "", "", -1, check_find },
	ANY("fold"),
	ANY("free"),
	{ "git", "", "", -1, shell_git_is_read_only },
	ANY("grep"),
	ANY("groups"),
	ANY("head"),
	ANY("hexdump"),
	{ "hostname", "Fb", "file boot", 0, NULL },
	ANY("id"),
	ANY("jq"),
	ANY("ls"),
	ANY("md5sum"),
	ANY("nl"),
	ANY("nproc"),
	ANY("od"),
	ANY("paste"),
	ANY("printf"),
	ANY("ps"),
	ANY("pwd"),
	{ "read", "", "", -1, check_read },
	ANY("readlink"),
	ANY("realpath"),
	ANY("return"),
	ANY("rev"),
	{ "rg", "z", "pre pre-glob search-zip hostname-bin", -1, NULL },
	{ "sed", "", "", -1, shell_sed_is_read_only },
	ANY("seq"),
	ANY("set"),
	ANY("sha1sum"),
	ANY("sha256sum"),
	ANY("sha512sum"),
	ANY("shift"),
	ANY("sleep"),
	{ "sort", "oT", "output compress-program temporary-directory", -1, NULL },
	ANY("stat"),
	ANY("strings"),
	ANY("tac"),
	ANY("tail"),
	ANY("test"),
	ANY("tr"),
	{ "tree", "oR", "output", -1, NULL },
	ANY("true"),
	ANY("type"),
	ANY("uname"),
	ANY("unexpand"),
	{ "uniq", "", "", 1, NULL },
	ANY("uptime"),
	ANY("wc"),
	ANY("which"),
	ANY("whoami"),
};

/* Programs that only say what they are when this is all that they are asked. */
static const char *const versioned[] = { "cargo", "clang",  "cmake",   "docker", "gcc",   "go",  "java",
					 "make",  "node",   "npm",     "perl",   "php",   "pip", "pip3",
					 "pnpm",  "python", "python3", "ruby",   "rustc", "yarn" };

/* ---- checks ---- */

static bool check_command(const struct shell_command *c)
{
	return c->word_count > 2 && (str_is(c->words[1].text, "-v") || str_is(c->words[1].text, "-V"));
}

/* find knows no abbreviations. */
static bool check_find(const struct shell_command *c)
{
	static const char *const actions[] = { "-exec", "-ok", "-delete", "-fprint", "-fls" };

	for (size_t i = 1; i < c->word_count; i++)
		for (size_t k = 0; k < COUNT_OF(actions); k++)
			if (str_starts(c->words[i].text, str_from(actions[k])))
				return false;
	return true;
}

/* A word that is neither an option nor a format sets the clock; -d and -r have an argument. */
static bool check_date(const struct shell_command *c)
{
	for (size_t i = 1; i < c->word_count; i++) {
		struct str word = c->words[i].text;
		if (str_is(word, "-d") || str_is(word, "-r") || str_is(word, "--date") || str_is(word, "--reference"))
			i++;
		else if (!word.n || (word.p[0] != '+' && word.p[0] != '-'))
			return false;
	}
	return true;
}

/* Programs listen to variables in capitals. */
static bool is_own_variable(struct str name)
{
	for (size_t i = 0; i < name.n; i++)
		if (name.p[i] >= 'A' && name.p[i] <= 'Z')
			return false;
	return !str_ends(name, STR("_proxy"));
}

static bool check_read(const struct shell_command *c)
{
	for (size_t i = 1; i < c->word_count; i++)
		if (c->words[i].text.n && c->words[i].text.p[0] != '-' && !is_own_variable(c->words[i].text))
			return false;
	return true;
}

/* ---- rows ---- */

/* Is name, perhaps abbreviated, one of the words of list? */
static bool is_in_options(const char *list, struct str name)
{
	struct str rest = str_from(list);

	while (rest.p) {
		struct str option = str_cut(&rest, ' ');
		if (option.n && name.n && str_starts(option, name))
			return true;
	}
	return false;
}

static bool takes_out(const struct reader *r, struct str word)
{
	if (str_starts(word, STR("--"))) {
		struct str name = { word.p + 2, word.n - 2 };
		return is_in_options(r->options, str_cut(&name, '='));
	}
	for (size_t i = 1; i < word.n; i++)
		if (strchr(r->letters, word.p[i]))
			return true;
	return false;
}

static bool row_allows(const struct reader *r, const struct shell_command *c)
{
	int operands = 0;

	if (!r->letters)
		return true;
	for (size_t i = 1; i < c->word_count; i++) {
		const struct shell_word *w = &c->words[i];
		if (!w->literal && !(w->tilde && !w->globs && !w->splits))
			return false;
		if (w->text.n > 1 && w->text.p[0] == '-') {
			if (takes_out(r, w->text))
				return false;
		} else {
			operands++;
		}
	}
	return (r->operands < 0 || operands <= r->operands) && (!r->check || r->check(c));
}

static const struct reader *find_reader(struct str name)
{
	for (size_t i = 0; i < COUNT_OF(readers); i++)
		if (shell_name_is(name, readers[i].name))
			return &readers[i];
	return NULL;
}

static bool asks_for_version(const struct shell_command *c)
{
	if (c->word_count != 2 || !str_is(c->words[1].text, "--version"))
		return false;
	for (size_t i = 0; i < COUNT_OF(versioned); i++)
		if (str_is(c->words[0].text, versioned[i]))
			return true;
	return false;
}

static bool only_assigns(const struct shell_command *c)
{
	for (size_t i = 0; i < c->assignment_count; i++)
		if (!is_own_variable(c->assignments[i].name) && !shell_variable_is_harmless(c->assignments[i].name))
			return false;
	return true;
}

bool shell_is_read_only(const struct shell_command *c)
{
	struct shell_command s = shell_strip_for_allow(c);

	if (c->hides)
		return false;
	if (!s.word_count)
		return only_assigns(&s);
	if (s.assignment_count || !s.words[0].literal)
		return false;
	const struct reader *r = find_reader(s.words[0].text);
	if (!r)
		return asks_for_version(&s);
	return shell_gets_more_words(c, &s) ? !r->letters : row_allows(r, &s);
}

bool shell_script_is_read_only(const struct shell_script *s)
{
	bool moves = false;
	bool has_git = false;

	if (!s->understood || s->has_background || s->has_function)
		return false;
	for (size_t i = 0; i < s->count; i++) {
		struct shell_command c = shell_strip_for_allow(&s->commands[i]);
		if (!shell_is_read_only(&s->commands[i]))
			return false;
		moves = moves || (c.word_count && str_is(c.words[0].text, "cd"));
		has_git = has_git || (c.word_count && str_is(c.words[0].text, "git"));
	}
	return !moves || !has_git;
}
