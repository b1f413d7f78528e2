package io.jccl.bootstrap;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.BootstrapException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.UniqueId;
import io.jccl.internal.LocatedAddress;
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

/** Tests for the evidence that refused connections give about the process that listened. */
@Timeout(60)
class NetworkStackTest {

    private static final long ELSEWHERE = NetworkStack.own() + 1;
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
        InetAddress other = InetAddress.getByName("192.0.2.1"); // no host has it
        assertThat(refusal(new LocatedAddress(LOOPBACK, 1, NetworkStack.own()))).isEqualTo(NetworkStack.Evidence.PROOF);
        assertThat(refusal(new LocatedAddress(LOOPBACK, 1, ELSEWHERE))).isEqualTo(NetworkStack.Evidence.NONE);
        assertThat(refusal(new LocatedAddress(other, 1, ELSEWHERE))).isEqualTo(NetworkStack.Evidence.HINT);
        assertThat(refusal(new InetSocketAddress(LOOPBACK, 1))).isEqualTo(NetworkStack.Evidence.PROOF);
        assertThat(refusal(new InetSocketAddress(other, 1))).isEqualTo(NetworkStack.Evidence.HINT);
        assertThat(NetworkStack.evidence(new InetSocketAddress(LOOPBACK, 1), new NoRouteToHostException()))
                .isEqualTo(NetworkStack.Evidence.NONE);
    }

    /** As 172.17.0.1 of docker0, which this host has too. */
    @Test
    void theEndOfARendezvousServerElsewhereIsNotConcludedFromAnAddressOfThisHost() throws Exception {
        UniqueId id = UniqueId.of(
                List.of(new LocatedAddress(LOOPBACK, closedPort(), ELSEWHERE)), new byte[UniqueId.SECRET_BYTES]);
        BootstrapOptions options = Ranks.options().withInitTimeout(Duration.ofMillis(700));
        assertThatThrownBy(() -> Bootstrap.join(UniqueId.parse(id.toText()), 1, 2, options))
                .isInstanceOf(CommunicationTimeoutException.class)
                .hasMessageContaining("this host has that address too, and has answered itself");
    }

    @Test
    void theEndOfARendezvousServerInThisStackIsSeenAtOnce() throws Exception {
        UniqueId id = UniqueId.of(
                List.of(new LocatedAddress(LOOPBACK, closedPort(), NetworkStack.own())),
                new byte[UniqueId.SECRET_BYTES]);
        assertThatThrownBy(() -> Bootstrap.join(UniqueId.parse(id.toText()), 1, 2, Ranks.options()))
                .isInstanceOf(BootstrapException.class)
                .hasMessageContaining("the process that created the id has ended");
    }

    @Test
    void aMemberElsewhereIsNotTakenForEndedByAnAddressOfThisHost() throws Exception {
        int port = closedPort();
        assertThat(new PortProbe(0).hasEnded(List.of(new LocatedAddress(LOOPBACK, port, ELSEWHERE))))
                .isFalse();
        assertThat(new PortProbe(0).hasEnded(List.of(new LocatedAddress(LOOPBACK, port, NetworkStack.own()))))
                .isTrue();
    }

    @Test
    void theStackGoesWithAddressesToOtherRanks() {
        List<InetSocketAddress> here = List.of(new LocatedAddress(LOOPBACK, 7, ELSEWHERE));
        assertThat(LocatedAddress.stackOf(RendezvousServer.decodeAddresses(RendezvousServer.encodeAddresses(here))))
                .isEqualTo(ELSEWHERE);
        assertThat(LocatedAddress.stackOf(UniqueId.parse(UniqueId.of(here, new byte[UniqueId.SECRET_BYTES])
                                .toText())
                        .addresses()))
                .isEqualTo(ELSEWHERE);
        assertThat(LocatedAddress.stackOf(Bootstrap.createId(Ranks.options()).addresses()))
                .isEqualTo(NetworkStack.own());
    }
}
