/* SPDX-License-Identifier: MIT
 * server_pool.c - the MCP servers of a runtime and of its sessions. */
#include "product/session/server_pool.h"
#include "defs/policy/sources.h"
#include "agents/agent/servers.h"
#include "agents/life/life.h"
#include "lib/base/id.h"
#include "lib/json/json_write.h"
#include "config/settings/settings_store.h"
#include "lib/base/list.h"

static void on_log(void *data, const struct mcp_client *client, const char *level, struct str text)
{
	const struct mcp_server *server = mcp_client_server(client);
	struct services *sv = data;
	AUTO_BUF struct buf line = { 0 };

	services_log(sv, "mcp", "%s: %s: " STR_FMT, server->name, level, STR_ARG(text));
	if (strcmp(level, "error") != 0 && strcmp(level, "critical") != 0 && strcmp(level, "alert") != 0 &&
	    strcmp(level, "emergency") != 0)
		return; /* the rest is for the log */
	buf_addf(&line, "MCP server %s: " STR_FMT, server->name, STR_ARG(text));
	if (str_starts(text, STR("not connected")))
		buf_addf(&line, " (`cadre mcp test %s`)", server->name);
	for (struct cadre_session *s = sv->sessions; s; s = s->next)
		if (s->tree.main.servers && mcp_selection_has_client(s->tree.main.servers, client))
			session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = buf_str(&line) });
}

static struct mcp_transport *make_transport(void *data, struct mcp_server *server,
					    const struct mcp_transport_handlers *handlers, void *handler_data)
{
	struct services *sv = data;

	return sv->host_transport ? sv->host_transport(sv, server, handlers, handler_data) : NULL;
}

int services_open_servers(struct services *sv, struct policy *p, struct err *err)
{
	if (!p->mcp_config && services_mcp_config(sv, p->settings, sv->plugins, &p->mcp_config, err) < 0)
		return -(int)err->kind;
	if (sv->server_pool)
		return 0;
	sv->server_env = (struct mcp_env){ .loop = sv->loop,
					   .envp = p->envp,
					   .spawner = sv->spawner,
					   .http = sv->hook_http,
					   .changes = &sv->changes,
					   .auth_file = arena_printf(&sv->options.arena, "%s/cadre/mcp-auth.json",
								     sv->store.config_dir) };
	struct mcp_host_events events = { .on_log = on_log,
					  .on_elicitation = services_elicit,
					  .on_elicitation_gone = services_elicit_gone,
					  .make_transport = make_transport,
					  .data = sv };
	sv->server_pool = mcp_pool_new(&sv->server_env, &events);
	sv->server_env.envp = NULL; /* each session has its own */
	return 0;
}

void services_close_servers(struct services *sv)
{
	if (sv->server_pool) {
		sv->draining++;
		mcp_pool_drain(sv->server_pool, services_drained, sv);
		while (sv->draining)
			loop_run(sv->loop);
		mcp_pool_free(TAKE(sv->server_pool));
	}
	for (struct host_server *h; (h = list_pop(&sv->host_servers));) {
		mcp_server_unref(h->server);
		free(h);
	}
}

static void on_change(void *data)
{
	struct cadre_session *s = data;
	const struct mcp_selection *set = s->tree.main.servers;

	for (size_t i = 0; set && i < set->count; i++)
		services_log(s->services, "mcp", "%s: %s", set->leases[i]->server->name,
			     mcp_state_word(mcp_lease_state(set->leases[i])));
	agent_tree_renew_pool(&s->tree);
	if (s->services->on_servers)
		s->services->on_servers(s->services);
}

void session_open_servers(struct cadre_session *s)
{
	struct services *sv = s->services;
	struct agent_tree *t = &s->tree;

	t->on_servers = on_change;
	t->deferral = deferral_policy_read(services_getenv(
		sv, t->policy->settings, t->policy->trusted ? ENV_ALL : ENV_SAFE, "ENABLE_TOOL_SEARCH"));
}

static void on_settled(void *data)
{
	turn_work_over(data);
}

bool session_await_servers(struct cadre_session *s)
{
	struct mcp_selection *set = s->tree.main.servers;
	bool waits = set && !s->servers_awaited && mcp_selection_settling(set);

	s->servers_awaited = true;
	if (waits)
		mcp_selection_wait(set, servers_wait_ms(s->services), on_settled, s);
	return waits;
}

void session_stop_awaiting(struct cadre_session *s)
{
	mcp_selection_wait(s->tree.main.servers, 0, on_settled, s);
}

enum verdict { NOT_NOW, YES, ALL, NO };

struct server_approval {
	struct cadre_session *session; /* borrowed */
	struct kick kick;
	size_t at;             /* the item that is asked about */
	char id[UUID_LEN + 1]; /* of the question; "": none is open */
};

static bool skip_to_pending(struct server_approval *a, const struct mcp_config *config)
{
	while (a->at < config->count && config->items[a->at].standing != MCP_UNAPPROVED)
		a->at++;
	return a->at < config->count;
}

static void on_approval_kick(struct kick *kick)
{
	struct server_approval *a = CONTAINER_OF(kick, struct server_approval, kick);
	struct cadre_session *s = a->session;
	const struct mcp_config *config = s->tree.policy->mcp_config;
	AUTO_BUF struct buf question = { 0 };

	if (a->id[0])
		return;
	if (!skip_to_pending(a, config)) {
		session_drop_approval(s);
		if (s->turn.state == TURN_APPROVAL)
			turn_work_over(s);
		return;
	}
	id_uuid(a->id);
	/* The whole entry is shown: its env can decide what runs as much as its command. */
	const struct mcp_item *item = &config->items[a->at];
	AUTO_BUF struct buf text = { 0 };
	struct json_out w = json_out(&question);

	buf_addf(&text, "This project brings the MCP server %s (%s:%u):\n" STR_FMT "\nMay it be used?", item->name,
		 item->file, item->line, STR_ARG(item->json));
	json_putf(&w, "{questions:[{question:'%.*s', options:[", STR_ARG(text));
	json_putf(&w, "{label:'yes', description:'now and later, in this project'}");
	json_putf(&w, "{label:'all', description:'this server and all others of the project, also later ones'}");
	json_putf(&w, "{label:'no', description:'never in this project'}], multiSelect:false}]}");
	char id[UUID_LEN + 1]; /* an answer inside the event clears the other one */
	memcpy(id, a->id, sizeof id);
	session_emit(s, &(struct event){ .kind = EVENT_QUESTION_ASKED,
					 .name = config->items[a->at].name,
					 .id = id,
					 .text = buf_str(&question) });
}

static enum verdict read_verdict(const char *text)
{
	static const struct {
		const char *letter, *word;
		enum verdict verdict;
	} words[] = { { "y", "yes", YES }, { "a", "all", ALL }, { "n", "no", NO } };
	struct str s = str_trim(str_from(text));

	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (str_is_nocase(s, words[i].letter) || str_is_nocase(s, words[i].word))
			return words[i].verdict;
	return NOT_NOW;
}

/* The agent leaves the servers that were refused and joins those that were approved. */
static void session_rejoin_servers(struct cadre_session *s)
{
	const struct mcp_config *config = s->tree.policy->mcp_config;

	for (size_t i = 0; i < config->count; i++) {
		const struct mcp_item *item = &config->items[i];
		struct mcp_selection *set = agent_own_servers(&s->tree.main);
		struct mcp_lease *link = mcp_selection_find(set, str_from(item->name));
		if (item->standing != MCP_COUNTS && link && link->server == item->server)
			mcp_selection_leave(set, str_from(item->name));
	}
	for (size_t i = 0; i < config->count; i++)
		if (config->items[i].standing == MCP_COUNTS)
			agent_join_server(&s->tree.main, config->items[i].server);
}

int session_answer_approval(struct cadre_session *s, const char *id, const char *const *answers, size_t count)
{
	const struct str all = STR("enableAllProjectMcpServers");
	const struct str yes = STR("enabledMcpjsonServers"), no = STR("disabledMcpjsonServers");
	struct server_approval *a = s->approval;
	struct mcp_config *config = s->tree.policy->mcp_config;
	struct err err = { 0 };
	int status = 0;

	if (!a || !a->id[0] || strcmp(a->id, id) != 0)
		return -ERR_NOT_FOUND;
	const char *const names[] = { config->items[a->at].name, config->items[a->at].seal };
	enum verdict verdict = count && answers[0] ? read_verdict(answers[0]) : NOT_NOW;
	if (verdict == ALL)
		status = session_store_setting(
			s,
			&(struct settings_change){
				.path = cadre_rules_file(s), .names = &all, .count = 1, .value = STR("true") },
			&err);
	if ((verdict != ALL || config->items[a->at].wishes) && verdict != NOT_NOW && status == 0)
		status = session_store_setting(s,
					       &(struct settings_change){ .path = cadre_rules_file(s),
									  .names = verdict == NO ? &no : &yes,
									  .count = 1,
									  .edit = SETTINGS_LIST_ADD,
									  .list_kind = "a list of texts",
									  .items = names,
									  .item_count = verdict != NO ? 2 : 1 },
					       &err);
	if (status < 0)
		session_emit_error(s, "%s", err.text);
	size_t end = verdict == NOT_NOW ? a->at : verdict == ALL ? config->count : a->at + 1;
	/* What a server wants in the sandbox is approved by itself, after it was shown. */
	for (size_t i = a->at; i < end; i++)
		if (i == a->at || !config->items[i].wishes)
			mcp_config_answer(config, &config->items[i], verdict != NO);
	if (verdict == YES || verdict == ALL)
		for (struct cadre_session *each = s->services->sessions; each; each = each->next)
			if (!each->closing && each->tree.policy == s->tree.policy)
				session_rejoin_servers(each);
	a->id[0] = '\0';
	a->at++;
	loop_kick(s->services->loop, &a->kick);
	return 0;
}

void session_open_approval(struct cadre_session *s)
{
	struct server_approval first = { 0 };

	if (!s->services->options.interactive || !options_can_ask(&s->services->options) ||
	    !skip_to_pending(&first, s->tree.policy->mcp_config))
		return;
	s->approval = xcalloc(1, sizeof *s->approval);
	*s->approval = (struct server_approval){ .session = s, .kick.step = on_approval_kick, .at = first.at };
	loop_kick(s->services->loop, &s->approval->kick);
}

void session_drop_approval(struct cadre_session *s)
{
	struct server_approval *a = TAKE(s->approval);

	if (!a)
		return;
	kick_cancel(&a->kick);
	free(a);
}
