/* SPDX-License-Identifier: MIT
 * fuzz_mcp_config.c - any bytes, cut at NULs: what --mcp-config gives, settings with policies and approvals, a pattern and an
 * address. Besides not crashing: what counts can be used and is not denied, no two that count give their tools the same
 * names, what does not count says why, and an entry that is read twice has one key. */
#include "mcp/servers/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Not assert(): it must hold in release builds as well. */
static void must(bool holds)
{
	if (!holds)
		abort();
}

static const char *look_up(void *data, struct str name)
{
	(void)data;
	return name.n % 2 ? "${A}" : NULL;
}

static void check_names(const struct mcp_config *c, size_t i)
{
	AUTO_BUF struct buf own = { 0 };

	mcp_name_add(&own, str_from(c->items[i].name), STR(""));
	for (size_t k = 0; k < i; k++) {
		AUTO_BUF struct buf other = { 0 };
		mcp_name_add(&other, str_from(c->items[k].name), STR(""));
		must(c->items[k].standing != MCP_COUNTS || !str_eq(buf_str(&own), buf_str(&other)));
	}
}

static void check_counting(const struct mcp_config *c, size_t i)
{
	const struct mcp_item *item = &c->items[i];

	must(item->server && item->server->key[0] && !item->reason[0] && !item->error_type);
	must(item->server->kind == MCP_STDIO ? item->server->command && item->server->args && item->server->env
	     : item->server->kind == MCP_SDK ? true
					     : item->server->url && item->server->headers);
	must(mcp_config_admit(c, item->server, NULL) == 0);
	check_names(c, i);
}

static void check_config(const struct mcp_config *c)
{
	for (size_t i = 0; i < c->count; i++) {
		const struct mcp_item *item = &c->items[i];
		if (item->standing == MCP_COUNTS)
			check_counting(c, i);
		else
			must(item->reason[0] != '\0');
		must((item->standing == MCP_SHADOWED) == (item->by && item->by->standing == MCP_COUNTS));
		must(!item->error_type || !item->server);
	}
}

/* Both are given to functions that take C texts. */
static void fuzz_config(const char *servers, const char *settings_text)
{
	struct settings_spec files = { .cwd = "/nonexistent", .config_dir = "/nonexistent", .flag = settings_text };
	struct settings *settings;
	struct mcp_config *c;

	if (settings_text[0] != '{')
		files.flag = "{}";
	if (servers[0] != '{' || settings_load(&files, &settings, NULL) < 0)
		return;
	struct mcp_config_spec spec = { .cwd = "/nonexistent",
					.state_file = "/nonexistent/.claude.json",
					.flags = &servers,
					.flag_count = 1,
					.strict = true,
					.settings = settings,
					.interactive = true,
					.lookup = look_up };
	if (mcp_config_load(&spec, &c, NULL) == 0) {
		check_config(c);
		mcp_config_free(c);
	}
	settings_unref(settings);
}

/* The next part as a C text, owned. */
static char *cut(struct str *rest)
{
	struct str part = rest->p ? str_cut(rest, '\0') : STR("");

	return xstrndup(part.p, part.n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str rest = { size ? (const char *)data : "", size };
	AUTO_FREE char *servers = cut(&rest);
	AUTO_FREE char *settings = cut(&rest);
	AUTO_FREE char *pattern = cut(&rest);
	AUTO_FREE char *url = cut(&rest);

	fuzz_config(servers, settings);
	(void)policy_url_fits(str_from(pattern), url);
	return 0;
}
