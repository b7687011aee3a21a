/* SPDX-License-Identifier: MIT
 * state.h - the terminal's view, for face/tui and face/view. docs/internals/tui.md has the drawing. */
#pragma once
#include <cadre.h>
#include <sys/types.h>
#include "face/cli/flag.h"
#include "face/cli/agents.h"
#include "face/draft/draft.h"
#include "face/draft/key.h"
#include "face/draft/keymap.h"
#include "face/draft/vim.h"
#include "face/screen/region.h"
#include "face/screen/term.h"
#include "lib/base/id.h"
#include "lib/base/map.h"

enum tui_timer {
	TIMER_FRAME,   /* what changed is drawn */
	TIMER_TICK,    /* a second of a turn has passed */
	TIMER_ESC,     /* an Esc that no sequence follows is a key */
	TIMER_RESIZE,  /* the window has settled */
	TIMER_ASK,     /* a question may open, or takes keys */
	TIMER_NOTE,    /* the note in the status row goes */
	TIMER_STATUS,  /* the status command has taken too long */
	TIMER_REFRESH, /* it is due again */
	TIMER_BURST,   /* no more text comes in one rush: it was a paste */
	TIMER_ANSWER,  /* the terminal does not say where its cursor is */
	TIMER_HINT,    /* plain mode: an agent has been waited for so long that Ctrl-B is worth a line */
	TIMER_COUNT
};

enum tui_wanted { TUI_FIRST /* by the command line */, TUI_NEW, TUI_OLD, TUI_FORK };
enum {
	COPIES = 10,         /* answers that /copy knows */
	MOST_DENIED = 30,    /* calls that /permissions knows */
	NARROW_COLUMNS = 60, /* below it tables are lists */
	DIFF_ROWS = 30,      /* of an edit in the conversation, beside numbers in so many columns */
	DIFF_COLUMNS = 9,
	SHOWN_MICROS = 5000, /* of a turn or an agent: less would be $0.00 */
	USAGE_PARTS = 4,     /* usage_names, the last one is the answer */
};

/* A call that was not allowed, for /permissions */
struct denied {
	char *rule; /* that would allow it; NULL: none would */
	char *text;
};

struct ask; /* ask.c */
struct json;
struct json_reader;
struct todo;    /* todo.c */
struct job;     /* job.c */
struct program; /* job.c */
struct view;    /* face/cli/view.h */
struct menu;    /* face/view/menu.c */
struct page;    /* face/view/page.c */

struct tool_run {
	struct tool_run *next;
	char *id, *name, *summary; /* summary: harmless */
	int64_t started_ms;
	struct styled patch; /* of an edit: shown below its line */
	size_t added, removed;
	struct buf last; /* line of its output so far, harmless */
	int64_t lines;
};

/* Reads and searches that follow each other, until something else is written */
struct folded {
	struct styled lines;                    /* of the first one */
	unsigned reads, searches, starts, ends; /* starts, ends: of agents */
};

struct tui {
	const struct args *args;
	struct cadre *c;
	struct cadre_session *session;
	struct cadre_writer *out;
	bool ascii;          /* marks of the terminal's character set */
	bool still;          /* no mark turns */
	bool wraps_itself;   /* prose is left to the terminal's own wrapping */
	bool shows_thinking; /* in the conversation */
	bool osc;            /* it takes operating system commands: title, marks of turns, notices */
	struct view *lines;  /* plain mode: makes lines of events; NULL: there is a live region */
	bool dumb;           /* plain mode: no sequence is written */
	bool mid_line;       /* plain mode: the terminal's cursor is behind a line that may continue */
	struct buf typed;    /* dumb: the input line as it stands on the terminal; "": it does not */
	bool hinted;         /* plain mode: Ctrl-B was named, once is enough */
	int timer_fd;
	int64_t due[TIMER_COUNT]; /* monotonic ms; 0: not set */

	/* the terminal */
	struct keys keys;
	struct buf burst; /* text that comes in one rush, without the marks of a paste */
	/* Typed behind a line that begins another session, or behind the key of an editor: for later */
	struct buf ahead;
	bool lent;       /* to a program: nothing is drawn, and no key is read */
	int64_t back_ms; /* since when it is ours again */
	struct buf held; /* what was written meanwhile */
	struct draft draft;
	struct keymap keymap;
	struct vim vim;
	size_t agent_focus; /* the row of agents that has the keys, from 1 on; 0: none */
	struct region region;
	struct styled *rows; /* of the next frame */
	size_t row_count, row_cap;
	struct buf above; /* finished text that the next frame writes above the region */
	int64_t drawn_ms, key_ms;
	struct buf note; /* for a moment in the status row */
	bool history_read;
	struct map skills;     /* name -> what it does; owned texts */
	struct buf files;      /* of the project, below any directory, each with its NUL; as of the last search */
	bool files_sought;     /* there is one */
	bool files_awaited;    /* there is an @ before the cursor, whose suggestions they will join */
	uint64_t complete_key; /* plain mode: the Tab that waits for them */
	struct map mentions;   /* agent-NAME or SERVER:URI behind an @ -> what it is; owned texts */
	bool unfocused;        /* known during a turn only */
	bool resizing;         /* the window has changed: no frame is drawn until the region was taken off */
	unsigned settlings;    /* how often tmux had another size by then than it had told */
	unsigned probes, probe_column,
		answers[3]; /* questions about widths that are not answered yet, and the answers */

	/* the conversation */
	int64_t opened_ms;                 /* when the session was */
	struct denied denied[MOST_DENIED]; /* in this session, the newest first */
	bool in_turn;
	bool worked;    /* a turn was run: there is something to resume */
	bool cancelled; /* the user ended this turn */
	bool streamed;  /* this turn wrote text */
	bool leaving, over;
	int code; /* of the program */
	enum tui_wanted wanted;
	char *wanted_id, *wanted_at; /* wanted_at: the last line that counts; NULL: all do */
	bool switching;
	int64_t turn_ms, thinking_ms;
	char again[64]; /* what the key again_key has to be pressed twice for; "": nothing */
	int64_t again_ms;
	uint64_t again_key, key_count; /* keys so far */
	bool readline;                 /* keybindingFlavor */
	bool thinks_not;               /* thinking was switched off by its key */
	struct buf answer;             /* Markdown that is not complete */
	struct styled tail;            /* what is shown of it */
	bool tail_moved;               /* its first rows are not shown any more */
	struct buf copies[COPIES];     /* whole answers, the last one first, for /copy */
	bool thinking;
	struct tool_run *tools; /* those of the main agent that run; oldest first */
	struct folded folded;
	struct buf thought;             /* of the model, if it is shown */
	struct buf retry;               /* "", or why a request is tried again */
	unsigned retries;               /* of the request that waits */
	int64_t retry_ms, retry_due_ms; /* when the first of them began, and the next one begins */
	int64_t retry_end_ms;           /* no more begin then; 0: their number is what ends them */
	struct todo *todos;
	size_t todo_count;
	bool todo_open;             /* in more than one row */
	double cost_usd, turn_usd;  /* of all agents so far; of the last turn */
	int64_t turn_tokens;        /* of the last turn */
	int64_t usage[USAGE_PARTS]; /* tokens of the last request and its answer */
	int64_t context, window;    /* their sum, and what the model takes; 0: not known */
	char *remembered;           /* a line for a memory file that is being chosen */
	char *export_path;          /* that was named to /export; NULL: none */
	bool leave_asked;           /* /exit while agents run: not for the first time */
	bool debugged, traced;      /* this session has a log, or a timeline, since /debug or /trace */
	struct buf attached;        /* content blocks for the prompt that is submitted next; "": none */
	struct queued {
		char *text, *blocks;
		struct buf draft; /* as it was typed, with marks */
	} * queue;                /* prompts for the next turns; owned */
	size_t queue_count;
	struct agents agents;
	struct ask *asks;              /* oldest first */
	bool asking;                   /* the first of asks is open */
	bool trust_asked, trust_waits; /* waits: until it is answered prompts are queued */
	struct buf without_trust;      /* lines about what has no effect, which are shown if the answer is no */
	struct job *job;               /* a program whose output is shown; NULL: none */
	struct buf joined;             /* output of `!` that the next prompt brings along */
	struct page *page;             /* on the alternate screen; NULL: none */
	struct menu *menu;             /* below the input; NULL: none */
	struct buf status_text;        /* of the user's statusLine command; "": ours is shown */
	struct buf status_problem;     /* why it shows nothing; "": it has not failed */
	struct program *status_run;    /* NULL: it does not run */
	int status_padding;            /* columns before its rows */
	int64_t status_ms,
		status_every_ms; /* when it began the last time; how long it rests, 0: until something changes */
	struct editor *editor;   /* NULL: none is open */
};

/* tui.c */

static inline int64_t tui_now_ms(void)
{
	return (int64_t)clock_ms(CLOCK_MONOTONIC);
}
void tui_set_timer(struct tui *t, enum tui_timer which, int64_t in_ms); /* below 0: off */
void tui_changed(struct tui *t);                                        /* a frame is drawn soon */
void tui_draw(struct tui *t);                                           /* now */
void tui_note(struct tui *t, const char *text);                         /* in the status row, for two seconds */
void tui_submit(struct tui *t, struct str prompt);                      /* a prompt, at once or queued */
void tui_begin_turn(struct tui *t);                                     /* of a prompt, or of an agent's end */
void tui_begin_copy(struct tui *t);                                     /* /copy knows the answer that follows */
void tui_next_of_queue(struct tui *t);                                  /* a prompt that waited, if no turn runs */
void tui_leave(struct tui *t, int code);
void tui_queued_release(struct queued *q);
void tui_want(struct tui *t, enum tui_wanted wanted, struct str id); /* another session */
struct str tui_setting(struct tui *t, const char *path);             /* its value, a text without quotes; "": not set */
void tui_read_settings(struct tui *t);                               /* those that decide how it looks */
void tui_suspend(struct tui *t);                                     /* Ctrl-Z */
void tui_write(struct tui *t, const char *p, size_t n);
void tui_set_mode(struct tui *t, enum term_mode mode, bool on);
void tui_lend(struct tui *t); /* the terminal, to a program; agents continue to work */
void tui_take_back(struct tui *t);
void tui_interrupt(struct tui *t);
void tui_await_size(struct tui *t);              /* no frame is drawn until the size has settled */
void tui_resize(struct tui *t, unsigned column); /* column: see region_resize() */
void tui_leave_one_row(struct tui *t);           /* of the region: a view opens */

/* plain.c: lines in place of a live region. */

void plain_init(struct tui *t, bool reader); /* reader: lines have labels, for screen readers */
void plain_release(struct tui *t);
void plain_event(struct tui *t, const struct cadre_event *e);
void plain_end_line(struct tui *t); /* what follows starts at the left */
/* The input line with this text is complete, and stays above what follows. */
void plain_finish(struct tui *t, struct str prompt, struct str text);
void plain_timer(struct tui *t, enum tui_timer which); /* TIMER_TICK, TIMER_HINT */
void plain_draw(struct tui *t, struct buf *out);
bool plain_choose(struct tui *t, struct str line); /* true: it was an answer to a list that is shown */

/* feed.c: what is finished. */

void feed_event(struct tui *t, const struct cadre_event *e);
void feed_say(struct tui *t, unsigned look, struct str ours);     /* lines of our own words */
bool feed_is_quiet(const char *name);                             /* a tool whose good results are not shown */
void feed_words(struct tui *t, unsigned look, struct str text);   /* prose of others: broken at words */
void feed_foreign(struct tui *t, unsigned look, struct str text); /* lines of others, unwrapped */
void feed_styled(struct tui *t, const struct styled *lines);
void feed_folded(struct tui *t); /* what is one line so far is complete */
void feed_prompt(struct tui *t, struct str text);
/* A line of output as a terminal leaves it: what stands behind the last return to its start */
struct str feed_output_line(struct str line);
extern const char *const usage_names[USAGE_PARTS];
void feed_allowed(struct tui *t, const char *id); /* a call begins now: before, it waited for the user */
void feed_release(struct tui *t);
enum tui_mark { MARK_RUNS, MARK_DONE, MARK_FAILED, MARK_ASKS, MARK_PROMPT, MARK_TOOL, MARK_MORE };
const char *tui_mark(const struct tui *t, enum tui_mark mark);

/* diff.c, todo.c */

/* Appends hunks as they are in structuredPatch, at most so many rows. digits: columns for the numbers of lines */
void diff_paint(struct tui *t, const struct json *patch, int digits, size_t most, struct styled *s, size_t *ret_added,
		size_t *ret_removed);
void todo_message(struct tui *t, const struct cadre_event *e); /* of the main agent */
void todo_created(struct tui *t, struct str result);
void todo_add_rows(struct tui *t);
void todo_release(struct tui *t);

/* rows.c: the live region. */

struct styled *rows_add(struct tui *t);         /* an empty one at the end */
void rows_cut(struct tui *t, struct styled *s); /* to the width of the window, with a mark */
/* The same for parts with " . " between them: those that do not fit whole are left out, if the first one fits. */
void rows_cut_hints(struct tui *t, struct styled *s);
void rows_add_agents(struct tui *t, bool small);
/* A text that is being typed, behind its prompt, in at most so many rows */
void rows_add_input(struct tui *t, const struct draft *d, struct str prompt, size_t most, size_t *ret_row,
		    unsigned *ret_column);
void rows_add_agent(struct tui *t, const struct agent_row *r, bool folded);
void rows_frame(struct tui *t, size_t *ret_row, unsigned *ret_column); /* all of them, and where the cursor is */

/* probe.c: what the terminal is asked. */

void probe_load(void);            /* what it answered the last time */
void probe_start(struct tui *t);  /* behind the first paint */
void probe_resize(struct tui *t); /* the window has settled */
void probe_late(struct tui *t);
void probe_key(struct tui *t, const struct key *key); /* what it answers */

/* input.c: keys. */

void input_bytes(struct tui *t, const char *bytes, size_t n); /* of the terminal */
void input_burst_end(struct tui *t);
void input_key(struct tui *t, const struct key *key);
void input_action(struct tui *t, enum action action);
bool input_is_twice(struct tui *t, const char *what); /* the key before this one asked the same, a moment ago */
bool input_edit(struct tui *t, struct draft *d, const struct key *key); /* a key of the editor; false: it is none */
void input_configure(struct tui *t);     /* settings and keybindings.json, for a session that was opened */
void input_toggle_vim(struct tui *t);    /* /vim */
void input_edit_bindings(struct tui *t); /* /keybindings */

/* attach.c: images and PDF files. */

bool attach_paths(struct tui *t, struct str pasted);          /* true: it was nothing but paths of such files */
void attach_clipboard(struct tui *t);                         /* Ctrl-V */
void attach_clipboard_bytes(struct tui *t, struct str bytes); /* the terminal's answer */

/* ask.c: questions. */

void ask_add(struct tui *t, const struct cadre_event *e);
void ask_trust(struct tui *t, struct str why); /* whether this folder is trusted; once */
void ask_trust_first(struct tui *t); /* the same before the first prompt, if the folder brings files of agents */
void ask_saw_end(struct tui *t, const char *id); /* the whole text was on the screen */
/* The questions of an agent, or (id) one of them, need no answer any more; why: for the user, if it is open. */
void ask_drop(struct tui *t, const char *agent, const char *id, struct str why);
void ask_release(struct tui *t);
void ask_consider(struct tui *t);                   /* opens the first one if that cannot surprise */
void ask_open(struct tui *t);                       /* by the user: Tab */
void ask_open_of(struct tui *t, const char *agent); /* the same for the question of this agent */
bool ask_takes_keys(const struct tui *t);           /* false: they go into the draft */
void ask_key(struct tui *t, const struct key *key);

/* form.c: forms of servers. */

struct form;
struct form *form_new(const struct cadre_event *e); /* NULL: not a form */
void form_free(struct form *f);
bool form_key(struct form *f, const struct key *key); /* true: it is complete and can be sent */
size_t form_count(const struct form *f);
char *form_answer(const struct form *f, size_t i); /* owned; NULL: none */
void form_add_rows(struct tui *t, const struct form *f, size_t *ret_row, unsigned *ret_column);

/* face/view/menu.c: suggestions. */

void menu_update(struct tui *t);                     /* the draft has changed */
bool menu_key(struct tui *t, const struct key *key); /* false: not for the menu */
void menu_add_rows(struct tui *t, size_t most);
bool menu_complete(struct tui *t);       /* plain mode: Tab completes, or writes what fits; false: nothing does */
void menu_search_history(struct tui *t); /* Ctrl-R */
void menu_take_files(struct tui *t, struct str names); /* t->files were found */
void menu_close(struct tui *t);

/* face/view/page.c: views on the whole screen. */

struct page_item {
	char *id;   /* what is chosen */
	char *text; /* harmless; searched too */
};

enum page_kind { PAGE_TEXT, PAGE_LIST, PAGE_AGENTS };
struct page;
typedef void page_choose_fn(struct tui *t, const char *id);
typedef void page_preview_fn(struct tui *t, struct page *p, const char *id, struct styled *out);

struct page {
	enum page_kind kind;
	char *title;          /* harmless */
	struct region screen; /* all rows of the window */
	bool resized;         /* the window, since it was opened */
	size_t room;          /* rows between the title and the line at the bottom */
	struct draft filter;  /* what is searched */
	bool filtering;       /* letters change the filter; in a list they always do */
	size_t selected, top;
	struct page *below; /* the agents, which are shown again when it is closed; NULL: the conversation is */
	/* PAGE_TEXT, and the preview of a list */
	struct styled text;
	size_t *lines; /* starts of its rows at this width */
	size_t line_count;
	unsigned wrapped; /* the width that lines were made for */
	char *path;       /* of the transcript that it follows; NULL: none */
	off_t size;       /* of what was read of it */
	char *ask_id;     /* it is the text of this question; NULL: of none */
	/* PAGE_LIST */
	struct page_item *items;
	size_t count, previewed; /* previewed: the item whose preview text is */
	const char *option;      /* of the session: it is set to what is chosen; NULL: choose is called */
	page_choose_fn *choose;
	page_preview_fn *preview; /* NULL: none */
	bool preview_end;         /* its end is shown, if not all fits */
	/* PAGE_AGENTS (face/view/roster.c) */
	struct roster_row *rows;
	size_t row_count, row_cap;
	unsigned sort;
	bool hide_ended;
	struct map folds;
	struct draft message; /* to the selected one */
	bool writing;
};

struct page *page_open(struct tui *t, enum page_kind kind, const char *title);
struct page *page_open_text(struct tui *t, const char *title, struct str foreign); /* at its start */
void page_open_transcript(struct tui *t, const char *title, const char *path);     /* at its end; it follows it */
struct page *page_open_list(struct tui *t, const char *title, page_choose_fn *choose);
void page_add_item(struct page *p, struct str id, struct str foreign);
void page_add_choice(struct page *p, struct str id, struct str foreign, bool now); /* now: it holds, and is selected */
void page_show(struct tui *t, struct page *p); /* takes p; from now on it is what the terminal shows */
void page_close(struct tui *t);                /* the one that is on top */
void page_choose(struct tui *t, size_t item);  /* of a list, which is closed */
void page_key(struct tui *t, const struct key *key);
void page_draw(struct tui *t, struct buf *out);
bool page_has_text(struct str s, struct str part); /* case is ignored */
/* Into the clipboard, by the terminal and by the desktop's program; says so, with `what` for the text */
void tui_copy(struct tui *t, struct str text, const char *what);
bool tui_clipboard(struct tui *t, struct str base64); /* OSC 52, "?": asks for it; false: the terminal has none */

void changes_open(struct tui *t); /* face/view/changes.c: what differs from the last commit */

/* face/view/roster.c: the view of all agents. */

void page_open_agents(struct tui *t);
void roster_add_rows(struct tui *t, struct page *p, size_t room);
void roster_key(struct tui *t, struct page *p, const struct key *key, char letter);
void roster_send(struct tui *t, struct page *p);
void roster_stop(struct tui *t, const struct agent_row *r); /* the second time */
bool roster_has_team(const struct tui *t);
const struct agent_row *roster_find(const struct tui *t,
				    struct str agent);                /* by its id, a member by its name; NULL: none */
void roster_tell(struct tui *t, const char *agent, const char *text); /* id or name; also /tell */

/* face/view/command.c */

void command_show_transcript(struct tui *t); /* Ctrl-O */
struct slash {
	const char *name;
	const char *aliases; /* each with its NUL, then an empty one */
	const char *args, *help;
	void (*run)(struct tui *t, const struct slash *slash, struct str rest);
	const char *words; /* of the subcommand that answers it; of a list; a key; a prompt */
};
void command_remember(struct tui *t, struct str text); /* face/view/memory.c: # */
typedef void slash_fn(struct tui *t, const struct slash *slash, struct str rest);
/* Stores a setting for the user: true, false and null (as if it were not set) are no texts. False: it was refused, which is said */
bool config_store(struct tui *t, const char *key, struct str value); /* face/view/config.c */
/* face/view/permissions.c */
void permissions_note_denied(struct tui *t, const struct cadre_event *e);
void permissions_forget_denied(struct tui *t);
slash_fn command_permissions, command_config, command_memory, command_observe, command_terminal_setup, command_doctor,
	command_statusline;                                             /* face/view/memory.c, face/view/setup.c */
void command_set(struct tui *t, const char *option, const char *value); /* of the session; says what it is now */
bool command_is(const struct slash *s, struct str name);                /* its name or one of its aliases */
extern const struct slash slash_table[];
extern const size_t slash_count;
bool command_address(struct tui *t, struct str line); /* @NAME TEXT, or @ alone; false: it is for no member */
bool command_slash(struct tui *t, struct str line);   /* true: it was one of ours, or is known to be none */

/* face/view/show.c: what commands show of the session. */

/* Two columns of our own words, the right one wrapped where it begins; below each other in a narrow window */
void show_pair(struct tui *t, struct buf *out, struct str left, unsigned indent, struct str right);
/* The answer of the session to a control request; NULL: it was refused, which is said */
const struct json *show_request(struct tui *t, struct json_reader *reader, const char *request);
/* What holds now: model, effort, agent, additionalDirectories; NULL: it was refused */
const struct json *show_applied(struct tui *t, struct json_reader *reader);
/* What the user chose in one session holds on in the one that takes its place: mode, model, effort, thinking, directories. */
void show_carry(struct tui *t, struct cadre_session *from, struct cadre_session *to);
void show_context(struct tui *t);
void show_usage(struct tui *t);
void show_status(struct tui *t);
void show_servers(struct tui *t);
void show_hooks(struct tui *t);
void show_models(struct tui *t, const char *option);      /* see page.option */
void show_unknown_model(struct tui *t, const char *name); /* says so if nothing is known about it */
void show_styles(struct tui *t, page_choose_fn *choose);
page_preview_fn show_theme;                                /* what it looks like */
bool show_sessions(struct tui *t, page_choose_fn *choose); /* false: there is none; what is chosen: ID PATH */
void show_read_skills(struct tui *t);                      /* into t->skills */
void show_read_mentions(struct tui *t);                    /* into t->mentions; t->files are looked for */
void show_drop_names(struct map *names);                   /* of one of these two */
void show_age(struct buf *out, struct str iso);            /* of a time: "3 min ago" */
void show_past(struct tui *t);                             /* of the session that was continued */
void show_rewind(struct tui *t, const char *point, bool dry, struct styled *out);
/* `cadre WORD...` in this process, as JSON; NULL: it failed, which is said */
struct cadre_report;
const struct json *show_command(struct tui *t, struct json_reader *reader, struct cadre_report **ret,
				const char *const *words, int count);

/* face/view/past.c: transcripts. */

struct past {
	struct tui *tui;
	unsigned columns;
	struct styled *out;
	struct buf title; /* of the session, if it has one; the caller's */
	bool whole;       /* results are not cut */
	struct map calls; /* struct past_call by id: they stand above their results */
	bool copied;      /* answers are those of this session: /copy knows them */
	bool earlier;     /* there is more above */
};
/* Appends the last messages of a transcript, 0: all. False: there is no such file. */
bool past_read(struct past *p, const char *path, size_t last);
/* The prompt with this id, and the id of the line before it ("": it is the first). False: it is not there. */
bool past_find(const char *path, struct str uuid, struct buf *ret_prompt, struct buf *ret_before);

/* notice.c */

unsigned notice_modes(const struct tui *t);          /* 1 << each enum term_mode that this terminal may have on */
void notice_title(struct tui *t, struct str prompt); /* of the terminal */
void notice_turn(struct tui *t, bool runs);
void notice_turn_end(struct tui *t);
void notice_user(struct tui *t, const char *text); /* if the terminal has no focus */

/* status.c, history.c */

void status_refresh(struct tui *t); /* runs the command, if there is one */
void status_cancel(struct tui *t);
void status_late(struct tui *t);
bool status_add_rows(struct tui *t);                      /* false: there is nothing to show */
void history_load(struct tui *t);                         /* once */
void history_append(struct tui *t, struct str text);      /* of the draft, with marks */
bool tui_config_path(struct buf *path, const char *name); /* a file of the user's configuration; false: there is none */
bool tui_read_config(const char *name, size_t most, struct buf *text); /* its beginning; false: it cannot be read */

/* job.c: programs. */

/* One that runs beside the terminal, and what it prints */
struct program {
	struct tui *tui;
	pid_t pid; /* also its group */
	int fd;
	struct buf output;
	size_t limit;                                 /* bytes that are kept: the first ones */
	bool keeps_end;                               /* some of the first ones, and the last ones */
	size_t gap, lost_lines, lost_bytes;           /* gap: where in the output those are missing */
	void (*ended)(struct program *p, int status); /* status as of waitpid */
};
/* With tui, limit and ended set. in: its standard input; -1: /dev/null. aside: its errors are dropped, and nothing stays open for it;
 * otherwise they are part of the output. Returns 0 or an errno. */
int program_start(struct program *p, const char *const *argv, int in, bool aside);
int program_wait(struct program *p, bool kills); /* until it is gone; ended() is not called */

/* Runs a shell command or `cadre WORDS`; its output is shown when it has ended. joins: the next prompt brings it along. */
void job_shell(struct tui *t, struct str command, bool joins);
/* done: gets the output in place of the screen; ok: the program ended with 0 */
typedef void job_done_fn(struct tui *t, struct str output, bool ok);
void job_cadre(struct tui *t, const char *words, struct str more, job_done_fn *done);
void job_program(struct tui *t, const char *const *argv, job_done_fn *done);
void job_command(struct tui *t, const char *command, size_t limit,
		 job_done_fn *done); /* of the shell; limit: bytes of output */
void job_feed(struct tui *t, const char *command,
	      struct str text);       /* a shell command that reads it; nothing is shown */
void job_add_activity(struct tui *t); /* row: since when it runs, if that is long */
void job_cancel(struct tui *t);
void job_release(struct tui *t);
/* $VISUAL or $EDITOR on a file, or on the draft; it has the terminal until it ends. done: good: it ended with 0 */
typedef void editor_done_fn(struct tui *t, const char *path, bool good);
void job_edit_file(struct tui *t, const char *path, editor_done_fn *done);
void job_drop_editor(struct tui *t); /* ends the open one, if there is one */
void job_edit_draft(struct tui *t);
