/* SPDX-License-Identifier: MIT
 * status.c - the user's status line: a command that gets the state of the session as JSON on its standard input and prints up to
 * three rows. It runs at the start, behind each answer and after a change of the mode; a newer run ends the older one. One that
 * fails, or takes five seconds, shows nothing. */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "face/tui/state.h"
#include "face/cli/view.h"
#include "lib/json/json.h"
#include "lib/json/json_write.h"

enum { STATUS_BYTES = 8192, STATUS_LINES = 3, STATUS_MS = 5000 };

static void status_free(struct tui *t)
{
	struct program *p = TAKE(t->status_run);

	tui_set_timer(t, TIMER_STATUS, -1);
	buf_release(&p->output);
	free(p);
}

static void status_end(struct program *p, int status)
{
	struct tui *t = p->tui;

	buf_clear(&t->status_text);
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		buf_append(&t->status_text, buf_str(&p->output));
	tui_changed(t);
	status_free(t);
}

void status_cancel(struct tui *t)
{
	if (!t->status_run)
		return;
	(void)program_wait(t->status_run, true);
	status_free(t);
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
	const struct json *root;
	size_t n = 0;
	const char *setting = cadre_session_setting(t->session, "statusLine", &n);
	int in[2];

	if (!setting || t->lines || json_parse(&reader, setting, n, &root, NULL) < 0)
		return;
	const char *command = json_cstr(json_get(root, "command"), &arena);
	if (!command || !*command)
		return;
	status_cancel(t);
	put_state(t, &state);
	if (pipe2(in, O_CLOEXEC) < 0)
		return;
	/* smaller than a pipe holds: the write cannot wait */
	bool written = write(in[1], state.p, state.n) == (ssize_t)state.n;
	close(in[1]);
	const char *const argv[] = { "/bin/sh", "-c", command, NULL };
	t->status_run = xnew(struct program, .tui = t, .limit = STATUS_BYTES, .ended = status_end);
	if (written && !program_start(t->status_run, argv, in[0], true))
		tui_set_timer(t, TIMER_STATUS, STATUS_MS);
	else
		status_free(t);
	close(in[0]);
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
		styled_add_foreign(row, look, (struct str){ line.p + from, at - from });
		look = apply_sgr(look, (struct str){ line.p + at + 2, end - at - 2 });
		at = from = end + 1;
	}
	styled_add_foreign(row, look, (struct str){ line.p + from, line.n - from });
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
