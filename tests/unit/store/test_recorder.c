/* SPDX-License-Identifier: MIT
 * test_recorder.c - the fields of each line, and that what is recorded is what is loaded. */
#include "core/store/recorder.h"
#include "stage.h"
#include "test_session.h"

static const struct record_context context = {
	.session_id = "5e551011-0000-4000-8000-000000000001",
	.cwd = "/srv/\xff",
	.git_branch = "main",
	.version = "1.2.3",
	.entrypoint = "cli",
};

static const struct answer_ids ids = { "msg_1", "model-x", "req_1", "model-x" };

struct bench {
	struct stage stage;
	struct store store;
	struct recorder recorder;
};

static void bench_init(struct bench *b)
{
	stage_init(&b->stage);
	store_init(&b->store, NULL, b->stage.dir);
	b->recorder = (struct recorder){ .store = &b->store, .context = &context };
	b->recorder.journal = journal_new(&b->store, stage_path(&b->stage, "s.jsonl"));
}

static void bench_release(struct bench *b)
{
	journal_free(b->recorder.journal);
	store_release(&b->store);
	stage_release(&b->stage);
}

/* A line with its time and ids replaced by letters, so that it can be compared as a whole. */
static char *plain_line(struct bench *b, const char *line)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf out = { 0 };
	const struct json *root;

	CHECK_INT(json_parse(&reader, line, strlen(line), &root, NULL), 0);
	for (struct json_member m = json_members(root); m.key; m = json_member_next(root, m)) {
		struct str key = json_raw(m.key), value = json_raw(m.value);
		if (json_str_is(m.key, "uuid")) {
			CHECK(id_is_uuid((struct str){ m.value->text, m.value->len }));
			value = STR("U");
		} else if (json_str_is(m.key, "parentUuid") && json_is(m.value, JSON_STRING)) {
			value = STR("P");
		} else if (json_str_is(m.key, "timestamp")) {
			CHECK_INT(m.value->len, ISO_TIME_LEN);
			value = STR("T");
		}
		buf_addf(&out, "%s" STR_FMT ":" STR_FMT, out.n ? "," : "", STR_ARG(key), STR_ARG(value));
	}
	return arena_dup(&b->stage.arena, out.p, out.n);
}

#define COMMON(type)                                                                                                   \
	"\"isSidechain\":false,\"type\":\"" type "\",\"uuid\":U,\"timestamp\":T,\"userType\":\"external\","            \
	"\"entrypoint\":\"cli\",\"cwd\":\"/srv/\xef\xbf\xbd\",\"sessionId\":\"5e551011-0000-4000-8000-000000000001\"," \
	"\"version\":\"1.2.3\",\"gitBranch\":\"main\""
#define ANSWER                                                                                                         \
	"\"requestId\":\"req_1\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":" \
	"\"model-x\",\"content\":["

static void record_a_turn(struct bench *b)
{
	char uuid[UUID_LEN + 1];
	struct err err = { 0 };
	struct segment *prompt[] = { segment_text(STR("context")), segment_text(STR("hi")) };
	struct segment *block = segment_new(
		SEGMENT_TOOL_USE, STR("{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Read\",\"input\":{}}"));
	struct segment *result = segment_tool_result(STR("t1"), STR("found"), false);
	struct usage usage = { .input = 5, .output = 6 };

	CHECK_INT(recorder_user(&b->recorder, &(struct user_line){ .blocks = prompt, .count = 2, .meta = true }, uuid,
				&err),
		  0);
	CHECK_CSTR(b->recorder.last, uuid);
	struct segment *text = segment_text(STR("Let me see."));
	struct answer_stop end = { "tool_use", NULL, &usage, false };

	CHECK_INT(recorder_block(&b->recorder, &ids, text, NULL, uuid, &err), 0);
	CHECK_INT(recorder_block(&b->recorder, &ids, block, &end, uuid, &err), 0);
	segment_unref(text);
	CHECK_INT(recorder_result(&b->recorder, result, STR("{\"filePath\":\"/x\"}"), uuid, &err), 0);
	CHECK_CSTR(b->recorder.last, uuid);
	segment_unref(prompt[0]);
	segment_unref(prompt[1]);
	segment_unref(block);
	segment_unref(result);
}

/* clang-format off */
TEST(each_line_has_the_fields_that_other_programs_read)
{
	static const char *const expected[] = {
		"\"parentUuid\":null," COMMON("user") ",\"isMeta\":true,\"message\":{\"role\":\"user\",\"content\":["
		"{\"type\":\"text\",\"text\":\"context\"},{\"type\":\"text\",\"text\":\"hi\"}]}",
		"\"parentUuid\":P," COMMON("assistant") ",\"partial\":true," ANSWER
		"{\"type\":\"text\",\"text\":\"Let me see.\"}],\"stop_reason\":null,\"stop_sequence\":null}",
		"\"parentUuid\":P," COMMON("assistant") ","
	  ANSWER "{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Read\",\"input\":{}}],"
	  "\"stop_reason\":\"tool_use\",\"stop_sequence\":null,"
		"\"usage\":{\"input_tokens\":5,\"cache_creation_input_tokens\":0,\"cache_read_input_tokens\":0,"
		"\"output_tokens\":6,\"cache_creation\":{\"ephemeral_5m_input_tokens\":0,"
	  "\"ephemeral_1h_input_tokens\":0},"
		"\"server_tool_use\":{\"web_search_requests\":0}}}",
		"\"parentUuid\":P," COMMON("user") ",\"message\":{\"role\":\"user\",\"content\":["
		"{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"found\"}]},\"toolUseResult\":"
	  "{\"filePath\":\"/x\"}",
	};
	/* clang-format on */

	struct bench b;
	bench_init(&b);
	record_a_turn(&b);

	struct str rest = str_from(stage_read(&b.stage, "s.jsonl"));
	for (size_t i = 0; i < COUNT_OF(expected); i++)
		CHECK_CSTR(plain_line(&b, arena_str(&b.stage.arena, str_cut(&rest, '\n')).p), expected[i]);
	CHECK_STR(rest, "");
	bench_release(&b);
}

TEST(a_prompt_is_a_string_unless_it_is_more_than_a_text)
{
	static const struct {
		const char *block, *content;
	} cases[] = {
		{ "{\"type\":\"text\",\"text\":\"say \\\"hi\\\" \\\\\"}", "\"say \\\"hi\\\" \\\\\"" },
		{ "{\"type\":\"text\",\"text\":\"a\",\"x\":\"b\"}",
		  "[{\"type\":\"text\",\"text\":\"a\",\"x\":\"b\"}]" },
		{ "{\"type\":\"image\",\"text\":\"a\"}", "[{\"type\":\"image\",\"text\":\"a\"}]" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct bench b;
		struct err err = { 0 };
		char uuid[UUID_LEN + 1];
		bench_init(&b);
		struct segment *block = segment_new(SEGMENT_TEXT, str_from(cases[i].block));
		struct user_line line = { .blocks = &block, .count = 1 };

		CHECK_INT(recorder_user(&b.recorder, &line, uuid, &err), 0);

		const char *text = stage_read(&b.stage, "s.jsonl"), *content = strstr(text, "\"content\":");
		CHECK(content && str_starts(str_from(content + 10), str_from(cases[i].content)));
		segment_unref(block);
		bench_release(&b);
	}
}

TEST(each_line_names_the_one_before_it)
{
	struct bench b;
	AUTO_JSON struct json_reader reader = { 0 };
	char before[UUID_LEN + 1] = "";
	bench_init(&b);
	record_a_turn(&b);

	struct str rest = str_from(stage_read(&b.stage, "s.jsonl"));
	while (rest.n) {
		struct str line = str_cut(&rest, '\n');
		const struct json *root;
		CHECK_INT(json_parse(&reader, line.p, line.n, &root, NULL), 0);
		if (before[0])
			CHECK(json_str_is(json_get(root, "parentUuid"), before));
		snprintf(before, sizeof before, "%s", json_cstr(json_get(root, "uuid"), &b.stage.arena));
	}
	CHECK_CSTR(before, b.recorder.last);
	bench_release(&b);
}

TEST(what_is_recorded_is_what_is_loaded)
{
	struct bench b;
	struct session_load l;
	struct err err = { 0 };
	bench_init(&b);
	record_a_turn(&b);

	CHECK_INT(session_load(stage_path(&b.stage, "s.jsonl"), &l, &err), 0);

	CHECK_CSTR(stage_describe(&b.stage, &l), "u:context, u:hi, a:Let me see., a:call t1, u:t1=found; interrupted");
	CHECK_CSTR(l.last, b.recorder.last);
	CHECK_CSTR(l.cwd, "/srv/\xef\xbf\xbd");
	session_load_release(&l);
	bench_release(&b);
}

TEST(a_fork_begins_with_its_origin)
{
	struct bench b;
	struct err err = { 0 };
	bench_init(&b);

	CHECK_INT(recorder_fork_origin(&b.recorder,
				       &(struct fork_origin){ .session_id = context.session_id, .uuid = "the-line" },
				       &err),
		  0);

	CHECK_CSTR(plain_line(&b, stage_read(&b.stage, "s.jsonl")),
		   "\"parentUuid\":null," COMMON(
			   "fork-origin") ",\"forkedFrom\":{\"sessionId\":"
					  "\"5e551011-0000-4000-8000-000000000001\",\"uuid\":\"the-line\"}");
	CHECK(id_is_uuid(str_from(b.recorder.last)));
	bench_release(&b);
}

TEST(a_line_that_was_not_written_is_nobodys_parent)
{
	struct bench b;
	struct err err = { 0 };
	char uuid[UUID_LEN + 1], before[UUID_LEN + 1];
	bench_init(&b);
	record_a_turn(&b);
	memcpy(before, b.recorder.last, sizeof before);
	stage_write(&b.stage, "file", "in the way");
	struct journal *good = b.recorder.journal;
	struct journal *bad = journal_new(&b.store, stage_path(&b.stage, "file/s.jsonl"));
	struct segment *text = segment_text(STR("x"));

	b.recorder.journal = bad;
	CHECK_INT(recorder_user(&b.recorder, &(struct user_line){ .blocks = &text, .count = 1 }, uuid, &err), -ERR_IO);
	b.recorder.journal = good;

	CHECK_CSTR(b.recorder.last, before);
	segment_unref(text);
	journal_free(bad);
	bench_release(&b);
}

TEST(without_a_journal_only_uuids_are_made)
{
	struct bench b;
	struct err err = { 0 };
	char uuid[UUID_LEN + 1];
	bench_init(&b);
	struct journal *journal = TAKE(b.recorder.journal);
	struct segment *text = segment_text(STR("x"));

	CHECK_INT(recorder_user(&b.recorder, &(struct user_line){ .blocks = &text, .count = 1 }, uuid, &err), 0);

	CHECK_CSTR(b.recorder.last, uuid);
	CHECK_INT(access(stage_path(&b.stage, "s.jsonl"), F_OK), -1);
	segment_unref(text);
	b.recorder.journal = journal;
	bench_release(&b);
}

TEST(the_lines_of_a_child_are_marked)
{
	struct bench b;
	struct err err = { 0 };
	char uuid[UUID_LEN + 1];
	struct record_context child = context;
	bench_init(&b);
	child.agent_id = "a0123456789abcdef";
	b.recorder.context = &child;
	struct segment *text = segment_text(STR("x"));

	CHECK_INT(recorder_user(&b.recorder, &(struct user_line){ .blocks = &text, .count = 1 }, uuid, &err), 0);

	CHECK(strstr(stage_read(&b.stage, "s.jsonl"), "\"isSidechain\":true,\"agentId\":\"a0123456789abcdef\"") !=
	      NULL);
	segment_unref(text);
	bench_release(&b);
}

TEST(a_huge_line_does_not_stay_in_memory)
{
	struct bench b;
	struct err err = { 0 };
	char uuid[UUID_LEN + 1];
	AUTO_BUF struct buf big = { 0 };
	bench_init(&b);
	for (int i = 0; i < 100000; i++)
		buf_addstr(&big, "0123456789");
	struct segment *text = segment_text(buf_str(&big));

	CHECK_INT(recorder_user(&b.recorder, &(struct user_line){ .blocks = &text, .count = 1 }, uuid, &err), 0);

	CHECK_INT(b.store.line.cap, 0);
	segment_unref(text);
	bench_release(&b);
}

int test_recorder(void)
{
	return RUN_TESTS(T(each_line_has_the_fields_that_other_programs_read),
			 T(a_prompt_is_a_string_unless_it_is_more_than_a_text), T(each_line_names_the_one_before_it),
			 T(what_is_recorded_is_what_is_loaded), T(a_fork_begins_with_its_origin),
			 T(a_line_that_was_not_written_is_nobodys_parent), T(without_a_journal_only_uuids_are_made),
			 T(the_lines_of_a_child_are_marked), T(a_huge_line_does_not_stay_in_memory));
}
