package ros2dds

import (
	"encoding/binary"
	"strconv"
	"strings"
)

// ddsTopic is the DDS topic of a ROS topic, which begins with a slash.
func ddsTopic(name string) string { return "rt" + name }

// The DDS topics of a ROS service, whose name begins with a slash.
func requestsTopic(name string) string { return "rq" + name + "Request" }
func repliesTopic(name string) string  { return "rr" + name + "Reply" }

// ddsType is the DDS type of a ROS message type: "pkg/msg/Type" is
// "pkg::msg::dds_::Type_".
func ddsType(typeName string) string {
	at := strings.LastIndexByte(typeName, '/')
	return strings.ReplaceAll(typeName[:at], "/", "::") + "::dds_::" + typeName[at+1:] + "_"
}

// What endpoints and participants say of themselves: "key=value;" (REP-2016, and
// rmw_dds_common).
const participantData = "enclave=/;"

func endpointData(hash string) string { return "typehash=" + hash + ";" }

// serviceData is what both endpoints of a participant's n-th service say, so that clients
// of rmw_cyclonedds know that they belong together: 16 numbers in hexadecimal form, the
// participant's GUID with n instead of the entity.
func serviceData(participant [16]byte, n uint32) string {
	id := participant
	binary.BigEndian.PutUint32(id[12:], n)
	text := make([]string, len(id))
	for i, b := range id {
		text[i] = strconv.FormatUint(uint64(b), 16)
	}
	return "serviceid=" + strings.Join(text, ".") + ";"
}
