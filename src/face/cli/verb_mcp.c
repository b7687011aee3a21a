/* SPDX-License-Identifier: MIT
 * verb_mcp.c - `cadre mcp`. */
#include <signal.h>
#include "face/cli/verb.h"

static int run(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err);

const struct verb verb_mcp = {
	.name = "mcp",
	.summary = "list, add, remove and test MCP servers, or be one",
	.help = "Usage: cadre mcp [list]                       every server, where it stands, and whether it counts\n"
		"       cadre mcp get NAME                     one of them\n"
		"       cadre mcp add NAME -- COMMAND [ARG...] a program that is started, which speaks MCP on its pipes\n"
		"       cadre mcp add NAME --transport http URL\n"
		"       cadre mcp add-json NAME JSON           the same with the entry as it is written in files\n"
		"       cadre mcp remove NAME\n"
		"       cadre mcp test NAME                    connects, and tells what the server offers\n"
		"       cadre mcp test --url URL | -- COMMAND  the same for one that is not configured\n"
		"       cadre mcp login NAME                   the same, and sends you to where you sign in, if it wants that\n"
		"       cadre mcp serve                        is a server itself, on standard input and output\n"
		"\n"
		"A scope says for whom a server is: local (the default) for you in this folder, project for everybody who\n"
		"works on it, in .mcp.json, and user for you everywhere. local goes before project, project before user;\n"
		"--mcp-config goes before all of them, servers of plugins come last. Of two with one name the first counts.\n"
		"A conversation on the terminal asks before it uses a server of a project for the first time and keeps the\n"
		"answer in .claude/settings.local.json. ${NAME} and ${NAME:-default} in an entry are taken from the environment, so that keys need not\n"
		"be in a file. Only test, login and serve start anything. get ends with 1 if the server is refused, test and\n"
		"login if it cannot be connected to.\n"
		"\n"
		"serve offers the tools that read, change and run things here, and `agent`, which gives a task to a subagent.\n"
		"Nobody is asked: what the rules of the settings, --allowed-tools and --permission-mode do not allow is denied.\n"
		"\n"
		"Examples:\n"
		"  cadre mcp add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes\n"
		"  cadre mcp add db --scope project --env 'DB_URL=${DB_URL}' -- ./tools/db-server --read-only\n"
		"  cadre mcp add tickets --transport http --header 'X-Key: ${TICKETS_KEY}' -- https://tickets.example.com/mcp\n"
		"  cadre mcp add-json build '{\"command\": \"./build-server\", \"timeout\": 60000}' --scope user\n"
		"  cadre mcp remove db --scope project\n"
		"  cadre mcp test -- npx -y @modelcontextprotocol/server-memory\n"
		"  cadre mcp serve --allowed-tools 'Bash(git *)' Edit --add-dir ../docs\n",
	.words = (const char *const[]){ "add", "add-json", "get", "list", "login", "remove", "serve", "test", NULL },
	.options = (const char *const[]){ "scope",
					  "transport",
					  "url",
					  "env",
					  "header",
					  "mcp-config",
					  "plugin-dir",
					  "setting-sources",
					  "settings",
					  "trust-project",
					  "strict-mcp-config",
					  "add-dir",
					  "agents",
					  "allowed-tools",
					  "dangerously-skip-permissions",
					  "disallowed-tools",
					  "max-budget-usd",
					  "model",
					  "permission-mode",
					  "provider",
					  "retry-deadline",
					  "scenario",
					  "tools",
					  NULL },
	.run = run,
};

static int status_of(int status, const char *why, struct err *err)
{
	return status < 0 ? err_set(err, (enum err_kind) - status, "%s", why) : 0;
}

/* All values of a flag that may be given again; in the arena, NULL behind the last. */
static const char *const *values_of(const struct args *args, const char *name, struct arena *a)
{
	const char **list = arena_calloc(a, (args->given_count + 1) * sizeof *list);
	size_t n = 0;

	for (size_t i = 0; i < args->given_count; i++)
		if (!strcmp(args->given[i].option->name, name))
			list[n++] = args->given[i].value;
	return list;
}

/* The words behind the name, with a NULL; in the arena. */
static const char *const *rest_of(const struct args *args, struct arena *a)
{
	const char **list = arena_calloc(a, args->word_count * sizeof *list);

	memcpy(list, args->words + 2, (args->word_count - 2) * sizeof *list);
	return list;
}

static int list_servers(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	char why[sizeof err->text] = "";

	(void)args;
	return status_of(cadre_mcp_list(c, ret_report, why, sizeof why), why, err);
}

static int get_server(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	char why[sizeof err->text] = "";

	return status_of(cadre_mcp_get(c, args->words[1], ret_report, why, sizeof why), why, err);
}

static int add_server(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	char why[sizeof err->text] = "";

	return status_of(cadre_mcp_add(c, args->words[1], args->scope, args->transport, rest_of(args, &a),
				       values_of(args, "env", &a), values_of(args, "header", &a), ret_report, why,
				       sizeof why),
			 why, err);
}

static int add_json(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	char why[sizeof err->text] = "";

	return status_of(
		cadre_mcp_add_json(c, args->words[1], args->scope, args->words[2], ret_report, why, sizeof why), why,
		err);
}

static int remove_server(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	char why[sizeof err->text] = "";

	return status_of(cadre_mcp_remove(c, args->words[1], args->scope, ret_report, why, sizeof why), why, err);
}

/* ---- those that run something ------------------------------------------------------------------------------------- */

static int visit(const char *url, void *data)
{
	(void)data;
	fprintf(stderr, "To sign in, open this address in a browser:\n  %s\n", url);
	return isatty(STDERR_FILENO);
}

/* The words of a server that is not configured, and how it is reached; NULL: the command line names one. */
static const char *transport_of(const struct args *args, const char **ret_words)
{
	if (args->url) {
		ret_words[0] = args->url;
		return args->transport ? args->transport : "http";
	}
	for (size_t i = 1; i < args->word_count; i++)
		ret_words[i - 1] = args->words[i];
	return args->plain_words == 1 && args->word_count > 1 ? "stdio" : NULL;
}

static int try_server(struct cadre *c, const struct args *args, cadre_visit_fn *may_visit,
		      struct cadre_report **ret_report, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	char why[sizeof err->text] = "";
	const char **words = arena_calloc(&a, (args->word_count + 2) * sizeof *words);
	const char *transport = transport_of(args, words);

	if (args->url ? args->word_count > 1 : !transport && args->word_count != 2)
		return err_set(err, ERR_USAGE, "expected: cadre mcp %s NAME, --url URL, or -- COMMAND [ARG...]",
			       args->words[0]);
	return status_of(cadre_mcp_test(c, transport ? NULL : words[0], transport, transport ? words : NULL, may_visit,
					NULL, ret_report, why, sizeof why),
			 why, err);
}

static int test_server(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	return try_server(c, args, isatty(STDIN_FILENO) && isatty(STDERR_FILENO) ? visit : NULL, ret_report, err);
}

static int log_in(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	return try_server(c, args, visit, ret_report, err);
}

static void on_signal(struct cadre *c, int signal, void *data)
{
	(void)signal;
	(void)data;
	cadre_stop(c);
}

/* Servers of the place are left out: one of them may be this very command. */
static int serve(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	char why[sizeof err->text] = "";

	(void)args;
	(void)ret_report;
	(void)cadre_watch_signal(c, SIGINT, on_signal, NULL);
	(void)cadre_watch_signal(c, SIGTERM, on_signal, NULL);
	int status = cadre_set(c, "interactive", NULL, why, sizeof why);
	if (status == 0)
		status = cadre_set(c, "strict-mcp-config", "", why, sizeof why);
	if (status == 0)
		status = cadre_mcp_serve(c, STDIN_FILENO, STDOUT_FILENO, why, sizeof why);
	return status_of(status, why, err);
}

/* To add a command: a row here, its line in the help above, a row in tests/unit/cli/test_verb.c. */
static const struct command {
	const char *name;
	size_t least, most; /* words with the command's own */
	const char *usage;
	int (*run)(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err);
} commands[] = {
	{ "add", 3, SIZE_MAX, "add NAME -- COMMAND [ARG...], or add NAME --transport http URL", add_server },
	{ "add-json", 3, 3, "add-json NAME JSON", add_json },
	{ "get", 2, 2, "get NAME", get_server },
	{ "list", 0, 1, "list", list_servers },
	{ "login", 1, SIZE_MAX, "login NAME", log_in },
	{ "remove", 2, 2, "remove NAME", remove_server },
	{ "serve", 1, 1, "serve", serve },
	{ "test", 1, SIZE_MAX, "test NAME", test_server },
};

static int run(struct cadre *c, const struct args *args, struct cadre_report **ret_report, struct err *err)
{
	const char *what = args->word_count ? args->words[0] : "list";
	AUTO_BUF struct buf names = { 0 };

	for (size_t i = 0; i < COUNT_OF(commands); i++) {
		const struct command *command = &commands[i];
		buf_addf(&names, "%s%s", i ? ", " : "", command->name);
		if (strcmp(command->name, what) != 0)
			continue;
		if (args->word_count < command->least || args->word_count > command->most)
			return err_set(err, ERR_USAGE, "expected: cadre mcp %s", command->usage);
		return command->run(c, args, ret_report, err);
	}
	return err_set(err, ERR_USAGE, "cadre mcp: '%.60s' is not known; expected one of %s", what, names.p);
}
