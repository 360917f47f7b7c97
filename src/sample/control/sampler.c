/* SPDX-License-Identifier: BSD-3-Clause */
#include "sample/control/sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/owner/owner.h"
#include "record/clock.h"
#include "record/definitions.h"
#include "record/process.h"
#include "record/thread.h"
#include "sample/control/definitions.h"
#include "sample/control/sample_reader.h"

#define SECOND UINT64_C(1000000000)
#define SOON   UINT64_C(1000000) /* ns; maximum time for which a thread that stops late stays stopped */

enum {
	MAX_FAILURES =
	    /* number of successive failed samples after which the sampler checks that the process is still the same */
	50,
	MAX_OPEN = 4096, /* maximum number of descriptors */
	PATIENCE = 10    /* seconds for the start of an interpreter */
};

struct thread {
	pid_t tid;
	int schedstat; /* descriptor; -1: not open, because of the limit */
	bool listed;
	bool begun;                  /* its thread in the file was begun */
	bool found;                  /* … and it has a stack, which its time belongs to */
	bool runs;                   /* it was running at the last sample, or was not sampled yet */
	bool counted;                /* cpu is the start value for its samples */
	char name[SP_THREAD_NAME];   /* name in the file; "": no name */
	uint64_t last;               /* ns; time of its last sample */
	uint64_t cpu, ready, slices; /* of its schedstat at that time */
	uint64_t state;              /* from sp_marks_thread() */
	struct sp_counters counters;
	struct sp_sampled_thread out; /* its thread in the file; if not `begun`: unused */
};

struct sampler {
	const struct sp_sampler_options *o;
	struct sp_target target;
	struct sp_python *python; /* owned; NULL: not found yet */
	struct sp_native *native; /* owned; NULL: no compiled frames */
	struct sp_sample_reader reader;
	struct sp_raw_header *announced; /* mapped header; NULL: the process is not measured */
	const char *file;
	int pidfd;
	char task[64];          /* path of the directory of its threads */
	nlink_t links;          /* link count of that directory: changes with the number of threads */
	struct thread *threads; /* owned */
	size_t n, capacity;
	pid_t *ids; /* owned */
	size_t id_capacity;
	uint64_t begun, tick, next, synced; /* ns; tick: time of the last sample */
	uint64_t asked;                     /* ns; time of the last check that the process is the same */
	uint64_t samples, unread, late;
	unsigned failures;
	bool marks; /* the process records regions, but no functions */
	uint32_t random;
};

static uint64_t now_ns(void)
{
	return sp_clock_nanoseconds(CLOCK_MONOTONIC);
}

/* ---- META records ---- */

static void __attribute__((format(printf, 2, 3))) meta(const char *key, const char *format, ...)
{
	char text[1024];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	sp_define_meta(key, text, strlen(text));
}

static void tell_numbers(const struct sampler *s)
{
	struct rusage own;
	getrusage(RUSAGE_SELF, &own);
	meta("sample_count", "%" PRIu64, s->samples);
	meta("sample_unread", "%" PRIu64, s->unread);
	meta("sample_late", "%" PRIu64, s->late);
	if (s->native) {
		const struct sp_native_counts *c = sp_native_counts(s->native);
		meta("sample_incomplete", "%" PRIu64, c->incomplete);
		meta("sample_stops", "%" PRIu64, c->stops);
		meta("sample_stopped", "%.6f", (double)c->stopped / 1e9);
	}
	meta("sample_cost", "%.6f",
	     (double)(own.ru_utime.tv_sec + own.ru_stime.tv_sec) +
	         (double)(own.ru_utime.tv_usec + own.ru_stime.tv_usec) / 1e6);
}

/* ---- threads ---- */

/* Reads the run time, the time ready to run, and the number of time slices. Returns false if the thread has ended. */
static bool read_schedstat(const struct sampler *s, struct thread *t, uint64_t out[3])
{
	char text[96];
	int fd = t->schedstat;
	if (fd < 0) {
		snprintf(text, sizeof text, "%s/%d/schedstat", s->task, (int)t->tid);
		fd = open(text, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return false;
	}
	ssize_t n = pread(fd, text, sizeof text - 1, 0);
	if (t->schedstat < 0 && fd < MAX_OPEN - 64)
		t->schedstat = fd;
	else if (t->schedstat < 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0 && sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &out[0], &out[1], &out[2]) == 3;
}

/* Records the thread's name. A thread may get a name, or a different one, while it runs. */
static void report_name(const struct sampler *s, struct thread *t)
{
	char name[SP_THREAD_NAME];
	if (!t->out.location || !sp_target_thread_name(&s->target, t->tid, name) || !strcmp(name, t->name))
		return;
	strcpy(t->name, name);
	sp_thread_name(t->out.location, name, strlen(name));
}

static void thread_end(struct thread *t, uint64_t end)
{
	if (t->begun) {
		if (t->found && end > t->last)
			sp_samples_add(&t->out, end - t->last, 0, 0, end);
		sp_samples_thread_end(&t->out, end);
	}
	sp_counters_close(&t->counters);
	if (t->schedstat >= 0)
		close(t->schedstat);
}

/* Finds or adds a thread; near: its probable index. The system lists threads in the order of their begin, as does this
 * array, so each one is usually found directly after the previous one. */
static struct thread *thread_of(struct sampler *s, pid_t tid, size_t near, uint64_t now)
{
	for (size_t k = 0; k < s->n; k++) {
		struct thread *t = &s->threads[(near + k) % s->n];
		if (t->tid == tid)
			return t;
	}
	if (!sp_grow(&s->threads, s->n, &s->capacity, sizeof *s->threads))
		return NULL;
	/* it began between two samples: assume the middle */
	s->threads[s->n] = (struct thread){
	    .tid = tid, .schedstat = -1, .counted = s->samples, .runs = true, .last = now - (now - s->tick) / 2};
	return &s->threads[s->n++];
}

/* Reads the list of threads, if it may have changed. */
static int list_threads(struct sampler *s, uint64_t now)
{
	int n;
	while ((n = sp_target_threads(&s->target, s->ids, s->id_capacity)) > (int)s->id_capacity) {
		pid_t *more = realloc(s->ids, ((size_t)n + 16) * sizeof *more);
		if (!more)
			return -ENOMEM;
		s->ids = more;
		s->id_capacity = (size_t)n + 16;
	}
	if (n < 0)
		return n;
	for (size_t i = 0; i < s->n; i++)
		s->threads[i].listed = false;
	size_t near = 0, kept = 0;
	for (int i = 0; i < n; i++) {
		struct thread *t = thread_of(s, s->ids[i], near, now);
		if (!t)
			continue;
		t->listed = true;
		near = (size_t)(t - s->threads) + 1;
	}
	for (size_t i = 0; i < s->n; i++)
		if (s->threads[i].listed)
			s->threads[kept++] = s->threads[i];
		else
			thread_end(&s->threads[i], s->threads[i].last + (now - s->threads[i].last) / 2);
	s->n = kept;
	return 0;
}

/* ---- one sample ---- */

static void look_at(struct sampler *s, struct thread *t)
{
	if (s->marks && !t->state)
		t->state = sp_marks_thread(&s->reader.marks, t->tid);
	sp_sample_thread(&s->reader, t->tid, t->state);
	t->runs = s->reader.state == SP_STATE_RUNNING;
	t->found = !s->reader.helper && (t->begun || !(s->reader.starting || s->reader.unread));
	if (!t->found) {
		if (t->begun)
			sp_samples_flush(&t->out);
		t->runs |= s->reader.unread;
		return;
	}
	s->unread += s->reader.unread;
	s->failures = s->reader.unread ? s->failures : 0;
	if (!t->begun && sp_samples_thread(&t->out, t->tid, t->last))
		report_name(s, t);
	t->begun = true;
	sp_samples_found(&t->out, s->reader.frames, s->reader.n, s->reader.state);
}

/* Whether the thread has run since its last sample; if not, its stack has not changed. */
static bool has_run(const struct thread *t, const uint64_t now[3])
{
	return t->runs || now[0] != t->cpu || now[1] != t->ready || now[2] != t->slices;
}

static bool is_paused(const struct sampler *s)
{
	return s->announced && s->announced->flags & SP_RAW_FLAG_PAUSED;
}

/* Takes one sample of all threads. Returns false if the process has ended. During a pause stacks are not read;
 * processor time and perf events are only noted, so that counting resumes from here. */
static bool sample_threads(struct sampler *s, uint64_t now)
{
	const bool paused = is_paused(s);
	struct stat st;
	bool asked = false;
	if (stat(s->task, &st))
		return false;
	const int r = st.st_nlink == s->links ? 0 : list_threads(s, now);
	if (r == -ENOENT)
		return false;
	s->links = r ? 0 : st.st_nlink; /* 0: read the list again next time */
	for (size_t i = 0; i < s->n; i++) {
		struct thread *t = &s->threads[i];
		uint64_t is[3], grown[SP_COUNTERS_MAX];
		if (!read_schedstat(s, t, is)) {
			s->links = 0; /* a new thread may have replaced it */
			continue;
		}
		if (paused) {
			t->found = false;
			t->runs = true;
			sp_counters_read(&t->counters, t->tid, grown);
		} else if (has_run(t, is)) {
			if (!asked)
				sp_sample_begin(&s->reader);
			asked = true;
			look_at(s, t);
			if (sp_counters_read(&t->counters, t->tid, grown) && t->found)
				sp_samples_count(&t->out, grown);
		}
		if (t->found) {
			sp_samples_add(&t->out, now > t->last ? now - t->last : 0,
			               t->counted && is[0] > t->cpu ? is[0] - t->cpu : 0, 1, now);
			s->samples++;
		}
		t->last = now;
		t->cpu = is[0];
		t->ready = is[1];
		t->slices = is[2];
		t->counted = true;
	}
	if (asked && s->reader.n_states < 0)
		s->failures++;
	return true;
}

/* ---- the process ---- */

static const char *raw_path(const struct sampler *s, char *path, size_t n)
{
	snprintf(path, n, "%s/raw/%s", s->o->dir, s->file);
	return path;
}

static int map_announced(struct sampler *s)
{
	char path[4400];
	int fd = open(raw_path(s, path, sizeof path), O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	void *p = mmap(NULL, SP_RAW_PAGE, PROT_READ, MAP_SHARED, fd, 0);
	int r = p == MAP_FAILED ? -errno : 0;
	close(fd);
	if (!r)
		s->announced = p;
	return r;
}

/* Whether the process has mapped the file in which it asked to be sampled. A process that has become another program
 * without notice has not; neither has another process with the same number, from another host or a later one. */
static bool has_announced(const struct sampler *s)
{
	struct sp_mappings m;
	bool found = false;
	if (sp_target_mappings(&s->target, &m))
		return false;
	for (size_t i = 0; i < m.n && !found; i++) {
		const char *base = strrchr(m.all[i].path, '/');
		found = base && !strcmp(base + 1, s->file);
	}
	sp_mappings_free(&m);
	return found;
}

/* Whether the measurement of the process is still running. */
static bool is_measured(struct sampler *s)
{
	if (!s->announced)
		return s->failures < MAX_FAILURES || sp_target_alive(&s->target);
	if (__atomic_load_n(&s->announced->ended, __ATOMIC_RELAXED) != SP_RAW_RUNNING)
		return false;
	/* sleeping threads are not sampled, so they do not cause failures */
	if (s->failures < MAX_FAILURES && now_ns() - s->asked < SECOND)
		return true;
	s->failures = 0;
	s->asked = now_ns();
	return has_announced(s);
}

/* The time of the next tick, with a small random offset, so that a program with a fixed period is sampled at all of its
 * phases. Missed ticks are skipped and counted. */
static uint64_t schedule(struct sampler *s, uint64_t now)
{
	const uint64_t period = SECOND / s->o->rate;
	s->next += period;
	if (s->next + period <= now) {
		s->late += (now - s->next) / period;
		s->next = now + period / 2;
	}
	s->random = s->random * 1664525u + 1013904223u;
	return s->next + period / 4 - (period / 2 * (s->random >> 16) >> 16);
}

/* Waits for the next tick. Returns false if the process has ended, or the sampler has to end. */
static bool wait_for_tick(struct sampler *s, uint64_t at)
{
	struct pollfd fds[2] = {{s->pidfd, POLLIN, 0}, {s->o->stop, POLLIN, 0}};
	for (;;) {
		const bool soon = s->native && sp_native_settle(s->native);
		const uint64_t now = now_ns(), rest = at > now ? at - now : 0,
		               limit = soon && rest > SOON ? SOON : rest;
		const struct timespec wait = {(time_t)(limit / SECOND), (long)(limit % SECOND)};
		int r = ppoll(fds, 2, &wait, NULL);
		if (r > 0)
			return false;
		if (r == 0 ? limit == rest : errno != EINTR)
			return true;
	}
}

static void loop(struct sampler *s)
{
	s->next = s->tick = s->synced = s->asked = now_ns();
	uint64_t at = s->tick;
	while (wait_for_tick(s, at) && is_measured(s)) {
		const uint64_t now = now_ns();
		if (!sample_threads(s, now))
			break;
		s->tick = now;
		if (now - s->synced > SECOND) {
			s->synced = now;
			for (size_t i = 0; i < s->n; i++)
				if (s->threads[i].begun) {
					sp_samples_flush(&s->threads[i].out);
					report_name(s, &s->threads[i]);
				}
			sp_process_sync();
		}
		at = schedule(s, now_ns());
	}
}

/* ---- begin and end ---- */

static int open_python(struct sampler *s, char *why, size_t n)
{
	const uint64_t begin = now_ns();
	int r;
	while ((r = sp_python_open(&s->python, &s->target, why, n)) == -ENOENT || r == -EAGAIN) {
		if (!wait_for_tick(s, now_ns() + SECOND / 200) ||
		    (s->announced && s->announced->ended != SP_RAW_RUNNING))
			return -ESRCH;
		if (now_ns() - begin > PATIENCE * SECOND)
			return r;
	}
	return r;
}

/* Takes a directory that decides whose code a file is, as the process recorded it. */
static bool take_directory(void *arg, const struct sp_raw_def *d, const char *text)
{
	static const struct {
		const char *key;
		enum sp_owner_directory kind;
	} keys[] = {{"library", SP_OWNER_LIBRARY}, {"prefix", SP_OWNER_PREFIX}, {"cwd", SP_OWNER_PROGRAM}};
	for (size_t i = 0; d->kind == SP_RAW_DEF_META && i < sizeof keys / sizeof *keys; i++)
		if (d->len[0] == strlen(keys[i].key) && !memcmp(text, keys[i].key, d->len[0]))
			sp_owners_add(arg, keys[i].kind, text + d->len[0], d->len[1]);
	return false;
}

/* Finds the directories of a process that does not record itself: the working directory, and that of the standard
 * library if the process has loaded one of its compiled modules, which are in LIBRARY/lib-dynload. Empty: not found. */
static void look_for_directories(const struct sampler *s, char cwd[PATH_MAX], char library[PATH_MAX])
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/cwd", (int)s->target.pid);
	ssize_t n = readlink(path, cwd, PATH_MAX - 1);
	cwd[n > 0 ? n : 0] = 0;

	struct sp_mappings m = {0};
	bool found = false;
	if (sp_target_mappings(&s->target, &m))
		return;
	for (size_t i = 0; i < m.n && !found; i++) {
		const char *end = strstr(m.all[i].path, "/lib-dynload/");
		if ((found = end && end - m.all[i].path < PATH_MAX))
			snprintf(library, PATH_MAX, "%.*s", (int)(end - m.all[i].path), m.all[i].path);
	}
	sp_mappings_free(&m);
}

static int open_file(struct sampler *s)
{
	struct sp_owners owners = {0};
	char path[4400], cwd[PATH_MAX] = "", library[PATH_MAX] = "";
	if (s->file) {
		int fd = open(raw_path(s, path, sizeof path), O_RDONLY | O_CLOEXEC);
		sp_file_definitions(fd, take_directory, &owners);
		if (fd >= 0)
			close(fd);
	} else {
		look_for_directories(s, cwd, library);
		sp_owners_add(&owners, SP_OWNER_PROGRAM, cwd, strlen(cwd));
		sp_owners_add(&owners, SP_OWNER_LIBRARY, library, strlen(library));
	}
	int r = sp_samples_begin(s->o->dir, s->o->settings, &owners, s->target.pid, s->file,
	                         s->python && sp_python_without_gil(s->python));
	sp_owners_clear(&owners);
	if (r)
		return r;
	if (*cwd)
		sp_define_meta("cwd", cwd, strlen(cwd));
	if (*library)
		sp_define_meta("library", library, strlen(library));
	if (s->file)
		meta("sampled", "%s", s->file);
	meta("sample_rate", "%u", s->o->rate);
	return 0;
}

static int open_reader(struct sampler *s)
{
	char why[512] = "";
	if (s->o->native && sp_native_open(&s->native, &s->target, true, why, sizeof why))
		meta("missing_native", "compiled frames, because %s", why);
	meta("sample_modes", "python%s", s->native ? " native" : "");
	char path[4400];
	const bool kernel = s->o->notebook && s->target.pid == s->o->notebook;
	s->marks = s->file && (kernel || !sp_process.settings.instrument);
	int r = sp_sample_reader_open(&s->reader, &s->target, s->python, s->native,
	                              s->marks ? raw_path(s, path, sizeof path) : NULL);
	if (!r && s->o->notebook)
		sp_cells_open(&s->reader.cells, kernel, s->o->dir, raw_path(s, path, sizeof path));
	return r;
}

static int open_all(struct sampler *s, pid_t pid, char *why, size_t n)
{
	if (pid == getpid())
		/* the file is of a process on another host that has the same process id as this sampler, which has
		 * mapped the file itself */
		return -ESRCH;
	/* open the pidfd first: as long as the following checks succeed, it belongs to the process that they checked */
	s->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	int r = s->file ? map_announced(s) : 0;
	if (!r)
		r = sp_target_open(&s->target, pid, why, n);
	if (r == -ESRCH || (!r && s->announced && !has_announced(s)))
		return -ESRCH;
	snprintf(s->task, sizeof s->task, "/proc/%d/task", (int)pid);
	if (!r)
		r = open_python(s, why, n);
	if (r == -ESRCH)
		return r; /* the process has ended without a sample */
	int file = open_file(s);
	if (!r)
		r = file ? file : open_reader(s);
	if (r && !*why)
		snprintf(why, n, "%s", strerror(-r));
	if (r && !file) {
		meta("unsampled", "%s", why);
		sp_samples_end(now_ns());
	}
	return r;
}

static void close_all(struct sampler *s)
{
	uint64_t end = now_ns();
	/* time after the end of the measurement does not count */
	if (s->announced && s->announced->ended != SP_RAW_RUNNING && s->announced->last.mono_ns < end &&
	    s->announced->last.mono_ns > s->begun)
		end = s->announced->last.mono_ns;
	for (size_t i = 0; i < s->n; i++)
		thread_end(&s->threads[i], end > s->threads[i].last ? end : s->threads[i].last);
	tell_numbers(s);
	sp_samples_end(end);
	sp_sample_reader_close(&s->reader);
	if (s->native)
		sp_native_close(s->native);
	sp_python_close(s->python);
	sp_target_close(&s->target);
}

int sp_sampler_run(const struct sp_sampler_options *o, pid_t pid, const char *file, char *why, size_t n)
{
	struct sampler s = {.o = o, .file = file, .pidfd = -1, .random = (uint32_t)pid};
	struct rlimit files;
	*why = 0;
	if (!getrlimit(RLIMIT_NOFILE, &files) && files.rlim_cur < MAX_OPEN) {
		files.rlim_cur = files.rlim_max < MAX_OPEN ? files.rlim_max : MAX_OPEN;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	prctl(PR_SET_TIMERSLACK, 1000ul, 0, 0, 0);
	s.begun = now_ns();
	int r = open_all(&s, pid, why, n);
	if (r)
		return r;
	loop(&s);
	close_all(&s);
	return 0;
}

int sp_sampler_check(char *why, size_t n)
{
	struct sp_target t;
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	int r = child < 0 ? -errno : sp_target_open(&t, child, why, n);
	if (child < 0)
		snprintf(why, n, "no process can be started: %s", strerror(errno));
	if (!r)
		sp_target_close(&t);
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	return r;
}
