/* SPDX-License-Identifier: MIT
 * judge_shell_pass.c - which shell commands run without a question: each simple command is named by a rule, or only reads, or
 * changes files where the mode accepts that; and each redirection is a write or a read of its own. */
#include <dirent.h>
#include "guard/permission/judge_shell_int.h"

/* How the commands of a text passed, together */
struct passing {
	const struct rule *rule; /* the first that was needed */
	const struct permission *owner;
	bool mode; /* the mode let one of them pass */
};

static const struct rule *find_command(struct judge *j, const struct rule_set *set, enum rule_list list)
{
	const struct rule *r = rule_set_command(set, list, &j->shell->asked);

	if (!r || !j->shell->exact_only || r->command.shape == COMMAND_EXACT)
		return r;
	for (size_t i = 0; i < set->all.count; i++) {
		const struct rule *e = set->all.list[i];
		if (e->list == list && e->kind == RULE_COMMAND && e->command.shape == COMMAND_EXACT &&
		    command_rule_match(&e->command, &j->shell->asked))
			return e;
	}
	return NULL;
}

static void note_rule(struct judge *j, struct passing *p, const struct rule *r)
{
	if (p->rule)
		return;
	p->rule = r;
	p->owner = j->v->rule_owner;
}

static bool pass_by_rule(struct judge *j, struct passing *p, const struct command_text *text, bool exact_only)
{
	j->shell->asked = *text;
	j->shell->exact_only = exact_only;
	const struct rule *r = judge_find(j, RULE_ALLOW, find_command);
	if (r)
		note_rule(j, p, r);
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

static bool has_no_surprise(const struct operand *o)
{
	return o->known || (o->globs && is_tame_glob(o->text) && !may_become_option(o));
}

/* xargs among the wrappers: its files come from another command, and nobody knows which. */
static bool gets_operands(const struct shell_command *c, const struct shell_command *stripped)
{
	for (size_t i = 0; i + stripped->word_count < c->word_count; i++)
		if (str_is(c->words[i].text, "xargs") || str_ends(c->words[i].text, STR("/xargs")))
			return true;
	return false;
}

/* The operands of a program; redirections are judged apart, because the shell opens those. */
static bool pass_by_nature(struct judge *j, struct passing *p, const struct shell_command *c,
			   const struct shell_command *stripped)
{
	bool accepts = j->mode == PERMISSION_ACCEPT_EDITS || j->mode == PERMISSION_AUTO;
	bool edits = accepts && command_only_edits(stripped) && !stripped->assignment_count;
	bool moved = j->shell->cwd_count > 1 || j->shell->lost;
	struct operands files = { .earlier = &j->shell->files };
	struct shell_command plain = *stripped;

	if ((!edits && !shell_is_read_only(c)) || gets_operands(c, stripped))
		return false;
	/* What git runs is said by the configuration of the directory it is in. */
	if (moved && (j->shell->lost || str_is(plain.words[0].text, "git")))
		return false;
	plain.redirect_count = 0;
	operands_add(&files, &j->arena, &plain, j->shell->cwds);
	for (size_t i = 0; i < files.count; i++) {
		const struct operand *o = &files.list[i];
		bool good = o->use == OPERAND_WRITE ? edits && judge_is_working_dir(j, &o->place)
						    : judge_may_read(j, &o->place);
		if (!good || !has_no_surprise(o))
			return false;
	}
	p->mode = p->mode || edits;
	return true;
}

static bool pass_write(struct judge *j, struct passing *p, const struct place *place)
{
	const struct rule *r = judge_allows_place(j, true, place);

	if (r)
		note_rule(j, p, r);
	else if (judge_accepts_edit(j, place))
		p->mode = true;
	else
		return false;
	return true;
}

static bool pass_redirects(struct judge *j, struct passing *p, const struct shell_command *c, struct buf *why)
{
	struct operands files = { .earlier = &j->shell->files };
	struct shell_command bare = { .redirects = c->redirects, .redirect_count = c->redirect_count };

	operands_add(&files, &j->arena, &bare, j->shell->cwds);
	for (size_t i = 0; i < files.count; i++) {
		const struct operand *o = &files.list[i];
		bool writes = o->use == OPERAND_REDIRECT;
		bool known = o->known && !j->shell->lost;
		if (known && (writes ? pass_write(j, p, &o->place) : judge_may_read(j, &o->place)))
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

static bool pass_command(struct judge *j, struct passing *p, const struct shell_command *c, struct buf *why)
{
	struct shell_command s = shell_strip_for_allow(c);
	struct command_text text = shell_rule_text(j, &s);

	if (!pass_redirects(j, p, c, why))
		return false;
	if (c->hides) {
		buf_addf(why, "This part cannot be checked before it runs (%s): " STR_FMT, c->hides,
			 STR_ARG(c->source));
		return false;
	}
	if (!s.word_count && only_harmless_assignments(c))
		return true;
	if (s.word_count && !s.assignment_count && pass_by_rule(j, p, &text, shell_needs_exact_rule(c)))
		return true;
	if (s.word_count && pass_by_nature(j, p, c, &s))
		return true;
	if (j->shell->script.count > 1)
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

static bool pass_all(struct judge *j, struct passing *p, struct buf *why)
{
	const struct shell_script *script = &j->shell->script;
	const char *structure = find_structure(script);

	if (!structure && j->shell->too_many)
		structure = "more commands in each other than can be checked";
	if (structure) {
		buf_addf(why, "This command uses shell syntax that requires approval: %s.", structure);
		return false;
	}
	for (size_t i = 0; i < script->count; i++)
		if (!pass_command(j, p, &script->commands[i], why))
			return false;
	return script->count > 0;
}

/* On entering auto mode the classifier takes the place of rules that allow any command. */
static const struct rule *find_bare(struct judge *j)
{
	return j->mode == PERMISSION_AUTO ? NULL : judge_find(j, RULE_ALLOW, judge_find_bare);
}

bool shell_passes(struct judge *j, struct buf *why)
{
	struct passing p = { 0 };
	const struct rule *bare = j->shell->script.understood ? find_bare(j) : NULL;

	if (bare)
		return judge_decide(j, PERMISSION_ALLOW, PERMISSION_STEP_ALLOW_RULE, bare);
	bool whole = j->shell->script.understood &&
		     pass_by_rule(j, &p, &(struct command_text){ j->shell->text, j->shell->text }, true);
	if (!whole && !pass_all(j, &p, why))
		return false;
	j->v->rule_owner = p.owner;
	if (p.rule)
		return judge_decide(j, PERMISSION_ALLOW, PERMISSION_STEP_ALLOW_RULE, p.rule);
	return judge_decide(j, PERMISSION_ALLOW, p.mode ? PERMISSION_STEP_MODE : PERMISSION_STEP_READING, NULL);
}
