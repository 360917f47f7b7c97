/* SPDX-License-Identifier: BSD-3-Clause */
/* An extension module for test_native.py. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <spartito.h>

static long leaf(long n)
{
	return n * 2;
}

__attribute__((noinline)) static long middle(long n)
{
	long sum = 0;
	for (long i = 0; i < n; i++)
		sum += leaf(i);
	return sum;
}

static PyObject *work(PyObject *self, PyObject *n)
{
	(void)self;
	return PyLong_FromLong(middle(PyLong_AsLong(n)));
}

static PyObject *call(PyObject *self, PyObject *function)
{
	(void)self;
	spartito_region_begin("user region of C");
	PyObject *result = PyObject_CallObject(function, NULL);
	spartito_region_end("user region of C");
	return result;
}

static void *body(void *none)
{
	middle(3);
	return none;
}

static PyObject *threads(PyObject *self, PyObject *n)
{
	pthread_t all[16];
	long i, count = PyLong_AsLong(n);
	(void)self;
	Py_BEGIN_ALLOW_THREADS;
	for (i = 0; i < count; i++)
		pthread_create(&all[i], NULL, body, NULL);
	for (i = 0; i < count; i++)
		pthread_join(all[i], NULL);
	Py_END_ALLOW_THREADS;
	Py_RETURN_NONE;
}

#ifdef OTHER
int another_function_of_another_build(void);
int another_function_of_another_build(void)
{
	return 1;
}
#endif

static jmp_buf out;

__attribute__((noinline)) static void jump(int depth)
{
	if (depth == 0)
		longjmp(out, 1);
	if (depth < 100)
		jump(depth - 1);
	leaf(depth);
}

static PyObject *jumps(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	if (!setjmp(out))
		jump(5);
	return PyLong_FromLong(middle(2));
}

/* the wrapper does most of its work at the first call of a function */
static void first_call(void)
{
}

static PyObject *keeps_errno(PyObject *self, PyObject *none)
{
	(void)self, (void)none;
	errno = 123;
	first_call();
	first_call();
	return PyLong_FromLong(errno);
}

static PyMethodDef methods[] = {{"work", work, METH_O, NULL},
                                {"call", call, METH_O, NULL},
                                {"threads", threads, METH_O, NULL},
                                {"jumps", jumps, METH_NOARGS, NULL},
                                {"keeps_errno", keeps_errno, METH_NOARGS, NULL},
                                {NULL, NULL, 0, NULL}};
static PyModuleDef_Slot slots[] = {
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "nested", .m_size = 0, .m_methods = methods,
                                 .m_slots = slots};

PyMODINIT_FUNC PyInit_nested(void);
PyMODINIT_FUNC PyInit_nested(void)
{
	return PyModuleDef_Init(&definition);
}
