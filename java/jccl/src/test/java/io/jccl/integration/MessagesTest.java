package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.AbortedException;
import io.jccl.CommunicationTimeoutException;
import io.jccl.Communicator;
import io.jccl.CommunicatorConfig;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.Encryption;
import io.jccl.HostBuffer;
import io.jccl.InterruptedCommunicationException;
import io.jccl.JcclException;
import io.jccl.MessageReceive;
import io.jccl.MessageStatus;
import io.jccl.MessageTooLongException;
import io.jccl.Messages;
import io.jccl.ReduceOp;
import io.jccl.TransportKind;
import io.jccl.Work;
import io.jccl.testing.Resources;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Messages of ranks that are threads: within a process, over sockets, over a plug-in and over adapters. */
@Timeout(value = 120, unit = TimeUnit.SECONDS, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class MessagesTest {

    private static CommunicatorConfig over(String transport) {
        return configOver(transport).build();
    }

    private static CommunicatorConfig.Builder configOver(String transport) {
        if (transport.equals("ib") && !Resources.IN_RDMA_VM) {
            String library = System.getProperty("jccl.fake.verbs");
            assumeTrue(library != null, "-Djccl.fake.verbs does not say where the fake adapters are");
            return LocalRanks.config().transport(TransportKind.IB).setting("JCCL_IB_LIBRARY", library);
        }
        if (transport.equals("required")) {
            return configOver("socket").encryption(Encryption.REQUIRED);
        }
        return TestPlugins.config(TransportKind.valueOf(transport.toUpperCase(Locale.ROOT)), TestPlugins.NEWEST);
    }

    private static long[] values(int count, long first) {
        return LongStream.range(first, first + count).toArray();
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket", "plugin", "ib", "required"})
    void messagesOfEveryLengthArriveWhole(String transport) {
        int[] bytes = {0, 1, 8, 23, 24, 25, 4096, 8192, 8193, 20_000, 65_536, 65_537, 300_001, 3 << 20};
        try (LocalRanks ranks = LocalRanks.start(2, over(transport))) {
            ranks.run(comm -> {
                Messages messages = comm.messages();
                for (int round = 0; round < 4; round++) {
                    boolean direct = round % 2 == 0;
                    for (int length : bytes) {
                        byte[] sent = new byte[length];
                        for (int i = 0; i < length; i++) {
                            sent[i] = (byte) (i * 7 + length + round);
                        }
                        if (comm.rank() == 0) {
                            ByteBuffer buffer =
                                    ByteBuffer.allocateDirect(length).order(ByteOrder.nativeOrder());
                            buffer.put(sent).flip();
                            messages.send(1, 5, direct ? DataBuffer.of(buffer) : DataBuffer.of(sent));
                            continue;
                        }
                        if (round > 1) {
                            assertThat(messages.probe(0, 5)).isEqualTo(new MessageStatus(0, 5, length));
                        }
                        byte[] received = new byte[length + 3];
                        Arrays.fill(received, (byte) 99);
                        ByteBuffer buffer =
                                ByteBuffer.allocateDirect(length + 3).order(ByteOrder.nativeOrder());
                        buffer.put(received).flip();
                        MessageStatus status =
                                messages.receive(0, 5, direct ? DataBuffer.of(buffer) : DataBuffer.of(received));
                        if (direct) {
                            buffer.get(received);
                        }
                        assertThat(status).isEqualTo(new MessageStatus(0, 5, length));
                        assertThat(Arrays.copyOf(received, length)).isEqualTo(sent);
                        assertThat(Arrays.copyOfRange(received, length, length + 3))
                                .containsOnly(99);
                    }
                }
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket", "plugin", "ib", "required"})
    void randomHistoriesKeepTheRules(String transport) {
        for (long seed = 1; seed <= 3; seed++) {
            long history = seed;
            try (LocalRanks ranks = LocalRanks.start(3, over(transport))) {
                ranks.run(comm -> MessageHistory.run(comm, 40, history));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket"})
    void aReceiveFromAnyRankWithAnyTagNamesBoth(String transport) {
        try (LocalRanks ranks = LocalRanks.start(3, over(transport))) {
            ranks.run(comm -> {
                Messages messages = comm.messages();
                if (comm.rank() > 0) {
                    messages.send(0, comm.rank() * 10, DataBuffer.of(new int[] {comm.rank()}));
                    return;
                }
                List<Integer> sources = new ArrayList<>();
                for (int i = 0; i < 2; i++) {
                    int[] value = new int[4];
                    MessageStatus status = messages.receive(Messages.ANY, Messages.ANY, DataBuffer.of(value));
                    assertThat(status)
                            .isEqualTo(new MessageStatus(status.source(), status.source() * 10, Integer.BYTES));
                    assertThat(status.count(DataType.INT32)).isEqualTo(1);
                    assertThatThrownBy(() -> status.count(DataType.INT64))
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessageContaining("bytes=4");
                    assertThat(value).containsExactly(status.source(), 0, 0, 0);
                    sources.add(status.source());
                }
                assertThat(sources).containsExactlyInAnyOrder(1, 2);
            });
        }
    }

    @Test
    void aRankSendsToItself() {
        try (LocalRanks ranks = LocalRanks.start(1)) {
            ranks.run(comm -> {
                Messages messages = comm.messages();
                messages.send(0, 1, DataBuffer.of(values(10, 5)));
                long[] small = new long[10];
                assertThat(messages.tryReceive(0, 2, DataBuffer.of(small))).isEmpty();
                assertThat(messages.tryReceive(0, 1, DataBuffer.of(small))).contains(new MessageStatus(0, 1, 80));
                assertThat(small).isEqualTo(values(10, 5));
                Work large = messages.sendAsync(0, 3, DataBuffer.of(values(100_000, 1)));
                assertThat(large.isDone()).isFalse();
                assertThat(messages.tryProbe(Messages.ANY, Messages.ANY)).contains(new MessageStatus(0, 3, 800_000));
                long[] received = new long[100_000];
                messages.receive(0, 3, DataBuffer.of(received));
                assertThat(received).isEqualTo(values(100_000, 1));
                large.await();
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket", "plugin", "ib"})
    void aMatchedSendIsNotDoneBeforeAReceiveHasMatchedIt(String transport) {
        try (LocalRanks ranks = LocalRanks.start(2, over(transport))) {
            ranks.run(comm -> {
                Messages messages = comm.messages();
                for (int peer : new int[] {1 - comm.rank(), comm.rank()}) {
                    for (int count : new int[] {0, 1, 1000, 100_000}) {
                        Work send = messages.sendMatchedAsync(peer, 1, DataBuffer.of(values(count, comm.rank())));
                        messages.send(peer, 2, DataBuffer.of(new long[1]));
                        messages.receive(peer, 2, DataBuffer.of(new long[1]));
                        assertThat(messages.probe(peer, 1)).isEqualTo(new MessageStatus(peer, 1, 8L * count));
                        assertThat(send.isDone()).isFalse();
                        comm.barrier().await();
                        long[] received = new long[count];
                        messages.receive(peer, 1, DataBuffer.of(received));
                        assertThat(received).isEqualTo(values(count, peer));
                        send.await();
                    }
                }
                Work dropped = messages.sendMatchedAsync(1 - comm.rank(), 1, DataBuffer.of(new long[2]));
                assertThatThrownBy(() -> messages.receive(Messages.ANY, 1, DataBuffer.of(new long[1])))
                        .isInstanceOf(MessageTooLongException.class);
                dropped.await();
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket"})
    void aMessageThatIsLongerThanTheBufferIsDroppedAndNamed(String transport) {
        try (LocalRanks ranks = LocalRanks.start(2, over(transport))) {
            ranks.run(comm -> {
                Messages messages = comm.messages();
                for (int count : new int[] {4, 100_000}) {
                    if (comm.rank() == 0) {
                        messages.send(1, 8, DataBuffer.of(values(count, 0)));
                        messages.send(1, 8, DataBuffer.of(new long[] {count}));
                        continue;
                    }
                    long[] buffer = {-1, -1, -1};
                    assertThatThrownBy(
                                    count == 4
                                            ? () -> messages.receive(0, 8, DataBuffer.of(buffer))
                                            : messages.receiveAsync(0, 8, DataBuffer.of(buffer))::receive)
                            .isInstanceOf(MessageTooLongException.class)
                            .hasMessageContaining("source=0 tag=8 bytes=" + 8 * count)
                            .hasMessageContaining("buffer of bytes=24");
                    assertThat(buffer).containsOnly(-1);
                    messages.receive(0, 8, DataBuffer.of(buffer));
                    assertThat(buffer).containsExactly(count, -1, -1);
                }
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket"})
    void aReceiveThatNothingMatchedCanBeCancelled(String transport) {
        try (LocalRanks ranks = LocalRanks.start(2, over(transport))) {
            ranks.run(comm -> {
                Messages messages = comm.messages();
                long[] value = {-1};
                MessageReceive receive = messages.receiveAsync(Messages.ANY, 1, DataBuffer.of(value));
                CompletableFuture<Void> future = receive.toFuture();
                assertThat(receive.isDone()).isFalse();
                assertThat(receive.cancel()).isTrue();
                assertThat(receive.cancel()).isFalse();
                assertThat(receive.isDone()).isTrue();
                assertThatThrownBy(receive::await)
                        .isInstanceOf(CancellationException.class)
                        .hasMessageContaining("receive(source=any tag=1 bytes=8) was cancelled");
                assertThat(future).isCompletedExceptionally();
                comm.barrier().await();
                Work send = messages.sendAsync(1 - comm.rank(), 1, DataBuffer.of(new long[] {comm.rank()}));
                messages.receive(Messages.ANY, 1, DataBuffer.of(value));
                assertThat(value).containsExactly(1 - comm.rank());
                send.await();
                assertThat(send.cancel()).isFalse();
            });
        }
    }

    /** The messages of a rank that does not receive: one that is taken later must not wait for earlier ones. */
    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket", "plugin"})
    void aRankThatDoesNotReceiveKeepsOnlyLittleAndOtherTagsPass(String transport) {
        int count = 1500;
        try (LocalRanks ranks = LocalRanks.start(2, over(transport))) {
            ranks.run(comm -> {
                Messages messages = comm.messages();
                if (comm.rank() == 0) {
                    List<Work> sends = new ArrayList<>();
                    for (int i = 0; i < count; i++) {
                        sends.add(messages.sendAsync(1, 1, DataBuffer.of(values(125, i)))); // 1.5 MB in all
                    }
                    messages.send(1, 2, DataBuffer.of(new long[1]));
                    assertThat(sends.stream().filter(Work::isDone).count()).isLessThan(1000); // 512 KiB of credit
                    comm.barrier().await();
                    sends.forEach(Work::await);
                    return;
                }
                messages.receive(0, 2, DataBuffer.of(new long[1]));
                comm.barrier().await();
                long[] received = new long[125];
                for (int i = 0; i < count; i++) {
                    messages.receive(0, 1, DataBuffer.of(received));
                    assertThat(received[124]).isEqualTo(i + 124);
                }
            });
        }
    }

    @Test
    void tooManySendsThatNobodyReceivesAreRefused() {
        try (LocalRanks ranks = LocalRanks.start(1)) {
            ranks.run(comm -> {
                Messages messages = comm.messages();
                DataBuffer empty = DataBuffer.of(new byte[0]);
                Throwable refusal = null;
                for (int i = 0; i < 80_000 && refusal == null; i++) {
                    refusal = catchThrowable(() -> messages.sendAsync(0, 0, empty));
                }
                assertThat(refusal)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("send(peer=0 tag=0 bytes=0)")
                        .hasMessageContaining("sends=65536 to peer=0 have not ended");
                messages.receive(0, 0, empty);
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket"})
    void aLargeMessageArrivesWhileItsReceiverIsInACollective(String transport) {
        try (LocalRanks ranks = LocalRanks.start(2, over(transport))) {
            ranks.run(comm -> {
                Messages messages = comm.messages();
                long[] received = new long[1 << 17];
                if (comm.rank() == 1) {
                    MessageReceive receive = messages.receiveAsync(0, 1, DataBuffer.of(received));
                    comm.allReduce(DataBuffer.of(new long[1]), ReduceOp.SUM).await(); // waits for rank 0
                    assertThat(receive.receive().bytes()).isEqualTo(1 << 20);
                    assertThat(received).isEqualTo(values(1 << 17, 3));
                } else {
                    messages.send(1, 1, DataBuffer.of(values(1 << 17, 3)));
                    comm.allReduce(DataBuffer.of(new long[1]), ReduceOp.SUM).await();
                }
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket"})
    void futuresCompleteWithoutACallOfTheReceiver(String transport) {
        try (LocalRanks ranks = LocalRanks.start(2, over(transport))) {
            ranks.run(comm -> {
                Messages messages = comm.messages();
                int other = 1 - comm.rank();
                for (int count : new int[] {1, 100_000}) {
                    long[] received = new long[count];
                    CompletableFuture<Void> receive = messages.receiveAsync(other, count, DataBuffer.of(received))
                            .toFuture();
                    CompletableFuture<Void> send = messages.sendAsync(other, count, DataBuffer.of(values(count, other)))
                            .toFuture();
                    CompletableFuture.allOf(send, receive).get(20, TimeUnit.SECONDS);
                    assertThat(received).isEqualTo(values(count, comm.rank()));
                }
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket"})
    void messagesMoveWhileThreadsPoll(String transport) {
        try (LocalRanks ranks = LocalRanks.start(2, over(transport))) {
            ranks.run(comm -> {
                Messages messages = comm.messages();
                int other = 1 - comm.rank();
                for (int round = 0; round < 300; round++) {
                    int count = round % 50 == 0 ? 50_000 : 1 + round;
                    long[] received = new long[count];
                    Work receive = messages.receiveAsync(other, 1, DataBuffer.of(received));
                    Work send = messages.sendAsync(other, 1, DataBuffer.of(values(count, round)));
                    while (!receive.isDone() || !send.isDone()) {
                        Thread.onSpinWait();
                    }
                    receive.await();
                    assertThat(received).isEqualTo(values(count, round));
                }
            });
        }
    }

    @Test
    void communicatorsOfTheSameRanksHaveMessagesOfTheirOwn() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                int other = 1 - comm.rank();
                try (Communicator part = comm.split(0, comm.rank(), "part").orElseThrow()) {
                    part.messages()
                            .sendAsync(other, 1, DataBuffer.of(new long[] {2}))
                            .await();
                    comm.messages()
                            .sendAsync(other, 1, DataBuffer.of(new long[] {1}))
                            .await();
                    long[] value = new long[1];
                    comm.messages().receive(other, 1, DataBuffer.of(value));
                    assertThat(value).containsExactly(1);
                    part.messages().receive(other, 1, DataBuffer.of(value));
                    assertThat(value).containsExactly(2);
                }
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket"})
    void threadsOfOneRankReceiveTheirOwnTags(String transport) {
        int threads = 4;
        try (LocalRanks ranks = LocalRanks.start(2, over(transport))) {
            ranks.run(comm -> {
                Messages messages = comm.messages();
                int other = 1 - comm.rank();
                List<CompletableFuture<Void>> all = new ArrayList<>();
                for (int thread = 0; thread < threads; thread++) {
                    int tag = thread;
                    all.add(CompletableFuture.runAsync(
                            () -> {
                                for (int i = 0; i < 200; i++) {
                                    int count = i % 20 == 0 ? 20_000 : 1 + i;
                                    Work send = messages.sendAsync(other, tag, DataBuffer.of(values(count, i + tag)));
                                    long[] received = new long[count];
                                    messages.receive(i % 2 == 0 ? other : Messages.ANY, tag, DataBuffer.of(received));
                                    assertThat(received).isEqualTo(values(count, i + tag));
                                    send.await();
                                }
                            },
                            command -> new Thread(command).start()));
                }
                CompletableFuture.allOf(all.toArray(CompletableFuture[]::new)).get(100, TimeUnit.SECONDS);
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket"})
    void aTimeOutNamesThePairAndTheTag(String transport) {
        CommunicatorConfig config =
                configOver(transport).timeout(Duration.ofMillis(300)).build();
        for (boolean sends : new boolean[] {true, false}) {
            try (LocalRanks ranks = LocalRanks.start(2, config)) {
                ranks.run(comm -> {
                    Messages messages = comm.messages();
                    if (comm.rank() == 0) {
                        Throwable failure = catchThrowable(() -> {
                            if (sends) {
                                messages.send(1, 77, DataBuffer.of(values(100_000, 0)));
                            } else {
                                messages.receive(1, 77, DataBuffer.of(new long[1]));
                            }
                        });
                        assertThat(failure)
                                .isInstanceOf(CommunicationTimeoutException.class)
                                .hasMessageContaining(
                                        sends
                                                ? "send(peer=1 tag=77 bytes=800000) on rank=0"
                                                : "receive(source=1 tag=77 bytes=8) on rank=0");
                    } else {
                        assertThatThrownBy(() -> {
                                    while (true) {
                                        messages.tryProbe(0, 5);
                                        Thread.sleep(1);
                                    }
                                })
                                .isInstanceOf(JcclException.class)
                                .hasMessageContaining("tag=77");
                    }
                });
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket"})
    void anAbortEndsAllMessages(String transport) {
        CyclicBarrier bothIssued = new CyclicBarrier(2);
        try (LocalRanks ranks = LocalRanks.start(2, over(transport))) {
            ranks.run(comm -> {
                Messages messages = comm.messages();
                MessageReceive receive = messages.receiveAsync(Messages.ANY, 1, DataBuffer.of(new long[1]));
                CompletableFuture<Void> future = receive.toFuture();
                Work send = messages.sendAsync(1 - comm.rank(), 2, DataBuffer.of(values(100_000, 0)));
                comm.barrier().await();
                bothIssued.await(30, TimeUnit.SECONDS); // an abort also ends a barrier that the other rank is still in
                if (comm.rank() == 0) {
                    comm.abort();
                }
                assertThatThrownBy(receive::await).isInstanceOf(AbortedException.class);
                assertThatThrownBy(send::await).isInstanceOf(AbortedException.class);
                assertThatThrownBy(() -> future.get(10, TimeUnit.SECONDS)).hasCauseInstanceOf(AbortedException.class);
                assertThatThrownBy(() -> messages.send(0, 0, DataBuffer.of(new long[1])))
                        .isInstanceOf(AbortedException.class);
            });
        }
    }

    @Test
    void anInterruptEndsAReceiveAndTheCommunicatorStaysUsable() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                Messages messages = comm.messages();
                Thread.currentThread().interrupt();
                assertThatThrownBy(() -> messages.receive(1 - comm.rank(), 1, DataBuffer.of(new long[1])))
                        .isInstanceOf(InterruptedCommunicationException.class)
                        .hasMessageContaining("receive(source=" + (1 - comm.rank()) + " tag=1 bytes=8)");
                assertThatThrownBy(() -> messages.probe(Messages.ANY, 1))
                        .isInstanceOf(InterruptedCommunicationException.class);
                assertThat(Thread.interrupted()).isTrue();
                comm.barrier().await();
                Work send = messages.sendAsync(1 - comm.rank(), 1, DataBuffer.of(new long[] {comm.rank()}));
                long[] value = new long[1];
                messages.receive(1 - comm.rank(), 1, DataBuffer.of(value));
                assertThat(value).containsExactly(1 - comm.rank());
                send.await();
            });
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"p2p", "socket"})
    void closeEndsMessagesThatAreNotOver(String transport) {
        try (LocalRanks ranks = LocalRanks.start(2, over(transport))) {
            ranks.run(comm -> {
                Messages messages = comm.messages();
                MessageReceive receive = messages.receiveAsync(Messages.ANY, 1, DataBuffer.of(new long[1]));
                CompletableFuture<Void> future = receive.toFuture();
                Work send = messages.sendAsync(1 - comm.rank(), 2, DataBuffer.of(values(100_000, 0)));
                comm.barrier().await();
                comm.close();
                assertThatThrownBy(receive::await)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("is closed");
                assertThatThrownBy(send::await).isInstanceOf(IllegalStateException.class);
                assertThat(future).isCompletedExceptionally();
                assertThatThrownBy(() -> messages.send(0, 0, DataBuffer.of(new long[1])))
                        .isInstanceOf(IllegalStateException.class);
                assertThatThrownBy(comm::messages).isInstanceOf(IllegalStateException.class);
            });
        }
    }

    @Test
    void smallMessagesOutliveTheCommunicatorOfTheirSender() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                Messages messages = comm.messages();
                if (comm.rank() == 0) {
                    messages.send(1, 1, DataBuffer.of(values(10, 4)));
                    comm.close();
                } else {
                    long[] received = new long[10];
                    messages.receive(0, 1, DataBuffer.of(received));
                    assertThat(received).isEqualTo(values(10, 4));
                }
            });
        }
    }

    @Test
    void messagesMayBeSentInTheBodyOfAGroupAndBesideCollectives() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                Messages messages = comm.messages();
                long[] sum = {1};
                comm.group(group -> {
                            group.allReduce(DataBuffer.of(sum), ReduceOp.SUM);
                            if (comm.rank() == 0) {
                                messages.send(1, 1, DataBuffer.of(values(100_000, 0)));
                            } else {
                                messages.receive(0, 1, DataBuffer.of(new long[100_000]));
                            }
                        })
                        .await();
                assertThat(sum).containsExactly(2);
            });
        }
    }

    @Test
    void wrongArgumentsAreRefused() {
        try (LocalRanks ranks = LocalRanks.start(2)) {
            ranks.run(comm -> {
                Messages messages = comm.messages();
                DataBuffer one = DataBuffer.of(new long[1]);
                assertThat(comm.messages()).isSameAs(messages);
                assertThatThrownBy(() -> messages.send(2, 0, one))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("peer=2 size=2: expected a rank from 0 to 1");
                assertThatThrownBy(() -> messages.send(Messages.ANY, 0, one))
                        .isInstanceOf(IllegalArgumentException.class);
                assertThatThrownBy(() -> messages.sendAsync(0, -1, one))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("tag=-1: expected a tag of at least 0");
                assertThatThrownBy(() -> messages.receive(0, -2, one))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("tag=-2: expected a tag of at least 0, or Messages.ANY");
                assertThatThrownBy(() -> messages.tryReceive(-2, 0, one)).isInstanceOf(IllegalArgumentException.class);
                assertThatThrownBy(() -> messages.probe(2, 0)).isInstanceOf(IllegalArgumentException.class);
                assertThatThrownBy(() -> messages.send(0, 0, null)).isInstanceOf(IllegalArgumentException.class);
                assertThatThrownBy(() -> messages.send(0, 0, DataBuffer.device(4096, 1, DataType.INT64)))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("copy it to memory of the host");
                assertThatThrownBy(() -> messages.receiveAsync(
                                0, 0, DataBuffer.of(ByteBuffer.allocateDirect(8).asReadOnlyBuffer())))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining("read-only");
                HostBuffer closed = HostBuffer.allocate(8);
                DataBuffer of = closed.as(DataType.INT64);
                closed.close();
                assertThatThrownBy(() -> messages.send(0, 0, of)).isInstanceOf(IllegalStateException.class);
                Work send = messages.sendAsync(comm.rank(), 0, one);
                assertThatThrownBy(send::execution)
                        .isInstanceOf(IllegalStateException.class)
                        .hasMessageContaining("send(peer=" + comm.rank() + " tag=0 bytes=8)");
            });
        }
    }
}
