/* SPDX-License-Identifier: MIT
 * suggest.c - a rule that would allow a call. It is written down first and then tried, by the reader and the evaluation of all
 * rules: what they would take for more, or would not accept, is not suggested. */
#include "guard/permission/permission.h"
#include "guard/shell/shell_command.h"
#include "lib/io/file.h"

static const struct rule_origin origin = { .layer = "session" };

/* A backslash before a parenthesis would be taken for an escape. */
static void add_escaped(struct buf *out, struct str text)
{
	for (size_t i = 0; i < text.n; i++) {
		if (i && char_in(text.p[i], "()") && text.p[i - 1] == '\\')
			buf_addch(out, '\\');
		buf_addch(out, text.p[i]);
	}
}

/* The words do not say what will run, here or in a text that is given to a shell: a person who says yes to them has not seen it. */
static bool hides_something(struct str text)
{
	AUTO_ARENA struct arena a = { 0 };
	struct shell_script script;
	struct shell_forms forms;

	shell_parse(&a, text, &script);
	for (size_t i = 0; i < script.count; i++) {
		shell_list_for_deny(&a, &script.commands[i], &forms);
		for (size_t k = 0; k < forms.count; k++)
			if (forms.list[k].hides)
				return true;
		if (forms.too_many)
			return true;
	}
	return !script.understood;
}

static void write_rule(struct buf *out, struct tool_use use, const struct tool_facts *s, struct arena *a)
{
	struct str primary = s && s->primary ? str_trim(json_str(json_get(use.input, s->primary), a)) : STR("");

	switch (s ? s->kind : SUBJECT_NAME) {
	case SUBJECT_READ:
	case SUBJECT_EDIT:
		/* A tool that lists names does not ask for contents. */
		if ((s->flags & TOOL_LISTS_NAMES) || !primary.n)
			return;
		if (primary.p[0] != '/' && use.env && use.env->cwd) /* as the tool finds it */
			primary = str_from(path_absolute(a, use.env->cwd, primary));
		if (primary.p[0] != '/')
			return;
		/* Rules for Read and Edit hold for all tools that read and edit. */
		buf_addstr(out, s->kind == SUBJECT_READ ? "Read(/" : "Edit(/");
		add_escaped(out, primary);
		bool is_dir = file_is_dir(arena_str(a, primary).p);
		buf_addstr(out, is_dir ? "/**)" : ")");
		return;
	case SUBJECT_HOST:
		buf_addf(out, "%s(domain:" STR_FMT ")", s->name, STR_ARG(host_of_url(a, primary)));
		return;
	case SUBJECT_NAME:
		buf_addstr(out, use.tool->name);
		return;
	case SUBJECT_SHELL:
		if (hides_something(primary))
			return;
		break;
	case SUBJECT_AGENT:
	case SUBJECT_SKILL:
		break;
	}
	buf_addf(out, "%s(", s->name);
	add_escaped(out, primary);
	buf_addch(out, ')');
}

/* The reader understands it as what was meant: one command, one path, one name. */
static bool is_narrow(const struct rule *r, const struct tool_facts *s)
{
	switch (r->kind) {
	case RULE_BARE:
		return !r->several && (!s || s->kind == SUBJECT_NAME);
	case RULE_COMMAND:
		return r->command.shape == COMMAND_EXACT;
	case RULE_PATH:
		return r->path.shape == PATH_PREFIX || r->path.shape == PATH_EXACT;
	case RULE_HOST:
		return r->host.n && !memchr(r->host.p, '*', r->host.n);
	case RULE_AGENT:
		return r->names.n && !memchr(r->names.p, ',', r->names.n) && !memchr(r->names.p, '*', r->names.n);
	case RULE_SKILL:
		return r->skill.name.n && !r->skill.any_arguments;
	default:
		return false;
	}
}

const char *permission_suggest(struct arena *a, const struct permission *p, struct tool_use use)
{
	const struct tool_facts *s = tool_facts_find(tool_current_name(str_from(use.tool->name)));
	AUTO_BUF struct buf out = { 0 };
	struct permission_verdict v = { 0 };
	struct permission with;
	struct rule r = { 0 };

	/* Rules of the session do not reach an agent whose call brought its own. */
	const struct permission *up = p;
	for (; up->parent; up = up->parent)
		if (up->replaces_allow)
			return NULL;
	if (up->managed_only)
		return NULL;
	write_rule(&out, use, s, a);
	struct str text = buf_str(&out);
	for (size_t i = 0; i < text.n; i++)
		if ((unsigned char)text.p[i] < ' ' || text.p[i] == 127)
			return NULL;
	if (!text.n || text.n > SUGGESTION_MAX_BYTES)
		return NULL;
	if (rule_parse(a, RULE_ALLOW, text, &origin, NULL, NULL, &r, NULL) <= 0)
		return NULL;
	bool narrow = is_narrow(&r, s);
	rule_release(&r);
	if (!narrow)
		return NULL;
	/* The decision if the rule stood in the session: of a child that differs from the agent in nothing else */
	permission_derive(&with, p, &(struct permission_birth){ .can_ask = true });
	(void)permission_add_rule(&with, RULE_ALLOW, text, &origin, NULL, NULL, NULL);
	permission_explain(&with, use, PERMISSION_HINT_NONE, &v);
	permission_verdict_release(&v);
	permission_release(&with);
	return v.decision == PERMISSION_ALLOW ? arena_str(a, text).p : NULL;
}
