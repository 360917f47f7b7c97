/* SPDX-License-Identifier: BSD-3-Clause */
/* Another process, read from outside. */
#include "sample/target.h"

#include <errno.h>
#include <link.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/elf.h"
#include "check.h"
#include "sample/python/snapshot.h"

static const char here[] = "what stands here";
int sp_test_of_a_place = 7; /* a symbol to be found */

/* A child that calls `prepare` and then waits for a signal. */
static pid_t child(void (*prepare)(void))
{
	int ready[2];
	char byte;
	MUST(!pipe(ready));
	pid_t pid = fork();
	if (!pid) {
		if (prepare)
			prepare();
		MUST(write(ready[1], "", 1) == 1);
		for (;;)
			pause();
	}
	MUST(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void memory(void)
{
	struct sp_target t;
	char why[256], text[sizeof here] = "", again[5];
	pid_t pid = child(NULL);
	MUST(!sp_target_open(&t, pid, why, sizeof why));
	CHECK(sp_target_read(&t, (uintptr_t)here, text, sizeof here) && !strcmp(text, here));
	struct iovec to[] = {{text, 4}, {again, 5}}, from[] = {{(void *)(here + 5), 4}, {(void *)here, 5}};
	CHECK(sp_target_read_many(&t, to, from, 2) == 2 && !memcmp(text, "stan", 4) && !memcmp(again, "what ", 5));
	CHECK(!sp_target_read(&t, 16, text, 4));
	from[1].iov_base = (void *)16;
	CHECK(sp_target_read_many(&t, to, from, 2) == 1);
	CHECK(sp_target_alive(&t));
	/* the other way of reading */
	snprintf(why, sizeof why, "/proc/%d/mem", (int)pid);
	FILE *f = fopen(why, "r");
	MUST(f);
	t.memory = fileno(f);
	CHECK(sp_target_read(&t, (uintptr_t)here, text, sizeof here) && !strcmp(text, here));
	CHECK(!sp_target_read(&t, 16, text, 4));
	fclose(f);
	t.memory = -1;
	end(pid);
	CHECK(!sp_target_alive(&t) && !sp_target_read(&t, (uintptr_t)here, text, 1));
	sp_target_close(&t);
}

/* A page of a file that contains the end of one part and the begin of the next is mapped twice. */
static void shared_page(void)
{
	struct {
		ElfW(Ehdr) header;
		ElfW(Phdr) pieces[2];
	} file = {
	    .header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB},
	               .e_phoff = sizeof(ElfW(Ehdr)),
	               .e_phentsize = sizeof(ElfW(Phdr)),
	               .e_phnum = 2},
	    .pieces = {
	        {.p_type = PT_LOAD, .p_filesz = 0x27dc, .p_align = 0x1000},
	        {.p_type = PT_LOAD, .p_offset = 0x2800, .p_vaddr = 0x3800, .p_filesz = 0x4000, .p_align = 0x1000}}};
	char path[] = "/tmp/shared-page-XXXXXX";
	uint64_t address = 0;
	int fd = mkstemp(path);
	MUST(fd >= 0 && write(fd, &file, sizeof file) == sizeof file);
	CHECK(sp_elf_loaded_from(path, 0x2000, &address) && address == 0x3000);
	CHECK(sp_elf_loaded_from(path, 0x1000, &address) && address == 0x1000);
	CHECK(sp_elf_loaded_from(path, 0x4000, &address) && address == 0x5000);
	CHECK(!sp_elf_loaded_from(path, 0x7000, &address));
	close(fd);
	unlink(path);
}

static void mappings(void)
{
	struct sp_target t;
	struct sp_mappings all;
	struct sp_elf_symbol place;
	char why[256], path[4096];
	uint64_t begins, address;
	MUST(!sp_target_open(&t, getpid(), why, sizeof why) && !sp_target_mappings(&t, &all));
	const struct sp_mapping *m = sp_mappings_at(&all, (uintptr_t)here);
	MUST(m && m->readable && !m->writable && m->begin <= (uintptr_t)here && (uintptr_t)here < m->end);
	CHECK(strstr(m->path, "test_target") && sp_target_file(&t, m, path, sizeof path));
	CHECK(!sp_mappings_at(&all, 16) && !sp_mappings_at(&all, UINT64_MAX));
	/* address of a symbol of its file */
	CHECK(sp_elf_loaded_from(path, m->offset, &begins) && sp_elf_find(path, "sp_test_of_a_place", &place));
	CHECK(place.bytes == sizeof sp_test_of_a_place);
	CHECK(place.address - begins + m->begin == (uintptr_t)&sp_test_of_a_place);
	CHECK(sp_elf_find(path, ".data", &place) &&
	      place.address - begins + m->begin <= (uintptr_t)&sp_test_of_a_place);
	CHECK(!sp_elf_find(path, "sp_test_of_no_place", &place) && !sp_elf_find(path, ".nowhere", &place));
	CHECK(!sp_elf_find("/dev/null", "a", &place) && !sp_elf_loaded_from("/proc/self/maps", 0, &address));
	sp_mappings_free(&all);
	sp_target_close(&t);
}

static void threads(void)
{
	struct sp_target t;
	struct sp_thread_times times;
	char why[256];
	pid_t ids[2] = {0, 0}, pid = child(NULL);
	MUST(!sp_target_open(&t, pid, why, sizeof why));
	CHECK(sp_target_threads(&t, ids, 2) == 1 && ids[0] == pid && !ids[1]);
	for (times.letter = 0; times.letter != 'S';) /* the child may not have entered pause() yet */
		MUST(!sp_target_times(&t, pid, &times));
#ifdef SYS_pause
	for (times.syscall = -1; times.syscall == -1;)
		MUST(!sp_target_times(&t, pid, &times));
	CHECK(times.syscall == SYS_pause && times.sp && times.pc);
#endif
	CHECK(times.cpu > 0);
	CHECK(sp_target_times(&t, getpid(), &times) == -ESRCH); /* a thread of another process */
	end(pid);
	CHECK(sp_target_threads(&t, ids, 2) < 0);
	sp_target_close(&t);
}

/* The blocks that one walk needed are copied for the next walk, including the first one. */
static void snapshot(void)
{
	enum { BLOCK = 64 };
	static _Alignas(BLOCK) char memory[3 * BLOCK] = "first";
	const uint64_t at = (uintptr_t)memory;
	struct sp_target t;
	struct sp_snapshot s = {.target = &t, .block = BLOCK};
	struct sp_piece none = {at, (char[1]){0}, 1};
	uint64_t blocks[3] = {0};
	char why[256], buffer[BLOCK];
	bool together = true;
	MUST(!sp_target_open(&t, getpid(), why, sizeof why));
	CHECK(sp_snapshot_copy(&s, blocks, 0, &none, 1, 1) == 1);
	const char *got = sp_snapshot_at(&s, at, 6, buffer, &together);
	CHECK(got && !strcmp(got, "first") && !together);
	CHECK(sp_snapshot_needed(&s, blocks, 3) == 1 && blocks[0] == at);
	for (int i = 0; i < 3; i++) {
		together = true;
		CHECK(sp_snapshot_copy(&s, blocks, 1, &none, 1, 1) == 1);
		CHECK(sp_snapshot_at(&s, at, 6, buffer, &together) && sp_snapshot_at(&s, at + 8, 6, buffer, &together));
		CHECK(together && sp_snapshot_needed(&s, blocks, 3) == 1 && blocks[0] == at);
	}
	/* one piece in two blocks, one of which has to be fetched */
	got = sp_snapshot_at(&s, at + BLOCK - 8, 16, buffer, &together);
	CHECK(got == buffer && !together && sp_snapshot_needed(&s, blocks, 3) == 2 && blocks[1] == at + BLOCK);
	CHECK(!sp_snapshot_at(&s, 16, 6, buffer, &together));
	sp_snapshot_free(&s);
	sp_target_close(&t);
}

static void refused(void)
{
	struct sp_target t;
	char why[256];
	CHECK(sp_target_open(&t, 0, why, sizeof why) == -ESRCH && !strcmp(why, "there is no process 0"));
	CHECK(sp_target_open(&t, -1, why, sizeof why) == -ESRCH);
	pid_t pid = fork();
	if (!pid)
		_exit(0);
	siginfo_t ended;
	waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT);
	CHECK(sp_target_open(&t, pid, why, sizeof why) == -ESRCH && strstr(why, "has ended"));
	waitpid(pid, NULL, 0);
	CHECK(sp_target_open(&t, pid, why, sizeof why) == -ESRCH && strstr(why, "there is no process"));
}

static void hide(void)
{
	prctl(PR_SET_DUMPABLE, 0);
}

/* Run as an ordinary user: root may read everything. */
static void forbidden(void)
{
	if (geteuid())
		return;
	struct sp_target t;
	char why[256];
	pid_t parent = getpid(), samples = fork();
	if (!samples) {
		MUST(!setgid(65534) && !setuid(65534));
		CHECK(sp_target_open(&t, parent, why, sizeof why) == -EPERM && strstr(why, "belongs to the user root"));
		pid_t pid = child(hide);
		CHECK(sp_target_open(&t, pid, why, sizeof why) == -EPERM && strstr(why, "PR_SET_DUMPABLE"));
		end(pid);
		_exit(check_failures != 0);
	}
	int status;
	waitpid(samples, &status, 0);
	CHECK(!status);
}

int main(void)
{
	memory();
	mappings();
	shared_page();
	threads();
	snapshot();
	refused();
	forbidden();
	return check_failures != 0;
}
