/* SPDX-License-Identifier: BSD-3-Clause */
/* The allocators of the C library. */
#include "heap/heap.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct sp_heap_recorder *sp_heap_recorder;
uint64_t sp_heap_filter[SP_HEAP_FILTER / 64] __attribute__((aligned(64), visibility("hidden")));
__thread struct sp_heap_self sp_heap_self __attribute__((tls_model("initial-exec"), visibility("hidden")));

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void (*real_free)(void *);
static void *(*real_reallocarray)(void *, size_t, size_t);
static int (*real_posix_memalign)(void **, size_t, size_t);
static void *(*real_aligned_alloc)(size_t, size_t);
static void *(*real_memalign)(size_t, size_t);
static void *(*real_valloc)(size_t);
static void *(*real_pvalloc)(size_t);

/* dlsym() allocates, and others do before we could look anything up: that comes from here, and is never given back. */
static union {
	max_align_t align;
	char bytes[64 << 10];
} early;
static size_t early_used;

static void *early_malloc(size_t n)
{
	const size_t head = sizeof(max_align_t);
	size_t whole = (n + 2 * head - 1) / head * head, at;
	if (n > sizeof early.bytes ||
	    (at = __atomic_fetch_add(&early_used, whole, __ATOMIC_RELAXED)) + whole > sizeof early.bytes) {
		errno = ENOMEM;
		return NULL;
	}
	memcpy(early.bytes + at, &n, sizeof n);
	return early.bytes + at + head;
}

static bool is_early(const void *p)
{
	return (uintptr_t)p - (uintptr_t)early.bytes < sizeof early.bytes;
}

static void *leave_early(void *p, size_t n)
{
	size_t old;
	memcpy(&old, (char *)p - sizeof(max_align_t), sizeof old);
	void *q = real_malloc ? real_malloc(n) : early_malloc(n);
	return q ? memcpy(q, p, old < n ? old : n) : NULL;
}

/* All at once; in a thread that is here already while others wait for it, `early` serves. */
__attribute__((constructor(101))) static void resolve(void)
{
	static __thread bool inside __attribute__((tls_model("initial-exec")));
	if (inside || real_free)
		return;
	inside = true;
	real_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
	real_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
	real_reallocarray = (void *(*)(void *, size_t, size_t))dlsym(RTLD_NEXT, "reallocarray");
	real_posix_memalign = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
	real_aligned_alloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "aligned_alloc");
	real_memalign = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "memalign");
	real_valloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "valloc");
	real_pvalloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "pvalloc");
	real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	real_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	inside = false;
}

#define RESOLVED(real) (SP_LIKELY((real) != NULL) || (resolve(), (real) != NULL))

/* ---- sampling: each byte is chosen with the same probability, so that the gaps between chosen ones are geometric.
 * What is not drawn yet begins with a gap, too. ---- */

static double random_unit(uint64_t *seed)
{
	uint64_t x = *seed += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return ((double)((x ^ x >> 31) >> 11) + 0.5) * 0x1p-53;
}

/* -ln(u), so precisely as it takes: a gap is a whole number of bytes. No call of the C library's, which may set errno.
 */
static double minus_log(double u)
{
	int e = 0;
	for (; u < 0.5; e++)
		u *= 2;
	const double y = (u - 1) / (u + 1), q = y * y; /* u is in [0.5, 1) */
	double sum = 0, term = y;
	for (int k = 1; k < 30; k += 2, term *= q)
		sum += term / k;
	return e * 0.69314718055994530942 - 2 * sum;
}

SP_COLD bool sp_heap_sampled(const struct sp_heap_recorder *r, struct sp_heap_self *me, size_t n)
{
	bool sampled = me->drawn;
	if (!me->drawn) {
		me->seed = (uint64_t)(uintptr_t)me ^ (uint64_t)getpid() << 32;
		me->left = (int64_t)(minus_log(random_unit(&me->seed)) * (double)r->sample) - (int64_t)n;
		me->drawn = true;
		sampled = me->left < 0;
	}
	if (sampled) /* a block is recorded once, however many of its bytes would be */
		me->left = (int64_t)(minus_log(random_unit(&me->seed)) * (double)r->sample);
	return sampled;
}

/* ---- the wrappers ---- */

/* Whether a call is recorded, if it is chosen: not one by _measure. */
static inline const struct sp_heap_recorder *recorder(const void *caller)
{
	const struct sp_heap_recorder *r = __atomic_load_n(&sp_heap_recorder, __ATOMIC_ACQUIRE);
	if (SP_LIKELY(!r) || sp_heap_self.quiet || (uintptr_t)caller - r->own_begin < r->own_end - r->own_begin)
		return NULL;
	return r;
}
#define CALLER __builtin_extract_return_addr(__builtin_return_address(0))

/* An allocator may call others of these functions, and maps its pages by mmap(). */
#define QUIETLY(call)                                                                                                  \
	__extension__({                                                                                                \
		sp_heap_self.quiet++;                                                                                  \
		__typeof__(call) quietly = (call);                                                                     \
		sp_heap_self.quiet--;                                                                                  \
		quietly;                                                                                               \
	})

static inline void *tell(const struct sp_heap_recorder *r, void *p, size_t n)
{
	struct sp_heap_self *me = &sp_heap_self;
	if (r && p && (!r->sample || SP_UNLIKELY((me->left -= (int64_t)n) < 0 && sp_heap_sampled(r, me, n)))) {
		me->quiet++;
		sp_heap_tell(r, me, p, n, SP_RAW_HEAP_MALLOC);
		me->quiet--;
	}
	return p;
}

/* Before the block is free for others. */
static inline void forget(const struct sp_heap_recorder *r, const void *p, struct sp_heap_block *block)
{
	struct sp_heap_self *me = &sp_heap_self;
	if (r && p && (!r->sample || sp_heap_may_be_known(p))) {
		me->quiet++;
		sp_heap_forget(r, me, p, block);
		me->quiet--;
	}
}

SP_EXPORT void *malloc(size_t n)
{
	if (!RESOLVED(real_malloc))
		return early_malloc(n);
	return tell(recorder(CALLER), QUIETLY(real_malloc(n)), n);
}

SP_EXPORT void *calloc(size_t n, size_t size)
{
	if (!RESOLVED(real_calloc))
		return size && n > sizeof early / size ? NULL : early_malloc(n * size); /* is 0 already */
	return tell(recorder(CALLER), QUIETLY(real_calloc(n, size)), n * size);
}

SP_EXPORT void free(void *p)
{
	struct sp_heap_block block;
	if (!p || SP_UNLIKELY(is_early(p)) || !RESOLVED(real_free))
		return;
	forget(recorder(CALLER), p, &block);
	sp_heap_self.quiet++;
	real_free(p);
	sp_heap_self.quiet--;
}

static void *resize(const struct sp_heap_recorder *r, void *p, size_t n)
{
	struct sp_heap_block block = {0, 0};
	if (r)
		forget(r, p, &block);
	void *q = QUIETLY(real_realloc(p, n));
	if (r && !q && n && block.site)
		r->restore(p, &block);
	return tell(r, q, n);
}

SP_EXPORT void *realloc(void *p, size_t n)
{
	if (!RESOLVED(real_realloc))
		return p ? leave_early(p, n) : early_malloc(n);
	if (SP_UNLIKELY(is_early(p)))
		return leave_early(p, n);
	return resize(recorder(CALLER), p, n);
}

SP_EXPORT void *reallocarray(void *p, size_t n, size_t size)
{
	size_t whole;
	if (__builtin_mul_overflow(n, size, &whole)) {
		errno = ENOMEM;
		return NULL;
	}
	if (!RESOLVED(real_realloc) || SP_UNLIKELY(is_early(p)))
		return p ? leave_early(p, whole) : early_malloc(whole);
	return resize(recorder(CALLER), p, whole);
}

/* Of those that the allocator in use does not have, ENOMEM is the answer. */
#define ALIGNED(call, real, n)                                                                                         \
	if (!RESOLVED(real)) {                                                                                         \
		errno = ENOMEM;                                                                                        \
		return NULL;                                                                                           \
	}                                                                                                              \
	return tell(recorder(CALLER), QUIETLY(call), n)

SP_EXPORT void *aligned_alloc(size_t alignment, size_t n)
{
	ALIGNED(real_aligned_alloc(alignment, n), real_aligned_alloc, n);
}

SP_EXPORT void *memalign(size_t alignment, size_t n);
void *memalign(size_t alignment, size_t n)
{
	ALIGNED(real_memalign(alignment, n), real_memalign, n);
}

SP_EXPORT void *valloc(size_t n)
{
	ALIGNED(real_valloc(n), real_valloc, n);
}

SP_EXPORT void *pvalloc(size_t n);
void *pvalloc(size_t n)
{
	ALIGNED(real_pvalloc(n), real_pvalloc, n);
}

SP_EXPORT int posix_memalign(void **out, size_t alignment, size_t n)
{
	if (!RESOLVED(real_posix_memalign))
		return ENOMEM;
	const struct sp_heap_recorder *r = recorder(CALLER);
	int e = QUIETLY(real_posix_memalign(out, alignment, n));
	if (!e)
		tell(r, *out, n);
	return e;
}

void *sp_heap_real_calloc(size_t n, size_t size)
{
	return QUIETLY(real_calloc(n, size));
}

void sp_heap_restore(const void *p, const struct sp_heap_block *block)
{
	const struct sp_heap_recorder *r = __atomic_load_n(&sp_heap_recorder, __ATOMIC_ACQUIRE);
	if (r)
		r->restore(p, block);
}

/* ---- _measure's way in ---- */

/* NULL: nothing more. 0, or -1: the two are not of one version. */
SP_EXPORT int sp_heap_attach(const struct sp_heap_recorder *r);
int sp_heap_attach(const struct sp_heap_recorder *r)
{
	if (r && (r->version != 1 || r->size < sizeof *r))
		return -1;
	resolve();
	__atomic_store_n(&sp_heap_recorder, r, __ATOMIC_RELEASE);
	return 0;
}

/* The filter, to be set by the recorder. */
SP_EXPORT uint64_t *sp_heap_filter_bits(void);
uint64_t *sp_heap_filter_bits(void)
{
	return sp_heap_filter;
}

/* The calling thread's: nothing is recorded while it is not 0. */
SP_EXPORT int *sp_heap_quiet(void);
int *sp_heap_quiet(void)
{
	return &sp_heap_self.quiet;
}
