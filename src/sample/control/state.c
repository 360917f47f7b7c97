/* SPDX-License-Identifier: BSD-3-Clause */
#include "sample/control/state.h"

#include <sys/syscall.h>

/* Whether a system call that sleeps waits for another thread or process, or for time to pass. Reading from a disk
 * cannot be interrupted: its letter is D. */
static bool waits(int32_t number)
{
	switch (number) {
	case SYS_futex:
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_restart_syscall: /* a restarted one of them, or poll() */
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_epoll_pwait:
	case SYS_rt_sigtimedwait:
	case SYS_rt_sigsuspend:
	case SYS_wait4:
	case SYS_waitid:
	case SYS_accept:
	case SYS_accept4:
	case SYS_connect:
	case SYS_read: /* from a pipe, socket or terminal */
	case SYS_readv:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_io_getevents:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_msgrcv:
	case SYS_mq_timedreceive:
	case SYS_flock:
#ifdef SYS_poll
	case SYS_poll:
	case SYS_select:
	case SYS_epoll_wait:
	case SYS_pause:
#endif
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2:
#endif
#ifdef SYS_futex_waitv
	case SYS_futex_waitv:
#endif
		return true;
	default:
		return false;
	}
}

/* Whether requesting the interpreter's lock is the innermost thing that the interpreter does. */
static bool asks(const struct sp_native_frame *native, size_t n)
{
	size_t i = 0;
	while (i < n && !(native[i].function && native[i].function->interpreter))
		i++;
	return i < n && native[i].function->gil;
}

enum sp_thread_state sp_thread_state(const struct sp_python *python, uint64_t thread,
                                     const struct sp_thread_times *times, const struct sp_native_frame *native,
                                     size_t n_native)
{
	const bool gil = !python || sp_python_has_gil(python);
	if (gil && native && asks(native, n_native))
		return SP_STATE_GIL;
	/* the thread may have been woken after its letter was read */
	if (times->letter == 'R' || (times->letter == 'S' && times->syscall == -1 && !times->sp))
		return SP_STATE_RUNNING;
	/* a wait with a timeout that a stop interrupted has become restart_syscall, with the arguments of futex */
	const bool futex = times->syscall == SYS_futex || times->syscall == SYS_restart_syscall;
	if (futex && python && sp_python_in_lock(python, times->arguments[0]))
		return SP_STATE_GIL;
	if (futex && python)
		switch (sp_python_parked(python, thread, times->arguments[0])) {
		case SP_PARK_OBJECT:
			return SP_STATE_OBJECT;
		case SP_PARK_STOPPED:
			return SP_STATE_STOPPED;
		case SP_PARK_ELSE:
			break;
		}
	if (times->letter == 'D' || (times->letter == 'S' && times->syscall >= 0 && !waits(times->syscall)))
		return SP_STATE_SYSCALL;
	return SP_STATE_IDLE;
}
