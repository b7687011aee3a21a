/* SPDX-License-Identifier: MIT
 * test_body.c - request bodies: their size, their marks, and that forks send the same prefix. Heads, too. */
#include "unit.h"
#include "core/message/body.h"
#include "test_message.h"

#define MARK ",\"cache_control\":{\"type\":\"ephemeral\"}"
#define HEAD "{\"model\":\"m\",\"messages\":["

struct stage {
	struct head_pool pool;
	struct head *head;
	struct transcript t;
};

static void stage_init(struct stage *s)
{
	*s = (struct stage){ 0 };
	s->head = head_intern(&s->pool, STR(HEAD));
}

static void stage_release(struct stage *s)
{
	transcript_release(&s->t);
	head_unref(s->head);
	head_pool_release(&s->pool);
}

static void add(struct transcript *t, enum role role, const char *text)
{
	transcript_add(t, role, segment_text(str_from(text)));
}

static void add_thinking(struct transcript *t)
{
	transcript_add(t, ROLE_ASSISTANT,
		       segment_new(SEGMENT_THINKING, STR("{\"type\":\"thinking\",\"thinking\":\"hm\"}")));
}

static void read_all(struct body *b, size_t piece, struct buf *out)
{
	size_t n;

	do {
		buf_reserve(out, piece);
		n = body_read(b, out->p + out->n, piece);
		CHECK(n <= piece);
		out->n += n;
	} while (n);
	out->p[out->n] = '\0';
}

static size_t count_of(const struct buf *text, const char *part)
{
	size_t count = 0;

	for (const char *at = text->p; (at = strstr(at, part)); at++)
		count++;
	return count;
}

TEST(a_body_is_head_messages_and_closing_brackets)
{
	struct stage s;
	struct body b;
	AUTO_BUF struct buf out = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	const struct json *root;
	stage_init(&s);
	add(&s.t, ROLE_USER, "q");
	add(&s.t, ROLE_ASSISTANT, "a");
	add(&s.t, ROLE_USER, "r");

	body_init(&b, s.head, &s.t, UINT32_MAX);
	read_all(&b, 4096, &out);

	CHECK_CSTR(out.p, HEAD "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"q\"}]},"
			       "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]},"
			       "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"r\"" MARK "}]}]}");
	CHECK_INT(json_parse(&reader, out.p, out.n, &root, NULL), 0);
	CHECK_INT(b.size, out.n);
	stage_release(&s);
}

TEST(a_reminder_comes_behind_the_last_block_of_the_user_and_is_not_marked)
{
	struct stage s;
	struct body b;
	AUTO_BUF struct buf out = { 0 };
	AUTO_BUF struct buf again = { 0 };
	AUTO_BUF struct buf behind_answer = { 0 };
	stage_init(&s);
	add(&s.t, ROLE_USER, "q");

	body_init(&b, s.head, &s.t, UINT32_MAX);
	body_remind(&b, STR(",{\"type\":\"text\",\"text\":\"look only\"}"));
	read_all(&b, 7, &out);
	body_rewind(&b);
	read_all(&b, 4096, &again);

	CHECK_CSTR(out.p, HEAD "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"q\"" MARK "},"
			       "{\"type\":\"text\",\"text\":\"look only\"}]}]}");
	CHECK_CSTR(again.p, out.p);
	CHECK_INT(b.size, out.n);
	CHECK_INT(transcript_count(&s.t), 1);
	add(&s.t, ROLE_ASSISTANT, "paused");
	body_init(&b, s.head, &s.t, UINT32_MAX);
	body_remind(&b, STR(",{\"type\":\"text\",\"text\":\"look only\"}"));
	read_all(&b, 4096, &behind_answer);
	CHECK(!strstr(behind_answer.p, "look only"));
	CHECK_INT(b.size, behind_answer.n);
	stage_release(&s);
}

TEST(every_read_size_gives_the_same_bytes_and_a_rewind_gives_them_again)
{
	struct stage s;
	struct body b;
	AUTO_BUF struct buf whole = { 0 };
	stage_init(&s);
	for (int i = 0; i < 7; i++)
		add(&s.t, i % 2 ? ROLE_ASSISTANT : ROLE_USER, "block");
	body_init(&b, s.head, &s.t, 2);
	read_all(&b, 1 << 16, &whole);
	CHECK_INT(whole.n, b.size);

	for (size_t piece = 1; piece <= whole.n + 1; piece++) {
		AUTO_BUF struct buf out = { 0 };
		char some[64];
		body_rewind(&b);
		(void)body_read(&b, some, piece % sizeof some);
		body_rewind(&b);
		read_all(&b, piece, &out);
		CHECK_CSTR(out.p, whole.p);
	}
	stage_release(&s);
}

TEST(blocks_that_come_later_are_not_part_of_a_body)
{
	struct stage s;
	struct body b;
	AUTO_BUF struct buf first = { 0 };
	AUTO_BUF struct buf second = { 0 };
	stage_init(&s);
	add(&s.t, ROLE_USER, "q");
	body_init(&b, s.head, &s.t, UINT32_MAX);
	read_all(&b, 10, &first);

	for (int i = 0; i < 50; i++)
		add(&s.t, ROLE_ASSISTANT, "the answer itself");
	body_rewind(&b);
	read_all(&b, 10, &second);

	CHECK_CSTR(second.p, first.p);
	CHECK_INT(b.size, first.n);
	stage_release(&s);
}

/* roles and kinds of the blocks: u user text, a answer text, t thinking; | forks here. marks: block numbers. */
static const struct {
	const char *blocks;
	uint32_t previous;
	const char *marks;
} places[] = {
	{ "u", UINT32_MAX, "0 " },    { "uau", 0, "0 2 " },        { "uauau", 2, "2 4 " },
	{ "uau|u", 2, "2 3 " },       { "uauau|u", 2, "2 4 5 " },  { "uauau|uau", 5, "4 5 7 " },
	{ "uauau|uau", 2, "2 4 7 " }, { "uau|", 0, "0 2 " },       { "utt", UINT32_MAX, "0 " },
	{ "utt|", UINT32_MAX, "0 " }, { "uat", UINT32_MAX, "1 " }, { "uaut|tu", 3, "2 5 " },
	{ "tt", UINT32_MAX, "" },     { "u|u|u|u", 0, "0 2 3 " },
};

static void add_blocks(struct transcript *t, struct transcript *old, const char *blocks)
{
	for (; *blocks; blocks++) {
		if (*blocks == '|') {
			*old = *t;
			*t = (struct transcript){ 0 };
			transcript_fork(old, t);
			transcript_release(old);
		} else if (*blocks == 't') {
			add_thinking(t);
		} else {
			add(t, *blocks == 'u' ? ROLE_USER : ROLE_ASSISTANT, "x");
		}
	}
}

TEST(marks_stand_at_the_previous_one_the_last_shared_block_and_the_last_block)
{
	for (size_t i = 0; i < COUNT_OF(places); i++) {
		struct stage s;
		struct transcript old = { 0 };
		struct body b;
		AUTO_BUF struct buf marks = { 0 };
		AUTO_BUF struct buf out = { 0 };
		stage_init(&s);
		add_blocks(&s.t, &old, places[i].blocks);

		body_init(&b, s.head, &s.t, places[i].previous);
		read_all(&b, 100, &out);

		buf_addstr(&marks, "");
		for (uint32_t k = 0; k < b.mark_count; k++)
			buf_addf(&marks, "%u ", b.marks[k]);
		CHECK_CSTR(marks.p, places[i].marks);
		CHECK_INT(count_of(&out, MARK), b.mark_count);
		CHECK(b.mark_count <= BODY_MARKS);
		CHECK_INT(b.mark_count ? b.marks[b.mark_count - 1] : UINT32_MAX,
			  b.mark_count ? b.marks[b.mark_count - 1] : UINT32_MAX);
		CHECK_INT(b.size, out.n);
		stage_release(&s);
	}
}

/* Each transcript twice, once packed: the bytes are the same for any place of the marks and any read size. */
/* packed: after which blocks (bits) the tail is packed. */
static void add_letters(struct transcript *t, const char *letters, unsigned packed)
{
	for (size_t i = 0; letters[i]; i++) {
		char c = letters[i];
		if (c == 'u' || c == 't') {
			add(t, c == 'u' ? ROLE_USER : ROLE_ASSISTANT, c == 'u' ? "question" : "answer");
		} else {
			add_thinking(t);
			if (c != '?')
				segment_set_origin(t->tail[t->tail_count - 1].segment, (uint16_t)c);
		}
		if (packed & 1u << i) {
			struct transcript child = { 0 }; /* a fork packs */
			transcript_fork(t, &child);
			transcript_release(&child);
		}
	}
}

TEST(a_packed_conversation_sends_the_same_bytes)
{
	struct stage plain, packed;
	char text[3000];
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	stage_init(&plain);
	stage_init(&packed);

	for (int i = 0; i < 24; i++) {
		add(&plain.t, i % 3 ? ROLE_ASSISTANT : ROLE_USER, text + 100 * i);
		add(&packed.t, i % 3 ? ROLE_ASSISTANT : ROLE_USER, text + 100 * i);
		if (i % 8 == 7)
			transcript_pack(&packed.t);
	}
	CHECK(transcript_packed_count(&packed.t) >= 16 && !transcript_packed_count(&plain.t));

	for (uint32_t previous = 0; previous < 24; previous++) {
		struct body a, b;
		AUTO_BUF struct buf whole = { 0 };
		AUTO_BUF struct buf pieces = { 0 };
		body_init(&a, plain.head, &plain.t, previous);
		body_init(&b, packed.head, &packed.t, previous);
		read_all(&a, 1 << 20, &whole);
		read_all(&b, 1 + 31 * previous, &pieces);
		CHECK_INT(a.size, whole.n);
		CHECK_INT(b.size, pieces.n);
		CHECK_CSTR(pieces.p, whole.p);
	}
	stage_release(&plain);
	stage_release(&packed);
}

/* Thinking of two origins (letters) and texts, in every way of packing. */
TEST(thinking_goes_to_the_place_and_model_that_it_came_from)
{
	static const struct {
		const char *blocks;       /* u: text of the user, t: text of the assistant, A, B, ?: thinking */
		const char *to_a, *known; /* what A gets, and what it gets when unknown origins are left out */
	} rows[] = {
		{ "uAtuBtu", "uAtutu", "uAtutu" },   { "uBtuAtu", "utuAtu", "utuAtu" },
		{ "uBuAtu", "uuAtu", "uuAtu" }, /* an answer that only thought */
		{ "u?tuBttu", "u?tuttu", "ututtu" }, { "uABtu", "uAtu", "uAtu" },
		{ "uBBtAu", "utAu", "utAu" },        { "uB", "u", "u" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		for (unsigned packed = 0; packed < 2u << strlen(rows[i].blocks); packed++) {
			AUTO_BUF struct buf got = { 0 };
			AUTO_BUF struct buf expected = { 0 };
			bool known_only = packed & 1;
			struct stage s, only;
			struct body b;
			stage_init(&s);
			stage_init(&only);
			add_letters(&s.t, rows[i].blocks, packed >> 1);
			add_letters(&only.t, known_only ? rows[i].known : rows[i].to_a, 0);
			body_init(&b, s.head, &s.t, UINT32_MAX);
			for (int again = 0; again < 2; again++) {
				body_set_origin(&b, 'A', known_only);
				buf_clear(&got);
				read_all(&b, 7, &got);
				CHECK_INT(b.size, got.n);
			}
			body_init(&b, only.head, &only.t, UINT32_MAX);
			read_all(&b, 100, &expected);
			CHECK_CSTR(got.p, expected.p);
			stage_release(&s);
			stage_release(&only);
		}
	}
}

/* i: an image of the user, r, R, d, o: a result with a text, with an image, with a document of text, with another block and an image */
static void add_media(struct transcript *t, const char *kinds, unsigned packed)
{
#define IMAGE  "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"QUJD\"}}"
#define RESULT "{\"type\":\"tool_result\",\"tool_use_id\":\"a\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}"
	for (; *kinds; kinds++, packed >>= 1) {
		struct str block =
			*kinds == 'i'   ? STR(IMAGE)
			: *kinds == 'R' ? STR(RESULT "," IMAGE "],\"is_error\":true}")
			: *kinds == 'd'
				? STR(RESULT
				      ",{\"type\":\"document\",\"source\":{\"type\":\"text\",\"data\":\"words\"}}]}")
			: *kinds == 'o' ? STR(RESULT ",{\"type\":\"tool_reference\"}," IMAGE "]}")
					: STR(RESULT "]}");
		if (*kinds == 't')
			add(t, ROLE_ASSISTANT, "an answer about \"image\"");
		else
			transcript_add(t, ROLE_USER,
				       segment_new(*kinds == 'i' ? SEGMENT_OTHER : SEGMENT_TOOL_RESULT, block));
		if (packed & 1)
			transcript_pack(t);
	}
}

TEST(a_line_of_text_stands_in_place_of_media_that_the_server_does_not_take)
{
	enum { ALL = BODY_IMAGES | BODY_DOCUMENTS };
	static const struct {
		const char *kinds;
		unsigned media;
		size_t images, lines, texts; /* sent images, lines in place of some, texts of documents */
	} rows[] = {
		{ "itr", 0, 1, 0, 0 },
		{ "itr", ALL, 0, 1, 0 },
		{ "iitRd", ALL, 0, 3, 1 },
		{ "rtr", ALL, 0, 0, 0 },
		{ "rtd", BODY_IMAGES, 0, 0, 0 },
		{ "itRtd", BODY_DOCUMENTS, 2, 0, 1 },
		{ "itRtR", BODY_RESULT_MEDIA, 1, 2, 0 },
		{ "oto", BODY_IMAGES, 0, 2, 0 },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_BUF struct buf first = { 0 };
		for (unsigned packed = 0; packed < 1u << strlen(rows[i].kinds); packed++) {
			AUTO_BUF struct buf got = { 0 };
			AUTO_ARENA struct arena a = { 0 };
			AUTO_JSON struct json_reader reader = { 0 };
			struct stage s;
			struct body b;
			stage_init(&s);
			add_media(&s.t, rows[i].kinds, packed);
			body_init(&b, s.head, &s.t, 0);
			body_replace_media(&b, rows[i].media, &a);
			body_set_origin(&b, ORIGIN_NONE, false);
			read_all(&b, 5, &got);
			CHECK_INT(b.size, got.n);
			CHECK(json_read(&reader, buf_str(&got)) != NULL);
			CHECK_INT(count_of(&got, "QUJD"), rows[i].images);
			CHECK_INT(count_of(&got, "[An image was left out"), rows[i].lines);
			CHECK_INT(count_of(&got, "\"content\":\"x\\nwords\""), rows[i].texts);
			CHECK_INT(count_of(&got, MARK), 2);
			if (!packed)
				buf_append(&first, buf_str(&got));
			CHECK_CSTR(got.p, first.p);
			stage_release(&s);
		}
	}
}

TEST(fifty_forks_send_the_same_prefix)
{
	enum { FORKS = 50 };
	struct stage s;
	struct transcript forks[FORKS] = { 0 };
	AUTO_BUF struct buf first = { 0 };
	stage_init(&s);
	for (int i = 0; i < 40; i++)
		add(&s.t, i % 2 ? ROLE_ASSISTANT : ROLE_USER, "a long conversation");

	for (int i = 0; i < FORKS; i++) {
		char task[32];
		struct body b;
		AUTO_BUF struct buf out = { 0 };
		transcript_fork(&s.t, &forks[i]);
		snprintf(task, sizeof task, "task %d", i);
		add(&forks[i], ROLE_USER, task);
		body_init(&b, s.head, &forks[i], 38);
		read_all(&b, 777, &out);
		if (!i)
			buf_add(&first, out.p, out.n);
		const char *own = strstr(out.p, "{\"type\":\"text\",\"text\":\"task ");
		CHECK(own != NULL);
		CHECK(!memcmp(out.p, first.p, (size_t)(own - out.p)));
		CHECK_INT(b.mark_count, 3);
	}
	for (int i = 0; i < FORKS; i++)
		transcript_release(&forks[i]);
	stage_release(&s);
}

TEST(heads_with_the_same_bytes_are_one)
{
	struct head_pool pool = { 0 };
	struct head *many[100];
	struct head *first = head_intern(&pool, STR("same"));

	for (int i = 0; i < 100; i++) {
		char text[16];
		snprintf(text, sizeof text, "head %d", i);
		many[i] = head_intern(&pool, str_from(text));
	}
	struct head *again = head_intern(&pool, STR("same"));

	CHECK(again == first);
	CHECK_INT(first->refs, 2);
	CHECK_STR(first->bytes, "same");
	CHECK_STR(many[99]->bytes, "head 99");
	head_unref(again);
	CHECK_STR(first->bytes, "same");
	head_unref(first);
	struct head *anew = head_intern(&pool, STR("same"));
	CHECK_INT(anew->refs, 1);
	CHECK_STR(anew->bytes, "same");
	head_unref(anew);
	for (int i = 0; i < 100; i++)
		head_unref(many[i]);
	head_unref(NULL);
	head_pool_release(&pool);
}

int test_body(void)
{
	return RUN_TESTS(T(a_body_is_head_messages_and_closing_brackets),
			 T(a_reminder_comes_behind_the_last_block_of_the_user_and_is_not_marked),
			 T(every_read_size_gives_the_same_bytes_and_a_rewind_gives_them_again),
			 T(blocks_that_come_later_are_not_part_of_a_body),
			 T(marks_stand_at_the_previous_one_the_last_shared_block_and_the_last_block),
			 T(a_packed_conversation_sends_the_same_bytes),
			 T(thinking_goes_to_the_place_and_model_that_it_came_from),
			 T(a_line_of_text_stands_in_place_of_media_that_the_server_does_not_take),
			 T(fifty_forks_send_the_same_prefix), T(heads_with_the_same_bytes_are_one));
}
