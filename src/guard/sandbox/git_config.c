/* SPDX-License-Identifier: MIT
 * git_config.c - the configuration of git can name programs that git runs outside later. With sandbox.cadre.gitConfig a command may
 * write it; without, it can when a program outside has replaced the file meanwhile, as git config does: the mount on the old one is gone
 * then. So the file is read before and after each command. A line that was not there before must be one that git writes by itself for
 * a branch, a remote, a user or a submodule; with any other line the whole file is put back. */
#include "lib/io/file_at.h"
#include "guard/sandbox/sandbox_int.h"

enum { CONFIG_MAX = 1 << 20 };

void git_config_keep(struct sandbox_held *held)
{
	const struct paths *roots = &held->profile.roots;

	held->configs = arena_calloc(&held->arena, (roots->count + 1) * sizeof *held->configs);
	for (size_t i = 0; i < roots->count; i++) { /* none but of commands that write */
		AUTO_BUF struct buf text = { 0 };
		if (file_below_read(roots->list[i], ".git/config", CONFIG_MAX, &text, NULL) == 0)
			held->configs[held->config_count++] =
				(struct kept_config){ roots->list[i], arena_str(&held->arena, buf_str(&text)) };
	}
}

/* Section and subsection as git writes them: [branch "main"], alone on its line. "": another form, or another section. */
static const char *known_section(struct str line)
{
	static const char *const names[] = { "branch", "remote", "submodule", "user" };

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		size_t n = strlen(names[i]);
		struct str inner = { line.p + 1, line.n - 2 };
		bool named = str_starts(inner, str_from(names[i])) && line.p[line.n - 1] == ']';
		if (named && inner.n == n)
			return names[i];
		if (named && inner.n > n + 3 && !memcmp(inner.p + n, " \"", 2) && inner.p[inner.n - 1] == '"' &&
		    !memchr(inner.p + n + 2, '"', inner.n - n - 3) && !memchr(inner.p, '\\', inner.n))
			return names[i];
	}
	return "";
}

static bool is_harmless(const char *section, struct str line)
{
	static const char *const keys[][2] = { { "branch", "remote" }, { "branch", "merge" },
					       { "branch", "rebase" }, { "branch", "description" },
					       { "remote", "url" },    { "remote", "fetch" },
					       { "user", "name" },     { "user", "email" },
					       { "submodule", "url" }, { "submodule", "active" } };
	const char *equals = memchr(line.p, '=', line.n);
	struct str key = str_trim((struct str){ line.p, equals ? (size_t)(equals - line.p) : line.n });
	struct str value =
		equals ? str_trim((struct str){ equals + 1, line.n - (size_t)(equals + 1 - line.p) }) : STR("");
	bool known = false;

	for (size_t i = 0; i < COUNT_OF(keys); i++)
		known = known || (!strcmp(section, keys[i][0]) && str_is(key, keys[i][1]));
	/* A backslash continues in the next line; `ext::` and its like are programs, a dash begins an option. */
	return known && equals && value.n && value.p[0] != '-' && value.p[0] != '"' && !memchr(line.p, '\\', line.n) &&
	       !str_has(value, STR("::"));
}

static bool has_line(struct str text, const char *section, struct str wanted)
{
	const char *here = "";

	while (text.p) {
		struct str line = str_trim(str_cut(&text, '\n'));
		if (line.n && line.p[0] == '[')
			here = known_section(line);
		if (str_eq(line, wanted) && !strcmp(here, section))
			return true;
	}
	return false;
}

/* The next line that counts, and the section that it is in; .p == NULL: there is none. */
static struct str next_line(struct str *rest, const char **section)
{
	while (rest->p) {
		struct str line = str_trim(str_cut(rest, '\n'));
		if (line.n && line.p[0] == '[')
			*section = known_section(line);
		if (line.n && line.p[0] != '#' && line.p[0] != ';')
			return line;
	}
	return (struct str){ 0 };
}

/* The first line that may not be there; .p == NULL: none. Lines of sections that are not known must be what they were, all of them
 * and in their order. */
static struct str find_bad_line(struct str before, struct str after)
{
	const char *section = "";
	const char *old_section = "";
	struct str old = before;
	struct str was;

	for (struct str line; (line = next_line(&after, &section)).p;) {
		if (section[0] && line.p[0] != '[' && !is_harmless(section, line) && !has_line(before, section, line))
			return line;
		if (section[0])
			continue;
		do
			was = next_line(&old, &old_section);
		while (was.p && old_section[0]);
		if (!was.p || !str_eq(was, line))
			return line;
	}
	do
		was = next_line(&old, &old_section);
	while (was.p && old_section[0]);
	return was;
}

void git_config_check(struct sandbox_held *held, struct buf *out)
{
	for (size_t i = 0; i < held->config_count; i++) {
		const struct kept_config *c = &held->configs[i];
		AUTO_BUF struct buf now = { 0 };
		int rc = file_below_read(c->root, ".git/config", CONFIG_MAX, &now, NULL);
		struct str bad = rc < 0 ? STR("it is gone") : find_bad_line(c->text, buf_str(&now));
		if (bad.p && file_below_replace(c->root, ".git/config", c->text, NULL) == 0)
			buf_addf(out,
				 "put back: %s/.git/config: what git runs may not change while a command runs: " STR_FMT
				 "\n",
				 c->root, (int)MIN(bad.n, 80), bad.p);
	}
}
