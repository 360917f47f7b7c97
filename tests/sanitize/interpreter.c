/* SPDX-License-Identifier: BSD-3-Clause */
/* A Python linked to AddressSanitizer's library, so that every process has it, whatever a test does to the environment.
 * tools/sanitize_all.sh compiles it with REPORTS, the path of the reports: those of processes, too, whose standard
 * error nobody reads. */
#include <Python.h>
#include <dlfcn.h>
#include <sanitizer/asan_interface.h>

const char *__asan_default_options(void);

/* detect_leaks: Python keeps memory until its end on purpose. verify_asan_link_order: a wrapper of malloc named by
 * LD_PRELOAD precedes AddressSanitizer's. handle_sigill: faults found by UndefinedBehaviorSanitizer in libraries built
 * without its runtime. Tests need the other signals for programs that die by them; a fault in Spartito ends the program
 * and fails the test. */
const char *__asan_default_options(void)
{
	return "halt_on_error=1:exitcode=97:log_exe_name=1:log_path=" REPORTS ":detect_leaks=0:verify_asan_link_order=0"
	       ":handle_sigill=1:handle_segv=0:handle_sigbus=0:handle_abort=0:handle_sigfpe=0:use_sigaltstack=0"
	       ":quarantine_size_mb=16:allocator_may_return_null=1";
}

/* Python calls it in threads that still run at its end. Their instrumented frames never return, so the marks on their
 * stack would remain when the thread's last functions, those of pthread_key_create(), run. */
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
