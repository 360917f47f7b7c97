/* SPDX-License-Identifier: BSD-3-Clause */
/* The start of a measurement by spartito.pth, when the interpreter starts. It must not print anything. */
#include "hook/collections.h"
#include "hook/control.h"
#include "hook/hook.h"
#include "hook/lines/lines.h"
#include "hook/naming.h"
#include "hook/stacks.h"
#include "record/definitions.h"
#include "record/process.h"
#include "record/settings.h"
#include "record/thread.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void boot_failed(const char *dir, const char *why)
{
	char path[4096];
	char host[100] = "unknown";
	gethostname(host, sizeof host - 1);
	snprintf(path, sizeof path, "%s/raw/%s-%d.error", dir, host, (int)getpid());
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return;
	/* if there is no space, as on a full disk, the empty file states that this process is missing; a file beyond
	 * RLIMIT_FSIZE would send SIGXFSZ to the program */
	struct rlimit limit;
	if (!getrlimit(RLIMIT_FSIZE, &limit) && strlen(why) < limit.rlim_cur)
		(void)!(write(fd, why, strlen(why)) >= 0 && write(fd, "\n", 1) >= 0);
	close(fd);
}

static void boot_exception(const char *dir)
{
	PyObject *type, *value, *trace;
#if PY_VERSION_HEX >= 0x030C0000
	value = PyErr_GetRaisedException();
	type = trace = NULL;
#else
	PyErr_Fetch(&type, &value, &trace);
#endif
	PyObject *text = value ? PyObject_Str(value) : NULL;
	const char *p = text ? PyUnicode_AsUTF8(text) : NULL;
	boot_failed(dir, p ? p : "unknown error");
	PyErr_Clear();
	Py_XDECREF(text);
	Py_XDECREF(type);
	Py_XDECREF(value);
	Py_XDECREF(trace);
}

/* The interpreter of the first boot; -1: the program itself started the measurement. */
static int64_t main_interpreter = -1;

/* Installs the hook in a sub-interpreter of a measured process, for the same measurement. */
static bool boot_again(const char *dir)
{
	if (PyInterpreterState_GetID(PyInterpreterState_Get()) == main_interpreter || sp_control_began_here())
		return true; /* spartito.pth was found in two places, or the program has processed it again */
	if (!sp_recording || !sp_hook_used)
		return false; /* paused or stopped */
	if (sp_names_init() == 0 && sp_hook_used->install() == 0) {
		if (!sp_process.instrumented)
			sp_hook_off();
		sp_control_beneath(sp_lines_install);
		if (sp_collections_start())
			PyErr_Clear();
		if (sp_self)
			sp_hook_adopt(sp_self, sp_frame_current(PyThreadState_Get()));
		return true;
	}
	if (PyErr_Occurred())
		boot_exception(dir);
	return false;
}

bool sp_control_boot(void)
{
	char why[512];
	const char *dir = getenv("SPARTITO_EXPERIMENT");
	if (!dir || !*dir)
		return false;
	if (main_interpreter >= 0 || sp_process.forked ||
	    (sp_process.header && sp_process.header->ended == SP_RAW_RUNNING))
		return boot_again(dir);
	char *unsampled = sp_host_sampler(dir);
	struct sp_settings s;
	sp_settings_init(&s);
	if (sp_settings_from_environment(&s, why, sizeof why)) {
		boot_failed(dir, why);
		sp_settings_free(&s);
		free(unsampled);
		return false;
	}
	main_interpreter = PyInterpreterState_GetID(PyInterpreterState_Get());
	const bool started = sp_control_start(dir, &s, SP_RAW_STARTED_EXEC) == 0;
	if (started && unsampled)
		sp_define_meta("unsampled", unsampled, strlen(unsampled));
	free(unsampled);
	if (started)
		return true;
	sp_settings_free(&s);
	boot_exception(dir);
	return false;
}
