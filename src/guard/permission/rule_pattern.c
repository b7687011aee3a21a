/* SPDX-License-Identifier: MIT
 * rule_pattern.c - the patterns in the parentheses of rules: paths, commands and hosts. */
#include "guard/permission/rule_pattern.h"
#include <ctype.h>
#include "lib/base/buf.h"
#include "lib/io/file.h"
#include "lib/match/glob.h"

/* ---- paths ------------------------------------------------------------------------------------------------------ */

/* From a pattern of .gitignore with an anchor to something that is compared fast: most patterns are a name or
 * a directory. */

void path_anchors_add(struct path_anchors *anchors, struct arena *a, const char *dir)
{
	for (size_t i = 0; dir && i < anchors->count; i++)
		if (!strcmp(anchors->list[i], dir))
			return;
	if (!dir)
		return;
	if (anchors->count == anchors->cap) {
		const char **more = arena_alloc(a, (anchors->cap + 4) * sizeof *more);
		if (anchors->count)
			memcpy(more, anchors->list, anchors->count * sizeof *more);
		anchors->list = more;
		anchors->cap += 4;
	}
	anchors->list[anchors->count++] = dir;
}

/* ---- compiling ------------------------------------------------------------------------------------------------- */

/* A pattern on its way to a rule */
struct draft {
	struct str text;
	bool anchored; /* at the anchor, not deeper */
	bool covers;   /* what is below a match too */
	bool directory;
};

static void skip(struct str *s, size_t n)
{
	s->p += n;
	s->n -= n;
}

static bool is_literal(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (char_in(s.p[i], "*?[]{}\\"))
			return false;
	return true;
}

static struct str last_part(struct str s)
{
	const char *slash = s.n ? memrchr(s.p, '/', s.n) : NULL;

	return slash ? (struct str){ slash + 1, s.n - (size_t)(slash + 1 - s.p) } : s;
}

static bool leaves_anchor(struct str s)
{
	while (s.p)
		if (str_is(str_cut(&s, '/'), ".."))
			return true;
	return false;
}

/* Takes the anchor off the pattern. */
static int find_base(struct path_rule *r, struct draft *d, const char *base, struct err *err)
{
	const char *home = getenv("HOME");

	if (str_starts(d->text, STR("//"))) {
		r->base = "/";
		skip(&d->text, 2);
	} else if (str_starts(d->text, STR("~/"))) {
		if (!home || !home[0])
			return err_set(err, ERR_PARSE, "HOME is not set");
		r->base = home;
		skip(&d->text, 2);
	} else if (str_starts(d->text, STR("/"))) {
		r->base = base;
		skip(&d->text, 1);
	} else {
		d->anchored = false;
		return 0;
	}
	while (str_starts(d->text, STR("/")))
		skip(&d->text, 1);
	d->anchored = true;
	return 0;
}

/* Takes off what only says "and all below". */
static void find_extent(struct draft *d, bool strict)
{
	while (str_ends(d->text, STR("/**")) || str_is(d->text, "**")) {
		d->text.n -= MIN(d->text.n, 3);
		d->directory = true;
	}
	while (d->text.n && d->text.p[d->text.n - 1] == '/') {
		d->text.n--;
		d->directory = true;
	}
	d->covers = !strict || d->directory || is_literal(last_part(d->text));
}

/* Whether it may match below the anchor too. */
static void find_depth(struct draft *d, bool strict)
{
	bool dotted = str_starts(d->text, STR("./"));
	bool rooted = d->anchored;

	while (str_starts(d->text, STR("./")))
		skip(&d->text, 2);
	d->anchored = rooted || (strict && (dotted || d->directory)) || memchr(d->text.p, '/', d->text.n) != NULL;
	if (!str_starts(d->text, STR("**/")))
		return;
	while (str_starts(d->text, STR("**/")))
		skip(&d->text, 3);
	d->anchored = false;
}

static void set_text(struct path_rule *r, struct arena *a, enum path_shape shape, struct str text)
{
	r->shape = shape;
	r->text = arena_str(a, text);
}

static int set_glob(struct path_rule *r, struct arena *a, const struct draft *d, struct err *err)
{
	AUTO_BUF struct buf full = { 0 };
	const char *front = d->anchored ? "" : "**/";
	struct str start = d->anchored ? glob_static_prefix(d->text) : STR("");

	if (d->covers)
		buf_addf(&full, "{%s" STR_FMT ",%s" STR_FMT "/**}", front, STR_ARG(d->text), front, STR_ARG(d->text));
	else
		buf_addf(&full, "%s" STR_FMT, front, STR_ARG(d->text));
	r->shape = PATH_GLOB;
	r->start = arena_str(a, start);
	return glob_compile(&r->glob, buf_str(&full), err);
}

int path_rule_compile(struct path_rule *r, struct arena *a, struct str pattern, bool strict, const char *base,
		      struct err *err)
{
	struct draft d = { .text = str_trim(pattern) };

	*r = (struct path_rule){ 0 };
	if (leaves_anchor(d.text) || memchr(d.text.p, '\0', d.text.n))
		return err_set(err, ERR_PARSE, "a path in a rule may not contain \"..\" or a NUL");
	if (find_base(r, &d, base, err) < 0)
		return -ERR_PARSE;
	if (r->base)
		r->base = path_absolute(a, "/", str_from(r->base));
	find_extent(&d, strict);
	find_depth(&d, strict);
	if (!d.text.n)
		r->shape = PATH_ALL;
	else if (!is_literal(d.text))
		return set_glob(r, a, &d, err);
	else if (d.anchored)
		set_text(r, a, d.covers ? PATH_PREFIX : PATH_EXACT, d.text);
	else if (!memchr(d.text.p, '/', d.text.n))
		set_text(r, a, PATH_NAME, d.text);
	else
		return set_glob(r, a, &d, err);
	return 0;
}

void path_rule_release(struct path_rule *r)
{
	glob_release(&r->glob);
}

/* ---- matching -------------------------------------------------------------------------------------------------- */

static bool has_component(struct str path, struct str name)
{
	while (path.p)
		if (str_eq(str_cut(&path, '/'), name))
			return true;
	return false;
}

bool path_rule_match_relative(const struct path_rule *r, struct str path)
{
	switch (r->shape) {
	case PATH_ALL:
		return true;
	case PATH_NAME:
		return has_component(path, r->text);
	case PATH_PREFIX:
		return str_starts(path, r->text) && (path.n == r->text.n || path.p[r->text.n] == '/');
	case PATH_EXACT:
		return str_eq(path, r->text);
	case PATH_GLOB:
		break;
	}
	return str_starts(path, r->start) && glob_match(&r->glob, path);
}

bool path_relative(const char *path, const char *dir, struct str *ret_relative)
{
	size_t n = strlen(dir);

	if (!path_is_inside(path, dir))
		return false;
	n -= n == 1; /* the root is its own slash */
	*ret_relative = str_from(path + n + (path[n] == '/'));
	return true;
}

bool path_rule_match(const struct path_rule *r, const char *path, const struct path_anchors *anchors)
{
	struct str relative;

	if (r->base)
		return path_relative(path, r->base, &relative) && path_rule_match_relative(r, relative);
	for (size_t i = 0; i < anchors->count; i++)
		if (path_relative(path, anchors->list[i], &relative) && path_rule_match_relative(r, relative))
			return true;
	return false;
}

/* ---- commands --------------------------------------------------------------------------------------------------- */

static struct str one_blank(struct arena *a, struct str text)
{
	AUTO_BUF struct buf out = { 0 };

	for (size_t i = 0; i < text.n; i++) {
		bool blank = text.p[i] == ' ' || text.p[i] == '\t';
		if (!blank)
			buf_addch(&out, text.p[i]);
		else if (out.n && out.p[out.n - 1] != ' ')
			buf_addch(&out, ' ');
	}
	return arena_str(a, buf_str(&out));
}

struct str command_first_word(struct str words)
{
	struct str rest = words;

	return str_cut(&rest, ' ');
}

/* What stands behind the last *; empty if more words may follow, or if something in it is escaped. */
static struct str literal_end(const struct command_rule *r)
{
	const char *star = r->text.n ? memrchr(r->text.p, '*', r->text.n) : NULL;

	if (!star || r->words || memchr(r->text.p, '\\', r->text.n))
		return STR("");
	return (struct str){ star + 1, r->text.n - (size_t)(star + 1 - r->text.p) };
}

void command_rule_compile(struct command_rule *r, struct arena *a, struct str pattern)
{
	struct str text = str_trim(pattern);
	bool words = str_ends(text, STR(":*")) || str_ends(text, STR(" *"));

	if (words)
		text.n -= 2;
	*r = (struct command_rule){ .words = words };
	if (!wildcard_is_plain(text))
		r->shape = COMMAND_WILD;
	else
		r->shape = words ? COMMAND_WORDS : COMMAND_EXACT;
	r->text = r->shape == COMMAND_EXACT ? arena_str(a, text) : one_blank(a, str_trim(text));
	struct str first = command_first_word(r->text);
	if (wildcard_is_plain(first))
		r->first = first;
	r->last = literal_end(r);
}

static bool match_wild(const struct command_rule *r, struct str words)
{
	if (!str_ends(words, r->last))
		return false;
	if (wildcard_match(r->text, words))
		return true;
	/* "* --version *" with words behind: the pattern must end where a word does. */
	for (size_t i = 0; r->words && i < words.n; i++)
		if (words.p[i] == ' ' && wildcard_match(r->text, (struct str){ words.p, i }))
			return true;
	return false;
}

bool command_rule_match(const struct command_rule *r, const struct command_text *command)
{
	struct str words = command->words;

	switch (r->shape) {
	case COMMAND_EXACT:
		return str_eq(r->text, command->exact);
	case COMMAND_WORDS:
		return str_starts(words, r->text) && (words.n == r->text.n || words.p[r->text.n] == ' ');
	case COMMAND_WILD:
		break;
	}
	return match_wild(r, words);
}

/* ---- hosts ------------------------------------------------------------------------------------------------------ */

struct str host_normal(struct arena *a, struct str host)
{
	host = str_trim(host);
	while (host.n && host.p[host.n - 1] == '.')
		host.n--;
	char *copy = arena_dup(a, host.p, host.n);
	for (size_t i = 0; i < host.n; i++)
		copy[i] = (char)tolower((unsigned char)copy[i]);
	return (struct str){ copy, host.n };
}

static bool match_labels(struct str pattern, struct str host)
{
	while (pattern.p && host.p) {
		struct str label = str_cut(&host, '.');
		struct str wanted = str_cut(&pattern, '.');
		if (!label.n || !wildcard_match(wanted, label))
			return false;
	}
	return !pattern.p && !host.p;
}

bool host_rule_match(struct str pattern, struct str host)
{
	if (!host.n)
		return false;
	if (str_is(pattern, "*"))
		return true;
	if (!str_starts(pattern, STR("*.")))
		return match_labels(pattern, host);
	struct str tail = { pattern.p + 2, pattern.n - 2 };
	for (size_t i = 1; i < host.n; i++)
		if (host.p[i - 1] == '.' && match_labels(tail, (struct str){ host.p + i, host.n - i }))
			return true;
	return false;
}

static bool is_host_char(char c)
{
	return c && (isalnum((unsigned char)c) || char_in(c, "-._:[]") || (c & 0x80));
}

struct str host_of_url(struct arena *a, struct str url)
{
	struct str rest = str_trim(url);
	const char *scheme = rest.n ? memmem(rest.p, rest.n, "://", 3) : NULL;

	if (!scheme)
		return STR("");
	rest = (struct str){ scheme + 3, rest.n - (size_t)(scheme + 3 - rest.p) };
	size_t n = 0;
	while (n < rest.n && is_host_char(rest.p[n]))
		n++;
	struct str host = { rest.p, n };
	/* A user name, an escape or a backslash: programs disagree about which part is the host. */
	if (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?' && rest.p[n] != '#')
		return STR("");
	const char *port = host.n ? memrchr(host.p, ':', host.n) : NULL;
	if (port && !memchr(port, ']', (size_t)(host.p + host.n - port)))
		host.n = (size_t)(port - host.p);
	return host_normal(a, host);
}
