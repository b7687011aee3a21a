/* SPDX-License-Identifier: MIT
 * tool_grep.c - Grep: searches the contents of files (docs/internals/search.md). */
#include "lib/json/json_write.h"
#include "lib/io/file.h"
#include "tools/files/text_file.h"
#include "tools/search/grep.h"
#include "core/tool/tool.h"
#include "core/tool/tool_list.h"

static void grep_start(struct tool_call *call);

const struct tool tool_grep = { TOOL_GREP_FACTS, .start = grep_start, .cancel = tool_job_cancel };

enum { DEFAULT_LIMIT = 250, MAX_CONTEXT = 1000, TIME_LIMIT_MS = 60000 };

struct grep_job {
	struct tool_job job;
	struct grep_query query; /* its texts are in the call's arena, which does not change while the job runs */
	struct gitignore globs, types;
	struct hidden_files *denied;
	uint64_t limit, offset; /* entries: lines or files; limit 0: all */
	bool limited;           /* entries were left out behind the last one shown */
	size_t shown;           /* entries */
	int rc;
	struct err err;
	struct grep_results results;
};

static void grep_run_job(struct tool_job *job)
{
	struct grep_job *g = CONTAINER_OF(job, struct grep_job, job);

	g->rc = grep_run(&g->query, &g->results, &g->err);
}

/* Whether entry number i is on the page that was asked for. */
static bool on_page(struct grep_job *g, uint64_t i)
{
	if (i < g->offset)
		return false;
	if (g->limit && i - g->offset >= g->limit) {
		g->limited = true;
		return false;
	}
	g->shown++;
	return true;
}

/* The lines of one file; *entry counts on. */
static void add_lines(struct grep_job *g, struct str text, uint64_t *entry, struct buf *out)
{
	while (text.n) {
		size_t n = (size_t)((const char *)memchr(text.p, '\n', text.n) - text.p) + 1;
		if (on_page(g, (*entry)++))
			buf_add(out, text.p, n);
		text = str_tail(text, n);
	}
}

static void put_result(struct grep_job *g, struct str entries, uint64_t matches)
{
	static const char *const modes[] = {
		[GREP_FILES] = "files_with_matches",
		[GREP_CONTENT] = "content",
		[GREP_COUNT] = "count",
	};
	enum grep_mode mode = g->query.want.mode;
	struct json_out w = json_out(&g->job.call->result_json);

	json_putf(&w, "{mode:'%s', numFiles:%lld, filenames:[", modes[mode],
		  (long long)(mode == GREP_CONTENT ? 0 : (int64_t)g->results.count));
	for (struct str rest = entries; mode == GREP_FILES && rest.n;)
		json_put_str(&w, str_cut(&rest, '\n'));
	json_close(&w);
	if (mode != GREP_FILES)
		json_kstr(&w, "content", entries);
	if (mode == GREP_CONTENT)
		json_ki64(&w, "numLines", (int64_t)g->shown);
	if (mode == GREP_COUNT)
		json_ki64(&w, "numMatches", (int64_t)matches);
	if (g->limited)
		json_ki64(&w, "appliedLimit", (int64_t)g->limit);
	json_putf(&w, "appliedOffset?:%lld}", (long long)g->offset);
}

static void add_report(struct grep_job *g, struct str entries, uint64_t matches, struct buf *out)
{
	size_t files = g->results.count;

	if (!files) {
		buf_addstr(out, g->query.want.mode == GREP_FILES ? "No files found" : "No matches found");
		return;
	}
	if (!g->shown) {
		buf_addf(out, "No entries at this offset (%llu).", (unsigned long long)g->offset);
		return;
	}
	if (g->query.want.mode == GREP_FILES)
		buf_addf(out, "Found %zu file%s\n", files, files == 1 ? "" : "s");
	buf_append(out, entries);
	if (g->limited || g->offset) {
		buf_addstr(out, "\n\n[Showing results with pagination = ");
		if (g->limited)
			buf_addf(out, "limit: %llu%s", (unsigned long long)g->limit, g->offset ? ", " : "");
		if (g->offset)
			buf_addf(out, "offset: %llu", (unsigned long long)g->offset);
		buf_addch(out, ']');
	}
	if (g->query.want.mode == GREP_COUNT)
		buf_addf(out, "\n\nFound %llu total occurrence%s across %zu file%s.", (unsigned long long)matches,
			 matches == 1 ? "" : "s", files, files == 1 ? "" : "s");
}

static void grep_report(struct tool_job *job)
{
	struct grep_job *g = CONTAINER_OF(job, struct grep_job, job);
	AUTO_BUF struct buf entries = { 0 };
	uint64_t matches = 0;

	if (g->rc == -ERR_NOT_FOUND) {
		tool_call_reject(job->call, "Path does not exist: %s. Note: your current working directory is %s.",
				 g->query.walk.root, job->call->env->cwd);
		return;
	}
	if (g->rc < 0) {
		tool_call_fail(job->call, "%s", g->err.text);
		return;
	}
	for (size_t i = 0; i < g->results.count; i++)
		matches += g->results.files[i].hits.matches;
	struct buf *out = &entries;
	const struct grep_want *want = &g->query.want;
	uint64_t entry = 0;

	for (size_t i = 0; i < g->results.count && !g->limited; i++) {
		const struct grep_file *file = &g->results.files[i];
		if (want->mode == GREP_CONTENT) {
			if (i && (want->before || want->after))
				add_lines(g, STR("--\n"), &entry, out);
			add_lines(g, buf_str(&file->hits.text), &entry, out);
		} else if (on_page(g, i)) {
			buf_addstr(out, file->path);
			if (want->mode == GREP_COUNT)
				buf_addf(out, ":%llu", (unsigned long long)file->hits.matches);
			buf_addch(out, '\n');
		}
	}
	if (out->n)
		out->p[--out->n] = '\0';
	put_result(g, buf_str(&entries), matches);
	add_report(g, buf_str(&entries), matches, &job->call->result);
	tool_call_end(job->call);
}

static void grep_release(struct tool_job *job)
{
	struct grep_job *g = CONTAINER_OF(job, struct grep_job, job);

	grep_results_release(&g->results);
	gitignore_release(&g->globs);
	gitignore_release(&g->types);
	hidden_files_free(g->denied);
}

static uint64_t input_number(struct tool_call *call, const char *key, uint64_t otherwise)
{
	uint64_t value;

	return json_u64(json_get(call->input, key), &value) ? value : otherwise;
}

/* False: the call has been rejected. */
static bool grep_set_query(struct grep_job *g, struct tool_call *call)
{
	struct grep_query *q = &g->query;
	struct tool_env *env = call->env;
	struct str globs = json_str(json_get(call->input, "glob"), &call->arena);
	struct str type = json_str(json_get(call->input, "type"), &call->arena);

	q->pattern = json_str(json_get(call->input, "pattern"), &call->arena);
	q->flags = (json_bool(json_get(call->input, "-i")) ? REGEX_NOCASE : 0) |
		   (json_bool(json_get(call->input, "multiline")) ? REGEX_MULTILINE : 0);
	q->base = arena_strdup(&call->arena, env->cwd);
	const char *path = json_get(call->input, "path") ? file_tool_path(call, "path") : q->base;
	if (!path)
		return false;
	/* What was judged; the directory of the agent if the call names none. */
	const char *target = call->file && !strcmp(call->file, path) ? call->file_target : NULL;
	q->want.with_path = !file_is_regular(path);
	g->denied = hidden_files_find_at(env, path, target);
	if (globs.n) {
		/* Patterns are separated by blanks and commas; a comma inside of braces belongs to the pattern. */
		size_t start = 0;
		size_t depth = 0;

		for (size_t i = 0; i <= globs.n; i++) {
			char c = i < globs.n ? globs.p[i] : ' ';
			depth += c == '{';
			depth -= c == '}' && depth;
			if (c != ' ' && (c != ',' || depth))
				continue;
			gitignore_add(&g->globs, (struct str){ globs.p + start, i - start });
			start = i + 1;
		}
	}
	q->walk = (struct walk_options){
		.root = path,
		.target = target,
		.no_ignore = env->settings && env->settings->search_ignored,
		.globs = g->globs.count ? &g->globs : NULL,
		.types = type.n ? &g->types : NULL,
		.denied = g->denied,
		.home = tool_env_get(env, "HOME"),
		.config_home = tool_env_get(env, "XDG_CONFIG_HOME"),
		.limit_ms = TIME_LIMIT_MS,
		.stop = &g->job.stop,
	};
	if (!type.n || file_type_add(type, &g->types))
		return true;
	tool_call_reject(call, "unrecognized file type: " STR_FMT, STR_ARG(type));
	return false;
}

static void grep_start(struct tool_call *call)
{
	struct grep_job *g =
		arena_new(&call->arena, struct grep_job,
			  .job = { .run = grep_run_job, .report = grep_report, .release = grep_release, .call = call });

	const struct json *mode = json_get(call->input, "output_mode");
	struct grep_want *want = &g->query.want;
	want->mode = json_str_is(mode, "content") ? GREP_CONTENT : json_str_is(mode, "count") ? GREP_COUNT : GREP_FILES;
	g->offset = input_number(call, "offset", 0);
	g->limit = input_number(call, "head_limit", DEFAULT_LIMIT);
	if (want->mode == GREP_CONTENT) {
		uint64_t around = input_number(call, "-C", input_number(call, "context", 0));
		want->before = (size_t)MIN(input_number(call, "-B", around), (uint64_t)MAX_CONTEXT);
		want->after = (size_t)MIN(input_number(call, "-A", around), (uint64_t)MAX_CONTEXT);
		want->numbers = !json_is(json_get(call->input, "-n"), JSON_FALSE);
		want->only_matching = json_bool(json_get(call->input, "-o"));
		/* One more than is shown, to know that there is more. */
		if (g->limit && g->offset < SIZE_MAX / 2 && g->limit < SIZE_MAX / 2)
			want->max_lines = (size_t)(g->offset + g->limit + 1);
	}
	if (grep_set_query(g, call))
		tool_job_start(&g->job, call);
	else
		grep_release(&g->job);
}
