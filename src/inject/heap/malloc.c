/* SPDX-License-Identifier: BSD-3-Clause */
/* The allocators of the C library: the real functions, the choice of samples, aligned blocks. */
#include "inject/heap/heap.h"
#include "record/libc.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct sp_heap_recorder *sp_heap_recorder;
uint64_t sp_heap_filter[SP_HEAP_FILTER / 64] __attribute__((aligned(64), visibility("hidden")));
__thread struct sp_heap_self sp_heap_self SP_TLS_MODEL __attribute__((visibility("hidden")));

struct sp_heap_real sp_heap_real __attribute__((aligned(64)));
static int (*real_posix_memalign)(void **, size_t, size_t);
static void *(*real_aligned_alloc)(size_t, size_t);
static void *(*real_memalign)(size_t, size_t);
static void *(*real_valloc)(size_t);
static void *(*real_pvalloc)(size_t);
void *(*sp_heap_real_sbrk)(intptr_t);
int (*sp_heap_real_brk)(void *);

/* Memory for allocations by dlsym() and others before the functions were looked up; it is never freed. */
char sp_heap_early[SP_HEAP_EARLY] __attribute__((aligned(sizeof(max_align_t)), visibility("hidden")));
static size_t early_used;

static void *early_malloc(size_t n)
{
	const size_t head = sizeof(max_align_t);
	size_t whole = (n + 2 * head - 1) / head * head, at;
	if (n > SP_HEAP_EARLY ||
	    (at = __atomic_fetch_add(&early_used, whole, __ATOMIC_SEQ_CST)) + whole > SP_HEAP_EARLY) {
		errno = ENOMEM;
		return NULL;
	}
	__atomic_store_n(&sp_heap_real.way, SP_HEAP_DIRECT, __ATOMIC_SEQ_CST);
	memcpy(sp_heap_early + at, &n, sizeof n);
	return sp_heap_early + at + head;
}

/* Sets the way of the wrappers. A block of `early` that is allocated meanwhile is seen here, or its allocation sets the
 * way afterwards. */
static void set_way(void)
{
	const struct sp_heap_recorder *r = __atomic_load_n(&sp_heap_recorder, __ATOMIC_ACQUIRE);
	const struct sp_heap_real *real = &sp_heap_real;
	const bool known = real->malloc && real->calloc && real->realloc && real->free;
	const enum sp_heap_way way = !known      ? SP_HEAP_DIRECT
	                             : !r        ? SP_HEAP_PASSED_ON
	                             : r->sample ? SP_HEAP_SAMPLED
	                                         : SP_HEAP_DIRECT;
	__atomic_store_n(&sp_heap_real.way, way, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&early_used, __ATOMIC_SEQ_CST))
		__atomic_store_n(&sp_heap_real.way, SP_HEAP_DIRECT, __ATOMIC_SEQ_CST);
}

static void *(*outer_calloc)(size_t, size_t);

/* calloc() of a C library whose calloc() calls malloc(), which is the wrapper: the bytes are counted already, so this
 * call must choose none of them. */
static void *calloc_counted_once(size_t n, size_t size)
{
	const int64_t left = sp_heap_self.left;
	sp_heap_self.left = INT64_MAX;
	void *p = SP_HEAP_QUIETLY(outer_calloc(n, size));
	sp_heap_self.left = left;
	return p;
}

/* Finds all functions at once. A thread that is already in here, while others wait for it, uses `early`: dlsym()
 * allocates memory before glibc 2.34. It is declared as a function that never calls back into its caller, so that
 * the compiler would leave out a flag that is not volatile. */
__attribute__((constructor(101))) static void resolve(void)
{
	static __thread volatile bool inside SP_TLS_MODEL;
	if (inside || sp_heap_real.free)
		return;
	inside = true;
	outer_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
	sp_heap_real.calloc = SP_LIBC_CALLOC_CALLS_MALLOC && outer_calloc ? calloc_counted_once : outer_calloc;
	sp_heap_real.realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
	real_posix_memalign = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
	real_aligned_alloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "aligned_alloc");
	real_memalign = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "memalign");
	real_valloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "valloc");
	real_pvalloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "pvalloc");
	sp_heap_real_sbrk = (void *(*)(intptr_t))dlsym(RTLD_NEXT, "sbrk");
	sp_heap_real_brk = (int (*)(void *))dlsym(RTLD_NEXT, "brk");
	sp_heap_real.malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	sp_heap_real.free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	set_way();
	inside = false;
}

#define RESOLVED(real) (SP_LIKELY((real) != NULL) || (resolve(), (real) != NULL))

bool sp_heap_resolve(void)
{
	return RESOLVED(sp_heap_real_sbrk) && RESOLVED(sp_heap_real_brk);
}

void *sp_heap_early_malloc(size_t n)
{
	return RESOLVED(sp_heap_real.malloc) ? sp_heap_real.malloc(n) : early_malloc(n);
}

void *sp_heap_early_calloc(size_t n, size_t size)
{
	if (RESOLVED(sp_heap_real.calloc))
		return sp_heap_real.calloc(n, size);
	return size && n > SP_HEAP_EARLY / size ? NULL : early_malloc(n * size); /* already 0 */
}

void *sp_heap_early_realloc(void *p, size_t n)
{
	size_t old = 0;
	if (p && !sp_heap_is_early(p))
		return RESOLVED(sp_heap_real.realloc) ? sp_heap_real.realloc(p, n) : NULL;
	if (p)
		memcpy(&old, (char *)p - sizeof(max_align_t), sizeof old);
	void *q = sp_heap_early_malloc(n);
	return q && p ? memcpy(q, p, old < n ? old : n) : q;
}

bool sp_heap_early_free(void)
{
	return RESOLVED(sp_heap_real.free);
}

/* ---- sampling: each byte is chosen with the same probability, so the gaps between chosen bytes are geometrically
 * distributed; also before the first one ---- */

static double random_unit(uint64_t *seed)
{
	uint64_t x = *seed += UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return ((double)((x ^ x >> 31) >> 11) + 0.5) * 0x1p-53;
}

/* -ln(u), with the precision needed: a gap is a whole number of bytes. Calls no function of the C library, which might
 * set errno. */
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
		sp_heap_set_left(me, (int64_t)(minus_log(random_unit(&me->seed)) * (double)r->sample) - (int64_t)n);
		me->drawn = true;
		sampled = me->left < 0;
	}
	if (sampled) /* a block is recorded once, even if several of its bytes are chosen */
		sp_heap_set_left(me, (int64_t)(minus_log(random_unit(&me->seed)) * (double)r->sample));
	return sampled;
}

/* ---- wrappers of rarely called functions; the others are in allocate.c ---- */

static inline void *report(const struct sp_heap_recorder *r, void *p, size_t n)
{
	struct sp_heap_self *me = &sp_heap_self;
	if (r && p && (!r->sample || SP_UNLIKELY((me->left -= (int64_t)n) < 0 && sp_heap_sampled(r, me, n)))) {
		me->quiet++;
		sp_heap_record(r, me, p, n, SP_RAW_HEAP_MALLOC);
		me->quiet--;
	}
	return p;
}

/* If the allocator in use does not have the function, it fails with ENOMEM. */
#define ALIGNED(call, real, n)                                                                                         \
	if (!RESOLVED(real)) {                                                                                         \
		errno = ENOMEM;                                                                                        \
		return NULL;                                                                                           \
	}                                                                                                              \
	return report(sp_heap_recorder_of(SP_HEAP_CALLER), SP_HEAP_QUIETLY(call), n)

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
	const struct sp_heap_recorder *r = sp_heap_recorder_of(SP_HEAP_CALLER);
	int e = SP_HEAP_QUIETLY(real_posix_memalign(out, alignment, n));
	if (!e)
		report(r, *out, n);
	return e;
}

void *sp_heap_real_calloc(size_t n, size_t size)
{
	return SP_HEAP_QUIETLY(sp_heap_real.calloc(n, size));
}

void sp_heap_restore(const void *p, const struct sp_heap_block *block)
{
	const struct sp_heap_recorder *r = __atomic_load_n(&sp_heap_recorder, __ATOMIC_ACQUIRE);
	if (r)
		r->restore(p, block);
}

/* ---- interface for _measure ---- */

/* Attaches a recorder; NULL: detaches. Returns 0, or -1: both are of different versions. */
SP_EXPORT int sp_heap_attach(const struct sp_heap_recorder *r);
int sp_heap_attach(const struct sp_heap_recorder *r)
{
	if (r && (r->version != SP_HEAP_VERSION || r->size < sizeof *r))
		return -1;
	resolve();
	sp_heap_undraw(&sp_heap_self, 0); /* a gap of another measurement may have been drawn with a larger mean */
	__atomic_store_n(&sp_heap_recorder, r, __ATOMIC_RELEASE);
	set_way();
	return 0;
}

SP_EXPORT const void *sp_heap_real_malloc(void);
const void *sp_heap_real_malloc(void)
{
	return (const void *)(uintptr_t)sp_heap_real.malloc;
}

/* The bits of the filter, which the recorder sets. */
SP_EXPORT uint64_t *sp_heap_filter_bits(void);
uint64_t *sp_heap_filter_bits(void)
{
	return sp_heap_filter;
}

/* The counter of the calling thread; while it is not 0, nothing is recorded. */
SP_EXPORT int *sp_heap_quiet(void);
int *sp_heap_quiet(void)
{
	return &sp_heap_self.quiet;
}
