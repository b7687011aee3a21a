/* SPDX-License-Identifier: MIT
 * gitignore.c - one list of ignore rules. Most rules of real files name one thing ("target") or an ending ("*.o"); these
 * two shapes are compared directly, all others are globs. */
#include "lib/match/gitignore.h"
#include "lib/base/buf.h"

enum rule_shape {
	RULE_NAME,   /* the last component is this text */
	RULE_ENDING, /* the last component ends with this text */
	RULE_GLOB,
};

struct gitignore_rule {
	enum rule_shape shape;
	bool keep;
	bool dirs_only;
	char *text; /* RULE_NAME, RULE_ENDING; owned */
	size_t n;
	struct glob glob;
};

void gitignore_release(struct gitignore *g)
{
	for (size_t i = 0; i < g->count; i++) {
		free(g->rules[i].text);
		glob_release(&g->rules[i].glob);
	}
	free(g->rules);
	*g = (struct gitignore){ 0 };
}

/* Finds the shape of a pattern without its marks. False: not a valid glob. */
static bool set_pattern(struct gitignore_rule *rule, struct str pattern, bool anchored)
{
	AUTO_BUF struct buf full = { 0 };
	bool anywhere = !anchored && !memchr(pattern.p, '/', pattern.n);
	bool ending = anywhere && pattern.n > 1 && pattern.p[0] == '*';
	struct str text = ending ? str_tail(pattern, 1) : pattern;
	bool plain = anywhere && text.n;

	for (size_t i = 0; plain && i < text.n; i++)
		plain = !char_in(text.p[i], "*?[]{}\\/");
	if (plain) {
		rule->shape = ending ? RULE_ENDING : RULE_NAME;
		rule->text = xstrndup(text.p, text.n);
		rule->n = text.n;
		return true;
	}
	rule->shape = RULE_GLOB;
	if (anywhere)
		buf_addstr(&full, "**/");
	buf_append(&full, pattern);
	return glob_compile(&rule->glob, buf_str(&full), NULL) == 0;
}

void gitignore_add(struct gitignore *g, struct str line)
{
	struct gitignore_rule rule = { 0 };
	bool anchored = false;

	if (!str_ends(line, STR("\\ ")))
		while (line.n && char_in(line.p[line.n - 1], " \t\r\n\v\f"))
			line.n--;
	if (!line.n || line.p[0] == '#')
		return;
	if (line.p[0] == '!') {
		rule.keep = true;
		line = str_tail(line, 1);
	}
	if (line.n && line.p[0] == '/') {
		anchored = true;
		line = str_tail(line, 1);
	}
	if (line.n && line.p[line.n - 1] == '/') {
		rule.dirs_only = true;
		line.n--;
	}
	if (!line.n || !set_pattern(&rule, line, anchored))
		return;
	g->keeps += rule.keep;
	*xpush(g->rules, g->count, g->cap) = rule;
}

void gitignore_add_text(struct gitignore *g, struct str text)
{
	if (str_starts(text, STR("\xef\xbb\xbf")))
		text = str_tail(text, 3);
	while (text.p)
		gitignore_add(g, str_cut(&text, '\n'));
}

enum ignore_verdict gitignore_match(const struct gitignore *g, struct str path, bool is_dir)
{
	const char *slash = path.n ? memrchr(path.p, '/', path.n) : NULL;
	struct str name = path;

	if (slash)
		name = (struct str){ slash + 1, path.n - (size_t)(slash + 1 - path.p) };
	for (size_t i = g->count; i-- > 0;) {
		const struct gitignore_rule *rule = &g->rules[i];
		if (rule->dirs_only && !is_dir)
			continue;
		bool fits =
			rule->shape == RULE_GLOB || (rule->shape == RULE_NAME ? name.n == rule->n : name.n >= rule->n);
		if (fits && (rule->shape == RULE_GLOB ? glob_match(&rule->glob, path)
						      : !memcmp(name.p + name.n - rule->n, rule->text, rule->n)))
			return rule->keep ? IGNORE_KEEP : IGNORE_DROP;
	}
	return IGNORE_NONE;
}

bool gitignore_covers(const struct gitignore *g, struct str path)
{
	for (size_t n = 0; n < path.n; n++)
		if (path.p[n] == '/' && gitignore_match(g, (struct str){ path.p, n }, true) == IGNORE_DROP)
			return true;
	return gitignore_match(g, path, false) == IGNORE_DROP;
}
