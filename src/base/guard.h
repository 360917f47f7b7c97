/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading of mapped files. Other processes may truncate them: accessing a page after the end of the file raises SIGBUS,
 * which would end this process. Only for the analysis half. */
#ifndef SP_BASE_GUARD_H
#define SP_BASE_GUARD_H

#include <stddef.h>

#include "base/err.h"

/* Returns run(arg), or -1 with e set if this thread accessed a page that does not exist any more. In that case run()
 * was abandoned: memory that it allocated is lost, and locks that it took stay locked; so take locks outside of the
 * guarded function. Calls may be nested: the innermost one returns. Any other SIGBUS has its usual effect. */
int sp_guarded(int (*run)(void *arg), void *arg, struct sp_err *e);

/* Releases the memory of n bytes of a file that is mapped for reading; the next access reads them again. The page in
 * which they end stays, because what follows is probably needed next. */
void sp_mapped_forget(const void *bytes, size_t n);

#endif
