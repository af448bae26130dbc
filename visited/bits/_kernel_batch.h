/* What all functions of the kernel need: batches of URLs with their verdicts, and buffers of Python objects. */
#ifndef ONCEOVER_KERNEL_BATCH_H
#define ONCEOVER_KERNEL_BATCH_H

#include "_kernel_urls.h"

enum { TEST = 0, ADD = 1, FORGET = 2 };

/* One call: its batch, its verdicts, and what it counts. */
typedef struct {
    PyObject *batch, *verdicts;
    Py_ssize_t count, absent, ones, saturated;
    unsigned int seed;
    int hashes, mode;
} probe;

/* Check the batch and allocate the verdicts. Returns -1 with an exception. */
static int
begin_probe(probe *call, PyObject *urls)
{
    if ((call->batch = batch_of(urls)) == NULL)
        return -1;
    call->count = PyTuple_Size(call->batch);
    return (call->verdicts = PyList_New(call->count)) == NULL ? -1 : 0;
}

static void
end_probe(probe *call)
{
    Py_XDECREF(call->verdicts);
    Py_XDECREF(call->batch);
}

static void
set_verdict(probe *call, Py_ssize_t i, int absent)
{
    PyObject *verdict = absent ? Py_True : Py_False;
    Py_INCREF(verdict);
    PyList_SetItem(call->verdicts, i, verdict);
    call->absent += absent;
}

static int
check_mode(int mode, int most)
{
    if (mode >= TEST && mode <= most)
        return 0;
    PyErr_Format(PyExc_ValueError, "expected a mode from 0 to %d, found %d", most, mode);
    return -1;
}

/* Check that numbers of `size` bytes are aligned. Returns -1 with an exception. */
static int
check_aligned(const Py_buffer *numbers, size_t size)
{
    if ((uintptr_t)numbers->buf % size == 0)
        return 0;
    PyErr_Format(PyExc_ValueError, "expected numbers aligned to %zu bytes; make a copy of them", size);
    return -1;
}

/* Get the buffer of a list item. The caller releases it. Returns -1 with an exception. */
static int
get_item_buffer(PyObject *list, Py_ssize_t index, Py_buffer *held)
{
    PyObject *memory = PyList_GetItem(list, index);
    if (memory == NULL)
        return -1;
    /* Since Python 3.12 Python code may give the buffer, and change the list. */
    Py_INCREF(memory);
    int failed = PyObject_GetBuffer(memory, held, PyBUF_WRITABLE);
    Py_DECREF(memory);
    return failed;
}

/* Get the bits of one of `count` leaves. The caller releases them. Returns -1 with an exception. */
static int
get_leaf_buffer(PyObject *leaves, Py_ssize_t leaf, Py_ssize_t count, Py_buffer *held)
{
    if (leaf < 0 || leaf >= count) {
        PyErr_Format(PyExc_ValueError, "expected bits for leaf %zd", leaf);
        return -1;
    }
    if (get_item_buffer(leaves, leaf, held) < 0)
        return -1;
    if (held->len > 0)
        return 0;
    PyBuffer_Release(held);
    PyErr_Format(PyExc_ValueError, "expected bits for leaf %zd, found none", leaf);
    return -1;
}

/* Release those of the buffers that are in use. */
static void
release_all(Py_buffer *held, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++)
        if (held[i].obj != NULL)
            PyBuffer_Release(&held[i]);
}

#endif
