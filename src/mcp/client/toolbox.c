/* SPDX-License-Identifier: MIT
 * toolbox.c - definitions are written once for each catalog. A tool whose full name the API would not take (too long), or
 * that becomes the same as one before it, is left out. */
#include "mcp/client/toolbox.h"
#include "lib/base/map.h"
#include "lib/base/utf8.h"
#include "lib/json/json_write.h"

enum { NAME_LIMIT = 128, DESCRIPTION_LIMIT = 2048 };

static void put_description(struct json_out *w, const char *description)
{
	AUTO_BUF struct buf cut = { 0 };
	struct str text = str_from(description);

	if (text.n > DESCRIPTION_LIMIT) {
		struct str head = utf8_cut(text, DESCRIPTION_LIMIT);
		buf_add(&cut, head.p, head.n);
		buf_addstr(&cut, " [...]");
		text = buf_str(&cut);
	}
	json_kstr(w, "description", text);
}

static char *write_definition(const char *name, const struct mcp_tool *t, struct arena *a)
{
	AUTO_BUF struct buf out = { 0 };
	struct json_out w = json_out(&out);

	json_open(&w, '{');
	json_kcstr(&w, "name", name);
	put_description(&w, t->description);
	json_kraw(&w, "input_schema", str_from(t->schema));
	json_close(&w);
	return arena_dup(a, out.p, out.n);
}

/* What a server says of its own tool opens no door: it may run beside others, it is still asked about. */
static unsigned flags_of(const struct mcp_toolbox *b, const struct mcp_tool *t)
{
	return TOOL_OWN_LIMIT | (t->read_only ? TOOL_CONCURRENT : 0) | (t->needs_user ? TOOL_NEEDS_USER : 0) |
	       (b->always_load || t->always_load ? 0 : TOOL_MAY_WAIT);
}

static void add(struct mcp_toolbox *b, const struct mcp_tool *t, struct map *names)
{
	AUTO_BUF struct buf name = { 0 };

	mcp_name_add(&name, str_from(b->server), str_from(t->name));
	if (name.n > NAME_LIMIT || map_set(names, buf_str(&name), b))
		return;
	size_t i = b->count++;
	b->ctxs[i] = (struct mcp_tool_ctx){ .box = b, .tool = t };
	b->tools[i].name = arena_dup(&b->arena, name.p, name.n);
	b->tools[i].definition = write_definition(b->tools[i].name, t, &b->arena);
	b->tools[i].flags = flags_of(b, t);
	b->tools[i].ctx = &b->ctxs[i];
	b->tools[i].start = mcp_tool_start;
	b->tools[i].cancel = mcp_tool_cancel;
}

struct mcp_toolbox *mcp_toolbox_new(struct mcp_catalog *catalog, const struct mcp_server *server)
{
	struct mcp_toolbox *b = xcalloc(1, sizeof *b);
	struct map names = { 0 };

	b->refs = 1;
	b->catalog = mcp_catalog_ref(catalog);
	b->server = arena_strdup(&b->arena, server->name);
	b->always_load = server->always_load;
	b->tools = arena_calloc(&b->arena, catalog->tool_count * sizeof *b->tools);
	b->ctxs = arena_calloc(&b->arena, catalog->tool_count * sizeof *b->ctxs);
	for (size_t i = 0; i < catalog->tool_count; i++)
		add(b, &catalog->tools[i], &names);
	map_release(&names);
	return b;
}

struct mcp_toolbox *mcp_toolbox_ref(struct mcp_toolbox *b)
{
	b->refs++;
	return b;
}

void mcp_toolbox_unref(struct mcp_toolbox *b)
{
	if (!b || --b->refs)
		return;
	mcp_catalog_unref(b->catalog);
	arena_release(&b->arena);
	free(b);
}
