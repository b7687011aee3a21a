/* SPDX-License-Identifier: MIT
 * status.c - the user's status line: a command that gets the state of the session as JSON on its standard input and prints up to
 * three rows. It runs at the start, behind each answer and after a change of the mode; a newer run ends the older one. One that
 * fails, or takes five seconds, shows nothing. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include "face/tui/state.h"
#include "face/cli/view.h"
#include "lib/json/json.h"
#include "lib/json/json_write.h"

enum { STATUS_BYTES = 8192, STATUS_LINES = 3, STATUS_MS = 5000 };

extern char **environ;

struct status_run {
	pid_t pid;
	int fd;
	struct buf output;
};

static void status_end(struct tui *t, bool show)
{
	struct status_run *r = TAKE(t->status_run);
	int status = 0;

	tui_set_timer(t, TIMER_STATUS, -1);
	if (!show)
		(void)kill(-r->pid, SIGKILL);
	while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
		;
	cadre_unwatch_fd(t->c, r->fd);
	close(r->fd);
	if (show) {
		buf_clear(&t->status_text);
		if (WIFEXITED(status) && !WEXITSTATUS(status))
			buf_add(&t->status_text, r->output.p, r->output.n);
		tui_changed(t);
	}
	buf_release(&r->output);
	free(r);
}

void status_cancel(struct tui *t)
{
	if (t->status_run)
		status_end(t, false);
}

static void on_output(struct cadre *c, int fd, void *data)
{
	struct tui *t = data;
	char bytes[4096];
	ssize_t n = read(fd, bytes, sizeof bytes);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		status_end(t, true);
	else
		buf_add(&t->status_run->output, bytes, MIN((size_t)n, STATUS_BYTES - t->status_run->output.n));
}

/* What the command reads: names and nesting as programs for other agents expect them */
static void put_state(struct tui *t, struct buf *out)
{
	struct json_out w = json_out(out);
	AUTO_FREE char *cwd = getcwd(NULL, 0);
	const char *model = cadre_session_model(t->session);

	json_open(&w, '{');
	json_kcstr(&w, "hook_event_name", "Status");
	json_kcstr(&w, "session_id", cadre_session_id(t->session));
	json_kcstr(&w, "cwd", cwd ? cwd : "");
	json_kopen(&w, "model", '{');
	json_kcstr(&w, "id", model);
	json_kcstr(&w, "display_name", model);
	json_close(&w);
	json_kopen(&w, "workspace", '{');
	json_kcstr(&w, "current_dir", cwd ? cwd : "");
	json_kcstr(&w, "project_dir", cwd ? cwd : "");
	json_close(&w);
	json_kcstr(&w, "version", cadre_version());
	json_kcstr(&w, "permission_mode", cadre_session_mode(t->session));
	json_kopen(&w, "cost", '{');
	json_key(&w, "total_cost_usd");
	json_put_double(&w, t->cost_usd);
	json_close(&w);
	json_kopen(&w, "context_window", '{');
	json_ki64(&w, "context_window_size", t->window);
	json_ki64(&w, "total_input_tokens", t->context);
	json_close(&w);
	if (t->vim.on)
		json_putf(&w, "vim:{mode:'%s'}", vim_mode_name(&t->vim));
	json_close(&w);
}

void status_refresh(struct tui *t)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_BUF struct buf state = { 0 };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	const struct json *root;
	size_t n = 0;
	const char *setting = cadre_session_setting(t->session, "statusLine", &n);
	int in[2] = { -1, -1 }, out[2];
	pid_t pid;

	if (!setting || t->lines || json_parse(&reader, setting, n, &root, NULL) < 0)
		return;
	const char *command = json_cstr(json_get(root, "command"), &arena);
	if (!command || !*command)
		return;
	status_cancel(t);
	put_state(t, &state); /* smaller than a pipe holds: the write cannot wait */
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0) {
		close(in[0]);
		close(in[1]);
		return;
	}
	bool written = write(in[1], state.p, state.n) == (ssize_t)state.n;
	close(in[1]);
	(void)fcntl(out[0], F_SETFL, O_NONBLOCK);
	const char *const argv[] = { "/bin/sh", "-c", command, NULL };
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
	int error = !written ? EIO : posix_spawn(&pid, argv[0], &files, &attributes, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	close(in[0]);
	close(out[1]);
	if (error) {
		close(out[0]);
		return;
	}
	t->status_run = xcalloc(1, sizeof *t->status_run);
	*t->status_run = (struct status_run){ .pid = pid, .fd = out[0] };
	(void)cadre_watch_fd(t->c, out[0], 0, on_output, t);
	tui_set_timer(t, TIMER_STATUS, STATUS_MS);
}

static unsigned apply_sgr(unsigned look, struct str parameters)
{
	if (!parameters.n)
		return LOOK_PLAIN;
	for (struct str rest = parameters; rest.p;) {
		uint64_t code = 0;
		struct str number = str_cut(&rest, ';');
		(void)str_to_u64(number, &code);
		if (code == 0)
			look = LOOK_PLAIN;
		else if (code == 38 || code == 48) /* 256 and more colours are not ours */
			break;
		else if (code >= 1 && code <= 4)
			look |= code == 1 ? LOOK_BOLD : code == 2 ? LOOK_DIM : code == 3 ? LOOK_ITALIC : LOOK_UNDERLINE;
		else if ((code >= 31 && code <= 36) || (code >= 91 && code <= 96))
			look = (look & ~(unsigned)LOOK_COLOURS) | (unsigned)(code % 10) << 4;
		else if (code == 39)
			look &= ~(unsigned)LOOK_COLOURS;
	}
	return look;
}

/* Its looks pass; every other sequence is shown, not sent. */
static void add_with_looks(struct styled *row, struct str line)
{
	unsigned look = LOOK_PLAIN;
	size_t from = 0;

	for (size_t at = 0; at < line.n;) {
		size_t end = at + 2;
		if (line.p[at] != '\033' || at + 1 >= line.n || line.p[at + 1] != '[') {
			at++;
			continue;
		}
		while (end < line.n && (char_in(line.p[end], ";") || (line.p[end] >= '0' && line.p[end] <= '9')))
			end++;
		if (end >= line.n || line.p[end] != 'm') {
			at++;
			continue;
		}
		styled_add_foreign(row, look, (struct str){ line.p + from, at - from }, true);
		look = apply_sgr(look, (struct str){ line.p + at + 2, end - at - 2 });
		at = from = end + 1;
	}
	styled_add_foreign(row, look, (struct str){ line.p + from, line.n - from }, true);
}

bool status_add_rows(struct tui *t)
{
	struct str rest = str_trim(buf_str(&t->status_text));
	size_t lines = 0;

	if (!rest.n)
		return false;
	while (rest.p && lines++ < STATUS_LINES)
		add_with_looks(rows_add(t), str_cut(&rest, '\n'));
	return true;
}
