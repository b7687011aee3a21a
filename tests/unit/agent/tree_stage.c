/* SPDX-License-Identifier: MIT
 * tree_stage.c - a tree of agents that never runs. */
#include "tree_stage.h"
#include <sys/stat.h>
#include "lib/io/file.h"
#include "agents/agent/record.h"

static void close_nothing(struct tool_env *env)
{
	(void)env;
}

static const struct tool_runtime no_kit = { .close = close_nothing };

static void open_tree(struct tree_stage *st)
{
	struct loop *loop = loop_new(LOOP_VIRTUAL_CLOCK);

	st->services = (struct services){ .loop = loop };
	st->tree = (struct agent_tree){ .services = &st->services,
					.kit = &no_kit,
					.session_id = "11111111-2222-4333-8444-555555555555",
					.session_dir = tree_stage_path(st, "session"),
					.results_dir = tree_stage_path(st, "session/tool-results"),
					.limits = { .depth = 3, .alive = 10, .total = 100 } };
	agent_tree_open(&st->tree);
	st->env.loop = loop;
}

static void close_tree(struct tree_stage *st)
{
	struct loop *loop = st->tree.services->loop;
	struct catalog *registry = st->tree.services->registry;

	agent_tree_release(&st->tree);
	head_pool_release(&st->services.heads);
	catalog_free(registry);
	loop_free(loop);
}

void tree_stage_init(struct tree_stage *st)
{

	*st = (struct tree_stage){ 0 };
	folder_make(st->dir);
	open_tree(st);
}

void tree_stage_release(struct tree_stage *st)
{
	close_tree(st);
	folder_remove(st->dir);
	arena_release(&st->arena);
}

void tree_stage_reopen(struct tree_stage *st)
{
	close_tree(st);
	open_tree(st);
}

char *tree_stage_path(struct tree_stage *st, const char *name)
{
	return path_join(&st->arena, st->dir, name);
}

void tree_stage_put(struct tree_stage *st, const char *name, struct str text)
{
	file_put(tree_stage_path(st, name), text);
}

void tree_stage_load_agents(struct tree_stage *st)
{
	struct catalog_sources sources = { .cwd = tree_stage_path(st, "project"),
					   .config_dir = tree_stage_path(st, "config"),
					   .setting_sources = SETTINGS_ALL };
	struct err err = { 0 };

	CHECK_INT(file_make_dirs(sources.cwd, 0755, &err), 0);
	if (agent_registry_new(&sources, &st->tree.services->registry, &err) < 0)
		fail_msg("%s", err.text);
}

struct agent_record *tree_stage_task(struct tree_stage *st, const char *id)
{
	struct agent_record *t = agent_record_new(&st->tree, id);

	t->type = "general-purpose";
	t->description = "Look around";
	t->tool_use_id = "toolu_1";
	t->parent_id = "";
	t->prompt = "Look";
	t->depth = 1;
	t->started_ms = t->run_started_ms = 1000;
	t->ended_ms = 1250;
	meta_set_paths(t);
	return t;
}

struct tool_call *tree_stage_call(struct tree_stage *st)
{
	static const struct tool tool = { .name = "Agent", .definition = "{}", .flags = TOOL_OWN_LIMIT };

	st->env.owner = &st->tree.main;
	return tool_call_new(&st->env, &st->gate, &tool, STR("toolu_1"), STR("Agent"), STR("{}"));
}
