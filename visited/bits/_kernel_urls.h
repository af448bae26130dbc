/* Batches of URLs, and their text. */
#ifndef ONCEOVER_KERNEL_URLS_H
#define ONCEOVER_KERNEL_URLS_H

#include "_extension.h"
#include <stdint.h>
#include <string.h>

#if !defined(__BYTE_ORDER__) || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "written for little-endian machines; slower code serves the others"
#endif

/* URLs are processed RUN at a time: the memory of all of them is prefetched before the first one is looked up. */
enum { RUN = 32 };

/* Copy a sequence to a tuple of str that no other code can change. Returns NULL with TypeError. */
static PyObject *
batch_of(PyObject *urls)
{
    if (PyUnicode_Check(urls)) {
        PyErr_SetString(PyExc_TypeError, "expected a sequence of URLs, found one str; wrap it in a list");
        return NULL;
    }
    if (!PySequence_Check(urls)) {
        PyObject *name = PyType_GetName(Py_TYPE(urls));
        if (name != NULL)
            PyErr_Format(PyExc_TypeError, "expected a sequence of URLs, found %U; make a list of it", name);
        Py_XDECREF(name);
        return NULL;
    }
    PyObject *batch = PySequence_Tuple(urls);
    if (batch == NULL)
        return NULL;
    Py_ssize_t count = PyTuple_Size(batch);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *url = PyTuple_GetItem(batch, i);
        /* The text of a str lies behind its head. */
        __builtin_prefetch((const char *)url + 64, 0);
        if (i + 8 < count)
            __builtin_prefetch(PyTuple_GetItem(batch, i + 8), 0);
        if (!PyUnicode_Check(url)) {
            PyObject *name = PyType_GetName(Py_TYPE(url));
            if (name != NULL)
                PyErr_Format(PyExc_TypeError, "expected str for each URL, found %U at %zd", name, i);
            Py_XDECREF(name);
            Py_DECREF(batch);
            return NULL;
        }
    }
    return batch;
}

/* Return the UTF-8 of a str. For lone surrogates `*owner` holds the bytes, and the caller releases it. */
static const char *
text_of(PyObject *url, Py_ssize_t *size, PyObject **owner)
{
    const char *text = utf8_of(url, size);
    *owner = NULL;
    if (text != NULL || PyErr_Occurred())
        return text;
    *owner = PyUnicode_AsEncodedString(url, "utf-8", "surrogatepass");
    if (*owner == NULL)
        return NULL;
    *size = PyBytes_Size(*owner);
    return PyBytes_AsString(*owner);
}

static inline int
run_length(Py_ssize_t done, Py_ssize_t count)
{
    return count - done < RUN ? (int)(count - done) : RUN;
}

static inline uint64_t
load64(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, 8);
    return word;
}

#endif
