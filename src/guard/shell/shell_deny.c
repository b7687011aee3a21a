/* SPDX-License-Identifier: MIT
 * shell_deny.c - every command that a command may start, as rules that forbid see it. Here too much is better than too
 * little: where it is not known whether an option has an argument, both readings are listed. */
#include "guard/shell/shell_command.h"
#include "guard/shell/shell_parse_int.h"

enum { MAX_COMMANDS = 512, MAX_LEVELS = 20 };

struct listing {
	struct arena *arena;
	struct shell_command *commands;
	size_t count;
	bool overflow;
};

static const struct runner {
	const char *name;
	const char *alone;    /* letters of options without an argument */
	unsigned positionals; /* words between the options and the command */
} runners[] = {
	{ "builtin", "", 0 },          { "busybox", "", 0 },    { "caffeinate", "disu", 0 },
	{ "chroot", "", 1 },           { "command", "pvV", 0 }, { "doas", "nLs", 0 },
	{ "env", "i0v", 0 },           { "exec", "cl", 0 },     { "flock", "xsneuo", 1 },
	{ "ionice", "t", 0 },          { "nice", "", 0 },       { "nocorrect", "", 0 },
	{ "noglob", "", 0 },           { "nohup", "", 0 },      { "nsenter", "", 0 },
	{ "setsid", "cfw", 0 },        { "stdbuf", "", 0 },     { "strace", "fqTtv", 0 },
	{ "sudo", "AbEHiKknPSsV", 0 }, { "taskset", "", 1 },    { "time", "pvaq", 0 },
	{ "timeout", "v", 1 },         { "unshare", "", 0 },    { "watch", "bcdegtx", 0 },
	{ "xargs", "0rtpx", 0 },
};

static void list(struct listing *l, const struct shell_command *c, unsigned level);

static struct str base_name(struct str path)
{
	const char *slash = memrchr(path.p, '/', path.n);

	if (!slash)
		return path;
	return (struct str){ slash + 1, (size_t)(path.p + path.n - slash - 1) };
}

static void add(struct listing *l, const struct shell_command *c)
{
	l->commands = shell_grow(l->arena, l->commands, l->count, sizeof *c);
	l->commands[l->count++] = *c;
}

/* /bin/rm is rm as well. */
static void add_by_base_name(struct listing *l, const struct shell_command *c)
{
	struct shell_command named = *c;

	named.words = arena_alloc(l->arena, c->word_count * sizeof *c->words);
	memcpy(named.words, c->words, c->word_count * sizeof *c->words);
	named.words[0].text = named.words[0].source = base_name(c->words[0].text);
	add(l, &named);
}

/* Several readings can come to the same words. */
static bool is_listed(const struct listing *l, const struct shell_word *words, size_t count)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->commands[i].words == words && l->commands[i].word_count == count)
			return true;
	return false;
}

static void list_words(struct listing *l, const struct shell_command *c, size_t from, size_t to, unsigned level)
{
	struct shell_command inner = *c;

	if (from >= to || is_listed(l, &c->words[from], to - from))
		return;
	inner.words += from;
	inner.word_count = to - from;
	inner.assignment_count = 0;
	inner.source = (struct str){ inner.words[0].source.p,
				     (size_t)(inner.words[to - from - 1].source.p +
					      inner.words[to - from - 1].source.n - inner.words[0].source.p) };
	list(l, &inner, level + 1);
}

static void list_text(struct listing *l, struct str text, unsigned level)
{
	struct shell_script script;

	shell_parse(l->arena, text, &script);
	for (size_t i = 0; i < script.count; i++)
		list(l, &script.commands[i], level + 1);
}

/* ---- wrappers ---- */

static bool is_skipped(const struct shell_word *w)
{
	return w->text.n > 1 &&
	       (w->text.p[0] == '-' || (shell_is_name_start(w->text.p[0]) && memchr(w->text.p, '=', w->text.n)));
}

static bool may_have_argument(const struct runner *r, struct str option)
{
	if (option.p[0] != '-' || memchr(option.p, '=', option.n))
		return false;
	for (size_t i = 1; i < option.n; i++)
		if (!strchr(r->alone, option.p[i]))
			return true;
	return false;
}

static void list_wrapped(struct listing *l, const struct runner *r, const struct shell_command *c, unsigned level)
{
	unsigned skip = r->positionals;
	size_t i = 1;

	for (;;) {
		bool doubtful = false;
		for (; i < c->word_count && is_skipped(&c->words[i]); i++)
			doubtful = may_have_argument(r, c->words[i].text);
		list_words(l, c, i, c->word_count, level);
		if (i >= c->word_count || (!doubtful && !skip))
			return;
		if (!doubtful)
			skip--;
		i++;
	}
}

static void list_actions(struct listing *l, const struct shell_command *c, unsigned level)
{
	static const char *const actions[] = { "-exec", "-execdir", "-ok",    "-okdir",
					       "-x",    "-X",       "--exec", "--exec-batch" };

	for (size_t i = 1; i < c->word_count; i++) {
		size_t k = 0;
		size_t end = i + 1;
		while (k < COUNT_OF(actions) && !str_is(c->words[i].text, actions[k]))
			k++;
		if (k == COUNT_OF(actions))
			continue;
		while (end < c->word_count && !str_is(c->words[end].text, ";"))
			end++;
		list_words(l, c, i + 1, end, level);
	}
}

/* ---- texts ---- */

/* sh -c TEXT: the first word behind the options. A text that is not literal is read as it stands. */
static void list_option_text(struct listing *l, const struct shell_command *c, unsigned level)
{
	bool has_text = false;

	for (size_t i = 1; i < c->word_count; i++) {
		struct str word = c->words[i].text;
		if (word.n > 1 && (word.p[0] == '-' || word.p[0] == '+'))
			has_text = has_text || (word.p[1] != '-' && memchr(word.p, 'c', word.n)) ||
				   str_is(word, "--command");
		else if (has_text)
			list_text(l, word, level);
	}
	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_redirect *r = &c->redirects[i];
		if (r->body)
			list_text(l, *r->body, level);
		else if (r->op == SHELL_HERE_STRING)
			list_text(l, r->target.text, level);
	}
}

/* eval, trap, watch: each word, and all of them joined. */
static void list_words_as_text(struct listing *l, const struct shell_command *c, unsigned level)
{
	AUTO_BUF struct buf joined = { 0 };

	for (size_t i = 1; i < c->word_count; i++) {
		if (c->word_count > 2)
			list_text(l, c->words[i].text, level);
		buf_addf(&joined, "%s" STR_FMT, i > 1 ? " " : "", STR_ARG(c->words[i].text));
	}
	list_text(l, arena_str(l->arena, buf_str(&joined)), level);
}

static const struct {
	const char *name;
	void (*list)(struct listing *l, const struct shell_command *c, unsigned level);
} texts[] = {
	{ "ash", list_option_text },    { "bash", list_option_text },    { "dash", list_option_text },
	{ "env", list_words_as_text },  { "eval", list_words_as_text },  { "fd", list_actions },
	{ "fdfind", list_actions },     { "find", list_actions },        { "ksh", list_option_text },
	{ "script", list_option_text }, { "sh", list_option_text },      { "su", list_option_text },
	{ "trap", list_words_as_text }, { "watch", list_words_as_text }, { "zsh", list_option_text },
};

static void list(struct listing *l, const struct shell_command *c, unsigned level)
{
	if (l->count >= MAX_COMMANDS || level > MAX_LEVELS) {
		l->overflow = true;
		return;
	}
	add(l, c);
	if (!c->word_count)
		return;
	if (c->words[0].literal && memchr(c->words[0].text.p, '/', c->words[0].text.n))
		add_by_base_name(l, c);
	struct str name = base_name(c->words[0].text);
	for (size_t i = 0; i < COUNT_OF(runners); i++)
		if (shell_name_is(name, runners[i].name))
			list_wrapped(l, &runners[i], c, level);
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (shell_name_is(name, texts[i].name))
			texts[i].list(l, c, level);
}

bool shell_list_for_deny(struct arena *a, const struct shell_command *c, struct shell_command **ret_commands,
			 size_t *ret_count)
{
	struct listing l = { .arena = a };
	struct shell_command bare = *c;

	list(&l, c, 0);
	if (c->assignment_count && c->word_count) {
		bare.assignment_count = 0;
		add(&l, &bare);
	}
	*ret_commands = l.commands;
	*ret_count = l.count;
	return !l.overflow;
}
