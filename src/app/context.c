/* SPDX-License-Identifier: MIT
 * context.c - what an agent knows before its first prompt. Whatever differs between two runs (directory, date, branch) goes
 * into the first message, never into the system prompt, so that the prompt's prefix stays the same for the cache. */
#include <sys/utsname.h>
#include "app/app_int.h"
#include "app/texts.h"
#include "settings/git_head.h"
#include "settings/instructions.h"

void context_system_prompt(struct buf *out, const struct options *o)
{
	buf_addstr(out, o->system_prompt ? o->system_prompt : system_prompt_text);
	if (o->append_system_prompt && o->append_system_prompt[0])
		buf_addf(out, "%s%s", out->n ? "\n\n" : "", o->append_system_prompt);
}

static void add_environment(struct buf *out, const struct cadre_session *s)
{
	struct utsname system;
	char now[ISO_TIME_LEN + 1];

	id_iso_time(id_wall_ms(), now);
	buf_addf(out, "# Environment\nWorking directory: %s\n", s->cwd);
	for (size_t i = 1; s->env.dirs[i]; i++)
		buf_addf(out, "Additional working directory: %s\n", s->env.dirs[i]);
	buf_addf(out, "Git repository: %s\n", s->branch[0] ? "yes" : "no");
	if (s->branch[0])
		buf_addf(out, "Git branch: %s\n", s->branch);
	if (uname(&system) == 0)
		buf_addf(out, "Platform: %s %s\n", system.sysname, system.release);
	buf_addf(out, "Date: %.10s\nModel: %s\n", now, s->model);
}

void context_first_message(struct buf *out, struct cadre_session *s)
{
	AUTO_BUF struct buf notes = { 0 };
	AUTO_BUF struct buf files = { 0 };

	buf_addstr(out, "<system-reminder>\n");
	add_environment(out, s);
	if (!getenv("CLAUDE_CODE_DISABLE_CLAUDE_MDS"))
		instructions_collect(&files, &notes,
				     &(struct instructions_spec){ .cwd = s->cwd,
								  .config_dir = s->cadre->store.config_dir,
								  .managed_dir = "/etc/claude-code" });
	if (files.n)
		buf_addf(
			out,
			"\n# Instructions of the user and the project\nFollow them; they win over your defaults.\n\n%s",
			files.p);
	buf_addstr(out, "</system-reminder>");
	if (notes.n)
		session_emit(s, &(struct event){ .kind = EVENT_ERROR, .text = str_trim(buf_str(&notes)) });
}
