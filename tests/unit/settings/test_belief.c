/* SPDX-License-Identifier: MIT
 * test_belief.c - what a project's files may say before the user trusts the folder: for every key, nothing that widens. */
#include <unistd.h>
#include "config/settings/settings_key.h"
#include "config/settings/trust.h"
#include "lib/git/git_head.h"
#include "stage.h"
#include "tests.h"

static const char user_file[] = "config/settings.json";
static const char project_file[] = "top/project/.claude/settings.json";
static const char local_file[] = "top/project/.claude/settings.local.json";

/* A value of the key, as JSON: a narrow and a wide one where that is defined, otherwise two that differ. */
static const char *sample(struct arena *a, const struct setting_key *key, bool wide)
{
	size_t n = 0;

	switch (key->type) {
	case SETTING_BOOL:
		return wide ? "false" : "true";
	case SETTING_INTEGER:
	case SETTING_NUMBER:
		if (!wide)
			return "2";
		return key->fallback && !strcmp(key->fallback, "0") ? "0"
		       : key->most                                  ? arena_printf(a, "%lld", (long long)key->most)
								    : "70000";
	case SETTING_CHOICE:
		while (key->choices[n])
			n++;
		return arena_printf(a, "\"%s\"", key->choices[wide ? 0 : n - 1]);
	case SETTING_TEXT:
		return wide ? "\"theirs\"" : "\"mine\"";
	case SETTING_MAP:
		return wide ? "{\"n\":{\"theirs\":1}}" : "{\"n\":{\"mine\":1}}";
	case SETTING_ENV:
		return wide ? "{\"N\":\"theirs\"}" : "{\"N\":\"mine\"}";
	case SETTING_CREDENTIALS:
		return wide ? "{\"files\":[\"theirs\"]}" : "{\"files\":[\"mine\"]}";
	case SETTING_TEXT_LISTS:
		return wide ? "{\"*\":[\"theirs\"]}" : "{\"*\":[\"mine\"]}";
	case SETTING_LISTS:
		return wide ? "{\"Stop\":[{\"theirs\":1}]}" : "{\"Stop\":[{\"mine\":1}]}";
	default:
		return wide ? "[\"theirs\"]" : "[\"mine\"]";
	}
}

static void put_key(struct stage *s, const char *file, const char *path, const char *value)
{
	AUTO_BUF struct buf text = { 0 };
	struct str rest = str_from(path);
	size_t depth = 0;

	for (; rest.p; depth++) {
		struct str name = str_cut(&rest, '.');
		buf_addf(&text, "{\"" STR_FMT "\":", STR_ARG(name));
	}
	buf_addstr(&text, value);
	while (depth--)
		buf_addch(&text, '}');
	stage_put(s, file, text.p);
}

static const char *value_with(struct stage *s, const struct setting_key *key, bool trusted)
{
	s->spec.trusted = trusted;
	stage_load(s);
	return stage_get(s, key->path);
}

TEST(an_untrusted_project_changes_no_key_that_is_not_open_to_anyone)
{
	struct stage s;
	size_t seen = 0;

	stage_init(&s);
	for (size_t i = 0; i < setting_count; i++) {
		const struct setting_key *key = &setting_table[i];
		if (key->flags & (SETTING_ANYONE | SETTING_MANAGED))
			continue;
		put_key(&s, project_file, key->path, sample(&s.arena, key, true));
		stage_put(&s, user_file, "{}");
		/* Where 0 is the default and no limit, it may say 0 as well. */
		bool same = key->fallback && !strcmp(key->fallback, sample(&s.arena, key, true));
		if (strcmp(value_with(&s, key, false), "-") != 0 && !same)
			fail_msg("%s: it is %s", key->path, stage_get(&s, key->path));
		put_key(&s, user_file, key->path, sample(&s.arena, key, false));
		if (strcmp(value_with(&s, key, false), sample(&s.arena, key, false)) != 0)
			fail_msg("%s: it became %s", key->path, stage_get(&s, key->path));
		bool can = !key->strictness && !(key->flags & SETTING_NOT_PROJECT);
		if (can && !strcmp(value_with(&s, key, true), sample(&s.arena, key, false)))
			fail_msg("%s: a trusted project cannot say it either", key->path);
		seen++;
	}
	CHECK(seen > 30);
	stage_release(&s);
}

TEST(a_number_of_an_untrusted_project_counts_if_it_is_smaller_and_0_is_no_limit)
{
	static const struct {
		const char *key, *user, *project, *expected;
	} rows[] = {
		{ "subagents.maxDepth", NULL, "2", "2" },
		{ "subagents.maxDepth", NULL, "4", "-" },
		{ "subagents.maxDepth", "1", "2", "1" },
		{ "subagents.maxDepth", "1", "0", "0" },
		{ "subagents.maxBudgetUsd", NULL, "0.5", "0.5" },
		{ "subagents.maxBudgetUsd", "1", "0", "1" },
		{ "subagents.maxBudgetUsd", "1", "0.5", "0.5" },
		{ "subagents.maxBudgetUsd", "1", "1.5", "1" },
		{ "subagents.maxTokens", "100", "0", "100" },
		{ "disableSkillShellExecution", NULL, "true", "true" },
		{ "disableSkillShellExecution", "true", "false", "true" },
	};
	struct stage s;

	stage_init(&s);
	s.spec.trusted = false;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		stage_put(&s, user_file, "{}");
		if (rows[i].user)
			put_key(&s, user_file, rows[i].key, rows[i].user);
		put_key(&s, project_file, rows[i].key, rows[i].project);
		stage_load(&s);
		if (strcmp(stage_get(&s, rows[i].key), rows[i].expected) != 0)
			fail_msg("row %zu: %s", i, stage_get(&s, rows[i].key));
	}
	stage_release(&s);
}

TEST(a_mode_of_an_untrusted_project_counts_if_it_is_narrower)
{
	const struct setting_key *key = setting_find(STR("permissions.defaultMode"));
	struct stage s;

	stage_init(&s);
	for (size_t user = 0; key->choices[user]; user++)
		for (size_t project = 0; key->choices[project]; project++) {
			bool counts = project >= user && strcmp(key->choices[project], "auto") != 0;
			put_key(&s, user_file, key->path, arena_printf(&s.arena, "\"%s\"", key->choices[user]));
			put_key(&s, project_file, key->path, arena_printf(&s.arena, "\"%s\"", key->choices[project]));
			CHECK_CSTR(value_with(&s, key, false),
				   arena_printf(&s.arena, "\"%s\"", key->choices[counts ? project : user]));
		}
	/* The word of a file that itself does not count is no measure: "auto" has no effect from local settings. */
	stage_put(&s, user_file, "{}");
	put_key(&s, local_file, key->path, "\"auto\"");
	put_key(&s, project_file, key->path, "\"acceptEdits\"");
	CHECK_CSTR(value_with(&s, key, false), "-");
	stage_release(&s);
}

/* After a question that nobody answers the model takes what is most likely. */
TEST(an_untrusted_project_does_not_end_the_questions_of_the_user)
{
	const struct setting_key *key = setting_find(STR("askUserQuestionTimeout"));
	struct stage s;

	stage_init(&s);
	put_key(&s, project_file, key->path, "0.001");
	CHECK_CSTR(value_with(&s, key, false), "-");
	CHECK_CSTR(value_with(&s, key, true), "0.001");
	put_key(&s, user_file, key->path, "60");
	CHECK_CSTR(value_with(&s, key, false), "60");
	stage_release(&s);
}

TEST(a_local_file_is_the_users_own_unless_the_project_brought_it)
{
	const struct setting_key *key = setting_find(STR("disableAllHooks"));
	struct stage s;

	stage_init(&s);
	/* An archive can bring it without a repository, in one that has no index yet, and in one with an index that knows other files. */
	put_key(&s, local_file, key->path, "true");
	CHECK_CSTR(value_with(&s, key, false), "-");
	CHECK_CSTR(value_with(&s, key, true), "true");
	stage_git(&s, "top", "git init -q .");
	CHECK_CSTR(value_with(&s, key, false), "-");
	stage_put(&s, "top/beside", "x");
	stage_git(&s, "top", "git add beside");
	CHECK_CSTR(value_with(&s, key, false), "-");
	stage_put(&s, "top/project2", "x");
	stage_git(&s, "top", "git add project2");
	CHECK_CSTR(value_with(&s, key, false), "-");
	stage_put(&s, "top/project/src/main.c", "x");
	stage_git(&s, "top", "git add project/src");
	CHECK_CSTR(value_with(&s, key, false), "-");
	CHECK_CSTR(value_with(&s, key, true), "true");
	/* cadre makes it, for an answer. */
	stage_remove(&s, local_file);
	stage_put(&s, "config/x", "");
	trust_note_local(s.spec.config_dir, stage_path(&s, local_file));
	put_key(&s, local_file, key->path, "true");
	CHECK_CSTR(value_with(&s, key, false), "true");
	stage_git(&s, "top", "git add -f project/.claude/settings.local.json");
	CHECK_CSTR(value_with(&s, key, false), "-");
	CHECK_CSTR(value_with(&s, key, true), "true");
	stage_git(&s, "top", "git rm -q --cached project/.claude/settings.local.json");
	CHECK_CSTR(value_with(&s, key, false), "true");

	CHECK_INT(rename(stage_path(&s, "top/project/.claude"), stage_path(&s, "top/other")), 0);
	CHECK_INT(symlink("../other", stage_path(&s, "top/project/.claude")), 0);
	CHECK_CSTR(value_with(&s, key, false), "-");
	stage_release(&s);
}

/* A clone or an archive that takes the place of a project where the user has answered questions. */
TEST(a_note_about_a_local_file_is_not_for_another_project_of_that_name)
{
	const struct setting_key *key = setting_find(STR("disableAllHooks"));
	struct stage s;

	stage_init(&s);
	const char *file = stage_path(&s, local_file);
	stage_put(&s, "config/x", "");
	trust_note_local(s.spec.config_dir, file);
	put_key(&s, local_file, key->path, "true");
	CHECK_CSTR(value_with(&s, key, false), "true");
	stage_git(&s, "top", "git init -q . && git add -f project/.claude/settings.local.json");
	CHECK_CSTR(value_with(&s, key, false), "-"); /* what git tracks is the project's, whatever was noted */
	stage_git(&s, "top", "rm -rf .git");
	CHECK_CSTR(value_with(&s, key, false), "true");

	stage_git(&s, "top", "mv project old && cp -r old project");
	CHECK_CSTR(value_with(&s, key, false), "-");
	stage_git(&s, "top", "rm -r project && mv old project");
	CHECK_CSTR(value_with(&s, key, false), "true");
	stage_release(&s);
}

TEST(a_repository_of_another_user_around_a_directory_is_not_its_own)
{
	struct arena a = { 0 };
	struct stage s;

	if (geteuid() != 0)
		skip();
	stage_init(&s);
	stage_git(
		&s, ".",
		"mkdir -p shared/.git shared/mine/sub shared/theirs && chown -R 65534 shared && chown -R 0 shared/mine");
	const char *shared = stage_path(&s, "shared");
	CHECK(!git_root(&a, stage_path(&s, "shared/mine/sub")));
	CHECK_CSTR(trust_folder(&a, stage_path(&s, "shared/mine")), stage_path(&s, "shared/mine"));
	CHECK_CSTR(git_root(&a, stage_path(&s, "shared/theirs")), shared); /* a checkout in a container */
	CHECK_CSTR(git_root_of_anyone(&a, stage_path(&s, "shared/mine")), shared);
	CHECK_INT(chown(shared, 0, 0), 0);
	CHECK_CSTR(git_root(&a, stage_path(&s, "shared/theirs")), shared);
	arena_release(&a);
	stage_release(&s);
}

static void add_effect(void *data, const struct settings_view *view)
{
	if (view->effect == EFFECT_HELD)
		buf_addf(data, "%s: %s|", settings_layer_name(view->origin.layer), view->why);
}

TEST(what_is_held_is_said_even_behind_a_crowd_of_unknown_keys)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_BUF struct buf views = { 0 };
	struct stage s;
	size_t count;
	size_t held = 0;

	stage_init(&s);
	buf_addch(&text, '{');
	for (int i = 0; i < 1000; i++)
		buf_addf(&text, "\"x%d\":1,", i);
	buf_addstr(&text, "\n\"disableAllHooks\":true}");
	stage_put(&s, project_file, text.p);
	s.spec.trusted = false;
	stage_load(&s);

	const struct settings_note *notes = settings_notes(s.settings, &count);
	for (size_t i = 0; i < count; i++)
		if (notes[i].kind == NOTE_HELD) {
			held++;
			CHECK_CSTR(notes[i].key, "disableAllHooks");
			CHECK_INT(notes[i].origin.line, 2);
		}
	CHECK_INT(held, 1);
	settings_explain(s.settings, "disableAllHooks", add_effect, &views);
	CHECK_CSTR(views.p, "project: this folder is not trusted (`cadre trust` records consent)|");
	stage_release(&s);
}

int test_belief(void)
{
	return RUN_TESTS(T(an_untrusted_project_changes_no_key_that_is_not_open_to_anyone),
			 T(a_number_of_an_untrusted_project_counts_if_it_is_smaller_and_0_is_no_limit),
			 T(a_mode_of_an_untrusted_project_counts_if_it_is_narrower),
			 T(an_untrusted_project_does_not_end_the_questions_of_the_user),
			 T(a_local_file_is_the_users_own_unless_the_project_brought_it),
			 T(a_note_about_a_local_file_is_not_for_another_project_of_that_name),
			 T(a_repository_of_another_user_around_a_directory_is_not_its_own),
			 T(what_is_held_is_said_even_behind_a_crowd_of_unknown_keys));
}
