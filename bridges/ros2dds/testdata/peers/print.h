// Values as JSON, for both peers. Numbers are exact; what JSON has no number for is a
// string; octets are their number and a hash.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static inline void print_number(FILE *f, double v) {
  if (isnan(v))
    fputs("\"nan\"", f);
  else if (isinf(v))
    fputs(v > 0 ? "\"inf\"" : "\"-inf\"", f);
  else
    fprintf(f, "%.17g", v);
}

static inline void print_text(FILE *f, const char *s) {
  fputc('"', f);
  for (; *s; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\')
      fprintf(f, "\\%c", c);
    else if (c < 0x20)
      fprintf(f, "\\u%04x", c);
    else
      fputc(c, f);
  }
  fputc('"', f);
}

// hash_octets is FNV-1a over words of eight bytes, then the bytes that are left.
static inline uint64_t hash_octets(const uint8_t *p, size_t n) {
  uint64_t h = 14695981039346656037u, word;
  for (; n >= 8; p += 8, n -= 8) {
    memcpy(&word, p, 8);
    h = (h ^ word) * 1099511628211u;
  }
  for (; n > 0; p++, n--) h = (h ^ *p) * 1099511628211u;
  return h;
}

static inline void print_bytes(FILE *f, const uint8_t *p, size_t n) {
  fprintf(f, "{\"bytes\":%zu,\"hash\":\"%016llx\"}", n, (unsigned long long)hash_octets(p, n));
}
