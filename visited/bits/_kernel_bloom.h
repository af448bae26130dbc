/* The classic and the blocked Bloom filter. */
#ifndef ONCEOVER_KERNEL_BLOOM_H
#define ONCEOVER_KERNEL_BLOOM_H

#include "_kernel_filter.h"

/* Returns -1 with an exception. */
static int
bloom_run(filter_call *call, Py_ssize_t at, int run)
{
    probe *probe = &call->probe;
    hash128 hashes[RUN];
    uint64_t positions[RUN][MOST_HASHES];
    if (locate_run(call, at, run, 1, hashes, positions) < 0)
        return -1;
    for (int i = 0; i < run; i++) {
        int absent;
        if (probe->mode == ADD) {
            int ones = set_bits(call->cells, positions[i], probe->hashes);
            probe->ones += ones;
            absent = ones > 0;
            count_in_sketch(&call->sketch, hashes[i].h2, absent);
        }
        else
            absent = any_clear(call->cells, positions[i], probe->hashes);
        set_verdict(probe, at + i, absent);
    }
    return 0;
}

static PyObject *
bloom_probe(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *urls, *memory = NULL, *result = NULL;
    Py_buffer buffer;
    filter_call call = {0};
    probe *probe = &call.probe;
    if (!PyArg_ParseTuple(args, "Ow*iIi|O", &urls, &buffer, &probe->hashes, &probe->seed, &probe->mode, &memory))
        return NULL;
    call.cells = buffer.buf;
    if (check_hashes(probe->hashes) < 0 || check_mode(probe->mode, ADD) < 0)
        goto done;
    if (buffer.len == 0) {
        PyErr_SetString(PyExc_ValueError, "expected bits, found none");
        goto done;
    }
    set_size(&call, (uint64_t)buffer.len * 8);
    if (run_filter(&call, urls, memory, bloom_run) == 0)
        result = Py_BuildValue("Onn", probe->verdicts, probe->absent, probe->ones);
done:
    end_filter(&call);
    PyBuffer_Release(&buffer);
    return result;
}

enum { BLOCK_BYTES = 64 };

static inline int
ones_of_block(const uint8_t *block)
{
    uint64_t ones = 0;
    for (int i = 0; i < BLOCK_BYTES; i += 8) {
        uint64_t word = load64(block + i);
        word -= word >> 1 & 0x5555555555555555ULL;
        word = (word & 0x3333333333333333ULL) + (word >> 2 & 0x3333333333333333ULL);
        word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
        ones += word * 0x0101010101010101ULL >> 56;
    }
    return (int)ones;
}

typedef struct {
    filter_call filter;
    uint64_t *blocks_by_ones;
    uint64_t blocks;
} blocked_call;

static inline int
add_to_block(blocked_call *call, uint8_t *block, const uint64_t *positions)
{
    probe *probe = &call->filter.probe;
    if (!any_clear(block, positions, probe->hashes))
        return 0;
    int before = ones_of_block(block);
    int ones = set_bits(block, positions, probe->hashes);
    call->blocks_by_ones[before]--;
    call->blocks_by_ones[before + ones]++;
    probe->ones += ones;
    return 1;
}

/* Returns -1 with an exception. */
static int
blocked_run(filter_call *filter, Py_ssize_t at, int run)
{
    blocked_call *call = (blocked_call *)filter;
    probe *probe = &filter->probe;
    hash128 hashes[RUN];
    uint8_t *blocks[RUN];
    uint64_t positions[MOST_HASHES];
    if (hash_run(probe->batch, at, run, probe->seed, hashes) < 0)
        return -1;
    for (int i = 0; i < run; i++) {
        blocks[i] = filter->cells + scale(hashes[i].h1, call->blocks) * BLOCK_BYTES;
        __builtin_prefetch(blocks[i], 1);
    }
    for (int i = 0; i < run; i++) {
        int absent;
        block_positions(hashes[i].h2, probe->hashes, positions);
        if (probe->mode == ADD) {
            absent = add_to_block(call, blocks[i], positions);
            count_in_sketch(&filter->sketch, hashes[i].h2, absent);
        }
        else
            absent = any_clear(blocks[i], positions, probe->hashes);
        set_verdict(probe, at + i, absent);
    }
    return 0;
}

static PyObject *
blocked_probe(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *urls, *memory = NULL, *result = NULL;
    Py_buffer buffer, table;
    blocked_call call = {0};
    filter_call *filter = &call.filter;
    probe *probe = &filter->probe;
    if (!PyArg_ParseTuple(args, "Ow*w*iIi|O", &urls, &buffer, &table, &probe->hashes, &probe->seed, &probe->mode,
                          &memory))
        return NULL;
    filter->cells = buffer.buf;
    call.blocks_by_ones = table.buf;
    call.blocks = (uint64_t)buffer.len / BLOCK_BYTES;
    if (check_hashes(probe->hashes) < 0 || check_mode(probe->mode, ADD) < 0 || check_aligned(&table, 8) < 0)
        goto done;
    if (call.blocks == 0 || call.blocks > UINT32_MAX || table.len != 513 * 8) {
        PyErr_SetString(PyExc_ValueError, "expected 1 to 2^32 - 1 blocks of 64 bytes and a table of 513 counts");
        goto done;
    }
    if (run_filter(filter, urls, memory, blocked_run) == 0)
        result = Py_BuildValue("Onn", probe->verdicts, probe->absent, probe->ones);
done:
    end_filter(filter);
    PyBuffer_Release(&buffer);
    PyBuffer_Release(&table);
    return result;
}

#endif
