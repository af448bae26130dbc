/* SHA-1 digests in base 32. */
#include <stdint.h>

#define SHA1_BYTES 20
/* Five bytes are eight characters. */
#define SHA1_GROUPS (SHA1_BYTES / 5)
#define SHA1_CHARACTERS (SHA1_GROUPS * 8)

static void
write_sha1(char *to, const unsigned char *from)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    for (int group = 0; group < SHA1_GROUPS; group++) {
        uint64_t bits = 0;
        for (int i = 0; i < 5; i++)
            bits = bits << 8 | *from++;
        for (int shift = 35; shift >= 0; shift -= 5)
            *to++ = letters[bits >> shift & 31];
    }
}
