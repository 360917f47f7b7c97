/* SPDX-License-Identifier: BSD-3-Clause */
/* The fuzzer's input as the only raw file of an experiment, or an empty experiment for other files. */
#ifndef SP_FUZZ_INPUT_H
#define SP_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

/* Creates an experiment without files, which is removed at exit. */
const char *input_directory(void);
/* Writes a file of the experiment; name is relative to it. */
void input_write(const char *name, const uint8_t *data, size_t n);
/* Writes the bytes and returns the experiment's directory, which is removed at exit. */
const char *input_experiment(const uint8_t *data, size_t n);
/* The path of the raw file. */
const char *input_file(void);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#endif
