/* The limit that a reader of k6 points is compared with: one pass over the bytes of canonical lines.
 *
 * For every Point it finds the metric, turns the stamp into ns and the value into a double, hashes the
 * tags, and counts per (metric, tags). It trusts its input: no line that k6 does not write is told apart.
 * Build: cc -O2 -o scanner scanner.c
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK (4u << 20)
#define KIND 33 /* from the name's end to the stamp */
#define SLOTS (1u << 20)

static uint64_t keys[SLOTS];
static uint64_t counts[SLOTS];

static uint64_t fnv(uint64_t h, const char *s, const char *end) {
    for (; s < end; s++) h = (h ^ (unsigned char)*s) * 1099511628211ull;
    return h;
}

static int64_t digits(const char *s, int n) {
    int64_t v = 0;
    while (n--) v = v * 10 + (*s++ - '0');
    return v;
}

static int64_t days(int64_t y, int64_t m, int64_t d) {
    y -= m <= 2;
    int64_t era = y / 400, yoe = y - era * 400;
    int64_t doy = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

int main(int argc, char **argv) {
    static char buffer[2 * BLOCK];
    size_t have = 0, got;
    uint64_t points = 0, groups = 0;
    double sum = 0;
    int64_t last = 0;
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (!file) return 2;
    setvbuf(file, NULL, _IONBF, 0);
    while ((got = fread(buffer + have, 1, BLOCK, file)) > 0) {
        char *p = buffer, *end = buffer + have + got, *stop;
        while ((stop = memchr(p, '\n', (size_t)(end - p)))) {
            if (!memcmp(p, "{\"metric\":\"", 11)) {
                char *name = p + 11, *q = memchr(name, '"', (size_t)(stop - name));
                char *t = q + KIND, *v;
                int64_t second = (days(digits(t, 4), digits(t + 5, 2), digits(t + 8, 2)) * 24 + digits(t + 11, 2)) * 3600
                                 + digits(t + 14, 2) * 60 + digits(t + 17, 2);
                int64_t fraction = 0, n = 0;
                char *f = t + 20;
                if (t[19] == '.')
                    for (; *f >= '0' && *f <= '9'; f++, n++) fraction = fraction * 10 + (*f - '0');
                for (; n < 9; n++) fraction *= 10;
                last = second * 1000000000 + fraction;
                v = strstr(f, "\"value\":") + 8;
                sum += strtod(v, &v);
                uint64_t key = fnv(fnv(14695981039346656037ull, name, q), v + 8, stop);
                uint64_t slot = key & (SLOTS - 1);
                while (counts[slot] && keys[slot] != key) slot = (slot + 1) & (SLOTS - 1);
                groups += !counts[slot];
                keys[slot] = key;
                counts[slot]++;
                points++;
            }
            p = stop + 1;
        }
        have = (size_t)(end - p);
        memmove(buffer, p, have);
    }
    printf("%llu points, %llu groups, sum %.3f, last %lld\n", (unsigned long long)points, (unsigned long long)groups, sum,
           (long long)last);
    return 0;
}
