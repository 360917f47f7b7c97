/* SPDX-License-Identifier: BSD-3-Clause */
/* Experiments of a test, in a directory that is removed when the test ends. */
#ifndef SP_TESTS_SCRATCH_H
#define SP_TESTS_SCRATCH_H

#include <stddef.h>

#include "generator/rawgen.h"

/* The path of a new, empty experiment (with its directory raw); valid until the end. */
const char *scratch_experiment(void);
/* Writes p as raw/NAME of the experiment. */
void scratch_add(const char *dir, struct rg_process *p, const char *name, enum sp_raw_ended ended, uint64_t last);
void scratch_bytes(const char *dir, const char *name, const void *bytes, size_t n);
/* Copies the file of tests/old-raw with this name to raw/a.raw of the experiment. */
void scratch_old(const char *dir, const char *name);
/* Loads an experiment, which must succeed. */
struct sp_model *scratch_load(const char *dir, unsigned flags);
/* Reads all events of all locations and checks that they are balanced and in order; returns their number. */
size_t scratch_events(const struct sp_model *m);
/* The path below the root through regions of these names, NULL-terminated; SP_NONE: not found. */
uint32_t scratch_path(const struct sp_model *m, const char *const *names);
#define PATH(m, ...) scratch_path(m, (const char *const[]){__VA_ARGS__, NULL})

#endif
