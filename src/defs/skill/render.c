/* SPDX-License-Identifier: MIT
 * render.c - the text of a skill for a model. The driver is render_step(); a callback records that a call has ended. */
#include "defs/skill/render.h"
#include "lib/base/id.h"
#include "lib/base/map.h"
#include "lib/io/file.h"
#include "lib/json/json_write.h"
#include "defs/skill/template.h"

enum { COMMAND_MS = 2 * 60 * 1000, MOST_FILES = 20, ID_DIGITS = 24, LONGEST_TEXT = 1 << 20 };

enum render_state { RENDER_COMMANDS, RENDER_FILES, RENDER_DONE };

struct skill_render {
	struct skill_render_spec spec;
	struct arena arena; /* a copy of the arguments, paths */
	struct kick kick;
	skill_render_fn *done;
	void *data;
	enum render_state state;
	bool cancelled;
	struct tool_call *call; /* that runs or has ended; owned */
	bool call_over;         /* fact */
	struct template_values values;
	struct template_parts parts;
	size_t at;         /* the part that comes next */
	struct buf text;   /* so far */
	struct buf prose;  /* the same without output of commands: files are named in it */
	struct str unread; /* of prose */
	const char *path;  /* of the file that is being read */
	struct map files;  /* that were attached, by path */
	struct buf failure;
};

static void render_fail(struct skill_render *r, const char *what, struct str why)
{
	buf_addf(&r->failure, "Skill %s: %s: " STR_FMT, r->spec.skill->name, what, STR_ARG(str_trim(why)));
	r->state = RENDER_DONE;
}

static void on_call_done(struct tool_call *call)
{
	struct skill_render *r = call->owner;

	r->call_over = true;
	loop_kick(r->spec.env->loop, &r->kick);
}

static void render_start_call(struct skill_render *r, const struct tool *tool, struct json_out *input)
{
	char id[sizeof "skill_" + ID_DIGITS] = "skill_";

	json_close(input);
	id_random(id + sizeof "skill_" - 1, ID_DIGITS, "abcdefghijklmnopqrstuvwxyz0123456789");
	r->call_over = false;
	r->call =
		tool_call_new(r->spec.env, r->spec.gate, tool, str_from(id), str_from(tool->name), buf_str(input->buf));
	r->call->owner = r;
	r->call->done = on_call_done;
	if (r->cancelled)
		tool_call_cancel(r->call);
	tool_call_start(r->call);
}

struct tool_call *skill_render_call(const struct skill_render *r)
{
	return r->call_over ? NULL : r->call;
}

static void render_run_command(struct skill_render *r, struct str command)
{
	AUTO_BUF struct buf filled = { 0 }, input = { 0 };
	struct json_out w = json_out(&input);

	r->values.in_command = true;
	template_fill(&filled, command, &r->values);
	r->values.in_command = false;
	if (r->spec.no_commands) {
		buf_addstr(&r->text, "[the command was not run: disableSkillShellExecution is set]");
		return;
	}
	if (!r->spec.shell) {
		render_fail(r, "it runs a command", STR("this agent has no Bash tool"));
		return;
	}
	if (r->values.refused) {
		render_fail(r, "it runs a command with the name of a directory that a shell would read as code",
			    str_from(r->values.refused));
		return;
	}
	json_putf(&w, "{command:'%.*s', timeout:%lld", STR_ARG(buf_str(&filled)), (long long)COMMAND_MS);
	render_start_call(r, r->spec.shell, &w);
}

static void render_step_commands(struct skill_render *r)
{
	if (r->call) {
		struct tool_call *call = TAKE(r->call);
		struct str output = buf_str(&call->result);
		if (call->is_error) {
			AUTO_BUF struct buf what = { 0 };
			struct str command = json_str(json_get(call->input, "command"), &call->arena);
			buf_addf(&what, "the command `" STR_FMT "` %s", STR_ARG(command),
				 call->denied ? "is not allowed" : "failed");
			render_fail(r, what.p, output);
		} else {
			output = str_trim(output);
			buf_append(&r->text, output);
		}
		tool_call_free(call);
	}
	while (r->state == RENDER_COMMANDS && !r->call && r->at < r->parts.count) {
		const struct template_part *part = &r->parts.list[r->at++];
		size_t from = r->text.n;
		if (part->is_command) {
			render_run_command(r, part->text);
			continue;
		}
		template_fill(&r->text, part->text, &r->values);
		buf_add(&r->prose, r->text.p + from, r->text.n - from);
		buf_addch(&r->prose, '\n');
	}
	if (r->call || r->state != RENDER_COMMANDS)
		return;
	struct str given = str_trim(r->spec.arguments);
	if (given.n && !r->values.used) {
		buf_addf(&r->text, "\n\nARGUMENTS: " STR_FMT, STR_ARG(given));
		buf_append(&r->prose, given);
	}
	r->unread = buf_str(&r->prose);
	r->state = RENDER_FILES;
}

static void render_step_files(struct skill_render *r)
{
	struct str name;

	if (r->call) {
		struct str content = str_trim(buf_str(&r->call->result));
		if (r->call->is_error)
			buf_addf(&r->text, "\n\n(%s was not attached: " STR_FMT ")", r->path, STR_ARG(content));
		else
			buf_addf(&r->text, "\n\n<file path=\"%s\">\n" STR_FMT "\n</file>", r->path, STR_ARG(content));
		tool_call_free(TAKE(r->call));
	}
	while (!r->call && r->spec.reader && template_next_file(&r->unread, &name)) {
		AUTO_BUF struct buf input = { 0 };
		struct json_out w = json_out(&input);
		/* Most words behind an @ name a person or something else: only what is a file is one. */
		r->path = path_absolute(&r->arena, r->spec.env->cwd, name);
		if (!file_is_regular(r->path) || map_get(&r->files, str_from(r->path)))
			continue;
		if (r->files.count == MOST_FILES) {
			buf_addf(&r->text, "\n\n(%s and further files were not attached: %d is the most)", r->path,
				 MOST_FILES);
			break;
		}
		map_set(&r->files, str_from(r->path), r);
		json_putf(&w, "{file_path:'%s'", r->path);
		render_start_call(r, r->spec.reader, &w);
	}
	if (!r->call)
		r->state = RENDER_DONE;
}

static void render_step(struct kick *kick)
{
	struct skill_render *r = CONTAINER_OF(kick, struct skill_render, kick);

	if (r->call && !r->call_over)
		return;
	if (r->cancelled)
		r->state = RENDER_DONE;
	if (r->state == RENDER_COMMANDS)
		render_step_commands(r);
	if (r->state == RENDER_FILES)
		render_step_files(r);
	if (r->state == RENDER_DONE) {
		if (r->cancelled && !r->failure.n)
			render_fail(r, "it was cancelled", STR("nothing of it was used"));
		if (r->text.n > LONGEST_TEXT && !r->failure.n)
			render_fail(r, "its text is too long", STR("1 MB is the most"));
		struct skill_text result = { .text = str_trim(buf_str(&r->text)), .failure = buf_str(&r->failure) };
		r->done(r->data, &result);
		kick_cancel(&r->kick);
		tool_call_free(r->call);
		template_parts_release(&r->parts);
		template_values_release(&r->values);
		map_release(&r->files);
		buf_release(&r->text);
		buf_release(&r->prose);
		buf_release(&r->failure);
		skill_unref(r->spec.skill);
		arena_release(&r->arena);
		free(r);
	}
}

struct skill_render *skill_render_start(const struct skill_render_spec *spec, skill_render_fn *done, void *data)
{
	struct skill_render *r =
		xnew(struct skill_render, .spec = *spec, .done = done, .data = data, .kick.step = render_step);

	r->spec.skill = skill_ref(spec->skill);
	r->spec.arguments = arena_str(&r->arena, spec->arguments);
	r->values = (struct template_values){ .skill = r->spec.skill,
					      .arguments = r->spec.arguments,
					      .session_id = spec->session_id,
					      .effort = spec->effort,
					      .project_dir = spec->project_dir };
	template_values_open(&r->values);
	template_split(&r->parts, r->spec.skill->body);
	if (!r->spec.skill->is_command)
		buf_addf(&r->text, "Base directory for this skill: %s\n\n", r->spec.skill->dir);
	loop_kick(spec->env->loop, &r->kick);
	return r;
}

void skill_render_cancel(struct skill_render *r)
{
	r->cancelled = true;
	if (r->call && !r->call_over)
		tool_call_cancel(r->call);
	else
		loop_kick(r->spec.env->loop, &r->kick);
}
