/* SPDX-License-Identifier: MIT
 * fuzz_skill.c - any bytes as a skill and, behind the first NUL, its arguments. Besides not crashing: the parts of a text are
 * pieces of it; a text without a dollar stays as it is; a skill whose disallowed-tools stand plainly in its head has them or is
 * refused. */
#include "defs/skill/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Only where there is nothing to argue about: one plain line right behind the first dashes. */
static void check_limit(const struct skill *s, struct str text)
{
	struct str start = STR("---\ndisallowed-tools: Bash\n---\n");

	if (str_starts(text, start) && !s->refused && !s->disallowed_tools.count)
		abort();
}

static void check_parts(const struct skill *s)
{
	struct template_parts parts = { 0 };
	size_t total = 0;

	template_split(&parts, s->body);
	for (size_t i = 0; i < parts.count; i++) {
		total += parts.list[i].text.n;
		if (parts.list[i].is_command && !parts.list[i].text.n)
			abort();
	}
	if (total > s->body.n)
		abort();
	template_parts_release(&parts);
}

static void check_filling(const struct skill *s, struct str arguments)
{
	struct template_values v = { .skill = s, .arguments = arguments, .session_id = "id", .project_dir = "/p" };
	AUTO_BUF struct buf out = { 0 };
	struct str path;

	template_values_open(&v);
	template_fill(&out, s->body, &v);
	if (!memchr(s->body.p, '$', s->body.n) && out.n != s->body.n)
		abort();
	for (struct str rest = buf_str(&out); template_next_file(&rest, &path);)
		if (!path.n)
			abort();
	template_values_release(&v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *nul = memchr(data, '\0', size);
	struct str text = { (const char *)data, nul ? (size_t)(nul - (const char *)data) : size };
	struct str arguments = nul ? (struct str){ nul + 1, size - text.n - 1 } : STR("");
	struct skill_origin origin = { .source = SOURCE_PROJECT, .file = "/s/x/SKILL.md", .name = "x" };
	struct skill *s = skill_from_markdown(&origin, text);

	if (!s->description || !s->name)
		abort();
	check_limit(s, text);
	check_parts(s);
	check_filling(s, arguments);
	skill_unref(s);
	return 0;
}
