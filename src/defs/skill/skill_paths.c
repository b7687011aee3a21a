/* SPDX-License-Identifier: MIT
 * skill_paths.c - `paths`: the files that a skill is for, as lines of a .gitignore. */
#include "defs/skill/skill_int.h"

enum { MOST_PATTERNS = 256 };

static void add_pattern(struct skill_reader *r, struct str pattern)
{
	struct name_list *paths = &r->s->paths;

	pattern = str_trim(pattern);
	if (!pattern.n || paths->count == MOST_PATTERNS)
		return;
	if (!paths->names)
		paths->names = arena_alloc(&r->s->arena, MOST_PATTERNS * sizeof *paths->names);
	paths->names[paths->count++] = arena_dup(&r->s->arena, pattern.p, pattern.n);
	if (paths->count == MOST_PATTERNS)
		skill_note(r, DIAGNOSTIC_WARNING, "paths: only the first %d patterns count", MOST_PATTERNS);
	if (str_starts(pattern, STR("./")))
		pattern = (struct str){ pattern.p + 1, pattern.n - 1 };
	gitignore_add(&r->s->path_rules, pattern);
}

/* At commas, but not inside braces: `src/{a,b}/x, y` is two patterns. */
static void add_split(struct skill_reader *r, struct str text)
{
	size_t start = 0;
	int depth = 0;

	for (size_t i = 0; i < text.n; i++) {
		depth += (text.p[i] == '{') - (text.p[i] == '}');
		if (text.p[i] != ',' || depth > 0)
			continue;
		add_pattern(r, (struct str){ text.p + start, i - start });
		start = i + 1;
	}
	add_pattern(r, (struct str){ text.p + start, text.n - start });
}

static void expect_patterns(struct skill_reader *r)
{
	skill_note(r, DIAGNOSTIC_WARNING, "paths: expected patterns of files; what is none of them is ignored");
}

/* A command has no such field: it is there for whoever types its name. */
void skill_read_paths(struct skill_reader *r, const struct json *value)
{
	r->s->paths.present = true;
	if (r->s->is_command) {
		skill_note(r, DIAGNOSTIC_NOTE, "paths: has no effect in a command");
	} else if (json_is(value, JSON_STRING)) {
		add_split(r, json_str(value, &r->scratch));
	} else if (json_is(value, JSON_ARRAY)) {
		for (const struct json *v = json_first(value); v; v = json_next(value, v)) {
			if (json_is(v, JSON_STRING))
				add_pattern(r, json_str(v, &r->scratch));
			else
				expect_patterns(r);
		}
	} else if (value && !json_is(value, JSON_NULL)) {
		expect_patterns(r);
	}
}

bool skill_wants_path(const struct skill *s, struct str path)
{
	for (size_t n = 0; n < path.n; n++)
		if (path.p[n] == '/' && gitignore_match(&s->path_rules, (struct str){ path.p, n }, true) == IGNORE_DROP)
			return true;
	return gitignore_match(&s->path_rules, path, false) == IGNORE_DROP;
}
