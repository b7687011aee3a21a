/* SPDX-License-Identifier: MIT
 * web_page.c - converts a server's answer by its type: HTML, other text, or a file. */
#include "tools/web/web_page.h"
#include <errno.h>
#include <iconv.h>
#include "lib/base/utf8.h"
#include "lib/io/file.h"
#include "tools/web/html.h"

/* Text of a server as UTF-8. Only encodings of this table are used: the name comes from the server, and the
 * C library knows some that a stranger must not choose. */

enum { META_WITHIN_BYTES = 4096, PIECE_BYTES = 16 << 10 };

/* Names that pages use, as browsers understand them: the older standards mean their supersets on Windows. */
static const struct {
	const char *name, *labels; /* separated by blanks */
} encodings[] = {
	{ "UTF-8", "utf-8 utf8" },
	{ "CP1252", "us-ascii ascii iso-8859-1 iso8859-1 latin1 windows-1252 cp1252" },
	{ "CP1250", "windows-1250" },
	{ "CP1251", "windows-1251 cp1251" },
	{ "CP1253", "windows-1253" },
	{ "CP1254", "windows-1254 iso-8859-9" },
	{ "CP1255", "windows-1255" },
	{ "CP1256", "windows-1256" },
	{ "CP1257", "windows-1257" },
	{ "CP1258", "windows-1258" },
	{ "ISO-8859-2", "iso-8859-2" },
	{ "ISO-8859-5", "iso-8859-5" },
	{ "ISO-8859-7", "iso-8859-7" },
	{ "ISO-8859-8", "iso-8859-8" },
	{ "ISO-8859-15", "iso-8859-15" },
	{ "KOI8-R", "koi8-r" },
	{ "KOI8-U", "koi8-u" },
	{ "GB18030", "gb2312 gbk gb18030" },
	{ "BIG5-HKSCS", "big5" },
	{ "EUC-JP", "euc-jp" },
	{ "CP932", "shift_jis sjis" },
	{ "CP949", "euc-kr" },
	{ "UTF-16LE", "utf-16 utf-16le" },
	{ "UTF-16BE", "utf-16be" },
};

/* NULL: not one of ours. */
static const char *find_encoding(struct str label)
{
	label = str_trim(label);
	for (size_t i = 0; i < COUNT_OF(encodings) && label.n; i++)
		for (struct str rest = str_from(encodings[i].labels); rest.p;) {
			struct str known = str_cut(&rest, ' ');
			if (known.n == label.n && !strncasecmp(known.p, label.p, known.n))
				return encodings[i].name;
		}
	return NULL;
}

static bool is_utf16(const char *encoding)
{
	return !strncmp(encoding, "UTF-16", 6);
}

static const char *take_mark(struct str *bytes)
{
	static const struct {
		struct str mark;
		const char *encoding;
	} marks[] = { { { "\xef\xbb\xbf", 3 }, "UTF-8" },
		      { { "\xff\xfe", 2 }, "UTF-16LE" },
		      { { "\xfe\xff", 2 }, "UTF-16BE" } };

	for (size_t i = 0; i < COUNT_OF(marks); i++) {
		if (!str_starts(*bytes, marks[i].mark))
			continue;
		*bytes = (struct str){ bytes->p + marks[i].mark.n, bytes->n - marks[i].mark.n };
		return marks[i].encoding;
	}
	return NULL;
}

static struct str text_behind(struct str text, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = 0; i + n <= text.n; i++)
		if (!strncasecmp(text.p + i, word, n))
			return (struct str){ text.p + i + n, text.n - i - n };
	return (struct str){ 0 };
}

/* <meta charset="x"> or <meta ... content="text/html; charset=x"> near the beginning. A page that can be read so far is not
 * in UTF-16, even if it says so. */
static const char *find_meta(struct str bytes)
{
	struct str rest = { bytes.p, MIN(bytes.n, (size_t)META_WITHIN_BYTES) };

	while ((rest = text_behind(rest, "<meta")).p) {
		struct str tag = rest;
		struct str name = text_behind(str_cut(&tag, '>'), "charset");
		while (name.n && char_in(name.p[0], "= \t\r\n\"'"))
			name = str_tail(name, 1);
		size_t n = 0;
		while (n < name.n && !char_in(name.p[n], "\"'; \t\r\n/"))
			n++;
		const char *encoding = n ? find_encoding((struct str){ name.p, n }) : NULL;
		if (encoding)
			return is_utf16(encoding) ? "UTF-8" : encoding;
	}
	return NULL;
}

/* Some encodings hold a character back until the next one shows whether both are one. */
static void add_held_back(iconv_t how, struct buf *out)
{
	char piece[64];
	char *to = piece;
	size_t room = sizeof piece;

	(void)iconv(how, NULL, NULL, &to, &room);
	buf_add(out, piece, sizeof piece - room);
}

/* unit: bytes that are skipped where nothing can be made of them */
static void convert_encoding(iconv_t how, size_t unit, struct str bytes, size_t limit_bytes, struct buf *out)
{
	char *in = (char *)(uintptr_t)bytes.p; /* iconv does not write there */
	size_t left = bytes.n;
	size_t from = out->n;

	while (left && out->n - from < limit_bytes) {
		char piece[PIECE_BYTES];
		char *to = piece;
		size_t room = sizeof piece;
		size_t rc = iconv(how, &in, &left, &to, &room);
		buf_add(out, piece, sizeof piece - room);
		if (rc != (size_t)-1 || errno == E2BIG)
			continue;
		add_held_back(how, out);
		buf_addstr(out, "\xef\xbf\xbd");
		in += MIN(left, unit);
		left -= MIN(left, unit);
	}
	add_held_back(how, out);
}

void web_decode(struct str bytes, struct str charset, bool is_html, size_t limit_bytes, struct buf *out)
{
	const char *encoding = take_mark(&bytes);
	size_t from = out->n;

	if (!encoding)
		encoding = find_encoding(charset);
	if (!encoding && is_html)
		encoding = find_meta(bytes);
	if (!encoding)
		encoding = utf8_valid(bytes) ? "UTF-8" : "CP1252";
	iconv_t how = strcmp(encoding, "UTF-8") ? iconv_open("UTF-8", encoding) : (iconv_t)-1;
	if (how == (iconv_t)-1) { /* also where the system lacks the encoding */
		utf8_add_repaired(out, utf8_cut(bytes, limit_bytes));
	} else {
		convert_encoding(how, is_utf16(encoding) ? 2 : 1, bytes, limit_bytes, out);
		iconv_close(how);
	}
	out->n = from + utf8_cut((struct str){ out->p + from, out->n - from }, limit_bytes).n;
}

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

static enum page_kind page_kind_of(struct str type, struct str bytes)
{
	static const char *const begins[] = { "<!doctype html", "<html", "<head", "<body" };
	struct str head = { bytes.p, MIN(bytes.n, (size_t)LOOKED_AT_BYTES) };
	bool is_html = str_is_nocase(type, "text/html") || str_is_nocase(type, "application/xhtml+xml");
	bool is_text = is_html || !type.n || str_is_nocase(type, "application/octet-stream") ||
		       (type.n > 5 && !strncasecmp(type.p, "text/", 5)) || str_ends(type, STR("+json")) ||
		       str_ends(type, STR("+xml"));

	for (size_t i = 0; i < COUNT_OF(texts) && !is_text; i++)
		is_text = str_is_nocase(type, texts[i]);
	if (!is_text)
		return PAGE_FILE;
	for (size_t i = 0; i < COUNT_OF(begins) && !type.n && !is_html; i++) {
		struct str text = str_trim(head);
		is_html = text.n >= strlen(begins[i]) && !strncasecmp(text.p, begins[i], strlen(begins[i]));
	}
	if (is_html)
		return PAGE_HTML; /* also with NUL in it: browsers show it as HTML */
	/* Text has no NUL, except UTF-16, which begins with a byte order mark. */
	bool is_utf16 = str_starts(bytes, STR("\xff\xfe")) || str_starts(bytes, STR("\xfe\xff"));
	return !is_utf16 && head.n && memchr(head.p, '\0', head.n) ? PAGE_FILE : PAGE_TEXT;
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

static int save_page(const struct web_source *s, struct str type, struct buf *out, struct err *err)
{
	AUTO_BUF struct buf path = { 0 };
	const char *extension = "bin";

	if (!s->stem)
		return err_set(err, ERR_NOT_FOUND, "the answer is " STR_FMT ", not text, and files are not kept",
			       STR_ARG(type));
	for (size_t i = 0; i < COUNT_OF(files); i++)
		if (str_is_nocase(type, files[i].type))
			extension = files[i].extension;
	buf_addf(&path, "%s.%s", s->stem, extension);
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
	enum page_kind kind = page_kind_of(type, source->bytes);
	bool is_html = kind == PAGE_HTML;
	AUTO_BUF struct buf text = { 0 };

	*ret_is_file = kind == PAGE_FILE;
	if (kind == PAGE_FILE)
		return save_page(source, type.n ? type : STR("of an unknown type"), out, err);
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
