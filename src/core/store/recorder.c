/* SPDX-License-Identifier: MIT
 * recorder.c - the lines of a transcript. */
#include "core/store/recorder.h"
#include "lib/base/crash.h"
#include "lib/json/json_write.h"

/* The fields that all lines have, up to the type's own. given: NULL for a new id, which goes to uuid. The line is built in
 * the store's scratch buffer. */
static struct json_out record_begin(struct recorder *r, const char *type, const char *given, char uuid[UUID_LEN + 1])
{
	const struct record_context *c = r->context;
	char now[ISO_TIME_LEN + 1];

	if (given)
		snprintf(uuid, UUID_LEN + 1, "%s", given);
	else
		id_uuid(uuid);
	buf_clear(&r->store->line);
	struct json_out w = json_out(&r->store->line);
	id_iso_time(id_wall_ms(), now);
	json_open(&w, '{');
	json_kcstr(&w, "parentUuid", r->last[0] ? r->last : NULL);
	json_kbool(&w, "isSidechain", c->agent_id != NULL);
	if (c->agent_id)
		json_kcstr(&w, "agentId", c->agent_id);
	json_kcstr(&w, "type", type);
	json_kcstr(&w, "uuid", uuid);
	json_kcstr(&w, "timestamp", now);
	json_kcstr(&w, "userType", "external");
	json_kcstr(&w, "entrypoint", c->entrypoint);
	json_kcstr(&w, "cwd", c->cwd);
	json_kcstr(&w, "sessionId", c->session_id);
	json_kcstr(&w, "version", c->version);
	json_kcstr(&w, "gitBranch", c->git_branch);
	return w;
}

static int record_commit(struct recorder *r, struct json_out *w, const char *uuid, struct err *err)
{
	json_close(w);
	if (r->journal && journal_append(r->journal, w->buf, err) < 0)
		return -(int)err->kind;
	memcpy(r->last, uuid, sizeof r->last);
	/* One long line must not stay in memory for as long as the runtime lives. */
	if (w->buf->cap > (size_t)256 << 10)
		buf_release(w->buf);
	return 0;
}

/* A single text is a string: other programs expect a prompt to be one. */
static void put_user_message(struct json_out *w, struct segment *const *blocks, size_t count)
{
	json_key(w, "message");
	json_open(w, '{');
	json_kcstr(w, "role", "user");
	json_key(w, "content");
	struct str text = count == 1 ? segment_plain_text(blocks[0]) : (struct str){ 0 };
	if (text.n) {
		json_put_raw(w, text);
	} else {
		json_open(w, '[');
		for (size_t i = 0; i < count; i++)
			json_put_raw(w, segment_json(blocks[i]));
		json_close(w);
	}
	json_close(w);
}

int recorder_user(struct recorder *r, const struct user_line *line, char uuid[UUID_LEN + 1], struct err *err)
{
	struct json_out w = record_begin(r, "user", line->uuid, uuid);

	if (line->meta)
		json_kbool(&w, "isMeta", true);
	if (line->notice_ids) {
		const char *const *ids = line->notice_ids;
		json_key(&w, "origin");
		json_open(&w, '{');
		json_kcstr(&w, "kind", line->mail ? "teammate" : "task-notification");
		json_key(&w, "ids");
		json_open(&w, '[');
		for (; *ids; ids++)
			json_put_cstr(&w, *ids);
		json_close(&w);
		json_close(&w);
	}
	put_user_message(&w, line->blocks, line->count);
	return record_commit(r, &w, uuid, err);
}

int recorder_result(struct recorder *r, const struct segment *result, struct str tool_use_result,
		    char uuid[UUID_LEN + 1], struct err *err)
{
	struct json_out w = record_begin(r, "user", NULL, uuid);
	struct segment *const blocks[] = { (struct segment *)(uintptr_t)result };

	put_user_message(&w, blocks, 1);
	if (tool_use_result.n)
		json_kraw(&w, "toolUseResult", tool_use_result);
	return record_commit(r, &w, uuid, err);
}

int recorder_block(struct recorder *r, const struct answer_ids *ids, const struct segment *block,
		   const struct answer_stop *end, char uuid[UUID_LEN + 1], struct err *err)
{
	char before[UUID_LEN + 1];
	struct json_out w = record_begin(r, "assistant", NULL, uuid);

	memcpy(before, r->last, sizeof before);
	if (!end)
		json_kbool(&w, "partial", true);
	else if (end->summary)
		json_kbool(&w, "isCompactSummary", true);
	/* Readers know a line that two files have by both ids: there is always one. */
	json_kcstr(&w, "requestId", ids->request_id && ids->request_id[0] ? ids->request_id : ids->message_id);
	if (ids->asked && strcmp(ids->asked, ids->model) != 0)
		json_kcstr(&w, "requestedModel", ids->asked);
	json_key(&w, "message");
	json_open(&w, '{');
	json_kcstr(&w, "id", ids->message_id);
	json_kcstr(&w, "type", "message");
	json_kcstr(&w, "role", "assistant");
	json_kcstr(&w, "model", ids->model);
	json_key(&w, "content");
	json_open(&w, '[');
	json_put_raw(&w, segment_json(block));
	json_close(&w);
	json_kcstr(&w, "stop_reason", end ? end->reason : NULL);
	json_kcstr(&w, "stop_sequence", end ? end->sequence : NULL);
	if (end) {
		json_key(&w, "usage");
		usage_write(&w, end->usage);
	}
	json_close(&w);
	int status = record_commit(r, &w, uuid, err);
	if (end && end->summary)
		memcpy(r->last, before, sizeof before); /* no line follows it */
	return status;
}

int recorder_compact(struct recorder *r, const struct compact_line *line, char uuid[UUID_LEN + 1], struct err *err)
{
	char before[UUID_LEN + 1], boundary[UUID_LEN + 1];

	/* The boundary begins a new chain: readers find the old one by logicalParentUuid. */
	memcpy(before, r->last, sizeof before);
	r->last[0] = '\0';
	struct json_out w = record_begin(r, "system", NULL, boundary);
	json_kcstr(&w, "logicalParentUuid", before[0] ? before : NULL);
	json_kcstr(&w, "subtype", "compact_boundary");
	json_kcstr(&w, "content", "Conversation compacted");
	json_kcstr(&w, "level", "info");
	json_key(&w, "compactMetadata");
	json_open(&w, '{');
	json_kcstr(&w, "trigger", line->trigger);
	json_ki64(&w, "preTokens", line->tokens_before);
	json_close(&w);
	int status = record_commit(r, &w, boundary, err);
	if (status == 0) {
		crash_point(compact_boundary);
		w = record_begin(r, "user", NULL, uuid);
		if (line->between_turns)
			json_kbool(&w, "isMeta", true);
		json_kbool(&w, "isCompactSummary", true);
		json_kbool(&w, "isVisibleInTranscriptOnly", true);
		put_user_message(&w, line->blocks, line->count);
		status = record_commit(r, &w, uuid, err);
	}
	if (status < 0)
		memcpy(r->last, before, sizeof before); /* the parent of the next line is unchanged */
	return status;
}

int recorder_fork_origin(struct recorder *r, const struct fork_origin *origin, struct err *err)
{
	char uuid[UUID_LEN + 1];
	struct json_out w = record_begin(r, "fork-origin", NULL, uuid);

	json_key(&w, "forkedFrom");
	json_open(&w, '{');
	json_kcstr(&w, "sessionId", origin->session_id);
	if (origin->agent_id)
		json_kcstr(&w, "agentId", origin->agent_id);
	json_kcstr(&w, "uuid", origin->uuid);
	if (origin->placeholder)
		json_kcstr(&w, "placeholder", origin->placeholder);
	json_close(&w);
	return record_commit(r, &w, uuid, err);
}

int recorder_setting(struct recorder *r, const char *type, const char *key, const char *value, struct err *err)
{
	if (!r->journal)
		return 0;
	buf_clear(&r->store->line);
	struct json_out w = json_out(&r->store->line);
	json_open(&w, '{');
	json_kcstr(&w, "type", type);
	json_kcstr(&w, key, value);
	json_kcstr(&w, "sessionId", r->context->session_id);
	json_close(&w);
	return journal_append(r->journal, w.buf, err);
}

/* Of a line outside of the parent chain */
static struct json_out operation_begin(struct recorder *r, const char *type, const char *operation)
{
	char time[ISO_TIME_LEN + 1];

	id_iso_time(id_wall_ms(), time);
	buf_clear(&r->store->line);
	struct json_out w = json_out(&r->store->line);
	json_open(&w, '{');
	json_kcstr(&w, "type", type);
	json_kcstr(&w, "operation", operation);
	json_kcstr(&w, "timestamp", time);
	json_kcstr(&w, "sessionId", r->context->session_id);
	return w;
}

int recorder_queue(struct recorder *r, const struct queue_line *line, struct err *err)
{
	if (!r->journal)
		return 0;
	struct json_out w = operation_begin(r, "queue-operation", "enqueue");
	json_kcstr(&w, "id", line->id);
	if (line->from) {
		json_kcstr(&w, "kind", "teammate");
		json_kcstr(&w, "from", line->from);
		json_kcstr(&w, "team", line->team);
	}
	if (line->about)
		json_kcstr(&w, "about", line->about);
	if (line->replaces) {
		json_key(&w, "replaces");
		json_open(&w, '[');
		json_put_cstr(&w, line->replaces);
		json_close(&w);
	}
	if (line->quiet)
		json_kbool(&w, "quiet", true);
	json_kstr(&w, "content", line->text);
	json_close(&w);
	return journal_append(r->journal, w.buf, err);
}

int recorder_team(struct recorder *r, const char *operation, struct str fields, struct err *err)
{
	if (!r->journal)
		return 0;
	struct json_out w = operation_begin(r, "team", operation);
	json_kraw(&w, "team", fields);
	json_close(&w);
	return journal_append(r->journal, w.buf, err);
}

int recorder_end(struct recorder *r, struct str fields, struct err *err)
{
	char uuid[UUID_LEN + 1];
	struct json_out w = record_begin(r, "agent-end", NULL, uuid);

	json_kraw(&w, "end", fields);
	return record_commit(r, &w, uuid, err);
}
