/* SPDX-License-Identifier: BSD-3-Clause */
/* The file of a process, mapped in segments, and the chunks that are taken from them.
 *
 * No descriptor stays open: the program may close all descriptors (os.closerange), need them all (RLIMIT_NOFILE), or
 * open its own file under the recorder's number. Space is reserved before it is used, so a full disk is an error code
 * here and not a SIGBUS in the middle of the program. */
#include "format/checksum.h"
#include "record/buffer.h"
#include "record/clock.h"
#include "record/process.h"
#include "record/settings.h"
#include "record/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* The first segment is enough for a short program or a cell of a notebook: its pages are the largest part of the cost
 * of a start. Sizes are in bytes. */
enum { FIRST_SEGMENT = 64 << 10, LAST_SEGMENT = 4 << 20 };

size_t sp_buffer_page;

/* Bytes between the begin of the system's page and an offset in the file: a mapping begins with a whole page, and pages
 * may be larger than SP_RAW_PAGE. */
static uint64_t in_page(uint64_t offset)
{
	if (!sp_buffer_page)
		sp_buffer_page = (size_t)sysconf(_SC_PAGESIZE);
	return offset % sp_buffer_page;
}

static uint64_t page_up(uint64_t n)
{
	return (n + SP_RAW_PAGE - 1) & ~(uint64_t)(SP_RAW_PAGE - 1);
}

/* Growing a file beyond RLIMIT_FSIZE would send SIGXFSZ to the program. */
static int size_allowed(uint64_t size)
{
	struct rlimit r;
	return getrlimit(RLIMIT_FSIZE, &r) || r.rlim_cur == RLIM_INFINITY || size <= r.rlim_cur ? 0 : -EFBIG;
}

/* Reserves space and makes the pages exist: writes zeros, which new bytes of the file contain anyway. In the page cache
 * of a file system with large folios a write of PIECE bytes makes one folio, for a fraction of the cost of a fault for
 * each of its pages. Folios of 2 MB cost a virtual machine several times as much: it asks its host for the memory. */
static int write_zeros(int fd, uint64_t offset, uint64_t bytes)
{
	enum { PIECE = 256 << 10, PARTS = PIECE / SP_RAW_PAGE };
	static const char zeros[SP_RAW_PAGE];
	struct iovec parts[PARTS];
	for (int i = 0; i < PARTS; i++)
		parts[i] = (struct iovec){(void *)zeros, sizeof zeros};
	bool refused = false; /* pwritev(), as in a container that does not know it */
	for (const uint64_t end = offset + bytes; offset < end;) {
		const uint64_t aligned = offset - offset % PIECE + PIECE, stop = aligned < end ? aligned : end;
		const uint64_t rest = stop - offset, whole = refused ? 0 : rest / SP_RAW_PAGE;
		/* An interrupted write may end within a page. The system is called directly: a preloaded library may
		 * replace these functions by others that record calls, and here the process is locked. */
		const long written =
		    whole ? syscall(SYS_pwritev, fd, parts, (long)whole, (long)offset, 0L)
		          : syscall(SYS_pwrite64, fd, zeros, rest < sizeof zeros ? rest : sizeof zeros, (long)offset);
		if (written > 0)
			offset += (uint64_t)written;
		else if (written < 0 && whole && (errno == ENOSYS || errno == EPERM || errno == EINVAL))
			refused = true;
		else if (written == 0 || errno != EINTR)
			return written ? -errno : -ENOSPC;
	}
	return 0;
}

/* Maps the bytes [offset, offset + bytes) of the file without a descriptor: duplicates the header's mapping (mremap
 * with an old size of 0) and extends it. */
static char *map_without_descriptor(uint64_t offset, uint64_t bytes)
{
	char *all = mremap(sp_process.header, 0, offset + bytes, MREMAP_MAYMOVE);
	if (all == MAP_FAILED)
		return NULL;
	if (offset > in_page(offset))
		munmap(all, offset - in_page(offset));
	return all + offset;
}

void *sp_buffer_map(int fd, uint64_t offset, uint64_t bytes)
{
	const uint64_t more = in_page(offset);
	char *p = mmap(NULL, more + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(offset - more));
	return p == MAP_FAILED ? NULL : p + more;
}

void sp_buffer_unmap(void *p, uint64_t offset, uint64_t bytes)
{
	munmap((char *)p - in_page(offset), in_page(offset) + bytes);
}

static char *map_piece(uint64_t offset, uint64_t bytes, int *fd)
{
	*fd = open(sp_process.path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (*fd < 0)
		return errno == EMFILE || errno == ENFILE ? map_without_descriptor(offset, bytes) : NULL;
	return sp_buffer_map(*fd, offset, bytes);
}

/* Reserves the space of a new part of the file, and maps its pages now, so that events cause no page faults. */
static int reserve(char *p, uint64_t offset, uint64_t bytes, int fd)
{
	const int r = fd < 0 ? 0 : write_zeros(fd, offset, bytes);
	if (r || !madvise(p - in_page(offset), in_page(offset) + bytes, MADV_POPULATE_WRITE))
		return r;
	if (errno == ENOMEM || errno == EFAULT) /* EFAULT: a store would raise SIGBUS */
		return errno == ENOMEM ? -ENOMEM : -ENOSPC;
	return fd < 0 ? -EMFILE : 0; /* the kernel does not support it */
}

static int grow_file(uint64_t bytes, struct sp_segment *out)
{
	uint64_t offset = sp_process.size;
	int fd = -1, r = size_allowed(offset + bytes);
	if (r)
		return r;
	if (truncate(sp_process.path, (off_t)(offset + bytes)))
		return -errno;
	char *p = map_piece(offset, bytes, &fd);
	r = p ? reserve(p, offset, bytes, fd) : -errno;
	if (fd >= 0)
		close(fd);
	if (r) {
		if (p)
			sp_buffer_unmap(p, offset, bytes);
		if (truncate(sp_process.path, (off_t)offset))
			return r;
		return r;
	}
	sp_process.size = offset + bytes;
	*out = (struct sp_segment){.address = p, .offset = offset, .bytes = bytes};
	return 0;
}

/* Opening and closing files are cancellation points. The thread must not be cancelled while it holds the process lock,
 * nor in a function of the program that is no cancellation point. */
static int grow(uint64_t bytes, struct sp_segment *out)
{
	int before, r;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	r = grow_file(bytes, out);
	pthread_setcancelstate(before, &before);
	return r;
}

/* Unmaps a segment if all its chunks are done and no stream takes chunks from it any more. */
static void segment_release(int i)
{
	struct sp_segment *s = &sp_process.segments[i];
	if (s->live || i == sp_process.current[SP_STREAM_EVENTS] || i == sp_process.current[SP_STREAM_STATE])
		return;
	sp_buffer_unmap(s->address, s->offset, s->bytes);
	size_t last = --sp_process.n_segments;
	sp_process.segments[i] = sp_process.segments[last];
	for (int k = 0; k < SP_STREAMS; k++)
		if (sp_process.current[k] == (int)last)
			sp_process.current[k] = i;
}

static int segment_add(int stream, uint64_t bytes)
{
	/* a segment ends at a multiple of its nominal size, so that large segments begin at a large folio */
	const uint64_t nominal = sp_process.next_segment[stream], beyond = sp_process.size % nominal;
	uint64_t want = beyond <= nominal / 2 ? nominal - beyond : 2 * nominal - beyond;
	if (want < bytes)
		want = page_up(bytes);
	struct sp_segment *more = realloc(sp_process.segments, (sp_process.n_segments + 1) * sizeof *more);
	if (!more)
		return -ENOMEM;
	sp_process.segments = more;
	struct sp_segment *s = &more[sp_process.n_segments];
	int r = grow(want, s);
	if (r && want > page_up(bytes)) /* the disk is nearly full: the needed bytes may still fit */
		r = grow(page_up(bytes), s);
	if (r)
		return r;
	int before = sp_process.current[stream];
	sp_process.current[stream] = (int)sp_process.n_segments++;
	if (before >= 0)
		segment_release(before);
	if (sp_process.next_segment[stream] < LAST_SEGMENT &&
	    sp_process.next_segment[stream] * 16 <= sp_process.settings.trace_memory)
		sp_process.next_segment[stream] *= 2;
	sp_process.header->bytes = sp_process.size;
	sp_process_sync();
	return 0;
}

static struct sp_segment *current(int stream)
{
	int i = sp_process.current[stream];
	return i < 0 ? NULL : &sp_process.segments[i];
}

static int segment_of(const void *p)
{
	for (size_t i = sp_process.n_segments; i-- > 0;) {
		const struct sp_segment *s = &sp_process.segments[i];
		if ((const char *)p >= s->address && (const char *)p < s->address + s->bytes)
			return (int)i;
	}
	return -1;
}

/* Adds the checksum of a chunk that does not change any more; code that changes it later computes the checksum
 * again. After the end of the measurement none is added: a reader may already have read the chunk without it. */
static void seal(struct sp_raw_chunk *c)
{
	if (c->type != SP_RAW_FREE && !sp_raw_sum_of(c) && sp_process.header->ended == SP_RAW_RUNNING)
		sp_raw_chunk_seal(c, c + 1, c->bytes - sizeof *c);
}

/* The process has ended, and so have all its threads except the calling one: no other thread writes any more. */
static bool is_alone(void)
{
	const struct sp_thread *t = sp_process.threads;
	return sp_process.header->start == SP_RAW_STARTED_SAMPLER || !t || (t->slot == &sp_self && !t->next);
}

bool sp_buffer_seal(void)
{
	if (!is_alone())
		return false;
	for (size_t i = 0; i < sp_process.n_segments; i++) {
		const struct sp_segment *s = &sp_process.segments[i];
		for (uint64_t at = 0; at < s->used;) {
			struct sp_raw_chunk *c = (struct sp_raw_chunk *)(s->address + at);
			seal(c);
			at += c->bytes;
		}
	}
	return !sp_process.unsealed;
}

struct sp_raw_chunk *sp_buffer_unpublished(enum sp_raw_chunk_type type, const struct sp_thread *t, uint64_t bytes,
                                           uint32_t seq, uint64_t base)
{
	int stream = type == SP_RAW_EVENTS ? SP_STREAM_EVENTS : SP_STREAM_STATE;
	bytes = page_up(bytes);
	if (!sp_process.header || sp_process.header->ended != SP_RAW_RUNNING)
		return NULL; /* a daemon thread after the end: the file has been truncated */
	if ((t && segment_of(t) < 0) || sp_process.pid != getpid())
		return NULL;
	struct sp_segment *s = current(stream);
	if (!s || s->bytes - s->used < bytes) {
		int r = sp_process.disk_failed ? -ENOSPC : segment_add(stream, bytes);
		if (r) {
			sp_process_lost(SP_RAW_REASON_DISK, -r, 0);
			return NULL;
		}
		s = current(stream);
	}
	/* the thread's previous chunk of the trace is full; with FLUSH it already has its checksum and is unmapped */
	if (type == SP_RAW_EVENTS && t && t->ev_chunk && sp_process.settings.when_full != SP_FLUSH)
		seal(t->ev_chunk);
	struct sp_raw_chunk *c = (struct sp_raw_chunk *)(s->address + s->used);
	s->used += bytes;
	s->live++;
	sp_process.mapped += bytes;
	c->type = type;
	c->location = t ? t->loc.id : SP_RAW_NONE;
	c->seq = seq;
	c->bytes = bytes;
	c->base = base;
	c->address = (uint64_t)c;
	return c;
}

void sp_buffer_publish(struct sp_raw_chunk *c)
{
	__atomic_store_n(&c->magic, SP_RAW_CHUNK_MAGIC, __ATOMIC_RELEASE);
}

struct sp_raw_chunk *sp_buffer_chunk(enum sp_raw_chunk_type type, const struct sp_thread *t, uint64_t bytes,
                                     uint32_t seq, uint64_t base)
{
	struct sp_raw_chunk *c = sp_buffer_unpublished(type, t, bytes, seq, base);
	if (c)
		sp_buffer_publish(c);
	return c;
}

uint64_t sp_buffer_offset(const void *p)
{
	int i = segment_of(p);
	return i < 0 ? 0 : sp_process.segments[i].offset + (uint64_t)((const char *)p - sp_process.segments[i].address);
}

void sp_buffer_done(struct sp_raw_chunk *c)
{
	int i = segment_of(c);
	if (i < 0)
		return;
	seal(c);
	if (c->type != SP_RAW_FREE && !sp_raw_sum_of(c))
		sp_process.unsealed = true;
	sp_process.mapped -= c->bytes;
	sp_process.segments[i].live--;
	segment_release(i);
}

static int header_map(void)
{
	if (size_allowed(SP_RAW_PAGE))
		return -EFBIG;
	int fd = open(sp_process.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0)
		return -errno;
	int r = write_zeros(fd, 0, SP_RAW_PAGE);
	if (!r) {
		void *p = mmap(NULL, SP_RAW_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (p == MAP_FAILED)
			r = -errno;
		else
			sp_process.header = p;
	}
	close(fd);
	if (r)
		unlink(sp_process.path);
	return r;
}

static int header_map_helper(void *result)
{
	close(STDIN_FILENO); /* in the helper's own descriptor table */
	*(int *)result = header_map();
	return 0;
}

/* All descriptors are in use. A helper process that shares this one's memory, but has a copy of its descriptors,
 * closes one of them and maps the header for both. It has no exit signal, so that the program's wait() does not see
 * it. */
static int header_map_without_descriptor(void)
{
	enum { STACK = 64 << 10 };
	int r = -EMFILE;
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		return r;
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* a signal handler would run in the helper */
	pid_t pid = clone(header_map_helper, stack + STACK, CLONE_VM | CLONE_VFORK, &r);
	while (pid > 0 && waitpid(pid, NULL, __WCLONE) < 0 && errno == EINTR)
		;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	munmap(stack, STACK);
	return r;
}

static void host_name(char *text, size_t n)
{
	if (gethostname(text, n))
		strcpy(text, "unknown");
	text[n - 1] = 0;
	for (char *c = text; *c; c++)
		if (*c == '/')
			*c = '_';
}

/* The file with the samples of a process is beside that process's own file. */
static int name_file(const char *dir, const char *host)
{
	const char *of = sp_process.sampled_file;
	int n;
	free(sp_process.path);
	if (of)
		n = asprintf(&sp_process.path, "%s/raw/%.*s" SP_RAW_SAMPLES, dir,
		             (int)(strlen(of) - strlen(SP_RAW_SUFFIX)), of);
	else
		n = asprintf(&sp_process.path, "%s/raw/%s-%d-%llx" SP_RAW_SUFFIX, dir, host, (int)getpid(),
		             (unsigned long long)sp_clock_nanoseconds(CLOCK_REALTIME));
	if (n < 0)
		sp_process.path = NULL;
	return n < 0 ? -ENOMEM : 0;
}

static int open_file(const char *dir)
{
	char host[128];
	host_name(host, sizeof host);
	if (name_file(dir, host))
		return -ENOMEM;
	sp_process.pid = getpid();
	sp_process.size = SP_RAW_PAGE;
	sp_process.mapped = sp_process.event_bytes = 0;
	sp_process.disk_failed = sp_process.unsealed = false;
	for (int k = 0; k < SP_STREAMS; k++) {
		sp_process.current[k] = -1;
		sp_process.next_segment[k] = FIRST_SEGMENT;
		while (sp_process.next_segment[k] > SP_RAW_PAGE * 4u &&
		       sp_process.next_segment[k] * 8 > sp_process.settings.trace_memory)
			sp_process.next_segment[k] /= 2;
	}
	int r = header_map();
	if (r == -EMFILE)
		r = header_map_without_descriptor();
	if (r)
		return r;
	struct sp_raw_header *h = sp_process.header;
	strcpy(h->host, host);
	h->byte_order = SP_RAW_BYTE_ORDER;
	h->version = SP_RAW_VERSION;
	h->header_bytes = SP_RAW_PAGE;
	h->bytes = SP_RAW_PAGE;
	h->pid = (int32_t)(sp_process.sampled ? sp_process.sampled : getpid());
	h->ppid = (int32_t)(sp_process.sampled ? getpid() : getppid());
	h->sampler = sp_process.settings.sampler;
	h->memory_limit = sp_process.settings.trace_memory;
	h->clock = sp_clock_kind;
	h->first = h->last = sp_clock_sync();
	uint64_t magic;
	memcpy(&magic, SP_RAW_MAGIC, sizeof magic);
	/* last: readers see a header with it complete */
	__atomic_store_n((uint64_t *)h->magic, magic, __ATOMIC_RELEASE);
	return 0;
}

int sp_buffer_open(const char *dir)
{
	int before;
	/* a thread cancelled in here would keep the process lock, or unwind in the helper */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	const int r = open_file(dir);
	pthread_setcancelstate(before, &before);
	return r;
}

void sp_buffer_close(void)
{
	uint64_t end = SP_RAW_PAGE;
	for (size_t i = 0; i < sp_process.n_segments; i++) {
		const struct sp_segment *s = &sp_process.segments[i];
		if (s->offset + s->used > end)
			end = s->offset + s->used;
	}
	/* segments that are already unmapped are before these; the truncated part is mapped but was never used */
	uint64_t last = sp_process.size;
	for (int k = 0; k < SP_STREAMS; k++) {
		const struct sp_segment *s = current(k);
		if (s && s->offset + s->bytes == sp_process.size)
			last = s->offset + s->used;
	}
	if (last < end)
		last = end;
	/* the header first: if the process is killed in between, the file is longer than the header says, and not
	 * shorter */
	const uint64_t before = sp_process.header->bytes;
	__atomic_store_n(&sp_process.header->bytes, last, __ATOMIC_SEQ_CST);
	if (truncate(sp_process.path, (off_t)last))
		sp_process.header->bytes = before;
}

void sp_buffer_unmap_all(struct sp_segment *segments, size_t n, struct sp_raw_header *header)
{
	for (size_t i = 0; i < n; i++)
		sp_buffer_unmap(segments[i].address, segments[i].offset, segments[i].bytes);
	free(segments);
	if (header)
		munmap(header, SP_RAW_PAGE);
}
