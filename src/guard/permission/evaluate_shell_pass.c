/* SPDX-License-Identifier: MIT
 * evaluate_shell_pass.c - which shell commands run without a question: each simple command is named by a rule, or only reads, or
 * changes files where the mode accepts that; and each redirection is a write or a read of its own. */
#include "guard/permission/evaluate_shell_int.h"
#include <ctype.h>
#include "guard/shell/shell_command.h"
#include "guard/shell/shell_options.h"
#include "lib/git/git_config.h"
#include "lib/io/dir.h"
#include "lib/io/file.h"

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

/* A wildcard at the front becomes an option if the name of a file begins with a dash. */
static bool may_become_option(const struct operand *o)
{
	if (!char_in(o->text.p[0], "*?["))
		return false;
	AUTO_DIR DIR *dir = opendir(o->from);
	bool found = !dir;
	for (struct dirent *e; !found && (e = dir_next(dir));)
		found = e->d_name[0] == '-';
	return found;
}

/* A glob is tame if it reaches no file whose name begins with a dot, lists no names of its own, and cannot become an option. */
static bool is_tame_glob(const struct operand *o)
{
	size_t n = operand_glob_dir(o->text).n;
	struct str rest = { o->text.p + n, o->text.n - n };

	return !memchr(rest.p, '{', rest.n) && !str_starts(rest, STR(".")) && !str_has(rest, STR("/.")) &&
	       !may_become_option(o);
}

struct moved_tree {
	const struct permission *permission;
	const char *dir;
};

static bool is_protected_below(void *data, const char *path)
{
	const struct moved_tree *t = data;

	/* What stands before it is not copied. */
	return path_is_protected(path + strlen(t->dir)) || permission_is_own(t->permission, path);
}

/* What a command of the mode does with this file. A directory that is copied or moved stands for all that it holds. */
static bool pass_operand(struct evaluation *ev, const struct operand *o, bool edits, const struct shell_command *c)
{
	bool good = o->use == OPERAND_WRITE ? edits && eval_is_working_dir(ev, &o->file) : eval_may_read(ev, &o->file);

	if (!good || o->use != OPERAND_WRITE || !(str_is(c->words[0].text, "cp") || str_is(c->words[0].text, "mv")))
		return good;
	struct moved_tree t = { ev->p, o->file.target };
	return tree_search(&ev->arena, t.dir, true, is_protected_below, &t) == TREE_HAS_NONE;
}

/* Each file that a glob matches now must pass; what it matches when the command runs is held by the kernel. */
static bool pass_glob(struct evaluation *ev, const struct operand *o, bool edits, const struct shell_command *c)
{
	struct operands found = { 0 };

	if (!is_tame_glob(o) || !operands_expand(&found, &ev->arena, o))
		return false;
	for (size_t i = 0; i < found.count; i++)
		if (!pass_operand(ev, &found.list[i], edits, c))
			return false;
	return true;
}

/* Some rule of the line denies or asks about reading a file. */
static bool hides_any_file(struct evaluation *ev)
{
	for (struct rule_walk w = { .owner = ev->p, .list = RULE_DENY }; rule_walk_next(&w);)
		if (shell_any_path_rule(w.set, RULE_DENY, false) || shell_any_path_rule(w.set, RULE_ASK, false))
			return true;
	return false;
}

/* The operands of a program; redirections are judged apart, because the shell opens those. */
static bool pass_by_nature(struct evaluation *ev, struct passing *p, const struct shell_command *c,
			   const struct shell_command *stripped)
{
	bool edits = ev->accepts_edits && command_only_edits(stripped) && !stripped->assignment_count;
	bool moved = ev->shell->cwd_count > 1;
	struct operands files = { .earlier = &ev->shell->files };
	struct shell_command plain = *stripped;

	if (json_bool(json_get(ev->use.input, "dangerouslyDisableSandbox")))
		return false; /* it wants more than a command of its nature is given */
	edits = edits && ev->unenforced == PERMISSION_ENFORCED;
	if (ev->unenforced == PERMISSION_ALL_UNENFORCED && !shell_takes_no_files(stripped))
		return false;
	if (!edits && !shell_is_read_only(c))
		return false;
	/* The files of a command behind xargs come from another command and are not known. */
	for (size_t i = 0; i + stripped->word_count < c->word_count; i++)
		if (str_is(c->words[i].text, "xargs") || str_ends(c->words[i].text, STR("/xargs")))
			return false;
	/* The configuration of the directory that it is in says what git runs, and its store has files that a rule hides. */
	bool git = str_is(plain.words[0].text, "git");
	if (ev->shell->lost || (moved && git))
		return false;
	const struct tool_env *env = ev->use.env;
	const char *runs = git && env && env->cwd
				   ? git_config_runs(&ev->arena, env->cwd, env->root, permission_main(ev->p)->trusted)
				   : NULL;
	if (runs) {
		buf_addf(&ev->v->reason, "git may run a program here: %s. ", runs);
		return false;
	}
	if (git && shell_git_shows_contents(&plain) && hides_any_file(ev)) {
		buf_addstr(&ev->v->reason, "Rules hide files, and git may show them. ");
		return false;
	}
	plain.redirect_count = 0;
	operands_add(&files, &ev->arena, &plain, ev->shell->cwds);
	operands_add_globs(&files, &ev->arena, &plain, ev->shell->cwds);
	for (size_t i = 0; i < files.count; i++) {
		const struct operand *o = &files.list[i];
		if (!(o->known || o->globs) || !pass_operand(ev, o, edits, &plain) ||
		    (o->globs && !pass_glob(ev, o, edits, &plain)))
			return false;
	}
	p->mode = p->mode || edits;
	return true;
}

static bool pass_redirects(struct evaluation *ev, struct passing *p, const struct shell_command *c)
{
	struct operands files = { .earlier = &ev->shell->files };
	struct shell_command bare = { .redirects = c->redirects, .redirect_count = c->redirect_count };

	operands_add(&files, &ev->arena, &bare, ev->shell->cwds);
	for (size_t i = 0; i < files.count; i++) {
		const struct operand *o = &files.list[i];
		bool writes = o->use == OPERAND_REDIRECT;
		bool known = o->known && !ev->shell->lost;
		const struct rule *r = known && writes ? eval_allows_path(ev, true, &o->file) : NULL;
		bool passes = r;
		if (r) {
			note_rule(ev, p, r);
		} else if (known && writes) {
			passes = ev->accepts_edits && eval_is_working_dir(ev, &o->file) &&
				 ev->unenforced == PERMISSION_ENFORCED;
			p->mode = p->mode || passes;
		} else if (known) {
			passes = ev->unenforced != PERMISSION_ALL_UNENFORCED && eval_may_read(ev, &o->file);
		}
		if (passes)
			continue;
		buf_addf(&ev->v->reason, "%s redirection %s '" STR_FMT "' needs approval.", writes ? "Output" : "Input",
			 writes ? "to" : "from", STR_ARG(o->text));
		return false;
	}
	return true;
}

static bool pass_command(struct evaluation *ev, struct passing *p, const struct shell_command *c)
{
	struct shell_command s = shell_strip_for_allow(c);
	struct command_text text = shell_rule_text(ev, &s);
	struct buf *why = &ev->v->reason;

	if (!pass_redirects(ev, p, c))
		return false;
	if (c->hides) {
		buf_addf(why, "This part cannot be checked before it runs (%s): " STR_FMT, c->hides,
			 STR_ARG(c->source));
		return false;
	}
	bool harmless = !s.word_count;
	for (size_t i = 0; i < c->assignment_count && harmless; i++)
		harmless = shell_variable_is_harmless(c->assignments[i].name);
	if (harmless)
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

static bool pass_all(struct evaluation *ev, struct passing *p)
{
	const struct shell_script *s = &ev->shell->script;
	const char *structure = NULL;

	if (!s->understood)
		structure = s->why_not ? s->why_not : "it was not understood";
	else if (s->has_background)
		structure = "the background operator &";
	else if (s->has_function)
		structure = "a function";
	else if (s->has_subshell || s->has_group)
		structure = "a group of commands";
	else if (s->has_control_flow)
		structure = "control flow";
	else if (ev->shell->too_many)
		structure = "more commands in each other than can be checked";
	if (structure) {
		buf_addf(&ev->v->reason, "This command uses shell syntax that requires approval: %s.", structure);
		return false;
	}
	for (size_t i = 0; i < s->count; i++)
		if (!pass_command(ev, p, &s->commands[i]))
			return false;
	return s->count > 0;
}

/* Some rule of the line forbids or asks about commands or files. It must see what it is about, so that nothing passes unseen. */
static bool has_narrowing_rule(struct evaluation *ev)
{
	for (struct rule_walk w = { .owner = ev->p, .list = RULE_DENY }; rule_walk_next(&w);)
		for (size_t i = 0; i < w.set->all.count; i++) {
			const struct rule *r = w.set->all.list[i];
			bool narrows = r->list == RULE_DENY || r->list == RULE_ASK;
			if (narrows && (r->kind == RULE_COMMAND || r->kind == RULE_PATH))
				return true;
		}
	return false;
}

/* Programs, their libraries and headers, and what the kernel says of the machine: a command that is held sees them in any case
 * (guard/sandbox/profile.c). */
static bool is_for_everybody(const struct resolved_path *f)
{
	const char *const both[] = { f->path, f->target };

	for (size_t i = 0; i < COUNT_OF(both); i++)
		if (!both[i] || !(str_starts_with_one_of(str_from(both[i]), "/usr/|/bin/|/lib/|/lib64/|/opt/") ||
				  str_is_one_of(str_from(both[i]),
						"/usr|/bin|/lib|/opt|/dev/null|/etc/os-release|/etc/debian_version|"
						"/etc/hostname|/etc/hosts|/etc/lsb-release|/etc/timezone|/proc/cpuinfo|"
						"/proc/meminfo|/proc/version|/proc/loadavg|/proc/uptime")))
			return false;
	return true;
}

/* Braces and names with a dot. What else they mean when the command runs is held back. */
static bool may_read_matches(struct evaluation *ev, const struct operand *o)
{
	static const char *const elsewhere[] = { "{/", ",/", "{~", ",~", "{..", ",.." };
	struct operands found = { 0 };

	for (size_t i = 0; i < COUNT_OF(elsewhere); i++)
		if (str_has(o->text, str_from(elsewhere[i])))
			return false;
	if (!o->globs || may_become_option(o) || !eval_may_read(ev, &o->file) ||
	    !operands_expand(&found, &ev->arena, o))
		return false;
	for (size_t i = 0; i < found.count; i++)
		if (!eval_may_read(ev, &found.list[i].file))
			return false;
	return true;
}

/* The text itself gives this variable a value, and not the name of a file that cannot be read. */
static bool is_assigned(struct evaluation *ev, struct str name)
{
	const struct shell_script *s = &ev->shell->script;
	bool found = false;

	for (size_t i = 0; i < s->count; i++) {
		const struct shell_command *c = &s->commands[i];
		for (size_t k = 0; k < c->assignment_count && !c->word_count; k++) {
			const struct shell_word *value = &c->assignments[k].value;
			if (!str_eq(c->assignments[k].name, name))
				continue;
			struct resolved_path f = resolved_path_find(&ev->arena, ev->shell->cwds[0], value->text);
			found = true;
			if (value->tilde || (value->literal && !eval_may_read(ev, &f) && !is_for_everybody(&f)))
				return false;
		}
		for (size_t k = 1; k < c->word_count && shell_runs(c, "read"); k++)
			found = found || str_eq(c->words[k].text, name);
	}
	return found;
}

/* What an expansion becomes is not known: the output of commands of the text, or a variable of it, in a loop one of the files that
 * it goes through. What says itself that it leads out of the directories is asked about. */
static bool may_be_expansion(struct evaluation *ev, const struct operand *o)
{
	struct str name = o->text;
	size_t n = 1;

	if (str_starts_with_one_of(o->text, "$(|\"$(|`|<("))
		return true;
	if (name.n > 3 && name.p[0] == '"' && name.p[name.n - 1] == '"')
		name = (struct str){ name.p + 1, name.n - 2 };
	if (o->globs || name.n < 2 || name.p[0] != '$')
		return false;
	if (str_is_one_of(name, "$$|$?|$#|$!"))
		return true;
	while (n < name.n && (isalnum((unsigned char)name.p[n]) || name.p[n] == '_'))
		n++;
	if (n < name.n && (o->text.p[0] != '"' || str_has(name, STR("/.."))))
		return false;
	return ev->shell->script.has_control_flow || is_assigned(ev, (struct str){ name.p + 1, n - 1 });
}

/* Takes -C DIR and settings of how it looks from a git command, and says whether git may be believed in all directories where it may
 * run then. */
static bool strip_git(struct evaluation *ev, struct shell_command *c)
{
	const struct tool_env *env = ev->use.env;
	const char *into = "";
	struct shell_word *words = arena_alloc(&ev->arena, c->word_count * sizeof *words);

	memcpy(words, c->words, c->word_count * sizeof *words);
	c->words = words;
	while (c->word_count > 3 && words[1].literal && words[2].literal && str_is_one_of(words[1].text, "-C|-c")) {
		struct resolved_path dir = resolved_path_find(&ev->arena, ev->shell->cwds[0], words[2].text);
		if (str_is(words[1].text, "-C")) {
			if (*into || !eval_may_read(ev, &dir))
				return false;
			into = arena_str(&ev->arena, words[2].text).p;
		} else if (!str_fits_one_of(words[2].text, "color.*|core.abbrev=*|core.pager=cat|core.quotePath=*|"
							   "core.quotepath=*")) {
			return false;
		}
		c->word_count -= 2;
		memmove(words + 1, words + 3, (c->word_count - 1) * sizeof *words);
	}
	for (const char *const *cwd = ev->shell->cwds; *cwd; cwd++) {
		const char *dir = path_absolute(&ev->arena, *cwd, str_from(into));
		if (env && git_config_runs(&ev->arena, dir, env->root, permission_main(ev->p)->trusted))
			return false;
	}
	return true;
}

/* It names a file that is there and that it will not be able to read, from whichever directory. */
static bool names_what_is_hidden(struct evaluation *ev, const struct shell_command *s)
{
	for (size_t i = 1; i < s->word_count; i++) {
		const struct shell_word *w = &s->words[i];
		if (!w->tilde && !(w->literal && str_starts_with_one_of(w->text, "/|../")) && !str_is(w->text, ".."))
			continue;
		bool hidden = true;
		for (const char *const *cwd = ev->shell->cwds; *cwd && hidden && !w->tilde; cwd++) {
			struct resolved_path f = resolved_path_find(&ev->arena, *cwd, w->text);
			hidden = f.target && file_exists(f.target) && !eval_may_read(ev, &f) && !is_for_everybody(&f);
		}
		if (hidden)
			return true;
	}
	return false;
}

/* cd src && cat ../f: from one of the directories in which it may run. */
static bool may_read_from_any(struct evaluation *ev, const struct operands *files, const struct operand *o)
{
	for (size_t i = 0; i < files->count; i++)
		if (files->list[i].use == o->use && str_eq(files->list[i].text, o->text) &&
		    (files->list[i].known || may_read_matches(ev, &files->list[i])) &&
		    eval_may_read(ev, &files->list[i].file))
			return true;
	return false;
}

/* A command of the tables is judged as ever, but for its expansions. ret_more: it is not for the tables. */
static bool pass_held_form(struct evaluation *ev, const struct shell_command *form, bool fed, bool *ret_more)
{
	struct operands files = { .earlier = &ev->shell->files };
	struct shell_command s = *form;
	if (shell_runs(&s, "git") && !strip_git(ev, &s))
		return false;
	bool looks = shell_runs(&s, "[|test");       /* whether a file is there, whatever its name */
	bool held = !fed && shell_reads_if_held(&s); /* a program that is held gets no words from elsewhere */
	struct shell_command plain = s;
	struct shell_word *words = arena_alloc(&ev->arena, (s.word_count + 1) * sizeof *words);
	for (size_t i = 0; i < s.word_count; i++) {
		words[i] = s.words[i];
		if (!words[i].literal && i && !words[i].tilde)
			words[i] = (struct shell_word){ .text = STR("x"), .source = words[i].source, .literal = true };
	}
	plain.words = words;
	*ret_more = *ret_more || (held && !shell_is_read_only(&s)) || s.word_count != form->word_count;
	if (!(held || shell_is_read_only(&plain)) || (held && names_what_is_hidden(ev, &s)))
		return false;
	operands_add(&files, &ev->arena, &s, ev->shell->cwds);
	operands_add_globs(&files, &ev->arena, &s, ev->shell->cwds);
	for (size_t i = 0; i < files.count; i++) {
		const struct operand *o = &files.list[i];
		bool writes = o->use == OPERAND_REDIRECT ||
			      (o->use == OPERAND_WRITE && !held); /* tar -t reads what it names */
		bool certain = o->known || (o->globs && is_tame_glob(o));
		bool outside = certain && !eval_may_read(ev, &o->file) && !may_read_from_any(ev, &files, o);
		if (writes || (certain ? outside && !is_for_everybody(&o->file)
				       : !looks && !may_read_matches(ev, o) && !may_be_expansion(ev, o)))
			return false;
		*ret_more = *ret_more || outside || !certain;
	}
	return true;
}

/* Each of its commands reads, or is there to read; what else it tries is the kernel's matter. All of it must be held: one command
 * that a rule allows would run free with it. */
static bool pass_held(struct evaluation *ev)
{
	const struct shell_script *s = &ev->shell->script;
	bool more = s->has_control_flow || s->has_subshell || s->has_group || s->has_substitution ||
		    ev->shell->cwd_count > 1;

	if (ev->use.where != WHERE_FREE || !(ev->use.tool->flags & TOOL_CONFINED) ||
	    ev->unenforced != PERMISSION_ENFORCED || ev->shell->too_many || ev->shell->lost || !s->understood ||
	    !s->count || s->has_background || s->has_function ||
	    json_bool(json_get(ev->use.input, "dangerouslyDisableSandbox")) || has_narrowing_rule(ev))
		return false;
	for (size_t i = 0; i < s->count; i++) {
		struct shell_command forms[SHELL_HELD_MAX];
		size_t count = shell_held_forms(&ev->arena, &s->commands[i], forms);
		bool fed = count > 1 || shell_runs(&s->commands[i], "xargs");
		more = more || fed || s->commands[i].assignment_count;
		for (size_t k = 0; k < count; k++)
			if (!pass_held_form(ev, &forms[k], fed, &more))
				return false;
		if (!count)
			return false;
	}
	return more; /* without that, the tables have the last word */
}

bool shell_passes(struct evaluation *ev)
{
	struct passing p = { 0 };
	/* In auto mode the classifier takes the place of rules that allow any command. */
	bool may_be_bare = ev->shell->script.understood && ev->mode != PERMISSION_AUTO;
	const struct rule *bare = may_be_bare ? eval_find(ev, RULE_ALLOW, eval_find_bare) : NULL;

	if (bare)
		return eval_decide(ev, PERMISSION_ALLOW, PERMISSION_STEP_ALLOW_RULE, bare);
	bool whole = ev->shell->script.understood &&
		     pass_by_rule(ev, &p, &(struct command_text){ ev->shell->text, ev->shell->text }, true);
	if (!whole && !pass_all(ev, &p)) {
		if (pass_held(ev))
			return eval_decide(ev, PERMISSION_ALLOW, PERMISSION_STEP_READING, NULL);
		if (ev->use.where != WHERE_IN_UNASKED || ev->mode == PERMISSION_PLAN)
			return false;
		/* The kernel holds it, so it need not be understood; but rules about commands must have been able to see what
		 * it runs. */
		struct rule_walk w = { .owner = ev->shell->script.understood ? NULL : ev->p, .list = RULE_DENY };
		while (rule_walk_next(&w))
			for (enum rule_list list = RULE_DENY; list <= RULE_ASK; list++)
				if (w.set->lists[list].commands.count || w.set->lists[list].any_command.count)
					return false;
		return eval_decide(ev, PERMISSION_ALLOW, PERMISSION_STEP_SANDBOX, NULL);
	}
	ev->v->rule_owner = p.owner;
	if (p.rule)
		return eval_decide(ev, PERMISSION_ALLOW, PERMISSION_STEP_ALLOW_RULE, p.rule);
	return eval_decide(ev, PERMISSION_ALLOW, p.mode ? PERMISSION_STEP_MODE : PERMISSION_STEP_READING, NULL);
}
