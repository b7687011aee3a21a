/* SPDX-License-Identifier: MIT
 * api_check.c - a request body against the rules of the API. */
#include "api_check.h"
#include "core/scenario/request.h"

int api_check(struct str body, struct err *err)
{
	struct checker *checker = checker_new();
	struct request request;
	int status = request_check(checker, body, REQUEST_COUNT_ONLY | REQUEST_UNKNOWN_TOOLS, &request, err);

	checker_free(checker);
	return status;
}
