/* SPDX-License-Identifier: MIT
 * result_save.c - content that is neither text nor an image that the model can see becomes a file, which tools can read. */
#include "mcp/client/result_int.h"
#include "lib/base/base64.h"
#include "lib/io/file.h"

enum { FILES_LIMIT = 50 }; /* of one call */

static const struct {
	const char *mime, *extension;
} types[] = {
	{ "application/gzip", "gz" }, { "application/json", "json" }, { "application/pdf", "pdf" },
	{ "application/zip", "zip" }, { "audio/mpeg", "mp3" },        { "audio/ogg", "ogg" },
	{ "audio/wav", "wav" },       { "image/bmp", "bmp" },         { "image/gif", "gif" },
	{ "image/jpeg", "jpg" },      { "image/png", "png" },         { "image/svg+xml", "svg" },
	{ "image/webp", "webp" },     { "text/html", "html" },        { "text/plain", "txt" },
	{ "video/mp4", "mp4" },
};

static const char *extension_of(struct str mime)
{
	for (size_t i = 0; i < COUNT_OF(types); i++)
		if (str_is_nocase(mime, types[i].mime))
			return types[i].extension;
	return "bin";
}

static size_t padding_of(struct str s)
{
	return s.n < 2 || s.p[s.n - 1] != '=' ? 0 : s.p[s.n - 2] == '=' ? 2 : 1;
}

bool mcp_is_base64(struct str s)
{
	size_t end = s.n - padding_of(s);

	for (size_t i = 0; i < end; i++) {
		char c = s.p[i];
		if (!((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
		      c == '/'))
			return false;
	}
	return s.n && s.n % 4 == 0;
}

char *mcp_result_save(struct tool_call *call, struct str mime, struct str data, unsigned *count)
{
	char *text_path = tool_result_path(call);
	AUTO_BUF struct buf bytes = { 0 };
	struct err err = { 0 };

	if (!text_path || *count >= FILES_LIMIT || !data.n || base64_decode(&bytes, data, NULL) < 0)
		return NULL;
	struct str stem = { text_path, strlen(text_path) - strlen(".txt") };
	char *path = arena_printf(&call->arena, STR_FMT "-%u.%s", STR_ARG(stem), ++*count, extension_of(mime));
	if (file_make_parents(path, &err) < 0 || file_replace(path, bytes.p, bytes.n, &err) < 0)
		return NULL;
	return path;
}
