/* SPDX-License-Identifier: MIT
 * job.c - programs that the user runs from the prompt: `!COMMAND`, the subcommands of cadre behind /NAME, an editor. Output is read
 * as it comes, at most so much of it is kept, and shown when the program has ended: of a long one the first and the last lines. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "face/tui/state.h"
#include "lib/base/utf8.h"

enum {
	KEPT_BYTES = 1 << 20,
	GAP_BYTES = 1 << 16, /* so much goes at once */
	FIRST_LINES = 100,
	LAST_LINES = 300,
	/* Of an output that a prompt brings along: as much as the shell tool gives the model */
	JOINED_FIRST_BYTES = 10000,
	JOINED_LAST_BYTES = 20000,
	LINE_BYTES = 200,
	EDITOR_END_MS = 1000,
	LONG_MS = 1000
};

extern char **environ;

struct job {
	struct program program;
	char *title;
	int64_t started_ms;
	bool joins, shell, cancelled;
	job_done_fn *done; /* NULL: the output is shown */
};

int program_wait(struct program *p, bool kills)
{
	int status = 0;

	if (kills)
		(void)kill(-p->pid, SIGKILL);
	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	cadre_unwatch_fd(p->tui->c, p->fd);
	close(p->fd);
	return status;
}

/* The middle goes, in whole lines where there are any. */
static void drop_middle(struct program *p)
{
	struct buf *b = &p->output;

	if (!p->gap) {
		const char *end = memrchr(b->p, '\n', p->limit / 4);
		p->gap = end ? (size_t)(end - b->p) + 1 : p->limit / 4;
	}
	size_t from = p->gap, to = from + b->n - p->limit;
	const char *end = memchr(b->p + to, '\n', MIN(b->n - to, (size_t)GAP_BYTES));
	to = end ? (size_t)(end - b->p) + 1 : to;
	for (size_t i = from; i < to; i++)
		p->lost_lines += b->p[i] == '\n';
	p->lost_bytes += to - from;
	memmove(b->p + from, b->p + to, b->n - to);
	b->n -= to - from;
}

static void on_output(struct cadre *c, int fd, void *data)
{
	struct program *p = data;
	char bytes[16384];
	ssize_t n = read(fd, bytes, sizeof bytes);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		p->ended(p, program_wait(p, false));
		return;
	}
	buf_add(&p->output, bytes, p->keeps_end ? (size_t)n : MIN((size_t)n, p->limit - MIN(p->limit, p->output.n)));
	if (p->output.n > p->limit + GAP_BYTES)
		drop_middle(p);
}

static int spawn(pid_t *ret_pid, const char *const *argv, const posix_spawn_file_actions_t *files, short flags)
{
	posix_spawnattr_t attributes;
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGPIPE); /* we ignore it, which a program would inherit: `yes | head` would complain */
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &signals);
	posix_spawnattr_setflags(&attributes, (short)(flags | POSIX_SPAWN_SETSIGDEF));
	int error = posix_spawn(ret_pid, argv[0], files, &attributes, (char *const *)argv, environ);
	posix_spawnattr_destroy(&attributes);
	return error;
}

int program_start(struct program *p, const char *const *argv, int in, bool aside)
{
	posix_spawn_file_actions_t files;
	int pipes[2];

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return errno;
	(void)fcntl(pipes[0], F_SETFL, O_NONBLOCK); /* the program may block, we do not */
	posix_spawn_file_actions_init(&files);
	if (in >= 0)
		posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
	else
		posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&files, pipes[1], STDOUT_FILENO);
	if (aside)
		posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	else
		posix_spawn_file_actions_adddup2(&files, pipes[1], STDERR_FILENO);
	int error = spawn(&p->pid, argv, &files, POSIX_SPAWN_SETPGROUP);
	posix_spawn_file_actions_destroy(&files);
	close(pipes[1]);
	if (error) {
		close(pipes[0]);
		return error;
	}
	p->fd = pipes[0];
	(void)cadre_watch_fd(p->tui->c, p->fd, !aside, on_output, p);
	return 0;
}

static void job_free(struct tui *t)
{
	struct job *j = TAKE(t->job);

	if (!j)
		return;
	buf_release(&j->program.output);
	free(j->title);
	free(j);
}

/* A line of a table that is too long: its last cell is wrapped at words below itself. A word that does not fit, such as a path, is
 * left to the terminal, which breaks it so that it can be copied. */
static void wrap_line(struct tui *t, struct str line, struct buf *out)
{
	unsigned columns = t->region.columns - 1;
	size_t cell = 0;

	if (cells_width(line) <= columns) {
		buf_addf(out, STR_FMT "\n", STR_ARG(line));
		return;
	}
	for (size_t i = 1; i < line.n && cells_width((struct str){ line.p, i }) <= columns * 2 / 3; i++)
		if (line.p[i - 1] == ' ' && line.p[i] != ' ' && (i < 2 || line.p[i - 2] == ' '))
			cell = i;
	struct str left = { line.p, cell }, right = str_tail(line, cell);
	unsigned indent = cells_width(left);
	for (struct str words = right; words.n;)
		if (cells_width(str_cut(&words, ' ')) > columns - indent) {
			buf_addf(out, STR_FMT "\n", STR_ARG(line));
			return;
		}
	for (size_t from = 0, next; from < right.n; from = next) {
		size_t end = cells_wrap(right, from, columns - indent, &next);
		if (from)
			buf_addf(out, "%*s", (int)indent, "");
		else
			buf_add(out, left.p, left.n);
		buf_addf(out, STR_FMT "\n", (int)(end - from), right.p + from);
	}
}

/* Tables of our own commands have the first column above the others where the window is narrow. */
static void say_output(struct tui *t, struct str output, bool shell)
{
	AUTO_BUF struct buf safe = { 0 }, lines = { 0 };

	if (shell) {
		for (struct str rest = output; rest.n;) {
			struct str line = feed_output_line(str_cut(&rest, '\n'));
			buf_addf(&lines, STR_FMT "\n", STR_ARG(line));
		}
		feed_foreign(t, LOOK_PLAIN, buf_str(&lines));
		return;
	}
	if (t->dumb || t->wraps_itself) {
		feed_foreign(t, LOOK_PLAIN, output);
		return;
	}
	render_text(&safe, output);
	for (struct str rest = buf_str(&safe); rest.n;) {
		struct str whole = str_cut(&rest, '\n'), line = str_trim(whole);
		if (t->region.columns >= NARROW_COLUMNS) {
			wrap_line(t, whole, &lines);
			continue;
		}
		const char *gap = memmem(line.p, line.n, "  ", 2);
		struct str left = { line.p, gap ? (size_t)(gap - line.p) : line.n };
		AUTO_BUF struct buf right = { 0 };
		for (struct str more = str_tail(line, left.n), word; more.n;) {
			word = str_cut(&more, ' ');
			if (word.n)
				buf_addf(&right, "%s" STR_FMT, right.n ? " " : "", STR_ARG(word));
		}
		show_pair(t, &lines, left, NARROW_COLUMNS, buf_str(&right));
	}
	feed_foreign(t, LOOK_PLAIN, buf_str(&lines));
}

/* The first and the last lines, and how many are between them */
static void say_ends(struct tui *t, const struct program *p, bool shell)
{
	struct str all = buf_str(&p->output);
	size_t first = 0, last = all.n, more = p->lost_lines, end = p->lost_bytes ? p->gap : all.n;

	for (size_t lines = 0; first < end && lines < FIRST_LINES; lines++) {
		const char *at = memchr(all.p + first, '\n', end - first);
		first = at ? (size_t)(at - all.p) + 1 : end;
	}
	end = p->lost_bytes ? p->gap : first;
	for (size_t lines = 0; last > end && lines < LAST_LINES; lines++) {
		const char *at = last > end + 1 ? memrchr(all.p + end, '\n', last - end - 1) : NULL;
		last = at ? (size_t)(at - all.p) + 1 : end;
	}
	say_output(t, (struct str){ all.p, first }, shell);
	for (size_t i = first; i < last; i++)
		more += all.p[i] == '\n';
	if (first < last || p->lost_bytes) {
		AUTO_BUF struct buf b = { 0 };
		buf_addf(&b, "%s ", tui_mark(t, MARK_MORE));
		if (more)
			buf_addf(&b, "%zu lines more", more);
		else
			buf_addsize(&b, p->lost_bytes), buf_addstr(&b, " more");
		feed_say(t, LOOK_DIM, buf_str(&b));
	}
	say_output(t, str_tail(all, last), shell);
}

/* What the next prompt brings along */
static void join_output(struct tui *t, const struct job *j)
{
	const struct program *p = &j->program;
	struct str all = buf_str(&p->output);
	bool whole = all.n <= JOINED_FIRST_BYTES + JOINED_LAST_BYTES;

	buf_addf(&t->joined, "<bash-input>%s</bash-input>\n<bash-stdout>", j->title);
	buf_add(&t->joined, all.p, whole ? all.n : JOINED_FIRST_BYTES);
	if (!whole) {
		buf_addf(&t->joined, "\n... %zu bytes left out ...\n",
			 all.n + p->lost_bytes - JOINED_FIRST_BYTES - JOINED_LAST_BYTES);
		buf_append(&t->joined, str_tail(all, all.n - JOINED_LAST_BYTES));
	}
	buf_addstr(&t->joined, "</bash-stdout>\n");
}

static void job_end(struct program *p, int status)
{
	struct job *j = CONTAINER_OF(p, struct job, program);
	struct tui *t = p->tui;

	if (j->done) {
		AUTO_BUF struct buf output = p->output;
		job_done_fn *done = j->done;
		p->output = (struct buf){ 0 };
		job_free(t);
		done(t, buf_str(&output), WIFEXITED(status) && !WEXITSTATUS(status));
		tui_changed(t);
		return;
	}
	say_ends(t, p, j->shell);
	if (j->shell && WIFEXITED(status) && WEXITSTATUS(status)) {
		AUTO_BUF struct buf b = { 0 };
		buf_addf(&b, "exit code %d", WEXITSTATUS(status));
		feed_say(t, LOOK_RED, buf_str(&b));
	} else if (WIFSIGNALED(status)) {
		feed_say(t, LOOK_RED, STR("ended by a signal"));
	}
	if (j->joins)
		join_output(t, j);
	job_free(t);
	tui_changed(t);
}

static void job_start(struct tui *t, const char *title, const char *const *argv, int in, struct job how)
{
	if (t->job) {
		tui_note(t, "a command runs already: Ctrl-C ends it");
		return;
	}
	t->job = xcalloc(1, sizeof *t->job);
	*t->job = how;
	t->job->title = xstrdup(title);
	t->job->started_ms = tui_now_ms();
	t->job->program.tui = t;
	t->job->program.ended = job_end;
	t->job->program.keeps_end = !how.done;
	if (!how.program.limit)
		t->job->program.limit = KEPT_BYTES;
	int error = program_start(&t->job->program, argv, in, false);
	if (error) {
		job_free(t);
		tui_note(t, strerror(error));
	} else {
		tui_changed(t);
	}
}

void job_shell(struct tui *t, struct str command, bool joins)
{
	AUTO_FREE char *text = xstrndup(command.p, command.n);
	const char *const argv[] = { "/bin/sh", "-c", text, NULL };

	job_start(t, text, argv, -1, (struct job){ .shell = true, .joins = joins });
}

void job_program(struct tui *t, const char *const *argv, job_done_fn *done)
{
	job_start(t, argv[0], argv, -1, (struct job){ .done = done });
}

/* Cuts off the next word: blanks in quotes, and in the parentheses of a rule, are part of it; quotes outside of these are not. */
static char *next_word(char **rest)
{
	char *word = *rest + strspn(*rest, " "), *to = word, *at = word, quote = 0;
	size_t depth = 0;

	for (; *at && (*at != ' ' || quote || depth); at++) {
		if (!depth && *at == quote) {
			quote = 0;
		} else if (!depth && !quote && char_in(*at, "'\"")) {
			quote = *at;
		} else {
			depth += *at == '(' && !quote;
			depth -= *at == ')' && depth;
			*to++ = *at;
		}
	}
	*rest = *at ? at + 1 : at;
	*to = '\0';
	return at > word ? word : NULL;
}

void job_cadre(struct tui *t, const char *words, struct str more, job_done_fn *done)
{
	size_t size = strlen(words) + more.n + 2, n = 1;
	AUTO_FREE char *all = xmalloc(size);
	AUTO_FREE const char **argv = xcalloc(size / 2 + 2, sizeof *argv);

	snprintf(all, size, "%s " STR_FMT, words, STR_ARG(more));
	argv[0] = "/proc/self/exe";
	for (char *rest = all, *word; (word = next_word(&rest));)
		argv[n++] = word;
	job_start(t, words, argv, -1, (struct job){ .done = done });
}

void job_command(struct tui *t, const char *command, size_t limit, job_done_fn *done)
{
	const char *const argv[] = { "/bin/sh", "-c", command, NULL };

	job_start(t, command, argv, -1, (struct job){ .program.limit = limit, .done = done });
}

static void fed(struct tui *t, struct str output, bool ok) {}

void job_feed(struct tui *t, const char *command, struct str text)
{
	const char *const argv[] = { "/bin/sh", "-c", command, NULL };
	AUTO_CLOSE int in = memfd_create("cadre", MFD_CLOEXEC); /* it may be more than a pipe holds */

	if (in >= 0 && write(in, text.p, text.n) == (ssize_t)text.n && lseek(in, 0, SEEK_SET) == 0)
		job_start(t, command, argv, in, (struct job){ .done = fed });
}

void job_add_activity(struct tui *t)
{
	int64_t ms = t->job ? (tui_now_ms() - t->job->started_ms) / 1000 * 1000 : 0;
	AUTO_BUF struct buf b = { 0 };

	if (ms < LONG_MS)
		return;
	struct styled *row = rows_add(t);
	buf_addspan(&b, ms);
	styled_addf(row, LOOK_CYAN, "%s ", tui_mark(t, MARK_RUNS));
	styled_addf(row, LOOK_DIM, "%s . ctrl+c ends it", b.p);
	if (!t->job->shell)
		return;
	styled_add(row, LOOK_DIM, STR(" . "));
	styled_add_foreign(row, LOOK_PLAIN, str_from(t->job->title));
	struct str rest = str_trim(buf_str(&t->job->program.output));
	const char *last = memrchr(rest.p, '\n', rest.n);
	rest = feed_output_line(last ? str_tail(rest, (size_t)(last + 1 - rest.p)) : rest);
	styled_add(row, LOOK_DIM, rest.n ? STR(" . ") : STR(""));
	styled_add_foreign(row, LOOK_DIM, utf8_cut(rest, LINE_BYTES));
}

void job_cancel(struct tui *t)
{
	if (!t->job)
		return;
	(void)kill(-t->job->program.pid, t->job->cancelled ? SIGKILL : SIGTERM); /* again: it may hold that off */
	t->job->cancelled = true;
}

void job_release(struct tui *t)
{
	if (t->job)
		(void)program_wait(&t->job->program, true);
	job_free(t);
}

static void read_back(struct tui *t, int fd)
{
	AUTO_BUF struct buf text = { 0 }, valid = { 0 };
	char bytes[8192];

	for (ssize_t n; (n = read(fd, bytes, sizeof bytes)) > 0 && text.n < DRAFT_LIMIT_BYTES;)
		buf_add(&text, bytes, (size_t)n);
	for (size_t i = 0; i < text.n; i++)
		text.p[i] = text.p[i] ? text.p[i] : ' ';
	utf8_add_repaired(&valid, str_trim(buf_str(&text)));
	draft_set(&t->draft, STR(""));
	(void)draft_paste(&t->draft, buf_str(&valid));
}

struct editor {
	pid_t pid;
	int fd; /* readable when it has ended */
	char *path;
	editor_done_fn *done;
};

static void on_editor_end(struct cadre *c, int fd, void *data)
{
	struct tui *t = data;
	struct editor *e = TAKE(t->editor);
	int status = -1;

	while (waitpid(e->pid, &status, 0) < 0 && errno == EINTR)
		;
	cadre_unwatch_fd(c, fd);
	close(fd);
	bool good = WIFEXITED(status) && !WEXITSTATUS(status);
	if (!good)
		tui_note(t, "the editor failed");
	e->done(t, e->path, good);
	free(e->path);
	free(e);
	tui_take_back(t);
}

void job_drop_editor(struct tui *t)
{
	if (!t->editor)
		return;
	(void)kill(t->editor->pid, SIGHUP);
	if (poll(&(struct pollfd){ .fd = t->editor->fd, .events = POLLIN }, 1, EDITOR_END_MS) <= 0)
		(void)kill(t->editor->pid, SIGKILL);
	on_editor_end(t->c, t->editor->fd, t);
}

void job_edit_file(struct tui *t, const char *path, editor_done_fn *done)
{
	const char *editor = getenv("VISUAL");
	AUTO_BUF struct buf command = { 0 };
	pid_t pid;

	if (!editor || !*editor)
		editor = getenv("EDITOR");
	if (!editor || !*editor)
		editor = "vi";
	buf_addf(&command, "%s \"$1\"", editor); /* it may have arguments of its own */
	const char *const argv[] = { "/bin/sh", "-c", command.p, "cadre", path, NULL };
	tui_lend(t);
	int error = spawn(&pid, argv, NULL, 0);
	if (error) {
		tui_note(t, strerror(error));
		done(t, path, false);
		tui_take_back(t);
		return;
	}
	t->editor = xcalloc(1, sizeof *t->editor);
	*t->editor = (struct editor){ pid, (int)syscall(SYS_pidfd_open, pid, 0), xstrdup(path), done };
	if (t->editor->fd < 0 || cadre_watch_fd(t->c, t->editor->fd, 1, on_editor_end, t) < 0)
		on_editor_end(t->c, t->editor->fd, t); /* without such descriptors all waits for it */
}

static void draft_edited(struct tui *t, const char *path, bool good)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW); /* editors replace the file */

	if (fd >= 0 && good)
		read_back(t, fd);
	if (fd >= 0)
		close(fd);
	(void)unlink(path);
}

void job_edit_draft(struct tui *t)
{
	const char *dir = getenv("XDG_RUNTIME_DIR");
	AUTO_BUF struct buf path = { 0 }, text = { 0 };

	buf_addf(&path, "%s/cadre-prompt-XXXXXX.md", dir && *dir ? dir : "/tmp");
	int fd = mkostemps(path.p, 3, O_CLOEXEC);
	if (fd < 0) {
		tui_note(t, strerror(errno));
		return;
	}
	draft_expand(&t->draft, &text);
	if (text.n && write(fd, text.p, text.n) < (ssize_t)text.n)
		tui_note(t, "the draft was not written whole");
	close(fd);
	job_edit_file(t, path.p, draft_edited);
}
