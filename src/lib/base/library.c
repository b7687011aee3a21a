/* SPDX-License-Identifier: MIT
 * library.c - loading on demand. */
#include "lib/base/library.h"
#include <dlfcn.h>
#include "lib/base/base.h"

static void *open_first(const char *const *files)
{
	void *so = NULL;

	for (; *files && !so; files++)
		so = dlopen(*files, RTLD_NOW | RTLD_LOCAL);
	return so;
}

int library_load(const struct library *library, void *functions, struct err *err)
{
	void *so = open_first(library->files);

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
