/* SPDX-License-Identifier: MIT
 * shell_options.c - takes a command line apart by the options that are known of its program. */
#include "guard/shell/shell_options.h"
#include <ctype.h>

/* The programs whose options and operands are known: those that only read, those that acceptEdits lets
 * pass, and others for whose files there may be rules.
 *
 * To add a program that reads: leave out each option that writes, runs or connects, that reads a list of file names
 * (--files0-from), or that follows links in directories (grep -R); mark options whose value is a file with <. An option that
 * is not listed is asked about. */

#define READS    PROGRAM_READS
#define OPEN     (PROGRAM_READS | PROGRAM_OPEN)
#define EDITS    (PROGRAM_EDITS | PROGRAM_WRITES)
#define NO_FILES PROGRAM_NO_FILES

#define GREP_LETTERS "a b c E F G h H i I l L n o P q r s T U v w x y z Z A: B: C: d: D: m: e:! f<! #"
#define GREP_WORDS                                                                                                     \
	"extended-regexp fixed-strings basic-regexp perl-regexp regexp:! file<! ignore-case no-ignore-case "           \
	"word-regexp line-regexp null-data no-messages invert-match max-count: byte-offset line-number line-buffered " \
	"with-filename no-filename label: only-matching quiet silent binary-files: text directories: devices: "        \
	"recursive include: exclude: exclude-from< exclude-dir: files-without-match files-with-matches count "         \
	"initial-tab null before-context: after-context: context: group-separator: no-group-separator color? colour? " \
	"binary help version"
#define SUM_WORDS "binary tag text zero help version"

static const struct shell_program programs[] = {
	/* No option of these reads or writes a file, runs or connects. */
	{ ":|arch|basename|break|continue|dirname|echo|exit|expr|false|free|groups|id|nproc|printf|pwd|"
	  "return|seq|set|shift|sleep|tr|true|type|uname|uptime|which|whoami",
	  READS, NO_FILES, NULL, NULL, NULL },
	{ "[|test", READS, 0, NULL, NULL, NULL },
	/* What these do is not judged by their options. */
	{ "chgrp|chmod|chown", PROGRAM_WRITES, 1, NULL, NULL, NULL },
	{ "install|ln|rsync|shred|tar|tee|truncate", PROGRAM_WRITES, 0, NULL, NULL, NULL },
	{ "less|more|xxd|zcat", 0, 0, NULL, NULL, NULL },
	{ "awk", 0, 1, "F: v: f<!", "", NULL },
	{ "b2sum", OPEN, 0, "b t z l:", "length: " SUM_WORDS, NULL },
	{ "base64", READS, 0, "d D i w:", "decode ignore-garbage wrap: help version", NULL },
	{ "cat", OPEN, 0, "A b e E n s t T u v",
	  "show-all number-nonblank show-ends number squeeze-blank show-tabs show-nonprinting help version", NULL },
	{ "cd", OPEN, 0, "L P e", "", NULL },
	{ "cksum", OPEN, 0, "z a: l:", "algorithm: length: untagged debug " SUM_WORDS, NULL },
	{ "cmp", OPEN, 0, "b l s i: n:", "print-bytes verbose quiet silent ignore-initial: bytes: help version", NULL },
	{ "column", OPEN, 0, "t d e J L x n: O: N: l: E: H: R: T: W: r: i: p: c: o: s:",
	  "table table-name: table-order: table-columns: table-columns-limit: table-noextreme: table-noheadings "
	  "table-header-repeat table-hide: table-right: table-truncate: table-wrap: keep-empty-lines json tree: tree-id: "
	  "tree-parent: output-width: output-separator: separator: fillrows help version",
	  NULL },
	{ "comm", OPEN, 0, "1 2 3 z", "check-order nocheck-order output-delimiter: total zero-terminated help version",
	  NULL },
	{ "command", READS | PROGRAM_NO_OPERANDS, NO_FILES, "v+ V+", "", NULL },
	/* Links in the place of files are copied as links, and none is made: -l -s -L -H are left out. */
	{ "cp", EDITS, 0, "a d f i n p P r R u v x t>",
	  "archive force interactive no-clobber no-dereference recursive update? verbose preserve? no-preserve: "
	  "target-directory> one-file-system attributes-only reflink? sparse: remove-destination "
	  "strip-trailing-slashes help version",
	  NULL },
	{ "cut", OPEN, 0, "n s z b: c: d: f:",
	  "bytes: characters: delimiter: fields: complement only-delimited output-delimiter: zero-terminated help version",
	  NULL },
	{ "date", READS, NO_FILES, "u R d: r< I?",
	  "utc universal debug date: reference< iso-8601? rfc-email rfc-3339: resolution help version",
	  check_date_part },
	{ "dd", PROGRAM_NO_DASH, 0, "",
	  "if< of> ibs: obs: bs: cbs: skip: seek: count: iseek: oseek: conv: iflag: oflag: status:", NULL },
	{ "df", OPEN, 0, "a h H i k l P T v B: t: x:",
	  "all block-size: human-readable si inodes local no-sync output? portability total type: print-type exclude-type: "
	  "help version",
	  NULL },
	/* Without -r: diff follows the links that it finds in directories. */
	{ "diff", READS, 0, "a b B c d e E i n N p q s t T u w y Z C: U: F: I: L: W: x: X< #",
	  "normal brief report-identical-files context? unified? ed rcs side-by-side width: left-column "
	  "suppress-common-lines show-c-function show-function-line: label: expand-tabs initial-tab tabsize: "
	  "suppress-blank-empty no-dereference new-file unidirectional-new-file exclude: exclude-from< from-file< to-file< "
	  "ignore-case ignore-tab-expansion ignore-trailing-space ignore-space-change ignore-all-space ignore-blank-lines "
	  "ignore-matching-lines: text strip-trailing-cr minimal horizon-lines: speed-large-files color? palette: "
	  "old-line-format: new-line-format: unchanged-line-format: line-format: help version",
	  NULL },
	{ "du", OPEN, 0, "0 a b c h H k l m P s S x B: d: t: X<",
	  "null all apparent-size block-size: bytes total max-depth: human-readable inodes count-links no-dereference "
	  "separate-dirs si summarize threshold: time? time-style: exclude-from< exclude: one-file-system help version",
	  NULL },
	{ "egrep", OPEN, 1, GREP_LETTERS, GREP_WORDS, NULL },
	{ "expand", OPEN, 0, "i t: #", "initial tabs: help version", NULL },
	{ "fgrep", OPEN, 1, GREP_LETTERS, GREP_WORDS, NULL },
	{ "file", READS, 0, "b i I k L h n N r 0 E e: F:",
	  "brief mime mime-type mime-encoding apple extension keep-going dereference no-dereference no-buffer no-pad raw "
	  "print0 exclude: exclude-quiet: separator: help version",
	  NULL },
	{ "find", READS | PROGRAM_ONE_DASH, 0, "",
	  "H P O0 O1 O2 O3 depth d mindepth: maxdepth: mount xdev daystart noleaf ignore_readdir_race warn nowarn "
	  "regextype: a and o or not true false amin: anewer< atime: cmin: cnewer< ctime: empty executable fstype: gid: "
	  "group: ilname: iname: inum: ipath: iregex: iwholename: links: lname: mmin: mtime: name: newer< newermt: newerat: "
	  "newerct: nogroup nouser path: perm: readable regex: samefile< size: type: uid: used: user: wholename: writable "
	  "xtype: print print0 printf: ls prune quit E",
	  NULL },
	{ "fold", OPEN, 0, "b s w: #", "bytes spaces width: help version", NULL },
	{ "grep", OPEN, 1, GREP_LETTERS, GREP_WORDS, NULL },
	{ "head", OPEN, 0, "q v z c: n: #", "bytes: lines: quiet silent verbose zero-terminated help version", NULL },
	{ "hexdump", OPEN, 0, "b c C d o x v e: n: s: L?",
	  "one-byte-octal one-byte-char canonical two-bytes-decimal two-bytes-octal two-bytes-hex color? format: length: "
	  "skip: no-squeezing help version",
	  NULL },
	{ "hostname", READS | PROGRAM_NO_OPERANDS, NO_FILES, "a d f i I s",
	  "alias domain fqdn long ip-address all-ip-addresses short help version", NULL },
	{ "jq", READS, 1, "n R s c r j a C M S e",
	  "null-input raw-input slurp compact-output raw-output raw-output0 join-output ascii-output color-output "
	  "monochrome-output sort-keys tab indent: unbuffered stream stream-errors seq exit-status arg:: argjson:: "
	  "slurpfile:< rawfile:< args jsonargs help version",
	  check_jq_part },
	/* Without -L, which shows what links in the directory lead to. */
	{ "ls", OPEN, 0, "1 a A b B c C d D f F g G h H i k l m n N o p q Q r R s S t u U v x X Z I: T: w:",
	  "all almost-all author escape block-size: ignore-backups color? directory dired classify? file-type format: "
	  "full-time group-directories-first no-group human-readable si dereference-command-line "
	  "dereference-command-line-symlink-to-dir hide: hyperlink? indicator-style: inode ignore: kibibytes "
	  "numeric-uid-gid literal hide-control-chars show-control-chars quote-name quoting-style: reverse recursive size "
	  "sort: time: time-style: tabsize: width: context zero help version",
	  NULL },
	{ "md5sum|sha1sum|sha256sum|sha512sum", OPEN, 0, "b t z", SUM_WORDS, NULL },
	{ "mkdir", EDITS, 0, "p v m:", "parents verbose mode: help version", NULL },
	{ "mv", EDITS, 0, "f i n u v t>",
	  "force interactive no-clobber update? verbose target-directory> strip-trailing-slashes help version", NULL },
	{ "nl", OPEN, 0, "p b: d: f: h: i: l: n: s: v: w:",
	  "body-numbering: section-delimiter: footer-numbering: header-numbering: line-increment: join-blank-lines: "
	  "number-format: no-renumber number-separator: starting-line-number: number-width: help version",
	  NULL },
	{ "od", OPEN, 0, "v a b c d f i l o s x A: j: N: S: t: w?",
	  "address-radix: endian: skip-bytes: read-bytes: strings? format: output-duplicates width? help version",
	  NULL },
	{ "paste", OPEN, 0, "s z d:", "delimiters: serial zero-terminated help version", NULL },
	{ "ps", READS, NO_FILES, "A a c d e f F H j l L m T w y C: o: O: p: q:",
	  "cols: columns: cumulative deselect forest format: headers lines: no-headers no-headings pid: ppid: "
	  "quick-pid: rows: sort: width: help version",
	  check_ps_part },
	{ "read", READS, NO_FILES, "e r s a: d: i: n: N: p: t: u:", "", check_read_part },
	{ "readlink", OPEN, 0, "f e m n q s v z",
	  "canonicalize canonicalize-existing canonicalize-missing no-newline quiet silent verbose zero help version",
	  NULL },
	{ "realpath", OPEN, 0, "e m L P q s z",
	  "canonicalize-existing canonicalize-missing logical physical quiet relative-to< relative-base< strip no-symlinks "
	  "zero help version",
	  NULL },
	{ "rev", OPEN, 0, "", "help version", NULL },
	{ "rg", READS, 1, "a c F H h i I l n N o p P q s S u U v w x 0 . A: B: C: d: E: g: j: m: M: r: t: T: e:! f<!",
	  "regexp:! file<! files! type-list! after-context: before-context: context: byte-offset binary no-binary "
	  "block-buffered line-buffered case-sensitive ignore-case smart-case color: colors: column no-column "
	  "context-separator: no-context-separator count count-matches crlf encoding: engine: "
	  "field-context-separator: field-match-separator: files-with-matches files-without-match fixed-strings glob: "
	  "iglob: glob-case-insensitive heading no-heading hidden no-hidden ignore-file< include-zero invert-match json "
	  "line-number no-line-number line-regexp max-columns: max-columns-preview max-count: max-depth: max-filesize: "
	  "mmap no-mmap multiline multiline-dotall no-config no-follow no-ignore no-ignore-dot no-ignore-exclude "
	  "no-ignore-files no-ignore-global no-ignore-parent no-ignore-vcs no-messages no-require-git null null-data "
	  "one-file-system only-matching passthru path-separator: pcre2 pretty quiet replace: sort: sortr: stats text "
	  "threads: trim type: type-not: type-add: type-clear: unrestricted vimgrep with-filename no-filename word-regexp "
	  "help version",
	  NULL },
	{ "rm", EDITS, 0, "d f i I r R v",
	  "force interactive? one-file-system preserve-root? recursive dir verbose help version", NULL },
	{ "rmdir", EDITS, 0, "v", "ignore-fail-on-non-empty verbose help version", NULL },
	{ "sed", READS, 1, "n E r s u z e:! f<!",
	  "quiet silent expression:! file<! regexp-extended separate unbuffered null-data posix sandbox help version",
	  check_sed_part },
	{ "sort", READS, 0, "b d f g i M h n R r V c C m s u z k: S: t: o> T>",
	  "ignore-leading-blanks dictionary-order ignore-case general-numeric-sort ignore-nonprinting month-sort "
	  "human-numeric-sort numeric-sort random-sort reverse sort: version-sort batch-size: check? debug key: merge "
	  "stable buffer-size: field-separator: parallel: unique zero-terminated output> temporary-directory> help version",
	  NULL },
	{ "stat", OPEN, 0, "L f t x c:", "dereference file-system terse cached: format: printf: help version", NULL },
	{ "strings", READS, 0, "a d f w o n: t: T: e: U: s: #",
	  "all data print-file-name bytes: radix: include-all-whitespace target: encoding: unicode: output-separator: help "
	  "version",
	  check_strings_part },
	{ "tac", OPEN, 0, "b r s:", "before regex separator: help version", NULL },
	{ "tail", OPEN, 0, "f F q r v z c: n: s: #",
	  "bytes: follow? lines: max-unchanged-stats: pid: quiet silent retry sleep-interval: verbose zero-terminated help "
	  "version",
	  NULL },
	{ "touch", EDITS, 0, "a c f h m d: t: r<", "no-create date: no-dereference reference< time: help version",
	  NULL },
	/* -R writes files too: it runs tree in the directories at the limit of depth. */
	{ "tree", READS | PROGRAM_APART, 0, "a A C d D f F g h i J n N p Q q r s S t u U v x X L: P: I: o>",
	  "dirsfirst filesfirst du noreport prune si inodes device matchdirs ignore-case gitignore nolinks metafirst "
	  "filelimit? charset? sort? timefmt? help version",
	  NULL },
	{ "unexpand", OPEN, 0, "a t: #", "all first-only tabs: help version", NULL },
	{ "ulimit|umask", READS | PROGRAM_NO_OPERANDS, NO_FILES, "a c d e f H i l m n p q r s S t u v x", "", NULL },
	{ "uniq", READS, 0, "c d D i u z f: s: w: #",
	  "count repeated all-repeated? skip-fields: group? ignore-case skip-chars: unique zero-terminated check-chars: help "
	  "version",
	  check_uniq_part },
	{ "wc", OPEN, 0, "c l L m w", "bytes chars lines max-line-length words total: help version", NULL },
	{ "zgrep", 0, 1, GREP_LETTERS, GREP_WORDS, NULL },
};

const struct shell_program *shell_find_program(const struct shell_command *c, size_t *ret_first)
{
	if (!c->word_count || !c->words[0].literal)
		return NULL;
	*ret_first = 1;
	if (str_is(c->words[0].text, "git"))
		return shell_find_git(c, ret_first);
	for (size_t i = 0; i < COUNT_OF(programs); i++)
		if (str_is_one_of(c->words[0].text, programs[i].name))
			return &programs[i];
	return NULL;
}

#define VALUE_MARKS ":?<>"
#define MARKS       VALUE_MARKS "!+"

static const char *find_word(const char *words, struct str name)
{
	struct str rest = str_from(words);

	while (rest.p) {
		struct str row = str_cut(&rest, ' ');
		size_t n = 0;
		while (n < row.n && !char_in(row.p[n], MARKS))
			n++;
		if (n && str_eq((struct str){ row.p, n }, name))
			return row.p + n;
	}
	return NULL;
}

static bool is_number(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] < '0' || s.p[i] > '9')
			return false;
	return s.n > 0;
}

static bool has_mark(const char *marks, char mark)
{
	while (char_in(*marks, MARKS))
		if (*marks++ == mark)
			return true;
	return false;
}

/* A value that is missing is the program's to complain about. */
static bool next_value(struct shell_parts *p, struct shell_part *ret)
{
	char mark = *p->values++;
	bool pattern = mark == ':' && has_mark(p->marks, '!');

	ret->kind = mark == '<' ? PART_READ : mark == '>' ? PART_WRITE : pattern ? PART_PATTERN : PART_TEXT;
	ret->marks = p->marks;
	if (p->joined.p) {
		ret->word = &p->words[p->next - 1];
		ret->text = p->joined;
		p->joined.p = NULL;
		return true;
	}
	if (mark == '?' || p->next == p->count)
		return false;
	ret->word = &p->words[p->next++];
	ret->text = ret->word->text;
	/* If this program takes no value here after all, that would be an option. Patterns do begin with a dash. */
	bool certain = pattern || (p->program->flags & PROGRAM_ONE_DASH);
	if (!certain && ret->text.n > 1 && ret->text.p[0] == '-' && !is_number(str_tail(ret->text, 1)))
		ret->kind = PART_UNKNOWN;
	return true;
}

static void begin_option(struct shell_parts *p, struct shell_part *ret, const char *marks)
{
	ret->kind = PART_OPTION;
	ret->marks = p->marks = p->values = marks;
}

static void next_letter(struct shell_parts *p, struct shell_part *ret)
{
	char letter = p->letters.p[0];
	const char *letters = p->program->letters;
	const char *at = !letters || char_in(letter, MARKS " #") ? NULL : char_find(letter, letters);
	const char *marks = at && *at ? at + 1 : NULL; /* behind the letter */
	bool has_value = marks && char_in(*marks, VALUE_MARKS);

	p->letters = str_tail(p->letters, 1);
	*ret = (struct shell_part){ PART_UNKNOWN, &p->words[p->next - 1], p->letters, "" };
	if (marks && !(has_value && p->letters.n && (p->program->flags & PROGRAM_APART))) {
		begin_option(p, ret, marks);
		if (has_value && p->letters.n)
			p->joined = p->letters;
		if (has_value)
			p->letters.n = 0;
	} else if (!isalnum((unsigned char)letter)) {
		p->letters.n = 0; /* not a letter: all of it is a value */
	}
}

/* NAME or NAME=VALUE */
static void read_word(struct shell_parts *p, struct shell_part *ret, struct str option)
{
	const char *equals = memchr(option.p, '=', option.n);
	struct str name = { option.p, equals ? (size_t)(equals - option.p) : option.n };
	struct str value = { equals ? equals + 1 : NULL, equals ? option.n - name.n - 1 : 0 };
	const char *marks = p->program->words ? find_word(p->program->words, name) : NULL;

	ret->kind = PART_UNKNOWN;
	ret->text = value.p ? value : STR("");
	if (!marks || (value.p && (!char_in(*marks, VALUE_MARKS) || (p->program->flags & PROGRAM_ONE_DASH))))
		return;
	begin_option(p, ret, marks);
	p->joined = value;
}

bool shell_next_part(struct shell_parts *p, struct shell_part *ret)
{
	const struct shell_program *program = p->program;

	while (p->values && char_in(*p->values, VALUE_MARKS))
		if (next_value(p, ret))
			return true;
	if (p->letters.n) {
		next_letter(p, ret);
		return true;
	}
	if (p->next == p->count)
		return false;
	const struct shell_word *word = &p->words[p->next++];
	struct str text = word->text;
	*ret = (struct shell_part){ PART_OPERAND, word, text, "" };
	if (program->flags & PROGRAM_NO_DASH) {
		read_word(p, ret, text);
	} else if (p->ended || text.n < 2 || text.p[0] != '-') {
		if (p->texts) /* a word that is not known may become anything */
			ret->kind = word->literal || p->texts == PROGRAM_NO_FILES ? PART_PATTERN : PART_OPERAND;
		if (p->texts && p->texts != PROGRAM_NO_FILES)
			p->texts--;
	} else if (program->flags & PROGRAM_ONE_DASH) {
		read_word(p, ret, str_tail(text, 1));
	} else if (str_is(text, "--")) {
		p->ended = true;
		return shell_next_part(p, ret);
	} else if (str_starts(text, STR("--"))) {
		read_word(p, ret, str_tail(text, 2));
	} else if (program->letters && strchr(program->letters, '#') && is_number(str_tail(text, 1))) {
		begin_option(p, ret, "");
	} else {
		p->letters = str_tail(text, 1);
		next_letter(p, ret);
	}
	return true;
}

struct shell_parts shell_parts_of(const struct shell_program *program, const struct shell_command *c, size_t first)
{
	const struct shell_parts start = { .program = program,
					   .words = c->words + first,
					   .count = c->word_count - first };
	struct shell_parts all = start;
	struct shell_parts ret = start;
	struct shell_part part;

	ret.texts = program->texts;
	while (ret.texts && ret.texts != PROGRAM_NO_FILES && shell_next_part(&all, &part))
		if (part.kind == PART_UNKNOWN || has_mark(part.marks, '!'))
			ret.texts = 0;
	return ret;
}

bool shell_options_are_harmless(const struct shell_program *program, const struct shell_command *c, size_t first)
{
	struct shell_parts parts = shell_parts_of(program, c, first);
	struct shell_part part;
	bool unlimited = !(program->flags & PROGRAM_NO_OPERANDS);
	size_t operands = 0;

	while (shell_next_part(&parts, &part)) {
		if (part.kind == PART_UNKNOWN || (part.kind == PART_WRITE && !(program->flags & PROGRAM_WRITES)))
			return false;
		if (program->check && !program->check(&part, operands))
			return false;
		unlimited = unlimited || has_mark(part.marks, '+');
		operands += part.kind == PART_OPERAND || (part.kind == PART_PATTERN && !*part.marks);
	}
	return unlimited || !operands;
}
