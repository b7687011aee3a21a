/* SPDX-License-Identifier: MIT
 * judge_shell.c - shell commands. A rule that forbids or asks is compared with everything the text could start, in every
 * form; a rule that allows must cover each simple command of a text that was understood. */
#include "lib/io/file.h"
#include "guard/permission/judge_shell_int.h"

static void shell_prepare(struct judge *j);
static const struct rule *shell_matches(struct judge *j, const struct rule_set *set, enum rule_list list);
static bool shell_fits(struct judge *j, const struct rule_set *set);
static const char *shell_leaves(struct judge *j);
static const char *shell_plans(struct judge *j);
static const char *shell_danger(struct judge *j, bool *ret_critical);

const struct inspector inspect_shell = {
	.prepare = shell_prepare,
	.matches = shell_matches,
	.fits = shell_fits,
	.leaves = shell_leaves,
	.plans = shell_plans,
	.danger = shell_danger,
	.passes = shell_passes,
};

/* ---- what the text could start --------------------------------------------------------------------------------- */

static void add_cwds(struct judge *j, const struct shell_command *c)
{
	struct shell_case *k = j->shell;
	size_t known = k->cwd_count;

	if (!command_is_cd(c))
		return;
	if (c->word_count != 2 || !c->words[1].literal || str_is(c->words[1].text, "-") ||
	    !str_is(c->words[0].text, "cd")) {
		k->lost = true;
		return;
	}
	for (size_t i = 0; i < known && k->cwd_count < CWDS_MAX; i++)
		k->cwds[k->cwd_count++] = path_absolute(&j->arena, k->cwds[i], c->words[1].text);
	k->lost = k->lost || k->cwd_count == CWDS_MAX;
}

struct command_text shell_rule_text(struct judge *j, const struct shell_command *c)
{
	struct command_text t = { .words = shell_command_text(&j->arena, c), .exact = c->source };

	if (!c->word_count)
		return t;
	/* Redirections at the end, assignments and wrappers in front are no part of what an exact rule names. */
	const char *from = c->words[0].source.p;
	const char *to = c->words[c->word_count - 1].source.p + c->words[c->word_count - 1].source.n;
	if (from >= c->source.p && to <= c->source.p + c->source.n && from < to)
		t.exact = (struct str){ from, (size_t)(to - from) };
	return t;
}

static void list_forms(struct judge *j)
{
	struct shell_case *k = j->shell;

	for (size_t i = 0; i < k->script.count; i++) {
		size_t count;
		struct shell_command *forms;
		if (!shell_list_for_deny(&j->arena, &k->script.commands[i], &forms, &count))
			k->too_many = true;
		struct shell_command *all = arena_alloc(&j->arena, (k->form_count + count) * sizeof *all);
		if (k->form_count)
			memcpy(all, k->forms, k->form_count * sizeof *all);
		memcpy(all + k->form_count, forms, count * sizeof *all);
		k->forms = all;
		k->form_count += count;
	}
	k->texts = arena_alloc(&j->arena, 2 * (k->form_count + 1) * sizeof *k->texts);
	for (size_t i = 0; i < k->form_count; i++) {
		struct command_text t = shell_rule_text(j, &k->forms[i]);
		k->texts[k->text_count++] = t;
		if (!str_eq(t.words, t.exact))
			k->texts[k->text_count++] = (struct command_text){ t.words, t.words };
	}
	if (k->form_count != 1 || !str_eq(k->text, k->texts[0].exact))
		k->texts[k->text_count++] = (struct command_text){ k->text, k->text };
}

static void shell_prepare(struct judge *j)
{
	struct shell_case *k = arena_calloc(&j->arena, sizeof *k);
	const struct tool_env *env = j->use.env;

	j->shell = k;
	k->text = str_trim(judge_text(j, j->subject->primary));
	k->cwds[k->cwd_count++] = env && env->cwd ? env->cwd : "/";
	shell_parse(&j->arena, k->text, &k->script);
	list_forms(j);
	for (size_t i = 0; i < k->form_count; i++)
		add_cwds(j, &k->forms[i]);
	for (size_t i = 0; i < k->form_count; i++)
		operands_add(&k->files, &j->arena, &k->forms[i], k->cwds);
	k->file_count = k->files.count;
}

/* ---- rules that forbid or ask ---------------------------------------------------------------------------------- */

static bool has_path_rules(const struct rule_set *set, enum rule_list list)
{
	const struct rule_index *x = &set->lists[list];

	return x->names.count || x->paths[0].count || x->paths[1].count || x->fixed[0].count || x->fixed[1].count;
}

static void expand_globs(struct judge *j)
{
	struct shell_case *k = j->shell;

	if (k->expanded)
		return;
	k->expanded = true;
	for (size_t i = 0; i < k->file_count; i++)
		if (k->files.list[i].globs)
			operands_expand(&k->files, &j->arena, &k->files.list[i]);
}

static const struct rule *find_file_rule(struct judge *j, const struct rule_set *set, enum rule_list list)
{
	struct shell_case *k = j->shell;

	expand_globs(j);
	for (size_t i = 0; i < k->files.count; i++) {
		const struct operand *o = &k->files.list[i];
		bool writes = o->use == OPERAND_WRITE || o->use == OPERAND_REDIRECT;
		const struct rule *r = NULL;
		if (writes)
			r = judge_find_place(j, set, list, true, &o->place);
		if (!r && (!writes || list == RULE_DENY))
			r = judge_find_place(j, set, list, false, &o->place);
		if (r)
			return r;
	}
	return NULL;
}

static const struct rule *any_command_rule(const struct rule_index *x)
{
	const struct map_entry *first = map_next(&x->commands, NULL);

	if (first)
		return ((const struct rule_row *)first->value)->list[0];
	return x->any_command.count ? x->any_command.list[0] : NULL;
}

static const struct rule *shell_matches(struct judge *j, const struct rule_set *set, enum rule_list list)
{
	struct shell_case *k = j->shell;

	if (!set)
		return NULL;
	if (k->too_many && any_command_rule(&set->lists[list]))
		return any_command_rule(&set->lists[list]);
	for (size_t i = 0; i < k->text_count; i++) {
		const struct rule *r = rule_set_command(set, list, &k->texts[i]);
		if (r)
			return r;
	}
	return has_path_rules(set, list) ? find_file_rule(j, set, list) : NULL;
}

/* ---- limits ---------------------------------------------------------------------------------------------------- */

static bool is_limited(const struct judge *j, const struct rule_set *set)
{
	for (size_t i = 0; i < set->limits.count; i++)
		if (!strcmp(set->limits.list[i]->tool, j->tool))
			return true;
	return false;
}

static bool command_fits(struct judge *j, const struct rule_set *set, const struct shell_command *c)
{
	struct shell_command s = shell_strip_for_allow(c);
	struct command_text text = shell_rule_text(j, &s);

	for (size_t i = 0; i < set->limits.count; i++) {
		const struct rule *r = set->limits.list[i];
		if (strcmp(r->tool, j->tool) != 0)
			continue;
		if (r->kind == RULE_BARE || (r->kind == RULE_PARAMETER && rule_parameter_match(r, j->use.input)))
			return true;
		bool exact = r->kind == RULE_COMMAND && r->command.shape == COMMAND_EXACT;
		if (r->kind != RULE_COMMAND || c->hides || s.assignment_count || (shell_needs_exact_rule(c) && !exact))
			continue;
		if (command_rule_match(&r->command, &text))
			return true;
	}
	return false;
}

static bool shell_fits(struct judge *j, const struct rule_set *set)
{
	const struct shell_script *script = &j->shell->script;

	if (!is_limited(j, set))
		return true;
	for (size_t i = 0; i < script->count; i++)
		if (!command_fits(j, set, &script->commands[i]))
			return false;
	return script->understood && script->count > 0;
}

/* ---- what it writes -------------------------------------------------------------------------------------------- */

static bool writes_file(const struct operand *o)
{
	return o->use == OPERAND_WRITE || o->use == OPERAND_REDIRECT;
}

/* The kernel keeps a worktree's processes in it; here a plain mistake gets a plain answer. */
static const char *shell_leaves(struct judge *j)
{
	const struct permission *p = j->p;

	while (p && !p->write_root)
		p = p->parent;
	for (size_t i = 0; p && p->main_checkout && i < j->shell->file_count; i++) {
		const struct operand *o = &j->shell->files.list[i];
		if (writes_file(o) && o->place.target && path_is_inside(o->place.target, p->main_checkout) &&
		    judge_outside_worktree(j, &o->place))
			return judge_outside_worktree(j, &o->place);
	}
	return NULL;
}

static const char *shell_plans(struct judge *j)
{
	for (size_t i = 0; i < j->shell->file_count; i++)
		if (j->shell->files.list[i].use == OPERAND_REDIRECT)
			return j->shell->files.list[i].place.path;
	return NULL;
}

/* ---- dangers --------------------------------------------------------------------------------------------------- */

/* $VAR/ and $VAR followed by a slash and a wildcard: an empty variable makes it the root. */
static bool may_be_root(struct str text)
{
	size_t i = 0;

	while (i < text.n && char_in(text.p[i], "\"'"))
		i++;
	if (i == text.n || text.p[i] != '$')
		return false;
	const char *slash = memchr(text.p, '/', text.n);
	if (!slash)
		return false;
	struct str rest = { slash + 1, text.n - (size_t)(slash + 1 - text.p) };
	return !rest.n || char_in(rest.p[0], "*?[{.\"'");
}

/* Everything in the root, in the home directory, or in a directory that was added. */
static bool takes_all_of(struct judge *j, const struct operand *o)
{
	const struct tool_env *env = j->use.env;
	const char *home = getenv("HOME");
	const char *dir = o->place.path;
	const char *slash = o->text.n ? memrchr(o->text.p, '/', o->text.n) : NULL;
	size_t from = slash ? (size_t)(slash + 1 - o->text.p) : 0;

	if (!memchr(o->text.p + from, '*', o->text.n - from))
		return false;
	if (!strcmp(dir, "/") || (home && !strcmp(dir, home)))
		return true;
	for (size_t i = 1; env && env->dirs && env->dirs[0] && env->dirs[i]; i++)
		if (!strcmp(dir, env->dirs[i]))
			return true;
	return false;
}

static bool is_critical_removal(struct judge *j, const struct operand *o)
{
	if (o->globs)
		return takes_all_of(j, o);
	if (!o->known && may_be_root(o->text))
		return true;
	return path_is_critical(o->place.path, o->from) ||
	       (o->place.target && path_is_critical(o->place.target, o->from));
}

static const char *find_removal(struct judge *j)
{
	for (size_t i = 0; i < j->shell->form_count; i++) {
		const struct shell_command *c = &j->shell->forms[i];
		struct operands files = { 0 };
		if (command_removes(c))
			operands_add(&files, &j->arena, c, j->shell->cwds);
		for (size_t k = 0; k < files.count; k++)
			if (files.list[k].use == OPERAND_WRITE && is_critical_removal(j, &files.list[k]))
				return arena_printf(&j->arena, "Dangerous removal: " STR_FMT " of " STR_FMT ".",
						    STR_ARG(c->words[0].text), STR_ARG(files.list[k].text));
	}
	return NULL;
}

static const char *shell_danger(struct judge *j, bool *ret_critical)
{
	const char *removal = find_removal(j);

	if (removal) {
		*ret_critical = true;
		return removal;
	}
	for (size_t i = 0; i < j->shell->file_count; i++) {
		const struct operand *o = &j->shell->files.list[i];
		if (writes_file(o) && !judge_is_memory(j, &o->place) &&
		    (path_is_protected(o->place.path) || (o->place.target && path_is_protected(o->place.target))))
			return arena_printf(&j->arena, "%s is a sensitive file: it needs approval each time.",
					    o->place.path);
	}
	return NULL;
}
