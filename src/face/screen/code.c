/* SPDX-License-Identifier: MIT
 * code.c - source code with colours. A language is a row: its names, how comments and strings begin, and its words. */
#include "face/screen/code.h"

struct language {
	const char *names; /* blanks between and around */
	const char *line_comment, *line_comment2, *open_comment, *close_comment;
	const char *quotes; /* characters that begin and end a string */
	const char *words;  /* blanks between and around */
};

#define C_WORDS                                                                                                               \
	" if else for while do switch case default break continue return goto sizeof struct union enum typedef static const " \
	"extern inline void int char long short unsigned signed float double bool true false NULL "

static const struct language languages[] = {
	{ " c h cpp c++ cc hpp cxx ", "//", NULL, "/*", "*/", "\"'",
	  C_WORDS
	  "class public private protected virtual template typename namespace using new delete this auto nullptr try "
	  "catch throw constexpr override #include #define #if #ifdef #ifndef #endif #else #pragma " },
	{ " java kotlin kt scala cs csharp ", "//", NULL, "/*", "*/", "\"'",
	  C_WORDS
	  "class interface public private protected final abstract extends implements import package new this super "
	  "null throws throw try catch finally var val fun override object string String int boolean using namespace " },
	{ " js javascript jsx mjs ts typescript tsx ", "//", NULL, "/*", "*/", "\"'`",
	  " if else for while do switch case default break continue return function const let var class extends new this super "
	  "import export from as async await yield typeof instanceof in of null undefined true false try catch finally throw "
	  "interface type enum implements public private readonly " },
	{ " py python python3 ", "#", NULL, "\"\"\"", "\"\"\"", "\"'",
	  " if elif else for while break continue return def class import from as with try except finally raise lambda yield "
	  "async await pass global nonlocal in is not and or None True False self " },
	{ " sh bash zsh shell console ", "#", NULL, NULL, NULL, "\"'",
	  " if then else elif fi for in do done while until case esac function return exit export local set source echo cd " },
	{ " go golang ", "//", NULL, "/*", "*/", "\"'`",
	  " if else for range switch case default break continue return func type struct interface map chan go defer select "
	  "package import var const nil true false string int error byte " },
	{ " rs rust ", "//", NULL, "/*", "*/", "\"",
	  " if else for while loop match break continue return fn let mut pub struct enum impl trait use mod crate self Self "
	  "where as async await move ref const static true false None Some Ok Err unsafe dyn " },
	{ " rb ruby ", "#", NULL, "=begin", "=end", "\"'",
	  " if elsif else unless end while until for in do break next return def class module self nil true false begin "
	  "rescue ensure yield require attr_accessor puts " },
	{ " json jsonc ", "//", NULL, NULL, NULL, "\"", " true false null " },
	{ " yaml yml toml ini ", "#", ";", NULL, NULL, "\"'", " true false null yes no " },
	{ " sql ", "--", NULL, "/*", "*/", "'",
	  " select from where and or not in insert into values update set delete create table drop alter index join left "
	  "right inner on group by order having limit as null primary key SELECT FROM WHERE AND OR NOT IN INSERT INTO VALUES "
	  "UPDATE SET DELETE CREATE TABLE DROP ALTER INDEX JOIN LEFT RIGHT INNER ON GROUP BY ORDER HAVING LIMIT AS NULL " },
	{ " php ", "//", "#", "/*", "*/", "\"'",
	  " if else elseif for foreach while do switch case default break continue return function class extends public "
	  "private protected static new echo use namespace null true false " },
	{ " lua ", "--", NULL, "--[[", "]]", "\"'",
	  " if then else elseif end for while do repeat until function local return break nil true false and or not in " },
	{ " make makefile dockerfile cmake ", "#", NULL, NULL, NULL, "\"'",
	  " ifeq ifneq ifdef endif else include define endef FROM RUN COPY ADD CMD ENTRYPOINT ENV WORKDIR EXPOSE ARG " },
	{ " css scss less ", "//", NULL, "/*", "*/", "\"'", " important media import " },
	{ " html xml svg ", NULL, NULL, "<!--", "-->", "\"'", " " },
};

static bool is_word(char c)
{
	return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' ||
	       (unsigned char)c >= 0x80;
}

static bool is_listed(const char *list, struct str word)
{
	for (const char *at = list; word.n && (at = strchr(at, ' '));) {
		at++;
		if (!strncmp(at, word.p, word.n) && at[word.n] == ' ')
			return true;
	}
	return false;
}

static bool begins(struct str rest, const char *mark)
{
	return mark && str_starts(rest, str_from(mark));
}

/* How long the next piece is, and how it looks. */
static size_t next_piece(const struct language *l, struct str rest, bool line_start, unsigned *ret_look)
{
	size_t n = 1;
	char c = rest.p[0];

	*ret_look = LOOK_PLAIN;
	if (begins(rest, l->open_comment)) {
		size_t close_n = strlen(l->close_comment), open_n = strlen(l->open_comment);
		const char *end = memmem(rest.p + open_n, rest.n - open_n, l->close_comment, close_n);
		*ret_look = LOOK_DIM;
		return end ? (size_t)(end - rest.p) + close_n : rest.n;
	}
	if (begins(rest, l->line_comment) || (line_start && begins(rest, l->line_comment2))) {
		const char *end = memchr(rest.p, '\n', rest.n);
		*ret_look = LOOK_DIM;
		return end ? (size_t)(end - rest.p) : rest.n;
	}
	if (char_in(c, l->quotes)) {
		while (n < rest.n && rest.p[n] != c && (rest.p[n] != '\n' || c == '`'))
			n += rest.p[n] == '\\' && n + 1 < rest.n ? 2 : 1;
		*ret_look = LOOK_GREEN;
		return MIN(n + (n < rest.n && rest.p[n] == c), rest.n);
	}
	if (!is_word(c) && c != '#')
		return 1;
	while (n < rest.n && is_word(rest.p[n]))
		n++;
	if (c >= '0' && c <= '9')
		*ret_look = LOOK_YELLOW;
	else if (is_listed(l->words, (struct str){ rest.p, n }))
		*ret_look = LOOK_MAGENTA;
	return n;
}

void code_paint(struct str language, struct str code, struct styled *out)
{
	const struct language *l = NULL;
	bool line_start = true;

	language = str_trim(language);
	for (size_t i = 0; i < COUNT_OF(languages) && !l && language.n; i++)
		if (is_listed(languages[i].names, str_cut(&(struct str){ language.p, language.n }, ' ')))
			l = &languages[i];
	for (size_t at = 0; at < code.n;) {
		unsigned look = LOOK_PLAIN;
		struct str rest = { code.p + at, code.n - at };
		size_t n = l ? next_piece(l, rest, line_start, &look) : rest.n;
		styled_add_foreign_lines(out, look, (struct str){ rest.p, n });
		line_start = rest.p[n - 1] == '\n' || (line_start && rest.p[n - 1] == ' ');
		at += n;
	}
	if (out->text.n && out->text.p[out->text.n - 1] != '\n')
		styled_add(out, LOOK_PLAIN, STR("\n"));
}
