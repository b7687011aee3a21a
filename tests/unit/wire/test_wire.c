/* SPDX-License-Identifier: MIT
 * test_wire.c - runs the groups of the wire room, and plays conversations and streams for them. */
#include "unit.h"
#include "test_wire.h"
#include "core/model/head_json.h"

struct head *make_head(struct head_pool *pool, const char *const *tools, struct str system, const char *effort)
{
	AUTO_BUF struct buf bytes = { 0 };

	head_write(&bytes,
		   &(struct head_spec){
			   .model = "m", .max_tokens = 100, .system = system, .tools = tools, .effort = effort });
	return head_intern(pool, buf_str(&bytes));
}

void add_block(struct transcript *t, const char *block)
{
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;

	if (json_parse(&reader, block + 1, strlen(block + 1), &root, NULL) < 0)
		fail_msg("not JSON: %s", block);
	transcript_add(t, *block == 'u' ? ROLE_USER : ROLE_ASSISTANT, segment_from_json(root));
}

/* The first `packed` blocks are on a shelf. */
void stage_init(struct stage *s, const char *const *blocks, size_t packed)
{
	size_t i = 0;

	*s = (struct stage){ 0 };
	s->head = make_head(&s->pool, NULL, STR("be \"good\""), NULL);
	for (; i < packed && i < MOST_BLOCKS && blocks[i]; i++)
		add_block(&s->base, blocks[i]);
	if (i)
		transcript_fork(&s->base, &s->t);
	for (; i < MOST_BLOCKS && blocks[i]; i++)
		add_block(&s->t, blocks[i]);
}

void stage_release(struct stage *s)
{
	transcript_release(&s->t);
	transcript_release(&s->base);
	head_unref(s->head);
	head_pool_release(&s->pool);
}

void read_all(struct buf *out, const struct wire_form *form, struct head *head, const struct transcript *t,
	      struct str reminder, unsigned quirks, size_t room)
{
	struct body body;
	struct wire_body b;
	char bytes[4096];
	size_t n;

	buf_clear(out);
	body_init(&body, head, t, UINT32_MAX);
	body_remind(&body, reminder);
	wire_body_init(&b, form, &body, &(struct wire_model){ .quirks = quirks, .origin = STR(TEST_ORIGIN) });
	while ((n = wire_body_read(&b, bytes, room)))
		buf_add(out, bytes, n);
	CHECK_INT(out->n, b.size);
	wire_body_rewind(&b);
	CHECK_INT(wire_body_read(&b, bytes, 1), 1);
	CHECK_INT(bytes[0], '{');
	wire_body_release(&b);
}

static void note_block(void *data, struct segment *block)
{
	struct buf *seen = data;

	buf_add(seen, block->bytes, block->len);
	buf_addch(seen, '\n');
	segment_unref(block);
}

static void note_delta(void *data, const char *name, struct str text)
{
	buf_addf(data, "%s<" STR_FMT ">", name, STR_ARG(text));
}

const struct answer_sink note_sink = { note_block, note_delta, NULL };

void note_answer_end(struct buf *seen, const struct answer *a)
{
	const struct usage *u = &a->usage;

	buf_addf(seen, "%s ", a->stop_reason);
	if (a->failure.kind == FAIL_EVENT)
		buf_addf(seen, "event %d: %s", a->failure.status, a->failure.text);
	else if (a->failure.kind)
		buf_addstr(seen, "garbage");
	else if (answer_complete(a))
		buf_addf(seen, "complete %d+%d/%d%s", (int)u->input, (int)u->cache_read, (int)u->output,
			 u->estimated ? " estimated" : "");
	else
		buf_addstr(seen, "open");
}

char *play_stream(struct buf *seen, const struct wire_form *form, const char *stream, size_t split, size_t step)
{
	struct answer a;
	struct wire_stream s;
	size_t n = strlen(stream);

	buf_clear(seen);
	answer_init(&a, &note_sink, seen);
	wire_stream_init(&s, form, &a, NULL, 100);
	s.origin = STR(TEST_ORIGIN);
	wire_stream_feed(&s, stream, MIN(split, n));
	for (size_t i = MIN(split, n); i < n; i += MIN(step, n - i))
		wire_stream_feed(&s, stream + i, MIN(step, n - i));
	wire_stream_end(&s);
	note_answer_end(seen, &a);
	wire_stream_release(&s);
	answer_release(&a);
	return seen->p;
}

int main(void)
{
	test_answer();
	test_failure();
	test_refusals();
	test_chat_request();
	test_chat_stream();
	test_forms();
	return tests_run();
}
