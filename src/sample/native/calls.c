/* SPDX-License-Identifier: BSD-3-Clause */
/* System calls that a stop makes fail or shortens although there was no signal: how to hide that from the program. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include "sample/native/private.h"

enum {
	SYSCALL_BYTES = 2, /* length of the syscall instruction */
	PIECES = 1024      /* maximum length of a vector, UIO_MAXIOV */
};
#define MAX_BYTES UINT64_C(0x7ffff000) /* maximum number of bytes of one call */

ssize_t sp_stop_text(const char *path, char *text, size_t n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, text, n - 1) : -1;
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = 0;
	return got;
}

/* ---- calls that fail ---- */

/* A stop ends some system calls with EINTR that the kernel does not restart by itself, even without a handler
 * (signal(7)). All of these have done nothing by then, so they can be restarted from here. */
static bool harmless(uint64_t number)
{
	static const uint16_t calls[] = {
	    SYS_read,           SYS_readv,           SYS_write,
	    SYS_writev,         SYS_recvfrom,        SYS_recvmsg,
	    SYS_recvmmsg,       SYS_sendto,          SYS_sendmsg,
	    SYS_sendmmsg,       SYS_accept,          SYS_accept4,
	    SYS_connect,        SYS_epoll_wait,      SYS_epoll_pwait,
	    SYS_semop,          SYS_semtimedop,      SYS_msgsnd,
	    SYS_msgrcv,         SYS_mq_timedsend,    SYS_futex,
	    SYS_io_getevents,   SYS_io_pgetevents,   SYS_rt_sigtimedwait,
	    SYS_io_uring_enter, SYS_mq_timedreceive, 441 /* epoll_pwait2 */,
	};
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		if (calls[i] == number)
			return true;
	return false;
}

static uint64_t hexadecimal_of(const char *text, const char *name)
{
	const char *p = strstr(text, name);
	return p ? strtoull(p + strlen(name), NULL, 16) : UINT64_MAX;
}

/* Whether a signal is pending that the thread will handle: then the signal ended the call. */
static bool has_signal(const struct sp_stop *s)
{
	char path[64], text[4096];
	snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)s->t->pid, (int)s->thread);
	if (sp_stop_text(path, text, sizeof text) <= 0)
		return true;
	uint64_t waits = hexadecimal_of(text, "\nSigPnd:") | hexadecimal_of(text, "\nShdPnd:");
	return waits & ~hexadecimal_of(text, "\nSigBlk:");
}

void sp_call_again(struct user_regs_struct *u)
{
	u->rip -= SYSCALL_BYTES;
	u->rax = u->orig_rax;
}

bool sp_call_failed(const struct sp_stop *s, const struct user_regs_struct *u)
{
	return (int64_t)u->orig_rax >= 0 && (int64_t)u->rax == -EINTR && harmless(u->orig_rax) && !has_signal(s);
}

/* ---- calls that are shortened ---- */

/* A thread that writes much data into a full pipe or a connection would see a short write after a stop; without the
 * stop everything would be written. The call is therefore continued with the rest, and finally returns the total. A
 * vector of buffers is continued one buffer at a time, so that nothing has to be written into the process. */

static bool is_vector(uint64_t number)
{
	return number == SYS_writev || number == SYS_sendmsg || number == SYS_recvmsg;
}

/* Reads the buffers of a call with several buffers. Returns their number. */
static size_t vector_of(const struct sp_stop *s, struct iovec pieces[PIECES])
{
	const struct sp_call *c = &s->call;
	uint64_t at = c->arguments[1], n = c->arguments[2];
	struct msghdr message;
	if (c->number != SYS_writev) {
		if (!sp_target_read(s->t, at, &message, sizeof message))
			return 0;
		at = (uint64_t)(uintptr_t)message.msg_iov;
		n = message.msg_iovlen;
	}
	return n <= PIECES && sp_target_read(s->t, at, pieces, n * sizeof *pieces) ? n : 0;
}

/* The requested number of bytes; 0: the call is complete with what it did. */
static uint64_t asked_for(const struct sp_stop *s)
{
	const struct sp_call *c = &s->call;
	struct iovec pieces[PIECES];
	const bool vector = is_vector(c->number);
	const uint64_t flags = c->arguments[vector ? 2 : 3];
	uint64_t all = 0;
	switch (c->number) {
	case SYS_write:
	case SYS_writev:
		break;
	case SYS_sendto:
	case SYS_sendmsg:
		if (flags & MSG_DONTWAIT)
			return 0;
		break;
	case SYS_recvfrom:
	case SYS_recvmsg:
		if (!(flags & MSG_WAITALL) || flags & (MSG_PEEK | MSG_DONTWAIT))
			return 0;
		break;
	case SYS_sendfile:
		return c->arguments[3];
	case SYS_getrandom:
		return c->arguments[1];
	default:
		return 0;
	}
	for (size_t i = 0, n = vector ? vector_of(s, pieces) : 0; i < n; i++)
		all += pieces[i].iov_len;
	return vector ? all : c->arguments[2];
}

/* Whether the descriptor is blocking: a non-blocking one may always transfer less. */
static bool waits(const struct sp_stop *s)
{
	char path[64], text[256];
	if (s->call.number == SYS_getrandom)
		return true;
	snprintf(path, sizeof path, "/proc/%d/fdinfo/%d", (int)s->t->pid, (int)s->call.arguments[0]);
	const char *flags = sp_stop_text(path, text, sizeof text) > 0 ? strstr(text, "flags:") : NULL;
	return flags && !(strtoul(flags + strlen("flags:"), NULL, 8) & O_NONBLOCK);
}

/* Whether the call has ended, so that rax is its result. A call that is restarted, by the kernel or by the previous
 * sample, is at its instruction with its number in rax until the thread is back in the program. */
static bool has_ended(const struct sp_stop *s, const struct user_regs_struct *u)
{
	unsigned char code[SYSCALL_BYTES];
	return u->rax != u->orig_rax ||
	       (sp_target_read(s->t, u->rip - SYSCALL_BYTES, code, sizeof code) && code[0] == 0x0f && code[1] == 0x05);
}

bool sp_call_shortened(struct sp_stop *s, const struct user_regs_struct *u)
{
	if ((int64_t)u->orig_rax < 0 || (int64_t)u->rax <= 0)
		return false;
	s->call = (struct sp_call){u->orig_rax, {u->rdi, u->rsi, u->rdx, u->r10, u->r8, u->r9}, u->rax, 0};
	s->call.all = asked_for(s);
	s->call.all = s->call.all < MAX_BYTES ? s->call.all : MAX_BYTES;
	return s->call.done < s->call.all && has_ended(s, u) && !has_signal(s) && waits(s);
}

/* Sets the registers for the rest of the current buffer of a vector, as a call with one buffer. Returns its number of
 * bytes. */
static uint64_t rest_of_vector(const struct sp_stop *s, struct user_regs_struct *u)
{
	static const uint64_t one[][2] = {
	    {SYS_writev, SYS_write}, {SYS_sendmsg, SYS_sendto}, {SYS_recvmsg, SYS_recvfrom}};
	const struct sp_call *c = &s->call;
	struct iovec pieces[PIECES];
	uint64_t before = c->done;
	size_t i = 0, n = vector_of(s, pieces);
	for (; i < n && before >= pieces[i].iov_len; i++)
		before -= pieces[i].iov_len;
	if (i == n)
		return 0;
	for (size_t k = 0; k < sizeof one / sizeof *one; k++)
		if (one[k][0] == c->number)
			u->orig_rax = one[k][1];
	u->rsi = (uint64_t)(uintptr_t)pieces[i].iov_base + before;
	u->rdx = pieces[i].iov_len - before;
	u->r10 = c->arguments[2]; /* flags; the other parts of the message were sent with its first byte */
	u->r8 = u->r9 = 0;
	return u->rdx;
}

uint64_t sp_call_rest(const struct sp_stop *s, struct user_regs_struct *u)
{
	const struct sp_call *c = &s->call;
	uint64_t rest = c->all > c->done ? c->all - c->done : 0;
	if (!rest)
		return 0;
	u->orig_rax = c->number;
	if (is_vector(c->number)) {
		rest = rest_of_vector(s, u);
	} else if (c->number == SYS_sendfile) {
		u->r10 = rest; /* the kernel has advanced the position in the file */
	} else if (c->number == SYS_getrandom) {
		u->rdi += c->done;
		u->rsi = rest;
	} else {
		u->rsi += c->done;
		u->rdx = rest;
	}
	sp_call_again(u);
	return rest;
}

void sp_call_set_registers(const struct sp_call *c, struct user_regs_struct *u)
{
	u->rax = c->done;
	u->rdi = c->arguments[0];
	u->rsi = c->arguments[1];
	u->rdx = c->arguments[2];
	u->r10 = c->arguments[3];
	u->r8 = c->arguments[4];
	u->r9 = c->arguments[5];
}
