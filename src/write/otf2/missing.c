/* SPDX-License-Identifier: BSD-3-Clause */
/* Replaces otf2.c in a build without libotf2. */
#include <errno.h>

#include "base/err.h"
#include "model/model.h"
#include "write/common/formats.h"

int sp_write_otf2(const struct sp_model *m, const char *path, const struct sp_write_options *o, struct sp_err *e)
{
	(void)m;
	(void)path;
	(void)o;
	return sp_fail(e, ENOSYS,
	               "this Spartito was built without libotf2: install libotf2-trace-dev (Debian, Ubuntu) or OTF2 "
	               "from score-p.org, and build Spartito again");
}
