//go:build cgo && ros2dds

#ifndef RAYBRIDGE_ENTITIES_H
#define RAYBRIDGE_ENTITIES_H

#include "sertype.h"

// rb_qos is a topic's quality of service; times in nanoseconds, 0 for none.
struct rb_qos {
  int32_t reliable, transient_local, keep_all, depth;
  int64_t deadline, max_blocking;
  const char *user_data;
};

// RB_POLICIES is more than the largest dds_qos_policy_id_t.
#define RB_POLICIES 32

// rb_events is what the library's threads tell of a writer or reader. Its fields are
// read and written atomically.
struct rb_events {
  int32_t matched;                   // how many of the other side there are
  int32_t incompatible[RB_POLICIES]; // how many a policy (dds_qos_policy_id_t) has kept away, ever
};

// All functions return a handle, or a negative DDS_RETCODE.

// rb_domain and rb_participant put what the library says of a failure into why, at most
// size bytes of text; else they print it to stderr as the library does.
dds_entity_t rb_domain(uint32_t id, const char *settings, char *why, size_t size);
dds_entity_t rb_participant(uint32_t domain, const char *user_data, char *why, size_t size);

// rb_writer and rb_reader make an endpoint on the topic of the name and type. events
// stays in use until the endpoint is deleted; *type lives as long as the participant.
dds_entity_t rb_writer(dds_entity_t participant, const char *topic, const char *type_name, const struct rb_qos *qos, struct rb_events *events, struct ddsi_sertype **type);
dds_entity_t rb_reader(dds_entity_t participant, const char *topic, const char *type_name, const struct rb_qos *qos, struct rb_events *events);

// rb_write sends the first size bytes of a sample, which is the library's from then on.
dds_return_t rb_write(dds_entity_t writer, const struct ddsi_sertype *type, struct rb_sample *sample, uint32_t size);

// rb_take returns 1 and a message, which the caller gives to rb_taken, with the handle of
// its writer, or 0.
dds_return_t rb_take(dds_entity_t reader, struct rb_sample **sample, dds_instance_handle_t *writer);
void rb_taken(struct rb_sample *sample);

// rb_heard says whether the client whose request came from a writer would get a reply:
// 1 if it has a reader that is matched with the replies' writer, 0 if that reader isn't
// known yet, -1 if the client is gone. Clients are known by a key in their endpoints'
// user data; one that says none counts as matched.
int rb_heard(dds_entity_t requests, dds_instance_handle_t client, dds_entity_t replies);

#endif
