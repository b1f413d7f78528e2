package io.jccl.membership;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.BootstrapException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.UniqueId;
import io.jccl.internal.LocatedAddress;
import io.jccl.rendezvous.BootstrapOptions;
import io.jccl.wire.Addresses;
import io.jccl.wire.NetworkStack;
import io.jccl.wire.PortProbe;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests what a refused connection proves about the process that listened. */
@Timeout(60)
class NetworkStackTest {

    private static final long OTHER_STACK = NetworkStack.own() + 1;
    private static final InetAddress LOOPBACK = InetAddress.getLoopbackAddress();

    private static int closedPort() throws IOException {
        try (ServerSocket closed = new ServerSocket(0, 1, LOOPBACK)) {
            return closed.getLocalPort();
        }
    }

    private static NetworkStack.Evidence refusal(InetSocketAddress address) {
        return NetworkStack.evidence(address, new ConnectException("Connection refused"));
    }

    @Test
    void aRefusalIsProofInTheServersOwnStackOnly() throws Exception {
        InetAddress other = InetAddress.getByName("192.0.2.1"); // no host has this address
        assertThat(refusal(new LocatedAddress(LOOPBACK, 1, NetworkStack.own()))).isEqualTo(NetworkStack.Evidence.PROOF);
        assertThat(refusal(new LocatedAddress(LOOPBACK, 1, OTHER_STACK))).isEqualTo(NetworkStack.Evidence.NONE);
        assertThat(refusal(new LocatedAddress(other, 1, OTHER_STACK))).isEqualTo(NetworkStack.Evidence.HINT);
        assertThat(refusal(new InetSocketAddress(LOOPBACK, 1))).isEqualTo(NetworkStack.Evidence.PROOF);
        assertThat(refusal(new InetSocketAddress(other, 1))).isEqualTo(NetworkStack.Evidence.HINT);
        assertThat(NetworkStack.evidence(new InetSocketAddress(LOOPBACK, 1), new NoRouteToHostException()))
                .isEqualTo(NetworkStack.Evidence.NONE);
    }

    /** This host can have the server's address too, such as 172.17.0.1 of docker0. */
    @Test
    void aRendezvousServerElsewhereIsNotTakenForEndedIfThisHostRefuses() throws Exception {
        UniqueId id = UniqueId.of(
                List.of(new LocatedAddress(LOOPBACK, closedPort(), OTHER_STACK)), new byte[UniqueId.SECRET_BYTES]);
        BootstrapOptions options = Ranks.options().withInitTimeout(Duration.ofMillis(700));
        assertThatThrownBy(() -> Bootstrap.join(UniqueId.parse(id.toText()), 1, 2, options))
                .isInstanceOf(CommunicationTimeoutException.class)
                .hasMessageContaining("this host has that address too, and has answered itself");
    }

    @Test
    void aRendezvousServerInThisStackThatHasEndedIsReportedAtOnce() throws Exception {
        UniqueId id = UniqueId.of(
                List.of(new LocatedAddress(LOOPBACK, closedPort(), NetworkStack.own())),
                new byte[UniqueId.SECRET_BYTES]);
        assertThatThrownBy(() -> Bootstrap.join(UniqueId.parse(id.toText()), 1, 2, Ranks.options()))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("the process that created the id has ended");
    }

    @Test
    void aMemberElsewhereIsNotTakenForEndedIfThisHostRefuses() throws Exception {
        int port = closedPort();
        assertThat(new PortProbe(0).hasEnded(List.of(new LocatedAddress(LOOPBACK, port, OTHER_STACK))))
                .isFalse();
        assertThat(new PortProbe(0).hasEnded(List.of(new LocatedAddress(LOOPBACK, port, NetworkStack.own()))))
                .isTrue();
    }

    @Test
    void addressesCarryTheirStackToOtherRanks() {
        List<InetSocketAddress> here = List.of(new LocatedAddress(LOOPBACK, 7, OTHER_STACK));
        assertThat(LocatedAddress.stackOf(Addresses.decode(Addresses.encode(here))))
                .isEqualTo(OTHER_STACK);
        assertThat(LocatedAddress.stackOf(UniqueId.parse(UniqueId.of(here, new byte[UniqueId.SECRET_BYTES])
                                .toText())
                        .addresses()))
                .isEqualTo(OTHER_STACK);
        assertThat(LocatedAddress.stackOf(Bootstrap.createId(Ranks.options()).addresses()))
                .isEqualTo(NetworkStack.own());
    }
}
