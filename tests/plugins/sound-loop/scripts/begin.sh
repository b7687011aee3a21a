#!/bin/sh
# SPDX-License-Identifier: MIT
printf "%s\n" "$*" > task
echo "The loop is on."
