/* SPDX-License-Identifier: MIT
 * load_int.h - between load.c (which lines) and replay.c (what they mean). */
#pragma once
#include <stdatomic.h>
#include "lib/json/json.h"
#include "core/store/line_file.h"
#include "core/store/load.h"

enum line_type { LINE_OTHER, LINE_USER, LINE_ASSISTANT, LINE_FORK, LINE_END, LINE_BOUNDARY };

/* Facts about a result besides its text. In the reader's arena. */
struct line_trace {
	struct loaded_file file; /* path NULL: no file */
	const char **tools;      /* that were loaded */
	size_t tool_count;
};

/* Index entry of a line; its text stays in the file. Texts are in the reader's arena. */
struct line {
	struct line_span span;
	const struct line_trace *trace; /* NULL: none */
	enum line_type type;
	struct str uuid, parent, message_id;
	struct str call_id; /* tool_use id of its first block */
	bool sidechain, keep;
	bool meta; /* role user, but not a message of a person */
};

/* An answer being assembled. Lines with results of its calls may be interleaved. */
struct open_answer {
	struct str id;           /* in the arena; p == NULL: none is open */
	struct segment **blocks; /* owned */
	size_t block_count, block_cap;
	bool closed; /* its closing line was read, or another program wrote it in one line */
	bool refused;
	bool paused; /* pause_turn: the model wants to continue */
	bool stopped,
		over; /* its stop reason was read; then a result: what follows is another answer, also with its id */
};

struct replay {
	struct session_load *out;
	const atomic_bool *stop; /* of a worker: it reads no further; NULL: none */
	struct open_answer answer;
	struct json_reader reader;
	size_t call_cap, file_cap, tool_cap;
	struct map files; /* path -> number of its newest entry in out->files, + 1 */
	enum { LAST_NONE, LAST_USER, LAST_ANSWER, LAST_PAUSED } last;
};

void replay_line(struct replay *r, const struct line *line, struct str text); /* kept lines, in the order of the file */
/* the same, including compacted lines */
void replay_trace(struct replay *r, const struct line_trace *trace, bool summarized);
void replay_placeholder(struct replay *r, struct str text); /* the result of every call of the last answer */
void replay_reset_usage(struct replay *r);                  /* the next lines belong to another run */
void replay_end(struct replay *r);                          /* after the last; releases what the replay holds */
const struct line_trace *trace_read(struct arena *a, const struct json *root); /* NULL: the line has no facts */
