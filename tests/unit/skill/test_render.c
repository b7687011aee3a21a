/* SPDX-License-Identifier: MIT
 * test_render.c - the text of a skill, with tools that answer as the test says. */
#include "unit.h"
#include <sys/stat.h>
#include "lib/io/file.h"
#include "defs/skill/render.h"
#include "tests.h"

/* One skill and its reader. The tools write what they were asked for; a command that begins with "fail" fails, one that begins
 * with "wait" ends only when it is cancelled; the gate refuses "deny". */
struct scene {
	struct tool_env env;
	struct tool_gate gate;
	struct arena arena;
	unsigned calls, done;
	struct buf text, failure;
	bool no_commands, no_shell;
	const char *project_dir;
	struct skill_render *render;
};

static void ask(struct tool_gate *gate, struct tool_call *call)
{
	AUTO_ARENA struct arena a = { 0 };
	struct str command = json_str(json_get(call->input, "command"), &a);
	bool denied = str_starts(command, STR("deny")) || str_has(json_raw(call->input), STR("secret"));

	(void)gate;
	tool_call_decided(call, denied ? TOOL_DENY : TOOL_ALLOW, denied ? STR("a rule says no") : STR(""));
}

static void shell_start(struct tool_call *call)
{
	struct scene *s = call->env->owner;
	struct str command = json_str(json_get(call->input, "command"), &call->arena);

	s->calls++;
	if (str_starts(command, STR("wait")))
		return;
	if (str_starts(command, STR("fail"))) {
		tool_call_fail(call, "Exit code 2");
		return;
	}
	buf_addf(&call->result, "[" STR_FMT "]\n", STR_ARG(command));
	tool_call_end(call);
}

static void shell_cancel(struct tool_call *call)
{
	tool_call_fail(call, "cancelled");
}

static void reader_start(struct tool_call *call)
{
	struct scene *s = call->env->owner;

	s->calls++;
	tool_call_finish(call, STR("content"));
}

static const struct tool shell = { .name = "Bash",
				   .definition = "{\"name\":\"Bash\",\"input_schema\":{}}",
				   .start = shell_start,
				   .cancel = shell_cancel };
static const struct tool reader = { .name = "Read",
				    .definition = "{\"name\":\"Read\",\"input_schema\":{}}",
				    .start = reader_start };

static void scene_open(struct scene *s)
{
	*s = (struct scene){ .gate = { .ask = ask } };
	s->env = (struct tool_env){ .loop = loop_new(LOOP_VIRTUAL_CLOCK), .cwd = "/nowhere", .owner = s };
}

static void scene_close(struct scene *s)
{
	loop_free(s->env.loop);
	buf_release(&s->text);
	buf_release(&s->failure);
	arena_release(&s->arena);
}

static void on_done(void *data, const struct skill_text *result)
{
	struct scene *s = data;

	s->done++;
	buf_add(&s->text, result->text.p, result->text.n);
	buf_add(&s->failure, result->failure.p, result->failure.n);
}

static void start(struct scene *s, const char *body, const char *arguments)
{
	struct skill_origin origin = { .file = "/c/x.md", .name = "x", .is_command = true };
	struct skill *k = skill_from_markdown(&origin, str_from(body));

	s->render = skill_render_start(&(struct skill_render_spec){ .skill = k,
								    .arguments = str_from(arguments),
								    .env = &s->env,
								    .gate = &s->gate,
								    .project_dir = s->project_dir,
								    .shell = s->no_shell ? NULL : &shell,
								    .reader = &reader,
								    .no_commands = s->no_commands },
				       on_done, s);
	skill_unref(k);
	CHECK_INT(s->done, 0);
}

static void run(struct scene *s, const char *body, const char *arguments)
{
	start(s, body, arguments);
	loop_run(s->env.loop);
	CHECK_INT(s->done, 1);
}

TEST(commands_run_in_order_and_their_output_stands_in_their_place)
{
	CLEANUP(scene_close) struct scene s;
	scene_open(&s);

	run(&s, "a !`one` b !`two $0` c", "x");

	CHECK_STR(buf_str(&s.text), "a [one] b [two x] c");
	CHECK_INT(s.calls, 2);
}

TEST(output_and_arguments_are_not_looked_at_again)
{
	CLEANUP(scene_close) struct scene s;
	scene_open(&s);

	run(&s, "!`echo \\$0` $ARGUMENTS", "!`evil` $0");

	CHECK_STR(buf_str(&s.text), "[echo $0] !`evil` $0");
	CHECK_INT(s.calls, 1);
}

TEST(arguments_that_no_placeholder_takes_are_added_at_the_end)
{
	CLEANUP(scene_close) struct scene s;
	scene_open(&s);

	run(&s, "Body.", " one two ");

	CHECK_STR(buf_str(&s.text), "Body.\n\nARGUMENTS: one two");
}

TEST(a_command_that_fails_ends_it_with_the_reason)
{
	CLEANUP(scene_close) struct scene s;
	scene_open(&s);

	run(&s, "!`fail now` !`never`", "");

	CHECK_STR(buf_str(&s.failure), "Skill x: the command `fail now` failed: Exit code 2");
	CHECK_INT(s.calls, 1);
}

TEST(a_command_that_is_not_allowed_ends_it_with_the_reason)
{
	CLEANUP(scene_close) struct scene s;
	scene_open(&s);

	run(&s, "!`deny this`", "");

	CHECK_STR(buf_str(&s.failure), "Skill x: the command `deny this` is not allowed: a rule says no");
	CHECK_INT(s.calls, 0);
}

/* A repository or an archive brings the name. */
TEST(the_name_of_a_directory_is_never_code_in_a_command)
{
	static const struct {
		const char *dir;
		bool harmless;
	} rows[] = {
		{ "/a b/c-1.x+y@z~=%,:ü!*?[]{}", true },
		{ "/a$(touch p)", false },
		{ "/a`touch p`", false },
		{ "/a;touch p", false },
		{ "/a&touch p", false },
		{ "/a|touch p", false },
		{ "/a\ntouch p", false },
		{ "/a\"; touch p; \"", false },
		{ "/a'; touch p; '", false },
		{ "/a>p", false },
		{ "/a\\", false },
		{ "/a #b", false },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		CLEANUP(scene_close) struct scene s;
		scene_open(&s);
		s.project_dir = rows[i].dir;

		run(&s, "${CLAUDE_PROJECT_DIR}: !`ls ${CLAUDE_PROJECT_DIR}/x`", "");

		CHECK_INT(s.calls, rows[i].harmless);
		CHECK_INT(str_has(buf_str(&s.failure), STR("a shell would read as code: CLAUDE_PROJECT_DIR")),
			  !rows[i].harmless);
	}
}

TEST(where_commands_are_off_a_note_stands_in_their_place)
{
	CLEANUP(scene_close) struct scene s;
	scene_open(&s);
	s.no_commands = true;

	run(&s, "a !`one`", "");

	CHECK(str_has(buf_str(&s.text), STR("the command was not run")));
	CHECK_INT(s.calls, 0);
}

TEST(an_agent_without_a_shell_cannot_use_a_skill_with_commands)
{
	CLEANUP(scene_close) struct scene s;
	scene_open(&s);
	s.no_shell = true;

	run(&s, "a !`one`", "");

	CHECK(str_has(buf_str(&s.failure), STR("this agent has no Bash tool")));
}

TEST(a_skill_that_is_cancelled_ends_soon_and_once)
{
	CLEANUP(scene_close) struct scene s;
	scene_open(&s);
	start(&s, "!`wait` !`one`", "");
	struct tool_call *call = NULL;
	while (!call) {
		uv_run(loop_uv(s.env.loop), UV_RUN_NOWAIT);
		call = skill_render_call(s.render);
	}

	skill_render_cancel(s.render);
	loop_run(s.env.loop);

	CHECK_INT(s.done, 1);
	CHECK(str_has(buf_str(&s.failure), STR("it was cancelled")));
	CHECK_INT(s.calls, 1);
}

TEST(a_skill_that_is_cancelled_before_it_begins_runs_nothing)
{
	CLEANUP(scene_close) struct scene s;
	scene_open(&s);
	start(&s, "!`one`", "");

	skill_render_cancel(s.render);
	loop_run(s.env.loop);

	CHECK_INT(s.done, 1);
	CHECK_INT(s.calls, 0);
}

TEST(files_are_attached_once_and_only_if_they_are_there)
{
	CLEANUP(scene_close) struct scene s;
	scene_open(&s);
	char dir[FOLDER_MAX];
	folder_make(dir);
	s.env.cwd = dir;
	char *path = path_join(&s.arena, dir, "a.txt");
	char *secret = path_join(&s.arena, dir, "secret.txt");
	char *printed = path_join(&s.arena, dir, "printed.txt");
	file_put(printed, STR("x"));
	file_put(path, STR("x"));
	file_put(secret, STR("x"));

	run(&s, "!`echo @printed.txt` See @a.txt, @a.txt, @missing, @someone and @secret.txt.", "");

	CHECK_INT(s.calls, 2); /* the command and one file */
	CHECK(str_has(buf_str(&s.text),
		      str_from(arena_printf(&s.arena, "<file path=\"%s\">\ncontent\n</file>", path))));
	CHECK(str_has(buf_str(&s.text),
		      str_from(arena_printf(&s.arena, "(%s was not attached: a rule says no)", secret))));
	folder_remove(dir);
}

int test_render(void)
{
	return RUN_TESTS(T(commands_run_in_order_and_their_output_stands_in_their_place),
			 T(output_and_arguments_are_not_looked_at_again),
			 T(arguments_that_no_placeholder_takes_are_added_at_the_end),
			 T(a_command_that_fails_ends_it_with_the_reason),
			 T(a_command_that_is_not_allowed_ends_it_with_the_reason),
			 T(the_name_of_a_directory_is_never_code_in_a_command),
			 T(where_commands_are_off_a_note_stands_in_their_place),
			 T(an_agent_without_a_shell_cannot_use_a_skill_with_commands),
			 T(a_skill_that_is_cancelled_ends_soon_and_once),
			 T(a_skill_that_is_cancelled_before_it_begins_runs_nothing),
			 T(files_are_attached_once_and_only_if_they_are_there));
}
