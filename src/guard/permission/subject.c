/* SPDX-License-Identifier: MIT
 * subject.c - the tools whose rules look at more than a name. */
#include "guard/permission/subject.h"

/* Parameters are listed where a specifier with a colon could also be something else: a command, a path, a type. */
const struct subject subject_table[] = {
	{ "Agent", SUBJECT_AGENT, "subagent_type",
	  " subagent_type model isolation run_in_background effort name prompt description mode team_name resume max_turns cwd ",
	  0 },
	{ "AskUserQuestion", SUBJECT_NAME, NULL, NULL, SUBJECT_ASKS },
	{ "Bash", SUBJECT_SHELL, "command", " timeout description run_in_background dangerouslyDisableSandbox ", 0 },
	{ "Edit", SUBJECT_EDIT, "file_path", " old_string new_string replace_all ", SUBJECT_LEADS | SUBJECT_SHOWS },
	{ "ExitPlanMode", SUBJECT_NAME, NULL, NULL, SUBJECT_ASKS },
	{ "Glob", SUBJECT_READ, "path", " pattern ", SUBJECT_LISTS },
	{ "Grep", SUBJECT_READ, "path",
	  " pattern glob type output_mode -A -B -C -n -i -o context multiline head_limit offset ", 0 },
	{ "LSP", SUBJECT_READ, "file_path", NULL, 0 },
	{ "Monitor", SUBJECT_SHELL, "command", " description timeout_ms ws persistent ", 0 },
	{ "MultiEdit", SUBJECT_EDIT, "file_path", " edits ", SUBJECT_SHOWS },
	{ "NotebookEdit", SUBJECT_EDIT, "notebook_path", " cell_id cell_type edit_mode new_source cell_number ", 0 },
	{ "NotebookRead", SUBJECT_READ, "notebook_path", " cell_id ", 0 },
	{ "Read", SUBJECT_READ, "file_path", " offset limit pages allow_large ", SUBJECT_LEADS },
	{ "Skill", SUBJECT_SKILL, "skill", " skill args ", 0 },
	{ "WebFetch", SUBJECT_HOST, "url", " prompt offset ", 0 },
	{ "Write", SUBJECT_EDIT, "file_path", " content ", SUBJECT_SHOWS },
};
const size_t subject_count = COUNT_OF(subject_table);

static const struct {
	const char *old, *now;
} renamed[] = {
	{ "Task", "Agent" },
	{ "KillShell", "TaskStop" },
	{ "BashOutput", "TaskOutput" },
	{ "AgentOutputTool", "TaskOutput" },
};

const struct subject *subject_find(struct str tool)
{
	for (size_t i = 0; i < subject_count; i++)
		if (str_is_nocase(tool, subject_table[i].tool))
			return &subject_table[i];
	return NULL;
}

struct str subject_current_name(struct str tool)
{
	for (size_t i = 0; i < COUNT_OF(renamed); i++)
		if (str_is_nocase(tool, renamed[i].old))
			return str_from(renamed[i].now);
	return tool;
}
