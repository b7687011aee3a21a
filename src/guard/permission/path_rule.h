/* SPDX-License-Identifier: MIT
 * path_rule.h - the path in Read(...) and Edit(...), written as in .gitignore.
 *
 *   //x    from the root of the file system      x, x/y   from where the agent works
 *   ~/x    from the home directory               x        without a slash: at any depth below that
 *   /x     from the directory of the settings    x/...    with ** for the dots: all of x; a rule that forbids or asks
 *                                                         means an x at any depth
 *
 * A pattern whose last part has no wildcard, or that ends in a slash or two stars, means everything below as well. Of
 * rules that allow, others mean just what they match; rules that forbid or ask always mean what is below. */
#pragma once
#include "lib/base/arena.h"
#include "lib/match/glob.h"

/* Absolute directories that a rule without an anchor of its own may start from; any of them will do. */
struct path_anchors {
	const char **list;
	size_t count, cap;
};
/* dir is borrowed; NULL, or one that is there already, adds nothing. The list is in the arena. */
void path_anchors_add(struct path_anchors *anchors, struct arena *a, const char *dir);

enum path_shape {
	PATH_ALL,    /* everything below the anchor */
	PATH_NAME,   /* a component with this name, at any depth, and what is below it */
	PATH_PREFIX, /* exactly this path from the anchor, and what is below it */
	PATH_EXACT,  /* exactly this path */
	PATH_GLOB,
};

struct path_rule {
	enum path_shape shape;
	const char *base; /* where it starts, absolute; NULL: at the anchors */
	struct str text;  /* PATH_NAME, PATH_PREFIX, PATH_EXACT */
	struct str start; /* PATH_GLOB: every match begins with this */
	struct glob glob;
};

/* strict: the rule allows. base: of /x; NULL: the anchors. All but the glob is in the arena. ERR_PARSE: no valid pattern, or one that
 * leads out of its anchor. */
int path_rule_compile(struct path_rule *r, struct arena *a, struct str pattern, bool strict, const char *base,
		      struct err *err);
void path_rule_release(struct path_rule *r);
bool path_rule_match(const struct path_rule *r, const char *path, const struct path_anchors *anchors);

/* The two halves of a match, for many rules and one path: path as seen from dir (false: it is not inside), and a rule
 * compared with that, wherever it starts. */
bool path_relative(const char *path, const char *dir, struct str *ret_relative);
bool path_rule_match_relative(const struct path_rule *r, struct str relative);
