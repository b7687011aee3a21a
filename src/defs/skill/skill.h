/* SPDX-License-Identifier: MIT
 * skill.h - what a skill is: the meaning of one SKILL.md, or of one file of a commands directory. Immutable once made, shared
 * by reference. Reading is forgiving where a file is untidy. What grants something and cannot be read grants nothing; what
 * forbids something and cannot be read refuses the skill. Everything that was forgiven or refused is a diagnostic. */
#pragma once
#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/match/gitignore.h"
#include "config/catalog/diagnostic.h"
#include "config/catalog/name_list.h"

/* Lowest priority first */
enum skill_source { SKILL_PLUGIN, SKILL_PROJECT, SKILL_USER, SKILL_MANAGED, SKILL_SOURCE_COUNT };

const char *skill_source_name(enum skill_source source); /* "plugin", "projectSettings", ... */

/* Where a file was found. Borrowed until skill_from_markdown() returns. */
struct skill_origin {
	enum skill_source source;
	bool is_command;  /* of a commands directory: one file, without a directory of its own */
	const char *file; /* path */
	const char *name; /* how it is called; of a plugin: without the plugin */
	const char *plugin, *plugin_root, *plugin_data; /* NULL: not of a plugin */
	bool plugin_trusted;
};

/* Texts are in the arena; NULL: not given */
struct skill {
	unsigned refs;
	struct arena arena;
	enum skill_source source;
	bool is_command, plugin_trusted;
	const char *file, *dir; /* dir: that the file is in */
	const char *plugin, *plugin_root, *plugin_data;
	const char *name;        /* how it is called: "deploy", "plugin:deploy" */
	const char *title;       /* `name` of the file: for people */
	const char *description; /* given, or the first paragraph; never NULL */
	const char *when_to_use, *argument_hint, *model, *effort, *agent;
	struct name_list arguments;                              /* names of the arguments, in order */
	struct name_list allowed_tools, disallowed_tools, paths; /* paths: patterns of files that it is for */
	struct gitignore path_rules;                             /* those, compiled; empty: it is always there */
	bool user_only;                                          /* disable-model-invocation */
	bool model_only;                                         /* user-invocable: false */
	bool is_fork;                                            /* context: fork */
	bool in_foreground;                                      /* background: false */
	const char *hooks;                                       /* JSON object in the form of settings */
	struct str body;                                         /* line ends LF, trimmed; may hold NULs */
	struct diagnostic *diagnostics;
	size_t diagnostic_count;
	bool refused; /* a restriction could not be read: it is not used */
};

/* Never fails: what cannot be read is in refused and the diagnostics. Returns a reference. text is any bytes. */
struct skill *skill_from_markdown(const struct skill_origin *origin, struct str text);
struct skill *skill_ref(struct skill *s);
void skill_unref(struct skill *s);

/* path is relative to the directory that the patterns are about. True if it or a directory above it fits one of them. */
bool skill_wants_path(const struct skill *s, struct str path);

/* Letters, digits, '-', '_' and '.', 1 to 100 of them: a name that can be typed behind a slash. */
bool skill_name_is_good(struct str name);
