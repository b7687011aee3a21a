/* SPDX-License-Identifier: MIT
 * request_log.h - one JSON line for each request:
 *     {"n":1,"time_ms":12,"method":"POST","path":"/v1/messages","agent":"","version":"2023-06-01","beta":"",
 *      "content_type":"application/json","user_agent":"...","key":true,"status":200,"body":{...}}
 * time_ms counts from the start of modeld; body is the request's JSON as it came, or a string if it is not JSON in one
 * line; a key is never written, only whether there was one. A line is in the file before the answer begins. */
#pragma once
#include "http_in.h"

struct request_log;

int request_log_open(const char *path, struct request_log **ret_log, struct err *err); /* the file is emptied */
/* log may be NULL */
void request_log_add(struct request_log *log, const struct http_in *in, int status, uint64_t time_ms);
void request_log_close(struct request_log *log);
