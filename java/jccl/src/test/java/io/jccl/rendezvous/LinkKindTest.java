package io.jccl.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests which kind an interface has, according to a host's sysfs and routes. */
@Timeout(20)
class LinkKindTest {

    @TempDir
    Path root;

    private void link(String name, String... entries) throws IOException {
        for (String entry : entries) {
            Files.createDirectories(root.resolve("sys/class/net").resolve(name).resolve(entry));
        }
    }

    private void type(String name, String type) throws IOException {
        link(name, "");
        Files.writeString(root.resolve("sys/class/net").resolve(name).resolve("uevent"), "DEVTYPE=" + type + "\n");
    }

    private void defaultRouteOver(String name) throws IOException {
        Files.createDirectories(root.resolve("proc/net"));
        Files.writeString(
                root.resolve("proc/net/route"),
                "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n" + name
                        + "\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\ndocker0\t000011AC\t00000000\t0001"
                        + "\t0\t0\t0\t0000FFFF\t0\t0\t0\n");
    }

    private LinkKind kind(String name) {
        return new LinkKind.Finder(root).of(name);
    }

    @Test
    void aBridgeIsRealIfItHasACardOrTheDefaultRoute() throws IOException {
        link("eno1", "device");
        link("bond0", "lower_eno1");
        link("bond0.7", "lower_bond0");
        link("br0", "bridge", "lower_bond0.7", "lower_vnet3");
        link("vnet3", "");
        link("lab", "bridge", "lower_vnet3");
        link("br-ex", "");
        link("docker0", "bridge");
        defaultRouteOver("br-ex");
        assertThat(kind("br0")).isEqualTo(LinkKind.REAL);
        assertThat(kind("bond0.7")).isEqualTo(LinkKind.REAL);
        assertThat(kind("br-ex")).isEqualTo(LinkKind.REAL);
        assertThat(kind("lab")).isEqualTo(LinkKind.CONTAINERS);
        assertThat(kind("docker0")).isEqualTo(LinkKind.CONTAINERS);
    }

    @Test
    void anInterfaceWithACardIsRealWhateverItsName() throws IOException {
        link("ovs7", "device");
        assertThat(kind("ovs7")).isEqualTo(LinkKind.REAL);
    }

    @Test
    void aVpnIsATunnelEvenWithTheDefaultRoute() throws IOException {
        link("corp", "tun_flags");
        type("mesh", "wireguard");
        type("overlay", "vxlan");
        defaultRouteOver("tun0");
        assertThat(kind("tun0")).isEqualTo(LinkKind.TUNNEL);
        assertThat(kind("corp")).isEqualTo(LinkKind.TUNNEL);
        assertThat(kind("mesh")).isEqualTo(LinkKind.TUNNEL);
        assertThat(kind("overlay")).isEqualTo(LinkKind.CONTAINERS);
    }

    @Test
    void withoutSysfsTheNameDecides() {
        assertThat(kind("eth0")).isEqualTo(LinkKind.REAL);
        assertThat(kind("tunl0")).isEqualTo(LinkKind.CONTAINERS);
        assertThat(kind("wireguard.cali")).isEqualTo(LinkKind.CONTAINERS);
        assertThat(kind("wg0")).isEqualTo(LinkKind.TUNNEL);
    }

    /** Links that name each other, as pairs of virtual interfaces can, must not make the search endless. */
    @Test
    void linksInACircleHaveNoCard() throws IOException {
        link("br1", "bridge", "lower_br2");
        link("br2", "bridge", "lower_br1");
        assertThat(kind("br1")).isEqualTo(LinkKind.CONTAINERS);
    }
}
