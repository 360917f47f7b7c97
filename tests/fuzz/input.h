/* SPDX-License-Identifier: BSD-3-Clause */
/* The fuzzer's bytes as the one raw file of an experiment, or an experiment to put files into. */
#ifndef SP_FUZZ_INPUT_H
#define SP_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

/* An experiment without files, which is removed at exit. */
const char *input_directory(void);
/* Writes a file of the experiment, by its name in there. */
void input_write(const char *name, const uint8_t *data, size_t n);
/* Writes the bytes and returns the experiment's directory, which is removed at exit. */
const char *input_experiment(const uint8_t *data, size_t n);
/* The raw file in it. */
const char *input_file(void);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#endif
