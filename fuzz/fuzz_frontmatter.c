/* SPDX-License-Identifier: MIT
 * fuzz_frontmatter.c - any bytes as an agent file. Besides not crashing: if a line that limits the agent stands in
 * a frontmatter, then the definition has that field, or it is refused, or it is no agent. The lines are looked for
 * here in the simplest way, and only where there is nothing to argue about: plain text that begins with dashes in
 * column 0. */
#include "defs/agentdef/describe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const limits[] = { "tools", "disallowedTools", "permissionMode", "isolation", "hooks" };

static struct str skip_blanks(struct str s)
{
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = (struct str){ s.p + 1, s.n - 1 };
	return s;
}

/* The limit that this line sets, or NULL. */
static const char *limit_of(struct str line)
{
	char quote = line.n && (line.p[0] == '"' || line.p[0] == '\'') ? line.p[0] : '\0';

	if (quote)
		line = (struct str){ line.p + 1, line.n - 1 };
	for (size_t i = 0; i < COUNT_OF(limits); i++) {
		size_t n = strlen(limits[i]);
		if (line.n < n || !str_is_nocase((struct str){ line.p, n }, limits[i]))
			continue;
		struct str rest = { line.p + n, line.n - n };
		if (quote && (!rest.n || rest.p[0] != quote))
			continue;
		if (quote)
			rest = (struct str){ rest.p + 1, rest.n - 1 };
		rest = skip_blanks(rest);
		if (rest.n && rest.p[0] == ':')
			return limits[i];
	}
	return NULL;
}

static bool has_field(const struct agent_definition *d, const char *name)
{
	for (size_t i = 0; i < d->field_count; i++)
		if (!strcmp(d->fields[i].field, name))
			return true;
	return false;
}

static bool is_argued_about(struct str text)
{
	struct str rest = text;

	if (!str_starts(text, STR("---\n")) || memchr(text.p, '\r', text.n))
		return true;
	str_cut(&rest, '\n');
	while (rest.p) {
		struct str line = str_cut(&rest, '\n');
		if (skip_blanks(line).n)
			return skip_blanks(line).n != line.n; /* the first line sets the indentation of all */
	}
	return true;
}

static void check_limits(const struct agent_definition *d, struct str text)
{
	if (d->ignored || d->refused || is_argued_about(text))
		return;
	str_cut(&text, '\n');
	while (text.p) {
		struct str line = str_cut(&text, '\n');
		if (str_starts(line, STR("---")) || str_starts(line, STR("...")))
			return;
		const char *limit = limit_of(line);
		if (limit && !has_field(d, limit))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str text = { (const char *)data, size };
	AUTO_BUF struct buf report = { 0 };
	struct json_out w = json_out(&report);
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;
	struct agent_definition *d =
		agent_from_markdown(size % 2 ? SOURCE_USER : SOURCE_PLUGIN, "fuzz.md", "fuzz", text);

	check_limits(d, text);
	agent_check_json(&w, d);
	if (json_parse(&reader, report.p, report.n, &root, NULL) < 0)
		abort();
	agent_unref(d);
	return 0;
}
