/* SPDX-License-Identifier: MIT
 * trust_edit.c - edits one member of a file that other programs own too: unknown members, their order and spelling must
 * stay. */
#include "config/settings/text_edit.h"
#include "config/settings/trust_int.h"

static const char answer[] = "hasTrustDialogAccepted";

struct edit {
	struct buf *out;
	const struct settings_file *file;
};

static int fail_type(const struct edit *e, const struct json *value, const char *what, struct err *err)
{
	struct settings_cursor at = { 0 };

	settings_cursor_move(&at, e->file, value);
	return err_set(err, ERR_USAGE, "%s:%u:%u: %s: expected an object", e->file->path, at.line, at.column, what);
}

static int edit(const struct edit *e, struct str folder, const char *value, bool *ret_changed, struct err *err)
{
	const struct str names[] = { STR("projects"), folder, { answer, sizeof answer - 1 } };
	const struct json *at = e->file->root;

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const struct json *next = json_get_str(at, names[i]);
		if (!next) {
			text_append(e->out, e->file, at,
				    &(struct text_addition){ .names = names + i,
							     .count = COUNT_OF(names) - i,
							     .value = str_from(value) });
			return 0;
		}
		if (i + 1 < COUNT_OF(names) && !json_is(next, JSON_OBJECT))
			return fail_type(e, next, i ? "the folder's entry" : "projects", err);
		at = next;
	}
	*ret_changed = !str_is(json_raw(at), value);
	if (*ret_changed)
		text_replace_value(e->out, e->file, at, str_from(value));
	return 0;
}

int trust_edit(struct buf *out, const char *path, struct str text, struct str folder, bool trusted, bool *ret_changed,
	       struct err *err)
{
	AUTO_SETTINGS_FILE struct settings_file file = { 0 };
	int status = settings_file_parse_up_to(&file, path, text, text.n, err);

	if (status < 0)
		return status;
	*ret_changed = true;
	return edit(&(struct edit){ out, &file }, folder, trusted ? "true" : "false", ret_changed, err);
}
