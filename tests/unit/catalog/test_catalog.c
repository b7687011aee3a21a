/* SPDX-License-Identifier: MIT
 * test_catalog.c - the catalog with a kind of its own: priority, hot reload, what is hidden, what failed. */
#include <unistd.h>
#include "config/catalog/catalog.h"
#include "lib/io/file.h"
#include "lib/io/loop.h"
#include "unit.h"

/* Notes: files with a name, a colour and a limit. */

struct note {
	DEFINITION_HEAD;
	const char *color;
	bool limited;
};

static unsigned parsed; /* files, since the test began */

static void read_text(struct definition_reader *r, const struct json *value, void *at)
{
	*(const char **)at = definition_text(r, value);
}

static void read_limit(struct definition_reader *r, const struct json *value, void *at)
{
	if (json_is(value, JSON_TRUE))
		*(bool *)at = true;
	else
		definition_refuse(r, "limit: must be true, so the note is refused");
}

static const struct definition_field fields[] = {
	{ "name", { 0 }, FRONTMATTER_KNOWN, read_text, offsetof(struct note, name) },
	{ "color", { "colour" }, FRONTMATTER_KNOWN, read_text, offsetof(struct note, color) },
	{ "limit", { 0 }, FRONTMATTER_KNOWN | FRONTMATTER_RESTRICTION, read_limit, offsetof(struct note, limited) },
	{ 0 },
};

static const struct definition_format format = { .noun = "note", .fields = fields };

static struct definition *parse_note(const struct catalog_location *location, const struct tree_file *file,
				     struct str text, struct err *err)
{
	struct definition_reader r;
	struct frontmatter fm;

	parsed++;
	if (!strcmp(file->name, "bad.md")) {
		err_set(err, ERR_PARSE, "a bad name");
		return NULL;
	}
	struct note *n = definition_new(sizeof *n, location->source, file->path, file->name);
	definition_read_begin(&r, &n->common, &format);
	definition_read_markdown(&r, text, &fm);
	n->ignored = !n->color;
	definition_read_end(&r);
	return &n->common;
}

/* A file of its own names one note per line; one that is empty cannot be read. */
static void read_list(struct catalog *c, struct catalog_file *f, const struct catalog_location *location)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_ARENA struct arena a = { 0 };

	if (file_read(f->path, 1 << 10, &text, NULL) < 0 || !text.n) {
		catalog_file_fail(f, 7, "the list is empty");
		return;
	}
	catalog_file_clear(c, f);
	for (struct str rest = str_trim(buf_str(&text)); rest.p;) {
		struct note *n =
			definition_new(sizeof *n, location->source, f->path, arena_str(&a, str_cut(&rest, '\n')).p);
		n->color = "listed";
		catalog_file_add(f, &n->common);
	}
}

static void add_project(struct catalog_locations *p, const char *claude_dir, const char *below)
{
	catalog_add_location(p, LOCATION_TREE, SOURCE_PROJECT, path_join(&p->arena, claude_dir, "notes"))->below =
		below;
}

static void find_locations(struct catalog_locations *p, const struct catalog_sources *s)
{
	catalog_add_location(p, LOCATION_OWN, SOURCE_USER, path_join(&p->arena, s->config_dir, "list"));
	catalog_add_location(p, LOCATION_TREE, SOURCE_USER, path_join(&p->arena, s->config_dir, "notes"));
	catalog_each_project(p, s, s->flag, add_project);
}

static bool red_wins(const struct catalog_entry *newer, const struct catalog_entry *older)
{
	(void)older;
	return !strcmp(((const struct note *)newer->item)->color, "red");
}

static const struct catalog_kind kind = {
	.largest = 1 << 10, .find_locations = find_locations, .parse = parse_note, .read_own = read_list
};
static const struct catalog_kind kind_with_rule = { .largest = 1 << 10,
						    .find_locations = find_locations,
						    .parse = parse_note,
						    .read_own = read_list,
						    .wins = red_wins };
static const struct catalog_kind kind_of_inodes = { .largest = 1 << 10,
						    .once = ONE_INODE,
						    .find_locations = find_locations,
						    .parse = parse_note,
						    .read_own = read_list };

struct stage {
	char dir[FOLDER_MAX];
	struct arena arena;
	struct catalog *catalog;
};

static const char *stage_path(struct stage *s, const char *name)
{
	return path_join(&s->arena, s->dir, name);
}

static void stage_put(struct stage *s, const char *file, const char *name, const char *color)
{
	file_put(stage_path(s, file),
		 str_from(arena_printf(&s->arena, "---\nname: %s\ncolor: %s\n---\n", name, color)));
}

static int stage_open(struct stage *s, const struct catalog_kind *k, struct err *err)
{
	struct catalog_sources sources = { .cwd = stage_path(s, "top/a/b"),
					   .config_dir = stage_path(s, "config"),
					   .flag = stage_path(s, "top") };

	parsed = 0;
	return catalog_new(k, &sources, &s->catalog, err);
}

static void stage_release(struct stage *s)
{
	catalog_free(s->catalog);
	folder_remove(s->dir);
	arena_release(&s->arena);
}
#define AUTO_STAGE CLEANUP(stage_release)

/* "name=color" of what is active, in order */
static const char *stage_active(struct stage *s)
{
	AUTO_BUF struct buf out = { 0 };

	for (size_t i = 0; i < s->catalog->active_count; i++)
		buf_addf(&out, "%s%s=%s", i ? " " : "", s->catalog->active[i]->name,
			 ((const struct note *)s->catalog->active[i]->item)->color);
	return arena_str(&s->arena, buf_str(&out)).p;
}

TEST(a_later_place_wins_and_the_earlier_one_is_hidden_by_it)
{
	AUTO_STAGE struct stage s = { 0 };
	folder_make(s.dir);
	stage_put(&s, "config/notes/x.md", "x", "user");
	stage_put(&s, "top/.claude/notes/x.md", "x", "root");
	stage_put(&s, "top/a/.claude/notes/x.md", "x", "middle");
	stage_put(&s, "top/a/b/.claude/notes/x.md", "x", "near");
	stage_put(&s, "top/.claude/notes/y.md", "y", "root");

	CHECK_INT(stage_open(&s, &kind, NULL), 0);

	CHECK_CSTR(stage_active(&s), "x=near y=root");
	CHECK_INT(s.catalog->all_count, 5);
	for (size_t i = 0; i < s.catalog->all_count; i++) {
		const struct catalog_entry *e = &s.catalog->all[i];
		CHECK(e->hidden_by ==
		      (e == s.catalog->active[0] || e == s.catalog->active[1] ? NULL : s.catalog->active[0]));
	}
}

TEST(in_one_place_the_first_path_wins_unless_the_kind_has_a_rule)
{
	AUTO_STAGE struct stage s = { 0 };
	folder_make(s.dir);
	stage_put(&s, "config/notes/1.md", "x", "blue");
	stage_put(&s, "config/notes/2.md", "x", "red");
	stage_put(&s, "top/.claude/notes/x.md", "x", "green");

	CHECK_INT(stage_open(&s, &kind, NULL), 0);
	CHECK_CSTR(stage_active(&s), "x=green");
	CHECK_INT(unlink(stage_path(&s, "top/.claude/notes/x.md")), 0);
	catalog_refresh(s.catalog);
	CHECK_CSTR(stage_active(&s), "x=blue");

	catalog_free(TAKE(s.catalog));
	stage_put(&s, "top/.claude/notes/x.md", "x", "green");
	CHECK_INT(stage_open(&s, &kind_with_rule, NULL), 0);
	CHECK_CSTR(stage_active(&s), "x=red");
}

TEST(what_came_changed_or_went_is_seen_and_what_did_not_is_not_read_again)
{
	AUTO_STAGE struct stage s = { 0 };
	folder_make(s.dir);
	stage_put(&s, "config/notes/x.md", "x", "old");
	CHECK_INT(stage_open(&s, &kind, NULL), 0);

	stage_put(&s, "config/notes/x.md", "x", "new");
	stage_put(&s, "config/notes/sub/y.md", "y", "new");
	catalog_refresh(s.catalog);
	CHECK_CSTR(stage_active(&s), "x=new y=new");

	/* A file that was written a moment ago is read until its stamp can show the next change. */
	for (unsigned before = 0; before != parsed;) {
		before = parsed;
		catalog_refresh(s.catalog);
	}
	uint64_t generation = s.catalog->generation;
	catalog_refresh(s.catalog);
	CHECK_INT(s.catalog->generation, generation);

	struct definition *kept = s.catalog->active[0]->item;
	kept->refs++;
	CHECK_INT(unlink(stage_path(&s, "config/notes/x.md")), 0);
	catalog_refresh(s.catalog);
	CHECK_CSTR(stage_active(&s), "y=new");
	CHECK_INT(s.catalog->generation, generation + 1);
	CHECK_CSTR(kept->name, "x");
	definition_unref(kept);
}

TEST(refused_unreadable_and_too_large_files_are_failures_and_other_files_are_not)
{
	AUTO_STAGE struct stage s = { 0 };
	char large[2 << 10];
	folder_make(s.dir);
	memset(large, 'x', sizeof large);
	file_put(stage_path(&s, "config/notes/a.md"), STR("---\nname: a\ncolor: red\nlimit: perhaps\n---\n"));
	stage_put(&s, "config/notes/bad.md", "b", "red");
	file_put(stage_path(&s, "config/notes/large.md"), (struct str){ large, sizeof large });
	file_put(stage_path(&s, "config/notes/plain.md"), STR("only text\n"));
	stage_put(&s, "config/notes/x.md", "x", "red");

	CHECK_INT(stage_open(&s, &kind, NULL), 0);

	CHECK_CSTR(stage_active(&s), "x=red");
	CHECK_INT(s.catalog->looked_at_count, 3); /* a, plain, x */
	CHECK_INT(s.catalog->failed_count, 3);
	CHECK_INT(s.catalog->failed[0].line, 4);
	CHECK_CSTR(s.catalog->failed[0].message, "limit: must be true, so the note is refused");
	CHECK_CSTR(s.catalog->failed[1].message, "a bad name");
	CHECK_CSTR(s.catalog->failed[2].path, stage_path(&s, "config/notes/large.md"));
	CHECK_INT(s.catalog->failed[2].source, SOURCE_USER);
}

TEST(a_file_of_the_kinds_own_is_a_failure_or_keeps_what_it_said)
{
	AUTO_STAGE struct stage s = { 0 };
	struct err err = { 0 };
	folder_make(s.dir);
	file_put(stage_path(&s, "config/list"), STR(""));

	CHECK_INT(stage_open(&s, &kind, &err), 0);
	CHECK_INT(s.catalog->failed_count, 1);
	CHECK_INT(s.catalog->failed[0].line, 7);
	CHECK_CSTR(s.catalog->failed[0].message, "the list is empty");

	file_put(stage_path(&s, "config/list"), STR("x\ny\n"));
	catalog_refresh(s.catalog);
	CHECK_CSTR(stage_active(&s), "x=listed y=listed");

	file_put(stage_path(&s, "config/list"), STR(""));
	catalog_refresh(s.catalog);
	CHECK_CSTR(stage_active(&s), "x=listed y=listed");
	CHECK_INT(s.catalog->failed_count, 1);

	CHECK_INT(unlink(stage_path(&s, "config/list")), 0);
	catalog_refresh(s.catalog);
	CHECK_CSTR(stage_active(&s), "");
	CHECK_INT(s.catalog->failed_count, 0);
}

TEST(links_to_one_file_count_once_where_the_kind_says_so)
{
	AUTO_STAGE struct stage s = { 0 };
	folder_make(s.dir);
	stage_put(&s, "config/notes/x.md", "x", "red");
	CHECK_INT(symlink("x.md", stage_path(&s, "config/notes/y.md")), 0);

	CHECK_INT(stage_open(&s, &kind_of_inodes, NULL), 0);
	CHECK_INT(s.catalog->all_count, 1);
	catalog_free(TAKE(s.catalog));
	CHECK_INT(stage_open(&s, &kind, NULL), 0);
	CHECK_INT(s.catalog->all_count, 2);
}

TEST(the_users_own_directory_is_not_a_project)
{
	AUTO_STAGE struct stage s = { 0 };
	folder_make(s.dir);
	stage_put(&s, "top/.claude/notes/x.md", "x", "user");
	struct catalog_sources sources = { .cwd = stage_path(&s, "top/a"),
					   .config_dir = stage_path(&s, "top/.claude"),
					   .flag = stage_path(&s, "top") };

	CHECK_INT(catalog_new(&kind, &sources, &s.catalog, NULL), 0);

	CHECK_CSTR(stage_active(&s), "x=user");
	CHECK_INT(s.catalog->all_count, 1);
	CHECK_INT(s.catalog->all[0].item->source, SOURCE_USER);
}

static void on_kick(struct kick *kick)
{
	(void)kick;
}

/* A turn is no time: the next one looks again, also in the same millisecond. */
TEST(in_one_turn_of_the_loop_the_disk_is_looked_at_once)
{
	AUTO_STAGE struct stage s = { 0 };
	struct loop *loop = loop_new(LOOP_VIRTUAL_CLOCK);
	struct kick kick = { .step = on_kick };
	uint64_t now = loop_now_ms(loop);
	folder_make(s.dir);
	CHECK_INT(stage_open(&s, &kind, NULL), 0);

	catalog_refresh_once(s.catalog, loop);
	stage_put(&s, "config/notes/x.md", "x", "red");
	catalog_refresh_once(s.catalog, loop);
	CHECK_CSTR(stage_active(&s), "");

	loop_kick(loop, &kick);
	loop_run(loop);
	CHECK_INT(loop_now_ms(loop), now);
	catalog_refresh_once(s.catalog, loop);
	CHECK_CSTR(stage_active(&s), "x=red");
	catalog_refresh_once(NULL, loop);
	loop_free(loop);
}

int main(void)
{
	RUN_TESTS(T(a_later_place_wins_and_the_earlier_one_is_hidden_by_it),
		  T(in_one_place_the_first_path_wins_unless_the_kind_has_a_rule),
		  T(what_came_changed_or_went_is_seen_and_what_did_not_is_not_read_again),
		  T(refused_unreadable_and_too_large_files_are_failures_and_other_files_are_not),
		  T(a_file_of_the_kinds_own_is_a_failure_or_keeps_what_it_said),
		  T(links_to_one_file_count_once_where_the_kind_says_so), T(the_users_own_directory_is_not_a_project),
		  T(in_one_turn_of_the_loop_the_disk_is_looked_at_once));
	return tests_run();
}
