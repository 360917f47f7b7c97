/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a raw file: load it, compensate, read the events, compute every report. */
#include <stdlib.h>

#include "input.h"
#include "check.h"
#include "model/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct sp_model *m;
	struct sp_err e = {.code = 0};

	if (sp_model_load(&m, input_experiment(data, n), n & 1 ? SP_MODEL_COMPENSATE : 0, &e)) {
		if (!e.text[0])
			abort();
		return 0;
	}
	check_model(m);
	sp_model_free(m);
	return 0;
}
