/* SPDX-License-Identifier: MIT
 * path_rule.c - from a pattern of .gitignore with an anchor to something that is compared fast: most patterns are a name or
 * a directory. */
#include "guard/permission/path_rule.h"
#include "lib/base/buf.h"
#include "lib/io/file.h"

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
