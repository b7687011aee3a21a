/* SPDX-License-Identifier: MIT
 * test_transport_stdio.c - servers that are shell scripts: what they may do wrong, and what becomes of it. */
#include <signal.h>
#include <poll.h>
#include <sys/syscall.h>
#include "tests.h"
#include "wire_stage.h"

static const char *const *shell(const char *script)
{
	static const char *args[3];

	args[0] = "-c";
	args[1] = script;
	return args;
}

static void start_script(struct wire *w, unsigned loop_flags, const char *script)
{
	wire_init(w, MCP_STDIO, loop_flags);
	w->server->command = "sh";
	w->server->args = shell(script);
	wire_start(w);
}

TEST(messages_travel_both_ways_a_line_each)
{
	struct wire w;
	start_script(&w, 0, "while read -r line; do printf '%s\\n' \"$line\"; done");

	wire_send(&w, 1, "{\"id\":1,\n\"method\":\r\n\"ping\"}");
	wire_send(&w, 0, "{\"text\":\"a\\nb\"}");
	wire_wait(&w, "message {\"text\":\"a\\nb\"}\n");

	CHECK_STR(buf_str(&w.trail), "message {\"id\":1, \"method\":  \"ping\"}\nmessage {\"text\":\"a\\nb\"}\n");
	wire_close(&w);
	wire_release(&w);
}

TEST(several_messages_in_one_line_as_an_array_come_one_by_one)
{
	struct wire w;
	start_script(&w, 0, "printf '[{\"a\":1},{\"b\":2}]\\r\\n\\n'; read -r line");

	wire_wait(&w, "message {\"b\":2}\n");

	CHECK_STR(buf_str(&w.trail), "message {\"a\":1}\nmessage {\"b\":2}\n");
	wire_close(&w);
	wire_release(&w);
}

TEST(the_server_has_the_environment_of_its_entry_and_ours)
{
	struct wire w;
	const char *const env[] = { "A=of the entry", "CLAUDECODE=no", NULL };
	const char *const inherited[] = { "PATH=/usr/bin:/bin", "A=inherited", "SECRET=s", "HOME=/h", NULL };
	const char *const basic[] = {
		"PATH=/usr/bin:/bin", "A=inherited", "SECRET=s", "HOME=/h", "CLAUDE_CODE_MCP_ALLOWLIST_ENV=1", NULL
	};
	const char *script =
		"printf '[{\"v\":\"%s|%s|%s|%s|%s|%s\"}]\\n' \"$A\" \"$CLAUDECODE\" \"$CLAUDE_PROJECT_DIR\" "
		"\"$CLAUDE_CODE_SESSION_ID\" \"$SECRET\" \"$HOME\"; read -r line";

	for (int few = 0; few < 2; few++) {
		wire_init(&w, MCP_STDIO, 0);
		w.env.envp = few ? basic : inherited;
		w.server->command = "sh";
		w.server->args = shell(script);
		w.server->env = env;
		wire_start(&w);
		wire_wait(&w, "message {");
		CHECK_STR(buf_str(&w.trail), few ? "message {\"v\":\"of the entry|1|/project|session-1||/h\"}\n"
						 : "message {\"v\":\"of the entry|1|/project|session-1|s|/h\"}\n");
		wire_close(&w);
		wire_release(&w);
	}
}

TEST(a_command_that_does_not_exist_is_an_error_of_the_start)
{
	static const struct mcp_transport_handlers none = { 0 };
	struct wire w;
	struct err err = { 0 };
	wire_init(&w, MCP_STDIO, 0);
	w.server->command = "no-such-server-program";

	struct mcp_transport *t = mcp_transport_new(&w.env, w.server, &none, NULL);
	CHECK_INT(t->class->start(t, &err), -ERR_NOT_FOUND);
	t->class->free(t);

	CHECK_CSTR(err.text, "cannot run no-such-server-program: No such file or directory");
	w.closes = 1;
	wire_release(&w);
}

TEST(junk_on_stdout_is_a_line_of_log_and_harms_no_message)
{
	struct wire w;
	start_script(&w, 0, "echo Listening...; echo '{\"a\":'; echo 17; echo '{\"a\":1}'; read -r line");

	wire_wait(&w, "message {");

	CHECK(wire_has(&w, "): Listening...\nlog invalid message ("));
	CHECK(wire_has(&w, "log invalid message (not an object): 17\nmessage {\"a\":1}\n"));
	wire_close(&w);
	wire_release(&w);
}

TEST(stderr_is_log_and_its_last_line_explains_the_death)
{
	struct wire w;
	start_script(&w, 0, "echo starting >&2; echo 'no database' >&2; exit 3");

	wire_wait(&w, "closed ");

	CHECK_STR(buf_str(&w.trail),
		  "log starting\nlog no database\nclosed the server exited with status 3: no database\n");
	wire_release(&w);
}

TEST(a_death_by_signal_in_a_call_is_told_with_its_number)
{
	struct wire w;
	start_script(&w, 0, "read -r line; kill -9 $$");

	wire_send(&w, 1, "{\"id\":1}");
	wire_wait(&w, "closed ");

	CHECK_STR(buf_str(&w.trail), "closed the server was killed by signal 9\n");
	wire_release(&w);
}

TEST(half_a_line_before_death_is_junk_and_a_whole_message_without_line_end_is_not)
{
	struct wire w;

	start_script(&w, 0, "printf '{\"a\":'");
	wire_wait(&w, "closed ");
	CHECK(str_starts(buf_str(&w.trail), STR("log invalid message (")));
	wire_release(&w);

	start_script(&w, 0, "printf '{\"a\":1}'");
	wire_wait(&w, "closed ");
	CHECK_STR(buf_str(&w.trail), "message {\"a\":1}\nclosed the server exited with status 0\n");
	wire_release(&w);
}

TEST(a_flood_of_lines_that_are_no_messages_ends_the_server)
{
	struct wire w;
	wire_init(&w, MCP_STDIO, 0);
	w.quiet = true;
	w.server->command = "yes";
	w.server->args = shell("") + 2;
	wire_start(&w);

	wire_wait(&w, "closed ");

	CHECK_STR(buf_str(&w.trail), "closed the server floods its output with lines that are not messages\n");
	CHECK(w.logs > 0);
	wire_release(&w);
}

TEST(a_line_above_the_limit_ends_the_server)
{
	struct wire w;
	start_script(&w, 0, "head -c 70000000 /dev/zero | tr '\\0' 'x'; read -r line");

	wire_wait(&w, "closed ");

	CHECK_STR(buf_str(&w.trail), "closed the server sent a message above 64 MB\n");
	wire_release(&w);
}

TEST(a_flood_on_stderr_is_cut_and_messages_pass_it)
{
	struct wire w;
	wire_init(&w, MCP_STDIO, 0);
	w.quiet = true;
	w.server->command = "sh";
	w.server->args =
		shell("yes noise | head -c 2000000 >&2; head -c 1000000 /dev/zero >&2; echo '{\"a\":1}'; read -r x");
	wire_start(&w);

	wire_wait(&w, "message {\"a\":1}\n");

	CHECK(w.logs > 0);
	CHECK(w.logs < 20000); /* of 333,333 lines: 200 a second */
	wire_close(&w);
	wire_release(&w);
}

TEST(a_large_message_arrives_whole)
{
	struct wire w;
	start_script(&w, 0, "printf '{\"a\":\"'; head -c 3000000 /dev/zero | tr '\\0' 'x'; echo '\"}'; read -r line");

	wire_wait(&w, "message of 3000008 bytes\n");

	wire_close(&w);
	CHECK_STR(buf_str(&w.trail), "message of 3000008 bytes\nclosed on request\n");
	wire_release(&w);
}

TEST(a_server_that_does_not_read_loses_what_it_cannot_take)
{
	struct wire w;
	AUTO_BUF struct buf large = { 0 };
	buf_addstr(&large, "{\"a\":\"");
	buf_reserve(&large, 40 << 20);
	memset(large.p + large.n, 'x', 40 << 20);
	large.n += 40 << 20;
	buf_addstr(&large, "\"}");
	start_script(&w, 0, "trap '' PIPE; exec sleep 1000");

	wire_send(&w, 7, large.p);
	wire_send(&w, 8, large.p);
	wire_wait(&w, "lost ");

	CHECK_STR(buf_str(&w.trail), "lost 8 the server does not read its input\n");
	wire_close(&w);
	wire_release(&w);
}

TEST(a_server_that_closes_its_output_is_ended_although_it_lives)
{
	struct wire w;
	start_script(&w, LOOP_VIRTUAL_CLOCK, "exec 1>&-; trap '' TERM; exec sleep 1000");

	wire_wait(&w, "closed ");

	CHECK_STR(buf_str(&w.trail), "closed the server closed its output\n");
	wire_release(&w);
}

TEST(no_name_is_twice_in_the_environment)
{
	struct wire w;
	const char *const env[] = { "A=of the entry", NULL };
	const char *const inherited[] = { "PATH=/usr/bin:/bin", "A=inherited", NULL };
	wire_init(&w, MCP_STDIO, 0);
	w.env.envp = inherited;
	w.server->command = "env";
	w.server->env = env;
	wire_start(&w);

	wire_wait(&w, "closed ");

	CHECK(wire_has(&w, ": A=of the entry\n"));
	CHECK(!wire_has(&w, "inherited"));
	wire_release(&w);
}

static bool dies(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	bool dead = poll(&p, 1, 60000) == 1;

	close(pidfd);
	return dead;
}

TEST(a_server_is_ended_with_its_group_whether_it_goes_when_asked_or_not)
{
	static const char *const scripts[] = {
		"sleep 1000 & echo \"{\\\"pid\\\":$!}\"; read -r line",
		"trap '' TERM; sleep 1000 & echo \"{\\\"pid\\\":$!}\"; wait; sleep 1000",
	};

	for (size_t i = 0; i < COUNT_OF(scripts); i++) {
		struct wire w;
		start_script(&w, 0, scripts[i]);
		wire_wait(&w, "message {");
		int pidfd = (int)syscall(SYS_pidfd_open, atoi(strstr(w.trail.p, "pid") + 5), 0);
		CHECK(pidfd >= 0);
		wire_close(&w);
		CHECK(dies(pidfd));
		wire_release(&w);
	}
}

TEST(a_transport_may_be_closed_from_inside_a_message_and_says_nothing_more)
{
	struct wire w;
	wire_init(&w, MCP_STDIO, 0);
	w.close_at_message = true;
	w.server->command = "sh";
	w.server->args = shell("echo '{\"a\":1}'; echo '{\"a\":2}'; echo bye >&2; read -r line");
	wire_start(&w);

	wire_wait(&w, "closed ");

	CHECK(wire_has(&w, "message {\"a\":1}\n"));
	CHECK(!wire_has(&w, "message {\"a\":2}\n"));
	CHECK(wire_has(&w, "closed on request\n"));
	wire_release(&w);
}

int test_transport_stdio(void)
{
	return RUN_TESTS(
		T(messages_travel_both_ways_a_line_each), T(several_messages_in_one_line_as_an_array_come_one_by_one),
		T(the_server_has_the_environment_of_its_entry_and_ours),
		T(a_command_that_does_not_exist_is_an_error_of_the_start),
		T(junk_on_stdout_is_a_line_of_log_and_harms_no_message),
		T(stderr_is_log_and_its_last_line_explains_the_death),
		T(a_death_by_signal_in_a_call_is_told_with_its_number),
		T(half_a_line_before_death_is_junk_and_a_whole_message_without_line_end_is_not),
		T(a_flood_of_lines_that_are_no_messages_ends_the_server), T(a_line_above_the_limit_ends_the_server),
		T(a_flood_on_stderr_is_cut_and_messages_pass_it), T(a_large_message_arrives_whole),
		T(a_server_that_does_not_read_loses_what_it_cannot_take),
		T(a_server_that_closes_its_output_is_ended_although_it_lives), T(no_name_is_twice_in_the_environment),
		T(a_server_is_ended_with_its_group_whether_it_goes_when_asked_or_not),
		T(a_transport_may_be_closed_from_inside_a_message_and_says_nothing_more));
}
