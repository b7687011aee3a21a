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

/* A key that was kept must never sign what it was not made for. */
TEST(a_kept_key_signs_as_a_new_one_whatever_changes_and_leaves_nothing)
{
	static const char *const lines[] = { "host: example.com", NULL };
	const struct {
		const char *secret, *region, *service, *time;
	} rows[] = {
		{ "one", "us-east-1", "bedrock", "20260101T000000Z" },
		{ "one", "us-east-1", "bedrock", "20260101T235959Z" },
		{ "one", "us-east-1", "bedrock", "20260102T000000Z" },
		{ "one", "eu-west-1", "bedrock", "20260102T000000Z" },
		{ "one", "eu-west-1", "s3", "20260102T000000Z" },
		{ "two", "eu-west-1", "s3", "20260102T000000Z" },
		{ "one", "eu-west-1", "s3", "20260102T000000Z" },
	};
	struct sigv4_key kept = { 0 };
	size_t made = 0;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		AUTO_ARENA struct arena a = { 0 };
		struct sigv4_request r = { .method = "GET",
					   .path = "/",
					   .headers = lines,
					   .body_hash = STR(""),
					   .key_id = "id",
					   .secret = rows[i].secret,
					   .region = rows[i].region,
					   .service = rows[i].service,
					   .time = rows[i].time };
		const char *fresh = sigv4_sign(&a, &r);
		const char *before = kept.of.p;
		r.kept = &kept;
		CHECK_CSTR(sigv4_sign(&a, &r), fresh);
		made += kept.of.p != before;
	}

	CHECK_INT(made, COUNT_OF(rows) - 1); /* the second row is of the same day */
	sigv4_key_clear(&kept);
	CHECK(!memcmp(&kept, &(struct sigv4_key){ 0 }, sizeof kept));
}

int test_sigv4(void)
{
	return RUN_TESTS(T(every_vector_of_aws_is_signed_as_published),
			 T(a_kept_key_signs_as_a_new_one_whatever_changes_and_leaves_nothing));
}
