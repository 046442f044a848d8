// What the vectors' source files share.
#include "dds/dds.h"
#include "ros2.h"

typedef builtin_interfaces_msg_dds__Time_ Time;
typedef std_msgs_msg_dds__Header_ Header;
typedef sensor_msgs_msg_dds__PointField_ PointField;
typedef sensor_msgs_msg_dds__PointCloud2_ PointCloud2;

// Datatypes of a PointField.
enum { I8 = 1, U8 = 2, U16 = 4, U32 = 6, F32 = 7, F64 = 8 };

// encode writes the vector of that name.
void encode(const char *name, const dds_topic_descriptor_t *type, const void *sample);
Header header(char *frame);
void ramp(double *v, int n, double first);
// cloud writes a cloud of height x width points in frame lidar_top.
void cloud(const char *name, PointField *fields, int n, int step, int height, int width, void *data);

// The vectors of detections.c.
void ranges(void);
void vehicle(void);
void detections(void);

// Those of kinds.c.
void kinds(void);
