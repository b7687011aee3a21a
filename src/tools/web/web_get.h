/* SPDX-License-Identifier: MIT
 * web_get.h - one request for one address, with limits on everything. It follows nothing: where an answer leads is the
 * caller's to decide. */
#pragma once
#include "tools/web/web.h"

enum { WEB_GET_LIMIT_BYTES = 10 << 20 }; /* of an answer, unpacked */

/* Zeroed but for done: ready for web_get_start, and again after each done. */
struct web_get {
	void (*done)(struct web_get *g); /* exactly once after a start, from the loop */
	/* what came; valid from done on */
	int status;
	struct buf type, location; /* values of headers; empty: there was none */
	struct buf body;
	enum err_kind failure; /* 0: there is an answer, whatever its status */
	char why[240];
	/* its own */
	struct loop *loop;
	struct http_req *req;
	struct timer limit;
	bool late;
};

/* refused: kinds of addresses (lib/io/address.h). -ERR_DENIED: the host itself is one of them. */
int web_get_start(struct web_get *g, struct web *web, const char *url, unsigned refused, uint64_t limit_ms,
		  struct err *err);
void web_get_cancel(struct web_get *g);  /* a request: done still comes. Also when nothing runs */
void web_get_release(struct web_get *g); /* not while it runs */
