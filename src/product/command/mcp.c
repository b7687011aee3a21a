/* SPDX-License-Identifier: MIT
 * mcp.c - `cadre mcp`: lists, adds and removes MCP servers. */
#include "product/command/command.h"
#include "defs/policy/sources.h"

static command_fn mcp_list, mcp_add, mcp_add_json, mcp_get, mcp_remove;

const struct cadre_command command_mcp = {
	.name = "mcp",
	.summary = "list, add, remove and test MCP servers, or serve cadre's tools",
	.help = "Usage: cadre mcp [list]                       every server, its source, and whether it is used\n"
		"       cadre mcp get NAME                     one server\n"
		"       cadre mcp add NAME -- COMMAND [ARG...] a program that speaks MCP on standard input and output\n"
		"       cadre mcp add NAME --transport http URL\n"
		"       cadre mcp add-json NAME JSON           an entry in the form of the configuration files\n"
		"       cadre mcp remove NAME\n"
		"       cadre mcp test NAME                    connect, and report what the server offers\n"
		"       cadre mcp test --url URL | -- COMMAND  the same for a server that is not configured\n"
		"       cadre mcp login NAME                   the same, and sign in if the server requires it\n"
		"       cadre mcp serve                        be a server, on standard input and output\n"
		"\n"
		"The scope of a server is local (the default: for you, in this folder), project (for all who work on\n"
		"it, in .mcp.json) or user (for you, everywhere). Of several servers with one name the first applies:\n"
		"--mcp-config, local, project, user, then plugins. A conversation on the terminal asks before it uses\n"
		"a server of a project for the first time and keeps the answer in .claude/settings.local.json.\n"
		"${NAME} and ${NAME:-default} in an entry are read from the environment, so that a file need not\n"
		"contain keys. Only test, login and serve start anything. get exits with 1 if the server is refused,\n"
		"test and login if the connection fails.\n"
		"\n"
		"serve offers the tools that read, change and run things here, and `agent`, which gives a task to a\n"
		"subagent. It asks no questions: a call that the rules of the settings, --allowed-tools and\n"
		"--permission-mode do not allow is denied.\n"
		"\n"
		"Examples:\n"
		"  cadre mcp add files -- npx -y @modelcontextprotocol/server-filesystem ~/notes\n"
		"  cadre mcp add db --scope project --env 'DB_URL=${DB_URL}' -- ./tools/db-server --read-only\n"
		"  cadre mcp add tickets --transport http --header 'X-Key: ${TICKETS_KEY}' -- https://example.com/mcp\n"
		"  cadre mcp add-json build '{\"command\": \"./build-server\", \"timeout\": 60000}' --scope user\n"
		"  cadre mcp remove db --scope project\n"
		"  cadre mcp test -- npx -y @modelcontextprotocol/server-memory\n"
		"  cadre mcp serve --allowed-tools 'Bash(git *)' Edit --add-dir ../docs\n",
	.words =
		(const struct cadre_command_word[]){
			{ "list", "", 0, mcp_list },
			{ "add", "NAME -- COMMAND [ARG...]", 0, mcp_add },
			{ "add-json", "NAME JSON", 0, mcp_add_json },
			{ "get", "NAME", 0, mcp_get },
			{ "login", "[NAME...]", CADRE_COMMAND_BLOCKS, mcp_test },
			{ "remove", "NAME", 0, mcp_remove },
			{ "serve", "", CADRE_COMMAND_BLOCKS, mcp_serve },
			{ "test", "[NAME...]", CADRE_COMMAND_BLOCKS, mcp_test },
			{ .name = NULL },
		},
	.options =
		(const struct cadre_option[]){ OPTION_SCOPE,
					       { "transport", NULL, 't', CADRE_OPTION_REQUIRED, 0, "kind",
						 OPTION_CHOICES("stdio", "http", "sse"),
						 .help = "How a server is reached: stdio (the default), http or sse." },
					       { "url", NULL, 0, CADRE_OPTION_REQUIRED, 0, "address",
						 .help = "With test: a server that is not configured." },
					       { "env", NULL, 'e', CADRE_OPTION_REQUIRED, CADRE_OPTION_VARIADIC,
						 "name=value...",
						 .help = "With add: environment variables of the program." },
					       { "header", NULL, 'H', CADRE_OPTION_REQUIRED, CADRE_OPTION_VARIADIC,
						 "name: value...", .help = "With add: headers of every request." },
					       { .name = NULL } },
	.settings = (const char *const[]){ "mcp-config", "plugin-dir", "setting-sources", "settings", "trust-project",
					   "strict-mcp-config", "add-dir", "agents", "allowed-tools",
					   "disallowed-tools", "max-budget-usd", "model", "permission-mode", "provider",
					   "retry-deadline", "scenario", "tools", NULL },
};

static const char *item_position(struct cadre_report *r, const struct mcp_item *item) /* "" if it is unknown */
{
	return item->file ? report_position(r, item->file, item->line) : "";
}

static void put_item(struct json_out *w, const struct mcp_item *item)
{
	json_putf(w, "{name:'%s', scope:'%s', type:'%s', file:'%s', line:?%u", item->name, mcp_scope_word(item->scope),
		  item->server ? mcp_kind_word(item->server->kind) : NULL, item->file, item->line);
	json_putf(w, "state:'%s', reason:'%s', error:'%s', shadowedBy:", mcp_standing_word(item->standing),
		  item->reason[0] ? item->reason : NULL, item->error_type);
	if (item->by)
		json_putf(w, "{name:'%s', scope:'%s', file:'%s', line:?%u}", item->by->name,
			  mcp_scope_word(item->by->scope), item->by->file, item->by->line);
	else
		json_put_null(w);
	json_putf(w, "config:%.*s}", STR_ARG(item->json));
}

static const enum cadre_style styles[] = { [MCP_COUNTS] = CADRE_PLAIN,
					   [MCP_SHADOWED] = CADRE_NOTE,
					   [MCP_UNAPPROVED] = CADRE_WARN,
					   [MCP_REFUSED] = CADRE_BAD };

static int mcp_list(struct cadre_call *call)
{
	struct cadre_report *r = call->report;
	struct json_out w = json_out(&r->json);
	struct mcp_config *config = NULL;

	if (services_mcp_look(call->services, &config, call->err) < 0)
		return -(int)call->err->kind;
	json_putf(&w, "{servers:[");
	if (config->count)
		report_row(r, CADRE_HEAD, "NAME", "SCOPE", "TYPE", "STATE", "WHERE", NULL);
	else
		report_line(r, CADRE_NOTE, "No MCP server is configured. `cadre mcp add --help` explains how.");
	for (size_t i = 0; i < config->count; i++) {
		const struct mcp_item *item = &config->items[i];
		const char *state = mcp_standing_word(item->standing);
		put_item(&w, item);
		if (item->standing == MCP_SHADOWED)
			state = arena_printf(&r->arena, "%s by %s %s", state, mcp_scope_word(item->by->scope),
					     item_position(r, item->by));
		report_row(r, styles[item->standing], item->name, mcp_scope_word(item->scope),
			   item->server ? mcp_kind_word(item->server->kind) : "-", state, item_position(r, item), NULL);
	}
	json_close(&w);
	/* Why items do not count, behind the table */
	for (size_t i = 0; i < config->count; i++) {
		const struct mcp_item *item = &config->items[i];
		if (item->error_type) /* the error has its location */
			report_line(r, CADRE_BAD, "%s", item->reason);
		else if (item->standing == MCP_REFUSED || item->standing == MCP_UNAPPROVED)
			report_line(r, styles[item->standing], "%s: server '%s': %s", item_position(r, item),
				    item->name, item->reason);
	}
	json_putf(&w, "managedFile:'%s', notes:[", config->managed_file);
	for (struct str rest = buf_str(&config->notes); rest.p;) {
		struct str line = str_cut(&rest, '\n');
		if (!line.n)
			continue;
		json_put_str(&w, line);
		report_line(r, CADRE_NOTE, STR_FMT, STR_ARG(line));
	}
	json_putf(&w, "]}");
	mcp_config_free(config);
	return 0;
}

/* Values may be secrets: the names are enough to recognise them. */
static void add_names_of(struct buf *out, const char *const *list, char end)
{
	for (size_t i = 0; list && list[i]; i++) {
		struct str rest = str_from(list[i]);
		struct str name = str_cut(&rest, end);
		buf_addf(out, "%s" STR_FMT, i ? ", " : "", STR_ARG(name));
	}
}

static void row_if(struct cadre_report *r, const char *word, const struct buf *text)
{
	if (text->n)
		report_row(r, CADRE_PLAIN, word, text->p, NULL);
}

static void report_item(struct cadre_report *r, const struct mcp_item *item)
{
	const struct mcp_server *s = item->server;
	AUTO_BUF struct buf what = { 0 }, env = { 0 }, headers = { 0 };

	report_row(r, CADRE_PLAIN, "name", item->name, NULL);
	report_row(r, CADRE_PLAIN, "scope", mcp_scope_word(item->scope), NULL);
	report_row(r, CADRE_PLAIN, "type", item->server ? mcp_kind_word(item->server->kind) : "-", NULL);
	if (item->file)
		report_row(r, CADRE_PLAIN, "where", item_position(r, item), NULL);
	report_row(r, styles[item->standing], "state", mcp_standing_word(item->standing), NULL);
	if (item->reason[0])
		report_row(r, styles[item->standing], "why", item->reason, NULL);
	if (!s)
		return;
	buf_addstr(&what, s->command ? s->command : s->url ? s->url : "");
	for (size_t i = 0; s->args && s->args[i]; i++)
		buf_addf(&what, " %s", s->args[i]);
	add_names_of(&env, s->env, '=');
	add_names_of(&headers, s->headers, ':');
	row_if(r, s->command ? "command" : "url", &what);
	row_if(r, "env", &env);
	row_if(r, "headers", &headers);
	if (s->headers_helper)
		report_row(r, s->believed ? CADRE_PLAIN : CADRE_WARN, "headersHelper",
			   s->believed ? s->headers_helper : "does not run: the folder is not trusted", NULL);
}

static int mcp_get(struct cadre_call *call)
{
	struct mcp_config *config = NULL;
	struct json_out w = json_out(&call->report->json);

	if (services_mcp_look(call->services, &config, call->err) < 0)
		return -(int)call->err->kind;
	const struct mcp_item *item = mcp_config_item(config, call->operands[0]);
	if (item) {
		put_item(&w, item);
		report_item(call->report, item);
		call->report->bad = item->standing == MCP_REFUSED;
	}
	mcp_config_free(config);
	return item ? 0
		    : err_set(call->err, ERR_NOT_FOUND, "no such MCP server: %.80s; `cadre mcp list` lists them",
			      call->operands[0]);
}

/* word: of --scope, which takes no other; NULL: local */
static enum mcp_scope scope_named(const char *word)
{
	return !word || !strcmp(word, "local") ? MCP_SCOPE_LOCAL
	       : !strcmp(word, "user")         ? MCP_SCOPE_USER
					       : MCP_SCOPE_PROJECT;
}

/* {"NAME": "value"} of texts such as NAME=value. expected: how one looks. */
static int put_pairs(struct json_out *w, const char *key, const char *option, char separator, const char *expected,
		     const char *const *list, struct err *err)
{
	if (!list || !list[0])
		return 0;
	json_kopen(w, key, '{');
	for (size_t i = 0; list[i]; i++) {
		struct str value = str_from(list[i]);
		struct str name = str_cut(&value, separator);
		bool is_header = separator == ':';
		name = is_header ? str_trim(name) : name;
		if (!value.p || !name.n)
			return err_set(err, ERR_USAGE,
				       "%s: expected %s, not '%.60s' (the server's name goes before --%s)", option,
				       expected, list[i], option);
		json_key_str(w, name);
		json_put_str(w, is_header ? str_trim(value) : value);
	}
	json_close(w);
	return 0;
}

int mcp_write_entry(struct buf *out, const struct wanted_server *e, struct err *err)
{
	bool stdio = !strcmp(e->transport, "stdio");
	const char *first = e->words[0];
	struct json_out w = json_out(out);
	int status;

	if (!first || !first[0])
		return err_set(err, ERR_USAGE,
			       stdio ? "expected the program to start" : "expected the address of the server");
	if (stdio && e->headers && e->headers[0])
		return err_set(err, ERR_USAGE, "a program that is started has no headers; --transport http has");
	if (stdio && (str_starts(str_from(first), STR("http://")) || str_starts(str_from(first), STR("https://"))))
		return err_set(err, ERR_USAGE, "%.120s is an address: add --transport http (or sse)", first);
	if (!stdio && e->words[1])
		return err_set(err, ERR_USAGE, "expected one address, but '%.60s' follows", e->words[1]);
	if (!stdio && e->env && e->env[0])
		return err_set(err, ERR_USAGE, "a server that is reached by its address has no env; stdio has");
	json_putf(&w, "{type:'%s'", e->transport);
	json_kcstr(&w, stdio ? "command" : "url", first);
	if (stdio) {
		json_kopen(&w, "args", '[');
		for (size_t i = 1; e->words[i]; i++)
			json_put_cstr(&w, e->words[i]);
		json_close(&w);
		status = put_pairs(&w, "env", "env", '=', "NAME=value", e->env, err);
	} else {
		status = put_pairs(&w, "headers", "header", ':', "'Name: value'", e->headers, err);
	}
	if (status == 0)
		json_close(&w);
	return status;
}

/* Warns about an entry that does not count yet. */
static void report_standing(struct services *sv, struct cadre_report *r, const struct mcp_location *location,
			    const char *name)
{
	struct mcp_config *config = NULL;
	struct err err = { 0 };

	if (services_mcp_look(sv, &config, &err) < 0) {
		report_line(r, CADRE_WARN, "%s", err.text);
		return;
	}
	for (size_t i = 0; i < config->count; i++) {
		const struct mcp_item *item = &config->items[i];
		if (item->scope == location->scope && !strcmp(item->name, name) && item->standing != MCP_COUNTS) {
			report_line(r, CADRE_WARN, "It does not count yet (%s): %s.", mcp_standing_word(item->standing),
				    item->reason);
			break;
		}
	}
	mcp_config_free(config);
}

static void report_change(struct cadre_report *r, const struct mcp_location *location, const char *name,
			  const char *done)
{
	json_addf(&r->json, "{name:'%s', scope:'%s', file:'%s', folder:'%s', done:'%s'}", name,
		  mcp_scope_word(location->scope), location->file, location->folder, done);
	report_line(r, CADRE_GOOD, "Server %s is %s (scope %s).", name, done, mcp_scope_word(location->scope));
	if (location->folder)
		report_line(r, CADRE_NOTE, "Changed: %s, for the folder %s.", location->file, location->folder);
	else
		report_line(r, CADRE_NOTE, "Changed: %s.", location->file);
}

static int add_entry(struct cadre_call *call, struct str json)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_JSON struct json_reader reader = { 0 };
	const char *name = call->operands[0];
	struct mcp_entry entry = { .name = str_from(name), .scope = scope_named(args_value(&call->args, "scope")) };
	struct err *err = call->err;
	struct mcp_locations locations;
	struct mcp_server *server;
	bool there;

	/* Names in files may be anything; a new one can be written in rules and on the command line as it is. */
	if (!str_is_name(entry.name, "-_"))
		return err_set(err, ERR_USAGE,
			       "'%.60s' cannot be the name of a server: expected letters, digits, '-' and '_'", name);
	if (json_parse(&reader, json.p, json.n, &entry.value, err) < 0) {
		err->kind = ERR_USAGE;
		return err_wrap(err, "not JSON");
	}
	if (mcp_server_read(&entry, NULL, &server, NULL, err) < 0) /* it must count when it is read again */
		return -ERR_USAGE;
	mcp_server_unref(server);
	if (services_mcp_locations(call->services, &a, &locations, err) < 0)
		return -(int)err->kind;
	const struct mcp_location *location = mcp_locations_first(&locations, entry.scope);
	int status = mcp_location_has(location, str_from(name), &there, err);
	if (status == 0 && there)
		status = err_set(err, ERR_USAGE, "%s has a server '%s' already (scope %s); remove it first",
				 location->file, name, mcp_scope_word(entry.scope));
	if (status == 0 && location->scope == MCP_SCOPE_PROJECT)
		status = services_check_target(call->services, location->file, err);
	if (status == 0)
		status = mcp_location_set(location, str_from(name), json, err);
	if (status < 0)
		return status;
	report_change(call->report, location, name, "added");
	report_standing(call->services, call->report, location, name);
	return 0;
}

static int mcp_add(struct cadre_call *call)
{
	const char *transport = args_value(&call->args, "transport");
	const struct wanted_server wanted = { transport ? transport : "stdio", call->operands + 1,
					      args_values(&call->args, "env"), args_values(&call->args, "header") };
	AUTO_BUF struct buf json = { 0 };
	int status = mcp_write_entry(&json, &wanted, call->err);

	return status < 0 ? status : add_entry(call, buf_str(&json));
}

static int mcp_add_json(struct cadre_call *call)
{
	AUTO_BUF struct buf line = { 0 };

	/* Line ends stand between values only: those in a string are escaped. */
	for (const char *p = call->operands[1]; *p; p++)
		buf_addch(&line, *p == '\n' || *p == '\r' || *p == '\t' ? ' ' : *p);
	return add_entry(call, str_trim(buf_str(&line)));
}

/* The one location that has it; with a scope the highest one of that scope. */
static int find_entry(const struct mcp_locations *locations, const char *name, const char *scope_word,
		      const struct mcp_location **ret_location, struct err *err)
{
	const struct mcp_location *found = NULL;

	for (size_t i = 0; i < locations->count; i++) {
		const struct mcp_location *location = &locations->list[i];
		bool there = false;
		if (scope_word && location->scope != scope_named(scope_word))
			continue;
		if (mcp_location_has(location, str_from(name), &there, err) < 0)
			return -(int)err->kind;
		if (there && found && found->scope != location->scope)
			return err_set(err, ERR_USAGE,
				       "server '%.60s' exists with scope %s and scope %s: choose one with --scope",
				       name, mcp_scope_word(found->scope), mcp_scope_word(location->scope));
		if (there && !found)
			found = location;
	}
	if (!found)
		return err_set(err, ERR_NOT_FOUND, "no such server: %.60s%s%s; `cadre mcp list` lists them", name,
			       scope_word ? " with scope " : "", scope_word ? scope_word : "");
	*ret_location = found;
	return 0;
}

static int mcp_remove(struct cadre_call *call)
{
	AUTO_ARENA struct arena a = { 0 };
	const struct mcp_location *location = NULL;
	struct mcp_locations locations;
	const char *name = call->operands[0];

	if (services_mcp_locations(call->services, &a, &locations, call->err) < 0 ||
	    find_entry(&locations, name, args_value(&call->args, "scope"), &location, call->err) < 0 ||
	    (location->scope == MCP_SCOPE_PROJECT &&
	     services_check_target(call->services, location->file, call->err) < 0) ||
	    mcp_location_set(location, str_from(name), (struct str){ 0 }, call->err) < 0)
		return -(int)call->err->kind;
	report_change(call->report, location, name, "removed");
	return 0;
}
