/* SPDX-License-Identifier: MIT
 * args.c - reads a command line against a table of options. */
#include "lib/args/args.h"
#include "lib/base/utf8.h"

struct parser {
	const char *const *argv;
	size_t argc;
	size_t at;                                 /* the next token */
	const struct cadre_option *const *options; /* ends with NULL */
	const char *program;
	const struct cadre_option *variadic; /* takes tokens until the next option, or NULL */
	bool literal;                        /* behind "--": there are no options any more */
	struct args *args;
	struct err *err;
};

const struct cadre_option *option_find(const struct cadre_option *const *options, struct str name)
{
	for (; *options; options++)
		if (str_is(name, (*options)->name) || ((*options)->alias && str_is(name, (*options)->alias)))
			return *options;
	return NULL;
}

/* The long name that was probably meant, or NULL. */
static const char *option_nearest(const struct cadre_option *const *options, struct str name)
{
	const char *best = NULL;
	size_t limit = name.n / 3 + 1; /* further away it is a guess, not a slip */

	if (name.n < 2)
		return NULL;
	for (; *options; options++) {
		const char *names[] = { (*options)->name, (*options)->alias };
		for (size_t k = 0; k < COUNT_OF(names) && names[k]; k++) {
			size_t d = str_distance(name, str_from(names[k]));
			if (d <= limit) {
				best = names[k];
				limit = d - (d > 0);
			}
		}
	}
	return best;
}

static int fail_unknown_option(struct parser *p, const char *token)
{
	struct str rest = str_from(token);
	struct str shown = utf8_cut(str_cut(&rest, '='), 80);
	struct str name = shown;

	while (name.n && name.p[0] == '-')
		name = str_tail(name, 1);
	const char *near = option_nearest(p->options, name);
	if (near)
		return err_set(p->err, ERR_USAGE, "unknown option '" STR_FMT "' (did you mean --%s?)", STR_ARG(shown),
			       near);
	return err_set(p->err, ERR_USAGE, "unknown option '" STR_FMT "' (%s --help lists them)", STR_ARG(shown),
		       p->program);
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

/* Each list takes the place of its first piece; the other pieces go. */
static void join_lists(struct args *args)
{
	size_t kept = 0;

	for (size_t i = 0; i < args->given_count; i++) {
		const struct cadre_option *opt = args->given[i].option;
		AUTO_BUF struct buf list = { 0 };
		size_t before = 0;
		if (!(opt->flags & CADRE_OPTION_LIST)) {
			args->given[kept++] = args->given[i];
			continue;
		}
		while (before < kept && args->given[before].option != opt)
			before++;
		if (before < kept)
			continue;
		for (size_t k = i; k < args->given_count; k++)
			if (args->given[k].option == opt)
				add_to_list(&list, str_from(args->given[k].value));
		args->given[kept++] = (struct args_value){ opt, arena_str(&args->arena, buf_str(&list)).p };
	}
	args->given_count = kept;
}

/* value is NULL if there is none. */
static int take_option(struct parser *p, const struct cadre_option *opt, const char *value)
{
	struct args *args = p->args;
	AUTO_BUF struct buf expected = { 0 };
	bool known = !opt->choices || !value;

	for (const char *const *c = opt->choices; !known && *c; c++) {
		known = !strcmp(*c, value);
		buf_addf(&expected, "%s%s", c == opt->choices ? "" : ", ", *c);
	}
	if (!known) {
		struct str shown = utf8_cut(str_from(value), 80);
		return err_set(p->err, ERR_USAGE, "--%s: '" STR_FMT "' is not known; expected: %s", opt->name,
			       STR_ARG(shown), expected.p);
	}
	*xpush(args->given, args->given_count, args->given_cap) =
		(struct args_value){ opt, opt->arg == CADRE_OPTION_NONE ? "" : value };
	if ((opt->flags & CADRE_OPTION_WORD) && value) {
		p->args->words[p->args->word_count++] = value;
		p->args->plain_words += !p->literal;
	}
	return 0;
}

/* The value, if there is one, is the next token. */
static int take_next(struct parser *p, const struct cadre_option *opt)
{
	const char *value = NULL;

	if (opt->arg == CADRE_OPTION_REQUIRED) {
		if (p->at == p->argc)
			return err_set(p->err, ERR_USAGE, "--%s needs a value: --%s <%s>", opt->name, opt->name,
				       opt->value);
		value = p->argv[p->at++];
	} else if (opt->arg == CADRE_OPTION_OPTIONAL && !(opt->flags & CADRE_OPTION_JOINED) && p->at < p->argc &&
		   (p->argv[p->at][0] != '-' || !p->argv[p->at][1])) {
		value = p->argv[p->at++];
	}
	if (opt->flags & (CADRE_OPTION_VARIADIC | CADRE_OPTION_LIST))
		p->variadic = opt;
	return take_option(p, opt, value);
}

static int parse_token(struct parser *p)
{
	const char *token = p->argv[p->at++];
	const struct cadre_option *const *by_letter = p->options;

	if (p->literal || token[0] != '-' || !token[1]) {
		if (p->variadic && !p->literal)
			return take_option(p, p->variadic, token);
		p->args->words[p->args->word_count++] = token;
		p->args->plain_words += !p->literal;
		return 0;
	}
	p->variadic = NULL;
	if (!strcmp(token, "--")) {
		p->literal = true;
		return 0;
	}
	if (token[1] != '-') {
		while (*by_letter && (*by_letter)->letter != token[1])
			by_letter++;
		return *by_letter && !token[2] ? take_next(p, *by_letter) : fail_unknown_option(p, token);
	}
	struct str rest = str_from(token + 2);
	const struct cadre_option *opt = option_find(p->options, str_cut(&rest, '='));
	if (!opt)
		return fail_unknown_option(p, token);
	if (!rest.p)
		return take_next(p, opt);
	if (opt->arg == CADRE_OPTION_NONE)
		return err_set(p->err, ERR_USAGE, "--%s takes no value", opt->name);
	return take_option(p, opt, rest.p); /* the tail of a token, so it ends with the token's NUL */
}

int args_parse(int argc, const char *const *argv, const struct cadre_option *const *options, const char *program,
	       struct args *ret_args, struct err *err)
{
	struct args args = { 0 };
	struct parser p = { .argv = argv,
			    .argc = (size_t)MAX(argc, 0),
			    .options = options,
			    .program = program,
			    .args = &args,
			    .err = err };

	args.words = arena_calloc(&args.arena, (p.argc + 1) * sizeof *args.words);
	while (p.at < p.argc) {
		int status = parse_token(&p);
		if (status < 0) {
			args_release(&args);
			return status;
		}
	}
	join_lists(&args);
	*ret_args = args;
	return 0;
}

void args_release(struct args *args)
{
	free(args->given);
	arena_release(&args->arena);
	*args = (struct args){ 0 };
}

const struct args_value *args_find(const struct args *args, const char *name)
{
	for (size_t i = args->given_count; i > 0; i--)
		if (!strcmp(args->given[i - 1].option->name, name))
			return &args->given[i - 1];
	return NULL;
}

const char *const *args_values(struct args *args, const char *name)
{
	const char **list = arena_calloc(&args->arena, (args->given_count + 1) * sizeof *list);
	size_t n = 0;

	for (size_t i = 0; i < args->given_count; i++)
		if (!strcmp(args->given[i].option->name, name))
			list[n++] = args->given[i].value;
	return list;
}
