/* SPDX-License-Identifier: MIT
 * cadre.h - the public API of libcadre. C99, opaque handles, one thread.
 *
 *     struct cadre *c = cadre_new(why, sizeof why);
 *     cadre_set(c, "model", "sonnet", why, sizeof why);
 *     cadre_open(c, on_event, data, &session, why, sizeof why);
 *     cadre_prompt(session, "Say hello", 9, why, sizeof why);
 *     cadre_run(c);                       (returns when nothing is left to do)
 *     cadre_close(session);
 *     cadre_free(c);
 *
 * Rules that hold everywhere:
 * - A function that can fail returns 0 or a negative enum cadre_status and writes one line into why (always
 *   NUL-terminated, may be NULL with size 0).
 * - A runtime and all that belongs to it are used by one thread. Runtimes are independent of each other.
 * - Events come from inside cadre_run(); the first ones of a turn also from inside cadre_prompt() and cadre_prepare(), and
 *   what an answer or cadre_background() causes from inside that call. CADRE_TURN_ENDED comes from cadre_run() only.
 *   What an accessor returns is borrowed until the event callback returns.
 * - Callbacks may call anything but cadre_run() and cadre_free(). What they begin there starts when the callback has
 *   returned: a turn that then fails ends with CADRE_TURN_ENDED, and a session that is closed is freed later.
 * - Functions that block (their comments say so) wait for programs, servers or other processes. Inside of cadre_run() and of
 *   callbacks they do nothing and return CADRE_BUSY.
 * - Nothing is printed, no signal handler is installed, no global state is kept. */
#ifndef CADRE_H
#define CADRE_H
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CADRE_API __attribute__((visibility("default")))
#else
#define CADRE_API
#endif

struct cadre;         /* a runtime: the loop, the registries, the model endpoint, options */
struct cadre_session; /* one conversation with its main agent */
struct cadre_event;
struct cadre_report;
struct cadre_writer;

enum cadre_status {
	CADRE_OK = 0,
	CADRE_IO = -1,
	CADRE_USAGE = -2, /* the program exits with 2 for this one */
	CADRE_PARSE = -3,
	CADRE_LIMIT = -4,
	CADRE_NOT_FOUND = -5,
	CADRE_DENIED = -6,
	CADRE_CANCELLED = -7,
	CADRE_TIMEOUT = -8,
	CADRE_PROTOCOL = -9,
	CADRE_BUSY = -10
};

/* ---- runtime ------------------------------------------------------------------------------------------------- */

CADRE_API struct cadre *cadre_new(char *why, size_t why_size); /* NULL on failure */
CADRE_API void cadre_free(struct cadre *c);                    /* closes what is still open */
CADRE_API const char *cadre_version(void);

/* Options hold for sessions opened afterwards. Names are those of the command line without the dashes:
 *   agent (that the session runs as), model, fallback-model (comma list), effort (low | medium | high | xhigh | max),
 *   thinking (adaptive | disabled), thinking-display (summarized | omitted), max-thinking-tokens, betas (comma list),
 *   provider (anthropic | openai | scripted), max-turns, max-budget-usd (of all agents together), task-budget (tokens
 *   that the model is told of), system-prompt, append-system-prompt, append-subagent-system-prompt, json-schema (of
 *   the answer: JSON, or a file with it), tools (comma list; "" = none; "default"), allowed-tools, disallowed-tools
 *   (rules, with commas between), permission-mode (default | acceptEdits | plan | dontAsk | auto | bypassPermissions),
 *   permission-prompt-tool (stdio, or a tool of an MCP server), allow-dangerously-skip-permissions (""), add-dir (may
 *   be given again), agents (a JSON object, or a file with one), settings (the same), setting-sources (list of user,
 *   project, local), trust-project (""), mcp-config (a JSON object or a file with one; may be given again),
 *   strict-mcp-config (""), plugin-dir (a directory or a zip file; may be given again), plugin-dir-no-mcp (the same
 *   without its MCP servers), plugin-url (the address of such a zip file), resume (session id, the beginning of one, or its title),
 *   resume-session-at (uuid of the last line that counts), resume-drops-turn (uuid of the one prompt behind it),
 *   continue (""), fork-session (""), session-id (uuid), name (its title), no-session-persistence (""), retry-deadline
 *   (seconds), include-partial-messages (""), include-hook-events (""), forward-subagent-text (""),
 *   replay-user-messages (""), debug (subjects to log, comma list; "" = all), debug-file (otherwise the log goes to
 *   standard error), trace (a file for ui.perfetto.dev), setup (init | maintenance: Setup hooks come before the first
 *   turn), session-mirror (""), await-initialize (""), managed-settings (JSON of whoever starts us),
 *   managed-settings-in-initialize (""), project-config-root (a checkout whose project files count), channels (without
 *   effect), and for hosts: cwd, config-dir, managed-dir, base-url, api-key, auth-token, scenario (file of the
 *   scripted provider; "" = the embedded one), interactive ("" = somebody answers permission questions), hooks (JSON;
 *   functions of the host by hookCallbackIds), entrypoint.
 * What is not set comes from the environment as the README says; the value NULL takes an option back. A bad name or value
 * is CADRE_USAGE. */
CADRE_API int cadre_set(struct cadre *c, const char *option, const char *value, char *why, size_t why_size);

/* Runs until no session works and no watch, writer or task of a session wants to go on, or until cadre_stop(). */
CADRE_API void cadre_run(struct cadre *c);
CADRE_API void cadre_stop(struct cadre *c);

/* ---- sessions ------------------------------------------------------------------------------------------------ */

typedef void cadre_event_fn(const struct cadre_event *event, void *data);

/* Loads the session to resume, if one was named, and takes its lock. on_event may be NULL. The first one of a runtime fetches
 * what plugin-url names, and no other session works meanwhile. */
CADRE_API int cadre_open(struct cadre *c, cadre_event_fn *on_event, void *data, struct cadre_session **ret_session,
			 char *why, size_t why_size);
/* A new session that shares the conversation so far; it may be forked while idle only. */
CADRE_API int cadre_fork(struct cadre_session *s, cadre_event_fn *on_event, void *data,
			 struct cadre_session **ret_session, char *why, size_t why_size);
/* Starts a turn; CADRE_TURN_ENDED says how it ended. text == NULL continues an interrupted turn of a resumed session, or its
 * agents in the background, which begin a turn when they have something to tell (CADRE_USAGE if there is neither). While a
 * turn runs: CADRE_BUSY. */
CADRE_API int cadre_prompt(struct cadre_session *s, const char *text, size_t n, char *why, size_t why_size);
/* Hooks that come before a first turn (Setup, if the option says so, and SessionStart), and nothing else. As cadre_prompt(). */
CADRE_API int cadre_prepare(struct cadre_session *s, char *why, size_t why_size);
CADRE_API int cadre_has_interrupted_turn(const struct cadre_session *s);
/* The agent that a new session runs as has a prompt of its own, which goes before the first one; an empty text is enough. */
CADRE_API int cadre_has_initial_prompt(const struct cadre_session *s);
/* Ends the running turn: requests and tools are cancelled, the transcript is completed, then CADRE_TURN_ENDED comes. */
CADRE_API void cadre_interrupt(struct cadre_session *s);
/* Agents that the main agent waits for go on in the background: their calls end at once. tool_use_id: that of one call, at any
 * depth; NULL: all of the main agent's. Returns how many it were, or CADRE_USAGE. */
CADRE_API int cadre_background(struct cadre_session *s, const char *tool_use_id);
/* Answers a CADRE_PERMISSION_ASKED by its id. reason (may be NULL) is told to the model when denied. What is allowed for the
 * session or always are the rules of cadre_event_rule(); always stores them in cadre_rules_file(), and if this fails the
 * status says so, though the call runs. CADRE_ACCEPT_EDITS: once, and the agent edits without asking from then on; only where
 * cadre_event_offers_edits() says so, otherwise it is CADRE_ONCE. */
enum cadre_scope { CADRE_ONCE, CADRE_FOR_SESSION, CADRE_ALWAYS, CADRE_ACCEPT_EDITS };
CADRE_API int cadre_answer(struct cadre_session *s, const char *id, int allow, enum cadre_scope scope,
			   const char *reason, char *why, size_t why_size);
/* The project's local settings file, which need not be there; "" if it cannot be found out. */
CADRE_API const char *cadre_rules_file(struct cadre_session *s);
/* Answers a CADRE_QUESTION_ASKED: one text for each question, in their order; NULL: no answer to this one. count 0: the user
 * does not want to answer. */
CADRE_API int cadre_answer_question(struct cadre_session *s, const char *id, const char *const *answers, size_t count);
/* Answers a CADRE_ELICITATION_ASKED: action is accept, decline or cancel; content (may be NULL) the JSON object of a form that
 * was filled in: what it leaves out gets the form's defaults. */
CADRE_API int cadre_answer_elicitation(struct cadre_session *s, const char *id, const char *action,
				       const char *content);
/* Changes an option of a session that is open, from its next request on: model ("default" or NULL: as at the start),
 * permission-mode, max-thinking-tokens (NULL: as at the start), thinking-display and effort (NULL: the model's own). */
CADRE_API int cadre_session_set(struct cadre_session *s, const char *option, const char *value, char *why,
				size_t why_size);
/* Ends everything of the session; during a turn it interrupts first. It is freed inside cadre_run() or cadre_free(), after its last
 * event; until then its handle may not be used any more, but in its own events. */
CADRE_API void cadre_close(struct cadre_session *s);
CADRE_API const char *cadre_session_id(const struct cadre_session *s);
CADRE_API const char *cadre_session_model(const struct cadre_session *s);

/* ---- events -------------------------------------------------------------------------------------------------- */

enum cadre_event_kind {
	CADRE_SESSION_STARTED = 1, /* at the start of each turn; frame: system/init */
	CADRE_MESSAGE,             /* a block of an answer, or tool results, is on disk; frame: assistant | user */
	CADRE_DELTA,               /* name: "text" or "thinking", text: the piece; frame: stream_event if asked for */
	CADRE_TOOL_STARTED,        /* name: tool, text: one-line summary of its input, id */
	CADRE_TOOL_ENDED,          /* name: tool, text: result, id, is_error */
	CADRE_PERMISSION_ASKED,    /* name: tool, text: what it wants to do, all of it, id: for cadre_answer */
	CADRE_PERMISSION_DENIED,   /* name: tool, text: why; frame: system/permission_denied */
	CADRE_RETRY,               /* text: what failed and when the next try is; frame: system/api_retry */
	CADRE_NOTIFICATION,        /* text: a background task ended */
	CADRE_ERROR,               /* text: something to tell the user that is not part of the answer */
	CADRE_TURN_ENDED,          /* text: the result, is_error; frame: result */
	CADRE_AGENT_STARTED,       /* a child begins; frame: system/task_started */
	CADRE_AGENT_PROGRESS,      /* it calls a tool; frame: system/task_progress */
	CADRE_AGENT_ENDED,         /* text: its report, is_error; frame: system/task_updated */
	CADRE_TASKS_CHANGED,       /* who works in the background; frame: system/background_tasks_changed */
	CADRE_QUESTION_ASKED, /* text: the input of AskUserQuestion as JSON, id: for cadre_answer_question; with a user
				    * there also whether a server that the project brings may be used (name: the server) */
	CADRE_HOOK_STARTED,   /* text: PreToolUse:Bash, id; if asked for; frame: system/hook_started */
	CADRE_HOOK_ENDED,     /* the same with is_error; frame: system/hook_response */
	CADRE_ELICITATION_ASKED, /* name: an MCP server that wants to know something of the user; as CADRE_QUESTION_ASKED, or
				    * id: for cadre_answer_elicitation */
	CADRE_COMPACTING,        /* the conversation is being summed up, or that is over; frame: system/status */
	CADRE_COMPACTED          /* it goes on from a summary, which is on disk; frame: system/compact_boundary */
};

CADRE_API enum cadre_event_kind cadre_event_kind(const struct cadre_event *e);
CADRE_API uint64_t cadre_event_seq(const struct cadre_event *e);    /* 1, 2, 3 ... within a session */
CADRE_API int64_t cadre_event_time_ms(const struct cadre_event *e); /* since 1970 */
CADRE_API const char *cadre_event_session(const struct cadre_event *e);
CADRE_API const char *cadre_event_agent(const struct cadre_event *e); /* "" for the main agent */
CADRE_API const char *cadre_event_name(const struct cadre_event *e);  /* "" if the kind has none */
CADRE_API const char *cadre_event_id(const struct cadre_event *e);
CADRE_API const char *cadre_event_text(const struct cadre_event *e, size_t *ret_n);
CADRE_API int cadre_event_is_error(const struct cadre_event *e);
/* Of CADRE_PERMISSION_ASKED: why it is asked (""), the i-th rule that would allow this call (NULL: there are no more), and
 * whether CADRE_ACCEPT_EDITS may be answered. */
CADRE_API const char *cadre_event_why(const struct cadre_event *e);
CADRE_API const char *cadre_event_rule(const struct cadre_event *e, size_t i);
CADRE_API int cadre_event_offers_edits(const struct cadre_event *e);
/* Of CADRE_QUESTION_ASKED and CADRE_ELICITATION_ASKED: the i-th question, whether several answers may be chosen, and its k-th answer to choose from with
 * what choosing it means (ret_meaning may be NULL). NULL: there are no more. An answer may always be another text. */
CADRE_API const char *cadre_event_question(const struct cadre_event *e, size_t i);
CADRE_API int cadre_event_takes_several(const struct cadre_event *e, size_t i);
CADRE_API const char *cadre_event_choice(const struct cadre_event *e, size_t i, size_t k, const char **ret_meaning);
/* How a turn ended (CADRE_TURN_ENDED): the result's subtype, "success", "error_max_turns", "error_during_execution",
 * "error_max_structured_output_retries", ... */
CADRE_API const char *cadre_event_subtype(const struct cadre_event *e);
/* Whom an event is about, and how it stands with that child now.
 * "" and 0 where there is nothing to say, and for the main agent. */
enum cadre_detail {
	CADRE_DETAIL_TYPE,
	CADRE_DETAIL_NAME,
	CADRE_DETAIL_DESCRIPTION,
	CADRE_DETAIL_PARENT,    /* its id; "" for a child of the main agent */
	CADRE_DETAIL_COLOR,     /* red, blue, green, yellow, purple, orange, pink or cyan */
	CADRE_DETAIL_STATE,     /* running, completed, turn_limit, failed, refused, budget, killed or suspended */
	CADRE_DETAIL_END,       /* the same behind: Agent "DESCRIPTION" */
	CADRE_DETAIL_LAST_TOOL, /* that it called */
	CADRE_DETAIL_PATH       /* the descriptions of its ancestors and its own, with " > " between */
};
enum cadre_figure {
	CADRE_FIGURE_DEPTH, /* 1 for a child of the main agent */
	CADRE_FIGURE_TURNS,
	CADRE_FIGURE_TOOL_USES,
	CADRE_FIGURE_TOKENS,
	CADRE_FIGURE_MS /* since it began, until now or its end */
};
CADRE_API const char *cadre_event_detail(const struct cadre_event *e, enum cadre_detail which);
CADRE_API int64_t cadre_event_figure(const struct cadre_event *e, enum cadre_figure which);
/* The event as one line of stream-json without the line end; NULL if this kind has no frame. Built when asked for. */
CADRE_API const char *cadre_event_frame(const struct cadre_event *e, size_t *ret_n);

/* ---- agents -------------------------------------------------------------------------------------------------- */

/* A report is an answer for programs (JSON) and for people (rows of cells, which the face aligns). */
enum cadre_tone {
	CADRE_PLAIN,
	CADRE_HEAD, /* titles of the columns of the rows below */
	CADRE_GOOD,
	CADRE_NOTE,
	CADRE_WARN,
	CADRE_BAD
};
CADRE_API const char *cadre_report_json(const struct cadre_report *r, size_t *ret_n); /* without a line end */
CADRE_API size_t cadre_report_rows(const struct cadre_report *r);
CADRE_API enum cadre_tone cadre_report_tone(const struct cadre_report *r, size_t row);
CADRE_API size_t cadre_report_cells(const struct cadre_report *r,
				    size_t row); /* one cell: a line of its own, or several */
CADRE_API const char *cadre_report_cell(const struct cadre_report *r, size_t row,
					size_t column);       /* "" beyond the last */
CADRE_API int cadre_report_bad(const struct cadre_report *r); /* it tells of something that was refused */
CADRE_API void cadre_report_free(struct cadre_report *r);

/* What the options find: {"activeAgents":[..],"allAgents":[..],"failedFiles":[..]}, with what overrides what. The disk is
 * read with each call. CADRE_USAGE if a settings file or the option agents is not what it should be. */
CADRE_API int cadre_agents_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size);
/* One definition: each field with the line it comes from, the resolved tools and model. An exact name goes before any
 * other match. */
CADRE_API int cadre_agents_show(struct cadre *c, const char *name, struct cadre_report **ret_report, char *why,
				size_t why_size);
/* Every file: loaded or not, and each leniency and problem with its line. Paths are files and directories; without any,
 * all places are checked. */
CADRE_API int cadre_agents_check(struct cadre *c, const char *const *paths, size_t count,
				 struct cadre_report **ret_report, char *why, size_t why_size);
/* Copies the user memory of an agent (memory: user) into the project: .claude/agent-memory-snapshots/NAME, which fills the empty
 * memory of others who trust the project. */
CADRE_API int cadre_agents_memory(struct cadre *c, const char *name, struct cadre_report **ret_report, char *why,
				  size_t why_size);
/* Writes a first version of .claude/agents/NAME.md below the working directory; an existing file is left alone. */
CADRE_API int cadre_agents_new(struct cadre *c, const char *name, struct cadre_report **ret_report, char *why,
			       size_t why_size);

/* ---- plugins ------------------------------------------------------------------------------------------------- */

/* [{"name":..,"id":"name@marketplace","version":..,"path":..,"state":"enabled"|"disabled"|"failed","why":..,"trusted":..,
 * "agents":[..],..,"errors":[{"type":..,"file":..,"line":..,"message":..}],"notes":[..]}]: all that options and settings
 * find, with what they bring. */
CADRE_API int cadre_plugins_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size);
/* The same for one directory or zip file, or for every plugin inside a marketplace; every file of it is read. The report is
 * bad if something is wrong. */
CADRE_API int cadre_plugins_validate(struct cadre *c, const char *path, struct cadre_report **ret_report, char *why,
				     size_t why_size);
enum cadre_plugin_change {
	CADRE_PLUGIN_INSTALL, /* what: a path, or NAME@MARKETPLACE; it is enabled too, unless its manifest says otherwise */
	CADRE_PLUGIN_UNINSTALL,
	CADRE_PLUGIN_ENABLE,
	CADRE_PLUGIN_DISABLE,
	CADRE_PLUGIN_TRUST, /* hooks and MCP servers of its agents may run */
	CADRE_PLUGIN_FORGET /* not any more */
};
/* what: its name or id. scope: whose settings say so, "user" (the same as NULL), "project" or "local". Blocks: a
 * repository or a package may have to be fetched. */
CADRE_API int cadre_plugins_change(struct cadre *c, enum cadre_plugin_change change, const char *what,
				   const char *scope, struct cadre_report **ret_report, char *why, size_t why_size);
/* [{"name":..,"source":{..},"dir":..,"error":..,"plugins":[{"name":..,"version":..,"description":..}]}] */
CADRE_API int cadre_marketplaces_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size);
enum cadre_marketplace_change {
	CADRE_MARKETPLACE_ADD,    /* what: a directory, the address of a repository with #REF perhaps, or OWNER/NAME */
	CADRE_MARKETPLACE_REMOVE, /* what: its name */
	CADRE_MARKETPLACE_UPDATE  /* what: its name; NULL: all */
};
/* CADRE_DENIED: managed settings do not allow it. Blocks: a repository may have to be fetched. */
CADRE_API int cadre_marketplaces_change(struct cadre *c, enum cadre_marketplace_change change, const char *what,
					struct cadre_report **ret_report, char *why, size_t why_size);

/* ---- skills -------------------------------------------------------------------------------------------------- */

/* {"skills":[{"name":..,"kind":"skill","source":..,"file":..,"description":..,"model":true,"user":true}],"hidden":[..],
 * "failedFiles":[..]}: the skills and commands of this project, what hides what, what cannot be read. */
CADRE_API int cadre_skills_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size);
/* One of them with all its fields. CADRE_NOT_FOUND names those that look like it. */
CADRE_API int cadre_skills_show(struct cadre *c, const char *name, struct cadre_report **ret_report, char *why,
				size_t why_size);
/* Every file: what was forgiven, ignored or refused, with its line. The report is bad if one is refused. */
CADRE_API int cadre_skills_check(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size);

/* ---- agents at work ------------------------------------------------------------------------------------------ */

/* The children of sessions as a tree, with what they did and cost: {"sessions":[{"sessionId":..,"running":..,
 * "tasks":[..]}]}. A session that runs, in whatever process, is asked; of another one the disk is. session: its id or the
 * beginning of one; NULL: those of the working directory's project that run, or if none does the newest that had
 * children; all: every session of the project that had any. CADRE_NOT_FOUND if nothing is found. Blocks. */
CADRE_API int cadre_tasks(struct cadre *c, const char *session, int all, struct cadre_report **ret_report, char *why,
			  size_t why_size);
/* Ends a child that runs, in whatever process, for the user: agents cannot take it up again. agent: its id, the beginning of
 * one, or its name; NULL: all that run in session or, if that is NULL, in the project. Blocks until they have
 * ended. CADRE_NOT_FOUND: there is none, or it does not run; CADRE_USAGE: several match. */
CADRE_API int cadre_tasks_stop(struct cadre *c, const char *agent, const char *session,
			       struct cadre_report **ret_report, char *why, size_t why_size);
/* The transcript of a child, line by line: the JSON of a piece is the line, its rows are what it says to people. agent as
 * above. follow: goes on until the child ends. fn returns other than 0 to stop early. Blocks. */
typedef int cadre_log_fn(const struct cadre_report *piece, void *data);
CADRE_API int cadre_logs(struct cadre *c, const char *agent, int follow, cadre_log_fn *fn, void *data, char *why,
			 size_t why_size);

/* ---- files as they were ------------------------------------------------------------------------------------------ */

enum cadre_rewind_flags {
	CADRE_REWIND_DRY = 1,  /* only says what would be done */
	CADRE_REWIND_FORCE = 2 /* also where somebody else has changed a file */
};
/* Brings the files that agents of a session changed back as they were when a message came: {"sessionId":..,"to":..,
 * "rewound":..,"undo":..,"files":[..],"insertions":..,"deletions":..}. session: its id or the beginning of one; message: the
 * uuid of its line, NULL: the last one that changed files. The report is bad if nothing was done because of others' changes.
 * CADRE_NOT_FOUND: nothing was kept for it; CADRE_BUSY: the session is at work. */
CADRE_API int cadre_rewind(struct cadre *c, const char *session, const char *message, unsigned flags,
			   struct cadre_report **ret_report, char *why, size_t why_size);
/* The messages that can be named: {"sessionId":..,"messages":[{"uuid":..,"time":..,"files":..,"isRewind":..}]}. */
CADRE_API int cadre_rewind_list(struct cadre *c, const char *session, struct cadre_report **ret_report, char *why,
				size_t why_size);

/* ---- sessions on disk ---------------------------------------------------------------------------------------- */

/* The sessions of the working directory's project, the newest first: [{"sessionId":..,"title":..,"firstPrompt":..,
 * "lastModified":..,"messages":..,"bytes":..}]. text: only those in which user or model said it, in any case; NULL: all. */
CADRE_API int cadre_sessions_list(struct cadre *c, const char *text, struct cadre_report **ret_report, char *why,
				  size_t why_size);
/* One of them, by its id, the beginning of one, or its title: its lines as JSON, and for people as `cadre logs` shows them or,
 * whole, as Markdown. CADRE_NOT_FOUND; CADRE_USAGE if several match. */
CADRE_API int cadre_sessions_show(struct cadre *c, const char *session, int markdown, struct cadre_report **ret_report,
				  char *why, size_t why_size);
/* Removes those that have not changed for so long, with all that belongs to them (transcripts of their agents, files as they
 * were, task lists), and what is left of sessions that are gone: [{"sessionId":..,"bytes":..,"removed":..}], of the latter with
 * the path as "orphan". older_than_s: below 0 as the setting cleanupPeriodDays says. dry_run: only tells. One that is in use is
 * kept. The report is bad if one could not be removed. */
CADRE_API int cadre_sessions_prune(struct cadre *c, int64_t older_than_s, int dry_run, struct cadre_report **ret_report,
				   char *why, size_t why_size);

/* ---- permissions --------------------------------------------------------------------------------------------- */

/* Every rule that holds, with its list and where it stands, and those that have no effect. CADRE_USAGE if a settings file or
 * a rule that denies or asks cannot be understood. */
CADRE_API int cadre_permissions_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size);
/* Would this call run? call is "Bash(git push)" or JSON {"tool_name": .., "tool_input": {..}}; agent (NULL: the main agent) a
 * type of agent that makes it. Tells the decision, the step and the rule that decided, its file, and the mode. The report
 * is bad (cadre_report_bad) if the call is denied. */
CADRE_API int cadre_permissions_test(struct cadre *c, const char *call, const char *agent,
				     struct cadre_report **ret_report, char *why, size_t why_size);

/* ---- settings and trust -------------------------------------------------------------------------------------- */

/* The merged settings with where each comes from, the files that were looked for, and what has no effect. CADRE_USAGE with
 * "FILE:LINE:COLUMN: what" if a file is bad; that holds for the next two as well. */
CADRE_API int cadre_config_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size);
/* The value of "permissions.deny"; its default if nobody set it; CADRE_NOT_FOUND if there is none. */
CADRE_API int cadre_config_get(struct cadre *c, const char *key, struct cadre_report **ret_report, char *why,
			       size_t why_size);
/* What every layer says about a key, and which one wins. */
CADRE_API int cadre_config_explain(struct cadre *c, const char *key, struct cadre_report **ret_report, char *why,
				   size_t why_size);
/* Every key that is known, with what it expects and means. */
CADRE_API int cadre_config_keys(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size);

/* Records the user's consent (trusted) for a folder, or takes it back. dir NULL: the root of the repository around the
 * working directory, or that directory. */
CADRE_API int cadre_trust_set(struct cadre *c, const char *dir, int trusted, struct cadre_report **ret_report,
			      char *why, size_t why_size);
CADRE_API int cadre_trust_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size);

/* ---- stream-json both ways ----------------------------------------------------------------------------------- */

/* The protocol of the agent SDKs on a pair of byte streams: user messages and control requests in, frames, answers and
 * control requests out. A wire opens its session itself, with the options of the runtime and what the client's `initialize`
 * says. out gets whole lines, with their line end; borrowed until it returns. */
struct cadre_wire;
typedef void cadre_wire_fn(void *data, const char *lines, size_t n);
CADRE_API struct cadre_wire *cadre_wire_new(struct cadre *c, cadre_wire_fn *out, void *data);
CADRE_API void cadre_wire_feed(struct cadre_wire *w, const char *bytes, size_t n); /* as they come */
/* No more will come: what was asked for is finished, then cadre_run() returns. */
CADRE_API void cadre_wire_end_input(struct cadre_wire *w);
/* The same without finishing: the turn is interrupted, messages that wait are dropped. */
CADRE_API void cadre_wire_interrupt(struct cadre_wire *w);
/* CADRE_OK; CADRE_USAGE: the session could not be opened, and why says the reason; CADRE_CANCELLED: the last turn ended with an
 * error. */
CADRE_API int cadre_wire_status(const struct cadre_wire *w, const char **ret_why);
CADRE_API void cadre_wire_free(struct cadre_wire *w);

/* ---- MCP servers --------------------------------------------------------------------------------------------- */

/* Every server that is configured, wherever: {"servers":[{"name":..,"scope":..,"type":..,"file":..,"state":..}],..}, the
 * highest scope first, with what shadows or refuses it. Nothing is started. CADRE_USAGE with "FILE:LINE:COLUMN: what" if a
 * file is bad; a bad entry is told in the report. */
CADRE_API int cadre_mcp_list(struct cadre *c, struct cadre_report **ret_report, char *why, size_t why_size);
/* One of them: that which counts, or else the highest. The report is bad if it is refused. */
CADRE_API int cadre_mcp_get(struct cadre *c, const char *name, struct cadre_report **ret_report, char *why,
			    size_t why_size);
/* Writes a server down; CADRE_USAGE if its scope has one of that name. scope: "local" (the same as NULL: this user in this
 * folder), "project" (.mcp.json in the working directory) or "user". transport: "stdio" (NULL), "http" or "sse". words: the
 * program and its arguments, or one address. env: NAME=value, headers: "Name: value". Lists end with NULL; env and headers
 * may be NULL. All other bytes of the file stay as they are. */
CADRE_API int cadre_mcp_add(struct cadre *c, const char *name, const char *scope, const char *transport,
			    const char *const *words, const char *const *env, const char *const *headers,
			    struct cadre_report **ret_report, char *why, size_t why_size);
/* The same with the entry as a JSON object. */
CADRE_API int cadre_mcp_add_json(struct cadre *c, const char *name, const char *scope, const char *json,
				 struct cadre_report **ret_report, char *why, size_t why_size);
/* scope NULL: the one scope that has it; CADRE_USAGE if several have, CADRE_NOT_FOUND if none has. */
CADRE_API int cadre_mcp_remove(struct cadre *c, const char *name, const char *scope, struct cadre_report **ret_report,
			       char *why, size_t why_size);

/* Called with an address that the user has to visit to sign in. Returns other than 0: a browser is to be opened with it. */
typedef int cadre_visit_fn(const char *url, void *data);
/* Connects to one server, tells what it offers, and hangs up: {"name":..,"state":"connected","serverInfo":{..},"tools":[..],
 * "prompts":[..],"resources":[..]}. name: one that is configured, or NULL with transport ("stdio", "http" or "sse") and words (the
 * program and its arguments, or one address, then NULL). visit NULL: nobody can sign in. What signing in gives is stored. The
 * report is bad if it is not connected. Blocks. */
CADRE_API int cadre_mcp_test(struct cadre *c, const char *name, const char *transport, const char *const *words,
			     cadre_visit_fn *visit, void *data, struct cadre_report **ret_report, char *why,
			     size_t why_size);
/* Offers Bash, Edit, Glob, Grep, Read, Write and the like to another program, and `agent`, which runs a subagent: an MCP server
 * on two descriptors, a message a line. Nobody is asked: what the rules and the mode do not allow is denied. Blocks until the
 * input is over, nobody reads the output any more, or cadre_stop(). */
CADRE_API int cadre_mcp_serve(struct cadre *c, int in_fd, int out_fd, char *why, size_t why_size);

/* ---- the loop, for faces ------------------------------------------------------------------------------------- */

typedef void cadre_watch_fn(struct cadre *c, int fd_or_signal, void *data);
/* Calls fn when fd is readable, or when the signal comes. A watch keeps cadre_run() going only if keep is not 0. */
CADRE_API int cadre_watch_fd(struct cadre *c, int fd, int keep, cadre_watch_fn *fn, void *data);
CADRE_API int cadre_watch_signal(struct cadre *c, int signal, cadre_watch_fn *fn, void *data);
CADRE_API void cadre_unwatch_fd(struct cadre *c, int fd);

/* Output that never blocks the loop. While more than 8 MB are queued in any writer, agents stop stepping and transfers
 * pause. flush waits at most timeout_ms and returns 0, or -1 with the reason of a failed writer (EPIPE) in why. */
CADRE_API struct cadre_writer *cadre_writer_new(struct cadre *c, int fd);
CADRE_API void cadre_write(struct cadre_writer *w, const void *p, size_t n);
typedef void cadre_failure_fn(struct cadre_writer *w, void *data);
CADRE_API size_t cadre_writer_queued(const struct cadre_writer *w); /* bytes */
CADRE_API void cadre_writer_on_failure(struct cadre_writer *w, cadre_failure_fn *fn,
				       void *data); /* once, from cadre_run() */
CADRE_API void cadre_writer_on_drained(struct cadre_writer *w, cadre_failure_fn *fn,
				       void *data); /* whenever nothing is queued any more */
CADRE_API int cadre_writer_flush(struct cadre_writer *w, unsigned timeout_ms, char *why, size_t why_size);
CADRE_API void cadre_writer_free(struct cadre_writer *w);

#ifdef __cplusplus
}
#endif
#endif
