package io.jccl.integration;

import static io.jccl.integration.ResultsTest.longs;
import static io.jccl.integration.ResultsTest.toArray;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jccl.Algorithm;
import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.Execution;
import io.jccl.Protocol;
import io.jccl.ReduceOp;
import io.jccl.Work;
import java.nio.LongBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Work, groups, split, and several communicators. */
@Timeout(value = 180, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class OperationsTest {

    @Test
    void issuedOperationsRunInOrderWhenTheLastIsAwaited() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                LongBuffer values = longs(1);
                DataBuffer buffer = DataBuffer.of(values);
                List<Work> works = new ArrayList<>();
                for (int i = 0; i < 20; i++) {
                    works.add(comm.allReduce(buffer, ReduceOp.SUM));
                }
                works.get(19).await();
                assertThat(works).allMatch(Work::isDone);
                assertThat(toArray(values)).containsExactly(1 << 20);
            });
        }
    }

    @Test
    void operationThatNobodyAwaitsIsExecuted() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                LongBuffer values = longs(3);
                Work work = comm.allReduce(DataBuffer.of(values), ReduceOp.SUM);
                while (!work.isDone()) {
                    Thread.onSpinWait();
                }
                assertThat(toArray(values)).containsExactly(6);
            });
        }
    }

    @Test
    void operationThatNobodyAwaitsStartsAtOnceAfterAPause() throws Exception {
        int rounds = 40;
        long[] micros = new long[rounds];
        try (LocalRanks ranks = LocalRanks.start(1)) {
            LongBuffer from = longs(0);
            LongBuffer to = longs(0);
            for (int round = 0; round < rounds; round++) {
                from.put(0, round + 1);
                new CountDownLatch(1).await(round % 8, TimeUnit.MILLISECONDS); // pauses of 0 to 7 ms between rounds
                long begin = System.nanoTime();
                ranks.get(0).allReduce(DataBuffer.of(from), DataBuffer.of(to), ReduceOp.SUM);
                while (to.get(0) != round + 1) { // polls memory: isDone() would wake the executor
                    Thread.yield();
                }
                micros[round] = (System.nanoTime() - begin) / 1000;
            }
        }
        Arrays.sort(micros);
        String all = "microseconds " + Arrays.toString(micros);
        assertThat(micros[rounds / 4]).as(all).isLessThan(10_000); // a wake-up that is missed costs 500 ms
        assertThat(micros[rounds * 9 / 10]).as(all).isLessThan(100_000);
    }

    @Test
    void threadThatAwaitsAnOperationOfAnotherThreadIsWokenAtItsEnd() {
        int rounds = 9;
        long[] micros = new long[rounds];
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                for (int round = 0; round < rounds; round++) {
                    if (comm.rank() == 1) { // late, so that the waits' back-off sleeps are long
                        new CountDownLatch(1).await(100 + 3 * round, TimeUnit.MILLISECONDS);
                        comm.barrier().await();
                        continue;
                    }
                    Work work = comm.barrier();
                    CompletableFuture<Long> otherThread = CompletableFuture.supplyAsync(() -> {
                        work.await();
                        return System.nanoTime();
                    });
                    work.await();
                    long end = System.nanoTime();
                    micros[round] = Math.abs(otherThread.get(60, TimeUnit.SECONDS) - end) / 1000;
                }
            });
        }
        Arrays.sort(micros);
        assertThat(micros[rounds / 2])
                .as("microseconds between the ends of both waits %s", Arrays.toString(micros))
                .isLessThan(2_000);
    }

    @Test
    void futuresCompleteAfterTheOperation() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                LongBuffer values = longs(5);
                CompletableFuture<Long> result = comm.allReduce(DataBuffer.of(values), ReduceOp.SUM)
                        .toFuture()
                        .thenApply(nothing -> values.get(0));
                assertThat(result.get(60, TimeUnit.SECONDS)).isEqualTo(10);
                Work done = comm.barrier();
                done.await();
                assertThat(done.toFuture().get(60, TimeUnit.SECONDS)).isNull();
            });
        }
    }

    @Test
    void executionReportsAlgorithmProtocolAndChannels() {
        var config = LocalRanks.config()
                .algorithm(Algorithm.RING)
                .protocol(Protocol.LL128)
                .build();
        try (LocalRanks ranks = LocalRanks.start(2, config)) {
            ranks.run(comm -> {
                Work work = comm.allReduce(DataBuffer.of(longs(1, 2, 3)), ReduceOp.SUM);
                work.await();
                assertThat(work.execution()).isEqualTo(new Execution(Algorithm.RING, Protocol.LL128, 1));

                LongBuffer received = longs(0);
                Work transfers = comm.group(g -> {
                    g.send(1 - comm.rank(), DataBuffer.of(longs(comm.rank())));
                    g.recv(1 - comm.rank(), DataBuffer.of(received));
                });
                transfers.await();
                assertThat(received.get(0)).isEqualTo(1 - comm.rank());
                assertThat(transfers.execution())
                        .isEqualTo(new Execution(Algorithm.DIRECT, Protocol.LL, 1)); // small messages use LL
            });
        }
    }

    @Test
    void sendsAndReceivesOfAGroupRunAtTheSameTime() {
        try (LocalRanks ranks = LocalRanks.start(3)) {
            ranks.run(comm -> {
                int next = (comm.rank() + 1) % 3;
                int previous = (comm.rank() + 2) % 3;
                // The data does not fit in the slots: if each rank sent first and received later, all ranks would wait
                // forever.
                int count = 200_000;
                LongBuffer out = longs(new long[count]);
                out.put(count - 1, comm.rank());
                LongBuffer in = longs(new long[count]);
                LongBuffer self = longs(0);
                comm.group(g -> g.send(next, DataBuffer.of(out))
                                .send(comm.rank(), DataBuffer.of(longs(42)))
                                .recv(previous, DataBuffer.of(in))
                                .recv(comm.rank(), DataBuffer.of(self)))
                        .await();
                assertThat(in.get(count - 1)).isEqualTo(previous);
                assertThat(self.get(0)).isEqualTo(42);
            });
        }
    }

    @Test
    void sendReceiveSendsAndReceivesAtTheSameTime() {
        try (LocalRanks ranks = LocalRanks.start(3)) {
            ranks.run(comm -> {
                int next = (comm.rank() + 1) % 3;
                int previous = (comm.rank() + 2) % 3;
                for (int count : new int[] {0, 1, 200, 200_000}) {
                    long[] out = new long[count + comm.rank()]; // the counts of the two sides differ
                    Arrays.fill(out, comm.rank());
                    LongBuffer in = longs(new long[count + previous]);
                    DataBuffer send = count == 200 ? DataBuffer.of(LongBuffer.wrap(out)) : DataBuffer.of(longs(out));
                    comm.sendReceive(send, next, DataBuffer.of(in), previous).await();
                    for (int i = 0; i < in.capacity(); i++) {
                        assertThat(in.get(i)).isEqualTo(previous);
                    }
                    LongBuffer self = longs(0);
                    comm.sendReceive(DataBuffer.of(longs(42)), comm.rank(), DataBuffer.of(self), comm.rank())
                            .await();
                    assertThat(self.get(0)).isEqualTo(42);
                }
            });
        }
    }

    @Test
    void sendReceiveMatchesSendsAndReceivesOfOthers() {
        try (LocalRanks ranks = LocalRanks.start(3)) {
            ranks.run(comm -> {
                LongBuffer value = longs(comm.rank());
                LongBuffer received = longs(-1);
                switch (comm.rank()) {
                    case 0 -> comm.send(1, DataBuffer.of(value)).await();
                    case 1 -> comm.sendReceive(DataBuffer.of(value), 2, DataBuffer.of(received), 0)
                            .await();
                    default -> comm.recv(1, DataBuffer.of(received)).await();
                }
                assertThat(received.get(0)).isEqualTo(comm.rank() - 1);
            });
        }
    }

    @Test
    void sendMatchesRecvWhileOtherRanksDoNotTakePart() {
        try (LocalRanks ranks = LocalRanks.start(3)) {
            ranks.run(comm -> {
                LongBuffer value = longs(comm.rank() == 0 ? 77 : 0);
                if (comm.rank() == 0) {
                    comm.send(2, DataBuffer.of(value)).await();
                } else if (comm.rank() == 2) {
                    comm.recv(0, DataBuffer.of(value)).await();
                    assertThat(value.get(0)).isEqualTo(77);
                }
                LongBuffer sum = longs(1);
                comm.allReduce(DataBuffer.of(sum), ReduceOp.SUM).await();
                assertThat(sum.get(0)).isEqualTo(3);
            });
        }
    }

    @Test
    void collectivesOfAGroupRunInOrder() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                LongBuffer value = longs(comm.rank() + 1);
                comm.group(g -> g.allReduce(DataBuffer.of(value), ReduceOp.SUM)
                                .allReduce(DataBuffer.of(value), ReduceOp.PROD)
                                .barrier())
                        .await();
                assertThat(value.get(0)).isEqualTo(9);
            });
        }
    }

    @Test
    void nothingOfAGroupIsIssuedWhenItsBodyThrows() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                LongBuffer value = longs(1);
                assertThatThrownBy(() -> comm.group(g -> {
                            g.allReduce(DataBuffer.of(value), ReduceOp.SUM);
                            throw new UnsupportedOperationException("changed my mind");
                        }))
                        .isInstanceOf(UnsupportedOperationException.class);
                comm.allReduce(DataBuffer.of(value), ReduceOp.SUM).await();
                assertThat(value.get(0)).isEqualTo(2);
            });
        }
    }

    @Test
    void splitMakesIndependentCommunicatorsInKeyOrder() {
        try (LocalRanks ranks = LocalRanks.start(5)) {
            ranks.run(comm -> {
                int color = comm.rank() == 4 ? -1 : comm.rank() % 2;
                Optional<Communicator> part = comm.split(color, -comm.rank());
                if (color < 0) {
                    assertThat(part).isEmpty();
                } else {
                    try (Communicator half = part.orElseThrow()) {
                        assertThat(half.size()).isEqualTo(2);
                        assertThat(half.rank()).isEqualTo(comm.rank() < 2 ? 1 : 0);
                        LongBuffer value = longs(comm.rank());
                        half.allReduce(DataBuffer.of(value), ReduceOp.SUM).await();
                        assertThat(value.get(0)).isEqualTo(color == 0 ? 2 : 4);
                    }
                }
                LongBuffer all = longs(1);
                comm.allReduce(DataBuffer.of(all), ReduceOp.SUM).await();
                assertThat(all.get(0)).isEqualTo(5);
            });
        }
    }

    @Test
    void severalCommunicatorsOverTheSameRanksWorkAtTheSameTime() {
        try (LocalRanks one = LocalRanks.start(2);
                LocalRanks other = LocalRanks.start(2)) {
            one.run(comm -> {
                Communicator second = other.get(comm.rank());
                LongBuffer a = longs(1);
                LongBuffer b = longs(10);
                for (int i = 0; i < 100; i++) {
                    Work first = comm.allReduce(DataBuffer.of(a), ReduceOp.MAX);
                    second.allReduce(DataBuffer.of(b), ReduceOp.MAX).await();
                    first.await();
                }
                assertThat(a.get(0) + b.get(0)).isEqualTo(11);
            });
        }
    }

    @Test
    void idTransportsAndMemoryUsageAreReported() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                comm.allReduce(DataBuffer.of(new float[1000]), ReduceOp.SUM).await();
                assertThat(comm.id()).isEqualTo(ranks.get(0).id()).hasSize(8);
                assertThat(comm.transports()).hasSize(1).allSatisfy(one -> {
                    assertThat(one.peer()).isEqualTo(1 - comm.rank());
                    assertThat(one.reason()).isEqualTo("same process");
                });
                assertThat(comm.memoryUsage().reservedBytes()).isPositive();
                assertThat(comm.memoryUsage().residentBytes()).isPositive();
                assertThat(comm.memoryUsage().stagingBytes()).isPositive();
            });
        }
    }
}
