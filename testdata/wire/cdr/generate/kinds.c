// The vector of a message with fields of every type.
#include "vectors.h"

#define KIND kinds_msgs_msg_dds__Kinds_
#define SEQUENCE(list) {sizeof(list) / sizeof *(list), sizeof(list) / sizeof *(list), list, false}

void kinds(void) {
  bool flags[] = {true, false, true};
  int8_t i8[] = {-128, 127, -1};
  uint8_t u8[] = {0, 255};
  int16_t i16[] = {-32768, 32767, -1};
  uint16_t u16[] = {65535};
  int32_t i32[] = {INT32_MIN, INT32_MAX};
  uint32_t u32[] = {UINT32_MAX, 1};
  int64_t i64[] = {INT64_MIN, INT64_MAX, -1};
  uint64_t u64[] = {UINT64_MAX, 1};
  float f32[] = {0.5f, -1.5f, 3.0f};
  double f64[] = {0.25, -1e300};
  char *text[] = {"", "lidar", "Stra\xc3\x9f" "e"};
  uint8_t blob[] = {9, 8, 7, 6, 5};
  geometry_msgs_msg_dds__Point_ path[] = {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}};
  char *verdicts[] = {"one", "two"};
  KIND k = {
    .header = header("kinds"), .flag = true, .i8 = -5, .u8 = 200, .i16 = -300, .u16 = 60000, .i32 = -70000, .u32 = 4000000000u,
    .i64 = -5000000000LL, .u64 = 18000000000000000000ULL, .f32 = 1.5f, .f64 = -2.25, .text = "text",
    .any_flag = SEQUENCE(flags), .any_i8 = SEQUENCE(i8), .any_u8 = SEQUENCE(u8), .any_i16 = SEQUENCE(i16), .any_u16 = SEQUENCE(u16),
    .any_i32 = SEQUENCE(i32), .any_u32 = SEQUENCE(u32), .any_i64 = SEQUENCE(i64), .any_u64 = SEQUENCE(u64),
    .any_f32 = SEQUENCE(f32), .any_f64 = SEQUENCE(f64), .any_text = SEQUENCE(text),
    .three_flag = {false, true, true}, .three_i8 = {1, -2, 3}, .three_u8 = {1, 2, 253}, .three_i16 = {1, -2, 3}, .three_u16 = {1, 2, 3},
    .three_i32 = {1, -2, 3}, .three_u32 = {1, 2, 3}, .three_i64 = {1, -2, 3}, .three_u64 = {1, 2, 3}, .three_f32 = {1, -2, 3},
    .three_f64 = {1, -2, 3}, .three_text = {"a", "", "ccc"}, .took = {-2, 500000000}, .blob = SEQUENCE(blob), .nothing = {0},
    .corners = {{1, 2, 3}, {-1, -2, -3}}, .path = SEQUENCE(path), .gain = 0.125f, .sec = -7, .tail = "end", .verdicts = SEQUENCE(verdicts),
  };
  encode("kinds", &kinds_msgs_msg_dds__Kinds__desc, &k);
}
