/* SPDX-License-Identifier: MIT
 * evaluate_shell.c - shell commands. A rule that forbids or asks is compared with everything the text could start, in every
 * form; a rule that allows must cover each simple command of a text that was understood. */
#include <dirent.h>
#include "lib/io/file.h"
#include "guard/permission/evaluation_int.h"
#include "guard/shell/shell_command.h"

/* One command while it is judged */
enum { CWDS_MAX = 8 };

struct shell_case {
	struct str text;
	struct shell_script script;
	struct shell_command *forms; /* of all its commands, for rules that forbid or ask */
	size_t form_count;
	bool too_many;              /* it could start more than can be listed */
	struct command_text *texts; /* of each form, twice: as written and with single blanks */
	size_t text_count;
	struct operands files; /* of all forms */
	size_t file_count;     /* of those that are not expansions of globs */
	bool expanded;
	const char *cwds[CWDS_MAX + 1]; /* where its commands may run, NULL-terminated */
	size_t cwd_count;
	bool lost;                 /* the directory is not known: cd to an expansion */
	struct command_text asked; /* the one that rules are looked for */
	bool exact_only;
};

static void shell_prepare(struct evaluation *ev);
static const struct rule *shell_matches(struct evaluation *ev, const struct rule_set *set, enum rule_list list);
static bool shell_fits(struct evaluation *ev, const struct rule_set *set);
static const char *shell_leaves(struct evaluation *ev);
static const char *shell_plans(struct evaluation *ev);
static const char *shell_danger(struct evaluation *ev, bool *ret_critical);
static bool shell_passes(struct evaluation *ev, struct buf *why);

const struct tool_checker check_shell = {
	.prepare = shell_prepare,
	.matches = shell_matches,
	.fits = shell_fits,
	.leaves = shell_leaves,
	.plans = shell_plans,
	.danger = shell_danger,
	.passes = shell_passes,
};

/* ---- what the text could start --------------------------------------------------------------------------------- */

static void add_cwds(struct evaluation *ev, const struct shell_command *c)
{
	struct shell_case *k = ev->shell;
	size_t known = k->cwd_count;

	if (!command_is_cd(c))
		return;
	if (c->word_count != 2 || !c->words[1].literal || str_is(c->words[1].text, "-") ||
	    !str_is(c->words[0].text, "cd")) {
		k->lost = true;
		return;
	}
	for (size_t i = 0; i < known && k->cwd_count < CWDS_MAX; i++)
		k->cwds[k->cwd_count++] = path_absolute(&ev->arena, k->cwds[i], c->words[1].text);
	k->lost = k->lost || k->cwd_count == CWDS_MAX;
}

/* What a rule compares with a command. */
static struct command_text shell_rule_text(struct evaluation *ev, const struct shell_command *c)
{
	struct command_text t = { .words = shell_command_text(&ev->arena, c), .exact = c->source };

	if (!c->word_count)
		return t;
	/* Redirections at the end, assignments and wrappers in front are no part of what an exact rule names. */
	const char *from = c->words[0].source.p;
	const char *to = c->words[c->word_count - 1].source.p + c->words[c->word_count - 1].source.n;
	if (from >= c->source.p && to <= c->source.p + c->source.n && from < to)
		t.exact = (struct str){ from, (size_t)(to - from) };
	return t;
}

static void list_forms(struct evaluation *ev)
{
	struct shell_case *k = ev->shell;

	for (size_t i = 0; i < k->script.count; i++) {
		size_t count;
		struct shell_command *forms;
		if (!shell_list_for_deny(&ev->arena, &k->script.commands[i], &forms, &count))
			k->too_many = true;
		struct shell_command *all = arena_alloc(&ev->arena, (k->form_count + count) * sizeof *all);
		if (k->form_count)
			memcpy(all, k->forms, k->form_count * sizeof *all);
		memcpy(all + k->form_count, forms, count * sizeof *all);
		k->forms = all;
		k->form_count += count;
	}
	k->texts = arena_alloc(&ev->arena, 2 * (k->form_count + 1) * sizeof *k->texts);
	for (size_t i = 0; i < k->form_count; i++) {
		struct command_text t = shell_rule_text(ev, &k->forms[i]);
		k->texts[k->text_count++] = t;
		if (!str_eq(t.words, t.exact))
			k->texts[k->text_count++] = (struct command_text){ t.words, t.words };
	}
	if (k->form_count != 1 || !str_eq(k->text, k->texts[0].exact))
		k->texts[k->text_count++] = (struct command_text){ k->text, k->text };
}

static void shell_prepare(struct evaluation *ev)
{
	struct shell_case *k = arena_calloc(&ev->arena, sizeof *k);
	const struct tool_env *env = ev->use.env;

	ev->shell = k;
	k->text = str_trim(eval_text(ev, ev->subject->primary));
	k->cwds[k->cwd_count++] = env && env->cwd ? env->cwd : "/";
	shell_parse(&ev->arena, k->text, &k->script);
	list_forms(ev);
	for (size_t i = 0; i < k->form_count; i++)
		add_cwds(ev, &k->forms[i]);
	for (size_t i = 0; i < k->form_count; i++)
		operands_add(&k->files, &ev->arena, &k->forms[i], k->cwds);
	k->file_count = k->files.count;
}

/* ---- rules that forbid or ask ---------------------------------------------------------------------------------- */

static bool has_path_rules(const struct rule_set *set, enum rule_list list)
{
	const struct rule_index *x = &set->lists[list];

	return x->names.count || x->paths[0].count || x->paths[1].count || x->fixed[0].count || x->fixed[1].count;
}

static void expand_globs(struct evaluation *ev)
{
	struct shell_case *k = ev->shell;

	if (k->expanded)
		return;
	k->expanded = true;
	for (size_t i = 0; i < k->file_count; i++)
		if (k->files.list[i].globs)
			operands_expand(&k->files, &ev->arena, &k->files.list[i]);
}

static const struct rule *find_file_rule(struct evaluation *ev, const struct rule_set *set, enum rule_list list)
{
	struct shell_case *k = ev->shell;

	expand_globs(ev);
	for (size_t i = 0; i < k->files.count; i++) {
		const struct operand *o = &k->files.list[i];
		bool writes = o->use == OPERAND_WRITE || o->use == OPERAND_REDIRECT;
		const struct rule *r = NULL;
		if (writes)
			r = eval_find_place(ev, set, list, true, &o->place);
		if (!r && (!writes || list == RULE_DENY))
			r = eval_find_place(ev, set, list, false, &o->place);
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

static const struct rule *shell_matches(struct evaluation *ev, const struct rule_set *set, enum rule_list list)
{
	struct shell_case *k = ev->shell;

	if (!set)
		return NULL;
	if (k->too_many && any_command_rule(&set->lists[list]))
		return any_command_rule(&set->lists[list]);
	for (size_t i = 0; i < k->text_count; i++) {
		const struct rule *r = rule_set_command(set, list, &k->texts[i]);
		if (r)
			return r;
	}
	return has_path_rules(set, list) ? find_file_rule(ev, set, list) : NULL;
}

/* ---- limits ---------------------------------------------------------------------------------------------------- */

static bool is_limited(const struct evaluation *ev, const struct rule_set *set)
{
	for (size_t i = 0; i < set->limits.count; i++)
		if (!strcmp(set->limits.list[i]->tool, ev->tool))
			return true;
	return false;
}

static bool command_fits(struct evaluation *ev, const struct rule_set *set, const struct shell_command *c)
{
	struct shell_command s = shell_strip_for_allow(c);
	struct command_text text = shell_rule_text(ev, &s);

	for (size_t i = 0; i < set->limits.count; i++) {
		const struct rule *r = set->limits.list[i];
		if (strcmp(r->tool, ev->tool) != 0)
			continue;
		if (r->kind == RULE_BARE || (r->kind == RULE_PARAMETER && rule_parameter_match(r, ev->use.input)))
			return true;
		bool exact = r->kind == RULE_COMMAND && r->command.shape == COMMAND_EXACT;
		if (r->kind != RULE_COMMAND || c->hides || s.assignment_count || (shell_needs_exact_rule(c) && !exact))
			continue;
		if (command_rule_match(&r->command, &text))
			return true;
	}
	return false;
}

static bool shell_fits(struct evaluation *ev, const struct rule_set *set)
{
	const struct shell_script *script = &ev->shell->script;

	if (!is_limited(ev, set))
		return true;
	for (size_t i = 0; i < script->count; i++)
		if (!command_fits(ev, set, &script->commands[i]))
			return false;
	return script->understood && script->count > 0;
}

/* ---- what it writes -------------------------------------------------------------------------------------------- */

static bool writes_file(const struct operand *o)
{
	return o->use == OPERAND_WRITE || o->use == OPERAND_REDIRECT;
}

/* The kernel keeps a worktree's processes in it; here a plain mistake gets a plain answer. */
static const char *shell_leaves(struct evaluation *ev)
{
	const struct permission *p = ev->p;

	while (p && !p->write_root)
		p = p->parent;
	for (size_t i = 0; p && p->main_checkout && i < ev->shell->file_count; i++) {
		const struct operand *o = &ev->shell->files.list[i];
		if (writes_file(o) && o->place.target && path_is_inside(o->place.target, p->main_checkout) &&
		    eval_outside_worktree(ev, &o->place))
			return eval_outside_worktree(ev, &o->place);
	}
	return NULL;
}

static const char *shell_plans(struct evaluation *ev)
{
	for (size_t i = 0; i < ev->shell->file_count; i++)
		if (ev->shell->files.list[i].use == OPERAND_REDIRECT)
			return ev->shell->files.list[i].place.path;
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
static bool takes_all_of(struct evaluation *ev, const struct operand *o)
{
	const struct tool_env *env = ev->use.env;
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

static bool is_critical_removal(struct evaluation *ev, const struct operand *o)
{
	if (o->globs)
		return takes_all_of(ev, o);
	if (!o->known && may_be_root(o->text))
		return true;
	return path_is_critical(o->place.path, o->from) ||
	       (o->place.target && path_is_critical(o->place.target, o->from));
}

static const char *find_removal(struct evaluation *ev)
{
	for (size_t i = 0; i < ev->shell->form_count; i++) {
		const struct shell_command *c = &ev->shell->forms[i];
		struct operands files = { 0 };
		if (command_removes(c))
			operands_add(&files, &ev->arena, c, ev->shell->cwds);
		for (size_t k = 0; k < files.count; k++)
			if (files.list[k].use == OPERAND_WRITE && is_critical_removal(ev, &files.list[k]))
				return arena_printf(&ev->arena, "Dangerous removal: " STR_FMT " of " STR_FMT ".",
						    STR_ARG(c->words[0].text), STR_ARG(files.list[k].text));
	}
	return NULL;
}

static const char *shell_danger(struct evaluation *ev, bool *ret_critical)
{
	const char *removal = find_removal(ev);

	if (removal) {
		*ret_critical = true;
		return removal;
	}
	for (size_t i = 0; i < ev->shell->file_count; i++) {
		const struct operand *o = &ev->shell->files.list[i];
		if (writes_file(o) && !eval_is_memory(ev, &o->place) &&
		    (path_is_protected(o->place.path) || (o->place.target && path_is_protected(o->place.target))))
			return arena_printf(&ev->arena, "%s is a sensitive file: it needs approval each time.",
					    o->place.path);
	}
	return NULL;
}

/* ---- what passes ------------------------------------------------------------------------------------------------ */

/* Which shell commands run without a question: each simple command is named by a rule, or only reads, or
 * changes files where the mode accepts that; and each redirection is a write or a read of its own. */

/* How the commands of a text passed, together */
struct passing {
	const struct rule *rule; /* the first that was needed */
	const struct permission *owner;
	bool mode; /* the mode let one of them pass */
};

static const struct rule *find_command(struct evaluation *ev, const struct rule_set *set, enum rule_list list)
{
	const struct rule *r = rule_set_command(set, list, &ev->shell->asked);

	if (!r || !ev->shell->exact_only || r->command.shape == COMMAND_EXACT)
		return r;
	for (size_t i = 0; i < set->all.count; i++) {
		const struct rule *e = set->all.list[i];
		if (e->list == list && e->kind == RULE_COMMAND && e->command.shape == COMMAND_EXACT &&
		    command_rule_match(&e->command, &ev->shell->asked))
			return e;
	}
	return NULL;
}

static void note_rule(struct evaluation *ev, struct passing *p, const struct rule *r)
{
	if (p->rule)
		return;
	p->rule = r;
	p->owner = ev->v->rule_owner;
}

static bool pass_by_rule(struct evaluation *ev, struct passing *p, const struct command_text *text, bool exact_only)
{
	ev->shell->asked = *text;
	ev->shell->exact_only = exact_only;
	const struct rule *r = eval_find(ev, RULE_ALLOW, find_command);
	if (r)
		note_rule(ev, p, r);
	return r != NULL;
}

/* A glob that could reach a file whose name begins with a dot, or that lists names of its own. */
static bool is_tame_glob(struct str text)
{
	size_t n = 0;

	for (size_t i = 0; i < text.n && !char_in(text.p[i], "*?[{"); i++)
		if (text.p[i] == '/')
			n = i + 1;
	struct str rest = { text.p + n, text.n - n };
	return !memchr(rest.p, '{', rest.n) && !str_starts(rest, STR(".")) && !str_has(rest, STR("/."));
}

/* A wildcard at the front becomes an option if the name of a file begins with a dash. */
static bool may_become_option(const struct operand *o)
{
	if (!char_in(o->text.p[0], "*?["))
		return false;
	DIR *dir = opendir(o->from);
	bool found = !dir;
	for (struct dirent *e; dir && !found && (e = readdir(dir));)
		found = e->d_name[0] == '-';
	if (dir)
		closedir(dir);
	return found;
}

/* xargs among the wrappers: its files come from another command and are not known. */
static bool gets_operands(const struct shell_command *c, const struct shell_command *stripped)
{
	for (size_t i = 0; i + stripped->word_count < c->word_count; i++)
		if (str_is(c->words[i].text, "xargs") || str_ends(c->words[i].text, STR("/xargs")))
			return true;
	return false;
}

/* What the kernel cannot hold commands to is asked about. */
static enum permission_unenforced unenforced(const struct evaluation *ev)
{
	const struct permission *p = ev->p;

	while (p->parent)
		p = p->parent;
	return p->unenforced;
}

/* The operands of a program; redirections are judged apart, because the shell opens those. */
static bool pass_by_nature(struct evaluation *ev, struct passing *p, const struct shell_command *c,
			   const struct shell_command *stripped)
{
	bool accepts = ev->mode == PERMISSION_ACCEPT_EDITS || ev->mode == PERMISSION_AUTO;
	bool edits = accepts && command_only_edits(stripped) && !stripped->assignment_count;
	bool moved = ev->shell->cwd_count > 1 || ev->shell->lost;
	struct operands files = { .earlier = &ev->shell->files };
	struct shell_command plain = *stripped;

	if (json_bool(json_get(ev->use.input, "dangerouslyDisableSandbox")))
		return false; /* it wants more than a command of its nature is given */
	edits = edits && unenforced(ev) == PERMISSION_ENFORCED;
	if (unenforced(ev) == PERMISSION_ALL_UNENFORCED && !shell_takes_no_files(stripped))
		return false;
	if ((!edits && !shell_is_read_only(c)) || gets_operands(c, stripped))
		return false;
	/* What git runs is said by the configuration of the directory it is in. */
	if (moved && (ev->shell->lost || str_is(plain.words[0].text, "git")))
		return false;
	plain.redirect_count = 0;
	operands_add(&files, &ev->arena, &plain, ev->shell->cwds);
	for (size_t i = 0; i < files.count; i++) {
		const struct operand *o = &files.list[i];
		bool good = o->use == OPERAND_WRITE ? edits && eval_is_working_dir(ev, &o->place)
						    : eval_may_read(ev, &o->place);
		bool certain = o->known || (o->globs && is_tame_glob(o->text) && !may_become_option(o));
		if (!good || !certain)
			return false;
	}
	p->mode = p->mode || edits;
	return true;
}

static bool pass_write(struct evaluation *ev, struct passing *p, const struct place *place)
{
	const struct rule *r = eval_allows_place(ev, true, place);

	if (r)
		note_rule(ev, p, r);
	else if (eval_accepts_edit(ev, place) && unenforced(ev) == PERMISSION_ENFORCED)
		p->mode = true;
	else
		return false;
	return true;
}

static bool pass_redirects(struct evaluation *ev, struct passing *p, const struct shell_command *c, struct buf *why)
{
	struct operands files = { .earlier = &ev->shell->files };
	struct shell_command bare = { .redirects = c->redirects, .redirect_count = c->redirect_count };

	operands_add(&files, &ev->arena, &bare, ev->shell->cwds);
	for (size_t i = 0; i < files.count; i++) {
		const struct operand *o = &files.list[i];
		bool writes = o->use == OPERAND_REDIRECT;
		bool known = o->known && !ev->shell->lost;
		bool held = unenforced(ev) != PERMISSION_ALL_UNENFORCED;
		if (known && (writes ? pass_write(ev, p, &o->place) : held && eval_may_read(ev, &o->place)))
			continue;
		buf_addf(why, "%s redirection %s '" STR_FMT "' needs approval.", writes ? "Output" : "Input",
			 writes ? "to" : "from", STR_ARG(o->text));
		return false;
	}
	return true;
}

static bool only_harmless_assignments(const struct shell_command *c)
{
	for (size_t i = 0; i < c->assignment_count; i++)
		if (!shell_variable_is_harmless(c->assignments[i].name))
			return false;
	return true;
}

static bool pass_command(struct evaluation *ev, struct passing *p, const struct shell_command *c, struct buf *why)
{
	struct shell_command s = shell_strip_for_allow(c);
	struct command_text text = shell_rule_text(ev, &s);

	if (!pass_redirects(ev, p, c, why))
		return false;
	if (c->hides) {
		buf_addf(why, "This part cannot be checked before it runs (%s): " STR_FMT, c->hides,
			 STR_ARG(c->source));
		return false;
	}
	if (!s.word_count && only_harmless_assignments(c))
		return true;
	if (s.word_count && !s.assignment_count && pass_by_rule(ev, p, &text, shell_needs_exact_rule(c)))
		return true;
	if (s.word_count && pass_by_nature(ev, p, c, &s))
		return true;
	if (ev->shell->script.count > 1)
		buf_addf(why, "This command contains several operations. This part requires approval: " STR_FMT,
			 STR_ARG(c->source));
	else
		buf_addstr(why, "This command requires approval.");
	return false;
}

static const char *find_structure(const struct shell_script *s)
{
	if (!s->understood)
		return s->why_not ? s->why_not : "it was not understood";
	if (s->has_background)
		return "the background operator &";
	if (s->has_function)
		return "a function";
	if (s->has_subshell || s->has_group)
		return "a group of commands";
	return s->has_control_flow ? "control flow" : NULL;
}

static bool pass_all(struct evaluation *ev, struct passing *p, struct buf *why)
{
	const struct shell_script *script = &ev->shell->script;
	const char *structure = find_structure(script);

	if (!structure && ev->shell->too_many)
		structure = "more commands in each other than can be checked";
	if (structure) {
		buf_addf(why, "This command uses shell syntax that requires approval: %s.", structure);
		return false;
	}
	for (size_t i = 0; i < script->count; i++)
		if (!pass_command(ev, p, &script->commands[i], why))
			return false;
	return script->count > 0;
}

static bool has_rule_against(const struct rule_set *set)
{
	for (size_t i = 0; set && i < set->all.count; i++)
		if (set->all.list[i]->kind == RULE_COMMAND && set->all.list[i]->list <= RULE_ASK)
			return true;
	return false;
}

/* The kernel holds it, so it need not be understood; but rules about commands must have been able to see what it runs. */
static bool pass_by_sandbox(struct evaluation *ev)
{
	if (ev->use.where != WHERE_IN_UNASKED || ev->mode == PERMISSION_PLAN)
		return false;
	for (const struct permission *p = ev->p; p && !ev->shell->script.understood; p = p->parent)
		if (has_rule_against(p->own) || has_rule_against(p->rules))
			return false;
	return eval_decide(ev, PERMISSION_ALLOW, PERMISSION_STEP_SANDBOX, NULL);
}

static bool shell_passes(struct evaluation *ev, struct buf *why)
{
	struct passing p = { 0 };
	/* In auto mode the classifier takes the place of rules that allow any command. */
	bool may_be_bare = ev->shell->script.understood && ev->mode != PERMISSION_AUTO;
	const struct rule *bare = may_be_bare ? eval_find(ev, RULE_ALLOW, eval_find_bare) : NULL;

	if (bare)
		return eval_decide(ev, PERMISSION_ALLOW, PERMISSION_STEP_ALLOW_RULE, bare);
	bool whole = ev->shell->script.understood &&
		     pass_by_rule(ev, &p, &(struct command_text){ ev->shell->text, ev->shell->text }, true);
	if (!whole && !pass_all(ev, &p, why))
		return pass_by_sandbox(ev);
	ev->v->rule_owner = p.owner;
	if (p.rule)
		return eval_decide(ev, PERMISSION_ALLOW, PERMISSION_STEP_ALLOW_RULE, p.rule);
	return eval_decide(ev, PERMISSION_ALLOW, p.mode ? PERMISSION_STEP_MODE : PERMISSION_STEP_READING, NULL);
}
