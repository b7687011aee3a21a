/* SPDX-License-Identifier: MIT
 * tests.h - the groups of tests in this program; each returns how many failed. */
#pragma once

int test_bash(void);
int test_image(void);
int test_notebook(void);
int test_pdf(void);
int test_read(void);
int test_read_image(void);
int test_write(void);
int test_edit(void);
int test_glob(void);
int test_html(void);
int test_file_type(void);
int test_walk(void);
int test_grep(void);
int test_mcp_resources(void);
int test_todo(void);
int test_tool_search(void);
int test_web(void);
