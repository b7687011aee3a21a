/* SPDX-License-Identifier: MIT
 * tool_glob.c - Glob: finds files by name, newest first. Hidden and ignored files count unless the environment says
 * otherwise (CLAUDE_CODE_GLOB_HIDDEN=false, CLAUDE_CODE_GLOB_NO_IGNORE=false). */
#include <pthread.h>
#include <sys/stat.h>
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "tools/files/text_file.h"
#include "core/tool/tool.h"
#include "core/tool/tool_list.h"
#include "tools/search/walk.h"

static void glob_start(struct tool_call *call);

const struct tool tool_glob = { TOOL_GLOB_FACTS, .start = glob_start, .cancel = tool_job_cancel };

enum { MAX_SHOWN = 100, KEEP = 50 * MAX_SHOWN, TIME_LIMIT_MS = 20000 };

struct glob_hit {
	char *path;
	int64_t mtime_ns;
};

struct glob_job {
	struct tool_job job;
	struct walk_options walk;
	struct gitignore pattern;
	struct hidden_files *denied;
	int rc;
	struct err err;
	pthread_mutex_t lock; /* for the hits */
	struct glob_hit *hits;
	size_t count, cap;
	uint64_t total;
};

static int compare_age(const void *a, const void *b)
{
	const struct glob_hit *x = a;
	const struct glob_hit *y = b;

	if (x->mtime_ns != y->mtime_ns)
		return x->mtime_ns > y->mtime_ns ? -1 : 1;
	return path_compare(x->path, y->path);
}

static void keep_newest(struct glob_job *g)
{
	if (g->count)
		qsort(g->hits, g->count, sizeof *g->hits, compare_age);
	for (size_t i = MAX_SHOWN; i < g->count; i++)
		free(g->hits[i].path);
	g->count = MIN(g->count, (size_t)MAX_SHOWN);
}

static bool on_file(void *data, unsigned worker, struct str path)
{
	struct glob_job *g = data;
	struct stat st;
	struct glob_hit hit = { .path = xstrdup(path.p) };

	if (lstat(path.p, &st) == 0)
		hit.mtime_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	pthread_mutex_lock(&g->lock);
	*xpush(g->hits, g->count, g->cap) = hit;
	g->total++;
	if (g->count == KEEP) /* so that a tree of millions costs no more than one of thousands */
		keep_newest(g);
	pthread_mutex_unlock(&g->lock);
	return true;
}

static void glob_run(struct tool_job *job)
{
	struct glob_job *g = CONTAINER_OF(job, struct glob_job, job);

	g->rc = walk_run(&g->walk, &g->err);
	keep_newest(g);
}

static void glob_report(struct tool_job *job)
{
	struct glob_job *g = CONTAINER_OF(job, struct glob_job, job);
	struct tool_call *call = job->call;
	struct buf *out = &call->result;
	struct json_out w = json_out(&call->result_json);

	if (g->rc < 0 && g->rc != -ERR_IO) { /* a directory that is not there has no files */
		tool_call_fail(call, "%s. Use a more specific pattern or path.", g->err.text);
		return;
	}
	if (!g->count)
		buf_addstr(out, "No files found");
	json_putf(&w, "{durationMs:%lld, numFiles:%lld, filenames:[",
		  (long long)(loop_now_ms(call->env->loop) - call->started_ms), (long long)g->count);
	for (size_t i = 0; i < g->count; i++) {
		const char *shown = tool_env_shown_path(call->env, g->hits[i].path);
		json_put_cstr(&w, shown);
		buf_addf(out, "%s%s", i ? "\n" : "", shown);
	}
	json_putf(&w, "], truncated:!!%d, totalMatches:%lld}", g->total > g->count, (long long)g->total);
	if (g->total > g->count)
		buf_addf(out,
			 "\n(Results are truncated: the newest %d of %llu files. Use a more specific pattern or path.)",
			 MAX_SHOWN, (unsigned long long)g->total);
	tool_call_end(call);
}

static void glob_release_job(struct tool_job *job)
{
	struct glob_job *g = CONTAINER_OF(job, struct glob_job, job);

	for (size_t i = 0; i < g->count; i++)
		free(g->hits[i].path);
	free(g->hits);
	gitignore_release(&g->pattern);
	hidden_files_free(g->denied);
	pthread_mutex_destroy(&g->lock);
}

static bool is_off(const struct tool_env *env, const char *name)
{
	const char *value = tool_env_get(env, name);

	return value && (!strcmp(value, "false") || !strcmp(value, "0"));
}

/* False: the call has been rejected. */
static bool set_base(struct tool_call *call, bool pattern_is_absolute, char **ret_base)
{
	struct stat st;

	*ret_base = arena_strdup(&call->arena, pattern_is_absolute ? "/" : call->env->cwd);
	if (!pattern_is_absolute && json_get(call->input, "path"))
		*ret_base = file_tool_path(call, "path");
	if (!*ret_base)
		return false;
	bool there = stat(*ret_base, &st) == 0;
	if (there && S_ISDIR(st.st_mode))
		return true;
	tool_call_reject(call, "%s: %s. Note: your current working directory is %s.",
			 there ? "Path is not a directory" : "Directory does not exist", *ret_base, call->env->cwd);
	return false;
}

/* The directory to walk is the part of the pattern without wildcards: "src/a/x?.c" needs src/a only. Below it the rest
 * is anchored; a pattern without any slash matches in all directories, as an ignore rule does. */
static bool set_pattern(struct glob_job *g, struct tool_call *call)
{
	struct str pattern = json_str(json_get(call->input, "pattern"), &call->arena);
	bool absolute = pattern.n && pattern.p[0] == '/';
	struct str fixed = glob_static_prefix(pattern);
	bool anchored = absolute || fixed.n;
	struct str rest = pattern;
	char *base;

	if (!set_base(call, absolute, &base))
		return false;
	g->walk.root = fixed.n ? path_absolute(&call->arena, base, fixed) : base;
	g->walk.globs_base = g->walk.root;
	g->walk.target = call->file && !strcmp(call->file, g->walk.root) ? call->file_target : NULL;
	g->walk.denied = g->denied = hidden_files_find_at(call->env, g->walk.root, g->walk.target);
	if (anchored)
		rest = (struct str){ pattern.p + fixed.n + 1, pattern.n - fixed.n - 1 };
	bool marked = rest.n && (rest.p[0] == '!' || rest.p[0] == '#'); /* no negation, no comment */
	gitignore_add(&g->pattern, str_from(arena_printf(&call->arena, "%s" STR_FMT,
							 anchored ? "/"
							 : marked ? "\\"
								  : "",
							 STR_ARG(rest))));
	if (g->pattern.count)
		return true;
	tool_call_reject(call, "The pattern '" STR_FMT "' is not a valid glob for files.", STR_ARG(pattern));
	return false;
}

static void glob_start(struct tool_call *call)
{
	struct glob_job *g =
		arena_new(&call->arena, struct glob_job,
			  .job = { .run = glob_run, .report = glob_report, .release = glob_release_job, .call = call });

	pthread_mutex_init(&g->lock, NULL);
	g->walk = (struct walk_options){
		.hidden = !is_off(call->env, "CLAUDE_CODE_GLOB_HIDDEN"),
		.no_ignore = !is_off(call->env, "CLAUDE_CODE_GLOB_NO_IGNORE"),
		.home = tool_env_get(call->env, "HOME"),
		.config_home = tool_env_get(call->env, "XDG_CONFIG_HOME"),
		.threads = walk_threads(),
		.stop = &g->job.stop,
		.limit_ms = TIME_LIMIT_MS,
		.globs = &g->pattern,
		.visit = on_file,
		.data = g,
	};
	if (set_pattern(g, call))
		tool_job_start(&g->job, call);
	else
		glob_release_job(&g->job);
}
