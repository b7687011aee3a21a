/* SPDX-License-Identifier: MIT
 * shell_read_only.c - commands that change nothing and run nothing. shell_options.c says which programs these are, and with
 * which options; here are the checks of operands that matter, and of the words that an expansion may become. */
#include <ctype.h>
#include "guard/shell/shell_options.h"
#include "guard/shell/shell_command.h"
#include "guard/shell/shell_parse_int.h"

/* The forms of git that only read. Options before the subcommand can name another repository or set what git
 * runs, so nearly all of them take a command out. The lists below leave out what
 *
 *     runs a program      --ext-diff --textconv --filters --show-signature --remerge-diff, -O of grep
 *     enters submodules   --submodule --recurse-submodules: git runs there, by the configuration it finds there
 *     writes              --output
 *     reads other files   --no-index --contents --ignore-revs-file --exclude-from --file, -O of diff, -S of blame
 *
 * To add an option: look at how this subcommand reads it. Most take --name VALUE as well, but log has only --format=VALUE. */

#define DIFF_LETTERS "p u s R a b w z W D r t c m S: G: I: l: U? M? C? B?"
#define DIFF_WORDS                                                                                                    \
	"patch no-patch unified? raw patch-with-raw patch-with-stat stat? stat-width: stat-name-width: stat-count: "  \
	"stat-graph-width: numstat shortstat dirstat? cumulative dirstat-by-file? compact-summary summary name-only " \
	"name-status color? no-color color-moved? no-color-moved color-moved-ws: no-color-moved-ws word-diff? "       \
	"word-diff-regex: color-words? no-renames rename-empty no-rename-empty check ws-error-highlight: full-index " \
	"binary abbrev? no-abbrev break-rewrites? find-renames? find-copies? find-copies-harder irreversible-delete " \
	"diff-filter: pickaxe-all pickaxe-regex relative? no-relative text ignore-cr-at-eol ignore-space-at-eol "     \
	"ignore-space-change ignore-all-space ignore-blank-lines ignore-matching-lines: inter-hunk-context: "         \
	"function-context exit-code quiet no-ext-diff no-textconv ignore-submodules? src-prefix: dst-prefix: "        \
	"no-prefix default-prefix line-prefix: ita-invisible-in-index ita-visible-in-index minimal patience "         \
	"histogram diff-algorithm: anchored: indent-heuristic no-indent-heuristic output-indicator-new: "             \
	"output-indicator-old: output-indicator-context: cc combined-all-paths "

#define REV_LETTERS "i E F P g #"
#define REV_WORDS                                                                                                     \
	"max-count: skip: since: after: until: before: since-as-filter: author: committer: grep: grep-reflog: "       \
	"all-match invert-grep regexp-ignore-case basic-regexp extended-regexp fixed-strings perl-regexp merges "     \
	"no-merges min-parents? max-parents? no-min-parents no-max-parents first-parent not all branches? tags? "     \
	"remotes? glob: exclude: exclude-first-parent-only reflog walk-reflogs cherry-pick cherry cherry-mark "       \
	"left-only right-only left-right boundary simplify-by-decoration simplify-merges full-history dense sparse "  \
	"ancestry-path? show-pulls date-order author-date-order topo-order reverse no-walk? do-walk pretty? format? " \
	"oneline abbrev-commit no-abbrev-commit encoding? expand-tabs? no-expand-tabs notes? no-notes date: "         \
	"relative-date parents children graph no-graph show-linear-break? merge ignore-missing remove-empty "

#define LOG_LETTERS "n: L: q " REV_LETTERS " " DIFF_LETTERS
#define LOG_WORDS                                                                                                      \
	REV_WORDS DIFF_WORDS "full-diff follow no-follow decorate? no-decorate decorate-refs: decorate-refs-exclude: " \
			     "clear-decorations source mailmap use-mailmap no-mailmap log-size root"

#define LIST_WORDS                                                                                               \
	" contains: no-contains: merged: no-merged: points-at: sort: format: column? no-column color? no-color " \
	"ignore-case"

/* %G? and %(signature) run the program that checks signatures. git reads most options with code of its own: a word with a
 * dash behind -- may still be one, if an option before took the -- for its value. */
static bool check_git_part(const struct shell_part *part, size_t operands)
{
	static const char *const signatures[] = { "%G", "%+G", "%-G", "% G", "signature)", "signature:" };

	if (part->kind == PART_OPERAND || (part->kind == PART_PATTERN && !*part->marks))
		return part->text.n < 2 || part->text.p[0] != '-';
	for (size_t i = 0; i < COUNT_OF(signatures); i++)
		if (part->kind == PART_TEXT && str_has(part->text, str_from(signatures[i])))
			return false;
	return true;
}

#define GIT(name, flags, letters, words)                                         \
	{                                                                        \
		name, PROGRAM_READS | (flags), 0, letters, words, check_git_part \
	}
#define BARE PROGRAM_NO_OPERANDS

/* A name of two words stands before its first word alone. */
static const struct shell_program subcommands[] = {
	GIT("blame", 0, "b f n p c t l s e w C? M? L:",
	    "incremental root show-stats progress no-progress score-debug show-name show-number porcelain line-porcelain "
	    "show-email ignore-rev: color-lines color-by-age minimal abbrev? date: since? first-parent reverse"),
	GIT("branch", BARE, "a r v i l+", "all remotes verbose show-current list+ abbrev? no-abbrev" LIST_WORDS),
	GIT("cat-file", 0, "t s p e", "batch? batch-check? batch-all-objects buffer unordered use-mailmap"),
	GIT("check-ignore", 0, "q v z n", "quiet verbose non-matching no-index stdin"),
	GIT("config", BARE, "l+ z",
	    "get+ get-all+ get-regexp+ get-urlmatch+ list+ null name-only show-origin show-scope type: bool int path "
	    "bool-or-int default: global local system worktree includes no-includes"),
	GIT("count-objects", BARE, "v H", "verbose human-readable"),
	GIT("describe", 0, "",
	    "all tags contains abbrev? candidates: exact-match long match: exclude: always first-parent dirty? broken?"),
	GIT("diff", 0, "0 1 2 3 q " DIFF_LETTERS, DIFF_WORDS "cached staged merge-base base ours theirs"),
	GIT("diff-index", 0, DIFF_LETTERS, DIFF_WORDS "cached merge-base"),
	GIT("diff-tree", 0, "v " DIFF_LETTERS,
	    DIFF_WORDS "root pretty? format? oneline no-commit-id always merge-base"),
	GIT("for-each-ref", 0, "s p", "count: shell perl python tcl" LIST_WORDS),
	{ "grep", PROGRAM_READS, 1, "a I i w v h H E G F P n l L c z o p W q r A: B: C: m: e:! f<! #",
	  "cached untracked exclude-standard no-exclude-standard text ignore-case word-regexp invert-match full-name "
	  "extended-regexp basic-regexp fixed-strings perl-regexp line-number column files-with-matches name-only "
	  "files-without-match count null only-matching color? no-color break heading show-function function-context "
	  "context: after-context: before-context: threads: and or not all-match quiet max-count: max-depth: recursive "
	  "no-recursive",
	  check_git_part },
	GIT("log", 0, LOG_LETTERS, LOG_WORDS),
	GIT("ls-files", 0, "c d o i s u k m z t v f x:",
	    "cached deleted others ignored stage unmerged killed modified directory no-empty-directory exclude: "
	    "exclude-standard error-unmatch with-tree: full-name abbrev? eol deduplicate sparse format: resolve-undo"),
	GIT("ls-tree", 0, "d r t l z", "long name-only name-status object-only full-name full-tree abbrev? format:"),
	GIT("merge-base", 0, "a", "all octopus is-ancestor fork-point independent"),
	GIT("name-rev", 0, "", "tags name-only refs: exclude: all always undefined no-undefined"),
	GIT("reflog show", 0, LOG_LETTERS, LOG_WORDS),
	GIT("reflog", BARE, LOG_LETTERS, LOG_WORDS),
	GIT("remote get-url", 0, "", "push all"),
	GIT("remote", BARE, "v", "verbose"),
	GIT("rev-list", 0, "n: " REV_LETTERS,
	    REV_WORDS "count timestamp header quiet objects objects-edge no-object-names disk-usage? no-commit-header "
		      "commit-header abbrev? no-abbrev bisect bisect-all"),
	GIT("rev-parse", 0, "q",
	    "show-toplevel show-cdup show-prefix show-superproject-working-tree git-dir git-common-dir absolute-git-dir "
	    "git-path: is-inside-git-dir is-inside-work-tree is-bare-repository is-shallow-repository abbrev-ref? short? "
	    "verify quiet symbolic symbolic-full-name all branches? tags? remotes? glob? exclude? disambiguate? revs-only "
	    "no-revs flags no-flags default: sq not path-format? show-object-format? since? after? until? before?"),
	GIT("shortlog", 0, "n s e c w? " REV_LETTERS, "numbered summary email committer group: " REV_WORDS),
	GIT("show", 0, LOG_LETTERS, LOG_WORDS),
	GIT("show-ref", 0, "q d s?", "head heads tags branches verify quiet dereference hash? abbrev?"),
	GIT("stash list", 0, LOG_LETTERS, LOG_WORDS),
	GIT("stash show", 0, DIFF_LETTERS, DIFF_WORDS "include-untracked no-include-untracked only-untracked"),
	GIT("status", 0, "s b v z u? M?",
	    "short branch show-stash porcelain? long verbose null untracked-files? ignored? ignore-submodules? column? "
	    "no-column ahead-behind no-ahead-behind renames no-renames find-renames?"),
	GIT("tag", BARE, "l+ n? i", "list+" LIST_WORDS),
	GIT("version", BARE, "", "build-options"),
	GIT("whatchanged", 0, LOG_LETTERS, LOG_WORDS),
	GIT("worktree list", BARE, "v z", "verbose porcelain"),
};

const struct shell_program *shell_find_git(const struct shell_command *c, size_t *ret_first)
{
	size_t at = 1;

	while (at < c->word_count && (str_is(c->words[at].text, "--no-pager") || str_is(c->words[at].text, "-P")))
		at++;
	for (size_t i = 0; i < COUNT_OF(subcommands); i++) {
		struct str name = str_from(subcommands[i].name);
		bool same = true;
		size_t n = at;
		for (; same && name.p; n++)
			same = n < c->word_count && str_eq(str_cut(&name, ' '), c->words[n].text);
		*ret_first = n;
		if (same)
			return &subcommands[i];
	}
	return NULL;
}

/* Scripts of sed that run nothing and, if they are to read only, neither write nor read files:
 *
 *     script := command { (";" | newline) command }      command := [ address [ "," address ] ] [ "!" ] verb
 *     address := number | "$" | "/" text "/" | "\\" c text c
 *     verb := one of =dDFgGhHlLnNpPqQxz, or s/text/text/flags, y/text/text/, : b t T and a label, a c i and a text, r R w W and a file
 *
 * Not here: e, and the flag e. */

static bool skip_delimited(struct str *s, char delimiter)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->p[i] == '\\') {
			i++;
		} else if (s->p[i] == '\n') {
			return false;
		} else if (s->p[i] == delimiter) {
			*s = str_tail(*s, i + 1);
			return true;
		}
	}
	return false;
}

static void skip_any(struct str *s, const char *set)
{
	while (s->n && char_in(s->p[0], set))
		*s = str_tail(*s, 1);
}

/* To the end of a line; text: of one that no backslash continues. */
static void skip_line(struct str *s, bool text)
{
	for (; s->n && s->p[0] != '\n'; *s = str_tail(*s, 1))
		if (text && s->p[0] == '\\' && s->n > 1)
			*s = str_tail(*s, 1);
}

static bool skip_address(struct str *s)
{
	bool other = str_starts(*s, STR("\\")) && s->n > 1;

	if (!other && !str_starts(*s, STR("/"))) {
		skip_any(s, "0123456789$~+");
		return true;
	}
	char delimiter = s->p[other];
	*s = str_tail(*s, 1 + other);
	if (delimiter == '\n' || delimiter == '\\' || !skip_delimited(s, delimiter))
		return false;
	skip_any(s, "IM");
	return true;
}

static bool skip_replacement(struct str *s, const char *flags)
{
	char delimiter = s->n ? s->p[0] : '\\';

	if (delimiter == '\\' || delimiter == '\n')
		return false;
	*s = str_tail(*s, 1);
	if (!skip_delimited(s, delimiter) || !skip_delimited(s, delimiter))
		return false;
	skip_any(s, flags);
	return true;
}

static bool skip_command(struct str *s, bool reads)
{
	if (!skip_address(s))
		return false;
	if (str_starts(*s, STR(","))) {
		*s = str_tail(*s, 1);
		if (!skip_address(s))
			return false;
	}
	skip_any(s, " \t!");
	if (!s->n)
		return false;
	char verb = s->p[0];
	*s = str_tail(*s, 1);
	if (verb == 's' || verb == 'y') {
		if (!skip_replacement(s, verb == 's' ? "gpiImM0123456789" : ""))
			return false;
		bool writes = verb == 's' && str_starts(*s, STR("w"));
		if (writes)
			skip_line(s, false);
		return !(writes && reads);
	}
	if (char_in(verb, "aci#v") || (!reads && char_in(verb, "rRwW"))) {
		skip_line(s, char_in(verb, "aci"));
		return true;
	}
	if (char_in(verb, ":bTt")) { /* what follows the blank behind a label is a command */
		skip_any(s, " \t");
		while (s->n && !char_in(s->p[0], " \t;\n}"))
			*s = str_tail(*s, 1);
	}
	if (char_in(verb, "lLqQ"))
		skip_any(s, " \t0123456789");
	return char_in(verb, ":=bdDFgGhHlLnNpPqQtTxz{");
}

static bool sed_script_fits(struct str script, bool reads)
{
	for (;;) {
		skip_any(&script, " \t\n;}");
		if (!script.n)
			return true;
		if (!skip_command(&script, reads))
			return false;
		bool opens = script.p[-1] == '{'; /* a block: its first command follows at once */
		skip_any(&script, " \t");
		if (script.n && !opens && !char_in(script.p[0], ";\n}#"))
			return false;
	}
}

bool shell_sed_may_run(struct str script)
{
	return !sed_script_fits(script, false);
}

bool check_sed_part(const struct shell_part *part, size_t operands)
{
	return part->kind == PART_PATTERN ? sed_script_fits(part->text, true) : part->kind != PART_READ;
}

/* An operand that is not a format sets the clock. */
bool check_date_part(const struct shell_part *part, size_t operands)
{
	return part->kind != PART_PATTERN || str_starts(part->text, STR("+"));
}

/* import, include and modulemeta read files that the program names; env and $ENV are the environment. A field (.env) is
 * none of these. jq takes its options apart with code of its own, so a word with a dash may be an option behind -- too. */
bool check_jq_part(const struct shell_part *part, size_t operands)
{
	static const char names[] = "import|include|modulemeta|env|ENV";
	struct str s = part->text;

	if (part->kind == PART_OPERAND || part->kind == PART_PATTERN)
		if (s.n > 1 && s.p[0] == '-')
			return false;
	for (size_t i = 0; part->kind == PART_PATTERN && i < s.n;) {
		size_t from = i;
		while (i < s.n && (isalnum((unsigned char)s.p[i]) || s.p[i] == '_'))
			i++;
		bool field = from && s.p[from - 1] == '.' && !(from > 1 && s.p[from - 2] == '.');
		if (!field && str_is_one_of((struct str){ s.p + from, i - from }, names))
			return false;
		i += i == from;
	}
	return true;
}

/* ps e shows the environment of processes. */
bool check_ps_part(const struct shell_part *part, size_t operands)
{
	return part->kind != PART_PATTERN ||
	       (!memchr(part->text.p, 'e', part->text.n) && !memchr(part->text.p, 'E', part->text.n));
}

/* Programs listen to variables in capitals, and to those that are in the environment already. */
bool shell_variable_is_own(struct str name)
{
	AUTO_FREE char *text = xstrndup(name.p, name.n);

	for (size_t i = 0; i < name.n; i++)
		if (name.p[i] >= 'A' && name.p[i] <= 'Z')
			return false;
	return !str_ends(name, STR("_proxy")) && !str_starts(name, STR("npm_")) && (!getenv(text) || str_is(name, "_"));
}

bool check_read_part(const struct shell_part *part, size_t operands)
{
	return part->kind == PART_OPTION || shell_variable_is_own(part->text);
}

/* @FILE is replaced by what is in the file. */
bool check_strings_part(const struct shell_part *part, size_t operands)
{
	return !str_starts(part->word->text, STR("@"));
}

/* The second operand is written. */
bool check_uniq_part(const struct shell_part *part, size_t operands)
{
	return part->kind != PART_OPERAND || !operands;
}

/* Programs that only say what they are when this is all that they are asked. Not here are those that files of the directory
 * choose, and that may come from there or from the network: cargo and rustc (rust-toolchain.toml), go (go.mod), npm, pnpm
 * and yarn (packageManager, .yarnrc). Tools such as pyenv and nvm choose among what is installed. */
static const char tell_version[] = "clang|cmake|docker|gcc|git|java|make|node|perl|php|pip|pip3|python|python3|ruby";

bool shell_is_read_only(const struct shell_command *c)
{
	struct shell_command s = shell_strip_for_allow(c);
	size_t first;

	if (c->hides)
		return false;
	for (size_t i = 0; !s.word_count && i < s.assignment_count; i++)
		if (!shell_variable_is_own(s.assignments[i].name) && !shell_variable_is_harmless(s.assignments[i].name))
			return false;
	if (!s.word_count)
		return true;
	if (s.assignment_count || !s.words[0].literal)
		return false;
	const struct shell_program *p = shell_find_program(&s, &first);
	if (!p || !(p->flags & PROGRAM_READS))
		return s.word_count == 2 && str_is_one_of(s.words[0].text, tell_version) &&
		       str_is(s.words[1].text, "--version");
	if (!p->letters)
		return true;
	bool known = !shell_gets_more_words(c, &s);
	for (size_t i = 1; i < s.word_count; i++) {
		const struct shell_word *w = &s.words[i];
		known = known && (w->literal || (w->tilde && !w->globs && !w->splits));
	}
	return (known || (p->flags & PROGRAM_OPEN)) && shell_options_are_harmless(p, &s, first);
}

bool shell_takes_no_files(const struct shell_command *c)
{
	size_t first;
	const struct shell_program *p = shell_find_program(c, &first);

	return !c->word_count || (p && (p->flags & PROGRAM_READS) && p->texts == PROGRAM_NO_FILES && !p->letters);
}
