package io.jccl.integration;

import static io.jccl.integration.ResultsTest.longs;
import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Collective;
import io.jccl.CommunicatorMetrics;
import io.jccl.CommunicatorMetrics.OfCollective;
import io.jccl.CommunicatorMetrics.OfTransport;
import io.jccl.DataBuffer;
import io.jccl.ReduceOp;
import io.jccl.TransportKind;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The metrics of a communicator. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MetricsTest {

    @ParameterizedTest
    @EnumSource(
            value = TransportKind.class,
            names = {"P2P", "SOCKET"})
    void operationsAreCountedByCollectiveAndTransport(TransportKind transport) {
        CommunicatorMetrics before;
        CommunicatorMetrics after;
        CommunicatorMetrics closed;
        try (LocalRanks ranks =
                LocalRanks.start(2, LocalRanks.config().transport(transport).build())) {
            before = ranks.get(0).metrics();
            ranks.run(comm -> {
                DataBuffer values = DataBuffer.of(longs(new long[1000]));
                for (int i = 0; i < 3; i++) {
                    comm.allReduce(values, ReduceOp.SUM).await();
                }
                if (comm.rank() == 1) {
                    Thread.sleep(100);
                }
                comm.broadcast(values, 1).await();
                comm.sendReceive(values, 1 - comm.rank(), DataBuffer.of(longs(new long[1000])), 1 - comm.rank())
                        .await();
            });
            after = ranks.get(0).metrics();
            ranks.run(comm -> comm.close());
            closed = ranks.get(0).metrics();
        }
        assertThat(before.operations()).isZero();
        assertThat(before.longWaits()).isZero();
        assertThat(before.failures()).isZero();

        assertThat(after.collectives()).containsOnlyKeys(Collective.values());
        OfCollective sums = after.collectives().get(Collective.ALL_REDUCE);
        assertThat(sums.operations()).isEqualTo(3);
        assertThat(sums.bytes()).isEqualTo(3 * 8000);
        assertThat(sums.time()).isPositive();
        OfCollective broadcasts = after.collectives().get(Collective.BROADCAST);
        assertThat(broadcasts.operations()).isEqualTo(1);
        assertThat(broadcasts.time()).isGreaterThan(Duration.ofMillis(50));
        assertThat(after.collectives().get(Collective.SEND_RECV))
                .satisfies(it -> assertThat(it.operations()).isEqualTo(1))
                .satisfies(it -> assertThat(it.bytes()).isEqualTo(8000));
        assertThat(after.collectives().get(Collective.GATHER)).isEqualTo(new OfCollective(0, 0, 0, Duration.ZERO));
        assertThat(after.operations()).isEqualTo(5);

        assertThat(after.transports()).containsOnlyKeys(TransportKind.values());
        OfTransport used = after.transports().get(transport);
        assertThat(sums.inPlace()).isBetween(0L, transport.isNetwork() ? 0L : 3L);
        long throughSlots = 3 - sums.inPlace() + 1; // all-reduces through slots, and one message
        assertThat(used.sentBytes()).isBetween(throughSlots * 8000, throughSlots * 8000 * 4);
        assertThat(used.longWaits()).isPositive();
        assertThat(used.waited()).isGreaterThan(Duration.ofMillis(50));
        assertThat(after.transports().get(TransportKind.IB)).isEqualTo(new OfTransport(0, 0, Duration.ZERO));
        assertThat(closed.collectives()).isEqualTo(after.collectives());
    }

    /** For each operation, the metrics of a rank count the bytes of the larger of its two buffers. */
    @Test
    void bytesOfEachRanksLargerBufferAreCounted() {
        List<CommunicatorMetrics> all;
        try (LocalRanks ranks = LocalRanks.start(3)) {
            all = ranks.call(comm -> {
                int rank = comm.rank();
                DataBuffer one = DataBuffer.of(longs(new long[10]));
                DataBuffer three = DataBuffer.of(longs(new long[30]));
                comm.allToAll(three, DataBuffer.of(longs(new long[30]))).await();
                comm.gather(one, rank == 1 ? three : null, 1).await();
                comm.allToAllV(
                                three,
                                new long[] {rank, rank, rank},
                                new long[3],
                                DataBuffer.of(longs(new long[3])),
                                new long[] {0, 1, 2},
                                new long[] {0, 0, 1})
                        .await();
                comm.allGatherV(one.slice(0, rank), DataBuffer.of(longs(new long[3])), new long[] {0, 1, 2})
                        .await();
                return comm.metrics();
            });
        }
        assertThat(all)
                .extracting(it -> it.collectives().get(Collective.ALL_TO_ALL).bytes())
                .containsExactly(240L + 24, 240L + 24, 240L + 48);
        assertThat(all)
                .extracting(it -> it.collectives().get(Collective.GATHER).bytes())
                .containsExactly(80L, 240L, 80L);
        assertThat(all)
                .extracting(it -> it.collectives().get(Collective.ALL_GATHER).bytes())
                .containsOnly(24L);
    }

    @Test
    void aFailureIsCountedOnEveryRank() {
        List<CommunicatorMetrics> all;
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.get(1).abort();
            all = ranks.call(comm -> {
                long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
                while (comm.metrics().failures() == 0 && System.nanoTime() < end) {
                    Thread.sleep(5);
                }
                return comm.metrics();
            });
        }
        assertThat(all).extracting(CommunicatorMetrics::failures).containsExactly(1, 1);
    }
}
