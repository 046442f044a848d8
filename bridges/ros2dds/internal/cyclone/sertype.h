//go:build cgo && ros2dds

// Serialized samples as a type of Cyclone DDS's: what is written and read are the bytes
// of a CDR stream, with its encapsulation header.

#ifndef RAYBRIDGE_SERTYPE_H
#define RAYBRIDGE_SERTYPE_H

#if !__has_include("dds/dds.h")
#error "Cyclone DDS's headers are not installed: run make build-ros2dds, or install Debian's cyclonedds-dev"
#endif

#include "dds/dds.h"
#include "dds/ddsi/ddsi_serdata.h"
#include "dds/ddsi/ddsi_sertype.h"

// rb_pool keeps blocks that were released, for samples to come. It lives until its
// owner and every sample of it have let go.
struct rb_pool;

struct rb_pool *rb_pool_new(void);
void rb_pool_unref(struct rb_pool *pool);

// rb_sample is a block of memory with one serialized message. As a ddsi_serdata it is
// counted by references; it is made with one.
struct rb_sample {
  struct ddsi_serdata c;
  struct rb_pool *pool;   // NULL for a block of no pool
  struct rb_sample *next; // in the pool's list
  size_t capacity;        // of data, without the padding behind it
  uint32_t size;          // of the message, with its header
  unsigned char *data;
};

// rb_sample_new returns a block with room for capacity bytes, or NULL. pool may be NULL.
struct rb_sample *rb_sample_new(struct rb_pool *pool, size_t capacity);

// rb_sample_unref gives the block back.
void rb_sample_unref(struct rb_sample *sample);

// rb_blocks returns how many samples and pools there are.
int64_t rb_blocks(void);

// rb_sertype_new returns a keyless type with the name on the wire, or NULL.
struct ddsi_sertype *rb_sertype_new(const char *type_name);

#endif
