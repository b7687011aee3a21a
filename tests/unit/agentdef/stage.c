/* SPDX-License-Identifier: MIT
 * stage.c - files for tests. */
#include "stage.h"
#include <sys/stat.h>
#include "lib/io/file.h"

void stage_init(struct stage *s)
{

	*s = (struct stage){ 0 };
	folder_make(s->dir);
	stage_put(s, "top/.git/HEAD", "ref: refs/heads/main\n");
	stage_put(s, "top/project/file", "");
	s->sources = (struct catalog_sources){ .cwd = stage_path(s, "top/project"),
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

void stage_agent(struct stage *s, const char *name, const char *type)
{
	stage_put(s, name,
		  arena_printf(&s->arena, "---\nname: %s\ndescription: %s\n---\nPrompt of %s\n", type, name, name));
}

void stage_load(struct stage *s)
{
	struct err err = { 0 };

	catalog_free(TAKE(s->registry));
	if (agent_registry_new(&s->sources, &s->registry, &err) < 0)
		fail_msg("%s", err.text);
}

const struct agent_definition *stage_find(struct stage *s, const char *type)
{
	const struct catalog_entry *e = agent_registry_find(s->registry, str_from(type));

	return e ? e->definition : NULL;
}

const char *stage_active(struct stage *s)
{
	AUTO_BUF struct buf out = { 0 };

	for (size_t i = 0; i < s->registry->active_count; i++) {
		const struct agent_definition *d = s->registry->active[i]->definition;
		if (d->source != SOURCE_BUILT_IN)
			buf_addf(&out, "%s%s", out.n ? "," : "", d->name);
	}
	return arena_str(&s->arena, buf_str(&out)).p;
}
