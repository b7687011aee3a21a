/* SPDX-License-Identifier: MIT
 * web_page.c - what a server sent, by its type: HTML, other text, or a file. */
#include "tools/web/web_page.h"
#include "lib/io/file.h"
#include "tools/web/html_markdown.h"
#include "tools/web/web_charset.h"

enum { LOOKED_AT_BYTES = 4096, DECODED_LIMIT_BYTES = 16 << 20, TIME_LIMIT_MS = 2000 };

enum page_kind { PAGE_HTML, PAGE_TEXT, PAGE_FILE };

static const struct {
	const char *type, *extension;
} files[] = {
	{ "application/gzip", "gz" }, { "application/pdf", "pdf" }, { "application/zip", "zip" },
	{ "audio/mpeg", "mp3" },      { "audio/ogg", "ogg" },       { "image/gif", "gif" },
	{ "image/jpeg", "jpg" },      { "image/png", "png" },       { "image/webp", "webp" },
	{ "video/mp4", "mp4" },
};

static const char *const texts[] = {
	"application/ecmascript", "application/javascript", "application/json", "application/ld+json",
	"application/sql",        "application/toml",       "application/xml",  "application/x-javascript",
	"application/x-ndjson",   "application/x-sh",       "application/yaml", "application/x-yaml",
};

static const char *extension_of(struct str type)
{
	for (size_t i = 0; i < COUNT_OF(files); i++)
		if (str_is_nocase(type, files[i].type))
			return files[i].extension;
	return "bin";
}

/* Text does not have these, but for UTF-16, which says so at its beginning. */
static bool looks_binary(struct str bytes)
{
	bool marked = str_starts(bytes, STR("\xff\xfe")) || str_starts(bytes, STR("\xfe\xff"));

	return !marked && bytes.n && memchr(bytes.p, '\0', MIN(bytes.n, (size_t)LOOKED_AT_BYTES));
}

static bool looks_like_html(struct str bytes)
{
	static const char *const begins[] = { "<!doctype html", "<html", "<head", "<body" };
	struct str text = str_trim((struct str){ bytes.p, MIN(bytes.n, (size_t)LOOKED_AT_BYTES) });

	for (size_t i = 0; i < COUNT_OF(begins); i++)
		if (text.n >= strlen(begins[i]) && !strncasecmp(text.p, begins[i], strlen(begins[i])))
			return true;
	return false;
}

static bool is_text_type(struct str type)
{
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (str_is_nocase(type, texts[i]))
			return true;
	return (type.n > 5 && !strncasecmp(type.p, "text/", 5)) || str_ends(type, STR("+json")) ||
	       str_ends(type, STR("+xml"));
}

static enum page_kind kind_of(struct str type, struct str bytes)
{
	bool is_html = str_is_nocase(type, "text/html") || str_is_nocase(type, "application/xhtml+xml");

	if (type.n && !is_html && !is_text_type(type) && !str_is_nocase(type, "application/octet-stream"))
		return PAGE_FILE;
	if (is_html || (!type.n && looks_like_html(bytes)))
		return PAGE_HTML; /* browsers show it as such whatever is in it, and so it is read */
	if (looks_binary(bytes))
		return PAGE_FILE;
	return PAGE_TEXT;
}

static struct str charset_of(struct str parameters)
{
	while (parameters.p) {
		struct str value = str_cut(&parameters, ';');
		struct str name = str_trim(str_cut(&value, '='));
		if (!str_is_nocase(name, "charset") || !value.p)
			continue;
		value = str_trim(value);
		if (value.n > 1 && (value.p[0] == '"' || value.p[0] == '\''))
			value = (struct str){ value.p + 1, value.n - 2 };
		return value;
	}
	return STR("");
}

static int save(const struct web_source *s, struct str type, struct buf *out, struct err *err)
{
	AUTO_BUF struct buf path = { 0 };

	if (!s->stem)
		return err_set(err, ERR_NOT_FOUND,
			       "the answer is " STR_FMT ", which is no text, and files are not kept", STR_ARG(type));
	buf_addf(&path, "%s.%s", s->stem, extension_of(type));
	if (file_make_parents(path.p, err) < 0 || file_replace(path.p, s->bytes.p, s->bytes.n, err) < 0)
		return -(int)err->kind;
	buf_addf(out, "The answer is " STR_FMT " (", STR_ARG(type));
	buf_addsize(out, s->bytes.n);
	buf_addf(out, "), which cannot be read as a page. It was saved to %s", path.p);
	return 0;
}

int web_page_read(const struct web_source *source, struct buf *out, bool *ret_is_file, struct err *err)
{
	struct str parameters = str_from(source->type ? source->type : "");
	struct str type = str_trim(str_cut(&parameters, ';'));
	enum page_kind kind = kind_of(type, source->bytes);
	bool is_html = kind == PAGE_HTML;
	AUTO_BUF struct buf text = { 0 };

	*ret_is_file = kind == PAGE_FILE;
	if (kind == PAGE_FILE)
		return save(source, type.n ? type : STR("of an unknown type"), out, err);
	web_decode(source->bytes, charset_of(parameters), is_html, is_html ? DECODED_LIMIT_BYTES : WEB_PAGE_LIMIT_BYTES,
		   is_html ? &text : out);
	if (!is_html)
		return 0;
	return html_to_markdown(&(struct html_page){ .text = buf_str(&text),
						     .base = source->url,
						     .limit_bytes = WEB_PAGE_LIMIT_BYTES,
						     .limits = { .time_ms = TIME_LIMIT_MS, .stop = source->stop } },
				out, err);
}
