/* SPDX-License-Identifier: MIT
 * host_script.h - what the model, a server and hooks do so that every kind of event comes. */
#pragma once
#include <cadre.h>

enum { KINDS_MAX = 64 };

static const char scenario[] =
	"rule\n  agent main\n  prompt contains \"work\"\n  turn 1\n  text I begin.\n"
	"  call Bash {\"command\": \"echo x > made\"}\n"
	"  call Read {\"file_path\": \"missing\"}\n"
	"  call AskUserQuestion {\"questions\": [{\"question\": \"Which?\", \"header\": \"C\", \"options\": "
	"[{\"label\": \"Red\", \"description\": \"r\"}, {\"label\": \"Blue\", \"description\": \"b\"}]}]}\n"
	"  call Agent {\"description\": \"Back\", \"prompt\": \"Look\", \"run_in_background\": true}\n"
	"  call Agent {\"description\": \"Fore\", \"prompt\": \"Look\"}\n"
	"  call Bash {\"command\": \"echo x > refused\"}\n"
	"rule\n  agent main\n  text ok\n"
	"rule\n  turn 1\n  call Read {\"file_path\": \"scenario.txt\"}\n"
	"rule\n  text seen\n";

/* Events that take time or need more than the scenario come only where they are waited for. */
#define FIRST "rule\n  agent main\n  prompt contains \"work\"\n  turn 1\n  call "
static const char *const causes[KINDS_MAX] = {
	[CADRE_RETRY] = "rule\n  agent main\n  nth 1\n  status 529 overloaded_error\n",
	[CADRE_MEMBER_STATE] = FIRST "TeamCreate {\"team_name\": \"alpha\"}\n"
				     "rule\n  agent main\n  prompt contains \"work\"\n  turn 2\n"
				     "  call Agent {\"description\": \"Join\", \"prompt\": \"Look\", \"name\": \"m1\", "
				     "\"team_name\": \"alpha\"}\n",
	[CADRE_SANDBOX_VIOLATION] = FIRST "Bash {\"command\": \"echo x >/etc/no-such-file\"}\n",
	[CADRE_TOOL_PROGRESS] = FIRST "Bash {\"command\": \"until test -e seen; do echo x; sleep 0.02; done\"}\n",
	[CADRE_ELICITATION_ASKED] = FIRST "mcp__form__ask {}\n",
	[CADRE_QUESTION_CLOSED] = FIRST "mcp__form__withdraw {}\n",
};

/* A try with another model, which comes without a pause; of hooked. */
static const char other_model[] = "rule\n  agent main\n  nth 1\n  status 404 not_found_error\n";

/* An MCP server whose tool asks the user, and one that asks and then does not wait for the answer. */
static const char server[] =
	"say() { printf '{\"jsonrpc\":\"2.0\",%s}\\n' \"$1\"; }\n"
	"done='\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}'\n"
	"while read -r line; do\n"
	"id=${line#*'\"id\":'}; id=${id%%[,\\}]*}\n"
	"case $line in\n"
	"*'\"initialize\"'*) say \"\\\"id\\\":$id\"',\"result\":{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},"
	"\"serverInfo\":{\"name\":\"form\",\"version\":\"1\"}}';;\n"
	"*'\"tools/list\"'*) say \"\\\"id\\\":$id\"',\"result\":{\"tools\":[{\"name\":\"ask\",\"inputSchema\":{\"type\":\"object\"}},"
	"{\"name\":\"withdraw\",\"inputSchema\":{\"type\":\"object\"}}]}';;\n"
	"*'\"tools/call\"'*) call=$id; say '\"id\":\"q\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"Where?\","
	"\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"town\":{\"type\":\"string\"}}}}'\n"
	"case $line in *withdraw*) say '\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":\"q\"}'\n"
	"say \"\\\"id\\\":$call,$done\";; esac;;\n"
	"*'\"q\"'*) say \"\\\"id\\\":$call,$done\";;\n"
	"esac; done";

static const char plain[] = "{}";
static const char sandboxed[] = "{\"sandbox\": {\"enabled\": true}}";
static const char timed[] = "{\"askUserQuestionTimeout\": 0.02}";
static const char hooked[] =
	"{\"fallbackModel\": \"haiku\", \"hooks\": {"
	"\"SessionStart\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}],"
	"\"UserPromptSubmit\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"echo context\"}]}],"
	"\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"echo '{\\\"systemMessage\\\": \\\"x\\\", "
	"\\\"terminalSequence\\\": \\\"\\\\u0007\\\"}'\"}]}],"
	"\"SessionEnd\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}]}}";
