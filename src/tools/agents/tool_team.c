/* SPDX-License-Identifier: MIT
 * tool_team.c - TeamCreate, TeamDelete, ListAgents: the lead creates and ends its team, all agents can list it (agents/team). */
#include "agents/team/team.h"
#include "core/tool/tool_list.h"
#include "lib/json/json_write.h"

static void create_start(struct tool_call *call)
{
	const struct agent *a = call->env->owner;
	struct arena *arena = &call->arena;
	const char *name = json_cstr(json_get(call->input, "team_name"), arena);
	AUTO_BUF struct buf note = { 0 };
	struct err err = { 0 };

	if (!name || !team_name_fits(str_from(name))) {
		tool_call_reject(call, "InputValidationError: team_name must have 1 to %d letters, digits, _ and -.",
				 LONGEST_TEAM_NAME);
		return;
	}
	bool made = call->again && a->tree->team && !strcmp(a->tree->team->name, name); /* before a crash */
	if (!made && team_create(a->tree, name, json_cstr(json_get(call->input, "description"), arena),
				 json_cstr(json_get(call->input, "agent_type"), arena), false, &note, &err) < 0) {
		tool_call_fail(call, "%s", err.text);
		return;
	}
	json_addf(&call->result_json, "{team_name:'%s', team_file_path:'%s', lead_agent_id:'%s'}", name,
		  arena_printf(arena, "%s/teams/%s/config.json", a->tree->config_dir, name),
		  arena_printf(arena, "%s@%s", TEAM_LEAD, name));
	buf_append(&call->result, buf_str(&call->result_json));
	if (note.n)
		buf_addf(&call->result, "\n%s", note.p);
	tool_call_end(call);
}

const struct tool tool_team_create = { TOOL_TEAM_CREATE_FACTS, .start = create_start };

static void list_start(struct tool_call *call)
{
	const struct agent *a = call->env->owner;

	team_list_agents(a->tree, &call->result);
	tool_call_end(call);
}

const struct tool tool_list_agents = { TOOL_LIST_AGENTS_FACTS, .start = list_start };

static void delete_answer(struct tool_call *call, bool success, const char *message, const char *team)
{
	json_addf(&call->result, "{success:!!%d, message:'%s', team_name?:'%s'}", success, message, team);
	buf_append(&call->result_json, buf_str(&call->result));
	tool_call_end(call);
}

static void delete_start(struct tool_call *call)
{
	const struct agent *a = call->env->owner;
	struct arena *arena = &call->arena;
	AUTO_BUF struct buf who = { 0 }, more = { 0 };
	struct err err = { 0 };

	if (!a->tree->team) {
		delete_answer(call, true, "No team to clean up.", NULL);
		return;
	}
	const char *name = arena_strdup(arena, a->tree->team->name);
	if (team_delete(a->tree, json_bool(json_get(call->input, "force")), &who, &more, &err))
		delete_answer(call, true,
			      more.n ? arena_printf(arena,
						    "Cleaned up team \"%s\". Tasks that were not completed are in %s.",
						    name, more.p)
				     : arena_printf(arena, "Cleaned up team \"%s\".", name),
			      name);
	else if (err.kind)
		tool_call_fail(call, "%s", err.text);
	else
		delete_answer(
			call, false,
			arena_printf(arena,
				     "Cannot cleanup team with %s active member(s): %s. Ask them to shut down with "
				     "SendMessage, or call TeamDelete with force.",
				     more.p, who.p),
			name);
}

const struct tool tool_team_delete = { TOOL_TEAM_DELETE_FACTS, .start = delete_start };
