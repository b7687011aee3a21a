/* SPDX-License-Identifier: MIT
 * fuzz_html.c - any bytes as what a web server sent: the first byte chooses the Content-Type. Besides not crashing: the
 * Markdown is valid UTF-8 and within its limit. */
#include "lib/base/utf8.h"
#include "tools/web/html.h"
#include "tools/web/web_page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SMALL_LIMIT_BYTES = 300, DECODED_LIMIT_BYTES = 1 << 16, LIMIT_MS = 1000 };

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void check_page(struct str bytes, const char *type)
{
	struct web_source source = { .bytes = bytes, .type = type, .url = "https://x.org/a/b" };
	AUTO_BUF struct buf out = { 0 };
	bool is_file;

	if (web_page_read(&source, &out, &is_file, NULL) < 0)
		return;
	must(utf8_valid(buf_str(&out)));
	must(out.n <= WEB_PAGE_LIMIT_BYTES);
}

static void check_limit(struct str bytes)
{
	AUTO_BUF struct buf text = { 0 };
	AUTO_BUF struct buf out = { 0 };

	web_decode(bytes, STR(""), true, DECODED_LIMIT_BYTES, &text);
	must(utf8_valid(buf_str(&text)));
	must(text.n <= DECODED_LIMIT_BYTES);
	if (html_to_markdown(&(struct html_page){ .text = buf_str(&text),
						  .limit_bytes = SMALL_LIMIT_BYTES,
						  .limits = { .time_ms = LIMIT_MS } },
			     &out, NULL) < 0)
		return;
	must(utf8_valid(buf_str(&out)));
	must(out.n <= SMALL_LIMIT_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const types[] = { "text/html", "text/html; charset=iso-8859-2",
					     "text/html; charset=shift_jis", "text/plain; charset=utf-16", "" };

	if (!size)
		return 0;
	struct str bytes = { (const char *)data + 1, size - 1 };
	check_page(bytes, types[data[0] % COUNT_OF(types)]);
	check_limit(bytes);
	return 0;
}
