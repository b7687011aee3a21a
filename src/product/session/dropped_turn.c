/* SPDX-License-Identifier: MIT
 * dropped_turn.c - --resume-drops-turn: what --resume-session-at leaves out must be the one turn that the host knows of. A prompt
 * or a notification that came behind its back would otherwise be lost. */
#include "product/session/session_int.h"
#include "lib/io/file.h"

enum { LARGEST_TRANSCRIPT = 1 << 30 };

/* A line that somebody said, not a tool and not we. */
static bool is_said(const struct json *line)
{
	const struct json *content = json_get(json_get(line, "message"), "content");
	const struct json *first = json_is(content, JSON_ARRAY) ? json_first(content) : NULL;

	return json_str_is(json_get(line, "type"), "user") && !json_bool(json_get(line, "isMeta")) &&
	       !json_bool(json_get(line, "isSidechain")) && !json_str_is(json_get(first, "type"), "tool_result");
}

int session_check_dropped(const char *path, const struct options *o, struct err *err)
{
	AUTO_BUF struct buf bytes = { 0 };
	bool behind = false;

	if (file_read(path, LARGEST_TRANSCRIPT, &bytes, err) < 0)
		return -(int)err->kind;
	for (struct str rest = buf_str(&bytes); rest.p;) {
		AUTO_JSON struct json_reader reader = { 0 };
		struct str text = str_cut(&rest, '\n');
		const struct json *line;
		if (!text.n || json_parse(&reader, text.p, text.n, &line, NULL) < 0)
			continue;
		const struct json *uuid = json_get(line, "uuid");
		if (behind && is_said(line) && !json_str_is(uuid, o->resume_drops))
			return err_set(err, ERR_USAGE,
				       "Resume rejected by --resume-drops-turn: behind message %s there is more than "
				       "the turn of %s",
				       o->resume_at, o->resume_drops);
		behind = behind || json_str_is(uuid, o->resume_at);
	}
	return 0;
}
