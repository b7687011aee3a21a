/* SPDX-License-Identifier: MIT
 * tool_read.c - Read: a file as the model can see it. Its first bytes decide what it is; only a notebook, which is JSON like
 * many others, is known by its name. */
#include "tools/file_tool.h"
#include "tools/media/image_head.h"
#include "tools/read.h"
#include "tools/tool_job.h"
#include "tools/tool_list.h"

static void read_start(struct tool_call *call);

const struct tool tool_read = {
	TOOL_READ_FACTS,
	.start = read_start,
	.cancel = tool_job_cancel,
};

enum {
	MOST_TOKENS = 8 << 20,
	DEFAULT_TOKENS = 25000,
	NOTICE_ROOM = 600,
};

static size_t cap_from(const struct tool_env *env, bool allow_large)
{
	uint64_t tokens = DEFAULT_TOKENS;
	const char *set = tool_env_get(env, "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS");

	if (allow_large)
		return SIZE_MAX;
	if (!set || !str_to_u64(str_from(set), &tokens) || !tokens || tokens > MOST_TOKENS)
		tokens = DEFAULT_TOKENS;
	/* The notice must fit as well, or the page would be too large for the conversation and go to a file. */
	size_t bytes = (size_t)tokens * READ_BYTES_PER_TOKEN;
	return bytes > 2 * NOTICE_ROOM ? bytes - NOTICE_ROOM : bytes;
}

static bool take_args(struct tool_call *call, struct read_args *args)
{
	const struct json *pages = json_get(call->input, "pages");

	if (!file_tool_find(call, "file_path", &args->path, &args->target))
		return false;
	bool has_offset = json_u64(json_get(call->input, "offset"), &args->first);
	args->ranged = json_u64(json_get(call->input, "limit"), &args->limit) || has_offset;
	args->first = MAX(args->first, (uint64_t)1);
	args->allow_large = json_bool(json_get(call->input, "allow_large"));
	args->cap_bytes = cap_from(call->env, args->allow_large);
	if (pages)
		args->pages = json_str(pages, &call->arena);
	return true;
}

/* What cannot be opened is text: that one says what is wrong. */
static void (*reader_for(const char *target))(struct tool_call *, const struct read_args *)
{
	AUTO_CLOSE int fd = -1;
	char head[IMAGE_MAGIC_LEN];
	struct stat st;

	if (text_file_open(target, &fd, &st, NULL) < 0)
		return read_text;
	ssize_t n = read(fd, head, sizeof head);
	struct str bytes = { head, n > 0 ? (size_t)n : 0 };
	if (image_type_of(bytes))
		return read_image;
	if (str_starts(bytes, STR("%PDF-")))
		return read_pdf;
	return bytes.n && str_ends(str_from(target), STR(".ipynb")) ? read_notebook : read_text;
}

static void read_start(struct tool_call *call)
{
	struct read_args args = { 0 };

	if (!take_args(call, &args))
		return;
	void (*reader)(struct tool_call *, const struct read_args *) = reader_for(args.target);
	if (args.pages.p && reader != read_pdf) {
		tool_call_reject(call, "pages is for PDF documents, and %s is none: it does not begin with %%PDF-.",
				 args.path);
		return;
	}
	reader(call, &args);
}
