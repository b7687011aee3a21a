/* SPDX-License-Identifier: MIT
 * context.c - what an agent knows before its first prompt. */
#include "agents/agent/context.h"
#include <sys/utsname.h>
#include "lib/json/json_write.h"
#include "core/model/catalog.h"
#include "core/model/head_json.h"
#include "config/settings/instructions.h"
#include "agents/agent/hooks.h"
#include "agents/agent/plan.h"
#include "agents/agent/tool_load.h"
#include "agents/agent/tree.h"

enum { USUAL_MAX_TOKENS = 32000 };

void context_environment(struct buf *out, struct agent *a)
{
	struct utsname system;
	char now[ISO_TIME_LEN + 1];

	id_iso_time(id_wall_ms(), now);
	buf_addf(out, "<system-reminder>\n# Environment\nWorking directory: %s\n", a->cwd);
	for (size_t i = 1; a->env.dirs[0] && a->env.dirs[i]; i++)
		buf_addf(out, "Additional working directory: %s\n", a->env.dirs[i]);
	buf_addf(out, "Git repository: %s\n", a->branch[0] ? "yes" : "no");
	if (a->branch[0])
		buf_addf(out, "Git branch: %s\n", a->branch);
	if (uname(&system) == 0)
		buf_addf(out, "Platform: %s %s\n", system.sysname, system.release);
	buf_addf(out, "Date: %.10s\nModel: %s\n", now, a->model);
	if (plan_is_on(a)) {
		plan_explain(a, out);
		buf_addch(out, '\n');
	}
	buf_addstr(out, "</system-reminder>");
}

static void on_file(void *data, const struct instruction_file *file)
{
	struct agent_tree *t = data;
	const char *reason = file->parent ? "include" : "session_start";
	struct hook_fire_spec spec = { .event = HOOK_INSTRUCTIONS_LOADED, .subject = str_from(reason) };
	AUTO_BUF struct buf fields = { 0 };
	struct json_out w = json_out(&fields);

	if (!agent_has_hooks(&t->main, &spec))
		return;
	json_open(&w, '{');
	json_kcstr(&w, "file_path", file->path);
	json_kcstr(&w, "memory_type", file->kind);
	json_kcstr(&w, "load_reason", reason);
	if (file->parent)
		json_kcstr(&w, "parent_file_path", file->parent);
	json_close(&w);
	spec.fields = buf_str(&fields);
	agent_notify_hooks(&t->main, &spec);
}

static struct segment *collect(struct agent_tree *t, bool managed_only)
{
	AUTO_BUF struct buf notes = { 0 };
	AUTO_BUF struct buf files = { 0 };
	AUTO_BUF struct buf text = { 0 };

	instructions_collect(&files, &notes,
			     &(struct instructions_spec){ .cwd = managed_only ? NULL : t->main.cwd,
							  .config_dir = managed_only ? NULL : t->config_dir,
							  .managed_dir = t->managed_dir,
							  .on_file = managed_only ? NULL : on_file,
							  .data = t });
	if (notes.n && !managed_only)
		t->on_event(t->data, &(struct event){ .kind = EVENT_ERROR, .text = str_trim(buf_str(&notes)) });
	if (!files.n)
		return NULL;
	buf_addf(&text,
		 "<system-reminder>\n# Instructions of the user and the project\nFollow them; they win over your "
		 "defaults.\n\n%s</system-reminder>",
		 files.p);
	return segment_text(buf_str(&text));
}

struct segment *context_instructions(struct agent_tree *t, bool managed_only)
{
	struct tree_instructions *i = &t->instructions[managed_only];

	if (!i->collected && !getenv("CLAUDE_CODE_DISABLE_CLAUDE_MDS"))
		i->text = collect(t, managed_only);
	i->collected = true;
	return i->text ? segment_ref(i->text) : NULL;
}

struct head *context_head(struct agent *a, struct str system, const char *effort)
{
	AUTO_ARENA struct arena arena = { 0 };
	AUTO_BUF struct buf bytes = { 0 };
	int64_t most = a->tree->max_tokens;

	head_write(&bytes, &(struct head_spec){
				   .model = a->model,
				   .max_tokens = most ? most : MIN(model_find(a->model)->max_output, USUAL_MAX_TOKENS),
				   .system = system,
				   .effort = effort,
				   .thinking = a->tree->thinking,
				   .display = a->tree->thinking_display,
				   .task_budget = a->parent ? 0 : a->tree->task_budget,
				   .tools = agent_definitions(a, &arena),
			   });
	return head_intern(&a->tree->services->heads, buf_str(&bytes));
}

struct head *context_head_like(struct agent *a, const struct head *before)
{
	AUTO_ARENA struct arena arena = { 0 };
	struct head_texts texts = head_read(&arena, before->bytes);

	return context_head(a, texts.system, texts.effort);
}
