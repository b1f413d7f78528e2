package io.jccl.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.BootstrapException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(20)
class NetworkInterfacesTest {

    private static final List<NetworkInterfaces.Found> MACHINE = List.of(
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
        return NetworkInterfaces.rate(MACHINE, InterfaceFilter.parse(filter), AddressFamily.parse(family)).stream()
                .filter(InterfaceCandidate::usable)
                .map(InterfaceCandidate::name)
                .toList();
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
    void theUsersChoice(String filter, String family, String expected) {
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
    void aBadFamilyIsQuoted() {
        assertThatThrownBy(() -> BootstrapOptions.defaults("v").withInterfaces("", "AF_UNIX"))
                .hasMessageContaining("JCCL_SOCKET_FAMILY=\"AF_UNIX\"");
    }

    @Test
    void whenNothingIsLeftTheTableSaysWhy() {
        BootstrapOptions options = BootstrapOptions.defaults("v").withInterfaces("nosuch", "");
        assertThatThrownBy(() -> Bootstrap.createId(options))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("JCCL_SOCKET_IFNAME=\"nosuch\"")
                .hasMessageContaining("not used: JCCL_SOCKET_IFNAME=nosuch leaves it out");
    }

    @Test
    void thisMachineHasACandidate() {
        assertThat(NetworkInterfaces.usable(BootstrapOptions.defaults("v"))).isNotEmpty();
    }
}
