/* SPDX-License-Identifier: MIT
 * title.c - the name that the user gives a session (option name). */
#include "app/app_int.h"
#include "json/json_write.h"

int session_keep_name(struct cadre_session *s, struct err *err)
{
	const char *name = s->cadre->options.name;
	struct journal *journal = s->tree.main.journal;
	AUTO_BUF struct buf line = { 0 };
	struct json_out w = json_out(&line);

	if (s->name_kept || !name || !name[0] || !journal)
		return 0;
	s->name_kept = true;
	json_open(&w, '{');
	json_kcstr(&w, "type", "custom-title");
	json_kcstr(&w, "customTitle", name);
	json_kcstr(&w, "sessionId", s->id);
	json_close(&w);
	return journal_append(journal, &line, err);
}
