// fast_peer: a program on Fast DDS and the types that fastddsgen generates.
//
//   fast_peer DOMAIN subscribe|count     reads every topic that anybody writes
//   fast_peer DOMAIN obey PORT           writes vehicles' controls as it is told, as
//                                        cyclone_peer does
//   fast_peer DOMAIN ask TOPIC reliability|durability|deadline
//                                        reads a clock, and asks for this policy
//   fast_peer DOMAIN offer TOPIC         writes a clock with no such policy
//
// It prints what happens as lines of JSON, as cyclone_peer does. It keeps to the loopback
// interface, and needs larger socket buffers than Fast DDS has by default.
#include <arpa/inet.h>
#include <fastrtps/utils/IPLocator.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <fastdds/dds/domain/DomainParticipant.hpp>
#include <fastdds/dds/domain/DomainParticipantFactory.hpp>
#include <fastdds/dds/domain/DomainParticipantListener.hpp>
#include <fastdds/dds/publisher/DataWriter.hpp>
#include <fastdds/dds/publisher/DataWriterListener.hpp>
#include <fastdds/dds/publisher/Publisher.hpp>
#include <fastdds/dds/subscriber/DataReader.hpp>
#include <fastdds/dds/subscriber/DataReaderListener.hpp>
#include <fastdds/dds/subscriber/SampleInfo.hpp>
#include <fastdds/dds/subscriber/Subscriber.hpp>
#include <fastdds/dds/topic/TypeSupport.hpp>
#include <fastdds/rtps/transport/UDPv4TransportDescriptor.h>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <queue>
#include <string>

#include "print.h"
#include "ros2PubSubTypes.h"

using namespace eprosima::fastdds::dds;
using eprosima::fastrtps::types::ReturnCode_t;

static void print_bool(FILE *f, bool v) { fputs(v ? "true" : "false", f); }
static void print_int8(FILE *f, int v) { fprintf(f, "%d", v); }
static void print_uint8(FILE *f, unsigned v) { fprintf(f, "%u", v); }
static void print_uint16(FILE *f, unsigned v) { fprintf(f, "%u", v); }
static void print_int32(FILE *f, int32_t v) { fprintf(f, "%d", v); }
static void print_uint32(FILE *f, uint32_t v) { fprintf(f, "%u", v); }
static void print_int64(FILE *f, int64_t v) { fprintf(f, "%lld", (long long)v); }
static void print_uint64(FILE *f, uint64_t v) { fprintf(f, "%llu", (unsigned long long)v); }
static void print_float32(FILE *f, float v) { print_number(f, v); }
static void print_float64(FILE *f, double v) { print_number(f, v); }
static void print_string(FILE *f, const std::string &v) { print_text(f, v.c_str()); }

#include "types_cpp.h"

static std::mutex output; // held while a line is printed
static bool only_count;

struct Reading : DataReaderListener {
  std::string topic;
  std::mutex reading;
  unsigned long long messages = 0;
  std::function<bool(DataReader *, FILE *, bool, unsigned long long &)> take;

  void on_subscription_matched(DataReader *, const SubscriptionMatchedStatus &s) override {
    std::lock_guard<std::mutex> lock(output);
    printf("{\"event\":\"%s\",\"topic\":\"%s\"}\n", s.current_count > 0 ? "matched" : "unmatched", topic.c_str());
    fflush(stdout);
  }
  void on_data_available(DataReader *r) override {
    std::lock_guard<std::mutex> one(reading);
    while (take(r, stdout, only_count, messages)) {
    }
  }
};

// take_one reads one message of type M and prints it.
template <typename M>
static bool take_one(const std::string &topic, M &m, DataReader *r, FILE *f, bool count, unsigned long long &n) {
  SampleInfo info;
  if (r->take_next_sample(&m, &info) != ReturnCode_t::RETCODE_OK) return false;
  if (!info.valid_data) return true;
  n++;
  std::lock_guard<std::mutex> lock(output);
  long long now = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  fprintf(f, "{\"event\":\"message\",\"topic\":\"%s\",\"n\":%llu,\"at_ns\":%lld", topic.c_str(), n, now);
  if (!count || n == 1) {
    fputs(",\"value\":", f);
    print(f, m);
  }
  fputs("}\n", f);
  fflush(f);
  return true;
}

struct Kind {
  std::function<TypeSupport()> make;
  std::function<void(Reading *)> bind;
};
static std::map<std::string, Kind> kinds;

template <typename M, typename S>
static void add(const char *name) {
  kinds[name] = Kind{[] {
                       TypeSupport t(new S());
                       t->auto_fill_type_information(false); // Cyclone DDS 0.10 takes readers with it for malformed
                       t->auto_fill_type_object(false);
                       return t;
                     },
                     [](Reading *r) {
                       auto m = std::make_shared<M>();
                       std::string topic = r->topic;
                       r->take = [m, topic](DataReader *d, FILE *f, bool count, unsigned long long &n) { return take_one(topic, *m, d, f, count, n); };
                     }};
}

// Writers are found on a thread of the library's, where nothing can be made.
struct Discovery : DomainParticipantListener {
  std::mutex mutex;
  std::condition_variable more;
  std::queue<eprosima::fastrtps::rtps::WriterProxyData> found;

  void on_publisher_discovery(DomainParticipant *, eprosima::fastrtps::rtps::WriterDiscoveryInfo &&info) override {
    if (info.status != eprosima::fastrtps::rtps::WriterDiscoveryInfo::DISCOVERED_WRITER) return;
    std::lock_guard<std::mutex> lock(mutex);
    found.push(info.info);
    more.notify_one();
  }
  eprosima::fastrtps::rtps::WriterProxyData next() {
    std::unique_lock<std::mutex> lock(mutex);
    more.wait(lock, [this] { return !found.empty(); });
    auto w = found.front();
    found.pop();
    return w;
  }
};

static void print_writer(const eprosima::fastrtps::rtps::WriterProxyData &w) {
  std::lock_guard<std::mutex> lock(output);
  const auto &data = w.m_qos.m_userData;
  std::string text(data.begin(), data.end());
  printf("{\"event\":\"writer\",\"topic\":");
  print_text(stdout, w.topicName().c_str());
  printf(",\"type\":");
  print_text(stdout, w.typeName().c_str());
  printf(",\"reliable\":%s,\"transient_local\":%s,\"user_data\":", w.m_qos.m_reliability.kind == eprosima::fastdds::dds::RELIABLE_RELIABILITY_QOS ? "true" : "false",
         w.m_qos.m_durability.kind == eprosima::fastdds::dds::TRANSIENT_LOCAL_DURABILITY_QOS ? "true" : "false");
  print_text(stdout, text.c_str());
  printf("}\n");
  fflush(stdout);
}

static DomainParticipantQos loopback() {
  DomainParticipantQos q = PARTICIPANT_QOS_DEFAULT;
  q.transport().use_builtin_transports = false;
  auto udp = std::make_shared<eprosima::fastdds::rtps::UDPv4TransportDescriptor>();
  udp->interfaceWhiteList.push_back("127.0.0.1");
  udp->receiveBufferSize = udp->sendBufferSize = 4194304;
  q.transport().user_transports.push_back(udp);
  q.transport().listen_socket_buffer_size = q.transport().send_socket_buffer_size = 4194304;
  eprosima::fastrtps::rtps::Locator_t self;
  self.kind = LOCATOR_KIND_UDPv4;
  eprosima::fastrtps::rtps::IPLocator::setIPv4(self, 127, 0, 0, 1);
  q.wire_protocol().builtin.initialPeersList.push_back(self);
  return q;
}

// Incompatible says what keeps a reader's writers away, by DDS's number of the policy.
struct Incompatible : DataReaderListener {
  void on_requested_incompatible_qos(DataReader *r, const RequestedIncompatibleQosStatus &s) override {
    std::lock_guard<std::mutex> lock(output);
    printf("{\"event\":\"incompatible\",\"topic\":\"%s\",\"policy\":%d}\n", r->get_topicdescription()->get_name().c_str(), (int)s.last_policy_id);
    fflush(stdout);
  }
};

static const char *clock_type = "rosgraph_msgs::msg::dds_::Clock_";

static Topic *clock_topic(DomainParticipant *participant, const char *name) {
  kinds.at(clock_type).make().register_type(participant, clock_type);
  return participant->create_topic(name, clock_type, TOPIC_QOS_DEFAULT);
}

static void ask(DomainParticipant *participant, const char *name, const std::string &policy) {
  DataReaderQos q = DATAREADER_QOS_DEFAULT;
  if (policy == "reliability") q.reliability().kind = RELIABLE_RELIABILITY_QOS;
  if (policy == "durability") q.durability().kind = TRANSIENT_LOCAL_DURABILITY_QOS;
  if (policy == "deadline") q.deadline().period = {0, 1000000};
  auto *subscriber = participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT);
  printf("{\"event\":\"ready\"}\n");
  fflush(stdout);
  subscriber->create_datareader(clock_topic(participant, name), q, new Incompatible());
  pause();
}

static void offer(DomainParticipant *participant, const char *name) {
  DataWriterQos q = DATAWRITER_QOS_DEFAULT;
  q.reliability().kind = BEST_EFFORT_RELIABILITY_QOS;
  q.durability().kind = VOLATILE_DURABILITY_QOS;
  auto *publisher = participant->create_publisher(PUBLISHER_QOS_DEFAULT);
  publisher->create_datawriter(clock_topic(participant, name), q);
  pause();
}

// Subscriptions says how many read a topic.
struct Subscriptions : DataWriterListener {
  void on_publication_matched(DataWriter *w, const PublicationMatchedStatus &s) override {
    std::lock_guard<std::mutex> lock(output);
    printf("{\"event\":\"subscriptions\",\"topic\":\"%s\",\"n\":%d}\n", w->get_topic()->get_name().c_str(), s.current_count);
    fflush(stdout);
  }
};

// obedient is what a writer of "obey" says of itself: nobody but the bridge is to read it.
static const std::string obedient = "obedient";

static const char *control_type = "lgsvl_msgs::msg::dds_::VehicleControlData_";

static DataWriter *control_writer(DomainParticipant *participant, Publisher *publisher, const char *name) {
  DataWriterQos q = DATAWRITER_QOS_DEFAULT;
  q.reliability().kind = RELIABLE_RELIABILITY_QOS;
  q.durability().kind = VOLATILE_DURABILITY_QOS;
  q.history().kind = KEEP_ALL_HISTORY_QOS;
  q.user_data().setValue({obedient.begin(), obedient.end()});
  q.endpoint().history_memory_policy = eprosima::fastrtps::rtps::DYNAMIC_RESERVE_MEMORY_MODE;
  return publisher->create_datawriter(participant->create_topic(name, control_type, TOPIC_QOS_DEFAULT), q, new Subscriptions());
}

static int obey(DomainParticipant *participant, const char *port) {
  int s = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons((uint16_t)atoi(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  FILE *in;
  if (connect(s, (sockaddr *)&to, sizeof(to)) != 0 || (in = fdopen(s, "r")) == nullptr) return 1;
  kinds.at(control_type).make().register_type(participant, control_type);
  auto *publisher = participant->create_publisher(PUBLISHER_QOS_DEFAULT);
  printf("{\"event\":\"ready\"}\n");
  fflush(stdout);
  std::map<std::string, DataWriter *> writers;
  char topic[256], word[32];
  while (fscanf(in, "%255s %31s", topic, word) == 2) {
    auto &writer = writers[topic];
    if (writer == nullptr) writer = control_writer(participant, publisher, topic);
    if (strcmp(word, "-") == 0) continue;
    lgsvl_msgs::msg::dds_::VehicleControlData_ v;
    v.m_acceleration_pct(strtof(word, nullptr));
    if (!writer->write(&v)) return 1;
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  only_count = strcmp(argv[2], "count") == 0;
#define T(m, s) add<m, s>(#m);
  TYPES(T)
#undef T
  Discovery discovery;
  auto *participant = DomainParticipantFactory::get_instance()->create_participant((uint32_t)atoi(argv[1]), loopback(), &discovery, StatusMask::none());
  if (participant == nullptr) return 1;
  std::string mode = argv[2];
  if (mode == "obey" && argc == 4) return obey(participant, argv[3]);
  if (mode == "ask" && argc == 5) ask(participant, argv[3], argv[4]);
  if (mode == "offer" && argc == 4) offer(participant, argv[3]);
  auto *subscriber = participant->create_subscriber(SUBSCRIBER_QOS_DEFAULT);
  printf("{\"event\":\"ready\"}\n");
  fflush(stdout);
  std::map<std::string, Reading *> readings;
  for (;;) {
    auto w = discovery.next();
    print_writer(w);
    std::string topic = w.topicName().c_str(), type = w.typeName().c_str();
    const auto &data = w.m_qos.m_userData;
    if (std::string(data.begin(), data.end()) == obedient) continue;
    auto kind = kinds.find(type);
    if (kind == kinds.end() || readings.count(topic)) continue;
    auto *r = new Reading();
    r->topic = topic;
    kind->second.bind(r);
    TypeSupport support = kind->second.make();
    support.register_type(participant, type);
    DataReaderQos q = DATAREADER_QOS_DEFAULT;
    q.reliability().kind = w.m_qos.m_reliability.kind;
    q.durability().kind = w.m_qos.m_durability.kind;
    q.history().kind = KEEP_LAST_HISTORY_QOS;
    q.history().depth = 100;
    q.endpoint().history_memory_policy = eprosima::fastrtps::rtps::DYNAMIC_RESERVE_MEMORY_MODE;
    readings[topic] = r;
    subscriber->create_datareader(participant->create_topic(topic, type, TOPIC_QOS_DEFAULT), q, r);
  }
}
