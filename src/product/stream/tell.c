/* SPDX-License-Identifier: MIT
 * tell.c - requests that only want to know something. */
#include "defs/policy/permissions.h"
#include "core/model/catalog.h"
#include "guard/permission/rule_set.h"
#include "product/stream/wire_int.h"

enum { BYTES_PER_TOKEN = 4 };

/* ---- settings ---------------------------------------------------------------------------------------------------- */

struct effective {
	struct json_out *out;
	const struct settings *settings;
	struct map told; /* top-level keys, in the arena */
	struct arena arena;
};

/* Of "permissions.deny" all of permissions is told, once. */
static void put_member(void *data, const char *path, const struct setting_key *key, const struct json *value)
{
	struct effective *e = data;
	struct str rest = str_from(path);
	struct str top = arena_str(&e->arena, str_cut(&rest, '.'));
	const struct json *whole = rest.p ? settings_get(e->settings, top.p, NULL) : value;

	(void)key;
	if (!whole || map_get(&e->told, top))
		return;
	map_set(&e->told, top, e);
	json_key(e->out, top.p);
	json_put_raw(e->out, json_raw(whole));
}

static void put_source(void *data, const struct settings_view *view)
{
	struct json_out *out = data;

	if (view->effect == EFFECT_NO_FILE)
		return;
	json_open(out, '{');
	json_kcstr(out, "source", settings_layer_name(view->origin.layer));
	json_kcstr(out, "file", view->origin.file);
	json_close(out);
}

void wire_get_settings(const struct wire_request *r)
{
	const struct settings *settings = r->wire->services->policy.settings;
	AUTO_BUF struct buf payload = { 0 };
	struct json_out out = json_out(&payload);

	json_open(&out, '{');
	struct effective effective = { .out = &out, .settings = settings };
	json_key(&out, "effective");
	json_open(&out, '{');
	settings_each_set(settings, put_member, &effective);
	json_close(&out);
	map_release(&effective.told);
	arena_release(&effective.arena);
	json_key(&out, "sources");
	json_open(&out, '[');
	settings_explain(settings, "", put_source, &out);
	json_close(&out);
	json_close(&out);
	wire_reply(r->wire, r->id, buf_str(&payload));
}

/* ---- what the next request is made of ---------------------------------------------------------------------------- */

static void put_category(struct json_out *out, const char *name, int64_t tokens)
{
	json_open(out, '{');
	json_kcstr(out, "name", name);
	json_ki64(out, "tokens", tokens);
	json_close(out);
}

static int64_t tools_tokens(const struct agent *a, bool of_servers)
{
	size_t bytes = 0;

	for (size_t i = 0; i < a->tools.count; i++) {
		const struct tool *tool = a->tools.tools[i];
		if (str_starts(str_from(tool->name), STR("mcp__")) == of_servers && !deferral_holds(&a->deferral, tool))
			bytes += strlen(tool->definition);
	}
	return (int64_t)(bytes / BYTES_PER_TOKEN);
}

/* Estimates from bytes, as budgets are; the last answer's usage is what the server counted. */
void wire_get_context(const struct wire_request *r)
{
	struct agent *a = &r->wire->session->tree.main;
	const struct query *q = &a->query;
	const struct usage *u = &q->usage;
	int64_t head = (int64_t)(q->config.head->bytes.n / BYTES_PER_TOKEN);
	int64_t tools = tools_tokens(a, false), servers = tools_tokens(a, true);
	int64_t messages = (int64_t)(q->transcript.bytes / BYTES_PER_TOKEN);
	int64_t most = model_find(a->model)->context, used = head + messages;
	AUTO_BUF struct buf payload = { 0 };
	struct json_out out = json_out(&payload);

	json_open(&out, '{');
	json_key(&out, "categories");
	json_open(&out, '[');
	put_category(&out, "System prompt", MAX(head - tools - servers, 0));
	put_category(&out, "System tools", tools);
	put_category(&out, "MCP tools", servers);
	put_category(&out, "Messages", messages);
	put_category(&out, "Free space", MAX(most - used, 0));
	json_close(&out);
	json_ki64(&out, "totalTokens", used);
	json_ki64(&out, "maxTokens", most);
	json_ki64(&out, "rawMaxTokens", most);
	json_key(&out, "percentage");
	json_put_double(&out, most ? (double)(used * 100 / most) : 0);
	json_kcstr(&out, "model", a->model);
	json_key(&out, "apiUsage");
	usage_write(&out, u);
	json_close(&out);
	wire_reply(r->wire, r->id, buf_str(&payload));
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

void wire_list_models(const struct wire_request *r)
{
	AUTO_BUF struct buf payload = { 0 };
	struct json_out out = json_out(&payload);

	json_open(&out, '{');
	wire_put_models(&out, &r->wire->services->options);
	json_close(&out);
	wire_reply(r->wire, r->id, buf_str(&payload));
}

void wire_get_version(const struct wire_request *r)
{
	wire_reply(r->wire, r->id, STR("{\"version\":\"" CADRE_VERSION "\"}"));
}

void wire_list_rules(const struct wire_request *r)
{
	struct cadre_report *report = NULL;
	char why[240] = "";
	size_t n = 0;

	if (cadre_permissions_list(r->wire->services->owner, &report, why, sizeof why) < 0) {
		wire_reply_error(r->wire, r->id, NULL, "%s", why);
		return;
	}
	const char *json = cadre_report_json(report, &n);
	wire_reply(r->wire, r->id, (struct str){ json, n });
	cadre_report_free(report);
}
