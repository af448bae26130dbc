/* Positions of a URL in bits, blocks and leaves. */
#ifndef ONCEOVER_KERNEL_POSITIONS_H
#define ONCEOVER_KERNEL_POSITIONS_H

#include "_kernel_hash.h"

enum { MOST_HASHES = 64 };

__extension__ typedef unsigned __int128 wide;

/* Return x mod m for x < 2^63. `inverse` is (2^64 - 1) / m; the quotient is at most one too small. */
static inline uint64_t
reduce(uint64_t x, uint64_t m, uint64_t inverse)
{
    uint64_t quotient = (uint64_t)(((wide)x * inverse) >> 64);
    uint64_t rest = x - quotient * m;
    return rest >= m ? rest - m : rest;
}

/* Map 0..2^64-1 evenly to 0..n-1. */
static inline uint64_t
scale(uint64_t x, uint64_t n)
{
    return (uint64_t)(((wide)x * n) >> 64);
}

/* Guava's MURMUR128_MITZ_64. */
static inline void
guava_positions(hash128 hash, uint64_t m, uint64_t inverse, int hashes, uint64_t *out)
{
    uint64_t combined = hash.h1;
    for (int i = 0; i < hashes; i++) {
        out[i] = reduce(combined & 0x7fffffffffffffffULL, m, inverse);
        combined += hash.h2;
    }
}

/* Positions within a block: nine independent bits each, seven positions from each word. */
static inline void
block_positions(uint64_t h2, int hashes, uint64_t *out)
{
    uint64_t word = h2;
    for (int i = 0; i < hashes; i++) {
        if (i && i % 7 == 0)
            word = mix64(h2 + (uint64_t)i / 7 * UINT64_C(0x9e3779b97f4a7c15));
        out[i] = word & 511;
        word >>= 9;
    }
}

/* Positions in a leaf, from bits that do not depend on those that chose the leaf; m <= 2^32. The step itself changes by
 * a random number. With a constant step one URL in m·k would have all its positions on one or two bits, and leaves would
 * err that often whatever their fill. */
static inline void
leaf_positions(uint64_t fingerprint, uint64_t m, int hashes, uint64_t *out)
{
    uint64_t mixed = mix64(fingerprint ^ 0x6a09e667f3bcc909ULL);
    uint32_t at = (uint32_t)(mixed >> 32), step = (uint32_t)mixed;
    uint32_t change = (uint32_t)((mixed * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
    for (int i = 0; i < hashes; i++) {
        out[i] = (at * m) >> 32;
        at += step;
        step += change;
    }
}

/* Set bits. Returns how many were clear. */
static inline int
set_bits(uint8_t *bits, const uint64_t *positions, int hashes)
{
    int ones = 0;
    for (int i = 0; i < hashes; i++) {
        uint8_t *byte = bits + (positions[i] >> 3);
        int bit = positions[i] & 7;
        ones += !(*byte >> bit & 1);
        *byte |= (uint8_t)(1u << bit);
    }
    return ones;
}

static inline int
any_clear(const uint8_t *bits, const uint64_t *positions, int hashes)
{
    for (int i = 0; i < hashes; i++)
        if (!(bits[positions[i] >> 3] >> (positions[i] & 7) & 1))
            return 1;
    return 0;
}

static int
check_hashes(int hashes)
{
    if (hashes >= 1 && hashes <= MOST_HASHES)
        return 0;
    PyErr_Format(PyExc_ValueError, "expected 1 to %d hash functions, found %d", MOST_HASHES, hashes);
    return -1;
}

#endif
