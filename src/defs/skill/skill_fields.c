/* SPDX-License-Identifier: MIT
 * skill_fields.c - every field of a skill: its names, what it limits, how it is read. */
#include "defs/skill/skill_int.h"

static void ignore(struct skill_reader *r, const char *expected)
{
	skill_note(r, DIAGNOSTIC_WARNING, "%s: expected %s; the field is ignored", r->key, expected);
}

static const char *text_of(struct skill_reader *r, const struct json *value)
{
	return frontmatter_text(value, &r->s->arena, &r->scratch);
}

static void read_text(struct skill_reader *r, const struct json *value, const char **ret)
{
	*ret = text_of(r, value);
	if (!*ret && value && !json_is(value, JSON_NULL) && !json_is(value, JSON_STRING))
		ignore(r, "a text");
}

static void read_name(struct skill_reader *r, const struct json *value)
{
	read_text(r, value, &r->s->title);
}

static void read_description(struct skill_reader *r, const struct json *value)
{
	read_text(r, value, &r->s->description);
}

static void read_when_to_use(struct skill_reader *r, const struct json *value)
{
	read_text(r, value, &r->s->when_to_use);
}

/* `[file] [depth]` is a list to YAML, and people mean the text. */
static void read_argument_hint(struct skill_reader *r, const struct json *value)
{
	AUTO_BUF struct buf hint = { 0 };

	if (!json_is(value, JSON_ARRAY)) {
		read_text(r, value, &r->s->argument_hint);
		return;
	}
	for (const struct json *v = json_first(value); v; v = json_next(value, v)) {
		const char *word = text_of(r, v);
		if (word)
			buf_addf(&hint, "%s[%s]", hint.n ? " " : "", word);
	}
	r->s->argument_hint = hint.n ? arena_dup(&r->s->arena, hint.p, hint.n) : NULL;
}

static void read_model(struct skill_reader *r, const struct json *value)
{
	read_text(r, value, &r->s->model);
}

static void read_effort(struct skill_reader *r, const struct json *value)
{
	static const char *const levels[] = { "low", "medium", "high", "xhigh", "max" };
	struct str text = str_from(text_of(r, value));

	for (size_t i = 0; text.n && i < COUNT_OF(levels); i++)
		if (str_is_nocase(text, levels[i]))
			r->s->effort = levels[i];
	if (!r->s->effort)
		ignore(r, "low, medium, high, xhigh or max");
}

static void read_agent(struct skill_reader *r, const struct json *value)
{
	read_text(r, value, &r->s->agent);
}

static void read_context(struct skill_reader *r, const struct json *value)
{
	struct str text = str_from(text_of(r, value));

	r->s->is_fork = str_is_nocase(text, "fork");
	if (!r->s->is_fork && !str_is_nocase(text, "inline"))
		ignore(r, "fork");
}

/* 1: yes, 0: no, -1: neither. */
static int truth_of(struct skill_reader *r, const struct json *value)
{
	static const char *const yes[] = { "true", "yes", "on", "1", "y" };
	static const char *const no[] = { "false", "no", "off", "0", "n" };
	struct str text = str_from(text_of(r, value));

	for (size_t i = 0; text.n && i < COUNT_OF(yes); i++)
		if (str_is_nocase(text, yes[i]))
			return 1;
	for (size_t i = 0; text.n && i < COUNT_OF(no); i++)
		if (str_is_nocase(text, no[i]))
			return 0;
	return -1;
}

/* Who wrote something here wanted a limit, and most likely this one. */
static void read_disable_model_invocation(struct skill_reader *r, const struct json *value)
{
	int truth = truth_of(r, value);

	r->s->user_only = truth != 0;
	if (truth < 0)
		skill_note(r, DIAGNOSTIC_WARNING, "%s: expected true or false; read as true, which is the safer one",
			   r->key);
}

static void read_user_invocable(struct skill_reader *r, const struct json *value)
{
	int truth = truth_of(r, value);

	r->s->model_only = truth == 0;
	if (truth < 0)
		ignore(r, "true or false");
}

static void read_background(struct skill_reader *r, const struct json *value)
{
	int truth = truth_of(r, value);

	r->s->in_foreground = truth == 0;
	if (truth < 0)
		ignore(r, "true or false");
}

static void read_hooks(struct skill_reader *r, const struct json *value)
{
	struct str json = json_raw(value);

	if (json_is(value, JSON_OBJECT))
		r->s->hooks = arena_dup(&r->s->arena, json.p, json.n);
	else if (value && !json_is(value, JSON_NULL))
		skill_refuse(r, "hooks: expected an object of events, so the skill is refused");
}

static void read_shell(struct skill_reader *r, const struct json *value)
{
	struct str text = str_from(text_of(r, value));

	if (!str_is_nocase(text, "bash"))
		skill_refuse(r, "shell: only bash runs here, so the skill is refused");
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

struct complainer {
	struct skill_reader *r;
	bool incomplete;
	const char *what;
};

static void complain(void *data, const char *what)
{
	struct complainer *c = data;

	c->incomplete = true;
	c->what = what;
}

static void note(void *data, const char *what)
{
	struct complainer *c = data;

	skill_note(c->r, DIAGNOSTIC_NOTE, "%s: %s", c->r->key, what);
}

/* NULL: all of it was read; otherwise what is wrong. */
static const char *read_names(struct skill_reader *r, const struct json *value, struct name_list *ret)
{
	struct complainer c = { .r = r };

	name_list_read(ret, value,
		       &(struct name_list_spec){ .arena = &r->s->arena,
						 .scratch = &r->scratch,
						 .complain = complain,
						 .note = note,
						 .data = &c });
	return c.incomplete ? c.what : NULL;
}

static void read_allowed_tools(struct skill_reader *r, const struct json *value)
{
	const char *wrong = read_names(r, value, &r->s->allowed_tools);

	if (!wrong)
		return;
	r->s->allowed_tools = (struct name_list){ .present = true };
	skill_note(r, DIAGNOSTIC_WARNING, "allowed-tools: %s; it grants nothing", wrong);
}

static void read_disallowed_tools(struct skill_reader *r, const struct json *value)
{
	const char *wrong = read_names(r, value, &r->s->disallowed_tools);

	if (wrong)
		skill_refuse(r, "disallowed-tools: %s, so the skill is refused", wrong);
}

static void read_arguments(struct skill_reader *r, const struct json *value)
{
	if (read_names(r, value, &r->s->arguments))
		ignore(r, "a list of names");
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

enum { KNOWN = FRONTMATTER_KNOWN, TEXT = KNOWN | FRONTMATTER_TEXT, LIMIT = KNOWN | FRONTMATTER_RESTRICTION };

static const struct skill_field fields[] = {
	{ "name", { 0 }, TEXT, read_name },
	{ "description", { 0 }, TEXT, read_description },
	{ "when_to_use", { "when-to-use", "whenToUse" }, TEXT, read_when_to_use },
	{ "argument-hint", { "argument_hint", "argumentHint" }, TEXT, read_argument_hint },
	{ "arguments", { 0 }, KNOWN, read_arguments },
	{ "allowed-tools", { "allowed_tools", "allowedTools" }, KNOWN, read_allowed_tools },
	{ "disallowed-tools", { "disallowed_tools", "disallowedTools" }, LIMIT, read_disallowed_tools },
	{ "disable-model-invocation",
	  { "disable_model_invocation", "disableModelInvocation" },
	  LIMIT,
	  read_disable_model_invocation },
	{ "user-invocable", { "user_invocable", "userInvocable" }, KNOWN, read_user_invocable },
	{ "model", { 0 }, KNOWN, read_model },
	{ "effort", { 0 }, KNOWN, read_effort },
	{ "context", { 0 }, KNOWN, read_context },
	{ "agent", { 0 }, KNOWN, read_agent },
	{ "background", { 0 }, KNOWN, read_background },
	{ "hooks", { 0 }, LIMIT, read_hooks },
	{ "paths", { 0 }, KNOWN, skill_read_paths },
	{ "shell", { 0 }, KNOWN, read_shell },
	{ "metadata", { 0 }, KNOWN, NULL },
	{ "license", { 0 }, TEXT, NULL },
	{ "compatibility", { 0 }, TEXT, NULL },
	{ "version", { 0 }, KNOWN, NULL },
};

const struct skill_field *skill_field_find(struct str key)
{
	for (size_t i = 0; i < COUNT_OF(fields); i++)
		if (frontmatter_key_is(key, fields[i].name, fields[i].aliases))
			return &fields[i];
	return NULL;
}

unsigned skill_field_flags(struct str key)
{
	const struct skill_field *f = skill_field_find(key);

	return f ? f->flags : 0;
}
