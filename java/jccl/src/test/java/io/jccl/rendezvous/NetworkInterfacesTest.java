package io.jccl.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.BootstrapException;
import io.jccl.CommunicatorConfig;
import io.jccl.config.Settings;
import io.jccl.membership.Bootstrap;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.UnknownHostException;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(20)
class NetworkInterfacesTest {

    private static final List<NetworkInterfaces.Found> HOST = List.of(
            found("lo", "127.0.0.1"),
            found("docker0", "172.17.0.1"),
            found("veth12ab", "172.17.0.9"),
            found("eth1", "169.254.3.4"),
            found("eth0", "fd00::5"),
            found("eth0", "10.1.2.3"),
            found("ib0", "192.168.5.6"),
            found("eth2", "fe80::1"));

    private static NetworkInterfaces.Found found(String name, String address) {
        try {
            return new NetworkInterfaces.Found(name, InetAddress.getByName(address), true, false, false);
        } catch (UnknownHostException e) {
            throw new IllegalArgumentException(e);
        }
    }

    private static List<String> usable(String filter, String family) {
        return NetworkInterfaces.rate(HOST, InterfaceFilter.parse(filter), AddressFamily.parse(family)).stream()
                .filter(InterfaceCandidate::usable)
                .map(InterfaceCandidate::name)
                .toList();
    }

    /** The link may be up again before any time-out. */
    @Test
    void anAddressThatWasUpIsOfferedWhileItsLinkIsDown() throws Exception {
        InetAddress address = InetAddress.getByName("192.0.2.77");
        assertThat(NetworkInterfaces.isOrWasUp(address, false)).isFalse();
        assertThat(NetworkInterfaces.isOrWasUp(address, true)).isTrue();
        assertThat(NetworkInterfaces.isOrWasUp(address, false)).isTrue();
    }

    @Test
    void realNetworksComeFirstThenContainersLinkLocalAndLoopback() {
        assertThat(usable("", "")).containsExactly("eth0", "ib0", "eth0", "docker0", "veth12ab", "eth1", "lo");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "ib,eth0||ib0,eth0,eth0",
                "eth|AF_INET|eth0,eth1",
                "=eth||",
                "=eth0|af_inet6|eth0",
                "^docker,veth,lo|AF_INET|eth0,ib0,eth1",
                "^=eth0|AF_INET|ib0,docker0,veth12ab,eth1,lo",
                "192.168.0.0/16||ib0",
                "172.16.0.0/12,lo||docker0,veth12ab,lo",
                "^10.0.0.0/8,172.17.0.0/16|AF_INET|ib0,eth1,lo",
                "fd00::/8||eth0",
                "10.1.2.3/32||eth0",
                "0.0.0.0/0||eth0,ib0,docker0,veth12ab,eth1,lo"
            })
    void theUsersFilterAndFamilySelectInterfaces(String filter, String family, String expected) {
        List<String> names = expected == null ? List.of() : List.of(expected.split(","));
        assertThat(usable(filter, family == null ? "" : family)).isEqualTo(names);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"^", "=", "a,,b", "a,^b", "a,=b", "10.0.0.0/33", "10.0.0/x", "host/8", "/8", "fd00::/129", "^="})
    void badFiltersAreQuoted(String filter) {
        assertThatThrownBy(() -> InterfaceFilter.parse(filter))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("JCCL_SOCKET_IFNAME=\"" + filter + "\"")
                .hasMessageContaining("expected name prefixes");
    }

    @Test
    void onlyLinkLocalAddressesKeepTheirInterface() throws UnknownHostException {
        byte[] global = InetAddress.getByName("fd00::5").getAddress();
        assertThat(NetworkInterfaces.withoutScope(Inet6Address.getByAddress(null, global, 7))
                        .getHostAddress())
                .isEqualTo("fd00:0:0:0:0:0:0:5");
        byte[] local = InetAddress.getByName("fe80::5").getAddress();
        assertThat(NetworkInterfaces.withoutScope(Inet6Address.getByAddress(null, local, 7))
                        .getHostAddress())
                .isEqualTo("fe80:0:0:0:0:0:0:5%7");
    }

    private static List<String> forData(String filter, String family, String used) throws UnknownHostException {
        List<InterfaceCandidate> rated =
                NetworkInterfaces.rate(HOST, InterfaceFilter.parse(filter), AddressFamily.parse(family));
        return NetworkInterfaces.forData(rated, InetAddress.getByName(used)).stream()
                .map(InetAddress::getHostAddress)
                .toList();
    }

    @Test
    void dataGoesOverAllInterfacesThatTheUserNames() throws UnknownHostException {
        assertThat(forData("ib,eth0", "AF_INET", "10.1.2.3")).containsExactly("192.168.5.6", "10.1.2.3");
        assertThat(forData("eth0,ib", "AF_INET", "192.168.5.6")).containsExactly("10.1.2.3", "192.168.5.6");
        assertThat(forData("eth0,ib", "AF_INET6", "fd00::5")).containsExactly("fd00:0:0:0:0:0:0:5");
        // Loopback reaches only this host. If the address in use belongs to no named interface, no other address is
        // known to work.
        assertThat(forData("lo,eth0", "", "127.0.0.1")).containsExactly("127.0.0.1");
        assertThat(forData("lo,eth0", "AF_INET", "10.1.2.3")).containsExactly("10.1.2.3");
        assertThat(forData("ib", "", "10.1.2.3")).containsExactly("10.1.2.3");
        assertThat(NetworkInterfaces.forData(
                        BootstrapOptions.defaults("v").withInterfaces("^docker", ""),
                        InetAddress.getByName("10.9.9.9")))
                .containsExactly(InetAddress.getByName("10.9.9.9"));
    }

    @Test
    void dataIsOfferedOverBothFamiliesTheOneInUseFirst() throws UnknownHostException {
        assertThat(forData("eth0", "", "10.1.2.3")).containsExactly("10.1.2.3", "fd00:0:0:0:0:0:0:5");
        assertThat(forData("eth0", "", "fd00::5")).containsExactly("fd00:0:0:0:0:0:0:5", "10.1.2.3");
        assertThat(forData("ib,eth0", "", "10.1.2.3")).containsExactly("192.168.5.6", "10.1.2.3", "fd00:0:0:0:0:0:0:5");
    }

    @Test
    void withoutAFilterDataUsesOneInterface() throws Exception {
        InetAddress loopback = InetAddress.getByName("127.0.0.1");
        String lo = NetworkInterface.getByInetAddress(loopback).getName();
        List<InetAddress> offered = NetworkInterfaces.forData(BootstrapOptions.defaults("v"), loopback);
        assertThat(offered).startsWith(loopback).allSatisfy(address -> {
            assertThat(address.isLoopbackAddress()).isTrue();
            assertThat(NetworkInterface.getByInetAddress(address).getName()).isEqualTo(lo);
        });
    }

    private static List<String> offered(int limit, String... nameAndAddress) {
        List<NetworkInterfaces.Found> host = Stream.of(nameAndAddress)
                .map(pair -> found(pair.split(" ")[0], pair.split(" ")[1]))
                .toList();
        List<InterfaceCandidate> rated =
                NetworkInterfaces.rate(host, InterfaceFilter.parse(""), AddressFamily.parse(""));
        return NetworkInterfaces.withPort(rated, 1, limit).stream()
                .map(address -> address.getAddress().getHostAddress())
                .toList();
    }

    @Test
    void oneAddressOfEveryInterfaceIsOfferedBeforeASecondOfAny() {
        assertThat(offered(
                        5,
                        "lo 127.0.0.1",
                        "eth0 10.0.0.1",
                        "eth0 10.0.0.2",
                        "eth0 10.0.0.3",
                        "eth0 10.0.0.4",
                        "eth0 10.0.0.5",
                        "eth1 10.1.0.1",
                        "eth1 10.1.0.2",
                        "wg0 10.9.0.1"))
                .containsExactly("10.0.0.1", "10.1.0.1", "10.9.0.1", "10.0.0.2", "10.1.0.2");
    }

    @Test
    void manyBridgesHideNeitherCardsNorVpns() {
        assertThat(offered(
                        5,
                        "docker0 172.17.0.1",
                        "br-1a2b3c 172.18.0.1",
                        "virbr0 192.168.122.1",
                        "cni0 10.244.0.1",
                        "podman0 10.88.0.1",
                        "lxcbr0 10.0.3.1",
                        "kube-bridge 10.2.0.1",
                        "tunl0 10.3.0.1",
                        "tailscale0 100.64.0.7",
                        "tun0 10.8.0.6",
                        "utun4 10.7.0.6",
                        "eno1 10.0.0.1"))
                .containsExactly("10.0.0.1", "100.64.0.7", "10.8.0.6", "10.7.0.6", "172.17.0.1");
    }

    @Test
    void loopbackIsOfferedAfterSecondAddresses() {
        assertThat(offered(4, "lo 127.0.0.1", "eth0 10.0.0.1", "eth0 fd00::5"))
                .containsExactly("10.0.0.1", "fd00:0:0:0:0:0:0:5", "127.0.0.1");
        assertThat(offered(4, "lo 127.0.0.1", "lo ::1")).containsExactly("127.0.0.1", "0:0:0:0:0:0:0:1");
    }

    @Test
    void aBadFamilyIsQuoted() {
        assertThatThrownBy(() -> BootstrapOptions.defaults("v").withInterfaces("", "AF_UNIX"))
                .hasMessageContaining("JCCL_SOCKET_FAMILY=\"AF_UNIX\"");
    }

    @Test
    void theTableSaysWhyNoInterfaceIsLeft() {
        BootstrapOptions options = BootstrapOptions.defaults("v").withInterfaces("nosuch", "");
        assertThatThrownBy(() -> Bootstrap.createId(options))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("JCCL_SOCKET_IFNAME=\"nosuch\"")
                .hasMessageContaining("not used: JCCL_SOCKET_IFNAME=nosuch leaves it out");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "NCCL_SOCKET_IFNAME|nosuch",
                "NCCL_SOCKET_IFNAME|=\"lo\"",
                "NCCL_SOCKET_IFNAME|^lo,a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z",
                "NCCL_SOCKET_IFNAME|999.1.1.1/8"
            })
    void anNcclFilterThatLeavesNoInterfaceIsIgnored(String name, String value) {
        Settings settings = Settings.load(CommunicatorConfig.defaults(), property -> null, Map.of(name, value));
        BootstrapOptions options = BootstrapOptions.defaults("v").withInterfaces(settings);
        assertThat(options.interfaces()).isEmpty();
        assertThat(NetworkInterfaces.usable(options)).isNotEmpty();
    }

    @Test
    void anNcclFilterThatLeavesAnInterfaceIsUsed() {
        Settings settings = Settings.load(
                CommunicatorConfig.defaults(),
                property -> null,
                Map.of("NCCL_SOCKET_IFNAME", "=lo", "NCCL_SOCKET_FAMILY", "AF_INET"));
        BootstrapOptions options = BootstrapOptions.defaults("v").withInterfaces(settings);
        assertThat(options.interfaces()).isEqualTo("=lo");
        assertThat(options.family()).isEqualTo("AF_INET");
    }

    @Test
    void thisHostHasAUsableInterface() {
        assertThat(NetworkInterfaces.usable(BootstrapOptions.defaults("v"))).isNotEmpty();
    }
}
