//go:build cgo && ros2dds

package cyclone

/*
#cgo LDFLAGS: -lddsc
#include <malloc.h>
#include "sertype.h"

static int count(dds_entity_t parent) {
  dds_entity_t children[256];
  dds_return_t n = dds_get_children(parent, children, 256);
  if (n < 0) return 0;
  int all = n;
  for (int i = 0; i < n && i < 256; i++) all += count(children[i]);
  return all;
}

static int entities(void) { return count(DDS_CYCLONEDDS_HANDLE); }

static size_t in_use(void) {
  struct mallinfo2 m = mallinfo2();
  return m.uordblks + m.hblkhd;
}
*/
import "C"

// Tests use these to find what isn't given back. A test file can't use cgo.

// Blocks returns how many blocks of memory for messages there are in the process, those
// that writers keep for later too. It is 0 when all participants have left and all
// writers are closed.
func Blocks() int { return int(C.rb_blocks()) }

// Entities returns how many entities the library has: domains, participants, topics,
// writers, readers, waitsets and conditions. Without a domain it is 0: the library has
// shut itself down.
func Entities() int { return int(C.entities()) }

// Bytes returns how much memory of C's is in use in the process.
func Bytes() int { return int(C.in_use()) }
