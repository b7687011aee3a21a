/* SPDX-License-Identifier: MIT
 * option_table.c - every flag of the program. Within a group the order is that of --help. */
#include "cli/args.h"

#define FIELD(member) .field = offsetof(struct args, member)
#define CHOICES(...)                     \
	.choices = (const char *const[]) \
	{                                \
		__VA_ARGS__, NULL        \
	}

const struct option option_table[] = {
	{ "print", NULL, 'p', OPTION_OPTIONAL, 0, GROUP_RUN, "prompt", FIELD(print),
	  .help = "Answer one prompt and exit. Text that is piped in is added to the prompt." },
	{ "output-format", NULL, 0, OPTION_REQUIRED, 0, GROUP_RUN, "format", FIELD(output_format),
	  CHOICES("text", "json", "stream-json"),
	  .help = "With --print: text (the answer), json (one result object) or stream-json (every event as a "
		  "line; needs --verbose)." },
	{ "input-format", NULL, 0, OPTION_REQUIRED, 0, GROUP_RUN, "format", FIELD(input_format),
	  CHOICES("text", "stream-json"),
	  .help = "How standard input is read: text, or stream-json (user messages and control requests a line each; needs "
		  "--output-format stream-json)." },
	{ "replay-user-messages", NULL, 0, OPTION_NONE, 0, GROUP_RUN, .setting = "replay-user-messages",
	  .help = "Write each user message that was taken from the input (stream-json only)." },
	{ "include-hook-events", NULL, 0, OPTION_NONE, 0, GROUP_RUN, .setting = "include-hook-events",
	  .help = "Also write when hooks start and what they say (stream-json only)." },
	{ "include-partial-messages", NULL, 0, OPTION_NONE, 0, GROUP_RUN, FIELD(partial),
	  .setting = "include-partial-messages",
	  .help = "Also write the pieces of an answer as they arrive (stream-json only)." },
	{ "verbose", NULL, 0, OPTION_NONE, 0, GROUP_RUN, FIELD(verbose),
	  .help = "Tell more: tools that run or are denied and retries on standard error, thinking on the terminal." },
	{ "max-turns", NULL, 0, OPTION_REQUIRED, 0, GROUP_RUN, "n", .setting = "max-turns",
	  .help = "Stop with an error after n requests to the model." },
	{ "max-budget-usd", NULL, 0, OPTION_REQUIRED, 0, GROUP_RUN, "amount", .setting = "max-budget-usd",
	  .help = "Stop with an error before all agents together cost more than this; no agent is started any more." },
	{ "forward-subagent-text", NULL, 0, OPTION_NONE, 0, GROUP_RUN, .setting = "forward-subagent-text",
	  .help = "Also write the texts of subagents, not only their calls (stream-json only)." },
	{ "retry-deadline", NULL, 0, OPTION_REQUIRED, 0, GROUP_RUN, "seconds", .setting = "retry-deadline",
	  .help = "How long one request is tried again when the service is busy or the line breaks "
		  "(default 1800)." },
	{ "trace", NULL, 0, OPTION_REQUIRED, 0, GROUP_RUN, "file", .setting = "trace",
	  .help = "Write what every agent did and when, for ui.perfetto.dev." },

	{ "model", NULL, 0, OPTION_REQUIRED, 0, GROUP_MODEL, "model", .setting = "model",
	  .help = "The model: an alias such as sonnet, opus or haiku, a full name, or one of another provider as "
		  "openai/name." },
	{ "system-prompt", NULL, 0, OPTION_REQUIRED, 0, GROUP_MODEL, "text", .setting = "system-prompt",
	  .help = "Replace the system prompt." },
	{ "system-prompt-file", NULL, 0, OPTION_REQUIRED, OPTION_FILE, GROUP_MODEL, "file", .setting = "system-prompt",
	  .help = "Replace the system prompt by the text of a file." },
	{ "append-system-prompt", NULL, 0, OPTION_REQUIRED, 0, GROUP_MODEL, "text", .setting = "append-system-prompt",
	  .help = "Add to the system prompt." },
	{ "append-system-prompt-file", NULL, 0, OPTION_REQUIRED, OPTION_FILE, GROUP_MODEL, "file",
	  .setting = "append-system-prompt", .help = "Add the text of a file to the system prompt." },
	{ "append-subagent-system-prompt", NULL, 0, OPTION_REQUIRED, 0, GROUP_MODEL, "text",
	  .setting = "append-subagent-system-prompt", .help = "Add to the system prompt of every subagent but forks." },
	{ "effort", NULL, 0, OPTION_REQUIRED, 0, GROUP_MODEL, "level", CHOICES("low", "medium", "high", "xhigh", "max"),
	  .setting = "effort", .help = "How much the model works for an answer: low, medium, high, xhigh or max." },
	{ "thinking", NULL, 0, OPTION_REQUIRED, 0, GROUP_MODEL, "mode", CHOICES("enabled", "adaptive", "disabled"),
	  .setting = "thinking",
	  .help = "Whether the model thinks before it answers: adaptive (or enabled), disabled." },
	{ "max-thinking-tokens", NULL, 0, OPTION_REQUIRED, 0, GROUP_MODEL, "n", .setting = "max-thinking-tokens",
	  .help = "Let the model think for at most n tokens; 0 is not at all." },
	{ "provider", NULL, 0, OPTION_REQUIRED, 0, GROUP_MODEL, "name", CHOICES("anthropic", "openai", "scripted"),
	  .setting = "provider",
	  .help = "Who answers: anthropic (the default), openai (chat completions, also of llama.cpp, Ollama and vLLM) "
		  "or scripted (a scenario in this process, no network)." },
	{ "scenario", NULL, 0, OPTION_REQUIRED, 0, GROUP_MODEL, "file", .setting = "scenario",
	  .help = "The scenario of the scripted provider; without it the built-in one is played." },

	{ "tools", NULL, 0, OPTION_REQUIRED, OPTION_LIST, GROUP_TOOLS, "names...", .setting = "tools",
	  .help = "The tools the model sees, with commas or spaces between; \"\" for none, default for all." },
	{ "allowed-tools", "allowedTools", 0, OPTION_REQUIRED, OPTION_LIST, GROUP_TOOLS, "names...",
	  .setting = "allowed-tools",
	  .help = "Tools that run without being asked about: names, or rules such as \"Bash(git log *)\"." },
	{ "disallowed-tools", "disallowedTools", 0, OPTION_REQUIRED, OPTION_LIST, GROUP_TOOLS, "names...",
	  .setting = "disallowed-tools", .help = "Tools, or calls by rule, that never run." },
	{ "permission-mode", NULL, 0, OPTION_REQUIRED, 0, GROUP_TOOLS, "mode",
	  CHOICES("default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"),
	  .setting = "permission-mode",
	  .help = "default (reading is allowed, the rest is asked about, and denied with --print), acceptEdits (files in "
		  "the working directories may be changed), plan (nothing is written), dontAsk (what would be asked about "
		  "is denied), auto or bypassPermissions." },
	{ "dangerously-skip-permissions", NULL, 0, OPTION_NONE, 0, GROUP_TOOLS, .setting = "permission-mode",
	  .fixed = "bypassPermissions",
	  .help = "Allow every tool. For machines without anything to lose; refused for root unless "
		  "IS_SANDBOX=1." },
	{ "allow-dangerously-skip-permissions", NULL, 0, OPTION_NONE, 0, GROUP_TOOLS,
	  .setting = "allow-dangerously-skip-permissions",
	  .help = "Let the client switch to bypassPermissions later (stream-json input only)." },
	{ "permission-prompt-tool", NULL, 0, OPTION_REQUIRED, 0, GROUP_TOOLS, "name",
	  .setting = "permission-prompt-tool",
	  .help = "Who answers permission questions with --print: stdio (the program on standard input, with stream-json) or "
		  "a tool of an MCP server, mcp__server__tool." },
	{ "agents", NULL, 0, OPTION_REQUIRED, 0, GROUP_TOOLS, "json|file", .setting = "agents",
	  .help = "More agents: a JSON object {\"name\": {\"description\": ..., \"prompt\": ...}}, or a file with one." },
	{ "disable-slash-commands", NULL, 0, OPTION_NONE, 0, GROUP_TOOLS, .setting = "disable-slash-commands",
	  .help = "No skills and no commands: a prompt that begins with a slash is like any other." },
	{ "plugin-dir", NULL, 0, OPTION_REQUIRED, 0, GROUP_TOOLS, "dir|zip", .setting = "plugin-dir",
	  .help = "A plugin to use in this run, a directory or a zip file; may be given again." },
	{ "plugin-dir-no-mcp", NULL, 0, OPTION_REQUIRED, 0, GROUP_TOOLS, "dir|zip", .setting = "plugin-dir-no-mcp",
	  .help = "The same without the plugin's MCP servers." },
	{ "settings", NULL, 0, OPTION_REQUIRED, 0, GROUP_TOOLS, "json|file", .setting = "settings",
	  .help = "More settings, above those of user and project: a JSON object, or a file with one. Their agents count." },
	{ "setting-sources", NULL, 0, OPTION_REQUIRED, 0, GROUP_TOOLS, "list", .setting = "setting-sources",
	  .help = "Whose settings and agents count: any of user, project, local, with commas between (default all; "
		  "managed ones always do)." },
	{ "add-dir", NULL, 0, OPTION_REQUIRED, OPTION_VARIADIC, GROUP_TOOLS, "dirs...", .setting = "add-dir",
	  .help = "More directories that tools may work in." },

	{ "continue", NULL, 'c', OPTION_NONE, OPTION_CHOICE, GROUP_SESSION, .setting = "continue",
	  .help = "Go on with the latest session of this directory." },
	{ "resume", NULL, 'r', OPTION_OPTIONAL, OPTION_CHOICE, GROUP_SESSION, "id", .setting = "resume",
	  .help = "Go on with a session. With --print and without a prompt an interrupted turn is finished. "
		  "Without an id on a terminal: the latest one." },
	{ "fork-session", NULL, 0, OPTION_NONE, OPTION_CHOICE, GROUP_SESSION, .setting = "fork-session",
	  .help = "With --resume or --continue: go on under a new id; the session itself stays as it is." },
	{ "session-id", NULL, 0, OPTION_REQUIRED, OPTION_CHOICE, GROUP_SESSION, "uuid", .setting = "session-id",
	  .help = "The id of the new session." },
	{ "no-session-persistence", NULL, 0, OPTION_NONE, 0, GROUP_SESSION, .setting = "no-session-persistence",
	  .help = "Keep nothing on disk; the session cannot be resumed." },

	{ "json", NULL, 0, OPTION_NONE, 0, GROUP_OTHER, FIELD(json), .help = "With a command: print JSON." },
	{ "list", NULL, 0, OPTION_NONE, 0, GROUP_OTHER, FIELD(list),
	  .help = "With `cadre trust`: the folders that are trusted." },
	{ "forget", NULL, 0, OPTION_NONE, 0, GROUP_OTHER, FIELD(forget),
	  .help = "With `cadre trust`: the folder is not trusted any more." },
	{ "all", NULL, 0, OPTION_NONE, 0, GROUP_OTHER, FIELD(all),
	  .help = "With `cadre tasks`: every session of this project. With `cadre stop`: every agent that runs." },
	{ "follow", NULL, 'f', OPTION_NONE, 0, GROUP_OTHER, FIELD(follow),
	  .help = "With `cadre logs`: go on until the agent ends." },
	{ "session", NULL, 0, OPTION_REQUIRED, 0, GROUP_OTHER, "id", FIELD(session),
	  .help = "With `cadre stop`: only in this session." },
	{ "scope", NULL, 's', OPTION_REQUIRED, 0, GROUP_OTHER, "scope", FIELD(scope),
	  CHOICES("local", "project", "user"),
	  .help = "With `cadre mcp`: for whom the server is: local, project or user." },
	{ "transport", NULL, 't', OPTION_REQUIRED, 0, GROUP_OTHER, "kind", FIELD(transport),
	  CHOICES("stdio", "http", "sse"),
	  .help = "With `cadre mcp add`: how it is reached: stdio (the default), http or sse." },
	{ "env", NULL, 'e', OPTION_REQUIRED, OPTION_VARIADIC | OPTION_KEPT, GROUP_OTHER, "name=value...",
	  .help = "With `cadre mcp add`: variables of the program that is started." },
	{ "header", NULL, 'H', OPTION_REQUIRED, OPTION_VARIADIC | OPTION_KEPT, GROUP_OTHER, "name: value...",
	  .help = "With `cadre mcp add`: headers of every request." },
	{ "version", NULL, 'v', OPTION_NONE, 0, GROUP_OTHER, FIELD(version), .help = "Print the version." },
	{ "help", NULL, 'h', OPTION_NONE, 0, GROUP_OTHER, FIELD(help), .help = "Print this text." },
};
const size_t option_count = COUNT_OF(option_table);
