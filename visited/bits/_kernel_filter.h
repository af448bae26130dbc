/* What the filters of bits, blocks and counters share: the call, its runs, and Guava's positions. */
#ifndef ONCEOVER_KERNEL_FILTER_H
#define ONCEOVER_KERNEL_FILTER_H

#include "_kernel_positions.h"
#include "_kernel_sketch.h"

typedef struct {
    probe probe;
    sketch sketch;
    uint8_t *cells;
    /* Of Guava's positions: the number of cells, and (2^64 - 1) / m. */
    uint64_t m, inverse;
} filter_call;

/* Process URLs `at` to `at + run`. Returns -1 with an exception. */
typedef int (*filter_run)(filter_call *call, Py_ssize_t at, int run);

/* Process a batch, and count in the sketch what is lost. Returns -1 with an exception; the caller ends the call. */
static inline int
run_filter(filter_call *call, PyObject *urls, PyObject *memory, filter_run run)
{
    probe *probe = &call->probe;
    if (open_sketch(memory, &call->sketch) < 0 || begin_probe(probe, urls) < 0)
        return -1;
    for (Py_ssize_t at = 0; at < probe->count; at += RUN)
        if (run(call, at, run_length(at, probe->count)) < 0)
            return -1;
    return 0;
}

static void
end_filter(filter_call *call)
{
    close_sketch(&call->sketch);
    end_probe(&call->probe);
}

static inline void
set_size(filter_call *call, uint64_t m)
{
    call->m = m;
    call->inverse = UINT64_MAX / m;
}

/* Compute the positions of a run among cells of `width` bits, and prefetch the cells. Returns -1 with an exception. */
static inline int
locate_run(const filter_call *call, Py_ssize_t at, int run, int width, hash128 *hashes,
           uint64_t (*positions)[MOST_HASHES])
{
    const probe *probe = &call->probe;
    if (hash_run(probe->batch, at, run, probe->seed, hashes) < 0)
        return -1;
    for (int i = 0; i < run; i++) {
        guava_positions(hashes[i], call->m, call->inverse, probe->hashes, positions[i]);
        for (int j = 0; j < probe->hashes; j++)
            __builtin_prefetch(call->cells + positions[i][j] * (uint64_t)width / 8, 1);
    }
    return 0;
}

#endif
