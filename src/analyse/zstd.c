/* SPDX-License-Identifier: BSD-3-Clause */
/* Compressor and Decompressor: zstd streams that are processed in pieces, for reading and writing packed experiments.
 * Only one thread at a time may use an object. The build leaves this file out if libzstd is not available. */
#include "analyse/analyse.h"

#include <zstd.h>

enum { LEVEL = 3 }; /* 9 makes a trace a twentieth smaller and takes five times as long */

struct compressor {
	PyObject_HEAD ZSTD_CCtx *zstd; /* owned */
};

struct decompressor {
	PyObject_HEAD ZSTD_DCtx *zstd; /* owned */
	PyObject *data;                /* owned; the last input */
	ZSTD_inBuffer in;              /* position in data */
	bool ended;                    /* the last frame is complete */
};

static void raise_zstd(PyObject *self, size_t code)
{
	struct sp_state *st = sp_state_of(self);

	if (st)
		PyErr_Format(st->error, "zstd: %s", ZSTD_getErrorName(code));
}

static PyObject *compressor_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	struct compressor *o;

	if (!PyArg_ParseTuple(args, ":Compressor") || (kwargs && PyDict_GET_SIZE(kwargs)))
		return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "Compressor takes no arguments");
	o = (struct compressor *)type->tp_alloc(type, 0);
	if (!o)
		return NULL;
	o->zstd = ZSTD_createCCtx();
	if (!o->zstd) {
		Py_DECREF(o);
		return PyErr_NoMemory();
	}
	ZSTD_CCtx_setParameter(o->zstd, ZSTD_c_compressionLevel, LEVEL);
	return (PyObject *)o;
}

static void compressor_dealloc(struct compressor *o)
{
	PyTypeObject *type = Py_TYPE(o);

	ZSTD_freeCCtx(o->zstd);
	type->tp_free(o);
	Py_DECREF(type);
}

/* Compresses n bytes, or ends the stream; returns the output. */
static PyObject *compress(struct compressor *o, const void *bytes, size_t n, ZSTD_EndDirective end)
{
	const size_t capacity = ZSTD_compressBound(n) + ZSTD_CStreamOutSize();
	PyObject *result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)capacity);
	ZSTD_inBuffer in = {bytes, n, 0};
	PyThreadState *thread;
	ZSTD_outBuffer out;
	size_t rest;

	if (!result)
		return NULL;
	out = (ZSTD_outBuffer){PyBytes_AS_STRING(result), capacity, 0};
	thread = PyEval_SaveThread();
	do
		rest = ZSTD_compressStream2(o->zstd, &out, &in, end);
	while (!ZSTD_isError(rest) && (in.pos < in.size || (end == ZSTD_e_end && rest)) && out.pos < out.size);
	PyEval_RestoreThread(thread);
	if (ZSTD_isError(rest)) {
		raise_zstd((PyObject *)o, rest);
		Py_CLEAR(result);
	} else if (_PyBytes_Resize(&result, (Py_ssize_t)out.pos)) {
		return NULL;
	}
	return result;
}

static PyObject *compressor_add(PyObject *self, PyObject *args)
{
	Py_buffer data;
	PyObject *result;

	if (!PyArg_ParseTuple(args, "y*:add", &data))
		return NULL;
	result = compress((struct compressor *)self, data.buf, (size_t)data.len, ZSTD_e_continue);
	PyBuffer_Release(&data);
	return result;
}

static PyObject *compressor_end(PyObject *self, PyObject *unused)
{
	(void)unused;
	return compress((struct compressor *)self, "", 0, ZSTD_e_end);
}

static PyObject *decompressor_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	struct decompressor *o;

	if (!PyArg_ParseTuple(args, ":Decompressor") || (kwargs && PyDict_GET_SIZE(kwargs)))
		return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "Decompressor takes no arguments");
	o = (struct decompressor *)type->tp_alloc(type, 0);
	if (!o)
		return NULL;
	o->zstd = ZSTD_createDCtx();
	if (!o->zstd) {
		Py_DECREF(o);
		return PyErr_NoMemory();
	}
	return (PyObject *)o;
}

static void decompressor_dealloc(struct decompressor *o)
{
	PyTypeObject *type = Py_TYPE(o);

	ZSTD_freeDCtx(o->zstd);
	Py_XDECREF(o->data);
	type->tp_free(o);
	Py_DECREF(type);
}

static PyObject *decompressor_feed(PyObject *self, PyObject *data)
{
	struct decompressor *o = (struct decompressor *)self;

	if (!PyBytes_Check(data))
		return PyErr_Format(PyExc_TypeError, "feed() takes bytes");
	if (o->in.pos < o->in.size)
		return PyErr_Format(PyExc_ValueError, "feed(): what was fed before is not used up");
	Py_INCREF(data);
	Py_XSETREF(o->data, data);
	o->in = (ZSTD_inBuffer){PyBytes_AS_STRING(data), (size_t)PyBytes_GET_SIZE(data), 0};
	Py_RETURN_NONE;
}

static PyObject *decompressor_take(PyObject *self, PyObject *args)
{
	struct decompressor *o = (struct decompressor *)self;
	PyThreadState *thread;
	ZSTD_outBuffer out;
	PyObject *result;
	Py_ssize_t limit;
	size_t rest = 0, before;

	if (!PyArg_ParseTuple(args, "n:take", &limit))
		return NULL;
	result = PyBytes_FromStringAndSize(NULL, limit);
	if (!result)
		return NULL;
	out = (ZSTD_outBuffer){PyBytes_AS_STRING(result), (size_t)limit, 0};
	thread = PyEval_SaveThread();
	/* at the end of a frame, without further input, the decompressor would take nothing as the begin of another
	 * frame */
	while ((!o->ended || o->in.pos < o->in.size) && out.pos < out.size) {
		before = out.pos + o->in.pos;
		rest = ZSTD_decompressStream(o->zstd, &out, &o->in);
		o->ended = rest == 0;
		if (ZSTD_isError(rest) || out.pos + o->in.pos == before)
			break;
	}
	PyEval_RestoreThread(thread);
	if (ZSTD_isError(rest)) {
		raise_zstd(self, rest);
		Py_CLEAR(result);
	} else if (_PyBytes_Resize(&result, (Py_ssize_t)out.pos)) {
		return NULL;
	}
	return result;
}

static PyObject *decompressor_ended(PyObject *self, void *unused)
{
	const struct decompressor *o = (struct decompressor *)self;

	(void)unused;
	return PyBool_FromLong(o->ended && o->in.pos == o->in.size);
}

static PyMethodDef compressor_methods[] = {
    {"add", compressor_add, METH_VARARGS, "What comes out for these bytes, which may be nothing yet."},
    {"end", compressor_end, METH_NOARGS, "The rest."},
    {NULL, NULL, 0, NULL},
};

static PyMethodDef decompressor_methods[] = {
    {"feed", decompressor_feed, METH_O, "The next bytes, when those before are used up."},
    {"take", decompressor_take, METH_VARARGS, "At most so many bytes; less, or nothing: more has to be fed."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef decompressor_attributes[] = {
    {"ended", decompressor_ended, NULL, "Whether what was fed ends here.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot compressor_slots[] = {
    {Py_tp_new, (void *)compressor_new},
    {Py_tp_dealloc, (void *)compressor_dealloc},
    {Py_tp_methods, compressor_methods},
    {0, NULL},
};

static PyType_Slot decompressor_slots[] = {
    {Py_tp_new, (void *)decompressor_new},
    {Py_tp_dealloc, (void *)decompressor_dealloc},
    {Py_tp_methods, decompressor_methods},
    {Py_tp_getset, decompressor_attributes},
    {0, NULL},
};

PyType_Spec sp_compressor_spec = {
    .name = "spartito._analyse.Compressor",
    .basicsize = sizeof(struct compressor),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = compressor_slots,
};
PyType_Spec sp_decompressor_spec = {
    .name = "spartito._analyse.Decompressor",
    .basicsize = sizeof(struct decompressor),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = decompressor_slots,
};
