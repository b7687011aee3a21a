/* SPDX-License-Identifier: MIT
 * writer.h - output to a descriptor that may be slow (stdout to a pipe or a terminal) without ever blocking the loop and
 * without changing the descriptor's flags, which other processes share: it waits for POLLOUT and writes at most PIPE_BUF
 * bytes at a time, which a writable pipe takes whole. Regular files are written directly. */
#pragma once
#include "lib/base/buf.h"
#include "lib/io/loop.h"

struct writer;
typedef void writer_fn(struct writer *w, void *data);

/* drained is kicked when the queue becomes empty, but not by writer_flush(); failed (once) on EPIPE or another error; both may be NULL. Borrows fd. */
struct writer *writer_new(struct loop *loop, int fd, writer_fn *drained, writer_fn *failed, void *data);
void writer_add(struct writer *w, const void *p, size_t n); /* after a failure the bytes are dropped */
size_t writer_queued(const struct writer *w);
const char *writer_error(const struct writer *w); /* NULL, or why it failed */
/* Flushes the queue, waiting at most this long (blocks, unless that is 0). */
bool writer_flush(struct writer *w, unsigned timeout_ms);
void writer_free(struct writer *w); /* drops the queue */
