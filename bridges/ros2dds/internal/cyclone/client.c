//go:build cgo && ros2dds

#include <stdlib.h>
#include <string.h>

#include "entities.h"

// client_id copies the value of "clientid=...;" in an endpoint's user data (as
// rmw_cyclonedds writes it) and reports whether there is one.
static bool client_id(const dds_builtintopic_endpoint_t *endpoint, char *id, size_t size) {
  static const char key[] = "clientid=";
  void *data = NULL;
  size_t n = 0;
  bool found = false;
  if (!dds_qget_userdata(endpoint->qos, &data, &n) || data == NULL) return false;
  const char *text = data; // not terminated
  for (size_t at = 0; at + sizeof(key) - 1 < n && !found; at++) {
    if ((at > 0 && text[at - 1] != ';') || memcmp(text + at, key, sizeof(key) - 1) != 0) continue;
    const char *value = text + at + sizeof(key) - 1;
    const char *end = memchr(value, ';', n - (size_t)(value - text));
    size_t length = end != NULL ? (size_t)(end - value) : n - (size_t)(value - text);
    found = length < size;
    if (!found) break;
    memcpy(id, value, length);
    id[length] = 0;
  }
  dds_free(data);
  return found;
}

int rb_heard(dds_entity_t requests, dds_instance_handle_t client, dds_entity_t replies) {
  char id[128], other[128];
  dds_builtintopic_endpoint_t *writer = dds_get_matched_publication_data(requests, client);
  if (writer == NULL) return -1;
  bool known = client_id(writer, id, sizeof(id));
  dds_builtintopic_free_endpoint(writer);
  if (!known) return 1;
  dds_return_t n = dds_get_matched_subscriptions(replies, NULL, 0);
  if (n <= 0) return 0;
  dds_instance_handle_t *readers = calloc((size_t)n, sizeof(*readers));
  if (readers == NULL) return 0;
  dds_return_t now = dds_get_matched_subscriptions(replies, readers, (size_t)n);
  int heard = 0;
  for (dds_return_t i = 0; i < now && i < n && !heard; i++) {
    dds_builtintopic_endpoint_t *reader = dds_get_matched_subscription_data(replies, readers[i]);
    if (reader == NULL) continue;
    heard = client_id(reader, other, sizeof(other)) && strcmp(id, other) == 0;
    dds_builtintopic_free_endpoint(reader);
  }
  free(readers);
  return heard;
}
