/* SPDX-License-Identifier: MIT
 * keymap.h - which key does what: a table of actions with their default keys, and what the user's keybindings.json says in their
 * place. It opens no file.
 *
 * To add an action: a row in KEYMAP_ACTIONS below, a row in input_action() of face/tui/input.c (rows of other contexts need none: their keys are
 * translated to the default key of the action), a row in docs/terminal.md.
 *
 * A key is written as in the file: modifiers in any order, then a name: `ctrl+x ctrl+k`, `shift+tab`, `alt+enter`, `K`. Strokes of
 * a chord have a blank between them. */
#pragma once
#include "face/draft/key.h"

/* Contexts and their names in the file; CHAT, TASK and GLOBAL hold at the prompt */
#define KEYMAP_CONTEXTS(X)                 \
	X(GLOBAL, "Global")                \
	X(CHAT, "Chat")                    \
	X(TASK, "Task")                    \
	X(AUTOCOMPLETE, "Autocomplete")    \
	X(HISTORY_SEARCH, "HistorySearch") \
	X(CONFIRMATION, "Confirmation")    \
	X(TRANSCRIPT, "Transcript")        \
	X(SELECT, "Select")                \
	X(FOOTER, "Footer")

/* action, context, name, default keys with commas between them, what it does ("": left out of the help) */
#define KEYMAP_ACTIONS(X)                                                                                        \
	X(SUBMIT, CHAT, "chat:submit", "enter", "sends; during a turn it queues the text for the next one")      \
	X(SUBMIT_NOW, CHAT, "chat:submitNow", "ctrl+x ctrl+s", "interrupts the turn and sends")                  \
	X(NEWLINE, CHAT, "chat:newline", "alt+enter,shift+enter,ctrl+j", "a new line, as \\ enter")              \
	X(CANCEL, CHAT, "chat:cancel", "escape",                                                                 \
	  "interrupts a turn; twice: clears the line, or opens the points to rewind to")                         \
	X(INTERRUPT, GLOBAL, "app:interrupt", "ctrl+c",                                                          \
	  "ends a command of !, interrupts a turn, clears the line; twice on an empty line leaves")              \
	X(EXIT, GLOBAL, "app:exit", "ctrl+d", "twice on an empty line: leaves; else deletes a character")        \
	X(PREVIOUS, CHAT, "history:previous", "up,ctrl+p", "a row up, then the history; takes queued text back") \
	X(NEXT, CHAT, "history:next", "down,ctrl+n", "a row down, then the history, then the rows of agents")    \
	X(SEARCH, GLOBAL, "history:search", "ctrl+r", "searches the history")                                    \
	X(COMPLETE, CHAT, "chat:openQuestion", "tab", "takes a suggestion; opens a question that waits")         \
	X(CYCLE_MODE, CHAT, "chat:cycleMode", "shift+tab", "the next permission mode that is allowed")           \
	X(MODEL, CHAT, "chat:modelPicker", "alt+p", "the models to choose from")                                 \
	X(THINKING, CHAT, "chat:thinkingToggle", "alt+t", "thinking on and off, from the next request on")       \
	X(TRANSCRIPT, GLOBAL, "app:toggleTranscript", "ctrl+o",                                                  \
	  "the whole conversation; beside a mark: what was pasted")                                              \
	X(TODOS, GLOBAL, "app:toggleTodos", "ctrl+t", "the whole todo list; without one: all agents")            \
	X(AGENTS, GLOBAL, "app:agents", "ctrl+x t", "all agents")                                                \
	X(KILL_AGENTS, CHAT, "chat:killAgents", "ctrl+x ctrl+k", "twice: stops all agents")                      \
	X(BACKGROUND, TASK, "task:background", "ctrl+b,ctrl+x ctrl+b",                                           \
	  "agents that are waited for continue in the background")                                               \
	X(STASH, CHAT, "chat:stash", "ctrl+s", "puts the text aside, and brings it back")                        \
	X(EDITOR, CHAT, "chat:externalEditor", "ctrl+g,ctrl+x ctrl+e", "the text in $VISUAL or $EDITOR")         \
	X(IMAGE, CHAT, "chat:imagePaste", "ctrl+v", "the image of the clipboard")                                \
	X(UNDO, CHAT, "chat:undo", "ctrl+_", "undoes")                                                           \
	X(LINE_START, CHAT, "edit:lineStart", "ctrl+a,home", "start of the line")                                \
	X(LINE_END, CHAT, "edit:lineEnd", "ctrl+e,end", "end of the line")                                       \
	X(LEFT, CHAT, "edit:left", "left", "")                                                                   \
	X(RIGHT, CHAT, "edit:right", "right,ctrl+f", "")                                                         \
	X(WORD_LEFT, CHAT, "edit:wordLeft", "alt+b,alt+left,ctrl+left", "a word to the left")                    \
	X(WORD_RIGHT, CHAT, "edit:wordRight", "alt+f,alt+right,ctrl+right", "a word to the right")               \
	X(DELETE_LEFT, CHAT, "edit:deleteLeft", "backspace", "")                                                 \
	X(DELETE_RIGHT, CHAT, "edit:deleteRight", "delete", "")                                                  \
	X(KILL_LEFT, CHAT, "edit:killWordLeft", "ctrl+w", "cuts the word to the left")                           \
	X(KILL_LEFT_PART, CHAT, "edit:killPartLeft", "alt+backspace,ctrl+backspace", "")                         \
	X(KILL_RIGHT, CHAT, "edit:killWordRight", "alt+d", "cuts the word to the right")                         \
	X(KILL_END, CHAT, "edit:killLine", "ctrl+k", "cuts to the end of the line")                              \
	X(KILL_START, CHAT, "edit:killLineStart", "ctrl+u", "cuts to the start of the line")                     \
	X(YANK, CHAT, "edit:yank", "ctrl+y", "puts in what was cut")                                             \
	X(YANK_OLDER, CHAT, "edit:yankOlder", "alt+y", "what was cut before it, in its place")                   \
	X(REDRAW, GLOBAL, "app:redraw", "ctrl+l", "draws the last rows again")                                   \
	X(SUSPEND, GLOBAL, "app:suspend", "ctrl+z", "suspends")                                                  \
	X(KEYS, CHAT, "help:keys", "?", "on an empty line: these keys")                                          \
	X(ACCEPT, AUTOCOMPLETE, "autocomplete:accept", "tab", "")                                                \
	X(DISMISS, AUTOCOMPLETE, "autocomplete:dismiss", "escape", "")                                           \
	X(SUGGESTION_UP, AUTOCOMPLETE, "autocomplete:previous", "up", "")                                        \
	X(SUGGESTION_DOWN, AUTOCOMPLETE, "autocomplete:next", "down", "")                                        \
	X(FOUND_NEXT, HISTORY_SEARCH, "historySearch:next", "ctrl+r", "")                                        \
	X(FOUND_ACCEPT, HISTORY_SEARCH, "historySearch:accept", "tab", "")                                       \
	X(FOUND_CANCEL, HISTORY_SEARCH, "historySearch:cancel", "ctrl+c", "")                                    \
	X(FOUND_EXECUTE, HISTORY_SEARCH, "historySearch:execute", "enter", "")                                   \
	X(CONFIRM_YES, CONFIRMATION, "confirm:yes", "enter", "")                                                 \
	X(CONFIRM_NO, CONFIRMATION, "confirm:no", "escape", "")                                                  \
	X(CONFIRM_UP, CONFIRMATION, "confirm:previous", "up", "")                                                \
	X(CONFIRM_DOWN, CONFIRMATION, "confirm:next", "down", "")                                                \
	X(CONFIRM_FIELD, CONFIRMATION, "confirm:nextField", "tab", "")                                           \
	X(CONFIRM_TOGGLE, CONFIRMATION, "confirm:toggle", "space", "")                                           \
	X(PAGE_EXIT, TRANSCRIPT, "transcript:exit", "escape", "")                                                \
	X(SELECT_UP, SELECT, "select:previous", "up", "")                                                        \
	X(SELECT_DOWN, SELECT, "select:next", "down", "")                                                        \
	X(SELECT_ACCEPT, SELECT, "select:accept", "enter", "")                                                   \
	X(SELECT_CANCEL, SELECT, "select:cancel", "escape", "")                                                  \
	X(AGENT_UP, FOOTER, "footer:up", "up", "")                                                               \
	X(AGENT_DOWN, FOOTER, "footer:down", "down", "")                                                         \
	X(AGENT_OPEN, FOOTER, "footer:openSelected", "enter", "")                                                \
	X(AGENT_LEAVE, FOOTER, "footer:clearSelection", "escape", "")                                            \
	X(AGENT_STOP, FOOTER, "footer:stop", "x", "")

enum keymap_context {
#define X(context, name) CONTEXT_##context,
	KEYMAP_CONTEXTS(X)
#undef X
		CONTEXT_COUNT
};

enum action {
	ACTION_NONE,
#define X(action, context, name, keys, help) ACTION_##action,
	KEYMAP_ACTIONS(X)
#undef X
		ACTION_COUNT
};

enum { KEYMAP_KEYS_BYTES = 64, KEYMAP_BINDINGS = 1000, KEYMAP_FILE_BYTES = 1 << 20 };

struct key_binding {
	enum keymap_context context;
	enum action action; /* ACTION_NONE: the key does nothing */
	char keys[KEYMAP_KEYS_BYTES];
};

struct keymap {
	struct key_binding *bindings; /* of the user; the last one counts */
	size_t count;
	char pending[KEYMAP_KEYS_BYTES]; /* the strokes of a chord so far; "": none */
};

enum keymap_found {
	KEYMAP_UNBOUND, /* the key means what it is: text */
	KEYMAP_ACTION,
	KEYMAP_MORE, /* a chord has begun */
	KEYMAP_DROP, /* the user has unbound it, or a chord leads nowhere */
};

void keymap_release(struct keymap *m);
/* In place of the bindings so far. What cannot be used is left out, and problems gets a line for each. */
void keymap_read(struct keymap *m, struct str json, struct buf *problems);
/* contexts: 1 << CONTEXT_... of all that hold now */
enum keymap_found keymap_find(struct keymap *m, unsigned contexts, const struct key *key, enum action *ret_action);
/* For code that knows the default keys of its contexts only: *key becomes that of its action. false: the key does nothing. */
bool keymap_translate(const struct keymap *m, unsigned contexts, struct key *key);
/* The strokes of one key as in the file, lower case, modifiers in one order; false: it cannot be bound */
bool keymap_name(const struct key *key, char ret_name[KEYMAP_KEYS_BYTES]);
bool keymap_normalise(struct str keys, char ret_keys[KEYMAP_KEYS_BYTES]); /* of the file; false: not a key */
void keymap_add_help(const struct keymap *m, struct buf *out);            /* KEYS tab WORDS for each action */
