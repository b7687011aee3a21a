/* SPDX-License-Identifier: MIT
 * instructions.h - CLAUDE.md files: instructions for every agent of a machine, a user or a project.
 *
 * Order: managed, user (CLAUDE.md, rules), then from the root of the file system down to cwd: CLAUDE.md,
 * .claude/CLAUDE.md, .claude/rules, CLAUDE.local.md. The nearest comes last. `@path` imports a file (relative to the
 * importing one, four hops at most, not inside code); HTML comments that stand alone are left out; rules with `paths:`
 * in their frontmatter belong to certain files and are not loaded: a note counts them. An import of a project file that leads out of
 * the repository (without one: out of the file's directory) is not followed, with a note. What is managed cannot be
 * excluded. */
#pragma once
#include "lib/base/arena.h"
#include "lib/base/buf.h"

/* A file in use. Borrowed until return. */
struct instruction_file {
	const char *path;
	const char *kind;   /* "Managed", "User", "Project" or "Local" */
	const char *parent; /* the importing file; NULL: found by its path */
};

struct instructions_spec {
	const char *cwd, *config_dir, *managed_dir; /* NULL: skip the project, user or machine */
	const char *managed_text;                   /* behind the managed file; NULL: none */
	const char *const *excludes;                /* globs of paths that do not count, NULL-terminated; NULL: none */
	size_t limit_bytes;                         /* of all of them; 0: 1 MB */
	void (*on_file)(void *data, const struct instruction_file *file); /* may be NULL */
	void *data;
};

/* Appends the files, each under a line with its path. Each unreadable file adds a line to *notes. */
void instructions_collect(struct buf *out, struct buf *notes, const struct instructions_spec *spec);

/* ---- the text of one file ----------------------------------------------------------------------------------------- */

/* Without HTML comments that stand on lines of their own outside code; trimmed. */
void instruction_clean(struct buf *out, struct str body);
typedef void instruction_import_fn(void *data, struct str target, const char *from, unsigned hops);
/* Calls fn for each @path outside code, in order. */
void instruction_imports(struct str body, const char *from, unsigned hops, instruction_import_fn *fn, void *data);
