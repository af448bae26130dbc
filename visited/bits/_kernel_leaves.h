/* The leaves of the splitting filter. */
#ifndef ONCEOVER_KERNEL_LEAVES_H
#define ONCEOVER_KERNEL_LEAVES_H

#include "_kernel_positions.h"

/* What a leaf holds: how many bits are set, and how many URLs set them. */
typedef struct {
    uint64_t ones, urls;
} leaf_counts;

typedef struct {
    probe probe;
    PyObject *leaves;
    const int32_t *leaf_of;
    leaf_counts *counts;
    /* Of the new URLs from the front, of the known ones from the place of the last URL backwards. */
    uint64_t *fingerprints;
    uint64_t route_count;
    Py_ssize_t leaf_count;
    Py_buffer bits[RUN];
} leaf_call;

static inline int
add_to_leaf(leaf_call *call, Py_ssize_t number, int leaf, uint8_t *bits, uint64_t fingerprint,
            const uint64_t *positions)
{
    probe *probe = &call->probe;
    int ones = set_bits(bits, positions, probe->hashes);
    call->counts[leaf].ones += (uint64_t)ones;
    call->counts[leaf].urls += ones > 0;
    call->fingerprints[ones > 0 ? probe->absent : probe->count - 1 - (number - probe->absent)] = fingerprint;
    return ones > 0;
}

/* Returns -1 with an exception; the caller releases the leaves that are still in use. */
static int
leaf_run(leaf_call *call, Py_ssize_t at, int run)
{
    probe *probe = &call->probe;
    hash128 hashes[RUN];
    uint64_t positions[RUN][MOST_HASHES];
    int32_t leaves[RUN];
    if (hash_run(probe->batch, at, run, probe->seed, hashes) < 0)
        return -1;
    for (int i = 0; i < run; i++) {
        Py_buffer *bits = &call->bits[i];
        leaves[i] = call->leaf_of[scale(hashes[i].h1, call->route_count)];
        if (get_leaf_buffer(call->leaves, leaves[i], call->leaf_count, bits) < 0)
            return -1;
        leaf_positions(hashes[i].h1, (uint64_t)bits->len * 8, probe->hashes, positions[i]);
        for (int j = 0; j < probe->hashes; j++)
            __builtin_prefetch((uint8_t *)bits->buf + (positions[i][j] >> 3), 1);
    }
    for (int i = 0; i < run; i++) {
        uint8_t *bits = call->bits[i].buf;
        int absent = probe->mode == ADD ? add_to_leaf(call, at + i, leaves[i], bits, hashes[i].h1, positions[i])
                                        : any_clear(bits, positions[i], probe->hashes);
        set_verdict(probe, at + i, absent);
        PyBuffer_Release(&call->bits[i]);
    }
    return 0;
}

static PyObject *
leaf_probe(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *urls, *result = NULL;
    Py_buffer routes, counts, out;
    leaf_call call = {0};
    probe *probe = &call.probe;
    if (!PyArg_ParseTuple(args, "Ow*O!w*iIw*i", &urls, &routes, &PyList_Type, &call.leaves, &counts, &probe->hashes,
                          &probe->seed, &out, &probe->mode))
        return NULL;
    call.leaf_of = routes.buf;
    call.route_count = (uint64_t)routes.len / 4;
    call.counts = counts.buf;
    call.fingerprints = out.buf;
    if (check_hashes(probe->hashes) < 0 || check_mode(probe->mode, ADD) < 0)
        goto done;
    if (check_aligned(&routes, 4) < 0 || check_aligned(&counts, 8) < 0 || check_aligned(&out, 8) < 0)
        goto done;
    if (begin_probe(probe, urls) < 0)
        goto done;
    /* Not before: Python code that gives the URLs may change the list. */
    call.leaf_count = PyList_Size(call.leaves);
    if (call.route_count == 0 || counts.len / (Py_ssize_t)sizeof(leaf_counts) < call.leaf_count ||
        (probe->mode == ADD && out.len / 8 < probe->count)) {
        PyErr_SetString(PyExc_ValueError, "expected routes, two counts for each leaf, and room for the fingerprints");
        goto done;
    }
    for (Py_ssize_t at = 0; at < probe->count; at += RUN)
        if (leaf_run(&call, at, run_length(at, probe->count)) < 0)
            goto done;
    result = Py_BuildValue("On", probe->verdicts, probe->absent);
done:
    release_all(call.bits, RUN);
    end_probe(probe);
    PyBuffer_Release(&routes);
    PyBuffer_Release(&counts);
    PyBuffer_Release(&out);
    return result;
}

/* Set the bits of ascending fingerprints up to `last` in neighbouring leaves. Returns -1 with an exception; the caller
 * releases `bits`. */
static int
fill_leaves(const Py_buffer *list, const uint8_t *lows, uint64_t last, PyObject *leaves, leaf_counts *counts,
            int hashes, Py_buffer *bits)
{
    Py_ssize_t leaf_count = PyList_Size(leaves), leaf = -1;
    uint64_t positions[MOST_HASHES];
    for (Py_ssize_t i = 0; i < list->len / 8; i++) {
        uint64_t fingerprint = load64((const uint8_t *)list->buf + i * 8);
        if (fingerprint > last)
            break;
        while (leaf + 1 < leaf_count && fingerprint >= load64(lows + (leaf + 1) * 8)) {
            release_all(bits, 1);
            if (get_leaf_buffer(leaves, ++leaf, leaf_count, bits) < 0)
                return -1;
        }
        if (leaf < 0)
            continue;
        leaf_positions(fingerprint, (uint64_t)bits->len * 8, hashes, positions);
        counts[leaf].ones += (uint64_t)set_bits(bits->buf, positions, hashes);
        counts[leaf].urls++;
    }
    return 0;
}

static PyObject *
leaves_fill(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *leaves, *result = NULL;
    Py_buffer list, starts, counts, bits = {0};
    unsigned long long last;
    int hashes;
    if (!PyArg_ParseTuple(args, "y*y*KO!w*i", &list, &starts, &last, &PyList_Type, &leaves, &counts, &hashes))
        return NULL;
    Py_ssize_t leaf_count = PyList_Size(leaves);
    if (check_hashes(hashes) < 0 || check_aligned(&counts, 8) < 0)
        goto done;
    if (leaf_count == 0 || starts.len / 8 != leaf_count ||
        counts.len / (Py_ssize_t)sizeof(leaf_counts) != leaf_count) {
        PyErr_SetString(PyExc_ValueError, "expected leaves, and a lowest fingerprint and two counts for each");
        goto done;
    }
    if (fill_leaves(&list, starts.buf, last, leaves, counts.buf, hashes, &bits) == 0)
        result = Py_NewRef(Py_None);
done:
    release_all(&bits, 1);
    PyBuffer_Release(&list);
    PyBuffer_Release(&starts);
    PyBuffer_Release(&counts);
    return result;
}

#endif
