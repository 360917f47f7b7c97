/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as an experiment's file `symbols`: it is read, extended, and read again. */
#include <stdlib.h>

#include "generator/rawgen.h"
#include "input.h"
#include "check.h"
#include "model/model.h"
#include "model/symbols/symbols.h"

static void load(void)
{
	struct sp_err e = {.code = 0};
	struct sp_model *m;

	if (sp_model_load(&m, input_directory(), 0, &e))
		abort();
	check_model(m);
	sp_model_free(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static unsigned char *raw;
	static size_t size;
	struct sp_symbols_kept kept;
	struct sp_err e = {.code = 0};

	if (!raw) {
		raw = rg_bytes(rg_memory(), SP_RAW_ENDED_NORMAL, 5000, &size);
		input_write("raw/a.raw", raw, size);
	}
	input_write(SP_SYMBOLS_NAME, data, n);
	load();
	if (sp_symbols_keep(input_directory(), &kept, &e) && !e.text[0])
		abort();
	load();
	return 0;
}
