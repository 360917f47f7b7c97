/* SPDX-License-Identifier: BSD-3-Clause */
/* Facts of code objects, which traces show together with the calls. */
#include "hook/frames.h"
#include "hook/naming/names.h"
#include "record/definitions.h"
#include "record/process.h"

struct sp_raw_code sp_code_facts(const PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030B0000
	/* the offset of RESUME, at which the interpreter reports a call to profilers */
	const int32_t begin = code->_co_firsttraceable * (int32_t)sizeof(_Py_CODEUNIT);
#else
	const int32_t begin = -1;
#endif
	return (struct sp_raw_code){(uint32_t)code->co_argcount, (uint32_t)code->co_nlocals,
	                            (uint32_t)code->co_stacksize, begin};
}

void sp_code_define(uint32_t region, const struct sp_raw_code *facts)
{
	const struct sp_text text = {(const char *)facts, sizeof *facts};

	if (sp_process.settings.annotate && region && sp_define(SP_RAW_DEF_CODE, 0, region, 0, &text, 1))
		sp_process_count(&sp_process.header->lost_regions, 1);
}
