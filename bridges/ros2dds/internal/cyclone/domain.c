//go:build cgo && ros2dds

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "dds/ddsrt/log.h"
#include "entities.h"

// words is what the library says while one call of it is under way. Other domains'
// threads may speak at the same time; what they say is printed all the same unless the
// call fails.
static struct {
  pthread_mutex_t calling; // held during the call
  pthread_mutex_t lock;
  char all[8192]; // guarded by lock
  size_t length;  // guarded by lock: of all
  char *errors;   // guarded by lock: the errors alone, separated by semicolons
  size_t size;    // guarded by lock: of errors
} words = {.calling = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER};

// hear is a dds_log_write_fn_t: message ends with a newline, which size doesn't count,
// and its header stands before it.
static void hear(void *arg, const dds_log_data_t *data) {
  (void)arg;
  pthread_mutex_lock(&words.lock);
  size_t line = data->hdrsize + data->size + 1;
  if (words.length + line <= sizeof(words.all)) {
    memcpy(words.all + words.length, data->message - data->hdrsize, line);
    words.length += line;
  }
  if (data->priority & DDS_LC_ERROR) {
    size_t at = strlen(words.errors);
    snprintf(words.errors + at, words.size - at, "%s%.*s", at > 0 ? "; " : "", (int)data->size, data->message);
  }
  pthread_mutex_unlock(&words.lock);
}

static void begin(char *why, size_t size) {
  pthread_mutex_lock(&words.calling);
  words.length = 0;
  words.errors = why;
  words.size = size;
  why[0] = 0;
  dds_set_log_sink(hear, NULL);
}

// heard ends what begin began, with the call's result.
static dds_entity_t heard(dds_entity_t result) {
  dds_set_log_sink(NULL, NULL); // when it returns nobody is in hear
  if (result >= 0) fwrite(words.all, 1, words.length, stderr);
  pthread_mutex_unlock(&words.calling);
  return result;
}

dds_entity_t rb_domain(uint32_t id, const char *settings, char *why, size_t size) {
  begin(why, size);
  return heard(dds_create_domain(id, settings));
}

dds_entity_t rb_participant(uint32_t domain, const char *user_data, char *why, size_t size) {
  dds_qos_t *q = dds_create_qos();
  dds_qset_userdata(q, user_data, strlen(user_data));
  begin(why, size);
  dds_entity_t participant = heard(dds_create_participant(domain, q, NULL));
  dds_delete_qos(q);
  return participant;
}
