/* SPDX-License-Identifier: MIT
 * memory.c - memory files: `# TEXT` keeps a line in one of them, /memory edits one. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "face/tui/state.h"

static void choose_memory(struct tui *t, const char *path)
{
	AUTO_BUF struct buf line = { 0 }, kept = { 0 };
	struct stat st;
	int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);

	buf_addf(&kept, "kept in %s", path);
	buf_addf(&line, "%s- %s\n", fd >= 0 && fstat(fd, &st) == 0 && st.st_size ? "" : "# Memory\n\n", t->remembered);
	if (fd < 0 || write(fd, line.p, line.n) < (ssize_t)line.n)
		feed_words(t, LOOK_RED, str_from(strerror(errno)));
	else
		feed_words(t, LOOK_DIM, buf_str(&kept));
	if (fd >= 0)
		close(fd);
}

static void list_memories(struct tui *t, const char *title, page_choose_fn *choose)
{
	AUTO_BUF struct buf user = { 0 };
	struct page *p = page_open_list(t, title, choose);

	page_add_item(p, STR("CLAUDE.md"), STR("CLAUDE.md: this project, for everyone who works on it"));
	page_add_item(p, STR("CLAUDE.local.md"), STR("CLAUDE.local.md: this project, for you"));
	if (tui_config_path(&user, "CLAUDE.md"))
		page_add_item(p, buf_str(&user), STR("your own memory: all projects"));
}

void command_remember(struct tui *t, struct str text)
{
	free(t->remembered);
	t->remembered = xstrndup(text.p, text.n);
	list_memories(t, "Keep this in", choose_memory);
}

static void memory_edited(struct tui *t, const char *path, bool good)
{
	if (good)
		tui_note(t, "a new session reads it");
}

static void choose_memory_file(struct tui *t, const char *path)
{
	job_edit_file(t, path, memory_edited);
}

void command_memory(struct tui *t, const struct slash *slash, struct str rest)
{
	list_memories(t, "Edit memory", choose_memory_file);
}
