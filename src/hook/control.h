/* SPDX-License-Identifier: BSD-3-Clause */
/* Start, pause, stop and end of a measurement (control/, process/ending.c, process/host.c). */
#ifndef SP_HOOK_CONTROL_H
#define SP_HOOK_CONTROL_H

#include <stdbool.h>

#include "format/format.h"
#include "hook/frames.h"
#include "record/settings.h"

struct sp_hook;

/* ending.c: installs, once, the handlers that end the measurement with the interpreter or with the process. */
void sp_hook_end_handlers(void);

/* These four return 0, or -1 with a Python exception. dir: the experiment's directory. A successful start takes over
 * the contents of s and leaves it empty. */
int sp_control_start(const char *dir, struct sp_settings *s, enum sp_raw_start how);
int sp_control_stop(void);
int sp_control_pause(void);
int sp_control_resume(void);
/* Enables or disables the recording of functions; user regions are always recorded. Returns 1 if that changed, 0 if
 * not or if nothing is measured. */
int sp_control_instrument(bool on);
/* Replaces the setting `label` for functions that are entered after this. Returns 0, or -1 with an exception. */
int sp_control_label(const char *words);
/* Replaces the setting `annotate` for functions that are entered after this. */
void sp_control_annotate(bool on);
/* Replaces the filter for functions that are entered after this. Returns 0, or -1 with an exception. */
int sp_control_filter(const char *items);
/* Replaces the hook in all threads; evalframe.c uses it when the C stack runs out. Returns 0 or -1. Keeps errno. */
int sp_control_switch(const struct sp_hook *to);
/* Whether the last measurement began in the current interpreter. */
bool sp_control_began_here(void);
/* boot.c: starts measuring as the environment says, from spartito.pth. Returns whether it measures. */
bool sp_control_boot(void);
/* host.c: the name of this host since its last start, and spartito._measure.host(), which returns it. */
enum { SP_HOST_NAME = 96 }; /* bytes, with the zero */
void sp_host_name(char name[SP_HOST_NAME]);
PyObject *sp_host(PyObject *self, PyObject *none);
/* On a host other than the launcher's: makes sure that this host has a sampler, which its first process starts, and
 * sets SPARTITO_SAMPLER to it. Returns NULL on success or if no sampler is needed; otherwise the reason, which the
 * caller frees. */
char *sp_host_sampler(const char *dir);
/* Calls install() while the hook is not installed, so that the hook is afterwards on top of what install() adds. */
void sp_control_beneath(void (*install)(void));
/* api.c: makes the functions of spartito.h visible to the libraries of the process. */
void sp_publish_api(void);

#endif
