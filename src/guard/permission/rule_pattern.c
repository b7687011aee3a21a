/* SPDX-License-Identifier: MIT
 * rule_pattern.c - the patterns in the parentheses of rules: paths, commands and hosts. */
#include "guard/permission/rule_pattern.h"
#include <ctype.h>
#include "lib/base/buf.h"
#include "lib/io/file.h"
#include "lib/match/glob.h"

/* From a pattern of .gitignore with an anchor to something that is compared fast: most patterns are a name or
 * a directory. */

void path_anchors_add(struct path_anchors *anchors, struct arena *a, const char *dir)
{
	for (size_t i = 0; dir && i < anchors->count; i++)
		if (!strcmp(anchors->list[i], dir))
			return;
	if (dir)
		*arena_push(a, anchors->list, anchors->count) = dir;
}

/* A pattern on its way to a rule */
struct draft {
	struct str text;
	bool anchored; /* at the anchor, not deeper */
	bool covers;   /* what is below a match too */
};

static bool is_literal(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (char_in(s.p[i], "*?[]{}\\"))
			return false;
	return true;
}

/* Takes the anchor off the pattern. */
static int find_base(struct path_rule *r, struct draft *d, const char *base, struct err *err)
{
	const char *home = getenv("HOME");
	const struct {
		const char *prefix, *base;
	} anchors[] = { { "//", "/" }, { "~/", home && home[0] ? home : NULL }, { "/", base } };

	for (size_t i = 0; i < COUNT_OF(anchors) && !d->anchored; i++) {
		if (!str_starts(d->text, str_from(anchors[i].prefix)))
			continue;
		if (anchors[i].prefix[0] == '~' && !anchors[i].base)
			return err_set(err, ERR_PARSE, "HOME is not set");
		r->base = anchors[i].base;
		d->text = str_tail(d->text, strlen(anchors[i].prefix));
		while (str_starts(d->text, STR("/")))
			d->text = str_tail(d->text, 1);
		d->anchored = true;
	}
	return 0;
}

static int set_glob(struct path_rule *r, struct arena *a, const struct draft *d, struct err *err)
{
	AUTO_BUF struct buf full = { 0 };
	const char *front = d->anchored ? "" : "**/";
	struct str start = d->anchored ? glob_static_prefix(d->text) : STR("");

	/* Nothing stands around the text: what it has of commas and braces would mean something else there. */
	buf_addf(&full, "%s" STR_FMT "%s", front, STR_ARG(d->text), d->covers ? "{,/**}" : "");
	r->shape = PATH_GLOB;
	r->start = arena_str(a, start);
	return glob_compile(&r->glob, buf_str(&full), err);
}

/* "a//b/./c" is "a/b/c"; a first "." and a last slash mean something. */
static struct str squeeze_path(struct arena *a, struct str path)
{
	char *text = arena_alloc(a, path.n + 1);
	size_t n = 0;

	for (struct str rest = path; rest.p;) {
		struct str part = str_cut(&rest, '/');
		if (n && (!part.n || str_is(part, ".")))
			continue;
		if (part.n)
			memcpy(text + n, part.p, part.n);
		n += part.n;
		if (rest.p)
			text[n++] = '/';
	}
	return (struct str){ text, n };
}

int path_rule_compile(struct path_rule *r, struct arena *a, struct str pattern, bool strict, const char *base,
		      struct err *err)
{
	struct draft d = { .text = str_trim(pattern) };
	bool directory = false;

	*r = (struct path_rule){ 0 };
	bool leaves = memchr(d.text.p, '\0', d.text.n);
	for (struct str rest = d.text; rest.p;)
		leaves = str_is(str_cut(&rest, '/'), "..") || leaves;
	if (leaves)
		return err_set(err, ERR_PARSE, "a path in a rule may not contain \"..\" or a NUL");
	if (find_base(r, &d, base, err) < 0)
		return -ERR_PARSE;
	if (r->base)
		r->base = path_absolute(a, "/", str_from(r->base));
	d.text = squeeze_path(a, d.text);
	/* An end that only says "and all below" */
	while (str_ends(d.text, STR("/**")) || str_is(d.text, "**")) {
		d.text.n -= MIN(d.text.n, 3);
		directory = true;
	}
	while (d.text.n && d.text.p[d.text.n - 1] == '/') {
		d.text.n--;
		directory = true;
	}
	const char *slash = d.text.n ? memrchr(d.text.p, '/', d.text.n) : NULL;
	size_t last = slash ? (size_t)(slash + 1 - d.text.p) : 0;
	d.covers = !strict || directory || is_literal((struct str){ d.text.p + last, d.text.n - last });
	/* A beginning that says at which depth it may match */
	bool dotted = str_starts(d.text, STR("./"));
	while (str_starts(d.text, STR("./")))
		d.text = str_tail(d.text, 2);
	d.anchored = d.anchored || (strict && (dotted || directory)) || memchr(d.text.p, '/', d.text.n);
	while (str_starts(d.text, STR("**/"))) {
		d.text = str_tail(d.text, 3);
		d.anchored = false;
	}
	bool nested = memchr(d.text.p, '/', d.text.n);
	if (d.text.n && (!is_literal(d.text) || (!d.anchored && nested)))
		return set_glob(r, a, &d, err);
	r->text = arena_str(a, d.text);
	r->shape = !d.text.n ? PATH_ALL : !d.anchored ? PATH_NAME : d.covers ? PATH_PREFIX : PATH_EXACT;
	return 0;
}

bool path_rule_match_relative(const struct path_rule *r, struct str path)
{
	switch (r->shape) {
	case PATH_ALL:
		return true;
	case PATH_NAME:
		while (path.p)
			if (str_eq(str_cut(&path, '/'), r->text))
				return true;
		return false;
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

void command_rule_compile(struct command_rule *r, struct arena *a, struct str pattern)
{
	AUTO_BUF struct buf single = { 0 }; /* with one blank between words */
	struct str text = str_trim(pattern);
	bool words = str_ends(text, STR(":*")) || str_ends(text, STR(" *"));

	if (words)
		text.n -= 2;
	*r = (struct command_rule){ .words = words, .last = STR("") };
	if (!wildcard_is_plain(text))
		r->shape = COMMAND_WILD;
	else
		r->shape = words ? COMMAND_WORDS : COMMAND_EXACT;
	for (size_t i = 0; i < text.n; i++) {
		bool blank = text.p[i] == ' ' || text.p[i] == '\t';
		if (!blank || (single.n && single.p[single.n - 1] != ' '))
			buf_addch(&single, blank ? ' ' : text.p[i]);
	}
	r->text = arena_str(a, r->shape == COMMAND_EXACT ? text : str_trim(buf_str(&single)));
	struct str first = command_first_word(r->text);
	if (wildcard_is_plain(first))
		r->first = first;
	/* Not if more words may follow, or if something in it is escaped */
	const char *star = r->text.n ? memrchr(r->text.p, '*', r->text.n) : NULL;
	if (star && !words && !memchr(r->text.p, '\\', r->text.n))
		r->last = (struct str){ star + 1, r->text.n - (size_t)(star + 1 - r->text.p) };
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

struct str host_of_url(struct arena *a, struct str url)
{
	struct str rest = str_trim(url);
	const char *scheme = rest.n ? memmem(rest.p, rest.n, "://", 3) : NULL;

	if (!scheme)
		return STR("");
	rest = (struct str){ scheme + 3, rest.n - (size_t)(scheme + 3 - rest.p) };
	size_t n = 0;
	while (n < rest.n && (isalnum((unsigned char)rest.p[n]) || char_in(rest.p[n], "-._:[]") || (rest.p[n] & 0x80)))
		n++;
	struct str host = { rest.p, n };
	/* A user name, an escape or a backslash: programs disagree about which part is the host. */
	if (n < rest.n && !char_in(rest.p[n], "/?#"))
		return STR("");
	const char *port = host.n ? memrchr(host.p, ':', host.n) : NULL;
	if (port && !memchr(port, ']', (size_t)(host.p + host.n - port)))
		host.n = (size_t)(port - host.p);
	return host_normal(a, host);
}
