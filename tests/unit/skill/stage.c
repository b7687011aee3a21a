/* SPDX-License-Identifier: MIT
 * stage.c - files for tests. */
#include "stage.h"
#include <ftw.h>
#include <sys/stat.h>
#include "lib/io/file.h"
#include "config/settings/settings_place.h"

void stage_init(struct stage *s)
{
	const char *tmp = getenv("TMPDIR");

	*s = (struct stage){ 0 };
	snprintf(s->dir, sizeof s->dir, "%s/cadre-skill-XXXXXX", tmp && strlen(tmp) < 40 ? tmp : "/tmp");
	CHECK(mkdtemp(s->dir) != NULL);
	AUTO_FREE char *real = realpath(s->dir, NULL);
	snprintf(s->dir, sizeof s->dir, "%s", real);
	stage_put(s, "top/.git/HEAD", "ref: refs/heads/main\n");
	stage_put(s, "top/apps/web/file", "");
	s->sources = (struct skill_sources){ .cwd = stage_path(s, "top/apps/web"),
					     .config_dir = stage_path(s, "config"),
					     .managed_dir = stage_path(s, "managed"),
					     .setting_sources = SETTINGS_ALL };
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

void stage_release(struct stage *s)
{
	skill_registry_free(s->registry);
	CHECK_INT(nftw(s->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
	arena_release(&s->arena);
}

char *stage_path(struct stage *s, const char *name)
{
	return path_join(&s->arena, s->dir, name);
}

void stage_put(struct stage *s, const char *name, const char *text)
{
	struct err err = { 0 };

	CHECK_INT(file_make_parents(stage_path(s, name), &err), 0);
	CHECK_INT(file_replace(stage_path(s, name), text, strlen(text), &err), 0);
}

void stage_skill(struct stage *s, const char *name)
{
	stage_put(s, name, arena_printf(&s->arena, "---\ndescription: %s\n---\nText of %s\n", name, name));
}

void stage_load(struct stage *s)
{
	skill_registry_free(TAKE(s->registry));
	s->registry = skill_registry_new(&s->sources);
}

const char *stage_active(struct stage *s)
{
	AUTO_BUF struct buf out = { 0 };

	for (size_t i = 0; i < s->registry->active_count; i++) {
		const struct skill_entry *e = s->registry->active[i];
		buf_addf(&out, "%s%s=%s", out.n ? "," : "", e->name, e->skill->file + strlen(s->dir) + 1);
	}
	return arena_str(&s->arena, buf_str(&out)).p;
}
