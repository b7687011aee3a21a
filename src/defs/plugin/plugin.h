/* SPDX-License-Identifier: MIT
 * plugin.h - one plugin: a foreign directory with agents, skills, commands, hooks, MCP servers and programs.
 *
 * No path of a plugin may lead out of its root: not by "..", an absolute path or a link. An invalid manifest fails the
 * whole plugin; a missing or unreadable component is an error of that component, and the rest of the plugin works. Read
 * once, then immutable; texts are in the plugin's arena. */
#pragma once
#include "config/catalog/frontmatter.h"
#include "config/catalog/definition.h"
#include "config/settings/settings_file.h"
#include "lib/base/str.h"

enum plugin_origin {
	PLUGIN_INLINE,     /* --plugin-dir: name@inline */
	PLUGIN_INSTALLED,  /* enabledPlugins: name@marketplace */
	PLUGIN_SKILLS_DIR, /* a folder with a manifest among the skills: name@skills-dir */
};

enum plugin_state {
	PLUGIN_ENABLED,
	PLUGIN_DISABLED, /* see `why` */
	PLUGIN_FAILED,   /* see the first error */
};

enum plugin_fault {
	PLUGIN_NOT_FOUND,      /* the path does not exist, or the plugin is not installed */
	PLUGIN_BAD_JSON,       /* the manifest is not JSON */
	PLUGIN_BAD_MANIFEST,   /* a known key of the manifest has an invalid value */
	PLUGIN_BAD_PATH,       /* a component does not exist, or is outside of the plugin */
	PLUGIN_BAD_HOOKS,      /* an invalid file of hooks */
	PLUGIN_BAD_MCP,        /* an invalid file of MCP servers */
	PLUGIN_BAD_COMPONENT,  /* another invalid component */
	PLUGIN_BAD_DEPENDENCY, /* a required plugin is missing, or has another version */
	PLUGIN_BAD_CONFIG,     /* a required option is not set, or one has an invalid value */
	PLUGIN_BLOCKED,        /* managed settings do not allow its marketplace, or the flag */
	PLUGIN_BAD_ARCHIVE,    /* a zip file that cannot be unpacked safely */
	PLUGIN_FAULT_COUNT
};

/* For people, and for plugin_errors of the init frame */
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
	size_t count;
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
	const char *key, *type;
	bool required, multiple;
	double least, most;           /* of numbers; infinite if not given */
	const struct json *otherwise; /* "default"; NULL: none */
	unsigned line;
};

struct plugin {
	struct arena arena;
	const char *name;
	const char *id;          /* name@marketplace, name@inline, name@skills-dir */
	const char *version;     /* NULL: not given */
	const char *description; /* NULL: not given */
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
	size_t error_count;
	struct diagnostics notes;     /* read, and without effect; never a reason to fail */
	struct settings_file **files; /* what the parts point into; owned */
	size_t file_count;
};

/* Reads the plugin in dir. Never fails: see its errors and its state. marketplace: the part of its id after the '@'.
 * name: of one without a manifest; NULL: not known. Returns owned. */
struct plugin *plugin_read_named(const char *dir, enum plugin_origin origin, const char *name, const char *marketplace);
static inline struct plugin *plugin_read(const char *dir, enum plugin_origin origin, const char *marketplace)
{
	return plugin_read_named(dir, origin, NULL, marketplace);
}

void plugin_free(struct plugin *p);

const char *plugin_fault_name(enum plugin_fault fault); /* the word in plugin_errors */

/* Letters, digits, '-', '_' and '.', neither '.' nor '-' first, 64 at most: it becomes part of types, ids and paths. */
bool plugin_name_is_good(struct str name);

/* The place of a text decides which variables are allowed in it. */
enum plugin_text {
	PLUGIN_IN_BODY,   /* of skills, commands and agents */
	PLUGIN_IN_SHELL,  /* a hook's command: options of the user only in the environment, never in the command line */
	PLUGIN_IN_CONFIG, /* MCP servers, hooks with arguments */
};
/* The value of a name as in ${NAME}: CLAUDE_PLUGIN_ROOT, CLAUDE_PLUGIN_DATA, CLAUDE_PROJECT_DIR and, in a configuration,
 * user_config.KEY. NULL: none. Borrowed from the plugin. */
static inline const char *plugin_value(const struct plugin *p, struct str name, enum plugin_text where)
{
	return plugin_vars_find(&p->vars, name, where == PLUGIN_IN_CONFIG);
}

/* Reads every component file too. Adds errors of the components to the plugin's errors, lesser problems to its notes. */
void plugin_validate(struct plugin *p);

/* Versions and ranges of them, as package managers write them (semver.org).
 *
 *     range       part ( "||" part )*                     one of them must fit
 *     part        comparison ( " " comparison )*          all must fit;  "1.2 - 2.3" is from .. to
 *     comparison  [ "^" | "~" | ">=" | ">" | "<=" | "<" | "=" ] [ "v" ] 1 [ .2 [ .3 [ -pre ] ] ]    x and * stand for any number */

bool version_range_is_good(struct str range);
/* A version that is none fits "*" and an empty range only. Versions before a release fit ranges that name one of the same
 * number. */
bool version_fits(struct str version, struct str range);
