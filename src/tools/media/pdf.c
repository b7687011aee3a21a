/* SPDX-License-Identifier: MIT
 * pdf.c - PDF documents: which pages are meant, and the programs that count and draw them. */
#include "tools/media/pdf.h"
#include <signal.h>
#include <sys/wait.h>

static bool page_number(struct str text, uint32_t *ret)
{
	uint64_t n;

	if (!str_to_u64(str_trim(text), &n) || !n || n > INT32_MAX)
		return false;
	*ret = (uint32_t)n;
	return true;
}

int pdf_pages_parse(struct str text, struct pdf_pages *ret_pages, struct err *err)
{
	struct str rest = text;
	struct pdf_pages pages;

	bool good = page_number(str_cut(&rest, '-'), &pages.first);
	pages.last = pages.first;
	if (good && rest.p)
		good = page_number(rest, &pages.last);
	if (!good || pages.last < pages.first)
		return err_set(err, ERR_USAGE,
			       "pages must be the number of a page or a range of them, such as \"3\" or \"1-5\".");
	if (pages.last - pages.first >= PDF_PAGES_AT_ONCE)
		return err_set(err, ERR_USAGE, "pages: at most %d pages can be read at once.", PDF_PAGES_AT_ONCE);
	*ret_pages = pages;
	return 0;
}

uint32_t pdf_info_pages(struct str output)
{
	uint32_t pages = 0;

	/* The last such line: titles, which are the author's, are printed above it. */
	while (output.p) {
		struct str line = str_cut(&output, '\n');
		if (str_starts(line, STR("Pages:")))
			(void)page_number(str_tail(line, 6), &pages);
	}
	return pages;
}

size_t pdf_least_pages(struct str bytes)
{
	size_t pages = 0;
	const char *at;

	while (bytes.n && (at = memmem(bytes.p, bytes.n, "/Type", 5))) {
		bytes.n -= (size_t)(at + 5 - bytes.p);
		bytes.p = at + 5;
		struct str value = str_trim(bytes);
		pages += str_starts(value, STR("/Page")) && (value.n == 5 || value.p[5] != 's');
	}
	return pages;
}

/* One run of a program of poppler.
 *
 * A shell stands between: it sets the limit on memory, which has no place in struct child_options because nothing else needs
 * one, and its exit status 127 tells a missing program from one that fails. The words are its arguments, never its text. */

enum { MOST_WORDS = 16, ERRORS_LIMIT = 4096, NOT_FOUND = 127 };

static const char *const limited[] = { "/bin/sh", "-c", "ulimit -v 1572864; exec \"$0\" \"$@\"" }; /* 1.5 GB */

static void on_program_done(struct capture *run)
{
	struct pdf_program *p = CONTAINER_OF(run, struct pdf_program, run);
	int code = WIFEXITED(run->status) ? WEXITSTATUS(run->status) : -1;
	enum pdf_end end = code == 0 ? PDF_DONE : code == NOT_FOUND ? PDF_MISSING : PDF_FAILED;

	run->errors.n = MIN(run->errors.n, ERRORS_LIMIT);
	if (run->late || run->flooded) {
		buf_clear(&run->errors);
		buf_addstr(&run->errors, run->late ? "it took too long" : "the result is too large");
		end = PDF_FAILED;
	}
	p->done(p, p->cancelled ? PDF_CANCELLED : end);
}

static void on_not_started(struct kick *kick)
{
	struct pdf_program *p = CONTAINER_OF(kick, struct pdf_program, kick);

	p->done(p, p->cancelled ? PDF_CANCELLED : PDF_FAILED);
}

void pdf_program_start(struct pdf_program *p, const char *const *words, size_t limit_bytes, uint64_t limit_ms)
{
	const char *argv[COUNT_OF(limited) + MOST_WORDS] = { limited[0], limited[1], limited[2] };
	struct err err = { 0 };

	for (size_t i = 0; words[i] && i < MOST_WORDS - 1; i++)
		argv[COUNT_OF(limited) + i] = words[i];
	const struct child_options options = {
		.argv = argv,
		.envp = p->env->envp,
		.in_fd = p->file,
		.landlock_fd = p->env->landlock_fd,
		.of = CHILD_OF_CONVERTER,
		.cage = p->env->sandbox,
	};
	(void)lseek(p->file, 0, SEEK_SET);
	p->run.most = limit_bytes;
	p->run.signal = SIGKILL;
	p->run.done = on_program_done;
	p->kick.step = on_not_started;
	if (capture_start(&p->run, p->env->spawner, &options, limit_ms, &err) < 0) {
		buf_addstr(&p->run.errors, err.text);
		loop_kick(p->env->loop, &p->kick);
	}
}

void pdf_program_cancel(struct pdf_program *p)
{
	p->cancelled = true;
	if (p->run.child)
		child_kill(p->run.child, SIGKILL);
}
