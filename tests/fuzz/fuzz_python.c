/* SPDX-License-Identifier: BSD-3-Clause */
/* The stacks of a stopped Python process, read through wrong memory: each byte of the input says what one read returns
 * instead of the real data. SPARTITO_FUZZ_PYTHON: the interpreter, by default python3. */
#define sp_target_read      true_read
#define sp_target_read_many true_read_many
#include "../../src/sample/target.c"
#undef sp_target_read
#undef sp_target_read_many

#include "sample/python/private.h"

#include "input.h"

bool sp_target_read(const struct sp_target *t, uint64_t at, void *to, size_t n);
size_t sp_target_read_many(const struct sp_target *t, const struct iovec *to, const struct iovec *from, size_t n);

enum { CAPACITY = 64 };

static const char program[] = "import threading, time\n"
                              "def gen():\n"
                              "    class A:\n"
                              "        def __init__(self, n): f(n)\n"
                              "    yield A(8)\n"
                              "def f(n):\n"
                              "    if n: list(map(f, [n - 1]))\n"
                              "    else:\n"
                              "        started.wait()\n"
                              "        time.sleep(1e6)\n"
                              "started = threading.Barrier(3, action=lambda: print('ready', flush=True))\n"
                              "for _ in range(2):\n"
                              "    threading.Thread(target=lambda: list(gen())).start()\n"
                              "f(20)\n";

static struct sp_target target;
static struct sp_python *clean;
static const uint8_t *lies;
static size_t n_lies;
static uint64_t met[256]; /* words that were read, such as addresses */
static unsigned n_met;

static void stop(void)
{
	kill(target.pid, SIGKILL);
}

static void begin(void)
{
	char why[512], byte;
	int out[2];
	const char *python = getenv("SPARTITO_FUZZ_PYTHON");
	if (pipe(out))
		abort();
	pid_t pid = fork();
	if (!pid) {
		dup2(out[1], 1);
		execlp(python ? python : "python3", "python3", "-c", program, (char *)NULL);
		_exit(127);
	}
	if (read(out[0], &byte, 1) != 1 || kill(pid, SIGSTOP) || sp_target_open(&target, pid, why, sizeof why) ||
	    sp_python_open(&clean, &target, why, sizeof why)) {
		fprintf(stderr, "%s\n", why);
		abort();
	}
	atexit(stop);
}

static void lie(unsigned char *to, size_t n)
{
	const uint8_t how = n_lies ? *lies : 0;
	if (n_lies) {
		lies++;
		n_lies--;
	}
	size_t at = how * 2654435761u % (n ? n : 1) & ~(size_t)7;
	if (n - at >= 8) {
		uint64_t word;
		memcpy(&word, to + at, 8);
		met[n_met++ % 256] = word;
		const uint64_t instead[] = {
		    word,       0,          UINT64_MAX,      met[how % 256], word ^ (1ull << how % 64), word + how % 16,
		    how * 256u, 1ull << 40, met[n_met % 256]};
		word = instead[how % 9];
		memcpy(to + at, &word, 8);
	} else if (n) {
		to[how % n] ^= how;
	}
}

bool sp_target_read(const struct sp_target *t, uint64_t at, void *to, size_t n)
{
	if (!true_read(t, at, to, n))
		return false;
	lie(to, n);
	return true;
}

size_t sp_target_read_many(const struct sp_target *t, const struct iovec *to, const struct iovec *from, size_t n)
{
	size_t got = true_read_many(t, to, from, n);
	for (size_t i = 0; i < got; i++)
		lie(to[i].iov_base, to[i].iov_len);
	return got;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct sp_python_thread threads[CAPACITY];
	struct sp_python_frame frames[CAPACITY];
	if (!clean)
		begin();
	/* opening the process takes long, and does not depend on the memory */
	struct sp_python *p = calloc(1, sizeof *p);
	if (!p)
		abort();
	*p = *clean;
	p->directory = strdup("/");
	p->began = NULL;
	lies = data;
	n_lies = n;
	n_met = 0;
	for (int round = 0; round < 4; round++) {
		int n_threads = sp_python_threads(p, threads, CAPACITY);
		for (int i = 0; i < n_threads && i < CAPACITY; i++) {
			int n_frames = sp_python_stack(p, &threads[i], frames, i % 2 ? CAPACITY : 4);
			for (int k = 0; k < n_frames && k < (i % 2 ? CAPACITY : 4); k++)
				if (!frames[k].code->module || !frames[k].code->qualname || !frames[k].code->file)
					abort();
		}
	}
	sp_python_close(p);
	return 0;
}
