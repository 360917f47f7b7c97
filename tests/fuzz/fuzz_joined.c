/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as the file of a process and as the file of its samples, which are read together. The input: length of the
 * first file (u32), then both files. */
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "check.h"
#include "model/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct sp_err e = {.code = 0};
	struct sp_model *m;
	uint32_t first;

	if (n < sizeof(first))
		return 0;
	memcpy(&first, data, sizeof(first));
	data += sizeof(first);
	n -= sizeof(first);
	first = first < n ? first : (uint32_t)n;
	input_write("raw/a.raw", data, first);
	input_write("raw/a.samples.raw", data + first, n - first);
	if (sp_model_load(&m, input_directory(), n & 1 ? SP_MODEL_COMPENSATE : 0, &e)) {
		if (!e.text[0])
			abort();
		return 0;
	}
	check_model(m);
	sp_model_free(m);
	return 0;
}
