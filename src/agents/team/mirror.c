/* SPDX-License-Identifier: MIT
 * mirror.c - messages that wait for agents of ours. That one was read is seen by looking: while any is shown, four times a second. */
#include "agents/team/mirror.h"
#include "agents/teamfile/format.h"
#include "lib/base/list.h"

enum { LOOK_MS = 250 };

struct mirrored {
	struct mirrored *next;
	char *name, *id; /* of its receiver, and its own */
	struct buf entry;
};

struct mirror {
	struct team *team; /* borrowed */
	mirror_changed_fn *changed;
	void *data;
	struct mirrored *first, **end;
	struct map due; /* receivers whose files are to be written */
	struct timer look;
};

static bool still_waits(const struct team *t, const struct mirrored *one)
{
	const struct agent_record *to = agent_tree_member(t->tree, str_from(one->name));
	const struct agent *a = to ? to->live : strcmp(one->name, TEAM_LEAD) ? NULL : &t->tree->main;

	if (to && to->member->in_pane)
		return to->member->unread > 0;
	if (!a)
		return to && to->member->restoring;
	if (to && a->phase == CHILD_STARTS)
		return true;
	for (uint32_t i = 0; i < a->query.notice_count; i++)
		if (a->query.notices[i].id && !strcmp(a->query.notices[i].id, one->id))
			return true;
	return false;
}

static void mirrored_free(struct mirrored *one)
{
	buf_release(&one->entry);
	free(one->name);
	free(one->id);
	free(one);
}

static void on_look(struct timer *timer)
{
	struct mirror *m = CONTAINER_OF(timer, struct mirror, look);

	m->end = &m->first;
	while (*m->end) {
		struct mirrored *one = *m->end;
		if (still_waits(m->team, one)) {
			m->end = &one->next;
			continue;
		}
		map_set(&m->due, str_from(one->name), m);
		*m->end = one->next;
		mirrored_free(one);
	}
	if (m->first || map_next(&m->due, NULL))
		timer_start(m->team->tree->services->loop, &m->look, LOOK_MS);
	m->changed(m->data);
}

struct mirror *mirror_new(struct team *t, mirror_changed_fn *changed, void *data)
{
	struct mirror *m = xcalloc(1, sizeof *m);

	*m = (struct mirror){ .team = t, .changed = changed, .data = data, .end = &m->first, .look.fire = on_look };
	return m;
}

void mirror_add(struct mirror *m, const char *name, const struct mail *mail)
{
	struct mirrored *one = xcalloc(1, sizeof *one);
	struct json_out w = json_out(&one->entry);

	one->name = xstrdup(name);
	one->id = xstrdup(mail->id);
	inbox_entry_write(&w,
			  &(struct inbox_entry){ .id = mail->id,
						 .from = mail->from,
						 .text = mail->text,
						 .summary = mail->summary,
						 .read = true },
			  mail->color, id_wall_ms());
	*m->end = one;
	m->end = &one->next;
	mirror_again(m, name);
	m->changed(m->data);
}

char *mirror_next(struct mirror *m, struct buf *ret_entries)
{
	struct map_entry *due = map_next(&m->due, NULL);
	struct json_out w = json_out(ret_entries);

	if (!due)
		return NULL;
	char *name = xstrndup(due->key, due->key_len);
	map_remove(&m->due, str_from(name));
	json_open(&w, '[');
	for (const struct mirrored *one = m->first; one; one = one->next)
		if (!strcmp(one->name, name))
			json_put_raw(&w, buf_str(&one->entry));
	json_close(&w);
	return name;
}

void mirror_again(struct mirror *m, const char *name)
{
	map_set(&m->due, str_from(name), m);
	if (!timer_running(&m->look))
		timer_start(m->team->tree->services->loop, &m->look, LOOK_MS);
}

void mirror_free(struct mirror *m)
{
	if (!m)
		return;
	timer_stop(m->team->tree->services->loop, &m->look);
	for (struct mirrored *one; (one = list_pop(&m->first));)
		mirrored_free(one);
	map_release(&m->due);
	free(m);
}
