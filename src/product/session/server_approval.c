/* SPDX-License-Identifier: MIT
 * server_approval.c - servers of a project (.mcp.json) that nobody has approved yet. A session with a user asks about one after
 * the other when it is opened; its first turn waits for the answers. They are kept in the local settings:
 *
 *     yes       enabledMcpjsonServers; the server is joined
 *     all       enableAllProjectMcpServers; so are the others of the project
 *     no        disabledMcpjsonServers
 *     not now   nothing: it stays pending, and the next session asks again */
#include "product/session/server_approval.h"
#include "product/session/session_int.h"
#include "product/session/servers.h"
#include "lib/base/id.h"
#include "lib/json/json_write.h"
#include "config/settings/settings_store.h"
#include "agents/agent/servers.h"

enum verdict { NOT_NOW, YES, ALL, NO };

struct server_approval {
	struct cadre_session *session; /* borrowed */
	struct kick kick;
	size_t at;             /* the item that is asked about */
	char id[UUID_LEN + 1]; /* of the question; "": none is open */
};

/* ---- the question ------------------------------------------------------------------------------------------------ */

static void put_option(struct json_out *w, const char *label, const char *meaning)
{
	json_open(w, '{');
	json_kcstr(w, "label", label);
	json_kcstr(w, "description", meaning);
	json_close(w);
}

/* The whole entry is shown: its env can decide what runs as much as its command. */
static void write_question(struct buf *out, const struct mcp_item *item)
{
	AUTO_BUF struct buf text = { 0 };
	struct json_out w = json_out(out);

	buf_addf(&text, "This project brings the MCP server %s (%s:%u):\n" STR_FMT "\nMay it be used?", item->name,
		 item->file, item->line, STR_ARG(item->json));
	json_open(&w, '{');
	json_key(&w, "questions");
	json_open(&w, '[');
	json_open(&w, '{');
	json_kstr(&w, "question", buf_str(&text));
	json_key(&w, "options");
	json_open(&w, '[');
	put_option(&w, "yes", "now and later, in this project");
	put_option(&w, "all", "this one and all others that the project has or will have");
	put_option(&w, "no", "never in this project");
	json_close(&w);
	json_kbool(&w, "multiSelect", false);
	json_close(&w);
	json_close(&w);
	json_close(&w);
}

static void ask(struct server_approval *a, const struct mcp_item *item)
{
	AUTO_BUF struct buf question = { 0 };

	id_uuid(a->id);
	write_question(&question, item);
	session_emit(a->session, &(struct event){ .kind = EVENT_QUESTION_ASKED,
						  .name = item->name,
						  .id = a->id,
						  .text = buf_str(&question) });
}

static bool skip_to_pending(struct server_approval *a, const struct mcp_config *config)
{
	while (a->at < config->count && config->items[a->at].standing != MCP_UNAPPROVED)
		a->at++;
	return a->at < config->count;
}

static void on_kick(struct kick *kick)
{
	struct server_approval *a = CONTAINER_OF(kick, struct server_approval, kick);
	struct cadre_session *s = a->session;
	const struct mcp_config *config = s->services->mcp_config;

	if (a->id[0])
		return;
	if (skip_to_pending(a, config)) {
		ask(a, &config->items[a->at]);
		return;
	}
	session_drop_approval(s);
	if (s->turn.state == TURN_APPROVAL)
		turn_work_over(s);
}

/* ---- the answer -------------------------------------------------------------------------------------------------- */

static enum verdict read_answer(const char *text)
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

static int keep(struct cadre_session *s, const char *name, enum verdict verdict, struct err *err)
{
	const struct str all = STR("enableAllProjectMcpServers");
	const char *file = cadre_rules_file(s);

	if (verdict == ALL)
		return settings_set_member(file, &all, 1, STR("true"), err);
	return settings_add_text(file, verdict == YES ? "enabledMcpjsonServers" : "disabledMcpjsonServers",
				 str_from(name), err);
}

/* The agent leaves what does not count any more and joins what now does. */
static void rejoin(struct cadre_session *s)
{
	const struct mcp_config *config = s->services->mcp_config;

	for (size_t i = 0; i < config->count; i++) {
		const struct mcp_item *item = &config->items[i];
		struct mcp_selection *set = agent_own_servers(&s->tree.main);
		struct mcp_lease *link = mcp_selection_find(set, str_from(item->name));
		if (item->standing != MCP_COUNTS && link && mcp_lease_server(link) == item->server)
			mcp_selection_leave(set, str_from(item->name));
	}
	for (size_t i = 0; i < config->count; i++)
		if (config->items[i].standing == MCP_COUNTS)
			mcp_selection_join(agent_own_servers(&s->tree.main), config->items[i].server);
}

static void apply(struct cadre_session *s, size_t at, enum verdict verdict)
{
	struct mcp_config *config = s->services->mcp_config;

	for (size_t i = at; i < (verdict == ALL ? config->count : at + 1); i++)
		mcp_config_answer(config, &config->items[i], verdict != NO);
	for (struct cadre_session *each = s->services->sessions; each && verdict != NO; each = each->next)
		if (!each->closing)
			rejoin(each);
}

int session_answer_approval(struct cadre_session *s, const char *id, const char *const *answers, size_t count)
{
	struct server_approval *a = s->approval;
	struct err err = { 0 };

	if (!a || !a->id[0] || strcmp(a->id, id) != 0)
		return -ERR_NOT_FOUND;
	enum verdict verdict = count && answers[0] ? read_answer(answers[0]) : NOT_NOW;
	if (verdict != NOT_NOW) {
		if (keep(s, s->services->mcp_config->items[a->at].name, verdict, &err) < 0)
			session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = str_from(err.text) });
		apply(s, a->at, verdict);
	}
	a->id[0] = '\0';
	a->at++;
	loop_kick(s->services->loop, &a->kick);
	return 0;
}

/* ---- its life ---------------------------------------------------------------------------------------------------- */

void session_open_approval(struct cadre_session *s)
{
	struct server_approval first = { 0 };

	if (!s->services->options.interactive || !options_can_ask(&s->services->options) ||
	    !skip_to_pending(&first, s->services->mcp_config))
		return;
	s->approval = xcalloc(1, sizeof *s->approval);
	*s->approval = (struct server_approval){ .session = s, .kick.step = on_kick, .at = first.at };
	loop_kick(s->services->loop, &s->approval->kick);
}

bool session_await_approval(struct cadre_session *s)
{
	return s->approval != NULL;
}

void session_drop_approval(struct cadre_session *s)
{
	struct server_approval *a = TAKE(s->approval);

	if (!a)
		return;
	kick_cancel(&a->kick);
	free(a);
}
