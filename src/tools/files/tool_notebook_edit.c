/* SPDX-License-Identifier: MIT
 * tool_notebook_edit.c - NotebookEdit: one cell of a notebook that the agent has seen is replaced, added or removed. */
#include "lib/base/id.h"
#include "lib/json/json_write.h"
#include "tools/files/text_file.h"
#include "tools/media/notebook.h"
#include "core/tool/tool_list.h"

static void notebook_edit_preview(struct tool_call *call, struct buf *out);
static void notebook_edit_start(struct tool_call *call);

const struct tool tool_notebook_edit = { TOOL_NOTEBOOK_EDIT_FACTS, .preview = notebook_edit_preview,
					 .start = notebook_edit_start };

enum {
	ID_DIGITS = 8,
	TEXT_LIMIT = 256 * 1024, /* of each text in the result: with its pictures a notebook has megabytes */
};

struct change {
	struct tool_call *call;
	char *path;
	const char *target;
	struct str cell_name; /* as the model gave it; empty: not given */
	struct text_file file;
	struct notebook notebook;
	struct notebook_edit edit;
	char id[ID_DIGITS + 1]; /* of a new cell */
	struct buf text;        /* after the change */
};

static void change_release(struct change *c)
{
	text_file_release(&c->file);
	notebook_release(&c->notebook);
	buf_release(&c->text);
}

static void change_read(struct change *c)
{
	const struct json *input = c->call->input;
	const struct json *mode = json_get(input, "edit_mode");

	c->cell_name = json_str(json_get(input, "cell_id"), &c->call->arena);
	c->edit.source = json_str(json_get(input, "new_source"), &c->call->arena);
	c->edit.type = json_cstr(json_get(input, "cell_type"), &c->call->arena);
	c->edit.verb = json_str_is(mode, "insert")   ? NOTEBOOK_INSERT
		       : json_str_is(mode, "delete") ? NOTEBOOK_DELETE
						     : NOTEBOOK_REPLACE;
}

/* Each check answers the call and returns false, or returns true. */
static bool change_take_input(struct change *c)
{
	if (!file_tool_find(c->call, "notebook_path", &c->path, &c->target))
		return false;
	change_read(c);
	if (c->edit.verb == NOTEBOOK_INSERT && !c->edit.type) {
		tool_call_reject(c->call, "cell_type is needed when a cell is inserted.");
		return false;
	}
	if (c->edit.verb != NOTEBOOK_INSERT && !c->cell_name.n) {
		tool_call_reject(c->call, "cell_id is needed: it says which cell to replace or delete.");
		return false;
	}
	return true;
}

static bool change_find_cell(struct change *c)
{
	struct err err = { 0 };

	if (text_file_load(c->target, &c->file, &err) < 0) {
		tool_call_fail(c->call, "%s", err.text);
		return false;
	}
	if (!c->file.exists) {
		file_tool_missing(c->call, true);
		return false;
	}
	if (!file_tool_check_seen(c->call, c->path, &c->file))
		return false;
	if (!c->file.exact) {
		tool_call_reject(c->call,
				 "%s has UTF-16 text with errors in it; an edit would change other parts of it.",
				 c->path);
		return false;
	}
	if (notebook_open(&c->notebook, buf_str(&c->file.text), &err) < 0) {
		tool_call_reject(c->call, "%s is %s.", c->path, err.text);
		return false;
	}
	c->edit.cell = c->cell_name.n ? notebook_find(&c->notebook, c->cell_name) : NULL;
	if (c->edit.cell || !c->cell_name.n)
		return true;
	tool_call_reject(c->call, "The notebook has no cell \"" STR_FMT "\". Read it to see the ids of its cells.",
			 STR_ARG(c->cell_name));
	return false;
}

static void put_text(struct json_out *w, const char *name, struct str text)
{
	json_kstr(w, name, text.n <= TEXT_LIMIT ? text : STR(""));
}

static void put_result(struct change *c)
{
	struct json_out w = json_out(&c->call->result_json);
	struct str language = notebook_language(&c->notebook, &c->call->arena);
	bool is_code = c->edit.type ? !strcmp(c->edit.type, "code") : notebook_cell_is(c->edit.cell, "code");

	json_putf(&w, "{new_source:'%.*s'", STR_ARG(c->edit.source));
	if (c->edit.verb != NOTEBOOK_INSERT) {
		AUTO_BUF struct buf source = { 0 };
		notebook_add_text(&source, json_get(c->edit.cell, "source"));
		json_kstr(&w, "old_source", buf_str(&source));
	}
	if (c->edit.verb != NOTEBOOK_INSERT || c->edit.id)
		json_kstr(&w, "cell_id", c->edit.verb == NOTEBOOK_INSERT ? str_from(c->edit.id) : c->cell_name);
	/* filePath is for the next run of the session: this file has been seen */
	json_putf(&w, "cell_type:'%s', language:'%.*s', edit_mode:'%s', notebook_path:'%s', filePath:'%s'",
		  is_code ? "code" : "markdown", STR_ARG(language),
		  c->edit.verb == NOTEBOOK_INSERT   ? "insert"
		  : c->edit.verb == NOTEBOOK_DELETE ? "delete"
						    : "replace",
		  c->path, c->path);
	put_text(&w, "original_file", buf_str(&c->file.text));
	put_text(&w, "updated_file", buf_str(&c->text));
	json_close(&w);
}

static void change_apply(struct change *c)
{
	struct err err = { 0 };
	struct file_stamp stamp;

	if (c->edit.verb == NOTEBOOK_INSERT && notebook_has_ids(&c->notebook)) {
		id_random(c->id, ID_DIGITS, "0123456789abcdef");
		c->edit.id = c->id;
	}
	notebook_change(&c->notebook, &c->edit, &c->text);
	if (file_tool_save(c->call, c->target, &c->file, buf_str(&c->text), &stamp, &err) < 0) {
		tool_call_fail(c->call, "%s", err.text);
		return;
	}
	file_state_note(c->call->env->files, c->path, stamp);
	put_result(c);
	struct buf *out = &c->call->result;

	switch (c->edit.verb) {
	case NOTEBOOK_INSERT:
		buf_addf(out, "Inserted a %s cell%s%s.", c->edit.type, c->edit.id ? " with the id " : "",
			 c->edit.id ? c->edit.id : "");
		break;
	case NOTEBOOK_DELETE:
		buf_addf(out, "Deleted cell " STR_FMT ".", STR_ARG(c->cell_name));
		break;
	case NOTEBOOK_REPLACE:
		buf_addf(out, "Updated cell " STR_FMT ".", STR_ARG(c->cell_name));
		break;
	}
	if (!notebook_has_ids(&c->notebook) && c->edit.verb != NOTEBOOK_REPLACE)
		buf_addstr(
			out,
			" Cells without an id are named by their number: the names of the following cells have changed.");
	tool_call_end(c->call);
}

static void notebook_edit_start(struct tool_call *call)
{
	CLEANUP(change_release) struct change c = { .call = call };

	if (change_take_input(&c) && change_find_cell(&c))
		change_apply(&c);
}

/* The source of the cell, behind a hunk without lines that names it */
static void notebook_edit_preview(struct tool_call *call, struct buf *out)
{
	CLEANUP(change_release) struct change c = { .call = call };
	AUTO_BUF struct buf source = { 0 }, hunks = { 0 };
	struct json_out w = json_out(out), inner = json_out(&hunks);
	struct err err = { 0 };

	change_read(&c);
	if (text_file_load(call->file_target, &c.file, &err) < 0 || !c.file.exists ||
	    notebook_open(&c.notebook, buf_str(&c.file.text), &err) < 0)
		return;
	c.edit.cell = c.cell_name.n ? notebook_find(&c.notebook, c.cell_name) : NULL;
	if (!c.edit.cell && (c.cell_name.n || c.edit.verb != NOTEBOOK_INSERT))
		return;
	if (c.edit.verb != NOTEBOOK_INSERT)
		notebook_add_text(&source, json_get(c.edit.cell, "source"));
	line_diff_put(&inner, buf_str(&source), c.edit.verb == NOTEBOOK_DELETE ? STR("") : c.edit.source);
	const char *what = c.edit.verb != NOTEBOOK_INSERT ? "cell "
			   : c.cell_name.n                ? "a new cell after "
							  : "a new first cell";
	const char *where = arena_printf(&call->arena, "%s" STR_FMT "%s", what, STR_ARG(c.cell_name),
					 c.edit.verb == NOTEBOOK_DELETE ? " is deleted" : "");
	json_putf(&w, "[{section:'%s', lines:[]}", where);
	if (hunks.n > 2)
		json_put_raw(&w, (struct str){ hunks.p + 1, hunks.n - 2 });
	json_close(&w);
}
