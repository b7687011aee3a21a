/* SPDX-License-Identifier: MIT
 * report.c - after a command: what must not have appeared is moved away, and the model and the user learn what the kernel refused. A file is named only if the profile
 * really refuses it: a program's own "Permission denied" stays its own. */
#include <ctype.h>
#include <errno.h>
#include <sys/stat.h>
#include "lib/base/id.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"
#include "guard/sandbox/sandbox_int.h"

/* A protected name that does not exist cannot be mounted over. So what is there by the end of a command and was not before it
 * is moved into the session's temporary directory: nothing of ours reads it from there. */

/* The target of a link is protected by the kernel; the link itself can be replaced, and that is seen here. */
static bool was_there(const struct sandbox_held *held, const char *path)
{
	const struct profile *p = &held->profile;
	struct stat st;

	for (size_t i = 0; i < p->protects.count; i++) {
		if (strcmp(p->protects.list[i], path) != 0)
			continue;
		bool was_link = false;
		for (size_t k = 0; k < p->links.count && !was_link; k++)
			was_link = !strcmp(p->links.list[k], path);
		return !was_link || (lstat(path, &st) == 0 && S_ISLNK(st.st_mode));
	}
	return false;
}

/* A repository that was cloned or made is what the command was for, and git itself makes these parts of one that was there. Nothing
 * makes a plain repository take its configuration from elsewhere but an attack. */
static bool may_appear(const struct sandbox_held *held, const char *path)
{
	static const char git[] = "/.git/";
	const char *part = strstr(path, git);
	const struct paths *before = &held->profile.protects;
	bool is_new = true;

	if (held->profile.hold != HOLD_INSIDE || !part)
		return false;
	part += sizeof git - 1;
	for (size_t i = 0; i < before->count; i++)
		is_new = is_new && strncmp(before->list[i], path, (size_t)(part - path)) != 0;
	return is_new ? strcmp(part, "commondir") != 0 : !strcmp(part, "modules") || !strncmp(part, "worktrees/", 10);
}

static void move_away(struct sandbox_held *held, const char *path, struct buf *out)
{
	char id[9] = "";

	id_random(id, sizeof id - 1, "0123456789abcdef");
	const char *to = arena_printf(&held->arena, "%s/removed-%s%s", held->temp_dir, id, strrchr(path, '/') + 1);
	/* Where a directory above it is a link by now, it is not what appeared. */
	AUTO_FILE_AT struct file_at at = { 0 };
	bool found = file_at_find("/", path, 0, &at, NULL) == 0;
	bool moved = found && renameat(at.dir, at.name, AT_FDCWD, to) == 0;
	if (found && !moved && errno == EXDEV) { /* another file system: beside it, under a name that means nothing */
		to = arena_printf(&held->arena, "%s.removed-%s", path, id);
		moved = renameat(at.dir, at.name, at.dir, strrchr(to, '/') + 1) == 0;
	}
	if (moved)
		buf_addf(out, "removed: %s appeared and was moved to %s: change it with Write, which asks\n", path, to);
	else
		buf_addf(out, "appeared: %s, and it could not be moved away\n", path);
}

enum { REPORT_LINES = 5, REPORT_SCAN = 64 * 1024 };

static const char *const file_words[] = { "Read-only file system", "Permission denied", "Operation not permitted",
					  "Device or resource busy", "cross-device link" };

static const char *const network_words[] = { "Network is unreachable",
					     "Could not resolve host",
					     "Name or service not known",
					     "Temporary failure in name resolution",
					     "Connection refused",
					     "403 from proxy",
					     "socket: Operation not permitted",
					     "Couldn't connect" };

static bool has_any(struct str line, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_has(line, str_from(words[i])))
			return true;
	return false;
}

/* Candidates are words with quotes and colons taken off; the first that the profile refuses is it. */
static const char *find_refused(struct sandbox_held *held, struct str line, const char **ret_how)
{
	const struct profile *p = &held->profile;
	/* Where mounts say what is writable, the error is another one. */
	bool may_be_write = !held->confine.cell || !str_has(line, STR("Permission denied"));

	while (line.p) {
		struct str word = str_cut(&line, ' ');
		while (word.n && char_in(word.p[0], "'\"`(<"))
			word = (struct str){ word.p + 1, word.n - 1 };
		while (word.n && char_in(word.p[word.n - 1], "'\"`:;,.)>"))
			word.n--;
		/* The shell's "bash: line 1: FILE:", and programs' "cannot touch 'FILE':" */
		if (word.n < 2 && !(word.n == 1 && line.p))
			continue;
		const char *path = path_absolute(&held->arena, held->cwd, word);
		bool likely = memchr(word.p, '/', word.n) || file_exists(path);
		if (likely && !profile_may_read(p, path))
			return *ret_how = "read", path;
		if (likely && may_be_write && !profile_may_write(p, path))
			return *ret_how = "write", path;
	}
	return NULL;
}

bool held_ignores(const struct sandbox_held *held, const char *report)
{
	for (size_t i = 0; i < held->ignored_count; i++)
		if (strstr(report, held->ignored[i].report))
			return true;
	return false;
}

static void add_line(const struct sandbox_held *held, struct buf *out, size_t *lines, const char *text)
{
	if (held_ignores(held, text))
		return;
	if (*lines >= REPORT_LINES || str_has(buf_str(out), str_from(text)))
		return;
	for (; *text; text++)
		if (!iscntrl((unsigned char)*text) && !char_in(*text, "<>"))
			buf_addch(out, *text);
	buf_addch(out, '\n');
	(*lines)++;
}

static const char *const hold_texts[] = {
	[HOLD_READS] =
		"The command ran without a question because it seemed only to read, so the kernel held it to that: it "
		"writes nothing but $TMPDIR, has no network, and reads the working directories and programs.",
	[HOLD_EDITS] =
		"The command ran without a question because it seemed only to change files in the working directories, "
		"so the kernel held it to that: no protected files, nothing outside, no network.",
	[HOLD_INSIDE] =
		"The command ran in the sandbox of the settings: it writes the working directories and $TMPDIR, and "
		"reaches allowed hosts only.",
	[HOLD_CONVERTS] = "",
	[HOLD_WORKTREE] = "This agent's commands write in its worktree only.",
};

void sandbox_report(struct sandbox_held *held, struct str output, bool failed, struct buf *out)
{
	AUTO_BUF struct buf text = { 0 };
	size_t lines = 0;
	static const struct tool_env no_rules;
	struct str seen = { output.p, MIN(output.n, (size_t)REPORT_SCAN) };
	struct paths now = { 0 };
	struct find_tree *own = NULL; /* the sandbox is gone */

	for (size_t i = 0; i < held->profile.roots.count; i++)
		(void)find_protected(&now, &held->arena, &no_rules, held->profile.roots.list[i], &held->profile,
				     held->of ? &held->of->trees : &own, NULL);
	find_forget(&own, 0);
	for (size_t i = 0; i < now.count; i++)
		if (!was_there(held, now.list[i]) && !may_appear(held, now.list[i]))
			move_away(held, now.list[i], &text);
	git_config_check(held, &text);
	for (size_t i = 0; i < held->refused_hosts.count; i++)
		add_line(held, &text, &lines, held->refused_hosts.list[i]);
	for (struct str rest = seen; rest.p && lines < REPORT_LINES && held->profile.hold != HOLD_NONE;) {
		struct str line = str_cut(&rest, '\n');
		const char *how = NULL;
		if (!has_any(line, file_words, COUNT_OF(file_words)))
			continue;
		const char *path = find_refused(held, line, &how);
		if (path)
			add_line(held, &text, &lines, arena_printf(&held->arena, "blocked: %s %s", how, path));
		else if (str_has(line, STR("unable to unlink old")))
			add_line(held, &text, &lines,
				 "blocked: git must replace a protected file; run this git command outside");
	}
	bool silent = held->profile.hold == HOLD_READS || held->profile.hold == HOLD_EDITS;
	if (failed && silent && has_any(seen, network_words, COUNT_OF(network_words)))
		add_line(held, &text, &lines, "blocked: network");
	if (held->why_out)
		buf_addf(out, "\n<sandbox>\nThis command ran outside the sandbox: %s.\n</sandbox>", held->why_out);
	if (held->reduced)
		buf_addstr(
			out,
			"\n<sandbox>\nThis command ran in a reduced sandbox: without namespaces it writes the working "
			"directories only and has no network, but nothing is hidden from it.\n</sandbox>");
	held->reported = arena_str(&held->arena, buf_str(&text));
	if (!text.n)
		return;
	buf_addf(out,
		 "\n<sandbox>\n" STR_FMT
		 "%s\nThis came from the sandbox, not from the program. Do not retry the same way. %s\n</sandbox>",
		 STR_ARG(buf_str(&text)), hold_texts[held->profile.hold ? held->profile.hold : HOLD_WORKTREE],
		 held->may_leave
			 ? "If the task needs it, ask for it with dangerouslyDisableSandbox for this one command."
			 : "It cannot be granted here.");
}

void sandbox_violations(const struct sandbox_held *held, struct buf *out)
{
	for (struct str rest = held->reported; rest.n;) {
		struct str line = str_cut(&rest, '\n');
		struct str kind = str_cut(&line, str_starts(line, STR("put back:")) ? ':' : ' ');
		if (str_is(kind, "blocked:"))
			kind = str_cut(&line, ' ');
		line = str_trim(line);
		/* "WHAT (RULE)", "WHAT appeared and ..." or "WHAT: ..." */
		static const char *const ends[] = { " (", " appeared", ": " };
		const char *end = NULL;
		for (size_t i = 0; i < COUNT_OF(ends) && !end && line.n; i++)
			end = memmem(line.p, line.n, ends[i], strlen(ends[i]));
		struct str what = { line.p, end ? (size_t)(end - line.p) : line.n };
		struct str rule = { end, line.n - what.n };
		while (rule.n && char_in(rule.p[0], " (:"))
			rule = (struct str){ rule.p + 1, rule.n - 1 };
		rule.n -= rule.n && rule.p[rule.n - 1] == ')';
		kind.n -= kind.n && kind.p[kind.n - 1] == ':';
		buf_addf(out, STR_FMT "\t" STR_FMT "\t" STR_FMT "\n", STR_ARG(kind), STR_ARG(what), STR_ARG(rule));
	}
}
