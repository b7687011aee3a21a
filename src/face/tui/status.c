/* SPDX-License-Identifier: MIT
 * status.c - the user's status line: a command that gets the state of the session as JSON on its standard input and prints up to
 * three rows. It runs at the start, behind each answer, after a change of the mode and every refreshInterval seconds; a newer run
 * ends the older one. One that fails, or takes five seconds, shows nothing; /doctor tells. */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "face/tui/state.h"
#include "face/cli/view.h"
#include "lib/json/json.h"
#include "lib/json/json_write.h"

enum { STATUS_BYTES = 8192, STATUS_LINES = 3, STATUS_MS = 5000, STATUS_PAUSE_MS = 300, STATUS_MOST_PADDING = 40 };

static void status_free(struct tui *t)
{
	struct program *p = TAKE(t->status_run);

	tui_set_timer(t, TIMER_STATUS, -1);
	if (t->status_every_ms)
		tui_set_timer(t, TIMER_REFRESH, t->status_every_ms);
	buf_release(&p->output);
	free(p);
}

static void status_end(struct program *p, int status)
{
	struct tui *t = p->tui;

	buf_clear(&t->status_text);
	buf_clear(&t->status_problem);
	if (!WIFEXITED(status))
		buf_addf(&t->status_problem, "was ended by signal %d", WTERMSIG(status));
	else if (WEXITSTATUS(status))
		buf_addf(&t->status_problem, "ended with %d", WEXITSTATUS(status));
	else
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

void status_late(struct tui *t)
{
	status_cancel(t);
	buf_clear(&t->status_text);
	buf_clear(&t->status_problem);
	buf_addf(&t->status_problem, "took more than %d s", STATUS_MS / 1000);
	tui_changed(t);
}

/* The name of the linked worktree of git that the directory is in, if it is: there .git is a file that leads to its data. */
static void add_worktree_name(struct buf *out, const char *cwd)
{
	AUTO_BUF struct buf path = { 0 };
	char text[4096];

	buf_addstr(&path, cwd);
	while (path.n) {
		size_t n = path.n;
		buf_addstr(&path, "/.git");
		AUTO_CLOSE int fd = open(path.p, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd >= 0) {
			ssize_t got = read(fd, text, sizeof text); /* of a directory nothing */
			struct str line = str_trim((struct str){ text, got > 0 ? (size_t)got : 0 });
			const char *name = memmem(line.p, line.n, "/worktrees/", 11);
			if (name)
				buf_add(out, name + 11, line.n - (size_t)(name + 11 - line.p));
			return;
		}
		const char *slash = memrchr(path.p, '/', n);
		path.n = slash ? (size_t)(slash - path.p) : 0;
	}
}

/* What the command reads: names and nesting as programs for other agents expect them */
static void put_state(struct tui *t, struct buf *out)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf worktree = { 0 };
	AUTO_FREE char *cwd = getcwd(NULL, 0);
	struct json_out w = json_out(out);
	const char *model = cadre_session_model(t->session);
	struct str set = tui_setting(t, "outputStyle"), style = set.n ? set : STR("default");
	int64_t answer = t->usage[USAGE_PARTS - 1], input = t->context - answer;
	const struct json *applied = show_applied(t, &reader), *effort = json_get(applied, "effort");

	add_worktree_name(&worktree, cwd ? cwd : "");
	json_putf(&w,
		  "{hook_event_name:'Status', session_id:'%s', transcript_path:'%s', cwd:'%s', model:{id:'%s', "
		  "display_name:'%s'}, ",
		  cadre_session_id(t->session), cadre_session_file(t->session), cwd, model, model);
	json_putf(&w, "workspace:{current_dir:'%s', project_dir:'%s', added_dirs:%.*s, git_worktree?:'%.*s'},", cwd,
		  cwd, JSON_ARG(json_get(applied, "additionalDirectories")), STR_ARG(buf_str(&worktree)));
	json_putf(&w, "version:'%s', permission_mode:'%s', output_style:{name:'%.*s'},", cadre_version(),
		  cadre_session_mode(t->session), STR_ARG(style));
	json_putf(&w, "cost:{total_cost_usd:%g, total_duration_ms:%lld},", t->cost_usd,
		  (long long)(tui_now_ms() - t->opened_ms));
	json_putf(&w, "context_window:{context_window_size:%lld, total_input_tokens:%lld, total_output_tokens:%lld",
		  (long long)t->window, (long long)input, (long long)answer);
	if (t->window)
		json_putf(&w, "used_percentage:%lld, remaining_percentage:%lld", (long long)(input * 100 / t->window),
			  (long long)(100 - input * 100 / t->window));
	json_putf(&w, t->context ? "current_usage:{" : "current_usage:null");
	for (size_t i = 0; i < USAGE_PARTS && t->context; i++)
		json_ki64(&w, usage_names[i], t->usage[i]);
	json_putf(&w, t->context ? "}}, exceeds_200k_tokens:!!%d" : "}, exceeds_200k_tokens:!!%d", t->context > 200000);
	if (json_is(effort, JSON_STRING))
		json_putf(&w, "effort:{level:'%s'}", json_cstr(effort, &a));
	if (json_get(applied, "agent"))
		json_putf(&w, "agent:{name:'%s'}", json_cstr(json_get(applied, "agent"), &a));
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
	int64_t padding = 0, pause_ms = t->status_ms + STATUS_PAUSE_MS - tui_now_ms();
	double every_s;
	int in[2];

	if (!setting || t->lines || json_parse(&reader, setting, n, &root, NULL) < 0)
		return;
	const char *command = json_cstr(json_get(root, "command"), &arena);
	if (!command || !*command)
		return;
	if (t->status_ms && pause_ms > 0) {
		tui_set_timer(t, TIMER_REFRESH, pause_ms);
		return;
	}
	t->status_ms = tui_now_ms();
	(void)json_i64(json_get(root, "padding"), &padding);
	every_s = json_double(json_get(root, "refreshInterval"));
	t->status_padding = (int)MAX(MIN(padding, (int64_t)STATUS_MOST_PADDING), (int64_t)0);
	t->status_every_ms = every_s >= 1 ? (int64_t)(MIN(every_s, 1e6) * 1000) : 0;
	status_cancel(t);
	put_state(t, &state);
	if (pipe2(in, O_CLOEXEC) < 0)
		return;
	(void)fcntl(in[1], F_SETFL, O_NONBLOCK); /* what is more than a pipe holds is not waited for */
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

bool status_add_rows(struct tui *t)
{
	struct str rest = str_trim(buf_str(&t->status_text));
	size_t lines = 0;

	if (!rest.n)
		return false;
	while (rest.p && lines++ < STATUS_LINES) {
		struct styled *row = rows_add(t);
		styled_addf(row, LOOK_PLAIN, "%*s", t->status_padding, "");
		styled_add_with_looks(row, str_cut(&rest, '\n'));
	}
	return true;
}
