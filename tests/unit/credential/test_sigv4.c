/* SPDX-License-Identifier: MIT
 * test_sigv4.c - the signature against the vectors of AWS. */
#include "unit.h"
#include "core/credential/sigv4.h"
#include "sigv4_vectors.h"
#include "test_credential.h"

TEST(every_vector_of_aws_is_signed_as_published)
{
	for (size_t i = 0; i < COUNT_OF(vectors); i++) {
		AUTO_ARENA struct arena a = { 0 };
		print_message("# %s\n", vectors[i].name);
		CHECK_CSTR(sigv4_sign(&a, &(struct sigv4_request){ .method = vectors[i].method,
								   .path = vectors[i].path,
								   .query = vectors[i].query,
								   .headers = vectors[i].headers,
								   .body_hash = str_from(vectors[i].hash),
								   .key_id = "AKIDEXAMPLE",
								   .secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
								   .region = "us-east-1",
								   .service = "service",
								   .time = "20150830T123600Z",
								   .raw_path = vectors[i].raw }),
			   vectors[i].authorization);
	}
}

int test_sigv4(void)
{
	return RUN_TESTS(T(every_vector_of_aws_is_signed_as_published));
}
