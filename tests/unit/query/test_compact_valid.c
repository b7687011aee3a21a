/* SPDX-License-Identifier: MIT
 * test_compact_valid.c - whatever a conversation was, the API takes the request that sums it up, and the conversation that goes
 * on from the summary. Checked over random ones with the rules of the scripted model server. */
#include "api_check.h"
#include "agents/query/query_int.h"
#include "core/scenario/digest.h"
#include "stage.h"
#include "test_query.h"

enum { CONVERSATIONS = 300, MOST_ROUNDS = 12, LARGE_BYTES = 30000 };

/* One conversation while it is made */
struct maker {
	uint64_t random;
	struct transcript *t;
	unsigned calls;
};

static bool one_in(struct maker *m, uint64_t n)
{
	return digest_random(&m->random) % n == 0;
}

static struct str words(struct maker *m, struct buf *out)
{
	size_t n = one_in(m, 8) ? LARGE_BYTES : 1 + digest_random(&m->random) % 300;

	for (buf_clear(out); out->n < n;)
		buf_addstr(out, one_in(m, 3) ? "\xc3\xa4\n" : one_in(m, 5) ? "\"\\" : "word ");
	return buf_str(out);
}

static void add_image(struct maker *m, enum role role)
{
	AUTO_BUF struct buf json = { 0 };

	buf_addstr(&json,
		   "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"");
	for (size_t n = 100 + digest_random(&m->random) % 5000; json.n < n;)
		buf_addstr(&json, "iVBO");
	buf_addstr(&json, "\"}}");
	transcript_add(m->t, role, segment_new(SEGMENT_OTHER, buf_str(&json)));
}

/* Context, prompts, notices */
static void add_user(struct maker *m)
{
	AUTO_BUF struct buf text = { 0 };

	do {
		if (one_in(m, 6))
			add_image(m, ROLE_USER);
		transcript_add(m->t, ROLE_USER, segment_text(words(m, &text)));
	} while (one_in(m, 3));
}

static void add_thinking(struct maker *m)
{
	AUTO_BUF struct buf thinking = { 0 };
	AUTO_BUF struct buf json = { 0 };
	char signature[DIGEST_ID_MAX];

	buf_addf(&thinking, "hm %u", m->calls);
	buf_addf(&json, "{\"type\":\"thinking\",\"thinking\":\"%s\",\"signature\":\"%s\"}", thinking.p,
		 signature_of(signature, STR("m"), buf_str(&thinking)));
	transcript_add(m->t, ROLE_ASSISTANT, segment_new(SEGMENT_THINKING, buf_str(&json)));
}

static void add_call(struct maker *m)
{
	AUTO_BUF struct buf json = { 0 };

	buf_addf(&json, "{\"type\":\"tool_use\",\"id\":\"toolu_%u\",\"name\":\"Read\",\"input\":{\"n\":%u}}", m->calls,
		 m->calls);
	m->calls++;
	transcript_add(m->t, ROLE_ASSISTANT, segment_new(SEGMENT_TOOL_USE, buf_str(&json)));
}

static void add_result(struct maker *m, unsigned call)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_BUF struct buf id = { 0 };

	buf_addf(&id, "toolu_%u", call);
	if (one_in(m, 8))
		transcript_add(m->t, ROLE_USER, segment_lost_result(buf_str(&id)));
	else if (one_in(m, 6))
		transcript_add(m->t, ROLE_USER,
			       segment_tool_blocks(buf_str(&id),
						   STR("[{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_"
						       "type\":\"image/png\",\"data\":\"iVBO\"}}]"),
						   false));
	else
		transcript_add(m->t, ROLE_USER, segment_tool_result(buf_str(&id), words(m, &text), one_in(m, 5)));
}

static void add_answer(struct maker *m)
{
	AUTO_BUF struct buf text = { 0 };
	unsigned first = m->calls;
	uint64_t calls = digest_random(&m->random) % 4;

	if (one_in(m, 3))
		add_thinking(m);
	if (!calls || one_in(m, 2))
		transcript_add(m->t, ROLE_ASSISTANT, segment_text(words(m, &text)));
	for (uint64_t i = 0; i < calls; i++)
		add_call(m);
	for (unsigned i = first; i < m->calls; i++)
		add_result(m, i);
	if (!calls || one_in(m, 4))
		add_user(m); /* the next prompt, a notice, or a note that the turn was interrupted */
}

static void make(struct transcript *t, uint64_t seed)
{
	struct maker m = { .random = seed, .t = t };
	uint64_t rounds = 1 + digest_random(&m.random) % MOST_ROUNDS;

	add_user(&m);
	for (uint64_t i = 0; i < rounds; i++) {
		add_answer(&m);
		if (one_in(&m, 3))
			transcript_pack(t);
	}
}

static void check(struct stage *s, const struct transcript *t, uint64_t seed, const char *what)
{
	struct body body;
	struct err err = { 0 };

	body_init(&body, s->head, t, UINT32_MAX);
	AUTO_FREE char *text = xmalloc(body.size);
	CHECK_INT(body_read(&body, text, body.size), body.size);
	if (api_check((struct str){ text, body.size }, &err) < 0)
		fail_msg("seed %llu, %s: %s", (unsigned long long)seed, what, err.text);
}

TEST(the_request_for_a_summary_is_valid_whatever_the_conversation_was)
{
	STAGE(s, { .stream = "" });

	for (uint64_t seed = 1; seed <= CONVERSATIONS; seed++) {
		struct transcript t = { 0 };
		make(&t, seed);
		check(&s, &t, seed, "the conversation itself");
		for (unsigned shortness = 0; shortness <= MOST_SHORTNESS; shortness++) {
			struct transcript history = { 0 };
			compact_history(&t, shortness, STR(""), &history);
			check(&s, &history, seed, "the request");
			if (shortness)
				CHECK(history.bytes <= t.bytes + 4000);
			transcript_release(&history);
		}
		transcript_release(&t);
	}
	stage_release(&s);
}

TEST(a_summed_up_conversation_is_valid_whatever_it_was)
{
	STAGE(s, { .stream = SAYS("m1", "sum") });
	struct agent *a = stage_agent(&s);
	s.q->config.compact.possible = true;

	for (uint64_t seed = 1; seed <= CONVERSATIONS; seed++) {
		transcript_release(&s.q->transcript);
		make(&s.q->transcript, seed);
		s.model.asked = 0;
		query_compact(s.q, STR(""));
		loop_run(s.loop);
		CHECK_INT(s.q->end, QUERY_DONE);
		CHECK_INT(a->ends, seed);
		check(&s, &s.q->transcript, seed, "the conversation from the summary");
		stage_check_disk(&s);
	}
	stage_release(&s);
}

int test_compact_valid(void)
{
	return RUN_TESTS(T(the_request_for_a_summary_is_valid_whatever_the_conversation_was),
			 T(a_summed_up_conversation_is_valid_whatever_it_was));
}
