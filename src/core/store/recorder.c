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

	if (given)
		snprintf(uuid, UUID_LEN + 1, "%s", given);
	else
		id_uuid(uuid);
	buf_clear(&r->store->line);
	struct json_out w = json_out(&r->store->line);
	json_putf(&w,
		  "{parentUuid:'%s', isSidechain:!!%d, agentId?:'%s', type:'%s', uuid:'%s', timestamp:'%s', "
		  "userType:'external', entrypoint:'%s', cwd:'%s', sessionId:'%s', version:'%s', "
		  "gitBranch:'%s'",
		  r->last[0] ? r->last : NULL, c->agent_id != NULL, c->agent_id, type, uuid, id_iso_now().text,
		  c->entrypoint, c->cwd, c->session_id, c->version, c->git_branch);
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
	json_putf(w, "message:{role:'user', content:");
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

	json_putf(&w, "isMeta?:!!%d", line->meta);
	if (line->notice_ids) {
		json_putf(&w, "origin:{kind:'%s', ids:[", line->mail ? "teammate" : "task-notification");
		for (const char *const *ids = line->notice_ids; *ids; ids++)
			json_put_cstr(&w, *ids);
		json_putf(&w, "]}");
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
	json_putf(&w, "toolUseResult?:%.*s", STR_ARG(tool_use_result));
	return record_commit(r, &w, uuid, err);
}

int recorder_block(struct recorder *r, const struct answer_ids *ids, const struct segment *block,
		   const struct answer_stop *end, char uuid[UUID_LEN + 1], struct err *err)
{
	char before[UUID_LEN + 1], origin[8];
	struct json_out w = record_begin(r, "assistant", NULL, uuid);

	memcpy(before, r->last, sizeof before);
	snprintf(origin, sizeof origin, "%04x", block->origin);
	/* Readers know a line that two files have by both ids: there is always one. */
	json_putf(&w, "partial?:!!%d, isCompactSummary?:!!%d, requestId:'%s', requestedModel?:'%s', origin?:'%s'", !end,
		  end && end->summary, ids->request_id && ids->request_id[0] ? ids->request_id : ids->message_id,
		  ids->asked && strcmp(ids->asked, ids->model) != 0 ? ids->asked : NULL,
		  block->origin >= ORIGIN_FIRST ? origin : NULL);
	json_putf(&w,
		  "message:{id:'%s', type:'message', role:'assistant', model:'%s', content:[%.*s], "
		  "stop_reason:'%s', stop_sequence:'%s'",
		  ids->message_id, ids->model, STR_ARG(segment_json(block)), end ? end->reason : NULL,
		  end ? end->sequence : NULL);
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
	json_putf(&w,
		  "logicalParentUuid:'%s', subtype:'compact_boundary', content:'Conversation compacted', "
		  "level:'info', compactMetadata:{trigger:'%s', preTokens:%lld}",
		  before[0] ? before : NULL, line->trigger, (long long)line->tokens_before);
	int status = record_commit(r, &w, boundary, err);
	if (status == 0) {
		crash_point(compact_boundary);
		w = record_begin(r, "user", NULL, uuid);
		json_putf(&w, "isMeta?:!!%d, isCompactSummary:true, isVisibleInTranscriptOnly:true",
			  line->between_turns);
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

	json_putf(&w, "forkedFrom:{sessionId:'%s', agentId?:'%s', uuid:'%s', placeholder?:'%s'}", origin->session_id,
		  origin->agent_id, origin->uuid, origin->placeholder);
	return record_commit(r, &w, uuid, err);
}

int recorder_setting(struct recorder *r, const char *type, const char *key, const char *value, struct err *err)
{
	if (!r->journal)
		return 0;
	buf_clear(&r->store->line);
	struct json_out w = json_out(&r->store->line);
	json_putf(&w, "{type:'%s'", type);
	json_kcstr(&w, key, value);
	json_putf(&w, "sessionId:'%s'}", r->context->session_id);
	return journal_append(r->journal, w.buf, err);
}

/* Of a line outside of the parent chain */
static struct json_out operation_begin(struct recorder *r, const char *type, const char *operation)
{
	struct json_out w = json_out(&r->store->line);

	buf_clear(&r->store->line);
	json_putf(&w, "{type:'%s', operation:'%s', timestamp:'%s', sessionId:'%s'", type, operation, id_iso_now().text,
		  r->context->session_id);
	return w;
}

int recorder_queue(struct recorder *r, const struct queue_line *line, struct err *err)
{
	if (!r->journal)
		return 0;
	const struct notice *n = &line->notice;
	struct json_out w = operation_begin(r, "queue-operation", "enqueue");
	json_kcstr(&w, "id", n->id);
	if (line->from)
		json_putf(&w, "kind:'teammate', from:'%s', team:'%s'", line->from, line->team);
	json_putf(&w, "about?:'%s'", n->about);
	if (line->replaces)
		json_putf(&w, "replaces:['%s']", line->replaces);
	json_putf(&w, "quiet?:!!%d, content:'%.*s'}", n->quiet, STR_ARG(n->text));
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
