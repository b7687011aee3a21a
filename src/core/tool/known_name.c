/* SPDX-License-Identifier: MIT
 * known_name.c - the names of tools that people write into rules and definitions. */
#include "core/tool/known_name.h"
#include "lib/base/base.h"

/* Names that this program or its relatives give to tools. Sorted; case is ignored. */
static const char *const names[] = {
	"Agent",
	"Artifact",
	"AskUserQuestion",
	"Bash",
	"BashOutput",
	"Brief",
	"Config",
	"CronCreate",
	"CronDelete",
	"CronList",
	"Edit",
	"EndConversation",
	"EnterPlanMode",
	"EnterWorktree",
	"ExitPlanMode",
	"ExitWorktree",
	"Glob",
	"Grep",
	"KillBash",
	"KillShell",
	"ListAgents",
	"ListMcpResourcesTool",
	"LS",
	"LSP",
	"Monitor",
	"MultiEdit",
	"NotebookEdit",
	"NotebookRead",
	"PowerShell",
	"Read",
	"ReadMcpResourceDirTool",
	"ReadMcpResourceTool",
	"ReportFindings",
	"ScheduleWakeup",
	"SendMessage",
	"Skill",
	"SlashCommand",
	"StructuredOutput",
	"Task",
	"TaskCreate",
	"TaskGet",
	"TaskList",
	"TaskOutput",
	"TaskStop",
	"TaskUpdate",
	"TeamCreate",
	"TeamDelete",
	"TodoRead",
	"TodoWrite",
	"ToolSearch",
	"WaitForMcpServers",
	"WebFetch",
	"WebSearch",
	"Workflow",
	"Write",
};

bool tool_name_is_known(struct str name)
{
	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (str_is_nocase(name, names[i]))
			return true;
	return false;
}
