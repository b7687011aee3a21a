/* SPDX-License-Identifier: MIT
 * attach.c - images and PDF files in a prompt: by a path that is dropped or pasted, or from the clipboard. A file that a request
 * cannot hold stays a path: the model reads it with its tool, which makes it smaller. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "face/draft/image.h"
#include "face/tui/state.h"
#include "lib/base/base64.h"
#include "lib/json/json_write.h"

enum { IMAGE_BYTES = 3750000 /* 5 MB as base64 */, PDF_BYTES = 20 << 20, MOST_FILES = 20 };

/* true: it is a mark in the draft now */
static bool attach_bytes(struct tui *t, struct str bytes)
{
	AUTO_BUF struct buf block = { 0 }, label = { 0 };
	struct json_out w = json_out(&block);
	struct image_head head;

	if (!image_head_of(bytes, &head))
		return false;
	bool pdf = !strcmp(head.media_type, "application/pdf");
	if (bytes.n > (size_t)(pdf ? PDF_BYTES : IMAGE_BYTES)) {
		tui_note(t, "too large to send: it stays a path");
		return false;
	}
	if (pdf) {
		buf_addf(&label, "pdf %zu: ", draft_next_number(&t->draft));
		buf_addsize(&label, bytes.n);
	} else {
		buf_addf(&label, "image %zu: %ux%u", draft_next_number(&t->draft), head.width, head.height);
	}
	json_putf(&w, "{type:'%s', source:{type:'base64', media_type:'%s'", pdf ? "document" : "image",
		  head.media_type);
	json_key(&w, "data");
	buf_addch(&block, '"');
	base64_add(&block, bytes);
	buf_addch(&block, '"');
	w.comma = true;
	json_putf(&w, "}}");
	return draft_attach(&t->draft, buf_str(&label), buf_str(&block));
}

static bool attach_file(struct tui *t, const char *path)
{
	AUTO_BUF struct buf bytes = { 0 }, whole = { 0 };
	const char *home = getenv("HOME");
	struct stat st;

	if (path[0] == '~' && path[1] == '/' && home)
		buf_addf(&whole, "%s%s", home, path + 1);
	else
		buf_addstr(&whole, path);
	AUTO_CLOSE int fd = open(whole.p, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > PDF_BYTES)
		return false;
	buf_reserve(&bytes, (size_t)st.st_size);
	for (ssize_t n;
	     bytes.n < (size_t)st.st_size && (n = read(fd, bytes.p + bytes.n, (size_t)st.st_size - bytes.n)) > 0;)
		bytes.n += (size_t)n;
	return attach_bytes(t, buf_str(&bytes));
}

bool attach_paths(struct tui *t, struct str pasted)
{
	AUTO_BUF struct buf path = { 0 };
	size_t count = 0;

	if (pasted.n > 64 << 10)
		return false;
	for (struct str rest = pasted; str_trim(rest).n; count++) { /* all of them, or it is text */
		if (!image_next_path(&rest, &path) || count == MOST_FILES ||
		    !(str_is_one_of_nocase(str_tail(buf_str(&path), path.n - MIN(path.n, (size_t)4)),
					   ".png|.jpg|.gif|.pdf") ||
		      str_is_one_of_nocase(str_tail(buf_str(&path), path.n - MIN(path.n, (size_t)5)), ".jpeg|.webp")) ||
		    (path.p[0] != '~' && access(path.p, R_OK) < 0))
			return false;
	}
	bool any = false;
	for (struct str rest = pasted; str_trim(rest).n && image_next_path(&rest, &path);) {
		if (attach_file(t, path.p))
			(void)draft_type(&t->draft, STR(" "));
		else if (any)
			(void)draft_paste(&t->draft, buf_str(&path));
		else
			return false;
		any = true;
	}
	return any;
}

void attach_clipboard_bytes(struct tui *t, struct str bytes)
{
	if (attach_bytes(t, bytes) || !bytes.n)
		return;
	input_key(t, &(struct key){ .code = KEY_PASTE, .text = bytes });
}

static void on_clipboard(struct tui *t, struct str output, bool ok)
{
	if (!ok || !attach_bytes(t, output))
		tui_note(t, "there is no image in the clipboard");
	tui_changed(t);
}

void attach_clipboard(struct tui *t)
{
	const char *wayland = getenv("WAYLAND_DISPLAY"), *x = getenv("DISPLAY");

	if (wayland && *wayland)
		job_command(t, "wl-paste --no-newline --type image/png 2>/dev/null", IMAGE_BYTES + 1, on_clipboard);
	else if (x && *x)
		job_command(t, "xclip -selection clipboard -t image/png -o 2>/dev/null", IMAGE_BYTES + 1, on_clipboard);
	else if (!tui_clipboard(t, STR("?"))) /* the terminal answers, or does not */
		tui_note(t, "this terminal has no clipboard");
}
