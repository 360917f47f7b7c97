/* SPDX-License-Identifier: BSD-3-Clause */
/* Sources of Python's events: each hook is one file with one struct sp_hook. */
#ifndef SP_HOOK_HOOK_H
#define SP_HOOK_HOOK_H

#include <stdbool.h>

/* One hook. */
struct sp_hook {
	const char *name;
	const char *what; /* a description for `spartito doctor` */
	/* Returns NULL if the hook works with this Python, otherwise the reason why not. */
	const char *(*missing)(void);
	bool c_calls;            /* the hook can see C functions */
	bool entered_is_current; /* during an enter, the entered frame is already the thread's current one */
	unsigned key_tag;        /* bit 0 of this hook's keys, see setprofile.c */
	/* Installs and removes the hook in the current interpreter, for all its threads. Returns 0, or -1 with a
	 * Python exception. */
	int (*install)(void);
	void (*remove)(void);
	/* Cheap versions of these for a limited time; NULL: use remove and install. Returns 0, or -1 with a Python
	 * exception. */
	void (*suspend)(void);
	int (*resume)(void);
	/* Whether another tool has replaced the hook. */
	bool (*taken)(void);
};

extern const struct sp_hook sp_hook_evalframe, sp_hook_monitoring, sp_hook_setprofile;
extern const struct sp_hook *const sp_hooks[];     /* best one for this version first; NULL at the end */
extern const struct sp_hook *_Atomic sp_hook_used; /* the installed hook; NULL: none */

/* Disable and enable the installed hook for a limited time. The second returns 0, or -1 with a Python exception. */
static inline void sp_hook_off(void)
{
	(sp_hook_used->suspend ? sp_hook_used->suspend : sp_hook_used->remove)();
}

static inline int sp_hook_on(void)
{
	return (sp_hook_used->resume ? sp_hook_used->resume : sp_hook_used->install)();
}

#endif
