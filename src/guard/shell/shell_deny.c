/* SPDX-License-Identifier: MIT
 * shell_deny.c - every command that a command may start, as rules that forbid see it. Here too much is better than too
 * little: where it is not known whether an option has an argument, both readings are listed. */
#include "guard/shell/shell_command.h"
#include "guard/shell/shell_parse_int.h"

/* ---- words that hide what runs ---------------------------------------------------------------------------------- */

/* Commands whose words do not say what runs: they run a text, change how the rest is read, or take a value
 * for the name of a variable, where a[$(cmd)] runs cmd. One table, one row per builtin. */

typedef const char *hide_fn(const struct shell_command *c, size_t name);

static const char takes_names[] = "it takes an argument for the name of a variable, which can hold a command";

bool shell_name_is_dangerous(struct str name)
{
	static const char *const names[] = { "PATH",           "IFS",    "ENV",        "PS4",        "SHELLOPTS",
					     "PROMPT_COMMAND", "CDPATH", "GLOBIGNORE", "EXECIGNORE", "POSIXLY_CORRECT",
					     "HOME",           "SHELL",  NULL };
	static const char *const prefixes[] = { "BASH", "LD_", "DYLD_" };

	for (size_t i = 0; i < COUNT_OF(prefixes); i++)
		if (str_starts(name, str_from(prefixes[i])))
			return true;
	return shell_is_one_of(name, names);
}

static bool is_option(const struct shell_word *w)
{
	return w->literal && w->text.n > 1 && w->text.p[0] == '-';
}

/* NAME or NAME=value, whatever the value is. */
static const char *check_name(const struct shell_word *w)
{
	struct str name = w->literal ? w->text : w->source;
	const char *equals = memchr(name.p, '=', name.n);

	if (!w->literal && !equals)
		return takes_names;
	if (equals)
		name.n = (size_t)(equals - name.p);
	if (name.n && name.p[name.n - 1] == '+')
		name.n--;
	bool plain = name.n && !shell_is_digit(name.p[0]);
	for (size_t i = 0; i < name.n; i++)
		plain = plain && shell_is_name_char(name.p[i]);
	if (!plain)
		return takes_names;
	return shell_name_is_dangerous(name) ? "it sets a variable that decides what runs" : NULL;
}

static const char *hide_names(const struct shell_command *c, size_t name)
{
	/* Only behind a declaration that is written as such is NAME=$x one word. */
	bool plain = !name && shell_declares(c->words[0].source);

	for (size_t i = name + 1; i < c->word_count; i++) {
		const char *why = is_option(&c->words[i]) ? NULL : check_name(&c->words[i]);
		if (!why && c->words[i].splits && !plain)
			why = takes_names;
		if (why)
			return why;
	}
	return NULL;
}

/* -i makes every later assignment arithmetic, -n makes the variable another one's name. */
static const char *hide_declare(const struct shell_command *c, size_t name)
{
	for (size_t i = name + 1; i < c->word_count; i++)
		if (is_option(&c->words[i]) && (memchr(c->words[i].text.p, 'i', c->words[i].text.n) ||
						memchr(c->words[i].text.p, 'n', c->words[i].text.n)))
			return "it changes what assignments mean";
	return hide_names(c, name);
}

/* The options of read that have an argument make it look like a name, which is as good as one. */
static const char *hide_read(const struct shell_command *c, size_t name)
{
	for (size_t i = name + 1; i < c->word_count; i++) {
		const struct shell_word *w = &c->words[i];
		const char *why = w->literal ? NULL : takes_names;
		if (!why && !is_option(w)) {
			why = check_name(w);
		} else if (!why) {
			size_t k = 1;
			while (k + 1 < w->text.n && !char_in(w->text.p[k], "adinNptu"))
				k++;
			char last = w->text.p[w->text.n - 1];
			if (k + 1 < w->text.n && w->text.p[k] == 'a')
				why = takes_names; /* -aNAME, also behind other letters */
			else if (char_in(last, "adinNptu") && ++i < c->word_count && last == 'a')
				why = check_name(&c->words[i]);
		}
		if (why)
			return why;
	}
	return NULL;
}

/* Can the first argument become -v? In double quotes only what begins with an expansion or a dash can. */
static const char *hide_printf(const struct shell_command *c, size_t name)
{
	if (c->word_count <= name + 1)
		return NULL;
	const struct shell_word *w = &c->words[name + 1];
	bool quoted = w->source.p[0] == '"' && w->source.n > 1;
	char begin = w->source.p[quoted];
	bool may_become_option;
	if (w->literal)
		may_become_option = str_starts(w->text, STR("-v"));
	else if (quoted && begin == '\\')
		may_become_option = w->source.n > 2 && w->source.p[2] == '\n';
	else
		may_become_option = strchr(quoted ? "$`-\"" : "$`-\"'\\{*?[~", begin) != NULL;
	return may_become_option ? takes_names : NULL;
}

/* test: only shapes where no word can turn into -v. */
static const char *hide_test(const struct shell_command *c, size_t name)
{
	size_t count = c->word_count - name - 1;
	bool known = true;

	if (str_is(c->words[name].text, "[") && count)
		count--;
	const struct shell_word *w = &c->words[name + 1];
	for (size_t i = 0; i < count; i++) {
		known = known && w[i].literal;
		if (w[i].splits)
			return "an argument of test can become several, and -v of them takes a variable's name";
		if (w[i].literal && (str_is(w[i].text, "-v") || str_is(w[i].text, "-R")))
			return takes_names;
	}
	if (count && w[0].literal && str_is(w[0].text, "!"))
		w++, count--;
	if (known || count <= 1 || (count <= 3 && w[count == 2 ? 0 : 1].literal))
		return NULL;
	return "it is not known which argument of test is the operator";
}

static const char *hide_set(const struct shell_command *c, size_t name)
{
	static const char *const known[] = { "pipefail", "errexit", "nounset", "xtrace", "noglob", NULL };

	for (size_t i = name + 1; i < c->word_count; i++) {
		const struct shell_word *w = &c->words[i];
		bool good = w->literal && w->text.n > 1 && (w->text.p[0] == '-' || w->text.p[0] == '+');
		for (size_t k = 1; good && k < w->text.n; k++)
			good = char_in(w->text.p[k], "euxo");
		good = good || (w->literal && shell_is_one_of(w->text, known));
		if (w->literal && str_is(w->text, "--"))
			return NULL;
		if (!good)
			return "it changes how the shell reads";
	}
	return NULL;
}

static const struct {
	const char *name;
	const char *why;     /* NULL: as the check says */
	const char *options; /* why holds only with one of these letters, or a word that is not known; NULL: always */
	hide_fn *check;
} hiding[] = {
	{ ".", "it runs a file in this shell", NULL, NULL },
	{ "[", NULL, NULL, hide_test },
	{ "alias", "it changes what names mean", NULL, NULL },
	{ "bind", "it can run a text", NULL, NULL },
	{ "compgen", "it can run a text", NULL, NULL },
	{ "complete", "it can run a text", NULL, NULL },
	{ "compopt", "it can run a text", NULL, NULL },
	{ "declare", NULL, NULL, hide_declare },
	{ "enable", "it changes what names mean", NULL, NULL },
	{ "env", "env -S splits a text into a command", "Ss", NULL },
	{ "eval", "eval runs a text", NULL, NULL },
	{ "exec", "exec replaces the shell or its files", NULL, NULL },
	{ "export", NULL, NULL, hide_declare },
	{ "fc", "it runs a command of the history", NULL, NULL },
	{ "getopts", NULL, NULL, hide_names },
	{ "hash", "it changes what names mean", NULL, NULL },
	{ "history", "it changes what names mean", NULL, NULL },
	{ "jobs", "jobs -x runs its arguments", "x", NULL },
	{ "let", "arithmetic can run what a variable holds", NULL, NULL },
	{ "local", NULL, NULL, hide_declare },
	{ "mapfile", "it can run a text", NULL, NULL },
	{ "printf", NULL, NULL, hide_printf },
	{ "read", NULL, NULL, hide_read },
	{ "readarray", "it can run a text", NULL, NULL },
	{ "readonly", NULL, NULL, hide_declare },
	{ "set", NULL, NULL, hide_set },
	{ "shopt", "it changes how the shell reads", NULL, NULL },
	{ "source", "it runs a file in this shell", NULL, NULL },
	{ "test", NULL, NULL, hide_test },
	{ "trap", "trap runs a text later", NULL, NULL },
	{ "typeset", NULL, NULL, hide_declare },
	{ "unalias", "it changes what names mean", NULL, NULL },
	{ "unset", NULL, NULL, hide_names },
	{ "wait", takes_names, "p", NULL },
};

const char *shell_hides(const struct shell_command *c)
{
	size_t name = 0;

	for (size_t i = 0; i < c->assignment_count; i++)
		if (shell_name_is_dangerous(c->assignments[i].name))
			return "it sets a variable that decides what runs";
	for (size_t i = 0; i < c->redirect_count; i++) {
		struct str target = c->redirects[i].target.text;
		if (str_starts(target, STR("/dev/tcp/")) || str_starts(target, STR("/dev/udp/")))
			return "a redirection opens a connection";
	}
	/* command and builtin in front of a builtin change nothing about it. */
	while (name + 1 < c->word_count && c->words[name].literal &&
	       (str_is(c->words[name].text, "command") || str_is(c->words[name].text, "builtin")))
		for (name++; name + 1 < c->word_count && is_option(&c->words[name]); name++)
			;
	if (c->word_count && !c->words[name].literal)
		return "the name of the command is known only when it runs";
	for (size_t i = 0; c->word_count && i < COUNT_OF(hiding); i++) {
		if (!shell_name_is(c->words[name].text, hiding[i].name))
			continue;
		if (hiding[i].check)
			return hiding[i].check(c, name);
		bool found = !hiding[i].options;
		for (size_t k = name + 1; k < c->word_count && !found; k++) {
			const struct shell_word *w = &c->words[k];
			found = !w->literal;
			for (size_t n = 1; is_option(w) && n < w->text.n; n++)
				found = found || char_in(w->text.p[n], hiding[i].options);
		}
		return found ? hiding[i].why : NULL;
	}
	return NULL;
}

/* ---- all that may start ----------------------------------------------------------------------------------------- */

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

static void list_command(struct listing *l, const struct shell_command *c, unsigned level);

static void add_form(struct listing *l, const struct shell_command *c)
{
	l->commands = shell_grow(l->arena, l->commands, l->count, sizeof *c);
	l->commands[l->count++] = *c;
}

static void list_words(struct listing *l, const struct shell_command *c, size_t from, size_t to, unsigned level)
{
	struct shell_command inner = *c;

	if (from >= to)
		return;
	inner.words += from;
	inner.word_count = to - from;
	/* Several readings can come to the same words. */
	for (size_t i = 0; i < l->count; i++)
		if (l->commands[i].words == inner.words && l->commands[i].word_count == inner.word_count)
			return;
	inner.assignment_count = 0;
	inner.source = (struct str){ inner.words[0].source.p,
				     (size_t)(inner.words[to - from - 1].source.p +
					      inner.words[to - from - 1].source.n - inner.words[0].source.p) };
	list_command(l, &inner, level + 1);
}

static void list_text(struct listing *l, struct str text, unsigned level)
{
	struct shell_script script;

	shell_parse(l->arena, text, &script);
	for (size_t i = 0; i < script.count; i++)
		list_command(l, &script.commands[i], level + 1);
}

/* ---- wrappers ---- */

static void list_wrapped(struct listing *l, const struct runner *r, const struct shell_command *c, unsigned level)
{
	unsigned skip = r->positionals;
	size_t i = 1;

	for (;;) {
		bool doubtful = false; /* the last option may have an argument */
		for (; i < c->word_count; i++) {
			struct str word = c->words[i].text;
			bool assigns = word.n > 1 && memchr(word.p, '=', word.n);
			bool option = word.n > 1 && word.p[0] == '-';
			if (!option && !(assigns && shell_is_name_start(word.p[0])))
				break;
			doubtful = false;
			for (size_t k = 1; option && !assigns && k < word.n; k++)
				doubtful = doubtful || !strchr(r->alone, word.p[k]);
		}
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
	static const char *const actions[] = { "-exec", "-execdir", "-ok",          "-okdir", "-x",
					       "-X",    "--exec",   "--exec-batch", NULL };

	for (size_t i = 1; i < c->word_count; i++) {
		size_t end = i + 1;
		if (!shell_is_one_of(c->words[i].text, actions))
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

static void list_command(struct listing *l, const struct shell_command *c, unsigned level)
{
	if (l->count >= MAX_COMMANDS || level > MAX_LEVELS) {
		l->overflow = true;
		return;
	}
	add_form(l, c);
	if (!c->word_count)
		return;
	struct str name = c->words[0].text;
	const char *slash = memrchr(name.p, '/', name.n);
	if (slash)
		name = (struct str){ slash + 1, (size_t)(name.p + name.n - slash - 1) };
	if (c->words[0].literal && slash) { /* /bin/rm is rm as well. */
		struct shell_command named = *c;
		named.words = arena_alloc(l->arena, c->word_count * sizeof *c->words);
		memcpy(named.words, c->words, c->word_count * sizeof *c->words);
		named.words[0].text = named.words[0].source = name;
		add_form(l, &named);
	}
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

	list_command(&l, c, 0);
	if (c->assignment_count && c->word_count) {
		bare.assignment_count = 0;
		add_form(&l, &bare);
	}
	*ret_commands = l.commands;
	*ret_count = l.count;
	return !l.overflow;
}
