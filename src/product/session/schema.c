/* SPDX-License-Identifier: MIT
 * schema.c - StructuredOutput. Every tool call is checked against its schema elsewhere; this file counts failures, keeps the
 * output, and asks again when the model stops without it. */
#include "product/session/schema.h"
#include "lib/io/file.h"
#include "lib/json/json_schema.h"
#include "lib/json/json_write.h"

enum { MOST_TRIES = 5, LARGEST_SCHEMA = 1 << 20 };

static const char tool_name[] = "StructuredOutput";
static const char description[] =
	"Gives the final answer in the form that was asked for: its input is the answer. Call it exactly once, when the work is "
	"done; a text alone does not count as the answer.";
static const char reminder[] = "The answer is still missing: call StructuredOutput with it now. A text does not count.";

static void output_start(struct tool_call *call)
{
	struct cadre_session *s = call->tool->ctx;
	struct str json = json_raw(call->input);

	if (call->env->owner != &s->tree.main) {
		tool_call_fail(call, "Only the main agent gives the final answer.");
		return;
	}
	buf_clear(&s->schema->output);
	buf_add(&s->schema->output, json.p, json.n);
	s->tree.main.query.satisfied = true;
	tool_call_finish(call, STR("The answer was taken."));
}

/* ---- the option -------------------------------------------------------------------------------------------------- */

/* Tools have objects as their input: a schema without a type gets it here. */
static int define_tool(struct cadre_session *s, struct buf *definition, struct err *err)
{
	AUTO_ARENA struct arena a = { 0 };
	AUTO_JSON struct json_reader reader = { .limits = { .bytes = LARGEST_SCHEMA } };
	AUTO_BUF struct buf text = { 0 };
	AUTO_BUF struct buf typed = { 0 };
	struct json_out w = json_out(definition);
	struct str given = str_trim(str_from(s->services->options.json_schema));
	const struct json *root;

	if (given.n && char_in(given.p[0], "{["))
		buf_add(&text, given.p, given.n);
	else if (file_read(path_absolute(&a, s->tree.main.cwd, str_from(s->services->options.json_schema)),
			   LARGEST_SCHEMA, &text, err) < 0)
		return -(int)err->kind;
	if (json_parse(&reader, text.p ? text.p : "", text.n, &root, err) < 0 || json_schema_form(root, err) < 0)
		return -(int)err->kind;
	const struct json *type = json_get(root, "type");
	struct str raw = json_raw(root);
	if (!json_is(root, JSON_OBJECT) || (type && !json_str_is(type, "object")))
		return err_set(err, ERR_PARSE, "the answer must be an object: 'type' must be object at the top");
	buf_addf(&typed, "{\"type\":\"object\"%s" STR_FMT, root->count ? "," : "", (int)raw.n - 1, raw.p + 1);
	json_open(&w, '{');
	json_kcstr(&w, "name", tool_name);
	json_kcstr(&w, "description", description);
	json_kraw(&w, "input_schema", type ? raw : buf_str(&typed));
	json_close(&w);
	return 0;
}

int session_open_schema(struct cadre_session *s, struct err *err)
{
	AUTO_BUF struct buf definition = { 0 };

	if (!s->services->options.json_schema)
		return 0;
	if (define_tool(s, &definition, err) < 0) {
		err->kind = ERR_USAGE;
		return err_wrap(err, "--json-schema is not a valid JSON Schema");
	}
	s->schema = xcalloc(1, sizeof *s->schema);
	s->schema->tool = (struct tool){ .name = tool_name,
					 .definition = arena_strdup(&s->arena, definition.p),
					 .flags = TOOL_READ_ONLY | TOOL_NO_ASK,
					 .ctx = s,
					 .start = output_start };
	s->tree.answer_tool = &s->schema->tool;
	return 0;
}

/* ---- a turn ------------------------------------------------------------------------------------------------------ */

void structured_output_on_event(struct cadre_session *s, const struct event *event)
{
	bool of_child = event->agent && event->agent->id[0];

	if (s->schema && !s->schema->output.n && event->kind == EVENT_TOOL_ENDED && event->is_error && !of_child &&
	    !strcmp(event->name, tool_name) && ++s->schema->tries >= MOST_TRIES)
		query_halt(&s->tree.main.query, STR("no answer fitted"));
}

bool structured_output_retry(struct cadre_session *s)
{
	struct query *q = &s->tree.main.query;
	struct schema *x = s->schema;
	struct err err = { 0 };

	if (!x || x->output.n || s->turn.interrupted)
		return false;
	bool used_up = q->end == QUERY_HALTED && x->tries >= MOST_TRIES;
	if (!used_up && q->end != QUERY_DONE)
		return false;
	if (used_up || ++x->tries >= MOST_TRIES) {
		q->end = QUERY_UNSTRUCTURED;
		return false;
	}
	struct segment *block = segment_text(str_from(reminder));
	if (query_add_user(q, &block, 1, true, &err) < 0)
		return false;
	query_continue(q);
	return true;
}

struct str schema_output(const struct cadre_session *s)
{
	return s->schema ? buf_str(&s->schema->output) : STR("");
}
