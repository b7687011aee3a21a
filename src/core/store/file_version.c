/* SPDX-License-Identifier: MIT
 * file_version.c - a file at one time. */
#include "core/store/file_version.h"
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include "lib/io/file.h"

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

int file_version_read(const char *path, struct file_version *ret_version, struct buf *bytes, struct err *err)
{
	size_t start = bytes->n;
	struct stat st;

	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) {
		*ret_version = (struct file_version){ 0 };
		return 0;
	}
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, ERR_IO, "cannot open %s: %m", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_USAGE, "%s is not a regular file", path);
	if (file_read_fd(fd, FILE_VERSION_LIMIT, bytes, err) < 0)
		return err_wrap(err, "%s", path);
	*ret_version = file_version_of((struct str){ bytes->p ? bytes->p + start : "", bytes->n - start });
	ret_version->mode = st.st_mode & 07777;
	return 0;
}

bool file_version_same(const struct file_version *a, const struct file_version *b)
{
	return a->exists == b->exists && !strcmp(a->sha256, b->sha256);
}
