/* SPDX-License-Identifier: MIT
 * mcp_test.c - `cadre mcp test` and `cadre mcp login`: connects to one server, tells what it offers, and hangs up. A server
 * that wants somebody to sign in sends the user to an address; what comes of that is stored for later runs. And `cadre mcp serve`. */
#include "product/command/command.h"
#include "defs/policy/mcp_config.h"
#include "product/session/server_pool.h"
#include "lib/git/git_head.h"
#include "product/command/mcp.h"

enum { MOST_LOG_BYTES = 4096 };

struct trial {
	struct services *services;
	struct mcp_env env;
	struct mcp_server *server; /* reference */
	struct mcp_client *client; /* owned until it is closed */
	const struct cadre_command_io *io;
	struct buf log; /* the server's last words, a line each */
	bool over;      /* it is known how it ends */
};

/* ---- which server ------------------------------------------------------------------------------------------------ */

static void write_test_entry(struct buf *out, const char *transport, const char *const *words)
{
	struct json_out w = json_out(out);
	bool stdio = !strcmp(transport, "stdio");

	json_open(&w, '{');
	json_kcstr(&w, "type", transport);
	json_kcstr(&w, stdio ? "command" : "url", words[0]);
	if (stdio) {
		json_key(&w, "args");
		json_open(&w, '[');
		for (size_t i = 1; words[i]; i++)
			json_put_cstr(&w, words[i]);
		json_close(&w);
	}
	json_close(&w);
}

/* One that stands in no file: what is forbidden there is forbidden here. */
static int make_server(struct trial *t, const char *transport, const char *const *words, struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf json = { 0 };
	struct mcp_entry entry = { .name = STR("test"), .scope = MCP_SCOPE_FLAG };

	write_test_entry(&json, transport, words);
	if (json_parse(&reader, json.p, json.n, &entry.value, err) < 0 ||
	    mcp_server_read(&entry, NULL, &t->server, NULL, err) < 0)
		return -(int)err->kind;
	return mcp_config_admit(t->services->mcp_config, t->server, err);
}

/* A project's server that nobody has approved yet may be tested: whoever names it here has looked at it. */
static int find_server(struct trial *t, const char *name, struct err *err)
{
	const struct mcp_item *found = app_mcp_item(t->services->mcp_config, name);

	if (!found)
		return err_set(err, ERR_NOT_FOUND, "there is no MCP server '%.80s'; `cadre mcp list` lists them", name);
	if (!found->server || found->standing == MCP_REFUSED)
		return err_set(err, ERR_DENIED, "the MCP server '%.80s' is refused: %s", name, found->reason);
	t->server = mcp_server_ref(found->server);
	return 0;
}

/* ---- the connection ---------------------------------------------------------------------------------------------- */

static void on_state(struct mcp_client *client, void *data)
{
	struct trial *t = data;

	if (mcp_client_state(client) == MCP_PENDING)
		return;
	t->over = true;
	loop_stop(t->services->loop);
}

static void on_log(void *data, const struct mcp_server *server, const char *level, struct str text)
{
	struct trial *t = data;

	(void)server;
	(void)level;
	if (t->log.n + text.n < MOST_LOG_BYTES)
		buf_addf(&t->log, STR_FMT "\n", STR_ARG(text));
}

static void on_browser_gone(struct child *child, int status)
{
	(void)child;
	(void)status;
}

/* Whoever has no such program has seen the address, too. */
static void open_url(void *data, const char *url)
{
	struct trial *t = data;
	const char *const argv[] = { "xdg-open", url, NULL };
	struct child_handlers handlers = { .on_exit = on_browser_gone };
	struct child *child;
	struct err err = { 0 };

	if (t->io->on_visit(url, t->io->data))
		(void)spawn_start(t->services->spawner, &(struct child_options){ .argv = argv }, &handlers, NULL,
				  &child, &err);
}

static void on_closed(void *data)
{
	struct trial *t = data;

	t->client = NULL;
	loop_stop(t->services->loop);
}

static void connect_now(struct trial *t)
{
	struct mcp_client_options options = { .env = &t->env,
					      .server = t->server,
					      .host = { .on_log = on_log, .data = t },
					      .on_state = on_state,
					      .data = t };

	t->client = mcp_client_new(&options);
	mcp_client_start(t->client);
	while (!t->over)
		loop_run(t->services->loop);
}

static void hang_up(struct trial *t)
{
	mcp_client_close(t->client, on_closed, t);
	while (t->client)
		loop_run(t->services->loop);
}

/* ---- what it offers, for programs -------------------------------------------------------------------------------- */

static void put_text_if(struct json_out *w, const char *key, const char *text)
{
	if (text[0])
		json_kcstr(w, key, text);
}

static void put_tools(struct json_out *w, const struct mcp_catalog *c)
{
	json_key(w, "tools");
	json_open(w, '[');
	for (size_t i = 0; i < c->tool_count; i++) {
		const struct mcp_tool *tool = &c->tools[i];
		json_open(w, '{');
		json_kcstr(w, "name", tool->name);
		put_text_if(w, "title", tool->title);
		put_text_if(w, "description", tool->description);
		json_kraw(w, "inputSchema", str_from(tool->schema));
		json_kbool(w, "readOnly", tool->read_only);
		json_close(w);
	}
	json_close(w);
}

static void put_prompts(struct json_out *w, const struct mcp_catalog *c)
{
	json_key(w, "prompts");
	json_open(w, '[');
	for (size_t i = 0; i < c->prompt_count; i++) {
		const struct mcp_prompt *prompt = &c->prompts[i];
		json_open(w, '{');
		json_kcstr(w, "name", prompt->name);
		put_text_if(w, "title", prompt->title);
		put_text_if(w, "description", prompt->description);
		json_key(w, "arguments");
		json_open(w, '[');
		for (size_t k = 0; k < prompt->argument_count; k++) {
			json_open(w, '{');
			json_kcstr(w, "name", prompt->arguments[k].name);
			json_kbool(w, "required", prompt->arguments[k].required);
			json_close(w);
		}
		json_close(w);
		json_close(w);
	}
	json_close(w);
}

static void put_resources(struct json_out *w, const struct mcp_catalog *c)
{
	json_key(w, "resources");
	json_open(w, '[');
	for (size_t i = 0; i < c->resource_count; i++)
		json_put_raw(w, str_from(c->resources[i].json));
	json_close(w);
}

static void put_offer(struct json_out *w, const struct mcp_catalog *c)
{
	json_key(w, "serverInfo");
	json_open(w, '{');
	json_kcstr(w, "name", c->server_name);
	json_kcstr(w, "version", c->server_version);
	json_close(w);
	put_text_if(w, "instructions", c->instructions);
	put_tools(w, c);
	put_prompts(w, c);
	put_resources(w, c);
}

static void put_trial(struct json_out *w, const struct trial *t, const struct mcp_catalog *c)
{
	const char *error = mcp_client_error(t->client);

	json_open(w, '{');
	json_kcstr(w, "name", t->server->name);
	json_kcstr(w, "type", mcp_kind_word(t->server->kind));
	json_kcstr(w, "state", mcp_state_word(mcp_client_state(t->client)));
	json_kcstr(w, "error", error[0] ? error : NULL);
	if (c)
		put_offer(w, c);
	json_kstr(w, "log", buf_str(&t->log));
	json_close(w);
}

/* ---- the same for people ----------------------------------------------------------------------------------------- */

static void add_offer_row(struct cadre_report *r, const char *kind, const char *name, const char *text)
{
	AUTO_BUF struct buf line = { 0 };
	struct str rest = str_from(text);
	struct str first = str_cut(&rest, '\n');

	buf_addf(&line, STR_FMT, STR_ARG(first));
	report_row(r, CADRE_PLAIN, kind, name, buf_str(&line).p, NULL);
}

static void tell_offer(struct cadre_report *r, const struct mcp_catalog *c)
{
	add_offer_row(r, "server", c->server_name, c->server_version);
	for (size_t i = 0; i < c->tool_count; i++)
		add_offer_row(r, "tool", c->tools[i].name, c->tools[i].description);
	for (size_t i = 0; i < c->prompt_count; i++)
		add_offer_row(r, "prompt", c->prompts[i].name, c->prompts[i].description);
	for (size_t i = 0; i < c->resource_count; i++)
		add_offer_row(r, "resource", c->resources[i].uri, c->resources[i].name);
}

static void tell_log(struct cadre_report *r, const struct trial *t)
{
	for (struct str rest = buf_str(&t->log); rest.p;) {
		struct str line = str_cut(&rest, '\n');
		if (line.n)
			report_line(r, CADRE_NOTE, STR_FMT, STR_ARG(line));
	}
}

static void report_trial(struct cadre_report *r, const struct trial *t)
{
	enum mcp_state state = mcp_client_state(t->client);
	struct mcp_catalog *catalog = state == MCP_CONNECTED ? mcp_client_catalog(t->client) : NULL;
	struct json_out w = json_out(&r->json);

	put_trial(&w, t, catalog);
	r->bad = state != MCP_CONNECTED;
	report_row(r, r->bad ? CADRE_BAD : CADRE_GOOD, t->server->name, mcp_state_word(state),
		   mcp_client_error(t->client), NULL);
	if (catalog)
		tell_offer(r, catalog);
	else
		tell_log(r, t);
	mcp_catalog_unref(catalog);
}

/* ---- from outside ------------------------------------------------------------------------------------------------ */

/* What the options say of the place: settings, trust and servers. */
static int open_place(struct services *sv, struct arena *a, const char **ret_cwd, struct err *err)
{
	const char *config;

	if (options_directories(&sv->options, a, ret_cwd, &config, err) < 0)
		return -(int)err->kind;
	if (!sv->store.config_dir)
		store_init(&sv->store, sv->loop, config);
	if (policy_load(sv, err) < 0 || app_open_hooks(sv, err) < 0)
		return -(int)err->kind;
	return app_open_servers(sv, err);
}

static void try_server(struct trial *t, struct arena *a, const char *cwd, bool can_visit, struct cadre_report *report)
{
	const char *root = git_root(a, cwd);

	t->env = t->services->server_env;
	t->env.cwd = cwd;
	t->env.project_dir = root ? root : cwd;
	t->env.open_url = can_visit ? open_url : NULL;
	t->env.data = t;
	connect_now(t);
	report_trial(report, t);
	hang_up(t);
}

int mcp_test(struct cadre_call *call)
{
	AUTO_ARENA struct arena a = { 0 };
	struct trial t = { .services = call->services, .io = call->io };
	const char *transport = args_value(&call->args, "transport");
	const char *url = args_value(&call->args, "url");
	bool login = !strcmp(call->word->name, "login");
	bool is_program = !url && call->args.plain_words == 1 && call->count;
	const char *cwd;

	if (url ? call->count > 0 : !is_program && call->count != 1)
		return command_fail_usage(call, "NAME, --url URL, or -- COMMAND [ARG...]");
	int status = open_place(call->services, &a, &cwd, call->err);
	if (status == 0 && url)
		status = make_server(&t, transport ? transport : "http", (const char *const[]){ url, NULL }, call->err);
	else if (status == 0)
		status = is_program ? make_server(&t, "stdio", call->operands, call->err)
				    : find_server(&t, call->operands[0], call->err);
	if (status == 0)
		try_server(&t, &a, cwd, call->io->on_visit && (login || call->io->attended), call->report);
	mcp_server_unref(t.server);
	buf_release(&t.log);
	return status;
}

/* Servers of the place are left out: one of them may be this very command. */
int mcp_serve(struct cadre_call *call)
{
	struct cadre *c = call->services->owner;
	char why[sizeof call->err->text] = "";
	int in, out;

	if (!call->io->on_serve)
		return err_set(call->err, ERR_USAGE,
			       "there is nothing to serve on: cadre_mcp_serve() takes two descriptors");
	call->told = true;
	call->io->on_serve(c, &in, &out, call->io->data);
	int status = cadre_set(c, "interactive", NULL, why, sizeof why);
	if (status == 0)
		status = cadre_set(c, "strict-mcp-config", "", why, sizeof why);
	if (status == 0)
		status = cadre_mcp_serve(c, in, out, why, sizeof why);
	return status < 0 ? err_set(call->err, (enum err_kind) - status, "%s", why) : 0;
}
