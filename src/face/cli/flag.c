/* SPDX-License-Identifier: MIT
 * flag.c - every flag of the program. Within a group the order is that of --help. */
#include "face/cli/flag.h"
#include "lib/base/utf8.h"

#define CHOICES(...)                     \
	.choices = (const char *const[]) \
	{                                \
		__VA_ARGS__, NULL        \
	}

const struct flag flag_table[] = {
	{ { "print", NULL, 'p', CADRE_OPTION_OPTIONAL, CADRE_OPTION_WORD, "prompt",
	    .help = "Answer one prompt and exit. Piped standard input is added to the prompt." },
	  .group = GROUP_RUN,
	  .kind = FLAG_OWN },
	{ { "output-format", NULL, 0, CADRE_OPTION_REQUIRED, 0, "format", CHOICES("text", "json", "stream-json"),
	    .help = "With --print: text (the answer), json (one result object) or stream-json (every event as a "
		    "line; needs --verbose)." },
	  .group = GROUP_RUN,
	  .kind = FLAG_OWN },
	{ { "input-format", NULL, 0, CADRE_OPTION_REQUIRED, 0, "format", CHOICES("text", "stream-json"),
	    .help = "Format of standard input: text, or stream-json (one user message or control request a line; needs "
		    "--output-format stream-json)." },
	  .group = GROUP_RUN,
	  .kind = FLAG_OWN },
	{ { "replay-user-messages", NULL, 0, CADRE_OPTION_NONE, 0,
	    .help = "Echo each accepted user message (stream-json only)." },
	  .group = GROUP_RUN },
	{ { "await-initialize", NULL, 0, CADRE_OPTION_NONE, 0,
	    .help = "The first line of the input must be the request initialize; its plugins are loaded (stream-json input only)." },
	  .group = GROUP_RUN },
	{ { "session-mirror", NULL, 0, CADRE_OPTION_NONE, 0,
	    .help = "Also write every line of the session's files (stream-json input only)." },
	  .group = GROUP_RUN },
	{ { "include-hook-events", NULL, 0, CADRE_OPTION_NONE, 0,
	    .help = "Also write the start and output of hooks (stream-json only)." },
	  .group = GROUP_RUN },
	{ { "include-partial-messages", NULL, 0, CADRE_OPTION_NONE, 0,
	    .help = "Also write the pieces of an answer as they arrive (stream-json only)." },
	  .group = GROUP_RUN },
	{ { "verbose", NULL, 0, CADRE_OPTION_NONE, 0,
	    .help = "Show tool calls, denials and retries on standard error, and thinking on the terminal." },
	  .group = GROUP_RUN,
	  .kind = FLAG_OWN },
	{ { "plain", NULL, 0, CADRE_OPTION_NONE, 0,
	    .help = "On a terminal: lines instead of the live view. The default where TERM is unset or dumb." },
	  .group = GROUP_RUN,
	  .kind = FLAG_OWN },
	{ { "json-schema", NULL, 0, CADRE_OPTION_REQUIRED, 0, "json|file",
	    .help = "Answer with JSON that matches this schema, in structured_output of the result: a JSON Schema of an object, or a "
		    "file with one." },
	  .group = GROUP_RUN },
	{ { "max-turns", NULL, 0, CADRE_OPTION_REQUIRED, 0, "n",
	    .help = "Stop with an error after n requests to the model." },
	  .group = GROUP_RUN },
	{ { "max-budget-usd", NULL, 0, CADRE_OPTION_REQUIRED, 0, "amount",
	    .help = "Stop with an error before the total cost of all agents exceeds this." },
	  .group = GROUP_RUN },
	{ { "allow-unknown-price", NULL, 0, CADRE_OPTION_NONE, 0,
	    .help = "With --max-budget-usd: also models whose price is unknown; they count as free." },
	  .group = GROUP_RUN },
	{ { "task-budget", NULL, 0, CADRE_OPTION_REQUIRED, 0, "n",
	    .help = "Token budget for the whole task, reported to the model." },
	  .group = GROUP_RUN },
	{ { "coordinator", NULL, 0, CADRE_OPTION_NONE, 0,
	    .help = "The main agent has no tools of its own and directs workers in the background." },
	  .group = GROUP_RUN },
	{ { "forward-subagent-text", NULL, 0, CADRE_OPTION_NONE, 0,
	    .help = "Also write the texts of subagents, not only their calls (stream-json only)." },
	  .group = GROUP_RUN },
	{ { "init", NULL, 0, CADRE_OPTION_NONE, 0, .help = "Run Setup hooks (trigger init) before the first prompt." },
	  .group = GROUP_RUN,
	  .setting = "setup",
	  .fixed = "init" },
	{ { "init-only", NULL, 0, CADRE_OPTION_NONE, 0,
	    .help = "Run Setup hooks and those of SessionStart, then exit." },
	  .group = GROUP_RUN,
	  .setting = "setup",
	  .fixed = "init" },
	{ { "maintenance", NULL, 0, CADRE_OPTION_NONE, 0,
	    .help = "Run Setup hooks (trigger maintenance) before the first prompt." },
	  .group = GROUP_RUN,
	  .setting = "setup",
	  .fixed = "maintenance" },
	{ { "retry-deadline", NULL, 0, CADRE_OPTION_REQUIRED, 0, "seconds",
	    .help = "How long to retry one request when the service is busy or the connection fails "
		    "(default 1800)." },
	  .group = GROUP_RUN },
	{ { "debug", NULL, 0, CADRE_OPTION_OPTIONAL, CADRE_OPTION_JOINED, "=subjects",
	    .help = "Write a debug log to standard error. Subjects: session, api, tools, permission, hooks, mcp, "
		    "agents, plugins, error; ! before a subject excludes it." },
	  .group = GROUP_RUN },
	{ { "debug-file", NULL, 0, CADRE_OPTION_REQUIRED, 0, "file",
	    .help = "Append the debug log to this file instead." },
	  .group = GROUP_RUN },
	{ { "trace", NULL, 0, CADRE_OPTION_REQUIRED, 0, "file",
	    .help = "Write a timeline of all agents, for ui.perfetto.dev." },
	  .group = GROUP_RUN },

	{ { "model", NULL, 0, CADRE_OPTION_REQUIRED, 0, "model",
	    .help = "The model: an alias such as sonnet, opus or haiku, a full name, or one of another provider as "
		    "openai/name." },
	  .group = GROUP_MODEL },
	{ { "fallback-model", NULL, 0, CADRE_OPTION_REQUIRED, 0, "models",
	    .help = "Fallback models, in order, when the model is overloaded three times or does not exist; the next turn "
		    "starts with the model again." },
	  .group = GROUP_MODEL },
	{ { "system-prompt", NULL, 0, CADRE_OPTION_REQUIRED, 0, "text", .help = "Replace the system prompt." },
	  .group = GROUP_MODEL },
	{ { "system-prompt-file", NULL, 0, CADRE_OPTION_REQUIRED, 0, "file",
	    .help = "Replace the system prompt by the text of a file." },
	  .group = GROUP_MODEL,
	  .setting = "system-prompt",
	  .kind = FLAG_FILE },
	{ { "append-system-prompt", NULL, 0, CADRE_OPTION_REQUIRED, 0, "text", .help = "Add to the system prompt." },
	  .group = GROUP_MODEL },
	{ { "append-system-prompt-file", NULL, 0, CADRE_OPTION_REQUIRED, 0, "file",
	    .help = "Add the text of a file to the system prompt." },
	  .group = GROUP_MODEL,
	  .setting = "append-system-prompt",
	  .kind = FLAG_FILE },
	{ { "append-subagent-system-prompt", NULL, 0, CADRE_OPTION_REQUIRED, 0, "text",
	    .help = "Add to the system prompt of every subagent but forks." },
	  .group = GROUP_MODEL },
	{ { "effort", NULL, 0, CADRE_OPTION_REQUIRED, 0, "level", CHOICES("low", "medium", "high", "xhigh", "max"),
	    .help = "Reasoning effort: low, medium, high, xhigh or max." },
	  .group = GROUP_MODEL },
	{ { "thinking", NULL, 0, CADRE_OPTION_REQUIRED, 0, "mode", CHOICES("enabled", "adaptive", "disabled"),
	    .help = "Whether the model thinks before it answers: adaptive (or enabled), disabled." },
	  .group = GROUP_MODEL },
	{ { "max-thinking-tokens", NULL, 0, CADRE_OPTION_REQUIRED, 0, "n",
	    .help = "Limit thinking to n tokens; 0 disables it." },
	  .group = GROUP_MODEL },
	{ { "thinking-display", NULL, 0, CADRE_OPTION_REQUIRED, 0, "how", CHOICES("summarized", "omitted"),
	    .help = "How the model's thinking is shown: summarized or omitted." },
	  .group = GROUP_MODEL },
	{ { "betas", NULL, 0, CADRE_OPTION_REQUIRED, CADRE_OPTION_LIST, "names...",
	    .help = "Beta features of the API (header anthropic-beta), separated by commas or spaces." },
	  .group = GROUP_MODEL },
	{ { "provider", NULL, 0, CADRE_OPTION_REQUIRED, 0, "name",
	    .help = "The model provider: anthropic (the default), a cloud (bedrock, vertex, foundry, ...), a vendor (openai, gemini, "
		    "deepseek, openrouter, ...), a local server (ollama, llamacpp, vllm, lmstudio), one of the setting "
		    "providers, or scripted (a scenario in this process, no network). `cadre models` lists models." },
	  .group = GROUP_MODEL },
	{ { "base-url", NULL, 0, CADRE_OPTION_REQUIRED, 0, "address",
	    .help = "The address of the provider, in place of that of its variable or of the settings." },
	  .group = GROUP_MODEL },
	{ { "scenario", NULL, 0, CADRE_OPTION_REQUIRED, 0, "file",
	    .help = "The scenario of the scripted provider; default: the built-in one." },
	  .group = GROUP_MODEL },

	{ { "tools", NULL, 0, CADRE_OPTION_REQUIRED, CADRE_OPTION_LIST, "names...",
	    .help = "Tools for the model, separated by commas or spaces; \"\" for none, default for all." },
	  .group = GROUP_TOOLS },
	{ { "allowed-tools", "allowedTools", 0, CADRE_OPTION_REQUIRED, CADRE_OPTION_LIST, "names...",
	    .help = "Tools that run without a question: names, or rules such as \"Bash(git log *)\"." },
	  .group = GROUP_TOOLS },
	{ { "disallowed-tools", "disallowedTools", 0, CADRE_OPTION_REQUIRED, CADRE_OPTION_LIST, "names...",
	    .help = "Tools, or calls by rule, that never run." },
	  .group = GROUP_TOOLS },
	{ { "permission-mode", NULL, 0, CADRE_OPTION_REQUIRED, 0, "mode",
	    CHOICES("default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"),
	    .help = "default (reading is allowed, the rest needs a question; denied with --print), acceptEdits (files in "
		    "the working directories may be changed), plan (nothing is written), dontAsk (a question means "
		    "denial), auto or bypassPermissions." },
	  .group = GROUP_TOOLS },
	{ { "dangerously-skip-permissions", NULL, 0, CADRE_OPTION_NONE, 0,
	    .help = "Allow every tool. For isolated machines only; refused for root unless "
		    "IS_SANDBOX=1." },
	  .group = GROUP_TOOLS,
	  .setting = "permission-mode",
	  .fixed = "bypassPermissions" },
	{ { "allow-dangerously-skip-permissions", NULL, 0, CADRE_OPTION_NONE, 0,
	    .help = "Let the client switch to bypassPermissions later (stream-json input only)." },
	  .group = GROUP_TOOLS },
	{ { "permission-prompt-tool", NULL, 0, CADRE_OPTION_REQUIRED, 0, "name",
	    .help = "Who answers permission questions with --print: stdio (the program on standard input, with stream-json) or "
		    "a tool of an MCP server, mcp__server__tool." },
	  .group = GROUP_TOOLS },
	{ { "agent", NULL, 0, CADRE_OPTION_REQUIRED, 0, "name",
	    .help = "Run the main conversation as this agent, with its prompt, tools, model and permissions." },
	  .group = GROUP_TOOLS },
	{ { "permission-prompts", NULL, 0, CADRE_OPTION_REQUIRED, 0, "who", CHOICES("host", "none"),
	    .help = "Who answers permission questions: host (see --permission-prompt-tool) or none (a question "
		    "means denial)." },
	  .group = GROUP_TOOLS },
	{ { "agents", NULL, 0, CADRE_OPTION_REQUIRED, 0, "json|file",
	    .help = "More agents: a JSON object {\"name\": {\"description\": ..., \"prompt\": ...}}, or a file with one." },
	  .group = GROUP_TOOLS },
	{ { "disable-slash-commands", NULL, 0, CADRE_OPTION_NONE, 0,
	    .help = "Disable skills and commands: a leading slash has no meaning." },
	  .group = GROUP_TOOLS },
	{ { "plugin-dir", NULL, 0, CADRE_OPTION_REQUIRED, 0, "dir|zip",
	    .help = "A plugin to use in this run, a directory or a zip file; may be given again." },
	  .group = GROUP_TOOLS },
	{ { "plugin-dir-no-mcp", NULL, 0, CADRE_OPTION_REQUIRED, 0, "dir|zip",
	    .help = "The same without the plugin's MCP servers." },
	  .group = GROUP_TOOLS },
	{ { "plugin-url", NULL, 0, CADRE_OPTION_REQUIRED, 0, "url",
	    .help = "The same from the URL of a zip file (https)." },
	  .group = GROUP_TOOLS },
	{ { "mcp-config", NULL, 0, CADRE_OPTION_REQUIRED, CADRE_OPTION_VARIADIC, "json|file...",
	    .help = "More MCP servers: JSON objects {\"mcpServers\": {...}}, or files with one; may be given again." },
	  .group = GROUP_TOOLS },
	{ { "strict-mcp-config", NULL, 0, CADRE_OPTION_NONE, 0,
	    .help = "Only the servers of --mcp-config, and managed ones." },
	  .group = GROUP_TOOLS },
	{ { "trust-project", NULL, 0, CADRE_OPTION_NONE, 0,
	    .help = "Trust this folder for one run: enables its hooks, MCP servers and settings. `cadre trust` records it." },
	  .group = GROUP_TOOLS },
	{ { "settings", NULL, 0, CADRE_OPTION_REQUIRED, 0, "json|file",
	    .help = "More settings, above user and project: a JSON object, or a file with one. May define agents." },
	  .group = GROUP_TOOLS },
	{ { "setting-sources", NULL, 0, CADRE_OPTION_REQUIRED, 0, "list",
	    .help = "Settings layers to read: user, project, local, separated by commas (default all; "
		    "managed settings always apply)." },
	  .group = GROUP_TOOLS },
	{ { "managed-settings", NULL, 0, CADRE_OPTION_REQUIRED, 0, "json",
	    .help = "Settings of the starting program, used if there are no managed ones. They can only "
		    "restrict." },
	  .group = GROUP_TOOLS },
	{ { "managed-settings-in-initialize", NULL, 0, CADRE_OPTION_NONE, 0,
	    .help = "The same, in the request initialize (stream-json input only)." },
	  .group = GROUP_TOOLS },
	{ { "project-config-root", NULL, 0, CADRE_OPTION_REQUIRED, 0, "dir",
	    .help = "The checkout with the settings, hooks, agents, skills and .mcp.json, instead of the working "
		    "directory." },
	  .group = GROUP_TOOLS },
	{ { "channels", NULL, 0, CADRE_OPTION_REQUIRED, CADRE_OPTION_LIST, "servers...",
	    .help = "Accepted without effect: MCP servers cannot push messages." },
	  .group = GROUP_TOOLS },
	{ { "add-dir", NULL, 0, CADRE_OPTION_REQUIRED, CADRE_OPTION_VARIADIC, "dirs...",
	    .help = "More directories that tools may work in." },
	  .group = GROUP_TOOLS },

	{ { "continue", NULL, 'c', CADRE_OPTION_NONE, 0, .help = "Continue the latest session of this directory." },
	  .group = GROUP_SESSION,
	  .kind = FLAG_CHOICE },
	{ { "resume", NULL, 'r', CADRE_OPTION_OPTIONAL, 0, "session",
	    .help = "Continue a session: its id, a prefix of it, or its title. With --print and without a prompt an "
		    "interrupted turn is finished. Without a session on a terminal: the latest one; otherwise the newest are named." },
	  .group = GROUP_SESSION,
	  .kind = FLAG_CHOICE },
	{ { "resume-session-at", NULL, 0, CADRE_OPTION_REQUIRED, 0, "uuid",
	    .help = "With --resume or --continue: continue after this message and ignore later ones." },
	  .group = GROUP_SESSION,
	  .kind = FLAG_CHOICE },
	{ { "resume-drops-turn", NULL, 0, CADRE_OPTION_REQUIRED, 0, "uuid",
	    .help = "With --resume-session-at: refuse if more than the turn of this prompt would be left out." },
	  .group = GROUP_SESSION,
	  .kind = FLAG_CHOICE },
	{ { "fork-session", NULL, 0, CADRE_OPTION_NONE, 0,
	    .help = "With --resume or --continue: continue under a new id; the old session is unchanged." },
	  .group = GROUP_SESSION,
	  .kind = FLAG_CHOICE },
	{ { "session-id", NULL, 0, CADRE_OPTION_REQUIRED, 0, "uuid", .help = "The id of the new session." },
	  .group = GROUP_SESSION,
	  .kind = FLAG_CHOICE },
	{ { "name", NULL, 'n', CADRE_OPTION_REQUIRED, 0, "title",
	    .help = "The title of the session, shown by `cadre sessions`." },
	  .group = GROUP_SESSION,
	  .kind = FLAG_CHOICE },
	{ { "no-session-persistence", NULL, 0, CADRE_OPTION_NONE, 0,
	    .help = "Write nothing to disk; the session cannot be resumed." },
	  .group = GROUP_SESSION },
	{ { "teammate-mode", NULL, 0, CADRE_OPTION_REQUIRED, 0, "mode", CHOICES("in-process", "auto", "tmux", "iterm2"),
	    .help = "Where members of a team run: in-process (the default), tmux (a pane each), auto (panes if started inside tmux); "
		    "iterm2 means tmux." },
	  .group = GROUP_SESSION },
	{ { "agent-id", NULL, 0, CADRE_OPTION_REQUIRED, 0, "name@team",
	    .help = "Run as a member of a team in a pane. A lead gives this flag and the following ones to its members." },
	  .group = GROUP_SESSION,
	  .kind = FLAG_CHOICE },
	{ { "agent-name", NULL, 0, CADRE_OPTION_REQUIRED, 0, "name", .help = "The name of this member." },
	  .group = GROUP_SESSION,
	  .kind = FLAG_CHOICE },
	{ { "team-name", NULL, 0, CADRE_OPTION_REQUIRED, 0, "team", .help = "The team of this member." },
	  .group = GROUP_SESSION,
	  .kind = FLAG_CHOICE },
	{ { "agent-color", NULL, 0, CADRE_OPTION_REQUIRED, 0, "color", .help = "The color of this member." },
	  .group = GROUP_SESSION,
	  .kind = FLAG_CHOICE },
	{ { "agent-type", NULL, 0, CADRE_OPTION_REQUIRED, 0, "type", .help = "The agent definition of this member." },
	  .group = GROUP_SESSION,
	  .kind = FLAG_CHOICE },
	{ { "parent-session-id", NULL, 0, CADRE_OPTION_REQUIRED, 0, "uuid",
	    .help = "The session of this member's lead." },
	  .group = GROUP_SESSION,
	  .kind = FLAG_CHOICE },
	{ { "lead-process", NULL, 0, CADRE_OPTION_REQUIRED, 0, "pid.start",
	    .help = "The process of its lead: its pid and start time. No other process is obeyed." },
	  .group = GROUP_SESSION,
	  .kind = FLAG_CHOICE },
	{ { "plan-mode-required", NULL, 0, CADRE_OPTION_NONE, 0,
	    .help = "It works only after the lead approved its plan." },
	  .group = GROUP_SESSION,
	  .kind = FLAG_CHOICE },

	{ { "json", NULL, 0, CADRE_OPTION_NONE, 0, .help = "With a command: print JSON." },
	  .group = GROUP_OTHER,
	  .kind = FLAG_OWN },
	{ { "version", NULL, 0, CADRE_OPTION_NONE, 0, .help = "Print the version." },
	  .group = GROUP_OTHER,
	  .kind = FLAG_OWN },
	{ { "protocol-version", NULL, 'v', CADRE_OPTION_NONE, 0,
	    .help = "Print the version of the stream-json protocol, then our own: agent SDKs ask for it." },
	  .group = GROUP_OTHER,
	  .kind = FLAG_OWN },
	{ { "help", NULL, 'h', CADRE_OPTION_NONE, 0, .help = "Print this text." },
	  .group = GROUP_OTHER,
	  .kind = FLAG_OWN },
};
const size_t flag_count = COUNT_OF(flag_table);

/* Reads a command line without a command. */

const struct flag *flag_of(const struct cadre_option *option)
{
	uintptr_t p = (uintptr_t)option;

	return p >= (uintptr_t)flag_table && p < (uintptr_t)(flag_table + flag_count) ? (const struct flag *)option
										      : NULL;
}

const char *flag_setting(const struct flag *flag)
{
	return flag->kind & FLAG_OWN ? NULL : flag->setting ? flag->setting : flag->option.name;
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

const char *flags_prompt(const struct args *args)
{
	return args->word_count ? args->words[0] : NULL;
}
