/* SPDX-License-Identifier: MIT
 * rewind.c - rewind_files: files as they were when a message came. The protocol has no word for "although others changed them",
 * so they go back in any case; what is lost is kept (docs/internals/checkpoint.md). */
#include "product/session/rewind.h"
#include "product/stream/wire_int.h"

static void put_outcome(struct buf *payload, const struct rewind *w, const char *why)
{
	struct json_out out = json_out(payload);

	json_open(&out, '{');
	json_kbool(&out, "canRewind", !why);
	if (why)
		json_kcstr(&out, "error", why);
	json_key(&out, "filesChanged");
	json_open(&out, '[');
	for (size_t i = 0; i < w->plan.count; i++)
		json_put_cstr(&out, w->plan.files[i].path);
	json_close(&out);
	json_ki64(&out, "insertions", (int64_t)w->added);
	json_ki64(&out, "deletions", (int64_t)w->removed);
	json_close(&out);
}

static int go_back(const struct wire_request *r, struct rewind *w, bool dry, struct err *err)
{
	const struct cadre_session *s = r->wire->session;
	const char *uuid = json_cstr(json_get(r->body, "user_message_id"), r->arena);

	if (!s->tree.checkpoint)
		return err_set(err, ERR_USAGE, "File rewinding is not enabled.");
	int status = rewind_look(w, checkpoint_dir(r->arena, s->tree.config_dir, s->id), uuid ? uuid : "", err);
	return status < 0 || dry ? status : rewind_go(w, s->tree.checkpoint, err);
}

/* A dry run is answered whatever it finds; who wants it done gets an error if it is not. */
void wire_rewind(const struct wire_request *r)
{
	AUTO_REWIND struct rewind w = { 0 };
	AUTO_BUF struct buf payload = { 0 };
	struct err err = { 0 };
	bool dry = json_bool(json_get(r->body, "dry_run"));
	bool failed = go_back(r, &w, dry, &err) < 0;

	if (failed && !dry) {
		wire_reply_error(r->wire, r->id, NULL, "%s", err.text);
		return;
	}
	put_outcome(&payload, &w, failed ? err.text : NULL);
	wire_reply(r->wire, r->id, buf_str(&payload));
}
