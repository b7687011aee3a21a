/* SPDX-License-Identifier: MIT
 * test_trust.c - trusted folders: what counts, and that nothing else in the file is touched. */
#include <sys/stat.h>
#include <sys/wait.h>
#include "lib/io/file.h"
#include "config/settings/trust.h"
#include "config/settings/settings_store.h"
#include "stage.h"
#include "tests.h"

static int edit(struct buf *out, const char *text, const char *folder, bool trusted, struct err *err)
{
	const struct str names[] = { STR("projects"), str_from(folder), STR("hasTrustDialogAccepted") };
	AUTO_SETTINGS_FILE struct settings_file f = { 0 };
	int status = settings_file_parse(&f, "f", str_from(text), err);

	return status < 0 ? status : text_set_member(out, &f, names, 3, trusted ? STR("true") : STR("false"), err);
}

TEST(an_answer_is_put_in_and_all_other_bytes_stay)
{
	static const struct {
		const char *text, *folder;
		bool trusted;
		const char *expected; /* NULL: nothing to change */
	} rows[] = {
		{ "", "/a", true,
		  "{\n  \"projects\": {\n    \"/a\": {\n      \"hasTrustDialogAccepted\": true\n    }\n  }\n}\n" },
		{ "\xef\xbb\xbf \n", "/a", true,
		  "\xef\xbb\xbf \n{\n  \"projects\": {\n    \"/a\": {\n      \"hasTrustDialogAccepted\": true\n    }\n  }\n}\n" },
		{ "{}", "/a", true, "{\"projects\": {\"/a\": {\"hasTrustDialogAccepted\": true}}}" },
		{ "{\"x\":1}", "/a", true, "{\"x\":1, \"projects\": {\"/a\": {\"hasTrustDialogAccepted\": true}}}" },
		{ "{ \"x\" : 1.50 ,\n  \"y\":[ ]\n}\n", "/a", true,
		  "{ \"x\" : 1.50 ,\n  \"y\":[ ],\n  \"projects\": {\n    \"/a\": {\n      \"hasTrustDialogAccepted\": true\n    }\n  }\n}\n" },
		{ "{\n  \"projects\": {}\n}", "/a", true,
		  "{\n  \"projects\": {\n    \"/a\": {\n      \"hasTrustDialogAccepted\": true\n    }\n  }\n}" },
		{ "{\n\t\"projects\": {\n\t\t\"/b\": {}\n\t}\n}", "/a", false,
		  "{\n\t\"projects\": {\n\t\t\"/b\": {},\n\t\t\"/a\": {\n\t\t\t\"hasTrustDialogAccepted\": false\n\t\t}\n\t}\n}" },
		{ "{\"projects\":{\"/a\":{\"history\":[1, 2]}}}", "/a", true,
		  "{\"projects\":{\"/a\":{\"history\":[1, 2], \"hasTrustDialogAccepted\": true}}}" },
		{ "{\"projects\":{\"/a\":{\"hasTrustDialogAccepted\" : false, \"z\":0}}}", "/a", true,
		  "{\"projects\":{\"/a\":{\"hasTrustDialogAccepted\" : true, \"z\":0}}}" },
		{ "{\"projects\":{\"/a\":{\"hasTrustDialogAccepted\":\"yes\"}}}", "/a", true,
		  "{\"projects\":{\"/a\":{\"hasTrustDialogAccepted\":true}}}" },
		{ "{\"projects\":{\"/a\":{\"hasTrustDialogAccepted\":true}}}", "/a", true, NULL },
		{ "{\"projects\":{\"/a\":{},\"\\/a\":{}}}", "/a", true,
		  "{\"projects\":{\"/a\":{},\"\\/a\":{\"hasTrustDialogAccepted\": true}}}" },
		{ "{\"projects\":{}}", "/q\"\\", true,
		  "{\"projects\":{\"/q\\\"\\\\\": {\"hasTrustDialogAccepted\": true}}}" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_BUF struct buf out = { 0 };
		struct err err = { 0 };
		CHECK_INT(edit(&out, rows[i].text, rows[i].folder, rows[i].trusted, &err), 0);
		CHECK_STR(buf_str(&out), rows[i].expected ? rows[i].expected : "");
	}
}

TEST(a_text_that_is_not_understood_is_refused)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{ "{\"projects\":", "f:1:13: " },
		{ "[]", "f:1:1: expected an object" },
		{ "{\n\"projects\":[]}", "f:2:12: expected an object" },
		{ "{\"projects\":{\"/a\":true}}", "f:1:19: expected an object" },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_BUF struct buf out = { 0 };
		struct err err = { 0 };
		CHECK_INT(edit(&out, rows[i].text, "/a", true, &err), -ERR_USAGE);
		CHECK(str_starts(str_from(err.text), str_from(rows[i].expected)));
		CHECK_INT(out.n, 0);
	}
}

static int record(struct stage *s, const char *folder, bool trusted, bool *ret_changed, struct err *err)
{
	const char *real;

	return trust_record(&s->arena, stage_path(s, "home/.claude.json"), stage_path(s, folder), trusted, &real,
			    ret_changed, err);
}

TEST(trust_is_for_the_very_folder_and_covers_what_is_below)
{
	AUTO_TRUST struct trust trust = { 0 };
	struct err err = { 0 };
	struct stage s;
	bool changed;
	stage_init(&s);
	stage_put(&s, "top/project/sub/file", "");
	CHECK_INT(symlink(stage_path(&s, "top/project"), stage_path(&s, "link")), 0);

	CHECK_INT(record(&s, "link", true, &changed, &err), 0);

	CHECK(changed);
	CHECK_INT(trust_read(&trust, stage_path(&s, "home/.claude.json"), &err), 0);
	CHECK_INT(trust.count, 1);
	CHECK(trust_has(&trust, stage_path(&s, "top/project")) && trust_has(&trust, stage_path(&s, "link")));
	CHECK(!trust_has(&trust, stage_path(&s, "top/project/sub")) && !trust_has(&trust, stage_path(&s, "top")));
	CHECK(!trust_has(&trust, stage_path(&s, "gone")));
	stage_release(&s);
}

TEST(consent_can_be_taken_back)
{
	AUTO_TRUST struct trust trust = { 0 };
	struct err err = { 0 };
	struct stage s;
	bool changed;
	stage_init(&s);
	CHECK_INT(record(&s, "top", true, &changed, &err), 0);
	CHECK_INT(record(&s, "top", true, &changed, &err), 0);
	CHECK(!changed);

	CHECK_INT(record(&s, "top", false, &changed, &err), 0);

	CHECK(changed);
	CHECK_INT(trust_read(&trust, stage_path(&s, "home/.claude.json"), &err), 0);
	CHECK_INT(trust.count, 0);
	stage_release(&s);
}

TEST(a_new_state_file_is_for_its_owner_only_and_an_old_one_keeps_its_mode)
{
	struct err err = { 0 };
	struct stat st;
	struct stage s;
	bool changed;
	stage_init(&s);
	CHECK_INT(record(&s, "top", true, &changed, &err), 0);
	CHECK_INT(stat(stage_path(&s, "home/.claude.json"), &st), 0);
	CHECK_INT(st.st_mode & 07777, 0600);

	CHECK_INT(chmod(stage_path(&s, "home/.claude.json"), 0640), 0);
	CHECK_INT(record(&s, "top/project", true, &changed, &err), 0);

	CHECK_INT(stat(stage_path(&s, "home/.claude.json"), &st), 0);
	CHECK_INT(st.st_mode & 07777, 0640);
	stage_release(&s);
}

TEST(a_broken_state_file_is_an_error_and_stays_as_it_is)
{
	AUTO_TRUST struct trust trust = { 0 };
	struct err err = { 0 };
	struct stage s;
	bool changed;
	stage_init(&s);
	stage_put(&s, "home/.claude.json", "{\"oauth\": \"secret\",");

	CHECK_INT(record(&s, "top", true, &changed, &err), -ERR_USAGE);

	CHECK(str_has(str_from(err.text), STR(".claude.json:1:20: ")));
	CHECK_CSTR(stage_text(&s, "home/.claude.json"), "{\"oauth\": \"secret\",");
	CHECK_INT(trust_read(&trust, stage_path(&s, "home/.claude.json"), &err), -ERR_USAGE);
	CHECK_INT(trust.count, 0);
	stage_release(&s);
}

TEST(only_directories_can_be_trusted)
{
	struct err err = { 0 };
	struct stage s;
	bool changed;
	stage_init(&s);

	CHECK_INT(record(&s, "nowhere", true, &changed, &err), -ERR_USAGE);
	CHECK_INT(record(&s, "top/project/file", true, &changed, &err), -ERR_USAGE);

	CHECK(str_ends(str_from(err.text), STR("not a directory")));
	CHECK(!file_exists(stage_path(&s, "home/.claude.json")));
	stage_release(&s);
}

/* In JSON both names would be the same text. */
TEST(a_directory_whose_name_is_no_text_gives_no_other_one_its_trust)
{
	AUTO_TRUST struct trust trust = { 0 };
	struct err err = { 0 };
	struct stage s;
	bool changed;
	stage_init(&s);
	stage_put(&s, "d\xff/f", "");
	stage_put(&s, "d\xef\xbf\xbd/f", "");

	CHECK_INT(record(&s, "d\xff", true, &changed, &err), -ERR_USAGE);

	CHECK(str_ends(str_from(err.text), STR("cannot keep a name that is not valid UTF-8")));
	CHECK_INT(trust_read(&trust, stage_path(&s, "home/.claude.json"), &err), 0);
	CHECK(!trust_has(&trust, stage_path(&s, "d\xef\xbf\xbd")));
	stage_release(&s);
}

TEST(only_true_is_trust)
{
	AUTO_TRUST struct trust trust = { 0 };
	struct err err = { 0 };
	struct stage s;
	stage_init(&s);
	stage_put(&s, "state",
		  "{\"projects\":{\"/a\":{\"hasTrustDialogAccepted\":\"true\"},\"/b\":{\"hasTrustDialogAccepted\":1},"
		  "\"/c\":true,\"/d\":{},\"/e\":{\"hasTrustDialogAccepted\":true,\"hasTrustDialogAccepted\":false}}}");

	CHECK_INT(trust_read(&trust, stage_path(&s, "state"), &err), 0);

	CHECK_INT(trust.count, 0);
	stage_release(&s);
}

TEST(several_writers_lose_nothing)
{
	enum { WRITERS = 6, EACH = 10 };
	AUTO_TRUST struct trust trust = { 0 };
	struct err err = { 0 };
	struct stage s;
	pid_t pids[WRITERS];
	stage_init(&s);
	for (int i = 0; i < WRITERS * EACH; i++)
		CHECK_INT(file_make_dirs(stage_path(&s, arena_printf(&s.arena, "d/%d", i)), 0700, &err), 0);

	for (int w = 0; w < WRITERS; w++) {
		pids[w] = fork();
		if (pids[w])
			continue;
		bool changed;
		int failed = 0;
		for (int i = 0; i < EACH; i++) {
			const char *name = arena_printf(&s.arena, "d/%d", w * EACH + i);
			int status;
			/* A write waits for the lock a moment only, which may be too short on a busy machine. */
			do
				status = record(&s, name, true, &changed, &err);
			while (status == -ERR_BUSY);
			failed |= status;
		}
		_exit(failed ? 1 : 0);
	}

	for (int w = 0; w < WRITERS; w++) {
		int status = -1;
		CHECK_INT(waitpid(pids[w], &status, 0), pids[w]);
		CHECK_INT(status, 0);
	}
	CHECK_INT(trust_read(&trust, stage_path(&s, "home/.claude.json"), &err), 0);
	CHECK_INT(trust.count, WRITERS * EACH);
	stage_release(&s);
}

TEST(work_in_a_repository_asks_about_its_root)
{
	struct stage s;
	stage_init(&s);
	AUTO_FREE char *home = xstrdup(getenv("HOME") ? getenv("HOME") : "/");
	stage_put(&s, "tree/.git", arena_printf(&s.arena, "gitdir: %s/top/.git/worktrees/tree\n", s.dir));
	stage_put(&s, "top/.git/worktrees/tree/gitdir", arena_printf(&s.arena, "%s/tree/.git\n", s.dir));

	CHECK_CSTR(stage_short(&s, trust_folder(&s.arena, stage_path(&s, "top/project"))), "top");
	CHECK_CSTR(stage_short(&s, trust_folder(&s.arena, stage_path(&s, "tree"))), "top");
	setenv("HOME", stage_path(&s, "top"), 1);
	CHECK_CSTR(stage_short(&s, trust_folder(&s.arena, stage_path(&s, "top/project"))), "top/project");

	setenv("HOME", home, 1);
	stage_release(&s);
}

int test_trust(void)
{
	return RUN_TESTS(T(an_answer_is_put_in_and_all_other_bytes_stay), T(a_text_that_is_not_understood_is_refused),
			 T(trust_is_for_the_very_folder_and_covers_what_is_below), T(consent_can_be_taken_back),
			 T(a_new_state_file_is_for_its_owner_only_and_an_old_one_keeps_its_mode),
			 T(a_broken_state_file_is_an_error_and_stays_as_it_is), T(only_directories_can_be_trusted),
			 T(a_directory_whose_name_is_no_text_gives_no_other_one_its_trust), T(only_true_is_trust),
			 T(several_writers_lose_nothing), T(work_in_a_repository_asks_about_its_root));
}
