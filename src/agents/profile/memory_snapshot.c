/* SPDX-License-Identifier: MIT
 * memory_snapshot.c - user memory that travels with a project. */
#include <dirent.h>
#include <errno.h>
#include "agents/profile/memory_int.h"
#include "lib/base/id.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"
#include "lib/json/json_write.h"
#include "config/settings/settings_file.h"

enum { MOST_FILES = 100, LARGEST_FILE = 256 << 10 };

/* A member that is a short text, or NULL. */
static const char *read_member(struct arena *a, const char *path, const char *member)
{
	AUTO_SETTINGS_FILE struct settings_file file = { 0 };

	if (settings_file_read(&file, path, NULL) < 0)
		return NULL;
	const char *value = json_cstr(json_get(file.root, member), a);
	return value && value[0] && strlen(value) <= ISO_TIME_LEN + 8 ? value : NULL;
}

static int write_member(const char *dir, const char *name, const char *member, const char *value, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };
	struct json_out w = json_out(&text);

	json_open(&w, '{');
	json_kcstr(&w, member, value);
	json_close(&w);
	buf_addch(&text, '\n');
	return file_below_replace(dir, name, buf_str(&text), err);
}

bool memory_snapshot_is_new(struct arena *a, const char *snapshot, const char *memory, const char **ret_time)
{
	const char *made = read_member(a, path_join(a, snapshot, "snapshot.json"), "updatedAt");
	const char *seen = read_member(a, path_join(a, memory, ".snapshot-synced.json"), "syncedFrom");

	if (!made || (seen && strcmp(made, seen) <= 0)) /* times in the one form that sorts as text */
		return false;
	*ret_time = made;
	return true;
}

/* Regular files only: a link in somebody's project must not bring other files of the user along. */
static int copy_file(const char *from, const char *to, const char *name, struct err *err)
{
	AUTO_BUF struct buf text = { 0 };

	if (file_below_read(from, name, LARGEST_FILE, &text, err) < 0)
		return err_wrap(err, "cannot copy %s", name);
	return file_below_replace(to, name, buf_str(&text), err);
}

static int is_markdown(const struct dirent *e)
{
	return e->d_name[0] != '.' && e->d_type != DT_DIR && str_ends(str_from(e->d_name), STR(".md"));
}

static int copy_notes(const char *from, const char *to, size_t *ret_files, struct err *err)
{
	struct dirent **entries;
	int status = 0;
	int n = scandir(from, &entries, is_markdown, alphasort);

	if (n < 0)
		return err_set(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot read %s: %m", from);
	if (n > MOST_FILES)
		status = err_set(err, ERR_LIMIT, "%s has more than %d files", from, MOST_FILES);
	for (int i = 0; i < n; i++) {
		if (status == 0)
			status = copy_file(from, to, entries[i]->d_name, err);
		free(entries[i]);
	}
	free(entries);
	if (status == 0)
		*ret_files = (size_t)n;
	return status;
}

int memory_snapshot_restore(const char *snapshot, const char *memory, const char *time, struct err *err)
{
	size_t files;
	int status = copy_notes(snapshot, memory, &files, err);

	return status < 0 ? status : write_member(memory, ".snapshot-synced.json", "syncedFrom", time, err);
}

int agent_memory_save_snapshot(const struct agent_definition *d, const struct memory_places *places, size_t *ret_files,
			       struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	char *snapshot = memory_snapshot_dir(&a, d, places);
	char *memory = agent_memory_dir(&a, d, places);
	char now[ISO_TIME_LEN + 1];

	if (d->memory != MEMORY_USER)
		return err_set(err, ERR_USAGE, "agent %.80s has no user memory to take a snapshot of", d->name);
	int status = file_below_make_dir(places->project_dir, snapshot + strlen(places->project_dir), 0755, err);
	if (status < 0)
		return status;
	id_iso_time(id_wall_ms(), now);
	status = copy_notes(memory, snapshot, ret_files, err);
	if (status == 0)
		status = write_member(snapshot, "snapshot.json", "updatedAt", now, err);
	return status < 0 ? status : write_member(memory, ".snapshot-synced.json", "syncedFrom", now, err);
}
