/* SPDX-License-Identifier: MIT
 * instruction_text.c - frontmatter, comments and imports in the text of an instruction file. */
#include "config/settings/instruction_text.h"

struct str instruction_body(struct str text)
{
	struct str rest = text;
	struct str first = str_trim(str_cut(&rest, '\n'));

	if (!str_is(first, "---"))
		return text;
	bool has_paths = false;
	while (rest.p) {
		struct str line = str_cut(&rest, '\n');
		if (str_is(str_trim(line), "---"))
			return has_paths ? (struct str){ 0 } : rest.p ? rest : STR("");
		has_paths = has_paths || str_starts(line, STR("paths:"));
	}
	return text; /* never closed: not a frontmatter */
}

static bool is_fence(struct str line)
{
	line = str_trim(line);
	return str_starts(line, STR("```")) || str_starts(line, STR("~~~"));
}

void instruction_clean(struct buf *out, struct str body)
{
	bool code = false, comment = false;
	struct str rest = body;
	size_t start = out->n;

	while (rest.p) {
		struct str line = str_cut(&rest, '\n');
		struct str trimmed = str_trim(line);
		if (!comment && is_fence(line))
			code = !code;
		if (!code && !comment && str_starts(trimmed, STR("<!--")))
			comment = true;
		if (!comment) {
			buf_add(out, line.p, line.n);
			buf_addch(out, '\n');
		}
		if (comment && str_has(trimmed, STR("-->")))
			comment = false;
	}
	if (out->n == start)
		return;
	struct str kept = str_trim((struct str){ out->p + start, out->n - start });
	memmove(out->p + start, kept.p, kept.n);
	out->n = start + kept.n;
	out->p[out->n] = '\0';
}

static bool ends_path(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '`' || c == ')' || c == ',';
}

static void line_imports(struct str line, const char *from, unsigned hops, instruction_import_fn *fn, void *data)
{
	bool span = false;

	for (size_t i = 0; i < line.n; i++) {
		if (line.p[i] == '`')
			span = !span;
		bool word_starts = i == 0 || line.p[i - 1] == ' ' || line.p[i - 1] == '\t' || line.p[i - 1] == '(';
		if (span || line.p[i] != '@' || !word_starts)
			continue;
		size_t end = i + 1;
		while (end < line.n && !ends_path(line.p[end]))
			end++;
		while (end > i + 1 && line.p[end - 1] == '.')
			end--; /* the full stop of a sentence */
		if (end > i + 1)
			fn(data, (struct str){ line.p + i + 1, end - i - 1 }, from, hops);
		i = end - 1;
	}
}

void instruction_imports(struct str body, const char *from, unsigned hops, instruction_import_fn *fn, void *data)
{
	bool code = false;

	while (body.p) {
		struct str line = str_cut(&body, '\n');
		if (is_fence(line))
			code = !code;
		else if (!code)
			line_imports(line, from, hops, fn, data);
	}
}
