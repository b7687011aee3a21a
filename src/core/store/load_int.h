/* SPDX-License-Identifier: MIT
 * load_int.h - between load.c (which lines) and replay.c (what they mean). */
#pragma once
#include "lib/json/json.h"
#include "core/store/line_file.h"
#include "core/store/load.h"

enum line_type { LINE_OTHER, LINE_USER, LINE_ASSISTANT, LINE_FORK, LINE_END, LINE_BOUNDARY };

/* What a result leaves behind besides its words. In the arena of whoever reads. */
struct line_trace {
	struct loaded_file file; /* path NULL: none was seen */
	const char **tools;      /* that were loaded */
	size_t tool_count;
};

/* What must be known of every line; its text stays in the file. Texts are in the reading's arena. */
struct line {
	struct line_place place;
	const struct line_trace *trace; /* NULL: none */
	enum line_type type;
	struct str uuid, parent, message_id;
	struct str call_id; /* of its first block: the call it makes, or the call it answers */
	bool sidechain, keep;
	bool meta; /* of the user's side, but not said by anybody */
};

/* An answer while its lines come in. Lines of its calls' results may stand between them. */
struct open_answer {
	struct str id;           /* in the arena; p == NULL: none is open */
	struct segment **blocks; /* owned */
	size_t block_count, block_cap;
	bool closed; /* its closing line was seen, or another program wrote it whole */
	bool refused;
	bool paused; /* pause_turn: the model wants to go on */
};

struct replay {
	struct session_load *out;
	struct open_answer answer;
	struct json_reader reader;
	size_t call_cap, file_cap, tool_cap;
	struct map files; /* path -> number of its newest entry in out->files, + 1 */
	enum { LAST_NONE, LAST_USER, LAST_ANSWER, LAST_PAUSED } last;
};

void replay_line(struct replay *r, const struct line *line, struct str text); /* kept lines, in the order of the file */
void replay_trace(struct replay *r, const struct line_trace *trace); /* the same, also of lines that are summed up */
void replay_placeholder(struct replay *r, struct str text);          /* every call of the last answer has this result */
void replay_end(struct replay *r); /* after the last; releases what the replay holds */

/* trace.c */
const struct line_trace *trace_read(struct arena *a, const struct json *root); /* NULL: the line leaves nothing */
void replay_drop_older_looks(struct replay *r);
