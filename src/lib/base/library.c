/* SPDX-License-Identifier: MIT
 * library.c - libraries that are loaded on demand, and programs that may be there. */
#include "lib/base/library.h"
#include <dlfcn.h>
#include "lib/base/buf.h"

int library_load(const struct library *library, void *functions, struct err *err)
{
	void *so = NULL;

	for (size_t i = 0; library->files[i] && !so; i++)
		so = dlopen(library->files[i], RTLD_NOW | RTLD_LOCAL);
	if (!so)
		return err_set(err, ERR_NOT_FOUND, "%s is not installed (package %s)", library->files[0],
			       library->package);
	for (size_t i = 0; i < library->count; i++)
		if (!dlsym(so, library->symbols[i].name))
			return err_set(err, ERR_NOT_FOUND, "%s has no %s: a newer package %s is needed",
				       library->files[0], library->symbols[i].name, library->package);
	for (size_t i = 0; i < library->count; i++) {
		size_t offset = library->symbols[i].offset;
		void *address = dlsym(so, library->symbols[i].name);
		memcpy((char *)functions + offset, &address, sizeof address);
	}
	return 0;
}

bool program_find(const char *path, const char *name, struct buf *ret_file)
{
	for (struct str rest = str_from(path); rest.p;) {
		struct str dir = str_cut(&rest, ':');
		buf_clear(ret_file);
		buf_addf(ret_file, STR_FMT "/%s", STR_ARG(dir), name);
		if (str_starts(dir, STR("/")) && access(ret_file->p, X_OK) == 0)
			return true;
	}
	return false;
}
