/* SPDX-License-Identifier: MIT
 * skill.h - the definition of a skill: the contents of one SKILL.md, or of one file of a commands directory. What grants something and
 * cannot be read grants nothing; what forbids something and cannot be read refuses the skill.
 *
 * To add a field: a member here, a row in skill.c, a row in docs/skills.md and in tests/unit/skill/test_fields.c. */
#pragma once
#include "lib/base/buf.h"
#include "lib/match/gitignore.h"
#include "config/catalog/definition.h"

/* Where a file was found. Borrowed until skill_from_markdown() returns. */
struct skill_origin {
	enum definition_source source;
	bool is_command;  /* of a commands directory: one file, without a directory of its own */
	const char *file; /* path */
	const char *name; /* how it is called; of a plugin: without the plugin */
	const char *plugin, *plugin_root, *plugin_data; /* NULL: not of a plugin */
	bool plugin_trusted;
	bool stands_alone; /* a plugin names this one directory: its own `name` counts, not its directory's */
};

/* name: how it is called, "deploy" or "plugin:deploy"; description: given, or the first paragraph, never NULL. Texts are in
 * the arena; NULL: not given. */
struct skill {
	DEFINITION_HEAD;
	bool is_command, plugin_trusted;
	const char *dir; /* that the file is in */
	const char *plugin_root, *plugin_data;
	const char *title; /* `name` of the file: for people */
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
};

/* Never fails: what cannot be read is in refused and the diagnostics. Returns a reference. text is any bytes. */
struct skill *skill_from_markdown(const struct skill_origin *origin, struct str text);

static inline struct skill *skill_ref(struct skill *s)
{
	s->refs++;
	return s;
}

static inline void skill_unref(struct skill *s)
{
	definition_unref(s ? &s->common : NULL);
}

/* Letters, digits, '-', '_' and '.', 1 to 100 of them: a name that can be typed behind a slash. */
bool skill_name_is_good(struct str name);
