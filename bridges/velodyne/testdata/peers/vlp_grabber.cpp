// usage: vlp_grabber FILE.pcap POINTS
//
// Reads a pcap file with PCL's grabber for the VLP-16, which has libpcap read it, and writes the points of each whole
// sweep to POINTS as 4 float, little endian: x, y, z, intensity. The grabber plays the file at its pace and doesn't
// tell of its end: it has ended when no sweep comes for some time.
#include <pcl/io/vlp_grabber.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  FILE *out = std::fopen(argv[2], "wb");
  if (!out) return 1;
  pcl::VLPGrabber grabber(argv[1]);
  std::atomic<long> sweeps{0};
  std::function<pcl::HDLGrabber::sig_cb_velodyne_hdl_sweep_point_cloud_xyzi> sweep =
      [&](const pcl::PointCloud<pcl::PointXYZI>::ConstPtr &cloud) {
        for (const auto &p : *cloud) {
          const float point[] = {p.x, p.y, p.z, p.intensity};
          std::fwrite(point, sizeof point, 1, out);
        }
        std::fflush(out);
        sweeps++;
      };
  grabber.registerCallback(sweep);
  grabber.start();
  for (long before = -1; before != sweeps;) {
    before = sweeps;
    std::this_thread::sleep_for(std::chrono::seconds(2));
  }
  std::printf("%ld\n", sweeps.load());
  std::fflush(stdout);
  std::_Exit(0); // its threads wait for more
}
