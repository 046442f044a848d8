//go:build cgo && ros2dds

#include "entities.h"

#include <string.h>

static dds_qos_t *endpoint_qos(const struct rb_qos *qos) {
  dds_qos_t *q = dds_create_qos();
  dds_history_kind_t history = qos->keep_all ? DDS_HISTORY_KEEP_ALL : DDS_HISTORY_KEEP_LAST;
  int32_t depth = qos->keep_all ? DDS_LENGTH_UNLIMITED : qos->depth;
  dds_qset_reliability(q, qos->reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT, qos->max_blocking);
  dds_qset_history(q, history, depth);
  dds_qset_durability(q, qos->transient_local ? DDS_DURABILITY_TRANSIENT_LOCAL : DDS_DURABILITY_VOLATILE);
  if (qos->transient_local) // what is kept for late joiners
    dds_qset_durability_service(q, 0, history, depth, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED);
  if (qos->deadline > 0) dds_qset_deadline(q, qos->deadline);
  if (qos->user_data != NULL) dds_qset_userdata(q, qos->user_data, strlen(qos->user_data));
  dds_data_representation_id_t xcdr1 = DDS_DATA_REPRESENTATION_XCDR1;
  dds_qset_data_representation(q, 1, &xcdr1);
  return q;
}

static void matched(void *events, uint32_t now) { __atomic_store_n(&((struct rb_events *)events)->matched, (int32_t)now, __ATOMIC_SEQ_CST); }

static void publication_matched(dds_entity_t writer, const dds_publication_matched_status_t status, void *arg) {
  (void)writer;
  matched(arg, status.current_count);
}

static void subscription_matched(dds_entity_t reader, const dds_subscription_matched_status_t status, void *arg) {
  (void)reader;
  matched(arg, status.current_count);
}

static void incompatible(void *events, uint32_t policy, int32_t more) {
  if (policy >= RB_POLICIES) policy = 0;
  __atomic_add_fetch(&((struct rb_events *)events)->incompatible[policy], more, __ATOMIC_SEQ_CST);
}

static void offered_incompatible(dds_entity_t writer, const dds_offered_incompatible_qos_status_t status, void *arg) {
  (void)writer;
  incompatible(arg, status.last_policy_id, status.total_count_change);
}

static void requested_incompatible(dds_entity_t reader, const dds_requested_incompatible_qos_status_t status, void *arg) {
  (void)reader;
  incompatible(arg, status.last_policy_id, status.total_count_change);
}

static dds_entity_t topic_of(dds_entity_t participant, const char *topic, const char *type_name, struct ddsi_sertype **type) {
  *type = rb_sertype_new(type_name);
  if (*type == NULL) return DDS_RETCODE_OUT_OF_RESOURCES;
  struct ddsi_sertype *ours = *type;
  dds_entity_t handle = dds_create_topic_sertype(participant, topic, type, NULL, NULL, NULL);
  if (handle < 0) ddsi_sertype_unref(ours);
  return handle;
}

dds_entity_t rb_writer(dds_entity_t participant, const char *topic, const char *type_name, const struct rb_qos *qos, struct rb_events *events, struct ddsi_sertype **type) {
  dds_entity_t t = topic_of(participant, topic, type_name, type);
  if (t < 0) return t;
  dds_qos_t *q = endpoint_qos(qos);
  dds_listener_t *l = dds_create_listener(events);
  dds_lset_publication_matched(l, publication_matched);
  dds_lset_offered_incompatible_qos(l, offered_incompatible);
  dds_entity_t writer = dds_create_writer(participant, t, q, l);
  dds_delete_listener(l);
  dds_delete_qos(q);
  if (writer < 0) dds_delete(t);
  return writer;
}

dds_entity_t rb_reader(dds_entity_t participant, const char *topic, const char *type_name, const struct rb_qos *qos, struct rb_events *events) {
  struct ddsi_sertype *type;
  dds_entity_t t = topic_of(participant, topic, type_name, &type);
  if (t < 0) return t;
  dds_qos_t *q = endpoint_qos(qos);
  dds_listener_t *l = dds_create_listener(events);
  dds_lset_subscription_matched(l, subscription_matched);
  dds_lset_requested_incompatible_qos(l, requested_incompatible);
  dds_entity_t reader = dds_create_reader(participant, t, q, l);
  dds_delete_listener(l);
  dds_delete_qos(q);
  if (reader < 0) dds_delete(t);
  return reader;
}

dds_return_t rb_write(dds_entity_t writer, const struct ddsi_sertype *type, struct rb_sample *sample, uint32_t size) {
  ddsi_serdata_init(&sample->c, type, SDK_DATA);
  sample->c.hash = type->serdata_basehash;
  sample->size = size;
  memset(sample->data + size, 0, -size & 3);
  dds_return_t rc = dds_writecdr(writer, &sample->c);
  // These two are found out before the sample is taken.
  if (rc == DDS_RETCODE_BAD_PARAMETER || rc == DDS_RETCODE_ALREADY_DELETED) rb_sample_unref(sample);
  return rc;
}

dds_return_t rb_take(dds_entity_t reader, struct rb_sample **sample, dds_instance_handle_t *writer) {
  for (;;) {
    struct ddsi_serdata *d = NULL;
    dds_sample_info_t info;
    dds_return_t n = dds_takecdr(reader, &d, 1, &info, DDS_ANY_STATE);
    if (n <= 0) return n;
    if (info.valid_data && d->kind == SDK_DATA) {
      *sample = (struct rb_sample *)d;
      *writer = info.publication_handle;
      return 1;
    }
    ddsi_serdata_unref(d); // a writer came or went
  }
}

void rb_taken(struct rb_sample *sample) { ddsi_serdata_unref(&sample->c); }
