/* SPDX-License-Identifier: MIT
 * query_compact.c - compaction: the model summarises its conversation, and the query continues from the summary.
 *
 *     ASK --near the window, or asked to--> COMPACT --> GATE --> STREAM --> COMPACT --> ASK, or FINISH
 *     STREAM --too long for the server--------^            ^--BACKOFF--+
 *
 * The old conversation stays until the summary is on disk. At most one per request: each attempt sets `compacted`, the
 * next answer clears it. */
#include "agents/query/query_compact.h"
#include "lib/base/crash.h"
#include "core/model/catalog.h"
#include "agents/query/query_int.h"

enum { MOST_FAILURES = 3 };                 /* in a row: then only the server or the user can cause one */
enum { FEW_ANSWERS = 3, MOST_REFILLS = 3 }; /* a turn that fills the context at once, each time: only the user can */

/* Size of the conversation: the server's count of the last answer, and an estimate of later additions. */

enum { BEFORE_PERCENT = 95, ADDED_PERCENT = 60, LEAST_CUT_WINDOW = 2048 }; /* of a prompt that the server has cut */
enum { RESERVE_TOKENS = 13000 };                           /* margin for additions before the next check */
enum { MEDIA_TOKENS = 1500, MEDIA_BYTES_PER_TOKEN = 400 }; /* of an image or a document in base64 */

/* English and code; then what the server's counts of this conversation say: other scripts and dense data have fewer bytes. */
static const float usual_bytes_per_token = 4, least_bytes_per_token = 1.5F, most_bytes_per_token = 6;

float query_bytes_per_token(const struct query *q)
{
	return q->measured.bytes_per_token ? q->measured.bytes_per_token : usual_bytes_per_token;
}

static int64_t tokens_of(uint64_t bytes, float bytes_per_token)
{
	return (int64_t)((double)bytes / (double)bytes_per_token);
}

/* Media are far fewer tokens than bytes. ret_media: their tokens. The rest of the bytes is text. */
static uint64_t block_text(const struct block *b, int64_t *ret_media)
{
	static const char key[] = "\"data\":\"";
	const char *end = b->json.p + b->json.n, *at = b->json.p;
	uint64_t bytes = b->json.n;

	*ret_media = 0;
	if (b->kind != SEGMENT_OTHER && b->kind != SEGMENT_TOOL_RESULT)
		return bytes;
	while ((at = memmem(at, (size_t)(end - at), key, sizeof key - 1))) {
		const char *from = at + sizeof key - 1;
		const char *quote = memchr(from, '"', (size_t)(end - from));
		int64_t n = (quote ? quote : end) - from;
		at = quote ? quote : end;
		if (n < MEDIA_BYTES_PER_TOKEN)
			continue;
		bytes -= (uint64_t)n;
		*ret_media += MEDIA_TOKENS + n / MEDIA_BYTES_PER_TOKEN;
	}
	return bytes;
}

/* Of the blocks from..to */
static int64_t estimate_tokens(const struct query *q, uint32_t from, uint32_t to, float bytes_per_token)
{
	int64_t tokens = 0, media;

	for (uint32_t i = from; i < to; i++) {
		struct block b = transcript_block(&q->transcript, i);
		tokens += tokens_of(block_text(&b, &media), bytes_per_token) + media;
	}
	return tokens;
}

static int64_t context_tokens(const struct query *q)
{
	float rate = query_bytes_per_token(q);
	int64_t tokens = q->measured.tokens ? q->measured.tokens : tokens_of(q->config.head->bytes.n, rate);

	return tokens + estimate_tokens(q, q->measured.blocks, transcript_count(&q->transcript), rate);
}

/* Thinking is left out of the bytes: not every server counts that of former turns. What it counts makes the rate lower: an early
 * compaction is better than a late one. */
void context_measure_blocks(struct context_measure *m, const struct transcript *t, uint32_t count)
{
	for (; m->prompt_blocks < count; m->prompt_blocks++) {
		struct block b = transcript_block(t, m->prompt_blocks);
		int64_t media;
		if (b.kind == SEGMENT_THINKING)
			continue;
		m->text += block_text(&b, &media);
		m->media += (uint32_t)media;
	}
}

void context_measure_answer(struct query *q)
{
	const struct usage *u = &q->model.answer.usage;
	struct context_measure *m = &q->measured;
	int64_t prompt = u->input + u->cache_read + u->cache_write;

	if (prompt + u->output <= 0)
		return; /* the server does not count */
	context_measure_blocks(m, &q->transcript, q->model.body.count);
	m->tokens = prompt + u->output;
	m->bytes = q->transcript.bytes;
	m->blocks = transcript_count(&q->transcript);
	m->prompt = prompt;
	if (prompt > m->media && !u->estimated) {
		float rate = (float)(q->config.head->bytes.n + m->text) / (float)(prompt - m->media);
		m->bytes_per_token = MAX(least_bytes_per_token, MIN(rate, most_bytes_per_token));
	}
}

/* The fewest tokens that the request can have had: those of the last prompt, and a part of what was added since by our estimate. What was
 * added may be less dense than all before it. */
static int64_t least_tokens(const struct query *q)
{
	const struct context_measure *m = &q->measured;
	float rate = MAX(query_bytes_per_token(q), usual_bytes_per_token);

	if (q->compaction)
		return tokens_of(q->model.body.size, rate) * ADDED_PERCENT / 100;
	int64_t added = estimate_tokens(q, m->prompt_blocks, q->model.body.count, rate);
	if (!m->prompt) /* of a fork, the blocks of before are measured all the same */
		return (tokens_of(q->config.head->bytes.n + m->text, rate) + m->media + added) * ADDED_PERCENT / 100;
	return m->prompt * BEFORE_PERCENT / 100 + added * ADDED_PERCENT / 100;
}

void context_note_window(struct query *q)
{
	struct failure *f = &q->model.failure;
	const struct usage *u = &q->model.answer.usage;
	int64_t taken = u->input + u->cache_read + u->cache_write;
	const struct endpoint *e = q->config.endpoint;
	bool counts = !f->kind && e->provider->may_cut && !(e->of && e->of->allows_cut) && taken && !u->estimated;
	int64_t least = counts ? least_tokens(q) : 0;

	if (counts && taken < least) {
		failure_set(f, FAIL_EVENT,
			    "the server has cut the prompt: it took %lld tokens of at least %lld. Raise its context "
			    "(OLLAMA_CONTEXT_LENGTH), or give it in models of the setting providers",
			    (long long)taken, (long long)least);
		f->status = 400;
		f->too_long = true;
		f->window = MAX(taken, LEAST_CUT_WINDOW);
	}
	if (failure_is_too_long(f) && f->window)
		endpoint_note_window(q->config.endpoint, q->config.model, f->window, "learned");
}

static bool context_is_full(const struct query *q)
{
	const struct compact_policy *p = &q->config.compact;
	struct model_info m = model_find(query_providers(q), q->config.model);
	int64_t input = m.context - m.max_output;
	int64_t limit = input > 2 * RESERVE_TOKENS ? input - RESERVE_TOKENS : m.context / 2;
	uint64_t added = q->transcript.bytes - MIN(q->measured.bytes, q->transcript.bytes);

	if (p->percent > 0)
		limit = MIN(limit, (int64_t)((double)MAX(input, limit) * p->percent / 100));
	if (p->window > 0)
		limit = MIN(limit, p->window);
	/* The upper bound needs no look at the blocks. */
	if (!q->measured.tokens)
		added += q->config.head->bytes.n;
	return q->measured.tokens + tokens_of(added, query_bytes_per_token(q)) >= limit && context_tokens(q) >= limit;
}

/* The conversation in a summary request
 *
 *     shortness 0    unchanged: most of it is in the server's cache
 *     shortness 1    long results are truncated, media are left out: for a request that was too long
 *     shortness 2    the same, and only the newer half
 *
 * Calls keep their results: a result is truncated, never dropped, and the half begins with an answer. */

enum { RESULT_BYTES = 1000, TEXT_BYTES = 20000 }; /* of a block that is cut */

static const char request_text[] =
	"This conversation is about to be replaced by a summary, because it has grown too long to be sent as a whole. Write "
	"that summary now. Call no tools; answer with text only. The conversation continues from your text alone, so it must hold "
	"all that is needed to finish the work:\n"
	"1. What the user asked for, in the user's own words where they matter, with every later change and correction.\n"
	"2. What was done and decided, and why; what was tried and did not work.\n"
	"3. The files that matter, with their paths, what is in them, what was changed, and code that is needed word for "
	"word.\n"
	"4. Errors that came up and how they were solved; what the last tool calls returned, as far as it is still needed.\n"
	"5. What is open: tasks that are not done, and exactly where the work stands.\n"
	"6. The next step, if one follows from what the user asked for.\n"
	"Be exact about names, numbers and paths. Leave out what no longer matters.";

/* The model's own text stays unchanged. */
static struct segment *shorten_block(struct block b)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	AUTO_BUF struct buf text = { 0 };
	size_t most = b.kind == SEGMENT_TEXT ? TEXT_BYTES : RESULT_BYTES;
	bool long_one = b.role == ROLE_USER && b.json.n > most;
	const struct json *root = long_one ? json_read(&reader, b.json) : NULL;

	if (!root) {
		struct segment *same = segment_new(b.kind, b.json);
		same->origin = b.origin;
		return same;
	}
	const struct json *content = json_get(root, b.kind == SEGMENT_TEXT ? "text" : "content");
	struct str whole = json_str(content, &a);
	if (b.kind != SEGMENT_TEXT && b.kind != SEGMENT_TOOL_RESULT)
		return segment_text(STR("[an image or a document was left out]"));
	buf_add(&text, whole.p, whole.n);
	for (const struct json *part = whole.n ? NULL : json_first(content); part; part = json_next(content, part)) {
		struct str piece = json_str(json_get(part, "text"), &a); /* media have none */
		buf_add(&text, piece.p, piece.n);
	}
	text.n = MIN(text.n, most);
	if (b.kind == SEGMENT_TEXT) {
		buf_addstr(&text, "\n[the rest was left out]");
		return segment_text(buf_str(&text));
	}
	buf_addstr(&text, "\n[the rest of this result was left out]");
	return segment_tool_result(json_str(json_get(root, "tool_use_id"), &a), buf_str(&text),
				   json_bool(json_get(root, "is_error")));
}

void compact_history(struct transcript *t, unsigned shortness, struct str instructions, struct transcript *out)
{
	uint32_t from = 0;
	uint64_t bytes = 0;
	AUTO_BUF struct buf text = { 0 };

	/* The newer half begins with an answer: its first one, or the last. A history without answers is sent whole. */
	for (uint32_t i = transcript_count(t); shortness >= MOST_SHORTNESS && i-- > 0;) {
		struct block b = transcript_block(t, i);
		if (bytes >= t->bytes / 2 && from)
			break;
		bytes += b.json.n;
		if (b.role == ROLE_ASSISTANT && i > 0 && transcript_role(t, i - 1) == ROLE_USER)
			from = i;
	}
	if (!shortness)
		transcript_fork(t, out);
	if (from)
		transcript_add(out, ROLE_USER, segment_text(STR("[The beginning of this conversation was left out.]")));
	for (uint32_t i = from; shortness && i < transcript_count(t); i++) {
		struct block b = transcript_block(t, i);
		transcript_add(out, b.role, shorten_block(b));
	}
	buf_addstr(&text, request_text);
	if (instructions.n)
		buf_addf(&text, "\n\nFurther instructions for this summary:\n" STR_FMT, STR_ARG(instructions));
	transcript_add(out, ROLE_USER, segment_text(buf_str(&text)));
}

bool query_can_compact(const struct query *q)
{
	const struct transcript *t = &q->transcript;

	for (uint32_t i = transcript_count(t); i-- > 0;)
		if (transcript_role(t, i) == ROLE_ASSISTANT)
			return q->config.compact.possible;
	return false;
}

static void compact_begin_by(struct query *q, enum compact_trigger trigger)
{
	struct compaction *c = xnew(struct compaction, .trigger = trigger);

	q->compaction = c;
	q->compact_refills = trigger == COMPACT_AUTO && q->answers < FEW_ANSWERS ? q->compact_refills + 1 : 0;
	q->answers = 0;
}

/* Not attempted for this request yet, and not in each of the last requests. */
bool compact_can_rescue(const struct query *q)
{
	return q->config.compact.automatic && !q->compacted && q->compact_refills < MOST_REFILLS &&
	       query_can_compact(q);
}

bool compact_is_due(struct query *q)
{
	if (!q->compaction && q->config.compact.automatic && q->compact_failures < MOST_FAILURES &&
	    context_is_full(q) && compact_can_rescue(q)) /* the blocks are looked at last */
		compact_begin_by(q, COMPACT_AUTO);
	return q->compaction != NULL;
}

enum step compact_rescue(struct query *q, const struct failure *refusal)
{
	compact_begin_by(q, COMPACT_AUTO);
	q->compaction->is_last_resort = true;
	q->compaction->shortness = 1;
	if (refusal)
		q->compaction->refusal = *refusal;
	return query_set_state(q, QUERY_COMPACT);
}

void compact_end(struct query *q)
{
	struct compaction *c = TAKE(q->compaction);

	if (!c)
		return;
	transcript_release(&c->history);
	buf_release(&c->instructions);
	buf_release(&c->why);
	buf_release(&c->summary);
	free(c);
}

static void emit_compact_event(struct query *q, enum event_kind kind, const char *result, const char *uuid)
{
	const struct compaction *c = q->compaction;

	query_emit(q, &(struct event){ .kind = kind,
				       .uuid = uuid,
				       .text = buf_str(&c->why),
				       .compact = &(struct event_compact){
					       .trigger = compact_trigger_name(c->trigger),
					       .result = result,
					       .tokens_before = c->tokens_before,
					       .tokens_after = kind == EVENT_COMPACTED ? context_tokens(q) : 0,
					       .duration_ms = loop_now_ms(q->config.loop) - c->started_ms } });
}

/* Continues the turn without compaction if possible. */
static enum step compact_give_up(struct query *q, enum query_end end)
{
	struct compaction *c = q->compaction;
	struct failure refusal = c->refusal;
	bool rescued = c->is_last_resort, manual = c->trigger == COMPACT_MANUAL;

	emit_compact_event(q, EVENT_COMPACTING, "failed", NULL);
	q->compacted = true;
	q->compact_failures++;
	if (manual)
		query_give_up(q, end, STR_FMT, STR_ARG(buf_str(&c->why)));
	compact_end(q);
	if (rescued) {
		query_give_up(q, refusal.kind ? QUERY_MODEL_ERROR : QUERY_CONTEXT_FULL, "%s", refusal.text);
		q->failure = refusal;
	}
	return manual || rescued ? STEP_AGAIN : query_set_state(q, QUERY_ASK);
}

enum step compact_failed(struct query *q, const struct failure *f)
{
	struct compaction *c = q->compaction;

	buf_addstr(&c->why, f->text);
	model_call_reset(&q->model);
	if (c->trigger == COMPACT_MANUAL)
		q->failure = *f;
	return compact_give_up(q, QUERY_MODEL_ERROR);
}

static void make_conversation(struct query *q, struct transcript *out)
{
	const struct compaction *c = q->compaction;
	const struct transcript *t = &q->transcript;
	AUTO_BUF struct buf text = { 0 };
	uint32_t count = transcript_count(t), first = count;
	bool unanswered = false;

	buf_addf(&text, "This conversation continues an earlier one, which was replaced by this summary:\n\n" STR_FMT,
		 STR_ARG(str_trim(buf_str(&c->summary))));
	transcript_add(out, ROLE_USER, segment_text(buf_str(&text)));
	if (q->config.compact_owner.keep)
		q->config.compact_owner.keep(q, out, q->config.data);
	/* User messages since the last answer are unanswered: they are kept verbatim. Results belong to compacted calls. */
	while (first > 0 && transcript_role(t, first - 1) == ROLE_USER)
		first--;
	for (uint32_t i = first; i < count; i++) {
		struct block b = transcript_block(t, i);
		if (b.kind == SEGMENT_TOOL_RESULT)
			continue;
		transcript_add(out, ROLE_USER, segment_new(b.kind, b.json));
		unanswered = true;
	}
	if (!unanswered && c->trigger == COMPACT_AUTO)
		transcript_add(out, ROLE_USER,
			       segment_text(STR("Continue the work exactly where the summary ends. Do not mention "
						"the summary, and do not ask whether to continue.")));
}

/* The summary is written first; only then the old conversation is dropped. */
static enum step take_summary(struct query *q)
{
	struct compaction *c = q->compaction;
	struct transcript fresh = { 0 };
	struct err err = { 0 };
	char uuid[UUID_LEN + 1];

	make_conversation(q, &fresh);
	struct segment **blocks = xcalloc(fresh.tail_count, sizeof(struct segment *));
	for (uint32_t i = 0; i < fresh.tail_count; i++)
		blocks[i] = fresh.tail[i].segment;
	int status = recorder_compact(q->config.recorder,
				      &(struct compact_line){ .trigger = compact_trigger_name(c->trigger),
							      .tokens_before = c->tokens_before,
							      .blocks = blocks,
							      .count = fresh.tail_count,
							      .between_turns = c->trigger == COMPACT_MANUAL },
				      uuid, &err);
	free(blocks);
	if (status < 0) {
		transcript_release(&fresh);
		query_give_up(q, QUERY_DISK_ERROR, "%s", err.text);
		return STEP_AGAIN;
	}
	crash_point(compact_summary);
	transcript_release(&q->transcript);
	q->transcript = fresh;
	q->measured = (struct context_measure){ .bytes_per_token = q->measured.bytes_per_token };
	q->last_mark = UINT32_MAX;
	/* A conversation that is full again at once would be compacted in a loop. */
	q->compacted = true;
	q->compact_failures = context_is_full(q) ? MOST_FAILURES : 0;
	emit_compact_event(q, EVENT_COMPACTING, "success", NULL);
	emit_compact_event(q, EVENT_COMPACTED, "success", uuid);
	c->phase = COMPACT_SHOWN;
	if (!q->config.compact_owner.after || !q->config.compact_owner.after(q, q->config.data))
		c->phase = COMPACT_OVER;
	return query_set_state(q, QUERY_COMPACT);
}

static enum step compact_answered(struct query *q)
{
	struct compaction *c = q->compaction;
	const struct answer *a = &q->model.answer;
	bool refused = !strcmp(a->stop_reason, "refusal"), has_text = str_trim(buf_str(&c->summary)).n;
	struct err err = { 0 };

	q->api_ms += loop_now_ms(q->config.loop) - q->asked_ms;
	answer_count(q, a->stop_reason);
	if (has_text) { /* its cost counts, even if it is not used */
		struct answer_ids ids = { a->message_id, a->model, q->model.request_id, NULL };
		struct answer_stop end = { .reason = a->stop_reason, .usage = &a->usage, .summary = true };
		struct segment *block = segment_text(buf_str(&c->summary));
		char uuid[UUID_LEN + 1];
		int status = recorder_block(q->config.recorder, &ids, block, &end, uuid, &err);
		segment_unref(block);
		if (status < 0) {
			query_give_up(q, QUERY_DISK_ERROR, "%s", err.text);
			return STEP_AGAIN;
		}
	}
	model_call_reset(&q->model);
	if (!refused && has_text)
		return take_summary(q);
	struct failure f = { .retry_after_ms = -1 };
	snprintf(f.text, sizeof f.text, "the model gave no summary of the conversation");
	return compact_failed(q, &f);
}

enum step compact_stream(struct query *q)
{
	struct compaction *c = q->compaction;

	/* Calls are never run, even if the model ignores the instruction. */
	for (uint32_t i = 0; i < q->arrived_count; i++) {
		if (q->arrived[i]->kind == SEGMENT_TEXT)
			answer_add_text(&q->compaction->summary, q->arrived[i]);
		segment_unref(q->arrived[i]);
	}
	q->arrived_count = 0;
	if (!q->request_over)
		return STEP_WAIT;
	query_leave_governor(q);
	if (!q->model.failure.kind)
		return compact_answered(q);
	buf_clear(&c->summary);
	if (!failure_is_too_long(&q->model.failure) || c->shortness == MOST_SHORTNESS)
		return query_try_again(q);
	c->shortness++;
	c->phase = COMPACT_ASKS;
	model_call_reset(&q->model);
	return query_set_state(q, QUERY_COMPACT);
}

enum step step_compact(struct query *q)
{
	struct compaction *c = q->compaction;
	bool manual = c->trigger == COMPACT_MANUAL;

	switch (c->phase) {
	case COMPACT_BEGINS:
		c->tokens_before = context_tokens(q);
		c->started_ms = loop_now_ms(q->config.loop);
		emit_compact_event(q, EVENT_COMPACTING, NULL, NULL);
		c->phase = COMPACT_HELD;
		if (!q->config.compact_owner.before || !q->config.compact_owner.before(q, q->config.data))
			c->phase = COMPACT_ASKS;
		return STEP_AGAIN;
	case COMPACT_REFUSED:
		return compact_give_up(q, QUERY_BLOCKED);
	case COMPACT_ASKS:
		if (q->paused)
			return STEP_WAIT;
		transcript_release(&c->history);
		compact_history(&q->transcript, c->shortness, buf_str(&c->instructions), &c->history);
		return query_enter_gate(q);
	case COMPACT_OVER:
		if (manual) {
			buf_clear(&q->text);
			buf_addf(&q->text, "The conversation was compacted: %lld tokens before, about %lld now.",
				 (long long)c->tokens_before, (long long)context_tokens(q));
		}
		compact_end(q);
		return manual ? query_finish(q, QUERY_DONE) : query_set_state(q, QUERY_ASK);
	case COMPACT_HELD:
	case COMPACT_SHOWN:
		break;
	}
	return STEP_WAIT;
}

void query_compact(struct query *q, struct str instructions)
{
	compact_begin_by(q, COMPACT_MANUAL);
	buf_add(&q->compaction->instructions, instructions.p, instructions.n);
	query_start(q);
}

void query_compact_decided(struct query *q, bool go, struct str text)
{
	struct compaction *c = q->compaction;

	if (!c || c->phase != COMPACT_HELD)
		return;
	struct buf *out = go ? &c->instructions : &c->why;
	if (text.n)
		buf_addf(out, "%s" STR_FMT, out->n ? "\n" : "", STR_ARG(text));
	c->phase = go ? COMPACT_ASKS : COMPACT_REFUSED;
	query_kick(q);
}

void query_compact_reported(struct query *q)
{
	if (q->compaction && q->compaction->phase == COMPACT_SHOWN)
		q->compaction->phase = COMPACT_OVER;
	query_kick(q);
}
