/* SPDX-License-Identifier: MIT
 * client_lists.c - the lists of a server: fetched page by page, the failing page again up to 3 times, and all of it again
 * when the server reports a change. A list that cannot be fetched leaves the old one in place; at the first connection
 * that is an empty one. Limits hold for every list, so that a server that never stops has an end. */
#include "lib/json/json_write.h"
#include "mcp/client/client_int.h"

enum {
	PAGE_LIMIT = 1000,
	ITEM_LIMIT = 10000,
	BYTE_LIMIT = 64 << 20,
	TRIES = 3,
	RETRY_MS = 500,
	DEBOUNCE_MS = 250, /* changes come in bursts */
	CALM_MS = 60000,
	DOUBLINGS = 8,
};

static const struct {
	const char *member; /* also the name of the capability */
	const char *method, *changed;
} classes[MCP_LIST_KINDS] = {
	[MCP_LIST_TOOLS] = { "tools", "tools/list", "notifications/tools/list_changed" },
	[MCP_LIST_PROMPTS] = { "prompts", "prompts/list", "notifications/prompts/list_changed" },
	[MCP_LIST_RESOURCES] = { "resources", "resources/list", "notifications/resources/list_changed" },
};

static void list_fetch_page(struct mcp_list *l);

static void list_fetch(struct mcp_list *l)
{
	l->busy = true;
	l->dirty = false;
	l->pages = l->failures = 0;
	l->count = 0;
	buf_clear(&l->cursor);
	buf_clear(&l->items);
	list_fetch_page(l);
}

static void on_list_timer(struct timer *timer)
{
	struct mcp_list *l = CONTAINER_OF(timer, struct mcp_list, timer);

	if (l->busy)
		list_fetch_page(l);
	else
		list_fetch(l);
}

/* Once no list is being fetched: publishes a new catalog if it differs, and makes the connection ready. */
static void lists_settle(struct mcp_client *c)
{
	bool first = c->phase == MCP_PHASE_LISTS;
	const struct mcp_catalog *old = c->catalog;
	struct str texts[MCP_LIST_KINDS];

	for (size_t i = 0; i < MCP_LIST_KINDS; i++) {
		if (c->lists[i].busy)
			return;
		texts[i] = buf_str(&c->lists[i].text);
	}
	if (!first && !c->lists_differ)
		return;
	struct mcp_catalog *new = mcp_catalog_new(buf_str(&c->hello), texts, c->lists[MCP_LIST_RESOURCES].offered);
	if (old && !c->lists_differ && !strcmp(old->instructions, new->instructions) &&
	    !strcmp(old->server_name, new->server_name) && !strcmp(old->server_version, new->server_version) &&
	    old->has_resources == new->has_resources) {
		mcp_catalog_unref(new);
	} else {
		mcp_catalog_unref(c->catalog);
		c->catalog = new;
		c->catalog_changed = true;
		loop_kick(c->loop, &c->kick);
	}
	c->lists_differ = false;
	if (first) {
		mcp_client_set_phase(c, MCP_PHASE_READY);
		mcp_rpc_ready(&c->rpc);
	}
}

/* A list that keeps changing is fetched at growing intervals: agents keep each version that they have seen. */
static void list_start_debounce(struct mcp_list *l)
{
	timer_start(l->client->loop, &l->timer, (uint64_t)DEBOUNCE_MS << MIN(l->changes, (unsigned)DOUBLINGS));
}

static void list_finish(struct mcp_list *l)
{
	l->busy = false;
	if (l->dirty)
		list_start_debounce(l);
	lists_settle(l->client);
}

static void list_complete(struct mcp_list *l)
{
	AUTO_BUF struct buf text = { 0 };

	buf_addch(&text, '[');
	buf_add(&text, l->items.p, l->items.n);
	buf_addch(&text, ']');
	buf_release(&l->items);
	if (!str_eq(buf_str(&text), buf_str(&l->text))) {
		buf_release(&l->text);
		l->text = text;
		text = (struct buf){ 0 };
		l->client->lists_differ = true;
		uint64_t now_ms = loop_now_ms(l->client->loop);
		l->changes = l->changed_ms && now_ms - l->changed_ms < CALM_MS ? l->changes + 1 : 0;
		l->changed_ms = now_ms;
	}
	list_finish(l);
}

static void on_page(void *data, const struct json *result, const struct err *err)
{
	struct mcp_list *l = data;
	struct mcp_client *c = l->client;
	const struct json *list = json_get(result, classes[l->kind].member);
	const struct json *next = json_get(result, "nextCursor");
	struct err bad = { 0 };

	if (!err && !json_is(list, JSON_ARRAY)) {
		(void)err_set(&bad, ERR_PROTOCOL, "the answer has no list");
		err = &bad;
	}
	if (err) {
		if (!c->transport || c->closing)
			return; /* mcp_lists_stop() resets it */
		if (err->kind == ERR_NOT_FOUND) {
			list_complete(l);
		} else if (++l->failures < TRIES) {
			timer_start(c->loop, &l->timer, (uint64_t)RETRY_MS * l->failures);
		} else {
			mcp_client_log(c, "error", "%s failed: %s", classes[l->kind].method, err->text);
			list_finish(l);
		}
		return;
	}
	for (const struct json *v = json_first(list); v && l->count < ITEM_LIMIT; v = json_next(list, v)) {
		struct str raw = json_raw(v);
		if (l->count++)
			buf_addch(&l->items, ',');
		buf_add(&l->items, raw.p, raw.n);
	}
	l->pages++;
	if (!json_is(next, JSON_STRING)) {
		list_complete(l);
		return;
	}
	struct str cursor = json_raw(next);
	const char *limit = l->count >= ITEM_LIMIT                ? "more than 10,000 entries"
			    : l->pages >= PAGE_LIMIT              ? "more than 1,000 pages"
			    : l->items.n >= BYTE_LIMIT            ? "more than 64 MB"
			    : str_eq(cursor, buf_str(&l->cursor)) ? "the same page again"
								  : NULL;
	if (limit) {
		mcp_client_log(c, "warning", "%s: %s; the rest is left out", classes[l->kind].method, limit);
		list_complete(l);
		return;
	}
	buf_clear(&l->cursor);
	buf_add(&l->cursor, cursor.p, cursor.n);
	list_fetch_page(l);
}

static void list_fetch_page(struct mcp_list *l)
{
	AUTO_BUF struct buf params = { 0 };
	struct json_out w = json_out(&params);

	json_open(&w, '{');
	if (l->cursor.n)
		json_kraw(&w, "cursor", buf_str(&l->cursor));
	json_close(&w);
	struct mcp_call call = {
		.method = classes[l->kind].method, .params = buf_str(&params), .answer = on_page, .data = l
	};
	(void)mcp_rpc_call(&l->client->rpc, &call, l->client->connect_ms, 0, true);
}

void mcp_lists_init(struct mcp_client *c)
{
	for (unsigned i = 0; i < MCP_LIST_KINDS; i++)
		c->lists[i] =
			(struct mcp_list){ .client = c, .kind = (enum mcp_list_kind)i, .timer.fire = on_list_timer };
}

void mcp_lists_start(struct mcp_client *c, const struct json *capabilities)
{
	for (size_t i = 0; i < MCP_LIST_KINDS; i++) {
		struct mcp_list *l = &c->lists[i];
		l->offered = json_is(json_get(capabilities, classes[i].member), JSON_OBJECT);
		if (l->offered) {
			list_fetch(l);
		} else if (l->text.n) {
			buf_release(&l->text);
			c->lists_differ = true;
		}
	}
	lists_settle(c);
}

bool mcp_lists_take_notice(struct mcp_client *c, struct str method)
{
	for (size_t i = 0; i < MCP_LIST_KINDS; i++) {
		struct mcp_list *l = &c->lists[i];
		if (!str_is(method, classes[i].changed))
			continue;
		if (l->busy)
			l->dirty = l->offered;
		else if (l->offered && !timer_running(&l->timer))
			list_start_debounce(l);
		return true;
	}
	return false;
}

void mcp_lists_stop(struct mcp_client *c)
{
	for (size_t i = 0; i < MCP_LIST_KINDS; i++) {
		struct mcp_list *l = &c->lists[i];
		timer_stop(c->loop, &l->timer);
		l->busy = l->dirty = false;
		buf_release(&l->items);
	}
}
