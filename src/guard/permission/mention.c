/* SPDX-License-Identifier: MIT
 * mention.c - files that the words of a command may mean, and what is below a directory. */
#include "guard/permission/evaluate_shell_int.h"
#include <ctype.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "guard/shell/shell_command.h"
#include "lib/base/buf.h"
#include "lib/io/dir.h"
#include "lib/io/file.h"

enum { MOST_MENTIONS = 4096, MOST_ENTRIES = 20000, LONGEST = 4095 };

static const char delimiters[] = "=:@,;'\"`(){}[]<>|&\n\t";

struct mention_word {
	struct mentions *mentions;
	struct arena *arena;
	const char *const *cwds;
	bool writes;
	bool names_things; /* a word without a dot or slash is not a file: npm run build */
};

/* A command that opens one of these opens its own directory; we would open that of cadre. */
static struct str without_own_link(struct str path)
{
	static const char *const links[] = { "/proc/self/cwd/", "/proc/thread-self/cwd/" };

	for (size_t i = 0; i < COUNT_OF(links); i++)
		if (str_starts(path, str_from(links[i])))
			return str_tail(path, strlen(links[i]));
	return path;
}

static void mention_path(const struct mention_word *w, struct str path)
{
	path = without_own_link(path);
	bool plain = !memchr(path.p, '/', path.n) && !memchr(path.p, '.', path.n) && !str_starts(path, STR("~"));
	struct mentions *m = w->mentions;

	if (!path.n || path.n > LONGEST || memchr(path.p, '\0', path.n) || (plain && w->names_things && !w->writes))
		return;
	for (const char *const *cwd = w->cwds; *cwd; cwd++) {
		struct resolved_path file = resolved_path_find(w->arena, *cwd, path);
		if (plain && !file_exists(file.path))
			continue;
		if (m->count == MOST_MENTIONS) {
			m->too_many = true;
			return;
		}
		*arena_push(w->arena, m->list, m->count) = (struct mention){ file, w->writes };
	}
}

static void mention_token(const struct mention_word *w, struct str token)
{
	mention_path(w, token);
	if (token.n < 2 || token.p[0] != '-')
		return;
	while (token.n && token.p[0] == '-')
		token = (struct str){ token.p + 1, token.n - 1 };
	mention_path(w, token); /* ${x:-F} */
	if (token.n > 1)
		mention_path(w, (struct str){ token.p + 1, token.n - 1 }); /* -fF */
}

static void mention_tokens(const struct mention_word *w, struct str text, const char *ends)
{
	size_t from = 0;

	for (size_t i = 0; i <= text.n; i++) {
		if (i < text.n && !char_in(text.p[i], ends))
			continue;
		if (i > from && i - from < text.n)
			mention_token(w, (struct str){ text.p + from, i - from });
		from = i + 1;
	}
	mention_token(w, text);
}

/* What an expansion may be is not known, but for two of them; what stands around it is. */
static struct str without_expansions(struct arena *a, struct str text, const char *cwd)
{
	AUTO_BUF struct buf out = { 0 };

	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '\\')
			continue;
		if (text.p[i] != '$') {
			buf_addch(&out, text.p[i]);
			continue;
		}
		size_t from = i + 1 + (i + 1 < text.n && text.p[i + 1] == '{');
		size_t to = from;
		while (to < text.n &&
		       (text.p[to] == '_' || (text.p[to] >= '0' && text.p[to] <= '9') ||
			(text.p[to] >= 'A' && text.p[to] <= 'Z') || (text.p[to] >= 'a' && text.p[to] <= 'z')))
			to++;
		struct str name = { text.p + from, to - from };
		if (str_is(name, "PWD") || str_is(name, "OLDPWD"))
			buf_addstr(&out, cwd);
		else if (str_is(name, "HOME") && getenv("HOME"))
			buf_addstr(&out, getenv("HOME"));
		bool closed = from == i + 2 && to < text.n && text.p[to] == '}';
		i = to - 1 + closed;
	}
	return arena_str(a, buf_str(&out));
}

static void mention_glob(const struct mention_word *w, struct str pattern)
{
	struct operands found = { 0 };

	for (const char *const *cwd = w->cwds; *cwd; cwd++)
		operands_expand(&found, w->arena, &(struct operand){ .text = pattern, .from = *cwd });
	for (size_t i = 0; i < found.count; i++)
		mention_path(w, str_from(found.list[i].file.path));
}

/* What stands for any text may begin with a dot, which a wildcard in front does not match: $x.pem, "$x"rc. */
static void mention_pattern(const struct mention_word *w, struct str pattern)
{
	struct str name = shell_base_name(pattern);

	mention_glob(w, pattern);
	if (name.n > 1 && name.p[0] == '*' && name.p[1] != '*')
		mention_glob(w, str_from(arena_printf(w->arena, "%.*s.%.*s", (int)(name.p - pattern.p), pattern.p,
						      (int)name.n, name.p)));
}

/* .$x, .${x:-env}, f$(cmd): a file whose name has what stands around the expansion. An expansion alone says nothing. */
static struct str expansions_as_wildcards(struct arena *a, struct str text)
{
	AUTO_BUF struct buf out = { 0 };
	bool around = false;

	for (size_t i = 0; i < text.n; i++) {
		char c = text.p[i];
		if (c == '$' || c == '`') {
			size_t depth = 0;
			size_t k = i + 1;
			char open = k < text.n ? text.p[k] : '\0';
			char close = c == '`' ? '`' : open == '{' ? '}' : open == '(' ? ')' : '\0';
			for (; close && k < text.n; k++) {
				depth += c == '$' && text.p[k] == open;
				if (text.p[k] == close && (c == '`' || !--depth))
					break;
			}
			for (; !close && k < text.n && (isalnum((unsigned char)text.p[k]) || text.p[k] == '_'); k++)
				;
			buf_addch(&out, '*');
			i = close ? k : k - 1;
		} else if (!char_in(c, "\"'\\")) {
			buf_addch(&out, c);
			around = around || c != '/';
		}
	}
	return around ? arena_str(a, buf_str(&out)) : STR("");
}

/* In a script of sed: r, R, w and W are followed by a name, to the end of the line; so is the flag w of s. */
static void mention_sed(const struct mention_word *w, struct str script)
{
	for (size_t i = 0; i < script.n; i++) {
		if (!char_in(script.p[i], "rRwW"))
			continue;
		size_t from = i + 1;
		while (from < script.n && char_in(script.p[from], " \t"))
			from++;
		const char *end = memchr(script.p + from, '\n', script.n - from);
		struct mention_word one = *w;
		one.writes = w->writes || char_in(script.p[i], "wW");
		mention_path(&one, (struct str){ script.p + from, (end ? (size_t)(end - script.p) : script.n) - from });
	}
}

static void mention_word(const struct mention_word *w, const struct shell_word *word)
{
	struct str text = word->text;

	if (word->literal) {
		mention_tokens(w, text, delimiters);
		return;
	}
	struct str around = without_expansions(w->arena, text, w->cwds[0]);
	mention_tokens(w, around, delimiters);
	for (size_t i = 0; i + 1 < around.n; i++) /* "$x/F" */
		if (around.p[i] == '/' && (!i || char_in(around.p[i - 1], delimiters)))
			mention_tokens(w, (struct str){ around.p + i + 1, around.n - i - 1 }, delimiters);
	if (word->globs)
		mention_glob(w, around);
	struct str pattern = expansions_as_wildcards(w->arena, text);
	if (pattern.n && !str_has(text, STR("$PWD")) && !str_has(text, STR("$HOME")))
		mention_pattern(w, pattern);
}

/* xargs -I% cat .%: what it is given stands in place of the mark. */
static void mention_replaced(const struct mention_word *w, const struct shell_command *c)
{
	struct str mark = STR("{}");

	for (size_t i = 1; i < c->word_count; i++) {
		struct str word = c->words[i].text;
		bool option = str_starts(word, STR("-I"));
		if (option && (word.n > 2 || i + 1 < c->word_count))
			mark = word.n > 2 ? str_tail(word, 2) : c->words[++i].text;
		if (option || !mark.n)
			continue;
		for (struct str rest = word; rest.p;) {
			struct str part = str_cut(&rest, ' ');
			const char *at = part.n > mark.n ? memmem(part.p, part.n, mark.p, mark.n) : NULL;
			if (at)
				mention_pattern(
					w, str_from(arena_printf(w->arena, "%.*s*" STR_FMT, (int)(at - part.p), part.p,
								 STR_ARG(str_between(at + mark.n, part.p + part.n)))));
		}
	}
}

void mentions_add(struct mentions *m, struct arena *a, const struct shell_command *c, const char *const *cwds)
{
	struct mention_word w = { .mentions = m, .arena = a, .cwds = cwds };

	for (size_t i = 0; i < c->assignment_count; i++)
		mention_word(&w, &c->assignments[i].value);
	for (size_t i = 0; i < c->redirect_count; i++) {
		const struct shell_redirect *r = &c->redirects[i];
		/* What xargs is given it appends to its words. */
		w.writes = (r->writes_file && !r->target.literal) || shell_runs(c, "xargs");
		if (r->body)
			mention_tokens(&w, *r->body, delimiters);
		else if (r->op == SHELL_HERE_STRING || w.writes || str_starts(r->target.text, STR("/proc/")))
			mention_word(&w, &r->target);
	}
	w.writes = false;
	if (!c->word_count)
		return;
	bool sed = str_is(c->words[0].text, "sed") || str_ends(c->words[0].text, STR("/sed"));
	if (shell_runs(c, "xargs"))
		mention_replaced(&w, c);
	w.names_things = shell_takes_subcommands(c->words[0].text);
	bool splits =
		!w.names_things || shell_runs(c, "gmake|make"); /* sqlite3 x '.import F t', make --eval='$(file < F)' */
	for (size_t i = 1; i < c->word_count; i++) {
		w.writes = shell_may_write_word(c, i);
		mention_word(&w, &c->words[i]);
		for (struct str rest = c->words[i].text;
		     c->words[i].literal && splits && memchr(rest.p, ' ', rest.n);) {
			struct str part = str_cut(&rest, ' ');
			mention_tokens(&w, part, delimiters);
			if (!memchr(rest.p, ' ', rest.n))
				mention_tokens(&w, rest, delimiters);
		}
		if (sed && c->words[i].literal)
			mention_sed(&w, c->words[i].text);
	}
}

void mentions_add_text(struct mentions *m, struct arena *a, struct str text, const char *const *cwds)
{
	struct mention_word w = { .mentions = m, .arena = a, .cwds = cwds, .names_things = true };
	char ends[sizeof delimiters + 1];

	(void)snprintf(ends, sizeof ends, "%s ", delimiters);
	struct str plain = without_expansions(a, text, cwds[0]);
	mention_tokens(&w, plain, ends);
	for (struct str rest = plain; rest.p;) { /* for f in .* */
		struct str word = str_cut(&rest, ' ');
		while (word.n && char_in(word.p[word.n - 1], ";)&|\n"))
			word.n--;
		if (memchr(word.p, '*', word.n) || memchr(word.p, '?', word.n) || memchr(word.p, '{', word.n))
			mention_glob(&w, word);
	}
}

struct tree {
	struct arena *arena;
	tree_fn *fn;
	void *data;
	size_t entries;
	bool hidden;
};

static enum tree_answer tree_walk(struct tree *t, int parent, const char *name, const char *path)
{
	AUTO_DIR DIR *dir = dir_open_at(parent, name);
	enum tree_answer answer = TREE_HAS_NONE;

	for (struct dirent *e; answer == TREE_HAS_NONE && (e = dir_next(dir));) {
		if (!t->hidden && e->d_name[0] == '.')
			continue;
		const char *child = path_join(t->arena, path, e->d_name);
		if (++t->entries > MOST_ENTRIES)
			answer = TREE_TOO_LARGE;
		else if (t->fn(t->data, child))
			answer = TREE_HAS_ONE;
		else if (e->d_type == DT_DIR || e->d_type == DT_UNKNOWN)
			answer = tree_walk(t, dirfd(dir), e->d_name, child);
	}
	return answer;
}

enum tree_answer tree_search(struct arena *a, const char *dir, bool hidden, tree_fn *fn, void *data)
{
	struct tree t = { .arena = a, .fn = fn, .data = data, .hidden = hidden };

	return tree_walk(&t, AT_FDCWD, dir, dir);
}
