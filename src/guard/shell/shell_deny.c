/* SPDX-License-Identifier: MIT
 * shell_deny.c - every command that a command may start, as rules that forbid see it. Here too much is better than too
 * little: where it is not known whether an option has an argument, both readings are listed. */
#include <ctype.h>
#include "guard/shell/shell_command.h"
#include "guard/shell/shell_options.h"
#include "guard/shell/shell_parse_int.h"

enum { MAX_COMMANDS = 512, MAX_LEVELS = 20 };

struct listing {
	struct arena *arena;
	struct shell_command *commands;
	size_t count;
	bool overflow;
	const char *hides;
	const char *doubts; /* of what is only possible: why it hides commands all the same */
};

static const struct runner {
	const char *names;
	const char *alone;    /* letters of options without an argument */
	unsigned positionals; /* words between the options and the command */
} runners[] = {
	{ "builtin|busybox|cpulimit|dbus-run-session|dumb-init|fakeroot|firejail|i386|linux32|linux64|"
	  "ltrace|nice|nocorrect|noglob|nohup|nsenter|numactl|pkexec|prlimit|proxychains|rlwrap|runuser|"
	  "setpriv|ssh-agent|stdbuf|systemd-inhibit|systemd-run|tini|torsocks|unbuffer|unshare|valgrind|"
	  "x86_64|xvfb-run",
	  "", 0 },
	{ "chroot|chrt|faketime|gosu|perf|runcon|setarch|sg|su-exec|taskset", "", 1 },
	{ "caffeinate", "disu", 0 },
	{ "command", "pvV", 0 },
	{ "doas", "nLs", 0 },
	{ "env", "i0v", 0 },
	{ "exec", "cl", 0 },
	{ "flock", "xsneuo", 1 },
	{ "ionice", "t", 0 },
	{ "setsid", "cfw", 0 },
	{ "strace", "fqTtv", 0 },
	{ "sudo", "AbEHiKknPSsV", 0 },
	{ "time", "pvaq", 0 },
	{ "timeout", "v", 1 },
	{ "watch", "bcdegtx", 0 },
	{ "xargs", "0rtpx", 0 },
};

/* Their words are subcommands, messages and names; what they run is not a command of the text. */
static const char subcommanders[] =
	"apt|apt-get|aws|az|brew|bundle|cargo|composer|conda|docker|dotnet|gcloud|gh|git|glab|go|gradle|"
	"helm|hg|kubectl|make|meson|mvn|ninja|npm|pip|pip3|pnpm|podman|poetry|rustup|svn|systemctl|"
	"terraform|uv|yarn";

bool shell_takes_subcommands(struct str name)
{
	return str_is_one_of(name, subcommanders);
}

static void list_command(struct listing *l, const struct shell_command *c, unsigned level);

static void note_hiding(struct listing *l, const char *why)
{
	if (!l->hides)
		l->hides = why;
}

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
	inner.hides = shell_hides(&inner);
	list_command(l, &inner, level + 1);
}

static void list_text(struct listing *l, struct str text, unsigned level)
{
	struct shell_script script;

	shell_parse(l->arena, text, &script);
	if (!script.understood)
		note_hiding(l, script.why_not ? script.why_not : "it was not understood");
	for (size_t i = 0; i < script.count; i++)
		list_command(l, &script.commands[i], level + 1);
}

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
				doubtful = doubtful || !char_in(word.p[k], r->alone);
		}
		list_words(l, c, i, c->word_count, level);
		if (i >= c->word_count || (!doubtful && !skip))
			return;
		if (!doubtful)
			skip--;
		i++;
	}
}

/* xargs -I% % f: the name of the command comes from elsewhere. */
static void list_replaced(struct listing *l, const struct shell_command *c, unsigned level)
{
	struct str mark = STR("{}");
	struct str last = shell_base_name(c->words[c->word_count - 1].text);

	for (size_t i = 0; i < COUNT_OF(runners); i++) /* echo rm x | xargs env */
		if (str_is_one_of(last, runners[i].names) && !str_is(last, "xargs"))
			note_hiding(l, "it puts words into commands that are known only when it runs");

	for (size_t i = 1; i < c->word_count; i++) {
		struct str word = c->words[i].text;
		if (str_is(word, "-I") && i + 1 < c->word_count)
			mark = c->words[++i].text;
		else if (str_starts(word, STR("-I")) || (str_starts(word, STR("-i")) && word.n > 2))
			mark = (struct str){ word.p + 2, word.n - 2 };
		else if (str_starts(word, STR("--replace=")))
			mark = (struct str){ word.p + 10, word.n - 10 };
		else if (mark.n && word.n && word.p[0] != '-' && str_has(word, mark))
			note_hiding(l, "it puts words into commands that are known only when it runs");
	}
}

static void list_actions(struct listing *l, const struct shell_command *c, unsigned level)
{

	for (size_t i = 1; i < c->word_count; i++) {
		size_t end = i + 1;
		if (!str_is_one_of(c->words[i].text, "-exec|-execdir|-ok|-okdir|-x|-X|--exec|--exec-batch"))
			continue;
		while (end < c->word_count && !str_is(c->words[end].text, ";"))
			end++;
		list_words(l, c, i + 1, end, level);
		if (i + 1 < end && str_has(c->words[i + 1].text, STR("{}")))
			note_hiding(l, "it runs files that it finds");
	}
}

/* sh -c TEXT: the first word behind the options. A text that is not literal is read as it stands. */
static void list_option_text(struct listing *l, const struct shell_command *c, unsigned level)
{
	bool has_text = false;
	bool listed = false;

	for (size_t i = 1; i < c->word_count; i++) {
		struct str word = c->words[i].text;
		if (str_starts(c->words[i].source, STR("<("))) /* --rcfile <(echo rm x) */
			note_hiding(l, "a shell runs what it reads");
		if (word.n > 1 && (word.p[0] == '-' || word.p[0] == '+')) {
			has_text = has_text || (word.p[1] != '-' && memchr(word.p, 'c', word.n)) ||
				   str_is(word, "--command");
			listed = listed || str_is_one_of(word, "--version|--help");
		} else if (has_text) {
			list_text(l, word, level);
			listed = true;
		} else {
			listed = listed || (c->words[i].literal && word.n && !str_is(word, "-") &&
					    !str_starts_with_one_of(word, "/dev/|/proc/"));
		}
	}
	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_redirect *r = &c->redirects[i];
		if (r->body)
			list_text(l, *r->body, level);
		else if (r->op == SHELL_HERE_STRING)
			list_text(l, r->target.text, level);
		listed = listed || r->body || r->op == SHELL_HERE_STRING;
	}
	if (!listed)
		note_hiding(l, "a shell runs what it reads");
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

/* env -S TEXT and --split-string=TEXT, joined with other letters too; the words behind it are added to the text. */
static void list_split_text(struct listing *l, const struct shell_command *c, unsigned level)
{
	for (size_t i = 1; i < c->word_count; i++) {
		struct str word = c->words[i].text;
		bool is_long = str_starts(word, STR("--s"));
		const char *at = word.n > 1 && word.p[0] == '-' ? memchr(word.p, is_long ? '=' : 'S', word.n) : NULL;
		if (!is_long && (!at || word.p[1] == '-'))
			continue;
		AUTO_BUF struct buf text = { 0 };
		if (at)
			buf_add(&text, at + 1, (size_t)(word.p + word.n - at - 1));
		for (size_t k = i + 1; k < c->word_count; k++)
			buf_addf(&text, " " STR_FMT, STR_ARG(c->words[k].text));
		list_text(l, arena_str(l->arena, buf_str(&text)), level);
		return;
	}
}

/* flock -c TEXT, runuser -c TEXT, sg GROUP TEXT: what has blanks in it, or stands behind -c */
static void list_text_words(struct listing *l, const struct shell_command *c, unsigned level)
{
	for (size_t i = 1; i < c->word_count; i++) {
		struct str word = c->words[i].text;
		bool behind = str_is_one_of(c->words[i - 1].text, "-c|--command");
		if (str_starts(word, STR("--command=")))
			word = (struct str){ word.p + 10, word.n - 10 };
		if (behind || !c->words[i].literal || memchr(word.p, ' ', word.n))
			list_text(l, word, level);
	}
}

static const struct {
	const char *names;
	void (*list)(struct listing *l, const struct shell_command *c, unsigned level);
} texts[] = {
	{ "ash|bash|csh|dash|fish|ksh|mksh|nu|pwsh|rbash|script|sh|su|tcsh|zsh", list_option_text },
	{ "env", list_split_text },
	{ "eval|trap|watch", list_words_as_text },
	{ "fd|fdfind|find", list_actions },
	{ "flock|runuser|sg", list_text_words },
	{ "xargs", list_replaced },
};

static void list_command(struct listing *l, const struct shell_command *c, unsigned level)
{
	if (l->count >= MAX_COMMANDS || level > MAX_LEVELS) {
		l->overflow = true;
		return;
	}
	add_form(l, c);
	if (c->hides)
		note_hiding(l, c->hides);
	if (!c->word_count)
		return;
	struct str name = shell_base_name(c->words[0].text);
	const char *code = shell_runs_code(c);
	if (code)
		note_hiding(l, code);
	if (c->words[0].literal && name.n != c->words[0].text.n) { /* /bin/rm is rm as well. */
		struct shell_command named = *c;
		named.words = arena_alloc(l->arena, c->word_count * sizeof *c->words);
		memcpy(named.words, c->words, c->word_count * sizeof *c->words);
		named.words[0].text = named.words[0].source = name;
		add_form(l, &named);
	}
	for (size_t i = 0; i < COUNT_OF(runners); i++)
		if (str_is_one_of(name, runners[i].names))
			list_wrapped(l, &runners[i], c, level);
	if (str_starts_with_one_of(name, "ld-|ld.so|ld64.so"))
		list_wrapped(l, &(struct runner){ "ld.so", "", 0 }, c, level);
	if (str_is_one_of(name, "at|batch|crontab|ed|parallel"))
		note_hiding(l, "it runs what it reads");
	for (size_t i = 1; i < c->word_count && str_is_one_of(name, subcommanders); i++)
		if (str_starts(c->words[i].source, STR("<(")))
			note_hiding(l, "it runs what it reads"); /* ninja -f <(...) */
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (str_is_one_of(name, texts[i].names))
			texts[i].list(l, c, level);
}

/* Of programs with subcommands, these run what follows. */
static const char running[] =
	"--exec|--extcmd|-u|-x|-toolexec|config|debug|devenv|difftool|dlx|exec|explore|filter-branch|foreach|run|"
	"shell|ssh|submodule|unshare|x";

/* Of programs that are known, options whose value is a program */
static const char runs_value[] = "--pre|--hostname-bin|--comp|--strip-p";

/* Where a text that is run as a command has more than one word: rm x, rm${IFS}x. */
static const char *find_separator(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (char_in(s.p[i], " \t\n$`(") || (!i && s.p[i] == '{'))
			return s.p + i;
	return NULL;
}

/* A text in a language that is not known may run what stands anywhere in it: '.shell rm x', exec("rm x"), core.editor=rm x */
static void list_anywhere(struct listing *l, struct str text)
{
	enum { WORDS = 16 };

	for (size_t i = 0; i < text.n; i++) {
		bool inside = i && (isalnum((unsigned char)text.p[i - 1]) || char_in(text.p[i - 1], "_-/"));
		if (inside || !(isalpha((unsigned char)text.p[i]) || char_in(text.p[i], "_/")))
			continue;
		if (l->count >= MAX_COMMANDS) {
			l->overflow = true;
			return;
		}
		size_t end = i;
		while (end < text.n && !char_in(text.p[end], "\n;|&\"'`()"))
			end++;
		struct shell_command c = { .source = str_trim((struct str){ text.p + i, end - i }) };
		c.words = arena_calloc(l->arena, WORDS * sizeof *c.words);
		for (size_t k = i, from = i; k <= end && c.word_count < WORDS; k++) {
			struct str word = { text.p + from, k - from };
			if (k < end && !char_in(text.p[k], " \t\\$%,{}"))
				continue;
			if (word.n)
				c.words[c.word_count++] =
					(struct shell_word){ .text = word, .source = word, .literal = true };
			from = k + 1;
		}
		c.words[0].text = shell_base_name(c.words[0].text);
		add_form(l, &c);
	}
}

/* A word as a command, or as a text: 'rm x', --exec='rm x', -x'rm x', EXEC:'rm x', '!rm x' */
static void list_doubtful_word(struct listing *l, const struct shell_command *c, size_t i)
{
	struct str text = c->words[i].text;

	if (!c->words[i].literal && text.n > 1 && text.p[0] == '"')
		text = (struct str){ text.p + 1, text.n - 2 };
	const char *blank = find_separator(text);
	const char *equals = memchr(text.p, '=', text.n);
	if (blank)
		list_anywhere(l, text);
	else if (equals) /* --editor=rm, CC=rm */
		list_anywhere(l, str_between(equals + 1, text.p + text.n));
	if (blank && text.p[0] != '-')
		list_text(l, text, 0);
	for (size_t k = 1; blank && text.p + k < blank; k++)
		if (char_in(text.p[k - 1], "=:!") || (k == 2 && text.p[0] == '-'))
			list_text(l, (struct str){ text.p + k, text.n - k }, 0);
	if (blank || !c->words[i].literal || !text.n || text.p[0] == '-')
		return;
	l->hides = NULL; /* of texts in languages that are not known it says nothing */
	list_words(l, c, i, c->word_count, 0);
	struct str name = shell_base_name(text);
	if (l->hides && c->word_count - i > 2 &&
	    (str_is_one_of(name, texts[0].names) ||
	     shell_runs_code(&(struct shell_command){ .words = c->words + i, .word_count = 2 })))
		l->doubts = l->hides; /* newrunner sh -c '$x F' */
}

/* A variable may name the program that another one runs: EDITOR, PAGER, GIT_SSH_COMMAND */
static void list_value(struct listing *l, struct str value)
{
	if (value.n > 1 && char_in(value.p[0], "\"'") && value.p[value.n - 1] == value.p[0])
		value = (struct str){ value.p + 1, value.n - 2 };
	list_text(l, value, 0);
	if (find_separator(value))
		list_anywhere(l, value);
}

/* Options of programs with subcommands whose value is a text for people, or a pattern */
static const char messages[] =
	"-m|-b|-t|--message|--body|--title|--notes|--description|--author|--date|--since|--until|--grep|"
	"--format|--pretty|--jq|--search|--query|--label|--filter|--template|--output|-f=";

/* A known program runs under another name when it is copied: from a place for programs, or by a program that copies. In $( ) a name
 * may become the path of the program. */
static void list_copies(struct listing *l, const struct shell_command *c, struct str name)
{
	bool copies = str_is_one_of(name, "cp|install|link|ln|mv|tar");
	bool inside = c->where & SHELL_IN_SUBSTITUTION;
	bool shows = !inside && str_is_one_of(name, "[|du|file|find|ldd|ls|nm|readlink|realpath|stat|test");
	bool finds = inside && str_is_one_of(name, "find|type|whereis|which");
	bool writes = str_is(name, "dd");

	for (size_t i = 0; i < c->redirect_count; i++)
		writes = writes || c->redirects[i].writes_file;
	for (size_t i = 1; i < c->word_count && str_is(name, "find"); i++)
		finds = finds || str_starts(c->words[i].text, STR("-exec"));
	for (size_t i = 1; i < c->word_count; i++) {
		struct str word = c->words[i].text;
		bool path = memchr(word.p, '/', word.n);
		bool program = !shows && str_has(word, STR("bin/"));
		if (program && c->words[i].globs)
			l->doubts = "it may copy a program";
		if (!(copies || finds || program || (writes && path)))
			continue;
		list_words(l, c, i, i + 1, 0);
		struct shell_word *plain = arena_alloc(l->arena, sizeof *plain); /* $dir/rm, "$dir/rm" */
		*plain = c->words[i];
		plain->text = plain->source = shell_base_name(word);
		while (plain->text.n && plain->text.p[plain->text.n - 1] == '"')
			plain->text.n--;
		plain->literal = true;
		if (!c->words[i].literal && str_is_name(plain->text, "-_."))
			list_words(l, &(struct shell_command){ .words = plain, .word_count = 1 }, 0, 1, 0);
	}
	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_word *target = &c->redirects[i].target;
		if (str_has(target->text, STR("bin/")))
			list_words(l,
				   &(struct shell_command){ .words = (struct shell_word *)(uintptr_t)target,
							    .word_count = 1 },
				   0, 1, 0);
	}
}

/* A program that is not known may run its arguments: all words from any of them on, or one of them as a text, or what it is
 * given to read. */
static void list_doubts(struct listing *l, const struct shell_command *c)
{
	struct shell_command named = *c;
	size_t first;

	for (size_t i = 0; i < c->assignment_count; i++)
		list_value(l, c->assignments[i].value.text);
	if (!c->word_count || !c->words[0].literal)
		return;
	struct str name = shell_base_name(c->words[0].text);
	bool known = false;
	bool parent = str_is_one_of(name, subcommanders);
	bool declares = shell_declares(name);
	for (size_t i = 0; i < COUNT_OF(runners) && !known; i++)
		known = str_is_one_of(name, runners[i].names);
	declares = declares || known; /* env X='rm x' f */
	for (size_t i = 0; i < COUNT_OF(texts) && !known; i++)
		known = str_is_one_of(name, texts[i].names);
	known = known || shell_may_hide(name);
	list_copies(l, c, name);
	for (size_t i = 1; i < c->word_count; i++) {
		struct str word = c->words[i].text;
		struct str before = c->words[i - 1].text;
		const char *equals = memchr(word.p, '=', word.n);
		if (equals && (declares || str_starts_with_one_of(word, runs_value)))
			list_value(l, str_between(equals + 1, word.p + word.n));
		else if (str_starts_with_one_of(before, runs_value))
			list_value(l, word);
		else if (known && word.n > 1 && char_in(word.p[0], "!|")) /* strace -o '|rm x' */
			list_value(l, str_tail(word, 1));
		else if (known && word.n > 3 && str_starts(word, STR("-o")) && char_in(word.p[2], "!|"))
			list_value(l, str_tail(word, 3));
	}
	struct shell_word word = c->words[0];
	word.text = name;
	named.words = &word;
	named.word_count = 1;
	if (known || (!parent && shell_find_program(&named, &first)))
		return;
	bool runs = !parent;
	for (size_t i = 1; i < c->word_count; i++) {
		struct str option = c->words[i].text;
		/* -O'rm x', --upload-pack='rm x', --extcmd=rm, core.sshCommand='rm x', ext::'rm x', --editor 'rm x' */
		const char *blank = find_separator(option);
		const char *end = blank ? blank : option.p + option.n;
		struct str front = { option.p, (size_t)(end - option.p) };
		bool value =
			memchr(front.p, '=', front.n) || (blank && (option.p[0] == '-' || str_has(front, STR("::")) ||
								    str_starts(c->words[i - 1].text, STR("--"))));
		if (runs || (value && !str_starts_with_one_of(option, messages) &&
			     !str_starts_with_one_of(c->words[i - 1].text, messages)))
			list_doubtful_word(l, c, i);
		runs = runs || str_is_one_of(option, running);
	}
	for (size_t i = 0; i < c->redirect_count && (!parent || str_is(name, "make")); i++) {
		const struct shell_redirect *r = &c->redirects[i];
		if (r->body || r->op == SHELL_HERE_STRING) {
			list_value(l, r->body ? *r->body : r->target.text);
			list_anywhere(l, r->body ? *r->body : r->target.text);
		}
	}
}

void shell_list_for_deny(struct arena *a, const struct shell_command *c, struct shell_forms *ret)
{
	struct listing l = { .arena = a };
	struct listing doubts = { .arena = a };
	struct shell_command bare = *c;

	list_command(&l, c, 0);
	if (c->assignment_count && c->word_count) {
		bare.assignment_count = 0;
		add_form(&l, &bare);
	}
	for (size_t i = 0; i < l.count; i++)
		list_doubts(&doubts, &l.commands[i]);
	*ret = (struct shell_forms){ .list = l.commands,
				     .count = l.count,
				     .doubts = doubts.commands,
				     .doubt_count = doubts.count,
				     .too_many = l.overflow,
				     .hides = l.hides           ? l.hides
					      : doubts.overflow ? "it has too many words"
								: doubts.doubts };
}
