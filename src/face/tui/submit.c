/* SPDX-License-Identifier: MIT
 * submit.c - what goes to the session: a prompt with its files, at once or from the queue, and an interrupt. */
#include "face/tui/state.h"
#include "lib/base/utf8.h"
#include "lib/json/json_write.h"

void tui_begin_copy(struct tui *t)
{
	if (!t->copies[0].n)
		return;
	buf_release(&t->copies[COPIES - 1]);
	memmove(t->copies + 1, t->copies, (COPIES - 1) * sizeof *t->copies);
	t->copies[0] = (struct buf){ 0 };
}

void tui_begin_turn(struct tui *t)
{
	t->in_turn = true;
	t->turn_ms = tui_now_ms();
	notice_turn(t, true);
	tui_begin_copy(t);
}

/* What goes along with the prompt: output of `!`, which is not typed, and files */
static void take_blocks(struct tui *t, struct buf *ret)
{
	AUTO_BUF struct buf joined = t->joined, attached = t->attached, valid = { 0 };
	struct json_out w = json_out(ret);

	t->joined = t->attached = (struct buf){ 0 };
	if (!joined.n) {
		buf_append(ret, buf_str(&attached));
		return;
	}
	utf8_add_repaired(&valid, buf_str(&joined));
	json_putf(&w, "[{type:'text', text:'%.*s'}", STR_ARG(buf_str(&valid)));
	buf_addf(ret, "%s", attached.n ? "," : "]");
	buf_append(ret, str_tail(buf_str(&attached), attached.n > 0)); /* without its first bracket */
}

void tui_submit(struct tui *t, struct str prompt)
{
	AUTO_BUF struct buf text = { 0 };
	char why[240] = "";

	if (t->in_turn || t->trust_waits) {
		t->queue = xrealloc(t->queue, (t->queue_count + 1) * sizeof *t->queue);
		t->queue[t->queue_count++] =
			(struct queued){ .text = xstrndup(prompt.p, prompt.n), .blocks = buf_take(&t->attached, NULL) };
		if (t->lines)
			plain_finish(t, STR("queued: "), prompt);
		return;
	}
	utf8_add_repaired(&text, prompt);
	notice_title(t, prompt);
	tui_begin_turn(t);
	AUTO_BUF struct buf blocks = { 0 };
	take_blocks(t, &blocks);
	if (cadre_prompt_blocks(t->session, buf_str(&text).p, text.n, blocks.n ? blocks.p : NULL, blocks.n, why,
				sizeof why) == 0) {
		t->worked = true;
	} else {
		t->in_turn = false;
		notice_turn(t, false);
		feed_words(t, LOOK_RED, str_from(why));
	}
	tui_changed(t);
}

void tui_interrupt(struct tui *t)
{
	if (!t->in_turn)
		return;
	t->cancelled = true;
	cadre_interrupt(t->session);
	tui_changed(t);
}

void tui_queued_release(struct queued *q)
{
	free(q->text);
	free(q->blocks);
	buf_release(&q->draft);
}

void tui_next_of_queue(struct tui *t)
{
	if (!t->queue_count || t->in_turn || t->leaving)
		return;
	CLEANUP(tui_queued_release) struct queued first = t->queue[0];
	memmove(t->queue, t->queue + 1, --t->queue_count * sizeof *t->queue);
	feed_prompt(t, str_from(first.text));
	buf_addstr(&t->attached, first.blocks);
	tui_submit(t, str_from(first.text));
}
