/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading of mapped files that others may cut meanwhile: to touch a page that is no more is a SIGBUS, which would end a
 * process that has much else to do. Of the reading half only. */
#ifndef SP_BASE_GUARD_H
#define SP_BASE_GUARD_H

#include "base/err.h"

/* Returns run(arg), or -1 with e set where this thread touched what is no more; then run() has stopped where it was, so
 * that what it has allocated is lost, and what it has locked stays locked: who locks guards what is done meanwhile.
 * Calls may be nested: the innermost returns. A SIGBUS of anything else does what it did before. */
int sp_guarded(int (*run)(void *arg), void *arg, struct sp_err *e);

#endif
