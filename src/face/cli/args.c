/* SPDX-License-Identifier: MIT
 * args.c - reads the command line against option_table. */
#include "face/cli/args.h"
#include "lib/base/utf8.h"
#include "face/cli/render.h"

struct parser {
	char *const *argv;
	size_t argc;
	size_t at;                     /* the next token */
	const struct option *variadic; /* takes tokens until the next flag, or NULL */
	bool literal;                  /* behind "--": there are no flags any more */
	struct args *args;
	size_t cap;                 /* of args->given */
	const char *const *options; /* of a verb: the flags that it takes; NULL: not a verb */
	struct err *err;
};

const struct option *option_find(struct str name)
{
	for (size_t i = 0; i < option_count; i++) {
		const struct option *opt = &option_table[i];
		if (str_is(name, opt->name) || (opt->alias && str_is(name, opt->alias)))
			return opt;
	}
	return NULL;
}

static const struct option *find_letter(char letter)
{
	for (size_t i = 0; i < option_count; i++)
		if (option_table[i].letter && option_table[i].letter == letter)
			return &option_table[i];
	return NULL;
}

enum { NAME_MAX_LEN = 40 };

/* Changes of one letter, and swaps of two neighbours, that lead from a to b. */
static size_t edit_distance(struct str a, struct str b)
{
	size_t rows[3][NAME_MAX_LEN + 1];

	for (size_t j = 0; j <= b.n; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= a.n; i++) {
		size_t *now = rows[i % 3];
		const size_t *up = rows[(i + 2) % 3];
		const size_t *upper = rows[(i + 1) % 3];
		now[0] = i;
		for (size_t j = 1; j <= b.n; j++) {
			now[j] = MIN(MIN(now[j - 1], up[j]) + 1, up[j - 1] + (a.p[i - 1] != b.p[j - 1]));
			if (i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1])
				now[j] = MIN(now[j], upper[j - 2] + 1);
		}
	}
	return rows[a.n % 3][b.n];
}

static const char *option_nearest(struct str name)
{
	const char *best = NULL;
	size_t limit = name.n / 3 + 1; /* further away it is a guess, not a slip */

	if (name.n < 2 || name.n > NAME_MAX_LEN)
		return NULL;
	for (size_t i = 0; i < option_count; i++) {
		const char *names[] = { option_table[i].name, option_table[i].alias };
		for (size_t k = 0; k < COUNT_OF(names) && names[k]; k++) {
			size_t d = edit_distance(name, str_from(names[k]));
			if (d <= limit) {
				best = names[k];
				limit = d - (d > 0);
			}
		}
	}
	return best;
}

static bool looks_like_flag(const char *token)
{
	return token[0] == '-' && token[1] != '\0';
}

static int fail_unknown(struct parser *p, const char *token)
{
	struct str name = str_from(token);
	struct str rest = name;
	AUTO_BUF struct buf shown = { 0 };

	name = str_cut(&rest, '=');
	render_line(&shown, utf8_cut(name, 80));
	while (name.n && name.p[0] == '-')
		name = (struct str){ name.p + 1, name.n - 1 };
	const char *near = option_nearest(name);
	if (near)
		return err_set(p->err, ERR_USAGE, "unknown option '%s' (did you mean --%s?)", shown.p, near);
	return err_set(p->err, ERR_USAGE, "unknown option '%s' (cadre --help lists them)", shown.p);
}

static int check_choice(struct parser *p, const struct option *opt, const char *value)
{
	AUTO_BUF struct buf expected = { 0 };
	AUTO_BUF struct buf shown = { 0 };

	if (!opt->choices || !value)
		return 0;
	for (const char *const *c = opt->choices; *c; c++) {
		if (!strcmp(*c, value))
			return 0;
		buf_addf(&expected, "%s%s", c == opt->choices ? "" : ", ", *c);
	}
	render_line(&shown, utf8_cut(str_from(value), 80));
	return err_set(p->err, ERR_USAGE, "--%s: '%s' is not known; expected: %s", opt->name, buf_str(&shown).p,
		       expected.p);
}

static void remember(struct parser *p, const struct option *opt, const char *value)
{
	struct args *args = p->args;

	if (args->given_count == p->cap) {
		size_t cap = p->cap ? p->cap * 2 : 16;
		struct option_value *bigger = arena_alloc(&args->arena, cap * sizeof *bigger);
		if (args->given_count)
			memcpy(bigger, args->given, args->given_count * sizeof *bigger);
		args->given = bigger;
		p->cap = cap;
	}
	args->given[args->given_count++] = (struct option_value){ opt, value };
}

/* One piece of a list is a comma list itself. Spaces separate too, but not inside the parentheses of
 * Bash(git log:*). */
static void add_to_list(struct buf *list, struct str piece)
{
	int depth = 0;
	bool in_word = false;

	for (size_t i = 0; i < piece.n; i++) {
		char c = piece.p[i];
		depth += (c == '(') - (c == ')' && depth > 0);
		if (!depth && (c == ',' || c == ' ' || c == '\t' || c == '\n')) {
			in_word = false;
			continue;
		}
		if (!in_word && list->n)
			buf_addch(list, ',');
		in_word = true;
		buf_addch(list, c);
	}
}

/* The pieces of one list, from its first on. */
static const char *join_list(struct args *args, size_t first)
{
	AUTO_BUF struct buf list = { 0 };

	for (size_t i = first; i < args->given_count; i++)
		if (args->given[i].option == args->given[first].option)
			add_to_list(&list, str_from(args->given[i].value));
	return arena_str(&args->arena, buf_str(&list)).p;
}

/* Each list takes the place of its first piece; the other pieces go. */
static void join_lists(struct args *args)
{
	size_t kept = 0;

	for (size_t i = 0; i < args->given_count; i++) {
		const struct option *opt = args->given[i].option;
		bool list = opt->flags & OPTION_LIST;
		size_t before = 0;
		while (list && before < kept && args->given[before].option != opt)
			before++;
		if (!list)
			args->given[kept++] = args->given[i];
		else if (before == kept)
			args->given[kept++] = (struct option_value){ opt, join_list(args, i) };
	}
	args->given_count = kept;
}

static int set_prompt(struct parser *p, const char *text)
{
	AUTO_BUF struct buf shown = { 0 };

	if (p->options) {
		p->args->words[p->args->word_count++] = text;
		p->args->plain_words += !p->literal;
		return 0;
	}
	if (!p->args->prompt) {
		p->args->prompt = text;
		return 0;
	}
	render_line(&shown, utf8_cut(str_from(text), 60));
	return err_set(p->err, ERR_USAGE, "there is a second prompt, '%s'; a prompt of several words needs quotes",
		       buf_str(&shown).p);
}

/* value is NULL if there is none. A field that is a bool says that the flag was there; print's value is
 * the prompt. */
static int take(struct parser *p, const struct option *opt, const char *value)
{
	if (check_choice(p, opt, value) < 0)
		return -ERR_USAGE;
	if (opt->field && (opt->arg == OPTION_NONE || opt->arg == OPTION_OPTIONAL))
		*(bool *)((char *)p->args + opt->field) = true;
	else if (opt->field)
		*(const char **)((char *)p->args + opt->field) = value;
	if (opt->setting || (opt->flags & OPTION_KEPT))
		remember(p, opt, opt->arg == OPTION_NONE ? "" : value);
	else if (opt->arg == OPTION_OPTIONAL && value)
		return set_prompt(p, value);
	return 0;
}

static int take_next(struct parser *p, const struct option *opt)
{
	const char *value = NULL;

	if (opt->arg == OPTION_REQUIRED) {
		if (p->at == p->argc)
			return err_set(p->err, ERR_USAGE, "--%s needs a value: --%s <%s>", opt->name, opt->name,
				       opt->value);
		value = p->argv[p->at++];
	} else if (opt->arg == OPTION_OPTIONAL && !(opt->flags & OPTION_JOINED) && p->at < p->argc &&
		   !looks_like_flag(p->argv[p->at])) {
		value = p->argv[p->at++];
	}
	if (opt->flags & (OPTION_VARIADIC | OPTION_LIST))
		p->variadic = opt;
	return take(p, opt, value);
}

static bool is_for_verb(const struct parser *p, const struct option *opt)
{
	if (!p->options || !strcmp(opt->name, "json") || !strcmp(opt->name, "help"))
		return true;
	for (const char *const *name = p->options; *name; name++)
		if (!strcmp(*name, opt->name))
			return true;
	return false;
}

static int fail_verb(const struct parser *p, const struct option *opt)
{
	return err_set(p->err, ERR_USAGE, "--%s has no meaning for `cadre %s` (cadre %s --help lists its flags)",
		       opt->name, p->argv[1], p->argv[1]);
}

static int parse_long(struct parser *p, const char *token)
{
	struct str rest = str_from(token + 2);
	struct str name = str_cut(&rest, '=');
	const struct option *opt = option_find(name);

	if (!opt)
		return fail_unknown(p, token);
	if (!is_for_verb(p, opt))
		return fail_verb(p, opt);
	if (!rest.p)
		return take_next(p, opt);
	if (opt->arg == OPTION_NONE)
		return err_set(p->err, ERR_USAGE, "--%s takes no value", opt->name);
	return take(p, opt, rest.p); /* the tail of a token, so it ends with the token's NUL */
}

static int parse_token(struct parser *p)
{
	const char *token = p->argv[p->at++];

	if (!looks_like_flag(token))
		return p->variadic ? take(p, p->variadic, token) : set_prompt(p, token);
	p->variadic = NULL;
	if (token[1] == '-')
		return parse_long(p, token);
	const struct option *opt = token[2] == '\0' ? find_letter(token[1]) : NULL;
	if (!opt)
		return fail_unknown(p, token);
	return is_for_verb(p, opt) ? take_next(p, opt) : fail_verb(p, opt);
}

static int parse_all(struct parser *p)
{
	while (p->at < p->argc) {
		int rc;
		if (!p->literal && !strcmp(p->argv[p->at], "--")) {
			p->literal = true;
			p->at++;
			continue;
		}
		rc = p->literal ? set_prompt(p, p->argv[p->at++]) : parse_token(p);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int parse(struct parser p, struct args *ret_args)
{
	struct args args = { 0 };

	p.args = &args;
	if (p.options)
		args.words = arena_alloc(&args.arena, p.argc * sizeof *args.words);
	int rc = parse_all(&p);
	if (rc < 0) {
		args_release(&args);
		return rc;
	}
	join_lists(&args);
	*ret_args = args;
	return 0;
}

int args_parse(int argc, char *const argv[], struct args *ret_args, struct err *err)
{
	struct parser p = { .argv = argv, .argc = (size_t)MAX(argc, 0), .at = 1, .err = err };

	return parse(p, ret_args);
}

int args_parse_verb(int argc, char *const argv[], const char *const *options, struct args *ret_args, struct err *err)
{
	struct parser p = { .argv = argv, .argc = (size_t)MAX(argc, 0), .at = 2, .options = options, .err = err };

	return parse(p, ret_args);
}

void args_release(struct args *args)
{
	arena_release(&args->arena);
	*args = (struct args){ 0 };
}

const struct option_value *args_find(const struct args *args, const char *name)
{
	for (size_t i = args->given_count; i > 0; i--)
		if (!strcmp(args->given[i - 1].option->name, name))
			return &args->given[i - 1];
	return NULL;
}
