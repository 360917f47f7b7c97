/* SPDX-License-Identifier: BSD-3-Clause */
/* The fuzzer's bytes as the one raw file of an experiment. */
#ifndef SP_FUZZ_INPUT_H
#define SP_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

/* Writes the bytes and returns the experiment's directory, which is removed at exit. */
const char *input_experiment(const uint8_t *data, size_t n);
/* The raw file in it. */
const char *input_file(void);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#endif
