/* SPDX-License-Identifier: MIT
 * shell_held.c - commands whose purpose is to read, though no table says all that they do: the kernel holds them to it. */
#include "guard/shell/shell_command.h"
#include "guard/shell/shell_options.h"
#include "guard/shell/shell_parse_int.h"

/* A row is for what people run to look at something. What installs, builds, tests, fetches or asks a server has none: held to reading it
 * would only fail, and the question comes first. In the lists a star at the end stands for any text.
 *
 *     verbs      the first operand is one of these; of two words: the first two are; with $ at its end: no operand follows
 *     options    or one of these stands before the first operand, which may be a program; with HELD_ANYWHERE: or behind it
 *     needs      one of these is among its words, too
 *     changes    none of these is among its words
 *
 * Without verbs and options any words will do. With HELD_INPUT no operands will, too: it reads its program from its standard input. */
enum held_how { HELD_FRONT, HELD_ANYWHERE, HELD_INPUT };

static const struct held_row {
	const char *names, *verbs, *options, *changes, *needs;
	enum held_how how;
} held[] = {
	{ .names =
		  "addr2line|b2sum|base32|base64|basenc|bat|bc|bzcat|bzgrep|bzless|c++filt|cal|cat|cksum|cloc|cmp|"
		  "column|comm|cpp|crc32|cut|dc|df|diff|diffstat|egrep|expand|factor|ffprobe|fgrep|file|flake8|"
		  "fmt|fold|getconf|getent|getfacl|grep|head|hexdump|join|jq|ldd|less|locale|ls|lsattr|lsb_release|"
		  "lscpu|md5sum|more|nl|nm|numfmt|objdump|od|paste|pdffonts|pdfinfo|pgrep|pidof|pkg-config|pr|printenv|"
		  "ps|pstree|readelf|readlink|realpath|rev|rg|sdiff|seq|sha1sum|sha224sum|sha256sum|sha384sum|"
		  "sha512sum|shasum|shellcheck|shuf|size|stat|strings|sum|tac|tail|tokei|tput|tr|tree|tsort|unexpand|"
		  "vmstat|whereis|xxd|xzcat|xzgrep|xzless|yamllint|yes|zcat|zcmp|zdiff|zgrep|zipinfo|zless|zmore|"
		  "zstdcat" },
	{ .names = "7z|7za|7zz", .verbs = "l|t" },
	{ .names = "ar", .verbs = "t*", .options = "-t*", .how = HELD_ANYWHERE },
	/* python3 -m */
	{ .names = "ast|base64|calendar|dis|inspect|json.tool|platform|pyclbr|pycodestyle|pyflakes|site|sysconfig|"
		   "tabnanny|this|timeit|tokenize" },
	{ .names = "tarfile|zipfile", .options = "-l|--list|-t|--test" },
	{ .names = "export|declare|local|readonly|typeset|unset", .changes = "GIT_*" },
	{ .names = "awk|gawk|mawk", .changes = "inplace" },
	{ .names = "bash|dash|sh|zsh", .options = "-n" },
	{ .names = "black|isort|prettier",
	  .options = "--check*|-c|-l|--list-different|--diff|--find-config-path|--file-info",
	  .changes = "-w|--write",
	  .how = HELD_ANYWHERE },
	{ .names = "bundle", .verbs = "check|config get|config list|env|info|list|platform|show" },
	{ .names = "bunzip2|bzip2|gunzip|gzip|lz4|unxz|xz|zstd",
	  .options = "-l|-lv|--list|-t|-tv|--test|-c|-dc|-cd|--stdout|--to-stdout",
	  .how = HELD_ANYWHERE },
	{ .names = "c++|cc|clang|clang++|g++|gcc",
	  .options = "-fsyntax-only|-E|-M|-MM|-v|-dump*|-print*|--print*|--help*|-###|-Q",
	  .changes = "-o*|-c|-S|-MF",
	  .how = HELD_ANYWHERE },
	{ .names = "cargo",
	  .verbs = "locate-project|metadata|pkgid|read-manifest|tree|verify-project|version",
	  .options = "-V|--list" },
	{ .names = "cargo|deno", .verbs = "fmt", .needs = "--check" },
	{ .names = "clang-format|yq", .changes = "-i*|--in*" },
	{ .names = "clang-tidy", .changes = "--fix*|-fix*|--export-fixes*" },
	{ .names = "cmake", .options = "-N|--help*|--list-presets*", .how = HELD_ANYWHERE },
	{ .names = "composer", .verbs = "about|depends|info|licenses|prohibits|show|suggests|validate|why|why-not" },
	{ .names = "ctest", .options = "-N|--show-only*", .how = HELD_ANYWHERE },
	{ .names = "deno", .verbs = "doc|info|lint" },
	{ .names = "docker", .verbs = "compose config|compose version|context ls|context show" },
	{ .names = "bun|docker|gdb|ld|pnpm|yarn", .options = "-v" },
	{ .names = "curl|ip|ltrace|mysql|psql|ssh|strace|tmux", .options = "-V" },
	{ .names = "ctags", .options = "-x", .changes = "-f*|-o*" },
	{ .names = "dotnet", .verbs = "format", .needs = "--verify-no-changes" },
	{ .names = "dotnet", .options = "--info|--list-runtimes|--list-sdks" },
	{ .names = "mount", .changes = "*" },
	{ .names = "fd|fdfind", .changes = "-x*|-X*|--exec*" },
	{ .names = "eslint", .changes = "--fix*|-o|--output-file*|--cache*|--init" },
	{ .names = "gem", .verbs = "contents|dependency|env|environment|info|list|specification|which" },
	{ .names = "go", .verbs = "doc|env|list|mod graph|mod why|version", .changes = "-w|-u" },
	{ .names = "gofmt", .changes = "-w" },
	{ .names = "helm", .verbs = "env|lint|template|version" },
	{ .names = "iconv", .changes = "-o*|--output*" },
	{ .names = "java", .options = "-version|-XshowSettings*" },
	{ .names = "kubectl", .verbs = "version", .needs = "--client*" },
	{ .names = "lua|luajit|php", .options = "-e|-v|-r|-l|-m|-i|--ini|--r*", .how = HELD_INPUT },
	{ .names = "make|gmake",
	  .options = "-n*|--dry-run|--just-print|--recon|-q*|--question|-Bn|-dn|-kn|-pR*|-pn*|-pq*|-prn*|-pr*|-rn|"
		     "-rpn*|-rRpn*|-sn",
	  .how = HELD_ANYWHERE },
	{ .names = "meson", .verbs = "introspect" },
	{ .names = "gradle", .options = "-v" },
	{ .names = "ninja",
	  .verbs = "commands|compdb|deps|graph|inputs|list|query|rules|targets",
	  .options = "-n*",
	  .how = HELD_ANYWHERE },
	{ .names = "node", .options = "-e|-p|-pe|--eval*|--print*|-c|--check|-v", .how = HELD_INPUT },
	{ .names = "npm",
	  .verbs = "bin|config get|config list|config ls|explain|la|list|ll|ls|pkg get|prefix|query|root|run$|why",
	  .options = "-v" },
	{ .names = "openssl",
	  .verbs = "asn1parse|base64|ciphers|crl|dgst|enc|list|md5|rand|sha1|sha256|sha384|sha512|verify|version|x509",
	  .changes = "-out|-sign*|-CA|-CAcreateserial|-req|-writerand*" },
	{ .names = "perl",
	  .options = "-e|-E|-ne|-nE|-pe|-pE|-le|-lE|-lne|-lpe|-nle|-ple|-ane|-lane|-c|-cw|-wc|-V*|-v",
	  .changes = "-i*|-pi*|-ni*|-lpi*",
	  .how = HELD_INPUT },
	{ .names = "patch", .options = "--dry-run|--check", .how = HELD_ANYWHERE },
	{ .names = "pip|pip3",
	  .verbs = "check|config debug|config get|config list|debug|freeze|inspect|list|show",
	  .options = "-V",
	  .changes = "-o|--ou*|-u|--up*" },
	{ .names = "pipenv", .verbs = "graph", .options = "--where|--venv" },
	{ .names = "pnpm", .verbs = "bin|config get|config list|list|ll|ls|root|why" },
	{ .names = "poetry", .verbs = "check|env info|env list|show", .changes = "-l|--latest|-o|--outdated" },
	{ .names = "py.test|pytest", .options = "--collect-only|--co|--fixtures|--markers|-V", .how = HELD_ANYWHERE },
	{ .names = "python|python3", .options = "-c|-Bc|-Sc|-Ic|-V", .how = HELD_INPUT },
	{ .names = "rails", .verbs = "about|notes|routes|stats" },
	{ .names = "rake", .options = "-D*|-P|-T*|--tasks*|--prereqs", .how = HELD_ANYWHERE },
	{ .names = "ruby", .options = "-e|-ne|-pe|-ane|-lane|-c|-cw|-wc|-v", .changes = "-i*|-pi*", .how = HELD_INPUT },
	{ .names = "ruff",
	  .verbs = "check|rule|config",
	  .options = "--check|--diff",
	  .changes = "--fix*|--unsafe-fixes|--add-noqa|-w|--watch",
	  .how = HELD_ANYWHERE },
	{ .names = "rustc", .options = "-V|-vV|-Vv|--version|--print*|--explain*" },
	{ .names = "rustfmt", .options = "--check", .how = HELD_ANYWHERE },
	{ .names = "rustup", .verbs = "component list|show|target list|toolchain list|which" },
	{ .names = "shfmt", .options = "-d|-l|--diff|--list", .changes = "-w|--write" },
	{ .names = "sqlite3",
	  .options =
		  ".databases|.dump*|.fullschema*|.ind*|.schema*|.tables*|explain *|EXPLAIN *|pragma *|PRAGMA *|select *|SELECT *|"
		  "with *|WITH *|-version",
	  .how = HELD_ANYWHERE },
	{ .names = "ssh-keygen", .options = "-l*" },
	{ .names = "tar",
	  .verbs = "d|df|t|tf|tvf|tzf|tzvf|tjf|tJf|ztf|ztvf",
	  .options = "-d|-df|--diff|--compare|-t*|-ztf|-ztvf|-xO*|-xzO*|--list|--to-stdout",
	  .how = HELD_ANYWHERE },
	{ .names = "tee", .verbs = "/dev/null$" },
	{ .names = "terraform|tofu", .verbs = "version", .options = "-check*|-help|-version", .how = HELD_ANYWHERE },
	{ .names = "top", .options = "-b*" },
	{ .names = "tsc",
	  .options = "--noEmit|--showConfig|--listFiles*|--listFilesOnly|-v",
	  .changes = "-w|--watch|-b|--build",
	  .how = HELD_ANYWHERE },
	{ .names = "unzip", .options = "-c|-l|-p|-t|-v|-Z*", .how = HELD_ANYWHERE },
	{ .names = "uv", .verbs = "pip check|pip freeze|pip list|pip show|pip tree" },
	{ .names = "xmllint", .options = "--noout|--format|--xpath*", .changes = "-o|--output", .how = HELD_ANYWHERE },
	{ .names = "yarn", .verbs = "config get|config list|list|why|workspaces info|workspaces list" },
	{ .names = "zig", .verbs = "env|targets|version" },
};

/* The first operands against "a|b c|d$". */
static bool verb_fits(const struct str operands[2], size_t count, const char *verbs)
{
	for (struct str rest = str_from(verbs); rest.n;) {
		struct str one = str_cut(&rest, '|');
		bool last = str_ends(one, STR("$"));
		one.n -= last;
		struct str word = str_cut(&one, ' ');
		bool star = str_ends(word, STR("*"));
		if (!(star ? str_starts(operands[0], (struct str){ word.p, word.n - 1 }) : str_eq(operands[0], word)))
			continue;
		if (one.n ? str_eq(operands[1], one) : !last || count == 1)
			return true;
	}
	return false;
}

static bool row_fits(const struct held_row *r, const struct shell_command *c, size_t name)
{
	struct str operands[2] = { STR(""), STR("") };
	size_t count = 0;
	bool option = false;
	bool needed = !r->needs;

	for (size_t i = name + 1; i < c->word_count; i++) {
		const struct shell_word *w = &c->words[i];
		needed = needed || (w->literal && str_fits_one_of(w->text, r->needs));
		bool listed = r->options && w->literal && str_fits_one_of(w->text, r->options);
		option = option || (listed && (!count || r->how == HELD_ANYWHERE));
		if (r->changes && !listed && str_fits_one_of(w->text, r->changes))
			return false;
		if (str_starts(w->text, STR("-")))
			continue;
		if (count < COUNT_OF(operands) && w->literal)
			operands[count] = w->text;
		count++;
	}
	if (!needed)
		return false;
	if (!r->verbs && !r->options)
		return true;
	return option || (r->verbs && verb_fits(operands, count, r->verbs)) || (r->how == HELD_INPUT && !count);
}

/* Programs that start the one behind them; 0: it is none. */
static size_t behind_runner(const struct shell_command *c)
{
	size_t at = 0;

	/* npx without --offline asks the registry for what is not installed. */
	if (c->word_count > 2 &&
	    ((shell_runs(c, "npx") && str_is_one_of(c->words[1].text, "--offline")) ||
	     (shell_runs(c, "python|python3") && str_is(c->words[1].text, "-m")) ||
	     (shell_runs(c, "bundle|pipenv|pnpm|poetry") && str_is_one_of(c->words[1].text, "exec|run"))))
		at = 2;
	return at < c->word_count && c->words[at].literal ? at : 0;
}

/* PROGRAM --version, PROGRAM SUBCOMMAND --help or -h: no other option, and no operand that could be a file to run. git shows its manual
 * and Java reads settings, which lie where a command that is held cannot look. */
static bool only_tells_of_itself(const struct shell_command *c, size_t name)
{
	size_t count = c->word_count - name;
	const struct shell_word *words = c->words + name;

	if (str_is_one_of(words[0].text, "git|jar|java|javac|javap|mvn") || count < 2 || count > 4 ||
	    !str_is_one_of(words[count - 1].text, "--help|--version|-h") ||
	    memchr(words[0].text.p, '/', words[0].text.n))
		return false;
	for (size_t i = 1; i + 1 < count; i++)
		for (size_t k = 0; k < words[i].text.n; k++)
			if (!words[i].literal ||
			    !(shell_is_name_char(words[i].text.p[k]) || (k && char_in(words[i].text.p[k], "-:"))))
				return false;
	return count == 2 ||
	       !str_is_one_of(words[0].text, "bash|dash|env|lua|node|perl|php|python|python3|ruby|sh|ssh|su|sudo|zsh");
}

/* Forms of git that show something and that its table does not have; filters and other programs that the configuration names are held
 * too. */
static bool git_reads_if_held(const struct shell_command *c)
{
	static const struct held_row forms = {
		.verbs = "archive|bisect log|check-attr|check-mailmap|check-ref-format|cherry|column|diff-files|fsck|"
			 "hash-object|lfs env|lfs ls-files|notes list|notes show|patch-id|range-diff|request-pull|"
			 "rerere diff|rerere status|show-branch|sparse-checkout list|stripspace|submodule status|"
			 "submodule summary|submodule$|var|verify-pack",
		.changes = "-w|-o|-d|-m|--delete|--lost-found|--output*|--upload-pack*|--exec*"
	};
	/* These need one of their options. */
	static const struct {
		const char *verb, *option;
	} needs[] = { { "apply", "--check|--numstat|--stat|--summary" },
		      { "diff", "--no-index" },
		      { "format-patch", "--stdout" },
		      { "help", "-a|--all|-g|--guides" },
		      { "interpret-trailers", "--parse|--only-trailers" },
		      { "symbolic-ref", "--short|-q|--quiet" } };
	struct str verb = c->word_count > 1 && c->words[1].literal ? c->words[1].text : STR("");

	for (size_t i = 0; i < COUNT_OF(needs); i++) {
		if (!str_is(verb, needs[i].verb))
			continue;
		bool found = false;
		size_t operands = 0, others = 0;
		for (size_t n = 2; n < c->word_count; n++) {
			bool needed = str_is_one_of(c->words[n].text, needs[i].option);
			bool option = str_starts(c->words[n].text, STR("-"));
			found = found || needed;
			operands += !option;
			others += option && !needed;
			if (str_fits_one_of(c->words[n].text,
					    "--apply|--in-place|--output*|-o|--ext-diff|-3|--3way|--index"))
				return false;
		}
		if (str_is(verb, "symbolic-ref")) /* with two operands it writes */
			return operands == 1 && !others;
		return found;
	}
	if (str_is(verb, "config")) /* git config user.name */
		return c->word_count == 3 && c->words[2].literal && !str_starts(c->words[2].text, STR("-"));
	return row_fits(&forms, c, 0);
}

bool shell_reads_if_held(const struct shell_command *c)
{
	if (!c->word_count || !c->words[0].literal || c->assignment_count || c->hides)
		return false;
	size_t name = behind_runner(c);
	if (only_tells_of_itself(c, name))
		return true;
	if (str_is(c->words[0].text, "git"))
		return git_reads_if_held(c);
	for (size_t i = 0; i < COUNT_OF(held); i++)
		if (str_is_one_of(c->words[name].text, held[i].names) && row_fits(&held[i], c, name))
			return true;
	return false;
}

/* The words from here to there, as a command. */
static struct shell_command part_of(const struct shell_command *c, size_t from, size_t to)
{
	struct shell_command part = *c;

	part.words += from;
	part.word_count = to - from;
	return part;
}

/* find A -exec B {} \; C: find A C, and B {}. */
static size_t split_find(struct arena *a, const struct shell_command *c, struct shell_command ret[SHELL_HELD_MAX])
{
	struct shell_word *rest = arena_alloc(a, c->word_count * sizeof *rest);
	size_t left = 0, count = 1;

	for (size_t i = 0; i < c->word_count; i++) {
		size_t end = i + 1;
		if (!c->words[i].literal || !str_is_one_of(c->words[i].text, "-exec|-execdir")) {
			rest[left++] = c->words[i];
			continue;
		}
		while (end < c->word_count && !(c->words[end].literal && str_is_one_of(c->words[end].text, ";|+")))
			end++;
		if (end == c->word_count || end == i + 1 || count == SHELL_HELD_MAX)
			return 0;
		ret[count] = part_of(c, i + 1, end);
		ret[count++].redirect_count = 0;
		i = end;
	}
	ret[0] = *c;
	ret[0].words = rest;
	ret[0].word_count = left;
	return count;
}

size_t shell_held_forms(struct arena *a, const struct shell_command *c, struct shell_command ret[SHELL_HELD_MAX])
{
	struct shell_command s = shell_strip_for_allow(c);
	bool splits = c->assignment_count == 1 && str_is(c->assignments[0].name, "IFS") && shell_runs(c, "read");
	bool tests = !c->assignment_count && shell_runs(c, "[|test"); /* the worst that its words can be is a command */

	if (c->hides && !splits && !tests)
		return 0;
	s.hides = NULL;
	struct shell_command unset = s;
	unset.assignment_count = 0;
	bool free = shell_reads_if_held(&unset); /* it could set them itself */
	for (size_t i = 0; i < s.assignment_count; i++) {
		const struct shell_assignment *v = &s.assignments[i];
		bool pager =
			str_is_one_of(v->name, "PAGER|GIT_PAGER") && v->value.literal && str_is(v->value.text, "cat");
		if (!free && !pager && !shell_variable_is_own(v->name) && !str_is(v->name, "IFS") &&
		    !shell_variable_is_harmless(v->name) && (s.word_count || str_starts(v->name, STR("GIT_"))))
			return 0;
	}
	s.assignment_count = 0;
	if (shell_runs(&s, "xargs")) {
		size_t index = shell_behind_xargs(&s);
		bool bare = !index;
		for (size_t i = 1; i < s.word_count && bare; i++)
			bare = s.words[i].literal &&
			       char_in(s.words[i].text.n ? s.words[i].text.p[0] : ' ', "-0123456789");
		if (!index && !bare)
			return 0;
		s = part_of(&s, bare ? s.word_count : index, s.word_count); /* without a command it prints */
	}
	ret[0] = s;
	return shell_runs(&s, "find") ? split_find(a, &s, ret) : 1;
}
