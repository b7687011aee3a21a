/* SPDX-License-Identifier: MIT
 * task.c - requests about agents and shells in the background. */
#include "lib/io/file.h"
#include "product/stream/wire_int.h"

enum { OUTPUT_TAIL = 8192 };

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

static int find_record(const struct wire_request *r, struct agent_record **ret_record, struct err *err)
{
	struct str id = json_str(json_get(r->body, "task_id"), r->arena);

	*ret_record = id.n ? agent_tree_record(&r->wire->session->tree, id) : NULL;
	return *ret_record ? 0 : err_set(err, ERR_NOT_FOUND, "No task found with ID: " STR_FMT, STR_ARG(id));
}

/* The reply is sent when the agent has ended. */
int wire_stop_task(struct wire_request *r, struct err *err)
{
	struct agent_record *record;

	if (find_record(r, &record, err) < 0)
		return -(int)err->kind;
	if (!record->live)
		return err_set(err, ERR_USAGE, "Task %s is not running (status: %s)", record->id,
			       end_words(record->state)->state);
	struct stop *s = xcalloc(1, sizeof *s);
	*s = (struct stop){ .wait = { .on_end = on_end }, .later = wire_later(r) };
	agent_wait_add(record, &s->wait);
	agent_stop(record, true);
	return WIRE_ANSWERED;
}

int wire_background(struct wire_request *r, struct err *err)
{
	const char *call = json_cstr(json_get(r->body, "tool_use_id"), r->arena);

	(void)err;
	json_kbool(&r->out, "backgrounded", cadre_background(r->wire->session, call) > 0 || !call);
	return 0;
}

int wire_task_output(struct wire_request *r, struct err *err)
{
	struct agent_record *record;
	AUTO_BUF struct buf text = { 0 };
	uint64_t size = 0;

	if (find_record(r, &record, err) < 0)
		return -(int)err->kind;
	if (record->report.n) {
		size = record->report.n;
		size_t from = size > OUTPUT_TAIL ? size - OUTPUT_TAIL : 0;
		buf_add(&text, record->report.p + from, size - from);
	} else if (record->transcript) { /* does not exist before its first line */
		(void)file_read_tail(record->transcript, OUTPUT_TAIL, &text, &size, err);
	}
	json_kstr(&r->out, "output", buf_str(&text));
	json_ki64(&r->out, "total_bytes", (int64_t)size);
	json_kbool(&r->out, "truncated", size > text.n);
	return 0;
}
