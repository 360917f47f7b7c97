/* SPDX-License-Identifier: BSD-3-Clause */
/* Where Python's events come from: each hook is one file behind one row of struct sp_hook. */
#ifndef SP_HOOK_HOOK_H
#define SP_HOOK_HOOK_H

#include <stdbool.h>

struct sp_hook {
	const char *name;
	const char *what; /* for `spartito doctor` */
	/* NULL if it works with this Python, otherwise why not. */
	const char *(*missing)(void);
	bool c_calls;            /* can see C functions */
	bool entered_is_current; /* at an enter, the frame entered is already the thread's current one */
	unsigned key_tag;        /* bit 0 of this hook's keys, see setprofile.c */
	/* In the current interpreter, for all its threads. 0, or -1 with a Python exception. */
	int (*install)(void);
	void (*remove)(void);
	/* The same for a while, and cheap; NULL: remove and install serve. 0, or -1 with a Python exception. */
	void (*suspend)(void);
	int (*resume)(void);
	/* Has somebody else taken our place? */
	bool (*taken)(void);
};

extern const struct sp_hook sp_hook_evalframe, sp_hook_monitoring, sp_hook_setprofile;
extern const struct sp_hook *const sp_hooks[];     /* best first for this version; NULL at the end */
extern const struct sp_hook *_Atomic sp_hook_used; /* NULL: none installed */

#endif
