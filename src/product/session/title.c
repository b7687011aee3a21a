/* SPDX-License-Identifier: MIT
 * title.c - the name of a session: the option name, a host's or a hook's word. A line that tells nothing to the model; the
 * newest one counts. */
#include "product/session/session_int.h"
#include "lib/json/json_write.h"

int session_set_title(struct cadre_session *s, struct str title, struct err *err)
{
	struct journal *journal = s->tree.main.journal;
	AUTO_BUF struct buf line = { 0 };
	struct json_out w = json_out(&line);

	if (!journal)
		return err_set(err, ERR_USAGE, "the session is not kept on disk");
	json_open(&w, '{');
	json_kcstr(&w, "type", "custom-title");
	json_kstr(&w, "customTitle", title);
	json_kcstr(&w, "sessionId", s->id);
	json_close(&w);
	return journal_append(journal, &line, err);
}

int session_keep_name(struct cadre_session *s, struct err *err)
{
	const char *name = s->services->options.name;

	if (s->name_kept || !name || !name[0] || !s->tree.main.journal)
		return 0;
	s->name_kept = true;
	return session_set_title(s, str_from(name), err);
}

/* What it says may be nothing, and no title is worth a failure. */
void session_obey_title(struct cadre_session *s, const struct hook_outcome *outcome)
{
	AUTO_JSON struct json_reader reader = { 0 };
	AUTO_ARENA struct arena a = { 0 };
	struct str json = outcome->fields[HOOK_SESSION_TITLE];
	const struct json *root;

	if (!json.n || json_parse(&reader, json.p, json.n, &root, NULL) < 0)
		return;
	struct str title = str_trim(json_str(root, &a));
	if (title.n && s->tree.main.journal)
		(void)session_set_title(s, title, NULL);
}
