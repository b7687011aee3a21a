/* SPDX-License-Identifier: MIT
 * trace.c - facts about a result besides its text: files read, tools loaded. They survive compaction. */
#include "core/store/load_int.h"

/* The thousandths after ".", however many digits there are. */
static int64_t fraction_ms(const char *digits)
{
	int64_t ms = 0;

	for (int64_t unit = 100; unit && *digits >= '0' && *digits <= '9'; unit /= 10)
		ms += unit * (*digits++ - '0');
	return ms;
}

static int64_t line_time_ms(const struct json *root)
{
	AUTO_ARENA struct arena scratch = { 0 };
	char *text = json_cstr(json_get(root, "timestamp"), &scratch);
	struct tm tm = { 0 };
	const char *end = text ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;

	if (!end)
		return 0;
	return (int64_t)timegm(&tm) * 1000 + (*end == '.' ? fraction_ms(end + 1) : 0);
}

static void read_file(struct line_trace *t, struct arena *a, const struct json *root, const struct json *result)
{
	const struct json *file = json_get(result, "file");
	int64_t seen = 0, total = 0;

	t->file.path = json_cstr(json_get(file ? file : result, "filePath"), a);
	if (!t->file.path)
		return;
	(void)json_i64(json_get(file, "numLines"), &seen);
	(void)json_i64(json_get(file, "totalLines"), &total);
	t->file.time_ms = line_time_ms(root);
	t->file.partial = seen < total;
}

/* Tools found by ToolSearch are loaded. */
static void read_tools(struct line_trace *t, struct arena *a, const struct json *result)
{
	const struct json *found = json_get(result, "total_deferred_tools") ? json_get(result, "matches") : NULL;
	size_t count = 0;

	for (const struct json *v = json_first(found); v; v = json_next(found, v))
		count++;
	if (count)
		t->tools = arena_calloc(a, count * sizeof *t->tools);
	for (const struct json *v = json_first(found); v; v = json_next(found, v))
		if (json_is(v, JSON_STRING))
			t->tools[t->tool_count++] = json_cstr(v, a);
}

const struct line_trace *trace_read(struct arena *a, const struct json *root)
{
	const struct json *result = json_get(root, "toolUseResult");
	struct line_trace t = { 0 };

	if (!result)
		return NULL;
	read_file(&t, a, root, result);
	read_tools(&t, a, result);
	if (!t.file.path && !t.tool_count)
		return NULL;
	struct line_trace *kept = arena_calloc(a, sizeof *kept);
	*kept = t;
	return kept;
}

/* ---- of all lines ------------------------------------------------------------------------------------------------ */

static void add_file(struct replay *r, const struct loaded_file *file)
{
	struct session_load *out = r->out;

	if (out->file_count == r->file_cap) {
		r->file_cap = r->file_cap ? r->file_cap * 2 : 16;
		out->files = xrealloc(out->files, r->file_cap * sizeof *out->files);
	}
	map_set(&r->files, str_from(file->path), (void *)(out->file_count + 1));
	out->files[out->file_count] = *file;
	out->files[out->file_count++].path = arena_strdup(&out->arena, file->path);
}

void replay_trace(struct replay *r, const struct line_trace *trace)
{
	if (trace->file.path)
		add_file(r, &trace->file);
	for (size_t i = 0; i < trace->tool_count; i++) {
		const char *name = trace->tools[i];
		struct session_load *out = r->out;
		if (out->tool_count == r->tool_cap) {
			r->tool_cap = r->tool_cap ? r->tool_cap * 2 : 8;
			out->tools = xrealloc(out->tools, r->tool_cap * sizeof *out->tools);
		}
		out->tools[out->tool_count++] = arena_strdup(&out->arena, name);
	}
}

/* The newest entry of each file wins. */
void replay_drop_older_looks(struct replay *r)
{
	struct session_load *out = r->out;
	size_t kept = 0;

	for (size_t i = 0; i < out->file_count; i++)
		if ((size_t)map_get(&r->files, str_from(out->files[i].path)) == i + 1)
			out->files[kept++] = out->files[i];
	out->file_count = kept;
	map_release(&r->files);
}
