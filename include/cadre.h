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
 * - The subcommands of the program (agents, mcp, config and others) are in cadre_command.h.
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
