/* SPDX-License-Identifier: MIT
 * settings_store.c - writes a decision of the user to a settings file or the state file.
 *
 * A lock on the directory serialises our writers and leaves no file in the project; the state file has a lock file of its own.
 * Writes of other programs are detected by the stamp of the file: if it changed between reading and replacing, the edit is
 * repeated. */
#include "config/settings/settings_store.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include "lib/base/utf8.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "config/settings/trust.h"

enum { TRIES = 20 };

/* The text: existing bytes stay, and additions are laid out like their neighbours. */

struct text_addition {
	const struct str *names; /* missing members, nested, from the outside in */
	size_t count;            /* 0: into an array */
	bool list;               /* the innermost is an array with the value in it */
	struct str value;        /* JSON, on one line */
};

/* The text with new in place of the bytes from `from` to `to`. */
static void text_splice(struct buf *out, const struct buf *text, const char *from, const char *to, struct str new)
{
	buf_add(out, text->p, (size_t)(from - text->p));
	buf_append(out, new);
	buf_add(out, to, (size_t)(text->p + text->n - to));
}

static const char blanks[] = " \t\r\n";

/* The blanks with which the line of p begins. */
static struct str line_indentation(const struct buf *text, const char *p)
{
	size_t n = 0;

	while (p > text->p && p[-1] != '\n')
		p--;
	while (p[n] == ' ' || p[n] == '\t')
		n++;
	return (struct str){ p, n };
}

/* One level of it, as the first indented line shows. */
static struct str indentation_step(const struct buf *text)
{
	struct str rest = { text->p, text->n };

	while (rest.p) {
		struct str line = str_cut(&rest, '\n');
		struct str step = line.n ? line_indentation(text, line.p) : STR("");
		if (step.n && step.n < str_trim(line).n + step.n)
			return step;
	}
	return STR("  ");
}

/* How the text around is laid out */
struct layout {
	bool lines; /* a member a line */
	struct str indent;
	const char *line_end;
	struct str step; /* one level deeper */
};

static void start_line(struct buf *out, const struct layout *layout, size_t depth)
{
	if (!layout->lines)
		return;
	buf_addf(out, "%s" STR_FMT, layout->line_end, STR_ARG(layout->indent));
	for (size_t i = 0; i < depth; i++)
		buf_append(out, layout->step);
}

/* Appends the value to container, an object or array of the text. out gets the whole text. */
static void text_append(struct buf *out, const struct settings_file *file, const struct json *container,
			const struct text_addition *addition)
{
	AUTO_BUF struct buf new = { 0 };
	struct str raw = json_raw(container);
	const char *close = raw.p + raw.n - 1;
	const char *end = close;

	while (char_in(end[-1], blanks))
		end--;
	const char *line = memchr(file->text.p, '\n', file->text.n);
	struct layout layout = (struct layout){
		.lines = container->count ? memchr(end, '\n', (size_t)(close - end)) != NULL : line != NULL,
		.indent = line_indentation(&file->text, container->count ? close : json_raw(container).p),
		.line_end = line && line > file->text.p && line[-1] == '\r' ? "\r\n" : "\n",
		.step = indentation_step(&file->text),
	};
	if (container->count)
		buf_addstr(&new, layout.lines ? "," : ", ");
	size_t depth =
		addition->count + addition->list; /* of the brackets that are opened here, and of what they hold */
	for (size_t i = 0; i < addition->count; i++) {
		start_line(&new, &layout, i + 1);
		json_add_quoted(&new, addition->names[i]);
		buf_addstr(&new, i + 1 < addition->count ? ": {" : addition->list ? ": [" : ": ");
	}
	if (!addition->count || addition->list)
		start_line(&new, &layout, depth + !addition->count);
	buf_append(&new, addition->value);
	for (size_t i = depth; i > 1; i--) {
		start_line(&new, &layout, i - 1);
		buf_addch(&new, addition->list && i == depth ? ']' : '}');
	}
	if (!container->count)
		start_line(&new, &layout, 0);
	text_splice(out, &file->text, end, container->count ? end : close, buf_str(&new));
}

/* Removes a member that exists, with the comma behind it, or if it is the last one with the comma before it. */
static void text_remove_member(struct buf *out, const struct settings_file *file, const struct json *object,
			       struct str name)
{
	const struct json *value = json_get_str(object, name);
	const char *from = json_raw(value - 1).p; /* the key stands before its value */
	const char *to = json_raw(value).p + json_raw(value).n;
	const char *comma = to;

	while (char_in(from[-1], blanks))
		from--;
	while (char_in(*comma, blanks))
		comma++;
	if (*comma == ',')
		to = comma + 1;
	else if (from[-1] == ',')
		from--;
	text_splice(out, &file->text, from, to, STR(""));
}

static int fail_type(const struct settings_file *f, const struct json *value, const char *what, struct err *err)
{
	struct settings_cursor at = { 0 };

	settings_cursor_move(&at, f, value);
	return err_set(err, ERR_USAGE, "%s:%u:%u: expected %s", f->path, at.line, at.column, what);
}

/* Adds a text to a list, unless it is there. names: the members that lead to the list; kind: what it is, for errors. */
static int text_add_item(struct buf *out, const struct settings_file *f, const struct str *names, size_t count,
			 const char *kind, struct str item, struct err *err)
{
	const struct json *at = f->root;
	size_t there = 0;
	AUTO_ARENA struct arena scratch = { 0 };
	AUTO_BUF struct buf value = { 0 };

	for (const struct json *next; there < count && (next = json_get_str(at, names[there])); at = next) {
		there++;
		if (there < count && !json_is(next, JSON_OBJECT))
			return fail_type(f, next, "an object", err);
		if (there == count && !json_is(next, JSON_ARRAY))
			return fail_type(f, next, kind, err);
	}
	for (const struct json *v = there == count ? json_first(at) : NULL; v; v = json_next(at, v))
		if (json_is(v, JSON_STRING) && str_eq(json_str(v, &scratch), item))
			return 0;
	json_add_quoted(&value, item);
	text_append(out, f, at,
		    &(struct text_addition){ .names = names + there,
					     .count = count - there,
					     .list = there < count,
					     .value = buf_str(&value) });
	return 0;
}

int text_set_member(struct buf *out, const struct settings_file *f, const struct str *names, size_t count,
		    struct str json, struct err *err)
{
	const struct json *at = f->root;

	for (size_t i = 0; i < count; i++) {
		const struct json *next = json_get_str(at, names[i]);
		if (!json_is(at, JSON_OBJECT))
			return fail_type(f, at, "an object", err);
		if (next && i + 1 == count && !json.p)
			text_remove_member(out, f, at, names[i]);
		if (!next && json.p)
			text_append(out, f, at,
				    &(struct text_addition){ .names = names + i, .count = count - i, .value = json });
		if (!next || (i + 1 == count && !json.p))
			return 0;
		at = next;
	}
	struct str raw = json_raw(at);
	if (!str_eq(raw, json))
		text_splice(out, &f->text, raw.p, raw.p + raw.n, json);
	return 0;
}

/* Rewrites a list: the texts of the change are taken out, put behind the others, or put in their place. */
static int text_edit_list(struct buf *out, const struct settings_file *f, const struct settings_change *c,
			  struct err *err)
{
	AUTO_ARENA struct arena scratch = { 0 };
	AUTO_BUF struct buf list = { 0 };
	struct json_out w = json_out(&list);
	const struct json *old = f->root;

	for (size_t i = 0; i < c->count; i++)
		old = json_get_str(old, c->names[i]);
	if (old && !json_is(old, JSON_ARRAY))
		return fail_type(f, old, c->list_kind, err);
	json_open(&w, '[');
	for (const struct json *v = old && c->edit != SETTINGS_LIST_REPLACE ? json_first(old) : NULL; v;
	     v = json_next(old, v)) {
		bool named = false;
		for (size_t i = 0; json_is(v, JSON_STRING) && i < c->item_count; i++)
			named = named || str_is(json_str(v, &scratch), c->items[i]);
		if (!named)
			json_put_raw(&w, json_raw(v));
	}
	for (size_t i = 0; c->edit != SETTINGS_LIST_REMOVE && i < c->item_count; i++)
		json_put_cstr(&w, c->items[i]);
	json_close(&w);
	return text_set_member(out, f, c->names, c->count, buf_str(&list), err);
}

/* Locks the directory in which the file will be replaced. The lock dies with its descriptor. */
static int lock_directory(const char *path, unsigned wait_ms, int *ret_fd, struct err *err)
{
	AUTO_FREE char *real = realpath(path, NULL);
	AUTO_FREE char *dir = xstrdup(real ? real : path);
	char *slash = strrchr(dir, '/');

	if (slash)
		slash[slash == dir] = '\0';
	AUTO_CLOSE int fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, ERR_IO, "cannot open %s: %m", dir);
	int status = file_lock(fd, slash ? dir : ".", wait_ms, err);
	if (status < 0)
		return status;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* -ERR_BUSY: another program wrote in between. */
static int store_once(const char *path, const struct settings_change *c, bool *ret_changed, struct err *err)
{
	AUTO_SETTINGS_FILE struct settings_file f = { 0 };
	AUTO_BUF struct buf out = { 0 };
	struct stat before = { 0 }, now = { 0 };

	(void)stat(path, &before); /* all zero: there is no file */
	int status = settings_file_read_up_to(&f, path, c->limit_bytes ? c->limit_bytes : SETTINGS_FILE_LIMIT, err);
	if (status == 0 && !f.root) {
		settings_file_release(&f);
		status = settings_file_parse(&f, path, STR("{\n}\n"), err);
	}
	if (status == 0)
		status = c->edit == SETTINGS_SET ? text_set_member(&out, &f, c->names, c->count, c->value, err)
			 : c->edit == SETTINGS_LIST_ADD && c->item_count == 1
				 ? text_add_item(&out, &f, c->names, c->count, c->list_kind, str_from(c->items[0]), err)
				 : text_edit_list(&out, &f, c, err);
	if (ret_changed)
		*ret_changed = out.n > 0;
	if (status < 0 || !out.n)
		return status;
	(void)stat(path, &now);
	if (!stat_same(&now, &before))
		return err_set(err, ERR_BUSY, "%s is being changed by another program", path);
	return file_replace_linked(path, buf_str(&out), err);
}

static int store_change(const struct settings_change *c, unsigned wait_ms, bool *ret_changed, struct err *err)
{
	AUTO_CLOSE int lock_fd = -1;
	const char *path = c->path;
	bool is_text = true;

	/* Other bytes would be written as U+FFFD: trust of one directory would be that of another. */
	for (size_t i = 0; i < c->count; i++)
		is_text = is_text && utf8_valid(c->names[i]);
	for (size_t i = 0; i < c->item_count; i++)
		is_text = is_text && utf8_valid(str_from(c->items[i]));
	if (!is_text)
		return err_set(err, ERR_USAGE, "%s cannot keep a name that is not valid UTF-8", path);
	int status = file_make_parents_mode(path, 0777, err); /* a project may be shared */
	if (status == 0)
		status = lock_directory(path, wait_ms, &lock_fd, err);
	if (status < 0)
		return status;
	for (int i = 0; i < TRIES; i++) {
		status = store_once(path, c, ret_changed, err);
		if (status != -ERR_BUSY)
			break;
	}
	return status;
}

int settings_set_member(const char *path, const struct str *names, size_t count, struct str json, struct err *err)
{
	struct settings_change c = { .path = path, .names = names, .count = count, .value = json };

	return store_change(&c, LOCK_WAIT_MS, NULL, err);
}

/* A change that may be made later, with copies of all that it needs */
struct pending_change {
	struct file_change change; /* first */
	struct arena arena;
	struct settings_change what;
	settings_done_fn *done;
	void *data;
};

static int make_pending(struct file_change *change, unsigned wait_ms, struct err *err)
{
	struct pending_change *p = CONTAINER_OF(change, struct pending_change, change);

	return store_change(&p->what, wait_ms, NULL, err);
}

static void pending_done(struct file_change *change, bool later, const struct err *err)
{
	struct pending_change *p = CONTAINER_OF(change, struct pending_change, change);

	if (later && p->done)
		p->done(p->data, err);
	arena_release(&p->arena);
	free(p);
}

int settings_store(struct change_queue *q, const struct settings_change *c, settings_done_fn *done, void *data,
		   struct err *err)
{
	struct pending_change *p = xcalloc(1, sizeof *p);
	struct arena *a = &p->arena;

	p->change = (struct file_change){ .make = make_pending, .done = pending_done };
	p->done = done;
	p->data = data;
	p->what = *c;
	p->what.path = arena_strdup(a, c->path);
	p->what.list_kind = arena_strdup(a, c->list_kind);
	p->what.value = c->value.p ? arena_str(a, c->value) : (struct str){ 0 };
	struct str *names = arena_calloc(a, (c->count + 1) * sizeof *names);
	for (size_t i = 0; i < c->count; i++)
		names[i] = arena_str(a, c->names[i]);
	const char **items = arena_calloc(a, (c->item_count + 1) * sizeof *items);
	for (size_t i = 0; i < c->item_count; i++)
		items[i] = arena_strdup(a, c->items[i]);
	p->what.names = names;
	p->what.items = items;
	return change_queue_make(q, &p->change, err);
}

/* Locks the state file and creates it if missing. The lock file stays: removing it would let two writers hold locks on two
 * files. Keys may be put into the state file later, so only its owner may read it from the start. */
static int lock_state_file(const char *state_file, int *ret_fd, struct err *err)
{
	AUTO_BUF struct buf path = { 0 };
	int status = file_make_parents(state_file, err);

	if (status < 0)
		return status;
	buf_addf(&path, "%s.cadre-lock", state_file);
	AUTO_CLOSE int fd = open(path.p, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_set(err, ERR_IO, "cannot open %s: %m", path.p);
	status = file_lock_byte(fd, -1, path.p, LOCK_WAIT_MS, err);
	if (status < 0)
		return status;
	AUTO_CLOSE int created = open(state_file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (created < 0 ? errno != EEXIST : write(created, "{}\n", 3) != 3)
		return err_set(err, ERR_IO, "cannot write %s: %m", state_file);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int state_file_set(const char *state_file, const struct str *names, size_t count, struct str json, bool *ret_changed,
		   struct err *err)
{
	struct settings_change c = {
		.path = state_file, .names = names, .count = count, .value = json, .limit_bytes = TRUST_FILE_LIMIT
	};
	AUTO_CLOSE int lock_fd = -1;
	int status = lock_state_file(state_file, &lock_fd, err);

	return status < 0 ? status : store_change(&c, LOCK_WAIT_MS, ret_changed, err);
}
