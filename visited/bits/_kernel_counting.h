/* The counting Bloom filter. */
#ifndef ONCEOVER_KERNEL_COUNTING_H
#define ONCEOVER_KERNEL_COUNTING_H

#include "_kernel_filter.h"

typedef struct {
    filter_call filter;
    uint32_t full;
    int width;
} counting_call;

static inline uint32_t
counter_at(const counting_call *call, uint64_t i)
{
    const uint8_t *counters = call->filter.cells;
    if (call->width == 4)
        return counters[i >> 1] >> ((i & 1) * 4) & 15;
    if (call->width == 8)
        return counters[i];
    uint32_t value;
    memcpy(&value, counters + i * 4, 4);
    return value;
}

static inline void
set_counter(counting_call *call, uint64_t i, uint32_t value)
{
    uint8_t *counters = call->filter.cells;
    if (call->width == 4) {
        int shift = (int)(i & 1) * 4;
        counters[i >> 1] = (uint8_t)((counters[i >> 1] & ~(15u << shift)) | value << shift);
    }
    else if (call->width == 8)
        counters[i] = (uint8_t)value;
    else
        memcpy(counters + i * 4, &value, 4);
}

/* Step each counter up or down. A full one stays full for ever: we do not know how often it should have risen. */
static void
step_counters(counting_call *call, const uint64_t *positions)
{
    probe *probe = &call->filter.probe;
    for (int i = 0; i < probe->hashes; i++) {
        uint32_t value = counter_at(call, positions[i]);
        if (value == call->full)
            continue;
        if (probe->mode == ADD) {
            probe->ones += value == 0;
            probe->saturated += value + 1 == call->full;
            set_counter(call, positions[i], value + 1);
        }
        else if (value > 0) {
            probe->ones -= value == 1;
            set_counter(call, positions[i], value - 1);
        }
    }
}

/* Returns -1 with an exception. */
static int
counting_run(filter_call *filter, Py_ssize_t at, int run)
{
    counting_call *call = (counting_call *)filter;
    probe *probe = &filter->probe;
    hash128 hashes[RUN];
    uint64_t positions[RUN][MOST_HASHES];
    if (locate_run(filter, at, run, call->width, hashes, positions) < 0)
        return -1;
    for (int i = 0; i < run; i++) {
        int absent = 0;
        for (int j = 0; j < probe->hashes && !absent; j++)
            absent = counter_at(call, positions[i][j]) == 0;
        if ((probe->mode == ADD && absent) || (probe->mode == FORGET && !absent))
            step_counters(call, positions[i]);
        if (probe->mode == ADD)
            count_in_sketch(&filter->sketch, hashes[i].h2, absent);
        set_verdict(probe, at + i, absent);
    }
    return 0;
}

static PyObject *
counting_probe(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *urls, *memory = NULL, *result = NULL;
    Py_buffer buffer;
    counting_call call = {0};
    filter_call *filter = &call.filter;
    probe *probe = &filter->probe;
    if (!PyArg_ParseTuple(args, "Ow*iiIi|O", &urls, &buffer, &call.width, &probe->hashes, &probe->seed, &probe->mode,
                          &memory))
        return NULL;
    filter->cells = buffer.buf;
    if (check_hashes(probe->hashes) < 0 || check_mode(probe->mode, FORGET) < 0)
        goto done;
    if ((call.width != 4 && call.width != 8 && call.width != 32) || buffer.len < 4 || buffer.len % 4) {
        PyErr_SetString(PyExc_ValueError, "expected counters of 4, 8 or 32 bits in whole words of 32 bits");
        goto done;
    }
    call.full = call.width == 32 ? 0x7fffffffu : (1u << call.width) - 1;
    set_size(filter, (uint64_t)buffer.len * 8 / (uint64_t)call.width);
    if (run_filter(filter, urls, memory, counting_run) == 0)
        result = Py_BuildValue("Onnn", probe->verdicts, probe->absent, probe->ones, probe->saturated);
done:
    end_filter(filter);
    PyBuffer_Release(&buffer);
    return result;
}

#endif
