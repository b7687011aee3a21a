/* SPDX-License-Identifier: MIT
 * history.c - what was typed, over sessions: <config>/history.jsonl, one object a line with display, pastedContents, timestamp,
 * project and sessionId. Lines are appended in one write; the newest ones of this project are read when the first is wanted. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "face/tui/state.h"
#include "lib/json/json_write.h"

enum { READ_BYTES = 8 << 20 };

bool tui_config_path(struct buf *path, const char *name)
{
	const char *dir = getenv("CLAUDE_CONFIG_DIR"), *home = getenv("HOME");

	if (dir && *dir)
		buf_addf(path, "%s/%s", dir, name);
	else if (home && *home)
		buf_addf(path, "%s/.claude/%s", home, name);
	return path->n > 0;
}

bool tui_read_config(const char *name, size_t most, struct buf *text)
{
	AUTO_BUF struct buf path = { 0 };
	AUTO_CLOSE int fd = tui_config_path(&path, name) ? open(path.p, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;

	if (fd < 0)
		return false;
	buf_reserve(text, most);
	ssize_t n = read(fd, text->p, most);
	text->n = n > 0 ? (size_t)n : 0;
	return n >= 0;
}

static int open_history(int flags)
{
	AUTO_BUF struct buf path = { 0 };

	return tui_config_path(&path, "history.jsonl") ? open(path.p, flags | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
}

void history_load(struct tui *t)
{
	AUTO_FREE char *cwd = getcwd(NULL, 0);
	AUTO_BUF struct buf text = { 0 };
	struct stat st;
	int fd;

	if (t->history_read)
		return;
	t->history_read = true;
	fd = open_history(O_RDONLY);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		off_t from = st.st_size > READ_BYTES ? st.st_size - READ_BYTES : 0;
		buf_reserve(&text, (size_t)(st.st_size - from));
		ssize_t n = pread(fd, text.p, (size_t)(st.st_size - from), from);
		text.n = n > 0 ? (size_t)n : 0;
	}
	close(fd);
	if (cwd)
		draft_read_history(&t->draft, buf_str(&text), cwd);
}

void history_append(struct tui *t, struct str text)
{
	AUTO_BUF struct buf line = { 0 };
	AUTO_FREE char *cwd = getcwd(NULL, 0);
	struct json_out w = json_out(&line);

	if (args_has(t->args, "no-session-persistence"))
		return;
	json_open(&w, '{');
	draft_write_history(&t->draft, text, &w);
	json_ki64(&w, "timestamp", id_wall_ms());
	json_kcstr(&w, "project", cwd ? cwd : "");
	json_kcstr(&w, "sessionId", cadre_session_id(t->session));
	json_close(&w);
	buf_addch(&line, '\n');
	if (line.n > DRAFT_HISTORY_LINE) /* more would not be read */
		return;
	int fd = open_history(O_WRONLY | O_APPEND | O_CREAT);
	if (fd < 0)
		return;
	if (write(fd, line.p, line.n) < 0)
		tui_note(t, strerror(errno));
	close(fd);
}
