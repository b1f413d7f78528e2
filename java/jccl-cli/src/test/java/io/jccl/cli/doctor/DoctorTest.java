package io.jccl.cli.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.jccl.cli.doctor.Finding.Status;
import io.jccl.device.CudaDevice;
import io.jccl.device.CudaInventory;
import io.jccl.device.JCudaLibrary;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests the findings of {@code jccl doctor} on hosts that the files of a folder simulate. */
@Timeout(60)
class DoctorTest {

    private static final int CORES = 8;

    @TempDir
    Path root;

    /** Makes a host without a fault; each test then breaks one thing. */
    @BeforeEach
    void healthy() throws IOException {
        write(
                "/proc/self/limits",
                "Max open files            65536                1048576              files\n"
                        + "Max locked memory         unlimited            unlimited            bytes\n");
        write("/proc/self/cgroup", "0::/user/job\n");
        write("/sys/fs/cgroup/user/job/cpu.max", "max 100000\n");
        write("/sys/fs/cgroup/user/job/memory.max", "max\n");
        write("/proc/meminfo", "MemTotal:       65536000 kB\nMemAvailable:   32768000 kB\n");
        write("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
        write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
        write("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n");
        write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
        Files.createDirectories(root.resolve("dev/shm"));
    }

    private void write(String path, String content) throws IOException {
        Path file = root.resolve(path.substring(1));
        Files.createDirectories(file.getParent());
        Files.writeString(file, content);
    }

    private Host host(int ranks, Map<String, String> environment) {
        return new Host(root, environment, CORES, ranks);
    }

    private Host host() {
        return host(CORES, Map.of());
    }

    private static void requireOk(List<Finding> findings) {
        assertThat(findings).allSatisfy(finding -> {
            assertThat(finding.status()).as(finding.toString()).isEqualTo(Status.OK);
            assertThat(finding.remedy()).as(finding.toString()).isNull();
        });
    }

    private static void requireBad(List<Finding> findings, Status status, String detail, String remedy) {
        assertThat(findings).singleElement().satisfies(finding -> {
            assertThat(finding.status()).isEqualTo(status);
            assertThat(finding.detail()).contains(detail);
            assertThat(finding.remedy()).contains(remedy);
        });
    }

    @Test
    void aHealthyHostHasNothingToRepair() {
        Set<String> ofTheFiles = Set.of(
                "settings",
                "memory",
                "huge-pages",
                "memlock",
                "cores",
                "cgroup-cpu",
                "load",
                "cpu-governor",
                "clock",
                "open-files",
                "privileges",
                "numa",
                "networks",
                "pci-links",
                "cuda",
                "encryption",
                "mtu",
                "rp-filter",
                "rdma",
                "rdma-ports",
                "rdma-gids",
                "rdma-mtu");
        List<Finding> findings = Doctor.examine(host()).stream()
                .filter(finding -> ofTheFiles.contains(finding.check()))
                .toList();
        assertThat(findings.stream().map(Finding::check).collect(Collectors.toSet()))
                .isEqualTo(ofTheFiles);
        requireOk(findings);
    }

    @Test
    void findingsDoNotContainTheTextOfJavaMapsOrLists() throws IOException {
        devices();
        write("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n");
        assertThat(Doctor.examine(host())).allSatisfy(finding -> assertThat(finding.detail())
                .doesNotContainPattern("\\{\\w+=|=\\[|\\[\\w+(, |])"));
    }

    @Test
    void missingAvx2IsAWarningOnX86Only() {
        requireBad(List.of(LibraryChecks.loaded("portable", "amd64")), Status.WARN, "no AVX2", "a processor with AVX2");
        requireOk(List.of(LibraryChecks.loaded("avx2", "amd64"), LibraryChecks.loaded("portable", "aarch64")));
        assertThat(LibraryChecks.loaded("portable", "aarch64").detail()).isEqualTo("loaded; reductions use neon");
    }

    @Test
    void encryptionThatIsNotPossibleFailsWhereItIsRequired() {
        String libcrypto = "libcrypto cannot be used";
        requireOk(EncryptionChecks.findings(Map.of(), "no X25519", libcrypto));
        Map<String, String> on = Map.of("JCCL_ENCRYPTION", "on");
        requireBad(EncryptionChecks.findings(on, "", libcrypto), Status.WARN, "libcrypto cannot be used", "libssl3");
        requireBad(EncryptionChecks.findings(on, "no X25519", ""), Status.FAIL, "no X25519", "jdk.crypto.ec");
        requireOk(EncryptionChecks.findings(on, "", ""));
        Map<String, String> required = Map.of("JCCL_ENCRYPTION", "required");
        requireBad(EncryptionChecks.findings(required, "", libcrypto), Status.FAIL, "=required: data", "libssl3");
        assertThat(EncryptionChecks.findings(required, "", "")).singleElement().satisfies(finding -> {
            assertThat(finding.status()).isEqualTo(Status.OK);
            assertThat(finding.detail()).contains("verbs and network plug-ins are not used");
        });
    }

    @Test
    void encryptionByAGuessableSecretFailsWhereItIsRequired() {
        Map<String, String> weak = Map.of(
                "JCCL_ENCRYPTION",
                "required",
                "JCCL_RANK",
                "0",
                "JCCL_SIZE",
                "2",
                "JCCL_RENDEZVOUS",
                "node1:29500/abc");
        requireBad(
                EncryptionChecks.findings(weak, "", ""),
                Status.FAIL,
                "secret has 3 characters",
                "openssl rand -hex 16");
        Map<String, String> rendezvousAlone =
                Map.of("JCCL_ENCRYPTION", "required", "JCCL_RENDEZVOUS", weak.get("JCCL_RENDEZVOUS"));
        requireBad(
                EncryptionChecks.findings(rendezvousAlone, "", ""),
                Status.FAIL,
                "secret has 3 characters",
                "openssl rand -hex 16");
        Map<String, String> strong = new HashMap<>(weak);
        strong.put("JCCL_RENDEZVOUS", "node1:29500/0f1e2d3c4b5a69788796a5b4c3d2e1f0");
        requireOk(EncryptionChecks.findings(strong, "", ""));
    }

    @Test
    void aHostWithoutFilesHasNoWarningExceptForDevShm() {
        Host bare = new Host(root.resolve("nothing"), Map.of(), CORES, CORES);
        requireOk(ProcessorChecks.quota(bare));
        requireOk(ProcessorChecks.governor(bare));
        requireOk(ProcessorChecks.clock(bare));
        requireOk(MemoryChecks.available(bare));
        requireOk(RdmaChecks.locked(bare));
        requireOk(NetworkChecks.mtus(bare));
        requireOk(NetworkChecks.reversePathFilter(bare));
        requireOk(MemoryChecks.hugePages(bare));
        requireOk(SystemChecks.openFiles(bare));
        requireBad(MemoryChecks.devShm(bare), Status.WARN, "/dev/shm is not there", "mount a tmpfs at /dev/shm");
    }

    @Test
    void moreRanksThanCoresAreReportedAsTimeSliced() {
        requireBad(
                ProcessorChecks.cores(host(9, Map.of())),
                Status.WARN,
                "cores=8 ranks=9: ranks are time-sliced",
                "run at most 8 ranks here");
    }

    @Test
    void aQuotaOfAParentControlGroupCounts() throws IOException {
        write("/sys/fs/cgroup/user/cpu.max", "150000 100000\n");
        requireBad(
                ProcessorChecks.quota(host()),
                Status.WARN,
                "quota=1.50 cores, visible cores=8",
                "raise the container's CPU limit");
        requireOk(ProcessorChecks.quota(host(1, Map.of())));
    }

    @Test
    void aQuotaOfControlGroupsOfVersion1Counts() throws IOException {
        write("/proc/self/cgroup", "4:cpu,cpuacct:/box\n3:memory:/box\n");
        write("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "200000\n");
        write("/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n");
        write("/sys/fs/cgroup/memory/box/memory.limit_in_bytes", Long.toString(1L << 30));
        requireBad(ProcessorChecks.quota(host()), Status.WARN, "quota=2.00 cores", "CPU limit");
        requireBad(MemoryChecks.available(host()), Status.WARN, "cgroup limit=1 GiB", "memory limit");
    }

    @Test
    void tooLittleMemoryForTheRanksIsReported() throws IOException {
        write("/proc/meminfo", "MemAvailable:   1048576 kB\n");
        requireBad(MemoryChecks.available(host()), Status.WARN, "for each of ranks=8", "run fewer ranks");
        requireOk(MemoryChecks.available(host(2, Map.of())));
    }

    @Test
    void hugePagesThatAreSwitchedOffAreReported() throws IOException {
        write("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
        requireBad(
                MemoryChecks.hugePages(host()),
                Status.WARN,
                "transparent huge pages=never",
                "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled");
    }

    @Test
    void aVaryingClockRateAndASlowClockSourceAreReported() throws IOException {
        write("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n");
        write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
        requireBad(
                ProcessorChecks.governor(host()),
                Status.WARN,
                "cores by governor: performance 1, powersave 1",
                "cpupower frequency-set -g performance");
        requireBad(ProcessorChecks.clock(host()), Status.WARN, "clocksource=hpet", "TSC");
    }

    @Test
    void aLowLimitOfOpenFilesIsReportedWithTheNumberThatIsNeeded() throws IOException {
        write("/proc/self/limits", "Max open files            256                  256                  files\n");
        requireBad(
                SystemChecks.openFiles(host()),
                Status.WARN,
                "limit=256: a rank with 8 peers may open 384",
                "ulimit -n 4096");
    }

    @Test
    void missingPartsOfCudaAreReportedWithTheirRemedies() throws IOException {
        assertThat(CudaChecks.parts(host())).singleElement().satisfies(finding -> assertThat(finding.detail())
                .startsWith("driver=missing nvml=missing jcuda=")
                .endsWith(": no GPU can be used; the host backend needs none"));
        write("/opt/driver/libcuda.so.1", "");
        write("/proc/driver/nvidia/version", "NVRM version: 550.54\nGCC version: 12\n");
        Host host = host(2, Map.of("LD_LIBRARY_PATH", "/opt/driver"));
        requireBad(
                CudaChecks.parts(
                        host,
                        JCudaLibrary.State.NO_NATIVES,
                        false,
                        new CudaInventory(List.of(), List.of("natives")),
                        new CudaChecks.Backend(
                                List.of("put natives on the class path", "use a build with libjccl_cuda.so"), "")),
                Status.WARN,
                "driver=/opt/driver/libcuda.so.1 (NVRM version: 550.54) nvml=missing jcuda=natives missing"
                        + " libjccl_cuda.so=missing: ranks use host memory",
                "put natives on the class path; use a build with libjccl_cuda.so");
        CudaDevice device = new CudaDevice(0, "NVIDIA H200", 90, 141L << 30, "0000:1b:00.0", "GPU-1");
        List<Finding> whole = CudaChecks.parts(
                host,
                JCudaLibrary.State.READY,
                true,
                new CudaInventory(List.of(device), List.of()),
                new CudaChecks.Backend(List.of(), "; driver for CUDA 12.0 (driver 525), kernels of CUDA 12.9"));
        requireOk(whole);
        assertThat(whole.get(0).detail())
                .endsWith("jcuda=present libjccl_cuda.so=present; driver for CUDA 12.0 (driver 525), kernels of CUDA"
                        + " 12.9; device 0: NVIDIA H200 sm 90, 141 GiB, at 0000:1b:00.0, GPU-1");
    }

    /** Adds two NUMA nodes, a GPU at x8 of x16 and a network card, both on node 1, and a virtual interface. */
    private void devices() throws IOException {
        write("/sys/devices/system/node/node0/cpumap", "f\n");
        write("/sys/devices/system/node/node1/cpumap", "f0\n");
        device("0000:01:00.0", "0x030200", "0x10de");
        write("/sys/devices/pci0000:00/0000:01:00.0/max_link_width", "16\n");
        write("/sys/devices/pci0000:00/0000:01:00.0/current_link_width", "8\n");
        device("0000:02:00.0", "0x020000", "0x15b3");
        String net = "/sys/devices/pci0000:00/0000:02:00.0/net/ens2";
        write(net + "/type", "1\n");
        write(net + "/operstate", "up\n");
        write("/sys/devices/virtual/net/docker0/type", "1\n");
        Files.createDirectories(root.resolve("sys/class/net"));
        Files.createSymbolicLink(root.resolve("sys/class/net/ens2"), root.resolve(net.substring(1)));
        Files.createSymbolicLink(
                root.resolve("sys/class/net/docker0"), root.resolve("sys/devices/virtual/net/docker0"));
    }

    private void device(String busId, String pciClass, String vendor) throws IOException {
        String path = "/sys/devices/pci0000:00/" + busId;
        write(path + "/class", pciClass + "\n");
        write(path + "/vendor", vendor + "\n");
        write(path + "/numa_node", "1\n");
        Files.createDirectories(root.resolve("sys/bus/pci/devices"));
        Files.createSymbolicLink(root.resolve("sys/bus/pci/devices/" + busId), root.resolve(path.substring(1)));
    }

    @Test
    void devicesAreReportedWithTheSourcesOfTheirValues() throws IOException {
        devices();
        Host host = host(2, Map.of("JCCL_NVML_LIBRARY", "off"));
        requireOk(DeviceChecks.numa(host));
        assertThat(DeviceChecks.numa(host).get(0).detail())
                .startsWith("node 0 cpu mask f")
                .contains(", node 1 cpu mask f0");
        requireOk(DeviceChecks.networks(host));
        assertThat(DeviceChecks.networks(host).get(0).detail())
                .isEqualTo(
                        "ens2 speed unknown at 0000:02:00.0; others: docker0 (sysfs without speed; not used because it"
                                + " is virtual); an unknown speed counts as 10 Gb/s");
        requireBad(
                DeviceChecks.gpus(host),
                Status.WARN,
                "1: 0 at 0000:01:00.0 (sysfs without sm nvlink c2c gdr): nvml reports nothing (JCCL_NVML_LIBRARY=off)",
                "JCCL_NVML_LIBRARY");
        requireBad(
                DeviceChecks.pciLinks(host),
                Status.WARN,
                "narrower than the device can be: 0000:01:00.0 x8 of x16",
                "seat the card again");
    }

    @Test
    void unknownAndBadSettingsAreQuoted() {
        requireBad(
                LibraryChecks.settings(host(1, Map.of("JCCL_TIMEOUTT", "3"))),
                Status.WARN,
                "JCCL_TIMEOUTT (from environment) is no setting",
                "correct or unset it");
        requireBad(
                LibraryChecks.settings(host(1, Map.of("JCCL_TIMEOUT", "soon"))),
                Status.FAIL,
                "soon",
                "correct or unset it");
    }

    @Test
    void theReportCountsFindingsAndItsStatusIsTheWorst() throws IOException {
        List<Finding> findings = List.of(
                Finding.ok("one", "fine"),
                Finding.warn("second", "slow", "mend it"),
                Finding.fail("3rd", "broken", "fix it"));
        assertThat(DoctorCommand.toText(findings, true, false))
                .isEqualTo("ok    one     fine\n"
                        + "warn  second  slow\n"
                        + "              remedy: mend it\n"
                        + "fail  3rd     broken\n"
                        + "              remedy: fix it\n"
                        + "3 checks: 1 fine, 1 warning, 1 failure\n");
        assertThat(DoctorCommand.toText(findings, false, false))
                .isEqualTo("warn  second  slow\n"
                        + "              remedy: mend it\n"
                        + "fail  3rd     broken\n"
                        + "              remedy: fix it\n"
                        + "3 checks: 1 fine (-v shows them), 1 warning, 1 failure\n");
        assertThat(DoctorCommand.toText(findings.subList(0, 1), false, false))
                .isEqualTo("1 checks: 1 fine (-v shows them), 0 warnings, 0 failures\n");
        JsonNode json = new ObjectMapper().readTree(DoctorCommand.toJson(findings));
        assertThat(json.get("status").asText()).isEqualTo("fail");
        assertThat(json.get("checks")).hasSize(3);
        assertThat(json.get("checks").get(1).get("remedy").asText()).isEqualTo("mend it");
        assertThat(Doctor.worst(findings.subList(0, 2))).isEqualTo(Status.WARN);
    }
}
