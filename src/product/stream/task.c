/* SPDX-License-Identifier: MIT
 * task.c - requests about agents and shells in the background. */
#include "lib/io/file.h"
#include "product/stream/wire_int.h"

enum { OUTPUT_TAIL = 8192 };

/* ---- ending one -------------------------------------------------------------------------------------------------- */

struct stop {
	struct agent_wait wait;
	struct wire_later *later;
};

static void on_end(struct agent_wait *wait)
{
	struct stop *s = CONTAINER_OF(wait, struct stop, wait);

	wire_later_reply(s->later, STR(""));
	free(s);
}

static struct agent_record *find_record(const struct wire_request *r)
{
	struct str id = json_str(json_get(r->body, "task_id"), r->arena);
	struct agent_record *record = id.n ? agent_tree_record(&r->wire->session->tree, id) : NULL;

	if (!record)
		wire_reply_error(r->wire, r->id, NULL, "No task found with ID: " STR_FMT, STR_ARG(id));
	return record;
}

/* The answer comes when it has ended. */
void wire_stop_task(const struct wire_request *r)
{
	struct agent_record *record = find_record(r);

	if (!record)
		return;
	if (!record->live) {
		wire_reply_error(r->wire, r->id, NULL, "Task %s is not running (status: %s)", record->id,
				 end_words(record->state)->state);
		return;
	}
	struct stop *s = xcalloc(1, sizeof *s);
	*s = (struct stop){ .wait = { .on_end = on_end }, .later = wire_later(r) };
	agent_wait_add(record, &s->wait);
	agent_stop(record, true);
}

void wire_background(const struct wire_request *r)
{
	const char *call = json_cstr(json_get(r->body, "tool_use_id"), r->arena);
	bool any = cadre_background(r->wire->session, call) > 0;

	wire_reply(r->wire, r->id, any || !call ? STR("{\"backgrounded\":true}") : STR("{\"backgrounded\":false}"));
}

/* ---- what it has done -------------------------------------------------------------------------------------------- */

void wire_task_output(const struct wire_request *r)
{
	struct agent_record *record = find_record(r);
	AUTO_BUF struct buf text = { 0 };
	AUTO_BUF struct buf payload = { 0 };
	struct json_out out = json_out(&payload);
	struct err err = { 0 };
	uint64_t size = 0;

	if (!record)
		return;
	if (record->report.n) {
		size = record->report.n;
		size_t from = size > OUTPUT_TAIL ? size - OUTPUT_TAIL : 0;
		buf_add(&text, record->report.p + from, size - from);
	} else if (record->transcript) { /* not there before its first line */
		(void)file_read_tail(record->transcript, OUTPUT_TAIL, &text, &size, &err);
	}
	json_open(&out, '{');
	json_kstr(&out, "output", buf_str(&text));
	json_ki64(&out, "total_bytes", (int64_t)size);
	json_kbool(&out, "truncated", size > text.n);
	json_close(&out);
	wire_reply(r->wire, r->id, buf_str(&payload));
}
