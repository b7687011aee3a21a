/* SPDX-License-Identifier: MIT
 * skill.c - the fields of a skill: their names, what they limit, how they are read. */
#include "defs/skill/skill.h"
#include "lib/base/utf8.h"

enum { LONGEST_NAME = 100, MOST_PATTERNS = 256, LONGEST_PARAGRAPH = 2000 };

bool skill_name_is_good(struct str name)
{
	return name.n <= LONGEST_NAME && str_is_name(name, "-_.") && name.p[0] != '.' && name.p[0] != '-';
}

static void read_text(struct definition_reader *r, const struct json *value, void *at)
{
	const char **text = at;

	*text = definition_text(r, value);
	if (!*text && value && !json_is(value, JSON_NULL) && !json_is(value, JSON_STRING))
		definition_ignore(r, "a text");
}

/* `[file] [depth]` is a list to YAML, and people mean the text. */
static void read_argument_hint(struct definition_reader *r, const struct json *value, void *at)
{
	AUTO_BUF struct buf hint = { 0 };

	if (!json_is(value, JSON_ARRAY)) {
		read_text(r, value, at);
		return;
	}
	for (const struct json *v = json_first(value); v; v = json_next(value, v)) {
		const char *word = definition_text(r, v);
		if (word)
			buf_addf(&hint, "%s[%s]", hint.n ? " " : "", word);
	}
	*(const char **)at = hint.n ? arena_dup(&r->d->arena, hint.p, hint.n) : NULL;
}

static void read_effort(struct definition_reader *r, const struct json *value, void *at)
{
	static const char *const levels[] = { "low", "medium", "high", "xhigh", "max", NULL };
	int i = definition_word(r, value, levels);

	if (i >= 0)
		*(const char **)at = levels[i];
	else
		definition_ignore(r, "low, medium, high, xhigh or max");
}

static void read_context(struct definition_reader *r, const struct json *value, void *at)
{
	static const char *const words[] = { "fork", "inline", NULL };
	int i = definition_word(r, value, words);

	*(bool *)at = i == 0;
	if (i < 0)
		definition_ignore(r, "fork");
}

/* 1: yes, 0: no, -1: neither. */
static int truth_of(struct definition_reader *r, const struct json *value)
{
	static const char *const words[] = { "false", "true", "no", "yes", "off", "on", "0", "1", "n", "y", NULL };
	int i = definition_word(r, value, words);

	return i < 0 ? -1 : i % 2;
}

/* A value that is neither was meant as a limit, and most likely as this one. */
static void read_disable_model_invocation(struct definition_reader *r, const struct json *value, void *at)
{
	int truth = truth_of(r, value);

	*(bool *)at = truth != 0;
	if (truth < 0)
		definition_note(r, DIAGNOSTIC_WARNING,
				"%s: expected true or false; read as true, which is the safer one", r->key);
}

/* The member is true if the field is false. */
static void read_negated(struct definition_reader *r, const struct json *value, void *at)
{
	int truth = truth_of(r, value);

	*(bool *)at = truth == 0;
	if (truth < 0)
		definition_ignore(r, "true or false");
}

static void read_hooks(struct definition_reader *r, const struct json *value, void *at)
{
	struct str json = json_raw(value);

	if (json_is(value, JSON_OBJECT))
		*(const char **)at = arena_dup(&r->d->arena, json.p, json.n);
	else if (value && !json_is(value, JSON_NULL))
		definition_refuse(r, "hooks: expected an object of events, so the skill is refused");
}

static void read_shell(struct definition_reader *r, const struct json *value, void *at)
{
	if (!str_is_nocase(str_from(definition_text(r, value)), "bash"))
		definition_refuse(r, "shell: only bash runs here, so the skill is refused");
}

static void read_allowed_tools(struct definition_reader *r, const struct json *value, void *at)
{
	const char *wrong = definition_names(r, value, at, NAMES_QUIET);

	if (!wrong)
		return;
	*(struct name_list *)at = (struct name_list){ .present = true };
	definition_note(r, DIAGNOSTIC_WARNING, "allowed-tools: %s; it grants nothing", wrong);
}

static void read_disallowed_tools(struct definition_reader *r, const struct json *value, void *at)
{
	const char *wrong = definition_names(r, value, at, NAMES_QUIET);

	if (wrong)
		definition_refuse(r, "disallowed-tools: %s, so the skill is refused", wrong);
}

static void read_arguments(struct definition_reader *r, const struct json *value, void *at)
{
	if (definition_names(r, value, at, NAMES_QUIET))
		definition_ignore(r, "a list of names");
}

/* Paths: the files that a skill is for, as lines of a .gitignore. */

static void add_pattern(struct definition_reader *r, struct str pattern)
{
	struct skill *s = (struct skill *)r->d;
	struct name_list *paths = &s->paths;

	pattern = str_trim(pattern);
	if (!pattern.n || paths->count == MOST_PATTERNS)
		return;
	*arena_push(&s->arena, paths->names, paths->count) = arena_dup(&s->arena, pattern.p, pattern.n);
	if (paths->count == MOST_PATTERNS)
		definition_note(r, DIAGNOSTIC_WARNING, "paths: only the first %d patterns count", MOST_PATTERNS);
	if (str_starts(pattern, STR("./")))
		pattern = str_tail(pattern, 1);
	gitignore_add(&s->path_rules, pattern);
}

/* A command has no such field: it is always available by its name. */
static void read_paths(struct definition_reader *r, const struct json *value, void *at)
{
	static const char expected[] = "paths: expected patterns of files; other values are ignored";

	((struct name_list *)at)->present = true;
	if (((struct skill *)r->d)->is_command) {
		definition_note(r, DIAGNOSTIC_NOTE, "paths: has no effect in a command");
	} else if (json_is(value, JSON_STRING)) {
		struct str rest = json_str(value, &r->scratch), pattern;
		while (glob_cut(&rest, &pattern))
			add_pattern(r, pattern);
	} else if (json_is(value, JSON_ARRAY)) {
		for (const struct json *v = json_first(value); v; v = json_next(value, v)) {
			if (json_is(v, JSON_STRING))
				add_pattern(r, json_str(v, &r->scratch));
			else
				definition_note(r, DIAGNOSTIC_WARNING, "%s", expected);
		}
	} else if (value && !json_is(value, JSON_NULL)) {
		definition_note(r, DIAGNOSTIC_WARNING, "%s", expected);
	}
}

enum { KNOWN = FRONTMATTER_KNOWN, TEXT = KNOWN | FRONTMATTER_TEXT, LIMIT = KNOWN | FRONTMATTER_RESTRICTION };
#define AT(member) offsetof(struct skill, member)

static const struct definition_field fields[] = {
	{ "name", { 0 }, TEXT, read_text, AT(title) },
	{ "description", { 0 }, TEXT, read_text, AT(description) },
	{ "when_to_use", { "when-to-use", "whenToUse" }, TEXT, read_text, AT(when_to_use) },
	{ "argument-hint", { "argument_hint", "argumentHint" }, TEXT, read_argument_hint, AT(argument_hint) },
	{ "arguments", { 0 }, KNOWN, read_arguments, AT(arguments) },
	{ "allowed-tools", { "allowed_tools", "allowedTools" }, KNOWN, read_allowed_tools, AT(allowed_tools) },
	{ "disallowed-tools",
	  { "disallowed_tools", "disallowedTools" },
	  LIMIT,
	  read_disallowed_tools,
	  AT(disallowed_tools) },
	{ "disable-model-invocation",
	  { "disable_model_invocation", "disableModelInvocation" },
	  LIMIT,
	  read_disable_model_invocation,
	  AT(user_only) },
	{ "user-invocable", { "user_invocable", "userInvocable" }, KNOWN, read_negated, AT(model_only) },
	{ "model", { 0 }, KNOWN, read_text, AT(model) },
	{ "effort", { 0 }, KNOWN, read_effort, AT(effort) },
	{ "context", { 0 }, KNOWN, read_context, AT(is_fork) },
	{ "agent", { 0 }, KNOWN, read_text, AT(agent) },
	{ "background", { 0 }, KNOWN, read_negated, AT(in_foreground) },
	{ "hooks", { 0 }, LIMIT, read_hooks, AT(hooks) },
	{ "paths", { 0 }, KNOWN, read_paths, AT(paths) },
	{ "shell", { 0 }, KNOWN, read_shell, 0 },
	{ "metadata", { 0 }, KNOWN, NULL, 0 },
	{ "license", { 0 }, TEXT, NULL, 0 },
	{ "compatibility", { 0 }, TEXT, NULL, 0 },
	{ "version", { 0 }, KNOWN, NULL, 0 },
	{ 0 },
};

static const struct definition_format format = { .noun = "skill", .fields = fields, .terse = true };

/* By its text up to the first empty line, headings left out. */
static void describe_by_body(struct definition_reader *r, struct str body)
{
	AUTO_BUF struct buf text = { 0 };
	struct str paragraph = { body.p, 0 };

	while (body.p) {
		struct str line = str_cut(&body, '\n');
		bool is_text = str_trim(line).n && line.p[0] != '#';
		if (!is_text && paragraph.n)
			break;
		if (is_text && !paragraph.n)
			paragraph.p = line.p;
		if (is_text)
			paragraph.n = (size_t)(line.p + line.n - paragraph.p);
	}
	utf8_add_repaired(&text, utf8_cut(str_trim(paragraph), LONGEST_PARAGRAPH));
	for (char *nul; text.n && (nul = memchr(text.p, '\0', text.n));)
		*nul = ' ';
	r->d->description = text.n ? arena_dup(&r->d->arena, text.p, text.n) : "";
	definition_note(r, DIAGNOSTIC_NOTE, "no description: %s",
			text.n ? "the first paragraph is used instead" : "and no text to use instead");
}

static void release_rules(struct definition *d)
{
	gitignore_release(&((struct skill *)d)->path_rules);
}

/* Rules of a skill may name its own directory and those of its plugin. A directory that would be a pattern grants nothing: the
 * variable stays, and no command fits. */
static void name_directories(struct skill *s, struct name_list *rules, bool grants)
{
	const struct {
		const char *name, *value;
	} directories[] = { { "${CLAUDE_PLUGIN_ROOT}", s->plugin_root },
			    { "${CLAUDE_PLUGIN_DATA}", s->plugin_data },
			    { "${CLAUDE_SKILL_DIR}", s->dir } };

	for (size_t i = 0; i < rules->count; i++)
		for (size_t k = 0; k < COUNT_OF(directories); k++) {
			const char *rule = rules->names[i], *at = strstr(rule, directories[k].name);
			const char *value = directories[k].value;
			if (at && value && !(grants && strpbrk(value, "*?[]()\\")))
				rules->names[i] = arena_printf(&s->arena, "%.*s%s%s", (int)(at - rule), rule, value,
							       at + strlen(directories[k].name));
		}
}

struct skill *skill_from_markdown(const struct skill_origin *origin, struct str text)
{
	struct skill *s = definition_new(sizeof *s, origin->source, origin->file, origin->name);
	struct arena *a = &s->arena;
	const char *slash = strrchr(origin->file, '/');
	struct definition_reader r;
	struct frontmatter fm;

	s->release = release_rules;
	s->is_command = origin->is_command;
	s->plugin_trusted = origin->plugin_trusted;
	s->dir = slash ? arena_dup(a, origin->file, (size_t)(slash - origin->file)) : ".";
	s->plugin = arena_strdup(a, origin->plugin);
	s->plugin_root = arena_strdup(a, origin->plugin_root);
	s->plugin_data = arena_strdup(a, origin->plugin_data);
	definition_read_begin(&r, &s->common, &format);
	definition_read_markdown(&r, text, &fm);
	s->body = arena_str(a, fm.body);
	name_directories(s, &s->allowed_tools, true);
	name_directories(s, &s->disallowed_tools, false);
	if (s->plugin && s->title && origin->stands_alone) {
		if (skill_name_is_good(str_from(s->title)))
			s->name = s->title;
		else
			definition_note(&r, DIAGNOSTIC_WARNING,
					"name: letters, digits, '-', '_' and '.' only; the skill is called %s",
					s->name);
	}
	if (s->plugin)
		s->name = arena_printf(a, "%s:%s", s->plugin, s->name);
	if (!s->description)
		describe_by_body(&r, s->body);
	definition_read_end(&r);
	return s;
}
