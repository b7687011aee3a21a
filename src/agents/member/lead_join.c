/* SPDX-License-Identifier: MIT
 * lead_join.c - the first words of a member in a pane: it connects to its lead and takes the lead's environment. Blocking: nothing
 * else runs yet. */
#include <errno.h>
#include <poll.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "lib/base/library.h"
#include "agents/member/lead.h"
#include "agents/worktree/worktree.h"

enum { LONGEST_HELLO = 4 << 20 };

extern char **environ;

/* The lead may have been killed before it had prepared the pane: where remain-on-exit is on, the pane would stay with its dead
 * process. Blocking, for at most two seconds: this process ends. */
void lead_close_pane(void)
{
	const char *pane = getenv("TMUX_PANE"), *server = getenv("TMUX");
	const char *const argv[] = { "tmux", "set-option", "-p", "-t", pane, "remain-on-exit", "off", NULL };
	AUTO_BUF struct buf file = { 0 };
	long long parent = 0;
	pid_t pid;

	if (!pane || !server || sscanf(server, "%*[^,],%lld", &parent) != 1 || parent != getppid())
		return; /* this process is not what the pane was made for */
	if (!program_find(getenv("PATH"), argv[0], &file) ||
	    posix_spawn(&pid, file.p, NULL, NULL, (char *const *)argv, environ) != 0)
		return;
	struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
	if (end.fd < 0)
		return;
	(void)poll(&end, 1, 2000);
	close(end.fd);
}

static int lead_connect(const struct options *o, int *ret_fd, struct err *err)
{
	struct sockaddr_un name;
	long long pid = 0, start = 0;

	if (sscanf(o->lead_process, "%lld.%lld", &pid, &start) != 2 || pid <= 1)
		return err_set(err, ERR_USAGE, "--lead-process is PID.START, as the lead gives it");
	socklen_t n = link_address(&name, o->parent_session_id, pid);
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&name, n) < 0)
		return err_set(err, ERR_USAGE, "the lead, session %s, does not answer: %m", o->parent_session_id);
	if (!link_peer_is(fd, pid, start))
		return err_set(err, ERR_USAGE, "another process answers in the place of session %s",
			       o->parent_session_id);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* One line, blocking: nothing else runs yet. The lead has a limit for it (teams.paneStartMs), and its end is seen here. */
static int lead_hear(int fd, struct buf *out, struct err *err)
{
	char c = 0;

	while (c != '\n' && out->n < LONGEST_HELLO) {
		ssize_t n = recv(fd, &c, 1, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set(err, ERR_USAGE, "the lead does not know this member");
		buf_addch(out, c);
	}
	return 0;
}

/* The lead's variables in place of those that the tmux server happened to have */
static void take_environment(const struct json *env)
{
	AUTO_ARENA struct arena a = { 0 };

	for (char **each = environ; *each;) {
		struct str value = str_from(*each), name = str_cut(&value, '=');
		if (!str_starts_with_one_of(name, "ANTHROPIC_|CLAUDE_|AWS_|GOOGLE_|OPENAI_")) {
			each++;
			continue;
		}
		(void)unsetenv(arena_str(&a, name).p);
		each = environ;
	}
	for (struct json_member m = json_members(env); m.key; m = json_member_next(env, m))
		if (json_is(m.value, JSON_STRING))
			(void)setenv(json_cstr(m.key, &a), json_cstr(m.value, &a), 1);
}

/* What its lead took for it; NULL: nothing, or it cannot be read. */
static struct worktree *read_worktree(const struct json *text)
{
	struct worktree *w = xcalloc(1, sizeof *w);
	const char **const fields[] = { &w->agent_id, &w->path,   &w->branch, &w->base,
					&w->root,     &w->origin, &w->common, &w->admin };
	static const char *const names[] = { "agentId", "path", "branch", "base", "root", "origin", "common", "admin" };

	w->sparse = json_bool(json_get(text, "sparse"));
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		*fields[i] = json_cstr(json_get(text, names[i]), &w->memory);
		if (!*fields[i]) {
			worktree_free(w);
			return NULL;
		}
	}
	return w;
}

int lead_dial(const struct options *o, int *ret_fd, struct worktree **ret_worktree, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_CLOSE int fd = -1;

	if (lead_connect(o, &fd, err) < 0) {
		lead_close_pane();
		return -(int)err->kind;
	}
	json_addf(&text, "{type:'hello', agent:'%s'}", o->agent_name);
	buf_addch(&text, '\n');
	(void)!send(fd, text.p, text.n, MSG_NOSIGNAL);
	buf_clear(&text);
	if (lead_hear(fd, &text, err) < 0) {
		lead_close_pane();
		return -(int)err->kind;
	}
	const struct json *root = json_read(&reader, buf_str(&text));
	if (!json_is(json_get(root, "env"), JSON_OBJECT))
		return err_set(err, ERR_USAGE, "the lead does not know this member");
	take_environment(json_get(root, "env"));
	const struct json *tree = json_get(root, "worktree");
	*ret_worktree = tree ? read_worktree(tree) : NULL;
	if (tree && !*ret_worktree)
		return err_set(err, ERR_USAGE, "the lead gave no whole worktree");
	*ret_fd = TAKE_FD(fd);
	return 0;
}
