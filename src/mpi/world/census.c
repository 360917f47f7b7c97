/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/world/census.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	REFUSED = 1, /* a number was already there: the number of the world was used before */
	MAX_RANKS = 1 << 26,
	MAX_ANCESTORS = 64
};

static void fold(uint64_t *hash, const char *text)
{
	uint64_t h = *hash ? *hash : UINT64_C(0xcbf29ce484222325);
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	*hash = (h ^ '\n') * UINT64_C(0x100000001b3); /* so that "ab", "c" differs from "a", "bc" */
}

static void fold_number(uint64_t *hash, uint64_t n)
{
	char text[24];
	snprintf(text, sizeof text, "%llu", (unsigned long long)n);
	fold(hash, text);
}

static void fold_variable(uint64_t *hash, const char *name)
{
	const char *value = getenv(name);
	if (!value || !*value)
		return;
	fold(hash, name);
	fold(hash, value);
}

/* The value of the first variable that is a number. */
static int number_of(const char *const *names)
{
	for (; *names; names++) {
		const char *value = getenv(*names);
		char *end;
		if (!value || !*value)
			continue;
		errno = 0;
		long n = strtol(value, &end, 10);
		if (!*end && !errno && n >= 0 && n < MAX_RANKS)
			return (int)n;
	}
	return -1;
}

static void find_place(struct sp_census *r, enum sp_census_launcher launcher)
{
	static const char *const openmpi_rank[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID",
	                                           NULL};
	static const char *const openmpi_size[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", NULL};
	static const char *const hydra_rank[] = {"PMI_RANK", "PMIX_RANK", "SLURM_PROCID", NULL};
	static const char *const hydra_size[] = {"PMI_SIZE", "SLURM_NTASKS", NULL};
	r->rank = number_of(launcher == SP_CENSUS_HYDRA ? hydra_rank : openmpi_rank);
	r->size = number_of(launcher == SP_CENSUS_HYDRA ? hydra_size : openmpi_size);
}

/* Reads up to n - 1 bytes of a process's file in /proc and adds a NUL. Returns their number; 0: unreadable. */
static size_t read_proc(long pid, const char *name, char *out, size_t n)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%ld/%s", pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t got = 0;
	out[0] = 0;
	if (fd < 0)
		return 0;
	for (ssize_t k; got < n - 1 && (k = read(fd, out + got, n - 1 - got)) > 0; got += (size_t)k)
		;
	close(fd);
	out[got] = 0;
	return got;
}

/* Reads the parent's process id, and the start of the process in clock ticks of the system. */
static bool read_stat(long pid, long *parent, unsigned long long *start)
{
	char text[1024];
	/* the name of the program, in parentheses, may contain anything */
	const char *after = read_proc(pid, "stat", text, sizeof text) ? strrchr(text, ')') : NULL;
	return after &&
	       sscanf(after + 1, " %*c %ld %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
	              parent, start) == 2;
}

static bool is_proxy(long pid)
{
	char name[32];
	return read_proc(pid, "comm", name, sizeof name) && strncmp(name, "hydra_", 6) == 0;
}

/* The word that follows `option` in a command line of n bytes. */
static const char *word_after(const char *line, size_t n, const char *option)
{
	for (const char *p = line; p < line + n; p += strlen(p) + 1)
		if (strcmp(p, option) == 0 && p + strlen(p) + 1 < line + n)
			return p + strlen(p) + 1;
	return NULL;
}

/* Hydra gives its processes no name of the job. But all processes on a machine are descendants of one proxy, and the
 * command lines of a job's proxies contain the address of mpiexec and the number of the process group (a spawned world
 * is a separate group). If none of these is found, worlds of the same size cannot be distinguished, except that a
 * number is already in the file. */
static void fold_hydra(uint64_t *hash, bool one_host)
{
	char line[4096];
	unsigned long long start = 0;
	long pid = getpid(), parent = 0;
	for (int i = 0; i < MAX_ANCESTORS; i++) {
		if (!read_stat(pid, &parent, &start) || (i && is_proxy(pid)))
			break;
		pid = parent;
		if (pid <= 0)
			return;
	}
	if (!is_proxy(pid))
		return;
	size_t n = read_proc(pid, "cmdline", line, sizeof line);
	const char *port = word_after(line, n, "--control-port"), *group = word_after(line, n, "--pgid");
	fold(hash, port ? port : "");
	fold(hash, group ? group : "");
	if (one_host) {
		fold_number(hash, (uint64_t)pid);
		fold_number(hash, start);
	}
}

static void find_world(struct sp_census *r, enum sp_census_launcher launcher)
{
	static const char *const local[] = {"MPI_LOCALNRANKS", NULL};
	uint64_t h = 0;
	if (launcher == SP_CENSUS_HYDRA && getenv("PMI_RANK")) {
		fold_hydra(&h, r->size > 0 && number_of(local) == r->size);
		fold_variable(&h, "PMI_JOBID");
	} else {
		/* the namespace alone is a hash of 16 bits and the number of the job in it */
		fold_variable(&h, "PMIX_NAMESPACE");
		fold_variable(&h, "OMPI_MCA_ess_base_jobid");
		fold_variable(&h, "OMPI_MCA_orte_precondition_transports");
	}
	fold_variable(&h, "SLURM_JOB_ID");
	fold_variable(&h, "SLURM_STEP_ID");
	fold_variable(&h, "SLURM_RESTART_COUNT");
	fold_number(&h, (uint64_t)r->size);
	r->world = h ? h : 1;
}

static bool path_of(const struct sp_census *r, const char *suffix, char *path, size_t n)
{
	int k = snprintf(path, n, "%s/mpi-%016llx%s", r->path, (unsigned long long)r->world, suffix);
	return k > 0 && (size_t)k < n;
}

static bool write_host(const struct sp_census *r, uint64_t host)
{
	char path[4096];
	const off_t at = (off_t)r->rank * (off_t)sizeof host;
	uint64_t before = 0;
	if (!path_of(r, ".roll", path, sizeof path))
		return false;
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return false;
	if (pread(fd, &before, sizeof before, at) != sizeof before)
		before = 0;
	host = before ? REFUSED : host > REFUSED ? host : REFUSED + 1;
	bool ok = pwrite(fd, &host, sizeof host, at) == sizeof host;
	/* network file systems write delayed data when the file is closed */
	ok &= close(fd) == 0;
	return ok && !before;
}

void sp_census_take(struct sp_census *r, const char *raw, enum sp_census_launcher launcher, uint64_t host)
{
	int error = errno;
	memset(r, 0, sizeof *r);
	find_place(r, launcher);
	if (r->rank >= 0)
		find_world(r, launcher);
	const char *slash = raw ? strrchr(raw, '/') : NULL;
	if (r->rank >= 0 && slash && (size_t)(slash - raw) < sizeof r->path) {
		memcpy(r->path, raw, (size_t)(slash - raw));
		r->called = write_host(r, host);
	}
	errno = error;
}

static enum sp_census_answer check(const char *path, int size)
{
	uint64_t block[512], first = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC), n = 0;
	bool all = fd >= 0, one = true;
	while (all && n <= size) {
		ssize_t k = read(fd, block, sizeof block);
		if (k <= 0)
			break;
		all = k % (ssize_t)sizeof *block == 0;
		k /= (ssize_t)sizeof *block;
		first = n ? first : block[0];
		for (ssize_t i = 0; i < k; i++) {
			all &= block[i] > REFUSED;
			one &= block[i] == first;
		}
		n += (int)k;
	}
	if (fd >= 0)
		close(fd);
	return !all || n != size ? SP_CENSUS_SOME : one ? SP_CENSUS_ONE_HOST : SP_CENSUS_ALL;
}

/* Makes all processes use the same answer. MPI_Init need not wait for the other processes, so one process may read the
 * file before another has written to it. The first process to answer decides for all: it atomically creates a symbolic
 * link with its answer, unless the link already exists. */
static enum sp_census_answer agree(const struct sp_census *r, enum sp_census_answer own)
{
	static const char *const words[] = {
	    [SP_CENSUS_SOME] = "some", [SP_CENSUS_ALL] = "all", [SP_CENSUS_ONE_HOST] = "one host"};
	char path[4096], written[8];
	if (!path_of(r, ".answer", path, sizeof path))
		return SP_CENSUS_SOME;
	for (int i = 0; i < 2; i++) {
		ssize_t k = readlink(path, written, sizeof written);
		if (k > 0)
			return written[0] == 'a'   ? SP_CENSUS_ALL
			       : written[0] == 'o' ? SP_CENSUS_ONE_HOST
			                           : SP_CENSUS_SOME;
		if (i == 0 && symlink(words[own], path) == 0)
			return own;
	}
	/* the answer of the others cannot be known here (a file system without symbolic links), so it may be
	 * anything */
	return SP_CENSUS_SOME;
}

/* The number of a world with a single process, with or without a launcher: different for each start. */
static uint64_t alone(const char *raw)
{
	char host[256] = "";
	uint64_t h = 0;
	struct timespec now = {0};
	unsigned long long start = 0;
	long parent;
	clock_gettime(CLOCK_REALTIME, &now);
	gethostname(host, sizeof host - 1);
	read_stat(getpid(), &parent, &start);
	fold(&h, raw);
	fold(&h, host);
	fold_number(&h, (uint64_t)getpid());
	fold_number(&h, start);
	fold_number(&h, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
	return h ? h : 1;
}

enum sp_census_answer sp_census_answer(struct sp_census *r, int rank, int size)
{
	char path[4096];
	int error = errno;
	const bool as_reported = r->rank == rank && (r->size < 0 || r->size == size);
	enum sp_census_answer answer = size == 1 ? SP_CENSUS_ONE_HOST : SP_CENSUS_SOME;
	if (size == 1) {
		/* no other process reads it */
		if (r->called && as_reported && path_of(r, ".roll", path, sizeof path))
			unlink(path);
		r->world = alone(r->path);
	} else if (!as_reported) {
		/* an unknown launcher; the best guess is that the experiment has one world of this size */
		r->world = 0;
		fold_number(&r->world, (uint64_t)size);
	} else if (r->path[0]) {
		if (r->called && path_of(r, ".roll", path, sizeof path))
			answer = check(path, size);
		answer = agree(r, answer);
	}
	r->rank = rank;
	r->size = size;
	errno = error;
	return answer;
}

void sp_census_remove(const struct sp_census *r)
{
	char path[4096];
	int error = errno;
	if (r->size > 1 && path_of(r, ".roll", path, sizeof path) && unlink(path) == 0 &&
	    path_of(r, ".answer", path, sizeof path))
		unlink(path);
	errno = error;
}
