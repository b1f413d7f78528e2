package io.jccl.integration;

import static org.assertj.core.api.Assertions.assertThat;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.DataType;
import io.jccl.HostBuffer;
import io.jccl.MessageReceive;
import io.jccl.MessageStatus;
import io.jccl.Messages;
import io.jccl.ReduceOp;
import io.jccl.Work;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/**
 * Random messages between all pairs of ranks, also to themselves, with a model: every message holds its source, its tag
 * and its number among those of its source and tag, and each receiver checks that numbers come in order and that the data
 * is whole.
 */
final class MessageHistory {

    private static final int TAGS = 3;
    private static final int MAX_LONGS = 40_000; // more than an eager message, over every transport
    private static final int END = 1000; // tag of the message that tells how many messages there were

    private final Communicator comm;
    private final Messages messages;
    private final Random random;
    private final int[][] next; // by source and tag: number of the next message

    private MessageHistory(Communicator comm, long seed) {
        this.comm = comm;
        this.messages = comm.messages();
        this.random = new Random(seed * 31 + comm.rank());
        this.next = new int[comm.size()][TAGS];
    }

    /** Runs a history on this rank; all ranks call this with the same arguments. */
    static void run(Communicator comm, int count, long seed) {
        new MessageHistory(comm, seed).run(count);
    }

    private static long[] message(int source, int tag, int number, int longs) {
        long[] values = new long[longs];
        for (int i = 0; i < longs; i++) {
            values[i] = ((long) source << 48) + ((long) tag << 40) + ((long) number << 20) + i;
        }
        return values;
    }

    private int length() {
        int kind = random.nextInt(4);
        return 1 + (kind == 0 ? 0 : random.nextInt(kind == 3 ? MAX_LONGS : kind == 2 ? 3000 : 30));
    }

    private void run(int count) {
        int size = comm.size();
        int[][] sent = new int[size][TAGS];
        List<Work> works = new ArrayList<>();
        List<HostBuffer> buffers = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            for (int peer = 0; peer < size; peer++) {
                int tag = random.nextInt(TAGS);
                long[] values = message(comm.rank(), tag, sent[peer][tag]++, length());
                DataBuffer buffer = DataBuffer.of(values);
                if (random.nextBoolean()) {
                    HostBuffer shared = HostBuffer.allocate(Long.BYTES * (long) values.length);
                    shared.put(0, values);
                    buffers.add(shared);
                    buffer = shared.as(DataType.INT64);
                }
                works.add(messages.sendAsync(peer, tag, buffer));
            }
            if (i % 8 == 0) {
                long[] sum = {1};
                comm.allReduce(DataBuffer.of(sum), ReduceOp.SUM).await();
                assertThat(sum[0]).isEqualTo(size);
            }
            receiveSome();
        }
        for (int peer = 0; peer < size; peer++) {
            long total = 0;
            for (int each : sent[peer]) {
                total += each;
            }
            works.add(messages.sendAsync(peer, END, DataBuffer.of(new long[] {total})));
        }
        receiveRest();
        works.forEach(Work::await);
        buffers.forEach(HostBuffer::close);
        assertThat(messages.tryProbe(Messages.ANY, Messages.ANY)).isEmpty();
        comm.barrier().await(); // no rank sends further messages before all have looked
    }

    /** A receive that is not over, and its buffer. */
    private record Pending(MessageReceive receive, long[] buffer) {}

    private int maybeAny(int value) {
        return random.nextInt(3) == 0 ? Messages.ANY : value;
    }

    private void receiveSome() {
        // Receives from any source could take the END messages if their tag was also any, so these have one tag.
        for (int i = random.nextInt(2 * comm.size()); i > 0; i--) {
            int source = maybeAny(random.nextInt(comm.size()));
            int tag = random.nextInt(TAGS);
            long[] buffer = new long[MAX_LONGS + random.nextInt(3)];
            switch (random.nextInt(3)) {
                case 0 -> messages.tryReceive(source, tag, DataBuffer.of(buffer))
                        .ifPresent(got -> check(got, buffer));
                case 1 -> messages.tryProbe(source, tag).ifPresent(probed -> {
                    MessageStatus got = messages.receive(probed.source(), tag, DataBuffer.of(buffer));
                    assertThat(got).isEqualTo(probed);
                    check(got, buffer);
                });
                default -> {
                    if (messages.tryProbe(source, tag).isPresent()) {
                        check(messages.receive(source, tag, DataBuffer.of(buffer)), buffer);
                    }
                    long[] own = buffer.clone();
                    MessageReceive receive = messages.receiveAsync(comm.rank(), tag, DataBuffer.of(own));
                    if (!receive.cancel()) {
                        check(receive.receive(), own);
                    }
                }
            }
        }
    }

    private void receiveRest() {
        long[] total = new long[1];
        for (int source = 0; source < comm.size(); source++) {
            assertThat(messages.receive(source, END, DataBuffer.of(total)))
                    .isEqualTo(new MessageStatus(source, END, 8));
            long left = total[0];
            for (int each : next[source]) {
                left -= each;
            }
            List<Pending> all = new ArrayList<>();
            for (; left > 0; left--) {
                long[] buffer = new long[MAX_LONGS];
                all.add(new Pending(messages.receiveAsync(source, Messages.ANY, DataBuffer.of(buffer)), buffer));
            }
            for (Pending each : all) {
                check(each.receive().receive(), each.buffer());
            }
        }
    }

    private void check(MessageStatus got, long[] buffer) {
        int number = next[got.source()][got.tag()]++;
        int longs = Math.toIntExact(got.count(DataType.INT64));
        long[] expected = message(got.source(), got.tag(), number, longs);
        long[] received = Arrays.copyOf(buffer, longs);
        assertThat(received)
                .as("source=%d tag=%d number=%d", got.source(), got.tag(), number)
                .isEqualTo(expected);
    }
}
