/* SPDX-License-Identifier: MIT
 * suggest.c - rules that would allow a call. */
#include "permission/suggest.h"
#include <ctype.h>
#include "permission/shell_command.h"
#include "permission/subject.h"

static void add(struct suggestions *s, const char *rule)
{
	for (size_t i = 0; i < s->count; i++)
		if (!strcmp(s->rules[i], rule))
			return;
	s->rules[s->count++] = rule;
}

/* "commit" in git commit: a word that names what the program does. */
static bool is_verb(const struct shell_word *w)
{
	if (!w->literal || !w->text.n || !islower((unsigned char)w->text.p[0]))
		return false;
	for (size_t i = 0; i < w->text.n; i++)
		if (!islower((unsigned char)w->text.p[i]) && !isdigit((unsigned char)w->text.p[i]) &&
		    w->text.p[i] != '-')
			return false;
	return true;
}

static const char *command_rule(struct arena *a, const struct shell_command *c)
{
	struct shell_command plain = shell_strip_for_allow(c);

	if (plain.word_count > 2 && is_verb(&plain.words[0]) && is_verb(&plain.words[1]) &&
	    !shell_needs_exact_rule(&plain))
		return arena_printf(a, "Bash(" STR_FMT " " STR_FMT " *)", STR_ARG(plain.words[0].text),
				    STR_ARG(plain.words[1].text));
	return arena_printf(a, "Bash(" STR_FMT ")", STR_ARG(shell_command_text(a, &plain)));
}

/* One rule for each command that needs one. More than a few would not be read by the person who says yes. */
static void suggest_commands(struct arena *a, struct str text, struct suggestions *ret)
{
	struct shell_script script;

	shell_parse(a, text, &script);
	for (size_t i = 0; i < script.count && script.understood; i++) {
		const struct shell_command *c = &script.commands[i];
		if (!c->word_count || shell_is_read_only(c))
			continue;
		if (c->hides || ret->count == MOST_SUGGESTIONS) {
			ret->count = 0;
			return;
		}
		add(ret, command_rule(a, c));
	}
}

static const char *host_rule(struct arena *a, struct str url)
{
	const char *start = memmem(url.p, url.n, "://", 3);
	struct str rest = start ? (struct str){ start + 3, url.n - (size_t)(start + 3 - url.p) } : url;
	struct str host = str_cut(&rest, '/');

	host = str_cut(&host, ':');
	return arena_printf(a, "WebFetch(domain:" STR_FMT ")", STR_ARG(host));
}

void permission_suggest(struct arena *a, const struct tool_call *call, struct suggestions *ret)
{
	const struct subject *s = subject_find(str_from(call->tool->name));
	struct str primary = s && s->primary ? json_str(json_get(call->input, s->primary), a) : STR("");

	*ret = (struct suggestions){ 0 };
	switch (s ? s->kind : SUBJECT_NAME) {
	case SUBJECT_SHELL:
		suggest_commands(a, primary, ret);
		break;
	case SUBJECT_HOST:
		add(ret, host_rule(a, primary));
		break;
	case SUBJECT_READ:
	case SUBJECT_EDIT:
		if (primary.n && primary.p[0] == '/')
			add(ret, arena_printf(a, "%s(/" STR_FMT ")", s->kind == SUBJECT_READ ? "Read" : "Edit",
					      STR_ARG(primary)));
		break;
	case SUBJECT_AGENT:
	case SUBJECT_SKILL:
		if (primary.n)
			add(ret, arena_printf(a, "%s(" STR_FMT ")", call->tool->name, STR_ARG(primary)));
		break;
	case SUBJECT_NAME:
		add(ret, arena_strdup(a, call->tool->name));
		break;
	}
}
