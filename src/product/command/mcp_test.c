/* SPDX-License-Identifier: MIT
 * mcp_test.c - `cadre mcp test` and `cadre mcp login`: connects to one server, reports what it offers, and disconnects. A server
 * that needs a login sends the user to an address; the credentials are stored for later runs. And `cadre mcp serve`. */
#include "product/command/command.h"
#include "defs/policy/sources.h"
#include "product/session/server_pool.h"
#include "lib/git/git_head.h"
#include "guard/sandbox/sandbox.h"

enum { MOST_LOG_BYTES = 4096 };

struct server_test {
	struct services *services;
	struct mcp_env env;
	struct sandbox *cage;      /* what holds its program */
	struct mcp_server *server; /* reference */
	struct mcp_client *client; /* owned until it is closed */
	const struct cadre_command_io *io;
	struct cadre_report *report;
	struct buf log; /* of the server */
	bool over;      /* connected, or failed */
};

/* A server of the command line: what is forbidden in files is forbidden here. */
static int make_server(struct server_test *t, const char *transport, const char *const *words, struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_BUF struct buf json = { 0 };
	struct mcp_entry entry = { .name = STR("test"), .scope = MCP_SCOPE_FLAG };

	if (mcp_write_entry(&json, &(struct wanted_server){ .transport = transport, .words = words }, err) < 0 ||
	    json_parse(&reader, json.p, json.n, &entry.value, err) < 0 ||
	    mcp_server_read(&entry, NULL, &t->server, NULL, err) < 0)
		return -(int)err->kind;
	return mcp_config_admit(t->services->policy.mcp_config, t->server, err);
}

/* A project's server may be tested before it is approved: the user names it. */
static int find_server(struct server_test *t, const char *name, struct err *err)
{
	const struct mcp_item *found = mcp_config_item(t->services->policy.mcp_config, name);

	if (!found)
		return err_set(err, ERR_NOT_FOUND, "no such MCP server: %.80s; `cadre mcp list` lists them", name);
	if (!found->server || found->standing == MCP_REFUSED)
		return err_set(err, ERR_DENIED, "the MCP server '%.80s' is refused: %s", name, found->reason);
	t->server = mcp_server_ref(found->server);
	return 0;
}

static void on_state(struct mcp_client *client, void *data)
{
	struct server_test *t = data;

	if (mcp_client_state(client) == MCP_PENDING)
		return;
	t->over = true;
	loop_stop(t->services->loop);
}

static void on_log(void *data, const struct mcp_client *client, const char *level, struct str text)
{
	struct server_test *t = data;

	if (t->log.n + text.n < MOST_LOG_BYTES)
		buf_addf(&t->log, STR_FMT "\n", STR_ARG(text));
}

static void on_browser_gone(struct child *child, int status) {}

/* The host has shown the address: xdg-open may be missing. */
static void open_url(void *data, const char *url)
{
	struct server_test *t = data;
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
	struct server_test *t = data;

	t->client = NULL;
	loop_stop(t->services->loop);
}

/* An item with a name, and with the first line of its description as a row. */
static void open_offer(struct server_test *t, struct json_out *w, const char *kind, const char *name, const char *title,
		       const char *text)
{
	AUTO_BUF struct buf line = { 0 };
	struct str rest = str_from(text);
	struct str first = str_cut(&rest, '\n');

	json_putf(w, "{name:'%s', title?:'%s', description?:'%s'", name, title[0] ? title : NULL,
		  text[0] ? text : NULL);
	buf_addf(&line, STR_FMT, STR_ARG(first));
	report_row(t->report, CADRE_PLAIN, kind, name, buf_str(&line).p, NULL);
}

static void report_offers(struct server_test *t, struct json_out *w, const struct mcp_catalog *c)
{
	json_putf(w, "serverInfo:{name:'%s', version:'%s'}, instructions?:'%s', tools:[", c->server_name,
		  c->server_version, c->instructions[0] ? c->instructions : NULL);
	report_row(t->report, CADRE_PLAIN, "server", c->server_name, c->server_version, NULL);
	for (size_t i = 0; i < c->tool_count; i++) {
		const struct mcp_tool *tool = &c->tools[i];
		open_offer(t, w, "tool", tool->name, tool->title, tool->description);
		json_putf(w, "inputSchema:%s, readOnly:!!%d}", tool->schema, tool->read_only);
	}
	json_putf(w, "], prompts:[");
	for (size_t i = 0; i < c->prompt_count; i++) {
		const struct mcp_prompt *prompt = &c->prompts[i];
		open_offer(t, w, "prompt", prompt->name, prompt->title, prompt->description);
		json_kopen(w, "arguments", '[');
		for (size_t k = 0; k < prompt->argument_count; k++)
			json_putf(w, "{name:'%s', required:!!%d}", prompt->arguments[k].name,
				  prompt->arguments[k].required);
		json_putf(w, "]}");
	}
	json_putf(w, "], resources:[");
	for (size_t i = 0; i < c->resource_count; i++) {
		json_put_raw(w, str_from(c->resources[i].json));
		report_row(t->report, CADRE_PLAIN, "resource", c->resources[i].uri, c->resources[i].name, NULL);
	}
	json_close(w);
}

static void report_test(struct server_test *t)
{
	enum mcp_state state = mcp_client_state(t->client);
	struct mcp_catalog *catalog = state == MCP_CONNECTED ? mcp_client_catalog(t->client) : NULL;
	const char *error = mcp_client_error(t->client);
	struct json_out w = json_out(&t->report->json);

	t->report->bad = state != MCP_CONNECTED;
	report_row(t->report, t->report->bad ? CADRE_BAD : CADRE_GOOD, t->server->name, mcp_state_word(state), error,
		   NULL);
	json_putf(&w, "{name:'%s', type:'%s', state:'%s', error:'%s'", t->server->name, mcp_kind_word(t->server->kind),
		  mcp_state_word(state), error[0] ? error : NULL);
	if (catalog)
		report_offers(t, &w, catalog);
	json_putf(&w, "log:'%.*s', sandbox:'%.*s'}", STR_ARG(buf_str(&t->log)), STR_ARG(sandbox_refusals(t->cage)));
	for (struct str rest = buf_str(&t->log); !catalog && rest.p;) {
		struct str line = str_cut(&rest, '\n');
		if (line.n)
			report_line(t->report, CADRE_NOTE, STR_FMT, STR_ARG(line));
	}
	for (struct str rest = sandbox_refusals(t->cage); rest.p;) {
		struct str line = str_cut(&rest, '\n');
		if (line.n)
			report_line(t->report, CADRE_WARN, STR_FMT, STR_ARG(line));
	}
	mcp_catalog_unref(catalog);
}

int mcp_test(struct cadre_call *call)
{
	AUTO_ARENA struct arena a = { 0 };
	struct services *sv = call->services;
	struct server_test t = { .services = sv, .io = call->io, .report = call->report };
	const char *transport = args_value(&call->args, "transport");
	const char *url = args_value(&call->args, "url");
	bool login = !strcmp(call->word->name, "login");
	bool is_program = !url && call->args.plain_words == 1 && call->count;
	const char *cwd, *config;

	if (url ? call->count > 0 : !is_program && call->count != 1)
		return command_fail_usage(call, "NAME, --url URL, or -- COMMAND [ARG...]");
	int status = options_directories(&sv->options, &a, &cwd, &config, call->err);
	if (status == 0 && !sv->store.config_dir)
		store_init(&sv->store, sv->loop, config);
	if (status == 0)
		status = policy_load(sv, call->err);
	if (status == 0) {
		services_open_hooks(sv);
		status = services_open_servers(sv, &sv->policy, call->err);
	}
	if (status == 0 && url)
		status = make_server(&t, transport ? transport : "http", (const char *const[]){ url, NULL }, call->err);
	else if (status == 0)
		status = is_program ? make_server(&t, "stdio", call->operands, call->err)
				    : find_server(&t, call->operands[0], call->err);
	if (status == 0) {
		const char *root = git_root(&a, cwd);
		const char *temp = path_temporary(&a, services_variable(sv, "CLAUDE_CODE_TMPDIR"), config);
		t.cage = sandbox_new(&(struct sandbox_options){
			sv->loop, config, arena_printf(&a, "%s/cage-%d", temp, (int)getpid()), sv->spawner });
		sandbox_use_policy(t.cage, sandbox_policy_new(sv->policy.settings, cwd, config));
		t.env = sv->server_env;
		t.env.held = true; /* as in a session: the settings may want it inside */
		t.env.cage = t.cage;
		t.env.envp = sv->policy.envp;
		t.env.cwd = cwd;
		t.env.project_dir = root ? root : cwd;
		t.env.open_url = call->io->on_visit && (login || call->io->attended) ? open_url : NULL;
		t.env.data = &t;
		t.client = mcp_client_new(&(struct mcp_client_options){ .env = &t.env,
									.server = t.server,
									.host = { .on_log = on_log, .data = &t },
									.on_state = on_state,
									.data = &t });
		mcp_client_start(t.client);
		while (!t.over)
			loop_run(sv->loop);
		report_test(&t);
		mcp_client_close(t.client, on_closed, &t);
		while (t.client)
			loop_run(sv->loop);
		sandbox_retire(t.cage);
	}
	mcp_server_unref(t.server);
	buf_release(&t.log);
	return status;
}

/* Configured servers are left out: one of them may be this command. */
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
