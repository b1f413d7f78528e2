package io.jccl.pxn;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.TransportException;
import io.jccl.parts.SendForwarding.Send;
import io.jccl.pxn.Forwarding.Connection;
import java.util.Arrays;
import java.util.List;
import java.util.function.BiPredicate;
import org.junit.jupiter.api.Test;

class ForwardingTest {

    /** Every host has three ranks. */
    private static final BiPredicate<Integer, Integer> SAME_HOST = (one, other) -> one / 3 == other / 3;

    private static final Connection FIRST = new Connection(1, 0, 4, 0, 7, true);
    private static final Connection SECOND = new Connection(2, 0, 5, 1, 8, false);
    private static final Connection THIRD = new Connection(1, 2, 3, 0, 7, false);

    private static Send send(Connection one) {
        return new Send(one.forwarder(), one.to(), one.channel(), one.device(), one.ahead());
    }

    private static List<Connection> read(int from, byte[] sent) {
        return Forwarding.read(from, sent, 6, SAME_HOST);
    }

    @Test
    void bothEndsNumberConnectionsEqually() {
        Forwarding all = new Forwarding(List.of(FIRST, SECOND, THIRD));
        assertThat(all.forwardersOf(0)).containsExactly(1, 2);
        assertThat(all.forwardersOf(1)).isEmpty();
        assertThat(all.count(1)).isEqualTo(2);
        assertThat(all.rows(1)).containsExactly(0, 4, 0, 7, 1, 2, 3, 0, 7, 0);
        assertThat(all.requests(0, 1)).containsExactly(4, 0, 0);
        assertThat(all.requests(2, 1)).containsExactly(3, 0, 1);
        assertThat(all.requests(0, 2)).containsExactly(5, 1, 0);
    }

    @Test
    void connectionsAreReadAsWritten() {
        assertThat(read(0, Forwarding.write(List.of(send(FIRST), send(SECOND)))))
                .containsExactly(FIRST, SECOND);
        assertThat(read(0, Forwarding.write(List.of()))).isEmpty();
    }

    @Test
    void invalidBytesAreRefusedAndTheirRankIsNamed() {
        byte[] whole = Forwarding.write(List.of(send(FIRST)));
        for (byte[] sent : List.of(
                Arrays.copyOf(whole, whole.length - 1),
                Arrays.copyOf(whole, whole.length + 1),
                Forwarding.write(List.of(new Send(3, 4, 0, 7, true))), // the forwarder is on another host
                Forwarding.write(List.of(new Send(1, 2, 0, 7, true))), // the receiver is on the same host
                Forwarding.write(List.of(new Send(1, 6, 0, 7, true))))) {
            assertThatThrownBy(() -> read(0, sent))
                    .isInstanceOf(TransportException.class)
                    .hasMessageStartingWith(
                            "peer=0 length=" + sent.length + ": sent requests to forward that make no sense");
        }
    }
}
