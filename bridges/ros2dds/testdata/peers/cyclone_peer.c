// cyclone_peer: a program on Cyclone DDS's C API and the types that idlc generates.
//
//   cyclone_peer DOMAIN subscribe|count     reads every topic that anybody writes
//   cyclone_peer DOMAIN publish             writes a clock and commands, 20 times a second
//   cyclone_peer DOMAIN clock FROM_NS STEP_NS
//                                           writes a clock alone, a step on every 20 ms;
//                                           prints each time before it is written
//   cyclone_peer DOMAIN obey PORT           connects to PORT on 127.0.0.1 and reads lines from
//                                           there: "TOPIC -" offers a vehicle's control,
//                                           "TOPIC NUMBER" writes one with this acceleration;
//                                           prints how many read each topic
//   cyclone_peer DOMAIN ask TOPIC reliability|durability|deadline
//                                           reads a clock, and asks for this policy
//   cyclone_peer DOMAIN offer TOPIC         writes a clock with no such policy
//   cyclone_peer DOMAIN write TOPIC BYTES MESSAGES keep_all|keep_last
//                                           writes clouds as fast as it can, or MESSAGES
//                                           in all; ends when they are acknowledged
//
// It prints what happens as lines of JSON. "count" leaves the messages' content out but
// for the first of each topic.
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "dds/dds.h"
#include "print.h"
#include "ros2.h"

static void print_boolean(FILE *f, bool v) { fputs(v ? "true" : "false", f); }
static void print_int8(FILE *f, int8_t v) { fprintf(f, "%d", v); }
static void print_octet(FILE *f, uint8_t v) { fprintf(f, "%u", v); }
static inline void print_short(FILE *f, int16_t v) { fprintf(f, "%d", v); }
static inline void print_unsigned_short(FILE *f, uint16_t v) { fprintf(f, "%u", v); }
static void print_long(FILE *f, int32_t v) { fprintf(f, "%d", v); }
static void print_unsigned_long(FILE *f, uint32_t v) { fprintf(f, "%u", v); }
static inline void print_long_long(FILE *f, int64_t v) { fprintf(f, "%lld", (long long)v); }
static inline void print_unsigned_long_long(FILE *f, uint64_t v) { fprintf(f, "%llu", (unsigned long long)v); }
static void print_float(FILE *f, float v) { print_number(f, (double)v); }
static void print_double(FILE *f, double v) { print_number(f, v); }
static void print_string(FILE *f, const char *v) { print_text(f, v); }

#include "types_c.h"

static void print_gid(FILE *f, const rmw_dds_common_msg_dds__Gid_ *g) {
  fputc('"', f);
  for (int i = 0; i < 16; i++) fprintf(f, "%02x", g->m_data[i]);
  fputc('"', f);
}

static void print_rmw_dds_common_msg_dds__ParticipantEntitiesInfo_(FILE *f, const rmw_dds_common_msg_dds__ParticipantEntitiesInfo_ *m) {
  fputs("{\"gid\":", f);
  print_gid(f, &m->m_gid);
  fputs(",\"nodes\":[", f);
  for (uint32_t i = 0; i < m->m_node_entities_info_seq._length; i++) {
    const rmw_dds_common_msg_dds__NodeEntitiesInfo_ *n = &m->m_node_entities_info_seq._buffer[i];
    fprintf(f, "%s{\"namespace\":", i ? "," : "");
    print_text(f, n->m_node_namespace);
    fputs(",\"name\":", f);
    print_text(f, n->m_node_name);
    fputs(",\"readers\":[", f);
    for (uint32_t k = 0; k < n->m_reader_gid_seq._length; k++) {
      if (k) fputc(',', f);
      print_gid(f, &n->m_reader_gid_seq._buffer[k]);
    }
    fputs("],\"writers\":[", f);
    for (uint32_t k = 0; k < n->m_writer_gid_seq._length; k++) {
      if (k) fputc(',', f);
      print_gid(f, &n->m_writer_gid_seq._buffer[k]);
    }
    fputs("]}", f);
  }
  fputs("]}", f);
}

typedef void (*printer)(FILE *, const void *);
static const struct type {
  const dds_topic_descriptor_t *descriptor;
  const char *name;
  printer print;
} types[] = {
#define T(c, name) {&c##_desc, name, (printer)print_##c},
    TYPES(T) T(rmw_dds_common_msg_dds__ParticipantEntitiesInfo_, "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_")
#undef T
};

static void fail(const char *doing, dds_return_t rc) {
  if (rc >= 0) return;
  fprintf(stderr, "cyclone_peer: %s: %s\n", doing, dds_strretcode(-rc));
  exit(1);
}

static void print_guid(FILE *f, const dds_guid_t *g) {
  for (int i = 0; i < 16; i++) fprintf(f, "%02x", g->v[i]);
}

struct user_data {
  char text[512];
};

static struct user_data user_data_of(const dds_qos_t *q) {
  void *data = NULL;
  size_t n = 0;
  struct user_data u = {""};
  if (dds_qget_userdata(q, &data, &n) && n < sizeof(u.text)) memcpy(u.text, data, n), u.text[n] = 0;
  dds_free(data);
  return u;
}

static void print_user_data(FILE *f, const dds_qos_t *q) {
  struct user_data u = user_data_of(q);
  print_text(f, u.text);
}

// obedient is what a writer of "obey" says of itself: nobody but the bridge is to read it.
static const char *obedient = "obedient";

#define MAX_READERS 1024
static struct reader {
  dds_entity_t handle;
  const struct type *type;
  char topic[256];
  bool matched;
  unsigned long long messages;
} readers[MAX_READERS];
static int n_readers;
static bool only_count;

static void print_writer(const struct dds_builtintopic_endpoint *e) {
  dds_reliability_kind_t reliability = 0;
  dds_durability_kind_t durability = 0;
  dds_history_kind_t history = 0;
  dds_duration_t blocking, deadline = DDS_INFINITY;
  int32_t depth = 0;
  dds_qget_reliability(e->qos, &reliability, &blocking);
  dds_qget_durability(e->qos, &durability);
  dds_qget_history(e->qos, &history, &depth);
  dds_qget_deadline(e->qos, &deadline);
  printf("{\"event\":\"writer\",\"topic\":");
  print_text(stdout, e->topic_name);
  printf(",\"type\":");
  print_text(stdout, e->type_name);
  printf(",\"guid\":\"");
  print_guid(stdout, &e->key);
  printf("\",\"reliable\":%s,\"transient_local\":%s,\"deadline_ns\":%lld,\"user_data\":", reliability == DDS_RELIABILITY_RELIABLE ? "true" : "false",
         durability == DDS_DURABILITY_TRANSIENT_LOCAL ? "true" : "false", deadline == DDS_INFINITY ? 0ll : (long long)deadline);
  print_user_data(stdout, e->qos);
  printf("}\n");
}

// read_topic makes a reader that asks for what is offered, and keeps all.
static void read_topic(dds_entity_t participant, dds_entity_t waitset, const struct dds_builtintopic_endpoint *e) {
  for (int i = 0; i < n_readers; i++)
    if (strcmp(readers[i].topic, e->topic_name) == 0) return;
  for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
    if (strcmp(types[i].name, e->type_name) != 0) continue;
    if (n_readers == MAX_READERS) fail("read so many topics", DDS_RETCODE_OUT_OF_RESOURCES);
    dds_reliability_kind_t reliability = 0;
    dds_durability_kind_t durability = 0;
    dds_duration_t blocking;
    dds_qget_reliability(e->qos, &reliability, &blocking);
    dds_qget_durability(e->qos, &durability);
    dds_qos_t *q = dds_create_qos();
    dds_qset_reliability(q, reliability, DDS_SECS(1));
    dds_qset_durability(q, durability);
    dds_qset_history(q, DDS_HISTORY_KEEP_ALL, 0);
    dds_entity_t topic = dds_create_topic(participant, types[i].descriptor, e->topic_name, NULL, NULL);
    fail("create a topic", topic);
    struct reader *r = &readers[n_readers++];
    r->type = &types[i];
    snprintf(r->topic, sizeof(r->topic), "%s", e->topic_name);
    r->handle = dds_create_reader(participant, topic, q, NULL);
    fail("create a reader", r->handle);
    dds_delete_qos(q);
    fail("set the mask", dds_set_status_mask(r->handle, DDS_DATA_AVAILABLE_STATUS | DDS_SUBSCRIPTION_MATCHED_STATUS));
    fail("attach", dds_waitset_attach(waitset, r->handle, n_readers));
    return;
  }
}

static void discover(dds_entity_t builtin, dds_entity_t participant, dds_entity_t waitset, const dds_guid_t *self) {
  for (;;) {
    void *sample[1] = {NULL};
    dds_sample_info_t info;
    if (dds_take(builtin, sample, &info, 1, 1) <= 0) return;
    const struct dds_builtintopic_endpoint *e = sample[0];
    if (info.valid_data && info.instance_state == DDS_IST_ALIVE && memcmp(&e->participant_key, self, sizeof(*self)) != 0) {
      print_writer(e);
      if (strcmp(user_data_of(e->qos).text, obedient) != 0) read_topic(participant, waitset, e);
    }
    dds_return_loan(builtin, sample, 1);
  }
}

static void discover_participants(dds_entity_t builtin, const dds_guid_t *self) {
  for (;;) {
    void *sample[1] = {NULL};
    dds_sample_info_t info;
    if (dds_take(builtin, sample, &info, 1, 1) <= 0) return;
    const struct dds_builtintopic_participant *p = sample[0];
    if (info.valid_data && info.instance_state == DDS_IST_ALIVE && memcmp(&p->key, self, sizeof(*self)) != 0) {
      printf("{\"event\":\"participant\",\"guid\":\"");
      print_guid(stdout, &p->key);
      printf("\",\"user_data\":");
      print_user_data(stdout, p->qos);
      printf("}\n");
    }
    dds_return_loan(builtin, sample, 1);
  }
}

static void receive(struct reader *r) {
  dds_subscription_matched_status_t matched;
  if (dds_get_subscription_matched_status(r->handle, &matched) == 0 && (matched.current_count > 0) != r->matched) {
    r->matched = !r->matched;
    printf("{\"event\":\"%s\",\"topic\":\"%s\"}\n", r->matched ? "matched" : "unmatched", r->topic);
  }
  for (;;) {
    void *sample[1] = {NULL};
    dds_sample_info_t info;
    if (dds_take(r->handle, sample, &info, 1, 1) <= 0) return;
    if (info.valid_data) {
      r->messages++;
      printf("{\"event\":\"message\",\"topic\":\"%s\",\"n\":%llu,\"at_ns\":%lld", r->topic, r->messages, (long long)dds_time());
      if (!only_count || r->messages == 1) {
        printf(",\"value\":");
        r->type->print(stdout, sample[0]);
      }
      printf("}\n");
    }
    dds_return_loan(r->handle, sample, 1);
  }
}

static void subscribe(dds_entity_t participant) {
  dds_guid_t self;
  fail("guid", dds_get_guid(participant, &self));
  dds_entity_t waitset = dds_create_waitset(participant);
  dds_entity_t writers = dds_create_reader(participant, DDS_BUILTIN_TOPIC_DCPSPUBLICATION, NULL, NULL);
  dds_entity_t participants = dds_create_reader(participant, DDS_BUILTIN_TOPIC_DCPSPARTICIPANT, NULL, NULL);
  fail("read publications", writers);
  fail("read participants", participants);
  dds_set_status_mask(writers, DDS_DATA_AVAILABLE_STATUS);
  dds_set_status_mask(participants, DDS_DATA_AVAILABLE_STATUS);
  dds_waitset_attach(waitset, writers, 0);
  dds_waitset_attach(waitset, participants, 0);
  printf("{\"event\":\"ready\"}\n");
  for (;;) {
    discover_participants(participants, &self);
    discover(writers, participant, waitset, &self);
    for (int i = 0; i < n_readers; i++) receive(&readers[i]);
    fflush(stdout);
    dds_attach_t which[64];
    dds_waitset_wait(waitset, which, 64, DDS_MSECS(500));
  }
}

static dds_entity_t writer_of(dds_entity_t participant, const dds_topic_descriptor_t *type, const char *name, bool reliable, bool keep_all) {
  dds_qos_t *q = dds_create_qos();
  dds_qset_reliability(q, reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT, DDS_SECS(10));
  dds_qset_history(q, keep_all ? DDS_HISTORY_KEEP_ALL : DDS_HISTORY_KEEP_LAST, 10);
  dds_entity_t topic = dds_create_topic(participant, type, name, NULL, NULL);
  fail("create a topic", topic);
  dds_entity_t writer = dds_create_writer(participant, topic, q, NULL);
  fail("create a writer", writer);
  dds_delete_qos(q);
  return writer;
}

static void publish(dds_entity_t participant) {
  dds_entity_t clock = writer_of(participant, &rosgraph_msgs_msg_dds__Clock__desc, "rt/clock", false, false);
  dds_entity_t twist = writer_of(participant, &geometry_msgs_msg_dds__Twist__desc, "rt/cmd_vel", true, false);
  dds_entity_t control = writer_of(participant, &lgsvl_msgs_msg_dds__VehicleControlData__desc, "rt/control", true, false);
  for (uint32_t n = 1;; n++) {
    rosgraph_msgs_msg_dds__Clock_ c = {{.m_sec = (int32_t)n, .m_nanosec = 500000000}};
    geometry_msgs_msg_dds__Twist_ t = {.m_linear = {.m_x = 2.5}, .m_angular = {.m_z = -0.25}};
    lgsvl_msgs_msg_dds__VehicleControlData_ v = {.m_header = {.m_stamp = {.m_sec = (int32_t)n}, .m_frame_id = "base"}, .m_acceleration_pct = 0.5f, .m_target_wheel_angle = 0.125f};
    fail("write", dds_write(clock, &c));
    fail("write", dds_write(twist, &t));
    fail("write", dds_write(control, &v));
    usleep(50000);
  }
}

// tick writes a clock.
static void tick(dds_entity_t participant, int64_t now, int64_t step) {
  dds_entity_t clock = writer_of(participant, &rosgraph_msgs_msg_dds__Clock__desc, "rt/clock", false, false);
  for (;; now += step) {
    printf("{\"event\":\"clock\",\"at_ns\":%lld}\n", (long long)now);
    fflush(stdout);
    rosgraph_msgs_msg_dds__Clock_ c = {{.m_sec = (int32_t)(now / 1000000000), .m_nanosec = (uint32_t)(now % 1000000000)}};
    fail("write", dds_write(clock, &c));
    usleep(20000);
  }
}

static struct control {
  char topic[256];
  dds_entity_t writer;
  uint32_t subscriptions;
} controls[16];
static int n_controls;

static struct control *control_of(dds_entity_t participant, const char *topic) {
  for (int i = 0; i < n_controls; i++)
    if (strcmp(controls[i].topic, topic) == 0) return &controls[i];
  if (n_controls == sizeof(controls) / sizeof(controls[0])) exit(1);
  struct control *c = &controls[n_controls++];
  snprintf(c->topic, sizeof(c->topic), "%s", topic);
  dds_qos_t *q = dds_create_qos();
  dds_qset_reliability(q, DDS_RELIABILITY_RELIABLE, DDS_SECS(10));
  dds_qset_history(q, DDS_HISTORY_KEEP_ALL, 0);
  dds_qset_userdata(q, obedient, strlen(obedient));
  c->writer = dds_create_writer(participant, dds_create_topic(participant, &lgsvl_msgs_msg_dds__VehicleControlData__desc, topic, NULL, NULL), q, NULL);
  fail("create a writer", c->writer);
  dds_delete_qos(q);
  return c;
}

static void obey_line(dds_entity_t participant, const char *line) {
  char topic[256], word[32];
  if (sscanf(line, "%255s %31s", topic, word) != 2) exit(1);
  struct control *c = control_of(participant, topic);
  if (strcmp(word, "-") == 0) return;
  lgsvl_msgs_msg_dds__VehicleControlData_ v = {.m_header = {.m_frame_id = ""}, .m_acceleration_pct = strtof(word, NULL)};
  fail("write", dds_write(c->writer, &v));
}

static void obey(dds_entity_t participant, const char *port) {
  int s = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (connect(s, (struct sockaddr *)&to, sizeof(to)) != 0) exit(1);
  printf("{\"event\":\"ready\"}\n");
  static char text[1 << 16];
  size_t have = 0;
  for (;;) {
    for (int i = 0; i < n_controls; i++) {
      dds_publication_matched_status_t matched;
      fail("matched", dds_get_publication_matched_status(controls[i].writer, &matched));
      if (matched.current_count == controls[i].subscriptions) continue;
      controls[i].subscriptions = matched.current_count;
      printf("{\"event\":\"subscriptions\",\"topic\":\"%s\",\"n\":%u}\n", controls[i].topic, matched.current_count);
    }
    fflush(stdout);
    struct pollfd in = {.fd = s, .events = POLLIN};
    if (poll(&in, 1, 2) == 0) continue;
    ssize_t n = read(s, text + have, sizeof(text) - 1 - have);
    if (n <= 0) exit(0);
    text[have += (size_t)n] = 0;
    char *line = text, *end;
    for (; (end = strchr(line, '\n')) != NULL; line = end + 1) {
      *end = 0;
      obey_line(participant, line);
    }
    have -= (size_t)(line - text);
    memmove(text, line, have);
  }
}

// ask reads a clock and says what keeps its writers away, by DDS's number of the policy.
static void ask(dds_entity_t participant, const char *name, const char *policy) {
  dds_qos_t *q = dds_create_qos();
  if (strcmp(policy, "reliability") == 0) dds_qset_reliability(q, DDS_RELIABILITY_RELIABLE, DDS_SECS(1));
  if (strcmp(policy, "durability") == 0) dds_qset_durability(q, DDS_DURABILITY_TRANSIENT_LOCAL);
  if (strcmp(policy, "deadline") == 0) dds_qset_deadline(q, DDS_MSECS(1));
  dds_entity_t topic = dds_create_topic(participant, &rosgraph_msgs_msg_dds__Clock__desc, name, NULL, NULL);
  fail("create a topic", topic);
  dds_entity_t reader = dds_create_reader(participant, topic, q, NULL);
  fail("create a reader", reader);
  dds_delete_qos(q);
  printf("{\"event\":\"ready\"}\n");
  fflush(stdout);
  dds_requested_incompatible_qos_status_t status = {0};
  while (status.total_count == 0) {
    fail("status", dds_get_requested_incompatible_qos_status(reader, &status));
    usleep(1000);
  }
  printf("{\"event\":\"incompatible\",\"topic\":\"%s\",\"policy\":%u}\n", name, status.last_policy_id);
  fflush(stdout);
  pause();
}

// write_clouds waits for a reader first.
static void write_clouds(dds_entity_t participant, const char *topic, uint32_t bytes, int messages, bool keep_all) {
  dds_entity_t w = writer_of(participant, &sensor_msgs_msg_dds__PointCloud2__desc, topic, true, keep_all);
  dds_publication_matched_status_t matched = {0};
  while (matched.current_count == 0) {
    fail("matched", dds_get_publication_matched_status(w, &matched));
    usleep(1000);
  }
  printf("{\"event\":\"heard\"}\n");
  fflush(stdout);
  char line[16];
  if (fgets(line, sizeof(line), stdin) == NULL) exit(1); // told to begin
  static sensor_msgs_msg_dds__PointField_ fields[4];
  static const char *names[] = {"x", "y", "z", "intensity"};
  for (int i = 0; i < 4; i++) fields[i] = (sensor_msgs_msg_dds__PointField_){(char *)names[i], (uint32_t)i * 4, 7, 1};
  sensor_msgs_msg_dds__PointCloud2_ m = {.m_header = {.m_frame_id = "lidar"}, .m_height = 1, .m_width = bytes / 16, .m_point_step = 16, .m_row_step = bytes, .m_is_dense = true};
  m.m_fields._buffer = fields, m.m_fields._length = m.m_fields._maximum = 4;
  m.m_data._buffer = malloc(bytes), m.m_data._length = m.m_data._maximum = bytes;
  for (uint32_t i = 0; i < bytes; i++) m.m_data._buffer[i] = (uint8_t)(i * 7);
  for (int n = 0; n < messages; n++) {
    m.m_header.m_stamp.m_sec = n;
    fail("write", dds_write(w, &m));
  }
  fail("wait", dds_wait_for_acks(w, DDS_SECS(30)));
  printf("{\"event\":\"written\"}\n");
  fflush(stdout);
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  dds_entity_t participant = dds_create_participant((dds_domainid_t)atoi(argv[1]), NULL, NULL);
  fail("create a participant", participant);
  if (strcmp(argv[2], "publish") == 0) publish(participant);
  if (strcmp(argv[2], "obey") == 0 && argc == 4) obey(participant, argv[3]);
  if (strcmp(argv[2], "clock") == 0 && argc == 5) tick(participant, atoll(argv[3]), atoll(argv[4]));
  if (strcmp(argv[2], "write") == 0 && argc == 7) {
    write_clouds(participant, argv[3], (uint32_t)atoi(argv[4]), atoi(argv[5]), strcmp(argv[6], "keep_all") == 0);
    dds_delete(participant);
    return 0;
  }
  if (strcmp(argv[2], "ask") == 0 && argc == 5) ask(participant, argv[3], argv[4]);
  if (strcmp(argv[2], "offer") == 0 && argc == 4) {
    writer_of(participant, &rosgraph_msgs_msg_dds__Clock__desc, argv[3], false, false);
    pause();
  }
  only_count = strcmp(argv[2], "count") == 0;
  subscribe(participant);
}
