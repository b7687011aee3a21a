/* SPDX-License-Identifier: MIT
 * changes.c - /diff: what differs from the last commit, as a page. */
#include "face/tui/state.h"

static void show_changes(struct tui *t, struct str output, bool ok)
{
	if (!ok || !str_trim(output).n) {
		feed_words(t, LOOK_DIM, ok ? STR("Nothing differs from the last commit.") : output);
		return;
	}
	struct page *p = page_open_text(t, "Changes since the last commit", output);
	for (size_t at = 0; at < p->text.text.n;) {
		const char *line = p->text.text.p + at, *end = memchr(line, '\n', p->text.text.n - at);
		size_t n = end ? (size_t)(end - line) + 1 : p->text.text.n - at;
		bool head = n > 2 && (!memcmp(line, "+++", 3) || !memcmp(line, "---", 3) || !memcmp(line, "dif", 3));
		unsigned look = head           ? LOOK_BOLD
				: *line == '+' ? LOOK_ADDED
				: *line == '-' ? LOOK_REMOVED
				: *line == '@' ? LOOK_CYAN
					       : LOOK_PLAIN;
		memset(p->text.looks.p + at, (int)look, n);
		at += n;
	}
}

/* The repository may be a stranger's: nothing that its configuration names is run, neither filters nor hooks, nor a program to fetch
 * what is missing, nor one of its own that the PATH would find. Filters of the user's own configuration are. */
void changes_open(struct tui *t)
{
	static const char *const argv[] = {
		"/bin/sh", "-c",
		"p= IFS=:; set -f; for dir in $PATH; do case $dir in /*) p=$p:$dir;; esac; done; PATH=${p#:}; unset IFS; set +f\n"
		"tab=$(printf '\\t') n=0; export GIT_ALLOW_PROTOCOL=none GIT_OPTIONAL_LOCKS=0\n"
		"git config --show-scope --name-only --get-regexp '^filter\\.' | {\n"
		"while IFS=$tab read -r scope key; do case $scope in local|worktree)\n"
		"export \"GIT_CONFIG_KEY_$n=$key\" \"GIT_CONFIG_VALUE_$n=\"; n=$((n + 1));; esac; done\n"
		"export GIT_CONFIG_COUNT=$n\n"
		"set -- -c core.fsmonitor=false -c core.hooksPath=/dev/null --no-pager\n"
		"git \"$@\" rev-parse --is-inside-work-tree >/dev/null 2>&1 || {\n"
		"echo 'There is no git repository here, so there is no last commit.'; exit 1; }\n"
		"since=HEAD; git \"$@\" rev-parse --verify --quiet HEAD >/dev/null ||\n" /* no commit yet: all of it is new */
		"since=$(git \"$@\" hash-object --no-filters -t tree /dev/null)\n"
		"git \"$@\" diff --no-ext-diff --no-textconv --ignore-submodules=dirty \"$since\"\n"
		"git \"$@\" ls-files --others --exclude-standard | sed 's/^/new file: /'\n"
		"}",
		NULL
	};

	job_program(t, argv, show_changes);
}
