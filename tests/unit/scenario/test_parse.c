/* SPDX-License-Identifier: MIT
 * test_parse.c - scenario files: what is understood and which line an error names. */
#include "stage.h"
#include "core/scenario/engine.h"
#include "core/scenario/scenario.h"

TEST(a_bad_scenario_is_refused_with_file_and_line)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "", "x:1: the scenario has no rule" },
		{ "seed 3\n", "x:2: the scenario has no rule" },
		{ "rule\n", "x:1: the rule has no answer" },
		{ "rule\ntext a\nrule b\n\nturn 1\n", "x:3: the rule has no answer" },
		{ "text a\n", "x:1: 'text' belongs into a rule" },
		{ "rule\ntext a\nseed 4", "x:3: 'seed' must stand before the first rule" },
		{ "# c\n\nbogus 1\n", "x:3: unknown word 'bogus'" },
		{ "seed x\n", "x:1: expected a number, got 'x'" },
		{ "seed 1 2\n", "x:1: unexpected '2'" },
		{ "latency 5h\nrule\ntext a",
		  "x:1: expected a time up to a day such as 50, 50ms, 2s or 100..300, got '5h'" },
		{ "latency 9..3\nrule\ntext a",
		  "x:1: expected a time up to a day such as 50, 50ms, 2s or 100..300, got '9..3'" },
		{ "cache maybe\n", "x:1: expected 'off' or 'min N'" },
		{ "chunk 0\n", "x:1: a chunk has at least one byte" },
		{ "rule\nturn 0\n", "x:2: expected a number from 1 as 3, 1-3 or 4+, got '0'" },
		{ "rule\nturn 3-1\n", "x:2: expected a number from 1 as 3, 1-3 or 4+, got '3-1'" },
		{ "rule\nturn 3-4+\n", "x:2: expected a number from 1 as 3, 1-3 or 4+, got '3-4+'" },
		{ "rule\nprompt is \"x\"\n", "x:2: expected 'contains' or 'lacks'" },
		{ "rule\nprompt contains x\n", "x:2: expected a string in quotes" },
		{ "rule\nprompt contains \"x\n", "x:2: the string has no closing quote" },
		{ "rule\nevery 0\n", "x:2: 'every' needs at least 1" },
		{ "rule\nchance 1.5\n", "x:2: expected a chance from 0 to 1, got '1.5'" },
		{ "rule\nchance nan\n", "x:2: expected a chance from 0 to 1, got 'nan'" },
		{ "rule\ntext <<END\na\nb\n", "x:2: the block <<END is not closed" },
		{ "rule\ntext {{trun}}\n", "x:2: unknown name {{trun}}" },
		{ "rule\ntext {{env:HOME}}\n", "x:2: unknown name {{env:HOME}}" },
		{ "rule\ntext {{turn\n", "x:2: {{ without }}" },
		{ "rule\ntext {{last_result|x}}\n", "x:2: expected a number of bytes after | in {{last_result|x}}" },
		{ "rule\ncall Read [1]\n", "x:2: the input of a call must be a JSON object" },
		{ "rule\ncall Read {\"a\": {{prompt}}}\n",
		  "x:2: {{prompt}} is text and must stand inside a JSON string" },
		{ "rule\nrepeat 0 text a\n", "x:2: a block is repeated 1 to 100000 times" },
		{ "rule\nrepeat 2 stop end_turn\n", "x:2: 'stop' cannot be repeated" },
		{ "rule\ntext a\nstop later\n", "x:3: unknown stop reason 'later'" },
		{ "rule\ntext a\nusage output=-1\n",
		  "x:3: expected input=N, output=N, cache_read=N, cache_write=N or searches=N, got 'output=-1'" },
		{ "rule\nstatus 99\n", "x:2: a status is 200 to 599" },
		{ "rule\nheader bad\n", "x:2: expected 'name: value'" },
		{ "rule\ntext a\ncut here\n", "x:3: expected 'at byte N', 'after event K' or 'after call K'" },
		{ "rule\ntext a\ncut at byte 3\nstall at byte 4\n", "x:4: a rule has one of cut, stall and error" },
		{ "rule\ntext a\nerror api_error at byte 4\n",
		  "x:3: an error event stands after an event or a call, not at a byte" },
		{ "rule\nstatus 500\ntext a\n",
		  "x:1: the rule has an answer and a status, body or garbage in its place" },
		{ "rule\nempty\ntext a\n", "x:1: the rule is empty and has blocks" },
		{ "rule\nfiller 5000MB\n", "x:2: a size is at most 1024MB" },
		{ "rule\nline 65MB\n", "x:2: a line has at most 64MB" },
		{ "rule\nfiller big\n", "x:2: expected a size such as 300, 64KB or 10MB, got 'big'" },
		{ "rule\ntext a\ncapture x prompt \"y\" word\n", "x:3: a capture must stand before the answer" },
		{ "rule\ncapture x nowhere \"y\" word\n",
		  "x:2: expected prompt, last, system, last_result or result:K, got 'nowhere'" },
		{ "rule\ntext \xff\n", "x: a scenario is UTF-8 text without NUL" },
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct scenario *s = NULL;
		struct err err = { 0 };

		CHECK_INT(scenario_parse("x", str_from(cases[i].text), &s, &err), -ERR_PARSE);
		CHECK_CSTR(err.text, cases[i].error);
		CHECK(!s);
	}
}

TEST(bad_json_in_a_call_names_the_line_of_the_call)
{
	struct scenario *s = NULL;
	struct err err = { 0 };

	CHECK_INT(scenario_parse("x", STR("rule\ncall Read {\"a\": }\n"), &s, &err), -ERR_PARSE);

	CHECK(str_starts(str_from(err.text), STR("x:2: bad JSON: ")));
}

TEST(settings_and_pace_are_kept_and_a_rule_may_change_its_pace)
{
	struct scenario *s = NULL;
	struct err err = { 0 };
	const char *text = "seed 9\nlatency 2s\ncapacity 5\nrate 7\nretry-after 3\ncache min 10\nchunk 4 pieces\n"
			   "rule one\n  text a\nrule two words\n  latency 10..20ms\n  delay 5\n  chunk 3\n  text b\n";

	CHECK_INT(scenario_parse("x", str_from(text), &s, &err), 0);

	const struct rule *one = s->rules;
	const struct rule *two = one->next;
	CHECK_INT(s->seed, 9);
	CHECK_INT(s->capacity, 5);
	CHECK_INT(s->rate_per_s, 7);
	CHECK_INT(s->retry_after_s, 3);
	CHECK_INT(s->cache_min_tokens, 10);
	CHECK_INT(one->pace.latency_ms.from, 2000);
	CHECK_INT(one->pace.chunk_pieces, 4);
	CHECK_STR(two->name, "two words");
	CHECK_INT(two->line, 10);
	CHECK_INT(two->pace.latency_ms.from, 10);
	CHECK_INT(two->pace.latency_ms.to, 20);
	CHECK_INT(two->pace.chunk_bytes, 3);
	CHECK_INT(two->pace.chunk_pieces, 0);
	scenario_free(s);
}

TEST(a_block_of_text_loses_the_indentation_of_its_last_line)
{
	struct scenario *s = NULL;
	struct err err = { 0 };

	CHECK_INT(scenario_parse("x", STR("rule\n  text <<END\n    one\n      two\n\n  three\n    END\n"), &s, &err),
		  0);

	CHECK_STR(s->rules->blocks->text.pieces->text, "one\n  two\n\n  three");
	scenario_free(s);
}

TEST(the_embedded_scenario_is_valid)
{
	struct scenario *s = NULL;
	struct err err = { 0 };

	if (scenario_parse("demo.txt", str_from(scenario_demo), &s, &err) < 0)
		fail_msg("%s", err.text);

	CHECK(s->rule_count >= 4);
	scenario_free(s);
}

int parse_tests(void)
{
	return RUN_TESTS(T(a_bad_scenario_is_refused_with_file_and_line),
			 T(bad_json_in_a_call_names_the_line_of_the_call),
			 T(settings_and_pace_are_kept_and_a_rule_may_change_its_pace),
			 T(a_block_of_text_loses_the_indentation_of_its_last_line), T(the_embedded_scenario_is_valid));
}
