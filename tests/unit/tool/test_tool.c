/* SPDX-License-Identifier: MIT
 * test_tool.c - the one path of every call: complaint, gate, run, end; limits and repair on the way; sets of tools. */
#include "unit.h"
#include <sys/stat.h>
#include "lib/base/utf8.h"
#include "lib/io/file.h"
#include "tests.h"
#include "core/tool/deferral.h"

#define SCHEMA                                                                                                 \
	"\"input_schema\":{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"}},\"required\":[" \
	"\"path\"]}"

static struct tool_call *kept; /* the call of slow_start */
static unsigned starts, cancels;

static void quick_start(struct tool_call *call)
{
	AUTO_ARENA struct arena a = { 0 };

	starts++;
	tool_call_finish(call, json_str(json_get(call->input, "path"), &a));
}

static void slow_start(struct tool_call *call)
{
	starts++;
	kept = call;
}

static void slow_cancel(struct tool_call *call)
{
	cancels++;
	tool_call_fail(call, "stopped at %d%%", 50);
}

static unsigned flags_for(const struct tool_call *call)
{
	return json_str_is(json_get(call->input, "path"), "ro") ? TOOL_READ_ONLY : 0;
}

static const struct tool quick = { .name = "Quick",
				   .definition = "{\"name\":\"Quick\"," SCHEMA "}",
				   .subject = "path",
				   .flags = TOOL_EDITS,
				   .start = quick_start,
				   .flags_for = flags_for };
static const struct tool slow = { .name = "Slow",
				  .definition = "{\"name\":\"Slow\"}",
				  .flags = TOOL_READ_ONLY,
				  .start = slow_start,
				  .cancel = slow_cancel };
static const struct tool stubborn = { .name = "Stubborn", .definition = "{}", .start = slow_start };

struct stage {
	struct loop *loop;
	struct tool_env env;
	struct tool_gate gate;
	struct tool_call *asked; /* the gate was asked and has not answered */
	enum { ALLOW, DENY, LATER } policy;
	unsigned done;
	char dir[FOLDER_MAX];
};

static void ask(struct tool_gate *gate, struct tool_call *call)
{
	struct stage *s = CONTAINER_OF(gate, struct stage, gate);

	if (s->policy == LATER)
		s->asked = call;
	else
		tool_call_decided(call, s->policy == ALLOW ? TOOL_ALLOW : TOOL_DENY, STR("not \xff today"));
}

static void on_done(struct tool_call *call)
{
	++((struct stage *)call->owner)->done;
}

static void stage_init(struct stage *s)
{

	*s = (struct stage){ .loop = loop_new(LOOP_VIRTUAL_CLOCK), .gate.ask = ask };
	s->env.loop = s->loop;
	folder_make(s->dir);
	starts = cancels = 0;
	kept = NULL;
}

static void stage_release(struct stage *s)
{
	folder_remove(s->dir);
	loop_free(s->loop);
}

static struct tool_call *new_call(struct stage *s, const struct tool *tool, const char *input)
{
	struct tool_call *call = tool_call_new(&s->env, &s->gate, tool, STR("toolu_1"), STR("Called"), str_from(input));

	call->owner = s;
	call->done = on_done;
	return call;
}

/* Starts the call and runs it to its end; done must not have come from inside the start. */
static struct tool_call *run(struct stage *s, const struct tool *tool, const char *input)
{
	struct tool_call *call = new_call(s, tool, input);

	tool_call_start(call);
	CHECK_INT(s->done, 0);
	loop_run(s->loop);
	CHECK_INT(s->done, 1);
	return call;
}

TEST(a_call_that_is_allowed_runs_and_is_reported_later)
{
	struct stage s;
	stage_init(&s);

	struct tool_call *call = run(&s, &quick, "{\"path\":\"/x\"}");

	CHECK_STR(buf_str(&call->result), "/x");
	CHECK(!call->is_error && !call->denied);
	CHECK_CSTR(call->id, "toolu_1");
	CHECK_INT(call->flags, 0);
	tool_call_free(call);
	tool_call_free(NULL);
	stage_release(&s);
}

TEST(flags_are_those_of_the_very_input)
{
	struct stage s;
	stage_init(&s);
	struct tool_call *read_only = new_call(&s, &quick, "{\"path\":\"ro\"}");
	struct tool_call *broken = new_call(&s, &quick, "{}");
	struct tool_call *plain = new_call(&s, &slow, "{}");

	CHECK_INT(read_only->flags, TOOL_READ_ONLY);
	CHECK_INT(broken->flags, TOOL_EDITS);
	CHECK_INT(plain->flags, TOOL_READ_ONLY);
	tool_call_free(read_only);
	tool_call_free(broken);
	tool_call_free(plain);
	stage_release(&s);
}

static const struct {
	const char *what;
	const struct tool *tool;
	const char *input, *says;
} complaints[] = {
	{ "an unknown tool", NULL, "{}", "No such tool available: Called" },
	{ "input that is not JSON", &quick, "{\"path\":", "not JSON" },
	{ "no input", &quick, "", "not JSON" },
	{ "input that a wire could not read", &quick, "{\"INVALID_JSON\":\"{a\"}", "not a JSON object: \"{a\"" },
	{ "a missing parameter", &quick, "{}", "path: required parameter is missing" },
	{ "a wrong type", &quick, "{\"path\":7}", "path: expected a string" },
	{ "no object", &quick, "[]", "InputValidationError" },
};

TEST(a_call_that_cannot_be_meant_is_answered_without_asking_or_running)
{
	for (size_t i = 0; i < COUNT_OF(complaints); i++) {
		struct stage s;
		stage_init(&s);
		s.policy = LATER;
		print_message("# %s\n", complaints[i].what);

		struct tool_call *call = run(&s, complaints[i].tool, complaints[i].input);

		CHECK(call->is_error && !call->denied);
		CHECK(!s.asked && !starts);
		CHECK(str_starts(buf_str(&call->result), STR("<tool_use_error>")));
		CHECK(str_ends(buf_str(&call->result), STR("</tool_use_error>")));
		CHECK(strstr(call->result.p, complaints[i].says) != NULL);
		tool_call_free(call);
		stage_release(&s);
	}
}

TEST(a_denied_call_does_not_run_and_tells_why)
{
	struct stage s;
	stage_init(&s);
	s.policy = DENY;

	struct tool_call *call = run(&s, &quick, "{\"path\":\"/x\"}");

	CHECK_STR(buf_str(&call->result), "not \xef\xbf\xbd today");
	CHECK(call->is_error && call->denied);
	CHECK_INT(starts, 0);
	tool_call_free(call);
	stage_release(&s);
}

TEST(a_call_that_is_cancelled_before_its_start_does_not_run)
{
	struct stage s;
	stage_init(&s);
	struct tool_call *call = new_call(&s, &quick, "{\"path\":\"/x\"}");

	tool_call_cancel(call);
	loop_run(s.loop);
	CHECK_INT(s.done, 0);
	tool_call_start(call);
	CHECK_INT(s.done, 0);
	loop_run(s.loop);

	CHECK_INT(s.done, 1);
	CHECK(call->is_error);
	CHECK_INT(starts, 0);
	tool_call_free(call);
	stage_release(&s);
}

TEST(a_call_that_is_cancelled_while_somebody_is_asked_ends_and_the_answer_is_too_late)
{
	struct stage s;
	stage_init(&s);
	s.policy = LATER;
	struct tool_call *call = new_call(&s, &quick, "{\"path\":\"/x\"}");
	tool_call_start(call);

	tool_call_cancel(call);
	tool_call_cancel(call);
	CHECK_INT(s.done, 0);
	tool_call_decided(s.asked, TOOL_ALLOW, STR(""));
	loop_run(s.loop);

	CHECK_INT(s.done, 1);
	CHECK(call->is_error && !call->denied);
	CHECK_INT(starts, 0);
	tool_call_free(call);
	stage_release(&s);
}

TEST(a_call_that_is_cancelled_while_it_runs_is_ended_by_its_tool)
{
	struct stage s;
	stage_init(&s);
	struct tool_call *call = new_call(&s, &slow, "{}");
	tool_call_start(call);
	loop_run(s.loop);
	CHECK_INT(s.done, 0);

	tool_call_cancel(call);
	tool_call_cancel(call);
	CHECK_INT(s.done, 0);
	loop_run(s.loop);
	tool_call_cancel(call);

	CHECK_INT(s.done, 1);
	CHECK_INT(cancels, 1);
	CHECK_STR(buf_str(&call->result), "stopped at 50%");
	CHECK(call->is_error);
	tool_call_free(call);
	stage_release(&s);
}

TEST(a_tool_that_cannot_be_cancelled_is_waited_for)
{
	struct stage s;
	stage_init(&s);
	struct tool_call *call = new_call(&s, &stubborn, "{}");
	tool_call_start(call);

	tool_call_cancel(call);
	loop_run(s.loop);
	CHECK_INT(s.done, 0);
	tool_call_finish(kept, STR("after all"));
	tool_call_finish(kept, STR("a second end is none"));
	loop_run(s.loop);

	CHECK_INT(s.done, 1);
	CHECK_STR(buf_str(&call->result), "after all");
	tool_call_free(call);
	stage_release(&s);
}

TEST(a_result_becomes_valid_utf_8)
{
	struct stage s;
	stage_init(&s);
	struct tool_call *call = new_call(&s, &slow, "{}");
	tool_call_start(call);

	buf_add(&call->result, "a\xff\0b\xed\xa0\x80", 7);
	tool_call_end(call);
	loop_run(s.loop);

	CHECK_INT(call->result.n, 15);
	CHECK(!memcmp(call->result.p, "a\xef\xbf\xbd\0b\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", 15));
	tool_call_free(call);
	stage_release(&s);
}

static void fill(struct buf *out, size_t n)
{
	while (out->n < n)
		buf_addstr(out, "0123456789\xc3\xa9\n");
	out->n = n;
	out->p[n] = '\0';
}

TEST(a_result_at_the_limit_stays_as_it_is)
{
	struct stage s;
	stage_init(&s);
	struct tool_call *call = new_call(&s, &slow, "{}");
	tool_call_start(call);

	while (call->result.n < TOOL_RESULT_LIMIT)
		buf_addstr(&call->result, "0123456789");
	tool_call_end(call);
	loop_run(s.loop);

	CHECK_INT(call->result.n, TOOL_RESULT_LIMIT);
	CHECK(str_ends(buf_str(&call->result), STR("0123456789")));
	tool_call_free(call);
	stage_release(&s);
}

TEST(a_result_above_the_limit_goes_to_a_file)
{
	struct stage s;
	AUTO_BUF struct buf big = { 0 };
	AUTO_BUF struct buf saved = { 0 };
	char path[100], results[90];
	struct err err = { 0 };
	stage_init(&s);
	snprintf(results, sizeof results, "%s/session/tool-results", s.dir);
	snprintf(path, sizeof path, "%s/toolu_1.txt", results);
	s.env.results_dir = results;
	fill(&big, 2 * 1024 * 1024 + 1);
	struct tool_call *call = new_call(&s, &slow, "{}");
	tool_call_start(call);

	tool_call_finish(call, buf_str(&big));
	loop_run(s.loop);

	CHECK(call->result.n < 3000);
	CHECK(utf8_valid(buf_str(&call->result)));
	CHECK(str_starts(buf_str(&call->result),
			 STR("<persisted-output>\nOutput too large (2.0MB). Full output saved to: ")));
	CHECK(strstr(call->result.p, path) != NULL);
	CHECK(strstr(call->result.p, "\n0123456789\xc3\xa9\n0123") != NULL);
	CHECK_INT(file_read(path, 1 << 24, &saved, &err), 0);
	CHECK_INT(saved.n, big.n);
	tool_call_free(call);
	stage_release(&s);
}

TEST(a_call_id_cannot_lead_out_of_the_results_directory)
{
	struct stage s;
	AUTO_BUF struct buf big = { 0 };
	char results[90], path[120];
	stage_init(&s);
	snprintf(results, sizeof results, "%s/results", s.dir);
	s.env.results_dir = results;
	fill(&big, TOOL_RESULT_LIMIT + 1);
	struct tool_call *call = tool_call_new(&s.env, &s.gate, &slow, STR("../../x/y"), STR("Slow"), STR("{}"));
	call->owner = &s;
	call->done = on_done;
	tool_call_start(call);

	tool_call_finish(call, buf_str(&big));
	loop_run(s.loop);

	snprintf(path, sizeof path, "%s/______x_y.txt", results);
	CHECK(file_exists(path));
	tool_call_free(call);
	stage_release(&s);
}

TEST(without_a_place_for_the_file_head_and_tail_of_the_result_are_kept)
{
	struct stage s;
	AUTO_BUF struct buf big = { 0 };
	char blocked[90];
	struct err err = { 0 };
	stage_init(&s);
	snprintf(blocked, sizeof blocked, "%s/file", s.dir);
	CHECK_INT(file_replace(blocked, "x", 1, &err), 0);
	buf_addstr(&big, "FIRST");

	/* One byte longer each time, so that head and tail begin and end inside a character, too. */
	for (size_t i = 0; i < 26; i++) {
		s.env.results_dir = i % 2 ? blocked : NULL;
		s.done = 0;
		big.n = 5;
		for (size_t k = 0; k < i / 2; k++)
			buf_addch(&big, ' ');
		while (big.n < 300000)
			buf_addstr(&big, "0123456789\xc3\xa9\n");
		for (size_t k = 0; k < i / 2; k++)
			buf_addch(&big, ' ');
		buf_addstr(&big, " LAST");
		struct tool_call *call = new_call(&s, &slow, "{}");
		tool_call_start(call);
		tool_call_finish(call, buf_str(&big));
		loop_run(s.loop);
		CHECK(call->result.n < 11000);
		CHECK(!strstr(call->result.p, "\xef\xbf\xbd"));
		CHECK(str_starts(buf_str(&call->result), STR("FIRST")));
		CHECK(str_ends(buf_str(&call->result), STR(" LAST")));
		CHECK(strstr(call->result.p, "293.0KB in all; the middle is left out") != NULL);
		CHECK_INT(strstr(call->result.p, "because") != NULL, i % 2);
		tool_call_free(call);
	}
	stage_release(&s);
}

TEST(a_summary_is_one_line_about_the_subject)
{
	struct stage s;
	stage_init(&s);
	struct tool_call *subject = new_call(&s, &quick, "{\"path\":\"a\\nb\"}");
	struct tool_call *none = new_call(&s, &slow, "{\"path\":1,\n\"x\":2}");
	struct tool_call *unknown = new_call(&s, NULL, "{}");

	CHECK_STR(tool_call_summary(subject), "a b");
	CHECK_STR(tool_call_summary(none), "{\"path\":1, \"x\":2}");
	CHECK_STR(tool_call_summary(unknown), "");
	tool_call_free(subject);
	tool_call_free(none);
	tool_call_free(unknown);
	stage_release(&s);
}

TEST(a_tool_is_found_by_its_exact_name_first)
{
	static const struct tool lower = { .name = "quick", .definition = "{}", .start = quick_start };
	struct tool_set set = { 0 };

	CHECK(!tool_set_find(&set, STR("Quick")));
	tool_set_add(&set, &quick);
	CHECK(tool_set_find(&set, STR("quick")) == &quick);
	tool_set_add(&set, &lower);
	for (int i = 0; i < 20; i++)
		tool_set_add(&set, &slow);

	CHECK(tool_set_find(&set, STR("quick")) == &lower);
	CHECK(tool_set_find(&set, STR("Quick")) == &quick);
	CHECK(tool_set_find(&set, STR("SLOW")) == &slow);
	CHECK(!tool_set_find(&set, STR("Quic")));
	CHECK(!tool_set_find(&set, STR("")));
	tool_set_release(&set);
}

TEST(a_tool_that_waits_is_answered_with_what_to_do_first)
{
	static const struct tool late = {
		.name = "late", .definition = "{\"name\":\"late\"}", .flags = TOOL_MAY_WAIT, .start = quick_start
	};
	CLEANUP(tool_set_release) struct tool_set tools = { 0 };
	CLEANUP(deferral_release) struct deferral d = { .on = true };
	struct stage s;
	stage_init(&s);
	tool_set_add(&tools, &late);
	deferral_arrange(&d, &tools, NULL, NULL);
	s.env.deferral = &d;

	struct tool_call *call = run(&s, &late, "{\"path\":\"x\"}");

	CHECK_INT(starts, 0);
	CHECK(call->is_error);
	CHECK_CSTR(call->result.p,
		   "<tool_use_error>InputValidationError: late is not loaded yet, and you have not seen its input "
		   "schema. Call ToolSearch with the query \"select:late\" first, then late "
		   "again.</tool_use_error>");
	tool_call_free(call);
	stage_release(&s);
}

int main(void)
{
	RUN_TESTS(T(a_call_that_is_allowed_runs_and_is_reported_later), T(flags_are_those_of_the_very_input),
		  T(a_call_that_cannot_be_meant_is_answered_without_asking_or_running),
		  T(a_denied_call_does_not_run_and_tells_why),
		  T(a_call_that_is_cancelled_before_its_start_does_not_run),
		  T(a_call_that_is_cancelled_while_somebody_is_asked_ends_and_the_answer_is_too_late),
		  T(a_call_that_is_cancelled_while_it_runs_is_ended_by_its_tool),
		  T(a_tool_that_cannot_be_cancelled_is_waited_for), T(a_result_becomes_valid_utf_8),
		  T(a_result_at_the_limit_stays_as_it_is), T(a_result_above_the_limit_goes_to_a_file),
		  T(a_call_id_cannot_lead_out_of_the_results_directory),
		  T(without_a_place_for_the_file_head_and_tail_of_the_result_are_kept),
		  T(a_summary_is_one_line_about_the_subject), T(a_tool_is_found_by_its_exact_name_first),
		  T(a_tool_that_waits_is_answered_with_what_to_do_first));
	test_deferral();
	test_scheduler();
	return tests_run();
}
