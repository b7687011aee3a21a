/* SPDX-License-Identifier: MIT
 * env_file.c - shell lines that hooks leave for the commands of their session. */
#include "agents/agent/env_file.h"
#include <unistd.h>
#include "lib/io/file.h"

/* Shells read them in the order of these names: what changes more often has the last word. */
static const struct {
	enum hook_event event;
	const char *name;
} files[] = {
	{ HOOK_SETUP, "1-setup.sh" },
	{ HOOK_SESSION_START, "2-session-start.sh" },
	{ HOOK_CWD_CHANGED, "3-cwd-changed.sh" },
	{ HOOK_FILE_CHANGED, "4-file-changed.sh" },
};

static const char *name_of(enum hook_event event)
{
	for (size_t i = 0; i < COUNT_OF(files); i++)
		if (files[i].event == event)
			return files[i].name;
	return NULL;
}

const char *env_file_begin(const struct agent_tree *t, enum hook_event event, struct arena *a)
{
	const char *name = name_of(event);

	if (!name || !t->env_dir || file_make_dirs(t->env_dir, 0700, NULL) < 0)
		return NULL;
	const char *path = path_join(a, t->env_dir, name);
	(void)unlink(path);
	return path;
}

void env_files_remove(const struct agent_tree *t)
{
	AUTO_ARENA struct arena a = { 0 };

	for (size_t i = 0; t->env_dir && i < COUNT_OF(files); i++)
		(void)unlink(path_join(&a, t->env_dir, files[i].name));
	if (t->env_dir)
		(void)rmdir(t->env_dir);
}
