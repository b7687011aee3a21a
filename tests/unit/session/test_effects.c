/* SPDX-License-Identifier: MIT
 * test_effects.c - what settings change in a session of a host. */
#include "lib/base/buf.h"
#include "lib/io/file.h"
#include "product/session/session.h"
#include "stage.h"

#define FIRST "rule\n  agent main\n  prompt contains \"work\"\n  turn 1\n  call "

static void keep_answer(const struct cadre_event *e, void *data)
{
	if (cadre_event_kind(e) == CADRE_TURN_ENDED)
		buf_addstr(data, cadre_event_text(e, NULL));
}

TEST(managed_settings_bring_instructions_of_their_own)
{
	struct stage st = { 0 };
	AUTO_BUF struct buf answer = { 0 };

	stage_open_managed(&st, "rule\n  last contains \"Speak of ships.\"\n  text aye\nrule\n  text what\n",
			   "{\"claudeMd\": \"Speak of ships.\"}", keep_answer, &answer);
	CHECK_INT(stage_prompt(&st, "hi"), CADRE_OK);
	cadre_run(st.c);

	CHECK_CSTR(answer.p, "aye");
	stage_close(&st);
}

/* The head of its next request, made again because of a change that changes nothing. */
static const char *renewed_head(struct cadre_session *s)
{
	const struct query *q = &s->tree.main.query;

	CHECK_INT(cadre_session_set(s, "max-thinking-tokens", NULL, NULL, 0), CADRE_OK);
	return (q->next_head ? q->next_head : q->config.head)->bytes.p;
}

TEST(each_session_keeps_the_prompt_and_the_effort_that_it_was_opened_with)
{
	struct stage st = { 0 };
	struct cadre_session *second;
	stage_open(&st, "rule\n  text ok\n", NULL, NULL, NULL);
	stage_set(&st, "system-prompt", "Of the second.");
	stage_set(&st, "append-system-prompt", "And more.");
	stage_set(&st, "effort", "high");
	stage_set(&st, "name", "the second");
	CHECK_INT(cadre_open(st.c, NULL, NULL, &second, NULL, 0), CADRE_OK);

	const char *first = renewed_head(st.session);
	CHECK(!strstr(first, "Of the second.") && !strstr(first, "And more.") && !strstr(first, "\"effort\":\"high\""));
	CHECK_INT(cadre_session_set(st.session, "effort", "low", NULL, 0), CADRE_OK);
	CHECK(strstr(renewed_head(st.session), "\"effort\":\"low\""));
	const char *other = renewed_head(second);
	CHECK(strstr(other, "Of the second.") && strstr(other, "And more.") && strstr(other, "\"effort\":\"high\""));
	CHECK_INT(cadre_session_set(second, "effort", NULL, NULL, 0), CADRE_OK);
	CHECK(!strstr(renewed_head(second), "\"output_config\""));
	AUTO_BUF struct buf text = { 0 };
	CHECK_INT(stage_prompt(&st, "hi"), CADRE_OK);
	cadre_run(st.c);
	CHECK_INT(file_read(cadre_session_file(st.session), 1 << 20, &text, NULL), 0);
	CHECK(!strstr(text.p, "the second"));
	cadre_close(second);
	stage_close(&st);
}

static void keep_type(const struct cadre_event *e, void *data)
{
	if (cadre_event_kind(e) == CADRE_AGENT_STARTED)
		buf_addf(data, "%s ", cadre_event_str(e, CADRE_STR_TYPE));
}

TEST(an_agent_without_a_type_is_a_fork_if_the_settings_say_so)
{
	static const char *const settings[] = {
		"{}", "{\"subagents\": {\"fork\": true}}", "{\"env\": {\"CLAUDE_CODE_FORK_SUBAGENT\": \"1\"}}",
		"{\"env\": {\"CLAUDE_CODE_FORK_SUBAGENT\": \"0\"}, \"subagents\": {\"fork\": true}}"
	};
	AUTO_BUF struct buf types = { 0 };

	for (size_t i = 0; i < COUNT_OF(settings); i++) {
		struct stage st = { 0 };
		stage_open(&st, FIRST "Agent {\"description\": \"Look\", \"prompt\": \"Look\"}\nrule\n  text ok\n",
			   settings[i], keep_type, &types);
		CHECK_INT(stage_prompt(&st, "work"), CADRE_OK);
		cadre_run(st.c);
		stage_close(&st);
	}
	CHECK_CSTR(types.p, "general-purpose fork fork general-purpose ");
}

struct asked {
	struct stage stage;
	unsigned count;
};

static void refuse_question(const struct cadre_event *e, void *data)
{
	struct asked *a = data;

	if (cadre_event_kind(e) != CADRE_PERMISSION_ASKED)
		return;
	a->count++;
	CHECK_INT(cadre_answer(a->stage.session, cadre_event_id(e), 0, CADRE_ONCE, NULL, NULL, 0), CADRE_OK);
}

TEST(a_rule_about_forks_is_about_an_agent_without_a_type_where_that_is_a_fork)
{
	static const char *const settings[] = {
		"{\"permissions\": {\"ask\": [\"Agent(fork)\"]}}",
		"{\"permissions\": {\"ask\": [\"Agent(fork)\"]}, \"subagents\": {\"fork\": true}}",
	};

	for (unsigned i = 0; i < COUNT_OF(settings); i++) {
		struct asked a = { 0 };
		stage_open(&a.stage, FIRST "Agent {\"description\": \"Look\", \"prompt\": \"Look\"}\nrule\n  text ok\n",
			   settings[i], refuse_question, &a);
		CHECK_INT(stage_prompt(&a.stage, "work"), CADRE_OK);
		cadre_run(a.stage.c);
		CHECK_INT(a.count, i);
		stage_close(&a.stage);
	}
}

int test_effects(void)
{
	return RUN_TESTS(T(each_session_keeps_the_prompt_and_the_effort_that_it_was_opened_with),
			 T(managed_settings_bring_instructions_of_their_own),
			 T(an_agent_without_a_type_is_a_fork_if_the_settings_say_so),
			 T(a_rule_about_forks_is_about_an_agent_without_a_type_where_that_is_a_fork));
}
