/* The kernel of the visited sets: batches of URLs in, verdicts out.
 *
 * kernel.py documents each function. numpy_*.py implement the same in NumPy; the tests check that both give the same
 * bits. The code runs under the GIL, and calls no Python code between reading and writing a structure.
 */
#include "_kernel_bloom.h"
#include "_kernel_counting.h"
#include "_kernel_leaves.h"
#include "_kernel_table.h"

/* Raised with each change of a function's parameters or results. */
#define VERSION 6

static PyObject *
hash_many(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *urls, *batch, *result = NULL;
    unsigned int seed;
    Py_buffer out;
    if (!PyArg_ParseTuple(args, "OIw*", &urls, &seed, &out))
        return NULL;
    batch = batch_of(urls);
    if (batch == NULL)
        goto done;
    Py_ssize_t count = PyTuple_Size(batch);
    if (out.len != count * (Py_ssize_t)sizeof(hash128)) {
        PyErr_Format(PyExc_ValueError, "expected room for %zd hashes of 16 bytes, found %zd bytes", count, out.len);
        goto done;
    }
    hash128 hashes[RUN];
    for (Py_ssize_t at = 0; at < count; at += RUN) {
        int run = run_length(at, count);
        if (hash_run(batch, at, run, seed, hashes) < 0)
            goto done;
        memcpy((uint8_t *)out.buf + at * (Py_ssize_t)sizeof(hash128), hashes, (size_t)run * sizeof(hash128));
    }
    result = Py_NewRef(Py_None);
done:
    Py_XDECREF(batch);
    PyBuffer_Release(&out);
    return result;
}

static PyObject *
digest_many(PyObject *Py_UNUSED(module), PyObject *urls)
{
    PyObject *batch = batch_of(urls);
    if (batch == NULL)
        return NULL;
    Py_ssize_t count = PyTuple_Size(batch);
    PyObject *result = PyBytes_FromStringAndSize(NULL, count * DIGEST_BYTES);
    if (result != NULL) {
        uint8_t(*out)[DIGEST_BYTES] = (uint8_t(*)[DIGEST_BYTES])PyBytes_AsString(result);
        for (Py_ssize_t at = 0; at < count; at += RUN) {
            if (digest_run(batch, at, run_length(at, count), out + at) < 0) {
                Py_CLEAR(result);
                break;
            }
        }
    }
    Py_DECREF(batch);
    return result;
}

static PyObject *
block_sums(PyObject *Py_UNUSED(module), PyObject *args)
{
    enum { SUMMED_BYTES = 32 * 1024 };
    Py_buffer data;
    if (!PyArg_ParseTuple(args, "y*", &data))
        return NULL;
    Py_ssize_t blocks = data.len / SUMMED_BYTES;
    PyObject *result = PyBytes_FromStringAndSize(NULL, blocks * (Py_ssize_t)sizeof(uint64_t));
    if (result != NULL) {
        char *out = PyBytes_AsString(result);
        const uint8_t *at = data.buf;
        for (Py_ssize_t block = 0; block < blocks; block++) {
            uint64_t sum = 0;
            for (const uint8_t *end = at + SUMMED_BYTES; at < end; at += sizeof(sum))
                sum += load64(at);
            memcpy(out + block * (Py_ssize_t)sizeof(sum), &sum, sizeof(sum));
        }
    }
    PyBuffer_Release(&data);
    return result;
}

static PyMethodDef methods[] = {
    {"hash_many", hash_many, METH_VARARGS, NULL},
    {"digest_many", digest_many, METH_O, NULL},
    {"bloom_probe", bloom_probe, METH_VARARGS, NULL},
    {"blocked_probe", blocked_probe, METH_VARARGS, NULL},
    {"counting_probe", counting_probe, METH_VARARGS, NULL},
    {"leaf_probe", leaf_probe, METH_VARARGS, NULL},
    {"leaves_fill", leaves_fill, METH_VARARGS, NULL},
    {"table_probe", table_probe, METH_VARARGS, NULL},
    {"table_spread", table_spread, METH_VARARGS, NULL},
    {"block_sums", block_sums, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

EXTENSION("visited.bits", _kernel, NULL,
          .m_doc = "The kernel of the visited sets, compiled; kernel.py documents its functions.", .m_methods = methods)
