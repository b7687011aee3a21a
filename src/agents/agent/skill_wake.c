/* SPDX-License-Identifier: MIT
 * skill_wake.c - see skill_wake.h. A directory is looked at once, when the agent first touches something in it; all of this is
 * lexical, as the tools name their files. */
#include "agents/agent/skill_wake.h"
#include "lib/io/file.h"
#include "core/tool/tool_facts.h"
#include "agents/agent/skill_use.h"
#include "agents/worktree/worktree.h"

struct skill_wake {
	struct map dirs;  /* that were looked at */
	struct map awake; /* nested directories, and files of skills with `paths` */
};

/* One touch of an agent */
struct touch {
	struct agent *agent;
	const char *path; /* as the project has it, also of an agent that works in a worktree */
	bool is_dir;
	bool found;      /* a directory that no agent had found before */
	struct map news; /* of awake: what this touch woke */
};

void skill_wake_free(struct skill_wake *w)
{
	if (!w)
		return;
	map_release(&w->dirs);
	map_release(&w->awake);
	free(w);
}

/* ---- who sleeps -------------------------------------------------------------------------------------------------- */

static bool is_awake(const struct agent *a, const char *key)
{
	for (; a; a = a->is_fork ? a->parent : NULL)
		if (a->wake && map_get(&a->wake->awake, str_from(key)))
			return true;
	return false;
}

bool agent_skill_sleeps(const struct agent *a, const struct catalog_entry *e)
{
	return (e->nested && !is_awake(a, e->nested)) || (e->skill->path_rules.count && !is_awake(a, e->skill->file));
}

static void wake(struct touch *t, const char *key)
{
	if (is_awake(t->agent, key))
		return;
	map_set(&t->agent->wake->awake, str_from(key), t->agent);
	map_set(&t->news, str_from(key), t->agent);
}

/* ---- directories ------------------------------------------------------------------------------------------------- */

/* What others bring into a project is not its word. */
static bool is_foreign(struct str path)
{
	while (path.p) {
		struct str part = str_cut(&path, '/');
		if (str_is(part, ".git") || str_is(part, ".claude") || str_is(part, "node_modules"))
			return true;
	}
	return false;
}

static void look_at(struct touch *t, struct catalog *r, const char *dir)
{
	AUTO_BUF struct buf skills = { 0 };

	buf_addf(&skills, "%s/.claude/skills", dir);
	if (!file_exists(skills.p))
		return;
	t->found |= skill_registry_add_nested(r, dir);
	wake(t, dir);
}

/* From the file up to the working directory, whose own skills everybody has; above a known one all are known. */
static void look_around(struct touch *t, struct catalog *r, const char *root)
{
	AUTO_FREE char *dir = xstrdup(t->path);
	size_t from = strlen(root) + 1;
	char *slash = t->is_dir ? dir + strlen(dir) : strrchr(dir, '/');

	if (strlen(dir) <= from || is_foreign(str_from(dir + from)))
		return;
	for (; slash && slash > dir + from; slash = strrchr(dir, '/')) {
		*slash = '\0';
		if (map_set(&t->agent->wake->dirs, str_from(dir), t->agent))
			return;
		look_at(t, r, dir);
	}
}

/* ---- paths ------------------------------------------------------------------------------------------------------- */

static bool wants_below(const struct touch *t, const struct skill *s, const char *dir, size_t len)
{
	struct str path = str_from(t->path);

	if (path.n <= len || memcmp(path.p, dir, len) != 0 || path.p[len] != '/')
		return false;
	return skill_wants_path(s, (struct str){ path.p + len + 1, path.n - len - 1 });
}

/* Patterns are about the working directory; those of a project's skill also about the directory that has it. */
static bool wants(const struct touch *t, const struct skill *s, const char *root)
{
	const char *claude = s->source == SOURCE_PROJECT ? strstr(s->dir, "/.claude/") : NULL;

	return wants_below(t, s, root, strlen(root)) ||
	       (claude && wants_below(t, s, s->dir, (size_t)(claude - s->dir)));
}

static void wake_by_path(struct touch *t, const struct catalog *r, const char *root)
{
	for (size_t i = 0; !t->is_dir && i < r->active_count; i++) {
		const struct skill *s = r->active[i]->skill;
		if (s->path_rules.count && wants(t, s, root))
			wake(t, s->file);
	}
}

/* ---- a touch ----------------------------------------------------------------------------------------------------- */

/* An agent in a worktree has the skills of the project that it is a copy of. */
static const char *path_in_project(const struct agent *a, struct arena *scratch, const char *path)
{
	while (a->parent && !a->worktree)
		a = a->parent;
	const struct worktree *w = a->parent ? a->worktree : NULL;
	if (!w || !path_is_inside(path, w->path))
		return path;
	return arena_printf(scratch, "%s%s", w->root, path + strlen(w->path));
}

/* path: as the agent says it. */
static void touch(struct touch *t, const char *path)
{
	AUTO_ARENA struct arena scratch = { 0 };
	struct agent *a = t->agent;
	struct catalog *r = a->tree->skills.registry;
	const char *root = a->tree->main.cwd;

	path = path_in_project(a, &scratch, path);
	if (!path_is_inside(path, root))
		return;
	if (!a->wake)
		a->wake = xcalloc(1, sizeof *a->wake);
	t->path = path;
	look_around(t, r, root);
	if (t->found)
		catalog_refresh(r);
	wake_by_path(t, r, root);
}

static bool is_news(void *data, const struct catalog_entry *e)
{
	const struct touch *t = data;

	return (map_get(&t->news, str_from(e->skill->file)) || (e->nested && map_get(&t->news, str_from(e->nested)))) &&
	       !agent_skill_sleeps(t->agent, e);
}

/* The file or directory that a call is about; NULL: none. In the arena. */
static const char *subject_of(const struct agent *a, const struct tool_call *call, struct arena *scratch)
{
	const struct tool_facts *s = tool_facts_find(str_from(call->tool->name));

	if (!s || (s->kind != SUBJECT_READ && s->kind != SUBJECT_EDIT))
		return NULL;
	struct str path = json_str(json_get(call->input, s->primary), scratch);
	return path.n ? path_absolute(scratch, a->env.cwd, path) : NULL;
}

static bool is_directory(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

void agent_touch(struct agent *a, const struct tool_call *call)
{
	AUTO_ARENA struct arena scratch = { 0 };
	struct touch t = { .agent = a };

	if (!a->tree->skills.registry || call->is_error || call->cancelled)
		return;
	const char *path = subject_of(a, call, &scratch);
	if (path) {
		t.is_dir = is_directory(path);
		touch(&t, path);
	}
	if (t.news.count)
		agent_tell_skills(a, is_news, &t);
	map_release(&t.news);
}

void agent_recall_touch(struct agent *a, const char *path)
{
	struct touch t = { .agent = a };

	if (a->tree->skills.registry)
		touch(&t, path);
	map_release(&t.news);
}
