/* SPDX-License-Identifier: MIT
 * evaluate_shell.c - shell commands. A rule that forbids or asks is compared with everything the text could start, in every
 * form; a rule that allows must cover each simple command of a text that was understood. */
#include <dirent.h>
#include <fnmatch.h>
#include "lib/io/file.h"
#include "guard/permission/evaluate_shell_int.h"
#include "guard/shell/shell_command.h"
#include "guard/shell/shell_options.h"

/* What a rule compares with a command. */
struct command_text shell_rule_text(struct evaluation *ev, const struct shell_command *c)
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

static struct command_text *texts_of(struct evaluation *ev, const struct shell_command *list, size_t count,
				     size_t *ret_count)
{
	struct command_text *texts = arena_alloc(&ev->arena, 2 * (count + 1) * sizeof *texts);
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		struct command_text t = shell_rule_text(ev, &list[i]);
		texts[n++] = t;
		if (!str_eq(t.words, t.exact))
			texts[n++] = (struct command_text){ t.words, t.words };
	}
	*ret_count = n;
	return texts;
}

static void *add_commands(struct arena *a, const void *list, size_t count, const struct shell_command *more,
			  size_t more_count)
{
	struct shell_command *all = arena_alloc(a, (count + more_count + 1) * sizeof *all);

	if (count)
		memcpy(all, list, count * sizeof *all);
	if (more_count)
		memcpy(all + count, more, more_count * sizeof *all);
	return all;
}

static void shell_list_forms(struct evaluation *ev)
{
	struct shell_case *k = ev->shell;
	struct shell_command *doubts = NULL;
	size_t doubt_count = 0;

	if (!k->script.understood)
		k->hides = k->script.why_not ? k->script.why_not : "it was not understood";
	for (size_t i = 0; i < k->script.count; i++) {
		struct shell_forms forms;
		shell_list_for_deny(&ev->arena, &k->script.commands[i], &forms);
		k->too_many = k->too_many || forms.too_many;
		k->hides = k->hides ? k->hides : forms.hides;
		k->forms = add_commands(&ev->arena, k->forms, k->form_count, forms.list, forms.count);
		k->form_count += forms.count;
		doubts = add_commands(&ev->arena, doubts, doubt_count, forms.doubts, forms.doubt_count);
		doubt_count += forms.doubt_count;
	}
	k->texts = texts_of(ev, k->forms, k->form_count, &k->text_count);
	k->doubts = texts_of(ev, doubts, doubt_count, &k->doubt_count);
	if (k->form_count != 1 || !str_eq(k->text, k->texts[0].exact))
		k->texts[k->text_count++] = (struct command_text){ k->text, k->text };
}

/* cd with one directory that is known; NULL: it is another cd. */
static const struct shell_word *cd_target(const struct shell_command *c)
{
	const struct shell_word *target = NULL;

	for (size_t i = 1; i < c->word_count; i++) {
		struct str word = c->words[i].text;
		bool option = !target &&
			      (str_is(word, "--") || str_is(word, "-L") || str_is(word, "-P") || str_is(word, "-e"));
		if (option && c->words[i].literal)
			continue;
		if (target || !c->words[i].literal || str_starts(word, STR("-")) || str_starts(word, STR("+")))
			return NULL;
		target = &c->words[i];
	}
	return str_is(c->words[0].text, "popd") ? NULL : target;
}

static void shell_prepare(struct evaluation *ev)
{
	struct shell_case *k = arena_calloc(&ev->arena, sizeof *k);
	const struct tool_env *env = ev->use.env;

	ev->shell = k;
	k->text = str_trim(eval_text(ev, ev->subject->primary));
	k->cwds[k->cwd_count++] = env && env->cwd ? env->cwd : "/";
	shell_parse(&ev->arena, k->text, &k->script);
	shell_list_forms(ev);
	for (size_t i = 0; i < k->form_count; i++) {
		const struct shell_command *c = &k->forms[i];
		size_t known = k->cwd_count;
		if (!shell_runs(c, "cd|pushd|popd"))
			continue;
		const struct shell_word *to = cd_target(c);
		for (size_t n = 0; to && n < known && k->cwd_count < SHELL_CWDS_MAX; n++)
			k->cwds[k->cwd_count++] = path_absolute(&ev->arena, k->cwds[n], to->text);
		k->lost = k->lost || !to || !str_is(c->words[0].text, "cd") || k->cwd_count == SHELL_CWDS_MAX;
	}
	for (size_t i = 0; i < k->form_count; i++) /* env -C DIR runs the rest of its words there */
		for (size_t n = 1; shell_runs(&k->forms[i], "env") && n < k->forms[i].word_count; n++) {
			struct str word = k->forms[i].words[n].text;
			struct str dir = str_is_one_of(k->forms[i].words[n - 1].text, "-C|--chdir") ? word
					 : str_starts(word, STR("-C"))                              ? str_tail(word, 2)
					 : str_starts(word, STR("--chdir="))                        ? str_tail(word, 8)
												    : STR("");
			if (dir.n && k->cwd_count < SHELL_CWDS_MAX)
				k->cwds[k->cwd_count++] = path_absolute(&ev->arena, k->cwds[0], dir);
		}
	for (size_t i = 0; i < k->form_count; i++)
		operands_add(&k->files, &ev->arena, &k->forms[i], k->cwds);
	k->file_count = k->files.count;
}

static bool writes_file(const struct operand *o)
{
	return o->use == OPERAND_WRITE || o->use == OPERAND_REDIRECT;
}

/* Of a command that is known to read, the table says which words are files. The words of echo are none, unless they go elsewhere. */
static void shell_find_mentions(struct evaluation *ev)
{
	struct shell_case *k = ev->shell;
	bool goes_on = k->script.has_substitution || k->script.has_control_flow || !k->script.understood ||
		       memchr(k->text.p, '|', k->text.n) || str_has(k->text, STR("$_"));

	k->mentioned = true;
	for (size_t i = 0; i < k->form_count; i++) {
		const struct shell_command *c = &k->forms[i];
		bool sets = shell_runs(c, "read|set") ||
			    (shell_runs(c, "printf") && c->word_count > 1 && str_starts(c->words[1].text, STR("-v")));
		bool silent = shell_takes_no_files(c) && !goes_on && !c->assignment_count && !sets;
		for (size_t n = 0; n < c->redirect_count; n++)
			silent = silent && (c->redirects[n].target.literal || !c->redirects[n].writes_file);
		bool fed = shell_runs(c, "xargs") && c->redirect_count;
		bool known = !fed && !sets && shell_is_read_only(c) && !shell_takes_no_files(c) &&
			     !str_is(c->words[0].text, "git");
		for (size_t n = 1; n < c->word_count && known; n++)
			known = (c->words[n].literal || !memchr(c->words[n].source.p, '$', c->words[n].source.n)) &&
				!str_starts(c->words[n].text, STR("/proc/"));
		for (size_t n = 0; n < c->redirect_count; n++)
			known = known && !str_starts(c->redirects[n].target.text, STR("/proc/"));
		if (!silent && !known)
			mentions_add(&k->mentions, &ev->arena, c, k->cwds);
	}
	if (k->script.has_control_flow || !k->script.understood)
		mentions_add_text(&k->mentions, &ev->arena, k->text, k->cwds);
}

/* A rule of a set while a tree is searched for something that it is about */
struct tree_rule {
	struct evaluation *ev;
	const struct rule_set *set;
	enum rule_list list;
	bool edits;
	const struct shell_command *finder; /* only files that this find may name; NULL: all */
	const struct rule *found;
};

/* A pattern of its -name is the file's, or it has none that is known. */
static bool finder_names(const struct shell_command *c, const char *path)
{
	bool any = true;

	for (size_t i = 1; i + 1 < c->word_count; i++) {
		if (str_is_one_of(c->words[i].text, "!|-not"))
			return true;
		if (!str_is_one_of(c->words[i].text, "-name|-iname"))
			continue;
		any = false;
		if (!c->words[i + 1].literal)
			return true;
		AUTO_FREE char *pattern = xstrndup(c->words[i + 1].text.p, c->words[i + 1].text.n);
		if (fnmatch(pattern, strrchr(path, '/') + 1, FNM_CASEFOLD) == 0)
			return true;
	}
	return any;
}

static bool tree_rule_matches(void *data, const char *path)
{
	struct tree_rule *t = data;
	struct resolved_path file = { .path = path };

	if (t->finder && !finder_names(t->finder, path))
		return false;
	t->found = eval_find_path_rule(t->ev, t->set, t->list, t->edits, &file);
	return t->found;
}

/* Some rule about paths, for what could not be searched */
const struct rule *shell_any_path_rule(const struct rule_set *set, enum rule_list list, bool edits)
{
	for (size_t i = 0; i < set->all.count; i++) {
		const struct rule *r = set->all.list[i];
		if (r->list == list && r->kind == RULE_PATH && (r->subject->kind == SUBJECT_EDIT) == edits)
			return r;
	}
	return NULL;
}

/* A rule about something below a directory. One that is too large is asked about. */
static const struct rule *find_below(struct evaluation *ev, const struct rule_set *set, enum rule_list list, bool edits,
				     struct str dir, bool hidden, bool *ret_too_large)
{
	struct tree_rule t = { .ev = ev, .set = set, .list = list, .edits = edits, .finder = ev->shell->finder };

	if (!shell_any_path_rule(set, list, edits))
		return NULL;
	for (const char *const *cwd = ev->shell->cwds; *cwd && !t.found; cwd++) {
		struct resolved_path file = resolved_path_find(&ev->arena, *cwd, dir);
		if (file.target &&
		    tree_search(&ev->arena, file.target, hidden, tree_rule_matches, &t) == TREE_TOO_LARGE)
			*ret_too_large = true;
	}
	return t.found;
}

/* All that is copied, moved or removed with a directory */
static const struct rule *find_tree_rule(struct evaluation *ev, const struct rule_set *set, enum rule_list list)
{
	struct shell_case *k = ev->shell;
	const struct rule *r = NULL;

	for (size_t i = 0; i < k->form_count; i++) {
		const struct shell_command *c = &k->forms[i];
		for (size_t n = 1; n < c->word_count && !r; n++) {
			bool source = shell_is_tree_source(c, n);
			bool changes = shell_changes_tree(c, n);
			bool too_large = false;
			struct operands found = { 0 };
			if ((!source && !changes) || str_starts(c->words[n].text, STR("-")))
				continue;
			if (c->words[n].globs)
				for (const char *const *cwd = k->cwds; *cwd; cwd++)
					operands_expand(&found, &ev->arena,
							&(struct operand){ .text = c->words[n].text, .from = *cwd });
			for (size_t m = 0; m <= found.count && !r; m++) {
				struct str dir = m ? str_from(found.list[m - 1].file.path) : c->words[n].text;
				r = source ? find_below(ev, set, list, false, dir, true, &too_large) : NULL;
				if (!r && changes)
					r = find_below(ev, set, list, true, dir, true, &too_large);
			}
			if (!r && too_large && list == RULE_ASK)
				r = shell_any_path_rule(set, list, !source);
		}
	}
	return r;
}

/* What is moved or copied is read as well. */
static const struct rule *find_file_rule(struct evaluation *ev, const struct rule_set *set, enum rule_list list)
{
	struct shell_case *k = ev->shell;

	for (size_t i = 0; i < k->file_count && !k->expanded; i++)
		if (k->files.list[i].globs)
			(void)operands_expand(&k->files, &ev->arena, &k->files.list[i]);
	k->expanded = true;
	for (size_t i = 0; i < k->files.count; i++) {
		const struct operand *o = &k->files.list[i];
		const struct rule *r = NULL;
		if (writes_file(o))
			r = eval_find_path_rule(ev, set, list, true, &o->file);
		if (!r && (o->use != OPERAND_REDIRECT || list == RULE_DENY))
			r = eval_find_path_rule(ev, set, list, false, &o->file);
		if (r)
			return r;
	}
	if (!k->mentioned)
		shell_find_mentions(ev);
	for (size_t i = 0; i < k->mentions.count; i++) {
		const struct mention *m = &k->mentions.list[i];
		const struct rule *r = eval_find_path_rule(ev, set, list, false, &m->file);
		if (!r && m->writes)
			r = eval_find_path_rule(ev, set, list, true, &m->file);
		if (r)
			return r;
	}
	return find_tree_rule(ev, set, list);
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
	const struct rule_index *x = &set->lists[list];
	struct shell_case *k = ev->shell;

	/* Any rule about commands could mean one of those that were not listed. */
	if (k->too_many && any_command_rule(x))
		return any_command_rule(x);
	for (size_t i = 0; i < k->text_count; i++) {
		const struct rule *r = rule_set_command(set, list, &k->texts[i]);
		if (r)
			return r;
	}
	bool has_paths =
		x->names.count || x->paths[0].count || x->paths[1].count || x->fixed[0].count || x->fixed[1].count;
	return has_paths ? find_file_rule(ev, set, list) : NULL;
}

/* Where it is not certain that a rule denies or asks about a command, a person decides, in every mode: a command cannot be seen
 * through, or it shows all files of a directory of which some are hidden. */

static const struct rule *suspect_command(struct evaluation *ev, const struct rule_set *set, enum rule_list list)
{
	struct shell_case *k = ev->shell;

	if (k->hides && any_command_rule(&set->lists[list])) {
		ev->doubt = k->hides;
		return any_command_rule(&set->lists[list]);
	}
	for (size_t i = 0; i < k->doubt_count; i++) {
		const struct rule *r = rule_set_command(set, list, &k->doubts[i]);
		ev->doubt = r ? "a program that is not known may run its arguments" : NULL;
		if (r)
			return r;
	}
	return NULL;
}

static const struct rule *suspect_reader(struct evaluation *ev, const struct rule_set *set, enum rule_list list,
					 const struct shell_command *c)
{
	const struct rule *any = shell_any_path_rule(set, list, false);
	bool hidden, here;
	bool too_large = false;
	const struct rule *r = NULL;

	if (!any || !c->word_count)
		return NULL;
	bool finds = shell_hands_on_names(c, &ev->shell->script);
	if (finds)
		hidden = here = true;
	else if (!shell_reads_tree(c, &hidden, &here))
		return NULL;
	ev->shell->finder = finds ? c : NULL;
	if (here)
		r = find_below(ev, set, list, false, STR("."), hidden, &too_large);
	struct operands files = { .earlier = &ev->shell->files };
	operands_add(&files, &ev->arena, c, ev->shell->cwds);
	for (size_t i = 0, count = files.count; i < count; i++)
		if (files.list[i].globs)
			(void)operands_expand(&files, &ev->arena, &files.list[i]);
	for (size_t i = 0; i < files.count && !r; i++)
		r = find_below(ev, set, list, false, str_from(files.list[i].file.path), hidden, &too_large);
	ev->shell->finder = NULL;
	ev->doubt = r           ? "files that it hides are below a directory of this command"
		    : too_large ? "a directory of this command is too large to look for files that it hides"
				: NULL;
	return r ? r : too_large ? any : NULL;
}

static const struct rule *shell_suspects(struct evaluation *ev, const struct rule_set *set, enum rule_list list)
{
	const struct rule *r = suspect_command(ev, set, list);

	if (!r && ev->shell->mentions.too_many) {
		r = shell_any_path_rule(set, list, false);
		ev->doubt = "it has too many words to look for files among them";
	}
	for (size_t i = 0; i < ev->shell->form_count && !r; i++) {
		const struct shell_command *c = &ev->shell->forms[i];
		r = suspect_reader(ev, set, list, c);
		for (size_t n = 0; n < c->redirect_count && !r; n++) {
			const struct shell_redirect *to = &c->redirects[n];
			bool unknown = to->writes_file && !to->target.literal && !to->target.tilde &&
				       !memchr(to->target.text.p, '/', to->target.text.n);
			r = unknown ? shell_any_path_rule(set, list, true) : NULL;
			ev->doubt = r ? "the file that it writes is known only when it runs" : ev->doubt;
		}
	}
	return r;
}

static bool command_fits(struct evaluation *ev, const struct rule_set *set, const struct shell_command *c)
{
	struct shell_command s = shell_strip_for_allow(c);
	struct command_text text = shell_rule_text(ev, &s);
	struct shell_command redirects = { .redirects = c->redirects, .redirect_count = c->redirect_count };
	struct operands files = { .earlier = &ev->shell->files };
	size_t first;
	const struct shell_program *program = shell_find_program(&s, &first);
	bool reader = program && (program->flags & PROGRAM_READS);
	bool writes = false;

	operands_add(&files, &ev->arena, &redirects, ev->shell->cwds);
	for (size_t i = 0; i < files.count; i++)
		writes = writes || writes_file(&files.list[i]);
	for (size_t i = 0; i < set->limits.count; i++) {
		const struct rule *r = set->limits.list[i];
		if (strcmp(r->tool, ev->tool) != 0)
			continue;
		if (rule_matches_input(r, ev->use.input))
			return true;
		bool exact = r->kind == RULE_COMMAND && r->command.shape == COMMAND_EXACT;
		if (r->kind != RULE_COMMAND || c->hides || s.assignment_count || (shell_needs_exact_rule(c) && !exact))
			continue;
		/* A program that reads is named for reading, unless the limit has options. */
		if (!exact && (writes || (reader && !shell_is_read_only(c) && !str_has(r->command.text, STR(" -")))))
			continue;
		if (command_rule_match(&r->command, &text))
			return true;
	}
	return false;
}

static bool shell_fits(struct evaluation *ev, const struct rule_set *set)
{
	const struct shell_script *script = &ev->shell->script;

	for (size_t i = 0; i < script->count; i++)
		if (!command_fits(ev, set, &script->commands[i]))
			return false;
	return script->understood && script->count > 0;
}

/* The kernel keeps a worktree's processes in it; here a plain mistake gets a plain answer. */
static const char *shell_leaves(struct evaluation *ev)
{
	const struct permission *p = ev->p;

	while (p && !p->write_root)
		p = p->parent;
	for (size_t i = 0; p && p->main_checkout && i < ev->shell->file_count; i++) {
		const struct operand *o = &ev->shell->files.list[i];
		if (writes_file(o) && o->file.target && path_is_inside(o->file.target, p->main_checkout) &&
		    eval_outside_worktree(ev, &o->file))
			return eval_outside_worktree(ev, &o->file);
	}
	return NULL;
}

static const char *shell_plans(struct evaluation *ev)
{
	for (size_t i = 0; i < ev->shell->file_count; i++)
		if (ev->shell->files.list[i].use == OPERAND_REDIRECT)
			return ev->shell->files.list[i].file.path;
	return NULL;
}

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

/* Everything in the root, in the home directory, or in a directory that was added; of the working directory, * itself. */
static bool takes_all_of(struct evaluation *ev, const struct operand *o)
{
	const struct tool_env *env = ev->use.env;
	const char *home = getenv("HOME");
	const char *dir = o->file.path;
	const char *slash = o->text.n ? memrchr(o->text.p, '/', o->text.n) : NULL;
	size_t from = slash ? (size_t)(slash + 1 - o->text.p) : 0;

	if (!memchr(o->text.p + from, '*', o->text.n - from))
		return false;
	if (!strcmp(dir, "/") || (home && !strcmp(dir, home)))
		return true;
	bool whole = str_is((struct str){ o->text.p + from, o->text.n - from }, "*");
	for (size_t i = !whole; env && env->dirs && env->dirs[0] && env->dirs[i]; i++)
		if (!strcmp(dir, env->dirs[i]))
			return true;
	return false;
}

static const char *shell_danger(struct evaluation *ev, bool *ret_critical)
{
	struct shell_case *k = ev->shell;

	for (size_t i = 0; i < k->form_count; i++) {
		const struct shell_command *c = &k->forms[i];
		struct operands files = { 0 };
		if (shell_runs(c, "rm|rmdir"))
			operands_add(&files, &ev->arena, c, k->cwds);
		for (size_t n = 0; n < files.count; n++) {
			const struct operand *o = &files.list[n];
			bool named = path_is_critical(o->file.path, o->from) ||
				     (o->file.target && path_is_critical(o->file.target, o->from)) ||
				     (!o->known && may_be_root(o->text));
			if (o->use != OPERAND_WRITE || !(o->globs ? takes_all_of(ev, o) : named))
				continue;
			*ret_critical = true;
			return arena_printf(&ev->arena, "Dangerous removal: " STR_FMT " of " STR_FMT ".",
					    STR_ARG(c->words[0].text), STR_ARG(o->text));
		}
	}
	for (size_t i = 0; i < k->file_count; i++) {
		const struct operand *o = &k->files.list[i];
		if (writes_file(o) && eval_is_protected(ev, &o->file))
			return arena_printf(&ev->arena, "%s is a sensitive file: it needs approval each time.",
					    o->file.path);
	}
	if (!k->mentioned)
		shell_find_mentions(ev);
	for (size_t i = 0; i < k->mentions.count; i++) {
		const struct mention *m = &k->mentions.list[i];
		if (m->writes && eval_is_protected(ev, &m->file))
			return arena_printf(&ev->arena, "%s is a sensitive file: it needs approval each time.",
					    m->file.path);
	}
	return NULL;
}

const struct tool_checker check_shell = {
	.prepare = shell_prepare,
	.matches = shell_matches,
	.suspects = shell_suspects,
	.fits = shell_fits,
	.leaves = shell_leaves,
	.plans = shell_plans,
	.danger = shell_danger,
	.passes = shell_passes,
};
