/* SPDX-License-Identifier: BSD-3-Clause */
/* A Python that has AddressSanitizer's library in every process, whatever a test does to the environment: it is linked
 * to it. tools/sanitize_all.sh compiles it with REPORTS: where the reports go, those of processes too whose standard
 * error nobody reads. */
#include <Python.h>
#include <dlfcn.h>
#include <sanitizer/asan_interface.h>

const char *__asan_default_options(void);

/* Leaks: Python keeps memory to its end on purpose. The order of libraries: a wrapper of malloc that LD_PRELOAD names
 * comes before AddressSanitizer's. SIGILL: what UndefinedBehaviorSanitizer finds, in libraries that have no library of
 * its. The other signals are for programs of tests that die by them; a fault of ours ends the program, and with it the
 * test. */
const char *__asan_default_options(void)
{
	return "halt_on_error=1:exitcode=97:log_exe_name=1:log_path=" REPORTS ":detect_leaks=0:verify_asan_link_order=0"
	       ":handle_sigill=1:handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigfpe=0:use_sigaltstack=0"
	       ":quarantine_size_mb=16:allocator_may_return_null=1";
}

/* Python ends threads by it that are still there when it ends. The frames of theirs that are watched never return, so
 * what is marked on their stack would stay, where the thread's last functions, those of pthread_key_create(), run. */
void pthread_exit(void *result)
{
	void (*next)(void *) = (void (*)(void *))dlsym(RTLD_NEXT, "pthread_exit");
	__asan_handle_no_return();
	next(result);
	__builtin_unreachable();
}

int main(int argc, char **argv)
{
	return Py_BytesMain(argc, argv);
}
