/* Digests as texts; digests.py states their form, and is the reference.
 *
 * The code runs under the GIL and calls no Python code.
 */
#include "../../visited/bits/_extension.h"

#include "_digest_text.h"

/* Raised with each change of the arguments or results. */
#define VERSION 1

#define NAME "sha1:"

static PyObject *
digest_text(PyObject *Py_UNUSED(module), PyObject *sha1)
{
    char text[sizeof(NAME) - 1 + SHA1_CHARACTERS] = NAME;
    if (!PyBytes_Check(sha1) || PyBytes_Size(sha1) != SHA1_BYTES) {
        PyErr_SetString(PyExc_ValueError, "expected a SHA-1: 20 bytes");
        return NULL;
    }
    write_sha1(text + sizeof(NAME) - 1, (const unsigned char *)PyBytes_AsString(sha1));
    return PyUnicode_FromStringAndSize(text, sizeof(text));
}

static PyMethodDef methods[] = {
    {"digest_text", digest_text, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

EXTENSION("crawler.page", _digests, NULL,
          .m_doc = "Digests as texts, compiled; digests.py documents them.", .m_methods = methods)
