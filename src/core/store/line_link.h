/* SPDX-License-Identifier: MIT
 * line_link.h - a connection between two processes of ours, by an abstract socket: a JSON object a line, both ways. Each side can
 * check the other by its process. */
#pragma once
#include <sys/socket.h>
#include <sys/un.h>
#include "lib/base/buf.h"
#include "lib/io/loop.h"
#include "lib/json/json.h"

struct link {
	struct loop *loop; /* borrowed */
	int fd;            /* owned; -1: closed */
	uv_poll_t *poll;
	struct buf in, out;
	/* line is borrowed until return. on_end: once, if the other side is gone; the link is closed by then. Both may close it. */
	void (*on_line)(struct link *l, const struct json *line);
	void (*on_end)(struct link *l);
};

void link_open(struct link *l, struct loop *loop, int fd); /* takes fd; handlers are set */
void link_send(struct link *l, struct str line);           /* without its end; dropped if it is closed */
void link_sendf(struct link *l, const char *template, ...) printf_like(2, 3); /* a line by json_putf() */
void link_close(struct link *l);                                              /* also twice */
socklen_t link_address(struct sockaddr_un *ret, const char *session, int64_t pid);
bool link_peer_is(int fd, int64_t pid, int64_t start); /* the process at the other end, of this user */
