/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics of PAPI. The library is loaded at run time and not needed to build Spartito. Names are PAPI's presets
 * (PAPI_TOT_CYC) and native events (perf::PAGE-FAULTS).
 *
 * The values of the constants and the begin of PAPI_event_info_t are the same in all versions of PAPI 5, 6 and 7. */
#include "record/metrics/metric.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAPI_OK = 0, PAPI_NULL = -1, LIB_VERSION = 21, ENUM_AVAILABLE = 2, PRESETS = 160 };
static const int preset_mask = (int)0x80000000u;

/* PAPI_event_info_t begins with the code and three texts; the rest is not used here. */
struct event_info {
	unsigned code;
	char symbol[1024], brief[64], what[1024];
	char rest[64 << 10];
};

static struct {
	int (*PAPI_get_opt)(int, void *);
	int (*PAPI_library_init)(int);
	int (*PAPI_thread_init)(unsigned long (*)(void));
	int (*PAPI_event_name_to_code)(const char *, int *);
	int (*PAPI_event_code_to_name)(int, char *);
	int (*PAPI_enum_event)(int *, int);
	int (*PAPI_get_event_info)(int, void *);
	char *(*PAPI_strerror)(int);
	int (*PAPI_create_eventset)(int *);
	int (*PAPI_add_event)(int, int);
	int (*PAPI_start)(int);
	int (*PAPI_read)(int, long long *);
	int (*PAPI_stop)(int, long long *);
	int (*PAPI_cleanup_eventset)(int);
	int (*PAPI_destroy_eventset)(int *);
	int (*PAPI_unregister_thread)(void);
} papi;

static const struct {
	const char *name;
	void *at;
} functions[] = {
#define FUNCTION(name)                                                                                                 \
	{                                                                                                              \
#name, &papi.name                                                                                      \
	}
    FUNCTION(PAPI_get_opt),
    FUNCTION(PAPI_library_init),
    FUNCTION(PAPI_thread_init),
    FUNCTION(PAPI_event_name_to_code),
    FUNCTION(PAPI_event_code_to_name),
    FUNCTION(PAPI_enum_event),
    FUNCTION(PAPI_get_event_info),
    FUNCTION(PAPI_strerror),
    FUNCTION(PAPI_create_eventset),
    FUNCTION(PAPI_add_event),
    FUNCTION(PAPI_start),
    FUNCTION(PAPI_read),
    FUNCTION(PAPI_stop),
    FUNCTION(PAPI_cleanup_eventset),
    FUNCTION(PAPI_destroy_eventset),
    FUNCTION(PAPI_unregister_thread),
#undef FUNCTION
};

/* ---- the library ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char missing[160]; /* why PAPI is unavailable; empty: it is available */

static unsigned long thread_id(void)
{
	return (unsigned long)pthread_self();
}

static void load(void)
{
	static const char *const names[] = {"libpapi.so",     "libpapi.so.7.2", "libpapi.so.7.1", "libpapi.so.7.0",
	                                    "libpapi.so.6.0", "libpapi.so.5.7", "libpapi.so.5"};
	void *library = NULL;
	for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		snprintf(missing, sizeof missing,
		         "libpapi is not installed (apt install libpapi-dev, or in LD_LIBRARY_PATH)");
		return;
	}
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		void *f = dlsym(library, functions[i].name);
		if (!f) {
			snprintf(missing, sizeof missing, "this libpapi has no %s", functions[i].name);
			return;
		}
		memcpy(functions[i].at, &f, sizeof f);
	}
	/* PAPI_library_init() requires the library's own version */
	int version = papi.PAPI_get_opt(LIB_VERSION, NULL) & (int)0xffff0000u;
	int r = papi.PAPI_library_init(version);
	if (r != version || papi.PAPI_thread_init(thread_id) != PAPI_OK)
		snprintf(missing, sizeof missing, "PAPI does not work here: %s",
		         r < 0 ? papi.PAPI_strerror(r) : "its threads cannot be distinguished");
}

/* Returns the names for the list; if PAPI is unavailable, one name, whose find() says why. */
static const char *known(unsigned i)
{
	static char names[PRESETS][64];
	static unsigned n;
	pthread_once(&once, load);
	int code = preset_mask;
	char name[1024];
	if (!n && !*missing && papi.PAPI_enum_event(&code, 1) == PAPI_OK)
		do {
			if (n < PRESETS && papi.PAPI_event_code_to_name(code, name) == PAPI_OK)
				snprintf(names[n++], sizeof names[0], "%.60s", name);
		} while (papi.PAPI_enum_event(&code, ENUM_AVAILABLE) == PAPI_OK);
	if (!n)
		snprintf(names[n++], sizeof names[0], "PAPI_TOT_CYC");
	return i < n ? names[i] : NULL;
}

/* ---- file descriptors, which PAPI does not close when the process executes another program ---- */

static bool is_perf(int fd)
{
	char path[40], to[40] = "";
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return readlink(path, to, sizeof to - 1) > 0 && !strcmp(to, "anon_inode:[perf_event]");
}

enum { MAX_DESCRIPTORS = 1024 };

static void note(bool *before)
{
	for (int fd = 0; fd < MAX_DESCRIPTORS; fd++)
		before[fd] = fcntl(fd, F_GETFD) >= 0;
}

/* Sets close-on-exec for the perf descriptors that are new since note(); stores the first one. */
static void take(struct sp_metric_state *s, const bool *before)
{
	s->fds = malloc(sizeof *s->fds);
	for (int fd = 0; fd < MAX_DESCRIPTORS; fd++) {
		int flags = before[fd] ? -1 : fcntl(fd, F_GETFD);
		if (flags < 0 || !is_perf(fd))
			continue;
		fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
		if (s->fds && !s->n_fds)
			s->fds[s->n_fds++] = fd;
	}
}

/* Whether the stored descriptor is still PAPI's: the program may have closed descriptors that it did not open, and
 * opened its own with the same numbers. All anonymous inodes share one inode number. */
static bool still_there(const struct sp_metric_state *s)
{
	static ino_t inode;
	struct stat st;
	if (!s->n_fds)
		return true;
	if (fstat(s->fds[0], &st))
		return false;
	if (!inode)
		inode = st.st_ino;
	return st.st_ino == inode && !(st.st_mode & S_IFMT);
}

/* ---- begin and end in a thread ---- */

static void close_set(struct sp_metric_state *s, bool forked)
{
	long long ignored[SP_METRICS_MAX];
	if (s->set != PAPI_NULL && still_there(s)) {
		if (!forked)
			papi.PAPI_stop(s->set, ignored);
		papi.PAPI_cleanup_eventset(s->set);
		papi.PAPI_destroy_eventset(&s->set);
		/* thread ids are reused, so a thread unregisters; the first one stays registered */
		if (!forked && syscall(SYS_gettid) != getpid())
			papi.PAPI_unregister_thread();
	}
	s->set = PAPI_NULL;
	free(s->fds);
	free(s->before);
	s->fds = NULL;
	s->before = NULL;
	s->n_fds = 0;
}

static int begin(struct sp_metric_state *s, const struct sp_metric_def *m, unsigned n)
{
	s->set = PAPI_NULL;
	int r = papi.PAPI_create_eventset(&s->set);
	for (unsigned i = 0; r == PAPI_OK && i < n; i++)
		r = papi.PAPI_add_event(s->set, (int)m[i].code);
	if (r == PAPI_OK)
		r = papi.PAPI_start(s->set);
	if (r != PAPI_OK && s->set != PAPI_NULL) {
		papi.PAPI_cleanup_eventset(s->set);
		papi.PAPI_destroy_eventset(&s->set);
		s->set = PAPI_NULL;
	}
	return r;
}

static int open_set(struct sp_metric_state *s, const struct sp_metric_def *m, unsigned n)
{
	bool before[MAX_DESCRIPTORS];
	s->before = calloc(n, sizeof *s->before);
	if (!s->before)
		return -ENOMEM;
	note(before);
	int r = begin(s, m, n);
	take(s, before);
	if (r == PAPI_OK)
		return 0;
	close_set(s, false);
	return -EBUSY;
}

static int read_set(struct sp_metric_state *s, const struct sp_metric_def *m, unsigned n, uint64_t *values)
{
	(void)m;
	long long now[SP_METRICS_MAX];
	if (!still_there(s))
		return -EBADF;
	if (papi.PAPI_read(s->set, now) != PAPI_OK)
		return -EIO;
	for (unsigned i = 0; i < n; i++)
		values[i] = s->before[i] + (uint64_t)now[i];
	return 0;
}

/* A child shares the counters of its parent. It may close a set that is stopped, but stopping a set in the child would
 * stop the parent's. A start counts from 0. */
static void stop_set(struct sp_metric_state *s, unsigned n)
{
	long long now[SP_METRICS_MAX];
	if (still_there(s) && papi.PAPI_stop(s->set, now) == PAPI_OK)
		for (unsigned i = 0; i < n; i++)
			s->before[i] += (uint64_t)now[i];
}

static void start_set(struct sp_metric_state *s)
{
	if (still_there(s))
		papi.PAPI_start(s->set);
}

/* ---- names ---- */

static void describe(struct sp_metric_def *m, int code)
{
	struct event_info *info = calloc(1, sizeof *info);
	if (info && papi.PAPI_get_event_info(code, info) == PAPI_OK &&
	    strnlen(info->what, sizeof info->what) < sizeof info->what)
		snprintf(m->what, sizeof m->what, "%.159s", info->what);
	free(info);
}

static int find(struct sp_metric_def *m, const char *name, char *why, size_t n)
{
	int code = 0;
	pthread_once(&once, load);
	*m = (struct sp_metric_def){.unit = "#"};
	snprintf(m->name, sizeof m->name, "%s", name);
	if (*missing) {
		snprintf(why, n, "%s", missing);
		return -ENODEV;
	}
	if (papi.PAPI_event_name_to_code(name, &code) != PAPI_OK) {
		bool preset = !strncmp(name, "PAPI_", 5);
		snprintf(why, n,
		         preset ? "PAPI has no such event; `papi_avail` lists them"
		                : "PAPI knows no such event on this machine");
		return preset ? -ENOENT : -ENODEV;
	}
	m->code = (uint64_t)(unsigned)code;
	struct sp_metric_state s = {0};
	int r = begin(&s, m, 1);
	if (r != PAPI_OK) {
		snprintf(why, n, "PAPI says: %s", papi.PAPI_strerror(r));
		return -ENODEV;
	}
	close_set(&s, false);
	describe(m, code);
	return 0;
}

const struct sp_metric_source sp_metric_papi = {.name = "papi",
                                                .kind = SP_RAW_METRIC_PAPI,
                                                .known = known,
                                                .find = find,
                                                .open = open_set,
                                                .read = read_set,
                                                .close = close_set,
                                                .stop = stop_set,
                                                .start = start_set};
