/* SPDX-License-Identifier: MIT
 * flag.c - every flag of the program. Within a group the order is that of --help. */
#include "face/cli/flag.h"
#include "lib/base/utf8.h"

#define ROW(name, alias, letter, arg, how, value, choices, group, kind, setting, fixed, help)                       \
	{                                                                                                           \
		{ name, alias, letter, CADRE_OPTION_##arg, how, value, choices, help }, group, kind, setting, fixed \
	}
#define SWITCH(name, group, kind, help) ROW(name, NULL, 0, NONE, 0, NULL, NULL, group, kind, NULL, NULL, help)
#define VALUE(name, value, group, kind, help) \
	ROW(name, NULL, 0, REQUIRED, 0, value, NULL, group, kind, NULL, NULL, help)
#define LIST(name, alias, how, value, group, help) \
	ROW(name, alias, 0, REQUIRED, how, value, NULL, group, 0, NULL, NULL, help)
#define LETTER(name, letter, group, kind, help) \
	ROW(name, NULL, letter, NONE, 0, NULL, NULL, group, kind, NULL, NULL, help)
/* A switch that gives a setting this value */
#define FIXED(name, setting, fixed, group, help) ROW(name, NULL, 0, NONE, 0, NULL, NULL, group, 0, setting, fixed, help)
#define CHOICE(name, value, group, kind, help, ...)                                                                   \
	ROW(name, NULL, 0, REQUIRED, 0, value, ((const char *const[]){ __VA_ARGS__, NULL }), group, kind, NULL, NULL, \
	    help)

const struct flag flag_table[] = {
	ROW("print", NULL, 'p', OPTIONAL, CADRE_OPTION_WORD, "prompt", NULL, GROUP_RUN, FLAG_OWN, NULL, NULL,
	    "Answer one prompt and exit. Piped standard input is added to the prompt."),
	CHOICE("output-format", "format", GROUP_RUN, FLAG_OWN,
	       "With --print: text (the answer), json (one result object) or stream-json (every event as a line; "
	       "needs --verbose).",
	       "text", "json", "stream-json"),
	CHOICE("input-format", "format", GROUP_RUN, FLAG_OWN,
	       "Format of standard input: text, or stream-json (one user message or control request a line; needs "
	       "--output-format stream-json).",
	       "text", "stream-json"),
	SWITCH("replay-user-messages", GROUP_RUN, FLAG_INPUT, "Echo each accepted user message (stream-json only)."),
	SWITCH("await-initialize", GROUP_RUN, FLAG_INPUT,
	       "The first line of the input must be the request initialize; its plugins and MCP servers are loaded "
	       "(stream-json input only)."),
	VALUE("initialize-fields", "list", GROUP_RUN, FLAG_INPUT,
	      "Members that the request initialize must bring in place of their flags: settings, disallowedTools "
	      "(stream-json input only)."),
	SWITCH("session-mirror", GROUP_RUN, FLAG_INPUT,
	       "Also write every line of the session's files (stream-json input only)."),
	SWITCH("include-hook-events", GROUP_RUN, FLAG_OUTPUT,
	       "Also write the start and output of hooks (stream-json only)."),
	SWITCH("include-partial-messages", GROUP_RUN, FLAG_OUTPUT,
	       "Also write the pieces of an answer as they arrive (stream-json only)."),
	SWITCH("verbose", GROUP_RUN, FLAG_OWN,
	       "Show tool calls, denials and retries on standard error, and thinking on the terminal."),
	SWITCH("plain", GROUP_RUN, FLAG_OWN,
	       "On a terminal: lines instead of the live view. The default where TERM is unset or dumb."),
	SWITCH("ax-screen-reader", GROUP_RUN, FLAG_OWN,
	       "For screen readers: lines with labels, numbered lists, no animation. Also "
	       "CLAUDE_AX_SCREEN_READER=1 and the setting axScreenReader."),
	VALUE("json-schema", "json|file", GROUP_RUN, 0,
	      "Answer with JSON that matches this schema, in structured_output of the result: a JSON Schema of "
	      "an object, or a file with one."),
	VALUE("max-turns", "n", GROUP_RUN, 0, "Stop with an error after n requests to the model."),
	VALUE("max-budget-usd", "amount", GROUP_RUN, 0,
	      "Stop with an error before the cost of all agents exceeds this."),
	SWITCH("allow-unknown-price", GROUP_RUN, 0,
	       "With --max-budget-usd: also models whose price is unknown; they count as free."),
	SWITCH("allow-cut-prompt", GROUP_RUN, 0, "Accept answers although the server (Ollama) has cut the prompt."),
	VALUE("task-budget", "n", GROUP_RUN, 0, "Token budget for the whole task, reported to the model."),
	SWITCH("coordinator", GROUP_RUN, 0,
	       "The main agent has no tools of its own and directs workers in the background."),
	SWITCH("forward-subagent-text", GROUP_RUN, FLAG_OUTPUT,
	       "Also write the texts of subagents, not only their calls (stream-json only)."),
	FIXED("init", "setup", "init", GROUP_RUN, "Run Setup hooks (trigger init) before the first prompt."),
	FIXED("init-only", "setup", "init", GROUP_RUN, "Run Setup and SessionStart hooks, then exit."),
	FIXED("maintenance", "setup", "maintenance", GROUP_RUN,
	      "Run Setup hooks (trigger maintenance) before the first prompt."),
	VALUE("retry-deadline", "seconds", GROUP_RUN, 0,
	      "How long to retry one request when the service is busy or the connection fails (default 1800)."),
	ROW("debug", NULL, 0, OPTIONAL, CADRE_OPTION_JOINED, "=subjects", NULL, GROUP_RUN, 0, NULL, NULL,
	    "Write a debug log to standard error. Subjects: session, api, tools, permission, hooks, mcp, "
	    "agents, plugins, error; ! before a subject excludes it."),
	VALUE("debug-file", "file", GROUP_RUN, 0, "Append the debug log to this file instead."),
	VALUE("trace", "file", GROUP_RUN, 0, "Write a timeline of all agents, for ui.perfetto.dev."),

	VALUE("model", "model", GROUP_MODEL, 0,
	      "The model: an alias such as sonnet, opus or haiku, a full name, or one of another provider as "
	      "openai/name."),
	VALUE("fallback-model", "models", GROUP_MODEL, 0,
	      "Fallback models, in order, when the model is overloaded three times or does not exist; the next "
	      "turn starts with the model again."),
	VALUE("system-prompt", "text", GROUP_MODEL, 0, "Replace the system prompt."),
	ROW("system-prompt-file", NULL, 0, REQUIRED, 0, "file", NULL, GROUP_MODEL, FLAG_FILE, "system-prompt", NULL,
	    "Replace the system prompt with the text of a file."),
	VALUE("append-system-prompt", "text", GROUP_MODEL, 0, "Add to the system prompt."),
	ROW("append-system-prompt-file", NULL, 0, REQUIRED, 0, "file", NULL, GROUP_MODEL, FLAG_FILE,
	    "append-system-prompt", NULL, "Add the text of a file to the system prompt."),
	VALUE("append-subagent-system-prompt", "text", GROUP_MODEL, 0,
	      "Add to the system prompt of every subagent except forks."),
	CHOICE("effort", "level", GROUP_MODEL, 0, "Reasoning effort: low, medium, high, xhigh or max.", "low", "medium",
	       "high", "xhigh", "max"),
	CHOICE("thinking", "mode", GROUP_MODEL, 0,
	       "Whether the model thinks before it answers: adaptive (or enabled), disabled.", "enabled", "adaptive",
	       "disabled"),
	VALUE("max-thinking-tokens", "n", GROUP_MODEL, 0, "Limit thinking to n tokens; 0 disables it."),
	CHOICE("thinking-display", "how", GROUP_MODEL, 0, "How the model's thinking is shown: summarized or omitted.",
	       "summarized", "omitted"),
	LIST("betas", NULL, CADRE_OPTION_LIST, "names...", GROUP_MODEL,
	     "Beta features of the API (header anthropic-beta), separated by commas or spaces."),
	VALUE("provider", "name", GROUP_MODEL, 0,
	      "The model provider: anthropic (the default), a cloud (bedrock, vertex, foundry, ...), a vendor (openai, gemini, "
	      "deepseek, openrouter, ...), a local server (ollama, llamacpp, vllm, lmstudio), one of the setting "
	      "providers, or scripted (a scenario in this process, no network). `cadre models` lists models."),
	VALUE("base-url", "address", GROUP_MODEL, 0,
	      "The address of the provider; overrides its variable and the settings."),
	VALUE("scenario", "file", GROUP_MODEL, 0, "The scenario of the scripted provider; default: the built-in one."),

	LIST("tools", NULL, CADRE_OPTION_LIST, "names...", GROUP_TOOLS,
	     "Tools for the model, separated by commas or spaces; \"\" for none, default for all."),
	LIST("allowed-tools", "allowedTools", CADRE_OPTION_LIST, "names...", GROUP_TOOLS,
	     "Tools that run without a question: names, or rules such as \"Bash(git log *)\"."),
	LIST("disallowed-tools", "disallowedTools", CADRE_OPTION_LIST, "names...", GROUP_TOOLS,
	     "Tools that never run: names, or rules."),
	CHOICE("permission-mode", "mode", GROUP_TOOLS, 0,
	       "default (reading is allowed, the rest needs a question; denied with --print), acceptEdits (files "
	       "in the working directories may be changed), plan (nothing is written), dontAsk (a question means "
	       "denial), auto or bypassPermissions.",
	       "default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"),
	FIXED("dangerously-skip-permissions", "permission-mode", "bypassPermissions", GROUP_TOOLS,
	      "Allow every tool. For isolated machines only; refused for root unless IS_SANDBOX=1."),
	SWITCH("allow-dangerously-skip-permissions", GROUP_TOOLS, 0,
	       "Let the client switch to bypassPermissions later (stream-json input only)."),
	VALUE("permission-prompt-tool", "name", GROUP_TOOLS, 0,
	      "Who answers permission questions with --print: stdio (the program on standard input, with "
	      "stream-json) or a tool of an MCP server, mcp__server__tool."),
	VALUE("agent", "name", GROUP_TOOLS, 0,
	      "Run the main conversation as this agent, with its prompt, tools, model and permissions."),
	CHOICE("permission-prompts", "who", GROUP_TOOLS, 0,
	       "Who answers permission questions: host (see --permission-prompt-tool) or none (a question means "
	       "denial).",
	       "host", "none"),
	VALUE("agents", "json|file", GROUP_TOOLS, 0,
	      "More agents: a JSON object {\"name\": {\"description\": ..., \"prompt\": ...}}, or a file with "
	      "one."),
	SWITCH("disable-slash-commands", GROUP_TOOLS, 0,
	       "Disable skills and commands: a leading slash has no meaning."),
	VALUE("plugin-dir", "dir|zip", GROUP_TOOLS, 0,
	      "Use a plugin in this run: a directory or a zip file; repeatable."),
	VALUE("plugin-dir-no-mcp", "dir|zip", GROUP_TOOLS, 0, "The same without the plugin's MCP servers."),
	VALUE("plugin-url", "url", GROUP_TOOLS, 0, "The same from the URL of a zip file (https)."),
	LIST("mcp-config", NULL, CADRE_OPTION_VARIADIC, "json|file...", GROUP_TOOLS,
	     "More MCP servers: JSON objects {\"mcpServers\": {...}}, or files with one; repeatable."),
	SWITCH("strict-mcp-config", GROUP_TOOLS, 0, "Only the servers of --mcp-config, and managed ones."),
	SWITCH("trust-project", GROUP_TOOLS, 0,
	       "Trust this folder for one run: enables its hooks, MCP servers and settings. `cadre trust` records "
	       "it."),
	VALUE("settings", "json|file", GROUP_TOOLS, 0,
	      "More settings, above user and project: a JSON object, or a file with one. May define agents."),
	VALUE("setting-sources", "list", GROUP_TOOLS, 0,
	      "Settings layers to read: user, project, local, separated by commas (default all; managed settings "
	      "always apply)."),
	VALUE("managed-settings", "json", GROUP_TOOLS, 0,
	      "Settings of the starting program, used if there are no managed ones. They can only restrict."),
	SWITCH("managed-settings-in-initialize", GROUP_TOOLS, FLAG_INPUT,
	       "The same, in the request initialize (stream-json input only)."),
	VALUE("project-config-root", "dir", GROUP_TOOLS, 0,
	      "The checkout with the settings, hooks, agents, skills and .mcp.json, instead of the working "
	      "directory."),
	LIST("channels", NULL, CADRE_OPTION_LIST, "servers...", GROUP_TOOLS,
	     "Accepted without effect: MCP servers cannot push messages."),
	LIST("add-dir", NULL, CADRE_OPTION_VARIADIC, "dirs...", GROUP_TOOLS,
	     "More directories that tools may work in."),

	LETTER("continue", 'c', GROUP_SESSION, FLAG_CHOICE, "Continue the latest session of this directory."),
	ROW("resume", NULL, 'r', OPTIONAL, 0, "session", NULL, GROUP_SESSION, FLAG_CHOICE, NULL, NULL,
	    "Continue a session: its id, a prefix of it, or its title. With --print and without a prompt an "
	    "interrupted turn is finished. Without a session: on a terminal the latest one; otherwise the newest "
	    "ones are listed."),
	VALUE("resume-session-at", "uuid", GROUP_SESSION, FLAG_CHOICE,
	      "With --resume or --continue: continue after this message and ignore later ones."),
	VALUE("resume-drops-turn", "uuid", GROUP_SESSION, FLAG_CHOICE,
	      "With --resume-session-at: refuse if more than the turn of this prompt would be left out."),
	SWITCH("fork-session", GROUP_SESSION, FLAG_CHOICE,
	       "With --resume or --continue: continue under a new id; the old session is unchanged."),
	VALUE("session-id", "uuid", GROUP_SESSION, FLAG_CHOICE, "The id of the new session."),
	ROW("name", NULL, 'n', REQUIRED, 0, "title", NULL, GROUP_SESSION, FLAG_CHOICE, NULL, NULL,
	    "The title of the session, shown by `cadre sessions`."),
	SWITCH("no-session-persistence", GROUP_SESSION, 0, "Write nothing to disk; the session cannot be resumed."),
	CHOICE("teammate-mode", "mode", GROUP_SESSION, 0,
	       "Where members of a team run: in-process (the default), tmux (a pane each), auto (panes if started "
	       "inside tmux); iterm2 means tmux.",
	       "in-process", "auto", "tmux", "iterm2"),
	VALUE("agent-id", "name@team", GROUP_SESSION, FLAG_CHOICE,
	      "Run as a member of a team in a pane. A lead gives this flag and the following ones to its "
	      "members."),
	VALUE("agent-name", "name", GROUP_SESSION, FLAG_CHOICE, "The name of this member."),
	VALUE("team-name", "team", GROUP_SESSION, FLAG_CHOICE, "The team of this member."),
	VALUE("agent-color", "color", GROUP_SESSION, FLAG_CHOICE, "The color of this member."),
	VALUE("agent-type", "type", GROUP_SESSION, FLAG_CHOICE, "The agent definition of this member."),
	VALUE("parent-session-id", "uuid", GROUP_SESSION, FLAG_CHOICE, "The session of this member's lead."),
	VALUE("lead-process", "pid.start", GROUP_SESSION, FLAG_CHOICE,
	      "The process of its lead: pid and start time. Other processes are ignored."),
	SWITCH("plan-mode-required", GROUP_SESSION, FLAG_CHOICE,
	       "This member works only after the lead has approved its plan."),

	SWITCH("json", GROUP_OTHER, FLAG_OWN, "With a command: print JSON."),
	SWITCH("version", GROUP_OTHER, FLAG_OWN, "Print the version."),
	LETTER("protocol-version", 'v', GROUP_OTHER, FLAG_OWN,
	       "Print the version of the stream-json protocol, which agent SDKs check, then our own."),
	LETTER("help", 'h', GROUP_OTHER, FLAG_OWN, "Print this text."),
};
const size_t flag_count = COUNT_OF(flag_table);

/* Reads a command line without a command. */

const struct flag *flag_of(const struct cadre_option *option)
{
	uintptr_t p = (uintptr_t)option;

	return p >= (uintptr_t)flag_table && p < (uintptr_t)(flag_table + flag_count) ? (const struct flag *)option
										      : NULL;
}

int flags_parse(int argc, const char *const *argv, struct args *ret_args, struct err *err)
{
	AUTO_FREE const struct cadre_option **options = NULL;
	size_t n = flag_count + 1;

	for (const struct cadre_command *c = NULL; (c = cadre_command_next(c));)
		for (const struct cadre_option *o = c->options; o->name; o++)
			n++;
	options = xcalloc(n, sizeof *options);
	for (n = 0; n < flag_count; n++)
		options[n] = &flag_table[n].option;
	for (const struct cadre_command *c = NULL; (c = cadre_command_next(c));)
		for (const struct cadre_option *o = c->options; o->name; o++)
			options[n++] = o;
	if (args_parse(argc - 1, argv + 1, options, "cadre", ret_args, err) < 0)
		return -ERR_USAGE;
	if (ret_args->word_count < 2)
		return 0;
	struct str second = utf8_cut(str_from(ret_args->words[1]), 60);
	err_set(err, ERR_USAGE, "there is a second prompt, '" STR_FMT "'; a prompt of several words needs quotes",
		STR_ARG(second));
	args_release(ret_args);
	return -ERR_USAGE;
}
