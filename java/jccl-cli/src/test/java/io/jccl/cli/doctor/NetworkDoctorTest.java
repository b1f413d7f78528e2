package io.jccl.cli.doctor;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.cli.doctor.Finding.Status;
import io.jccl.rendezvous.InterfaceCandidate;
import io.jccl.topology.NetPlugin;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests the doctor's findings about network cards and RDMA adapters that the files of a folder simulate. */
@Timeout(60)
class NetworkDoctorTest {

    private static final String PORT = "/sys/class/infiniband/mlx5_0/ports/1";

    @TempDir
    Path root;

    private Host host;

    /** Makes a healthy adapter over Ethernet, on an interface with an MTU of 9000 bytes. */
    @BeforeEach
    void healthy() throws IOException {
        host = new Host(root, Map.of(), 8, 8);
        write("/usr/lib64/libibverbs.so.1", "");
        write("/dev/infiniband/uverbs0", "");
        write("/proc/self/limits", "Max locked memory         unlimited            unlimited            bytes\n");
        write(PORT + "/state", "4: ACTIVE\n");
        write(PORT + "/phys_state", "5: LinkUp\n");
        write(PORT + "/link_layer", "Ethernet\n");
        write(PORT + "/rate", "100 Gb/sec (4X EDR)\n");
        gid(0, "fe80:0000:0000:0000:0202:c9ff:fe00:0001", "IB/RoCE v1");
        gid(1, "fe80:0000:0000:0000:0202:c9ff:fe00:0001", "RoCE v2");
        gid(2, "0000:0000:0000:0000:0000:ffff:0a01:0203", "IB/RoCE v1");
        gid(3, "0000:0000:0000:0000:0000:ffff:0a01:0203", "RoCE v2");
        gid(4, "0000:0000:0000:0000:0000:0000:0000:0000", "RoCE v2");
        card("ens2", 9000);
    }

    private void write(String path, String content) throws IOException {
        Path file = root.resolve(path.substring(1));
        Files.createDirectories(file.getParent());
        Files.writeString(file, content);
    }

    private void gid(int index, String gid, String type) throws IOException {
        write(PORT + "/gids/" + index, gid + "\n");
        write(PORT + "/gid_attrs/types/" + index, type + "\n");
        write(PORT + "/gid_attrs/ndevs/" + index, "ens2\n");
    }

    private void card(String name, int mtu) throws IOException {
        write("/sys/class/net/" + name + "/mtu", mtu + "\n");
        write("/sys/class/net/" + name + "/operstate", "up\n");
        Files.createDirectories(root.resolve("sys/class/net/" + name + "/device"));
    }

    private static void requireOk(List<Finding> findings, String detail) {
        assertThat(findings).singleElement().satisfies(finding -> {
            assertThat(finding.status()).as(finding.toString()).isEqualTo(Status.OK);
            assertThat(finding.detail()).isEqualTo(detail);
        });
    }

    private static void requireWarning(List<Finding> findings, String detail, String remedy) {
        assertThat(findings).singleElement().satisfies(finding -> {
            assertThat(finding.status()).as(finding.toString()).isEqualTo(Status.WARN);
            assertThat(finding.detail()).contains(detail);
            assertThat(finding.remedy()).contains(remedy);
        });
    }

    @Test
    void aHealthyAdapterIsReported() {
        requireOk(RdmaChecks.devices(host), "devices: mlx5_0; libibverbs=/usr/lib64/libibverbs.so.1");
        requireOk(RdmaChecks.portStates(host), "mlx5_0:1 ACTIVE, Ethernet, 100 Gb/sec (4X EDR)");
        requireOk(RdmaChecks.gids(host), "mlx5_0:1 GID 3 0000:0000:0000:0000:0000:ffff:0a01:0203");
        requireOk(RdmaChecks.pathMtu(host), "mlx5_0:1 on ens2 mtu=9000: path MTU 4096");
        requireOk(RdmaChecks.locked(host), "limit=unlimited");
        requireOk(NetworkChecks.mtus(host), "9000 bytes on ens2");
    }

    @Test
    void anAdapterThatCannotBeOpenedIsReported() throws IOException {
        Files.delete(root.resolve("dev/infiniband/uverbs0"));
        requireWarning(RdmaChecks.devices(host), "no /dev/infiniband/uverbs*", "--device=/dev/infiniband");
        Files.delete(root.resolve("usr/lib64/libibverbs.so.1"));
        requireWarning(RdmaChecks.devices(host), "libibverbs=not installed", "ibverbs-providers");
    }

    @Test
    void aPortThatIsDownIsReportedNextToOneThatIsUp() throws IOException {
        String second = "/sys/class/infiniband/mlx5_1/ports/1";
        write(second + "/state", "1: DOWN\n");
        write(second + "/phys_state", "3: Disabled\n");
        write(second + "/link_layer", "Ethernet\n");
        write(second + "/rate", "40 Gb/sec (4X QDR)\n");
        write(second + "/gid_attrs/ndevs/0", "ens3\n");
        List<Finding> findings = RdmaChecks.portStates(host);
        assertThat(findings).extracting(Finding::status).containsExactly(Status.OK, Status.WARN);
        assertThat(findings.get(1).detail())
                .isEqualTo("mlx5_1:1 DOWN, Ethernet, 40 Gb/sec (4X QDR), physical state Disabled: it is not used");
        assertThat(findings.get(1).remedy()).startsWith("ip link set ens3 up");
    }

    @Test
    void aFabricWithoutASubnetManagerIsReported() throws IOException {
        write(PORT + "/state", "2: INIT\n");
        write(PORT + "/link_layer", "InfiniBand\n");
        requireWarning(RdmaChecks.portStates(host), "no subnet manager", "opensm");
        requireOk(RdmaChecks.gids(host), "no active port over Ethernet");
    }

    @Test
    void aPortWithoutAGidThatOthersReachIsReported() throws IOException {
        gid(3, "fe80:0000:0000:0000:0202:c9ff:fe00:0002", "RoCE v2");
        requireWarning(RdmaChecks.gids(host), "mlx5_0:1 has no routable RoCE v2 GID", "dev ens2");
    }

    @Test
    void aSmallMtuUnderRoceIsReported() throws IOException {
        card("ens2", 1500);
        requireWarning(RdmaChecks.pathMtu(host), "ens2 mtu=1500: path MTU 1024 of 4096", "ip link set ens2 mtu 9000");
    }

    @Test
    void aLimitOfLockedMemoryIsReportedIfItIsTooLowForTheRanks() throws IOException {
        write("/proc/self/limits", "Max locked memory         65536                65536                bytes\n");
        requireWarning(
                RdmaChecks.locked(host), "limit=64 KiB: with 8 peers a rank registers about 256 MiB", "ulimit -l");
        requireOk(RdmaChecks.locked(new Host(root, Map.of(), 8, 0)), "limit=64 KiB");
    }

    @Test
    void cardsWithDifferentMtusAreReported() throws IOException {
        card("ens3", 1500);
        requireWarning(NetworkChecks.mtus(host), "1500 bytes on ens3; 9000 bytes on ens2", "ip link set NAME mtu");
        write("/sys/class/net/ens3/operstate", "down\n");
        requireOk(NetworkChecks.mtus(host), "9000 bytes on ens2");
    }

    @Test
    void aStrictReversePathFilterIsReportedIfThereAreSeveralCards() throws IOException {
        write("/proc/sys/net/ipv4/conf/all/rp_filter", "1\n");
        requireOk(NetworkChecks.reversePathFilter(host), "1 cards with a link, strict on ens2");
        card("ens3", 9000);
        requireWarning(
                NetworkChecks.reversePathFilter(host), "strict on ens2, ens3 of the cards ens2, ens3", "rp_filter=2");
        write("/proc/sys/net/ipv4/conf/all/rp_filter", "2\n");
        requireOk(NetworkChecks.reversePathFilter(host), "2 cards with a link, strict on none");
    }

    @Test
    void anAddressThatDoesNotAcceptConnectionsIsReported() throws UnknownHostException {
        InetAddress open = InetAddress.getByName("10.1.2.3");
        InetAddress shut = InetAddress.getByName("10.9.2.3");
        List<InterfaceCandidate> candidates = List.of(
                new InterfaceCandidate("ens2", open, 0, "network", true),
                new InterfaceCandidate("ens3", shut, 0, "network", true),
                new InterfaceCandidate("ens4", shut, 0, "the interface is down", false));
        List<Finding> findings = NetworkChecks.ownAddresses(
                candidates, address -> address.equals(open) ? Optional.empty() : Optional.of("Connect timed out"));
        assertThat(findings).extracting(Finding::status).containsExactly(Status.OK, Status.WARN);
        assertThat(findings.get(0).detail()).isEqualTo("connected: ens2 10.1.2.3");
        assertThat(findings.get(1).detail()).startsWith("ens3 10.9.2.3: a port").contains("(Connect timed out)");
        assertThat(findings.get(1).remedy()).contains("JCCL_SOCKET_IFNAME=^=ens3");
        assertThat(NetworkChecks.ownAddresses(new Host(root, Map.of("JCCL_SOCKET_IFNAME", "=lo"), 8, 8)))
                .extracting(Finding::status)
                .containsOnly(Status.OK);
    }

    @Test
    void aNetworkPluginIsAWarningOnlyIfItWasRequestedAndCannotBeUsed() {
        assertThat(PluginChecks.findings(new NetPlugin.Choice(Optional.empty(), List.of(), false)))
                .containsExactly(Finding.ok("net-plugin", "none"));
        NetPlugin.Device device = new NetPlugin.Device("fab0", "", 1, 1, 100_000, 0, 8, false);
        NetPlugin plugin = new NetPlugin("Fabric", "libnccl-net-fab.so", 9, List.of(device));
        List<Finding> second =
                PluginChecks.findings(new NetPlugin.Choice(Optional.of(plugin), List.of("\"a\" is missing"), true));
        assertThat(second.get(0).status()).isEqualTo(Finding.Status.WARN);
        assertThat(second.get(0).detail()).isEqualTo("\"a\" is missing: ranks use InfiniBand verbs or sockets");
        assertThat(second.get(0).remedy()).contains("LD_LIBRARY_PATH").contains("JCCL_NET_PLUGIN");
        assertThat(second.get(1))
                .isEqualTo(Finding.ok(
                        "net-plugin", "\"Fabric\", file=libnccl-net-fab.so version=9 devices: fab0 (100 Gb/s)"));
        assertThat(PluginChecks.findings(new NetPlugin.Choice(Optional.empty(), List.of("no devices"), false)))
                .containsExactly(Finding.ok("net-plugin", "no devices: it is not used"));
    }
}
