/* SPDX-License-Identifier: MIT
 * rule_pattern.h - the patterns in the parentheses of rules: paths, commands and hosts. */
#pragma once
#include "lib/base/arena.h"
#include "lib/match/glob.h"

/* The path in Read(...) and Edit(...), written as in .gitignore.
 *
 *   //x    from the root of the file system      x, x/y   from where the agent works
 *   ~/x    from the home directory               x        without a slash: at any depth below that
 *   /x     from the directory of the settings    x/...    with ** for the dots: all of x; a rule that forbids or asks
 *                                                         means an x at any depth
 *
 * A pattern whose last part has no wildcard, or that ends in a slash or two stars, means everything below as well. Of
 * rules that allow, others mean just what they match; rules that forbid or ask always mean what is below. */

/* Absolute directories that a rule without an anchor of its own may start from; any of them will do. */
struct path_anchors {
	const char **list;
	size_t count;
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
static inline void path_rule_release(struct path_rule *r)
{
	glob_release(&r->glob);
}
bool path_rule_match(const struct path_rule *r, const char *path, const struct path_anchors *anchors);

/* The two halves of a match, for many rules and one path: path as seen from dir (false: it is not inside), and a rule
 * compared with that, wherever it starts. */
bool path_relative(const char *path, const char *dir, struct str *ret_relative);
bool path_rule_match_relative(const struct path_rule *r, struct str relative);

enum command_shape {
	COMMAND_EXACT,
	COMMAND_WORDS, /* begins with these words: "npm run *" */
	COMMAND_WILD,  /* * is any text */
};

struct command_rule {
	enum command_shape shape;
	bool words;       /* COMMAND_WILD: more words may follow */
	struct str text;  /* without what the shape says */
	struct str first; /* its first word; empty: a * is in it */
	struct str last;  /* COMMAND_WILD: what every match ends with */
};

/* A simple command to compare with */
struct command_text {
	struct str words; /* one blank between words (shell_command_text) */
	struct str exact; /* as it was written; an exact rule does not overlook a blank */
};

void command_rule_compile(struct command_rule *r, struct arena *a, struct str pattern);
bool command_rule_match(const struct command_rule *r, const struct command_text *command);
static inline struct str command_first_word(struct str words)
{
	struct str rest = words;

	return str_cut(&rest, ' ');
}

/* The host in WebFetch(domain:...): "example.com" is itself, "*.example.com" any host below it but not itself,
 * "*" all; any other * stays within one label. Case and a dot at the end do not count. */

struct str host_normal(struct arena *a, struct str host);  /* lower case, without the dot at the end */
bool host_rule_match(struct str pattern, struct str host); /* both normal */
/* The host of an address, normal; empty if it has none, or if it is written so that readers could differ about it. */
struct str host_of_url(struct arena *a, struct str url);
