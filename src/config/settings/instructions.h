/* SPDX-License-Identifier: MIT
 * instructions.h - CLAUDE.md files: instructions for every agent of a machine, a user or a project.
 *
 * Order: managed, user (CLAUDE.md, rules), then from the root of the file system down to cwd: CLAUDE.md,
 * .claude/CLAUDE.md, .claude/rules, CLAUDE.local.md. The nearest comes last. `@path` imports a file (relative to the
 * importing one, four hops at most, not inside code); HTML comments that stand alone are left out. An import of a project file
 * that leads out of the repository (without one: out of the file's directory) is not followed, with a note; nor is a file of a
 * project or an import read that a deny rule hides from Read. What is managed cannot be excluded.
 *
 * Two kinds come later, when an agent works on a file: those of the directories between cwd and this file, and rules with
 * `paths:` in their frontmatter, which has patterns of files as a .gitignore has them. */
#pragma once
#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/base/map.h"

/* A file in use. Borrowed until return. */
struct instruction_file {
	const char *path;
	const char *kind;   /* "Managed", "User", "Project" or "Local" */
	const char *reason; /* "session_start", "nested_traversal", "path_glob_match", "include" */
	const char *parent; /* the importing file; NULL: found by its path */
	const char *globs;  /* JSON list: of a rule with `paths`; else NULL */
};

/* What the files at the start leave for later. Zero is empty. */
struct instruction_rules {
	struct arena arena;
	struct instruction_rule *list; /* rules with `paths` */
	size_t count;
	struct map files; /* paths: all that were read at the start, and these rules */
};
void instruction_rules_release(struct instruction_rules *r);

struct tool_env;

struct instructions_spec {
	const char *cwd, *config_dir, *managed_dir; /* NULL: skip the project, user or machine */
	unsigned skipped;                           /* enum setting_sources: whose files do not count either */
	const char *managed_text;                   /* behind the managed file; NULL: none */
	const char *const *excludes;                /* globs of paths that do not count, NULL-terminated; NULL: none */
	/* Whether the agent may not read this file, which a project brings or another file imports; may be NULL. */
	bool (*is_denied)(const struct tool_env *reader, const char *path);
	const struct tool_env *reader;
	size_t limit_bytes;              /* of all of them; 0: 1 MB */
	struct instruction_rules *rules; /* gets rules with `paths`; NULL: they are left out */
	void (*on_file)(void *data, const struct instruction_file *file); /* may be NULL */
	/* Of instructions_for_path(): whether the agent meets this file or directory for the first time. */
	bool (*is_new)(void *data, const char *path);
	void *data;
};

/* Appends the files, each under a line with its path. Each unreadable file adds a line to *notes. */
void instructions_collect(struct buf *out, struct buf *notes, const struct instructions_spec *spec);
/* The same for a file below cwd that an agent works on, of which instructions_collect() has filled spec->rules. */
void instructions_for_path(struct buf *out, struct buf *notes, const struct instructions_spec *spec, const char *path);

/* Without HTML comments that stand on lines of their own outside code; trimmed. */
void instruction_clean(struct buf *out, struct str body);
typedef void instruction_import_fn(void *data, struct str target, const char *from, unsigned hops);
/* Calls fn for each @path outside code, in order. */
void instruction_imports(struct str body, const char *from, unsigned hops, instruction_import_fn *fn, void *data);
