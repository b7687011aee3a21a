/* SPDX-License-Identifier: MIT
 * stage.c - files for tests. */
#include "stage.h"
#include <sys/stat.h>
#include <sys/wait.h>
#include "lib/io/file.h"

void stage_init(struct stage *s)
{

	*s = (struct stage){ 0 };
	folder_make(s->dir);
	stage_put(s, "top/.git/HEAD", "ref: refs/heads/main\n");
	stage_put(s, "top/project/file", "");
	s->spec = (struct settings_spec){ .cwd = stage_path(s, "top/project"),
					  .config_dir = stage_path(s, "config"),
					  .managed_dir = stage_path(s, "managed"),
					  .sources = SETTINGS_ALL,
					  .trusted = true };
}

void stage_release(struct stage *s)
{
	settings_unref(s->settings);
	folder_remove(s->dir);
	arena_release(&s->arena);
}

char *stage_path(struct stage *s, const char *name)
{
	return path_join(&s->arena, s->dir, name);
}

void stage_put(struct stage *s, const char *name, const char *text)
{
	file_put(stage_path(s, name), str_from(text));
}

char *stage_text(struct stage *s, const char *name)
{
	return file_text(&s->arena, stage_path(s, name));
}

void stage_remove(struct stage *s, const char *name)
{
	CHECK_INT(remove(stage_path(s, name)), 0);
}

void stage_load(struct stage *s)
{
	struct err err = { 0 };

	settings_unref(TAKE(s->settings));
	if (settings_load(&s->spec, &s->settings, &err) < 0)
		fail_msg("%s", err.text);
}

void stage_git(struct stage *s, const char *dir, const char *script)
{
	pid_t pid = fork();

	if (pid == 0) {
		setenv("HOME", s->dir, 1);
		setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
		if (chdir(stage_path(s, dir)) == 0)
			execlp("sh", "sh", "-ec", script, (char *)NULL);
		_exit(127);
	}
	int status;
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
}

const char *stage_short(struct stage *s, const char *text)
{
	const char *at = strstr(text, s->dir);

	if (!at)
		return arena_strdup(&s->arena, text);
	return arena_printf(&s->arena, "%.*s%s", (int)(at - text), text, at + strlen(s->dir) + 1);
}

const char *stage_error(struct stage *s)
{
	struct settings *settings;
	struct err err = { 0 };

	CHECK_INT(settings_load(&s->spec, &settings, &err), -ERR_USAGE);
	return stage_short(s, err.text);
}

const char *stage_refusal(struct stage *s)
{
	struct err err = { 0 };

	stage_load(s);
	CHECK_INT(settings_refusal(s->settings, &err), -ERR_USAGE);
	return stage_short(s, err.text);
}

const char *stage_get(struct stage *s, const char *path)
{
	const struct json *value = settings_get(s->settings, path, NULL);

	return value ? arena_str(&s->arena, json_raw(value)).p : "-";
}

const char *stage_origin(struct stage *s, const char *path)
{
	struct settings_origin o = { 0 };

	if (!settings_get(s->settings, path, &o))
		return "-";
	return arena_printf(&s->arena, "%s %s:%u", settings_layer_name(o.layer), stage_short(s, o.file), o.line);
}
