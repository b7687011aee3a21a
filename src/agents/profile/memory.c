/* SPDX-License-Identifier: MIT
 * memory.c - directories, snapshots and prompt text of an agent's memory. */
#include "agents/profile/memory.h"
#include <dirent.h>
#include <errno.h>
#include "lib/base/id.h"
#include "lib/base/utf8.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"
#include "lib/json/json_write.h"
#include "config/settings/settings.h"
#include "config/settings/settings_file.h"
#include "defs/policy/services.h"

enum { LONGEST_NAME = 100, LARGEST_MEMORY = 16 << 20, MOST_FILES = 100, LARGEST_FILE = 256 << 10 };

static const char *const scope_dirs[] = {
	[MEMORY_USER] = "agent-memory",
	[MEMORY_PROJECT] = ".claude/agent-memory",
	[MEMORY_LOCAL] = ".claude/agent-memory-local",
};

bool agent_memory_is_on(const struct services *sv, const struct policy *p)
{
	return !json_is(settings_get(p->settings, "autoMemoryEnabled", NULL), JSON_FALSE) &&
	       !env_is_on(policy_variable(sv, p, "CLAUDE_CODE_DISABLE_AUTO_MEMORY"));
}

const char *conversation_memory_dir(struct arena *a, const struct settings *settings, const char *project_dir)
{
	const char *wish = settings_cstr(settings, "autoMemoryDirectory", a);
	const char *dir = path_join(a, project_dir, "memory");

	if (wish && wish[0])
		return path_absolute(a, settings_source(settings)->config_dir, str_from(wish));
	if (json_bool(settings_get(settings, "autoMemoryEnabled", NULL)) || file_exists(path_join(a, dir, "MEMORY.md")))
		return dir;
	return NULL;
}

/* A type that needs a change gets a mark made from all of it, so that no two types share a memory: the agent `reviewer` of a
 * plugin `code` must not read what the user's `code-reviewer` remembers. */
void agent_memory_name(struct buf *out, struct str type)
{
	struct str kept = utf8_cut(type, LONGEST_NAME);
	bool changed = !kept.n || kept.n < type.n || kept.p[0] == '.' || !utf8_valid(type);

	for (size_t i = 0; i < kept.n; i++) {
		unsigned char c = (unsigned char)kept.p[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
			     c == '-' || (c == '.' && i > 0) || (c >= 0x80 && !changed);
		buf_addch(out, plain ? (char)c : '-');
		changed |= !plain;
	}
	if (!changed)
		return;
	uint64_t hash = 14695981039346656037ULL; /* FNV-1a: the same in every version, because it is on disk */
	for (size_t i = 0; i < type.n; i++)
		hash = (hash ^ (unsigned char)type.p[i]) * 1099511628211ULL;
	buf_addf(out, "-%016jx", (uintmax_t)hash);
}

static char *memory_path_of(struct arena *a, const char *dir, const struct agent_definition *d)
{
	AUTO_BUF struct buf name = { 0 };

	agent_memory_name(&name, str_from(d->name));
	return path_join(a, dir, buf_str(&name).p);
}

static const char *base_of(const struct agent_definition *d, const struct memory_dirs *dirs)
{
	return d->memory == MEMORY_USER ? dirs->config_dir : dirs->project_dir;
}

char *agent_memory_dir(struct arena *a, const struct agent_definition *d, const struct memory_dirs *dirs)
{
	if (d->memory == MEMORY_NONE)
		return NULL;
	return memory_path_of(a, path_join(a, base_of(d, dirs), scope_dirs[d->memory]), d);
}

static char *memory_snapshot_dir(struct arena *a, const struct agent_definition *d, const struct memory_dirs *dirs)
{
	return memory_path_of(a, path_join(a, dirs->project_dir, ".claude/agent-memory-snapshots"), d);
}

/* Snapshots: user memory that travels with a project. */

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

/* Whether a usable snapshot is there that this memory has not seen; ret_time is when it was made. */
static bool memory_snapshot_is_new(struct arena *a, const char *snapshot, const char *memory, const char **ret_time)
{
	const char *made = read_member(a, path_join(a, snapshot, "snapshot.json"), "updatedAt");
	const char *seen = read_member(a, path_join(a, memory, ".snapshot-synced.json"), "syncedFrom");

	if (!made || (seen && strcmp(made, seen) <= 0)) /* times in the one form that sorts as text */
		return false;
	*ret_time = made;
	return true;
}

static int is_markdown(const struct dirent *e)
{
	return e->d_name[0] != '.' && e->d_type != DT_DIR && str_ends(str_from(e->d_name), STR(".md"));
}

/* Regular files only: a link in the project must not bring other files of the user along. */
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
		AUTO_BUF struct buf text = { 0 };
		const char *name = entries[i]->d_name;
		if (status == 0 && file_below_read(from, name, LARGEST_FILE, &text, err) < 0)
			status = err_wrap(err, "cannot copy %s", name);
		else if (status == 0)
			status = file_below_replace(to, name, buf_str(&text), err);
		free(entries[i]);
	}
	free(entries);
	if (status == 0)
		*ret_files = (size_t)n;
	return status;
}

int agent_memory_save_snapshot(const struct agent_definition *d, const struct memory_dirs *dirs, size_t *ret_files,
			       struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	char *snapshot = memory_snapshot_dir(&a, d, dirs);
	char *memory = agent_memory_dir(&a, d, dirs);
	char now[ISO_TIME_LEN + 1];

	if (d->memory != MEMORY_USER)
		return err_set(err, ERR_USAGE, "agent %.80s has no user memory to take a snapshot of", d->name);
	int status = file_below_make_dir(dirs->project_dir, snapshot + strlen(dirs->project_dir), 0755, err);
	if (status < 0)
		return status;
	id_iso_time(id_wall_ms(), now);
	status = copy_notes(memory, snapshot, ret_files, err);
	if (status == 0)
		status = write_member(snapshot, "snapshot.json", "updatedAt", now, err);
	return status < 0 ? status : write_member(memory, ".snapshot-synced.json", "syncedFrom", now, err);
}

int agent_memory_prepare(const struct agent_definition *d, const struct memory_dirs *dirs, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	char *dir = agent_memory_dir(&a, d, dirs);
	const char *base = base_of(d, dirs);
	const char *time;
	size_t files;

	if (!dir)
		return 0;
	/* A project may hold a link on the way to the memory; nothing is made behind one. */
	if (file_make_dirs(base, 0700, err) < 0 || file_below_make_dir(base, dir + strlen(base), 0700, err) < 0)
		return -(int)err->kind;
	if (d->memory != MEMORY_USER || !dirs->trusted || file_exists(path_join(&a, dir, "MEMORY.md")))
		return 0;
	char *snapshot = memory_snapshot_dir(&a, d, dirs);
	if (!memory_snapshot_is_new(&a, snapshot, dir, &time))
		return 0;
	int status = copy_notes(snapshot, dir, &files, err);
	return status < 0 ? status : write_member(dir, ".snapshot-synced.json", "syncedFrom", time, err);
}

static const char instructions[] =
	"# Your memory\n"
	"You keep notes from run to run in %s. It exists; read and write it with Read, Write and Edit.\n"
	"- MEMORY.md there is its index: its first %d lines (%d KB at most) are below in every run, so keep it short. "
	"Put "
	"details into files of their own beside it and name them there.\n"
	"- Note what will be true next time: decisions, conventions, how things are built and tested here, mistakes "
	"not to "
	"repeat. Leave out what the task alone needs, what the code says itself, and anything secret.\n"
	"- Look before you add; correct or remove what has become wrong.\n"
	"- %s\n";

static const char *const scope_hints[] = {
	[MEMORY_USER] = "It serves all projects of this user: write what holds beyond this one.",
	[MEMORY_PROJECT] = "It is part of the project and shared with everybody who works on it: write for them.",
	[MEMORY_LOCAL] = "It belongs to this project on this machine and is not shared.",
};

/* The first lines of MEMORY.md, whole ones where the limit allows */
static void add_memory_file(struct buf *out, const char *base, const char *below)
{
	AUTO_BUF struct buf text = { 0 };
	struct err err = { 0 };

	if (file_below_read(base, below, LARGEST_MEMORY, &text, &err) < 0) {
		buf_addstr(out, err.kind == ERR_NOT_FOUND
					? "\nMEMORY.md does not exist yet: nothing is remembered so far.\n"
					: "\nMEMORY.md cannot be read now.\n");
		return;
	}
	struct str all = str_trim(buf_str(&text));
	if (!all.n) {
		buf_addstr(out, "\nMEMORY.md is empty: nothing is remembered so far.\n");
		return;
	}
	struct str head = utf8_cut(all, MEMORY_MOST_BYTES);
	size_t lines = 0;
	size_t end = 0;
	for (size_t i = 0; i < head.n && lines < MEMORY_MOST_LINES; i++)
		if (head.p[i] == '\n') {
			lines++;
			end = i + 1;
		}
	if (end && (head.n < all.n || lines == MEMORY_MOST_LINES))
		head.n = end; /* whole lines */
	buf_addstr(out, "\n## MEMORY.md\n\n");
	utf8_add_repaired(out, head);
	if (out->p[out->n - 1] != '\n')
		buf_addch(out, '\n');
	if (head.n < all.n)
		buf_addf(out,
			 "\n(MEMORY.md is longer: %zu of its %zu bytes are shown. Shorten it, or read the rest with "
			 "Read.)\n",
			 head.n, all.n);
}

void conversation_memory_prompt(struct buf *out, const char *dir)
{
	buf_addf(out, instructions, dir, MEMORY_MOST_LINES, MEMORY_MOST_BYTES / 1024, scope_hints[MEMORY_LOCAL]);
	add_memory_file(out, dir, "/MEMORY.md");
}

void agent_memory_prompt(struct buf *out, const struct agent_definition *d, const struct memory_dirs *dirs)
{
	AUTO_ARENA struct arena a = { 0 };
	char *dir = agent_memory_dir(&a, d, dirs);
	const char *time;

	if (!dir)
		return;
	buf_addf(out, instructions, dir, MEMORY_MOST_LINES, MEMORY_MOST_BYTES / 1024, scope_hints[d->memory]);
	const char *base = base_of(d, dirs);
	add_memory_file(out, base, path_join(&a, dir, "MEMORY.md") + strlen(base));
	char *snapshot = memory_snapshot_dir(&a, d, dirs);
	if (d->memory == MEMORY_USER && dirs->trusted && memory_snapshot_is_new(&a, snapshot, dir, &time))
		buf_addf(out,
			 "\nThis project has a snapshot of this memory from %s in %s. "
			 "Take over what is useful and still true.\n",
			 time, snapshot);
}
