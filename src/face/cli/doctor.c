/* SPDX-License-Identifier: MIT
 * doctor.c - `cadre doctor`: what the terminal, this installation and its configuration lack, with what to do about it. */
#include <dlfcn.h>
#include <langinfo.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "face/cli/doctor.h"
#include "face/cli/run.h"
#include "face/cli/view.h"
#include "face/screen/paint.h"
#include "lib/base/library.h"
#include "lib/json/json.h"
#include "lib/json/json_write.h"

const struct cadre_command doctor_command = {
	.name = "doctor",
	.summary = "check the terminal and the installation",
	.help = "Usage: cadre doctor [--json]    one line per finding; exits with 1 if something is wrong\n"
		"\n"
		"It checks the terminal (kind, size, colours, characters, features) and the installation: libraries\n"
		"that are loaded on demand, programs that tools run, the configuration directory, the key,\n"
		"settings, the sandbox.\n"
		"\n"
		"Example:\n"
		"  cadre doctor --json | jq '.findings[]'\n",
	.words = (const struct cadre_command_word[]){ { "", "", 0, NULL }, { .name = NULL } },
	.options = (const struct cadre_option[]){ { .name = NULL } },
	.settings = (const char *const[]){ NULL },
};

struct doctor {
	struct buf *out;
	struct json_out *json; /* NULL: lines */
	bool colour;
	size_t bad;
};

enum finding { FINDING_GOOD, FINDING_NOTE, FINDING_BAD };

static void doctor_say(struct doctor *d, enum finding what, const char *subject, const char *fmt, ...)
	printf_like(4, 5);

static void doctor_say(struct doctor *d, enum finding what, const char *subject, const char *fmt, ...)
{
	static const char *const marks[] = { "ok  ", "note", "BAD " }, *const colours[] = { "\033[32m", "\033[33m",
											    "\033[31m" };
	static const char *const states[] = { "ok", "note", "bad" };
	AUTO_BUF struct buf line = { 0 };
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	d->bad += what == FINDING_BAD;
	if (d->json) {
		json_putf(d->json, "{subject:'%s', state:'%s', text:'%s'}", subject, states[what], text);
		return;
	}
	render_line(&line, str_from(text));
	buf_addf(d->out, "%s%s%s  %-14s %s\n", d->colour ? colours[what] : "", marks[what], d->colour ? "\033[0m" : "",
		 subject, buf_str(&line).p);
}

static const char *env_or(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}

static void check_terminal(struct doctor *d)
{
	const char *term = env_or("TERM", ""), *no_colour = env_or("NO_COLOR", "");
	struct winsize size = { 0 };
	bool tty = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO), dumb = !*term || !strcmp(term, "dumb");

	setlocale(LC_CTYPE, "");
	if (dumb)
		doctor_say(d, FINDING_NOTE, "terminal", "TERM is %s: lines only, no live view",
			   *term ? term : "not set");
	else
		doctor_say(d, FINDING_GOOD, "terminal", "TERM %s%s%s%s%s", term,
			   *env_or("TERM_PROGRAM", "") ? ", " : "", env_or("TERM_PROGRAM", ""),
			   *env_or("TMUX", "") ? ", inside tmux" : "",
			   *env_or("STY", "")       ? ", inside screen"
			   : *env_or("SSH_TTY", "") ? ", over ssh"
						    : "");
	if (tty && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && (size.ws_col < 40 || size.ws_row < 8))
		doctor_say(d, FINDING_NOTE, "size", "%ux%u: below 40x8 only the input and what runs are shown",
			   size.ws_col, size.ws_row);
	else if (size.ws_col)
		doctor_say(d, FINDING_GOOD, "size", "%ux%u", size.ws_col, size.ws_row);
	if (!strcmp(nl_langinfo(CODESET), "UTF-8"))
		doctor_say(d, FINDING_GOOD, "characters", "UTF-8");
	else
		doctor_say(d, FINDING_NOTE, "characters", "%s: marks are ASCII; set LANG to a UTF-8 locale",
			   nl_langinfo(CODESET));
	if (*no_colour)
		doctor_say(d, FINDING_NOTE, "colours", "NO_COLOR is set: none");
	else
		doctor_say(d, FINDING_GOOD, "colours", "setting theme; background %s",
			   *env_or("COLORFGBG", "") ? "known by COLORFGBG" : "not known");
	if (view_is_for_reader())
		doctor_say(d, FINDING_GOOD, "screen reader", "lines with labels (CLAUDE_AX_SCREEN_READER)");
	if (!*env_or("VISUAL", env_or("EDITOR", "")))
		doctor_say(d, FINDING_NOTE, "editor", "neither VISUAL nor EDITOR is set: Ctrl-G uses vi");
}

static void check_library(struct doctor *d, const char *const *files, const char *what)
{
	for (size_t i = 0; files[i]; i++) {
		void *library = dlopen(files[i], RTLD_LAZY | RTLD_LOCAL);
		if (!library)
			continue;
		dlclose(library);
		doctor_say(d, FINDING_GOOD, "library", "%s: %s", files[i], what);
		return;
	}
	doctor_say(d, FINDING_NOTE, "library", "%s is missing: no %s", files[0], what);
}

static void check_program(struct doctor *d, const char *name, const char *what)
{
	AUTO_BUF struct buf path = { 0 };

	if (program_find(getenv("PATH"), name, &path))
		doctor_say(d, FINDING_GOOD, "program", "%s", path.p);
	else
		doctor_say(d, FINDING_NOTE, "program", "%s is not in PATH: %s", name, what);
}

static void check_directory(struct doctor *d)
{
	AUTO_BUF struct buf dir = { 0 };
	struct statvfs fs;

	if (*env_or("CLAUDE_CONFIG_DIR", ""))
		buf_addstr(&dir, getenv("CLAUDE_CONFIG_DIR"));
	else
		buf_addf(&dir, "%s/.claude", env_or("HOME", ""));
	if (access(dir.p, F_OK) < 0)
		doctor_say(d, FINDING_NOTE, "configuration", "%s does not exist yet: the first session makes it",
			   dir.p);
	else if (access(dir.p, W_OK) < 0)
		doctor_say(d, FINDING_BAD, "configuration", "%s cannot be written: sessions are lost", dir.p);
	else if (statvfs(dir.p, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < 100u << 20)
		doctor_say(d, FINDING_BAD, "configuration", "less than 100 MB are free at %s", dir.p);
	else
		doctor_say(d, FINDING_GOOD, "configuration", "%s", dir.p);
}

/* Where requests of the default model go, and with which credential */
static void check_key(struct doctor *d, struct cadre *c)
{
	static const char *const words[] = { "models", "show", "default" };
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	struct cadre_report *report = NULL;
	const struct json *root = NULL;
	char why[400] = "";
	size_t n = 0;

	if (cadre_command(c, COUNT_OF(words), words, NULL, &report, why, sizeof why) != CADRE_OK) {
		doctor_say(d, FINDING_NOTE, "key", "%s", why);
		return;
	}
	const char *json = cadre_report_json(report, &n);
	if (json_parse(&reader, json, n, &root, NULL) == 0) {
		const char *problem = json_cstr(json_get(root, "problem"), &a);
		doctor_say(d, problem ? FINDING_NOTE : FINDING_GOOD, "key", "%s%s%s",
			   problem ? problem : json_cstr(json_get(root, "credential"), &a),
			   problem ? "" : "; address: ", problem ? "" : json_cstr(json_get(root, "address"), &a));
	}
	cadre_report_free(report);
}

/* Rows of a command of the library that say that something is wrong */
static void check_command(struct doctor *d, struct cadre *c, const char *subject, const char *const *words, int count)
{
	struct cadre_report *report = NULL;
	char why[400] = "";
	size_t found = 0;

	if (cadre_command(c, count, words, NULL, &report, why, sizeof why) != CADRE_OK) {
		doctor_say(d, FINDING_BAD, subject, "%s", why);
		return;
	}
	for (size_t i = 0; i < cadre_report_rows(report); i++) {
		enum cadre_style style = cadre_report_style(report, i);
		AUTO_BUF struct buf text = { 0 };
		if (style != CADRE_WARN && style != CADRE_BAD)
			continue;
		for (size_t k = 0; k < cadre_report_cells(report, i); k++)
			buf_addf(&text, "%s%s", k ? " " : "", cadre_report_cell(report, i, k));
		doctor_say(d, style == CADRE_BAD ? FINDING_BAD : FINDING_NOTE, subject, "%s", buf_str(&text).p);
		found++;
	}
	if (!found)
		doctor_say(d, FINDING_GOOD, subject, "nothing to say");
	cadre_report_free(report);
}

static void check_keys(struct doctor *d, doctor_keys_fn *keys)
{
	AUTO_BUF struct buf problems = { 0 };

	if (!keys(&problems))
		return;
	for (struct str rest = str_trim(buf_str(&problems)); rest.p && problems.n;) {
		struct str line = str_cut(&rest, '\n');
		doctor_say(d, FINDING_BAD, "keybindings", STR_FMT, STR_ARG(line));
	}
	if (!problems.n)
		doctor_say(d, FINDING_GOOD, "keybindings", "all of them can be meant");
}

static int doctor_check(struct doctor *d, doctor_keys_fn *keys)
{
	static const char *const settings[] = { "config", "list" }, *const agents[] = { "agents", "check" };
	static const char *const sandbox[] = { "sandbox", "status" };
	static const char *const markdown[] = { "libmd4c.so.0", NULL };
	static const char *const unicode[] = { "libutf8proc.so.2", "libutf8proc.so.3", NULL };
	char why[240] = "";

	doctor_say(d, FINDING_GOOD, "version", "cadre %s, protocol " CADRE_PROTOCOL_VERSION, cadre_version());
	check_terminal(d);
	check_library(d, markdown, "Markdown on the terminal");
	check_library(d, unicode, "exact widths of characters");
	check_program(d, "git", "no worktrees, no /diff");
	check_program(d, "tmux", "members of teams have no panes");
	check_directory(d);
	check_keys(d, keys);
	struct cadre *c = cadre_new(why, sizeof why);
	if (!c) {
		doctor_say(d, FINDING_BAD, "runtime", "%s", why);
		return EXIT_RUN;
	}
	check_key(d, c);
	check_command(d, c, "settings", settings, COUNT_OF(settings));
	check_command(d, c, "agents", agents, COUNT_OF(agents));
	check_command(d, c, "sandbox", sandbox, COUNT_OF(sandbox));
	cadre_free(c);
	return d->bad ? EXIT_RUN : EXIT_ANSWER;
}

int doctor_run(struct buf *out, bool json, doctor_keys_fn *keys)
{
	struct json_out w = json_out(out);
	struct doctor d = { .out = out,
			    .json = json ? &w : NULL,
			    .colour = isatty(STDOUT_FILENO) && view_wants_colour() };

	if (json)
		json_putf(&w, "{findings:[");
	int code = doctor_check(&d, keys);
	if (json) {
		json_putf(&w, "], bad:%zu}", d.bad);
		buf_addch(out, '\n');
	}
	return code;
}
