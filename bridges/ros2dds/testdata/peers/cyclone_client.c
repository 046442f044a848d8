// cyclone_client: a program on Cyclone DDS's C API that calls a service as ROS 2's nodes
// on rmw_cyclonedds do: it has a client id in its endpoints' user data, waits for a reader
// and a writer with one service id, numbers its requests, and takes the replies that
// carry its own identity.
//
//   cyclone_client DOMAIN SERVICE empty|set_bool|trigger [CALLS]
//
// SERVICE begins with a slash. It prints what happens as lines of JSON, and ends with the
// last reply.
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "dds/dds.h"
#include "print.h"
#include "services.h"

static void fail(const char *doing, dds_return_t rc) {
  if (rc >= 0) return;
  fprintf(stderr, "cyclone_client: %s: %s\n", doing, dds_strretcode(-rc));
  exit(1);
}

// service_id copies an endpoint's user data if it begins with a service's id.
static bool service_id(dds_builtintopic_endpoint_t *e, char *id, size_t size) {
  void *data = NULL;
  size_t n = 0;
  bool found = e != NULL && dds_qget_userdata(e->qos, &data, &n) && n > 10 && n < size && memcmp(data, "serviceid=", 10) == 0;
  if (found) memcpy(id, data, n), id[n] = 0;
  dds_free(data);
  if (e != NULL) dds_builtintopic_free_endpoint(e);
  return found;
}

// available reports whether the service's two endpoints are matched.
static bool available(dds_entity_t writer, dds_entity_t reader) {
  char request[256], reply[256];
  dds_instance_handle_t r, w;
  if (dds_get_matched_subscriptions(writer, &r, 1) != 1 || dds_get_matched_publications(reader, &w, 1) != 1) return false;
  if (!service_id(dds_get_matched_subscription_data(writer, r), request, sizeof(request))) return false;
  if (!service_id(dds_get_matched_publication_data(reader, w), reply, sizeof(reply))) return false;
  if (strcmp(request, reply) != 0) return false;
  printf("{\"event\":\"available\",\"user_data\":");
  print_text(stdout, request);
  printf("}\n");
  return true;
}

static const struct kind {
  const char *name;
  const dds_topic_descriptor_t *request, *response;
} kinds[] = {
    {"empty", &std_srvs_srv_dds__Empty_Request__desc, &std_srvs_srv_dds__Empty_Response__desc},
    {"set_bool", &std_srvs_srv_dds__SetBool_Request__desc, &std_srvs_srv_dds__SetBool_Response__desc},
    {"trigger", &std_srvs_srv_dds__Trigger_Request__desc, &std_srvs_srv_dds__Trigger_Response__desc},
};

static void call(dds_entity_t writer, const struct kind *kind, uint64_t client, int64_t number) {
  if (strcmp(kind->name, "set_bool") == 0) {
    std_srvs_srv_dds__SetBool_Request_ r = {client, number, number % 2 == 1};
    fail("call", dds_write(writer, &r));
  } else { // the other two have the same fields
    std_srvs_srv_dds__Empty_Request_ r = {client, number, 0};
    fail("call", dds_write(writer, &r));
  }
}

// reply prints the reply to a request, and reports whether it has come.
static bool reply(dds_entity_t reader, const struct kind *kind, uint64_t client, int64_t number) {
  void *sample[1] = {NULL};
  dds_sample_info_t info;
  if (dds_take(reader, sample, &info, 1, 1) <= 0) return false;
  const std_srvs_srv_dds__Empty_Response_ *head = sample[0];
  bool ours = info.valid_data && head->client == client && head->number == number;
  if (ours) {
    printf("{\"event\":\"reply\",\"n\":%" PRId64 ",\"value\":{", number);
    if (strcmp(kind->name, "empty") != 0) {
      const std_srvs_srv_dds__Trigger_Response_ *r = sample[0]; // as SetBool's
      printf("\"success\":%s,\"message\":", r->m_success ? "true" : "false");
      print_text(stdout, r->m_message);
    }
    printf("}}\n");
    fflush(stdout);
  }
  dds_return_loan(reader, sample, 1);
  return ours;
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  const struct kind *kind = NULL;
  for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
    if (strcmp(kinds[i].name, argv[3]) == 0) kind = &kinds[i];
  if (kind == NULL) return 2;
  dds_entity_t participant = dds_create_participant((dds_domainid_t)atoi(argv[1]), NULL, NULL);
  fail("create a participant", participant);
  char requests[256], replies[256], id[64];
  snprintf(requests, sizeof(requests), "rq%sRequest", argv[2]);
  snprintf(replies, sizeof(replies), "rr%sReply", argv[2]);
  snprintf(id, sizeof(id), "clientid=%d.1;", (int)getpid());
  dds_qos_t *q = dds_create_qos();
  dds_qset_reliability(q, DDS_RELIABILITY_RELIABLE, DDS_SECS(1));
  dds_qset_history(q, DDS_HISTORY_KEEP_LAST, 10);
  dds_qset_userdata(q, id, strlen(id));
  dds_entity_t writer = dds_create_writer(participant, dds_create_topic(participant, kind->request, requests, NULL, NULL), q, NULL);
  fail("create a writer", writer);
  dds_entity_t reader = dds_create_reader(participant, dds_create_topic(participant, kind->response, replies, NULL, NULL), q, NULL);
  fail("create a reader", reader);
  dds_delete_qos(q);
  dds_instance_handle_t client;
  fail("handle", dds_get_instance_handle(writer, &client));
  while (!available(writer, reader)) usleep(1000);
  int calls = argc > 4 ? atoi(argv[4]) : 1;
  for (int64_t n = 1; n <= calls; n++) {
    // A reply that is written before the reader has heard of the writer's numbers is
    // history to the reader: then it calls once more.
    for (dds_time_t next = 0; !reply(reader, kind, client, n); usleep(1000)) {
      if (dds_time() < next) continue;
      call(writer, kind, client, n);
      next = dds_time() + DDS_SECS(2);
    }
  }
  dds_delete(participant);
  return 0;
}
