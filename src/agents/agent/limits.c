/* SPDX-License-Identifier: MIT
 * limits.c - the record of what a child was born under, made at its birth and applied whenever it goes on. */
#include "agents/agent/limits.h"
#include <sys/stat.h>

void limits_note(struct agent_record *t, const struct agent *parent)
{
	AUTO_BUF struct buf text = { 0 };
	struct json_out w = json_out(&text);

	if (!parent->parent)
		return;
	json_open(&w, '{');
	json_kcstr(&w, "root", parent->env.cwd);
	json_key(&w, "ancestors");
	permission_record_write(&w, &parent->permission);
	json_close(&w);
	t->limits = arena_str(&t->arena, buf_str(&text)).p;
}

/* Path rules of ancestors count from the directory where the child began. */
static int restore_root(struct agent_record *t, const struct json *record, const char **ret_root, struct err *err)
{
	const char *root = json_cstr(json_get(record, "root"), &t->arena);
	struct stat st;

	if (!root || root[0] != '/')
		return err_set(err, ERR_DENIED, "the record of its inherited limits names no directory");
	if (stat(root, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(err, ERR_DENIED, "%s, where it worked, is gone", root);
	*ret_root = root;
	return 0;
}

int limits_restore(struct agent_record *t, const struct agent *parent, struct limits *ret_limits, struct err *err)
{
	AUTO_JSON struct json_reader reader = { 0 };
	bool parent_gone = strcmp(parent->who.id, t->parent_id) != 0;
	struct limits limits = { 0 };
	const struct json *record;
	struct err why = { 0 };

	if (parent_gone && t->is_fork)
		return err_set(err, ERR_DENIED, "agent %s cannot go on: it is a fork of agent %s, which has ended",
			       t->id, t->parent_id);
	if (!t->limits && !parent_gone) {
		*ret_limits = limits; /* the parent's are all, and it has them */
		return 0;
	}
	if (!t->limits)
		return err_set(
			err, ERR_DENIED,
			"agent %s cannot go on: agent %s, which started it, has ended, and there is no record of "
			"its limits",
			t->id, t->parent_id);
	struct permission_restore spec = { .parent = &parent->permission, .least = t->depth - 1, .own_root = t->base };
	int status = json_parse(&reader, t->limits, strlen(t->limits), &record, &why);
	spec.record = status == 0 ? json_get(record, "ancestors") : NULL;
	if (status == 0)
		status = permission_line_restore(&limits.gone, &spec, &why);
	if (status == 0 && !t->base)
		status = restore_root(t, record, &limits.root, &why);
	if (status < 0) {
		permission_line_release(&limits.gone);
		return err_set(err, ERR_DENIED, "agent %s cannot go on: %s", t->id, why.text);
	}
	*ret_limits = limits;
	return 0;
}
