/* SPDX-License-Identifier: BSD-3-Clause */
/* Start, pause, stop and end of a measurement (control/, process/ending.c, process/host.c). */
#ifndef SP_HOOK_CONTROL_H
#define SP_HOOK_CONTROL_H

#include <stdbool.h>

#include "format/format.h"
#include "hook/frames.h"
#include "record/settings.h"

struct sp_hook;

/* ending.c. Ends the measurement with the interpreter, or with the process; once. */
void sp_hook_end_handlers(void);

/* All return 0, or -1 with a Python exception. */
int sp_control_start(const char *dir, struct sp_settings *s, enum sp_raw_start how);
int sp_control_stop(void);
int sp_control_pause(void);
int sp_control_resume(void);
/* Whether functions are recorded from here on; user regions are in any case. 1: that changed it, 0: it was so, or
 * nothing is measured. */
int sp_control_instrument(bool on);
/* Other labels for functions that are entered from here on. */
int sp_control_label(const char *words);
void sp_control_annotate(bool on);
/* Another filter for functions that are entered from here on. */
int sp_control_filter(const char *items);
/* Goes on with another hook, for all threads; used by evalframe.c when the C stack runs out. Keeps errno. */
int sp_control_switch(const struct sp_hook *to);
bool sp_control_boot(void);
/* host.c: spartito._measure.host() */
PyObject *sp_host(PyObject *self, PyObject *none);
/* On another host than the launcher's, SPARTITO_SAMPLER becomes the sampler of this one, which is started by whoever
 * comes first. Why there is none, to be freed; NULL: there is one, or none is asked for. */
char *sp_host_sampler(const char *dir);
/* Calls install() while our own hook is not there, which then comes on top of what that installs. */
void sp_control_beneath(void (*install)(void));
/* api.c: makes the functions of spartito.h known to libraries of the process. */
void sp_publish_api(void);

#endif
