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
 * - Use a runtime and everything that belongs to it from one thread. Runtimes are independent of each other.
 * - Events are delivered inside cadre_run(). The first events of a turn may also be delivered inside cadre_prompt() and
 *   cadre_prepare(), and those that an answer or cadre_background() causes inside that call. CADRE_TURN_ENDED is only
 *   delivered by cadre_run(). A value that an accessor returns is borrowed until the event callback returns.
 * - A callback may call every function except cadre_run() and cadre_free(). A turn started there begins after the callback
 *   has returned, and a failure ends it with CADRE_TURN_ENDED; a closed session is freed later.
 * - Functions that block (see their comments) wait for programs, servers or other processes. Inside cadre_run() and
 *   callbacks they do nothing and return CADRE_BUSY.
 * - The subcommands of the program (agents, mcp, config and others) are in cadre_command.h.
 * - Threads of a runtime (file searches, the start of OpenSSL) read the environment, so change it before cadre_open() only.
 * - The library prints nothing and does not change the environment (except with agent-id below), the locale or the signal
 *   handlers of the process. (Without pidfd in the kernel, libuv watches SIGCHLD while children run.) It changes the process in
 *   two ways, from the first child process of a runtime until cadre_free(), unless options disable them: the process becomes a
 *   subreaper (prctl), and it has one more child, the keeper, which ends all children if the process is killed. With the option
 *   raise-descriptor-limit it also raises the limit of open files. */
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

/* Runtime. */

CADRE_API struct cadre *cadre_new(char *why, size_t why_size); /* NULL on failure */
CADRE_API void cadre_free(struct cadre *c);                    /* closes what is still open */
CADRE_API const char *cadre_version(void);
#define CADRE_PROTOCOL_VERSION "2.1.325" /* of the stream-json that a wire speaks: what agent SDKs ask for */

/* Options apply to sessions opened afterwards; in an open session only debug-file and trace take effect at once. A session keeps
 * the settings, hooks, MCP servers and trust of the folder and options that it was opened with; agents, skills, plugins and the
 * model endpoint are those of the first session. Defaults come from the environment; the value NULL resets an option. An invalid
 * name or value is CADRE_USAGE. Names are those of the command line without the dashes; `cadre --help` explains them.
 *   A switch has the value "": allow-cut-prompt, allow-dangerously-skip-permissions, allow-unknown-price, await-initialize,
 *     background-agents, continue, coordinator, disable-slash-commands, fork-session, forward-subagent-text, include-hook-events,
 *     include-partial-messages, managed-settings-in-initialize, no-session-persistence, replay-user-messages, session-mirror,
 *     strict-mcp-config, trust-project.
 *   Model: model, fallback-model (comma list), provider (anthropic, bedrock, vertex, openai, ...: docs/models.md), betas (comma
 *     list), effort (low | medium | high | xhigh | max), thinking (adaptive | disabled), thinking-display (summarized | omitted),
 *     max-thinking-tokens, retry-deadline (seconds).
 *   Limits: max-turns, max-budget-usd (of all agents together), task-budget (tokens, reported to the model).
 *   Prompt and answer: agent (that the session runs as), system-prompt, append-system-prompt, append-subagent-system-prompt,
 *     json-schema (of the answer: JSON, or a file with it).
 *   Tools: tools (comma list; "" = none; "default"), allowed-tools, disallowed-tools (comma-separated rules), permission-mode
 *     (default | acceptEdits | plan | dontAsk | auto | bypassPermissions), permission-prompt-tool (stdio, or a tool of an MCP
 *     server), permission-prompts (host | none: questions are denied), add-dir (may be given again).
 *   Configuration: agents, settings (a JSON object, or a file with one), setting-sources (list of user, project, local),
 *     managed-settings (JSON of the starting program), mcp-config (a JSON object or a file with one), plugin-dir (a directory or a
 *     zip file), plugin-dir-no-mcp (the same without its MCP servers), plugin-url (the address of such a zip file), which may be
 *     given again, project-config-root (the checkout with the project files), channels (without effect).
 *   Session: resume (session id, the beginning of one, or its title), resume-session-at (uuid of the last line to use),
 *     resume-drops-turn (uuid of the one prompt after it), session-id (uuid), name (its title), setup (init | maintenance: Setup
 *     hooks come before the first turn), skills (comma list: the only ones for the model of the main agent), initialize-fields
 *     (comma list of settings and disallowedTools: what initialize must have on a wire), debug (subjects to log, comma list; "" =
 *     all), debug-file (otherwise the log goes to standard error), trace (a file for ui.perfetto.dev).
 *   Teams: teammate-mode (in-process | auto | tmux: where members run). For the process of a member in a pane, set by its lead:
 *     agent-id, agent-name, team-name, agent-color, agent-type, parent-session-id, lead-process, plan-mode-required (""). With
 *     agent-id, cadre_open() changes the process, which must be a separate program: it takes the environment of its lead, cannot
 *     be traced, is killed first when memory is short, and gets SIGTERM when the member ends.
 *   For hosts: cwd, config-dir, managed-dir, base-url (of the provider), api-key, auth-token, scenario (file of the scripted
 *     provider; "" = the embedded one), interactive ("" = the host answers permission questions), hooks (JSON; functions of the
 *     host by hookCallbackIds), entrypoint, single-prompt ("" = no further prompt follows, so hooks with asyncRewake are waited
 *     for), one-run ("" = the program ends when all agents are idle, and its team with it), no-keeper (""), no-subreaper (""),
 *     raise-descriptor-limit ("" = to the hard limit, at once and permanently: many concurrent agents need it; child processes get
 *     1,024). */
CADRE_API int cadre_set(struct cadre *c, const char *option, const char *value, char *why, size_t why_size);

/* Runs until no session, watch, writer or background task is active, or until cadre_stop(). */
CADRE_API void cadre_run(struct cadre *c);
CADRE_API void cadre_stop(struct cadre *c);

/* Sessions. */

typedef void cadre_event_fn(const struct cadre_event *event, void *data);

/* Loads the session to resume, if one was named, and takes its lock. on_event may be NULL. The conversation is read before this
 * function returns, because its result depends on the file, the agent and the directory of the session. Other sessions of the
 * runtime wait meanwhile, about 0.1 s for 10 MB. Transcripts of its agents and team members are read in threads. A host that
 * resumes longer sessions while others work should use a separate runtime. The first call of a runtime downloads plugin-url,
 * and other sessions wait. */
CADRE_API int cadre_open(struct cadre *c, cadre_event_fn *on_event, void *data, struct cadre_session **ret_session,
			 char *why, size_t why_size);
/* Opens a new session that shares the conversation so far. Only while s is idle. */
CADRE_API int cadre_fork(struct cadre_session *s, cadre_event_fn *on_event, void *data,
			 struct cadre_session **ret_session, char *why, size_t why_size);
/* Starts a turn; CADRE_TURN_ENDED reports its end. text == NULL continues an interrupted turn of a resumed session,
 * or its background agents, whose reports start a turn (CADRE_USAGE if there is neither). CADRE_BUSY: a turn is
 * running. */
CADRE_API int cadre_prompt(struct cadre_session *s, const char *text, size_t n, char *why, size_t why_size);
/* The same with files: blocks is a JSON array of content blocks of the API (image, document), which precede the text. NULL:
 * none. */
CADRE_API int cadre_prompt_blocks(struct cadre_session *s, const char *text, size_t n, const char *blocks,
				  size_t blocks_n, char *why, size_t why_size);
/* Runs only the hooks before a first turn (Setup, with the option setup, and SessionStart). Otherwise as
 * cadre_prompt(). */
CADRE_API int cadre_prepare(struct cadre_session *s, char *why, size_t why_size);
CADRE_API int cadre_has_interrupted_turn(const struct cadre_session *s);
/* Returns 1 if the agent of a new session has an initial prompt. It precedes the first one; cadre_prompt() then accepts an
 * empty text. */
CADRE_API int cadre_has_initial_prompt(const struct cadre_session *s);
/* Ends the running turn: cancels requests and tools, completes the transcript, then delivers CADRE_TURN_ENDED. */
CADRE_API void cadre_interrupt(struct cadre_session *s);
/* Moves foreground agents to the background: their calls end at once. tool_use_id: one call, at any depth; NULL: all of
 * the main agent's. Returns the number of calls moved to the background, or CADRE_USAGE. */
CADRE_API int cadre_background(struct cadre_session *s, const char *tool_use_id);
/* Sends a message of the user to an agent of the session, by its id or name. A running agent receives it at its next step; one that
 * has ended continues with it, in the background. CADRE_NOT_FOUND: there is no such agent. CADRE_BUSY: the agent is about to end or
 * to continue, as inside its CADRE_AGENT_ENDED; try again later. For members of a team use `cadre team message`. */
CADRE_API int cadre_tell(struct cadre_session *s, const char *agent, const char *text, char *why, size_t why_size);
/* Answers a CADRE_PERMISSION_ASKED by its id. If denied, reason (may be NULL) goes to the model. CADRE_FOR_SESSION and
 * CADRE_ALWAYS allow the rules of cadre_event_rule(), or the rule in reason. CADRE_ALWAYS also stores them in
 * cadre_rules_file(); the status reports a failure to do so, but the call runs. CADRE_ACCEPT_EDITS allows this call and all later
 * edits, only if cadre_event_can_accept_edits(); otherwise it is CADRE_ONCE. */
enum cadre_scope { CADRE_ONCE, CADRE_FOR_SESSION, CADRE_ALWAYS, CADRE_ACCEPT_EDITS };
CADRE_API int cadre_answer(struct cadre_session *s, const char *id, int allow, enum cadre_scope scope,
			   const char *reason, char *why, size_t why_size);
/* The project's local settings file, which need not exist; "" if unknown. */
CADRE_API const char *cadre_rules_file(struct cadre_session *s);
/* Answers a CADRE_QUESTION_ASKED: one text for each question, in their order; NULL: no answer to this one. count 0: the
 * user declined. */
CADRE_API int cadre_answer_question(struct cadre_session *s, const char *id, const char *const *answers, size_t count);
/* Answers a CADRE_ELICITATION_ASKED: action is accept, decline or cancel; content (may be NULL) the JSON object of an
 * accepted form; missing members get the form's defaults. */
CADRE_API int cadre_answer_elicitation(struct cadre_session *s, const char *id, const char *action,
				       const char *content);
/* Changes an option of an open session, from its next request on: model ("default" or NULL: the initial one),
 * permission-mode, max-thinking-tokens (NULL: the initial value), thinking-display, effort (NULL: the model's
 * default), fallback-model (a comma list, for all its agents; NULL: none) and add-dir (one more directory that tools may work
 * in: an absolute path). start-source and end-reason: the source and reason that SessionStart and SessionEnd hooks read ("clear",
 * "prompt_input_exit"). With PreModelSwitch hooks the model changes after they have run; a CADRE_ERROR reports that one
 * refused. */
CADRE_API int cadre_session_set(struct cadre_session *s, const char *option, const char *value, char *why,
				size_t why_size);
/* Closes the session; interrupts a running turn first. It is freed inside cadre_run() or cadre_free(), after its last
 * event; until then its handle may be used only in its own events. */
CADRE_API void cadre_close(struct cadre_session *s);
CADRE_API const char *cadre_session_id(const struct cadre_session *s);
CADRE_API const char *cadre_session_model(const struct cadre_session *s);
CADRE_API const char *cadre_session_mode(const struct cadre_session *s); /* permission mode of its main agent, now */
CADRE_API int cadre_session_is_trusted(const struct cadre_session *s);   /* 1: the user trusts its folder */
CADRE_API const char *cadre_session_file(const struct cadre_session *s); /* its transcript; "": nothing is written */
/* The effective value of a setting in this session as JSON ("statusLine", "worktree.baseRef"); NULL: not set. Not
 * NUL-terminated; borrowed until the next call of cadre_run(). */
CADRE_API const char *cadre_session_setting(const struct cadre_session *s, const char *path, size_t *ret_n);
/* Makes a control request of the stream-json protocol without a wire, {"subtype":"get_context_usage"}. Only for requests that are
 * answered at once: apply_flag_settings, get_context_usage, get_hooks_listing, get_session_cost, get_settings, get_task_output, get_usage,
 * list_mentions, list_models, list_permission_rules, mcp_status, reload_output_styles, reload_skills, rename_session,
 * rewind_files, update_permissions, update_settings. Returns a JSON object, borrowed until the next request of this session. NULL: refused, see why.
 * The files of list_mentions follow as CADRE_FILES_FOUND. */
CADRE_API const char *cadre_request(struct cadre_session *s, const char *request, size_t n, size_t *ret_n, char *why,
				    size_t why_size);

/* Events. */

enum cadre_event_kind {
	CADRE_SESSION_STARTED = 1, /* at the start of each turn; frame: system/init */
	CADRE_MESSAGE,             /* a block of an answer, or tool results, is on disk; frame: assistant | user */
	CADRE_DELTA,               /* name: "text" or "thinking", text: the piece; frame: stream_event if asked for */
	CADRE_TOOL_STARTED,        /* name: tool, text: one-line summary of its input, id */
	CADRE_TOOL_ENDED,          /* name: tool, text: result, id, is_error */
	CADRE_PERMISSION_ASKED,    /* name: tool, text: the whole input, id: for cadre_answer */
	CADRE_PERMISSION_DENIED,   /* name: tool, text: why; frame: system/permission_denied */
	CADRE_RETRY,               /* text: the failure and the time of the next attempt; frame: system/api_retry */
	CADRE_NOTIFICATION,        /* text: a background task ended */
	CADRE_ERROR,          /* text: a message for the user outside the answer; name: "note" if it is not an error */
	CADRE_TURN_ENDED,     /* text: the result, is_error; frame: result */
	CADRE_AGENT_STARTED,  /* a child begins; frame: system/task_started */
	CADRE_AGENT_PROGRESS, /* it calls a tool; frame: system/task_progress */
	CADRE_AGENT_ENDED,    /* text: its report, is_error; frame: system/task_updated */
	CADRE_TASKS_CHANGED,  /* the set of background tasks; frame: system/background_tasks_changed */
	CADRE_QUESTION_ASKED, /* text: the input of AskUserQuestion as JSON, id: for cadre_answer_question; in an interactive
				    * session also whether a server of the project may be used (name: the server) */
	CADRE_HOOK_STARTED,      /* text: PreToolUse:Bash, id; if asked for; frame: system/hook_started */
	CADRE_HOOK_ENDED,        /* the same with is_error; frame: system/hook_response */
	CADRE_ELICITATION_ASKED, /* name: an MCP server that asks the user; as CADRE_QUESTION_ASKED, or with
				    * id: for cadre_answer_elicitation; questions of a form also have name, required and schema */
	CADRE_COMPACTING,        /* start or end of a compaction; frame: system/status */
	CADRE_COMPACTED,         /* the summary is on disk; frame: system/compact_boundary */
	CADRE_MEMBER_STATE,      /* a member of a team works, waits or fails; frame: system/task_updated */
	CADRE_SANDBOX_VIOLATION, /* name: write, read, network, socket or removed, text: what, id: of the call, why: the rule;
				    * frame: system/sandbox_violation */
	CADRE_TOOL_PROGRESS,     /* a command of the main agent prints: name, id, text: its last line, CADRE_INT_LINES;
				    * at most 4 times a second, not in its first 250 ms */
	CADRE_QUESTION_CLOSED,   /* id: this question needs no answer any more; text: why */
	CADRE_TERMINAL_SEQUENCE, /* text: from a hook, for the terminal: a title, a notice or the bell, nothing else */
	CADRE_FILES_FOUND /* after list_mentions: text: relative paths that a prompt can name, each NUL-terminated */
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
/* For CADRE_PERMISSION_ASKED: the reason of the question (may be ""), the i-th rule that would allow this call (NULL: no more; also for
 * CADRE_PERMISSION_DENIED), whether CADRE_ACCEPT_EDITS is possible, and the change that an edit would make: a JSON object with
 * filePath and structuredPatch, as in the result of Edit ("": it is not an edit, or cannot be applied). */
CADRE_API const char *cadre_event_why(const struct cadre_event *e);
CADRE_API const char *cadre_event_rule(const struct cadre_event *e, size_t i);
CADRE_API int cadre_event_can_accept_edits(const struct cadre_event *e);
CADRE_API const char *cadre_event_patch(const struct cadre_event *e, size_t *ret_n);
/* For CADRE_QUESTION_ASKED and CADRE_ELICITATION_ASKED: the i-th question, whether several answers may be chosen, and
 * its k-th choice with a description (ret_meaning may be NULL). NULL: no more. Any other text is a valid answer, too. */
CADRE_API const char *cadre_event_question(const struct cadre_event *e, size_t i);
CADRE_API int cadre_event_multi_select(const struct cadre_event *e, size_t i);
CADRE_API const char *cadre_event_choice(const struct cadre_event *e, size_t i, size_t k, const char **ret_meaning);
/* How a turn ended (CADRE_TURN_ENDED): the result's subtype, "success", "error_max_turns", "error_during_execution",
 * "error_max_structured_output_retries", ... */
CADRE_API const char *cadre_event_subtype(const struct cadre_event *e);
/* The agent of an event and its current state. "" and 0 if unknown, and for the main agent. */
enum cadre_str {
	CADRE_STR_TYPE,
	CADRE_STR_NAME,
	CADRE_STR_DESCRIPTION,
	CADRE_STR_PARENT,    /* id of its parent; "" for a child of the main agent */
	CADRE_STR_COLOR,     /* red, blue, green, yellow, purple, orange, pink or cyan */
	CADRE_STR_STATE,     /* running, completed, turn_limit, failed, refused, budget, killed or suspended */
	CADRE_STR_END,       /* the same as text after: Agent "DESCRIPTION" */
	CADRE_STR_LAST_TOOL, /* its last tool */
	CADRE_STR_PATH,      /* descriptions of its ancestors and its own, joined by " > " */
	CADRE_STR_MODEL,
	CADRE_STR_WORKTREE, /* its directory, if it has one of its own */
	CADRE_STR_TEAM      /* of a member */
};
enum cadre_int {
	CADRE_INT_DEPTH, /* 1 for a child of the main agent */
	CADRE_INT_TURNS,
	CADRE_INT_TOOL_USES,
	CADRE_INT_TOKENS,
	CADRE_INT_MS,          /* since it began, until now or its end */
	CADRE_INT_COST_MICROS, /* millionths of a dollar */
	CADRE_INT_LINES,       /* of CADRE_TOOL_PROGRESS */
	CADRE_INT_DELAY_MS,    /* of CADRE_RETRY: until the next attempt */
	CADRE_INT_LEFT_MS /* of CADRE_RETRY: until the last attempt may start; 0: the number of attempts is limited instead */
};
CADRE_API const char *cadre_event_str(const struct cadre_event *e, enum cadre_str which);
CADRE_API int64_t cadre_event_int(const struct cadre_event *e, enum cadre_int which);
/* The event as one line of stream-json without the line end; NULL if this kind has no frame. Built when asked for. */
CADRE_API const char *cadre_event_frame(const struct cadre_event *e, size_t *ret_n);

/* The protocol of the agent SDKs on a pair of byte streams: user messages and control requests in, frames, answers and
 * control requests out. A wire opens its session itself, with the options of the runtime and of the client's
 * `initialize`. out gets whole lines, with their line end; borrowed until it returns. */
struct cadre_wire;
typedef void cadre_wire_fn(void *data, const char *lines, size_t n);
CADRE_API struct cadre_wire *cadre_wire_new(struct cadre *c, cadre_wire_fn *out, void *data);
CADRE_API void cadre_wire_feed(struct cadre_wire *w, const char *bytes, size_t n); /* as they come */
/* End of input: pending work is finished, then cadre_run() returns. */
CADRE_API void cadre_wire_end_input(struct cadre_wire *w);
/* The same without finishing: interrupts the turn and drops queued messages. */
CADRE_API void cadre_wire_interrupt(struct cadre_wire *w);
/* CADRE_OK; CADRE_USAGE: the client broke the protocol, with the reason in why; CADRE_CANCELLED: the last result was an
 * error, with the reason in why if no session could be opened. */
CADRE_API int cadre_wire_status(const struct cadre_wire *w, const char **ret_why);
CADRE_API void cadre_wire_free(struct cadre_wire *w);

/* Serves MCP on two descriptors, one message per line, with the tools Bash, Edit, Glob, Grep, Read, Write and others,
 * and `agent`, which runs a subagent. It asks no questions: calls that the rules and the mode do not allow are
 * denied. Blocks until the end of the input, a closed output, or cadre_stop(). */
CADRE_API int cadre_mcp_serve(struct cadre *c, int in_fd, int out_fd, char *why, size_t why_size);

/* The loop, for faces. */

typedef void cadre_watch_fn(struct cadre *c, int fd_or_signal, void *data);
/* Call fn when fd is readable, or on the signal. A watch keeps cadre_run() running only if keep is not 0. */
CADRE_API int cadre_watch_fd(struct cadre *c, int fd, int keep, cadre_watch_fn *fn, void *data);
CADRE_API int cadre_watch_signal(struct cadre *c, int signal, cadre_watch_fn *fn, void *data);
CADRE_API void cadre_unwatch_fd(struct cadre *c, int fd);
/* For programs that change the terminal of standard input: if the process is killed (kill -9), the keeper restores modes, a
 * struct termios, and writes reset to the terminal. This call starts the keeper. reset is borrowed until cadre_free(). If it is in
 * shared memory (MAP_SHARED), its first byte may be cleared while the terminal is given back (to a shell or an editor): the
 * keeper then does nothing. */
CADRE_API int cadre_keep_terminal(struct cadre *c, const void *modes, const char *reset, char *why, size_t why_size);

/* Output that never blocks the loop. While more than 8 MB are queued in any writer, agents stop stepping and transfers
 * pause. flush waits at most timeout_ms and returns 0, or -1 with the reason of a failed writer (EPIPE) in why. */
CADRE_API struct cadre_writer *cadre_writer_new(struct cadre *c, int fd);
CADRE_API void cadre_write(struct cadre_writer *w, const void *p, size_t n);
typedef void cadre_failure_fn(struct cadre_writer *w, void *data);
CADRE_API size_t cadre_writer_queued(const struct cadre_writer *w); /* bytes */
CADRE_API void cadre_writer_on_failure(struct cadre_writer *w, cadre_failure_fn *fn,
				       void *data); /* once, from cadre_run() */
CADRE_API void cadre_writer_on_drained(struct cadre_writer *w, cadre_failure_fn *fn,
				       void *data); /* whenever the queue becomes empty */
CADRE_API int cadre_writer_flush(struct cadre_writer *w, unsigned timeout_ms, char *why, size_t why_size);
CADRE_API void cadre_writer_free(struct cadre_writer *w);

#ifdef __cplusplus
}
#endif
#endif
