/* SPDX-License-Identifier: MIT
 * test_load.c - files as they are found on disks, and the conversation that each of them gives. */
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/ptrace.h>
#include "lib/io/loop.h"
#include "lines.h"
#include "stage.h"
#include "test_session.h"

/* clang-format off */
static const struct {
	const char *what, *file, *expected;
} files[] = {
	{ "an empty file", "", "" },
	{ "empty lines only", "\n \r\n\n", "" },
	{ "a prompt", PROMPT("1", NONE, "hi"), "u:hi; interrupted" },
	{ "an answer that was closed",
	  PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1", TEXT_BLOCK("yo")) CLOSE("3", OF("2"), "m1", "end_turn"),
	  "u:hi, a:yo" },
	{ "an answer of several blocks",
	  PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1",
	  "{\"type\":\"thinking\",\"thinking\":\"h\",\"signature\":\"s\"}")
	  PART("3", OF("2"), "m1", TEXT_BLOCK("yo")) CLOSE("4", OF("3"), "m1", "end_turn"),
	  "u:hi, a:<thinking>, a:yo" },
	{ "the agent that the session runs as: the newest word, beside the conversation",
	  "{\"type\":\"agent-setting\",\"agentSetting\":\"a\"}\n" PROMPT("1", NONE, "hi")
	  "{\"type\":\"agent-setting\",\"agentSetting\":\"b\"}\n" PROMPT("2", OF("1"), "yo"),
	  "u:hi, u:yo; interrupted; agent b" },
	{ "an agent that is no text",
	  "{\"type\":\"agent-setting\",\"agentSetting\":7}\n" PROMPT("1", NONE, "hi"), "u:hi; interrupted" },
	{ "a summary between two turns",
	  PROMPT("1", NONE, "hi") FOREIGN("2", OF("1"), "m1", TEXT_BLOCK("yo")) BOUNDARY("3", OF("2"))
	  SUMMARY("4", OF("3"), ",\"isMeta\":true", "sum"), "u:sum" },
	{ "a summary in a turn",
	  PROMPT("1", NONE, "hi") FOREIGN("2", OF("1"), "m1", TEXT_BLOCK("yo")) BOUNDARY("3", OF("2"))
	  SUMMARY("4", OF("3"), "", "sum"), "u:sum; interrupted" },
	{ "the conversation behind a summary, and what the summary cost",
	  PROMPT("1", NONE, "hi") FOREIGN("2", OF("1"), "m1", TEXT_BLOCK("yo")) CLOSE("s", OF("2"), "m2", "end_turn")
	  BOUNDARY("3", OF("s")) SUMMARY("4", OF("3"), ",\"isMeta\":true", "sum") PROMPT("5", OF("4"), "on")
	  FOREIGN("6", OF("5"), "m3", TEXT_BLOCK("well")), "u:sum, u:on, a:well" },
	{ "two summaries",
	  PROMPT("1", NONE, "hi") BOUNDARY("3", OF("1")) SUMMARY("4", OF("3"), "", "one") PROMPT("5", OF("4"), "on")
	  BOUNDARY("6", OF("5")) SUMMARY("7", OF("6"), "", "two") PROMPT("8", OF("7"), "more"),
	  "u:two, u:more; interrupted" },
	{ "a boundary without its summary",
	  PROMPT("1", NONE, "hi") FOREIGN("2", OF("1"), "m1", TEXT_BLOCK("yo")) BOUNDARY("3", OF("2")), "u:hi, a:yo" },
	{ "a boundary without its summary, then the next prompt",
	  PROMPT("1", NONE, "hi") FOREIGN("2", OF("1"), "m1", TEXT_BLOCK("yo")) BOUNDARY("3", OF("2"))
	  PROMPT("4", OF("2"), "on"), "u:hi, a:yo, u:on; interrupted" },
	{ "a torn last line",
	  PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1", TEXT_BLOCK("yo")) CLOSE("3", OF("2"), "m1", "end_turn")
	  "{\"parentUuid\":\"3\",\"type\":\"us", "u:hi, a:yo; repaired" },
	{ "no lines", "", "" },
	{ "an empty line", "\n", "" },
	{ "a torn first line", "{\"parentUuid\":nul", "; repaired" },
	{ "a blank in place of a line", PROMPT("1", NONE, "hi") " ", "u:hi; interrupted; repaired" },
	{ "a whole last line without its end",
	  PROMPT("1", NONE, "hi") USER_LINE("2", OF("1"), TEXT_BLOCK("and")), "u:hi, u:and; interrupted; repaired" },
	{ "an answer without a call and without a closing line",
	  PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1", TEXT_BLOCK("yo")), "u:hi; interrupted" },
	{ "such an answer, then the next try",
	  PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1", TEXT_BLOCK("gone")) PART("3", OF("2"), "m2",
	  TEXT_BLOCK("yo"))
	  CLOSE("4", OF("3"), "m2", "end_turn"), "u:hi, a:yo" },
	{ "such an answer, then the next prompt",
	  PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1", TEXT_BLOCK("gone")) PROMPT("3", OF("2"), "again"),
	  "u:hi, u:again; interrupted" },
	{ "an answer with a call and without a closing line",
	  PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1", TEXT_BLOCK("let me")) PART("3", OF("2"), "m1",
	  CALL_BLOCK("t1")),
	  "u:hi, a:let me, a:call t1; calls t1=no; interrupted" },
	{ "results in another order than their calls",
	  PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1", CALL_BLOCK("t1")) PART("3", OF("2"), "m1",
	  CALL_BLOCK("t2"))
	  CLOSE("4", OF("3"), "m1", "tool_use") RESULT("5", OF("4"), "t2", "two") RESULT("6", OF("5"), "t1", "one"),
	  "u:hi, a:call t1, a:call t2, u:t1=one, u:t2=two; interrupted" },
	{ "a result between the blocks of its answer",
	  PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1", CALL_BLOCK("t1")) RESULT("3", OF("2"), "t1", "one")
	  PART("4", OF("3"), "m1", CALL_BLOCK("t2")) CLOSE("5", OF("4"), "m1", "tool_use") RESULT("6", OF("5"), "t2",
	  "two")
	  PART("7", OF("6"), "m2", TEXT_BLOCK("done")) CLOSE("8", OF("7"), "m2", "end_turn"),
	  "u:hi, a:call t1, a:call t2, u:t1=one, u:t2=two, a:done" },
	{ "one of two results",
	  PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1", CALL_BLOCK("t1")) PART("3", OF("2"), "m1",
	  CALL_BLOCK("t2"))
	  CLOSE("4", OF("3"), "m1", "tool_use") RESULT("5", OF("4"), "t2", "two"),
	  "u:hi, a:call t1, a:call t2; calls t1=no t2=yes; interrupted" },
	{ "a missing result and the next prompt",
	  PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1", CALL_BLOCK("t1")) PART("3", OF("2"), "m1",
	  CALL_BLOCK("t2"))
	  CLOSE("4", OF("3"), "m1", "tool_use") RESULT("5", OF("4"), "t2", "two") PROMPT("6", OF("5"), "go on"),
	  "u:hi, a:call t1, a:call t2, u:t1=LOST, u:t2=two, u:go on; interrupted" },
	{ "a result twice: the first counts",
	  PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1", CALL_BLOCK("t1")) RESULT("3", OF("2"), "t1", "one")
	  RESULT("4", OF("3"), "t1", "other"), "u:hi, a:call t1, u:t1=one; interrupted" },
	{ "a result without its call", PROMPT("1", NONE, "hi") RESULT("2", OF("1"), "t9", "lost"), "u:hi; interrupted"
	  },
	{ "result and text in one line",
	  PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1", CALL_BLOCK("t1"))
	  USER_LINE("3", OF("2"), RESULT_BLOCK("t1", "one") "," TEXT_BLOCK("and")) "\n",
	  "u:hi, a:call t1, u:t1=one, u:and; interrupted" },
	{ "a refusal",
	  PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1", TEXT_BLOCK("no")) CLOSE("3", OF("2"), "m1", "refusal"),
	  "u:hi" },
	{ "a refusal after a call, which may have run",
	  PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1", CALL_BLOCK("t1")) CLOSE("3", OF("2"), "m1", "refusal")
	  RESULT("4", OF("3"), "t1", "one"), "u:hi, a:call t1, u:t1=one; interrupted" },
	{ "a pause",
	  PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1", TEXT_BLOCK("wait")) CLOSE("3", OF("2"), "m1",
	  "pause_turn"),
	  "u:hi, a:wait; interrupted" },
	{ "lines of unknown types",
	  "{\"type\":\"summary\",\"summary\":\"s\",\"leafUuid\":\"2\"}\n" PROMPT("1", NONE, "hi")
	  "{\"type\":\"attachment\",\"uuid\":\"a\",\"parentUuid\":\"1\"}\n"
	  PART("2", OF("a"), "m1", TEXT_BLOCK("yo")) CLOSE("3", OF("2"), "m1", "end_turn")
	  "{\"type\":\"file-history-snapshot\"}\n[1]\n", "u:hi, a:yo; skipped 1" },
	{ "a line that is not JSON",
	  PROMPT("1", NONE, "hi") "oops\n" PART("2", OF("1"), "m1", TEXT_BLOCK("yo")) CLOSE("3", OF("2"), "m1",
	  "end_turn"),
	  "u:hi, a:yo; skipped 1" },
	{ "a damaged line that was part of the chain",
	  PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1", TEXT_BLOCK("yo")) CLOSE("3", OF("2"), "m1", "end_turn")
	  "{\"uuid\":\"4\",####\n" PROMPT("5", OF("4"), "next"), "u:hi, a:yo, u:next; interrupted; skipped 1" },
	{ "a text of another program",
	  "{\"type\":\"user\",\"uuid\":\"1\",\"parentUuid\":null,\"message\":{\"role\":\"user\",\"content\":"
	  "\"hi\"}}\n"
	  FOREIGN("2", OF("1"), "m1", TEXT_BLOCK("yo")), "u:hi, a:yo" },
	{ "an empty text of another program",
	  "{\"type\":\"user\",\"uuid\":\"1\",\"message\":{\"content\":\"\"}}\n" PROMPT("2", OF("1"), "hi"),
	  "u:hi; interrupted" },
	{ "parallel results of another program that branch",
	  PROMPT("1", NONE, "hi") FOREIGN("2", OF("1"), "m1", CALL_BLOCK("t1")) FOREIGN("3", OF("2"), "m1",
	  CALL_BLOCK("t2"))
	  RESULT("4", OF("2"), "t1", "one") RESULT("5", OF("3"), "t2", "two") FOREIGN("6", OF("5"), "m2",
	  TEXT_BLOCK("done")),
	  "u:hi, a:call t1, a:call t2, u:t1=one, u:t2=two, a:done" },
	{ "answers of a server that gives all the same id",
	  PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1", CALL_BLOCK("t1")) CLOSE("3", OF("2"), "m1", "tool_use") RESULT("4", OF("3"), "t1", "one")
	  PART("5", OF("4"), "m1", CALL_BLOCK("t2")) CLOSE("6", OF("5"), "m1", "tool_use") RESULT("7", OF("6"), "t2", "two")
	  PART("8", OF("7"), "m1", TEXT_BLOCK("done")) CLOSE("9", OF("8"), "m1", "end_turn"),
	  "u:hi, a:call t1, u:t1=one, a:call t2, u:t2=two, a:done" },
	{ "a result before the end of its answer",
	  PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1", CALL_BLOCK("t1")) RESULT("3", OF("2"), "t1", "one") PART("4", OF("3"), "m1", CALL_BLOCK("t2"))
	  CLOSE("5", OF("4"), "m1", "tool_use") RESULT("6", OF("5"), "t2", "two"), "u:hi, a:call t1, a:call t2, u:t1=one, u:t2=two; interrupted" },
	{ "a branch that was left, with the same id",
	  PROMPT("1", NONE, "hi") FOREIGN("2", OF("1"), "m1", TEXT_BLOCK("yo")) PROMPT("3", OF("2"), "wrong")
	  FOREIGN("4", OF("3"), "m1", TEXT_BLOCK("left")) PROMPT("5", OF("2"), "right"),
	  "u:hi, a:yo, u:right; interrupted" },
	{ "a branch that was left",
	  PROMPT("1", NONE, "hi") FOREIGN("2", OF("1"), "m1", TEXT_BLOCK("yo")) PROMPT("3", OF("2"), "wrong")
	  FOREIGN("4", OF("3"), "m2", TEXT_BLOCK("left")) PROMPT("5", OF("2"), "right"),
	  "u:hi, a:yo, u:right; interrupted" },
	{ "lines of a subagent between those of its parent",
	  PROMPT("1", NONE, "hi") FOREIGN("2", OF("1"), "m1", TEXT_BLOCK("yo"))
	  "{\"type\":\"user\",\"uuid\":\"s\",\"parentUuid\":null,\"isSidechain\":true,\"message\":{\"content\":"
	  "\"side\"}}\n",
	  "u:hi, a:yo" },
	{ "the file of a subagent",
	  "{\"type\":\"user\",\"uuid\":\"s\",\"parentUuid\":null,\"isSidechain\":true,\"message\":{\"content\":"
	  "\"side\"}}\n",
	  "u:side; interrupted" },
	{ "a chain that bites its tail", PROMPT("1", OF("2"), "a") PROMPT("2", OF("1"), "b"), "u:a, u:b; interrupted"
	  },
	{ "lines without uuid", "{\"type\":\"user\",\"message\":{\"content\":\"hi\"}}\n", "" },
	{ "a call without members", PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1", "{\"type\":\"tool_use\"}"),
	  "u:hi, a:call ; calls =no; interrupted" },
	{ "messages of wrong types",
	  "{\"type\":\"user\",\"uuid\":\"1\",\"message\":7}\n{\"type\":\"assistant\",\"uuid\":\"2\",\"parentUuid\":"
	  "\"1\",\"message\":[]}\n"
	  "{\"type\":\"user\",\"uuid\":\"3\",\"parentUuid\":\"2\",\"message\":{\"content\":[7,\"x\",{},null]}}\n", ""
	  },
};
/* clang-format on */

TEST(each_file_gives_its_conversation)
{
	struct stage s;
	stage_init(&s);

	for (size_t i = 0; i < COUNT_OF(files); i++) {
		struct session_load l;
		struct err err = { 0 };
		char *path = stage_write(&s, "s.jsonl", files[i].file);
		print_message("# %s\n", files[i].what);
		CHECK_INT(session_load(path, &l, &err), 0);
		CHECK_CSTR(stage_describe(&s, &l), files[i].expected);
		session_load_release(&l);
	}
	stage_release(&s);
}

TEST(windows_line_ends_change_nothing)
{
	struct stage s;
	stage_init(&s);

	for (size_t i = 0; i < COUNT_OF(files); i++) {
		struct session_load l;
		struct err err = { 0 };
		AUTO_BUF struct buf crlf = { 0 };
		buf_addstr(&crlf, "");
		for (const char *c = files[i].file; *c; c++)
			buf_addf(&crlf, *c == '\n' && !(c > files[i].file && c[-1] == '\r') ? "\r%c" : "%c", *c);
		char *path = stage_write(&s, "s.jsonl", crlf.p);
		CHECK_INT(session_load(path, &l, &err), 0);
		CHECK_CSTR(stage_describe(&s, &l), files[i].expected);
		session_load_release(&l);
	}
	stage_release(&s);
}

/* A kill at any byte: what the repaired file says is never half a line, and a second load agrees with the first. */
TEST(a_file_that_is_cut_anywhere_loads_twice_the_same)
{
	static const char whole[] =
		PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1", CALL_BLOCK("t1")) RESULT("3", OF("2"), "t1", "one")
			PART("4", OF("3"), "m1", CALL_BLOCK("t2")) CLOSE("5", OF("4"), "m1", "tool_use");
	struct stage s;
	stage_init(&s);

	for (size_t n = 0; n < sizeof whole; n++) {
		struct session_load first, second;
		struct err err = { 0 };
		char *path = stage_write(&s, "s.jsonl", arena_dup(&s.arena, whole, n));
		CHECK_INT(session_load(path, &first, &err), 0);
		CHECK_INT(session_load(path, &second, &err), 0);
		CHECK(!second.repaired);
		second.repaired = first.repaired;
		CHECK_CSTR(stage_describe(&s, &second), stage_describe(&s, &first));
		CHECK_CSTR(second.last, first.last);
		session_load_release(&first);
		session_load_release(&second);
	}
	stage_release(&s);
}

TEST(a_repair_changes_the_last_line_only)
{
	static const struct {
		const char *before, *after;
	} table[] = {
		{ PROMPT("1", NONE, "hi") "{\"half", PROMPT("1", NONE, "hi") },
		{ "{\"half", "" },
		{ "{\"whole\":1}", "{\"whole\":1}\n" },
		{ "not JSON\n", "not JSON\n" },
		{ "", "" },
	};
	struct stage s;
	stage_init(&s);

	for (size_t i = 0; i < COUNT_OF(table); i++) {
		struct session_load l;
		struct err err = { 0 };
		CHECK_INT(session_load(stage_write(&s, "s.jsonl", table[i].before), &l, &err), 0);
		CHECK_CSTR(stage_read(&s, "s.jsonl"), table[i].after);
		CHECK_INT(l.repaired, strcmp(table[i].before, table[i].after) != 0);
		session_load_release(&l);
	}
	stage_release(&s);
}

TEST(a_long_torn_line_is_cut_off_too)
{
	struct stage s;
	struct session_load l;
	struct err err = { 0 };
	AUTO_BUF struct buf text = { 0 };
	stage_init(&s);
	buf_addstr(&text, PROMPT("1", NONE, "hi") "{\"type\":\"user\",\"message\":\"");
	for (int i = 0; i < 300000; i++)
		buf_addstr(&text, "torn ");

	CHECK_INT(session_load(stage_write(&s, "s.jsonl", text.p), &l, &err), 0);

	CHECK_CSTR(stage_describe(&s, &l), "u:hi; interrupted; repaired");
	CHECK_CSTR(stage_read(&s, "s.jsonl"), PROMPT("1", NONE, "hi"));
	session_load_release(&l);
	stage_release(&s);
}

static const char half_line[] = PROMPT("1", NONE, "hi") "{\"half", rest_of_line[] = "\":1}\n";

TEST(a_file_that_others_can_write_is_not_repaired)
{
	struct stage s;
	struct session_load l;
	struct err err = { 0 };
	stage_init(&s);
	char *path = stage_write(&s, "s.jsonl", half_line);
	CHECK_INT(chmod(path, 0666), 0);

	CHECK_INT(session_load(path, &l, &err), -ERR_DENIED);

	CHECK_CSTR(stage_read(&s, "s.jsonl"), half_line);
	stage_release(&s);
}

/* Runs the process up to the call by which it opens a file for writing. */
static void run_until_write(pid_t process)
{
	struct ptrace_syscall_info call = { 0 };
	int status;

	CHECK_INT(ptrace(PTRACE_SETOPTIONS, process, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL), 0);
	do {
		CHECK_INT(ptrace(PTRACE_SYSCALL, process, NULL, NULL), 0);
		CHECK_INT(waitpid(process, &status, 0), process);
		CHECK(WIFSTOPPED(status));
		CHECK(ptrace(PTRACE_GET_SYSCALL_INFO, process, (void *)sizeof call, &call) > 0);
	} while (call.op != PTRACE_SYSCALL_INFO_ENTRY || call.entry.nr != SYS_openat ||
		 (call.entry.args[2] & O_ACCMODE) != O_WRONLY);
}

/* Its writer goes on after the end of the file was read, and before it is cut. */
TEST(a_line_that_its_writer_completes_meanwhile_is_not_cut_off)
{
	struct stage s;
	int status;
	stage_init(&s);
	char *path = stage_write(&s, "s.jsonl", half_line);
	pid_t reader = fork();

	if (reader == 0) {
		struct session_load l;
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(77);
		(void)raise(SIGSTOP);
		_exit(session_load(path, &l, NULL) == 0 && !l.repaired ? 0 : 1);
	}
	CHECK_INT(waitpid(reader, &status, 0), reader);
	if (!WIFSTOPPED(status)) {
		print_message("# skipped: no process can be traced here\n");
		stage_release(&s);
		skip();
	}
	run_until_write(reader);
	int fd = open(path, O_WRONLY | O_APPEND);
	CHECK_INT(write(fd, rest_of_line, sizeof rest_of_line - 1), sizeof rest_of_line - 1);
	close(fd);
	CHECK_INT(ptrace(PTRACE_DETACH, reader, NULL, NULL), 0);
	CHECK_INT(waitpid(reader, &status, 0), reader);

	CHECK_INT(status, 0);
	CHECK_CSTR(stage_read(&s, "s.jsonl"), PROMPT("1", NONE, "hi") "{\"half\":1}\n");
	stage_release(&s);
}

TEST(a_session_that_is_not_there_is_not_found)
{
	struct stage s;
	struct session_load l;
	struct err err = { 0 };
	stage_init(&s);

	CHECK_INT(session_load(stage_path(&s, "none.jsonl"), &l, &err), -ERR_NOT_FOUND);
	CHECK(strstr(err.text, "none.jsonl") != NULL);
	stage_release(&s);
}

TEST(where_it_was_and_which_files_it_knows_come_with_it)
{
	static const char text[] = "{\"type\":\"user\",\"uuid\":\"1\",\"parentUuid\":null,\"cwd\":\"/"
				   "old\",\"message\":{\"content\":\"hi\"}}\n"
				   "{\"type\":\"user\",\"uuid\":\"2\",\"parentUuid\":\"1\",\"cwd\":\"/"
				   "new\",\"timestamp\":\"2026-11-15T20:21:00.123Z\","
				   "\"message\":{\"content\":\"x\"},\"toolUseResult\":{\"type\":\"text\",\"file\":{"
				   "\"filePath\":\"/a\",\"numLines\":3,\"totalLines\":9}}}\n"
				   "{\"type\":\"user\",\"uuid\":\"3\",\"parentUuid\":\"2\",\"timestamp\":\"2026-11-"
				   "15T20:21:00.123456+00:00\","
				   "\"message\":{\"content\":\"x\"},\"toolUseResult\":{\"filePath\":\"/b\"}}\n"
				   "{\"type\":\"user\",\"uuid\":\"4\",\"parentUuid\":\"3\",\"timestamp\":\"2026-11-"
				   "15T20:21:01.99999999999999999999Z\","
				   "\"message\":{\"content\":\"x\"},\"toolUseResult\":{\"filePath\":\"/c\"}}\n"
				   "{\"type\":\"user\",\"uuid\":\"5\",\"parentUuid\":\"4\",\"timestamp\":\"yesterday\","
				   "\"message\":{\"content\":\"x\"},\"toolUseResult\":{\"filePath\":\"/d\"}}\n";
	const int64_t second = INT64_C(1794774060);
	struct stage s;
	struct session_load l;
	struct err err = { 0 };
	stage_init(&s);

	CHECK_INT(session_load(stage_write(&s, "s.jsonl", text), &l, &err), 0);

	CHECK_CSTR(l.cwd, "/new");
	CHECK_CSTR(l.last, "5");
	CHECK_INT(l.file_count, 4);
	CHECK_CSTR(l.files[0].path, "/a");
	CHECK(l.files[0].partial);
	CHECK_INT(l.files[0].time_ms, second * 1000 + 123);
	CHECK_CSTR(l.files[1].path, "/b");
	CHECK(!l.files[1].partial);
	CHECK_INT(l.files[1].time_ms, second * 1000 + 123);
	CHECK_INT(l.files[2].time_ms, (second + 1) * 1000 + 999);
	CHECK_INT(l.files[3].time_ms, 0);
	session_load_release(&l);
	stage_release(&s);
}

TEST(files_that_were_seen_before_a_summary_are_known_by_their_newest_look)
{
	struct stage s;
	struct session_load l;
	struct err err = { 0 };
	stage_init(&s);

	CHECK_INT(session_load(stage_write(&s, "s.jsonl",
					   SEEN("1", NONE, "2026-11-15T20:21:00Z", "/a")
						   SEEN("2", OF("1"), "2026-11-15T20:21:01Z", "/b")
							   BOUNDARY("3", OF("2")) SUMMARY("4", OF("3"), "", "sum")
								   SEEN("5", OF("4"), "2026-11-15T20:21:02Z", "/a")),
			       &l, &err),
		  0);

	CHECK_INT(l.file_count, 2);
	CHECK_CSTR(l.files[0].path, "/b");
	CHECK_CSTR(l.files[1].path, "/a");
	CHECK_INT(l.files[1].time_ms % 60000, 2000);
	session_load_release(&l);
	stage_release(&s);
}

TEST(a_call_without_result_is_handed_on_with_its_input)
{
	struct stage s;
	struct session_load l;
	struct err err = { 0 };
	stage_init(&s);

	CHECK_INT(session_load(stage_write(&s, "s.jsonl",
					   PROMPT("1", NONE, "hi") PART("2", OF("1"), "m1", CALL_BLOCK("t1"))),
			       &l, &err),
		  0);

	CHECK_INT(l.call_count, 1);
	CHECK_STR(l.calls[0].name, "Read");
	CHECK_STR(l.calls[0].input, "{\"file_path\":\"/x\"}");
	session_load_release(&l);
	stage_release(&s);
}

TEST(tools_that_were_found_are_known_in_their_order_also_those_from_before_a_summary)
{
	static const char text[] = PROMPT("1", NONE, "hi") FOUND("2", OF("1"), "\"b\",\"a\"") FOUND("3", OF("2"), "7")
		SEEN("4", OF("3"), "2026-11-15T20:21:00Z", "/a") BOUNDARY("5", OF("4")) SUMMARY("6", OF("5"), "", "sum")
			FOUND("7", OF("6"), "\"c\"");
	struct stage s;
	struct session_load l;
	struct err err = { 0 };
	stage_init(&s);

	CHECK_INT(session_load(stage_write(&s, "s.jsonl", text), &l, &err), 0);

	CHECK_INT(l.tool_count, 3);
	CHECK_CSTR(l.tools[0], "b");
	CHECK_CSTR(l.tools[1], "a");
	CHECK_CSTR(l.tools[2], "c");
	session_load_release(&l);
	stage_release(&s);
}

TEST(what_somebody_said_is_counted_apart_from_context_and_results)
{
	struct stage s;
	struct session_load l;
	struct err err = { 0 };
	stage_init(&s);

	CHECK_INT(session_load(stage_write(&s, "s.jsonl",
					   "{\"parentUuid\":null,\"type\":\"user\",\"uuid\":\"0\",\"isMeta\":true,"
					   "\"message\":{\"content\":[" TEXT_BLOCK("context") "]}}\n" PROMPT(
						   "1", OF("0"), "hi") PART("2", OF("1"), "m1", CALL_BLOCK("t1"))
						   RESULT("3", OF("2"), "t1", "one") PROMPT("4", OF("3"), "and")),
			       &l, &err),
		  0);

	CHECK_INT(l.prompts, 2);
	session_load_release(&l);
	stage_release(&s);
}

TEST(what_was_queued_waits_until_a_message_names_it)
{
	struct stage s;
	struct session_load l;
	struct err err = { 0 };
	stage_init(&s);

#define QUEUED(id, text) \
	"{\"type\":\"queue-operation\",\"operation\":\"enqueue\",\"id\":\"" id "\",\"content\":\"" text "\"}\n"
	CHECK_INT(session_load(
			  stage_write(&s, "s.jsonl",
				      QUEUED("a", "one") QUEUED("b", "t\\u0077o") PROMPT("1", "null", "hi") QUEUED(
					      "c", "three") "{\"type\":\"queue-operation\"}\n"
							    "{\"parentUuid\":\"1\",\"type\":\"user\","
							    "\"uuid\":\"2\",\"isMeta\":true,\"origin\":"
							    "{\"ids\":[\"a\"]},\"message\":{\"content\":[" TEXT_BLOCK(
								    "one") "]}}\n"),
			  &l, &err),
		  0);

	CHECK_INT(l.waiting_count, 2);
	CHECK_CSTR(l.waiting[0].id, "b");
	CHECK_STR(l.waiting[0].text, "two");
	CHECK_CSTR(l.waiting[1].id, "c");
	session_load_release(&l);
	stage_release(&s);
}

TEST(the_end_of_a_file_that_is_not_there_is_not_found_also_without_a_place_for_the_reason)
{
	AUTO_BUF struct buf end = { 0 };

	CHECK_INT(session_load_end("/nowhere/at/all.jsonl", &end, NULL), -ERR_NOT_FOUND);
}

/* The file has a hole of 3 GB, which nobody could read as a whole. */
TEST(the_end_of_an_agent_is_read_from_the_end_of_a_file_of_any_size)
{
	static const char line[] = "\n{\"type\":\"agent-end\",\"end\":{\"status\":\"done\"}}\n";
	struct stage s;
	AUTO_BUF struct buf end = { 0 };
	stage_init(&s);
	const char *path = stage_write(&s, "a.jsonl", PROMPT("1", NONE, "hi"));
	AUTO_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);
	CHECK_INT(pwrite(fd, line, strlen(line), (off_t)3 << 30), strlen(line));

	CHECK_INT(session_load_end(path, &end, NULL), 1);

	CHECK_CSTR(end.p, "{\"status\":\"done\"}");
	stage_release(&s);
}

/* A load that was started, and the ticks of the loop meanwhile */
struct started {
	struct loop *loop;
	struct load_job *job;
	struct session_load *load;
	struct err err;
	int dones, ticks;
	struct timer timer;
	const char *fifo; /* that a tick opens, so that the reader can go on */
};

static void note_loaded(void *data, struct session_load *l, const struct err *err)
{
	struct started *s = data;

	s->dones++;
	s->load = l;
	s->err = *err;
}

static void started_release(struct started *s)
{
	if (s->load)
		session_load_release(s->load);
	free(s->load);
	s->load = NULL;
}

TEST(a_load_on_the_pool_gives_the_same_and_leaves_the_same_file)
{
	struct stage s;
	struct loop *loop = loop_new(0);
	stage_init(&s);

	for (size_t i = 0; i < COUNT_OF(files); i++) {
		struct session_load direct;
		struct started there = { .loop = loop };
		CHECK_INT(session_load(stage_write(&s, "direct.jsonl", files[i].file), &direct, NULL), 0);
		char *path = stage_write(&s, "there.jsonl", files[i].file);
		there.job = session_load_start(loop, path, note_loaded, &there);
		CHECK_INT(there.dones, 0);
		loop_run(loop);

		CHECK_INT(there.dones, 1);
		CHECK(there.load);
		direct.repaired = false; /* was done before it was read */
		CHECK_CSTR(stage_describe(&s, there.load), stage_describe(&s, &direct));
		CHECK_CSTR(there.load->last, direct.last);
		CHECK_INT(session_load_begun(path), direct.prompts > 0);
		CHECK_CSTR(stage_read(&s, "there.jsonl"), stage_read(&s, "direct.jsonl"));
		session_load_release(&direct);
		started_release(&there);
	}
	loop_free(loop);
	stage_release(&s);
}

TEST(a_long_torn_line_is_cut_off_before_the_pool_reads)
{
	struct stage s;
	struct loop *loop = loop_new(0);
	struct started there = { .loop = loop };
	AUTO_BUF struct buf text = { 0 };
	stage_init(&s);
	buf_addstr(&text, PROMPT("1", NONE, "hi") "{\"type\":\"user\",\"message\":\"");
	for (int i = 0; i < 300000; i++)
		buf_addstr(&text, "torn ");

	there.job = session_load_start(loop, stage_write(&s, "s.jsonl", text.p), note_loaded, &there);
	CHECK_CSTR(stage_read(&s, "s.jsonl"), PROMPT("1", NONE, "hi")); /* what is added now has a line of its own */
	loop_run(loop);

	CHECK_CSTR(stage_describe(&s, there.load), "u:hi; interrupted");
	started_release(&there);
	loop_free(loop);
	stage_release(&s);
}

TEST(a_load_on_the_pool_that_fails_or_is_stopped_says_so)
{
	struct stage s;
	struct loop *loop = loop_new(0);
	struct started gone = { .loop = loop }, stopped = { .loop = loop };
	stage_init(&s);

	gone.job = session_load_start(loop, stage_path(&s, "none.jsonl"), note_loaded, &gone);
	stopped.job =
		session_load_start(loop, stage_write(&s, "s.jsonl", PROMPT("1", NONE, "hi")), note_loaded, &stopped);
	session_load_stop(stopped.job);
	loop_run(loop);

	CHECK_INT(gone.dones, 1);
	CHECK(!gone.load);
	CHECK_INT(gone.err.kind, ERR_NOT_FOUND);
	CHECK_INT(stopped.dones, 1);
	CHECK(!stopped.load);
	CHECK_INT(stopped.err.kind, ERR_CANCELLED);
	loop_free(loop);
	stage_release(&s);
}

/* The reader of a named pipe waits in its thread until somebody writes. */
static void open_fifo(struct timer *timer)
{
	struct started *s = CONTAINER_OF(timer, struct started, timer);
	int fd = ++s->ticks < 5 ? -1 : open(s->fifo, O_WRONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		timer_start(s->loop, timer, 1);
	else
		close(fd);
}

TEST(the_loop_goes_on_while_the_pool_reads)
{
	struct stage s;
	struct loop *loop = loop_new(0);
	struct started there = { .loop = loop, .timer.fire = open_fifo };
	stage_init(&s);
	there.fifo = stage_path(&s, "slow.jsonl");
	CHECK_INT(mkfifo(there.fifo, 0600), 0);

	timer_start(loop, &there.timer, 1);
	there.job = session_load_start(loop, there.fifo, note_loaded, &there);
	loop_run(loop);

	CHECK_INT(there.dones, 1);
	CHECK(there.ticks >= 5);
	started_release(&there);
	loop_free(loop);
	stage_release(&s);
}

int test_load(void)
{
	return RUN_TESTS(
		T(the_end_of_an_agent_is_read_from_the_end_of_a_file_of_any_size),
		T(the_end_of_a_file_that_is_not_there_is_not_found_also_without_a_place_for_the_reason),
		T(each_file_gives_its_conversation), T(windows_line_ends_change_nothing),
		T(a_file_that_is_cut_anywhere_loads_twice_the_same), T(a_repair_changes_the_last_line_only),
		T(a_long_torn_line_is_cut_off_too), T(a_file_that_others_can_write_is_not_repaired),
		T(a_line_that_its_writer_completes_meanwhile_is_not_cut_off),
		T(a_session_that_is_not_there_is_not_found), T(where_it_was_and_which_files_it_knows_come_with_it),
		T(files_that_were_seen_before_a_summary_are_known_by_their_newest_look),
		T(a_call_without_result_is_handed_on_with_its_input),
		T(tools_that_were_found_are_known_in_their_order_also_those_from_before_a_summary),
		T(what_was_queued_waits_until_a_message_names_it),
		T(what_somebody_said_is_counted_apart_from_context_and_results),
		T(a_load_on_the_pool_gives_the_same_and_leaves_the_same_file),
		T(a_long_torn_line_is_cut_off_before_the_pool_reads),
		T(a_load_on_the_pool_that_fails_or_is_stopped_says_so), T(the_loop_goes_on_while_the_pool_reads));
}
