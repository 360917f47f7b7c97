/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiled frames of other processes: children of this program, whose functions are known. */
#include "sample/native/native.h"

#include <alloca.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "check.h"

enum { CAPACITY = 4096, PATIENCE = 20000 /* number of samples, 1 ms apart */ };

/* memory shared between the children and the test */
static struct shared {
	volatile int ready;
	volatile unsigned long calls, interrupted, signals, samples, bytes;
} * shared;

static volatile int sink;

/* ---- functions of the children ---- */

#define NOINLINE __attribute__((noinline, noclone))

static NOINLINE void blocks(void)
{
	shared->ready = 1;
	for (;;)
		pause();
}

static NOINLINE void spins(void)
{
	shared->ready = 1;
	for (;;)
		sink++;
}

/* its frame is found by rbp, which its callees must preserve */
static NOINLINE void has_alloca(void (*f)(void))
{
	volatile char *p = alloca((size_t)(sink & 63) + 1);
	p[0] = 1;
	f();
	sink += p[0];
}

static NOINLINE void calls_first(void (*f)(void))
{
	has_alloca(f);
	sink++;
}

static NOINLINE void deep(int n, void (*f)(void))
{
	if (n)
		deep(n - 1, f);
	else
		f();
	sink++;
}

static void begins_blocked(void)
{
	calls_first(blocks);
}

static void begins_running(void)
{
	calls_first(spins);
}

static void begins_deep(void)
{
	deep(1000, spins);
}

static NOINLINE void handles(int signal)
{
	(void)signal;
	spins();
	sink++;
}

static NOINLINE void is_interrupted(void)
{
	raise(SIGUSR1);
	sink++;
}

static void begins_in_handler(void)
{
	static char stack[1 << 16];
	stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
	struct sigaction a = {.sa_handler = handles, .sa_flags = SA_ONSTACK};
	sigaltstack(&other, NULL);
	sigaction(SIGUSR1, &a, NULL);
	is_interrupted();
	sink++;
}

static NOINLINE void *thread_of_child(void *unused)
{
	(void)unused;
	calls_first(spins);
	return NULL;
}

static void begins_threads(void)
{
	pthread_t t;
	pthread_create(&t, NULL, thread_of_child, NULL);
	pthread_join(t, NULL);
}

static void counts(int signal)
{
	(void)signal;
	shared->signals++;
}

/* Repeatedly enters a system call that a stop makes fail without a signal handler (signal(7)). */
static void begins_waiting(void)
{
	struct epoll_event e;
	int fd = epoll_create1(0);
	shared->ready = 1;
	for (;;) {
		shared->interrupted += epoll_wait(fd, &e, 1, 1) < 0 && errno == EINTR;
		shared->calls++;
		for (int i = 0; i < 20000; i++)
			sink++;
	}
}

/* Handlers of the child's signals make the call fail: that must still happen. */
static void begins_signalled(void)
{
	struct epoll_event e;
	int fd = epoll_create1(0);
	signal(SIGUSR1, counts);
	shared->ready = 1;
	for (;;) {
		shared->interrupted += epoll_wait(fd, &e, 1, -1) < 0 && errno == EINTR;
		shared->calls++;
	}
}

/* Writes more than a pipe can contain: everything must be written, or the program loses data. */
static void begins_writing(void)
{
	static char block[1 << 20], read_back[1 << 14];
	int ends[2];
	MUST(!pipe(ends));
	if (!fork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[1]);
		for (ssize_t n; (n = read(ends[0], read_back, sizeof read_back)) > 0;)
			for (ssize_t i = 0; i < n; i++) /* each byte is one more than the previous one */
				shared->signals += (unsigned char)read_back[i] != (shared->bytes++ & 0xff);
		_exit(0);
	}
	for (size_t i = 0; i < sizeof block; i++)
		block[i] = (char)i;
	shared->ready = 1;
	for (;;) {
		shared->interrupted += write(ends[1], block, sizeof block) != sizeof block;
		shared->calls++;
	}
}

static pid_t child(void (*begin)(void))
{
	*shared = (struct shared){0};
	pid_t pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		begin();
		_exit(0);
	}
	for (int i = 0; i < PATIENCE && !shared->ready; i++)
		usleep(1000);
	MUST(shared->ready);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ---- samples of the children ---- */

struct seen {
	struct sp_native_frame frames[CAPACITY];
	size_t n;
	bool complete;
};

static int sample(struct sp_native *s, const struct sp_target *t, pid_t thread, struct seen *out)
{
	struct sp_thread_times times;
	out->n = 0;
	int r = sp_target_times(t, thread, &times);
	r = r ? r : sp_native_begin(s, thread, &times);
	r = r ? r : sp_native_end(s);
	if (!r)
		out->n = sp_native_stack(s, out->frames, CAPACITY, &out->complete);
	return r;
}

static const char *name_of(const struct seen *x, size_t i)
{
	const struct sp_native_function *f = i < x->n ? x->frames[i].function : NULL;
	return f && f->name ? f->name : "";
}

/* The index of a function in the stack, from `from` on; n: not found. */
static size_t find(const struct seen *x, size_t from, const char *name)
{
	while (from < x->n && strcmp(name_of(x, from), name))
		from++;
	return from;
}

static void show(const struct seen *x)
{
	for (size_t i = 0; i < x->n; i++)
		fprintf(stderr, "  %s %s\n", x->frames[i].function ? x->frames[i].function->object : "?",
		        name_of(x, i));
}

/* Samples until the innermost function of the test is `first`; then the functions below must match. */
static void expect(void (*begin)(void), bool thread, char letter, const char *const *names)
{
	struct sp_target t;
	struct sp_native *s;
	char why[256];
	pid_t pid = child(begin), ids[2] = {pid, 0};
	static struct seen x;
	MUST(!sp_target_open(&t, pid, why, sizeof why) && !sp_native_open(&s, &t, true, why, sizeof why));
	MUST(sp_target_threads(&t, ids, 2) == 1 + thread);
	size_t at = 0;
	struct sp_thread_times times;
	for (int i = 0; i < PATIENCE; i++) {
		MUST(!sp_target_times(&t, ids[thread], &times));
		if (times.letter == letter && !sample(s, &t, ids[thread], &x) && (at = find(&x, 0, names[0])) < x.n)
			break;
		usleep(1000);
	}
	CHECK(at < x.n && x.complete);
	for (size_t i = 1; names[i]; i++) {
		at = find(&x, at, names[i]);
		if (at == x.n) {
			fprintf(stderr, "%s is not there\n", names[i]);
			show(&x);
		}
		CHECK(at < x.n);
	}
	for (size_t i = 0; i < x.n; i++)
		CHECK(x.frames[i].function && x.frames[i].pc >= x.frames[i].function->address);
	CHECK(!kill(pid, 0));
	sp_native_close(s);
	sp_target_close(&t);
	end(pid);
}

static void stacks(void)
{
	expect(begins_blocked, false, 'S',
	       (const char *const[]){"blocks", "has_alloca", "calls_first", "begins_blocked", "child", "main", NULL});
	expect(begins_running, false, 'R',
	       (const char *const[]){"spins", "has_alloca", "calls_first", "begins_running", "child", "main", NULL});
	expect(begins_in_handler, false, 'R',
	       (const char *const[]){"spins", "handles", "is_interrupted", "begins_in_handler", "main", NULL});
	expect(begins_threads, true, 'R',
	       (const char *const[]){"spins", "has_alloca", "calls_first", "thread_of_child", NULL});
	expect(begins_deep, false, 'R', (const char *const[]){"spins", "deep", "begins_deep", "main", NULL});
}

static void deep_stack(void)
{
	struct sp_target t;
	struct sp_native *s;
	char why[256];
	pid_t pid = child(begins_deep);
	static struct seen x;
	size_t n = 0;
	MUST(!sp_target_open(&t, pid, why, sizeof why) && !sp_native_open(&s, &t, true, why, sizeof why));
	for (int i = 0; i < PATIENCE && sample(s, &t, pid, &x); i++)
		usleep(1000);
	for (size_t i = 0; i < x.n; i++)
		n += !strcmp(name_of(&x, i), "deep");
	CHECK(n == 1001 && x.complete);
	bool complete = true;
	CHECK(sp_native_stack(s, x.frames, 10, &complete) == 10 && !complete);
	sp_native_close(s);
	sp_target_close(&t);
	end(pid);
}

static void not_stopped(void)
{
	struct sp_target t;
	struct sp_native *s;
	char why[256];
	pid_t pid = child(begins_running);
	static struct seen x;
	MUST(!sp_target_open(&t, pid, why, sizeof why) && !sp_native_open(&s, &t, false, why, sizeof why));
	CHECK(sample(s, &t, pid, &x) == -EBUSY && !sp_native_counts(s)->stops);
	kill(pid, SIGSTOP);
	waitpid(pid, NULL, WUNTRACED);
	/* a stopped process can be sampled, and stays stopped */
	CHECK(!sample(s, &t, pid, &x) && find(&x, 0, "spins") == 0);
	struct sp_thread_times times;
	CHECK(!sp_target_times(&t, pid, &times) && times.letter == 'T');
	end(pid);
	CHECK(sample(s, &t, pid, &x) == -ESRCH);
	sp_native_close(s);
	sp_target_close(&t);
}

/* A stop does not make a call fail that would not have failed without it. */
static void nothing_fails(void)
{
	struct sp_target t;
	struct sp_native *s;
	char why[256];
	pid_t pid = child(begins_waiting);
	static struct seen x;
	MUST(!sp_target_open(&t, pid, why, sizeof why) && !sp_native_open(&s, &t, true, why, sizeof why));
	for (int i = 0; i < 100 * PATIENCE && sp_native_counts(s)->repeated < 20; i++)
		sample(s, &t, pid, &x);
	CHECK(sp_native_counts(s)->repeated >= 20); /* number of calls that would have failed */
	CHECK(shared->calls && !shared->interrupted);
	sp_native_close(s);
	sp_target_close(&t);
	end(pid);

	pid = child(begins_writing);
	MUST(!sp_target_open(&t, pid, why, sizeof why) && !sp_native_open(&s, &t, true, why, sizeof why));
	for (int i = 0; i < 100 * PATIENCE && sp_native_counts(s)->continued < 20; i++)
		sample(s, &t, pid, &x);
	CHECK(sp_native_counts(s)->continued >= 20);
	unsigned long calls = shared->calls;
	for (int i = 0; i < PATIENCE && shared->calls < calls + 2; i++) {
		sample(s, &t, pid, &x);
		usleep(1000);
	}
	CHECK(shared->calls >= calls + 2 && !shared->interrupted && !shared->signals);
	sp_native_close(s);
	sp_target_close(&t);
	end(pid);

	pid = child(begins_signalled);
	MUST(!sp_target_open(&t, pid, why, sizeof why) && !sp_native_open(&s, &t, true, why, sizeof why));
	for (unsigned long i = 1; i <= 500; i++) {
		struct sp_thread_times times;
		/* it waits */
		for (int k = 0; k < PATIENCE && !(!sp_target_times(&t, pid, &times) && times.letter == 'S'); k++)
			usleep(100);
		kill(pid, SIGUSR1);
		for (int k = 0; k < 100 * PATIENCE && shared->interrupted < i; k++)
			sample(s, &t, pid, &x);
		MUST(shared->interrupted == i);
	}
	CHECK(shared->signals == 500);
	sp_native_close(s);
	sp_target_close(&t);
	end(pid);
}

/* ---- programs that do much while they are sampled ---- */

enum { ROUNDS = 100 };

static NOINLINE void *works(void *p)
{
	for (int i = 0; i < 20000; i++)
		sink++;
	return p;
}

static bool starts_threads(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_t t[4];
		char place[4];
		void *back;
		for (size_t k = 0; k < 4; k++)
			if (pthread_create(&t[k], NULL, works, &place[k]))
				return false;
		for (size_t k = 0; k < 4; k++)
			if (pthread_join(t[k], &back) || back != &place[k])
				return false;
	}
	return true;
}

static bool forks(void)
{
	for (volatile int i = 0; i < ROUNDS; i++) {
		int status = 0;
		pid_t pid = i % 2 ? fork() : vfork();
		if (!pid && i % 2)
			_exit(i % 100);
		if (!pid) {
			execl("/bin/sh", "sh", "-c", "exit 42", (char *)NULL);
			_exit(1);
		}
		if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != (i % 2 ? i % 100 : 42))
			return false;
	}
	return true;
}

static volatile unsigned long order;
static volatile bool disordered;

static void takes(int number, siginfo_t *i, void *unused)
{
	(void)number;
	(void)unused;
	disordered |= (unsigned long)i->si_value.sival_int != order++;
}

/* Queued signals: each of them arrives, in order. */
static bool signals(void)
{
	struct sigaction a = {.sa_sigaction = takes, .sa_flags = SA_SIGINFO | SA_RESTART};
	sigaction(SIGRTMIN, &a, NULL);
	for (int i = 0; i < 100 * ROUNDS; i++) {
		while (sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i}))
			;
		works(NULL);
	}
	return order == 100 * ROUNDS && !disordered;
}

/* Job control: the parent sees each stop and each continuation. */
static bool stops(void)
{
	pid_t pid = fork();
	if (!pid)
		for (;;)
			sink++;
	shared->calls = (unsigned long)pid;
	bool good = true;
	for (int i = 0; (i < ROUNDS || shared->samples < ROUNDS) && good; i++) {
		int status;
		kill(pid, SIGSTOP);
		good = waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP;
		kill(pid, SIGCONT);
		good = good && waitpid(pid, &status, WCONTINUED) == pid && WIFCONTINUED(status);
	}
	kill(pid, SIGKILL);
	return waitpid(pid, NULL, 0) == pid && good;
}

static bool (*activity)(void);

static void begins_activity(void)
{
	shared->ready = 1;
	while (!shared->samples)
		sink++;
	_exit(activity() ? 7 : 8);
}

/* Samples all threads repeatedly until the process has ended. Returns the number of samples. */
static unsigned long hammer(pid_t pid)
{
	struct sp_target t;
	struct sp_native *s;
	char why[256];
	pid_t ids[64];
	static struct seen x;
	unsigned long samples = 0;
	int n;
	if (sp_target_open(&t, pid, why, sizeof why) || sp_native_open(&s, &t, true, why, sizeof why))
		return 0;
	while (sp_target_alive(&t) && (n = sp_target_threads(&t, ids, 64)) > 0)
		for (int i = 0; i < n && i < 64; i++)
			shared->samples = samples += !sample(s, &t, ids[i], &x);
	sp_native_close(s);
	sp_target_close(&t);
	return samples;
}

static void survives(bool (*what)(void))
{
	int status = 0;
	activity = what;
	for (int outside = 0; outside < 2; outside++) {
		pid_t pid = child(begins_activity), other = 0;
		if (outside && !(other = fork()))
			_exit(hammer(pid) == 0);
		if (!outside)
			CHECK(hammer(pid));
		CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
		if (outside)
			CHECK(waitpid(other, &status, 0) == other && WIFEXITED(status) && !WEXITSTATUS(status));
	}
}

/* A process that is stopped with its group meanwhile, and whose child processes are sampled as well. */
static void job_control(void)
{
	int status = 0;
	activity = stops;
	pid_t pid = child(begins_activity), inner = 0, other;
	shared->samples = 1;
	for (int i = 0; i < PATIENCE && !(inner = (pid_t)shared->calls); i++)
		usleep(1000);
	MUST(inner);
	if (!(other = fork()))
		_exit(hammer(inner) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7);
	CHECK(waitpid(other, &status, 0) == other && WIFEXITED(status) && !WEXITSTATUS(status));
}

/* ---- folding ---- */

static struct sp_native_function evaluator = {.name = "_PyEval_EvalFrameDefault",
                                              .evaluator = true,
                                              .interpreter = true,
                                              .begin = true},
                                 inside = {.name = "PyObject_Call", .interpreter = true, .begin = true},
                                 extension = {.name = "solve"}, start = {.name = "_start", .begin = true},
                                 embeds = {.name = "application"};

/* Letters for native frames: E evaluator, i interpreter, x extension, s start, a application; for Python frames:
 * digits, each followed by ' if it is an entry frame. The result has the same letters. */
static void mixes(const char *python, const char *native, bool complete, bool interpreter, const char *expected)
{
	struct sp_python_frame p[16] = {0};
	struct sp_native_frame n[16] = {0};
	struct sp_mixed_frame out[32];
	size_t n_python = 0, n_native = strlen(native);
	char text[33] = "", *at = text;
	for (; *python; python++)
		if (*python == '\'')
			p[n_python - 1].entry = true;
		else
			p[n_python++].line = (uint32_t)(*python - '0');
	for (size_t i = 0; i < n_native; i++)
		n[i].function = native[i] == 'E'   ? &evaluator
		                : native[i] == 'i' ? &inside
		                : native[i] == 'x' ? &extension
		                : native[i] == 's' ? &start
		                : native[i] == 'a' ? &embeds
		                                   : NULL;
	size_t k = sp_native_mix(p, n_python, n, n_native, complete, interpreter, out, 32);
	for (size_t i = 0; i < k; i++)
		*at++ = out[i].python ? (char)('0' + out[i].python->line) : native[out[i].native - n];
	*at = 0;
	if (strcmp(text, expected))
		fprintf(stderr, "%s is not %s\n", text, expected);
	CHECK(!strcmp(text, expected));
	CHECK(sp_native_mix(p, n_python, n, n_native, complete, interpreter, out, 1) == (k ? 1 : 0));
}

static void folding(void)
{
	mixes("1'2'", "EiEiss", true, false, "12");
	mixes("12'34'", "xxiEixEiss", true, false, "xx12x34");
	mixes("12'34'", "xxiEixEiss", true, true, "xxi12Eix34Eiss");
	mixes("1'", "x?iEia", true, false, "x?1a"); /* an application that embeds Python; code without a file */
	mixes("", "xxss", true, false, "xxss");     /* a thread without Python */
	mixes("", "xiis", true, false, "x");        /* the interpreter starts or ends */
	mixes("1'2'", "xiEi", false, false, "x12"); /* the begin was not found */
	mixes("1'", "xiEiEi", true, false, "x1");   /* the inner evaluator call has no frame yet */
	mixes("1'", "", false, false, "1");
	mixes("", "", true, false, "");
}

int main(void)
{
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(shared != MAP_FAILED);
	folding();
	stacks();
	deep_stack();
	not_stopped();
	nothing_fails();
	survives(starts_threads);
	survives(forks);
	survives(signals);
	job_control();
	return check_failures != 0;
}
