/* SPDX-License-Identifier: MIT
 * mirror.c - --session-mirror: every line of the session's files also goes to the client, which keeps a copy elsewhere. A line is
 * told after it is on disk and before the frame that it belongs to. */
#include "product/stream/wire_int.h"

static struct cadre_wire *wire_of(struct services *sv, const char *path)
{
	struct cadre_wire *w = sv->wires;

	while (w && (!w->session_id[0] || !strstr(path, w->session_id)))
		w = w->next;
	return w;
}

static void on_line(void *data, const char *path, struct str line)
{
	struct cadre_wire *w = wire_of(data, path);
	AUTO_BUF struct buf frame = { 0 };
	struct json_out out = json_out(&frame);

	if (!w)
		return;
	json_open(&out, '{');
	json_kcstr(&out, "type", "transcript_mirror");
	json_kcstr(&out, "filePath", path);
	json_key(&out, "entries");
	json_open(&out, '[');
	json_put_raw(&out, line);
	json_close(&out);
	json_close(&out);
	wire_send(w, &frame);
}

void wire_mirror(struct services *sv)
{
	if (!sv->options.session_mirror)
		return;
	sv->store.on_line = on_line;
	sv->store.data = sv;
}
