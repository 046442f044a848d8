// dds_subscriber: reads topics with Cyclone DDS and the types that idlc generates, and prints
// each message as a line of JSON.
//
//   dds_subscriber DOMAIN TOPIC=TYPE...
//
// types.h is what idlc generates; print_types.h, made with the IDL, has functions that print
// the types, and TYPES, their list.
#include <stdlib.h>

#include "dds/dds.h"
#include "print.h"
#include "types.h"

static inline void print_bool(FILE *f, bool v) { fputs(v ? "true" : "false", f); }
static inline void print_int8(FILE *f, int8_t v) { fprintf(f, "%d", v); }
static inline void print_uint8(FILE *f, uint8_t v) { fprintf(f, "%u", v); }
static inline void print_int16(FILE *f, int16_t v) { fprintf(f, "%d", v); }
static inline void print_uint16(FILE *f, uint16_t v) { fprintf(f, "%u", v); }
static inline void print_int32(FILE *f, int32_t v) { fprintf(f, "%d", v); }
static inline void print_uint32(FILE *f, uint32_t v) { fprintf(f, "%u", v); }
static inline void print_float32(FILE *f, float v) { print_number(f, (double)v); }
static inline void print_float64(FILE *f, double v) { print_number(f, v); }
static inline void print_string(FILE *f, const char *v) { print_text(f, v); }

#include "print_types.h"

typedef void (*printer)(FILE *, const void *);
static const struct type {
  const dds_topic_descriptor_t *descriptor;
  const char *name;
  printer print;
} types[] = {
#define T(c, name) {&c##_desc, name, (printer)print_##c},
    TYPES(T)
#undef T
};

static void fail(const char *doing, dds_return_t rc) {
  if (rc >= 0) return;
  fprintf(stderr, "dds_subscriber: %s: %s\n", doing, dds_strretcode(-rc));
  exit(1);
}

static dds_entity_t read_topic(dds_entity_t participant, const char *name, const struct type *type) {
  dds_qos_t *q = dds_create_qos();
  dds_qset_reliability(q, DDS_RELIABILITY_RELIABLE, DDS_SECS(1));
  dds_qset_durability(q, DDS_DURABILITY_TRANSIENT_LOCAL);
  dds_qset_history(q, DDS_HISTORY_KEEP_ALL, 0);
  dds_entity_t topic = dds_create_topic(participant, type->descriptor, name, NULL, NULL);
  fail("create a topic", topic);
  dds_entity_t reader = dds_create_reader(participant, topic, q, NULL);
  fail("create a reader", reader);
  dds_delete_qos(q);
  fail("set the mask", dds_set_status_mask(reader, DDS_DATA_AVAILABLE_STATUS));
  return reader;
}

static void take(dds_entity_t reader, const char *name, const struct type *type) {
  for (;;) {
    void *sample[1] = {NULL};
    dds_sample_info_t info;
    if (dds_take(reader, sample, &info, 1, 1) <= 0) return;
    if (info.valid_data) {
      printf("{\"topic\":\"%s\",\"value\":", name);
      type->print(stdout, sample[0]);
      printf("}\n");
    }
    dds_return_loan(reader, sample, 1);
  }
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  dds_entity_t participant = dds_create_participant((dds_domainid_t)atoi(argv[1]), NULL, NULL);
  fail("create a participant", participant);
  dds_entity_t waitset = dds_create_waitset(participant), *readers = calloc((size_t)argc, sizeof(*readers));
  const struct type **of = calloc((size_t)argc, sizeof(*of));
  for (int i = 2; i < argc; i++) {
    char *type = strchr(argv[i], '=');
    if (type == NULL) return 2;
    *type++ = 0;
    for (size_t k = 0; k < sizeof(types) / sizeof(types[0]); k++)
      if (strcmp(types[k].name, type) == 0) of[i] = &types[k];
    if (of[i] == NULL) return fprintf(stderr, "dds_subscriber: no type %s\n", type), 2;
    readers[i] = read_topic(participant, argv[i], of[i]);
    fail("attach", dds_waitset_attach(waitset, readers[i], i));
  }
  printf("ready\n");
  for (;;) {
    for (int i = 2; i < argc; i++) take(readers[i], argv[i], of[i]);
    fflush(stdout);
    dds_attach_t which[64];
    dds_waitset_wait(waitset, which, 64, DDS_MSECS(500));
  }
}
