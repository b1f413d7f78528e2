package io.jccl.membership;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.BootstrapException;
import io.jccl.control.CoordinatorServer;
import io.jccl.rendezvous.Connector;
import io.jccl.rendezvous.FrameStream;
import io.jccl.rendezvous.RankRegistration;
import io.jccl.wire.Handshake;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 60, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class CoordinatorServerTest {

    private static final byte[] SECRET = new byte[16];

    @Test
    void aRefusalReachesRanksThatConnectLater() throws Exception {
        InetAddress loopback = InetAddress.getLoopbackAddress();
        try (CoordinatorServer server = new CoordinatorServer(Ranks.options(), loopback, SECRET, 2)) {
            server.refuse("rank 0 gave up: no descriptors");
            assertThat(server.awaitAllNotified(0)).isFalse();
            CompletableFuture<Boolean> notified =
                    CompletableFuture.supplyAsync(() -> server.awaitAllNotified(Ranks.SOON.toMillis()));
            Connector.ServerAddress address =
                    new Connector.ServerAddress(List.of(new InetSocketAddress(loopback, server.port())), SECRET);
            long deadline = System.nanoTime() + Ranks.SOON.toNanos();
            Connector connector = new Connector(
                    Handshake.Purpose.COORDINATOR, "rank 1", false, Connector.IfRefused.RANK_ZERO_ENDED, 0);
            RankRegistration.Hello hello = new RankRegistration.Hello("test 1", 1, 2, -1, "", new byte[0]);
            try (FrameStream stream = connector.connect(() -> address, deadline)) {
                assertThatThrownBy(() -> stream.awaitWelcome("rank 1", hello, true, Ranks.SOON.toMillis(), deadline))
                        .isInstanceOf(BootstrapException.class)
                        .hasMessageContaining("rank 0 gave up: no descriptors");
            }
            assertThat(notified.get(Ranks.SOON.toSeconds(), TimeUnit.SECONDS)).isTrue();
        }
    }
}
