/* SPDX-License-Identifier: MIT
 * check.c - the report about one agent file. */
#include "defs/agentdef/check.h"
#include <openssl/evp.h>

static void put_list(struct json_out *w, const char *key, const struct name_list *list)
{
	json_key(w, key);
	if (!list->present) {
		json_put_null(w);
		return;
	}
	json_open(w, '[');
	for (size_t i = 0; i < list->count; i++)
		json_put_cstr(w, list->names[i]);
	json_close(w);
}

static void put_hash(struct json_out *w, struct str body)
{
	unsigned char digest[32];
	char hex[65];

	if (EVP_Digest(body.p, body.n, digest, NULL, EVP_sha256(), NULL) != 1)
		base_oom(0);
	for (size_t i = 0; i < sizeof digest; i++)
		snprintf(hex + 2 * i, 3, "%02x", digest[i]);
	json_kcstr(w, "body_sha256", hex);
}

static void put_diagnostics(struct json_out *w, const struct agent_definition *d)
{
	json_key(w, "diagnostics");
	json_open(w, '[');
	for (size_t i = 0; i < d->diagnostic_count; i++) {
		const struct diagnostic *g = &d->diagnostics[i];
		json_open(w, '{');
		json_kcstr(w, "level", diagnostic_level_name(g->level));
		json_key(w, "line");
		if (g->line)
			json_put_u64(w, g->line);
		else
			json_put_null(w);
		json_kcstr(w, "message", g->message);
		json_close(w);
	}
	json_close(w);
}

void agent_check_json(struct json_out *w, const struct agent_definition *d)
{
	json_open(w, '{');
	json_kcstr(w, "file", d->file);
	json_kbool(w, "loaded", d->is_agent && !d->refused);
	json_kbool(w, "is_agent", d->is_agent);
	json_kcstr(w, "name", d->name);
	json_kcstr(w, "description", d->description);
	json_kcstr(w, "model", d->model);
	put_list(w, "tools", &d->tools);
	put_list(w, "disallowedTools", &d->disallowed_tools);
	put_hash(w, (struct str){ d->prompt, d->prompt_len });
	put_diagnostics(w, d);
	json_close(w);
}
