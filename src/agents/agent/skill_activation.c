/* SPDX-License-Identifier: MIT
 * skill_activation.c - skills that become active, and instructions that are read, when a tool touches a matching path. A directory is
 * searched once, when the agent first touches something in it; all of this is lexical, as the tools name their files. */
#include "agents/agent/skill_use.h"
#include "agents/agent/context.h"
#include "lib/io/file.h"
#include "core/tool/tool_facts.h"
#include "agents/worktree/worktree.h"

struct skill_activation {
	struct map dirs;   /* that were searched */
	struct map active; /* nested directories, and files of skills with `paths` */
};

/* One touch of an agent */
struct touch {
	struct agent *agent;
	const char *path; /* as the project has it, also of an agent that works in a worktree */
	bool is_dir;
	bool restored, summarized; /* in an earlier process; before a compaction */
	bool found;                /* a directory that no agent had found before */
	struct map news;           /* of active: activated by this touch */
};

void skill_activation_free(struct skill_activation *w)
{
	if (!w)
		return;
	map_release(&w->dirs);
	map_release(&w->active);
	free(w);
}

static bool is_active(const struct agent *a, const char *key)
{
	for (; a; a = a->is_fork ? a->parent : NULL)
		if (a->activation && map_get(&a->activation->active, str_from(key)))
			return true;
	return false;
}

bool agent_skill_inactive(const struct agent *a, const struct catalog_entry *e)
{
	return (e->nested && !is_active(a, e->nested)) || (e->skill->path_rules.count && !is_active(a, e->skill->file));
}

static void activate_entry(struct touch *t, const char *key)
{
	if (is_active(t->agent, key))
		return;
	map_set(&t->agent->activation->active, str_from(key), t->agent);
	map_set(&t->news, str_from(key), t->agent);
}

/* From the file up to the working directory, whose own skills every agent has; above a known one all are known. */
static void activate_nested(struct touch *t, struct catalog *r, const char *root)
{
	AUTO_FREE char *dir = xstrdup(t->path);
	char *slash = t->is_dir ? dir + strlen(dir) : strrchr(dir, '/');

	for (; slash && slash > dir + strlen(root) + 1; slash = strrchr(dir, '/')) {
		AUTO_BUF struct buf skills = { 0 };
		*slash = '\0';
		if (map_set(&t->agent->activation->dirs, str_from(dir), t->agent))
			return;
		buf_addf(&skills, "%s/.claude/skills", dir);
		if (!file_exists(skills.p))
			continue;
		t->found |= skill_registry_add_nested(r, dir);
		activate_entry(t, dir);
	}
}

static bool wants_below(const struct touch *t, const struct skill *s, const char *dir, size_t len)
{
	struct str path = str_from(t->path);

	if (path.n <= len || memcmp(path.p, dir, len) != 0 || path.p[len] != '/')
		return false;
	return gitignore_covers(&s->path_rules, str_tail(path, len + 1));
}

/* Directories that the project did not write */
static bool is_foreign(const char *below)
{
	for (struct str rest = str_from(below); rest.p;) {
		struct str part = str_cut(&rest, '/');
		if (str_is(part, ".git") || str_is(part, ".claude") || str_is(part, "node_modules"))
			return true;
	}
	return false;
}

/* path: as the agent names it. An agent in a worktree has skills and instructions of the project that it is a copy of. */
static void touch_path(struct touch *t, const char *path)
{
	AUTO_ARENA struct arena scratch = { 0 };
	struct agent *a = t->agent;
	struct catalog *r = a->tree->skills.registry;
	const char *root = a->tree->main.cwd;
	size_t len = strlen(root);

	const struct agent *in = a;
	while (in->parent && !in->worktree)
		in = in->parent;
	if (in->parent && path_is_inside(path, in->worktree->path))
		path = arena_printf(&scratch, "%s%s", in->worktree->root, path + strlen(in->worktree->path));
	if (!path_is_inside(path, root) || strlen(path) <= len + 1)
		return;
	bool foreign = is_foreign(path + len + 1);
	if (!t->is_dir && !foreign && !t->summarized)
		agent_add_path_instructions(a, path, t->restored);
	if (!r)
		return;
	if (!a->activation)
		a->activation = xcalloc(1, sizeof *a->activation);
	t->path = path;
	if (!foreign)
		activate_nested(t, r, root);
	if (t->found)
		catalog_refresh(r);
	/* Patterns are relative to the working directory; those of a project's skill also to the directory that has it. */
	for (size_t i = 0; !t->is_dir && i < r->active_count; i++) {
		const struct skill *s = r->active[i]->skill;
		const char *claude = s->source == SOURCE_PROJECT ? strstr(s->dir, "/.claude/") : NULL;
		if (s->path_rules.count && (wants_below(t, s, root, strlen(root)) ||
					    (claude && wants_below(t, s, s->dir, (size_t)(claude - s->dir)))))
			activate_entry(t, s->file);
	}
}

static bool is_news(void *data, const struct catalog_entry *e)
{
	const struct touch *t = data;

	return (map_get(&t->news, str_from(e->skill->file)) || (e->nested && map_get(&t->news, str_from(e->nested)))) &&
	       !agent_skill_inactive(t->agent, e);
}

void agent_touch(struct agent *a, const struct tool_call *call)
{
	AUTO_ARENA struct arena scratch = { 0 };
	struct touch t = { .agent = a };
	const struct tool_facts *facts = tool_facts_find(str_from(call->tool->name));

	if (call->is_error || call->cancelled || !facts || (facts->kind != SUBJECT_READ && facts->kind != SUBJECT_EDIT))
		return;
	struct str subject = json_str(json_get(call->input, facts->primary), &scratch);
	if (!subject.n)
		return;
	const char *path = path_absolute(&scratch, a->env.cwd, subject);
	t.is_dir = file_is_dir(path);
	touch_path(&t, path);
	if (t.news.count)
		agent_notify_skills(a, is_news, &t);
	map_release(&t.news);
}

void agent_restore_touch(struct agent *a, const char *path, bool summarized)
{
	struct touch t = { .agent = a, .restored = true, .summarized = summarized };

	touch_path(&t, path);
	map_release(&t.news);
}
