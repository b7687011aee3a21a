/* SPDX-License-Identifier: MIT
 * stage.c - files for tests. */
#include "stage.h"
#include <sys/stat.h>
#include "lib/io/file.h"
#include "config/settings/settings_file.h"

void stage_init(struct stage *s)
{

	*s = (struct stage){ 0 };
	folder_make(s->dir);
	stage_put(s, "top/.git/HEAD", "ref: refs/heads/main\n");
	stage_put(s, "top/apps/web/file", "");
	s->sources = (struct catalog_sources){ .cwd = stage_path(s, "top/apps/web"),
					       .config_dir = stage_path(s, "config"),
					       .managed_dir = stage_path(s, "managed"),
					       .setting_sources = SETTINGS_ALL };
}

void stage_release(struct stage *s)
{
	catalog_free(s->registry);
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

void stage_skill(struct stage *s, const char *name)
{
	stage_put(s, name, arena_printf(&s->arena, "---\ndescription: %s\n---\nText of %s\n", name, name));
}

void stage_load(struct stage *s)
{
	catalog_free(TAKE(s->registry));
	s->registry = skill_registry_new(&s->sources);
}

const char *stage_active(struct stage *s)
{
	AUTO_BUF struct buf out = { 0 };

	for (size_t i = 0; i < s->registry->active_count; i++) {
		const struct catalog_entry *e = s->registry->active[i];
		buf_addf(&out, "%s%s=%s", out.n ? "," : "", e->name, e->skill->file + strlen(s->dir) + 1);
	}
	return arena_str(&s->arena, buf_str(&out)).p;
}
