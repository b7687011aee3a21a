/* SPDX-License-Identifier: MIT
 * change.c - requests that change what the session is: its settings, its title, the files that it knows. */
#include "io/file.h"
#include "wire/wire_int.h"

/* ---- settings ---------------------------------------------------------------------------------------------------- */

void wire_apply_settings(const struct wire_request *r)
{
	const struct json *settings = json_get(r->body, "settings");
	struct err err = { 0 };

	if (!json_is(settings, JSON_OBJECT))
		wire_reply_error(r->wire, r->id, NULL, "settings is not an object");
	else if (session_apply_settings(r->wire->session, settings, &err) < 0)
		wire_reply_error(r->wire, r->id, NULL, "%s", err.text);
	else
		wire_reply(r->wire, r->id, STR(""));
}

/* ---- the title --------------------------------------------------------------------------------------------------- */

void wire_keep_title(struct cadre_wire *w)
{
	struct err err = { 0 };

	if (w->title && w->session->tree.main.journal && session_set_title(w->session, str_from(w->title), &err) < 0)
		wire_complain(w, "the title is not kept: %s", err.text);
	free(TAKE(w->title));
}

void wire_rename(const struct wire_request *r)
{
	struct str title = str_trim(json_str(json_get(r->body, "title"), r->arena));
	struct err err = { 0 };

	if (!title.n)
		wire_reply_error(r->wire, r->id, NULL, "title is empty");
	else if (session_set_title(r->wire->session, title, &err) < 0)
		wire_reply_error(r->wire, r->id, NULL, "%s", err.text);
	else
		wire_reply(r->wire, r->id, STR(""));
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

/* The client saw the model read this file: it may be changed without being read again, if it is still as it was. */
void wire_seed_read(const struct wire_request *r)
{
	struct actor *a = &r->wire->session->tree.main;
	struct str path = json_str(json_get(r->body, "path"), r->arena);
	int64_t seen_ms;

	if (!path.n || !json_i64(json_get(r->body, "mtime"), &seen_ms)) {
		wire_reply_error(r->wire, r->id, NULL, "path and mtime are needed");
		return;
	}
	a->tree->kit->recall_file(&a->env, path_absolute(r->arena, a->cwd, path), seen_ms, false);
	wire_reply(r->wire, r->id, STR(""));
}
