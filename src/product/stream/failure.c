/* SPDX-License-Identifier: MIT
 * failure.c - an error of the model's service as a message of the assistant, which clients show in the conversation; the
 * result follows it. */
#include "core/model/failure.h"
#include "product/stream/wire_int.h"

static void put_message(struct json_out *out, struct str text)
{
	char id[UUID_LEN + 1];

	id_uuid(id);
	json_key(out, "message");
	json_open(out, '{');
	json_kcstr(out, "id", id);
	json_kcstr(out, "type", "message");
	json_kcstr(out, "role", "assistant");
	json_kcstr(out, "model", "<synthetic>");
	json_key(out, "content");
	json_open(out, '[');
	json_open(out, '{');
	json_kcstr(out, "type", "text");
	json_kstr(out, "text", text);
	json_close(out);
	json_close(out);
	json_kcstr(out, "stop_reason", "stop_sequence");
	json_kcstr(out, "stop_sequence", "");
	json_key(out, "usage");
	usage_write(out, &(struct usage){ 0 });
	json_close(out);
}

void wire_tell_failure(struct cadre_wire *w)
{
	const struct query *q = &w->session->tree.main.query;
	AUTO_BUF struct buf line = { 0 }, text = { 0 };
	struct json_out out = json_out(&line);
	char uuid[UUID_LEN + 1];

	if (q->end != QUERY_MODEL_ERROR)
		return;
	id_uuid(uuid);
	buf_addf(&text, "API Error: %s", q->failure.text);
	json_open(&out, '{');
	json_kcstr(&out, "type", "assistant");
	put_message(&out, buf_str(&text));
	json_kcstr(&out, "parent_tool_use_id", NULL);
	json_kcstr(&out, "error", failure_name(&q->failure));
	json_kcstr(&out, "session_id", w->session->id);
	json_kcstr(&out, "uuid", uuid);
	json_close(&out);
	wire_send(w, &line);
}
