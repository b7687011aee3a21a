/* SPDX-License-Identifier: MIT
 * fuzz_hook_output.c - what a hook prints, any bytes: for every event and exit it is read without a crash, each text that
 * comes out is valid UTF-8, each JSON value is valid JSON, and exit 2 of an event that can be blocked always blocks.
 *
 * Input: one byte for the event, one for the exit and the kind of handler, stdout, a line "--", stderr. */
#include "lib/base/utf8.h"
#include "guard/hook/output.h"
#include "lib/json/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void check_json(struct str text)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	must(!text.n || json_parse(&reader, text.p, text.n, &root, NULL) == 0);
}

static void check_reply(const struct hook_reply *r, enum hook_event event)
{
	const struct str texts[] = { r->note,   r->stop_reason,       r->system_message,
				     r->reason, r->permission_reason, r->context };
	uint32_t counts = hook_events[event].fields | (1u << HOOK_UPDATED_INPUT);

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		must(utf8_valid(texts[i]));
	for (size_t i = 0; i < HOOK_FIELD_COUNT; i++) {
		check_json(r->fields[i]);
		must(!r->fields[i].n || (counts & (1u << i)));
	}
	must(hook_sequence_is_harmless(r->terminal_sequence));
	must(!r->block || r->reason.n);
}

static void cut(struct str all, struct str *ret_out, struct str *ret_err)
{
	const char *mark = all.n ? memmem(all.p, all.n, "\n--\n", 4) : NULL;

	*ret_out = mark ? (struct str){ all.p, (size_t)(mark - all.p) } : all;
	*ret_err = mark ? (struct str){ mark + 4, all.n - ret_out->n - 4 } : STR("");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct hook_reply reply;

	if (size < 2)
		return 0;
	struct hook_raw raw = { .event = data[0] % HOOK_EVENT_COUNT,
				.exit_code = data[1] % 4,
				.json_only = data[1] & 4,
				.out_cut = data[1] & 8 };
	cut((struct str){ (const char *)data + 2, size - 2 }, &raw.out, &raw.err);
	hook_output_read(&arena, &raw, &reply);
	check_reply(&reply, raw.event);
	if (raw.exit_code == 2 && (hook_events[raw.event].flags & HOOK_CAN_BLOCK))
		must(reply.block);
	hook_answer_read(&arena, raw.event, data[1] & 4, raw.out, &reply);
	check_reply(&reply, raw.event);
	return 0;
}
