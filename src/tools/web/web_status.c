/* SPDX-License-Identifier: MIT
 * web_status.c - words for what a server answers. */
#include "tools/web/web_status.h"
#include "lib/base/base.h"

static const struct {
	int status;
	const char *text;
} words[] = {
	{ 200, "OK" },
	{ 201, "Created" },
	{ 202, "Accepted" },
	{ 203, "Non-Authoritative Information" },
	{ 204, "No Content" },
	{ 206, "Partial Content" },
	{ 301, "Moved Permanently" },
	{ 302, "Found" },
	{ 303, "See Other" },
	{ 304, "Not Modified" },
	{ 307, "Temporary Redirect" },
	{ 308, "Permanent Redirect" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 402, "Payment Required" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 406, "Not Acceptable" },
	{ 408, "Request Timeout" },
	{ 410, "Gone" },
	{ 418, "I'm a teapot" },
	{ 429, "Too Many Requests" },
	{ 451, "Unavailable For Legal Reasons" },
	{ 500, "Internal Server Error" },
	{ 501, "Not Implemented" },
	{ 502, "Bad Gateway" },
	{ 503, "Service Unavailable" },
	{ 504, "Gateway Timeout" },
};

const char *web_status_text(int status)
{
	for (size_t i = 0; i < COUNT_OF(words); i++)
		if (words[i].status == status)
			return words[i].text;
	return "";
}

bool web_status_moves(int status)
{
	return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}
