/* SPDX-License-Identifier: MIT
 * plugin.h - one plugin: a foreign directory with agents, skills, commands, hooks, MCP servers and programs.
 *
 * Nothing that a plugin says may lead out of its root, neither by "..", nor by an absolute path, nor by a link. A manifest
 * that is not what it should be fails the whole plugin; a component that is missing or unreadable is an error of that
 * component, and the rest of the plugin works. Read once, then immutable; texts are in the plugin's arena. */
#pragma once
#include "config/catalog/diagnostic.h"
#include "config/catalog/plugin_vars.h"
#include "config/settings/settings_file.h"

enum plugin_origin {
	PLUGIN_INLINE,     /* --plugin-dir: name@inline */
	PLUGIN_INSTALLED,  /* enabledPlugins: name@marketplace */
	PLUGIN_SKILLS_DIR, /* a folder with a manifest among the skills: name@skills-dir */
	PLUGIN_ORIGIN_COUNT
};

enum plugin_state {
	PLUGIN_ENABLED,
	PLUGIN_DISABLED, /* `why` says by whom */
	PLUGIN_FAILED,   /* the first error says why */
};

enum plugin_fault {
	PLUGIN_NOT_FOUND,      /* there is nothing at the path, or it was never installed */
	PLUGIN_BAD_JSON,       /* the manifest is no JSON */
	PLUGIN_BAD_MANIFEST,   /* it is, but a known key has a wrong value */
	PLUGIN_BAD_PATH,       /* a component is not there, or leads out of the plugin */
	PLUGIN_BAD_HOOKS,      /* a file of hooks cannot be used */
	PLUGIN_BAD_MCP,        /* the same of MCP servers */
	PLUGIN_BAD_COMPONENT,  /* the same of anything else */
	PLUGIN_BAD_DEPENDENCY, /* a plugin that it needs is missing, or has another version */
	PLUGIN_BAD_CONFIG,     /* a required option is not set, or one has a wrong value */
	PLUGIN_BLOCKED,        /* managed settings do not allow its marketplace, or the flag */
	PLUGIN_BAD_ARCHIVE,    /* a zip file that cannot be unpacked safely */
	PLUGIN_FAULT_COUNT
};

/* What is wrong, for people and for plugin_errors of the init frame */
struct plugin_error {
	enum plugin_fault fault;
	const char *file;
	unsigned line;   /* 0: none */
	const char *key; /* of the manifest: the component that it is about; NULL: the whole plugin, or one file */
	const char *message;
};

struct plugin_path {
	const char *path; /* absolute */
	bool is_dir;      /* a directory of components; otherwise one .md file */
};

struct plugin_paths {
	struct plugin_path *list;
	size_t count, cap;
};

/* An object of a file, or of the manifest itself */
struct plugin_part {
	const char *file;
	const struct settings_file *lines; /* gives the line of each value */
	const struct json *value;          /* an object: of events, or of servers */
};

struct plugin_parts {
	struct plugin_part *list;
	size_t count;
};

struct plugin_dependency {
	const char *name;
	const char *marketplace; /* NULL: that of the plugin itself */
	const char *range;       /* NULL: any version */
	unsigned line;
};

/* One member of userConfig */
struct plugin_option {
	const char *key, *type, *title;
	bool required, sensitive, multiple;
	double least, most;           /* of numbers; infinite if not given */
	const struct json *otherwise; /* "default"; NULL: none */
	unsigned line;
};

struct plugin {
	struct arena arena;
	const char *name;
	const char *id;          /* name@marketplace, name@inline, name@skills-dir */
	const char *version;     /* NULL: not said */
	const char *description; /* NULL: not said */
	const char *root;        /* real path */
	const char *data_dir;    /* of its own files, kept over updates; need not be there */
	const char *manifest;    /* file; NULL: there is none */
	enum plugin_origin origin;
	enum plugin_state state;
	const char *why;            /* of PLUGIN_DISABLED */
	bool default_enabled;       /* defaultEnabled: what holds if no setting names it */
	bool trusted;               /* hooks and mcpServers of its agents may run */
	bool no_mcp;                /* its servers are left out */
	struct plugin_paths agents; /* namespaced NAME:sub:agent */
	struct plugin_paths skills; /* directories of skills, or SKILL.md files */
	struct plugin_paths commands;
	struct plugin_paths styles; /* output styles: directories, or .md files; called NAME:style */
	struct plugin_parts hooks;  /* objects of events */
	struct plugin_parts mcp;    /* objects of servers; empty with no_mcp */
	const char *bin;            /* directory for PATH; NULL: none */
	const char *agent;          /* `agent` of its settings.json: a default for --agent; NULL: none */
	struct plugin_vars vars;    /* root, data, project and the user's options, for texts and environment */
	struct plugin_option *options;
	size_t option_count;
	struct plugin_dependency *dependencies;
	size_t dependency_count;
	struct plugin_error *errors;
	size_t error_count, error_cap;
	struct diagnostics notes;     /* read, and without effect; never a reason to fail */
	struct settings_file **files; /* what the parts point into; owned */
	size_t file_count;
};

/* Reads the plugin in dir. Never fails: what is wrong is in its errors and its state. marketplace is what follows the '@' in
 * its id. Returns owned. */
struct plugin *plugin_read(const char *dir, enum plugin_origin origin, const char *marketplace);
/* The same for one whose name is known where it has no manifest. */
struct plugin *plugin_read_named(const char *dir, enum plugin_origin origin, const char *name, const char *marketplace);
void plugin_free(struct plugin *p);

/* Records an error. plugin_fail: the plugin does not count; plugin_complain: the rest of it still does. */
void plugin_fail(struct plugin *p, enum plugin_fault fault, const char *file, unsigned line, const char *fmt, ...)
	printf_like(5, 6);
void plugin_complain(struct plugin *p, enum plugin_fault fault, const char *file, unsigned line, const char *fmt, ...)
	printf_like(5, 6);
/* About a component: the message begins with its key. */
void plugin_complain_component(struct plugin *p, enum plugin_fault fault, const char *key, const char *file,
			       unsigned line, const char *fmt, ...) printf_like(6, 7);
/* The same for the error of a reader of files, whose text begins with FILE:LINE:COLUMN. */
void plugin_complain_err(struct plugin *p, enum plugin_fault fault, const char *file, const struct err *err);
const char *plugin_fault_name(enum plugin_fault fault); /* the word in plugin_errors */

/* Letters, digits, '-', '_' and '.', neither '.' nor '-' first, 64 at most: it becomes part of types, ids and paths. */
bool plugin_name_is_good(struct str name);

/* Where a text of a plugin stands decides which variables it may name. */
enum plugin_text {
	PLUGIN_IN_BODY, /* of skills, commands and agents */
	PLUGIN_IN_SHELL, /* a hook's command: the user's options go by the environment only, never into a shell's words */
	PLUGIN_IN_CONFIG, /* MCP servers, hooks with arguments */
};
/* The value of a name as in ${NAME}: CLAUDE_PLUGIN_ROOT, CLAUDE_PLUGIN_DATA, CLAUDE_PROJECT_DIR and, in a configuration,
 * user_config.KEY. NULL: none. Borrowed from the plugin. */
const char *plugin_value(const struct plugin *p, struct str name, enum plugin_text where);

/* A closer look than loading needs: every component file is read too. Adds what is wrong with the components to the plugin's
 * errors, what is untidy to its notes. */
void plugin_validate(struct plugin *p);
