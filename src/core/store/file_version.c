/* SPDX-License-Identifier: MIT
 * file_version.c - a file at one time. */
#include "core/store/file_version.h"
#include <openssl/evp.h>
#include "lib/io/file.h"
#include "lib/io/file_at.h"

struct file_version file_version_of(struct str bytes)
{
	struct file_version v = { .exists = true };
	unsigned char digest[SHA256_DIGITS / 2];

	if (EVP_Digest(bytes.p, bytes.n, digest, NULL, EVP_sha256(), NULL) != 1)
		base_oom(0);
	for (size_t i = 0; i < sizeof digest; i++)
		snprintf(v.sha256 + 2 * i, 3, "%02x", digest[i]);
	return v;
}

int file_version_read(const char *root, const char *below, struct file_version *ret_version, struct buf *bytes,
		      struct err *err)
{
	AUTO_FILE_AT struct file_at at = { 0 };
	size_t start = bytes->n;
	struct err why = { 0 };
	struct stat st;

	int rc = file_at_find(root, below, 0, &at, &why);
	AUTO_CLOSE int fd = rc < 0 ? rc : file_at_open(&at, &st, &why);
	if (fd == -ERR_NOT_FOUND) {
		*ret_version = (struct file_version){ 0 };
		return 0;
	}
	if (fd < 0)
		return err_set(err, why.kind, "%s", why.text);
	if (file_read_fd(fd, FILE_VERSION_LIMIT, bytes, err) < 0)
		return err_wrap(err, "%s", at.path);
	*ret_version = file_version_of((struct str){ bytes->p ? bytes->p + start : "", bytes->n - start });
	ret_version->mode = st.st_mode & 07777;
	return 0;
}

bool file_version_same(const struct file_version *a, const struct file_version *b)
{
	return a->exists == b->exists && !strcmp(a->sha256, b->sha256);
}
