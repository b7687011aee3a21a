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
 * - Events come from inside cadre_run(); the first ones of a turn also from inside cadre_prompt() and cadre_prepare(),
 *   and what an answer or cadre_background() causes from inside that call. CADRE_TURN_ENDED comes from cadre_run()
 *   only. What an accessor returns is borrowed until the event callback returns.
 * - Callbacks may call anything but cadre_run() and cadre_free(). A turn started there begins after the callback has
 *   returned, and a failure ends it with CADRE_TURN_ENDED; a closed session is freed later.
 * - Functions that block (see their comments) wait for programs, servers or other processes. Inside cadre_run() and
 *   callbacks they do nothing and return CADRE_BUSY.
 * - The subcommands of the program (agents, mcp, config and others) are in cadre_command.h.
 * - Threads of a runtime (file searches, the start of OpenSSL) read the environment: a host changes it before cadre_open() only.
 * - Nothing is printed, and environment (but for agent-id below), locale and signal handlers of the process stay as they are (where the kernel has no
 *   pidfd, libuv watches SIGCHLD while children run). Two things are done to the process from the first child process of a
 *   runtime until cadre_free(), unless an option says no: it becomes a subreaper (prctl), and it has one more child, the keeper,
 *   which ends what we started when we are killed. One thing is done if an option wants it: the limit of open files is raised. */
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

/* Options hold for sessions opened afterwards. Settings, hooks, MCP servers and trust are those of the folder and options that a
 * session was opened with; agents, skills, plugins and the model endpoint those of the first session. Names are those of the command line without the dashes:
 *   agent (that the session runs as), model, fallback-model (comma list), effort (low | medium | high | xhigh | max),
 *   thinking (adaptive | disabled), thinking-display (summarized | omitted), max-thinking-tokens, betas (comma list),
 *   provider (anthropic, bedrock, vertex, openai, ...: docs/models.md), max-turns, max-budget-usd (of all agents together), allow-unknown-price (""), allow-cut-prompt (""), task-budget (tokens,
 *   reported to the model), system-prompt, append-system-prompt, append-subagent-system-prompt, json-schema (of the
 *   answer: JSON, or a file with it), tools (comma list; "" = none; "default"), allowed-tools, disallowed-tools
 *   (comma-separated rules), permission-mode (default | acceptEdits | plan | dontAsk | auto | bypassPermissions),
 *   permission-prompt-tool (stdio, or a tool of an MCP server), allow-dangerously-skip-permissions (""), add-dir (may
 *   be given again), agents (a JSON object, or a file with one), settings (the same), setting-sources (list of user,
 *   project, local), trust-project (""), mcp-config (a JSON object or a file with one; may be given again),
 *   strict-mcp-config (""), plugin-dir (a directory or a zip file; may be given again), plugin-dir-no-mcp (the same
 *   without its MCP servers), plugin-url (the address of such a zip file), resume (session id, the beginning of one, or
 *   its title), resume-session-at (uuid of the last line to use), resume-drops-turn (uuid of the one prompt after it),
 *   continue (""), fork-session (""), session-id (uuid), name (its title), no-session-persistence (""), retry-deadline
 *   (seconds), include-partial-messages (""), include-hook-events (""), forward-subagent-text (""), background-agents (""),
 *   replay-user-messages (""), debug (subjects to log, comma list; "" = all), debug-file (otherwise the log goes to
 *   standard error), trace (a file for ui.perfetto.dev), setup (init | maintenance: Setup hooks come before the first
 *   turn), session-mirror (""), await-initialize (""), managed-settings (JSON of the starting program),
 *   managed-settings-in-initialize (""), project-config-root (the checkout with the project files), channels (without
 *   effect), teammate-mode (in-process | auto | tmux: where members of a team run), and for a process that is a member in a
 *   pane, as its lead starts it: agent-id, agent-name, team-name, agent-color, agent-type, parent-session-id, lead-process,
 *   plan-mode-required (""). With agent-id cadre_open() changes the process, which must be a program of its own:
 *   it takes the environment of its lead, cannot be attached to, is the first to go when memory is short, and gets SIGTERM when
 *   the member ends. For hosts: cwd, config-dir, managed-dir, base-url (of the provider), api-key, auth-token, scenario (file of the scripted
 *   provider; "" = the embedded one), interactive ("" = the host answers permission questions), hooks (JSON; functions
 *   of the host by hookCallbackIds), entrypoint, single-prompt ("" = no further prompt follows, so hooks with
 *   asyncRewake are waited for), no-keeper (""), no-subreaper (""), raise-descriptor-limit ("" = to the hard limit, at
 *   once and permanently: many concurrent agents need it; child processes get 1,024).
 * With an open session, debug-file and trace begin at once; all else is for sessions that are opened later.
 * Defaults come from the environment; the value NULL resets an option. An invalid name or value is CADRE_USAGE. */
CADRE_API int cadre_set(struct cadre *c, const char *option, const char *value, char *why, size_t why_size);

/* Runs until no session, watch, writer or background task is active, or until cadre_stop(). */
CADRE_API void cadre_run(struct cadre *c);
CADRE_API void cadre_stop(struct cadre *c);

/* Sessions. */

typedef void cadre_event_fn(const struct cadre_event *event, void *data);

/* Loads the session to resume, if one was named, and takes its lock. on_event may be NULL. The conversation is read before this
 * returns, because its result depends on it: a file that cannot be read, the agent and the directory of the session. Other sessions
 * of the runtime wait for about 0.1 s with 10 MB. What its agents and the members of its team have is read in threads. A host that
 * resumes longer sessions beside others at work gives them a runtime of their own. The first call of a runtime downloads plugin-url
 * and blocks other sessions meanwhile. */
CADRE_API int cadre_open(struct cadre *c, cadre_event_fn *on_event, void *data, struct cadre_session **ret_session,
			 char *why, size_t why_size);
/* A new session that shares the conversation so far. Only while idle. */
CADRE_API int cadre_fork(struct cadre_session *s, cadre_event_fn *on_event, void *data,
			 struct cadre_session **ret_session, char *why, size_t why_size);
/* Starts a turn; CADRE_TURN_ENDED says how it ended. text == NULL continues an interrupted turn of a resumed session,
 * or its background agents, whose reports start a turn (CADRE_USAGE if there is neither). While a turn runs:
 * CADRE_BUSY. */
CADRE_API int cadre_prompt(struct cadre_session *s, const char *text, size_t n, char *why, size_t why_size);
/* The same with files: blocks is a JSON array of content blocks of the API (image, document), which stand before the text. NULL:
 * none. */
CADRE_API int cadre_prompt_blocks(struct cadre_session *s, const char *text, size_t n, const char *blocks,
				  size_t blocks_n, char *why, size_t why_size);
/* Runs only the hooks before a first turn (Setup, with the option setup, and SessionStart). Otherwise as
 * cadre_prompt(). */
CADRE_API int cadre_prepare(struct cadre_session *s, char *why, size_t why_size);
CADRE_API int cadre_has_interrupted_turn(const struct cadre_session *s);
/* The agent of a new session has an initial prompt, which precedes the first one; cadre_prompt() then accepts an empty
 * text. */
CADRE_API int cadre_has_initial_prompt(const struct cadre_session *s);
/* Ends the running turn: requests and tools are cancelled, the transcript is completed, then CADRE_TURN_ENDED comes. */
CADRE_API void cadre_interrupt(struct cadre_session *s);
/* Moves foreground agents to the background: their calls end at once. tool_use_id: one call, at any depth; NULL: all of
 * the main agent's. Returns the number of calls moved to the background, or CADRE_USAGE. */
CADRE_API int cadre_background(struct cadre_session *s, const char *tool_use_id);
/* A message of the user to an agent of the session, by its id or name: it gets it at its next step; one that has ended continues with
 * it, in the background. CADRE_NOT_FOUND: there is none. CADRE_BUSY: it is about to end or to continue, as inside its
 * CADRE_AGENT_ENDED; later the message is accepted. Members of a team: `cadre team message`. */
CADRE_API int cadre_tell(struct cadre_session *s, const char *agent, const char *text, char *why, size_t why_size);
/* Answers a CADRE_PERMISSION_ASKED by its id. reason (may be NULL) goes to the model when denied. CADRE_FOR_SESSION and
 * CADRE_ALWAYS allow the rules of cadre_event_rule(), or the rule that reason is; CADRE_ALWAYS stores them in cadre_rules_file(), and the status
 * reports a failure to do so, though the call runs. CADRE_ACCEPT_EDITS: once, and later edits need no question; only if
 * cadre_event_offers_edits(), otherwise as CADRE_ONCE. */
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
 * in: an absolute path). */
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
/* The value of a setting as JSON, as all files that count give it to this session ("statusLine", "worktree.baseRef"); NULL: not
 * set. Not NUL-terminated; borrowed until the next call of cadre_run(). */
CADRE_API const char *cadre_session_setting(const struct cadre_session *s, const char *path, size_t *ret_n);
/* A control request of the stream-json protocol without a wire, {"subtype":"get_context_usage"}, for those that are answered at
 * once: apply_flag_settings, get_context_usage, get_hooks_listing, get_session_cost, get_settings, get_task_output, get_usage,
 * list_mentions, list_models, list_permission_rules, mcp_status, reload_output_styles, reload_skills, rename_session,
 * rewind_files, update_settings. The answer is a JSON object, borrowed until the next request of this session. NULL: refused, see why. */
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
	CADRE_QUESTION_ASKED, /* text: the input of AskUserQuestion as JSON, id: for cadre_answer_question; with a user
				    * there also whether a server that the project brings may be used (name: the server) */
	CADRE_HOOK_STARTED,   /* text: PreToolUse:Bash, id; if asked for; frame: system/hook_started */
	CADRE_HOOK_ENDED,     /* the same with is_error; frame: system/hook_response */
	CADRE_ELICITATION_ASKED, /* name: an MCP server with a question to the user; as CADRE_QUESTION_ASKED, or
				    * id: for cadre_answer_elicitation; of a form each question also has name, required and schema */
	CADRE_COMPACTING,        /* start or end of a compaction; frame: system/status */
	CADRE_COMPACTED,         /* the summary is on disk; frame: system/compact_boundary */
	CADRE_MEMBER_STATE,      /* a member of a team works, waits or fails; frame: system/task_updated */
	CADRE_SANDBOX_VIOLATION, /* name: write, read, network, socket or removed, text: what, id: of the call, why: the rule;
				    * frame: system/sandbox_violation */
	CADRE_TOOL_PROGRESS,   /* a command of the main agent prints: name, id, text: its last line, CADRE_FIGURE_LINES;
				    * at most 4 times a second, not in its first 250 ms */
	CADRE_QUESTION_CLOSED, /* id: what was asked needs no answer any more; text: why */
	CADRE_TERMINAL_SEQUENCE /* text: from a hook, for the terminal: a title, a notice or the bell, nothing else */
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
/* Of CADRE_PERMISSION_ASKED: why it is asked (""), the i-th rule that would allow this call (NULL: no more),
 * whether CADRE_ACCEPT_EDITS is possible, and what an edit would change: a JSON object with filePath and structuredPatch, as
 * the result of Edit has them ("": it is not an edit, or cannot be applied). */
CADRE_API const char *cadre_event_why(const struct cadre_event *e);
CADRE_API const char *cadre_event_rule(const struct cadre_event *e, size_t i);
CADRE_API int cadre_event_offers_edits(const struct cadre_event *e);
CADRE_API const char *cadre_event_patch(const struct cadre_event *e, size_t *ret_n);
/* Of CADRE_QUESTION_ASKED and CADRE_ELICITATION_ASKED: the i-th question, whether several answers may be chosen, and
 * its k-th choice with a description (ret_meaning may be NULL). NULL: no more. An answer may always be another text. */
CADRE_API const char *cadre_event_question(const struct cadre_event *e, size_t i);
CADRE_API int cadre_event_takes_several(const struct cadre_event *e, size_t i);
CADRE_API const char *cadre_event_choice(const struct cadre_event *e, size_t i, size_t k, const char **ret_meaning);
/* How a turn ended (CADRE_TURN_ENDED): the result's subtype, "success", "error_max_turns", "error_during_execution",
 * "error_max_structured_output_retries", ... */
CADRE_API const char *cadre_event_subtype(const struct cadre_event *e);
/* The agent of an event and its current state. "" and 0 where unknown, and for the main agent. */
enum cadre_detail {
	CADRE_DETAIL_TYPE,
	CADRE_DETAIL_NAME,
	CADRE_DETAIL_DESCRIPTION,
	CADRE_DETAIL_PARENT,    /* id of its parent; "" for a child of the main agent */
	CADRE_DETAIL_COLOR,     /* red, blue, green, yellow, purple, orange, pink or cyan */
	CADRE_DETAIL_STATE,     /* running, completed, turn_limit, failed, refused, budget, killed or suspended */
	CADRE_DETAIL_END,       /* the same as text after: Agent "DESCRIPTION" */
	CADRE_DETAIL_LAST_TOOL, /* its last tool */
	CADRE_DETAIL_PATH,      /* descriptions of its ancestors and its own, joined by " > " */
	CADRE_DETAIL_MODEL,
	CADRE_DETAIL_WORKTREE, /* its directory, if it has one of its own */
	CADRE_DETAIL_TEAM      /* of a member */
};
enum cadre_figure {
	CADRE_FIGURE_DEPTH, /* 1 for a child of the main agent */
	CADRE_FIGURE_TURNS,
	CADRE_FIGURE_TOOL_USES,
	CADRE_FIGURE_TOKENS,
	CADRE_FIGURE_MS,          /* since it began, until now or its end */
	CADRE_FIGURE_COST_MICROS, /* millionths of a dollar */
	CADRE_FIGURE_LINES        /* of CADRE_TOOL_PROGRESS */
};
CADRE_API const char *cadre_event_detail(const struct cadre_event *e, enum cadre_detail which);
CADRE_API int64_t cadre_event_figure(const struct cadre_event *e, enum cadre_figure which);
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

/* An MCP server on two descriptors, one message a line, with the tools Bash, Edit, Glob, Grep, Read, Write and others,
 * and `agent`, which runs a subagent. There are no questions: calls that the rules and the mode do not allow are
 * denied. Blocks until the end of the input, a closed output, or cadre_stop(). */
CADRE_API int cadre_mcp_serve(struct cadre *c, int in_fd, int out_fd, char *why, size_t why_size);

/* The loop, for faces. */

typedef void cadre_watch_fn(struct cadre *c, int fd_or_signal, void *data);
/* Calls fn when fd is readable, or on the signal. A watch keeps cadre_run() running only if keep is not 0. */
CADRE_API int cadre_watch_fd(struct cadre *c, int fd, int keep, cadre_watch_fn *fn, void *data);
CADRE_API int cadre_watch_signal(struct cadre *c, int signal, cadre_watch_fn *fn, void *data);
CADRE_API void cadre_unwatch_fd(struct cadre *c, int fd);
/* For a face that changes the terminal of standard input: when the process is killed (kill -9), the keeper restores modes, a
 * struct termios, and writes reset to the terminal. The keeper starts with this call. */
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
