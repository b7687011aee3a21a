/* SPDX-License-Identifier: MIT
 * test_checkpoint.c - files that are kept before they change, and the way back. */
#include <sys/stat.h>
#include "core/store/file_history.h"
#include "stage.h"
#include "test_session.h"

#define FIRST  "aaaaaaaa-0000-4000-8000-000000000001"
#define SECOND "aaaaaaaa-0000-4000-8000-000000000002"
#define BACK   "bbbbbbbb-0000-4000-8000-000000000001"

struct lab {
	struct stage stage;
	struct store store;
	struct checkpoint *checkpoint;
	char *dir;
};

static void lab_open(struct lab *l)
{
	stage_init(&l->stage);
	store_init(&l->store, NULL, l->stage.dir);
	l->dir = checkpoint_dir(&l->stage.arena, l->stage.dir, "s");
	l->checkpoint = checkpoint_new(&l->store, l->dir);
}

static void lab_close(struct lab *l)
{
	checkpoint_free(l->checkpoint);
	store_release(&l->store);
	stage_release(&l->stage);
}
#define LAB(name)                           \
	CLEANUP(lab_close) struct lab name; \
	lab_open(&name)

static void mark(struct lab *l, const char *uuid)
{
	CHECK_INT(checkpoint_mark(l->checkpoint, uuid, NULL, NULL), 0);
}

/* As a tool does it. */
static void change(struct lab *l, const char *name, const char *text)
{
	struct file_version after = file_version_of(str_from(text));

	CHECK_INT(checkpoint_change(l->checkpoint, stage_path(&l->stage, name), &after, NULL), 0);
	stage_write(&l->stage, name, text);
}

/* "name:then>now! ..." of the files that are to go back; ! marks foreign ones. */
static char *plan(struct lab *l, const char *uuid, bool go)
{
	AUTO_HISTORY struct file_history h = { 0 };
	AUTO_PLAN struct rewind_plan p = { 0 };
	AUTO_BUF struct buf out = { 0 };
	struct err err = { 0 };

	CHECK_INT(file_history_load(l->dir, &h, &err), 0);
	const struct history_mark *m = uuid ? file_history_find(&h, uuid) : file_history_latest(&h);
	if (!m)
		return arena_strdup(&l->stage.arena, "no mark");
	if (rewind_plan_make(&h, m, l->dir, &p, &err) < 0)
		return arena_strdup(&l->stage.arena, err.text);
	if (go)
		CHECK_INT(checkpoint_mark(l->checkpoint, BACK, m->uuid, &err), 0);
	for (size_t i = 0; i < p.count; i++) {
		const struct rewind_file *f = &p.files[i];
		buf_addf(&out, "%s%s:%s>%s%s", i ? " " : "", strrchr(f->path, '/') + 1,
			 f->then.exists ? buf_str(&f->then_bytes).p : "-",
			 f->now.exists ? buf_str(&f->now_bytes).p : "-", f->foreign ? "!" : "");
		if (go)
			CHECK_INT(rewind_file_restore(f, l->checkpoint, &err), 0);
	}
	return arena_strdup(&l->stage.arena, buf_str(&out).p);
}

static size_t kept_count(struct lab *l)
{
	AUTO_ARENA struct arena a = { 0 };
	size_t count = 0;

	for (const char *text = "abc"; *text; text++) {
		struct file_version v = file_version_of((struct str){ text, 1 });
		count += access(checkpoint_content_path(&a, l->dir, &v), R_OK) == 0;
	}
	return count;
}

TEST(files_go_back_to_how_they_were_at_a_message)
{
	LAB(l);
	stage_write(&l.stage, "old", "a");
	mark(&l, FIRST);
	change(&l, "old", "b");
	change(&l, "new", "n");
	mark(&l, SECOND);
	change(&l, "old", "c");

	CHECK_CSTR(plan(&l, SECOND, false), "old:b>c");
	CHECK_CSTR(plan(&l, FIRST, true), "old:a>c new:->n");
	CHECK_CSTR(stage_read(&l.stage, "old"), "a");
	CHECK(access(stage_path(&l.stage, "new"), F_OK) < 0);
	CHECK_CSTR(plan(&l, FIRST, false), "");
}

TEST(a_way_back_can_be_taken_back)
{
	LAB(l);
	stage_write(&l.stage, "old", "a");
	mark(&l, FIRST);
	change(&l, "old", "b");
	change(&l, "new", "n");
	plan(&l, FIRST, true);

	CHECK_CSTR(plan(&l, BACK, true), "old:b>a new:n>-");
	CHECK_CSTR(stage_read(&l.stage, "old"), "b");
	CHECK_CSTR(stage_read(&l.stage, "new"), "n");
}

TEST(without_a_name_the_last_message_that_changed_files_is_meant)
{
	LAB(l);
	mark(&l, FIRST);
	CHECK_CSTR(plan(&l, NULL, false), "no mark");
	change(&l, "f", "b");
	mark(&l, SECOND);

	CHECK_CSTR(plan(&l, NULL, true), "f:->b");
	CHECK_CSTR(plan(&l, NULL, false), "");
	CHECK_CSTR(plan(&l, "aaaaaaaa-0000-4000-8000-000000000009", false), "no mark");
}

TEST(changes_of_others_are_seen_behind_and_between_ours)
{
	LAB(l);
	stage_write(&l.stage, "behind", "a");
	stage_write(&l.stage, "between", "a");
	stage_write(&l.stage, "gone", "a");
	mark(&l, FIRST);
	change(&l, "behind", "b");
	change(&l, "between", "b");
	change(&l, "gone", "b");
	stage_write(&l.stage, "behind", "x");
	stage_write(&l.stage, "between", "x");
	change(&l, "between", "c");
	CHECK_INT(unlink(stage_path(&l.stage, "gone")), 0);

	CHECK_CSTR(plan(&l, FIRST, false), "behind:a>x! between:a>c! gone:a>-!");
}

TEST(a_change_that_a_crash_cut_off_is_nobody_elses)
{
	LAB(l);
	struct file_version after = file_version_of(STR("c"));
	stage_write(&l.stage, "f", "a");
	mark(&l, FIRST);
	change(&l, "f", "b");
	CHECK_INT(checkpoint_change(l.checkpoint, stage_path(&l.stage, "f"), &after, NULL), 0);

	CHECK_CSTR(plan(&l, FIRST, false), "f:a>b");
}

TEST(a_content_is_kept_once_and_for_its_owner_only)
{
	LAB(l);
	struct stat st;
	mark(&l, FIRST);
	stage_write(&l.stage, "one", "a");
	stage_write(&l.stage, "two", "a");
	change(&l, "one", "b");
	change(&l, "two", "b");
	change(&l, "two", "b");

	CHECK_INT(kept_count(&l), 1);
	CHECK_INT(stat(l.dir, &st), 0);
	CHECK_INT(st.st_mode & 0777, 0700);
	CHECK_CSTR(plan(&l, FIRST, false), "one:a>b two:a>b");
}

TEST(the_mode_comes_back_too)
{
	LAB(l);
	struct stat st;
	char *path = stage_write(&l.stage, "run.sh", "a");
	CHECK_INT(chmod(path, 0750), 0);
	mark(&l, FIRST);
	change(&l, "run.sh", "b");
	CHECK_INT(unlink(path), 0);

	CHECK_CSTR(plan(&l, FIRST, true), "run.sh:a>-!");
	CHECK_INT(stat(path, &st), 0);
	CHECK_INT(st.st_mode & 07777, 0750);
}

/* Whoever can write there may have put a link in the way since; the user's word was about the old file. */
TEST(a_way_back_through_a_link_is_refused)
{
	LAB(l);
	CHECK_INT(mkdir(stage_path(&l.stage, "dir"), 0755), 0);
	CHECK_INT(mkdir(stage_path(&l.stage, "out"), 0755), 0);
	stage_write(&l.stage, "dir/f", "a");
	stage_write(&l.stage, "out/f", "out");
	mark(&l, FIRST);
	change(&l, "dir/f", "b");
	change(&l, "dir/new", "n");
	CHECK_INT(rename(stage_path(&l.stage, "dir"), stage_path(&l.stage, "away")), 0);
	CHECK_INT(symlink("out", stage_path(&l.stage, "dir")), 0);

	CHECK(str_ends(str_from(plan(&l, FIRST, true)), STR("dir/f: it is or leads through a symbolic link")));
	CHECK_CSTR(stage_read(&l.stage, "out/f"), "out");
	CHECK_INT(unlink(stage_path(&l.stage, "dir")), 0);
	CHECK_INT(rename(stage_path(&l.stage, "away"), stage_path(&l.stage, "dir")), 0);
	CHECK_CSTR(plan(&l, FIRST, true), "f:a>b new:->n");
	CHECK_CSTR(stage_read(&l.stage, "dir/f"), "a");
}

TEST(a_torn_line_takes_no_other_with_it)
{
	LAB(l);
	stage_write(&l.stage, "f", "a");
	mark(&l, FIRST);
	FILE *file = fopen(checkpoint_history_path(&l.stage.arena, l.dir), "a");
	CHECK(file && fputs("{\"type\":\"change\",\"pa", file) >= 0 && fclose(file) == 0);
	checkpoint_free(l.checkpoint);
	l.checkpoint = checkpoint_new(&l.store, l.dir);
	change(&l, "f", "b");

	CHECK_CSTR(plan(&l, FIRST, false), "f:a>b");
}

TEST(damage_of_what_was_kept_is_found_before_anything_changes)
{
	LAB(l);
	struct file_version v = file_version_of(STR("a"));
	stage_write(&l.stage, "f", "a");
	mark(&l, FIRST);
	change(&l, "f", "b");
	const char *kept = checkpoint_content_path(&l.stage.arena, l.dir, &v);
	stage_write(&l.stage, kept + strlen(l.stage.dir) + 1, "x");

	CHECK(strstr(plan(&l, FIRST, true), "is damaged"));
	CHECK_INT(unlink(kept), 0);
	CHECK(strstr(plan(&l, FIRST, true), "is gone"));
	CHECK_CSTR(stage_read(&l.stage, "f"), "b");
}

TEST(lines_that_lead_elsewhere_are_passed_over)
{
	static const char *const lines[] = {
		"{\"type\":\"change\",\"path\":\"f\",\"before\":null,\"after\":null}",
		"{\"type\":\"change\",\"path\":\"/f\",\"before\":{\"sha256\":\"../../../etc/passwd\"},\"after\":null}",
		"{\"type\":\"change\",\"path\":\"/f\",\"before\":null}",
		"{\"type\":\"change\"}",
		"{\"type\":\"mark\",\"uuid\":\"x\"}",
		"[]",
		"",
	};
	LAB(l);
	AUTO_HISTORY struct file_history h = { 0 };
	AUTO_BUF struct buf text = { 0 };
	for (size_t i = 0; i < COUNT_OF(lines); i++)
		buf_addf(&text, "%s\n", lines[i]);
	mark(&l, FIRST);
	const char *path = checkpoint_history_path(&l.stage.arena, l.dir);
	stage_write(&l.stage, path + strlen(l.stage.dir) + 1, text.p);

	CHECK_INT(file_history_load(l.dir, &h, NULL), 0);
	CHECK_INT(h.mark_count, 0);
	CHECK_INT(h.change_count, 0);
}

TEST(a_session_that_kept_nothing_is_not_found)
{
	LAB(l);
	AUTO_HISTORY struct file_history h = { 0 };

	CHECK_INT(file_history_load(l.dir, &h, &(struct err){ 0 }), -ERR_NOT_FOUND);
}

int test_checkpoint(void)
{
	return RUN_TESTS(T(files_go_back_to_how_they_were_at_a_message), T(a_way_back_can_be_taken_back),
			 T(without_a_name_the_last_message_that_changed_files_is_meant),
			 T(changes_of_others_are_seen_behind_and_between_ours),
			 T(a_change_that_a_crash_cut_off_is_nobody_elses),
			 T(a_content_is_kept_once_and_for_its_owner_only), T(the_mode_comes_back_too),
			 T(a_way_back_through_a_link_is_refused), T(a_torn_line_takes_no_other_with_it),
			 T(damage_of_what_was_kept_is_found_before_anything_changes),
			 T(lines_that_lead_elsewhere_are_passed_over), T(a_session_that_kept_nothing_is_not_found));
}
