/* SPDX-License-Identifier: MIT
 * memory.c - directories and prompt text of an agent's memory. */
#include "agents/profile/memory.h"
#include "agents/profile/memory_int.h"
#include "lib/base/utf8.h"
#include "lib/io/file.h"
#include "lib/io/file_at.h"
#include "config/settings/settings.h"

enum { LONGEST_NAME = 100, LARGEST_MEMORY = 16 << 20 };

static const char *const scope_dirs[] = {
	[MEMORY_USER] = "agent-memory",
	[MEMORY_PROJECT] = ".claude/agent-memory",
	[MEMORY_LOCAL] = ".claude/agent-memory-local",
};

bool agent_memory_is_on(const struct json *setting)
{
	return !json_is(setting, JSON_FALSE) && !env_is_on("CLAUDE_CODE_DISABLE_AUTO_MEMORY");
}

static bool is_plain(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
	       c == '.' || c >= 0x80;
}

/* A type that needs a change gets a mark made from all of it, so that no two types share a memory: the agent `reviewer` of a
 * plugin `code` must not read what the user's `code-reviewer` remembers. */
void agent_memory_name(struct buf *out, struct str type)
{
	struct str kept = utf8_cut(type, LONGEST_NAME);
	bool changed = !kept.n || kept.n < type.n || kept.p[0] == '.' || !utf8_valid(type);

	for (size_t i = 0; i < kept.n; i++) {
		unsigned char c = (unsigned char)kept.p[i];
		bool plain = is_plain(c) && !(i == 0 && c == '.') && !(c >= 0x80 && changed);
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

static char *named(struct arena *a, const char *dir, const struct agent_definition *d)
{
	AUTO_BUF struct buf name = { 0 };

	agent_memory_name(&name, str_from(d->name));
	return path_join(a, dir, buf_str(&name).p);
}

static const char *base_of(const struct agent_definition *d, const struct memory_places *places)
{
	return d->memory == MEMORY_USER ? places->config_dir : places->project_dir;
}

char *agent_memory_dir(struct arena *a, const struct agent_definition *d, const struct memory_places *places)
{
	if (d->memory == MEMORY_NONE)
		return NULL;
	return named(a, path_join(a, base_of(d, places), scope_dirs[d->memory]), d);
}

char *memory_snapshot_dir(struct arena *a, const struct agent_definition *d, const struct memory_places *places)
{
	return named(a, path_join(a, places->project_dir, ".claude/agent-memory-snapshots"), d);
}

/* A project that is not ours may hold a link on the way to the memory; nothing is made behind one. */
static int make_directory(const char *dir, const char *base, struct err *err)
{
	int status = file_make_dirs(base, 0700, err);

	return status < 0 ? status : file_below_make_dir(base, dir + strlen(base), 0700, err);
}

int agent_memory_prepare(const struct agent_definition *d, const struct memory_places *places, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	char *dir = agent_memory_dir(&a, d, places);
	const char *time;

	if (!dir)
		return 0;
	if (make_directory(dir, base_of(d, places), err) < 0)
		return -(int)err->kind;
	if (d->memory != MEMORY_USER || !places->trusted || file_exists(path_join(&a, dir, "MEMORY.md")))
		return 0;
	char *snapshot = memory_snapshot_dir(&a, d, places);
	if (!memory_snapshot_is_new(&a, snapshot, dir, &time))
		return 0;
	return memory_snapshot_restore(snapshot, dir, time, err);
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

/* The first lines, whole ones where the limit allows. */
static struct str head_of(struct str text)
{
	struct str head = utf8_cut(text, MEMORY_MOST_BYTES);
	size_t lines = 0;
	size_t end = 0;

	for (size_t i = 0; i < head.n && lines < MEMORY_MOST_LINES; i++)
		if (head.p[i] == '\n') {
			lines++;
			end = i + 1;
		}
	bool cut = head.n < text.n || lines == MEMORY_MOST_LINES;
	return (struct str){ head.p, cut && end ? end : head.n };
}

static void add_file(struct buf *out, const char *base, const char *below)
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
	struct str head = head_of(all);
	buf_addstr(out, "\n## MEMORY.md\n\n");
	utf8_add_repaired(out, head);
	if (out->p[out->n - 1] != '\n')
		buf_addch(out, '\n');
	if (head.n < all.n)
		buf_addf(out,
			 "\n(MEMORY.md goes on: %zu of its %zu bytes are shown. Shorten it, or read the rest with "
			 "Read.)\n",
			 head.n, all.n);
}

static void add_snapshot_hint(struct buf *out, struct arena *a, const struct agent_definition *d,
			      const struct memory_places *places, const char *dir)
{
	const char *time;
	char *snapshot = memory_snapshot_dir(a, d, places);

	if (d->memory == MEMORY_USER && places->trusted && memory_snapshot_is_new(a, snapshot, dir, &time))
		buf_addf(out,
			 "\nThis project has a snapshot of this memory from %s in %s. "
			 "Take over what is useful and still true.\n",
			 time, snapshot);
}

void conversation_memory_prompt(struct buf *out, const char *dir)
{
	buf_addf(out, instructions, dir, MEMORY_MOST_LINES, MEMORY_MOST_BYTES / 1024, scope_hints[MEMORY_LOCAL]);
	add_file(out, dir, "/MEMORY.md");
}

void agent_memory_prompt(struct buf *out, const struct agent_definition *d, const struct memory_places *places)
{
	AUTO_ARENA struct arena a = { 0 };
	char *dir = agent_memory_dir(&a, d, places);

	if (!dir)
		return;
	buf_addf(out, instructions, dir, MEMORY_MOST_LINES, MEMORY_MOST_BYTES / 1024, scope_hints[d->memory]);
	const char *base = base_of(d, places);
	add_file(out, base, path_join(&a, dir, "MEMORY.md") + strlen(base));
	add_snapshot_hint(out, &a, d, places, dir);
}
