/* A sketch that counts the lost URLs: HyperLogLog registers with Cohen's estimator (HIP, 2014; also Ting 2014).
 *
 * A new URL changes a register with a known probability q, a known URL never does. So each rejected URL that changes a
 * register is lost, and stands for 1/q lost ones. The buffer holds a sketch_state, then the registers.
 */
#ifndef ONCEOVER_KERNEL_SKETCH_H
#define ONCEOVER_KERNEL_SKETCH_H

#include "_kernel_batch.h"

enum { INDEX_BITS = 11, REGISTERS = 1 << INDEX_BITS, MOST_RANK = 40 };

typedef struct {
    /* The sum of 1 - 2^-register over all registers, times 2^40. */
    uint64_t used;
    double lost, variance;
} sketch_state;

typedef struct {
    Py_buffer buffer;
    uint8_t *registers;
} sketch;

enum { SKETCH_BYTES = sizeof(sketch_state) + REGISTERS };

/* Without memory, or with None, nothing is counted. Returns -1 with an exception. */
static int
open_sketch(PyObject *memory, sketch *out)
{
    if (memory == NULL || memory == Py_None)
        return 0;
    if (PyObject_GetBuffer(memory, &out->buffer, PyBUF_WRITABLE) < 0)
        return -1;
    if (out->buffer.len != SKETCH_BYTES) {
        PyErr_Format(PyExc_ValueError, "expected a sketch of %d bytes, found %zd", (int)SKETCH_BYTES, out->buffer.len);
        PyBuffer_Release(&out->buffer);
        return -1;
    }
    out->registers = (uint8_t *)out->buffer.buf + sizeof(sketch_state);
    return 0;
}

static void
close_sketch(sketch *in)
{
    if (in->registers != NULL)
        PyBuffer_Release(&in->buffer);
}

static inline void
count_in_sketch(sketch *in, uint64_t hash, int absent)
{
    if (in->registers == NULL)
        return;
    uint64_t word = hash * UINT64_C(0x9e3779b97f4a7c15);
    uint8_t *at = in->registers + (word >> (64 - INDEX_BITS));
    int rank = __builtin_clzll(word << INDEX_BITS | UINT64_C(1) << (64 - MOST_RANK)) + 1;
    if (rank <= *at)
        return;
    /* Not kept from one URL to the next: code that gives the URLs may add others. */
    sketch_state state;
    memcpy(&state, in->buffer.buf, sizeof(state));
    if (!absent) {
        double all = (double)((uint64_t)REGISTERS << MOST_RANK);
        double weight = all / (all - (double)state.used);
        state.lost += weight;
        state.variance += weight * (weight - 1);
    }
    state.used += (UINT64_C(1) << (MOST_RANK - *at)) - (UINT64_C(1) << (MOST_RANK - rank));
    memcpy(in->buffer.buf, &state, sizeof(state));
    *at = (uint8_t)rank;
}

#endif
