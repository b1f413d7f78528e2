package io.jccl.chaos;

import io.jccl.Communicator;
import io.jccl.DataBuffer;
import io.jccl.MessageReceive;
import io.jccl.MessageStatus;
import io.jccl.Messages;
import io.jccl.Work;
import java.util.Arrays;

/** A message to the next rank and one from the previous rank, which are on their way while the ranks do something else. */
final class MessageInFlight {

    /** Lengths of messages in bytes: travels with its frame, is near the limit of such messages, is offered. */
    private static final int[] LENGTHS = {8, 8000, 300_000};

    private final MessageStatus expected;
    private final byte[] received;
    private final MessageReceive receive;
    private final Work send;

    private MessageInFlight(MessageStatus expected, byte[] received, MessageReceive receive, Work send) {
        this.expected = expected;
        this.received = received;
        this.receive = receive;
        this.send = send;
    }

    /**
     * Starts the send and the receive. Every rank calls this with the same numbers, and finishes one message before it
     * starts the next.
     *
     * @param number the tag; also chooses the length, and the wildcards of the receive
     */
    static MessageInFlight start(Communicator comm, int number) {
        Messages messages = comm.messages();
        int next = (comm.rank() + 1) % comm.size();
        int previous = (comm.rank() + comm.size() - 1) % comm.size();
        int length = LENGTHS[number % LENGTHS.length];
        byte[] received = new byte[length + 1];
        MessageReceive receive = messages.receiveAsync(
                (number & 1) == 0 ? Messages.ANY : previous,
                (number & 2) == 0 ? Messages.ANY : number,
                DataBuffer.of(received));
        byte[] sent = new byte[length];
        Arrays.fill(sent, content(comm.rank(), number));
        Work send = (number & 4) == 0
                ? messages.sendAsync(next, number, DataBuffer.of(sent))
                : messages.sendMatchedAsync(next, number, DataBuffer.of(sent));
        return new MessageInFlight(new MessageStatus(previous, number, length), received, receive, send);
    }

    private static byte content(int rank, int number) {
        return (byte) (1 + 31 * rank + 7 * number);
    }

    /** Waits for both messages, and checks the received one. */
    void finish() {
        MessageStatus status = receive.receive();
        send.await();
        byte[] right = new byte[received.length];
        Arrays.fill(right, 0, right.length - 1, content(expected.source(), expected.tag()));
        if (!status.equals(expected) || !Arrays.equals(received, right)) {
            throw new AssertionError("expected " + expected + ", received " + status + " or wrong data");
        }
    }
}
