/* SPDX-License-Identifier: MIT
 * library.c - loading on demand. */
#include "lib/base/library.h"
#include <dlfcn.h>
#include "lib/base/base.h"

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
