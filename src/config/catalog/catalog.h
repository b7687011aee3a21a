/* SPDX-License-Identifier: MIT
 * catalog.h - all definitions of one kind: what was found, which one counts for each name, what could not be read
 * (docs/internals/catalog.md).
 *
 * A kind lists its locations, lowest priority first, and parses one file; the catalog walks the locations, keeps what has not
 * changed and decides who wins. Nothing is watched: catalog_refresh() compares the stat of each file with the one that it had
 * when it was read, so the next lookup sees the disk as it is. */
#pragma once
#include "lib/base/buf.h"
#include "lib/base/map.h"
#include "lib/io/file.h"
#include "config/catalog/definition.h"
#include "config/catalog/tree.h"

struct catalog_plugin_path {
	const char *path;
	bool is_dir;     /* of files; otherwise one of them */
	bool is_command; /* of skills: a command, or a directory of them */
};

struct catalog_problem {
	const char *path;
	unsigned line; /* 0: none */
	const char *message;
};

/* A plugin whose definitions count; its paths are inside it, or a problem */
struct catalog_plugin {
	const char *name;
	struct plugin_vars vars; /* root is the real path that links may not leave */
	bool trusted;            /* hooks of its definitions run */
	const struct catalog_plugin_path *paths;
	size_t path_count;
	const struct catalog_problem *problems; /* reported among the failures */
	size_t problem_count;
};

/* The sources of definitions of a run. All paths are absolute. */
struct catalog_sources {
	const char *cwd, *config_dir;
	const char *managed_dir; /* NULL: none */
	const char *const *add_dirs;
	size_t add_dir_count;
	const struct catalog_plugin *plugins;
	size_t plugin_count;
	const char *settings;     /* of --settings: a JSON object, or the path of a file; NULL: none */
	const char *flag;         /* value of --agents: a JSON object, or the path of a file with one; NULL: none */
	const char *denied;       /* deny rules of the command line, with commas between; NULL: none */
	unsigned setting_sources; /* enum setting_sources: which of user, project and local count */
	unsigned builtin;         /* enum builtin_switches: which built-in agents are left out */
	bool bare;                /* nothing of the user and the project */
	bool sdk;                 /* of the local settings only those in cwd count */
	bool plugins_only;        /* managed settings allow no skills of the user and the project */
	/* Real root of a project that is not trusted: its links may not leave it; NULL: anywhere */
	const char *held_in;
	/* Of a project that is trusted: whether a file in it, or in an additional directory, is not another project's, whose links are held
	 * like that (trust_covers()); NULL: all are. state_file: what it asks for. */
	bool (*is_covered)(const char *cwd, const char *state_file, const char *file);
	const char *state_file;
	const char **nested; /* directories below cwd with .claude/skills, in the order in which they were found */
	size_t nested_count;
};

enum catalog_location_kind {
	LOCATION_TREE,    /* the .md files below a directory */
	LOCATION_FLAT,    /* the .md files in a directory */
	LOCATION_FOLDERS, /* PATH/NAME/LEAF of the kind */
	LOCATION_FILE,    /* one .md file */
	LOCATION_OWN,     /* read by the kind: compiled in, or JSON */
	LOCATION_PROBLEM, /* unreadable: `problem` has the reason */
};

struct catalog_location {
	enum catalog_location_kind kind;
	enum definition_source source;
	unsigned group; /* for the kind's rule about who wins; definitions of one location have the same */
	const char *path;
	const struct catalog_plugin *plugin; /* borrowed from the sources; NULL: not of one */
	bool is_command;
	const char *below;  /* of a project: from its root to the directory that has .claude; "" at the root */
	const char *nested; /* that directory, of a nested one; NULL: not nested */
	unsigned own;       /* of LOCATION_OWN: which of the kind's readers */
	bool in_memory;     /* of LOCATION_OWN: path is not a file */
	bool must_exist;    /* of LOCATION_OWN: a file that is missing is a failure */
	struct catalog_problem problem;
};

/* A zeroed struct is empty; texts are in the arena. */
struct catalog_locations {
	struct catalog_location *list;
	size_t count, cap;
	unsigned groups;
	struct arena arena;
};

struct catalog_location *catalog_add_location(struct catalog_locations *locations, enum catalog_location_kind kind,
					      enum definition_source source, const char *path); /* path is copied */
/* Its paths, in one group: a file of several of them counts where it comes first. dirs: the kind of its directories. */
void catalog_add_plugin(struct catalog_locations *locations, const struct catalog_plugin *plugin,
			enum catalog_location_kind dirs);
/* Calls fn for each --add-dir, then from the repository's root down to cwd; root NULL: for cwd alone. below: the way from the
 * root. The user's own configuration is not a project, also when the home directory is a repository. */
typedef void catalog_project_fn(struct catalog_locations *locations, const char *claude_dir, const char *below);
void catalog_each_project(struct catalog_locations *locations, const struct catalog_sources *sources, const char *root,
			  catalog_project_fn *fn);

/* What one path gave, kept until the file changes */
struct catalog_file {
	enum catalog_location_kind kind; /* of the location that it was first found in */
	enum definition_source source;
	char *path;
	struct read_stamp stamp;
	struct definition **list; /* references */
	size_t count;
	void *state; /* the kind's own */
	char *error; /* why it cannot be read; NULL: it can */
	unsigned error_line;
	char *below, *nested; /* of its location */
	unsigned group;       /* the same */
	uint64_t seen;        /* number of the scan that found it last */
};

struct catalog;
struct catalog_entry;

/* A row for each kind. NULL where a callback has nothing to do. */
struct catalog_kind {
	const char *leaf;                                       /* of LOCATION_FOLDERS */
	const char *reserved;                                   /* a folder that is left out; NULL: none */
	size_t largest;                                         /* bytes of a file */
	enum { ONE_NAME, ONE_INODE_IN_PLUGIN, ONE_INODE } once; /* whether links to one file count once */
	void (*find_locations)(struct catalog_locations *locations, const struct catalog_sources *sources);
	/* One Markdown file. Returns a reference, or NULL with the reason in err. */
	struct definition *(*parse)(const struct catalog_location *location, const struct tree_file *file,
				    struct str text, struct err *err);
	void (*read_own)(struct catalog *c, struct catalog_file *file, const struct catalog_location *location);
	void (*release_state)(void *state);
	/* Called before the view is made and after it is gone; `rules` of the catalog is theirs. */
	void (*open_rules)(struct catalog *c);
	void (*close_rules)(struct catalog *c);
	bool (*admits)(const struct catalog *c, const struct definition *d);
	/* The name by which it is called; names has the winners so far. NULL: that of the definition. */
	const char *(*name)(struct catalog *c, const struct catalog_file *file, const struct definition *d,
			    const struct map *names);
	/* Of two with one name. NULL: the later one, but the first of a group. */
	bool (*wins)(const struct catalog_entry *newer, const struct catalog_entry *older);
};

/* For read_own(): what the file had is dropped; d is taken. */
void catalog_file_clear(const struct catalog *c, struct catalog_file *file);
static inline void catalog_file_add(struct catalog_file *f, struct definition *d)
{
	f->list = xrealloc(f->list, (f->count + 1) * sizeof(struct definition *));
	f->list[f->count++] = d;
}

static inline void catalog_file_fail(struct catalog_file *f, unsigned line, const char *message)
{
	free(f->error);
	f->error = xstrdup(message);
	f->error_line = line;
}

struct agent_definition;
struct skill;

struct catalog_entry {
	union { /* owned by the catalog; take a reference to keep it */
		struct definition *item;
		struct agent_definition *definition; /* in a catalog of agents */
		struct skill *skill;
	};
	const char *name;                      /* how it is called */
	const char *nested;                    /* of skills: for agents that work below this directory; NULL: for all */
	unsigned group;                        /* of its location */
	const struct catalog_entry *hidden_by; /* the active one of its name; NULL: this one is active */
};

struct catalog_failure {
	enum definition_source source;
	const char *path;
	unsigned line; /* 0: none */
	const char *message;
};

/* Read only for users; valid until the next refresh */
struct catalog {
	struct catalog_entry *all; /* in the order of priority, lowest first; refused ones are not among them */
	size_t all_count;
	const struct catalog_entry **active; /* in alphabetical order, case ignored */
	size_t active_count;
	struct catalog_failure *failed; /* definitions that may not be used, files that could not be read */
	size_t failed_count;
	struct definition **looked_at; /* every file and entry: also refused and ignored ones */
	size_t looked_at_count;
	bool plugins_only;   /* managed settings allow no definitions of users, projects and flags */
	uint64_t generation; /* changes when anything above does */
	/* for the kind and catalog.c */
	const struct catalog_kind *kind;
	struct catalog_sources sources; /* a copy, in the arena */
	struct arena arena, view;       /* view: texts of the view */
	void *rules;
	struct map files;            /* key -> struct catalog_file, owned */
	struct catalog_file **order; /* found by this scan, in order of priority */
	size_t order_count, order_cap;
	uint64_t number;                   /* of the scan */
	const struct catalog_location *at; /* the location that is being scanned */
	struct map inodes;                 /* of this scan: see `once` */
	struct buf text;                   /* of the file that is being read */
	bool changed;
	uint64_t refreshed_turn; /* of the loop, when catalog_refresh_once() looked last; 0: never */
};

/* Copies the sources. -ERR_USAGE if a location of the command line (LOCATION_OWN, SOURCE_FLAG) cannot be read. Another one, or one that
 * cannot be read any more, is among the failures; its previous definitions still apply. */
int catalog_new(const struct catalog_kind *kind, const struct catalog_sources *sources, struct catalog **ret_catalog,
		struct err *err);
void catalog_free(struct catalog *c);
void catalog_refresh(struct catalog *c);
/* For lookups that come in one turn of the loop the disk is looked at once. c may be NULL. */
struct loop;
void catalog_refresh_once(struct catalog *c, struct loop *loop);
