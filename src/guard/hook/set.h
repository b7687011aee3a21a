/* SPDX-License-Identifier: MIT
 * set.h - hooks as they were written in settings, plugins, skills and agent files, compiled once. A set is counted and
 * does not change (but for two flags that the engine sets), so that all agents of a session share one; an agent's own hooks are
 * a second set that lives as long as the agent.
 *
 *     {"PreToolUse": [{"matcher": "Bash|Edit", "hooks": [{"type": "command", "command": "check.sh"}]}]} */
#pragma once
#include "guard/hook/event.h"
#include "lib/json/json.h"
#include "config/catalog/frontmatter.h"
#include "lib/base/arena.h"

struct settings_file;

enum hook_layer {
	HOOK_FROM_USER,
	HOOK_FROM_PROJECT,
	HOOK_FROM_LOCAL,
	HOOK_FROM_FLAG,
	HOOK_FROM_MANAGED,
	HOOK_FROM_PLUGIN,
	HOOK_FROM_SKILL,
	HOOK_FROM_AGENT,
	HOOK_FROM_SDK, /* entries have hookCallbackIds */
	HOOK_LAYER_COUNT
};

/* Where hooks come from. Everything is borrowed until the set is made. */
struct hook_source {
	enum hook_layer layer;
	const char *file;                  /* for messages */
	const struct json *hooks;          /* the object of events */
	const struct settings_file *lines; /* gives lines for messages; may be NULL */
	const char *plugin_root, *plugin_data;
	const char *const *plugin_options; /* "KEY=value", NULL-terminated; may be NULL */
	bool trusted;                      /* false: kept, but never run; the engine says so */
	bool of_subagent;                  /* Stop means SubagentStop */
};

/* The switches of settings. Zeroed: everything may run. */
struct hook_policy {
	bool disable_all;             /* disableAllHooks: all but managed ones */
	bool disable_managed;         /* the same, said by managed settings: these too */
	bool managed_only;            /* allowManagedHooksOnly */
	const char *const *http_urls; /* allowedHttpHookUrls: patterns with *, NULL-terminated; NULL: any */
	const char *const *http_env;  /* httpHookAllowedEnvVars; NULL: what the hook allows itself */
};

struct hook_origin {
	enum hook_layer layer;
	const char *file;
	const char *plugin_root, *plugin_data;
	const char *const *plugin_options;
	bool trusted;
};

struct hook_header {
	const char *name, *value;
};

/* One handler. Texts are in the set's arena; NULL: not given. */
struct hook {
	struct hook *next; /* of the same event, in the order of the sources */
	enum hook_event event;
	enum hook_type type;
	const struct hook_origin *origin;
	unsigned line;
	const struct hook_matcher *matcher;
	struct str rule;         /* `if`; p == NULL: none */
	struct str identity;     /* equal ones are the same hook */
	struct str label;        /* names it for people: its command, URL, tool or prompt */
	const char *status;      /* statusMessage */
	uint64_t timeout_ms;     /* 0: the default */
	const char *command;     /* command: of the shell, or the program if there are args */
	const char *const *args; /* NULL: a shell reads the command */
	const char *shell;       /* "bash", "powershell", NULL: sh */
	const char *url;
	struct hook_header *headers;
	size_t header_count;
	const char *const *env_names; /* that headers may use; NULL-terminated */
	const char *server, *tool;
	struct str tool_input; /* JSON */
	const char *prompt, *model;
	const char *callback;     /* id of the SDK's function */
	const char *wake_message; /* rewakeMessage: stands before what wakes the model */
	bool async, rewake, once, continue_on_block, block_on_failure;
	bool ran, skip_reported; /* by the engine: a `once` hook has run; an observer knows that this one may not run */
};

struct hook_set {
	unsigned refs;
	struct arena arena;
	struct hook *events[HOOK_EVENT_COUNT];
	struct hook_matcher **matchers; /* all, to be released */
	size_t matcher_count, matcher_cap;
	size_t count; /* hooks */
};

/* Never fails: what cannot be used is left out and is a diagnostic that begins with the file. policy may be NULL. Returns
 * a reference. */
struct hook_set *hook_set_new(const struct hook_source *sources, size_t count, const struct hook_policy *policy,
			      struct diagnostics *diagnostics);
/* The same for one source whose `hooks` is text, as an agent's definition has it. */
struct hook_set *hook_set_parse(const struct hook_source *source, struct str hooks_json,
				const struct hook_policy *policy, struct diagnostics *diagnostics);
static inline struct hook_set *hook_set_ref(struct hook_set *set)
{
	if (set)
		set->refs++;
	return set;
}
void hook_set_unref(struct hook_set *set);
/* What an event is about, by all of its names: a matcher fits a tool by its name and by its former ones, and the other way
 * round. Found once for all hooks of an event. */
struct hook_subject {
	struct str names[8];
	size_t count;
};
struct hook_subject hook_subject(enum hook_event event, struct str subject);
bool hook_fits(const struct hook *hook, const struct hook_subject *subject); /* the matcher alone */

/* Does a hook's "matcher" fit? Empty and "*" fit all; names, also several with | or a comma between them,
 * are compared whole; anything else is a regular expression as in JavaScript, which may match anywhere. */

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;

static inline bool hook_is_word_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

struct hook_matcher {
	struct str text;   /* as written */
	struct str *names; /* in the arena */
	size_t name_count;
	struct pcre2_real_code_8 *code;          /* NULL: no regular expression */
	struct pcre2_real_match_data_8 *scratch; /* of the loop's thread: only the first match allocates */
	struct pcre2_real_match_context_8 *limits;
	bool all;
};

/* narrow: only letters, digits, _ and | make a list of names. ERR_PARSE names what is wrong with the expression; the
 * matcher then fits nothing. Names are copied into the arena. */
int hook_matcher_init(struct hook_matcher *m, struct arena *arena, struct str text, bool narrow, struct err *err);
void hook_matcher_release(struct hook_matcher *m);
/* An expression that needs too much work fits: a guard must not be switched off by the name that it looks at. */
bool hook_matcher_fits(const struct hook_matcher *m, struct str subject);
