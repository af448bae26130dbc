/* The fingerprint of a text in one pass; simhash.py states what it is, and is the reference.
 *
 * The code runs under the GIL and calls no Python code but look-ups in a dict of names, which have no code of their own.
 * Large texts are read in threads, so it releases the GIL now and then.
 */
#include "_simhash_markup.h"

/* Raised with each change of the arguments or results. */
#define VERSION 2

static uint64_t
result_of(state *self)
{
    if (self->words > 0 && self->words < SHINGLE)
        count(self, mix(self->last, (int)self->words));
    uint64_t result = 0;
    for (int bit = 0; bit < BITS; bit++) {
        uint64_t set = 0;
        for (int i = 0; i < PLANES; i++)
            set |= (self->planes[i] >> bit & 1) << i;
        if (2 * set > self->features)
            result |= UINT64_C(1) << bit;
    }
    return result;
}

static PyObject *
simhash(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer text;
    int is_markup;
    state self;
    memset(&self, 0, sizeof(self));
    if (!PyArg_ParseTuple(args, "y*pO!", &text, &is_markup, &PyDict_Type, &self.references))
        return NULL;
    const byte *at = text.buf, *end = at + text.len;
    int failed = 0;
    if (is_markup)
        failed = text.len && meet_markup(&self, at, end) < 0;
    else {
        meet_utf8(&self, at, end);
        end_word(&self);
    }
    PyBuffer_Release(&text);
    return failed ? NULL : Py_BuildValue("KK", (unsigned long long)result_of(&self), (unsigned long long)self.words);
}

static PyMethodDef methods[] = {
    {"simhash", simhash, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static int
prepare(PyObject *Py_UNUSED(module))
{
    for (uint32_t each = 0; each < 128; each++)
        kind_of_ascii[each] = holds(BREAKS, COUNT(BREAKS), each) ? BREAK : WORD;
    return 0;
}

EXTENSION("crawler.read.similarity", _simhash, prepare,
          .m_doc = "The fingerprint of a text, compiled; simhash.py documents it.", .m_methods = methods)
