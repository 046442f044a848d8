// dds_gateway: writes serialized messages as they are, on Cyclone DDS.
//
//   dds_gateway DOMAIN PORT
//
// It connects to PORT on 127.0.0.1 and is sent topics, types and messages in CDR with their
// encapsulation headers, each after its length as uint32. Topic and type are the names on
// the wire. What it has written it keeps for readers to come, until the connection ends.
// It is linked with the serialized samples of the bridge ros2dds.
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "entities.h"

static FILE *in;

// text returns what comes next, with a 0 after it, or ends the program.
static char *text(uint32_t *length) {
  if (fread(length, sizeof(*length), 1, in) != 1) exit(0);
  char *p = malloc(*length + 1);
  if (p == NULL || fread(p, 1, *length, in) != *length) exit(1);
  p[*length] = 0;
  return p;
}

struct writer {
  char *topic;
  dds_entity_t handle;
  struct ddsi_sertype *type;
  struct rb_events events;
};

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  int s = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[2])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (connect(s, (struct sockaddr *)&to, sizeof(to)) != 0 || (in = fdopen(s, "rb")) == NULL) return 1;
  char why[1024] = "";
  dds_entity_t participant = rb_participant((uint32_t)atoi(argv[1]), "", why, sizeof(why));
  if (participant < 0) {
    fprintf(stderr, "participant: %s\n", why);
    return 1;
  }
  printf("ready\n");
  fflush(stdout);
  static struct writer writers[256];
  int n = 0;
  for (;;) {
    uint32_t length;
    char *topic = text(&length), *type = text(&length), *cdr = text(&length);
    int i = 0;
    while (i < n && strcmp(writers[i].topic, topic) != 0) i++;
    if (i == 256) return 1;
    if (i == n) {
      struct rb_qos qos = {.reliable = 1, .transient_local = 1, .keep_all = 1, .max_blocking = 1000000000};
      struct writer *w = &writers[n++];
      w->topic = strdup(topic);
      w->handle = rb_writer(participant, topic, type, &qos, &w->events, &w->type);
      if (w->handle < 0) return 1;
    }
    struct rb_sample *sample = rb_sample_new(NULL, length);
    memcpy(sample->data, cdr, length);
    if (rb_write(writers[i].handle, writers[i].type, sample, length) < 0) return 1;
    free(topic), free(type), free(cdr);
  }
}
