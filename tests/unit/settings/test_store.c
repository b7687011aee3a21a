/* SPDX-License-Identifier: MIT
 * test_store.c - a rule is added to a settings file, and nothing that was in it is lost. */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "lib/io/file.h"
#include "config/settings/settings_store.h"
#include "stage.h"
#include "tests.h"

static void keep_error(void *data, const struct err *err)
{
	*(struct err *)data = *err;
}

/* As a session does it, until it is made. */
static int change_now(const struct settings_change *c, struct err *err)
{
	struct change_queue q = { .loop = loop_new(0) };
	struct err later = { 0 };
	int status = settings_store(&q, c, keep_error, &later, err);

	change_queue_drain(&q);
	loop_free(q.loop);
	return status == CHANGE_LATER ? -(int)later.kind : status;
}

static int add(struct stage *s, const char *file, const char *rule, struct err *err)
{
	const struct str names[] = { STR("permissions"), STR("allow") };

	return change_now(&(struct settings_change){ .path = stage_path(s, file),
						     .names = names,
						     .count = COUNT_OF(names),
						     .edit = SETTINGS_LIST_ADD,
						     .list_kind = "a list of rules",
						     .items = &rule,
						     .item_count = 1 },
			  err);
}

static int add_text(struct stage *s, const char *list, const char *text, struct err *err)
{
	return change_now(&(struct settings_change){ .path = stage_path(s, "f"),
						     .names = &(struct str){ list, strlen(list) },
						     .count = 1,
						     .edit = SETTINGS_LIST_ADD,
						     .list_kind = "a list of texts",
						     .items = &text,
						     .item_count = 1 },
			  err);
}

TEST(a_rule_is_put_in_and_all_other_bytes_stay)
{
	static const struct {
		const char *text, *expected; /* expected NULL: nothing changes */
	} rows[] = {
		{ "", "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(a)\"\n    ]\n  }\n}\n" },
		{ "{}", "{\"permissions\": {\"allow\": [\"Bash(a)\"]}}" },
		{ "{\n}\n", "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(a)\"\n    ]\n  }\n}\n" },
		{ "{\"x\":1.50}", "{\"x\":1.50, \"permissions\": {\"allow\": [\"Bash(a)\"]}}" },
		{ "{ \"permissions\" : {\"deny\":[ ]} }",
		  "{ \"permissions\" : {\"deny\":[ ], \"allow\": [\"Bash(a)\"]} }" },
		{ "{\"permissions\":{\"allow\":[ \"b\",\"c\" ]}}",
		  "{\"permissions\":{\"allow\":[ \"b\",\"c\", \"Bash(a)\" ]}}" },
		{ "{\n    \"permissions\": {\n        \"allow\": [\n            \"b\"\n        ]\n    }\n}",
		  "{\n    \"permissions\": {\n        \"allow\": [\n            \"b\",\n            \"Bash(a)\"\n        ]\n    }\n}" },
		{ "{\n    \"permissions\": {\n        \"allow\": []\n    },\n    \"z\": 0\n}",
		  "{\n    \"permissions\": {\n        \"allow\": [\n            \"Bash(a)\"\n        ]\n    },\n    \"z\": 0\n}" },
		{ "{\n\t\"permissions\": {\n\t\t\"ask\": []\n\t}\n}",
		  "{\n\t\"permissions\": {\n\t\t\"ask\": [],\n\t\t\"allow\": [\n\t\t\t\"Bash(a)\"\n\t\t]\n\t}\n}" },
		{ "{\r\n  \"x\": {}\r\n}\r\n",
		  "{\r\n  \"x\": {},\r\n  \"permissions\": {\r\n    \"allow\": [\r\n      \"Bash(a)\"\r\n    ]\r\n  }\r\n}\r\n" },
		{ "\xef\xbb\xbf{\"\\u0070ermissions\":{}}",
		  "\xef\xbb\xbf{\"\\u0070ermissions\":{\"allow\": [\"Bash(a)\"]}}" },
		{ "{\"permissions\":{\"allow\":[]},\"permissions\":{}}",
		  "{\"permissions\":{\"allow\":[]},\"permissions\":{\"allow\": [\"Bash(a)\"]}}" },
		{ "{\"permissions\":{\"allow\":[1, null]}}", "{\"permissions\":{\"allow\":[1, null, \"Bash(a)\"]}}" },
		{ "{\"permissions\":{\"allow\":[\"Bash(a)\"]}}", NULL },
		{ "{\"permissions\":{\"allow\":[\"Bash\\u0028a)\"]}}", NULL },
	};
	struct stage s;
	stage_init(&s);

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct err err = { 0 };
		stage_put(&s, "f", rows[i].text);
		CHECK_INT(add(&s, "f", "Bash(a)", &err), 0);
		CHECK_CSTR(stage_text(&s, "f"), rows[i].expected ? rows[i].expected : rows[i].text);
	}
	stage_release(&s);
}

TEST(a_text_is_put_into_a_list_of_the_file_itself_once)
{
	struct stage s;
	struct err err = { 0 };
	stage_init(&s);

	stage_put(&s, "f", "{\"x\": 1}");
	CHECK_INT(add_text(&s, "names", "a", &err), 0);
	CHECK_INT(add_text(&s, "names", "b", &err), 0);
	CHECK_INT(add_text(&s, "names", "a", &err), 0);
	CHECK_CSTR(stage_text(&s, "f"), "{\"x\": 1, \"names\": [\"a\", \"b\"]}");
	CHECK_INT(add_text(&s, "x", "a", &err), -ERR_USAGE);
	CHECK(str_has(str_from(err.text), STR("f:1:7: expected a list of texts")));
	stage_release(&s);
}

TEST(a_file_that_is_not_understood_is_refused_and_left_alone)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{ "{\"x\":", "f:1:6: " },
		{ "[]", "f:1:1: expected an object" },
		{ "{ // a comment\n}", "f:1:3: " },
		{ "{\"permissions\":{\"allow\":[\"a\",]}}", "f:1:30: " },
		{ "{\"permissions\":[]}", "f:1:16: expected an object" },
		{ "{\"permissions\":null}", "f:1:16: expected an object" },
		{ "{\"permissions\":{\"allow\":\"Bash\"}}", "f:1:25: expected a list of rules" },
		{ "{} {}", "f:1:4: " },
		{ "{\"a\":\"\xff\"}", "f:1:" },
	};
	struct stage s;
	stage_init(&s);

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct err err = { 0 };
		stage_put(&s, "f", rows[i].text);
		print_message("# %.*s\n", (int)strcspn(rows[i].text, "\n"), rows[i].text);
		CHECK_INT(add(&s, "f", "Bash(a)", &err), -ERR_USAGE);
		CHECK(str_has(str_from(err.text), str_from(rows[i].expected)));
		CHECK_CSTR(stage_text(&s, "f"), rows[i].text);
	}
	stage_release(&s);
}

TEST(a_file_that_is_not_there_is_made_with_its_directory)
{
	struct err err = { 0 };
	struct stage s;
	stage_init(&s);

	CHECK_INT(add(&s, "new/.claude/settings.local.json", "Bash(say \"hi\\there\")", &err), 0);

	CHECK_CSTR(
		stage_text(&s, "new/.claude/settings.local.json"),
		"{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(say \\\"hi\\\\there\\\")\"\n    ]\n  }\n}\n");
	stage_release(&s);
}

TEST(a_link_stays_a_link_and_its_target_keeps_its_mode)
{
	struct err err = { 0 };
	struct stat st;
	struct stage s;
	stage_init(&s);
	stage_put(&s, "elsewhere/real", "{}");
	CHECK_INT(chmod(stage_path(&s, "elsewhere/real"), 0640), 0);
	CHECK_INT(symlink("elsewhere/real", stage_path(&s, "link")), 0);

	CHECK_INT(add(&s, "link", "Bash(a)", &err), 0);

	CHECK_INT(lstat(stage_path(&s, "link"), &st), 0);
	CHECK(S_ISLNK(st.st_mode));
	CHECK_INT(stat(stage_path(&s, "elsewhere/real"), &st), 0);
	CHECK_INT(st.st_mode & 07777, 0640);
	CHECK_CSTR(stage_text(&s, "elsewhere/real"), "{\"permissions\": {\"allow\": [\"Bash(a)\"]}}");
	stage_release(&s);
}

TEST(what_is_no_file_is_refused)
{
	struct err err = { 0 };
	struct stage s;
	stage_init(&s);
	CHECK_INT(mkdir(stage_path(&s, "dir"), 0700), 0);
	CHECK_INT(mkfifo(stage_path(&s, "pipe"), 0600), 0);
	CHECK_INT(symlink("loop", stage_path(&s, "loop")), 0);

	CHECK_INT(add(&s, "dir", "Bash(a)", &err), -ERR_USAGE);
	CHECK_INT(add(&s, "pipe", "Bash(a)", &err), -ERR_USAGE);
	CHECK(add(&s, "loop", "Bash(a)", &err) < 0);

	stage_release(&s);
}

/* Half of them come by another way to the same file. */
TEST(several_writers_lose_no_rule)
{
	enum { WRITERS = 6, EACH = 10 };
	struct err err = { 0 };
	struct stage s;
	pid_t pids[WRITERS];
	stage_init(&s);
	stage_put(&s, "real/f", "{\"kept\": [1, 2, 3]}");
	CHECK_INT(symlink("real/f", stage_path(&s, "link")), 0);

	for (int w = 0; w < WRITERS; w++) {
		pids[w] = fork();
		if (pids[w])
			continue;
		int failed = 0;
		for (int i = 0; i < EACH; i++)
			failed |= add(&s, w % 2 ? "real/f" : "link", arena_printf(&s.arena, "Bash(<%d>)", w * EACH + i),
				      &err);
		_exit(failed ? 1 : 0);
	}

	for (int w = 0; w < WRITERS; w++) {
		int status = -1;
		CHECK_INT(waitpid(pids[w], &status, 0), pids[w]);
		CHECK_INT(status, 0);
	}
	const char *text = stage_text(&s, "real/f");
	for (int i = 0; i < WRITERS * EACH; i++)
		CHECK(strstr(text, arena_printf(&s.arena, "\"Bash(<%d>)\"", i)) != NULL);
	CHECK(str_starts(str_from(text), STR("{\"kept\": [1, 2, 3], \"permissions\": ")));
	stage_release(&s);
}

/* A process that was stopped while it changed the file */
TEST(a_lock_that_is_never_given_back_is_an_error_and_not_waited_for)
{
	struct stage s;
	struct err err = { 0 };
	stage_init(&s);
	stage_put(&s, "own/settings.json", "{}");
	stage_put(&s, "state.json", "{}");
	stage_put(&s, "state.json.cadre-lock", "");
	AUTO_CLOSE int dir = open(stage_path(&s, "own"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_CLOSE int file = open(stage_path(&s, "state.json.cadre-lock"), O_RDWR | O_CLOEXEC);
	CHECK_INT(flock(dir, LOCK_EX), 0);
	CHECK_INT(fcntl(file, F_OFD_SETLK, &(struct flock){ .l_type = F_WRLCK, .l_whence = SEEK_SET }), 0);

	alarm(30);
	CHECK_INT(settings_set_member(stage_path(&s, "own/settings.json"), &STR("a"), 1, STR("1"), &err), -ERR_BUSY);
	CHECK(strstr(err.text, "another process keeps"));
	CHECK_INT(state_file_set(stage_path(&s, "state.json"), &STR("a"), 1, STR("1"), NULL, &err), -ERR_BUSY);
	alarm(0);

	CHECK_CSTR(stage_text(&s, "own/settings.json"), "{}");
	stage_release(&s);
}

/* Changes behind a lock that another process holds, and the loop meanwhile */
struct held {
	struct loop *loop;
	struct change_queue queue;
	struct timer timer;
	int lock, ticks, ticks_when_done, dones;
	struct err err; /* of the last one */
};

static void tick_then_unlock(struct timer *timer)
{
	struct held *h = CONTAINER_OF(timer, struct held, timer);

	if (++h->ticks < 20) {
		timer_start(h->loop, timer, 1);
		return;
	}
	close(h->lock);
}

static void note_made(void *data, const struct err *err)
{
	struct held *h = data;

	h->dones++;
	h->ticks_when_done = h->ticks;
	h->err = *err;
}

TEST(a_change_whose_lock_is_held_is_made_later_in_its_order_and_the_loop_goes_on)
{
	static const char *const rules[] = { "Bash(a)", "Bash(b)", "Bash(c)" };
	const struct str list[] = { STR("permissions"), STR("allow") };
	struct stage s;
	struct held h = { .loop = loop_new(0), .timer.fire = tick_then_unlock };
	struct err err = { 0 };
	stage_init(&s);
	stage_put(&s, "own/settings.json", "{}");
	h.queue.loop = h.loop;
	h.lock = open(stage_path(&s, "own"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK_INT(flock(h.lock, LOCK_EX), 0);
	struct settings_change c = { .path = stage_path(&s, "own/settings.json"),
				     .names = list,
				     .count = COUNT_OF(list),
				     .list_kind = "a list of rules" };

	alarm(5); /* it must not wait */
	c.edit = SETTINGS_LIST_ADD;
	for (size_t i = 0; i < COUNT_OF(rules); i++) {
		c.items = &rules[i];
		c.item_count = 1;
		CHECK_INT(settings_store(&h.queue, &c, note_made, &h, &err), CHANGE_LATER);
	}
	c.edit = SETTINGS_LIST_REMOVE;
	c.items = &rules[1];
	CHECK_INT(settings_store(&h.queue, &c, note_made, &h, &err), CHANGE_LATER);
	alarm(0);
	CHECK_CSTR(stage_text(&s, "own/settings.json"), "{}");
	timer_start(h.loop, &h.timer, 1);
	change_queue_drain(&h.queue);

	CHECK_INT(h.dones, 4);
	CHECK_INT(h.err.kind, 0);
	CHECK_INT(h.ticks_when_done, 20); /* the loop ran while the worker waited */
	CHECK_CSTR(stage_text(&s, "own/settings.json"), "{\"permissions\": {\"allow\": [\"Bash(a)\",\"Bash(c)\"]}}");
	loop_free(h.loop);
	stage_release(&s);
}

TEST(a_change_that_fails_later_says_why)
{
	struct stage s;
	struct held h = { .loop = loop_new(0), .timer.fire = tick_then_unlock };
	struct err err = { 0 };
	stage_init(&s);
	stage_put(&s, "own/settings.json", "[]");
	h.queue.loop = h.loop;
	h.lock = open(stage_path(&s, "own"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK_INT(flock(h.lock, LOCK_EX), 0);

	CHECK_INT(settings_store(&h.queue,
				 &(struct settings_change){ .path = stage_path(&s, "own/settings.json"),
							    .names = &STR("a"),
							    .count = 1,
							    .value = STR("1") },
				 note_made, &h, &err),
		  CHANGE_LATER);
	timer_start(h.loop, &h.timer, 1);
	change_queue_drain(&h.queue);

	CHECK_INT(h.dones, 1);
	CHECK_INT(h.err.kind, ERR_USAGE);
	CHECK(strstr(h.err.text, "expected an object"));
	loop_free(h.loop);
	stage_release(&s);
}

TEST(a_member_is_set_or_removed_and_all_other_bytes_stay)
{
	static const struct {
		const char *text, *value, *expected; /* value NULL: a.b is removed; expected NULL: nothing changes */
	} rows[] = {
		{ "{}", "1", "{\"a\": {\"b\": 1}}" },
		{ "{\"a\":{}}", "1", "{\"a\":{\"b\": 1}}" },
		{ "{ \"a\" : {\"b\" : [2, 3]} }", "1", "{ \"a\" : {\"b\" : 1} }" },
		{ "{\"a\":{\"b\":1}}", "1", NULL },
		{ "{\n  \"a\": {\n    \"c\": 0\n  }\n}\n", "1",
		  "{\n  \"a\": {\n    \"c\": 0,\n    \"b\": 1\n  }\n}\n" },
		{ "{\"a\":{\"b\":1}}", NULL, "{\"a\":{}}" },
		{ "{\"a\":{\"b\":1,\"c\":2}}", NULL, "{\"a\":{\"c\":2}}" },
		{ "{\"a\":{\"c\":2 , \"b\":1}}", NULL, "{\"a\":{\"c\":2 }}" },
		{ "{\n  \"a\": {\n    \"c\": 0,\n    \"b\": 1\n  }\n}\n", NULL,
		  "{\n  \"a\": {\n    \"c\": 0\n  }\n}\n" },
		{ "{\n  \"a\": {\n    \"b\": 1,\n    \"c\": 0\n  }\n}\n", NULL,
		  "{\n  \"a\": {\n    \"c\": 0\n  }\n}\n" },
		{ "{\"a\":{\"c\":2}}", NULL, NULL },
		{ "{}", NULL, NULL },
	};
	static const struct str names[] = { { "a", 1 }, { "b", 1 } };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct err err = { 0 };
		struct stage s;
		stage_init(&s);
		stage_put(&s, "f", rows[i].text);
		CHECK_INT(settings_set_member(stage_path(&s, "f"), names, 2, str_from(rows[i].value), &err), 0);
		CHECK_CSTR(stage_text(&s, "f"), rows[i].expected ? rows[i].expected : rows[i].text);
		stage_release(&s);
	}
}

TEST(a_member_of_something_else_than_an_object_is_refused)
{
	static const struct str names[] = { { "a", 1 }, { "b", 1 } };
	struct err err = { 0 };
	struct stage s;
	stage_init(&s);
	stage_put(&s, "f", "{\"a\":\n7}");

	CHECK_INT(settings_set_member(stage_path(&s, "f"), names, 2, STR("1"), &err), -ERR_USAGE);

	CHECK_CSTR(stage_short(&s, err.text), "f:2:1: expected an object");
	CHECK_CSTR(stage_text(&s, "f"), "{\"a\":\n7}");
	stage_release(&s);
}

int test_store(void)
{
	return RUN_TESTS(T(a_lock_that_is_never_given_back_is_an_error_and_not_waited_for),
			 T(a_change_whose_lock_is_held_is_made_later_in_its_order_and_the_loop_goes_on),
			 T(a_change_that_fails_later_says_why), T(a_rule_is_put_in_and_all_other_bytes_stay),
			 T(a_text_is_put_into_a_list_of_the_file_itself_once),
			 T(a_file_that_is_not_understood_is_refused_and_left_alone),
			 T(a_file_that_is_not_there_is_made_with_its_directory),
			 T(a_link_stays_a_link_and_its_target_keeps_its_mode), T(what_is_no_file_is_refused),
			 T(several_writers_lose_no_rule), T(a_member_is_set_or_removed_and_all_other_bytes_stay),
			 T(a_member_of_something_else_than_an_object_is_refused));
}
